# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A law that never returns: every shape ends with one line that names participant and line."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs.cosim_process import user_environment
from support.warm import cosim

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


# A machine that is busy delays several processes for longer than one.
@pytest.mark.parametrize(("shape", "more", "patience_s"), [
    ("inproc", (), 1), ("composed", (), 1), ("ros", (), 2), ("ros", ("--processes", "own"), 2),
])  # fmt: skip
def test_a_law_that_never_returns_is_named(
    shape: str, more: tuple[str, ...], patience_s: int, tmp_path: Path
) -> None:
    (tmp_path / "law.py").write_text(LAW, encoding="utf-8")
    scenario = str(ROOT / "config" / "platoon.yaml")
    command = ["run", scenario, "--out", "out", "--controllers", "law.py:Law", "--shape", shape]
    changes = ["--set", f"watchdog_s={patience_s}", "--set", "watchdog_warn_s=100"]
    with user_environment(tmp_path / "log") as environment:
        ended = cosim(environment, *command, *changes, *more, directory=tmp_path)
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith("cosim: participant 'cacc1' has not returned from its activation 31 at ")
    assert f" for {patience_s} s of wall time ({tmp_path / 'law.py'}, line " in line
    assert len(line) < 160 + len(str(tmp_path))
    # What was recorded until then can be read.
    assert sum(1 for _ in read_bag(tmp_path / "out" / "bag")) > 100
