# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The study of string stability, and the theory that it stands beside."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ros2_cosim.cli.console import EXIT_ERROR
from ros2_cosim.cli.main import app
from ros2_cosim.cli.study import stability_line
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.driving.controllers.human import GippsDriver, IntelligentDriver
from ros2_cosim.driving.controllers.measurement import Measurement
from ros2_cosim.driving.controllers.path import CruiseControl, PathAcc, PathCacc
from ros2_cosim.driving.controllers.ploeg import PloegCacc
from ros2_cosim.driving.controllers.rajamani import LeaderPredecessorCacc, RajamaniAcc
from ros2_cosim.driving.controllers.theory import (
    Loop,
    SteadyFollowing,
    largest_gain,
    linearised,
    smallest_time_gap,
    transfer,
)
from ros2_cosim.lab.study.string_stability import (
    RESULT_FILE,
    _statistics,
    amplitudes,
    string_stable,
)

Law = Callable[[Measurement], float]
#: Asked so often that its sampling does not show.
QUICK = 1e-3
FOLLOWING = SteadyFollowing(speed=20.0, set_speed=30.0, standstill_gap=2.0, time_gap=1.0)


@pytest.mark.parametrize(
    ("law", "loop", "expected"),
    [
        (PloegCacc().acceleration, Loop(QUICK, 0.1, 0.2, 0.02), 0.252),
        (PloegCacc().acceleration, Loop(QUICK, 0.1, 0.2, 0.07), 0.474),
        (PloegCacc().acceleration, Loop(QUICK, 0.1, 0.2, 0.12), 0.624),
        (PloegCacc().acceleration, Loop(QUICK, 0.1, 0.2, 0.15), 0.699),
        (PathAcc().acceleration, Loop(QUICK, 0.0, 0.0, 0.0), 2.660),
        (PathCacc(period=0.05).acceleration, Loop(QUICK, 0.0, 0.0, 0.0), 0.471),
        (PathCacc(period=0.1).acceleration, Loop(QUICK, 0.0, 0.0, 0.0), 0.667),
        (RajamaniAcc().acceleration, Loop(QUICK, 0.5, 0.0, 0.0), 1.0),
        (RajamaniAcc().acceleration, Loop(QUICK, 0.2, 0.0, 0.0), 0.4),
    ],
)
def test_the_theory_gives_the_published_time_gaps(law: Law, loop: Loop, expected: float) -> None:
    found = smallest_time_gap(lambda: law, loop, FOLLOWING, 0.05, 4.0)
    assert found == pytest.approx(expected, abs=3e-3)


def test_the_theory_gives_the_published_gain() -> None:
    linear = linearised(lambda: PathAcc().acceleration, FOLLOWING._replace(time_gap=1.1), QUICK)
    assert linear is not None
    assert largest_gain(linear, Loop(QUICK, 0.0, 0.0, 0.0)) == pytest.approx(1.590, abs=2e-3)
    loop = Loop(QUICK, 0.0, 0.0, 0.0)
    assert smallest_time_gap(lambda: PathAcc().acceleration, loop, FOLLOWING, 0.1, 2.0) is None


@pytest.mark.parametrize("set_speed", [24.0, 30.0, 60.0])
@pytest.mark.parametrize("w", [0.05, 0.3, 1.0, 3.0])
def test_the_theory_of_the_intelligent_driver_knows_its_set_speed(
    set_speed: float, w: float
) -> None:
    v, time_gap, s0, a, b = 20.0, 1.2, 3.0, 1.5, 2.0
    following = SteadyFollowing(v, set_speed, s0, time_gap)
    linear = linearised(lambda: IntelligentDriver().acceleration, following, QUICK)
    assert linear is not None
    # M. Treiber, A. Hennecke, D. Helbing, Phys. Rev. E 62 (2000): its slopes in steady following.
    wanted = s0 + v * time_gap
    gap = wanted / math.sqrt(1.0 - (v / set_speed) ** 4)
    by_gap = 2.0 * a * wanted**2 / gap**3
    by_rate = a * wanted * v / (gap**2 * math.sqrt(a * b))
    by_speed = -4.0 * a * v**3 / set_speed**4 - 2.0 * a * wanted * time_gap / gap**2
    s = 1j * w
    expected = (by_gap + by_rate * s) / (s * s - by_speed * s + by_gap + by_rate * s)
    found = transfer(linear, Loop(QUICK, 0.0, 0.0, 0.0), w)
    assert found == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("law", [GippsDriver().acceleration, LeaderPredecessorCacc().acceleration])
