# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Traffic lights: phases, groups, freezing; which vehicle is at which light."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ros2_cosim.world.headless.actors import VehicleActor
from ros2_cosim.world.headless.signals import LightActor, SignActor
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector, VehicleControl
from ros2_cosim.world.headless.world import CallError, World
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.signals import STOP, YIELD
from ros2_cosim.world.map.stop_lines import stop_lines
from ros2_cosim.world.map.traffic_lights import (
    GREEN,
    OFF,
    RED,
    YELLOW,
    make_groups,
    network_lights,
)

TOWN = (Path(__file__).parents[2] / "config" / "town.xodr").read_text(encoding="utf-8")
_STEP_NS = 50_000_000
_STEPS = {GREEN: 200, YELLOW: 60, RED: 40}


def test_controllers_of_a_junction_take_turns() -> None:
    lights, groups = make_groups([[("a", "b"), ("c",), ("gone",)]], ["a", "b", "c", "alone"])
    assert [len(group.controllers) for group in groups] == [2, 1]
    group = groups[0]
    for controller in (0, 1, 0):
        for state in (GREEN, YELLOW, RED):
            for _ in range(_STEPS[state]):
                shown = [lights[name].state for name in "abc"]
                assert shown == ([state, state, RED] if controller == 0 else [RED, RED, state])
                group.step(_STEP_NS)
    assert lights["alone"].state == GREEN  # its group has not been stepped


@given(st.lists(st.sampled_from(["step", "freeze", "go", "reset", "set"]), max_size=400))
def test_never_are_two_controllers_open_at_once(actions: list[str]) -> None:
    lights, (group,) = make_groups([[("a",), ("b",), ("c",)]], "abc")
    for action in actions:
        before = group.elapsed_s, [light.state for light in lights.values()]
        if action == "step":
            group.step(20 * _STEP_NS)
        elif action == "reset":
            group.reset()
            assert lights["a"].state == GREEN and group.elapsed_s == 0.0
        elif action == "set":
            lights["b"].set_time(GREEN, 0.0)
        else:
            group.frozen = action == "freeze"
        if group.frozen and action == "step":
            assert before == (group.elapsed_s, [light.state for light in lights.values()])
        assert sum(light.state != RED for light in lights.values()) <= 1


def _in_lane(world: World, road: int, lane: int, s: float) -> Transform:
    """A place in the middle of a lane."""
    x, y, z, heading = world.network.lane_pose(road, lane, s)
    return Transform(Vector(x, -y, z + 0.1), Rotation(yaw=-math.degrees(heading)))


def _standing(world: World, pose: Transform) -> VehicleActor:
    """A new vehicle with its hand brake on."""
    vehicle = world.require_vehicle(world.spawn("vehicle.tesla.model3", pose).id)
    world.apply_control(vehicle.id, VehicleControl(hand_brake=True))
    return vehicle


def _crossing(world: World, sign: SignActor) -> Transform:
    """A place in the junction behind a sign, on a road from another arm."""
    road = min(sign.crossed_by)
    lane = world.network.lane_ids(road, 0.0, "driving")[0]
    return _in_lane(world, road, lane, 0.5 * world.network.length(road))


def _at(world: World, light: SignActor, back: float) -> Transform:
    """A place in a lane, some metres before the stop line of a light or stop sign."""
    key, pieces = next(
        (key, pieces)
        for key, pieces in world.signals._before.items()
        if any(actor is light and beyond == 0.0 for _, _, beyond, actor in pieces)
    )
    road_id, lane_id = key
    s = world.network.length(road_id) - back if lane_id < 0 else back
    assert pieces
    return _in_lane(world, road_id, lane_id, s)


@given(
    st.floats(0.0, 25.0), st.sampled_from(["vehicle.tesla.model3", "vehicle.carlamotors.carlacola"])
)
@settings(max_examples=20, deadline=None)
def test_who_brakes_at_the_light_stops_before_the_line_and_near_it(
    speed: float, blueprint: str
) -> None:
    world = World(TOWN, 0.05)
    light = next(actor for actor in world.signals.actors if isinstance(actor, LightActor))
    light.light.state, light.light.group.frozen = RED, True
    car = world.spawn(blueprint, _at(world, light, 60.0)).id
    vehicle = world.require_vehicle(car)
    ahead = vehicle.state.transform.rotation.yaw
    sin, cos = math.sin(math.radians(ahead)), math.cos(math.radians(ahead))
    world.set_target_velocity(car, Vector(speed * cos, speed * sin))
    for _ in range(600):
        told = vehicle.at_light is not None
        world.apply_control(car, VehicleControl(throttle=0.0 if told else 0.3, brake=float(told)))
        world.tick()
    assert vehicle.at_light == (light.id, RED)
    place = vehicle.body.place_on_road()
    length = world.network.length(place.road_id)
    way = length - place.s if place.lane_id < 0 else place.s
    assert 0.5 < way - vehicle.blueprint.extent.x < 8.0


