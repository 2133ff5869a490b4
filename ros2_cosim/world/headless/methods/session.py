# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Remote methods of the session: episode, settings, ticking, maps, weather, environment."""

from __future__ import annotations

from typing import Any

from ros2_cosim.world.headless.decoding import (
    boolean,
    episode_settings,
    opendrive_parameters,
    pair,
    real,
    text,
    u16,
    u32,
    vector,
    weather,
)
from ros2_cosim.world.headless.dispatch import AnswerForm, MethodTable, by_simulation
from ros2_cosim.world.headless.sensing.probes import Labelled, all_between, first_on
from ros2_cosim.world.headless.simulation import Simulation
from ros2_cosim.world.headless.wire_types import (
    Vector,
)
from ros2_cosim.world.headless.world import CallError

TABLE = MethodTable()
_method = TABLE.method
VALUE, VOID, NONE = AnswerForm.VALUE, AnswerForm.VOID, AnswerForm.NONE

VERSION = "0.9.16"
_meshing = opendrive_parameters


@_method("get_sensor_token", VALUE, u32)
def _sensor_token(simulation: Simulation, stream_id: int) -> list[bytes]:
    simulation.on_token(stream_id)
    return [simulation.token(stream_id)]


_NAVIGATION_FOLDER = "Nav"


@_method("get_required_files", VALUE, text)
def _required_files(simulation: Simulation, folder: str) -> list[str]:
    # What the client would ask for besides (roads, the traffic manager's map) it works out itself.
    found = simulation.navigation() if folder == _NAVIGATION_FOLDER else None
    return [] if found is None else [found[0]]


@_method("request_file", VALUE, text)
def _request_file(simulation: Simulation, name: str) -> bytes:
    found = simulation.navigation()
    if found is None or name != found[0]:
        raise CallError(
            f"no file '{name[:80]}': the server offers the walkers' mesh of its map only"
        )
    return found[1]


@_method("set_imui_gravity", NONE, real)
def _set_gravity(simulation: Simulation, gravity: float) -> None:
    simulation.world.gravity = gravity


@_method("project_point", VALUE, vector, vector, real)
def _project_point(
    simulation: Simulation, start: Vector, direction: Vector, distance: float
) -> list[Any]:
    scene = simulation.sensors.scene(simulation.world)
    found = first_on(scene, start, direction, distance)
    return [found is not None, found or Labelled()]


@_method("add_traffic_manager_running", VALUE, pair(text, u16))
def _tm_add(simulation: Simulation, endpoint: tuple[str, int]) -> bool:
    if endpoint[1] in simulation.traffic_managers:
        return False
    simulation.traffic_managers[endpoint[1]] = endpoint
    return True


TABLE.methods(
    VALUE,
    by_simulation,
    ("version", lambda _: VERSION),
    ("get_episode_info", lambda s: [s.told_episode(), [s.world_token()]]),
    ("get_episode_settings", lambda s: s.settings.to_wire()),
    ("set_episode_settings", Simulation.apply_settings, episode_settings),
    ("tick_cue", Simulation.tick_cue),
    ("get_available_maps", lambda s: s.maps.listed()),
    ("get_map_info", lambda s: [s.map_name, s.world.spawn_points()]),
    ("get_map_data", lambda s: s.world.opendrive),
    ("get_navigation_mesh", lambda s: (s.navigation() or ("", b""))[1]),
    ("get_weather_parameters", lambda s: s.weather),
    ("get_imui_gravity", lambda s: s.world.gravity),
    ("cast_ray", lambda s, *ends: all_between(s.sensors.scene(s.world), *ends), vector, vector),
    ("is_traffic_manager_running", lambda s, port: port in s.traffic_managers, u16),
    ("get_traffic_manager_running", lambda s, p: list(s.traffic_managers.get(p, ("", 0))), u16),
    ("destroy_traffic_manager", lambda s, p: s.traffic_managers.pop(p, None) is not None, u16),
)
TABLE.methods(
    VOID,
    by_simulation,
    ("load_new_episode", Simulation.load_for_client, text, boolean, u16),
    # Its second argument says how a mesh is made: this server makes none.
    ("copy_opendrive_to_file", lambda s, map, _: s.stage_opendrive(map), text, _meshing),
)
TABLE.methods(NONE, by_simulation, ("set_weather_parameters", Simulation.set_weather, weather))
