# SPDX-License-Identifier: Apache-2.0
"""A V2V channel: beacons from vehicle to vehicle, some of them lost.

The latency of a link is declared on its output port and applied by the kernel, so that
receivers know how far they may look ahead; this behaviour decides only what is sent and what
is lost. A lost beacon is silence on the port.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ros2_cosim.interfaces.records import V2VMessage
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.participant import Sample, Step
from ros2_cosim.kernel.random_streams import RandomStream
from ros2_cosim.models.packet_loss import PacketLoss, make_loss
from ros2_cosim.models.vehicle_info import VehicleInfo, check_vehicles, require_vehicle

BRAKE_LIGHT_DECELERATION = 0.7
"""Deceleration from which a vehicle without a control command counts as braking [m/s^2]."""


def link_port(sender: str, receiver: str) -> str:
    """Return the name of the output port of a link."""
    return f"{sender}_to_{receiver}"


class V2VChannel:
    """A kernel behaviour, to be activated at the beacon period.

    Inputs, all latched, for each sender: ``odometry/<sender>``, ``acceleration/<sender>``,
    and ``control/<sender>`` if it is driven by a controller node (delayed, or a loop without
    delay arises). Outputs: ``<sender>_to_<receiver>`` (V2VMessage) for each link; silent while
    the sender's odometry is missing and when the beacon is lost.

    Without a control command the measured acceleration stands for the commanded one.
    """

    def __init__(
        self,
        *,
        links: Iterable[tuple[str, str]],
        vehicles: Mapping[str, VehicleInfo],
        run_seed: int,
        name: str = "v2v",
        loss: object = 0.0,
    ) -> None:
        """Make the channel of all links.

        :param links: (sender, receiver) names
        :param vehicles: every vehicle by name
        :param run_seed: seed of the run
        :param name: of the participant, names the random streams
        :param loss: see :func:`~ros2_cosim.models.packet_loss.make_loss`; each link has its
            own state and its own random stream
        :raises ConfigurationError: unknown vehicle, a link twice or to its sender, wrong loss
        """
        check_vehicles(name, vehicles)
        self.name = name
        self._links: list[tuple[str, str, PacketLoss]] = []
        self._senders: dict[str, VehicleInfo] = {}
        ports: set[str] = set()
        for link in links:
            if not isinstance(link, (tuple, list)) or len(link) != 2:
                raise ConfigurationError(
                    f"{name}: found link {link!r}; allowed is [sender, receiver]"
                )
            sender, receiver = link
            self._senders[sender] = require_vehicle(name, vehicles, sender)
            require_vehicle(name, vehicles, receiver)
            port = link_port(sender, receiver)
            if sender == receiver or port in ports:
                raise ConfigurationError(
                    f"{name}: found link '{sender}' to '{receiver}'"
                    f" {'twice' if port in ports else 'to itself'}; allowed is each pair of two"
                    " vehicles once"
                )
            ports.add(port)
            stream = RandomStream(run_seed, name, f"loss/{sender}/{receiver}")
            self._links.append((sender, port, make_loss(loss, stream, f"{name}: loss")))
        self.lost = 0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Send one beacon on each link; ``lost`` counts those that never arrive."""
        messages: dict[str, V2VMessage | None] = {
            sender: self._beacon(step, sender, info) for sender, info in self._senders.items()
        }
        outputs: dict[str, Any] = {}
        for sender, port, loss in self._links:
            message = messages[sender]
            if message is None:
                continue
            if loss.next_is_lost():
                self.lost += 1
            else:
                outputs[port] = message
        return outputs

    def _beacon(self, step: Step, sender: str, info: VehicleInfo) -> V2VMessage | None:
        latest = step.latest
        odometry = latest[f"odometry/{sender}"]
        if odometry is None:
            return None
        sample: Sample | None = latest[f"acceleration/{sender}"]
        acceleration: float = 0.0 if sample is None else sample.value.ax
        control = latest.get(f"control/{sender}")
        if control is None:
            commanded = acceleration
            braking = acceleration < -BRAKE_LIGHT_DECELERATION
        else:
            commanded = control.value.acceleration
            braking = control.value.brake > 0.0
        state = odometry.value
        return V2VMessage(
            info.id, step.time, state.x, state.y, state.vx, acceleration, commanded,
            info.length, braking,
        )  # fmt: skip
