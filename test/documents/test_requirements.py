# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Versions that are read in a short way are those that the standard library reads."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from support.distribution import write_distribution

from ros2_cosim.requirements import version_of


def test_versions_are_those_of_the_standard_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = write_distribution(tmp_path, "of_another_kind", "", "")
    information = site / "of_another_kind-1.0.dist-info"
    (information / "METADATA").rename(information / "PKG-INFO")
    monkeypatch.syspath_prepend(site)
    for name in ("pydantic", "jinja2", "ros2_cosim", "PyYAML", "of_another_kind"):
        assert version_of(name) == version(name)
    with pytest.raises(PackageNotFoundError):
        version_of("no_such_distribution")
