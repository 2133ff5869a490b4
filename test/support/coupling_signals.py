# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Slow and fast parts for tests of the coupling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from support.behaviours import Plain

from ros2_cosim.core.kernel.layers import LayeredModel
from ros2_cosim.core.kernel.participant import ModelContext, Sample, Step
from ros2_cosim.core.messages.records import Acceleration
from ros2_cosim.core.realtime.arrivals import Arrivals
from ros2_cosim.core.realtime.check_pattern import CheckPattern
from ros2_cosim.core.realtime.computation import InCaller, MacroStep
from ros2_cosim.core.realtime.coupled_participant import Below, Coupling, LatePorts
from ros2_cosim.core.realtime.coupling import MacroStepCoupling
from ros2_cosim.core.realtime.coupling_record import CouplingRecord
from ros2_cosim.core.realtime.estimators_of_records import RecordEstimator, Rule, order_rule
from ros2_cosim.core.realtime.layers import LateParticipant, coupling_layer, deadline_layer
from ros2_cosim.core.realtime.run_settings import AS_FAST_AS_POSSIBLE, RealtimeRun
from ros2_cosim.core.realtime.settings import CouplingSettings

MS = 1_000_000
SECOND = 1_000_000_000


class Signal(Plain):
    """A slow part whose output is a function of its time [s]; remembers its activations."""

    def __init__(self, value: Callable[[float], float]) -> None:
        self._value = value
        self.steps: list[Step] = []

    def activate(self, step: Step) -> Mapping[str, Any]:
        self.steps.append(step)
        return {"out": Acceleration(self._value(step.time / 1e9), 0.0, 0.0)}


class ArrivesAt:
    """Arrivals given by the test: te -> how many computations have been completed."""

    depends_on_wall_clock = False

    def __init__(self, counts: Mapping[int, int]) -> None:
        self._counts = counts

    def complete(self, te: int, pending: Sequence[Any]) -> int:
        return min(self._counts.get(te, len(pending)), len(pending))


def coupled(
    model: Any,
    arrivals: Arrivals,
    *,
    rules: Sequence[Rule] = (order_rule(1),),
    overlap: bool = False,
    period_ns: int = 10 * MS,
    check: int | Sequence[int] = 1,
    hold: bool = True,
) -> tuple[LayeredModel, MacroStepCoupling]:
    """A coupled participant with one port ``out``, and its algorithm to look at."""
    estimator = RecordEstimator(rules, ["out"])
    coupling = MacroStepCoupling(estimator)
    part = Below()
    macro_step = MacroStep(part, ["out"])
    layer = Coupling(
        part,
        InCaller(macro_step),
        arrivals,
        coupling,
        pattern=CheckPattern(check),
        period_ns=period_ns,
        overlap=overlap,
        hold=hold,
        silent=(),
        ports=LatePorts({}, {}),
        record=CouplingRecord(estimator),
    )
    return LayeredModel(model, [layer]), coupling


def adapted(
    model: Any,
    settings: Mapping[str, Any],
    *,
    outputs: Mapping[str, str] | None = None,
    run: RealtimeRun = AS_FAST_AS_POSSIBLE,
    period_ns: int = 10 * MS,
    seed: int = 1,
    base_directory: Path = Path(),
) -> Any:
    """A model with the layers that ``coupling`` of a scenario would give it."""
    kind = "geometry_msgs/msg/AccelStamped"
    ports = outputs or {"out": "every"}
    participant = LateParticipant(
        name="slow",
        period_ns=period_ns,
        is_triggered=False,
        dynamic_step=False,
        outputs={name: (schedule, kind) for name, schedule in ports.items()},
        inputs={},
        overrun=None,
        coupling=CouplingSettings.model_validate(settings),
        seed=seed,
        base_directory=base_directory,
        watchdog_s=60.0,
    )
    made = (coupling_layer(participant, run), deadline_layer(participant, run))
    return LayeredModel(model, [layer for layer in made if layer is not None])


def step_at(time: int, **inputs: float) -> Step:
    """An activation with one latched sample per input, whose ``ax`` is the number given."""
    latest = {n: Sample(time, 0, Acceleration(v, 0.0, 0.0)) for n, v in inputs.items()}
    return Step(time, {}, latest)


class FastPart(Plain):
    """Follows what the slow part says: its state is the integral of that; sends it back."""

    def __init__(self) -> None:
        self.state = 0.0
        self.used: list[float] = []

    def activate(self, step: Step) -> Mapping[str, Any]:
        sample = step.latest["slow"]
        value = sample.value.ax if sample is not None else 0.0
        self.used.append(value)
        self.state += value
        return {"state": Acceleration(self.state, value, 0.0)}


class SlowPart(Plain):
    """Answers the fast part's state: a weak spring with a drift of its own."""

    def activate(self, step: Step) -> Mapping[str, Any]:
        sample = step.latest["fast"]
        state = sample.value.ax if sample is not None else 0.0
        return {"out": Acceleration(step.time / 1e9 - 0.25 * state, 0.0, 0.0)}


class FastModel(FastPart):
    def __init__(self, context: ModelContext, parameters: Any) -> None:
        super().__init__()


class SlowModel(SlowPart):
    def __init__(self, context: ModelContext, parameters: Any) -> None:
        super().__init__()


def loop_scenario(**coupling: Any) -> dict[str, Any]:
    """Fast and slow part in a loop, as plain data of a scenario; 1 s, 10 ms."""
    accel = "geometry_msgs/msg/AccelStamped"
    return {
        "name": "loop",
        "duration": "1s",
        "participants": {
            "fast": {
                "model": "support.coupling_signals:FastModel",
                "period": "10ms",
                "inputs": {"slow": "slow.out"},
                "outputs": {"state": {"type": accel, "topic": "/state"}},
            },
            "slow": {
                "model": "support.coupling_signals:SlowModel",
                "period": "10ms",
                "inputs": {"fast": {"from": "fast.state", "delayed": True}},
                "outputs": {"out": {"type": accel, "topic": "/out"}},
                **({"coupling": coupling} if coupling else {}),
            },
        },
    }
