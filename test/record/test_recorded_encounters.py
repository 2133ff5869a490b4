# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The report finds in a bag what the referee has found in the run: value, pair and time."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from record.conftest import write_bag

from buildtools.highway import make_highway
from ros2_cosim.core.messages.records import (
    Odometry,
    PlatoonStatus,
    RoadUser,
    RoadUsers,
    StaticObject,
    StaticObjects,
)
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.driving.measures.recorded_encounters import (
    RecordedEncounters,
    least_pet,
    recorded_encounters,
)
from ros2_cosim.lab.report.report import render_report
from ros2_cosim.lab.report.report_data import load_run
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.lane_boxes import LaneBoxes
from ros2_cosim.world.map.vehicle_info import VehicleInfo

CASES = [
    ("cut_in", ["duration=9s", "parameters.gap=15"]),
    ("merge", ["duration=6s"]),
    ("roadblock", ["duration=8s"]),
    # Without lights vehicles cross each other's way: the only one with post-encroachment times.
    (
        "town",
        ["duration=20s", "platoon.lights=false", "parameters.traffic=60", "parameters.speed=9"],
    ),
]


@pytest.mark.parametrize(("name", "changes"), CASES, ids=[name for name, _ in CASES])
def test_the_report_has_the_values_of_the_verdicts_and_of_the_summary(
    name: str, changes: list[str], tmp_path: Path
) -> None:
    changes = [*changes, "participants.referee.parameters.min_ttc_limit=0.1"]
    scenario = load_scenario(library_file(name), changes)
    summary = run_inproc(scenario, tmp_path)
    verdicts = {verdict.name: verdict for verdict in summary.verdicts}
    found = load_run(tmp_path).encounters
    for least, verdict in (
        (found.least_gap, verdicts["min_gap_m"]), (found.least_ttc, verdicts["min_ttc_s"]),
    ):  # fmt: skip
        if verdict.value is None:
            assert least.pair is None
            continue
        assert least.value == verdict.value
        assert least.time is not None and least.time / 1e9 == verdict.time_s
        assert least.pair == verdict.pair
    for curves, least in ((found.gap, found.least_gap), (found.ttc, found.least_ttc)):
        values = [v for series in curves.values() for v in series.values if v == v]
        assert min(values, default=least.value) == least.value
    assert found.least_gap.pair is not None and found.least_gap.time is not None
    one, two = found.least_gap.pair
    pet = found.least_pet.value if found.least_pet.pair is not None else None
    assert summary.min_pet_s == least_pet(tmp_path / "bag", scenario.scene) == pet
    assert (pet is not None) == (name == "town")
    assert least_pet(tmp_path / "no bag", scenario.scene) is None
    text = f"smallest gap: {one} to {two} at {found.least_gap.time / 1e9:.2f} s"
    page = render_report(tmp_path).read_text()
    assert text in page
    assert f"<td>{verdicts['min_gap_m'].of}</td>" in page


def odometry(x: float, y: float, speed: float, *, north: bool = False) -> Odometry:
    turned = 0.5**0.5 if north else 0.0
    level = (1.0 - turned * turned) ** 0.5
    return Odometry(x, y, 0.0, 0.0, 0.0, turned, level, speed, 0.0, 0.0, 0.0, 0.0, 0.0)


def crossing(ms: int) -> list[tuple[str, Odometry]]:
    seconds = ms / 1000
    return [
        ("ego", odometry(-30.0 + 10.0 * seconds, 0.0, 10.0)),
        ("other", odometry(0.0, 5.0 * (seconds - 4.3) - 3.0, 5.0, north=True)),
    ]


def test_without_a_road_there_are_no_gaps_and_still_post_encroachment_times() -> None:
    """Ego leaves the other's strip at 3.3 s, whose front comes to ego's at 4.3 s."""
    cars = {"ego": VehicleInfo(1, 4.0, 2.0), "other": VehicleInfo(2, 4.0, 2.0)}
    found = RecordedEncounters(None, cars, ("ego",), judged=True)
    for ms in range(0, 6000, 10):
        for name, record in crossing(ms):
            found.take([name, "odometry"], ms * 1_000_000, record)
        found.take(["status"], ms * 1_000_000, PlatoonStatus(0.0, 0, False, (), ()))
    found.finish()
    assert not found.gap and found.least_gap.pair is None
    assert found.least_pet.pair == ("ego", "other")
    assert found.least_pet.value == pytest.approx(1.0, abs=0.0401)


@pytest.mark.parametrize(
    ("cars", "platoon", "is_found"),
    [
        # The other one belongs to no platoon: it is met.
        (("ego", "other"), ["ego"], True),
        (("ego", "other"), [], True),
        # All of them are one platoon, or there is one alone.
        (("ego", "other"), ["ego", "other"], False),
        (("ego",), ["ego"], False),
    ],
)
def test_vehicles_without_traffic_have_post_encroachment_times_with_those_of_no_platoon(
    tmp_path: Path, cars: tuple[str, ...], platoon: list[str], is_found: bool
) -> None:
    messages = [
        (name, ms, record)
        for ms in range(0, 6000, 20)
        for name, record in crossing(ms)
        if name in cars
    ]
    write_bag(
        tmp_path / "bag", ((f"/{name}/odometry", ms, record) for name, ms, record in messages)
    )
    found = least_pet(
        tmp_path / "bag", {"vehicles": {name: {} for name in cars}, "platoon": platoon}
    )
    assert (found is not None) == is_found


