# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Code of the user that fails: the line in the sentence, the traceback in a file, the debugger."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from runs.cosim_process import user_environment
from support.patience import HANG_S
from support.warm import cosim

ROOT = Path(__file__).parents[2]
LAW = """\
class Law:
    def acceleration(self, measurement):
        gains = {"kp": 0.3}
        return gains["kd"]
"""
SENTENCE = (
    "cosim: {}participant 'cacc1' failed in its activation 1 at 0s: KeyError: 'kd' "
    "({}, line 4); traceback in out/traceback.txt"
)


def run(
    place: Path, *options: str, answers: str = ""
) -> tuple[int, subprocess.CompletedProcess[str]]:
    """Run the platoon with a law that fails; what was said."""
    (place / "law.py").write_text(LAW, encoding="utf-8")
    scenario = str(ROOT / "config" / "platoon.yaml")
    words = ["run", scenario, "--out", "out", "--controllers", "law.py:Law", *options]
    with user_environment(place / "log") as environment:
        if not answers:
            ended = cosim(environment, *words, directory=place)
            return ended.returncode, ended
        ended = subprocess.run(
            [sys.executable, "-m", "ros2_cosim.cli.main", *words],
            cwd=place, input=answers, capture_output=True, text=True, timeout=HANG_S, check=False,
            env=environment,
        )  # fmt: skip
    return ended.returncode, ended


@pytest.mark.parametrize(("shape", "who"), [("inproc", ""), ("ros", "cacc1: ")])
def test_the_sentence_leads_to_the_line_and_the_file(shape: str, who: str, tmp_path: Path) -> None:
    code, ended = run(tmp_path, "--shape", shape)
    assert code == 1
    # The process says so itself, unless the clock, which has heard of it, is faster.
    said = ended.stderr.replace("clock: ", "").splitlines()
    assert said == [SENTENCE.format(who, tmp_path / "law.py")]
    trace = (tmp_path / "out" / "traceback.txt").read_text(encoding="utf-8")
    assert 'law.py", line 4, in acceleration' in trace
    assert trace.rstrip().endswith("KeyError: 'kd'")


def test_the_traceback_is_printed_on_request(tmp_path: Path) -> None:
    code, ended = run(tmp_path, "--shape", "inproc", "--traceback")
    assert code == 1
    assert 'law.py", line 4, in acceleration' in ended.stdout


def test_the_debugger_stops_at_the_line(tmp_path: Path) -> None:
    code, ended = run(tmp_path, "--shape", "inproc", "--pdb", answers="p gains\nq\n")
    assert code == 1
    assert '-> return gains["kd"]' in ended.stdout
    assert "{'kp': 0.3}" in ended.stdout


def test_the_debugger_is_for_runs_in_one_process(tmp_path: Path) -> None:
    code, ended = run(tmp_path, "--shape", "ros", "--pdb")
    assert code == 1
    assert ended.stderr == "cosim: --pdb: found with shape ros; allowed is shape inproc\n"
