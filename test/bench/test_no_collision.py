# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bench of the emergency brake: two combinations of it, and what it draws."""

from bench.no_collision import (
    FARTHEST,
    LAWS,
    NEAREST,
    SLOWEST,
    SPEED,
    Combination,
    all_of,
    changes_of,
    cut_in_of,
    run,
    table,
)
from ros2_cosim.driving.controllers.reference_drivers import is_avoidable
from ros2_cosim.driving.controllers.registry import available_laws


def test_a_gentle_law_whose_v2v_is_lost_touches_nothing() -> None:
    rows = [run(Combination(name, "path_acc", "lost", True, 1)) for name in ("roadblock", "cut_in")]
    assert [row["contacts"] for row in rows] == [0, 0]
    assert min(row["gap"] for row in rows) > 1.0
    assert [line.split("|")[4:6] for line in table(rows)[2:]] == [[" 1 ", " 0 "]] * 2


def test_cut_ins_are_drawn_from_those_that_the_reference_driver_avoids() -> None:
    drawn = [cut_in_of(seed) for seed in range(1, 21)]
    assert len(set(drawn)) == 20 and all(map(is_avoidable, drawn))
    assert min(given.gap for given in drawn) > NEAREST
    assert max(given.gap for given in drawn) < FARTHEST
    assert all(SLOWEST <= given.other_speed < SPEED for given in drawn)


def test_every_combination_is_there_once() -> None:
    found = list(all_of(list(LAWS), 20))
    assert len(found) == len(set(found)) == 2 * len(LAWS) * 2 * 2 * 20
    lost = changes_of(Combination("roadblock", "idm", "lost", False, 3))
    assert any(change.startswith("faults={") for change in lost)


def test_all_laws_that_follow_are_in_the_bench() -> None:
    # path_cacc_sampled is path_cacc at another rate; cruise_control follows nothing; fmu is a file;
    # the reference drivers drive without the emergency brake.
    others = {"path_cacc_sampled", "cruise_control", "fmu"}
    drivers = {law for law in available_laws() if law.startswith("r157_")}
    assert len(drivers) == 4 and {*LAWS, *others, *drivers} == set(available_laws())
