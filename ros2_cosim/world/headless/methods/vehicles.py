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
from ros2_cosim.world.headless.dispatch import AnswerForm, MethodTable
from ros2_cosim.world.headless.physics_control import (
    PhysicsControl,
    apply_physics,
    physics_control,
    read_physics_control,
    restore_physics,
    telemetry,
)
from ros2_cosim.world.headless.wire_types import (
    AckermannControl,
    AckermannSettings,
    VehicleControl,
)
from ros2_cosim.world.headless.world import CallError

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


@_method("apply_control_to_vehicle", NONE, u32, vehicle_control)
def _control(simulation: Simulation, actor: int, control: VehicleControl) -> None:
    simulation.world.apply_control(actor, control)


@_method("apply_ackermann_control_to_vehicle", NONE, u32, ackermann_control)
def _ackermann(simulation: Simulation, actor: int, control: AckermannControl) -> None:
    simulation.world.apply_ackermann(actor, control)


@_method("get_ackermann_controller_settings", VALUE, u32)
def _get_ackermann(simulation: Simulation, actor: int) -> AckermannSettings:
    return simulation.world.require_vehicle(actor).ackermann.settings


@_method("apply_ackermann_controller_settings", NONE, u32, ackermann_settings)
def _set_ackermann(simulation: Simulation, actor: int, settings: AckermannSettings) -> None:
    simulation.world.require_vehicle(actor).ackermann.settings = settings


@_method("get_physics_control", VALUE, u32)
def _get_physics(simulation: Simulation, actor: int) -> list[Any]:
    return physics_control(simulation.world.require_vehicle(actor))


@_method("apply_physics_control", NONE, u32, read_physics_control)
def _set_physics(simulation: Simulation, actor: int, control: PhysicsControl) -> None:
    apply_physics(simulation.world.require_vehicle(actor), control)


@_method("get_telemetry_data", VALUE, u32)
def _telemetry(simulation: Simulation, actor: int) -> list[Any]:
    return telemetry(simulation.world.require_vehicle(actor))


_light_state = structure(int, u32)


@_method("get_vehicle_light_state", VALUE, u32)
def _get_lights(simulation: Simulation, actor: int) -> list[int]:
    return [simulation.world.require_vehicle(actor).lights]


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


@_method("get_wheel_steer_angle", VALUE, u32, u8)
def _wheel_steer(simulation: Simulation, actor: int, wheel: int) -> float:
    vehicle = simulation.world.require_vehicle(actor)
    return vehicle.steer_angle_degrees if wheel < 2 else 0.0


@_method("get_wheel_pitch_angle", VALUE, u32, wheel)
def _wheel_pitch(simulation: Simulation, actor: int, number: int) -> float:
    return simulation.world.require_vehicle(actor).wheel_rotation(number).pitch


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


@_method("restore_physx_physics", NONE, u32)
def _physx(simulation: Simulation, actor: int) -> None:
    restore_physics(simulation.world.require_vehicle(actor))
