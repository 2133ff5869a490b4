# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Two bags side by side: which message and which field differ first, and what counts as equal."""

from __future__ import annotations

import math
import struct
import tracemalloc
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from ros2_cosim.core.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.core.messages import catalogue
from ros2_cosim.core.messages.records import ControlCommand, DetectedObject, ObjectList, Odometry
from ros2_cosim.core.record import comparison
from ros2_cosim.core.record.bag import BagWriter, describe_types
from ros2_cosim.core.record.bag_metadata import BagTopic, mcap_path
from ros2_cosim.core.record.bag_reader import TopicType, read_bag, topic_types
from ros2_cosim.core.record.comparison import (
    PRESENT,
    Comparison,
    Difference,
    Rules,
    TopicCounts,
    compare_bags,
)
from ros2_cosim.core.record.message_fields import (
    MessageFields,
    _compare_arrays,
    _compare_scalars,
    _excerpts,
    field_of,
    parse_path,
)
from ros2_cosim.core.record.recovery import recover

MS = 1_000_000
CONTROL = "/car/control"
OBJECTS = "/car/objects"
ODOMETRY = "/car/odometry"
TYPES = {
    CONTROL: "ros2_cosim/msg/ControlCommand",
    OBJECTS: "ros2_cosim/msg/ObjectList",
    ODOMETRY: "nav_msgs/msg/Odometry",
}
CODECS = {topic: catalogue.codec(name, frame_id="map") for topic, name in TYPES.items()}
#: The hash of a type that writers of other bags state; it is not looked at.
HASH = "RIHS01_" + 64 * "0"
#: (topic, stamp, sequence number) -> bytes
Messages = dict[tuple[str, int, int], bytes]


def seen(*distances: float) -> ObjectList:
    return ObjectList(
        tuple(DetectedObject(i, 1, d, 0.5, 0.0, 4.5, 1.8, 1.0) for i, d in enumerate(distances))
    )


def content(end_ms: int = 2000) -> Messages:
    """A car that sees two objects."""
    found: Messages = {}
    for k, ms in enumerate(range(0, end_ms, 10)):
        records: dict[str, Any] = {ODOMETRY: Odometry(0.1 * k, *[0.0] * 5, 1.0, 10.0, *[0.0] * 5)}
        if k % 4 == 0:
            records[OBJECTS] = seen(20.0 + 0.01 * k, 40.0)
            records[CONTROL] = ControlCommand(0.01 * k, 0.5, 0.0, 0.0)
        for topic, record in records.items():
            put(found, topic, ms, k if topic == ODOMETRY else k // 4, record)
    return found


def put(messages: Messages, topic: str, ms: int, seq: int, record: Any) -> None:
    messages[topic, ms * MS, seq] = CODECS[topic].encode(ms * MS, seq, record)


def write(path: Path, messages: Messages, types: Mapping[str, str] = TYPES) -> Path:
    with BagWriter(path, [BagTopic(*pair) for pair in types.items()]) as writer:
        for (topic, stamp, seq), data in messages.items():
            writer.write(topic, stamp, seq, data)
    return path


def compared(
    directory: Path,
    a: Messages,
    b: Messages,
    ignore: Iterable[str] = (),
    tolerances: Mapping[str, float] | None = None,
) -> Comparison:
    bags = (write(directory / "a", a), write(directory / "b", b))
    return compare_bags(*bags, Rules(ignore, tolerances))


def test_a_bag_equals_its_copy(tmp_path: Path) -> None:
    found = compared(tmp_path, content(), content())
    assert found.equal
    assert found.first is None and not found.fields and not found.same_values
    counts = {topic: (c.a, c.b, c.is_equal) for topic, c in found.topics.items()}
    assert counts == {CONTROL: (50, 50, True), OBJECTS: (50, 50, True), ODOMETRY: (200, 200, True)}


def test_equal_messages_are_not_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: MessageFields, data: bytes) -> Any:
        raise AssertionError("decoded")

    monkeypatch.setattr(MessageFields, "decode", refuse)
    assert compared(tmp_path, content(), content()).equal


