# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Braking peaks down a platoon, and the stop: what the law damps stays damped."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import pytest

from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.library import library_file


class Braked:
    """The scenario ``braking`` of the library at 3 m/s^2, with what each vehicle did."""

    def __init__(self, directory: Path, *changes: str) -> None:
        request = RunRequest(
            library_file("braking"),
            set=("parameters.deceleration=3.0", *changes),
            shape="inproc",
            out=directory,
            record=False,
        )
        speeds: dict[str, list[float]] = defaultdict(list)
        accelerations: dict[str, list[float]] = defaultdict(list)
        with bring_up(request) as prepared:
            names = prepared.scenario.scene["platoon"]
            watch = {}
            for name in names:

                def speed(sample: Sample, name: str = name) -> None:
                    speeds[name].append(sample.value.vx)

                def acceleration(sample: Sample, name: str = name) -> None:
                    accelerations[name].append(sample.value.ax)

                watch["world", f"odometry/{name}"] = speed
                watch["world", f"acceleration/{name}"] = acceleration
            with InprocRun(prepared, watch=watch) as run:
                self.summary = run.finish()
        self.peaks = [-min(accelerations[name]) for name in names]
        #: Largest deceleration below 0.3 m/s, of each follower.
        self.at_the_stop = [
            max(-a for v, a in zip(speeds[n], accelerations[n], strict=True) if v < 0.3)
            for n in names[1:]
        ]


#: String stable by their theory with this vehicle, whose lag is 0.08 to 0.15 s: the CACC laws at
#: 0.6 s, Rajamani's ACC above twice the lag, that of PATH above 2.66 s.
STABLE = [
    ("parameters.law=ploeg_cacc",),
    ("parameters.law=path_cacc",),
    ("parameters.law=rajamani_acc", "parameters.time_gap=1.1"),
    ("parameters.law=path_acc", "parameters.time_gap=2.7"),
    ("platoon.v2v.parameters.loss=1.0",),
    (
        "platoon.v2v.parameters.loss=1.0",
        "platoon.controller.fallback=estimate",
        "parameters.time_gap=1.1",
    ),
]


@pytest.mark.parametrize("changes", STABLE, ids=" ".join)
def test_braking_peaks_do_not_grow(changes: tuple[str, ...], tmp_path: Path) -> None:
    braked = Braked(tmp_path, *changes)
    assert all(behind <= ahead + 0.1 for ahead, behind in pairwise(braked.peaks)), braked.peaks
    assert (braked.summary.min_gap_m or 0.0) > 0.5


def test_where_the_law_is_too_gentle_the_emergency_brake_adds_only_what_is_needed(
    tmp_path: Path,
) -> None:
    late = Braked(tmp_path / "a", "parameters.law=path_acc", "platoon.controller.emergency=null")
    early = Braked(tmp_path / "b", "parameters.law=path_acc")
    assert max(late.peaks) > 6.0
    assert max(early.peaks) < 4.0
    assert (early.summary.min_gap_m or 0.0) > 0.5
    assert early.summary.collisions == 0


def test_the_stop_is_soft(tmp_path: Path) -> None:
    at_once = Braked(tmp_path / "a", "platoon.controller.hold_rate=null")
    soft = Braked(tmp_path / "b")
    assert max(at_once.at_the_stop) > 2.0
    assert max(soft.at_the_stop) < 1.3
    assert all(verdict.passed for verdict in soft.summary.verdicts)
