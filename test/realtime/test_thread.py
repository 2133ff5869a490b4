# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Slow parts in a thread of their own: late on the wall clock, whatever the machine does.

Which results are late is decided by the tests, by a gate that a computation waits for: a busy
machine can only make more of them late, and nothing here depends on how many.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.behaviours import Plain
from support.coupling_signals import MS, adapted, loop_scenario, step_at
from support.patience import HANG_S, until
from support.virtual_clock import VirtualClock

from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.core.messages.records import Acceleration
from ros2_cosim.core.realtime.computation import InThread, MacroStep
from ros2_cosim.core.realtime.pacing import Pacer
from ros2_cosim.core.realtime.run_settings import RealtimeRun, realtime_run
from ros2_cosim.core.realtime.wall_clock import MonotonicClock
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.replay import compare, prepare_replay
from ros2_cosim.core.scenario.schema import make_scenario

#: A gate for the slow part of the scenario below: opened by its fast part.
GATE = threading.Event()


class Gated(Plain):
    """A slow part that computes one activation only when its gate is open."""

    def __init__(self, gate: threading.Event, closed_at: int) -> None:
        self._gate = gate
        self._closed_at = closed_at
        self.times: list[int] = []
        self.threads: set[str] = set()

    def activate(self, step: Step) -> Mapping[str, Any]:
        self.threads.add(threading.current_thread().name)
        if step.time == self._closed_at:
            assert self._gate.wait(HANG_S)
        self.times.append(step.time)
        return {"out": Acceleration(step.time / 1e9, 0.0, 0.0)}


class Opening(Plain):
    """A fast part that opens the gate at 300 ms: it got there without the slow one."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        pass

    def activate(self, step: Step) -> Mapping[str, Any]:
        if step.time == 300 * MS:
            GATE.set()
        return {"state": Acceleration(0.0, 0.0, 0.0)}


class GatedModel(Gated):
    def __init__(self, context: ModelContext, parameters: Any) -> None:
        super().__init__(GATE, 200 * MS)


def paced(rate: float) -> RealtimeRun:
    pacer = Pacer(rate, MonotonicClock())
    pacer.start()
    return RealtimeRun(pacer)


def test_the_thread_catches_up_without_idling() -> None:
    gate = threading.Event()
    model = Gated(gate, 20 * MS)
    participant = adapted(model, {"budget": "9ms"}, run=paced(1.0))
    sent = [participant.activate(step_at(n * 10 * MS))["out"].ax for n in range(6)]
    assert len(sent) == 6  # none of them waited for the gate
    found = participant.report().realtime
    assert found["coupling"]["late"] >= 4 and found["depends_on_wall_clock"]
    assert found["coupling"]["never_delivered"] >= 4
    gate.set()
    participant.finish()
    # The data that had piled up were used one after another, none of them twice.
    assert model.times == [n * 10 * MS for n in range(6)]
    assert model.threads == {"slow part slow"}
    participant.close()
    assert "slow part slow" not in {thread.name for thread in threading.enumerate()}


def test_late_on_the_wall_clock_is_repeated_exactly(tmp_path: Path) -> None:
    data = loop_scenario(budget="1ms", estimate=[{"order": 1, "adapt": 0.5}])
    here = "realtime.test_thread"
    data["participants"]["slow"]["model"] = f"{here}:GatedModel"
    data["participants"]["fast"]["model"] = f"{here}:Opening"
    data["participants"]["fast"]["inputs"] = {}
    GATE.clear()
    first = tmp_path / "first"
    first.mkdir()
    scenario = make_scenario(data, "test")
    run = realtime_run(10.0, hard=False, arrivals=None)
    summary = run_inproc(scenario, first, record=False, realtime=run)
    assert summary.realtime is not None
    coupling = summary.realtime.couplings["slow"]
    # At 200, 210, ... 300 ms nothing can have been there.
    assert coupling.late >= 10 and coupling.longest_lateness_s >= 0.1
    assert not summary.repeatable and summary.not_repeatable_since_s == coupling.since_s
    assert "of 'slow' were late" in str(summary.not_repeatable_reason)
    assert json.loads((first / "arrivals.json").read_text("utf-8"))["participants"]["slow"]

    loaded, arrivals, former = prepare_replay(first)
    GATE.set()
    again = tmp_path / "again"
    again.mkdir()
    replayed = run_inproc(
        loaded, again, record=False, realtime=realtime_run(None, hard=False, arrivals=arrivals)
    )
    compare(former, replayed)
    assert replayed.repeatable and replayed.realtime is not None
    assert replayed.realtime.couplings["slow"].cases == coupling.cases
    assert (again / "arrivals.json").read_bytes() == (first / "arrivals.json").read_bytes()
    assert read_summary(again).trace_sha256 == summary.trace_sha256


def test_nothing_late_is_the_run_as_fast_as_possible(tmp_path: Path) -> None:
    """On a clock that stands still while the slow part computes, everything is in time."""
    scenario = make_scenario(loop_scenario(budget="8ms"), "test")
    traces = set()
    for name in ("max", "paced"):
        (tmp_path / name).mkdir()
        run = RealtimeRun(Pacer(1.0, VirtualClock())) if name == "paced" else RealtimeRun()
        summary = run_inproc(scenario, tmp_path / name, record=False, realtime=run)
        assert summary.repeatable and summary.realtime is not None
        assert summary.realtime.couplings["slow"].late == 0
        traces.add(summary.trace_sha256)
    assert len(traces) == 1


class SlowToStart(Plain):
    """A slow part whose first step takes long on the test's clock."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock

    def activate(self, step: Step) -> Mapping[str, Any]:
        if step.time == 0:
            self._clock.work(7_000 * MS)
        return {"out": Acceleration(0.0, 0.0, 0.0)}


