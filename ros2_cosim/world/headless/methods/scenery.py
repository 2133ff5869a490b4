# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Remote methods of traffic lights and signs, and of streams that sensors have besides."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ros2_cosim.world.headless.decoding import boolean, listing, real, text, u8, u32
from ros2_cosim.world.headless.dispatch import AnswerForm, MethodTable, by_simulation
from ros2_cosim.world.headless.sensing.cam_message import MOST_TEXT, TEXT_SENSOR
from ros2_cosim.world.headless.sensing.gbuffers import Buffer
from ros2_cosim.world.headless.simulation import gbuffer_stream
from ros2_cosim.world.headless.world import CallError
from ros2_cosim.world.map.traffic_lights import GREEN, RED, UNKNOWN, YELLOW

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


def _set_time(state: int, simulation: Simulation, actor: int, seconds: float) -> None:
    light = simulation.world.require_light(actor).light
    if not 0.0 <= seconds <= _MAX_LIGHT_TIME:
        raise CallError(
            f"traffic light {actor}: {seconds:g} s must be from 0 to {_MAX_LIGHT_TIME:g}"
        )
    light.set_time(state, seconds)


@_method("get_group_traffic_lights", VALUE, u32)
def _group(simulation: Simulation, actor: int) -> list[int]:
    world = simulation.world
    lights = world.require_light(actor).light.group.lights
    return [world.signals.actor_of(light).id for light in lights]


@_method("enable_gbuffers", VOID, u32, boolean)
def _enable_gbuffers(simulation: Simulation, actor: int, enabled: bool) -> None:
    camera = simulation.require_colour_camera(actor)
    if enabled:
        simulation.gbuffers.add(camera.id)
    else:
        simulation.gbuffers.discard(camera.id)


@_method("get_gbuffer_token", VALUE, u32, u32)
def _gbuffer_token(simulation: Simulation, actor: int, index: int) -> bytes:
    camera = simulation.require_colour_camera(actor)
    if index >= len(Buffer):
        raise CallError(f"G-buffer {index} must be from 0 to {len(Buffer) - 1}")
    stream = gbuffer_stream(camera.id, Buffer(index))
    simulation.on_token(stream)
    return simulation.token(stream)


@_method("send", NONE, u32, text)
def _send(simulation: Simulation, actor: int, message: str) -> None:
    sensor, data = simulation.world.require(actor), message.encode()
    if sensor.blueprint.id != TEXT_SENSOR:
        raise CallError(f"actor {actor} is not a '{TEXT_SENSOR}'")
    if len(data) > MOST_TEXT or "\0" in message:
        raise CallError(
            f"message of {len(data)} bytes; allowed are {MOST_TEXT} bytes without a zero"
        )
    simulation.sensors.say(sensor, data)


@_method("set_ignored_vehicles", VOID, u32, listing(u32))
def _set_ignored(simulation: Simulation, actor: int, vehicles: list[int]) -> None:
    # As in CARLA only the camera for Cosmos Transfer looks at them.
    sensor = simulation.world.require(actor)
    if sensor.blueprint.kind != "sensor":
        raise CallError(f"actor {actor} is not a sensor")
    sensor.ignored = tuple(simulation.world.require_vehicle(number).id for number in vehicles)


TABLE.methods(
    NONE,
    by_simulation,
    ("set_traffic_light_green_time", partial(_set_time, GREEN), u32, real),
    ("set_traffic_light_yellow_time", partial(_set_time, YELLOW), u32, real),
    ("set_traffic_light_red_time", partial(_set_time, RED), u32, real),
    ("reset_traffic_light_group", lambda s, a: s.world.require_light(a).light.group.reset(), u32),
    ("enable_sensor_for_ros", lambda s, stream: s.ros.enable(s.sensor_of_stream(stream)), u32),
    ("disable_sensor_for_ros", lambda s, n: s.ros.disable(s.sensor_of_stream(n).id), u32),
)
TABLE.methods(
    VALUE,
    by_simulation,
    ("get_light_boxes", lambda s, actor: [s.world.require_light(actor).head()], u32),
    ("get_traffic_sign_trigger_volume", lambda s, a: s.world.require_sign(a).trigger, u32),
    ("is_sensor_enabled_for_ros", lambda s, n: s.ros.is_enabled(s.sensor_of_stream(n).id), u32),
    ("are_gbuffers_enabled", lambda s, a: s.require_colour_camera(a).id in s.gbuffers, u32),
)
