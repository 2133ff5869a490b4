# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is noted of the thread of a sequential run: all of its time, in order, by a fake clock."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from support.control_scenarios import chain
from support.virtual_clock import VirtualClock

from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.realtime.pacing import Pacer
from ros2_cosim.core.realtime.run_control import RunControl
from ros2_cosim.core.realtime.sequential_run import SequentialRun
from ros2_cosim.core.record.spans import (
    COMPUTE,
    READ,
    REPORT,
    SEND,
    SENT,
    SERIALISE,
    SIMULATOR,
    WAIT,
    WORK,
    Activations,
    Chronicle,
    SequenceChronicle,
    Span,
    Spans,
    noted_scheduler,
    read_spans,
)
from ros2_cosim.core.scenario.schema import make_scenario
from ros2_cosim.core.scenario.system import build_graph, build_model
from ros2_cosim.core.sockets.reactor import Reactor

MS = 1_000_000


class Ticking(VirtualClock):
    """Each look at it takes a microsecond."""

    def now(self) -> int:
        self.time += 1_000
        return self.time


def kept(spans: Spans, directory: Path) -> list[Span]:
    spans.save(directory)
    return read_spans(directory / f"{spans.process}.spans").spans


def ran(
    spans: Spans | None, clock: VirtualClock, *, rate: float | None
) -> tuple[SequentialScheduler, SequentialRun]:
    """The chain for 100 ms, noted or not."""
    scenario = make_scenario(chain("100ms"), "chain")
    graph = build_graph(scenario)
    chronicle = None if spans is None else SequenceChronicle(spans)
    models = {name: build_model(scenario, name, "inproc") for name in graph.order}
    scheduler = noted_scheduler(chronicle, graph, models)
    pacer = Pacer(rate, clock)
    control = RunControl(step_ns=10 * MS, scale=pacer)
    run = SequentialRun(
        scheduler,
        control,
        pacer,
        duration_ns=scenario.duration,
        slice_ns=50 * MS,
        serve=lambda seconds: None,
        on_pacing=None if chronicle is None else chronicle.paces,
    )
    while not run.has_finished():
        assert run.advance()
    return scheduler, run


@pytest.mark.parametrize("rate", [None, 1.0])
def test_all_of_the_time_is_noted(tmp_path: Path, rate: float | None) -> None:
    clock = Ticking()
    spans = Spans("here", ["all"], clock.now)
    scheduler, _ = ran(spans, clock, rate=rate)
    found = kept(spans, tmp_path)
    assert all(one.end == other.begin for one, other in zip(found, found[1:], strict=False))
    for name, runtime in scheduler.runtimes.items():
        own = [span for span in found if span.name == name]
        for kind in (READ, COMPUTE, SERIALISE, SEND):
            assert sum(s.kind == kind for s in own) == runtime.trace.activations, (name, kind)
        assert sum(s.end - s.begin for s in own if s.kind == COMPUTE) == runtime.compute_ns
    paced = [span for span in found if span.kind == WAIT]
    assert bool(paced) == (rate is not None)
    # 100 ms at rate 1: the last activations are at 90 ms, and what is not a wait is microseconds.
    assert sum(s.end - s.begin for s in paced) > (0 if rate is None else 80 * MS) - 1


def test_to_be_noted_changes_nothing(tmp_path: Path) -> None:
    clock = Ticking()
    noted, _ = ran(Spans("here", ["all"], clock.now), clock, rate=None)
    plain, _ = ran(None, clock, rate=None)
    assert {n: r.trace.hexdigest() for n, r in noted.runtimes.items()} == {
        n: r.trace.hexdigest() for n, r in plain.runtimes.items()
    }


def test_a_model_that_waits_for_another_process(tmp_path: Path) -> None:
    """In the thread of a sequential run, and in that of a participant of its own: the same."""
    clock = VirtualClock(0)
    spans = Spans("here", ["a"], clock.now)
    own = Activations(spans, "a")

    def pass_by(us: int) -> None:
        clock.work(us * 1_000)

    pass_by(1)
    own.timer()
    pass_by(2)
    own.sent("slave")
    own.sleeps()
    pass_by(30)
    own.woke()
    pass_by(4)
    own.timer()
    pass_by(5)
    assert own.activated(0, 7) == 42_000
    found = kept(spans, tmp_path)
    expected = [
        (READ, 0, 1),
        (COMPUTE, 1, 3),
        (WAIT, 3, 33),
        (COMPUTE, 33, 37),
        (SERIALISE, 37, 42),
    ]
    assert found[0] == Span(SENT, "slave", 3_000, 3_000, 0)
    assert found[1:] == [Span(k, "a", 1_000 * b, 1_000 * e, 7) for k, b, e in expected]

    scenario = make_scenario(chain("10ms"), "chain")
    graph = build_graph(scenario)
    scheduler = SequentialScheduler(
        graph, {n: build_model(scenario, n, "inproc") for n in graph.order}
    )
    scheduler.active, scheduler.now = "a", 7
    clock.time = 0
    again = Spans("again", ["a"], clock.now)
    chronicle = SequenceChronicle(again)
    chronicle.scheduler = scheduler
    pass_by(1)
    chronicle.timer()
    pass_by(2)
    chronicle.sent("slave")
    chronicle.sleeps()
    pass_by(30)
    chronicle.woke()
    pass_by(4)
    chronicle.timer()
    pass_by(5)
    chronicle.delivers(False)
    assert sorted(kept(again, tmp_path)) == sorted(found)
    # Between activations a wait is that of no participant.
    pass_by(1)
    chronicle.sleeps()
    pass_by(1)
    chronicle.woke()
    assert kept(again, tmp_path)[-2:] == [
        Span(REPORT, "", 42_000, 43_000, 0),
        Span(WAIT, "", 43_000, 44_000, 0),
    ]


def test_a_server_notes_its_waits_and_its_simulator(tmp_path: Path) -> None:
    clock = Ticking(0)
    spans = Spans("slave", [], clock.now)
    chronicle = Chronicle(spans)
    near, far = socket.socketpair()
    with near, far, Reactor() as reactor:
        reactor.note_waits(chronicle.sleeps, chronicle.woke)

        def step() -> None:
            near.recv(1)
            chronicle.simulates(False)
            chronicle.simulates(True)
            chronicle.sent("world")

        reactor.watch(near, step)
        far.send(b"x")
        assert reactor.turn()
        assert not reactor.turn(0)  # a look is not a wait
        kinds = [WORK, WAIT, WORK, SIMULATOR, SENT]
        assert [span.kind for span in kept(spans, tmp_path)] == kinds
        reactor.note_waits(None, None)
        far.send(b"x")
        assert reactor.turn()
        assert [span.kind for span in kept(spans, tmp_path)] == [*kinds, WORK, SIMULATOR, SENT]
