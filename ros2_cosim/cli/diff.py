# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim diff``: compares the messages of two runs or bags."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ros2_cosim.cli.console import EXIT_VERDICT, clear_errors
from ros2_cosim.cli.parameters import AsJson

if TYPE_CHECKING:
    from ros2_cosim.core.record.run_comparison import RunComparison


def diff(
    a: Annotated[Path, typer.Argument(help="Output of a run, or a bag.", metavar="A")],
    b: Annotated[Path, typer.Argument(help="Another one.", metavar="B")],
    tolerance: Annotated[
        list[str] | None,
        typer.Option(help="TOPIC.FIELD=ABS: differences up to ABS are equal (may be repeated)."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="TOPIC or TOPIC.FIELD to ignore (may be repeated)."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with plots of both to this file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the messages of two runs or bags; exit code 3 if they differ."""
    from ros2_cosim.cli.diff_text import print_comparison
    from ros2_cosim.core.record.comparison import Rules
    from ros2_cosim.core.record.run_comparison import compare_recordings

    rules = Rules(ignore or (), _tolerances(tolerance or ()))
    with clear_errors():
        if html is not None:
            from ros2_cosim.lab.report.comparison_report import check_page, write_page

            check_page(html)
        result: RunComparison = compare_recordings(a, b, rules)
        if html is not None:
            write_page(result, html)
        if as_json:
            print(json.dumps(result.data(), indent=1, allow_nan=False))
        else:
            print_comparison(result)
    if not result.equal:
        raise typer.Exit(EXIT_VERDICT)


def _tolerances(texts: Sequence[str]) -> dict[str, float]:
    """TOPIC.FIELD -> largest difference.

    :raises typer.BadParameter: a text is not a tolerance
    """
    found: dict[str, float] = {}
    for text in texts:
        place, _, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not place or not 0 <= value < math.inf:
            raise typer.BadParameter(
                f"found {text!r}; allowed is TOPIC.FIELD=ABS with a number of at least 0",
                param_hint="--tolerance",
            )
        found[place] = value
    return found
