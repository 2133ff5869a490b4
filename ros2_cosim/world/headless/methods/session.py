# SPDX-License-Identifier: Apache-2.0
"""Remote methods of the session: episode, settings, ticking, maps, weather, environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from ros2_cosim.world.headless.dispatch import AnswerForm, MethodTable
from ros2_cosim.world.headless.sensing.probes import Labelled, all_between, first_on
from ros2_cosim.world.headless.wire_types import (
    EpisodeSettings,
    OpendriveParameters,
    Vector,
    Weather,
)
from ros2_cosim.world.headless.world import CallError

if TYPE_CHECKING:
    from ros2_cosim.world.headless.simulation import Simulation

TABLE = MethodTable()
_method = TABLE.method
VALUE, VOID, NONE = AnswerForm.VALUE, AnswerForm.VOID, AnswerForm.NONE

VERSION = "0.9.16"


@_method("version", VALUE)
def _version(_: Simulation) -> str:
    return VERSION


@_method("get_episode_info", VALUE)
def _episode_info(simulation: Simulation) -> list[Any]:
    return [simulation.told_episode(), [simulation.world_token()]]


@_method("get_sensor_token", VALUE, u32)
def _sensor_token(simulation: Simulation, stream_id: int) -> list[bytes]:
    simulation.on_token(stream_id)
    return [simulation.token(stream_id)]


@_method("get_episode_settings", VALUE)
def _get_settings(simulation: Simulation) -> list[object]:
    return simulation.settings.to_wire()


@_method("set_episode_settings", VALUE, episode_settings)
def _set_settings(simulation: Simulation, settings: EpisodeSettings) -> int:
    return simulation.apply_settings(settings)


@_method("tick_cue", VALUE)
def _tick(simulation: Simulation) -> int:
    return simulation.tick_cue()


@_method("load_new_episode", VOID, text, boolean, u16)
def _load(simulation: Simulation, name: str, reset_settings: bool, layers: int) -> None:
    simulation.load_for_client(name, reset_settings, layers)


@_method("copy_opendrive_to_file", VOID, text, opendrive_parameters)
def _copy_opendrive(simulation: Simulation, xodr: str, _: OpendriveParameters) -> None:
    simulation.stage_opendrive(xodr)


@_method("get_available_maps", VALUE)
def _available_maps(simulation: Simulation) -> list[str]:
    return simulation.maps.listed()


@_method("get_map_info", VALUE)
def _map_info(simulation: Simulation) -> list[Any]:
    return [simulation.map_name, simulation.world.spawn_points()]


@_method("get_map_data", VALUE)
def _map_data(simulation: Simulation) -> str:
    return simulation.world.opendrive


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


@_method("get_navigation_mesh", VALUE)
def _navigation_mesh(simulation: Simulation) -> bytes:
    found = simulation.navigation()
    return b"" if found is None else found[1]


@_method("get_weather_parameters", VALUE)
def _get_weather(simulation: Simulation) -> Weather:
    return simulation.weather


@_method("set_weather_parameters", NONE, weather)
def _set_weather(simulation: Simulation, parameters: Weather) -> None:
    simulation.set_weather(parameters)


@_method("get_imui_gravity", VALUE)
def _get_gravity(simulation: Simulation) -> float:
    return simulation.world.gravity


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


@_method("cast_ray", VALUE, vector, vector)
def _cast_ray(simulation: Simulation, start: Vector, end: Vector) -> list[Labelled]:
    return all_between(simulation.sensors.scene(simulation.world), start, end)


@_method("is_traffic_manager_running", VALUE, u16)
def _tm_running(simulation: Simulation, port: int) -> bool:
    return port in simulation.traffic_managers


@_method("get_traffic_manager_running", VALUE, u16)
def _tm_get(simulation: Simulation, port: int) -> list[Any]:
    return list(simulation.traffic_managers.get(port, ("", 0)))


@_method("add_traffic_manager_running", VALUE, pair(text, u16))
def _tm_add(simulation: Simulation, endpoint: tuple[str, int]) -> bool:
    if endpoint[1] in simulation.traffic_managers:
        return False
    simulation.traffic_managers[endpoint[1]] = endpoint
    return True


@_method("destroy_traffic_manager", VALUE, u16)
def _tm_destroy(simulation: Simulation, port: int) -> bool:
    return simulation.traffic_managers.pop(port, None) is not None