def test_the_theory_finds_a_gap_that_is_not_that_of_the_spacing_policy(law: Law) -> None:
    linear = linearised(lambda: law, FOLLOWING, QUICK)
    assert linear is not None and linear.gap > 0.0


def test_a_law_that_keeps_no_gap_has_no_theory() -> None:
    as_fast = FOLLOWING._replace(set_speed=20.0)
    assert linearised(lambda: IntelligentDriver().acceleration, as_fast, QUICK) is None
    assert linearised(lambda: CruiseControl().acceleration, FOLLOWING, QUICK) is None


def test_an_amplitude_is_that_of_its_harmonic() -> None:
    n = 400
    values = [
        5.0 + 0.3 * math.sin(2 * math.pi * 3 * i / n + 1.0) + 2.0 * math.cos(2 * math.pi * i / n)
        for i in range(n)
    ]
    assert amplitudes(np.array([values]))[0, :4] == pytest.approx([0.0, 2.0, 0.0, 0.3], abs=1e-12)


def test_the_confidence_is_students() -> None:
    means, intervals = _statistics([[11.0, 12.0, 13.0], [4.0], []])
    assert means == [12.0, 4.0, None] and intervals[1:] == [None, None]
    # t(0.975, 2) = 4.303, s / sqrt(n) = 1 / sqrt(3).
    assert intervals[0] == pytest.approx([12.0 - 4.303 / 3**0.5, 12.0 + 4.303 / 3**0.5])


def test_no_interval_of_a_ratio_goes_below_zero() -> None:
    assert _statistics([[1.0, 2.0, 9.0]])[1][0] == pytest.approx([0.0, 14.828], abs=1e-3)


@pytest.mark.parametrize(
    ("gains", "intervals", "answer"),
    [
        ([1.004, 0.9], [None, None], True),
        ([1.006, 0.9], [None, None], False),
        ([0.99, 0.9], [[0.98, 1.0], [0.8, 1.0]], True),
        ([0.99, 1.3], [[0.98, 1.0], [0.8, 1.8]], None),
        ([0.99, 0.9], [[0.98, 1.0], [0.7, 1.1]], None),
        ([0.99, None], [[0.98, 1.0], None], None),
        ([1.2, None], [[1.1, 1.3], None], False),
    ],
)
def test_what_the_runs_leave_open_is_not_determined(
    gains: list[float | None], intervals: list[list[float] | None], answer: bool | None
) -> None:
    assert string_stable(gains, intervals) is answer


