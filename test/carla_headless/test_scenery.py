# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Street lights, things of a map and debug shapes in process: wrong calls, limits, same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.headless_process import HIGHWAY, TOWN

from ros2_cosim.world.headless.debug_shapes import MOST_SHAPES
from ros2_cosim.world.headless.maps import MapLibrary
from ros2_cosim.world.headless.methods import ALL
from ros2_cosim.world.headless.simulation import Simulation
from ros2_cosim.world.headless.snapshot import STATE_LIGHTS_CHANGE
from ros2_cosim.world.headless.wire_types import ActorDescription, EpisodeSettings

PLACE = [1.0, 2.0, 3.0]
POINT = [[0, [PLACE, 0.1]], [255, 0, 0], 1.0, False]


@pytest.fixture(scope="module")
def told() -> list[bytes]:
    """The messages of the simulation."""
    return []


@pytest.fixture(scope="module")
def simulation(told: list[bytes]) -> Simulation:
    made = Simulation(
        MapLibrary([TOWN]), 0, lambda stream, message: told.append(message), lambda stream: True
    )
    made.apply_settings(EpisodeSettings(True, fixed_delta_seconds=0.1))
    return made


def _call(simulation: Simulation, name: str, *arguments: Any) -> str:
    """The error of a call, or nothing."""
    answer = ALL.call(simulation, name, list(arguments))[0]
    return str(answer[1][0]) if len(answer) == 2 and answer[0] in (True, 0) else ""


def _light(simulation: Simulation, **changes: Any) -> list[Any]:
    state = simulation.world.lamps.states()[0]._replace(**changes)
    return [*state[:1], list(state.location), *state[2:4], list(state.color), state.active]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": 99_999}, "no street light 99999: the map has 128"),
        ({"group": 5}, "found group 5; allowed is 0 to 4"),
        ({"intensity": -1.0}, "found intensity -1; allowed is 0 to 1e+07"),
        ({"intensity": 1e30}, "found intensity 1e+30; allowed is 0 to 1e+07"),
        ({"color": (1, 2, 256)}, "expected an integer in 0..255"),
    ],
)
def test_wrong_lights_change_nothing(
    simulation: Simulation, changes: dict[str, Any], said: str
) -> None:
    before = simulation.world.lamps.states()
    right = _light(simulation, active=True)
    wrong = _light(simulation, **changes)
    assert said in _call(simulation, "update_lights_state", "me", [right, wrong], False)
    assert simulation.world.lamps.states() == before


def test_a_change_is_told_in_one_snapshot_unless_it_is_discarded(
    simulation: Simulation, told: list[bytes]
) -> None:
    def flag() -> int:
        told.clear()
        simulation.tick()
        return int.from_bytes(told[0][80:84], "little") & STATE_LIGHTS_CHANGE

    flag()
    assert flag() == 0
    for discard, expected in ((False, STATE_LIGHTS_CHANGE), (True, 0)):
        light = _light(simulation, active=not discard)
        assert _call(simulation, "update_lights_state", "me", [light], discard) == ""
        assert simulation.world.lamps.states()[0].active is not discard
        assert flag() == expected
        assert flag() == 0
    # What changes nothing is told to none.
    assert _call(simulation, "update_lights_state", "me", [light], False) == ""
    assert flag() == 0


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ([[9, [PLACE, 0.1]], [0, 0, 0], 1.0, False], "expected an integer in 0..8"),
        ([[0, [PLACE]], [0, 0, 0], 1.0, False], "expected an array of 2"),
        ([[0, [PLACE, -1.0]], [0, 0, 0], 1.0, False], "a size must be 0 and above"),
        ([[0, [[1e30, 0.0, 0.0], 0.1]], [0, 0, 0], 1.0, False], "a number beyond 1e+06"),
        ([[0, [PLACE, 1e30]], [0, 0, 0], 1.0, False], "a number beyond 1e+06"),
        ([[0, [PLACE, 0.1]], [0, 0, 0], -2.0, False], "life time -2 must be 0 and above, or -1"),
        ([[4, [PLACE, 7, False]], [0, 0, 0], 1.0, False], "expected a string"),
    ],
)
def test_wrong_shapes_are_refused(simulation: Simulation, shape: Any, said: str) -> None:
    assert said in _call(simulation, "draw_debug_shape", shape)


