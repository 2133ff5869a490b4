# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages that pass through whole: canonical bytes, stamps, carriers."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.core.messages.catalogue import DEFAULT, Catalogue
from ros2_cosim.core.messages.raw import CarrierCodec, RawCodec, RawMessage
from ros2_cosim.core.messages.records import Odometry

KNOWN = "nav_msgs/msg/Odometry", "ros2_cosim/msg/ObjectList", "ros2_cosim/msg/ParticipantReport"
STAMPS = st.integers(0, 2**31 * 10**9 - 1)


def own() -> Catalogue:
    catalogue = Catalogue()
    catalogue.define("builtin_interfaces/msg/Time", "int32 sec\nuint32 nanosec")
    catalogue.define("std_msgs/msg/Header", "builtin_interfaces/Time stamp\nstring frame_id")
    catalogue.define(
        "a/msg/Part", "uint8 small\nfloat64 large\nstring[] names\nuint16[3] three\nbool[] flags"
    )
    catalogue.define("a/msg/Stamped", "std_msgs/Header header\nPart[] parts\nuint8 end")
    catalogue.define("a/msg/Plain", "uint8 small\nuint32 large")
    return catalogue


def stamped(frame: bytes, gap: bytes) -> bytes:
    """An a/msg/Stamped without parts, whose gap before the count holds ``gap``."""
    head = struct.pack("<4siII", b"\0\1\0\0", 1, 2, len(frame) + 1) + frame + b"\0"
    return head + gap[: -(len(head) - 4) & 3] + struct.pack("<IB", 0, 7)


@given(frame=st.binary(max_size=9).filter(lambda f: 0 not in f), gap=st.binary(min_size=3))
def test_gaps_are_zero_and_the_stamp_is_written(frame, gap):
    codec = own().wire_codec("a/msg/Stamped")
    assert isinstance(codec, RawCodec)
    value = codec.value(stamped(frame, gap[:3]))
    assert value == codec.value(stamped(frame, b"\0\0\0") + b"rest")
    data = codec.encode(3_000_000_004, 0, value)
    assert codec.decode(data)[:2] == (3_000_000_004, None)
    assert data[12:] == stamped(frame, b"\0\0\0")[12:]


@given(stamp=STAMPS, seq=st.integers(0, 2**64 - 1), small=st.integers(0, 255), gap=st.binary())
def test_carrier_round_trip(stamp, seq, small, gap):
    codec = own().wire_codec("a/msg/Plain")
    assert isinstance(codec, CarrierCodec)
    plain = struct.pack("<4sB3sI", b"\0\1\0\0", small, gap[:3], 9)
    data = codec.encode(stamp, seq, codec.value(plain))
    assert codec.decode(data)[:2] == (stamp, seq)
    assert codec.plain(data) == struct.pack("<4sB3xI", b"\0\1\0\0", small, 9)
    assert codec.decode(data)[2] == codec.value(plain)


@pytest.mark.parametrize("name", KNOWN)
@given(data=st.data())
def test_garbage_is_refused_or_read(name, data):
    codec = DEFAULT.wire_codec(name, whole=True)
    start = data.draw(st.sampled_from([b"\0\1\0\0", b"\0\0\0\0", b""]))
    try:
        value = codec.value(start + data.draw(st.binary(max_size=200)))
    except ProtocolError:
        return
    assert codec.plain(codec.encode(0, 0, value))


@given(st.binary(max_size=120))
def test_garbage_is_no_carrier(garbage):
    codec = own().wire_codec("a/msg/Plain")
    with pytest.raises(ProtocolError):
        codec.decode(b"\0\1\0\0" + garbage)


def test_record_types_stay_records_and_keep_the_rest():
    codec = DEFAULT.wire_codec("nav_msgs/msg/Odometry", whole=True)
    plain = DEFAULT.codec("nav_msgs/msg/Odometry", frame_id="map")
    record = Odometry(*map(float, range(13)))
    data = bytearray(plain.encode(5, 0, record))
    data[-8:] = struct.pack("<d", 4.5)  # a covariance, which no record holds
    value = codec.value(bytes(data))
    assert value == record and isinstance(value, Odometry)
    assert codec.encode(5, 0, value) == data
    assert codec.encode(5, 0, record)[-8:] == bytes(8)


def test_sequence_number_behind_the_header_is_written():
    codec = DEFAULT.wire_codec("ros2_cosim/msg/ObjectList", whole=True)
    plain = DEFAULT.codec("ros2_cosim/msg/ObjectList", frame_id="abcdef")
    value = codec.value(plain.encode(1, 2, plain.record(())))
    assert codec.encode(3, 4, value) == plain.encode(3, 4, plain.record(()))
    assert codec.decode(codec.encode(3, 4, value))[:2] == (3, 4)


def test_other_types_are_refused():
    catalogue = own()
    codec = catalogue.wire_codec("a/msg/Plain")
    with pytest.raises(ProtocolError, match="a/msg/Other"):
        codec.encode(0, 0, RawMessage("a/msg/Other", b""))
    with pytest.raises(ProtocolError, match="cannot encode 3"):
        codec.encode(0, 0, 3)
    with pytest.raises(ConfigurationError, match="nobody_has/msg/Such is not known"):
        catalogue.wire_codec("nobody_has/msg/Such")


def test_installed_types_are_found(tmp_path, monkeypatch):
    directory = tmp_path / "share" / "their_msgs" / "msg"
    directory.mkdir(parents=True)
    (directory / "Hit.msg").write_text("Point[] points\n")
    (directory / "Point.msg").write_text("float32 x\n")
    (directory / "Nothing.msg").write_text("# empty\n")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    catalogue = own()
    codec = catalogue.wire_codec("their_msgs/msg/Hit")
    assert codec.value(struct.pack("<4sIf", b"\0\1\0\0", 1, 2.5)).type_name == "their_msgs/msg/Hit"
    assert catalogue.wire_codec("their_msgs/msg/Nothing").value(b"\0\1\0\0\0")


@pytest.mark.parametrize("type_name", ["nav_msgs/msg/Odometry", "nav_msgs/msg/Path"])
def test_what_another_writer_leaves_in_gaps_is_not_sent(type_name):
    """ROS writes whatever was in memory: of a type with a record here, and of one without."""
    codec = DEFAULT.wire_codec(type_name)
    record = DEFAULT.record(type_name)
    wire = bytearray(codec.encode(0, 0, record(*[0.5] * 13) if "Odo" in type_name else record()))
    # A frame id of one letter: two bytes behind it are a gap.
    wire[12:17] = struct.pack("<I", 2) + b"m"
    wire[17:20] = b"\0\0\0"
    found = set()
    for garbage in (b"\0\0", b"ab", b"\xff\x01"):
        wire[18:20] = garbage
        found.add(codec.encode(1, 2, RawMessage(type_name, bytes(wire))))
    assert len(found) == 1 and found.pop()[18:20] == b"\0\0"


def test_a_raw_text_is_not_taken_for_a_record_of_one():
    text = DEFAULT.codec("std_msgs/msg/String")
    wire = text.encode(0, 0, text.record("ab"))
    assert text.encode(0, 0, RawMessage("std_msgs/msg/String", wire)) == wire
