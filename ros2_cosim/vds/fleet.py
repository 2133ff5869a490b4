# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The core of all run modes: vehicles that are stepped, without clock and without I/O.

One tick: latched command -> actuator -> vehicle -> sensor. The session does not depend on what
calls ``tick`` (an outer simulation, the wall clock, a file), so it behaves the same in every run
mode. Commands may come from another thread at any time; a tick uses the newest.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from struct import Struct
from typing import NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import SECOND, format_ns
from ros2_cosim.vds.actuator import Actuator, ActuatorSettings, DelayLine
from ros2_cosim.vds.vehicle_plant import IDLE, PlantState, TyreForces, VehicleCommand, VehiclePlant

MAX_STEP = SECOND
_FLOATS = Struct("<24d")


class VehicleOutput(NamedTuple):
    """The complete result of a tick.

    ``time`` [ns] and ``steps`` belong to ``state``, the true one. ``measured`` is what the
    sensor shows of it, true at ``measured_time``. ``command`` is the latched one of the last
    tick, ``realised`` what the actuators made of it. ``forces`` are those of the true state.
    """

    time: int
    steps: int
    state: PlantState
    measured_time: int
    measured: PlantState
    command: VehicleCommand
    realised: VehicleCommand
    forces: TyreForces


@dataclass(frozen=True)
class SessionSettings:
    """Step [ns] of a session, its actuators, and the delay of its sensor [ns]."""

    dt_ns: int = 5_000_000
    actuator: ActuatorSettings = ActuatorSettings()
    sensor_delay_ns: int = 0

    def __post_init__(self) -> None:
        """Check the step."""
        if not 0 < self.dt_ns <= MAX_STEP:
            raise ConfigurationError(
                f"step: found {format_ns(self.dt_ns)}; allowed is above 0s, at most 1s"
            )


class VehicleSession:
    """One vehicle between its actuators and its sensor.

    :param plant: what is stepped
    :param settings: step, actuators, sensor
    :param initial: command that holds until the first one is set
    """

    def __init__(
        self,
        plant: VehiclePlant,
        settings: SessionSettings = SessionSettings(),
        initial: VehicleCommand = IDLE,
    ) -> None:
        self.settings = settings
        self._plant = plant
        self._actuator = Actuator(settings.actuator, initial)
        state = plant.state()
        self._sensor = DelayLine(settings.sensor_delay_ns, (0, state))
        self._lock = threading.Lock()
        self._command = initial
        self._successor: Callable[[PlantState], VehiclePlant] | None = None
        self._output = VehicleOutput(0, 0, state, 0, state, initial, initial, plant.forces())

    def set_input(self, command: VehicleCommand) -> None:
        """Latch a command: the next tick and all after it use it until another one is set.

        :raises ConfigurationError: steer or a pedal is not finite
        """
        if not (isfinite(command.steer) and isfinite(command.throttle) and isfinite(command.brake)):
            raise ConfigurationError(f"command {command!r}: steer and pedals must be finite")
        with self._lock:
            self._command = command

    def replace_plant(self, make: Callable[[PlantState], VehiclePlant]) -> None:
        """Go on with another plant from the next tick on.

        :param make: makes it from the true state
        """
        with self._lock:
            self._successor = make

    def tick(self) -> VehicleOutput:
        """Advance by one step; returns what :meth:`output` gives from now on."""
        with self._lock:
            command, successor = self._command, self._successor
            self._successor = None
        if successor is not None:
            self._plant = successor(self._output.state)
        dt = self.settings.dt_ns
        begin, steps = self._output.time, self._output.steps
        realised = self._actuator.apply(command, begin, dt)
        self._plant.step(realised, dt)
        end, state = begin + dt, self._plant.state()
        self._sensor.put(end, (end, state))
        measured_time, measured = self._sensor.at(end)
        output = VehicleOutput(
            end, steps + 1, state, measured_time, measured, command, realised, self._plant.forces()
        )
        with self._lock:
            self._output = output
        return output

    def output(self) -> VehicleOutput:
        """The result of the last tick."""
        with self._lock:
            return self._output

    def state(self) -> PlantState:
        """The true state."""
        return self.output().state

    def measured_state(self) -> PlantState:
        """The state as the sensor shows it: ``sensor_delay_ns`` old."""
        return self.output().measured


class Fleet(Mapping[str, VehicleSession]):
    """Several sessions with one step, ticked together in the order of their names.

    :raises ConfigurationError: there is none, or they differ in their step
    """

    def __init__(self, sessions: Mapping[str, VehicleSession]) -> None:
        self._sessions = {name: sessions[name] for name in sorted(sessions)}
        steps = {session.settings.dt_ns for session in self._sessions.values()}
        if len(steps) != 1:
            found = ", ".join(format_ns(step) for step in sorted(steps)) or "no vehicle"
            raise ConfigurationError(f"vehicles: found steps of {found}; allowed is one step")
        (self.dt_ns,) = steps
        self._traces = {name: sha256() for name in self._sessions}

    def __getitem__(self, name: str) -> VehicleSession:
        """The session of a vehicle."""
        return self._sessions[name]

    def __iter__(self) -> Iterator[str]:
        """Names in order."""
        return iter(self._sessions)

    def __len__(self) -> int:
        """Number of vehicles."""
        return len(self._sessions)

    def tick(self) -> dict[str, VehicleOutput]:
        """Advance all by one step."""
        return {name: self.tick_one(name) for name in self._sessions}

    def tick_one(self, name: str) -> VehicleOutput:
        """Advance one vehicle only; for callers that step each at its own time."""
        output = self._sessions[name].tick()
        self._traces[name].update(state_bytes(output.state))
        return output

    def outputs(self) -> dict[str, VehicleOutput]:
        """The outputs of all after the last tick."""
        return {name: session.output() for name, session in self._sessions.items()}

    @property
    def trace_sha256(self) -> str:
        """Digest of all states since the start, bit for bit: vehicle by vehicle, tick by tick."""
        whole = sha256()
        for name, trace in self._traces.items():
            whole.update(name.encode() + b"\0" + trace.digest())
        return whole.hexdigest()


def state_bytes(state: PlantState) -> bytes:
    """The 24 numbers of a state as little-endian doubles (192 bytes)."""
    return _FLOATS.pack(
        *state[:14], *state.wheel_spin, state.steer, state.wheel_radius, *state.wheel_load
    )


def state_from_bytes(data: bytes, offset: int = 0) -> PlantState:
    """The inverse of :func:`state_bytes`."""
    numbers = _FLOATS.unpack_from(data, offset)
    return PlantState._make((*numbers[:14], numbers[14:18], numbers[18], numbers[19], numbers[20:]))
