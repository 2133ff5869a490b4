# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Records made from definitions: any type as values, with rosbags as the judge of the bytes."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from ros2_cosim.core.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.core.messages.catalogue import DEFAULT, Catalogue
from ros2_cosim.core.messages.raw import RawMessage

CORNER = "float64 x\nfloat32 weight 1.0\nstring label\n"
SURVEY = """
uint8 KIND_ROUGH = 1
string UNIT = "metre"
std_msgs/Header header
uint8 kind
bool[] flags
uint8[<=4] few
float32[3] size
Corner[] corners
Corner[2] ends
string[] names
string<=5 short
string[2] pair
uint64 class
geometry_msgs/Pose pose
"""
TYPE = "own_msgs/msg/Survey"


def own() -> Catalogue:
    catalogue = Catalogue()
    catalogue.define("own_msgs/msg/Corner", CORNER)
    catalogue.define(TYPE, SURVEY)
    return catalogue


def judge() -> Any:
    store = get_typestore(Stores.ROS2_JAZZY)
    store.register(get_types_from_msg(CORNER, "own_msgs/msg/Corner"))
    store.register(get_types_from_msg(SURVEY, TYPE))
    return store


def survey(catalogue: Catalogue, **changes: Any) -> Any:
    corner = catalogue.record("own_msgs/msg/Corner")
    given = {
        "kind": 1,
        "flags": [True, False, True],
        "few": b"\1\2\3",
        "size": (0.5, 1.5, 2.5),
        "corners": (corner(1.0, 0.5, "a"), corner(-2.0, 0.25, "")),
        "ends": (corner(label="first"), corner(x=9.0)),
        "names": ("one", "two"),
        "short": "5 ok!",
        "pair": ("left", "right"),
        "class_": 7,
        **changes,
    }
    return catalogue.record(TYPE)(**given)


def test_bytes_are_those_of_rosbags() -> None:
    catalogue, store = own(), judge()
    codec = catalogue.wire_codec(TYPE, frame_id="map")
    data = codec.encode(3_000_000_004, 0, survey(catalogue))
    there = store.deserialize_cdr(data, TYPE)
    assert bytes(store.serialize_cdr(there, TYPE)) == data
    assert (there.header.stamp.sec, there.header.stamp.nanosec) == (3, 4)
    assert there.header.frame_id == "map"
    assert (there.kind, there.short, there.names) == (1, "5 ok!", ["one", "two"])
    assert list(there.size) == [0.5, 1.5, 2.5] and list(there.flags) == [True, False, True]
    assert [c.label for c in there.corners] == ["a", ""]
    assert there.ends[0].label == "first" and there.ends[1].x == 9.0
    assert there.class_ == 7


def test_what_is_read_is_what_was_written() -> None:
    catalogue = own()
    codec = catalogue.wire_codec(TYPE)
    sent = survey(catalogue)
    data = codec.encode(5, 0, sent)
    stamp, _, value = codec.decode(data)
    assert stamp == 5
    assert value._replace(flags=sent.flags, few=sent.few, size=sent.size) == sent
    assert (value.flags.tolist(), value.few.tolist()) == ([True, False, True], [1, 2, 3])
    assert value.size == memoryview(array("f", sent.size))
    assert codec.delivered(sent, data, True) == value and value.wire == data
    assert value.KIND_ROUGH == 1 and catalogue.record(TYPE).UNIT == "metre"
    with pytest.raises(TypeError, match="read-only"):
        value.size[0] = 1.0


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"few": range(5)}, "5 elements where at most 4"),
        ({"short": "longer"}, "6 characters where at most 5"),
        ({"size": (1.0, 2.0)}, "array of 3 elements got 2"),
        ({"pair": ("alone",)}, "array of 2 elements got 1"),
        ({"ends": ()}, "array of 2 elements got 0"),
        ({"few": [256]}, "unsigned byte integer is greater than maximum"),
        ({"size": "abc"}, "the text 'abc' instead of numbers"),
        ({"kind": -1}, "cannot encode"),
    ],
)
def test_what_a_field_cannot_hold_is_refused(changes: dict[str, Any], fault: str) -> None:
    catalogue = own()
    codec = catalogue.wire_codec(TYPE)
    with pytest.raises(ProtocolError, match=fault):
        codec.encode(0, 0, survey(catalogue, **changes))


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 2.0, 3.0],
        array("f", [1, 2, 3]),
        array("d", [1, 2, 3]),
        np.array([1, 2, 3], np.float32),
        np.array([1.0, 9.0, 2.0, 9.0, 3.0])[::2],
        np.array([[1.0, 2.0, 3.0]], np.float64),
        np.array([1, 2, 3], np.int16),
        memoryview(np.array([1, 2, 3], np.float32)),
    ],
)
def test_arrays_are_taken_as_they_come(values: Any) -> None:
    catalogue = own()
    codec = catalogue.wire_codec(TYPE)
    data = codec.encode(0, 0, survey(catalogue, size=values))
    assert codec.decode(data)[2].size.tolist() == [1.0, 2.0, 3.0]


