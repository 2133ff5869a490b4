# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""No collision with the emergency brake on: laws x V2V x sensor noise x seeds, two scenarios.

``python -m bench.no_collision --seeds 20 --out FILE`` runs each combination that FILE does not have
yet, two at a time, and prints a table of all of them; it ends with code 1 if there was a contact.
With ``--seconds`` it stops in time: call it again to go on.

The scenarios are ``roadblock`` and ``cut_in`` of the library. Each seed draws when V2V is lost,
and how the vehicle cuts in: of all cut-ins that the reference driver of UN R157 avoids.
"""

from __future__ import annotations

import json
import math
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from bench.combinations import parser_of, rows_of
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.driving.controllers.reference_drivers import CutIn, is_avoidable

SCENARIOS = ("roadblock", "cut_in")
#: Car-following laws with the time gaps that they are made for [s].
LAWS = {
    "mpc_cacc": 0.6,
    "path_cacc": 0.6,
    "ploeg_cacc": 0.6,
    "leader_predecessor_cacc": 0.6,
    "rajamani_acc": 1.1,
    "path_acc": 1.1,
    "idm": 1.5,
    "gipps": 1.1,
}
QUIET = "{distance_noise: 0.0, speed_noise: 0.0, lateral_noise: 0.0}"
#: Speed of the platoon in the scenario of the cut-in [m/s].
SPEED = 25.0
#: Slowest vehicle that cuts in [m/s], and how far ahead [m]: there is room for it between two
#: vehicles of the platoon, which keep 1.4 s there.
SLOWEST, NEAREST, FARTHEST = 10.0, 6.0, 30.0
#: A change of lane by 3.5 m takes 3 s.
LANE, CHANGE_S = 3.5, 3.0


@dataclass(frozen=True)
class Combination:
    """One run."""

    scenario: str
    law: str
    v2v: str
    noise: bool
    seed: int


def shift(time: float) -> float:
    """How far a vehicle that changes over has come across after a time [m]: with minimum jerk."""
    share = min(time / CHANGE_S, 1.0)
    return LANE * share**3 * (10.0 - 15.0 * share + 6.0 * share**2)


def cut_in_of(seed: int) -> CutIn:
    """The cut-in of a seed: uniform among those that the reference driver avoids."""
    draws = random.Random(f"cut-in {seed}")
    while True:
        slower, gap = draws.uniform(SLOWEST, SPEED - 1.0), draws.uniform(NEAREST, FARTHEST)
        found = CutIn(SPEED, round(slower, 2), round(gap, 2), shift)
        if is_avoidable(found):
            return found


def changes_of(chosen: Combination) -> list[str]:
    """What is set in the scenario."""
    changes = [f"parameters.law={chosen.law}", f"seed={chosen.seed}"]
    if chosen.scenario == "cut_in":
        given = cut_in_of(chosen.seed)
        changes += [f"parameters.slower={given.other_speed}", f"parameters.gap={given.gap}"]
        # No faster than the reference driver: leader_predecessor_cacc would close up with 27 m/s.
        changes.append(f"platoon.controller.set_speed={SPEED}")
    else:
        changes.append(f"platoon.time_gap={LAWS[chosen.law]}")
    if chosen.v2v == "lost":
        # From a time on, that of the cut-in and of the braking included, no message arrives.
        since = random.Random(f"loss {chosen.seed}").uniform(0.0, 20.0)
        lost = {
            f"{port}{number}": {
                "port": f"cacc{number}.{port}", "kind": "drop", "from": f"{since:.3f}s",
            }
            for port, number in heard(chosen.scenario)
        }  # fmt: skip
        changes.append(f"faults={json.dumps(lost)}")
    if not chosen.noise:
        changes.append(f"platoon.sensor.parameters={QUIET}")
    return changes


def heard(scenario: str) -> list[tuple[str, int]]:
    """The inputs of the controllers that carry V2V messages."""
    followers = 3 if scenario == "roadblock" else 2
    return [("v2v_leader", n) for n in range(1, followers + 1)] + [
        ("v2v_predecessor", n) for n in range(2, followers + 1)
    ]


def run(chosen: Combination) -> dict[str, Any]:
    """Run a combination: contacts, smallest and last gaps, hardest braking of a follower."""
    with tempfile.TemporaryDirectory() as directory:
        scenario = load_scenario(library_file(chosen.scenario), changes_of(chosen))
        summary = run_inproc(scenario, Path(directory), record=False)
    referee = (summary.figures or {}).get("referee", {})
    return {
        **asdict(chosen),
        "contacts": summary.collisions or 0,
        "gap": summary.min_gap_m,
        "braking": max(referee.get("braking_peaks", [math.nan])[1:], default=math.nan),
        "ttc": referee.get("min_ttc_s"),
        "passed": summary.passed,
    }


def all_of(laws: list[str], seeds: int) -> Iterator[Combination]:
    """All combinations; seed after seed, so that a part of them says something of all laws."""
    for seed, name, law, v2v, noise in product(
        range(1, seeds + 1), SCENARIOS, laws, ("on", "lost"), (True, False)
    ):
        yield Combination(name, law, v2v, noise, seed)


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Lines of a Markdown table: one for each scenario, law and V2V."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["scenario"], row["law"], row["v2v"]].append(row)
    lines = [
        "| Scenario | Law | V2V | Runs | Contacts | Smallest gap [m] | Hardest braking [m/s²] |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for (scenario, law, v2v), some in sorted(groups.items()):
        contacts = sum(row["contacts"] for row in some)
        gap = min(row["gap"] for row in some if row["gap"] is not None)
        braking = max(row["braking"] for row in some)
        lines.append(
            f"| `{scenario}` | `{law}` | {v2v} | {len(some)} | {contacts} | {gap:.2f} "
            f"| {braking:.1f} |"
        )
    return lines


def main() -> int:
    """Run what is left, and print the table."""
    parser = parser_of(__doc__, 20)
    parser.add_argument("--laws", nargs="*", default=list(LAWS), choices=list(LAWS))
    options = parser.parse_args()
    rows = rows_of(
        all_of(options.laws, options.seeds), run, lambda row: bool(row["contacts"]), options
    )
    print("\n".join(table(rows)))
    print(f"{len(rows)} runs, {sum(bool(row['contacts']) for row in rows)} with a contact")
    return 1 if any(row["contacts"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
