# SPDX-License-Identifier: Apache-2.0
"""An object sensor: from the true state of the world to an object list.

Each activation takes the true state through visibility (range, opening angle, occlusion),
detection (a probability) and noise. Latency, if any, is declared on the output port and
applied by the kernel; the cycle time is the period of the participant.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from ros2_cosim.interfaces.records import DetectedObject, ObjectList, StaticObjects
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.exactmath import TWO_PI
from ros2_cosim.kernel.participant import Step
from ros2_cosim.kernel.random_streams import RandomStream
from ros2_cosim.models.checks import (
    is_number,
    require_not_negative,
    require_positive,
    require_probability,
)
from ros2_cosim.models.field_of_view import FieldOfView
from ros2_cosim.models.lane_frame import (
    LaneBox,
    RoadMap,
    fixed_box,
    gap_ahead,
    relative_to,
    vehicle_box,
)
from ros2_cosim.models.vehicle_info import VehicleInfo, check_vehicles, require_vehicle


class ObjectSensor:
    """A kernel behaviour, to be activated periodically.

    Inputs, all latched: ``odometry/<vehicle>`` for each vehicle, ``static_objects``. Output at
    every activation: ``objects`` (ObjectList, ascending distance).

    Distances are bumper to bumper along the road, speeds and lateral offsets along and across
    it. Objects whose centre lies behind the own front bumper are not reported. Each object has
    a random stream of its own, named by its identity, and takes the same number of draws
    whenever it is visible: an object more or less changes nothing for the others.
    """

    def __init__(
        self,
        *,
        ego: str,
        vehicles: Mapping[str, VehicleInfo],
        road: RoadMap,
        run_seed: int,
        name: str = "object_sensor",
        detection_range: float = 150.0,
        field_of_view: float = 1.0,
        visible_fraction: float = 0.2,
        max_lateral_offset: float = 5.5,
        detection_probability: float = 1.0,
        distance_noise: float = 0.05,
        speed_noise: float = 0.05,
        lateral_noise: float = 0.05,
        mounting_offset: float | None = None,
    ) -> None:
        """Make the sensor of one vehicle.

        :param ego: name of the vehicle that carries it
        :param vehicles: every vehicle of the scene by name
        :param road: the road network
        :param run_seed: seed of the run
        :param name: of the participant, names the random streams
        :param detection_range: [m], from the sensor to the nearest corner that it sees
        :param field_of_view: full opening angle [rad], about the vehicle's x axis
        :param visible_fraction: share of an object's angular width that must not be hidden
        :param max_lateral_offset: objects further to the side are not reported [m]; the default
            covers the own lane and its neighbours
        :param detection_probability: of a visible object at one activation
        :param distance_noise: standard deviation [m]
        :param speed_noise: standard deviation [m/s]
        :param lateral_noise: standard deviation [m]
        :param mounting_offset: of the sensor ahead of the vehicle's centre [m]; None: the
            front bumper
        :raises ConfigurationError: a parameter out of range or an unknown ego
        """
        require_positive(
            name,
            detection_range=detection_range,
            field_of_view=field_of_view,
            max_lateral_offset=max_lateral_offset,
        )
        require_not_negative(
            name, distance_noise=distance_noise, speed_noise=speed_noise,
            lateral_noise=lateral_noise,
        )  # fmt: skip
        require_probability(
            name, visible_fraction=visible_fraction, detection_probability=detection_probability
        )
        if field_of_view > TWO_PI:
            raise ConfigurationError(
                f"{name}: field_of_view is {field_of_view!r} rad; it must not exceed 2 pi"
            )
        self.name = name
        self._vehicles = check_vehicles(name, vehicles)
        self._ego = ego
        self._ego_info = require_vehicle(name, vehicles, ego)
        self._others = [(n, f"odometry/{n}", v) for n, v in self._vehicles.items() if n != ego]
        self._ego_port = f"odometry/{ego}"
        self._road = road
        self._run_seed = run_seed
        self._view = FieldOfView(detection_range, field_of_view, visible_fraction)
        self._max_lateral = max_lateral_offset
        self._probability = detection_probability
        self._distance_noise = distance_noise
        self._speed_noise = speed_noise
        self._lateral_noise = lateral_noise
        if mounting_offset is None:
            mounting_offset = 0.5 * self._ego_info.length
        if not is_number(mounting_offset):
            raise ConfigurationError(
                f"{name}: mounting_offset is {mounting_offset!r}; it must be a finite number"
            )
        self._mounting = mounting_offset
        self._hints: dict[str, Any] = {}
        self._streams: dict[int, RandomStream] = {}
        self._static: StaticObjects | None = None
        self._static_boxes: list[LaneBox] = []
        self._static_ids: list[tuple[int, int]] = []

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Look once; an empty list while the own odometry is missing."""
        latest = step.latest
        own = latest[self._ego_port]
        if own is None:
            return {"objects": ObjectList(())}
        ego = self._place(self._ego, own.value, self._ego_info)
        boxes: list[LaneBox] = []
        identities: list[tuple[int, int]] = []
        for name, port, info in self._others:
            sample = latest[port]
            if sample is not None:
                boxes.append(self._place(name, sample.value, info))
                identities.append((info.id, info.classification))
        static = latest.get("static_objects")
        if static is not None:
            if static.value is not self._static:
                self._take_static(static.value)
            boxes += self._static_boxes
            identities += self._static_ids
        x = ego.x + self._mounting * ego.cos
        y = ego.y + self._mounting * ego.sin
        found = []
        for index in self._view.visible(x, y, ego.cos, ego.sin, boxes):
            item = self._measure(ego, boxes[index], *identities[index])
            if item is not None:
                found.append(item)
        found.sort(key=_distance_then_id)
        return {"objects": ObjectList(tuple(found))}

    def _place(self, name: str, odometry: Any, info: VehicleInfo) -> LaneBox:
        hints = self._hints
        box = vehicle_box(self._road, odometry, info.length, info.width, hints.get(name))
        hints[name] = box.position
        return box

    def _take_static(self, static: StaticObjects) -> None:
        self._static = static
        self._static_boxes = [
            fixed_box(self._road, o.x, o.y, o.yaw, o.length, o.width) for o in static.objects
        ]
        self._static_ids = [(o.id, o.classification) for o in static.objects]

    def _measure(
        self, ego: LaneBox, box: LaneBox, identity: int, classification: int
    ) -> DetectedObject | None:
        """Return what is reported of a visible object, or None if it is missed or not ahead."""
        gap = gap_ahead(self._road, ego, box)
        if gap + box.half < 0.0 or gap == inf:
            return None
        relative, offset = relative_to(ego, box)
        if not -self._max_lateral <= offset <= self._max_lateral:
            return None
        stream = self._streams.get(identity)
        if stream is None:
            stream = RandomStream(self._run_seed, self.name, f"object/{identity}")
            self._streams[identity] = stream
        detected = stream.bernoulli(self._probability)
        distance = gap + self._distance_noise * stream.normal()
        relative += self._speed_noise * stream.normal()
        offset += self._lateral_noise * stream.normal()
        if not detected:
            return None
        return DetectedObject(
            identity, classification, distance, relative, offset, box.length, box.width,
            self._probability,
        )  # fmt: skip


def _distance_then_id(item: DetectedObject) -> tuple[float, int]:
    return item.distance, item.id