ROAD = RoadNetwork.from_xodr(make_highway())
CARS = {"ego": VehicleInfo(1, 4.0, 2.0), "ahead": VehicleInfo(2, 6.0, 2.0)}


def on_road(s: float, speed: float) -> Odometry:
    x, y, z, _ = ROAD.pose(1, s, ROAD.lane_centre(1, -2, s))
    return Odometry(x, y, z, 0.0, 0.0, 0.0, 1.0, speed, 0.0, 0.0, 0.0, 0.0, 0.0)


def block(s: float) -> StaticObjects:
    x, y, z, _ = ROAD.pose(1, s, ROAD.lane_centre(1, -2, s))
    return StaticObjects((StaticObject(9, 3, x, y, z, 0.0, 2.0, 2.0, 1.0),))


def user(s: float, speed: float) -> RoadUsers:
    x, y, z, _ = ROAD.pose(1, s, ROAD.lane_centre(1, -2, s))
    return RoadUsers((RoadUser(7, 1, x, y, z, 0.0, speed, 0.0, 4.0, 2.0, 1.5),))


def watched(platoon: tuple[str, ...] = (), *, judged: bool = False) -> RecordedEncounters:
    return RecordedEncounters(LaneBoxes(ROAD), CARS, platoon, judged=judged)


def drive(found: RecordedEncounters, until_ms: int, status_ms: tuple[int, ...] = ()) -> None:
    """Every 10 ms: ego at 20 m/s, 40 m behind the centre of the other one, which stands."""
    for ms in range(0, until_ms, 10):
        stamp, way = ms * 1_000_000, 0.02 * ms
        found.take(["ahead", "odometry"], stamp, on_road(140.0, 0.0))
        found.take(["ego", "odometry"], stamp, on_road(100.0 + way, 20.0))
        if ms in status_ms:
            found.take(["platoon_status"], stamp, PlatoonStatus(0.0, 0, False, (), ()))
    found.finish()


def test_without_a_referee_it_looks_every_tenth_of_a_second() -> None:
    found = watched()
    drive(found, 250)
    # Bumper to bumper: 40 m less half of 4 m and half of 6 m, and 2 m less at each look.
    assert found.gap["ego"].times == pytest.approx([0.0, 0.1, 0.2])
    assert found.gap["ego"].values == pytest.approx([35.0, 33.0, 31.0])
    assert found.ttc["ego"].values == pytest.approx([1.75, 1.65, 1.55])
    assert found.headway["ego"].values == pytest.approx([1.75, 1.65, 1.55])
    assert found.least_gap == (pytest.approx(31.0), ("ego", "ahead"), 200_000_000)
    assert found.least_ttc == (pytest.approx(1.55), ("ego", "ahead"), 200_000_000)
    # All vehicles of the scene are judged; the first one has nothing ahead.
    assert all(map(math.isnan, found.gap["ahead"].values)) and len(found.gap["ahead"].values) == 3


def test_a_referee_says_when_to_look() -> None:
    found = watched(("ego",), judged=True)
    drive(found, 400, (50, 330))
    assert found.gap["ego"].times == pytest.approx([0.05, 0.33])
    assert found.gap["ego"].values == pytest.approx([34.0, 28.4])
    assert set(found.gap) == {"ego"}
    assert not watched(judged=True).gap


def test_traffic_and_obstacles_are_in_the_way_too() -> None:
    """The nearest counts: first a user of the road, 20 m ahead, then an obstacle 10 m ahead."""
    found = watched(("ego",))
    found.take(["ego", "odometry"], 0, on_road(100.0, 10.0))
    found.take(["ahead", "odometry"], 0, on_road(140.0, 10.0))
    found.take(["traffic"], 0, user(120.0, 10.0))
    found.take(["ego", "odometry"], 100_000_000, on_road(101.0, 10.0))
    found.take(["static_objects"], 100_000_000, block(111.0))
    # What is not an odometry of a vehicle of the scene is not looked at.
    found.take(["other", "odometry"], 100_000_000, on_road(105.0, 10.0))
    found.take(["ego", "odometry", "raw"], 100_000_000, on_road(108.0, 10.0))
    found.finish()
    assert found.gap["ego"].values == pytest.approx([16.0, 7.0])
    # The user keeps its distance; towards the obstacle there is 0.7 s.
    assert math.isnan(found.ttc["ego"].values[0])
    assert found.least_ttc == (pytest.approx(0.7), ("ego", "obstacle 9"), 100_000_000)
    assert found.least_gap.pair == ("ego", "obstacle 9")
    # A headway of more than 20 s says nothing.
    slow = watched(("ego",))
    slow.take(["ego", "odometry"], 0, on_road(100.0, 1.0))
    slow.take(["ahead", "odometry"], 0, on_road(140.0, 1.0))
    slow.finish()
    assert slow.gap["ego"].values == pytest.approx([35.0])
    assert math.isnan(slow.headway["ego"].values[0])


def test_what_is_not_known_of_a_run_is_not_looked_for(tmp_path: Path) -> None:
    found = recorded_encounters(tmp_path, judged=False, traffic=True)
    assert (found.gap, found.least_pet.pair) == ({}, None)
    for text in ("[]", "{}", '{"scene": {}}', '{"scene": 3, "base_directory": "/"}'):
        (tmp_path / "scenario.json").write_text(text)
        assert recorded_encounters(tmp_path, judged=True, traffic=False).gap == {}
