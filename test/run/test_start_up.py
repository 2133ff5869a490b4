# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A short command is imports for its most part: it imports what it needs, and ends at once."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

from ros2_cosim.core.kernel.random_streams import load_generator
from ros2_cosim.core.process.memory import collect_less_often, settled_memory

ROOT = Path(__file__).resolve().parents[2]
PLATOON = "config/platoon.yaml"
#: Takes long to import, or is of use to few commands.
HEAVY = {
    "asyncio",
    "carla",
    "http.server",
    "numpy",
    "pdb",
    "rclpy",
    "ros2_cosim.core.record.checkpoint",
    "ros2_cosim.core.record.foxglove_view",
    "ros2_cosim.core.record.message_fields",
    "ros2_cosim.core.run.branch",
    "ros2_cosim.lab.web",
    "ros2_cosim.world.carla.saved_scene",
    "ros2_cosim.world.carla.sensor_messages",
    "ros2_cosim.world.headless.sensing.cameras",
    "ros2_cosim.world.headless.server_wire",
    "rosbags.rosbag2",
}
#: Both are for the report alone.
OF_REPORTS = {"jinja2", "ros2_cosim.lab.report"}

#: Of a run, the process apart tells; the one that waits for it leaves by itself.
TELLING = """
import atexit, json, sys
from ros2_cosim.cli.main import main
@atexit.register
def tell():
    with open(place, "w") as file:
        json.dump(list(sys.modules), file)
place = sys.argv.pop(1)
main()
"""


def imported(words: str, place: Path, *, code: int = 0) -> set[str]:
    """The modules that a command has imported when it ends; it runs in a separate process."""
    done = subprocess.run(
        [sys.executable, "-c", TELLING, place / "modules.json", *words.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return set(json.loads((place / "modules.json").read_text()))


def test_a_short_run_imports_what_it_needs(tmp_path: Path) -> None:
    words = f"run {PLATOON} --shape inproc --set duration=200ms --out {tmp_path / 'run'}"
    modules = imported(words, tmp_path, code=3)
    assert (tmp_path / "run" / "report.html").is_file()
    assert OF_REPORTS < modules
    assert HEAVY & modules == set()


def test_a_run_without_a_bag_imports_nothing_of_reports(tmp_path: Path) -> None:
    words = f"run {PLATOON} --shape inproc --no-bag --set duration=20ms --out {tmp_path / 'run'}"
    assert (HEAVY | OF_REPORTS) & imported(words, tmp_path, code=3) == set()


def test_a_run_with_a_clock_has_what_its_streams_need_before_it_begins(tmp_path: Path) -> None:
    words = f"run {PLATOON} --shape inproc --no-bag --rate 1 --set duration=20ms --out {tmp_path}"
    is_pure = isinstance(load_generator, FunctionType)  # compiled streams need nothing
    assert ("numpy.random" in imported(words, tmp_path, code=3)) is is_pure


@pytest.mark.parametrize("words", ["--help", f"check {PLATOON}", f"plan {PLATOON}"])
def test_other_commands_import_what_they_need(words: str, tmp_path: Path) -> None:
    assert (HEAVY | OF_REPORTS) & imported(words, tmp_path) == set()


ENDING = """
import atexit, gc, os, sys
atexit.register(lambda: os.write(1, str(gc.get_freeze_count() > 1000).encode()))
from ros2_cosim.cli.console import becomes_program
from ros2_cosim.core.kernel.loading import load_module
becomes_program()
"""
OPENING = """
def work():
    pass
file = open("written", "w")
file.write("whole")
"""


def test_what_is_in_use_is_not_taken_apart_at_the_end(tmp_path: Path) -> None:
    assert ended("", tmp_path) == "True"


@pytest.mark.parametrize("before", ["load_module('opening.py')", "sys.modules['rclpy'] = sys"])
def test_code_of_others_is_taken_apart_at_the_end(before: str, tmp_path: Path) -> None:
    """The interpreter closes a file that it has left open."""
    (tmp_path / "opening.py").write_text(OPENING)
    assert ended(before, tmp_path) == "False"
    if "opening" in before:
        assert (tmp_path / "written").read_text() == "whole"


def ended(before: str, place: Path) -> str:
    """What a program like the command prints at its end."""
    words = [sys.executable, "-W", "ignore", "-c", f"{ENDING}\n{before}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        words, cwd=place, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_collector_looks_for_garbage_when_a_program_has_started() -> None:
    usual, callbacks = gc.get_threshold(), list(gc.callbacks)
    try:
        collect_less_often()
        collect_less_often()
        assert gc.get_threshold()[0] == 200_000
        gc.collect()
        assert gc.get_threshold()[0] == 10_000
        collect_less_often()
        with settled_memory():
            assert gc.get_threshold()[0] == 10_000
        collect_less_often()
        gc.set_threshold(50_000)
        gc.collect()
        assert gc.get_threshold()[0] == 50_000
    finally:
        gc.set_threshold(*usual)
        gc.callbacks[:] = callbacks
