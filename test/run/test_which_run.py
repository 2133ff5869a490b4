# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which run a command takes that talks to one: the only one, or the one that was named."""

from __future__ import annotations

from pathlib import Path

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.ros.bringup import control
from ros2_cosim.ros.bringup.control import find_run
from ros2_cosim.ros.bringup.domain_lock import ActiveRun


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[ActiveRun]:
    """Two runs of one scenario, in different domains and directories; no domain is set."""
    found = [ActiveRun(n, "chain", tmp_path / f"out{n}", {}, "secret") for n in (3, 4)]
    monkeypatch.setattr(control, "active_runs", lambda: list(found))
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
    return found


def test_the_only_one_is_taken_and_named(runs: list[ActiveRun], tmp_path: Path) -> None:
    del runs[1]
    told: list[str] = []
    assert find_run(None, told.append) == runs[0]
    assert told == [f"run 'chain' in ROS domain 3, results in {tmp_path}/out3"]


@pytest.mark.parametrize("domain", [None, "3"])
def test_the_one_with_the_output_directory_is_taken(
    runs: list[ActiveRun],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    domain: str | None,
) -> None:
    if domain is not None:
        monkeypatch.setenv("ROS_DOMAIN_ID", domain)
    monkeypatch.chdir(tmp_path)
    told: list[str] = []
    assert find_run(Path("out4"), told.append) == runs[1]
    assert told == []  # it was named


def test_no_other_one_is_taken_instead(
    runs: list[ActiveRun], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del runs[1]
    with pytest.raises(ConfigurationError) as caught:
        find_run(tmp_path / "out4")
    assert str(caught.value) == (
        f"no run is under way on this machine with its results in {tmp_path}/out4"
    )
    monkeypatch.setenv("ROS_DOMAIN_ID", "4")
    with pytest.raises(ConfigurationError, match="on this machine in ROS domain 4$"):
        find_run(None)


def test_of_several_one_has_to_be_chosen(runs: list[ActiveRun], tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="choose one by --out: .*out3 .chain., .*out4"):
        find_run(None)
