# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants that call each other, handle messages and send within their steps."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.records import Acceleration
from ros2_cosim.core.realtime.virtual_time import VirtualTime

#: The scenario of these models, which is one of the golden runs.
SCENARIO: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parents[1] / "golden" / "calls.yaml").read_text(encoding="utf-8")
)


def _number(value: float) -> Acceleration:
    return Acceleration(value, 0.0, 0.0)


class Caller(VirtualTime):
    """Asks for a sum in each step; tells what it is answered, and asks again each third time."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        super().__init__(context, parameters)
        self.set_step_handler(lambda step: {"sum": _number(step.time / 1e6)})
        self.set_message_handler("sum", self._answered)

    def _answered(self, step: Step) -> dict[str, Any]:
        (answer,) = step.samples["sum"]
        again = {"sum": _number(0.5)} if answer.seq % 3 == 0 else {}
        return {"told": _number(answer.value.ax + answer.seq), **again}


class Adder(VirtualTime):
    """Adds up all requests, and what it was told last: any other order gives other sums."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        super().__init__(context, parameters)
        self._total = 0.0
        self.set_service_handler("sum", self._answer)

    def _answer(self, request: Any, step: Step) -> Acceleration:
        told = step.latest["told"]
        self._total = 0.75 * self._total + request.ax + (told.value.ax if told else 0.0)
        return _number(self._total)


class Early(VirtualTime):
    """Sends from a thread of its own, message by message, and completes the step then."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        super().__init__(context, parameters)
        self.set_step_handler_async(self._begin)

    def _begin(self, step: Step) -> None:
        threading.Thread(target=self._work, args=(step.time,)).start()

    def _work(self, now: int) -> None:
        for part in range(3):
            self.send_now("out", _number(now / 1e6 + part))
        self.complete_step()


class Listener(VirtualTime):
    """Folds all that it hears into one number."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        super().__init__(context, parameters)
        self._total = 0.0
        for port in ("early", "told"):
            self.set_message_handler(port, partial(self._hear, port))

    def _hear(self, port: str, step: Step) -> dict[str, Any]:
        (sample,) = step.samples[port]
        self._total = 0.5 * self._total + sample.value.ax + sample.seq
        return {"heard": _number(self._total)}
