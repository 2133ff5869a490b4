# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""An object sensor: from the true state of the world to an object list.

Each activation takes the true state through visibility (range, opening angle, occlusion),
detection (a probability, less in rain, fog and a low sun) and noise. Latency, if any, is declared
on the output port and applied by the kernel; the cycle time is the period of the participant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.kernel.exactmath import PI, TWO_PI, sincos
from ros2_cosim.core.kernel.model import FullModel, Port, Sector, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.kernel.saved_state import SavedAttributes
from ros2_cosim.core.messages.message_types import OBJECTS, ODOMETRY, ROAD_USERS, STATIC_OBJECTS
from ros2_cosim.core.messages.records import ObjectList
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.driving.sensors.atmosphere import Atmosphere, Principle, conditions_of
from ros2_cosim.driving.sensors.false_detections import MOST_CLUTTER, FalseDetections
from ros2_cosim.driving.sensors.field_of_view import FieldOfView
from ros2_cosim.driving.sensors.object_detection import Detector
from ros2_cosim.world.map.lane_boxes import LaneBoxes, VehiclePort, VehicleSource
from ros2_cosim.world.map.lane_frame import LaneBox
from ros2_cosim.world.map.scene import scene_boxes, scene_vehicles
from ros2_cosim.world.map.vehicle_info import VehicleInfo

VEHICLES: Final = "vehicles"
"""The input with all vehicles of the scene in one message."""
#: Share of an object's width that must not be hidden [1].
_VISIBLE_FRACTION: Final = 0.2


class SensorParameters(Section):
    """Parameters of an object sensor."""

    ego: str = Field(description="name of the vehicle that carries it")
    detection_range: Number = Field(
        default=150.0, gt=0, description="from the sensor to the nearest point of what it sees [m]"
    )
    field_of_view: Number = Field(
        default=1.0,
        gt=0,
        le=TWO_PI,
        description="full opening angle about the direction in which it looks [rad]",
    )
    max_lateral_offset: Number = Field(
        default=5.5,
        gt=0,
        description="objects further to the side are not reported [m]; the default covers the "
        "own lane and its neighbours",
    )
    detection_probability: Number = Field(
        default=1.0, ge=0, le=1, description="of a visible object at one activation [1]"
    )
    principle: Principle | None = Field(
        default=None,
        description="how it measures, which decides what rain, fog and sun of the scene take from "
        "the detection probability; default: nothing",
    )
    distance_noise: Number = Field(default=0.05, ge=0, description="standard deviation [m]")
    speed_noise: Number = Field(default=0.05, ge=0, description="standard deviation [m/s]")
    lateral_noise: Number = Field(default=0.05, ge=0, description="standard deviation [m]")
    mounting_offset: Number | None = Field(
        default=None,
        description="of the sensor ahead of the vehicle's centre [m]; default: front bumper",
    )
    mounting_left: Number = Field(
        default=0.0, description="of the sensor to the left of the vehicle's centre [m]"
    )
    mounting_yaw: Number = Field(
        default=0.0,
        ge=-PI,
        le=PI,
        description="direction in which it looks, from the vehicle's x axis to the left [rad]",
    )
    clutter: Number = Field(
        default=0.0,
        ge=0,
        le=MOST_CLUTTER,
        description="mean number of detections of nothing at one activation, anywhere within "
        "range and lateral offset [1]",
    )
    clutter_speed: Number = Field(
        default=10.0, ge=0, description="largest relative speed of such a detection [m/s]"
    )
    ghost_probability: Number = Field(
        default=0.0,
        ge=0,
        le=1,
        description="of an object to be detected once more, at twice its distance, offset and "
        "relative speed, as radar waves that went to and fro twice show it [1]",
    )
    identities: bool = Field(
        default=True,
        strict=True,
        description="whether objects keep the identity that the simulator gives them; otherwise "
        "those of a list are numbered by distance from 1 (raw detections, for an object_tracker)",
    )


