# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The mutation benchmark: its changes, its sample, and that a mutant is put in, run and judged."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.patience import until

from bench.mutant_runs import Survey, _reach_of
from bench.mutants import (
    ROOMS,
    Outcome,
    all_mutants,
    changes_of,
    main,
    mutants_of,
    sample,
    table_of,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("a < b", ["(a <= b)", "(a >= b)"]),
        ("a < b <= c", ["(a <= b <= c)", "(a >= b <= c)"]),
        ("a is not None", ["(a is None)"]),
        ("a + b", ["(a - b)"]),
        ("'x' + b", []),
        ("a and b and c", ["(a or b or c)", "(b and c)", "(a and c)", "(a and b)"]),
        ("not a", ["(a)"]),
        ("3", ["4"]),
        ("0.3", ["0.19999999999999998"]),
        ("True", ["False"]),
        ("min(a, b)", ["(max(a, b))"]),
        ("'text'", []),
    ],
)
def test_expressions_are_changed_in_these_ways(text: str, changed: list[str]) -> None:
    node = ast.parse(text, mode="eval").body
    assert [after for _, after in changes_of(node)] == changed


def test_statements_are_changed_in_place_and_texts_are_not() -> None:
    source = b'''"""Text."""
def f(a: int = 3) -> "int":
    """Text."""
    if a:
        g(f"{a + 1}")
    return a
'''
    found = list(mutants_of("kernel", "f.py", source))
    assert [(m.line, m.column, m.operator, m.before, m.after) for m in found] == [
        (2, 16, "constant", "3", "4"),
        (4, 8, "branch dropped", "a", "False"),
        (5, 9, "call dropped", 'g(f"{a + 1}")', "pass"),
        (6, 5, "result dropped", "return a", "return None"),
    ]
    assert found[1].applied(source).decode() == source.decode().replace("if a:", "if False:")


def test_a_seed_draws_one_sample_with_enough_of_each_room() -> None:
    by_room = {room: all_mutants(room) for room in ROOMS}
    first = sample(by_room, 200, 20, "20260901")
    assert first == sample(by_room, 200, 20, "20260901") != sample(by_room, 200, 20, "2")
    assert len(set(first)) == 200
    assert all(sum(m.room == room for m in first) >= 20 for room in ROOMS)
    with pytest.raises(ValueError, match=r"--mutants: found 20; allowed: at least 160"):
        sample(by_room, 20, 20, "1")


def test_mutants_are_put_in_run_as_python_and_judged(tmp_path: Path) -> None:
    options = ["--rooms", "measure", "--jobs", "1", "--mutants", "2", "--least", "2"]
    assert main([*options, "--out", str(tmp_path), "--share", "0"]) == 0
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    outcomes = [json.loads(line) for line in lines]
    assert len(outcomes) == 2
    assert all(o["killed"] == (o["how"] != "") for o in outcomes)
    assert (tmp_path / "table.md").read_text().startswith("| room | mutants | killed | time-outs |")
    assert not (tmp_path / "copies").exists()


def test_a_module_that_is_not_the_changed_one_is_noticed() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "bench.mutant_runs", "test/faults", "-q"]
    module = f"ros2_cosim.core.kernel.time={ROOT / 'elsewhere.py'}"
    done = subprocess.run(
        command, cwd=ROOT, env={"COSIM_MUTANT_MODULE": module}, capture_output=True, text=True
    )
    assert done.returncode == 99
    assert "is not that of" in done.stdout + done.stderr


SOURCE = b"""LIMIT = 3


class A:
    WIDTH = 4

    def plain(self, a=1):
        b = (
            a
            + LIMIT
        )
        if b:
            return b

    @cache
    def kept(self):
        return 5
"""


@pytest.mark.parametrize(
    ("line", "first", "last", "everywhere"),
    [
        (1, 1, 1, True),
        (5, 5, 5, True),
        (7, 7, 7, True),  # a default is taken while the module is imported
        (9, 8, 11, False),
        (12, 12, 12, False),
        (13, 13, 13, False),
        (17, 17, 17, True),
    ],
)
def test_a_change_reaches_its_statement_or_all_that_runs_its_file(
    line: int, first: int, last: int, everywhere: bool
) -> None:
    assert _reach_of(SOURCE, line) == (first, last, everywhere)