def test_shapes_are_bounded_and_live_a_frame_at_least(simulation: Simulation) -> None:
    world = simulation.world
    once = [[0, [PLACE, 0.1]], [255, 0, 0], 0.0, False]
    assert _call(simulation, "draw_debug_shape", once) == ""
    assert len(world.shapes.alive(world.elapsed_s, world.step_s)) == 1
    simulation.tick()
    assert len(world.shapes.alive(world.elapsed_s, world.step_s)) == 1
    simulation.tick()
    assert world.shapes.alive(world.elapsed_s, world.step_s) == []
    shape = _shape(simulation)
    for _ in range(MOST_SHAPES + 5):
        world.shapes.draw(shape, -1.0, world.elapsed_s)
    assert len(world.shapes.alive(world.elapsed_s, world.step_s)) == MOST_SHAPES
    assert _call(simulation, "clear_debug_shape") == ""
    assert world.shapes.alive(world.elapsed_s, world.step_s) == []


def _shape(simulation: Simulation) -> Any:
    world = simulation.world
    assert _call(simulation, "draw_debug_shape", POINT) == ""
    return world.shapes.alive(world.elapsed_s, world.step_s)[-1]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("enable_environment_objects", [[1, 99_999], False], "no environment object 99999"),
        ("apply_color_texture_to_objects", [["House"], 2, [1, 1, [[1, 2, 3, 4]]]], "'House'"),
        ("apply_color_texture_to_objects", [["House"], 2, [2, 1, [[1, 2, 3, 4]]]], "has 1"),
        ("apply_color_texture_to_objects", [["House"], 2, [1, 1, [[1, 2]]]], "red, green, blue"),
        ("apply_color_texture_to_objects", [["House"], 7, [1, 1, [[1, 2, 3, 4]]]], "from 0 to 3"),
    ],
)
def test_wrong_calls_to_things_change_nothing(
    simulation: Simulation, name: str, arguments: list[Any], said: str
) -> None:
    before = simulation.world.things.version
    assert said in _call(simulation, name, *arguments)
    assert simulation.world.things.version == before


def test_layers_of_a_map_are_left_out_when_it_is_loaded(simulation: Simulation) -> None:
    lights = 128
    simulation.load_map("town", reset_settings=False, layers=0xFFFF & ~lights)
    assert simulation.world.things.shown() == []
    simulation.world.lamps.follow_sun(-10.0)
    assert simulation.world.lamps.burning() == []
    assert _call(simulation, "load_map_layer", lights) == ""
    assert len(simulation.world.lamps.burning()) == len(simulation.world.things.shown()) == 128


def test_wheels_are_not_turned_by_nonsense(simulation: Simulation) -> None:
    place = simulation.world.spawn_points()[0]
    car = simulation.spawn(ActorDescription(0, "vehicle.tesla.model3"), place).id
    for name in ("set_wheel_steer_direction", "set_wheel_pitch_angle"):
        assert "expected an angle within 1e+06 deg" in _call(simulation, name, car, 0, 1e30)
        assert "expected an integer in 0..3" in _call(simulation, name, car, 4, 1.0)


def test_what_is_seen_of_a_map_is_made_before_a_client_waits_for_it() -> None:
    found = Simulation(MapLibrary([TOWN, HIGHWAY]), 0, lambda *_: None, lambda _: True)
    found.look_ahead()
    for name in ("", "highway"):
        if name:
            found.load_map(name, False)
        made, walkers = found.sensors.scene(found.world).map, found.navigation()
        found.look_ahead()
        # Kept, not made again: a client's first picture takes no longer than the next one.
        assert found.sensors.scene(found.world).map is made and found.navigation() is walkers
    lazy = Simulation(MapLibrary([HIGHWAY]), 0, lambda *_: None, lambda _: True)
    assert np.array_equal(lazy.sensors.scene(lazy.world).map.points, made.points)
