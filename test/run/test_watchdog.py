# SPDX-License-Identifier: Apache-2.0
"""A law that never returns: every shape ends with one line that names participant and line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from runs.cosim_process import user_environment
from support.patience import HANG_S

from ros2_cosim.core.record.bag_reader import read_bag

ROOT = Path(__file__).parents[2]
LAW = """\
class Law:
    calls = 0

    def acceleration(self, measurement):
        self.calls += 1
        while self.calls > 30:
            pass
        return 0.0
"""


@pytest.mark.parametrize(("shape", "more"), [
    ("inproc", ()), ("composed", ()), ("ros", ()), ("ros", ("--processes", "own")),
])  # fmt: skip
def test_a_law_that_never_returns_is_named(
    shape: str, more: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "law.py").write_text(LAW, encoding="utf-8")
    scenario = str(ROOT / "config" / "platoon.yaml")
    command = [sys.executable, "-m", "ros2_cosim.cli.main", "run", scenario, "--out", "out"]
    changes = ["--set", "watchdog_s=2", "--set", "watchdog_warn_s=100"]
    with user_environment(tmp_path / "log") as environment:
        ended = subprocess.run(
            [*command, "--controllers", "law.py:Law", "--shape", shape, *changes, *more],
            cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False,
            env=environment,
        )  # fmt: skip
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith("cosim: participant 'cacc1' has not returned from its activation 31 at ")
    assert f" for 2 s of wall time ({tmp_path / 'law.py'}, line " in line
    assert len(line) < 160 + len(str(tmp_path))
    # What was recorded until then can be read.
    assert sum(1 for _ in read_bag(tmp_path / "out" / "bag")) > 100