def test_the_survey_of_a_room_knows_which_test_runs_which_line(tmp_path: Path) -> None:
    """A quick one, one that is slow by its child process, a shared fixture, and one that fails."""
    copy = tmp_path / "copy"
    (copy / "bench").mkdir(parents=True)
    (copy / "bench" / "mutant_runs.py").write_bytes((ROOT / "bench/mutant_runs.py").read_bytes())
    (copy / "shapes.py").write_text(
        "def one():\n    return 1\n\n\ndef two():\n    return 2\n\n\ndef three():\n    return 3\n"
    )
    (copy / "test_code.py").write_text(
        "import subprocess, sys\n"
        "import pytest\n"
        "import shapes as library\n"
        "@pytest.fixture(scope='module')\n"
        "def shared():\n    return library.three()\n"
        "def test_one(shared):\n    assert library.one() == 1\n"
        "@pytest.mark.slow\n"
        "def test_two():\n"
        "    subprocess.run([sys.executable, '-c', 'import shapes; shapes.two()'], check=True)\n"
        "def test_wrong():\n    assert library.one() == 2\n"
    )
    (copy / "pytest.ini").write_text("[pytest]\npythonpath = .\nmarkers = slow: takes long\n")
    survey = Survey(copy, tmp_path / "notes", ["shapes.py"], ["test_code.py"])
    source = (copy / "shapes.py").read_bytes()
    one, two, bad = (f"test_code.py::test_{name}" for name in ("one", "two", "wrong"))
    assert survey.batches("shapes.py", source, 2) == [[one]]
    assert survey.batches("shapes.py", source, 6) == [[two]]
    assert survey.batches("shapes.py", source, 10) == [[one], [two]]
    assert survey.bad == [bad]
    # What has not changed is not measured again.
    (tmp_path / "notes" / "notes" / "run.json").unlink()
    assert Survey(copy, tmp_path / "notes", ["shapes.py"], ["test_code.py"]).slow == {two}


def test_the_table_counts_by_room_and_in_all() -> None:
    outcomes = [
        Outcome("a", "vds", True, "test_x", 1.0),
        Outcome("b", "vds", True, "test_y hangs", 1.0),
        Outcome("c", "vds", False, "", 1.0),
        Outcome("d", "dcp", True, "test_z", 1.0),
    ]
    assert table_of(outcomes).splitlines()[2:] == [
        "| dcp | 1 | 1 | 0 | 100.0% |",
        "| vds | 3 | 2 | 1 | 66.7% |",
        "| all | 4 | 3 | 1 | 75.0% |",
    ]


WAITING = """
import os, time
from pathlib import Path

def test_waits():
    Path("pid.part").write_text(str(os.getpid()))
    os.rename("pid.part", "pid")
    time.sleep(600)
"""
STARTER = """
import sys
from pathlib import Path
from bench.mutant_runs import Server
Server(Path(sys.argv[1]), []).run({"test_waits.py::test_waits": 600.0}, {})
"""


def test_a_run_ends_with_what_started_it(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    (copy / "bench").mkdir(parents=True)
    (copy / "bench" / "mutant_runs.py").write_bytes((ROOT / "bench/mutant_runs.py").read_bytes())
    (copy / "ros2_cosim").symlink_to(ROOT / "ros2_cosim")
    (copy / "test_waits.py").write_text(WAITING)
    (copy / "pytest.ini").write_text("[pytest]\n")
    starter = subprocess.Popen([sys.executable, "-c", STARTER, str(copy)], cwd=ROOT)
    try:
        until(lambda: (copy / "pid").exists())
    finally:
        starter.kill()
        starter.wait()
    run = Path("/proc") / (copy / "pid").read_text()
    until(lambda: not run.exists())
