# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The loop of runs in one process: slices, requests, pauses of participants, the end."""

from __future__ import annotations

import pytest
from support.control_scenarios import chain
from support.virtual_clock import VirtualClock

from ros2_cosim.core.kernel.errors import Aborted
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.realtime.pacing import Pacer
from ros2_cosim.core.realtime.run_control import Command, Request, RunControl
from ros2_cosim.core.realtime.sequential_run import SequentialRun
from ros2_cosim.core.scenario.schema import make_scenario
from ros2_cosim.core.scenario.system import build_graph, build_model

MS = 1_000_000
SLICE = 100 * MS


class Loop:
    """A run of the chain, on a clock that moves when it is waited for."""

    def __init__(self, rate: float | None = None, *, paused: bool = False) -> None:
        scenario = make_scenario(chain("1s"), "chain")
        graph = build_graph(scenario)
        models = {name: build_model(scenario, name, "inproc") for name in graph.order}
        self.clock = VirtualClock()
        self.scheduler = SequentialScheduler(graph, models)
        self.pacer = Pacer(rate, self.clock)
        self.control = RunControl(step_ns=10 * MS, scale=self.pacer, paused=paused)
        self.control.granted = 0
        self.served: list[float] = []
        self.waiting: list[int] = []
        self.resume_after = 0
        self.run = SequentialRun(
            self.scheduler,
            self.control,
            self.pacer,
            duration_ns=scenario.duration,
            slice_ns=SLICE,
            serve=self.serve,
            on_waiting=self.waiting.append,
        )

    def serve(self, seconds: float) -> None:
        self.served.append(seconds)
        self.clock.sleep_until(self.clock.now() + round(seconds * 1e9))
        if len(self.served) >= self.resume_after:
            self.scheduler.suspended = False

    def ask(self, command: Command, **values: object) -> None:
        request = Request(command)._replace(**values)  # type: ignore[arg-type]
        self.control.handle(request, time=self.run.time, now=self.clock.now(), reply=lambda _: None)

    def digests(self) -> dict[str, str]:
        return {name: r.trace.hexdigest() for name, r in self.scheduler.runtimes.items()}


def reference() -> dict[str, str]:
    loop = Loop()
    while not loop.run.has_finished():
        assert loop.run.advance()
    assert (loop.run.end, loop.run.end_reason) == (1000 * MS, "end of the run at 1s")
    return loop.digests()


def test_it_goes_slice_by_slice_to_the_end() -> None:
    loop = Loop()
    reached = []
    while not loop.run.has_finished():
        assert loop.run.advance()
        reached.append(loop.run.reached)
        assert loop.run.reached <= loop.run.time <= loop.run.end
    assert reached == [SLICE * n for n in range(1, 11)]
    assert not loop.run.advance()
    assert loop.served == []


def test_a_paused_run_stands_and_steps() -> None:
    loop = Loop(paused=True)
    assert not loop.run.advance()
    loop.ask(Command.STEP, steps=3)
    assert loop.run.advance()
    assert loop.run.reached == 30 * MS
    assert not loop.run.advance()
    loop.ask(Command.RESUME)
    while not loop.run.has_finished():
        assert loop.run.advance()
    assert loop.digests() == reference()


def test_it_knows_when_the_next_activation_is() -> None:
    loop = Loop(paused=True)
    assert loop.run.time == 0
    loop.ask(Command.UNTIL, time_ns=15 * MS)
    assert loop.run.advance()
    assert (loop.run.reached, loop.run.time) == (15 * MS, 20 * MS)


def test_a_stop_ends_it_where_it_is() -> None:
    loop = Loop()
    loop.run.advance()
    loop.ask(Command.STOP, reason="seen enough")
    assert not loop.run.advance()
    assert loop.run.has_finished()
    assert (loop.run.end, loop.run.end_reason) == (SLICE, "stop: seen enough")


def test_an_abort_ends_it_at_once() -> None:
    loop = Loop()
    loop.ask(Command.ABORT, reason="enough")
    with pytest.raises(Aborted, match="enough"):
        loop.run.advance()


def test_a_paced_run_does_not_catch_up_on_the_pause_of_a_participant() -> None:
    loop = Loop(rate=1.0)
    loop.run.advance()
    began = loop.clock.now()
    loop.scheduler.suspended = True
    loop.resume_after = 40
    assert loop.run.advance()
    # While it is suspended time passes, and is reported; then the slice is completed.
    assert len(loop.served) == len(loop.waiting) == 40
    assert loop.run.reached == 2 * SLICE
    paused_ns = round(sum(loop.served) * 1e9)
    assert paused_ns == 2000 * MS
    assert loop.clock.now() - began == pytest.approx(paused_ns + SLICE, abs=10 * MS)
    loop.scheduler.suspended = False
    while not loop.run.has_finished():
        assert loop.run.advance()
    assert loop.digests() == reference()
    # Ten activations a slice: none was late because of the pause.
    assert loop.pacer.late == 0


def test_an_abort_ends_it_while_a_participant_is_paused() -> None:
    loop = Loop()
    loop.scheduler.suspended = True
    loop.resume_after = 10**9

    def serve(seconds: float) -> None:
        Loop.serve(loop, seconds)
        if len(loop.served) == 3:
            loop.ask(Command.ABORT, reason="enough")

    loop.run._serve = serve  # the loop calls it again and again
    with pytest.raises(Aborted, match="enough"):
        loop.run.advance()
    assert len(loop.served) == 3
