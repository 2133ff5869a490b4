# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Models whose ports carry message types that are not part of this project."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

from ros2_cosim.core.kernel.model import FullModel, Model, Report
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages import catalogue
from ros2_cosim.core.messages.raw import RawMessage

POINTS = 3000


class Surveyor(Model):
    """Sends a survey and a point cloud; every third survey as a whole message."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._survey: Any = catalogue.record("survey_msgs/msg/Survey")
        self._corner: Any = catalogue.record("survey_msgs/msg/Corner")
        self._cloud: Any = catalogue.record("sensor_msgs/msg/PointCloud2")
        self._field: Any = catalogue.record("sensor_msgs/msg/PointField")
        self._codec = catalogue.DEFAULT.wire_codec("survey_msgs/msg/Survey", frame_id="map")
        self._count = 0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Send what differs from activation to activation."""
        self._count += 1
        number = self._count
        corner = self._corner
        survey = self._survey(
            kind=self._survey.KIND_ROUGH,
            flags=[number % 2 == 0] * number,
            few=bytes(range(number % 5)),
            size=(0.1 * number, 0.2, 0.3),
            corners=tuple(corner(float(i), 0.1 * i, f"corner {i}") for i in range(number)),
            ends=(corner(label="first"), corner(x=float(number))),
            names=(f"survey {number}", self._survey.UNIT),
            short_name="short",
        )
        points = array("f", (0.001 * i * number for i in range(3 * POINTS)))
        cloud = self._cloud(
            height=1,
            width=POINTS,
            fields=tuple(
                self._field(name, 4 * i, self._field.FLOAT32, 1) for i, name in enumerate("xyz")
            ),
            point_step=12,
            row_step=12 * POINTS,
            data=points.tobytes(),
            is_dense=True,
        )
        if number % 3 == 0:
            survey = RawMessage("survey_msgs/msg/Survey", self._codec.encode(0, 0, survey))
        return {"survey": survey, "cloud": cloud}


class Adder(Model):
    """Adds up what it reads, as a message without a header."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._total: Any = catalogue.record("survey_msgs/msg/Total")

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Use every kind of field."""
        total, notes = 0.0, []
        for sample in step.samples["survey"]:
            survey = sample.value
            total += survey.kind + sum(survey.flags) + sum(survey.few) + sum(survey.size)
            total += sum(corner.x * corner.weight for corner in (*survey.corners, *survey.ends))
            notes += [*survey.names, survey.short_name, survey.corners[0].label, survey.UNIT]
        cloud = step.latest["cloud"]
        if cloud is not None:
            points = cloud.value.data.cast("f")
            total += points[-1] + len(points)
        return {"total": self._total(total, " ".join(notes))}


class Reader(FullModel):
    """Reads a message without a header and ends the run when it is large."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._seen = 0.0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Remember the newest sum."""
        newest = step.latest["total"]
        if newest is not None:
            self._seen = newest.value.sum
        return {}

    def report(self) -> Report:
        """The newest sum."""
        return Report(figures={"sum": self._seen})
