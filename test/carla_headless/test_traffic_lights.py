# SPDX-License-Identifier: Apache-2.0
"""Traffic lights: phases, groups, freezing; which vehicle is at which light."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.world.headless.signals import LightActor
from ros2_cosim.world.headless.wire_types import Transform, VehicleControl
from ros2_cosim.world.headless.world import CallError, World
from ros2_cosim.world.road.traffic_lights import GREEN, OFF, RED, YELLOW, make_groups

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


def _at(world: World, light: LightActor, back: float) -> Transform:
    """A place in a lane, some metres before the stop line of a light."""
    key, pieces = next(
        (key, pieces)
        for key, pieces in world.signals._before.items()
        if any(actor is light for _, _, actor in pieces)
    )
    road_id, lane_id = key
    s = world.network.length(road_id) - back if lane_id < 0 else back
    x, y, z, heading = world.network.lane_pose(road_id, lane_id, s)
    assert pieces
    return Transform()._replace(
        location=Transform().location._replace(x=x, y=-y, z=z + 0.1),
        rotation=Transform().rotation._replace(yaw=-heading * 57.29577951308232),
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
