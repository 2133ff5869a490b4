# SPDX-License-Identifier: Apache-2.0
"""The bench of the emergency brake: one combination of it."""

from bench.no_collision import LAWS, contacts
from ros2_cosim.models.controllers.registry import available_laws


def test_a_gentle_law_without_v2v_touches_nothing() -> None:
    count, smallest = contacts("roadblock", "path_acc", 1.0, True, 1)
    assert count == 0 and smallest > 1.0


def test_all_laws_that_follow_are_in_the_bench() -> None:
    # path_cacc_sampled is path_cacc at another rate; cruise_control follows nothing; fmu is a file.
    assert {*LAWS, "path_cacc_sampled", "cruise_control", "fmu"} == set(available_laws())
