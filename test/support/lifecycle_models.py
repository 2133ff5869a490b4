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
  holder: {{model: support.lifecycle_models:make_holder, period: 10ms,
    parameters: {{log: {log}, hold_at: {hold_at}}},
    outputs: {{out: {{type: geometry_msgs/msg/AccelStamped, topic: /holder}}}}}}
  server: {{model: support.lifecycle_models:make_server, period: 10ms, parameters: {{log: {log}}},
    outputs: {{out: {{type: geometry_msgs/msg/AccelStamped, topic: /server_out}}}}}}
  asker: {{model: support.lifecycle_models:make_asker, period: 20ms, parameters: {{log: {log}}},
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


def _service(
    context: ModelContext, other: str = "on_communication_ready_async"
) -> tuple[VirtualTime, Log]:
    """Time and log of a participant with all handlers but one of the two for readiness."""
    time, log = VirtualTime(context), Log(context)
    for name in HANDLERS:
        if name != other:
            time.set_handlers(**{name: lambda *a, n=name: log(" ".join([n, *(s.name for s in a)]))})
    return time, log


def make_holder(context: ModelContext) -> VirtualTime:
    """Its step at ``hold_at`` lasts until its service is called with ``data: true``."""
    time, log = _service(context)
    held = context.shape != "inproc" and context.parameters["hold_at"] >= 0

    def ready() -> None:
        log("on_communication_ready")
        if held:
            from std_srvs.srv import SetBool

            time.node.create_service(SetBool, "~/release", answer)

    def answer(request: Any, response: Any) -> Any:
        response.success = holding[0]
        if request.data and holding[0]:
            holding[0] = False
            time.complete_step()
        return response

    def step(step: Step) -> None:
        log(f"step {step.time // MS}")
        time.send("out", Acceleration(step.time / 1e9, 0.0, 0.0))
        if held and step.time == context.parameters["hold_at"]:
            holding[0] = True
        else:
            time.complete_step()

    holding = [False]
    time.set_handlers(on_communication_ready=ready)
    time.set_step_handler_async(step)
    return time


def make_server(context: ModelContext) -> VirtualTime:
    """Answers, also while others are in a step of theirs."""
    time, log = _service(context)

    def ready() -> None:
        log("on_communication_ready")
        if time.node is not None:
            from std_srvs.srv import SetBool

            time.node.create_service(SetBool, "~/invert", invert)

    def invert(request: Any, response: Any) -> Any:
        response.success = not request.data
        return response

    def step(step: Step) -> dict[str, Any]:
        log(f"step {step.time // MS}")
        return {"out": Acceleration(0.0, 0.0, 0.0)}

    time.set_handlers(on_communication_ready=ready)
    time.set_step_handler(step)
    return time


def make_asker(context: ModelContext) -> VirtualTime:
    """Asks the server within each of its steps, and sends the answer with the same step."""
    time, log = _service(context, "on_communication_ready")
    clients: list[Any] = []

    def ready(complete: Any) -> None:
        log("on_communication_ready_async")
        if time.node is None:
            complete()
            return
        from std_srvs.srv import SetBool

        clients.append(time.node.create_client(SetBool, "/server/invert"))
        timer = time.node.create_timer(0.01, lambda: look(complete, timer))

    def look(complete: Any, timer: Any) -> None:
        if clients[0].service_is_ready():
            timer.cancel()
            complete()

    def step(step: Step) -> None:
        log(f"step {step.time // MS}")
        question = step.time // (20 * MS) % 2 == 0
        if not clients:
            finish(not question)
            return
        from std_srvs.srv import SetBool

        future = clients[0].call_async(SetBool.Request(data=question))
        future.add_done_callback(lambda f: finish(f.result().success))

    def finish(answer: bool) -> None:
        log(f"answer {answer}")
        time.send("out", Acceleration(1.0 if answer else 0.0, 0.0, 0.0))
        time.complete_step()

    time.set_handlers(on_communication_ready_async=ready)
    time.set_step_handler_async(step)
    return time
