# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Measures how long tests take, and the fixtures that several of them share.

What counts is the time of the clock without the time in which the system made the test wait for a
processor. A test of one process then takes as long on a busy machine as on a quiet one. One that
waits for other processes takes longer there, because these wait for a processor, too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import pytest

#: From here on a test is in the file [s].
LISTED_S = 0.2
#: Of Linux: how long a thread ran and how long it waited for a processor [ns].
SCHEDULER = Path("/proc/thread-self/schedstat")
_SHARED = "shared fixture"


def name_of(nodeid: str) -> str:
    """A test, or a fixture, without its parameters, as the file of durations has it."""
    return nodeid.removeprefix("test/").partition("[")[0]


def waited_s() -> float:
    """How long this thread has waited for a processor [s]; 0 where the system does not say it."""
    try:
        return int(SCHEDULER.read_text(encoding="ascii").split()[1]) / 1e9
    except OSError:
        return 0.0


class Stopwatch:
    """Puts into the reports of tests what they took, in the process that runs them.

    The fixtures that a test shares with others stand beside it: the first one sets them up.
    """

    def __init__(self) -> None:
        self._shared: dict[str, float] = {}
        self._waited = 0.0

    def pytest_runtest_logstart(self) -> None:
        """Begin with a test."""
        self._waited = waited_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        """Measure a fixture."""
        begin = time.perf_counter() - waited_s()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                place = fixturedef.baseid
                place += "" if place.endswith(".py") else "/conftest.py"
                duration = time.perf_counter() - waited_s() - begin
                self._shared[name_of(f"{place}::{fixturedef.argname}")] = duration

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self,
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Take the waiting, and what is shared, out of one phase of a test."""
        report = yield
        before, self._waited = self._waited, waited_s()
        report.duration -= self._waited - before + sum(self._shared.values())
        report.user_properties += [(_SHARED, shared) for shared in self._shared.items()]
        self._shared.clear()
        return report


class Durations:
    """Collects the durations of a session, and writes those that are long.

    What did not run keeps the duration that the file has.

    :param path: the file, read and written
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        #: Of the tests under way: what their phases took until now [s].
        self._under_way: dict[str, float] = {}
        #: Of each test and shared fixture, the longest of its parameters [s].
        self._measured: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take over one phase of a test."""
        taken = self._under_way.pop(report.nodeid, 0.0) + report.duration
        if report.when == "teardown":
            self._take(name_of(report.nodeid), taken)
        else:
            self._under_way[report.nodeid] = taken
        for kind, shared in report.user_properties:
            if kind == _SHARED:
                name, taken = cast("tuple[str, float]", shared)
                self._take(name, taken)

    def _take(self, name: str, duration: float) -> None:
        self._measured[name] = max(self._measured.get(name, 0.0), duration)

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        known = json.loads(self._path.read_text(encoding="utf-8")) if self._path.exists() else {}
        files = {name.partition("::")[0] for name in self._measured}
        # A file as a whole stands there from before, when its fixtures were not measured alone.
        known = {name: known[name] for name in known if name not in files} | self._measured
        slow = {name: round(known[name], 1) for name in sorted(known) if known[name] >= LISTED_S}
        self._path.write_text(json.dumps(slow, indent=1) + "\n", encoding="utf-8")
