# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Files of OpenSCENARIO XML, as others have written them: which of them run, and to which end.

``python -m bench.openscenario_files PLACE... [--out FILE]`` runs each ``.xosc`` file at or below
the places in shape ``inproc``, and prints how many had which outcome. Catalogues are left out.

- ``ended``: the stop trigger fired, or all stories are complete
- ``time is up``: the duration was over before that, see ``--duration``
- ``refused``: with its reasons, before anything has run
- ``failed``: with an error during the run
- ``crashed``: with another exception than those of this project

A distribution (ParameterValueDistribution) runs ``--rows`` of its rows, evenly spread from first
to last; the worst one counts. Those that do not run are listed singly, with their values.
With ``--maps`` a file that names a map of a simulator (``Town01``) has ``DIRECTORY/Town01.xodr``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from ros2_cosim.core.kernel.errors import ConfigurationError, CosimError
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.driving.openscenario.document import read_document
from ros2_cosim.lab.sweep.design import points_of
from ros2_cosim.lab.sweep.distributions import is_distribution
from ros2_cosim.lab.sweep.settings import load_sweep

#: From the best to the worst.
OUTCOMES = ("ended", "time is up", "refused", "failed", "crashed")
_PLACE = re.compile(r"^.*?, line \d+: ")


def is_catalogue(file: Path) -> bool:
    """Whether a file has entries for others, and nothing to run."""
    try:
        return read_document(file).find("Catalog") is not None
    except ConfigurationError:
        return False  # its run says what is wrong


def files_of(places: Iterable[Path]) -> Iterator[Path]:
    """The files at and below places, without catalogues, in order."""
    for place in places:
        for file in sorted(place.rglob("*.xosc")) if place.is_dir() else [place]:
            if not is_catalogue(file):
                yield file


def outcome_of(
    file: Path, changes: tuple[str, ...] = (), rows: int = 2, maps: Path | None = None
) -> dict[str, Any]:
    """Run a file: its ``outcome``, its ``reasons``, and what has happened.

    :param rows: how many of a distribution's rows run, its first and its last one among them
    :param maps: where the roads of files are that name a map of a simulator alone
    """
    if maps is not None and (named := _map_of(file)) is not None:
        changes = (*changes, f"openscenario.map={(maps / named).resolve()}.xodr")
    if is_distribution(file):
        return _of_distribution(file, changes, rows)
    return _of_scenario(file, changes)


def _map_of(file: Path) -> str | None:
    """The map that a file names; None: it is that of a file, or cannot be read."""
    try:
        logic = read_document(file).find("RoadNetwork", "LogicFile")
        name = "" if logic is None else Path(logic.text("filepath", "")).name
    except ConfigurationError:
        return None
    return None if not name or name.endswith(".xodr") else name


def spread(points: Sequence[Any], count: int) -> list[tuple[int, Any]]:
    """Evenly spread points from the first to the last, with their numbers from 0."""
    last = len(points) - 1
    numbers = dict.fromkeys(round(i * last / max(count - 1, 1)) for i in range(count))
    return [(number, points[number]) for number in numbers]


def _of_distribution(file: Path, changes: tuple[str, ...], rows: int) -> dict[str, Any]:
    """The worst outcome of a distribution, its number of ``rows``, and those ``tried``."""
    try:
        settings = load_sweep(file).settings
        points = points_of(settings.design, settings.parameters)
    except ConfigurationError as error:
        return {"file": str(file), "outcome": "refused", "reasons": [str(error)]}
    found = []
    for number, point in spread(points, rows):
        values = [
            f"{place}={json.dumps(value)}"
            for name, value in point.items()
            for place in settings.parameters[name].places or (name,)
        ]
        row = _of_scenario(file.parent / settings.scenario, (*changes, *values))
        found.append({**row, "row": number, "values": point})
    worst = max(found, key=lambda row: OUTCOMES.index(row["outcome"]))
    return {**worst, "file": str(file), "rows": len(points), "tried": found}


def _of_scenario(file: Path, changes: tuple[str, ...]) -> dict[str, Any]:
    row: dict[str, Any] = {"file": str(file), "outcome": "", "reasons": []}
    warnings.simplefilter("ignore")
    try:
        scenario = load_scenario(file, changes)
        with tempfile.TemporaryDirectory() as directory:
            summary = run_inproc(scenario, Path(directory), record=False)
    except ScenarioError as error:
        return {**row, "outcome": "refused", "reasons": error.faults}
    except CosimError as error:
        refused = isinstance(error, ConfigurationError)
        return {**row, "outcome": "refused" if refused else "failed", "reasons": [str(error)]}
    except Exception:
        return {**row, "outcome": "crashed", "reasons": [traceback.format_exc()[-1500:]]}
    figures = (summary.figures or {}).get("storyboard", {})
    return {
        **row,
        "outcome": "time is up" if summary.end_reason.startswith("end of the run") else "ended",
        "end_s": summary.sim_time_s,
        "contacts": figures.get("collisions"),
        "events": figures.get("events"),
        "travelled_m": figures.get("travelled_m"),
    }


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Lines: how many had which outcome, and the reasons by their number, without their places."""
    counts = Counter(row["outcome"] for row in rows)
    lines = [f"{outcome}: {counts[outcome]}" for outcome in OUTCOMES if counts[outcome]]
    lines.append(f"rows of distributions: {sum(row.get('rows', 0) for row in rows)}")
    tried = [(row, one) for row in rows for one in row.get("tried", ())]
    ran = sum(one["outcome"] in OUTCOMES[:2] for _, one in tried)
    lines[-1] += f", tried: {len(tried)}, of which ran: {ran}"
    reasons: Counter[str] = Counter()
    for row in rows:
        reasons.update({_PLACE.sub("", reason)[:180] for reason in row["reasons"]})
    lines += [f"  {count} x {reason}" for reason, count in reasons.most_common()]
    for row, one in tried:
        if one["outcome"] not in OUTCOMES[:2]:
            name = f"{Path(row['file']).name}, row {one['row'] + 1} of {row['rows']}"
            lines.append(f"  {name}, {one['values']}: {one['reasons'][0]}")
    return lines


def main() -> int:
    """Run all files, and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("places", nargs="+", type=Path, help="files and directories")
    parser.add_argument("--duration", default="120s", help="longest run (120s)")
    parser.add_argument("--rows", type=int, default=2, help="rows of each distribution (2)")
    parser.add_argument("--maps", type=Path, help="directory of NAME.xodr for each named map")
    parser.add_argument("--workers", type=int, default=1, help="processes (1)")
    parser.add_argument("--out", type=Path, help="all results, one JSON document a line")
    options = parser.parse_args()
    changes = (f"duration={options.duration}",)
    run = partial(outcome_of, changes=changes, rows=options.rows, maps=options.maps)
    rows = []
    # A process for each: what one leaves behind is not there for the next.
    with get_context("spawn").Pool(options.workers, maxtasksperchild=20) as pool:
        for row in pool.imap(run, files_of(options.places)):
            rows.append(row)
            print(f"{row['outcome']}: {row['file']}", *row["reasons"][:1], sep="  ", flush=True)
    if options.out is not None:
        options.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print("\n".join(table(rows)))
    return 1 if any(row["outcome"] in ("failed", "crashed") for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