def test_a_bit_that_changes_is_found_and_named(tmp_path: Path) -> None:
    """Each bit of a message: that of a value, a text, a length, or of a gap that means nothing."""
    codec = catalogue.codec(TYPES[CONTROL], frame_id="cars")
    data = codec.encode(0, 0, ControlCommand(0.1, 0.5, 0.0, -0.25))
    bits = range(32, 8 * len(data))  # behind the encapsulation
    a: Messages = {(CONTROL, 0, number): data for number in range(len(bits))}
    b: Messages = {}
    for number, bit in enumerate(bits):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        b[CONTROL, 0, number] = bytes(changed)
    found = compared(tmp_path, a, b)

    named = {each.number: each for each in found.at_first}
    fields = [field for _, field in found.fields]
    assert fields == ["header.stamp.sec", "header.stamp.nanosec", "header.frame_id", "seq",
                      "acceleration", "throttle", "brake", "steer"]  # fmt: skip
    gaps = len(bits) - len(named)
    assert gaps == found.same_values
    assert gaps == 8 * 7  # "cars" ends behind 17 bytes, the next field is aligned to 8
    for number, bit in enumerate(bits):
        if number in named:
            each = named[number]
            assert each.field is not None or each.a == f"byte {bit // 8}: {data[bit // 8]:02x}"
    # What cannot be decoded any more: lengths of texts, and texts that are not UTF-8.
    broken = [each for each in found.at_first if each.field is None]
    assert broken and len(broken) < 64
    sign = 8 * (len(data) - 16 + 8) - 1 - 32
    assert named[sign] == Difference(0, CONTROL, sign, "brake", 0.0, -0.0)
    assert repr(named[sign].b) == "-0.0"


def test_the_first_difference_has_time_topic_field_and_both_values(tmp_path: Path) -> None:
    b = content()
    put(b, OBJECTS, 400, 10, seen(20.4, 40.5))
    put(b, OBJECTS, 800, 20, seen(20.8, 41.0))
    put(b, ODOMETRY, 810, 81, Odometry(9.0, *[0.0] * 5, 1.0, 10.0, *[0.0] * 5))
    found = compared(tmp_path, content(), b)
    assert found.first == Difference(400 * MS, OBJECTS, 10, "objects[1].distance", 40.0, 40.5)
    assert found.at_first == [found.first]
    distance = found.fields[OBJECTS, "objects[].distance"]
    assert (distance.messages, distance.largest, distance.first_ns) == (2, 1.0, 400 * MS)
    assert (distance.place, distance.largest_ns) == ("objects[1].distance", 800 * MS)
    x = found.fields[ODOMETRY, "pose.pose.position.x"]
    assert (x.messages, x.first_ns) == (1, 810 * MS)
    assert x.largest == pytest.approx(0.9)
    assert found.topics[OBJECTS].different == 2


def test_messages_of_one_time_are_in_the_order_of_their_topics(tmp_path: Path) -> None:
    b = content()
    put(b, OBJECTS, 400, 10, seen(1.0, 40.0))
    put(b, CONTROL, 400, 10, ControlCommand(7.0, 0.5, 0.0, 0.0))
    found = compared(tmp_path, content(), b)
    assert [each.topic for each in found.at_first] == [CONTROL, OBJECTS]


def test_a_missing_message_is_a_difference(tmp_path: Path) -> None:
    a, b = content(), content()
    del b[CONTROL, 400 * MS, 10]
    del a[ODOMETRY, 990 * MS, 99]
    found = compared(tmp_path, a, b)
    assert found.first == Difference(400 * MS, CONTROL, 10, None, PRESENT, None)
    assert (found.topics[CONTROL].missing_in_a, found.topics[CONTROL].missing_in_b) == (0, 1)
    assert (found.topics[ODOMETRY].missing_in_a, found.topics[ODOMETRY].missing_in_b) == (1, 0)
    assert not found.fields, "messages behind a missing one still belong together"


