# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Native code that crashes: every shape ends with one line, and the bag is readable."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from runs.cosim_process import user_environment
from support.warm import cosim

from ros2_cosim.core.record.bag_reader import read_bag

ROOT = Path(__file__).parents[2]
SCENARIO = str(ROOT / "config" / "platoon.yaml")
PYTHON_LAW = """\
import ctypes


class Law:
    calls = 0

    def acceleration(self, measurement):
        self.calls += 1
        if self.calls > 30:
            ctypes.string_at(0)
        return 0.0
"""
SHAPES = pytest.mark.parametrize(
    ("shape", "more", "process"),
    [
        ("inproc", (), ""),
        ("composed", (), " (process 'composed')"),
        ("ros", (), " (process 'group1')"),
        ("ros", ("--processes", "own"), " (process 'cacc1')"),
    ],
)


def run(place: Path, law: str, shape: str, *more: str) -> subprocess.CompletedProcess[str]:
    temporary = place / "temporary"
    temporary.mkdir()
    command = ["run", SCENARIO, "--out", "out", "--controllers", law, "--shape", shape, *more]
    with user_environment(place / "log") as environment:
        return cosim(environment | {"TMPDIR": str(temporary)}, *command, directory=place)


@SHAPES
@pytest.mark.usefixtures("nothing_left")
def test_a_crash_is_named_with_participant_file_and_time(
    shape: str, more: tuple[str, ...], process: str, tmp_path: Path
) -> None:
    (tmp_path / "law.py").write_text(PYTHON_LAW, encoding="utf-8")
    ended = run(tmp_path, "law.py:Law", shape, *more)
    assert ended.stderr == (
        f"cosim: participant 'cacc1' ({tmp_path / 'law.py'}) crashed by SIGSEGV in its activation "
        f"at 1.2s{process}\n"
    )
    assert ended.returncode == 1
    assert sum(1 for _ in read_bag(tmp_path / "out" / "bag")) > 100


def test_a_crash_of_a_c_law_leaves_no_files(tmp_path: Path) -> None:
    source = (ROOT / "config" / "laws" / "ploeg_cacc.c").read_text(encoding="utf-8")
    crashing = source.replace(
        "  return previous_command", "  __builtin_trap();\n  return previous_command"
    )
    assert crashing != source
    (tmp_path / "law.c").write_text(crashing, encoding="utf-8")
    ended = run(tmp_path, "law.c", "inproc")
    assert ended.returncode == 1
    assert ended.stderr.startswith(
        f"cosim: participant 'cacc1' ({tmp_path / 'law.c'}) crashed by {signal.SIGILL.name} in "
        "its activation at "
    )
    assert not list((tmp_path / "temporary").iterdir())
