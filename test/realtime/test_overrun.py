# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Deadlines of participants: what each policy does when one is missed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.behaviours import Plain
from support.coupling_signals import MS, Signal, loop_scenario, step_at
from support.virtual_clock import VirtualClock

from ros2_cosim.core.kernel.errors import ConfigurationError, ParticipantError
from ros2_cosim.core.kernel.layers import LayeredModel
from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.realtime.deadline import Deadline
from ros2_cosim.core.realtime.pacing import Pacer
from ros2_cosim.core.realtime.run_settings import RealtimeRun
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import make_scenario
from ros2_cosim.core.scenario.system import build_model

COSTS = [1, 1, 14, 1, 1]


class Working(Plain):
    """A model whose activations cost wall time [ms]."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock

    def activate(self, step: Step) -> Mapping[str, Any]:
        self._clock.work(COSTS[step.time // (10 * MS)] * MS)
        return {}


def paced(policy: str) -> tuple[dict[str, Any], Pacer]:
    clock = VirtualClock(start=0)
    pacer = Pacer(1.0, clock)
    layer = Deadline("plant", policy=policy, deadline_ns=8 * MS, pacer=pacer)
    watched = LayeredModel(Working(clock), [layer])
    pacer.start()
    for number in range(len(COSTS)):
        pacer.wait(number * 10 * MS)
        watched.activate(step_at(number * 10 * MS))
    return watched.report().realtime["deadline"], pacer


def test_record_counts_and_catches_up() -> None:
    found, pacer = paced("record")
    assert found["overruns"] == 1 and found["listed"] == [[0.02, 0.006]]
    # The next one begins 4 ms late, the one after that in time again.
    assert found["jitter"]["largest_s"] == 0.004 and pacer.late == 1
    assert pacer.clock.now() == 41 * MS


def test_slip_gives_the_lost_time_up() -> None:
    found, pacer = paced("slip")
    assert found["overruns"] == 1 and found["jitter"]["largest_s"] == 0.0
    assert pacer.slipped_ns == 6 * MS
    assert pacer.clock.now() == 47 * MS


def test_stop_names_participant_activation_and_lateness() -> None:
    with pytest.raises(ParticipantError, match="'plant' missed .* at 20ms by 6ms"):
        paced("stop")


@pytest.mark.parametrize(("policy", "sent"), [("skip", 1.0), ("estimate", 2.0)])
def test_skip_holds_and_estimate_extrapolates(policy: str, sent: float, tmp_path: Path) -> None:
    data = loop_scenario()
    data["participants"]["slow"]["overrun"] = {"policy": policy, "deadline": "8ms"}
    scenario = make_scenario(data, "test")
    arrivals = {"slow": {20 * MS: 0}}
    model = build_model(scenario, "slow", "inproc", RealtimeRun(arrivals=arrivals))
    values = [model.activate(step_at(n * 10 * MS, fast=0.0))["out"].ax * 100 for n in range(4)]
    assert values == pytest.approx([0.0, 1.0, sent, 3.0])


@pytest.mark.parametrize("shape_of_pacing", ["paced", "as fast as possible"])
def test_deadlines_stand_in_the_summary_of_paced_runs(shape_of_pacing: str, tmp_path: Path) -> None:
    data = loop_scenario()
    data["participants"]["fast"]["overrun"] = {"deadline": "3ms"}
    run = RealtimeRun()
    if shape_of_pacing == "paced":
        run = RealtimeRun(Pacer(1.0, VirtualClock()))
    summary = run_inproc(make_scenario(data, "test"), tmp_path, record=False, realtime=run)
    if run.pacer is None:
        assert summary.realtime is None
    else:
        assert summary.realtime is not None and summary.realtime.rate == 1.0
        assert summary.realtime.ticks == 100 and summary.realtime.late_ticks == 0
        (deadline,) = summary.realtime.deadlines.values()
        assert deadline.jitter.number == 100 and deadline.overruns == 0
        assert deadline.deadline_s == 0.003


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"overrun": {"policy": "wait"}}, "overrun.policy: found 'wait'"),
        ({"overrun": {"deadline": 0}}, "overrun.deadline"),
        ({"overrun": {"policy": "stop"}, "coupling": {}}, "never waited for"),
        ({"overrun": {"policy": "skip", "deadline": "11ms"}}, "at most the period, 10ms"),
    ],
)
def test_wrong_settings_are_refused(change: dict[str, Any], message: str) -> None:
    data = loop_scenario()
    data["participants"]["slow"].update(change)
    with pytest.raises(ConfigurationError, match=message):
        build_model(make_scenario(data, "test"), "slow", "inproc")


def test_a_watched_model_still_is_that_model() -> None:
    pacer = Pacer(1.0, VirtualClock())
    signal = Signal(abs)
    layer = Deadline("plant", policy="record", deadline_ns=MS, pacer=pacer)
    watched = LayeredModel(signal, [layer])
    assert watched.model is signal and watched.report().figures is None
