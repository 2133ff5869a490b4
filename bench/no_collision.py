# SPDX-License-Identifier: Apache-2.0
"""No collision with the emergency brake on: laws x V2V x noise x seeds, in two scenarios.

``python bench/no_collision.py --seeds 20`` prints a line for each combination, and ends with code 1
if there was a contact. The scenarios are ``roadblock`` and ``cut_in`` of the library.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from itertools import product
from pathlib import Path

from ros2_cosim.run.inproc import run_inproc
from ros2_cosim.scenario.library import library_file
from ros2_cosim.scenario.schema import load_scenario

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


def contacts(name: str, law: str, loss: float, noise: bool, seed: int) -> tuple[int, float]:
    """Contacts of a run, and its smallest gap [m]."""
    changes = [f"parameters.law={law}", f"platoon.v2v.loss={loss}", f"seed={seed}"]
    changes.append(f"platoon.time_gap={LAWS[law]}")
    if not noise:
        changes.append(f"platoon.sensor.parameters={QUIET}")
    with tempfile.TemporaryDirectory() as directory:
        scenario = load_scenario(library_file(name), changes)
        summary = run_inproc(scenario, Path(directory), record=False)
    return summary.collisions or 0, summary.min_gap_m or 0.0


def main() -> int:
    """Run all combinations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--laws", nargs="*", default=list(LAWS))
    options = parser.parse_args()
    failed = 0
    for name, law, loss, noise in product(SCENARIOS, options.laws, (0.0, 1.0), (True, False)):
        runs = [contacts(name, law, loss, noise, seed) for seed in range(1, options.seeds + 1)]
        total = sum(count for count, _ in runs)
        failed += total
        radio, sensor = "lost" if loss else "on", "on" if noise else "off"
        print(
            f"{name:10} {law:24} V2V {radio:4} noise {sensor:3} contacts {total}  "
            f"smallest gap {min(gap for _, gap in runs):.2f} m",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
