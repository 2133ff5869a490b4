# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant that publishes OSI's ground truth and sensor views while a run is under way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field

from ros2_cosim.core.documents.extras import need_extra
from ros2_cosim.core.documents.settings import Name, Section
from ros2_cosim.core.kernel.address import Address
from ros2_cosim.core.kernel.model import FullModel, Port, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
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
    sensors: dict[Name, str] = Field(
        default_factory=dict,
        description="sensor: vehicle of the scene that carries it, in the middle of its front "
        "bumper; each has an output sensor_view/SENSOR",
    )
    listen: str | None = Field(
        default=None,
        description="`[HOST:]PORT` at which readers get the messages over TCP, each behind its "
        "length as in an .osi file; without a host on this machine alone; 0: any free port",
    )


class OsiGroundTruth(FullModel):
    """Ground truth of ASAM OSI, and a view for each sensor, at each activation as bytes.

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
    output_ports = (
        Port("ground_truth", BYTES, description="a serialised osi3.GroundTruth"),
        Port("sensor_view/{sensor}", BYTES, description="a serialised osi3.SensorView"),
    )
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: GroundTruthParameters
    ) -> Mapping[str, Sequence[str]]:
        """All vehicles of the scene, and the sensors that are to have views."""
        return {
            "vehicle": tuple(scene_settings(context).vehicles),
            "sensor": tuple(parameters.sensors),
        }

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: GroundTruthParameters) -> None:
        """Check the vehicles, the address, and that the extra is there."""
        need_extra("osi", ("osi3",), context.where)
        scene = scene_settings(context)
        scene.require_vehicle(parameters.host, f"{context.where}.host")
        for name, ego in parameters.sensors.items():
            scene.require_vehicle(ego, f"{context.where}.sensors.{name}")
        if parameters.listen is not None:
            Address.of(parameters.listen, f"{context.where}.listen")

    def __init__(self, context: ModelContext, parameters: GroundTruthParameters) -> None:
        need_extra("osi", ("osi3",), context.where)
        from ros2_cosim.driving.osi.ground_truth import SensorPlace, TruthOfRun
        from ros2_cosim.driving.osi.messages import SensorFrame
        from ros2_cosim.driving.osi.recorded import front_of, known_of
        from ros2_cosim.driving.osi.stream import OsiStream

        cast = known_of(context, parameters.host)
        sensors = {
            name: SensorPlace(SensorFrame(number, front_of(cast.vehicles[ego])), ego, None)
            for number, (name, ego) in enumerate(parameters.sensors.items(), start=1)
        }
        self._truth = TruthOfRun(replace(cast, sensors=sensors), 1, parameters.lanes)
        self._sensors = tuple(sensors)
        self._record = DEFAULT.record(BYTES)
        self.stream: OsiStream | None = None
        if parameters.listen is not None:
            where = f"{context.where}.listen"
            self.stream = OsiStream(Address.of(parameters.listen, where), where)

    def activate(self, step: Step) -> Mapping[str, Any]:
        """The world as it is now; no bytes while no odometry has come."""
        for port, sample in step.latest.items():
            if sample is not None:
                kind, _, name = port.partition("/")
                # All has the present time: what the call before has given is given no more.
                for _ in self._truth.take(kind, name, step.time, sample.value):
                    pass
        data, views = b"", dict.fromkeys(self._sensors, b"")
        for each in self._truth.present():
            data = each.message.SerializeToString(deterministic=True)
            if self.stream is not None:
                self.stream.send(data)
            for name in views:
                views[name] = self._truth.view(name).SerializeToString(deterministic=True)
        sent = {f"sensor_view/{name}": self._record(data=view) for name, view in views.items()}
        return {"ground_truth": self._record(data=data), **sent}

    def close(self) -> None:
        """End the connections."""
        if self.stream is not None:
            self.stream.close()