def test_of_several_messages_at_one_time_the_last_one_is_missing(tmp_path: Path) -> None:
    data = CODECS[CONTROL].encode(0, 0, ControlCommand(0.0, 0.0, 0.0, 0.0))
    a: Messages = {(CONTROL, 0, seq): data for seq in range(3)}
    found = compared(tmp_path, a, {key: a[key] for key in list(a)[:2]})
    assert found.first == Difference(0, CONTROL, 2, None, PRESENT, None)


def test_a_bag_that_ends_early_lacks_the_rest(tmp_path: Path) -> None:
    """That of a killed run, completed: it ends with a chunk."""
    bags = [write(tmp_path / name, content(5000)) for name in ("a", "b")]
    storage = mcap_path(bags[1])
    whole = storage.read_bytes()
    (bags[1] / "metadata.yaml").unlink()
    storage.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ConfigurationError, match="not complete: .* 'cosim report'"):
        compare_bags(*bags)
    kept = recover(bags[1])
    found = compare_bags(*bags)
    assert found.first is not None
    assert found.first.time_ns % 1_000_000_000 == 0, "a chunk is a second"
    assert (found.first.a, found.first.b) == (PRESENT, None)
    assert sum(counts.missing_in_b for counts in found.topics.values()) == 750 - kept
    assert not found.fields


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    bags = [write(tmp_path / name, content()) for name in ("a", "b")]
    storage = mcap_path(bags[1])
    storage.write_bytes(storage.read_bytes()[:20_000])
    with pytest.raises(ProtocolError, match="is damaged: cut off after its run"):
        compare_bags(*bags)


def test_topics_of_one_bag_alone(tmp_path: Path) -> None:
    without = {key: data for key, data in content().items() if key[0] != CONTROL}
    a = write(tmp_path / "a", content())
    b = write(tmp_path / "b", without, {t: n for t, n in TYPES.items() if t != CONTROL})
    for bags, missing in (((a, b), "missing_in_b"), ((b, a), "missing_in_a")):
        found = compare_bags(*bags)
        assert found.first is not None and found.first.topic == CONTROL
        assert getattr(found.topics[CONTROL], missing) == 50
        assert not compare_bags(*bags, Rules([CONTROL])).topics.keys() & {CONTROL}
        assert compare_bags(*bags, Rules([CONTROL])).equal


def test_another_type_is_a_difference_of_each_message(tmp_path: Path) -> None:
    a = write(tmp_path / "a", content())
    b = write(tmp_path / "b", content(), TYPES | {CONTROL: "ros2_cosim/msg/V2VMessage"})
    found = compare_bags(a, b)
    types = ("ros2_cosim/msg/ControlCommand", "ros2_cosim/msg/V2VMessage")
    assert found.first == Difference(0, CONTROL, 0, None, *types)
    assert found.topics[CONTROL].different == 50


@pytest.mark.parametrize(
    ("ignore", "tolerances", "equal"),
    [
        ([], {f"{OBJECTS}.objects.distance": 0.5}, True),
        ([], {f"{OBJECTS}.objects[].distance": 0.5}, True),
        ([], {f"{OBJECTS}.objects[1].distance": 0.5}, True),
        ([], {f"{OBJECTS}.objects": 0.5}, True),
        ([], {f"{OBJECTS}.objects.distance": 0.499}, False),
        ([], {f"{OBJECTS}.objects[0].distance": 0.5}, False),
        ([], {f"{OBJECTS}.objects": 0.5, f"{OBJECTS}.objects.distance": 0.1}, False),
        ([], {f"{OBJECTS}.objects": 0.1, f"{OBJECTS}.objects[1].distance": 0.5}, True),
        ([f"{OBJECTS}.objects[1].distance"], {}, True),
        ([f"{OBJECTS}.objects[0].distance"], {}, False),
        ([f"{OBJECTS}.objects"], {}, True),
        ([f"{OBJECTS}.header"], {}, False),
        ([OBJECTS], {}, True),
        ([CONTROL], {}, False),
    ],
)
def test_what_is_ignored_and_tolerated(
    tmp_path: Path, ignore: list[str], tolerances: dict[str, float], equal: bool
) -> None:
    b = content()
    put(b, OBJECTS, 400, 10, seen(20.4, 40.5))
    found = compared(tmp_path, content(), b, ignore, tolerances)
    assert found.equal == equal
    assert found.same_values == (equal and OBJECTS not in ignore)


