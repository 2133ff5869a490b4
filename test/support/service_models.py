# SPDX-License-Identifier: Apache-2.0
"""Participants that call each other, handle messages and send within their steps."""

from __future__ import annotations

import threading
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


def make_caller(context: ModelContext) -> VirtualTime:
    """Asks for a sum in each step; tells what it is answered, and asks again each third time."""
    time = VirtualTime(context)

    def answered(step: Step) -> dict[str, Any]:
        (answer,) = step.samples["sum"]
        again = {"sum": _number(0.5)} if answer.seq % 3 == 0 else {}
        return {"told": _number(answer.value.ax + answer.seq), **again}

    time.set_step_handler(lambda step: {"sum": _number(step.time / 1e6)})
    time.set_message_handler("sum", answered)
    return time


def make_adder(context: ModelContext) -> VirtualTime:
    """Adds up all requests, and what it was told last: any other order gives other sums."""
    time = VirtualTime(context)
    total = 0.0

    def answer(request: Any, step: Step) -> Acceleration:
        nonlocal total
        told = step.latest["told"]
        total = 0.75 * total + request.ax + (told.value.ax if told else 0.0)
        return _number(total)

    time.set_service_handler("sum", answer)
    return time


def make_early(context: ModelContext) -> VirtualTime:
    """Sends from a thread of its own, message by message, and completes the step then."""
    time = VirtualTime(context)

    def work(now: int) -> None:
        for part in range(3):
            time.send_now("out", _number(now / 1e6 + part))
        time.complete_step()

    time.set_step_handler_async(
        lambda step: threading.Thread(target=work, args=(step.time,)).start()
    )
    return time


def make_listener(context: ModelContext) -> VirtualTime:
    """Folds all that it hears into one number."""
    time = VirtualTime(context)
    total = 0.0

    def hear(port: str) -> Any:
        def handle(step: Step) -> dict[str, Any]:
            nonlocal total
            (sample,) = step.samples[port]
            total = 0.5 * total + sample.value.ax + sample.seq
            return {"heard": _number(total)}

        return handle

    for port in ("early", "told"):
        time.set_message_handler(port, hear(port))
    return time
