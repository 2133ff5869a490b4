# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Time-stepped synchronisation: repeatable at any width, right where the chains have room."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.behaviours import Scripted, sends, wire
from support.kernel_systems import System, systems

from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.kernel.activation import any_of
from ros2_cosim.core.kernel.errors import Cancelled
from ros2_cosim.core.kernel.graph import Graph, InputPort, Latency, OutputPort, ParticipantSpec
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.lab.study.causality import SCENARIO
from ros2_cosim.lab.study.record import RunKey, StudyRun
from ros2_cosim.lab.study.runs import perform
from ros2_cosim.lab.study.schedule import Control
from ros2_cosim.lab.study.time_stepped import TimeStepped

UNTIL = 200
MS = 1_000_000


def chain(offset: int, latency: int = 0) -> tuple[Graph, dict[str, Scripted]]:
    """A source at 0, 20, ... triggers a relay; a sink reads its messages at offset, ..."""
    graph = Graph(
        [
            ParticipantSpec("source", 20, outputs=(OutputPort("out", latency=Latency(latency)),)),
            ParticipantSpec(
                "relay",
                activation=any_of(["in"]),
                inputs=(InputPort("in"),),
                outputs=(OutputPort("out", schedule="sparse"),),
            ),
            ParticipantSpec("sink", 20, offset_ns=offset, inputs=(InputPort("in"),)),
        ],
        wire("source.out>relay.in relay.out>sink.in"),
    )
    models = {
        "source": Scripted(sends(out=1)),
        "relay": Scripted(sends(out=1)),
        "sink": Scripted(),
    }
    return graph, models


def read_by(sink: Scripted) -> list[int | None]:
    """Stamps of what was read."""
    found = [step.latest["in"] for step in sink.steps]
    return [None if sample is None else sample.stamp for sample in found]


@pytest.mark.parametrize(
    ("step", "late", "stamps"),
    [
        (5, 0, [0, 20, 40]),  # two hops of 5 are done when the sink reads at 10
        (6, 1, [None, 20, 40]),  # from 0 at 6 and 12; from 20 at 24 and 30
        (20, 3, [None, None, 0]),
    ],
)
def test_a_chain_of_two_needs_two_steps(step: int, late: int, stamps: list[int | None]) -> None:
    graph, models = chain(10)
    run = TimeStepped(graph, models, step, end_ns=60)
    run.run()
    counts = run.participants["sink"].counts
    assert read_by(models["sink"]) == stamps
    assert (counts.late, counts.messages, counts.loss) == (late, 3, 0)
    assert (counts.wrong > 0) == (late > 0)


def test_a_message_is_not_there_before_its_latency_is_over() -> None:
    graph, models = chain(18, latency=12)
    run = TimeStepped(graph, models, 2, end_ns=60)
    run.run()
    assert models["relay"].times == [12, 32, 52]
    assert read_by(models["sink"]) == [12, 32, 52]
    assert run.participants["sink"].counts.timing == 0


def test_messages_of_one_exchange_come_in_the_order_of_the_synchronised_run() -> None:
    writers = [ParticipantSpec(name, 5, outputs=(OutputPort("out"),)) for name in "vw"]
    reader = ParticipantSpec(
        "r", activation=any_of(["a", "b"]), inputs=(InputPort("a"), InputPort("b"))
    )
    graph = Graph([reader, *writers], wire("w.out>r.a v.out>r.b"))
    models = {"r": Scripted(), "v": Scripted(sends(out=1)), "w": Scripted(sends(out=2))}
    run = TimeStepped(graph, models, 15, end_ns=30)
    assert run.run() == 3
    assert models["r"].times == [0, 0, 5, 5, 10, 10, 15, 15, 20, 20, 25, 25]
    assert run.participants["r"].counts.order == 0


@given(system=systems(max_participants=4, handled=False), step=st.integers(1, 60))
def test_without_errors_the_trace_is_that_of_the_synchronised_run(
    system: System, step: int
) -> None:
    for entry in system.plan:
        entry["stop_after"] = None  # as without synchronisation, a run lasts its duration
    graph, behaviours = system.build()
    reference = SequentialScheduler(graph, behaviours)
    reference.run(UNTIL)
    expected = {n: r.trace.hexdigest() for n, r in reference.runtimes.items()}
    runs = []
    for _ in range(2):
        graph, behaviours = system.build()
        sent: list[tuple[str, str, Sample]] = []
        run = TimeStepped(
            graph, behaviours, step, end_ns=UNTIL, observer=lambda *a, s=sent: s.append(a)
        )
        run.run()
        counts = [free.counts for free in run.participants.values()]
        assert sum(c.loss + c.early for c in counts) == 0
        traces = {n: free.runtime.trace.hexdigest() for n, free in run.participants.items()}
        runs.append((traces, counts, sent))
    assert runs[0] == runs[1]
    traces, counts, _ = runs[0]
    assert sum(c.timing + c.order for c in counts) > 0 or traces == expected
    assert sum(c.wrong for c in counts) > 0 or traces == expected


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The trace of the study's scenario in shape ``inproc``."""
    scenario = load_scenario(share_file(SCENARIO), ["duration=2s"])
    output = tmp_path_factory.mktemp("reference")
    return run_inproc(scenario, output=output, record=False).trace_sha256


def stepped(step_ns: int, stop: threading.Event | None = None) -> StudyRun:
    """A run of the study."""
    scenario = load_scenario(share_file(SCENARIO), ["duration=2s"])
    control = Control(stop or threading.Event())
    key = RunKey("TSS", "stepped", None, 0, step_ns)
    return perform(key, scenario, Path("not-written"), control)


def test_the_study_finds_the_widest_step_that_its_scenario_has_room_for(reference: str) -> None:
    # A sensor at 45 ms, the driving function, the traffic at 50 ms: two hops in 5 ms.
    right, wrong = stepped(5 * MS // 2), stepped(5 * MS)
    assert right.trace_sha256 == reference
    assert (right.violations, right.wrong) == (0, 0)
    assert wrong.trace_sha256 != reference
    assert (wrong.late, wrong.early, wrong.order, wrong.loss) == (wrong.violations, 0, 0, 0)
    assert wrong.wrong > 0
    assert wrong.messages == right.messages
    assert stepped(5 * MS).trace_sha256 == wrong.trace_sha256


def test_the_counts_of_all_readers_add_up() -> None:
    run = stepped(20 * MS)
    for kind in ("timing", "late", "messages", "wrong", "activations"):
        assert getattr(run, kind) == sum(reader[kind] for reader in run.readers.values())
    assert run.track["times"][:3] == [0.0, 0.1, 0.2]
    assert not Path("not-written").exists()


def test_a_run_ends_when_it_is_asked_to() -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(Cancelled):
        stepped(10 * MS, stop)