def test_another_number_of_elements_is_a_difference_of_its_own(tmp_path: Path) -> None:
    b = content()
    put(b, OBJECTS, 400, 10, seen(20.4))
    found = compared(tmp_path, content(), b)
    assert found.first == Difference(400 * MS, OBJECTS, 10, "objects.size()", 2, 1)
    assert compared(tmp_path / "more", content(), b, [f"{OBJECTS}.objects.size()"]).equal


@pytest.mark.parametrize(
    ("ignore", "tolerances", "message"),
    [
        (
            ["/car/objets"],
            {},
            r"ignored topic /car/objets: no such topic in the bags; did you mean '/car/objects'\? "
            r"there are /car/control, /car/objects, /car/odometry",
        ),
        (["/x"], {}, r"ignored topic /x: no such topic in the bags; there are /car/control"),
        (
            ["/car/objects.objects.distanse"],
            {},
            r"ignored field /car/objects.objects.distanse: no such field; did you mean "
            r"'objects.distance'\? there are header.stamp.sec, ",
        ),
        (
            [],
            {"/car/objects.distance": 1.0},
            r"tolerance for /car/objects.distance: no such field; did you mean ",
        ),
        (
            [],
            {"/car/control.throttle[0]": 1.0},
            r"tolerance for /car/control.throttle\[0\]: no such field; did you mean 'throttle'\?",
        ),
        (
            [],
            {"/car/control": 1.0},
            r"tolerance for /car/control: found no field; allowed is TOPIC",
        ),
        ([], {"/car/control.header.frame_id": 1.0}, r"not a number; only numbers have toler"),
        ([], {"/car/control.a b": 1.0}, r"found 'a b'; allowed are names and elements of arrays"),
    ],
)
def test_a_rule_that_fits_nothing_is_refused(
    tmp_path: Path, ignore: list[str], tolerances: dict[str, float], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        compared(tmp_path, content(40), content(40), ignore, tolerances)


@pytest.mark.parametrize("storage", list(StoragePlugin))
def test_bags_of_others_are_compared(tmp_path: Path, storage: StoragePlugin) -> None:
    """The same messages, written by ``rosbags``."""
    a = write(tmp_path / "a", content())
    b = copied(a, tmp_path / "b", storage)
    assert compare_bags(a, b).equal
    c = copied(a, tmp_path / "c", storage, changed=123)
    found = compare_bags(b, c)
    assert found.first is not None
    message = list(read_bag(a))[123]
    assert (found.first.time_ns, found.first.topic) == (message.stamp, message.topic)
    assert sum(counts.different for counts in found.topics.values()) == 1


def copied(bag: Path, target: Path, storage: StoragePlugin, changed: int = -1) -> Path:
    """A bag as another program writes it; in one message the last bit of its last value changes."""
    types = topic_types(bag)
    with Writer(target, version=9, storage_plugin=storage) as writer:
        connections = {
            topic: writer.add_connection(topic, t.type_name, msgdef=t.definition, rihs01=HASH)
            for topic, t in types.items()
        }
        for number, message in enumerate(read_bag(bag)):
            data = bytearray(message.data)
            if number == changed:
                data[-8] ^= 1
            writer.write(connections[message.topic], message.stamp, bytes(data))
    return target


OWN_TYPE = "vendor_msgs/msg/Radar"
OWN_TEXT = """\
std_msgs/Header header
vendor_msgs/Spot[2] spots
float32[] ranges
string mode
================================================================================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
================================================================================
MSG: vendor_msgs/Spot
int16 x
bool moving
"""


def own_messages(**changes: Any) -> list[bytes]:
    """Ten messages of a type that only the bag knows."""
    store = get_typestore(Stores.ROS2_JAZZY)
    types = get_types_from_msg(OWN_TEXT, OWN_TYPE)
    store.register({name: fields for name, fields in types.items() if name not in store.types})
    header, time, radar, spot = (
        store.types[name]
        for name in (
            "std_msgs/msg/Header",
            "builtin_interfaces/msg/Time",
            OWN_TYPE,
            "vendor_msgs/msg/Spot",
        )  # fmt: skip
    )
    messages = []
    for number in range(10):
        values = {
            "spots": [spot(number, False), spot(-number, True)],
            "ranges": np.array([0.0, math.nan, 3.0], dtype=np.float32),
            "mode": "near",
        }
        if number == 6:
            values |= {name: make(spot) for name, make in changes.items()}
        message = radar(header(time(0, number), "radar"), **values)
        messages.append(bytes(store.serialize_cdr(message, OWN_TYPE)))
    return messages


@pytest.mark.parametrize(
    ("changes", "field", "values"),
    [
        ({"mode": lambda spot: "far"}, "mode", ("near", "far")),
        (
            {"ranges": lambda spot: np.array([0.0, math.nan, 3.5], dtype=np.float32)},
            "ranges[2]",
            (3.0, 3.5),
        ),
        (
            {"ranges": lambda spot: np.array([-0.0, math.nan, 3.0], dtype=np.float32)},
            "ranges[0]",
            (0.0, -0.0),
        ),
        (
            {"ranges": lambda spot: np.array([0.0, math.nan], dtype=np.float32)},
            "ranges.size()",
            (3, 2),
        ),
        (
            {"spots": lambda spot: [spot(6, False), spot(-6, False)]},
            "spots[1].moving",
            (True, False),
        ),
        ({"spots": lambda spot: [spot(7, False), spot(-6, True)]}, "spots[0].x", (6, 7)),
    ],
)
def test_types_that_only_the_bag_knows(
    tmp_path: Path, changes: dict[str, Any], field: str, values: tuple[Any, Any]
) -> None:
    bags = []
    for name, messages in (("a", own_messages()), ("b", own_messages(**changes))):
        with Writer(tmp_path / name, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            connection = writer.add_connection("/radar", OWN_TYPE, msgdef=OWN_TEXT, rihs01=HASH)
            for number, data in enumerate(messages):
                writer.write(connection, number, data)
        bags.append(tmp_path / name)
    found = compare_bags(*bags)
    assert found.first == Difference(6, "/radar", 6, field, *values)


def test_a_type_without_definition_is_compared_by_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bags = [write(tmp_path / "a", content()), write(tmp_path / "b", content())]
    b = content()
    put(b, CONTROL, 400, 10, ControlCommand(0.4, 0.5, 0.0, 2.0))
    bags.append(write(tmp_path / "c", b))
    unknown = {topic: TopicType("gone_msgs/msg/Gone", "") for topic in TYPES}
    monkeypatch.setattr(comparison, "topic_types", lambda bag: unknown)
    assert compare_bags(bags[0], bags[1]).equal
    found = compare_bags(bags[0], bags[2]).first
    assert found is not None and found.field is None
    size = len(b[CONTROL, 400 * MS, 10])
    assert (found.a, found.b) == (f"byte {size - 1}: 00", f"byte {size - 1}: 40")


def test_messages_out_of_order_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bag = write(tmp_path / "a", content(100))
    messages = list(read_bag(bag))[::-1]
    monkeypatch.setattr(comparison, "read_bag", lambda bag, stop=None: iter(messages))
    with pytest.raises(ProtocolError, match="not in the order of their stamps: 80ms follows 90ms"):
        compare_bags(bag, bag)


def test_too_many_messages_of_one_time_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "MAX_SAME_STAMP", 2)
    bag = write(tmp_path / "a", content(100))
    with pytest.raises(ProtocolError, match="more than 2 messages have the stamp 0s"):
        compare_bags(bag, bag)


def test_memory_does_not_grow_with_the_length_of_the_bags(tmp_path: Path) -> None:
    def peak(end_ms: int) -> int:
        b = content(end_ms)
        for k in range(0, end_ms // 10, 4):
            put(b, OBJECTS, 10 * k, k // 4, seen(1.0, 2.0))
        bags = [
            write(tmp_path / f"{name}{end_ms}", m) for name, m in (("a", content(end_ms)), ("b", b))
        ]
        tracemalloc.start()
        assert not compare_bags(*bags).equal
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    peak(4000)  # what is imported and cached is there now
    short = peak(5000)
    assert peak(20_000) < 1.2 * short


# Single fields, of all kinds of types.

STORE = get_typestore(Stores.ROS2_JAZZY)
ANY_TYPES = (
    "geometry_msgs/msg/AccelStamped",
    "sensor_msgs/msg/PointCloud2",
    "sensor_msgs/msg/JointState",
    "diagnostic_msgs/msg/DiagnosticArray",
    "trajectory_msgs/msg/JointTrajectory",
    "sensor_msgs/msg/NavSatFix",
    "ros2_cosim/msg/ObjectList",
    "ros2_cosim/msg/PlatoonStatus",
)
for _name in ANY_TYPES:
    if _name not in STORE.types:
        _types = get_types_from_msg(describe_types([_name])[_name].text, _name)
        STORE.register({n: t for n, t in _types.items() if n not in STORE.types})
FIELDS = {name: MessageFields(TopicType(name, "")) for name in ANY_TYPES}
NUMBERS = {
    "bool": st.booleans(),
    "float32": st.floats(width=32),
    "float64": st.floats(),
    **{
        f"{sign}int{bits}": st.integers(0 if sign else -(2 ** (bits - 1)),
                                        2**bits - 1 if sign else 2 ** (bits - 1) - 1)
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}  # fmt: skip


def value_of(kind: str) -> st.SearchStrategy[Any]:
    if kind == "string":
        return st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
    if kind == "byte":
        return st.integers(0, 127)  # the library takes it for a signed one
    return NUMBERS[kind]


@st.composite
def changed_messages(draw: st.DrawFn) -> tuple[str, bytes, bytes, str, Any, Any]:
    """A type, two messages that differ in one place, the place and both values."""
    type_name = draw(st.sampled_from(ANY_TYPES))
    fields = FIELDS[type_name]
    #: Place, type, and the object and key that hold it.
    places: list[tuple[str, str, Any, Any]] = []

    def make(name_of_type: str, path: str) -> Any:
        values: dict[str, Any] = {}
        scalars: list[tuple[str, str]] = []
        for name, kind, length, *_ in fields.fields_of(name_of_type):
            count = draw(st.integers(0, 3)) if length < 0 else length
            here = f"{path}{name}"
            if "/" in kind:
                values[name] = (
                    [make(kind, f"{here}[{i}].") for i in range(count)]
                    if length
                    else make(kind, f"{here}.")
                )
            elif length and kind != "string":
                dtype = np.dtype(kind)
                array = np.array(
                    draw(st.lists(value_of(kind), min_size=count, max_size=count)), dtype
                )
                values[name] = array
                places.extend((f"{here}[{i}]", kind, array, i) for i in range(count))
            elif length:
                texts = [draw(value_of(kind)) for _ in range(count)]
                values[name] = texts
                places.extend((f"{here}[{i}]", kind, texts, i) for i in range(count))
            else:
                values[name] = draw(value_of(kind))
                scalars.append((name, kind))
        message = STORE.types[name_of_type](**values)
        places.extend((path + name, kind, message, name) for name, kind in scalars)
        return message

    message = make(type_name, "")
    place, kind, holder, key = draw(st.sampled_from(places))
    before = bytes(STORE.serialize_cdr(message, type_name))
    plain = isinstance(holder, (list, np.ndarray))
    old = holder[key] if plain else vars(holder)[key]
    new = draw(value_of(kind).filter(lambda v: not same(v, old)))
    if plain:
        holder[key] = new
    else:
        setattr(holder, key, new)
    after = bytes(STORE.serialize_cdr(message, type_name))
    return type_name, before, after, place, old, new


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b) or (math.isnan(a) and math.isnan(b))
    return bool(a == b)


@settings(max_examples=80)
@given(changed_messages())
def test_a_single_field_that_changes_is_named(
    case: tuple[str, bytes, bytes, str, Any, Any],
) -> None:
    type_name, before, after, place, old, new = case
    fields = FIELDS[type_name]
    a, b = fields.decode(before), fields.decode(after)
    found = fields.differences(a, b)
    assert list(found) == [field_of(place)]
    (difference,) = found.values()
    assert difference.place == difference.largest_place == place
    if not isinstance(old, str):
        assert same(difference.a, type(difference.a)(old))
        assert same(difference.b, type(difference.b)(new))
        assert same(fields.reader(place)(a), float(old))
    path = parse_path(place)
    rules = Rules([f"/t.{place}"]).resolve({"/t": [fields]})["/t"]
    assert rules[0].path == path
    assert not fields.differences(a, b, rules)
    assert not fields.differences(a, fields.decode(before))
    if difference.largest:
        bounds = (difference.largest, math.nextafter(difference.largest, 0.0))
        for bound, is_equal in zip(bounds, (True, False), strict=True):
            rules = Rules((), {f"/t.{place}": bound}).resolve({"/t": [fields]})["/t"]
            assert (not fields.differences(a, b, rules)) == is_equal


def test_long_texts_are_shown_from_where_they_differ() -> None:
    fields = MessageFields(TopicType("std_msgs/msg/String", ""))
    kind = STORE.types["std_msgs/msg/String"]
    texts = ["x" * 500 + tail + "y" * 500 for tail in ("left", "right")]
    a, b = (
        fields.decode(bytes(STORE.serialize_cdr(kind(text), "std_msgs/msg/String")))
        for text in texts
    )
    (found,) = fields.differences(a, b).values()
    dots = "\N{HORIZONTAL ELLIPSIS}"
    assert str(found.a).startswith(dots + "x" * 20 + "left")
    assert str(found.b).startswith(dots + "x" * 20 + "right")
    assert len(str(found.a)) == 122


DOTS = "\N{HORIZONTAL ELLIPSIS}"


@pytest.mark.parametrize(
    ("a", "b", "shown"),
    [
        ("x" * 120, "y", ("x" * 120, "y")),
        ("x" * 121, "y", ("x" * 120 + DOTS, "y")),
        ("x" * 20 + "a" * 110, "x" * 20, ("x" * 20 + "a" * 100 + DOTS, "x" * 20)),
        ("x" * 21 + "a" * 100, "x" * 21, (DOTS + "x" * 20 + "a" * 100, DOTS + "x" * 20)),
    ],
)
def test_a_text_is_cut_where_it_is_too_long(a: str, b: str, shown: tuple[str, str]) -> None:
    """120 characters, of which 20 are before the first that differs; dots where more is."""
    assert _excerpts(a, b) == shown


@pytest.mark.parametrize(
    ("a", "b", "largest", "scale"),
    [
        (2.0, -3.0, 5.0, 3.0),
        (7, 5, 2.0, 7.0),
        (True, False, None, 0.0),
        (1.0, math.inf, None, 0.0),
        ("left", "right", None, 0.0),
    ],
)
def test_a_difference_has_a_size_and_that_of_its_values(
    a: Any, b: Any, largest: float | None, scale: float
) -> None:
    (found,) = _compare_scalars(a, b, parse_path("x"), ())
    assert found == ("x", "x", a, b, largest, "x", scale)


def test_arrays_have_the_largest_difference_and_where_it_is() -> None:
    def compared_arrays(a: Any, b: Any) -> Any:
        return list(_compare_arrays(np.array(a), np.array(b), parse_path("x"), ()))

    assert compared_arrays([1.0, 2.0, 9.0], [1.0, 2.5, 5.0]) == [
        ("x[]", "x[1]", 2.0, 2.5, 4.0, "x[2]", 9.0)
    ]
    assert compared_arrays([True, False], [True, True]) == [
        ("x[]", "x[1]", False, True, None, "x[1]", 0.0)
    ]
    assert compared_arrays([1.0, 2.0], [math.inf, 2.0]) == [
        ("x[]", "x[0]", 1.0, math.inf, None, "x[0]", 0.0)
    ]
    assert compared_arrays([0.0, math.nan], [-0.0, math.nan]) == [
        ("x[]", "x[0]", 0.0, -0.0, 0.0, "x[0]", 0.0)
    ]
    assert compared_arrays([math.inf, 1.0], [1.0, -3.0]) == [
        ("x[]", "x[0]", math.inf, 1.0, 4.0, "x[1]", 3.0)
    ]


def test_numbers_are_taken_out_of_messages() -> None:
    """An element that a message does not have is not a number; the size of an array is one."""
    fields = MessageFields(TopicType(TYPES[OBJECTS], ""))
    message = fields.decode(CODECS[OBJECTS].encode(0, 0, seen(7.5, 9.5)))
    assert fields.reader("objects[1].distance")(message) == 9.5
    assert math.isnan(fields.reader("objects[2].distance")(message))
    assert math.isnan(fields.reader("objects[3].distance")(message))
    assert fields.reader("objects.size()")(message) == 2.0


@pytest.mark.parametrize(
    ("a", "b", "largest"),
    [
        ((20.0, 40.0), (25.0, 41.0), ("objects[0].distance", 5.0)),
        ((20.0, 40.0), (21.0, 45.0), ("objects[1].distance", 5.0)),
        ((20.0, 40.0), (21.0, 41.0), ("objects[0].distance", 1.0)),
        ((math.inf, 40.0), (21.0, 41.0), ("objects[1].distance", 1.0)),
        ((20.0, math.inf), (21.0, 41.0), ("objects[0].distance", 1.0)),
    ],
)
def test_of_several_elements_the_largest_difference_is_told(
    a: tuple[float, ...], b: tuple[float, ...], largest: tuple[str, float]
) -> None:
    fields = MessageFields(TopicType(TYPES[OBJECTS], ""))
    messages = [fields.decode(CODECS[OBJECTS].encode(0, 0, seen(*values))) for values in (a, b)]
    (found,) = fields.differences(*messages).values()
    assert (found.field, found.place) == ("objects[].distance", "objects[0].distance")
    assert (found.largest_place, found.largest) == largest


def test_a_field_is_named_by_the_arrays_on_its_way() -> None:
    fields = MessageFields(TopicType("trajectory_msgs/msg/JointTrajectory", ""))
    found = [leaf.field for leaf in fields.leaves]
    assert found[0] == "header.stamp.sec"
    assert found[3:8] == [
        "joint_names.size()",
        "joint_names[]",
        "points.size()",
        "points[].positions.size()",
        "points[].positions[]",
    ]
    assert found[-1] == "points[].time_from_start.nanosec"


def test_a_place_within_arrays_of_arrays_is_named() -> None:
    type_name = "diagnostic_msgs/msg/DiagnosticArray"
    texts = (("a", "b"), ("a", "c"))
    a, b = (FIELDS[type_name].decode(diagnosis(*values)) for values in texts)
    (found,) = FIELDS[type_name].differences(a, b).values()
    assert found.place == "status[1].values[1].value"
    assert (found.a, found.b) == ("b", "c")


def diagnosis(*values: str) -> bytes:
    """Two messages of state; the second one has some values."""
    types, name = STORE.types, "diagnostic_msgs/msg/DiagnosticArray"
    state, pair = (types[f"diagnostic_msgs/msg/{n}"] for n in ("DiagnosticStatus", "KeyValue"))
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](0, 0), "")
    states = [state(0, "", "", "", [pair("key", value) for value in some]) for some in ((), values)]
    return bytes(STORE.serialize_cdr(types[name](header, states), name))


def test_a_topic_is_equal_if_nothing_differs_and_nothing_is_missing() -> None:
    assert TopicCounts(a=3, b=3).is_equal
    for key in ("different", "missing_in_a", "missing_in_b"):
        assert not TopicCounts(a=3, b=3, **{key: 1}).is_equal


def test_only_what_differs_at_the_first_time_is_kept_for_its_cause(tmp_path: Path) -> None:
    b = content()
    for ms, seq in ((400, 10), (440, 11), (480, 12)):
        put(b, CONTROL, ms, seq, ControlCommand(99.0, 0.5, 0.0, 2.0))
    found = compared(tmp_path, content(), b)
    assert found.at_first == [found.first]
    assert found.topics[CONTROL].different == 3
