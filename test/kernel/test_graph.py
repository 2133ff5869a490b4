# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Wiring: what is refused and how it is said, ranks and order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import pytest
from support.behaviours import wire

from ros2_cosim.core.kernel.activation import Activation, Count, all_of
from ros2_cosim.core.kernel.errors import ConfigurationError, ZeroDelayLoopError
from ros2_cosim.core.kernel.graph import (
    Connection,
    Graph,
    InputPort,
    Latency,
    OutputPort,
    ParticipantSpec,
)


def periodic(name: str, *inputs: InputPort | str, latency: int = 0) -> ParticipantSpec:
    """A participant of period 10 with one output ``out``."""
    ports = tuple(InputPort(p) if isinstance(p, str) else p for p in inputs)
    outputs = (OutputPort("out", Latency(latency)),)
    return ParticipantSpec(name, period_ns=10, inputs=ports, outputs=outputs)


def triggered(name: str, activation: Activation, *inputs: str) -> ParticipantSpec:
    """A data-triggered participant with one output ``out``."""
    ports = tuple(InputPort(p) for p in inputs)
    return ParticipantSpec(name, None, 0, activation, ports, (OutputPort("out"),))


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "unknown schedule": (
        lambda: OutputPort("out", schedule="often"),
        "output port 'out': schedule is 'often'; allowed are 'every', 'sparse' and 'once'",
    ),
    "negative latency": (
        lambda: OutputPort("out", Latency(-1)),
        "output port 'out': latency is -1 ns; it must not be negative",
    ),
    "never runs": (
        lambda: ParticipantSpec("a"),
        "participant 'a' has neither a period nor an activation nor a handled input; it "
        "would never run",
    ),
    "period of zero": (
        lambda: ParticipantSpec("a", period_ns=0),
        "participant 'a': period is 0 ns; it must be positive",
    ),
    "negative period": (
        lambda: ParticipantSpec("a", period_ns=-5),
        "participant 'a': period is -5 ns; it must be positive",
    ),
    "negative offset": (
        lambda: ParticipantSpec("a", period_ns=5, offset_ns=-1),
        "participant 'a': offset is -1 ns; it must not be negative",
    ),
    "offset of nothing": (
        lambda: ParticipantSpec("a", None, 7, Count("in"), (InputPort("in"),)),
        "participant 'a': offset is 7 ns, but there is no period; "
        "an offset is the time of the first periodic activation",
    ),
    "input twice": (
        lambda: periodic("a", "in", "in"),
        "participant 'a': input port 'in' is declared twice",
    ),
    "output twice": (
        lambda: ParticipantSpec("a", 10, outputs=(OutputPort("o"), OutputPort("o"))),
        "participant 'a': output port 'o' is declared twice",
    ),
    "activation on an unknown port": (
        lambda: triggered("a", all_of(["in", "on"]), "in", "off"),
        "participant 'a': the activation names port 'on'; input ports are in, off",
    ),
    "activation without ports": (
        lambda: triggered("a", Count("in")),
        "participant 'a': the activation names port 'in'; input ports are none",
    ),
    "delayed trigger": (
        lambda: ParticipantSpec("a", None, 0, Count("in"), (InputPort("in", delayed=True),)),
        "participant 'a': port 'in' is both delayed and part of the activation; "
        "a sample cannot activate at its own stamp and be hidden then",
    ),
    "delayed handled port": (
        lambda: ParticipantSpec("a", inputs=(InputPort("in", delayed=True, handled=True),)),
        "participant 'a': port 'in' is handled, each message at its stamp; it can be neither "
        "delayed nor unsynchronised nor part of the activation",
    ),
    "handled trigger": (
        lambda: ParticipantSpec("a", None, 0, Count("in"), (InputPort("in", handled=True),)),
        "participant 'a': port 'in' is handled, each message at its stamp; it can be neither "
        "delayed nor unsynchronised nor part of the activation",
    ),
    "service without answers": (
        lambda: ParticipantSpec("a", inputs=(InputPort("in", handled=True, service="s"),)),
        "participant 'a': port 'in' takes requests to service 's'; it must be handled, and the "
        "answers need a sparse output port of the same name",
    ),
    "no participants": (lambda: Graph([], []), "the scenario has no participants"),
    "participant twice": (
        lambda: Graph([periodic("a"), periodic("a")], []),
        "participant 'a' is declared twice",
    ),
    "unknown writer": (
        lambda: Graph([periodic("b", "in"), periodic("c")], wire("a.out>b.in")),
        "connection a.out -> b.in: there is no participant 'a'; participants are b, c",
    ),
    "unknown reader": (
        lambda: Graph([periodic("a")], wire("a.out>b.in")),
        "connection a.out -> b.in: there is no participant 'b'; participants are a",
    ),
    "unknown output": (
        lambda: Graph([periodic("a"), periodic("b", "in")], wire("a.on>b.in")),
        "connection a.on -> b.in: participant 'a' has no output port 'on'; it has out",
    ),
    "unknown input": (
        lambda: Graph([periodic("a"), periodic("b")], wire("a.out>b.in")),
        "connection a.out -> b.in: participant 'b' has no input port 'in'; it has none",
    ),
    "connection twice": (
        lambda: Graph([periodic("a"), periodic("b", "in")], wire("a.out>b.in a.out>b.in")),
        "connection a.out -> b.in is declared twice",
    ),
    "input without writer": (
        lambda: Graph([periodic("a", "in")], []),
        "participant 'a': nothing writes to input port 'in'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_wiring_is_refused_with_place_and_what_is_allowed(case: str) -> None:
    build, message = REFUSED[case]
    with pytest.raises(ConfigurationError) as caught:
        build()
    assert str(caught.value) == message


def test_a_zero_delay_loop_is_named_with_both_ways_out() -> None:
    specs = [periodic("a", "in", "back"), periodic("b", "in"), periodic("c", "in"), periodic("z")]
    # 'd' hangs on the loop without being part of it.
    specs.append(periodic("d", "in"))
    edges = wire("z.out>a.in a.out>b.in b.out>c.in c.out>a.back c.out>d.in")
    with pytest.raises(ZeroDelayLoopError) as caught:
        Graph(specs, edges)
    loop, ways_out = str(caught.value).split(". Two ways out: ")
    assert loop.startswith("zero-delay loop: ")
    assert set(loop.removeprefix("zero-delay loop: ").split(", ")) == {
        "a.out -> b.in",
        "b.out -> c.in",
        "c.out -> a.back",
    }
    assert "latency above zero" in ways_out
    assert "'delayed'" in ways_out


def test_a_loop_of_one_is_a_loop() -> None:
    with pytest.raises(ZeroDelayLoopError, match=r"zero-delay loop: a\.out -> a\.in\. "):
        Graph([periodic("a", "in")], wire("a.out>a.in"))


def test_a_loop_through_triggers_is_a_loop() -> None:
    specs = [triggered("a", Count("in"), "in"), triggered("b", Count("in"), "in")]
    with pytest.raises(ZeroDelayLoopError, match="zero-delay loop"):
        Graph(specs, wire("a.out>b.in b.out>a.in"))


def test_a_latency_or_a_delayed_port_breaks_the_loop() -> None:
    edges = wire("a.out>b.in b.out>a.in")
    latency = Graph([periodic("a", "in"), periodic("b", "in", latency=1)], edges)
    assert latency.ranks == {"a": 0, "b": 1}
    delayed = Graph([periodic("a", "in"), periodic("b", InputPort("in", delayed=True))], edges)
    assert delayed.ranks == {"b": 0, "a": 1}


def test_a_random_latency_that_may_be_zero_does_not_break_the_loop() -> None:
    outputs = (OutputPort("out", Latency(0, lambda: 5)),)
    drawn = ParticipantSpec("a", 10, inputs=(InputPort("in"),), outputs=outputs)
    with pytest.raises(ZeroDelayLoopError):
        Graph([drawn, periodic("b", "in")], wire("a.out>b.in b.out>a.in"))


def test_ranks_are_the_longest_zero_delay_paths_and_order_ties_by_name() -> None:
    specs = [
        periodic("d", "in", "short"),
        periodic("c", "in"),
        periodic("a", "in"),
        periodic("b", latency=0),
        periodic("slow", "in", latency=3),
        periodic("after", "in"),
    ]
    edges = wire("b.out>a.in b.out>c.in c.out>d.in b.out>d.short b.out>slow.in slow.out>after.in")
    graph = Graph(specs, edges)
    assert graph.ranks == {"b": 0, "after": 0, "a": 1, "c": 1, "slow": 1, "d": 2}
    assert graph.order == ("after", "b", "a", "c", "slow", "d")


def test_channels_are_numbered_by_port_in_declaration_order_then_by_writer() -> None:
    specs = [periodic("r", "x", "m"), periodic("b"), periodic("a")]
    graph = Graph(specs, wire("b.out>r.m b.out>r.x a.out>r.x"))
    assert [str(c) for c in graph.incoming("r")] == [
        "a.out -> r.x",
        "b.out -> r.x",
        "b.out -> r.m",
    ]
    assert {c.target_port for c in graph.outgoing("b")} == {"x", "m"}


@dataclass(frozen=True, eq=False)
class Compared(Connection):
    """A connection that counts how often it is compared with another one."""

    comparisons: ClassVar[list[str]] = []

    def __eq__(self, other: object) -> bool:
        self.comparisons.append(str(self))
        return str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def test_the_work_of_the_checks_grows_with_the_number_of_connections() -> None:
    number = 300
    writers = [ParticipantSpec(f"w{i}", 10, outputs=(OutputPort("out"),)) for i in range(number)]
    reader = ParticipantSpec("reader", 10, inputs=(InputPort("in"),))
    connections = [Compared(w.name, "out", "reader", "in") for w in writers]
    assert len(Graph([*writers, reader], connections).incoming("reader")) == number
    assert len(Compared.comparisons) <= number
    with pytest.raises(ConfigurationError, match="connection w7.out -> reader.in is declared twi"):
        Graph([*writers, reader], [*connections, connections[7]])


def test_when_a_participant_takes_part_in_words() -> None:
    assert ParticipantSpec("p", 10).describe_membership() == []
    bound = ParticipantSpec("p", 10, enter_ns=20, leave_ns=70, required=False)
    assert bound.describe_membership() == ["enters at 20ns", "leaves at 70ns", "not required"]
    free = ParticipantSpec("p", 10, free_entry=True)
    assert free.describe_membership() == ["enters when it is ready"]


@pytest.mark.parametrize(
    ("enter", "first", "can"),
    [
        (0, 3, True),
        (3, 3, True),
        (4, 13, True),
        (13, 13, True),
        (14, None, False),
        (20, None, False),
    ],
)
def test_the_first_activation_after_an_entry_is_on_the_grid(
    enter: int, first: int | None, can: bool
) -> None:
    spec = ParticipantSpec("p", 10, 3, leave_ns=20)
    assert spec.first_periodic(enter) == first
    assert spec.can_enter(enter) is can


def test_a_participant_of_events_can_enter_until_it_leaves() -> None:
    spec = ParticipantSpec(
        "p", None, 0, Count("in"), (InputPort("in"),), enter_ns=0, leave_ns=20, required=False
    )
    assert spec.first_time is None
    assert [spec.can_enter(t) for t in (0, 19, 20, 21)] == [True, True, False, False]


def test_what_is_kept_for_readers_that_connect_late() -> None:
    specs = [
        ParticipantSpec("w", 10, outputs=(OutputPort("a"), OutputPort("b"))),
        ParticipantSpec("late", 10, inputs=(InputPort("in"),), enter_ns=30),
        ParticipantSpec("there", 10, inputs=(InputPort("in"),)),
    ]
    graph = Graph(specs, wire("w.a>late.in w.b>there.in"))
    assert graph.is_kept("w", "a") and not graph.is_kept("w", "b")
    assert graph.has_late
    early = Graph([specs[0], specs[2]], wire("w.b>there.in"))
    assert not early.has_late and not early.is_kept("w", "b")


def test_the_entry_of_one_leaves_the_others_as_they_are() -> None:
    free = [
        ParticipantSpec(name, 10, outputs=(OutputPort("out"),), free_entry=True) for name in "ab"
    ]
    entered = Graph(free, []).entering("a", 70).participants
    assert [(spec.enter_ns, spec.free_entry) for spec in entered.values()] == [
        (70, False),
        (0, True),
    ]
