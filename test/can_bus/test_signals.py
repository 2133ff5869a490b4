# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""DBC: values of messages into frames and back, and what is wrong by its message and signal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.models import made

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.message_types import OBJECTS, V2V
from ros2_cosim.core.messages.records import DetectedObject, ObjectList, V2VMessage
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.driving.can.frames import BusFrame
from ros2_cosim.driving.can.made_records import made_record
from ros2_cosim.driving.can.messages import CAN_FRAME, frame_of, message_of

cantools = pytest.importorskip("cantools", reason="the extra 'can' is not installed")

from ros2_cosim.driving.can.coders import SignalDecoder, SignalEncoder  # noqa: E402
from ros2_cosim.driving.can.signals import SignalDatabase  # noqa: E402

CONFIG = Path(__file__).resolve().parents[2] / "config"
SCENARIO = load_scenario(CONFIG / "can_platoon.yaml")


def unit(name: str, **changes: Any) -> Any:
    """A control unit of the scenario, its parameters changed."""
    settings = SCENARIO.participants[name]
    kind = SignalDecoder if name == "gateway" else SignalEncoder
    types: Mapping[str, str] = {"objects": OBJECTS, "beacon": V2V, "frames": CAN_FRAME}
    context = {
        "base_directory": CONFIG,
        "input_types": {port: types[port] for port in settings.inputs},
        "output_types": {port: settings.outputs[port].type for port in settings.outputs},
    }
    return made(kind, {**settings.parameters, **changes}, name=name, context=context)


def step(port: str, record: Any) -> Step:
    sample = Sample(0, 0, record)
    return Step(0, {port: (sample,)}, {port: sample})


def over_the_bus(sender: str, port: str, record: Any) -> Mapping[str, Any]:
    """What the receiver makes of what a sender makes of a record."""
    outputs = unit(sender).activate(step(port, record))
    (frame,) = outputs.values()
    found: Mapping[str, Any] = unit("gateway").handle_message("frames", step("frames", frame))
    return found


def target(distance: float, lateral: float = 0.0) -> DetectedObject:
    return DetectedObject(7, 1, distance, -3.5, lateral, 4.5, 1.8, 1.0)


def test_the_nearest_object_comes_over_the_bus_to_the_resolution_of_its_signals() -> None:
    objects = ObjectList((target(80.128), target(41.23), target(12.0, lateral=3.0)))
    (found,) = over_the_bus("radar", "objects", objects)["objects"].objects
    assert found == pytest.approx(target(41.23), abs=1e-9)
    assert over_the_bus("radar", "objects", ObjectList(()))["objects"] == ObjectList(())


@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**32 - 1),
    st.floats(-1e7, 1e7),
    st.floats(-300, 300),
    st.floats(-30, 30),
    st.booleans(),
)
def test_beacons_come_over_the_bus(
    sender: int, time: int, x: float, speed: float, acceleration: float, braking: bool
) -> None:
    sent = V2VMessage(
        sender, time * 1_000_000, x, -x, speed, acceleration, -acceleration, 4.5, braking
    )
    found = over_the_bus("v2x", "beacon", sent)["beacon"]
    assert (found.sender, found.generation_time, found.braking) == (sender, sent[1], braking)
    assert abs(found.x - x) <= 0.00501 and abs(found.y + x) <= 0.00501
    assert abs(found.speed - speed) <= 0.00501
    assert abs(found.acceleration - acceleration) <= 0.000501
    assert abs(found.commanded_acceleration + acceleration) <= 0.000501


def test_a_frame_has_the_bytes_that_cantools_makes() -> None:
    (message,) = unit("v2x").activate(step("beacon", V2VMessage(*range(8), True))).values()
    frame = frame_of(message)
    assert (frame.id, frame.fd, frame.bit_rate_switch, len(frame.data)) == (768, True, True, 24)
    database = cantools.database.load_file(CONFIG / "platoon.dbc")
    assert database.decode_message(768, frame.data)["Speed"] == 4.0


def test_frames_of_others_are_passed_over() -> None:
    for frame in (BusFrame(0x100, data=bytes(8)), BusFrame(512, remote=True, requested=8)):
        found = unit("gateway").handle_message("frames", step("frames", message_of(frame)))
        assert found == {}


def test_without_a_value_nothing_is_sent() -> None:
    assert unit("radar").activate(Step(0, {}, {"objects": None})) == {}


def test_values_outside_end_the_run_or_are_clipped() -> None:
    far = ObjectList((target(700.0),))
    (frame,) = unit("radar").activate(step("objects", far)).values()
    database = SignalDatabase(CONFIG / "platoon.dbc", "here")
    assert database.decoded("RadarTarget", frame_of(frame))["Distance"] == 655.35
    with pytest.raises(
        ConfigurationError,
        match=r"signal 'Distance' of message 'RadarTarget': found 700.0; allowed is 0",
    ):
        unit("radar", clip=False).activate(step("objects", far))


def test_a_short_frame_names_its_message() -> None:
    short = message_of(BusFrame(512, data=bytes(3)))
    with pytest.raises(ConfigurationError, match="found a frame of 3 bytes for message 'RadarT"):
        unit("gateway").handle_message("frames", step("frames", short))


@pytest.mark.parametrize(
    ("name", "changes", "found"),
    [
        ("radar", {"database": "no.dbc"}, "no.dbc': No such file"),
        ("radar", {"database": "can_platoon.yaml"}, "which is not a database of CAN messages"),
        ("radar", {"send": {"Radar": {}}}, "found message 'Radar'; platoon.dbc has Beacon, Motion"),
        (
            "radar",
            {"send": {"RadarTarget": {"Range": "objects.objects[0].distance"}}},
            "found signal 'Range'; message 'RadarTarget' of platoon.dbc has Valid, Id",
        ),
        (
            "radar",
            {"send": {"RadarTarget": {"Id": "tracks.id"}}},
            "send.RadarTarget.Id: found input 'tracks'; there are objects",
        ),
        (
            "radar",
            {"send": {"RadarTarget": {"Id": "objects.objects[].id"}}},
            "allowed is a single number",
        ),
        (
            "gateway",
            {"receive": {"objects": {"message": "RadarTarget", "fields": {"count": "Id"}}}},
            "receive.objects.fields: found 'count'",
        ),
        (
            "gateway",
            {"receive": {"tracks": {"message": "RadarTarget", "fields": {}}}},
            "found no output 'tracks'; there are beacon, objects",
        ),
        (
            "gateway",
            {
                "receive": {
                    "objects": {
                        "message": "RadarTarget",
                        "fields": {"objects[nearest].id": "Id"},
                    }
                }
            },
            "allowed are single values, of lists as name[0]",
        ),
    ],
)
def test_what_is_not_there_is_named(name: str, changes: dict[str, Any], found: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        unit(name, **changes)
    assert found in str(error.value)


def test_records_are_made_of_nested_values() -> None:
    point = DEFAULT.record("geometry_msgs/msg/PoseStamped")
    made_ = made_record(point, {"pose.position.y": 2.0, "pose.orientation.w": 1.0})
    assert (made_.pose.position.y, made_.pose.orientation.w, made_.pose.position.x) == (2, 1, 0)
    numbers = DEFAULT.record("std_msgs/msg/Float64MultiArray")
    assert made_record(numbers, {"data[1]": 4.0, "data[0]": 3.0}).data == (3.0, 4.0)
