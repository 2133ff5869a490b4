# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Definitions of this project that are others than were compiled are told by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.packages import changed_since_build
from ros2_cosim.core.scenario import messages


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose definitions are compiled."""
    checkout, share = tmp_path / "checkout", tmp_path / "prefix" / "share" / "ros2_cosim"
    for directory in (checkout, share):
        for name, text in (("msg/A.msg", "# a number\nint8 a\n"), ("srv/B.srv", "---\nint8 b\n")):
            path = directory / name
            path.parent.mkdir(parents=True)
            path.write_text(text)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "prefix"))
    return checkout


def test_the_same_definitions_with_other_comments_have_not_changed(checkout: Path) -> None:
    (checkout / "msg/A.msg").write_text("int8   a  # of something\n")
    assert changed_since_build(checkout) == ""


@pytest.mark.parametrize("name", ["msg/A.msg", "srv/B.srv", "msg/New.msg"])
def test_a_changed_or_new_definition_is_named(checkout: Path, name: str) -> None:
    (checkout / name).write_text("int16 other\n---\n")
    assert changed_since_build(checkout) == name


def test_where_nothing_is_compiled_nothing_has_changed(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("msg/A.msg", "srv/B.srv"):
        (checkout.parent / "prefix/share/ros2_cosim" / name).unlink()
    assert changed_since_build(checkout) == ""


def test_a_run_on_topics_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    messages.check_own_messages()
    monkeypatch.setattr(messages, "changed_since_build", lambda: "msg/A.msg")
    with pytest.raises(ConfigurationError, match="msg/A.msg changed .* run `make setup`, or"):
        messages.check_own_messages()
