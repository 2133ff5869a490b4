# SPDX-License-Identifier: Apache-2.0
"""Remote methods of the recorder and the replayer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ros2_cosim.world.headless.decoding import boolean, real, text, transform, u8, u32
from ros2_cosim.world.headless.dispatch import AnswerForm, MethodTable
from ros2_cosim.world.headless.recording import Recording
from ros2_cosim.world.headless.recording_texts import blocked, collisions, file_info
from ros2_cosim.world.headless.wire_types import Transform
from ros2_cosim.world.headless.world import CallError

if TYPE_CHECKING:
    from ros2_cosim.world.headless.simulation import Simulation

TABLE = MethodTable()
_method = TABLE.method
VALUE, NONE = AnswerForm.VALUE, AnswerForm.NONE

# Letters that name kinds of actors.
_KINDS = "hvwtoa"
_MAX_TIME_FACTOR = 1000.0


@_method("start_recorder", VALUE, text, boolean)
def _start(simulation: Simulation, name: str, additional: bool) -> str:
    return simulation.start_recorder(name, additional)


@_method("stop_recorder", NONE)
def _stop(simulation: Simulation) -> None:
    simulation.stop_recorder()


@_method("show_recorder_file_info", VALUE, text, boolean)
def _info(_: Simulation, name: str, everything: bool) -> str:
    return file_info(Recording(name), everything)


@_method("show_recorder_collisions", VALUE, text, u8, u8)
def _collisions(_: Simulation, name: str, first: int, second: int) -> str:
    kinds = chr(first), chr(second)
    for kind in kinds:
        if kind not in _KINDS:
            raise CallError(f"kind of actor '{kind}' must be one of {', '.join(_KINDS)}")
    return collisions(Recording(name), *kinds)


@_method("show_recorder_actors_blocked", VALUE, text, real, real)
def _blocked(_: Simulation, name: str, least_s: float, least_cm: float) -> str:
    return blocked(Recording(name), least_s, least_cm)


@_method("replay_file", VALUE, text, real, real, u32, boolean, transform)
def _replay(
    simulation: Simulation,
    name: str,
    start: float,
    duration: float,
    follow: int,
    sensors: bool,
    offset: Transform,
) -> str:
    return simulation.replay(name, start, duration, follow, offset, sensors=sensors)


@_method("stop_replayer", NONE, boolean)
def _stop_replayer(simulation: Simulation, keep: bool) -> None:
    simulation.stop_replayer(keep=keep)


@_method("set_replayer_ignore_hero", NONE, boolean)
def _ignore_hero(simulation: Simulation, ignore: bool) -> None:
    simulation.replay_options.ignore_hero = ignore


@_method("set_replayer_ignore_spectator", NONE, boolean)
def _ignore_spectator(simulation: Simulation, ignore: bool) -> None:
    simulation.replay_options.ignore_spectator = ignore


@_method("set_replayer_time_factor", NONE, real)
def _time_factor(simulation: Simulation, factor: float) -> None:
    if not 0.0 < factor <= _MAX_TIME_FACTOR:
        raise CallError(f"time factor {factor:g} must be above 0 and at most {_MAX_TIME_FACTOR:g}")
    simulation.replay_options.time_factor = factor
    if simulation.replayer is not None:
        simulation.replayer.time_factor = factor
