# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Traffic lights of a scene: the vehicles of the scene and background traffic stop at red."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.records import TrafficLightAhead
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.core.scene.scene import FIRST_TRAFFIC_ID
from ros2_cosim.core.scene.simulator import MapChoice
from ros2_cosim.world.carla.inprocess_world import InProcessWorld
from ros2_cosim.world.carla.lights import NONE_AHEAD, LightsAhead
from ros2_cosim.world.carla.parameters import DriverSpec, SceneParameters, VehicleSpec
from ros2_cosim.world.carla.scene import Scene
from ros2_cosim.world.drivers.light_stop import LightStop
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.stop_lines import stop_lines
from ros2_cosim.world.map.traffic_lights import GREEN, RED, network_lights

TEXT = (Path(__file__).parents[2] / "config" / "town.xodr").read_text(encoding="utf-8")
TOWN = RoadNetwork.from_xodr(TEXT, "town.xodr")
ROUTE = (23, 6, 14, 8, 7)


def scene_in_town(**changes: Any) -> Scene:
    values: dict[str, Any] = {
        "map": MapChoice(opendrive=TEXT),
        "step_ns": 20_000_000,
        "vehicles": (VehicleSpec("leader", -1, 120.0, 8.0, road=23, driver=DriverSpec()),),
        "traffic": 20,
        "traffic_seed": 6,
        "route": ROUTE,
        "settle_ticks": 20,
        "control_period_ns": 40_000_000,
        "traffic_lights": True,
    }
    return Scene(InProcessWorld(), SceneParameters(**(values | changes)))


def first_line() -> tuple[str, int, int, float]:
    """A light of the town, and road, lane and station of a line where it is obeyed."""
    signal = next(iter(network_lights(TOWN)[0]))
    road, lane, s = stop_lines(TOWN, signal)[0]
    return signal, road, lane, s


def test_the_next_light_is_seen_from_the_front_bumper() -> None:
    signal, road, lane, s = first_line()
    lights = LightsAhead(TOWN)
    lights.show({signal: GREEN})
    direction = 1.0 if lane < 0 else -1.0
    way = TOWN.lane_ahead(road, lane, s - direction * 20.0, 50.0)
    found = lights.ahead(way, 2.5)
    assert found.distance == pytest.approx(17.5) and found.state == GREEN
    # Behind the line is what comes next, or nothing.
    behind = lights.ahead(TOWN.lane_ahead(road, lane, s - direction * 2.0, 8.0), 2.5)
    assert behind == NONE_AHEAD


@pytest.mark.parametrize(("state", "expected"), [(RED, {7: 1}), (GREEN, {})])
def test_a_line_that_is_passed_counts_at_red(state: int, expected: Mapping[int, int]) -> None:
    lights = LightsAhead(TOWN)
    for distance in (0.5, 0.3, 0.1):
        lights.watch(7, TrafficLightAhead(1, state, distance), 0.2)
    lights.watch(7, NONE_AHEAD, 0.2)
    lights.watch(7, NONE_AHEAD, 0.2)
    assert lights.passed == expected


def test_a_lane_that_is_left_is_no_line_passed() -> None:
    lights = LightsAhead(TOWN)
    lights.watch(7, TrafficLightAhead(1, RED, 12.0), 0.2)
    lights.watch(7, TrafficLightAhead(2, RED, 12.0), 0.2)
    assert lights.passed == {}


def test_leader_and_traffic_stop_at_red_and_go_on_at_green() -> None:
    scene = scene_in_town()
    scene.initialise()
    seen: list[tuple[TrafficLightAhead, float]] = []
    for _ in range(1700):
        scene.step({})
        assert not scene.collisions()
        seen.append((scene.lights_ahead()["leader"], scene.read()["leader"].odometry.vx))
    assert scene.red_lights_passed() == (0, 0)
    stood = [light for light, speed in seen if light.state == RED and speed < 0.05]
    assert stood and all(0.3 < light.distance < 3.0 for light in stood)
    passed = [a for (a, _), (b, _) in pairwise(seen) if a.light and a.light != b.light]
    assert passed  # it went on
    assert scene._traffic is not None
    waited = [
        found
        for number, found in scene._lights._before.items()  # type: ignore[union-attr]
        if number >= FIRST_TRAFFIC_ID and found.light
    ]
    assert waited


def test_drivers_that_do_not_look_pass_at_red(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the test above can fail."""
    monkeypatch.setattr(LightStop, "most", lambda *_: None)
    scene = scene_in_town()
    scene.initialise()
    for _ in range(500):
        scene.step({})
    passed = scene.red_lights_passed()
    assert passed is not None and passed.vehicles > 0 and passed.traffic > 0


def test_a_scene_that_does_not_look_at_lights_tells_of_none() -> None:
    scene = scene_in_town(traffic_lights=False, traffic=0)
    scene.initialise()
    assert scene.lights_ahead() == {} and scene.red_lights_passed() is None


#: In place of the driver of the simulator: an intelligent driver with a sensor of its own.
ANOTHER_DRIVER = """
include: [{town}]
scene: {{map: {map}, vehicles: {{leader: {{driver: null}}}}}}
participants:
  world: {{inputs: {{control/leader: {{from: lead.control, delayed: true}}}}}}
  lead_sensor:
    model: object_sensor
    period: 40ms
    parameters: {{ego: leader}}
    inputs:
      odometry/leader: world.odometry/leader
      odometry/follower1: world.odometry/follower1
      odometry/follower2: world.odometry/follower2
      static_objects: world.static_objects
      traffic: world.traffic
    outputs: {{objects: {{type: ros2_cosim/msg/ObjectList, topic: /leader/objects}}}}
  lead:
    model: cacc_controller
    activation: {{any: [objects]}}
    parameters: {{law: idm, set_speed: 6.0, time_gap: 1.2}}
    inputs:
      objects: lead_sensor.objects
      odometry: world.odometry/leader
      acceleration: world.acceleration/leader
      light: world.light/leader
    outputs: {{control: {{type: ros2_cosim/msg/ControlCommand, topic: /leader/control}}}}
"""


@pytest.mark.parametrize("obeys", [True, False])
def test_the_leader_may_have_another_driver(obeys: bool, tmp_path: Path) -> None:
    """It obeys lights as soon as it is told of them."""
    path = tmp_path / "another.yaml"
    town = library_file("town")
    text = ANOTHER_DRIVER.format(town=town, map=town.parents[1] / "town.xodr")
    path.write_text(text if obeys else text.replace("      light: world.light/leader\n", ""))
    scenario = load_scenario(path, ["duration=14s", "parameters.traffic=4"])
    summary = run_inproc(scenario, tmp_path / "out", record=False)
    verdicts = {verdict.name: verdict.passed for verdict in summary.verdicts}
    assert verdicts["no_collision"] and verdicts["red_lights_passed"] is obeys


def test_the_library_has_the_verdict() -> None:
    scenario = load_scenario(library_file("town"), [])
    referee = scenario.participants["referee"]
    assert "red_lights" in referee.inputs


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["scene.traffic_lights=false"], "allowed with scene.traffic_lights: true"),
        (["platoon.traffic=null", "platoon.sumo={vehicles: 3}"], "allowed is lights with traffic"),
    ],
)
def test_what_is_refused(changes: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        check_scenario(load_scenario(library_file("town"), changes), "inproc")
