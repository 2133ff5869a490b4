# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Remote methods of the recorder and the replayer."""

from __future__ import annotations

from ros2_cosim.world.headless.decoding import boolean, real, text, transform, u8, u32
from ros2_cosim.world.headless.dispatch import AnswerForm, MethodTable, by_simulation
from ros2_cosim.world.headless.recording import Recording
from ros2_cosim.world.headless.recording_texts import blocked, collisions, file_info
from ros2_cosim.world.headless.simulation import Simulation
from ros2_cosim.world.headless.world import CallError

TABLE = MethodTable()
_method = TABLE.method
VALUE, NONE = AnswerForm.VALUE, AnswerForm.NONE

# Letters that name kinds of actors.
_KINDS = "hvwtoa"
_MAX_TIME_FACTOR = 1000.0


@_method("show_recorder_collisions", VALUE, text, u8, u8)
def _collisions(_: Simulation, name: str, first: int, second: int) -> str:
    kinds = chr(first), chr(second)
    for kind in kinds:
        if kind not in _KINDS:
            raise CallError(f"kind of actor '{kind}' must be one of {', '.join(_KINDS)}")
    return collisions(Recording(name), *kinds)


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


TABLE.methods(
    VALUE,
    by_simulation,
    ("start_recorder", Simulation.start_recorder, text, boolean),
    ("show_recorder_file_info", lambda _, n, all: file_info(Recording(n), all), text, boolean),
    ("show_recorder_actors_blocked", lambda _, n, *m: blocked(Recording(n), *m), text, real, real),
    ("replay_file", Simulation.replay, text, real, real, u32, boolean, transform),
)
TABLE.methods(
    NONE,
    by_simulation,
    ("stop_recorder", Simulation.stop_recorder),
    ("stop_replayer", Simulation.stop_replayer, boolean),
)
