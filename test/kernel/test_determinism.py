# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The same system gives the same trace in the sequential reference and in any interleaving."""

from hypothesis import given, settings
from hypothesis import strategies as st
from support.kernel_systems import Interleaving, System, run_sequential, systems

UNTIL = 200


@settings(max_examples=150, deadline=None)
@given(system=systems(), seed=st.integers(0, 2**32))
def test_random_graph_gives_the_same_trace_in_any_interleaving(system: System, seed: int) -> None:
    assert Interleaving(system, UNTIL, seed).run() == run_sequential(system, UNTIL)


@settings(max_examples=30, deadline=None)
@given(system=systems())
def test_sequential_run_can_be_repeated(system: System) -> None:
    assert run_sequential(system, UNTIL) == run_sequential(system, UNTIL)
