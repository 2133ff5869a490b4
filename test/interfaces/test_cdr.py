# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The codec: round trips, agreement with two independent serializers, hostile bytes."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from ros2_cosim.core.kernel.errors import ProtocolError
from ros2_cosim.core.messages import catalogue
from ros2_cosim.core.messages.catalogue import Catalogue
from ros2_cosim.core.messages.definitions import SEQUENCE
from ros2_cosim.core.messages.records import Acceleration, ControlCommand, Odometry

TYPES = sorted(catalogue.DEFAULT)
CHILD = "car/base_link"
STAMPS = st.integers(-(2**31) * 10**9, 2**31 * 10**9 - 1)
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
RANGES = {
    "uint8": (0, 2**8 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


def values(type_name: str, count: int, hint: Any) -> st.SearchStrategy[Any]:
    """Values of one message field."""
    if count == SEQUENCE:
        element = values(type_name, 0, get_args(hint)[0])
        return st.lists(element, max_size=5).map(tuple)
    if type_name in RANGES:
        return st.integers(*RANGES[type_name])
    if type_name == "string":
        return TEXTS
    if type_name == "bool":
        return st.booleans()
    if type_name == "float64":
        return st.floats(allow_nan=False)
    return records(type_name)


def records(type_name: str) -> st.SearchStrategy[Any]:
    """Any record of a message type."""
    cls = catalogue.record(type_name)
    hints = get_type_hints(cls)
    if type_name.startswith(("nav_msgs", "geometry_msgs")):
        return st.builds(cls, *[st.floats(allow_nan=False)] * len(hints))
    wire = {field.name: field for field in catalogue.DEFAULT.fields(type_name)}
    return st.builds(cls, *[values(wire[n].type, wire[n].length, hints[n]) for n in hints])


@st.composite
def messages(draw: st.DrawFn) -> tuple[str, str, int, int, Any]:
    """Type, frame id, stamp, sequence number and record."""
    name = draw(st.sampled_from(TYPES))
    return name, draw(TEXTS), draw(STAMPS), draw(st.integers(0, 2**64 - 1)), draw(records(name))


@given(messages(), TEXTS, st.integers(0, 64))
def test_decoding_what_was_encoded_gives_the_same_record(
    message: tuple[str, str, int, int, Any], other_frame: str, padding: int
) -> None:
    name, frame, stamp, seq, record = message
    writer = catalogue.codec(name, frame_id=frame)
    data = writer.encode(stamp, seq, record)
    expected = (stamp * writer.has_stamp, seq if writer.has_seq else None, record)
    for reader in (writer, catalogue.codec(name, frame_id=other_frame)):
        decoded = reader.decode(data + b"\0" * padding)
        assert decoded == expected
        assert type(decoded[2]) is type(record)


@given(messages(), st.integers(0, 2**31 * 10**9 - 1))
def test_messages_tell_the_time_of_ros_and_records_that_since_the_start(
    message: tuple[str, str, int, int, Any], start: int
) -> None:
    name, frame, stamp, seq, record = message
    since = record
    if name.endswith("/V2VMessage"):  # the one type of ours with a time in its record
        record = record._replace(generation_time=stamp)
        since = record._replace(generation_time=stamp - start)
    plain = catalogue.codec(name, frame_id=frame)
    codec = catalogue.codec(name, frame_id=frame, start_ns=start)
    data = codec.encode(stamp - start, seq, since)
    assert data == plain.encode(stamp, seq, record)
    expected = ((stamp - start) * codec.has_stamp, seq if codec.has_seq else None, since)
    assert codec.decode(data) == expected
    for whole in (True, False):
        wire = catalogue.DEFAULT.wire_codec(name, whole=whole, frame_id=frame, start_ns=start)
        carried = wire.encode(stamp - start, seq, since)
        assert wire.plain(carried) == data
        assert wire.decode(carried)[0::2] == (stamp - start, since)


TIMES = """float64 first
builtin_interfaces/Time one
builtin_interfaces/Time[] many
builtin_interfaces/Time[2] pair
builtin_interfaces/Duration while
std_msgs/Header[] headers"""


@given(
    st.lists(st.integers(0, 10**18) | st.just(0), min_size=4, max_size=6), st.integers(0, 10**18)
)
def test_each_time_in_a_record_counts_from_the_start(times: list[int], start: int) -> None:
    own = Catalogue()
    own.define("toy/msg/Times", TIMES)
    kind: Any = own.record("toy/msg/Times")
    make: Any = own.part("builtin_interfaces/msg/Time")
    span: Any = own.part("builtin_interfaces/msg/Duration")(1, 2)
    header: Any = own.part("std_msgs/msg/Header")

    def record(shift: int) -> Any:
        one, *many = (make(*divmod(time + shift, 10**9)) for time in times)
        pair, headers = (many[0], many[1]), tuple(header(time, "map") for time in many)
        return kind(0.5, one, tuple(many), pair, span, headers)

    plain = own.codec("toy/msg/Times")
    codec = own.codec("toy/msg/Times", start_ns=start)
    assert codec.encode(0, 0, record(0)) == plain.encode(0, 0, record(start))
    # In a later message a time of 0 was not set.
    later = codec.encode(1, 0, record(0))
    assert all(times) == (later == plain.encode(1, 0, record(start))) or not start
    for shown, read in ((later, plain), (later, codec), (codec.encode(0, 0, record(0)), codec)):
        found = read.decode(shown)[2]
        for i, time in enumerate(times):
            expected = time + start if read is plain and time else time
            one = found.one if i == 0 else found.many[i - 1]
            assert one == make(*divmod(expected, 10**9))
            assert i == 0 or found.headers[i - 1].stamp == one


def typestore() -> Any:
    """rosbags' own types plus ours, made from the definition texts."""
    store = get_typestore(Stores.ROS2_JAZZY)
    for name in TYPES:
        if name.startswith("ros2_cosim/"):
            store.register(get_types_from_msg(catalogue.definitions(name)[name], name))
    return store


STORE = typestore()


def as_message(name: str, frame: str, stamp: int, seq: int, record: Any) -> Any:
    """The same content as an object of rosbags."""
    make = {path.rsplit("/", 1)[1]: cls for path, cls in STORE.types.items()}
    header = make["Header"](make["Time"](*divmod(stamp, 10**9)), frame)
    if isinstance(record, Odometry):
        pose = make["Pose"](make["Point"](*record[0:3]), make["Quaternion"](*record[3:7]))
        twist = make["Twist"](make["Vector3"](*record[7:10]), make["Vector3"](*record[10:13]))
        return make["Odometry"](
            header,
            CHILD,
            make["PoseWithCovariance"](pose, np.zeros(36)),
            make["TwistWithCovariance"](twist, np.zeros(36)),
        )
    if isinstance(record, Acceleration):
        zero = make["Vector3"](0.0, 0.0, 0.0)
        return make["AccelStamped"](header, make["Accel"](make["Vector3"](*record), zero))
    content = {"header": header, "seq": seq}
    wire = catalogue.DEFAULT.fields(name)
    return STORE.types[name](
        *[content.get(f.name, convert(f, getattr(record, f.name, None))) for f in wire]
    )


def convert(field: Any, value: Any) -> Any:
    if field.length == SEQUENCE and field.type == "string":
        return list(value)
    if field.length == SEQUENCE and "/" not in field.type:
        return np.array(value, dtype=field.type)
    if field.length == SEQUENCE:
        return [as_message(field.type, "", 0, 0, element) for element in value]
    return value


def fill(target: Any, names: str, content: Any) -> None:
    for name, value in zip(names, content, strict=True):
        setattr(target, name, value)


@given(messages())
def test_bytes_equal_those_of_rosbags(message: tuple[str, str, int, int, Any]) -> None:
    name, frame, stamp, seq, record = message
    child = {"child_frame_id": CHILD} if name == "nav_msgs/msg/Odometry" else {}
    expected = as_message(*message)
    ours = catalogue.codec(name, frame_id=frame, **child).encode(stamp, seq, record)
    assert ours == bytes(STORE.serialize_cdr(expected, name))


@given(records("nav_msgs/msg/Odometry"), records("geometry_msgs/msg/AccelStamped"), TEXTS)
def test_standard_types_agree_with_rclpy(
    odometry: Odometry, acceleration: Acceleration, frame: str
) -> None:
    serialization = pytest.importorskip("rclpy.serialization")
    from geometry_msgs.msg import AccelStamped
    from nav_msgs.msg import Odometry as OdometryMessage

    message = OdometryMessage()
    message.header.stamp.sec, message.header.stamp.nanosec = 12, 345
    fill(message.pose.pose.position, "xyz", odometry[0:3])
    fill(message.pose.pose.orientation, "xyzw", odometry[3:7])
    fill(message.twist.twist.linear, "xyz", odometry[7:10])
    fill(message.twist.twist.angular, "xyz", odometry[10:13])
    accel = AccelStamped()
    accel.header = message.header
    fill(accel.accel.linear, "xyz", acceleration)

    # The C serializer leaves padding undefined; these lengths need none.
    for text, child, padded in (("map", "car", False), (frame, frame, True)):
        message.header.frame_id, message.child_frame_id = text, child
        for name, theirs, record in (
            ("nav_msgs/msg/Odometry", message, odometry),
            ("geometry_msgs/msg/AccelStamped", accel, acceleration),
        ):
            constants = {"child_frame_id": child} if record is odometry else {}
            codec = catalogue.codec(name, frame_id=text, **constants)
            data = codec.encode(12_000_000_345, 0, record)
            foreign = serialization.serialize_message(theirs)
            assert serialization.deserialize_message(data, type(theirs)) == theirs
            assert codec.decode(foreign) == (12_000_000_345, None, record)
            assert padded or data == foreign


@given(messages())
def test_own_types_agree_with_rclpy(message: tuple[str, str, int, int, Any]) -> None:
    own = pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")
    serialization = pytest.importorskip("rclpy.serialization")
    name, frame, stamp, seq, record = message
    if not name.startswith("ros2_cosim/"):
        return
    codec = catalogue.codec(name, frame_id=frame)
    data = codec.encode(stamp, seq, record)
    cls = getattr(own, name.rsplit("/", 1)[1])
    foreign = serialization.serialize_message(serialization.deserialize_message(data, cls))
    assert codec.decode(foreign) == codec.decode(data)


@given(st.sampled_from(TYPES), st.binary(max_size=300))
def test_random_bytes_are_refused_or_decoded(name: str, data: bytes) -> None:
    codec = catalogue.codec(name, frame_id="map")
    for candidate in (data, b"\0\1\0\0" + data):
        try:
            record = codec.decode(candidate)[2]
        except ProtocolError:
            continue
        assert isinstance(record, catalogue.record(name))


@given(messages(), st.data())
def test_damaged_messages_never_raise_anything_else(
    message: tuple[str, str, int, int, Any], data: st.DataObject
) -> None:
    name, frame, stamp, seq, record = message
    codec = catalogue.codec(name, frame_id=frame)
    damaged = bytearray(codec.encode(stamp, seq, record))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        codec.decode(bytes(damaged))
    except ProtocolError as error:
        assert name in str(error)


@given(messages(), st.data())
def test_truncated_and_oversized_messages_are_refused(
    message: tuple[str, str, int, int, Any], data: st.DataObject
) -> None:
    name, frame, stamp, seq, record = message
    codec = catalogue.codec(name, frame_id=frame)
    whole = codec.encode(stamp, seq, record)
    with pytest.raises(ProtocolError):
        codec.decode(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(ProtocolError):
        codec.decode(whole + b"\0" * 65)


def test_a_huge_sequence_count_is_refused_before_anything_is_allocated() -> None:
    codec = catalogue.codec("ros2_cosim/msg/ObjectList")
    empty = codec.encode(0, 0, catalogue.record("ros2_cosim/msg/ObjectList")(()))
    with pytest.raises(ProtocolError, match="exceeds"):
        codec.decode(empty[:-4] + b"\xff\xff\xff\x7f")


@pytest.mark.parametrize(
    ("name", "stamp", "seq", "fields"),
    [
        ("ros2_cosim/msg/ControlCommand", 2**63, 0, (0.0,) * 4),
        ("ros2_cosim/msg/ControlCommand", 0, -1, (0.0,) * 4),
        ("ros2_cosim/msg/ControlCommand", 0, 0, ("fast", 0.0, 0.0, 0.0)),
        ("ros2_cosim/msg/CollisionEvent", 0, 0, (-1, 2, 0.0)),
        ("ros2_cosim/msg/Horizon", 0, 0, ("a\0b", 0, 0, ())),
        ("ros2_cosim/msg/Horizon", 0, 0, ("\ud800", 0, 0, ())),
        ("ros2_cosim/msg/Horizon", 0, 0, (7, 0, 0, ())),
    ],
)
def test_values_that_do_not_fit_are_refused(
    name: str, stamp: int, seq: int, fields: tuple[Any, ...]
) -> None:
    with pytest.raises(ProtocolError):
        catalogue.codec(name).encode(stamp, seq, catalogue.record(name)(*fields))


def test_a_big_endian_message_is_refused_by_name() -> None:
    with pytest.raises(ProtocolError, match=r"AccelStamped.*00 00 00 00.*00 01 00 00"):
        catalogue.codec("geometry_msgs/msg/AccelStamped").decode(b"\0\0\0\0" + bytes(60))


class Wheel(NamedTuple):
    speeds: tuple[float, ...]
    label: str


class Car(NamedTuple):
    mass: float
    corners: tuple[float, ...]
    front: Wheel
    names: tuple[str, ...]
    wheels: tuple[Wheel, ...]
    gear: int


def test_a_user_type_with_nested_parts_agrees_with_rosbags() -> None:
    own = Catalogue()
    wheel = "float32[] speeds\nstring label"
    car = "float64 mass\nfloat32[3] corners\nWheel front\nstring[] names\nWheel[] wheels\nint8 gear"
    own.register("toy/msg/Wheel", Wheel, wheel)
    own.register("toy/msg/Car", Car, car)
    record = Car(
        1.5,
        (1.0, 2.0, 3.0),
        Wheel((0.5, 0.25), "fl"),
        ("a", "bcd"),
        (Wheel((), "x"), Wheel((8.0,), "")),
        -3,
    )
    codec = own.codec("toy/msg/Car")
    data = codec.encode(0, 0, record)
    assert codec.decode(data) == (0, None, record)

    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(wheel, "toy/msg/Wheel"))
    store.register(get_types_from_msg(car, "toy/msg/Car"))
    wheel_type, car_type = store.types["toy/msg/Wheel"], store.types["toy/msg/Car"]

    def floats(content: Any) -> Any:
        return np.array(content, dtype=np.float32)

    message = car_type(
        1.5,
        floats([1, 2, 3]),
        wheel_type(floats([0.5, 0.25]), "fl"),
        ["a", "bcd"],
        [wheel_type(floats([]), "x"), wheel_type(floats([8]), "")],
        -3,
    )
    assert data == bytes(store.serialize_cdr(message, "toy/msg/Car"))


def test_long_sequences_are_packed_in_chunks() -> None:
    name = "ros2_cosim/msg/PlatoonStatus"
    codec = catalogue.codec(name)
    record = catalogue.record(name)(0.5, 1, True, tuple(map(float, range(1000))), (1.0,))
    assert codec.decode(codec.encode(5, 6, record)) == (5, 6, record)
    assert codec.decode(memoryview(codec.encode(5, 6, record)))[2] == record


@pytest.mark.parametrize("kind", [list, np.array])
def test_numbers_may_come_as_any_sequence(kind: Any) -> None:
    name = "ros2_cosim/msg/PlatoonStatus"
    codec = catalogue.codec(name)
    make = catalogue.record(name)
    whole = make(0.5, 1, True, (1.0, 2.0, 3.0), (4.0,))
    given_so = make(0.5, 1, True, kind([1.0, 2.0, 3.0]), kind([4.0]))
    assert codec.encode(5, 6, given_so) == codec.encode(5, 6, whole)


def test_fixed_layouts_have_no_pieces_of_varying_length() -> None:
    codec = catalogue.codec("ros2_cosim/msg/ControlCommand", frame_id="map")
    assert len(codec.encode(0, 0, ControlCommand(0.0, 0.0, 0.0, 0.0))) == 4 + 16 + 8 + 32
