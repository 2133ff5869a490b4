# SPDX-License-Identifier: Apache-2.0
"""What all tests share: profiles of property tests, fixtures, and which tests are slow."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from support.browser import browser, started_browser
from support.isolation import nothing_left, ros_domain, ros_domains

from ros2_cosim import compiled

__all__ = ["browser", "nothing_left", "ros_domain", "ros_domains", "started_browser"]

# How long an example takes, or its making, says nothing on a machine that does other work, too.
# Property tests take the same examples in every run, so that a change is judged by itself;
# ``HYPOTHESIS_PROFILE=explore`` looks for new ones.
_AT_ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("project", _AT_ANY_SPEED, derandomize=True)
settings.register_profile("explore", _AT_ANY_SPEED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "project"))

HERE = Path(__file__).parent

#: What `make durations` measured: how long each test takes that takes long [s]. A file stands there
#: as a whole if its tests share what takes that long to set up. A test that is not there, a new one
#: too, is quick.
DURATIONS = HERE / "durations.json"
#: From here on a test is slow, and from here on it is in the file [s].
SLOW_S = 0.3
LISTED_S = 0.2
#: Those that take longest: the first of the slow ones, so that none of them is the last alone.
LONG_FILES = (
    "tutorials/test_tutorials.py",
    "study/test_runs.py",
    "sweep/test_workers.py",
    "simulation/test_seeds.py",
)


def pytest_report_header() -> str:
    """Say in which form the hot modules are tested."""
    return f"compiled: {compiled.describe()}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let durations be measured."""
    text = "measure which tests are slow, and write them to this file (make durations)"
    parser.addoption("--durations-file", type=Path, default=None, help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Measure in the process that hears of all tests."""
    path = config.getoption("--durations-file")
    if path is not None and "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(Durations(path))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the slow tests."""
    if _is_slow(item):
        item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slow tests behind all others, so that most faults show early."""
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    if item.get_closest_marker("slow") is None:
        return 0
    place = _place_of(item.path)
    return 1 + (LONG_FILES.index(place) if place in LONG_FILES else len(LONG_FILES))


def _is_slow(item: pytest.Item) -> bool:
    place = _place_of(item.path)
    return place in _slow() or _name_of(item.nodeid) in _slow()


@cache
def _slow() -> frozenset[str]:
    measured = json.loads(DURATIONS.read_text(encoding="utf-8"))
    return frozenset(place for place, seconds in measured.items() if seconds >= SLOW_S)


@cache
def _place_of(path: Path) -> str:
    """Where a file is in this directory; asked for once a file, for comparing paths takes time."""
    return str(path.relative_to(HERE)) if path.is_relative_to(HERE) else str(path)


def _name_of(nodeid: str) -> str:
    """A test without its parameters, as the file of durations has it."""
    return nodeid.removeprefix(f"{HERE.name}/").partition("[")[0]


class Durations:
    """Measures the tests of a session, and writes those that take long.

    Tests that did not run keep the durations that the file has.

    :param path: the file, read and written
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        #: Of each test, and of what each file sets up, the longest of its parameters [s].
        self._measured: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take over one phase of a test."""
        name = _name_of(report.nodeid)
        if report.when == "setup":
            name = name.partition("::")[0]
        self._measured[name] = max(self._measured.get(name, 0.0), report.duration)

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        known = json.loads(self._path.read_text(encoding="utf-8")) if self._path.exists() else {}
        known.update(self._measured)
        slow = {name: round(known[name], 1) for name in sorted(known) if known[name] >= LISTED_S}
        self._path.write_text(json.dumps(slow, indent=1) + "\n", encoding="utf-8")
