# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Values inside records by a text: elements of lists, what is nearest, and whether it is there."""

from __future__ import annotations

from typing import Any

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.field_paths import (
    array_path_of_identifier,
    field_path,
    path_of_identifier,
)
from ros2_cosim.core.messages.records import DetectedObject, ObjectList, PlatoonStatus
from ros2_cosim.driving.controllers import Measurement, Peer


def detected(number: int, distance: float, lateral: float) -> DetectedObject:
    return DetectedObject(number, 1, distance, -1.5, lateral, 4.5, 1.8, 1.0)


SEEN = ObjectList((detected(7, 30.0, 0.1), detected(8, 12.0, 3.5), detected(9, 20.0, -1.75)))
NOTHING = ObjectList(())
STATUS = PlatoonStatus(50.0, 0, False, (10.0, 11.0), (25.0, 24.0, 23.0))


def value(record: Any, path: str, kind: type | None = None) -> Any:
    return field_path(kind or type(record), path, "here").read(record)


@pytest.mark.parametrize(
    ("path", "seen", "nothing"),
    [
        ("objects[0].distance", 30.0, 0.0),
        ("objects[1].distance", 12.0, 0.0),
        ("objects[3].distance", 0.0, 0.0),
        ("objects[2].valid", True, False),
        ("objects[3].valid", False, False),
        ("objects[nearest].id", 9, 0),
        ("objects[nearest].valid", True, False),
        ("objects[].distance", (30.0, 12.0, 20.0), ()),
        ("objects.count", 3, 0),
        ("valid", True, True),
    ],
)
def test_lists_of_records(path: str, seen: Any, nothing: Any) -> None:
    assert value(SEEN, path) == seen
    assert value(NOTHING, path) == nothing


def test_an_object_of_the_next_lane_is_not_the_nearest() -> None:
    assert value(ObjectList((detected(1, 5.0, 1.76),)), "objects[nearest].valid") is False


def test_lists_of_numbers_and_records_that_may_be_missing() -> None:
    assert value(STATUS, "gaps[1]") == 11.0
    assert value(STATUS, "gaps[2]") == 0.0
    assert value(STATUS, "speeds.count") == 3
    measured = Measurement(0.04, 20.0, 0.0, 15.0, 0.0, 2.0, 0.6, 30.0)
    assert value(measured, "leader.speed") == 0.0 and value(measured, "leader.valid") is False
    heard = measured._replace(leader=Peer(21.0, 0.5, 0.6, 0.02), objects=SEEN.objects)
    assert value(heard, "leader.speed") == 21.0 and value(heard, "leader.valid") is True
    assert value(heard, "objects[nearest].distance") == 20.0
    assert value(None, "valid", ObjectList) is False


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("distance", r"here: found 'distance': ObjectList has no field 'distance'; there are obj"),
        ("objects", "objects is a list; allowed is objects"),
        ("objects[0]", "DetectedObject is not a single value; it has id, "),
        ("objects[0].speed", "DetectedObject has no field 'speed'; there are id, "),
        ("objects[-1].id", "is none of name, name"),
        ("objects[0].id.x", "id is a single value"),
        ("", "is none of name"),
    ],
)
def test_what_is_not_there_is_told(path: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        field_path(ObjectList, path, "here")


def test_only_objects_can_be_nearest() -> None:
    with pytest.raises(ConfigurationError, match="list of single values"):
        field_path(PlatoonStatus, "gaps[nearest]", "here")


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("gap", "gap"),
        ("predecessor_commanded_acceleration", "predecessor.commanded_acceleration"),
        ("leader_valid", "leader.valid"),
        ("objects_0_distance", "objects[0].distance"),
        ("objects_nearest_lateral_offset", "objects[nearest].lateral_offset"),
        ("objects_count", "objects.count"),
        ("objects_distance[3]", "objects[3].distance"),
        ("objects_valid[3]", "objects[3].valid"),
        ("objects_distance", None),
        ("gap_of_leader", None),
    ],
)
def test_identifiers_stand_for_paths(name: str, path: str | None) -> None:
    assert path_of_identifier(Measurement, name) == path
    if path is not None:
        field_path(Measurement, path, "here")


def test_identifiers_of_arrays() -> None:
    assert array_path_of_identifier(Measurement, "objects_distance") == "objects[].distance"
    assert array_path_of_identifier(Measurement, "predecessor_speed") == "predecessor.speed"


def test_values_have_units() -> None:
    assert field_path(ObjectList, "objects[0].distance", "here").unit == "m"
    assert field_path(ObjectList, "objects[0].id", "here").unit is None
