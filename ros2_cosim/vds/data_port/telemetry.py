# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Telemetry: the states of each vehicle as JSON datagrams to its receivers."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.realtime.wall_clock import WallClock
from ros2_cosim.vds.data_port.messages import Target, plain_output
from ros2_cosim.vds.fleet import VehicleOutput

#: Largest rate of datagrams per vehicle and receiver: JSON is for observation.
MAX_RATE_HZ = 60
_PERIOD = SECOND // MAX_RATE_HZ
_CREDIT = 2 * _PERIOD


class Telemetry:
    """Sends the state of each vehicle to its targets, at most 60 times per second of wall time.

    Call it with the outputs of every tick.

    :param vehicles: names
    :param clock: limits the rate
    """

    def __init__(self, vehicles: Sequence[str], clock: WallClock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._targets: dict[str, tuple[tuple[Target, ...], bool]] = {
            n: ((), False) for n in vehicles
        }
        self._next = dict.fromkeys(vehicles, -_CREDIT)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        #: Datagrams that the network took, and those that it refused.
        self.sent = self.failed = 0

    def set_targets(self, vehicle: str, targets: Sequence[Target], *, command: bool) -> None:
        """Replace the receivers of a vehicle's telemetry."""
        with self._lock:
            self._targets[vehicle] = (tuple(targets), command)

    def targets(self) -> dict[str, Any]:
        """All receivers, as plain data."""
        with self._lock:
            found = dict(self._targets)
        return {
            vehicle: {"targets": [t.model_dump() for t in targets], "command": command}
            for vehicle, (targets, command) in found.items()
        }

    def __call__(self, outputs: Mapping[str, VehicleOutput]) -> None:
        """Send what is due."""
        now = self._clock.now()
        for vehicle, output in outputs.items():
            with self._lock:
                targets, command = self._targets[vehicle]
            due = self._next[vehicle]
            if not targets or now < due:
                continue
            # A tick that comes late moves no later one: else those at 60 Hz would be left out.
            self._next[vehicle] = (due if now - due < _CREDIT else now) + _PERIOD
            data = json.dumps(plain_output(vehicle, output, command=command)).encode()
            for target in targets:
                try:
                    self._socket.sendto(data, (target.ip, target.port))
                    self.sent += 1
                except OSError:
                    self.failed += 1

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
