# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""ROS's message generators parse each definition once (interfaces/message_generators)."""

from __future__ import annotations

from pathlib import Path

import pytest
from rosidl_parser import parser
from rosidl_parser.definition import Message

from ros2_cosim.core.messages.message_generators.sitecustomize import share_parsed_definitions

POINT = "module pkg { module msg { struct Point { double x; sequence<octet, 8> rest; }; }; };"
OTHER = POINT.replace("Point", "Other")


def members_of(text: str) -> list[tuple[str, str]]:
    """(name, type) of the members of the message that a text defines, as parsed."""
    (message,) = parser.parse_idl_string(text).get_elements_of_type(Message)
    return [(m.name, type(m.type).__name__) for m in message.structure.members]


def test_what_one_generator_has_parsed_serves_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parser, "parse_idl_string", parser.parse_idl_string)
    alone = members_of(POINT)
    assert alone == [("x", "BasicType"), ("rest", "BoundedSequence")]
    share_parsed_definitions(str(tmp_path))
    assert members_of(POINT) == alone

    def refuse(text: str) -> None:
        raise AssertionError(f"parsed again: {text}")

    monkeypatch.setattr(parser, "get_ast_from_idl_string", refuse)
    assert members_of(POINT) == alone
    with pytest.raises(AssertionError, match="Other"):
        members_of(OTHER)
