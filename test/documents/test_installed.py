# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Files of installed packages are found in a checkout, in a wheel and in a workspace."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import ros2_cosim
from ros2_cosim.core.documents.installed import find_executable, find_share, share_file
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.catalogue import Catalogue
from ros2_cosim.core.messages.definitions import find_definition


@pytest.mark.parametrize(
    "packages",
    ["lib/python3.11/site-packages", "local/lib/python3.12/dist-packages"],
    ids=["wheel", "workspace"],
)
def test_own_files_are_found_in_the_prefix_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packages: str
) -> None:
    package = tmp_path / packages / "ros2_cosim"
    package.mkdir(parents=True)
    message = tmp_path / "share" / "ros2_cosim" / "msg" / "Horizon.msg"
    message.parent.mkdir(parents=True)
    message.write_text("string run_id\n")
    # Another workspace that has the package, too, does not matter: code and data go together.
    monkeypatch.setenv("AMENT_PREFIX_PATH", "/elsewhere")
    monkeypatch.setattr(ros2_cosim, "__file__", str(package / "__init__.py"))
    assert share_file("msg/Horizon.msg") == message
    assert find_definition("ros2_cosim/msg/Horizon") == "string run_id\n"
    assert [field.name for field in Catalogue().fields("ros2_cosim/msg/Horizon")] == ["run_id"]
    with pytest.raises(
        ConfigurationError, match=r"config/none\.yaml: not found beside .*ros2_cosim"
    ):
        share_file("config/none.yaml")
    assert find_definition("ros2_cosim/msg/Missing") is None


def test_sourced_workspaces_come_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, environment = (tmp_path / name for name in ("first", "second", "environment"))
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(("", str(first), str(second))))
    monkeypatch.setattr(sys, "prefix", str(environment))
    for prefix, mode in ((first, 0o644), (second, 0o755), (environment, 0o755)):
        program = prefix / "lib" / "toy" / "node"
        program.parent.mkdir(parents=True)
        program.touch(mode)
    assert find_executable("toy", "node") == second / "lib" / "toy" / "node"
    assert find_executable("toy", "other") is None
    data = environment / "share" / "toy" / "msg" / "A.msg"
    data.parent.mkdir(parents=True)
    data.write_text("uint8 a\n")
    assert find_share("toy", "msg/A.msg") == data
    assert find_definition("toy/msg/A") == "uint8 a\n"
    data.write_text("# nothing\n")
    assert find_definition("toy/msg/A") == "uint8 structure_needs_at_least_one_member\n"
    data.write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match=r"toy/msg/A: .*A\.msg: .*utf-8"):
        find_definition("toy/msg/A")
