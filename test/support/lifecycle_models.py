# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Step handlers that a test can hold, that ask each other by ROS services, and that keep a log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ros2_cosim.core.kernel.model import HANDLERS
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.records import Acceleration
from ros2_cosim.core.realtime.virtual_time import VirtualTime

MS = 1_000_000
#: The scenario of these models; ``log`` is a directory.
SCENARIO = """
name: lifecycle
duration: 300ms
run_ahead: 100ms
clock_step: 10ms
participants:
  holder: {{model: support.lifecycle_models:Holder, period: 10ms,
    parameters: {{log: {log}, hold_at: {hold_at}}},
    outputs: {{out: {{type: geometry_msgs/msg/AccelStamped, topic: /holder}}}}}}
  server: {{model: support.lifecycle_models:Server, period: 10ms, parameters: {{log: {log}}},
    outputs: {{out: {{type: geometry_msgs/msg/AccelStamped, topic: /server_out}}}}}}
  asker: {{model: support.lifecycle_models:Asker, period: 20ms, parameters: {{log: {log}}},
    inputs: {{holder: holder.out, server: server.out}},
    outputs: {{out: {{type: geometry_msgs/msg/AccelStamped, topic: /asker}}}}}}
"""


class Log:
    """One line per call, in a file per participant: readable while the run goes on."""

    def __init__(self, context: ModelContext) -> None:
        self._path = Path(context.parameters["log"]) / context.name

    def __call__(self, text: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")


class _Logging(VirtualTime):
    """Keeps a log of its handlers: all but one of the two for readiness."""

    not_set = "on_communication_ready_async"

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        super().__init__(context, parameters)
        self.log = log = Log(context)
        for name in HANDLERS:
            if name != self.not_set:
                note = lambda *a, n=name: log(" ".join([n, *(s.name for s in a)]))  # noqa: E731
                self.set_handlers(**{name: note})


class Holder(_Logging):
    """Its step at ``hold_at`` lasts until its service is called with ``data: true``."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        super().__init__(context, parameters)
        self._hold_at = context.parameters["hold_at"]
        self._held = context.shape != "inproc" and self._hold_at >= 0
        self._holding = False
        self.set_handlers(on_communication_ready=self._ready)
        self.set_step_handler_async(self._step)

    def _ready(self) -> None:
        self.log("on_communication_ready")
        if self._held:
            from std_srvs.srv import SetBool

            self.node.create_service(SetBool, "~/release", self._answer)

    def _answer(self, request: Any, response: Any) -> Any:
        response.success = self._holding
        if request.data and self._holding:
            self._holding = False
            self.complete_step()
        return response

    def _step(self, step: Step) -> None:
        self.log(f"step {step.time // MS}")
        self.send("out", Acceleration(step.time / 1e9, 0.0, 0.0))
        if self._held and step.time == self._hold_at:
            self._holding = True
        else:
            self.complete_step()


class Server(_Logging):
    """Answers, also while others are in a step of theirs."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        super().__init__(context, parameters)
        self.set_handlers(on_communication_ready=self._ready)
        self.set_step_handler(self._step)

    def _ready(self) -> None:
        self.log("on_communication_ready")
        if self.node is not None:
            from std_srvs.srv import SetBool

            self.node.create_service(SetBool, "~/invert", self._invert)

    def _invert(self, request: Any, response: Any) -> Any:
        response.success = not request.data
        return response

    def _step(self, step: Step) -> dict[str, Any]:
        self.log(f"step {step.time // MS}")
        return {"out": Acceleration(0.0, 0.0, 0.0)}


class Asker(_Logging):
    """Asks the server within each of its steps, and sends the answer with the same step."""

    not_set = "on_communication_ready"

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        super().__init__(context, parameters)
        self._client: Any = None
        self.set_handlers(on_communication_ready_async=self._ready)
        self.set_step_handler_async(self._step)

    def _ready(self, complete: Any) -> None:
        self.log("on_communication_ready_async")
        if self.node is None:
            complete()
            return
        from std_srvs.srv import SetBool

        self._client = self.node.create_client(SetBool, "/server/invert")
        timer = self.node.create_timer(0.01, lambda: self._look(complete, timer))

    def _look(self, complete: Any, timer: Any) -> None:
        if self._client.service_is_ready():
            timer.cancel()
            complete()

    def _step(self, step: Step) -> None:
        self.log(f"step {step.time // MS}")
        question = step.time // (20 * MS) % 2 == 0
        if self._client is None:
            self._answered(not question)
            return
        from std_srvs.srv import SetBool

        future = self._client.call_async(SetBool.Request(data=question))
        future.add_done_callback(lambda f: self._answered(f.result().success))

    def _answered(self, answer: bool) -> None:
        self.log(f"answer {answer}")
        self.send("out", Acceleration(1.0 if answer else 0.0, 0.0, 0.0))
        self.complete_step()
