# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Random systems of the kernel's tests as scenarios, to be run in any shape."""

from __future__ import annotations

import random
import time
from typing import Any

from support.behaviours import Plain
from support.kernel_systems import Mixer, System

from ros2_cosim.core.kernel.activation import Activation, Combination, Count, NewerThan
from ros2_cosim.core.kernel.participant import ModelContext, Sample, Step
from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.core.messages import records

#: One unit of the systems' time.
UNIT = "ms"
_TYPE = "ros2_cosim/msg/ControlCommand"
_RECORD = "ControlCommand"


class CannotBeWrittenError(Exception):
    """The system has an activation function that a scenario cannot express."""


def scenario_of(system: System, until: int, longest_delay_s: float = 0.0) -> dict[str, Any]:
    """A scenario equal to the system.

    :param until: its duration in units
    :param longest_delay_s: activations sleep at random for up to this long
    :raises CannotBeWrittenError: it has a predicate
    """
    participants: dict[str, Any] = {}
    for entry in system.plan:
        name = entry["name"]
        sources: dict[str, list[str]] = {}
        for connection in system.connections:
            if connection.target == name:
                source = f"{connection.source}.{connection.source_port}"
                sources.setdefault(connection.target_port, []).append(source)
        settings: dict[str, Any] = {
            "model": "support.graph_scenarios:MessageMixer",
            "parameters": {
                "silent_every": entry["silent_every"],
                "schedules": {
                    p: schedule
                    for p, (_, _, schedule) in entry["outputs"].items()
                    if not p.startswith("asked")
                },
                "longest_delay_s": longest_delay_s,
            },
            "inputs": {
                port: {
                    "from": sources[port],
                    "delayed": delayed,
                    "handled": port in entry["handled"],
                    "service": "add" if port.startswith("asked") else None,
                }
                for port, delayed in entry["inputs"].items()
            },
            "outputs": {
                port: {
                    "type": _TYPE,
                    "topic": f"/{name}/{port}",
                    "schedule": schedule,
                    "latency": _latency(minimum, spread),
                }
                for port, (minimum, spread, schedule) in entry["outputs"].items()
            },
        }
        if entry["activation"] is not None:
            settings["activation"] = _expression(entry["activation"])
        if entry["period"] is not None:
            settings["period"] = f"{entry['period']}{UNIT}"
            settings["offset"] = f"{entry['offset']}{UNIT}"
        if entry.get("enter"):
            settings["enter"] = f"{entry['enter']}{UNIT}"
        if entry.get("leave", FOREVER) < FOREVER:
            settings["leave"] = f"{entry['leave']}{UNIT}"
        participants[name] = settings
    return {"name": "random", "duration": f"{until}{UNIT}", "participants": participants}


def _latency(minimum: int, spread: int) -> Any:
    if not spread:
        return f"{minimum}{UNIT}"
    return {"uniform": [f"{minimum}{UNIT}", f"{minimum + spread - 1}{UNIT}"]}


def _expression(activation: Activation) -> Any:
    if isinstance(activation, Count):
        return {"every": {activation.port: activation.n}}
    if isinstance(activation, NewerThan):
        return {"newer": {"port": activation.port, "than": activation.than}}
    if isinstance(activation, Combination):
        kind = "all" if activation.require_all else "any"
        return {kind: [_expression(part) for part in activation.parts]}
    raise CannotBeWrittenError(type(activation).__name__)


class MessageMixer(Plain):
    """The mixer of the kernel's tests, with its number in a message."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        p = parameters
        self._mixer = Mixer(context.name, dict(p["schedules"]), p["silent_every"], None)
        self._record: Any = getattr(records, p.get("record", _RECORD))
        self._rest = [0.0] * (len(self._record._fields) - 1)
        self._longest_delay_s = p["longest_delay_s"]
        # Not seeded: how long an activation takes must not matter.
        self._dice = random.SystemRandom()

    def activate(self, step: Step) -> dict[str, Any]:
        """Mix the numbers of all messages, after a nap of random length."""
        return self._records(self._mixer.activate(self._plain(step)))

    def handle_message(self, port: str, step: Step) -> dict[str, Any]:
        """Mix the number of one message."""
        return self._records(self._mixer.handle_message(port, self._plain(step)))

    def answer_service(self, name: str, request: Any, step: Step) -> Any:
        """Mix the number of a request, and answer with a number."""
        number = int(request[0])
        return self._record_of(self._mixer.answer_service(name, number, self._plain(step)))

    def _plain(self, step: Step) -> Step:
        if self._longest_delay_s:
            time.sleep(self._dice.uniform(0.0, self._longest_delay_s))
        return Step(
            step.time,
            {port: tuple(map(_number, samples)) for port, samples in step.samples.items()},
            {port: sample and _number(sample) for port, sample in step.latest.items()},
        )

    def _records(self, sent: dict[str, Any]) -> dict[str, Any]:
        return {port: self._record_of(value) for port, value in sent.items()}

    def _record_of(self, value: int) -> Any:
        return self._record(float(value), *self._rest)


def _number(sample: Sample) -> Sample:
    return sample._replace(value=int(sample.value[0]))
