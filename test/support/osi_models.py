# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Programs that speak ASAM OSI and nothing else: a sensor model, and one that moves a vehicle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from osi3.osi_object_pb2 import MovingObject
from osi3.osi_sensordata_pb2 import SensorData
from osi3.osi_sensorview_pb2 import SensorView
from osi3.osi_trafficupdate_pb2 import TrafficUpdate

from ros2_cosim.core.kernel.exactmath import sincos
from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE

Octets: Any = CATALOGUE.record("std_msgs/msg/UInt8MultiArray")


def sensed(view: SensorView) -> SensorData:
    """What an ideal sensor on a level road makes of a view: it turns what moves into its frame."""
    data = SensorData()
    for name in ("timestamp", "sensor_id", "mounting_position"):
        getattr(data, name).CopyFrom(getattr(view, name))
    truth = view.global_ground_truth
    (host,) = (m for m in truth.moving_object if m.id.value == view.host_vehicle_id.value)
    data.host_vehicle_location.CopyFrom(host.base)
    sine, cosine = sincos(host.base.orientation.yaw)
    rear = host.vehicle_attributes.bbcenter_to_rear
    mounted = view.mounting_position.position

    def turned(there: Any, here: Any) -> tuple[float, float]:
        x, y = there.x - here.x, there.y - here.y
        return x * cosine + y * sine, y * cosine - x * sine

    def write(found: Any, item: Any, height: float) -> None:
        found.header.tracking_id.value = item.id.value
        found.header.existence_probability = 1.0
        found.base.dimension.CopyFrom(item.base.dimension)
        x, y = turned(item.base.position, host.base.position)
        found.base.position.x = x - rear.x - mounted.x
        found.base.position.y = y - rear.y - mounted.y
        found.base.position.z = height

    for item in truth.moving_object:
        if item.id.value != host.id.value:
            found = data.moving_object.add()
            write(found, item, item.base.position.z - host.base.position.z - rear.z)
            velocity = found.base.velocity
            velocity.x, velocity.y = turned(item.base.velocity, host.base.velocity)
            candidate = found.candidate.add()
            candidate.probability = 1.0
            candidate.type = item.type
            candidate.vehicle_classification.type = item.vehicle_classification.type
    for item in truth.stationary_object:
        write(data.stationary_object.add(), item, 0.0)
    return data


class Sensor(Model):
    """Turns each view into sensor data."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        pass

    def activate(self, step: Step) -> Mapping[str, Any]:
        seen = step.latest["view"]
        if seen is None:
            return {"data": Octets(data=b"")}
        data = sensed(SensorView.FromString(bytes(seen.value.data)))
        return {"data": Octets(data=data.SerializeToString(deterministic=True))}


class Mover(Model):
    """Moves a car along the map's x, from a place on, and slows it down from 20 m/s to 15 m/s."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._place = parameters["x"], parameters["y"]

    def activate(self, step: Step) -> Mapping[str, Any]:
        seconds = step.time / 1e9
        braked = min(seconds, 5.0)
        speed = 20.0 - braked
        update = TrafficUpdate()
        car = update.update.add()
        car.id.value = 1
        car.type = MovingObject.TYPE_VEHICLE
        car.vehicle_classification.type = MovingObject.VehicleClassification.TYPE_CAR
        size, place = car.base.dimension, car.base.position
        size.length, size.width, size.height = 4.792, 2.163, 1.5
        x, place.y = self._place
        place.x = x + 20.0 * seconds - 0.5 * braked * braked - braked * (seconds - braked)
        place.z = 0.75
        car.base.velocity.x = speed
        return {"update": Octets(data=update.SerializeToString(deterministic=True))}
