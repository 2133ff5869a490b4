# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Remote methods of vehicles: control, lights, telemetry, physics parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ros2_cosim.world.headless.decoding import (
    ArgumentError,
    ackermann_control,
    ackermann_settings,
    boolean,
    integer,
    real,
    structure,
    text,
    u8,
    u32,
    u64,
    vehicle_control,
)
from ros2_cosim.world.headless.dispatch import AnswerForm, MethodTable, by_vehicle, by_world
from ros2_cosim.world.headless.physics_control import (
    apply_physics,
    physics_control,
    read_physics_control,
    restore_physics,
    telemetry,
)
from ros2_cosim.world.headless.wire_types import (
    AckermannSettings,
)
from ros2_cosim.world.headless.world import CallError, World

if TYPE_CHECKING:
    from ros2_cosim.world.headless.simulation import Simulation

TABLE = MethodTable()
_method = TABLE.method
VALUE, NONE = AnswerForm.VALUE, AnswerForm.NONE

#: Front and rear doors, left before right, then hood and trunk; the number after them is all.
_DOORS = 6
_ALL_DOORS = (1 << _DOORS) - 1


def door(value: Any) -> int:
    """A door of the protocol as a bit, all of them as all bits."""
    number = integer(0, _DOORS)(value)
    return _ALL_DOORS if number == _DOORS else 1 << number


wheel = integer(0, 3)

#: Wheels that look turned by more are a mistake [deg].
_MOST_ANGLE = 1.0e6


def angle(value: Any) -> float:
    """An angle of a wheel [deg]."""
    found = real(value)
    if abs(found) > _MOST_ANGLE:
        raise ArgumentError(f"expected an angle within {_MOST_ANGLE:g} deg, found {found:g}")
    return found


@_method("apply_ackermann_controller_settings", NONE, u32, ackermann_settings)
def _set_ackermann(simulation: Simulation, actor: int, settings: AckermannSettings) -> None:
    simulation.world.require_vehicle(actor).ackermann.settings = settings


_light_state = structure(int, u32)


@_method("set_vehicle_light_state", NONE, u32, _light_state)
def _set_lights(simulation: Simulation, actor: int, flags: int) -> None:
    simulation.world.require_vehicle(actor).lights = flags


@_method("get_vehicle_light_states", VALUE)
def _all_lights(simulation: Simulation) -> list[list[int]]:
    return [[vehicle.id, vehicle.lights] for vehicle in simulation.world.vehicles()]


@_method("open_vehicle_door", NONE, u32, door)
def _open_door(simulation: Simulation, actor: int, doors: int) -> None:
    simulation.world.require_vehicle(actor).open_doors |= doors


@_method("close_vehicle_door", NONE, u32, door)
def _close_door(simulation: Simulation, actor: int, doors: int) -> None:
    simulation.world.require_vehicle(actor).open_doors &= ~doors


@_method("set_wheel_steer_direction", NONE, u32, wheel, angle)
def _steer_look(simulation: Simulation, actor: int, number: int, turn: float) -> None:
    simulation.world.require_vehicle(actor).steered_looks[number] = turn


@_method("set_wheel_pitch_angle", NONE, u32, wheel, angle)
def _pitch_look(simulation: Simulation, actor: int, number: int, turn: float) -> None:
    simulation.world.require_vehicle(actor).turned_looks[number] = turn


@_method("show_vehicle_debug_telemetry", NONE, u32, boolean)
def _debug_telemetry(simulation: Simulation, actor: int, shown: bool) -> None:
    simulation.world.require_vehicle(actor).shows_telemetry = shown


@_method("use_carsim_road", NONE, u32, boolean)
@_method("enable_carsim", NONE, u32, text)
def _carsim(simulation: Simulation, actor: int, _value: Any) -> None:
    simulation.world.require_vehicle(actor)
    raise CallError(f"vehicle {actor} keeps its physics: this server has no CarSim")


@_method("enable_chrono_physics", NONE, u32, u64, real, text, text, text, text)
def _chrono(simulation: Simulation, actor: int, *_parameters: Any) -> None:
    simulation.world.require_vehicle(actor)
    raise CallError(f"vehicle {actor} keeps its physics: this server has no Chrono")


TABLE.methods(
    NONE,
    by_world,
    ("apply_control_to_vehicle", World.apply_control, u32, vehicle_control),
    ("apply_ackermann_control_to_vehicle", World.apply_ackermann, u32, ackermann_control),
)
TABLE.methods(
    NONE,
    by_vehicle,
    ("apply_physics_control", apply_physics, u32, read_physics_control),
    ("restore_physx_physics", restore_physics, u32),
)
TABLE.methods(
    VALUE,
    by_vehicle,
    ("get_ackermann_controller_settings", lambda vehicle: vehicle.ackermann.settings, u32),
    ("get_physics_control", physics_control, u32),
    ("get_telemetry_data", telemetry, u32),
    ("get_vehicle_light_state", lambda vehicle: [vehicle.lights], u32),
    ("get_wheel_pitch_angle", lambda vehicle, n: vehicle.wheel_rotation(n).pitch, u32, wheel),
    ("get_wheel_steer_angle", lambda v, n: v.steer_angle(n), u32, u8),
)
