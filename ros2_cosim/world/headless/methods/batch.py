# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The remote method ``apply_batch``: many commands in one call."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.world.headless.decoding import (
    ArgumentError,
    Reader,
    actor_description,
    anything,
    boolean,
    listing,
    optional,
    read_arguments,
    real,
    text,
    transform,
    u8,
    u32,
)
from ros2_cosim.world.headless.dispatch import (
    AnswerForm,
    MethodTable,
    answer_failure,
    answer_value,
)
from ros2_cosim.world.headless.methods import actors, scenery, vehicles, walkers
from ros2_cosim.world.headless.wire_types import Transform

if TYPE_CHECKING:
    from ros2_cosim.world.headless.simulation import Simulation

TABLE = MethodTable()

_MAX_NESTING = 8
_SPAWN = 0
_FUTURE_ACTOR = 0

# Commands that do what a remote method does: index -> method name (same arguments).
_SAME_AS: dict[int, tuple[MethodTable, str]] = {
    1: (actors.TABLE, "destroy_actor"),
    2: (vehicles.TABLE, "apply_control_to_vehicle"),
    3: (vehicles.TABLE, "apply_ackermann_control_to_vehicle"),
    4: (walkers.TABLE, "apply_control_to_walker"),
    5: (vehicles.TABLE, "apply_physics_control"),
    6: (actors.TABLE, "set_actor_transform"),
    8: (actors.TABLE, "set_actor_target_velocity"),
    9: (actors.TABLE, "set_actor_target_angular_velocity"),
    10: (actors.TABLE, "add_actor_impulse"),
    11: (actors.TABLE, "add_actor_force"),
    12: (actors.TABLE, "add_actor_angular_impulse"),
    13: (actors.TABLE, "add_actor_torque"),
    14: (actors.TABLE, "set_actor_simulate_physics"),
    15: (actors.TABLE, "set_actor_enable_gravity"),
    16: (actors.TABLE, "set_actor_autopilot"),
    17: (vehicles.TABLE, "show_vehicle_debug_telemetry"),
    19: (actors.TABLE, "set_actor_location"),
    21: (scenery.TABLE, "set_traffic_light_state"),
}


def _set_lights(simulation: Simulation, actor: int, flags: int) -> None:
    simulation.world.require_vehicle(actor).lights = flags


def _walker_state(simulation: Simulation, actor: int, feet: Transform, speed: float) -> None:
    simulation.world.follow_navigation(actor, feet, speed)


_COMMANDS: dict[int, tuple[tuple[Reader[Any], ...], Callable[..., Any]]] = {
    7: ((u32, transform, real), _walker_state),
    18: ((u32, u32), _set_lights),
}
for _index, (_table, _name) in _SAME_AS.items():
    _entry = _table.find(_name)
    _COMMANDS[_index] = (_entry.readers, _entry.handler)

_SPAWN_READERS = (actor_description, transform, optional(u32), u8, text, listing(anything))


@TABLE.method("apply_batch", AnswerForm.BARE, listing(anything), boolean)
def _apply_batch(simulation: Simulation, commands: list[Any], tick: bool) -> list[Any]:
    results = [_answer(simulation, command) for command in commands]
    if tick:
        simulation.tick_cue()
    return results


def _answer(simulation: Simulation, command: Any) -> list[Any]:
    try:
        return answer_value(_execute(simulation, command, None, 0))
    except (ArgumentError, CosimError) as error:
        return answer_failure(str(error))


def _execute(simulation: Simulation, command: Any, future: int | None, depth: int) -> int:
    match command:
        case [[int(index), list(payload)]]:
            pass
        case _:
            raise ArgumentError("not a batch command")
    if index == _SPAWN:
        return _spawn(simulation, payload, depth)
    if index not in _COMMANDS:
        raise ArgumentError(f"batch command {index} is not supported")
    readers, handler = _COMMANDS[index]
    arguments = read_arguments(readers, payload)
    if arguments[0] == _FUTURE_ACTOR and future is not None:
        arguments[0] = future
    handler(simulation, *arguments)
    actor: int = arguments[0]
    return actor


def _spawn(simulation: Simulation, payload: list[Any], depth: int) -> int:
    if depth > _MAX_NESTING:
        raise ArgumentError(f"batch commands nested deeper than {_MAX_NESTING}")
    # The attachment byte is uninitialised memory of the client: taken, never looked at.
    description, pose, parent, _attachment, socket, then = read_arguments(_SPAWN_READERS, payload)
    actor: int = simulation.spawn(description, pose, parent or 0, socket).id
    for command in then:
        # The protocol has no place for the result of a following command.
        with contextlib.suppress(ArgumentError, CosimError):
            _execute(simulation, command, actor, depth + 1)
    return actor
