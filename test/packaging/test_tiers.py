# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The measured durations name what exists, and say which tests are slow."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Literal

import pytest
from support.durations import SCHEDULER, Durations, Stopwatch, waited_s

When = Literal["setup", "call", "teardown"]
HERE = Path(__file__).resolve().parents[1]
SLOW = json.loads((HERE / "durations.json").read_text(encoding="utf-8"))


def test_what_is_slow_exists() -> None:
    assert len(SLOW) > 100
    for place in SLOW:
        file, _, name = place.partition("::")
        text = (HERE / file).read_text(encoding="utf-8")
        assert not name or re.search(rf"\b{name.rpartition('::')[2]}\b", text), place


def report(place: str, when: When, duration: float, **shared: float) -> pytest.TestReport:
    place = f"test/a/{place}"
    properties = [("shared fixture", (f"a/{name}", taken)) for name, taken in shared.items()]
    return pytest.TestReport(
        *(place, (place, None, ""), {}, "passed", None, when),
        user_properties=properties,
        duration=duration,
    )


def test_tests_are_slow_by_what_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "durations.json"
    path.write_text('{"a/test_a.py::test_gone": 9.0, "a/test_a.py::test_fast": 3.0, "b.py": 2.0}')
    measured = Durations(path)
    phases: list[tuple[str, When, float]] = [
        ("test_a.py::test_fast", "call", 0.14),
        ("test_a.py::test_fast", "teardown", 0.01),
        ("test_a.py::test_each[1]", "call", 0.5),
        ("test_a.py::test_each[2]", "setup", 0.5),
        ("test_a.py::test_each[1]", "teardown", 0.1),
        ("test_a.py::test_each[2]", "call", 1.5),
        ("test_a.py::test_each[2]", "teardown", 0.14),
    ]
    for place, when, duration in phases:
        measured.pytest_runtest_logreport(report(place, when, duration))
    shares = report("b/test_b.py::test_that_is_the_first", "setup", 0.01, **{"b/conftest.py::x": 5})
    measured.pytest_runtest_logreport(shares)
    measured.pytest_sessionfinish()
    assert json.loads(path.read_text()) == {
        "a/b/conftest.py::x": 5,
        "a/test_a.py::test_each": 2.1,
        "a/test_a.py::test_gone": 9.0,
        "b.py": 2.0,
    }


SHARING = """
import time

import pytest


@pytest.fixture(scope="module")
def made():
    time.sleep(0.3)


def test_first(made):
    pass


def test_second(made):
    time.sleep(0.3)
"""


def test_what_tests_share_is_measured_alone(tmp_path: Path) -> None:
    file, durations = tmp_path / "test_sharing.py", tmp_path / "durations.json"
    file.write_text(SHARING)
    options = [f"-pno:{name}" for name in ("cacheprovider", "xdist", "timeout", "terminal")]
    done = pytest.main(
        [*options, "-c", os.devnull, "--rootdir", str(tmp_path), str(file)],
        plugins=[Stopwatch(), Durations(durations)],
    )
    assert done == pytest.ExitCode.OK
    assert set(json.loads(durations.read_text())) == {
        "test_sharing.py::made",
        "test_sharing.py::test_second",
    }


def test_tests_that_use_a_slow_fixture_are_slow(pytestconfig: pytest.Config) -> None:
    """Wherever the fixture stands: the first test of a session that uses it makes it."""
    conftest = pytestconfig.pluginmanager.get_plugin(str(HERE / "conftest.py"))
    assert conftest is not None
    places = conftest._places_of_fixtures("a/b/test_c.py")
    assert places == ("a/b/test_c.py", "a/b/conftest.py", "a/conftest.py", "conftest.py")
    assert conftest._places_of_fixtures("test_c.py") == ("test_c.py", "conftest.py")


@pytest.mark.skipif(not SCHEDULER.exists(), reason="the system does not say what a thread waits")
def test_waiting_for_a_processor_makes_no_test_slow() -> None:
    """Two loops on one processor: each takes on the clock what both compute."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        began, begin, waited = time.thread_time(), time.perf_counter(), waited_s()
        while time.thread_time() - began < 0.05:
            pass
        taken = time.perf_counter() - begin
        assert taken - (waited_s() - waited) == pytest.approx(0.05, abs=0.02)
    finally:
        os.sched_setaffinity(0, before)
        other.kill()
        other.wait()
