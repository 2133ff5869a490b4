# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is read of installed distributions in a short way is what the standard library finds."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from zipfile import ZipFile

import pytest
from support.distribution import installed, write_distribution

from ros2_cosim.core.documents.offered import offered
from ros2_cosim.requirements import version_of

GROUPS = ("console_scripts", "ros2_cosim.models", "ros2_cosim.laws", "pytest11", "none")


def found_by_the_library(group: str) -> dict[str, str]:
    return {entry.name: entry.value for entry in sorted(entry_points(group=group))}


def found(group: str) -> dict[str, str]:
    return {name: entry.value for name, entry in offered(group).items()}


@pytest.mark.parametrize("group", GROUPS)
def test_entry_points_are_those_of_the_standard_library(group: str) -> None:
    assert found(group) == found_by_the_library(group)


def test_of_two_distributions_with_one_name_the_first_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = write_distribution(tmp_path / "later", "Toy.box", "[none]\nb = toy:b\n", "")
    packed = write_distribution(tmp_path / "packed", "other", "[none]\nc = other:c\n", "")
    with ZipFile(tmp_path / "packed.zip", "w") as file:
        for path in packed.rglob("*"):
            if path.is_file():
                file.write(path, path.relative_to(packed))
    for place in (later, tmp_path / "packed.zip", tmp_path / "missing"):
        monkeypatch.setattr(sys, "path", [str(place), *sys.path])
    with installed(tmp_path / "first", "toy_box", "[none]\na = toy:a\n", ""):
        assert found("none") == found_by_the_library("none") == {"a": "toy:a", "c": "other:c"}


def test_versions_are_those_of_the_standard_library() -> None:
    for name in ("pydantic", "jinja2", "ros2_cosim", "PyYAML"):
        assert version_of(name) == version(name)
    with pytest.raises(PackageNotFoundError):
        version_of("no_such_distribution")
