# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sweep files and Python of how-to pages of runs and studies: they are understood, and executed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ros2_cosim.lab.sweep.settings import load_sweep

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "how-to"


def blocks(page: str, language: str) -> list[str]:
    """The code of a page in a language."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A directory with the scenarios of the checkout; the platoon ends after two seconds."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    platoon = tmp_path / "config" / "platoon.yaml"
    text = platoon.read_text(encoding="utf-8")
    assert "\nduration: 60s " in text
    platoon.write_text(text.replace("\nduration: 60s ", "\nduration: 2s "), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("page", "files"), [("sweep-a-parameter", 1), ("find-a-boundary", 1)])
def test_sweep_files_are_understood(page: str, files: int, checkout: Path) -> None:
    whole = [code for code in blocks(page, "yaml") if code.startswith("version: 1\n")]
    assert len(whole) == files
    for code in whole:
        path = checkout / "sweep.yaml"
        path.write_text(code, encoding="utf-8")
        assert load_sweep(path).settings.parameters


def test_a_run_is_driven_from_python_and_its_bag_read(checkout: Path) -> None:
    driven, whole = blocks("drive-a-run-from-python", "python")
    assert printed(driven, checkout) == ["500000000"]
    assert (checkout / "out" / "driven" / "report.html").is_file()
    printed(whole, checkout)
    (checkout / "out" / "platoon").symlink_to("whole")
    decoded, undecoded = (printed(code, checkout) for code in blocks("read-a-bag", "python"))
    assert decoded[0].startswith("0.0 24.99")
    assert any(line.startswith("/leader/odometry nav_msgs/msg/Odometry 0 ") for line in undecoded)


def printed(code: str, directory: Path) -> list[str]:
    """The lines that a program prints in a directory."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
