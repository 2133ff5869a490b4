# SPDX-License-Identifier: Apache-2.0
"""Remote methods of traffic lights and signs, and of streams that sensors have besides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ros2_cosim.world.headless.decoding import anything, boolean, listing, real, u8, u32
from ros2_cosim.world.headless.dispatch import AnswerForm, MethodTable
from ros2_cosim.world.headless.sensing.gbuffers import Buffer
from ros2_cosim.world.headless.simulation import gbuffer_stream
from ros2_cosim.world.headless.wire_types import BoundingBox
from ros2_cosim.world.headless.world import CallError
from ros2_cosim.world.road.traffic_lights import GREEN, RED, UNKNOWN, YELLOW

if TYPE_CHECKING:
    from ros2_cosim.world.headless.simulation import Simulation

# Longer phases of traffic lights are a mistake [s].
_MAX_LIGHT_TIME = 1.0e6

TABLE = MethodTable()
_method = TABLE.method
VALUE, VOID, NONE = AnswerForm.VALUE, AnswerForm.VOID, AnswerForm.NONE


@_method("reset_all_traffic_lights", VOID)
def _reset_all(simulation: Simulation) -> None:
    for group in simulation.world.signals.groups:
        group.reset()


@_method("freeze_all_traffic_lights", NONE, boolean)
def _freeze_all(simulation: Simulation, frozen: bool) -> None:
    for group in simulation.world.signals.groups:
        group.frozen = frozen


@_method("freeze_traffic_light", NONE, u32, boolean)
def _freeze(simulation: Simulation, actor: int, frozen: bool) -> None:
    simulation.world.require_light(actor).light.group.frozen = frozen


@_method("set_traffic_light_state", NONE, u32, u8)
def _set_state(simulation: Simulation, actor: int, state: int) -> None:
    light = simulation.world.require_light(actor).light
    if state > UNKNOWN:
        raise CallError(f"traffic light {actor}: state {state} must be from 0 to {UNKNOWN}")
    light.state = state


@_method("set_traffic_light_green_time", NONE, u32, real)
def _set_green(simulation: Simulation, actor: int, seconds: float) -> None:
    _set_time(simulation, actor, GREEN, seconds)


@_method("set_traffic_light_yellow_time", NONE, u32, real)
def _set_yellow(simulation: Simulation, actor: int, seconds: float) -> None:
    _set_time(simulation, actor, YELLOW, seconds)


@_method("set_traffic_light_red_time", NONE, u32, real)
def _set_red(simulation: Simulation, actor: int, seconds: float) -> None:
    _set_time(simulation, actor, RED, seconds)


def _set_time(simulation: Simulation, actor: int, state: int, seconds: float) -> None:
    light = simulation.world.require_light(actor).light
    if not 0.0 <= seconds <= _MAX_LIGHT_TIME:
        raise CallError(
            f"traffic light {actor}: {seconds:g} s must be from 0 to {_MAX_LIGHT_TIME:g}"
        )
    light.set_time(state, seconds)


@_method("reset_traffic_light_group", NONE, u32)
def _reset_group(simulation: Simulation, actor: int) -> None:
    simulation.world.require_light(actor).light.group.reset()


@_method("get_group_traffic_lights", VALUE, u32)
def _group(simulation: Simulation, actor: int) -> list[int]:
    world = simulation.world
    lights = world.require_light(actor).light.group.lights
    return [world.signals.actor_of(light).id for light in lights]


@_method("get_light_boxes", VALUE, u32)
def _light_boxes(simulation: Simulation, actor: int) -> list[BoundingBox]:
    return [simulation.world.require_light(actor).head()]


@_method("get_traffic_sign_trigger_volume", VALUE, u32)
def _trigger(simulation: Simulation, actor: int) -> BoundingBox:
    return simulation.world.require_sign(actor).trigger


@_method("enable_sensor_for_ros", NONE, u32)
def _enable_for_ros(simulation: Simulation, stream: int) -> None:
    simulation.ros.enable(simulation.sensor_of_stream(stream))


@_method("disable_sensor_for_ros", NONE, u32)
def _disable_for_ros(simulation: Simulation, stream: int) -> None:
    simulation.ros.disable(simulation.sensor_of_stream(stream).id)


@_method("is_sensor_enabled_for_ros", VALUE, u32)
def _is_for_ros(simulation: Simulation, stream: int) -> bool:
    return simulation.ros.is_enabled(simulation.sensor_of_stream(stream).id)


@_method("enable_gbuffers", VOID, u32, boolean)
def _enable_gbuffers(simulation: Simulation, actor: int, enabled: bool) -> None:
    camera = simulation.require_colour_camera(actor)
    if enabled:
        simulation.gbuffers.add(camera.id)
    else:
        simulation.gbuffers.discard(camera.id)


@_method("are_gbuffers_enabled", VALUE, u32)
def _gbuffers_enabled(simulation: Simulation, actor: int) -> bool:
    return simulation.require_colour_camera(actor).id in simulation.gbuffers


@_method("get_gbuffer_token", VALUE, u32, u32)
def _gbuffer_token(simulation: Simulation, actor: int, index: int) -> bytes:
    camera = simulation.require_colour_camera(actor)
    if index >= len(Buffer):
        raise CallError(f"G-buffer {index} must be from 0 to {len(Buffer) - 1}")
    stream = gbuffer_stream(camera.id, Buffer(index))
    simulation.on_token(stream)
    return simulation.token(stream)


@_method("send", NONE, u32, anything)
def _send(_: Simulation, actor: int, _message: Any) -> None:
    raise CallError(f"actor {actor} is not a V2X sensor")


@_method("set_ignored_vehicles", VOID, u32, listing(u32))
def _ignored(simulation: Simulation, actor: int, _ids: list[int]) -> None:
    simulation.world.require(actor)
