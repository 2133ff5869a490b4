# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim report``: the page of a run or a study, or of several runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ros2_cosim.cli.console import clear_errors, refuse_beside


def report(
    context: typer.Context,
    directories: Annotated[
        list[Path],
        typer.Argument(
            help="Output of a run, or of a study. Of several runs: one page, side by side.",
            metavar="RUN...",
        ),
    ],
    out: Annotated[Path, typer.Option(help="File for the page of several runs.")] = Path(
        "side_by_side.html"
    ),
    export: Annotated[
        list[str] | None,
        typer.Option(help="Write the run in this form, too, as bag.exports does: osi."),
    ] = None,
) -> None:
    """Make report.html again from a run or a study, or one page of two or more runs."""
    from ros2_cosim.core.kernel.errors import ConfigurationError
    from ros2_cosim.core.run.results import complete_killed, export_again
    from ros2_cosim.lab.report.comparison_report import check_page
    from ros2_cosim.lab.report.report import render_report
    from ros2_cosim.lab.report.side_by_side import write_side_by_side
    from ros2_cosim.lab.study.record import STUDY_FILE, read_study
    from ros2_cosim.lab.study.report import render_study

    with clear_errors():
        if len(directories) == 1:
            refuse_beside(context, "one RUN", "out")
        if len(directories) > 1:
            refuse_beside(context, "several RUN", "export")
            check_page(out)
        elif (directories[0] / STUDY_FILE).exists():
            if export:
                raise ConfigurationError("--export: found with a study; allowed is a run")
            print(render_study(directories[0], read_study(directories[0])))
            return
        for directory in directories:
            if complete_killed(directory):
                print(f"{directory}: the run was killed; its bag is complete now")
        if len(directories) > 1:
            write_side_by_side(directories, out)
            print(out)
        else:
            if export:
                export_again(directories[0], export)
            print(render_report(directories[0]))
