# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The order in which slaves step: by the wiring, in ranks; loops need a delay."""

from __future__ import annotations

import io
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.dcp_models import Offset, running
from support.patience import HANG_S

from ros2_cosim.dcp.master.cosimulation import load_cosimulation, run_cosimulation
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.order import Stepping, delayed_in, step_order
from ros2_cosim.dcp.master.wiring import Wire
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.interfaces import SlaveOptions
from ros2_cosim.dcp.standard.errors import DescriptionError, WiringError

NAMES = tuple("abcdef")


def wires(pairs: Sequence[tuple[str, str]], delayed: bool = False) -> list[Wire]:
    return [Wire(source, "y", target, "u", delayed) for source, target in pairs]


def test_ranks_follow_the_wiring_and_not_the_file() -> None:
    found = step_order("abcd", wires([("d", "b"), ("b", "a"), ("d", "a")]), Stepping.DEPENDENCY)
    assert found == [("c", "d"), ("b",), ("a",)]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=15), st.permutations(NAMES)
)
def test_each_slave_steps_after_its_sources(edges: list[tuple[int, int]], order: list[str]) -> None:
    pairs = [(order[low], order[high]) for low, high in map(sorted, edges) if low != high]
    batches = step_order(NAMES, wires(pairs), Stepping.DEPENDENCY)
    rank = {name: at for at, batch in enumerate(batches) for name in batch}
    assert sorted(rank) == sorted(NAMES)
    assert all(rank[source] < rank[target] for source, target in pairs)
    for name, at in rank.items():  # none waits without a reason
        before = [rank[source] for source, target in pairs if target == name]
        assert at == (max(before) + 1 if before else 0)


def test_only_a_delayed_wire_to_a_slave_that_steps_later_has_to_be_held_back() -> None:
    late = wires([("a", "b"), ("b", "c")], delayed=True)
    assert delayed_in([("a", "b"), ("c",)], late) == late[1:]
    assert delayed_in([("c",), ("a", "b")], late) == []
    assert delayed_in([("a",), ("b", "c")], wires([("a", "b")])) == []


def test_a_loop_is_refused_with_the_ways_out() -> None:
    ring = wires([("a", "b"), ("b", "c"), ("c", "a")])
    with pytest.raises(WiringError) as caught:
        step_order("abc", ring, Stepping.DEPENDENCY)
    for part in (*map(str, ring), "delayed: true", "stepping: parallel"):
        assert part in str(caught.value)
    assert step_order("abc", ring, Stepping.PARALLEL) == [("a", "b", "c")]
    assert step_order("abc", ring, Stepping.SEQUENTIAL) == [("a",), ("b",), ("c",)]
    opened = [*ring[:2], *wires([("c", "a")], delayed=True)]
    assert step_order("abc", opened, Stepping.DEPENDENCY) == [("a",), ("b",), ("c",)]
    with pytest.raises(WiringError, match=r"a\.y -> a\.u are a loop"):
        step_order("a", wires([("a", "a")]), Stepping.DEPENDENCY)


SCENARIO = """
steps: 4
step: 1/100
stepping: {stepping}
data_synchronisation: {by_data}
slaves:
  last: {{model: "chain.py:Offset", parameters: {{offset: 100.0}}}}
  middle: {{model: "chain.py:Offset", parameters: {{offset: 10.0}}}}
  first: {{model: "chain.py:Offset", parameters: {{offset: 1.0}}}}
connections:
  - first.y -> middle.u
  - {{from: middle.y, to: last.u, delayed: {delayed}}}
  - {{from: last.y, to: first.u, delayed: true}}
outputs: [first.y, middle.y, last.y]
"""


def chain(directory: Path, stepping: str, *, delayed: bool = False, by_data: bool = False) -> str:
    (directory / "chain.py").write_text("from support.dcp_models import Offset  # noqa: F401\n")
    text = SCENARIO.format(stepping=stepping, delayed=str(delayed), by_data=str(by_data))
    (directory / "chain.yaml").write_text(text)
    out = io.StringIO()
    run_cosimulation(load_cosimulation(directory / "chain.yaml"), out)
    return out.getvalue()


def expected(delayed: bool) -> list[tuple[float, float, float]]:
    rows = []
    first = middle = last = 0.0
    for number in range(5):
        before = middle
        first = (last if number else 0.0) + 1.0
        middle = first + 10.0
        last = ((before if number else 0.0) if delayed else middle) + 100.0
        rows.append((first, middle, last))
    return rows


@pytest.mark.parametrize("delayed", [False, True])
@pytest.mark.parametrize("by_data", [False, True])
def test_a_chain_passes_its_values_through_in_one_step(
    tmp_path: Path, delayed: bool, by_data: bool
) -> None:
    lines = chain(tmp_path, "dependency", delayed=delayed, by_data=by_data).splitlines()[1:]
    found = [tuple(map(float, line.split(",")[2:])) for line in lines]
    if by_data:  # all connections pass through the master, which has nothing before the first loop
        assert found[1:] == expected(delayed)[1:]
    else:
        assert found == expected(delayed)


def test_a_delayed_wire_is_late_in_sequential_stepping_too() -> None:
    """Both slaves in the order of the wire: without the delay the value comes in the same step."""
    description = describe(Offset, resolutions=(Fraction(1, 100),))
    for delayed, values in ((False, [2.0, 2.0]), (True, [1.0, 2.0])):
        with (
            running(Offset(), description) as one,
            running(Offset(), description) as two,
            Master(timeout_s=HANG_S, stepping="sequential") as master,
        ):
            master.add_slave(description, port=one.port, name="a")
            b = master.add_slave(description, port=two.port, name="b")
            master.connect("a.y", "b.u", delayed=delayed)
            master.configure()
            master.run()
            found = []
            for _ in range(2):
                master.do_step()
                found.append(b.outputs[0])
            assert found == values
            master.stop()


def test_wrong_orders_and_connections_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WiringError, match="found 'random'; allowed are parallel, sequential, dep"):
        Master(stepping="random")
    with pytest.raises(DescriptionError, match="stepping: found 'random'; allowed"):
        chain(tmp_path, "random")
    (tmp_path / "wrong.yaml").write_text(
        "steps: 1\nslaves: {a: {model: 'chain.py:Offset'}}\nconnections: [a.y to a.u]\n"
    )
    with pytest.raises(DescriptionError, match="a.y to a.u.*allowed is slave.output -> slave.inpu"):
        load_cosimulation(tmp_path / "wrong.yaml")


def test_data_synchronisation_needs_inputs_and_single_steps() -> None:
    description = describe(Offset, resolutions=(Fraction(1, 100),))
    options = SlaveOptions(data_synchronisation=True)
    with (
        running(Offset(), description, options=options) as slave,
        Master(data_synchronisation=True) as master,
    ):
        from ros2_cosim.dcp.master.remote import SlaveUse

        master.add_slave(description, port=slave.port, use=SlaveUse(every=2))
        with pytest.raises(WiringError, match="every is 2; with data_synchronisation only 1"):
            master.configure()
