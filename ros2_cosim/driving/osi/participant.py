# SPDX-License-Identifier: Apache-2.0
"""A participant that publishes OSI's ground truth while a run is under way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from ros2_cosim.core.documents.extras import need_extra
from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.model import FullModel, Port, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.live.address import Address
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.message_types import (
    ACCELERATION,
    BYTES,
    ODOMETRY,
    ROAD_USERS,
    STATIC_OBJECTS,
)
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.driving.osi.sources import Lanes


class GroundTruthParameters(Section):
    """What is published, and where else."""

    host: str = Field(description="host vehicle, one of the scene")
    lanes: Lanes = Field(
        default="first", description="which messages have lanes, signs and objects of the map"
    )
    listen: str | None = Field(
        default=None,
        description="`[HOST:]PORT` at which readers get the messages over TCP, each behind its "
        "length as in an .osi file; without a host on this machine alone; 0: any free port",
    )


class OsiGroundTruth(FullModel):
    """Ground truth of ASAM OSI at each activation, as bytes (UInt8MultiArray).

    Inputs, all latched: ``odometry/<vehicle>`` of each vehicle, and what else is to be in it. It
    has no traffic lights: no message has what all of them show. Readers over TCP that are slow lose
    messages, and never keep the run waiting. Needs the extra ``osi``.

    :raises ConfigurationError: the scene does not have the host, or the map cannot be read
    :raises ConnectionFailedError: it cannot listen at the address
    """

    Parameters = GroundTruthParameters
    traits = Traits(cost_ns=300_000)
    input_ports = (
        Port("odometry/{vehicle}", ODOMETRY, description="of each vehicle of the scene"),
        Port("acceleration/{vehicle}", ACCELERATION, required=False),
        Port("traffic", ROAD_USERS, required=False),
        Port("static_objects", STATIC_OBJECTS, required=False),
    )
    output_ports = (Port("ground_truth", BYTES, description="a serialised osi3.GroundTruth"),)
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: GroundTruthParameters
    ) -> Mapping[str, Sequence[str]]:
        """All vehicles of the scene."""
        return {"vehicle": tuple(scene_settings(context).vehicles)}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: GroundTruthParameters) -> None:
        """Check the host vehicle, the address, and that the extra is there."""
        need_extra("osi", ("osi3",), context.where)
        scene_settings(context).require_vehicle(parameters.host, f"{context.where}.host")
        if parameters.listen is not None:
            Address.of(parameters.listen, f"{context.where}.listen")

    def __init__(self, context: ModelContext, parameters: GroundTruthParameters) -> None:
        need_extra("osi", ("osi3",), context.where)
        from ros2_cosim.driving.osi.ground_truth import TruthOfRun
        from ros2_cosim.driving.osi.recorded import known_of
        from ros2_cosim.driving.osi.stream import OsiStream

        self._truth = TruthOfRun(known_of(context, parameters.host), 1, parameters.lanes)
        self._record = DEFAULT.record(BYTES)
        self.stream: OsiStream | None = None
        if parameters.listen is not None:
            where = f"{context.where}.listen"
            self.stream = OsiStream(Address.of(parameters.listen, where), where)

    def activate(self, step: Step) -> Mapping[str, Any]:
        """The world as it is now; nothing while no odometry has come."""
        for port, sample in step.latest.items():
            if sample is not None:
                kind, _, name = port.partition("/")
                # All has the present time: what the call before has given is given no more.
                for _ in self._truth.take(kind, name, step.time, sample.value):
                    pass
        data = b""
        for each in self._truth.present():
            data = each.message.SerializeToString(deterministic=True)
            if self.stream is not None:
                self.stream.send(data)
        return {"ground_truth": self._record(data=data)}

    def close(self) -> None:
        """End the connections."""
        if self.stream is not None:
            self.stream.close()
