# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A run of the version before is read, or it is said in one line that it is too old.

``former_run.tar.xz`` is one second of ``config/platoon.yaml`` in shape ``inproc``, as recorded by
commit a61dde63, before layers and wings. Its ``base_directory`` is filled in here.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.record.bag_metadata import BAG

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def former(tmp_path: Path) -> Path:
    with tarfile.open(Path(__file__).with_name("former_run.tar.xz")) as archive:
        archive.extractall(tmp_path)
    changed(tmp_path / "former", base_directory=str(ROOT / "config"))
    return tmp_path / "former"


def changed(run: Path, **values: Any) -> None:
    """The scenario of a run with other values of keys."""
    path = run / "scenario.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def cosim(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.output


def commands(run: Path) -> dict[str, tuple[object, ...]]:
    return {
        "report": ("report", run),
        "diff": ("diff", run, run),
        "replay": ("replay", run, "--into", "cacc1", "--into", "sensor2"),
    }


@pytest.mark.parametrize("name", ["report", "diff", "replay"])
def test_a_run_of_the_version_before_is_read(name: str, former: Path) -> None:
    # A key that said nothing and is gone since.
    changed(former, former_key=None)
    code, said = cosim(*commands(former)[name])
    assert code == 0, said
    if name == "report":
        assert "follower2" in (former / "report.html").read_text()
    else:
        count = 769 if name == "diff" else 50
        assert f"equal: {count} messages" in said


@pytest.mark.parametrize("name", ["diff", "replay"])
def test_a_scenario_with_a_key_that_is_gone_is_too_old(name: str, former: Path) -> None:
    changed(former, former_key="5s")
    code, said = cosim(*commands(former)[name])
    assert code == 1
    assert said.count("\n") == 1 and "former_key" in said and "too old for this one" in said


@pytest.mark.parametrize("name", ["report", "replay"])
def test_a_bag_with_messages_that_are_defined_otherwise_is_too_old(name: str, former: Path) -> None:
    path = former / BAG / "bag_0.mcap"
    data = path.read_bytes()
    # The same length, so that all places in the file hold.
    path.write_bytes(data.replace(b"float64 throttle\n", b"float64 throttel\n"))
    code, said = cosim(*commands(former)[name])
    assert code == 1
    assert said.count("\n") == 1 and "ros2_cosim/msg/ControlCommand" in said
    assert "too old for this one" in said
