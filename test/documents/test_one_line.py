# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages of libraries become one line of text."""

from __future__ import annotations

import pytest

from ros2_cosim.core.documents.one_line import LONGEST, one_line
from ros2_cosim.core.documents.settings import Section, read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.dcp.standard.parse_description import parse_description
from ros2_cosim.world.map import RoadNetwork


def test_keys_of_settings_are_told_without_control_characters() -> None:
    """Found by fuzzing."""
    with pytest.raises(ConfigurationError, match=r"a\\x7fb: unknown key"):
        read_section(Section, {"a\x7fb": 1})


def test_line_breaks_control_characters_and_length_go() -> None:
    assert one_line("a\n  b\tc") == "a b c"
    assert one_line("a\x00\x1b[31mb") == "a\\x00\\x1b[31mb"
    assert one_line(ValueError("x" * 1000)) == "x" * (LONGEST - 3) + "..."
    assert one_line("") == ""


@pytest.mark.parametrize(
    "text", ["<OpenDRIVE><![CDATA[\n<OpenDRIVE>\n", "<a>\n\x00</a>\n", "", "<a>\u200b<\n"]
)
def test_faults_of_xml_are_told_in_one_line(text: str) -> None:
    """Found by fuzzing: libxml2 repeats what it has read."""
    for read in (RoadNetwork.from_xodr, lambda text: parse_description(text.encode())):
        with pytest.raises(ConfigurationError) as caught:
            read(text)
        assert str(caught.value).isprintable()
