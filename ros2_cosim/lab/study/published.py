# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the five publications state, row by row, beside what is found here.

``published.yaml`` has the rows: each figure, table and number with its place, what the publication
says, which experiment gives the same here, and the cause of a difference that is known.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, NamedTuple

from pydantic import Field, model_validator

from ros2_cosim.core.documents.plain_data import read_mapping
from ros2_cosim.core.documents.settings import Number, Section, read_section

TABLE: Final = Path(__file__).with_name("published.yaml")
#: A figure further from the published one than this factor misses it.
_NEAR: Final = 2.0
COLUMNS: Final = (
    "publication", "place", "quantity", "unit", "paper", "here", "low", "high", "ratio",
    "judgement", "cause", "configuration",
)  # fmt: skip


class Figure(NamedTuple):
    """What an experiment found: a number, with its interval where it has one, or a text."""

    value: float | str
    low: float | None = None
    high: float | None = None


Figures = Mapping[str, Figure]


class PublishedRow(Section):
    """One figure, table or number of a publication.

    ``here`` names what is found here as ``experiment: figure``. Without it the cause says why there
    is none. ``between`` is the range in which that bears the publication out, where it states a
    limit, or the figure is a statistic; null leaves an end open.
    """

    place: Annotated[str, Field(min_length=1)]
    quantity: Annotated[str, Field(min_length=1)]
    unit: str = ""
    paper: Number | str
    here: Annotated[str | None, Field(pattern=r"^[a-z0-9_.]+: .+$")] = None
    between: tuple[Number | None, Number | None] | None = None
    cause: str = ""

    @model_validator(mode="after")
    def _has_here_or_cause(self) -> PublishedRow:
        if self.here is None and not self.cause:
            raise ValueError("a row without 'here' needs a 'cause'")
        return self

    @property
    def source(self) -> tuple[str, str]:
        """Experiment and figure; empty where nothing here gives it."""
        experiment, _, figure = (self.here or "").partition(": ")
        return experiment, figure


class Publication(Section):
    """The rows of one publication."""

    title: str
    rows: tuple[PublishedRow, ...]


class Publications(Section):
    """The content of the table."""

    publications: dict[str, Publication]


class ComparedRow(NamedTuple):
    """A row beside what was found; ``here`` is None where nothing was."""

    row: PublishedRow
    here: Figure | None
    cause: str
    configuration: str

    def __str__(self) -> str:
        row, here = self.row, self.here and self.here.value
        said = f"{row.place}: {row.quantity}: {number(row.paper)}, here {number(here)}"
        return said if isinstance(here, str) else f"{said} {row.unit}".rstrip()

    @property
    def ratio(self) -> float | None:
        """Here over paper; None where one of them is not a number, or the paper has zero."""
        paper, here = self.row.paper, self.here and self.here.value
        if isinstance(paper, str) or not isinstance(here, float | int) or not paper:
            return None
        return here / paper

    @property
    def judgement(self) -> str:
        """``equal``, ``within`` (the row's range), ``near`` (within a factor of two), ``misses``,
        ``found``, or ``missing``.
        """
        if self.here is None:
            return "missing"
        if self.here.value == self.row.paper:
            return "equal"
        if isinstance(self.row.paper, str):
            return "found"
        if self.row.between is not None and isinstance(self.here.value, float | int):
            low, high = self.row.between
            value = self.here.value
            held = (low is None or low <= value) and (high is None or value <= high)
            return "within" if held else "misses"
        ratio = self.ratio
        return "near" if ratio is not None and 1.0 / _NEAR <= ratio <= _NEAR else "misses"


def published() -> dict[str, Publication]:
    """All rows, by publication.

    :raises ConfigurationError: the table is wrong
    """
    data = read_mapping(TABLE, "table of publications")
    return read_section(Publications, data, origin=TABLE.name).publications


def compare(
    row: PublishedRow,
    found: Mapping[str, Figures],
    configurations: Mapping[str, str],
    reasons: Mapping[str, str],
) -> ComparedRow:
    """A row beside what was found.

    :param found: figures by experiment
    :param configurations: how each experiment is repeated
    :param reasons: why experiments gave nothing
    """
    experiment, figure = row.source
    here = found.get(experiment, {}).get(figure)
    cause = row.cause
    if row.here is not None and here is None:
        why = reasons.get(experiment, "not measured in this form of the study")
        cause = f"{why}. {cause}".removesuffix(". ")
    return ComparedRow(row, here, cause, configurations.get(experiment, ""))


def number(value: float | str | None) -> str:
    """A figure as text, with four digits that count."""
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.4g}" if abs(value) < 1e4 and value != round(value) else f"{value:.10g}"


def as_csv(rows: Mapping[str, list[ComparedRow]]) -> str:
    """All rows as a table."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for publication, compared in rows.items():
        for one in compared:
            here = one.here or Figure("")
            writer.writerow(
                (
                    publication, one.row.place, one.row.quantity, one.row.unit,
                    *map(number, (one.row.paper, here.value, here.low, here.high, one.ratio)),
                    one.judgement, one.cause, one.configuration,
                )
            )  # fmt: skip
    return text.getvalue()