def test_a_changed_copy_is_a_new_message() -> None:
    catalogue = own()
    codec = catalogue.wire_codec(TYPE)
    value = codec.decode(codec.encode(0, 0, survey(catalogue)))[2]
    assert codec.decode(codec.encode(5, 0, value._replace(short="new")))[2].short == "new"


@pytest.mark.parametrize("values", [(), [], b"", array("d"), np.array([]), np.zeros((0, 3))])
def test_arrays_may_be_empty(values: Any) -> None:
    catalogue = own()
    codec = catalogue.wire_codec(TYPE)
    data = codec.encode(0, 0, survey(catalogue, flags=values, few=values))
    value = codec.decode(data)[2]
    assert (len(value.flags), len(value.few)) == (0, 0)


def test_an_image_is_neither_copied_nor_unpacked_when_read() -> None:
    codec = DEFAULT.wire_codec("sensor_msgs/msg/Image", frame_id="camera")
    pixels = np.arange(640 * 480 * 3, dtype=np.uint8)
    image = DEFAULT.record("sensor_msgs/msg/Image")(480, 640, "rgb8", 0, 640 * 3, pixels)
    data = codec.encode(1, 0, image)
    value = codec.decode(data)[2]
    assert value.wire is data and value.data.obj is data
    assert np.array_equal(np.asarray(value.data), pixels)


@given(data=st.binary(max_size=300))
def test_garbage_is_refused_or_read(data: bytes) -> None:
    codec = _GARBAGE
    try:
        value = codec.value(b"\0\1\0\0" + data)
    except ProtocolError:
        return
    assert codec.decode(codec.encode(0, 0, value))[2].wire[12:] == value.wire[12:]


_GARBAGE = own().wire_codec(TYPE)


def test_a_raw_message_goes_out_on_any_port() -> None:
    odometry = "nav_msgs/msg/Odometry"
    whole = DEFAULT.wire_codec(odometry, whole=True)
    store = get_typestore(Stores.ROS2_JAZZY)
    kinds = store.types
    plain = DEFAULT.codec(odometry, frame_id="map", child_frame_id="car/base_link")
    covariance = bytearray(plain.encode(0, 0, plain.record(*map(float, range(13)))))
    covariance[-8:] = np.float64(4.5).tobytes()
    sent = RawMessage(odometry, bytes(covariance))
    data = plain.encode(2_000_000_001, 0, sent)
    there = store.deserialize_cdr(data, odometry)
    assert isinstance(there, kinds[odometry])
    assert (there.header.stamp.sec, there.header.stamp.nanosec) == (2, 1)
    assert there.twist.covariance[35] == 4.5
    assert plain.delivered(sent, data, True) == plain.record(*map(float, range(13)))
    assert whole.encode(2_000_000_001, 0, sent) == data
    with pytest.raises(ProtocolError, match="found a message of type a/msg/Other"):
        plain.encode(0, 0, RawMessage("a/msg/Other", b""))
    with pytest.raises(ProtocolError, match="cut short") as refused:
        plain.encode(0, 0, RawMessage(odometry, b"\0\1\0\0" + bytes(100)))
    assert "\\x00" not in str(refused.value)


@pytest.mark.parametrize(
    "name", ["sensor_msgs/msg/PointCloud2", "tf2_msgs/msg/TFMessage", "geometry_msgs/msg/Twist"]
)
def test_every_standard_type_has_a_record_with_defaults(name: str) -> None:
    record = DEFAULT.record(name)
    codec = DEFAULT.wire_codec(name)
    assert codec.value(codec.plain(codec.encode(0, 0, record()))) == record()


def test_all_types_of_jazzy_can_be_made() -> None:
    store = get_typestore(Stores.ROS2_JAZZY)
    fresh = Catalogue()
    for name in store.fielddefs:
        codec = fresh.wire_codec(name)
        plain = codec.plain(codec.encode(0, 0, fresh.record(name)()))
        made = store.deserialize_cdr(plain, name)
        assert bytes(store.serialize_cdr(made, name)) == plain, name


def test_wide_strings_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="'text' is a wstring, which is not supported"):
        Catalogue().define("own_msgs/msg/Wide", "wstring text")
