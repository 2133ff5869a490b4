# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Serialised messages of ASAM OSI at ports that take records of this project.

They come as std_msgs/msg/UInt8MultiArray, as from an FMU of OSI Sensor Model Packaging or any
program that speaks OSI. No bytes mean that there is no message yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from pydantic import Field

from ros2_cosim.core.documents.extras import need_extra
from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.errors import ProtocolError
from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.core.messages.message_types import BYTES, OBJECTS, ODOMETRY
from ros2_cosim.core.messages.records import ObjectList, Odometry
from ros2_cosim.core.messages.seams import InputSeam, NoParameters, SeamPlace
from ros2_cosim.core.scene.scene import FIRST_OBJECT_ID, read_scene


class _FromOsi(InputSeam):
    """What the seams of this module share: the message that they read."""

    source_types = (BYTES,)

    def __init__(self, place: SeamPlace, parameters: Any) -> None:
        self._where = place.where

    def _parse(self, kind: Any, record: Any) -> Any:
        """A message; None if there are no bytes.

        :param kind: its class
        """
        from google.protobuf.message import DecodeError

        try:
            return kind.FromString(bytes(record.data)) if len(record.data) else None
        except DecodeError:
            raise ProtocolError(
                f"{self._where}: found {len(record.data)} bytes, which are not an "
                f"osi3.{kind.DESCRIPTOR.name}"
            ) from None


class SensorDataParameters(Section):
    """The vehicle that carries the sensor."""

    ego: str = Field(
        description="vehicle of the scene that carries the sensor: distances begin at its front "
        "bumper"
    )


class FromSensorData(_FromOsi):
    """Object list of a sensor: what an osi3.SensorData says of objects ahead.

    Objects whose centre is behind the own front bumper are left out; and stationary ones, whose
    relative speed is the own speed backwards, if ``host_vehicle_location`` has no velocity.
    """

    Parameters = SensorDataParameters
    target_type = OBJECTS

    def __init__(self, place: SeamPlace, parameters: SensorDataParameters) -> None:
        super().__init__(place, parameters)
        need_extra("osi", ("osi3",), place.where)
        from ros2_cosim.driving.osi.recorded import forms_of, front_of

        read_scene(place.scene).require_vehicle(parameters.ego, f"{place.where}.as.ego")
        context = ModelContext("osi", {}, place.scene, 0, Path())
        self._front = front_of(forms_of(context)[parameters.ego])

    def convert(self, record: Any, sent: Mapping[str, Any]) -> ObjectList | None:
        """The list, by ascending distance.

        :raises ProtocolError: the bytes are not such a message, or a number of it is not finite
        """
        from osi3.osi_sensordata_pb2 import SensorData

        from ros2_cosim.driving.osi.messages import object_list_of, own_speed_of

        message = self._parse(SensorData, record)
        if message is None:
            return None
        found = object_list_of(message, self._front, own_speed_of(message))
        for item in found.objects:
            if not all(map(isfinite, item)):
                raise ProtocolError(f"{self._where}: found {item}; allowed are finite numbers")
        return ObjectList(
            tuple(each for each in found.objects if each.distance + 0.5 * each.length >= 0.0)
        )


class FromTrafficUpdate(_FromOsi):
    """Where an osi3.TrafficUpdate puts the vehicle or object of input ``place/NAME``.

    It is the one with the identity that it has in the scene, and in ground truth; updates of others
    are left to their own inputs.
    """

    Parameters = NoParameters
    target_type = ODOMETRY

    def __init__(self, place: SeamPlace, parameters: NoParameters) -> None:
        super().__init__(place, parameters)
        need_extra("osi", ("osi3",), place.where)
        scene = read_scene(place.scene)
        name = place.port.partition("/")[2]
        if name in scene.objects:
            self._id = FIRST_OBJECT_ID + list(scene.objects).index(name)
        else:
            scene.require_vehicle(name, place.where)
            self._id = scene.identity(name)

    def convert(self, record: Any, sent: Mapping[str, Any]) -> Odometry | None:
        """The odometry, of the last update that names it.

        :raises ProtocolError: the bytes are not such a message, or it does not say the height, by
            which the centre is above the ground
        """
        from osi3.osi_trafficupdate_pb2 import TrafficUpdate

        from ros2_cosim.driving.osi.messages import updated

        found = None
        message = self._parse(TrafficUpdate, record)
        for form, odometry, _ in () if message is None else updated(message):
            if form.id == self._id:
                if not form.height > 0.0:
                    raise ProtocolError(
                        f"{self._where}: found height {form.height} of object {form.id}; allowed "
                        "is one above 0"
                    )
                found = odometry
        return found
