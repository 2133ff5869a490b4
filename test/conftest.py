# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What all tests share: profiles of property tests, fixtures, and which tests are slow."""

from __future__ import annotations

import gc
import json
import math
import os
import signal
from collections import defaultdict
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from support.browser import browser, started_browser
from support.durations import Durations, Stopwatch, name_of
from support.isolation import nothing_left, ros_domain, ros_domains

from ros2_cosim import compiled
from ros2_cosim.core.process.memory import collect_less_often

__all__ = ["browser", "nothing_left", "ros_domain", "ros_domains", "started_browser"]

# How long an example takes, or its making, says nothing on a machine that does other work, too.
# Property tests take the same examples in every run, so that a change is judged by itself;
# ``HYPOTHESIS_PROFILE=explore`` looks for new ones.
_AT_ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("project", _AT_ANY_SPEED, derandomize=True)
settings.register_profile("explore", _AT_ANY_SPEED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "project"))

# What a shell starts in the background ignores interrupts, and so does all that it starts: tests
# that interrupt a program would wait for it in vain.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = Path(__file__).parent

#: What `make durations` measured: how long each test takes that takes long, and each fixture that
#: several tests share [s]. What is not there, a new test too, is quick.
DURATIONS = HERE / "durations.json"
#: From here on a test is slow, and so is each test that uses a fixture of that duration [s].
SLOW_S = 0.2


def pytest_report_header() -> str:
    """Say in which form the hot modules are tested."""
    return f"compiled: {compiled.describe()}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let durations be measured."""
    text = "measure which tests are slow, and write them to this file (make durations)"
    parser.addoption("--durations-file", type=Path, default=None, help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Measure in each process that runs tests, and write in the one that hears of all of them."""
    path = config.getoption("--durations-file")
    if path is not None:
        config.pluginmanager.register(Stopwatch())
        if "PYTEST_XDIST_WORKER" not in os.environ:
            config.pluginmanager.register(Durations(path))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage: there is none, and all tests stay until the end.

    Behind that garbage is looked for as often as in the programs of a run.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        collect_less_often()
        gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the slow tests."""
    if _is_slow(item):
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slow tests behind all others, so that most faults show early.

    Of these the files that take longest come first, so that none of them is the last alone.
    """
    slow = [item for item in items if item.get_closest_marker("slow") is not None]
    takes: defaultdict[str, float] = defaultdict(float)
    for item in slow:
        takes[_place_of(item.path)] += _measured().get(name_of(item.nodeid), 0.0)
    tests = {name_of(item.nodeid) for item in slow}
    # In the order of the file: sums in the order of a set differ from process to process.
    for place, seconds in _measured().items():
        if place not in tests:  # a fixture
            takes[place.partition("::")[0]] += seconds
    turns = {id(item): (-takes[_place_of(item.path)], _place_of(item.path)) for item in slow}
    items.sort(key=lambda item: turns.get(id(item), (-math.inf, "")))


def _is_slow(item: pytest.Item) -> bool:
    file = _place_of(item.path)
    if file in _slow() or name_of(item.nodeid) in _slow():
        return True
    return isinstance(item, pytest.Function) and any(
        f"{place}::{fixture}" in _slow()
        for fixture in _slow_fixtures().intersection(item.fixturenames)
        for place in _places_of_fixtures(file)
    )


@cache
def _measured() -> dict[str, float]:
    measured: dict[str, float] = json.loads(DURATIONS.read_text(encoding="utf-8"))
    return measured


@cache
def _slow() -> frozenset[str]:
    return frozenset(place for place, seconds in _measured().items() if seconds >= SLOW_S)


@cache
def _slow_fixtures() -> frozenset[str]:
    """The names of slow fixtures, and of slow tests, wherever they stand."""
    return frozenset(place.rpartition("::")[2] for place in _slow())


@cache
def _places_of_fixtures(file: str) -> tuple[str, ...]:
    """Where a test file finds its fixtures: in itself, and in what its directories share."""
    directories = [parent.as_posix() for parent in Path(file).parents][:-1]
    return (file, *(f"{directory}/conftest.py" for directory in directories), "conftest.py")


@cache
def _place_of(path: Path) -> str:
    """Where a file is in this directory; asked for once a file, for comparing paths takes time."""
    return str(path.relative_to(HERE)) if path.is_relative_to(HERE) else str(path)