def test_real_time_begins_with_the_first_data() -> None:
    clock = VirtualClock(start=0)
    pacer = Pacer(1.0, clock)
    pacer.start()
    participant = adapted(SlowToStart(clock), {}, run=RealtimeRun(pacer))
    for n in range(3):
        pacer.wait(n * 10 * MS)
        participant.activate(step_at(n * 10 * MS))
    participant.close()
    assert pacer.due(0) == 7_000 * MS
    assert participant.report().realtime["deadline"]["overruns"] == 0


class Failing(Plain):
    """A slow part that fails."""

    def activate(self, step: Step) -> Mapping[str, Any]:
        if step.time:
            raise ValueError("no such gear")
        return {"out": Acceleration(0.0, 0.0, 0.0)}


def test_an_error_of_the_slow_part_reaches_the_run() -> None:
    participant = adapted(Failing(), {}, run=paced(0.001))
    participant.activate(step_at(0))
    with pytest.raises(ValueError, match="no such gear"):
        participant.activate(step_at(10 * MS))
    participant.close()


def test_a_slow_part_that_hangs_ends_the_run_where_it_is_waited_for() -> None:
    gate = threading.Event()
    clock = MonotonicClock()
    thread = InThread(
        MacroStep(Gated(gate, 0), ["out"]),
        deadline=lambda te: 0,
        timer=clock.now,
        name="plant",
        patience_s=0.01,
    )
    thread.submit((step_at(0),))
    with pytest.raises(ParticipantError, match=r"'plant': a computation has not ended within 0.01"):
        thread.take()
    gate.set()
    thread.close()


def test_the_end_waits_for_a_computation_that_is_under_way() -> None:
    gate = threading.Event()
    model = Gated(gate, 0)
    thread = InThread(
        MacroStep(model, ["out"]), deadline=lambda te: 0, timer=lambda: 0, name="s",
        patience_s=HANG_S,
    )  # fmt: skip
    thread.submit((step_at(0),))
    until(lambda: model.threads)
    threading.Timer(0.05, gate.set).start()
    thread.close()
    assert model.times == [0]


def test_the_time_of_all_waits_is_added_up() -> None:
    thread = InThread(
        MacroStep(Gated(threading.Event(), -1), ["out"]), deadline=lambda te: FOREVER,
        timer=itertools.count(0, 3).__next__, name="s", patience_s=HANG_S,
    )  # fmt: skip
    assert thread.waited_ns == 0
    assert [thread.complete(te, ()) for te in (0, 10)] == [0, 0]
    assert thread.waited_ns == 6
    thread.close()


def test_the_time_of_all_computations_is_added_up() -> None:
    thread = InThread(
        MacroStep(Gated(threading.Event(), -1), ["out"]),
        deadline=lambda te: FOREVER,
        timer=itertools.count(0, 3).__next__,
        name="s",
        patience_s=HANG_S,
    )
    assert thread.computing_ns == 0
    for number in range(2):
        thread.submit((step_at(number * 10 * MS),))
        thread.take()
    assert thread.computing_ns == 6
    thread.close()


def test_the_fast_part_gets_the_interpreter_back_after_a_fifth_of_a_millisecond() -> None:
    before = sys.getswitchinterval()
    macro_step = MacroStep(Gated(threading.Event(), -1), ["out"])
    computation = InThread(
        macro_step, deadline=lambda te: FOREVER, timer=lambda: 0, name="s", patience_s=HANG_S
    )
    assert sys.getswitchinterval() == pytest.approx(200e-6)
    computation.close()
    assert sys.getswitchinterval() == before