def test_lights_without_controller_take_turns_by_arms() -> None:
    text = re.sub(r"<controller .*?</controller>", "", TOWN, flags=re.DOTALL)
    text = re.sub(r"<controller [^>]*/>", "", text)
    network = RoadNetwork.from_xodr(text)
    assert not network.controllers
    lights, groups = network_lights(network)
    assert len(lights) == 28 and len(groups) == len(network_lights(RoadNetwork.from_xodr(TOWN))[1])
    for group in groups:
        arms = [
            {stop_lines(network, light.signal_id)[0].road_id for light in c.lights}
            for c in group.controllers
        ]
        assert all(len(arm) == 1 for arm in arms) and len(arms) > 1
        group.step(0)
        assert sum(light.state == GREEN for light in group.lights) == len(
            group.controllers[0].lights
        )


def test_a_vehicle_before_the_stop_line_is_at_the_light() -> None:
    world = World(TOWN, 0.05)
    lights = [actor for actor in world.signals.actors if isinstance(actor, LightActor)]
    assert len(lights) == 28
    light = lights[0]
    near = world.spawn("vehicle.tesla.model3", _at(world, light, 4.0)).id
    far = world.spawn("vehicle.tesla.model3", _at(world, light, 60.0)).id
    light.light.state = OFF
    world.tick()
    assert world.require_vehicle(near).at_light == (light.id, OFF)
    assert world.require_vehicle(far).at_light is None
    world.apply_control(near, VehicleControl(throttle=0.6))
    for _ in range(100):
        world.tick()
    assert world.require_vehicle(near).at_light is None  # it has gone into the junction


def test_who_can_stop_is_told_of_no_light_as_it_leaves_green() -> None:
    world = World(TOWN, 0.05)
    light = next(actor for actor in world.signals.actors if isinstance(actor, LightActor))
    light.light.group.frozen = True
    vehicle = world.require_vehicle(world.spawn("vehicle.tesla.model3", _at(world, light, 4.0)).id)
    told = []
    for state in (GREEN, GREEN, YELLOW, YELLOW, RED):
        light.light.state = state
        world.tick()
        told.append(vehicle.at_light)
    assert told == [(light.id, GREEN)] * 2 + [None, (light.id, YELLOW), (light.id, RED)]


def test_a_stop_sign_is_red_without_a_light_and_lets_pass_after_two_seconds() -> None:
    """As in CARLA: red as soon as a vehicle is at the sign, green 2 s later if nobody crosses."""
    world = World(TOWN, 0.05)
    sign = next(actor for actor in world.signals.actors if actor.signal.type == STOP)
    near = _standing(world, _at(world, sign, 3.0))
    far = _standing(world, _at(world, sign, 12.0))
    told = []
    for _ in range(45):
        world.tick()
        told.append(near.at_light)
        assert far.at_light is None
    assert told == [(0, RED)] * 40 + [None] * 5


def test_a_stop_sign_is_red_again_while_others_cross_and_counts_anew_for_the_next() -> None:
    world = World(TOWN, 0.05)
    sign = next(actor for actor in world.signals.actors if actor.signal.type == STOP)
    near = _standing(world, _at(world, sign, 3.0))
    told = []
    for _ in range(41):
        world.tick()
    told.append(near.at_light)
    crossing = world.spawn("vehicle.tesla.model3", _crossing(world, sign))
    world.tick()
    told.append(near.at_light)
    world.destroy(crossing.id)
    world.tick()
    told.append(near.at_light)
    for back in (60.0, 3.0):
        near.place(_at(world, sign, back))
        world.tick()
        told.append(near.at_light)
    assert told == [None, (0, RED), None, None, (0, RED)]


def test_a_yield_sign_is_told_while_another_arm_s_vehicle_is_in_the_junction() -> None:
    world = World(TOWN, 0.05)
    sign = next(actor for actor in world.signals.actors if actor.signal.type == YIELD)
    near = _standing(world, _at(world, sign, 3.0))
    world.tick()
    assert near.at_light is None
    world.spawn("vehicle.tesla.model3", _crossing(world, sign))
    world.tick()
    assert near.at_light == (0, RED)


@pytest.mark.parametrize(("before", "told"), [(4.5, (0, RED)), (5.0, None)])
def test_who_is_about_to_enter_a_junction_counts_at_its_yield_signs(
    before: float, told: tuple[int, int] | None
) -> None:
    world = World(TOWN, 0.05)
    sign = next(actor for actor in world.signals.actors if actor.signal.type == YIELD)
    near = _standing(world, _at(world, sign, 3.0))
    entered = world.signals._entered
    road, lane = next(key for key, roads in entered.items() if roads & sign.crossed_by)
    back = before + near.blueprint.extent.x
    s = world.network.length(road) - back if lane < 0 else back
    _standing(world, _in_lane(world, road, lane, s))
    world.tick()
    assert near.at_light == told


def test_what_belongs_to_the_map_stays() -> None:
    world = World(TOWN, 0.05)
    sign = world.signals.actors[0]
    with pytest.raises(CallError, match="belongs to the map"):
        world.destroy(sign.id)
    with pytest.raises(CallError, match="is not a traffic light"):
        world.require_light(world.spectator.id)
    first = len(world.signals.actors)
    world.load(TOWN)
    assert len(world.signals.actors) == first
    assert sign.id not in world.actors
