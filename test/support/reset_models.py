# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Models that hold something open, and may be able to begin anew; they keep a log of that."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.records import Acceleration

TYPE = "geometry_msgs/msg/AccelStamped"


class Holder(FullModel):
    """Sums up what it has read; holds its log open. It cannot begin anew."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._file = Path(parameters["log"], context.name).open("a", encoding="utf-8")
        self._note("open")
        self._sum = 1.0

    def activate(self, step: Step) -> Mapping[str, Any]:
        if step.time == 0:
            self._note("step")
        for sample in step.latest.values():
            self._sum += 0.25 * sample.value.ax if sample is not None else 0.5
        self._sum %= 100.0
        return {"out": Acceleration(self._sum, 0.0, 0.0)}

    def close(self) -> None:
        self._note("close")
        self._file.close()

    def _note(self, what: str) -> None:
        print(what, file=self._file, flush=True)


class ResettableHolder(Holder):
    """One that can."""

    def reset(self) -> None:
        self._note("reset")
        self._sum = 1.0


def scenario(log: Path, *, resettable: bool, **slow: Any) -> dict[str, Any]:
    """``fast`` and ``slow`` (a holder) in a loop, for 300 ms.

    :param slow: further settings of ``slow``
    """

    def part(writer: str, topic: str, delayed: bool, able: bool) -> dict[str, Any]:
        return {
            "model": f"support.reset_models:{'ResettableHolder' if able else 'Holder'}",
            "parameters": {"log": str(log)},
            "period": "10ms",
            "inputs": {"in": {"from": [f"{writer}.out"], "delayed": delayed}},
            "outputs": {"out": {"type": TYPE, "topic": topic}},
        }

    return {
        "name": "reset",
        "duration": "300ms",
        "participants": {
            "fast": part("slow", "/fast", False, True),
            "slow": {**part("fast", "/slow", True, resettable), **slow},
        },
    }
