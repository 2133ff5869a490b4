# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The model ``vds_plant``: a vehicle simulator that speaks VDS1, as the plant of a scenario.

Example (part of a scenario)::

    plant:
      model: vds_plant
      period: 10ms
      parameters: {host: 192.168.1.7, port: 6601, state_port: 6602, mode: lockstep}
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
from typing import Any, Literal

from pydantic import Field, model_validator
from typing_extensions import Self

from ros2_cosim.core.documents.settings import Host, Number, PositiveDuration, Section, Whole
from ros2_cosim.core.kernel.errors import ConfigurationError, ConnectionFailedError, ProtocolError
from ros2_cosim.core.kernel.listening import Listening, PortUse
from ros2_cosim.core.kernel.model import FullModel, Port, Repeatability, Report, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.messages.message_types import ACCELERATION, CONTROL, ODOMETRY
from ros2_cosim.core.messages.records import Acceleration, ControlCommand, Odometry
from ros2_cosim.vds import COMMAND_PORT, STATE_PORT
from ros2_cosim.vds.client import VdsClient
from ros2_cosim.vds.fleet import VehicleSession
from ros2_cosim.vds.fleet_settings import VehicleSettings
from ros2_cosim.vds.sockets import read_address
from ros2_cosim.vds.vds1 import StatePacket, to_timestamp
from ros2_cosim.vds.vehicle_plant import IDLE, PlantState, VehicleCommand
from ros2_cosim.world.map.frames import quaternion_from_rpy
from ros2_cosim.world.map.scene import scene_road
from ros2_cosim.world.vehicle import SEDAN, VEHICLES

#: Time stamps are doubles; largest accepted difference from the expected time [s].
_TIME_TOLERANCE = 1e-6


class VdsPlantParameters(Section):
    """Parameters of the model."""

    whereabouts = frozenset({"host", "port", "state_host", "state_port"})

    host: Host | None = Field(default=None, description="of a vehicle simulator")
    port: Whole = Field(default=COMMAND_PORT, gt=0, lt=65536, description="for commands to it")
    state_host: Host = Field(default="127.0.0.1", description="own address, for its states")
    state_port: Whole = Field(
        default=STATE_PORT, ge=0, lt=65536, description="own port, for its states; 0: any"
    )
    mode: Literal["lockstep", "free"] = Field(
        default="lockstep",
        description="whether each command is one step, or the simulator runs by itself",
    )
    step: PositiveDuration | None = Field(
        default=None, description="of the simulator; default: the period"
    )
    timeout_s: Number = Field(
        default=10.0, gt=0, le=3600, description="longest time to an answer [s]"
    )
    max_steer: Number | None = Field(
        default=None, gt=0, le=1.5, description="wheel angle of a full command [rad]"
    )
    own: VehicleSettings | None = Field(
        default=None, description="instead of host: a vehicle of this process"
    )

    ground: Literal["plane", "scene"] = Field(
        default="plane",
        description="what the vehicle of this process stands on: z = 0, or the roads of scene.map",
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.host is None) == (self.own is None):
            raise ValueError("give either host or own")
        other = "own" if self.host is None else "host"
        for key in ("port", "state_host", "state_port", "mode", "timeout_s", "ground"):
            if key in self.model_fields_set and (key == "ground") != (other == "own"):
                raise ValueError(f"found {key} with {other}, which has no use for it; leave it out")
        return self

    @property
    def depends_on_wall_clock(self) -> bool:
        """A simulator that runs by itself is read at whatever moment the wall clock gives."""
        return self.mode == "free" and self.own is None


class _Own:
    """A session of this process: the state at the start, then after so many steps."""

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
    """A simulator behind the protocol: as :class:`_Own`."""

    def __init__(self, settings: VdsPlantParameters, step_ns: int, where: str) -> None:
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


