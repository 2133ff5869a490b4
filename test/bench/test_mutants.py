# SPDX-License-Identifier: Apache-2.0
"""The mutation benchmark: its changes, its sample, and that a mutant is put in, run and judged."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.mutants import ROOMS, all_mutants, changes_of, main, mutants_of, sample

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
    options = ["--rooms", "faults", "--mutants", "2", "--least", "2", "--out", str(tmp_path)]
    assert main([*options, "--share", "0"]) == 0
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    outcomes = [json.loads(line) for line in lines]
    assert len(outcomes) == 2
    assert all(o["killed"] == (o["how"] != "") for o in outcomes)
    assert (tmp_path / "table.md").read_text().startswith("| room | mutants | killed | share |")
    assert not (tmp_path / "copies").exists()


def test_a_module_that_is_not_the_changed_one_is_noticed() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "bench.mutant_runs", "test/faults", "-q"]
    module = f"ros2_cosim.kernel.time={ROOT / 'elsewhere.py'}"
    done = subprocess.run(
        command, cwd=ROOT, env={"COSIM_MUTANT_MODULE": module}, capture_output=True, text=True
    )
    assert done.returncode == 99
    assert "is not that of" in done.stdout + done.stderr
