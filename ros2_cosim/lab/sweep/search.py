# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Adaptive searches: what all of them declare, and how a sweep file names one.

A plan is a generator: it gives batches of points and is sent, for each, the runs of its points. A
batch never depends on how many workers there are, or which run was done first: a search finds the
same everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from typing import Any, NamedTuple

from pydantic import Field

from ros2_cosim.core.documents.offered import find_kind
from ros2_cosim.core.documents.settings import Section, read_section
from ros2_cosim.lab.report.svg_plot import Chart
from ros2_cosim.lab.sweep.store import SweepRun
from ros2_cosim.lab.sweep.varied import Varied

SEARCH_GROUP = "ros2_cosim.searches"
#: Parameter -> its value, a number where it has a range.
Point = Mapping[str, Any]
#: What is known in the end, as plain data; None: a design has no finding.
Finding = Mapping[str, Any] | None
#: Gives batches of points, takes the runs of each point, returns what was found.
Plan = Generator[list[Point], list[list[SweepRun]], Finding]


class FoundTable(NamedTuple):
    """The result of a search as a table of the report."""

    title: str
    heads: tuple[str, ...]
    rows: list[tuple[Any, ...]]


class Search(Section, ABC):
    """The section ``search`` of a sweep: which points are run depends on the runs before.

    Its name, the key ``kind``, is that of its entry point of the group ``ros2_cosim.searches``.
    """

    kind: str = Field(description="which search")

    @abstractmethod
    def check(self, settings: Varied) -> None:
        """Check whether it fits the sweep.

        :raises ValueError: it does not
        """

    @abstractmethod
    def designed(self, settings: Varied) -> set[str]:
        """The parameters whose values the design chooses; the search chooses the others."""

    @abstractmethod
    def plan(self, settings: Varied) -> Plan:
        """Choose points, a batch at a time; what it returns is plain data, with its ``kind``.

        :raises ConfigurationError: what it looks at is not in the runs
        """

    def told(self, finding: Mapping[str, Any]) -> list[str]:
        """What was found, a line each."""
        return [f"{key}: {value}" for key, value in finding.items() if key != "kind"]

    def table(self, finding: Mapping[str, Any]) -> FoundTable:
        """The same as a table."""
        rows = [(key, value) for key, value in finding.items() if key != "kind"]
        return FoundTable(f"Found by {self.kind}", ("", ""), rows)

    def charts(self, finding: Mapping[str, Any]) -> list[Chart]:
        """What the report draws of what was found."""
        return []


def read_search(data: Mapping[str, Any], origin: str) -> Search:
    """The search of a sweep file.

    :raises ConfigurationError: there is none of its name, or its keys are wrong
    """
    where = f"{origin}: search.kind"
    kind: type[Search] = find_kind(SEARCH_GROUP, str(data.get("kind")), where, "search", Search)
    return read_section(kind, data, place="search", origin=origin)
