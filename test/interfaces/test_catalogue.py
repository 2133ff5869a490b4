# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The catalogue: what it knows, what it refuses, agreement with the files in ``msg/``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from rosbags.typesys import Stores, get_typestore

from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages import catalogue, definitions, records
from ros2_cosim.core.messages.catalogue import Catalogue
from ros2_cosim.core.messages.definitions import parse_constants, parse_definition
from ros2_cosim.core.record.bag import describe_types


class Hit(NamedTuple):
    range: float
    ring: int


def test_every_message_file_but_the_carrier_has_a_record() -> None:
    files = {path.stem for path in share_file("msg/Horizon.msg").parent.glob("*.msg")}
    # The core knows nothing of CAN: records of its messages are made of their definitions.
    made = {"CanCommand", "CanEvent", "CanFrame"}
    assert {cls.__name__ for cls in catalogue.OWN_RECORDS} == files - made - {"StampedData"}


@pytest.mark.parametrize("name", list(catalogue.DEFAULT))
def test_every_record_of_the_suite_fits_its_message(name: str) -> None:
    fresh = Catalogue()
    fresh.register(name, catalogue.DEFAULT.record(name), paths=catalogue.DEFAULT._paths[name])
    assert fresh.codec(name).record is catalogue.DEFAULT.record(name)


@pytest.mark.parametrize("name", ["nav_msgs/msg/Odometry", "geometry_msgs/msg/AccelStamped"])
def test_installed_standard_types_are_those_of_jazzy(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = {part: Catalogue().fields(part) for part in catalogue.definitions(name)}
    monkeypatch.setattr(definitions, "find_share", lambda package, file: None)
    assert {part: Catalogue().fields(part) for part in catalogue.definitions(name)} == installed


def test_all_standard_types_are_there_without_an_installation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(definitions, "find_share", lambda package, file: None)
    fresh = Catalogue()
    store = get_typestore(Stores.ROS2_JAZZY)
    for name in store.fielddefs:
        assert [f.name for f in fresh.fields(name)] == [n for n, _ in store.fielddefs[name][1]]


def test_importing_the_catalogue_reads_no_message_file() -> None:
    code = (
        "import sys\n"
        "from ros2_cosim.core.messages import catalogue\n"
        "assert not catalogue.DEFAULT._fields\n"
        "assert 'rosbags.typesys.stores.ros2_jazzy' not in sys.modules\n"
        "catalogue.codec('nav_msgs/msg/Odometry')\n"
        "assert 'rosbags.typesys.stores.ros2_jazzy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_what_a_bag_needs_of_the_types_of_the_suite_is_recorded() -> None:
    """``test_reference`` holds the record against what rosbags reads."""
    code = (
        "import sys\n"
        "from ros2_cosim.core.messages.catalogue import DEFAULT\n"
        "from ros2_cosim.core.record.bag import describe_types\n"
        "found = describe_types(DEFAULT)\n"
        "assert all(kind.text and kind.hash for kind in found.values())\n"
        "assert 'rosbags' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_definition_other_than_the_recorded_one_is_read() -> None:
    (text,) = Catalogue().definitions("builtin_interfaces/msg/Time").values()
    name = "builtin_interfaces/msg/Time"
    plain = parse_definition(name, text)
    assert parse_definition(name, f"# of others\n{text}\nuint8 zone\n") == (
        *plain,
        definitions.Field("zone", "uint8", definitions.SCALAR),
    )
    assert definitions.key_of({name: f"# of others\n{text}"}) == definitions.key_of({name: text})
    catalogue_of_others = Catalogue()
    catalogue_of_others.define("toy/msg/Moment", "builtin_interfaces/Time at\nuint8 zone")
    (described,) = describe_types(["toy/msg/Moment"], catalogue_of_others).values()
    assert described.text.startswith("builtin_interfaces/Time at\nuint8 zone\n")
    assert described.hash.startswith("RIHS01_")


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
        ("header", "std_msgs/msg/Header", 0, 0, 0),
        ("corners", "float64", 3, 0, 0),
        ("few", "int16", -1, 5, 0),
        ("label", "string", 0, 0, 10),
        ("others", "toy/msg/Other", -1, 0, 0),
    ]
    assert parse_constants("toy/msg/Thing", text) == {"MODE_A": 1, "NAME": "x"}


def test_a_user_registers_a_type_of_his_own() -> None:
    own = Catalogue()
    own.register(
        "toy/msg/Hit", Hit, "std_msgs/Header header\nuint64 seq\nfloat64 range\nuint16 ring"
    )
    codec = own.codec("toy/msg/Hit", frame_id="lidar")
    assert codec.decode(codec.encode(7, 3, Hit(1.5, 4))) == (7, 3, Hit(1.5, 4))
    assert own.type_name(Hit) == "toy/msg/Hit"


def test_a_record_may_be_mapped_onto_a_message_of_another_shape() -> None:
    own = Catalogue()
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
        ("float64 range\nuint8 range", "there is a second field 'range'"),
        ("float64 range\nuint8 ring;", "line 2"),
        ("float64 range\nuint8 ring\nHit more", "not known"),
        ("", "no fields"),
    ],
)
def test_a_record_that_does_not_fit_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        Catalogue().register("toy/msg/Hit", Hit, text)


def test_types_are_refused_when_taken_or_misnamed() -> None:
    own = Catalogue()
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
    assert own.record("geometry_msgs/msg/Point")._fields == ("x", "y", "z")