class VdsPlant(FullModel):
    """One vehicle, of a simulator behind the protocol or of this process.

    The example of this module shows parameters and ports.

    Activation k steps the vehicle from the time before to the present one, with the newest
    command; the first one reports the state at the start.

    :raises ConfigurationError: the period is wrong
    """

    Parameters = VdsPlantParameters
    traits = Traits(repeatable=Repeatability.SAME_MACHINE)
    input_ports = (Port("control", CONTROL, required=False, description="default: idle"),)
    output_ports = (
        Port("odometry", ODOMETRY, required=False),
        Port("acceleration", ACCELERATION, required=False),
    )
    other_ports = False

    @classmethod
    def declared_repeatability(
        cls, context: ModelContext, parameters: VdsPlantParameters
    ) -> Repeatability:
        """A foreign simulator has its own numerics; a simulator that runs by itself has its own
        clock.
        """
        if parameters.own is not None:
            return Repeatability.EVERYWHERE
        free = parameters.depends_on_wall_clock
        return Repeatability.NO if free else Repeatability.SAME_MACHINE

    @classmethod
    def listens_at(
        cls, context: ModelContext, parameters: VdsPlantParameters
    ) -> tuple[Listening, ...]:
        """Where the states of a simulator arrive."""
        if parameters.own is not None:
            return ()
        place = parameters.state_host, parameters.state_port
        return (Listening(PortUse.VDS_STATES, "udp", *place),)

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: VdsPlantParameters) -> None:
        """Check whether the steps fit the period, and the simulator can be reached.

        :raises ConfigurationError: they do not
        """
        _step(context, parameters)
        if parameters.ground == "scene":
            scene_road(context)
        if parameters.own is None and context.shape == "inproc":
            raise ConfigurationError(
                f"{context.where}.host: shape inproc reaches no other process; give own instead "
                "of host, or use shape ros or composed"
            )

    def __init__(self, context: ModelContext, parameters: VdsPlantParameters) -> None:
        self._where = context.where
        self._settings = parameters
        self._shape = context.shape
        self._outputs = tuple(context.output_types)
        self._step_ns, self._count = _step(context, parameters)
        vehicle = VEHICLES[parameters.own.kind] if parameters.own else SEDAN
        self._max_steer = parameters.max_steer or vehicle.max_steer_angle
        # Made here, so that wrong settings show before anything runs.
        self._link: _Own | _Remote | None = None
        if parameters.own is not None:
            road = scene_road(context) if parameters.ground == "scene" else None
            self._link = _Own(parameters.own.session(self._step_ns, road))
        self._begun = False
        self._transport_ns = 0

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
            self._transport_ns += time.perf_counter_ns() - started
        return self._records(state)

    def report(self) -> Report:
        """Counts of the protocol; a run with a simulator that runs by itself is not repeatable."""
        free = self._settings.depends_on_wall_clock
        return Report(
            figures={} if self._link is None else self._link.figures(),
            not_repeatable=(0, "its vehicle simulator runs by itself (mode free)")
            if free
            else None,
            transport_ns=self._transport_ns,
        )

    def close(self) -> None:
        """Close the port."""
        if self._link is not None:
            self._link.close()

    def _open(self) -> _Own | _Remote:
        if self._link is None:
            if self._shape == "inproc":
                raise ConnectionFailedError(
                    f"{self._where}: shape inproc reaches no other process; give own instead of "
                    "host, or use shape ros or composed"
                )
            self._link = _Remote(self._settings, self._step_ns, self._where)
        return self._link

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


def _step(context: ModelContext, parameters: VdsPlantParameters) -> tuple[int, int]:
    """(step of the simulator [ns], steps per activation).

    :raises ConfigurationError: no period, or one that is not a multiple of the step
    """
    period = context.period_ns
    if period is None:
        raise ConfigurationError(f"participants.{context.name}.period: missing; a plant has one")
    step = parameters.step or period
    if period % step:
        raise ConfigurationError(
            f"{context.where}.step: found {format_ns(step)}; allowed are whole parts of the "
            f"period, {format_ns(period)}"
        )
    return step, period // step