class ObjectSensor(FullModel):
    """The sensor of one vehicle, to be activated periodically.

    Inputs, all latched: ``odometry/<vehicle>`` for each vehicle, or that of the own one and
    ``vehicles`` with all of them in one message; ``static_objects``, ``traffic``.
    Output at every activation: ``objects`` (ObjectList, ascending distance).

    Distances are bumper to bumper along the road, speeds and lateral offsets along and across it;
    on other roads, in and beyond a junction, along the lane that the vehicle follows. Objects whose
    centre lies behind the own front bumper are not reported. Each object has its own random stream,
    named by its identity, and takes the same number of draws whenever it is visible: an object more
    or less changes nothing for the others. Detections of nothing and ghosts, if any, have their own
    streams; their identities are those of no object.

    :param boxes: the road with what is on it; default: that of the scene
    :raises ConfigurationError: the vehicle is unknown, or the road cannot be read
    """

    Parameters = SensorParameters
    traits = Traits(cost_ns=200_000, exact_records=True)

    input_ports = (
        Port(
            "odometry/{vehicle}",
            ODOMETRY,
            description="of each vehicle of the scene; with vehicles, of the own one",
        ),
        Port(VEHICLES, ROAD_USERS, required=False, description="all vehicles of the scene"),
        Port("static_objects", STATIC_OBJECTS, required=False),
        Port(
            "traffic", ROAD_USERS, required=False, description="vehicles that are not participants'"
        ),
    )
    output_ports = (Port("objects", OBJECTS, description="ascending distance"),)
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: SensorParameters
    ) -> Mapping[str, Sequence[str]]:
        """All vehicles of the scene, or the own one."""
        if VEHICLES in context.input_types:
            return {"vehicle": (parameters.ego,)}
        return {"vehicle": tuple(scene_settings(context).vehicles)}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: SensorParameters) -> None:
        """Check whether the scene has the vehicle, all sizes and a road."""
        scene_settings(context).require_vehicle(parameters.ego, f"{context.where}.ego")
        scene_vehicles(context)
        scene_boxes(context)
        conditions_of(scene_settings(context))

    @classmethod
    def drawn_sectors(
        cls, context: ModelContext, parameters: SensorParameters
    ) -> tuple[Sector, ...]:
        """What it can see."""
        return (Sector(parameters.ego, parameters.field_of_view, parameters.detection_range),)

    def __init__(
        self,
        context: ModelContext,
        parameters: SensorParameters,
        *,
        boxes: LaneBoxes | None = None,
    ) -> None:
        ego = parameters.ego
        scene_settings(context).require_vehicle(ego, f"{context.where}.ego")
        vehicles = scene_vehicles(context)
        info = vehicles[ego]
        mounting = parameters.mounting_offset
        stream = partial(RandomStream, context.run_seed, context.name)
        boxes = boxes or scene_boxes(context)
        self._detector = Detector(
            boxes,
            ego=ego,
            info=info,
            fleet=boxes.users(VEHICLES)
            if VEHICLES in context.input_types
            else boxes.fleet(
                [
                    VehiclePort(f"odometry/{name}", v.id, v.classification, v.length, v.width)
                    for name, v in vehicles.items()
                ]
            ),
            view=FieldOfView(
                parameters.detection_range, parameters.field_of_view, _VISIBLE_FRACTION
            ),
            mounting=(
                0.5 * info.length if mounting is None else mounting,
                parameters.mounting_left,
                *sincos(parameters.mounting_yaw),
            ),
            max_lateral=parameters.max_lateral_offset,
            probability=parameters.detection_probability,
            atmosphere=None
            if parameters.principle is None
            else Atmosphere(
                parameters.principle,
                parameters.detection_range,
                conditions_of(scene_settings(context)),
            ),
            noise=(parameters.distance_noise, parameters.speed_noise, parameters.lateral_noise),
            stream=stream,
        )
        self._false = FalseDetections(
            clutter=parameters.clutter,
            clutter_speed=parameters.clutter_speed,
            ghost_probability=parameters.ghost_probability,
            reach=parameters.detection_range,
            max_lateral=parameters.max_lateral_offset,
            probability=parameters.detection_probability,
            stream=stream,
        )
        self._identities = parameters.identities

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Look once; an empty list while the own odometry is missing."""
        objects = self._detector.detect(step.latest)
        if self._false.happen and step.latest[self._detector.ego_port] is not None:
            objects = self._false.among(objects)
        if not self._identities:
            numbered = enumerate(objects.objects, start=1)
            objects = ObjectList(tuple(item._replace(id=number) for number, item in numbered))
        return {"objects": objects}

    def save_state(self) -> Any:
        """Random streams, and the sensor's data about the fixed objects."""
        return _STATE.save(self)

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        _STATE.restore(self, state)


_STATE = SavedAttributes(
    parts=(Detector, FalseDetections),
    values=(LaneBox,),
    constants=(Atmosphere, VehicleSource, LaneBoxes, FieldOfView, VehicleInfo),
)
