# SPDX-License-Identifier: Apache-2.0
"""The model ``vds_plant``: a vehicle simulator that speaks VDS1, as the plant of a scenario.

Example (part of a scenario)::

    plant:
      model: vds_plant
      period: 10ms
      parameters: {host: 192.168.1.7, port: 7001, state_port: 7002, mode: lockstep}
      inputs: {control: {from: driver.control, delayed: true}}
      outputs:
        odometry: {type: nav_msgs/msg/Odometry, topic: /odometry}
        acceleration: {type: geometry_msgs/msg/AccelStamped, topic: /acceleration}

With ``own`` (settings of a vehicle, as in ``fleet_settings``) instead of ``host`` the vehicle is
one of this project, in this process; the numbers are the same as over the protocol.

``mode: lockstep``: every command is one step of the simulator, ``step`` long (the period by
default, or a part of it), and its answer is waited for; the run is repeatable if the simulator
is. ``mode: free``: the simulator runs by itself; an activation takes its newest state. The run
then has to be paced (``--rate 1``), and depends on the wall clock.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field

from ros2_cosim.documents.settings import Duration, Section, read_section
from ros2_cosim.interfaces.records import Acceleration, ControlCommand, Odometry
from ros2_cosim.kernel.errors import ConfigurationError, ConnectionFailedError, ProtocolError
from ros2_cosim.kernel.participant import ModelContext, Step
from ros2_cosim.kernel.time import format_ns
from ros2_cosim.models.frames import quaternion_from_rpy
from ros2_cosim.models.vehicle import SEDAN, VEHICLES
from ros2_cosim.vds import COMMAND_PORT, STATE_PORT
from ros2_cosim.vds.client import VdsClient
from ros2_cosim.vds.fleet import VehicleSession
from ros2_cosim.vds.fleet_settings import VehicleSettings
from ros2_cosim.vds.ports import read_address
from ros2_cosim.vds.vds1 import StatePacket, to_timestamp
from ros2_cosim.vds.vehicle_plant import IDLE, PlantState, VehicleCommand

_OUTPUTS = {
    "odometry": "nav_msgs/msg/Odometry",
    "acceleration": "geometry_msgs/msg/AccelStamped",
}
#: Time stamps are doubles; largest accepted difference from the expected time [s].
_TIME_TOLERANCE = 1e-6
Port = Annotated[int, Field(gt=0, lt=65536)]


class VdsPlantSettings(Section):
    """Parameters of the model."""

    host: str | None = None
    port: Port = COMMAND_PORT
    state_host: str = "127.0.0.1"
    state_port: Annotated[int, Field(ge=0, lt=65536)] = STATE_PORT
    mode: Literal["lockstep", "free"] = "lockstep"
    step: Duration | None = None
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = 10.0
    max_steer: Annotated[float, Field(gt=0, le=1.5)] | None = None
    own: VehicleSettings | None = None


class _Link(Protocol):
    """The simulator behind the participant."""

    def begin(self) -> PlantState:
        """The state at the start."""

    def step(self, command: VehicleCommand, now: int, count: int) -> PlantState:
        """The state at ``now`` [ns], ``count`` steps after the last one."""

    def figures(self) -> dict[str, Any]:
        """Figures of the link."""

    def close(self) -> None:
        """Release its resources."""


class _Own:
    """A session of this process."""

    def __init__(self, session: VehicleSession) -> None:
        self._session = session

    def begin(self) -> PlantState:
        return self._session.measured_state()

    def step(self, command: VehicleCommand, now: int, count: int) -> PlantState:
        self._session.set_input(command)
        for _ in range(count):
            self._session.tick()
        return self._session.measured_state()

    def figures(self) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        pass


class _Remote:
    """A simulator behind the protocol."""

    def __init__(self, settings: VdsPlantSettings, step_ns: int, where: str) -> None:
        address = read_address(str(settings.host), settings.port, f"{where}.host")
        self._settings = settings
        self._step_ns = step_ns
        self._where = where
        self._client = VdsClient(address, settings.state_host, settings.state_port)
        self._last: StatePacket | None = None
        self._held = 0

    def begin(self) -> PlantState:
        self._last = self._client.wait(self._settings.timeout_s)
        return self._last.state

    def step(self, command: VehicleCommand, now: int, count: int) -> PlantState:
        assert self._last is not None
        if self._settings.mode == "free":
            self._client.send(command, to_timestamp(now))
            packet = self._client.poll()
            self._held += packet is None
            self._last = packet or self._last
            return self._last.state
        for index in range(count):
            sent = now - (count - 1 - index) * self._step_ns
            packet = self._client.exchange(command, to_timestamp(sent), self._settings.timeout_s)
            self._check(packet, self._last)
            self._last = packet
        return self._last.state

    def _check(self, packet: StatePacket, former: StatePacket) -> None:
        """Check that one command made one step of the configured length."""
        found, wanted = packet.timestamp - former.timestamp, self._step_ns / 1e9
        if not -_TIME_TOLERANCE < found - wanted < _TIME_TOLERANCE:
            raise ProtocolError(
                f"{self._where}: the vehicle simulator answered one command with a step of "
                f"{found:g} s; allowed is {wanted:g} s (parameters step and mode)"
            )

    def figures(self) -> dict[str, Any]:
        client = self._client
        figures = {"vds_states": client.received, "vds_refused": client.refused}
        if self._settings.mode == "free":
            figures |= {"vds_lost": client.lost, "vds_held": self._held}
        return figures

    def close(self) -> None:
        self._client.close()


class VdsPlant:
    """The participant; the example of this module shows its parameters and ports.

    Activation k steps the vehicle from the time before to the present one, with the newest
    command; the first one reports the state at the start.

    :param context: of the participant
    :raises ConfigurationError: parameters, ports or period are wrong
    """

    def __init__(self, context: ModelContext) -> None:
        self._where = f"participants.{context.name}.parameters"
        settings = read_section(VdsPlantSettings, dict(context.parameters), place=self._where)
        if (settings.host is None) == (settings.own is None):
            raise ConfigurationError(f"{self._where}: give either host or own")
        for port, kind in context.output_types.items():
            if _OUTPUTS.get(port) != kind:
                known = ", ".join(f"{name} ({kind})" for name, kind in _OUTPUTS.items())
                raise ConfigurationError(
                    f"participants.{context.name}.outputs.{port}: found {kind}; allowed are {known}"
                )
        self._settings = settings
        self._shape = context.shape
        self._outputs = tuple(context.output_types)
        self._step_ns, self._count = self._step(context, settings)
        vehicle = VEHICLES[settings.own.kind] if settings.own else SEDAN
        self._max_steer = settings.max_steer or vehicle.max_steer_angle
        # Made here, so that wrong settings show before anything runs.
        self._link: _Link | None = None
        if settings.own is not None:
            self._link = _Own(settings.own.session(self._step_ns))
        self._begun = False
        self.transport_ns = 0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Bring the vehicle to the activation time.

        :raises ConnectionFailedError: the simulator does not answer
        :raises ProtocolError: it does not keep to lock-step
        """
        if not self._begun:
            self._begun = True
            return self._records(self._open().begin())
        sample = step.latest.get("control")
        command = IDLE if sample is None else self._command(sample.value)
        assert self._link is not None
        started = time.perf_counter_ns()
        state = self._link.step(command, step.time, self._count)
        if self._settings.own is None:
            self.transport_ns += time.perf_counter_ns() - started
        return self._records(state)

    def not_repeatable(self) -> tuple[int, str] | None:
        """With a simulator that runs by itself, results depend on the wall clock."""
        if self._settings.mode == "lockstep" or self._settings.own is not None:
            return None
        return 0, "its vehicle simulator runs by itself (mode free)"

    def figures(self) -> Mapping[str, Any]:
        """Counts of the protocol; none for a vehicle of this process."""
        return {} if self._link is None else self._link.figures()

    def close(self) -> None:
        """Close the port."""
        if self._link is not None:
            self._link.close()

    def _open(self) -> _Link:
        if self._link is None:
            if self._shape == "inproc":
                raise ConnectionFailedError(
                    f"{self._where}: shape inproc reaches no other process; give own instead of "
                    "host, or use shape ros or composed"
                )
            self._link = _Remote(self._settings, self._step_ns, self._where)
        return self._link

    def _step(self, context: ModelContext, settings: VdsPlantSettings) -> tuple[int, int]:
        """(step of the simulator [ns], steps per activation)."""
        period = context.period_ns
        if period is None:
            raise ConfigurationError(
                f"participants.{context.name}.period: missing; a plant has one"
            )
        step = settings.step or period
        if period % step:
            raise ConfigurationError(
                f"{self._where}.step: found {format_ns(step)}; allowed are whole parts of the "
                f"period, {format_ns(period)}"
            )
        return step, period // step

    def _command(self, control: ControlCommand) -> VehicleCommand:
        return VehicleCommand(
            control.steer * self._max_steer,
            control.throttle,
            control.brake,
            acceleration=control.acceleration,
        )

    def _records(self, s: PlantState) -> dict[str, Any]:
        records = {
            "odometry": Odometry(
                *(s.x, s.y, s.z),
                *quaternion_from_rpy(s.roll, s.pitch, s.yaw),
                *(s.vx, s.vy, s.vz),
                *(s.roll_rate, s.pitch_rate, s.yaw_rate),
            ),
            "acceleration": Acceleration(s.ax, s.ay, 0.0),
        }
        return {port: records[port] for port in self._outputs}


def make_vds_plant(context: ModelContext) -> VdsPlant:
    """Make the participant."""
    return VdsPlant(context)
