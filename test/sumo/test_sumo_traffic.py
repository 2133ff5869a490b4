# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""SUMO's vehicles around vehicles of another world: the real library, in this process."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.models import made, scene_of

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.messages.records import Odometry, RoadUser
from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.vehicle_info import VehicleInfo
from ros2_cosim.world.sumo.traffic import FIRST_SUMO_ID, SumoTraffic

CONFIG = Path(__file__).resolve().parents[2] / "config"
ROAD = RoadNetwork.from_file(CONFIG / "highway.xodr")
MS = 1_000_000

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("libsumo") is None, reason="needs SUMO: make setup EXTRAS=sumo"
)


def traffic(names: Iterable[str] = ("ego",), period_ms: int = 50, **parameters: Any) -> SumoTraffic:
    infos = {name: VehicleInfo(i, 4.8, 2.0) for i, name in enumerate(names, start=1)}
    scene = scene_of(infos, map="highway.xodr")
    context = {"scene": scene, "base_directory": CONFIG, "period_ns": period_ms * MS}
    return made(SumoTraffic, parameters, name="sumo", context=context)


@pytest.fixture
def alone() -> Iterator[SumoTraffic]:
    model = traffic(routes=())
    yield model
    model.close()


def odometry(x: float, y: float, speed: float, yaw: float = 0.0) -> Odometry:
    turned = (0.0, 0.0, math.sin(0.5 * yaw), math.cos(0.5 * yaw))
    return Odometry(x, y, 0.0, *turned, speed, 0.0, 0.0, 0.0, 0.0, 0.0)


def at(time: int, ego: Odometry | None) -> Step:
    sample = None if ego is None else Sample(0, 0, ego)
    return Step(time, {}, {"odometry/ego": sample})


def users(model: SumoTraffic, time: int, ego: Odometry) -> tuple[RoadUser, ...]:
    found = model.activate(at(time, ego))["traffic"].users
    assert isinstance(found, tuple)
    return found


def test_nothing_drives_until_the_vehicles_are_known(alone: SumoTraffic) -> None:
    assert alone.activate(at(0, None))["traffic"].users == ()
    assert users(alone, 50 * MS, odometry(200.0, -5.25, 20.0)) == (), "none was asked for"


def standing(s: float, lane: int) -> Odometry:
    x, y, _, heading = ROAD.lane_pose(1, lane, s)
    return odometry(x, y, 0.0, heading)


def test_sumos_vehicles_queue_behind_those_of_another_world() -> None:
    """Two vehicles of the scene stand side by side; without them nothing would stop there."""
    s, lanes = 1500.0, ROAD.lane_ids(1, 1500.0, "driving")
    names = {f"car{lane}": lane for lane in lanes if lane < 0}
    model = traffic(names, 100, vehicles=30, clearance=40.0)
    nearest: dict[int, float] = dict.fromkeys(names.values(), math.inf)
    stopped = 0
    try:
        latest = {f"odometry/{n}": Sample(0, 0, standing(s, lane)) for n, lane in names.items()}
        for k in range(300):
            found = model.activate(Step(k * 100 * MS, {}, latest))["traffic"].users
            stopped = 0
            for user in found:
                place = ROAD.project(user.x, user.y)
                if place.lane_id in nearest and place.s < s:
                    gap = s - place.s - 0.5 * (4.8 + user.length)
                    nearest[place.lane_id] = min(nearest[place.lane_id], gap)
                    stopped += gap < 40.0 and user.vx < 0.1
        assert all(user.id >= FIRST_SUMO_ID for user in found) and 15 < len(found) <= 30
        assert min(nearest.values()) > 0.5, "none has driven into them"
        assert min(nearest.values()) < 6.0 and stopped >= 1
        assert model.report().figures == {"vehicles": 30}
    finally:
        model.close()


def run(directory: Path, *changes: str) -> Summary:
    words = ["duration=2s", "platoon.sumo={vehicles: 60}", *changes]
    scenario = load_scenario(library_file("platoon20"), words)
    return run_inproc(scenario, directory, record=False)


def test_a_platoon_of_the_headless_world_in_the_traffic_of_sumo(tmp_path: Path) -> None:
    one = run(tmp_path / "one", "parameters.vehicles=4")
    assert one.simulator != "sumo"
    assert one.collisions == 0
    assert (one.repeatable, one.repeatable_scope) == (True, "same_machine")
    assert one.figures is not None and one.figures["sumo"] == {"vehicles": 60}
    again = run(tmp_path / "two", "parameters.vehicles=4")
    assert again.trace_sha256 == one.trace_sha256


def test_what_is_wrong_is_told() -> None:
    with pytest.raises(ConfigurationError, match="there is no file .*mine.rou.xml"):
        traffic(routes=["mine.rou.xml"])
    with pytest.raises(ConfigurationError, match="found traffic and sumo; allowed is one of them"):
        load_scenario(library_file("platoon20"), ["platoon.traffic=3", "platoon.sumo={}"])
