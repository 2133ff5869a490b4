# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The VDS1 server: fleet, run mode, ports and data port put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.realtime.wall_clock import MonotonicClock
from ros2_cosim.vds import COMMAND_PORT, STATE_PORT
from ros2_cosim.vds.controllable import LiveControl
from ros2_cosim.vds.data_port.api import DataPortApi
from ros2_cosim.vds.data_port.http_server import DataPort
from ros2_cosim.vds.data_port.telemetry import Telemetry
from ros2_cosim.vds.data_port.vehicle_files import VehicleFiles
from ros2_cosim.vds.data_port.view import FleetView
from ros2_cosim.vds.fleet import VehicleOutput
from ros2_cosim.vds.fleet_settings import FleetSettings
from ros2_cosim.vds.free_run import FreeRunMode, FreeRunSettings
from ros2_cosim.vds.lock_step import LockStepMode
from ros2_cosim.vds.replay import VdsRecorder
from ros2_cosim.vds.sockets import Address, CommandPorts, CommandReceiver, StateSender
from ros2_cosim.world.pictures.road_shapes import NO_ROAD, shapes_of

# Without fail-safe a sender counts as silent after this time [ns].
_SILENCE = SECOND


@dataclass(frozen=True)
class ServerSettings:
    """Where and how to serve.

    ``command_port`` and ``http_port`` may be 0 (any free one); without ``http_port`` there is no
    data port. ``record``: file for a replay of the run.
    """

    fleet: FleetSettings
    host: str = "127.0.0.1"
    command_port: int = COMMAND_PORT
    receivers: tuple[Address, ...] = (("127.0.0.1", STATE_PORT),)
    lockstep: bool = False
    free_run: FreeRunSettings = field(default_factory=FreeRunSettings)
    http_host: str = "127.0.0.1"
    http_port: int | None = None
    token: str | None = None
    record: Path | None = None


class VdsServer:
    """Serves a fleet from its construction to ``close``; ``run`` ticks it.

    :raises ConfigurationError: settings are wrong
    :raises ConnectionFailedError: a port cannot be opened
    """

    def __init__(self, settings: ServerSettings) -> None:
        clock = MonotonicClock()
        self.fleet = settings.fleet.fleet()
        self._closers: list[Callable[[], None]] = []
        self._observers: list[Callable[[Mapping[str, VehicleOutput]], None]] = []
        self._recorder: VdsRecorder | None = None
        self.data_port: DataPort | None = None
        try:
            self.ports = CommandPorts(self.fleet, settings.host, settings.command_port)
            self._closers.append(self.ports.close)
            self.sender = StateSender(self.fleet, settings.receivers)
            self._closers.append(self.sender.close)
            free_run: FreeRunMode | None = None
            if settings.lockstep:
                lock_step = LockStepMode(self.fleet, self.ports, self.sender, on_tick=self._observe)
                self._closers.append(lock_step.close)
                self.mode: FreeRunMode | LockStepMode = lock_step
            else:
                self._observers.append(self.sender.send)
                free_run = FreeRunMode(
                    self.fleet, settings.free_run, clock=clock, on_tick=self._observe
                )
                self.mode = free_run
                receiver = CommandReceiver(
                    self.ports,
                    lambda vehicle, packet: free_run.command(vehicle, packet.command),
                    clock,
                    settings.free_run.command_timeout_ns or _SILENCE,
                )
                receiver.start()
                self._closers.append(receiver.close)
            if settings.record is not None:
                self._record(settings.record, settings.fleet)
            if settings.http_port is not None:
                self._open_data_port(settings, free_run, clock)
        except BaseException:
            self.close()
            raise

    @property
    def control(self) -> LiveControl:
        """Pause, resume, step, rate and stop of the run."""
        return self.mode.control

    def run(self, steps: int | None = None) -> None:
        """Run until :meth:`stop`, or for so many ticks."""
        self.mode.run(steps)

    def stop(self) -> None:
        """End ``run``; may be called from any thread, not from a signal handler."""
        self.control.stop()

    def close(self) -> None:
        """Close all ports and files; what has been recorded is complete then."""
        if self._recorder is not None:
            self._recorder.end(self.fleet)
            self._recorder = None
        while self._closers:
            self._closers.pop()()

    def figures(self) -> dict[str, Any]:
        """Figures of the run: mode, timing, datagrams, digest of the states."""
        counts = {name: found._asdict() for name, found in self.ports.counts().items()}
        return {
            **self.mode.figures(),
            "commands": counts,
            "states": {"sent": self.sender.sent, "failed": self.sender.failed},
            "trace_sha256": self.fleet.trace_sha256,
        }

    def _observe(self, outputs: Mapping[str, VehicleOutput]) -> None:
        for observer in self._observers:
            observer(outputs)

    def _record(self, path: Path, settings: FleetSettings) -> None:
        try:
            stream: IO[str] = path.open("w", encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(f"record: {path}: {cause_of(error)}") from None
        self._closers.append(stream.close)
        self._recorder = VdsRecorder(stream, settings)
        self._observers.append(self._recorder)

    def _open_data_port(
        self, settings: ServerSettings, free_run: FreeRunMode | None, clock: MonotonicClock
    ) -> None:
        refusal = ""
        if settings.record is not None or free_run is None:
            refusal = "found a run that is recorded or in lock-step; allowed is one that is not"
        network = settings.fleet.network()
        garage = VehicleFiles(self.fleet, settings.fleet.vehicles, network, refusal)
        view = FleetView(self.fleet, garage.parameters, free_run)
        telemetry = Telemetry(view.vehicles(), clock)
        self._closers.append(telemetry.close)
        self._observers += [telemetry, view.remember]
        api = DataPortApi(
            *("vds", self.control, view, view, telemetry),
            road=NO_ROAD if network is None else shapes_of(network),
            history=view.history,
            garage=garage,
        )
        self.data_port = DataPort(api, settings.http_host, settings.http_port or 0, settings.token)
        self.data_port.start()
        self._closers.append(self.data_port.close)