def test_a_ratio_of_two_remains_is_no_gain(tmp_path: Path) -> None:
    arguments = ["study", "string-stability", "platoon20", "--json"]
    arguments += ["--law", "rajamani_acc", "--vehicles", "4", "--time-gap", "3.0", "--no-bisect"]
    done = CliRunner().invoke(app, [*arguments, "--seeds", "1", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["string_stable"] is True
    assert max(found["gain"]) == pytest.approx(
        max(found["theory"]["gain_over_frequency"]), abs=0.03
    )
    shown = found["gain_over_frequency"]
    assert None not in shown[0] and shown[2][4:] == [None] * 4
    for frequencies in shown:
        for gain, theory in zip(frequencies, found["theory"]["gain_over_frequency"], strict=True):
            assert gain is None or gain == pytest.approx(theory, abs=0.1)


def test_a_law_that_follows_nothing_determines_nothing_and_has_no_theory(tmp_path: Path) -> None:
    arguments = ["study", "string-stability", str(library_file("sine_leader"))]
    arguments += ["--law", "cruise_control", "--vehicles", "3", "--seeds", "1", "--no-bisect"]
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "string stability not determined" in done.stdout
    found = json.loads((tmp_path / RESULT_FILE).read_text())
    assert found["string_stable"] is None and found["gain"][1] is None
    assert found["theory"] is None
    page = (tmp_path / "report.html").read_text()
    assert "not determined" in page and "Without theory" in page


def test_a_platoon_is_measured_beside_the_theory(tmp_path: Path) -> None:
    arguments = ["study", "string-stability", str(library_file("sine_leader")), "--json"]
    arguments += ["--law", "path_cacc", "--law", "path_acc", "--vehicles", "3", "--seeds", "1"]
    arguments += ["--no-bisect", "--loss", "0", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found == json.loads((tmp_path / RESULT_FILE).read_text())
    assert {"gain", "l2", "peak", "min_time_gap_s", "ci"} <= found.keys()
    stable, unstable = found["settings"]
    assert stable["string_stable"] and max(stable["gain"] + stable["l2"]) < 1.005
    assert not unstable["string_stable"] and unstable["gain"][0] > 1.3
    for result in (stable, unstable):
        assert len(result["gain"]) == len(result["peak"]) == len(result["ci"]["l2"]) == 2
    theory = stable["theory"]["gain_over_frequency"]
    for measured in stable["gain_over_frequency"]:
        for frequency, a, b in zip(stable["frequency_hz"], measured, theory, strict=True):
            if frequency < 0.3:  # above, the sensor's noise is as large as the rest
                assert a == pytest.approx(b, abs=0.06)
    page = (tmp_path / "report.html").read_text()
    assert "theory" in page and "path_acc" in page and "<script src" not in page


def test_a_platoon_whose_vehicles_touch_is_not_string_stable(tmp_path: Path) -> None:
    arguments = ["study", "string-stability", str(library_file("sine_leader")), "--no-bisect"]
    arguments += ["--law", "path_cacc", "--vehicles", "3", "--seeds", "1"]
    for weak in ("limits.max_deceleration=1.0", "emergency.trigger=50.0"):
        arguments += ["--set", f"platoon.controller.{weak}"]
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / RESULT_FILE).read_text())
    assert max(found["gain"]) < 1.005  # the speeds alone would say that it is
    assert found["contacts"] > 0 and found["string_stable"] is False
    told = f"not string stable; contacts in the runs: {found['contacts']}"
    assert told in done.stdout
    assert "contacts in the runs" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("smallest", "looked", "end"),
    [
        (0.41, True, "not string stable; smallest time gap 0.41 s"),
        (None, True, "not string stable; smallest time gap not found"),
        (None, False, "not string stable"),
    ],
)
def test_a_time_gap_that_nothing_looked_for_is_not_told_as_not_found(
    smallest: float | None, looked: bool, end: str
) -> None:
    result = {"law": "ploeg_cacc", "time_gap_s": 0.6, "gain": [1.028, 1.01],
              "contacts": 0, "string_stable": False, "min_time_gap_s": smallest}  # fmt: skip
    line = stability_line(result, looked=looked)
    assert line == f"ploeg_cacc, time gap 0.6 s: largest gain 1.028, {end}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "0"], "--seeds: found 0; allowed is 1 or more"),
        (["--vehicles", "1"], "--vehicles: found 1; allowed is 2 or more"),
        (["--time-gap", "0"], "--time-gap: found 0; allowed is a time above 0 s"),
        (["--loss", "1.5"], "--loss: found 1.5; allowed is a share from 0 to 1"),
        (["--set", "parameters.speed=5.0"], "leader.speed: found 5; allowed is at least 12 m/s"),
        (["--law", "nothing"], "law: control law: found 'nothing'; allowed are"),
    ],
)
def test_what_cannot_be_studied_is_refused(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    command = ["study", "string-stability", str(library_file("sine_leader")), *arguments]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out")])
    assert done.exit_code == EXIT_ERROR and message in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1 and not (tmp_path / "out").exists()


def test_a_scenario_without_a_platoon_is_refused() -> None:
    done = CliRunner().invoke(
        app, ["study", "string-stability", str(library_file("car_following")), "--seeds", "1"]
    )
    assert done.exit_code == EXIT_ERROR
    assert "scene.platoon: found 0 vehicles and 0 controllers; allowed is" in done.stderr
