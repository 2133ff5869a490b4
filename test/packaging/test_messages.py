# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The message files say what the records say, field for field."""

from __future__ import annotations

import re
import typing
from pathlib import Path

import pytest

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.messages import records

MESSAGES = Path(__file__).resolve().parents[2] / "msg"

STATES = [state.name for state in State]

# Fields of type int: identities and counts, except for times.
SCALARS = {float: "float64", int: "uint32", bool: "bool", str: "string"}


def parse(name: str) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """Return the fields as (type, name) in order, and the constants, of a message file."""
    fields: list[tuple[str, str]] = []
    constants: dict[str, str] = {}
    for line in (MESSAGES / f"{name}.msg").read_text(encoding="ascii").splitlines():
        line = line.partition("#")[0].strip()
        if not line:
            continue
        kind, rest = line.split(maxsplit=1)
        if "=" in rest:
            constant, value = rest.split("=")
            constants[constant.strip()] = value.strip()
        else:
            fields.append((kind, rest))
    return fields, constants


def own_records() -> list[type]:
    """Return the record types that name a message of this package in their docstring."""
    return [
        value
        for name, value in vars(records).items()
        if isinstance(value, type)
        and hasattr(value, "_fields")
        and f"ros2_cosim/msg/{name}" in (value.__doc__ or "")
    ]


def nested_records() -> set[type]:
    """Return the records that are elements of others."""
    found: set[type] = set()
    for record in own_records():
        for kind in typing.get_type_hints(record).values():
            found.update(a for a in typing.get_args(kind) if hasattr(a, "_fields"))
    return found


def expected_type(field: str, kind: object) -> str:
    """Return the message type that stands for the type of a record's field."""
    if typing.get_origin(kind) is tuple:
        element, ellipsis = typing.get_args(kind)
        assert ellipsis is Ellipsis
        return (element.__name__ if hasattr(element, "_fields") else SCALARS[element]) + "[]"
    if kind is int and field.endswith("_time"):
        return "int64"
    return SCALARS[kind]  # type: ignore[index]


@pytest.mark.parametrize("record", own_records(), ids=lambda record: record.__name__)
def test_message_has_the_fields_of_the_record(record):
    fields, _ = parse(record.__name__)
    expected = [
        (expected_type(name, kind), name) for name, kind in typing.get_type_hints(record).items()
    ]
    if record not in nested_records():
        expected = [("std_msgs/Header", "header"), ("uint64", "seq"), *expected]
    assert fields == expected


def test_classifications_agree():
    expected = {name: str(value) for name, value in vars(records).items() if "CLASS_" in name}
    assert parse("DetectedObject")[1] == parse("StaticObject")[1] == expected


def test_states_are_the_same_in_both_messages():
    expected = {name: str(number) for number, name in enumerate(STATES)}
    assert parse("ParticipantState")[1] == parse("SystemState")[1] == expected


@pytest.mark.parametrize("path", sorted(MESSAGES.glob("*.msg")), ids=lambda path: path.stem)
def test_every_field_is_explained(path):
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1):
        if line.strip() and not line.startswith("#") and "=" not in line.partition("#")[0]:
            assert re.search(r"  # \S", line), f"{path.name}:{number}: no comment: {line}"
    for kind, name in parse(path.stem)[0]:
        assert name != "header" or kind == "std_msgs/Header"
        if name.endswith("_ns"):
            assert kind.removesuffix("[]") in ("int64", "uint64"), f"{path.name}: {name} is {kind}"


@pytest.mark.parametrize("path", sorted(MESSAGES.glob("*.msg")), ids=lambda path: path.stem)
def test_installed_message_is_built_from_this_file(path):
    """The compiled classes are those of the checkout: after a change, run make setup."""
    messages = pytest.importorskip("ros2_cosim.msg")
    fields, constants = parse(path.stem)
    message = getattr(messages, path.stem)
    assert list(message.get_fields_and_field_types()) == [name for _, name in fields]
    for name, value in constants.items():
        assert getattr(message, name) == int(value)


def test_messages_survive_the_wire():
    messages = pytest.importorskip("ros2_cosim.msg")
    serialization = pytest.importorskip("rclpy.serialization")
    sent = messages.Completion(
        participant="follower1",
        activations=2**63,
        bound_ns=-1,
        stop_ns=2**63 - 1,
        ports=[messages.PortPromise(port="control", count=3, time_ns=40_000_000)],
    )
    data = serialization.serialize_message(sent)
    assert serialization.deserialize_message(data, messages.Completion) == sent


def test_tf2_msgs_has_all_that_tf2_ros_imports() -> None:
    """The wheels lack the package; a part of it would break every tf2_ros on top of them."""
    action = pytest.importorskip("tf2_msgs.action", reason="generated messages are not built")
    from rclpy.type_support import check_for_type_support
    from tf2_msgs.msg import TF2Error, TFMessage
    from tf2_msgs.srv import FrameGraph

    for kind in (action.LookupTransform, FrameGraph, TF2Error, TFMessage):
        check_for_type_support(kind)
    assert TF2Error.TRANSFORM_ERROR == 6
    assert action.LookupTransform.Goal().source_time.sec == 0
