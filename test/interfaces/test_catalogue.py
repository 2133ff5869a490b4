# SPDX-License-Identifier: Apache-2.0
"""The catalogue: what it knows, what it refuses, agreement with the files in ``msg/``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from ros2_cosim.interfaces import catalogue, records
from ros2_cosim.interfaces.catalogue import Catalogue
from ros2_cosim.interfaces.definitions import OWN_DEFINITIONS, STANDARD_DEFINITIONS
from ros2_cosim.interfaces.message_definition import parse_definition
from ros2_cosim.kernel.errors import ConfigurationError

MSG_DIRECTORY = Path(__file__).parents[2] / "msg"


class Hit(NamedTuple):
    range: float
    ring: int


@pytest.mark.parametrize("name", sorted(OWN_DEFINITIONS))
def test_own_definitions_say_the_same_as_the_message_files(name: str) -> None:
    path = MSG_DIRECTORY / f"{name.rsplit('/', 1)[1]}.msg"
    if not MSG_DIRECTORY.is_dir():
        pytest.skip("only the installed package is here, without its msg directory")
    assert parse_definition(name, path.read_text()) == catalogue.DEFAULT.fields(name)


@pytest.mark.parametrize("name", sorted(STANDARD_DEFINITIONS))
def test_standard_definitions_have_the_fields_of_jazzy(name: str) -> None:
    store = get_typestore(Stores.ROS2_JAZZY)
    ours = get_types_from_msg(STANDARD_DEFINITIONS[name], name)[name]
    assert ours[1] == store.fielddefs[name][1]


def test_every_record_of_the_suite_has_a_type() -> None:
    for cls in vars(records).values():
        if isinstance(cls, type) and issubclass(cls, tuple) and cls is not NamedTuple:
            assert catalogue.record(catalogue.type_name(cls)) is cls


def test_definitions_come_with_everything_they_need() -> None:
    assert list(catalogue.definitions("ros2_cosim/msg/ObjectList")) == [
        "ros2_cosim/msg/ObjectList",
        "std_msgs/msg/Header",
        "ros2_cosim/msg/DetectedObject",
        "builtin_interfaces/msg/Time",
    ]


def test_definition_lines_of_every_kind_are_read() -> None:
    text = """
    # a comment
    uint8 MODE_A = 1
    string NAME="x"   # a constant
    std_msgs/Header header
    float64[3] corners
    int16[<=5] few  # bounded
    string<=10 label "none"
    Other[] others
    """
    fields = parse_definition("toy/msg/Thing", text)
    assert [tuple(field) for field in fields] == [
        ("header", "std_msgs/msg/Header", 0),
        ("corners", "float64", 3),
        ("few", "int16", -1),
        ("label", "string", 0),
        ("others", "toy/msg/Other", -1),
    ]


def with_header() -> Catalogue:
    own = Catalogue()
    for name in ("builtin_interfaces/msg/Time", "std_msgs/msg/Header", "geometry_msgs/msg/Vector3"):
        own.define(name, STANDARD_DEFINITIONS[name])
    return own


def test_a_user_registers_a_type_of_his_own() -> None:
    own = with_header()
    own.register(
        "toy/msg/Hit", Hit, "std_msgs/Header header\nuint64 seq\nfloat64 range\nuint16 ring"
    )
    codec = own.codec("toy/msg/Hit", frame_id="lidar")
    assert codec.decode(codec.encode(7, 3, Hit(1.5, 4))) == (7, 3, Hit(1.5, 4))
    assert own.type_name(Hit) == "toy/msg/Hit"


def test_a_record_may_be_mapped_onto_a_message_of_another_shape() -> None:
    own = with_header()
    own.register(
        "toy/msg/Ray",
        Hit,
        "std_msgs/Header header\nint32 ring\ngeometry_msgs/Vector3 end\nstring unit\nbool[] spare",
        paths={"range": "end.x", "ring": "ring"},
    )
    codec = own.codec("toy/msg/Ray", frame_id="a", unit="m")
    assert codec.decode(codec.encode(7, 3, Hit(1.5, -4))) == (7, None, Hit(1.5, -4))
    with pytest.raises(ConfigurationError, match="no free text 'units'"):
        own.codec("toy/msg/Ray", units="m")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("float64 range", "has \\['ring'\\]"),
        ("float64 range\nuint8 ring\nuint8 extra", "no field 'extra'"),
        ("float64 range\nuint8[] ring", "must be a tuple"),
        ("float64 range\nUnknown ring", "toy/msg/Unknown"),
        ("float64 range\ngeometry_msgs/Vector3 ring", "not a NamedTuple"),
        ("float64 range\nuint8 range", "line 2: second field"),
        ("float64 range\nuint8 ring;", "line 2"),
        ("float64 range\nuint8 ring\nHit more", "not known"),
        ("", "no fields"),
    ],
)
def test_a_record_that_does_not_fit_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        with_header().register("toy/msg/Hit", Hit, text)


def test_types_are_refused_when_taken_or_misnamed() -> None:
    own = with_header()
    own.register("toy/msg/Hit", Hit, "float64 range\nuint8 ring")
    own.register("toy/msg/Hit", Hit, "float64 range\nuint8 ring")
    with pytest.raises(ConfigurationError, match="already defined differently"):
        own.define("toy/msg/Hit", "float64 range\nuint16 ring")
    with pytest.raises(ConfigurationError, match="already has record"):
        own.register("toy/msg/Hit", NamedTuple("Other", [("range", float), ("ring", int)]))
    with pytest.raises(ConfigurationError, match="already tied"):
        own.register("toy/msg/Hit2", Hit, "float64 range\nuint8 ring")
    with pytest.raises(ConfigurationError, match="package/msg/Type"):
        own.codec("toy/Hit")
    with pytest.raises(ConfigurationError, match="not known"):
        own.record("toy/msg/Miss")
    with pytest.raises(ConfigurationError, match="no record is tied"):
        own.record("std_msgs/msg/Header")
