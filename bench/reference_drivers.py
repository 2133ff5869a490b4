# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The gaps at which the reference drivers of UN R157 do not avoid a cut-in.

``python -m bench.reference_drivers [--jrc DIRECTORY] [--across 0.5 1.0 1.5] [--farthest 120]``
looks at cut-ins of vehicles with all pairs of speeds of the motorway and the town, from a gap of
1 m on, and prints for each driver from which to which gap it has a contact. DIRECTORY is a checkout
of the public code of the Joint Research Centre (github.com/ec-jrc/JRC-FSM): its models then drive
the same cut-ins, ten times in a second as there, beside the drivers of this project.

JRC-FSM takes a cut-in as perceived when the two overlap. ``careful, overlap`` perceives as it does,
``careful`` as the regulation says: 0.4 s after 0.375 m.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ros2_cosim.driving.controllers.reference_drivers import (
    CarefulDriver,
    CutIn,
    FuzzyDriver,
    ReferenceDriver,
    RegulationDriver,
    RssDriver,
    is_avoidable,
)

#: Rate of JRC-FSM [1/s], and its cars [m]: free way between the sides at the start, size.
RATE, ASIDE, WIDTH, LENGTH = 10, 1.6, 1.9, 4.3
#: Own speed and speeds that cut in [km/h].
SPEEDS = [(v, w) for v in (20, 40, 60) for w in range(10, v, 10)] + [
    (v, w) for v in (90, 110, 130) for w in range(10, v, 30)
]
#: Name -> driver, and check and reaction of JRC-FSM.
DRIVERS: dict[str, tuple[Callable[[], ReferenceDriver], str]] = {
    "careful, overlap": (lambda: CarefulDriver(ASIDE - 1e-9, 0.0), "CC"),
    "careful": (CarefulDriver, "CC"),
    "FSM": (FuzzyDriver, "FSM"),
    "RSS": (RssDriver, "RSS"),
    "Reg157": (RegulationDriver, "Reg157"),
}
_CUT_IN = ("CC", "Reg157")


def ours(name: str, speed: int, other: int, across: float, gap: int) -> bool:
    """Whether a driver of this project has a contact."""
    cut_in = CutIn(
        speed / 3.6, other / 3.6, gap, lambda time: across * time, ASIDE + WIDTH, WIDTH, LENGTH
    )
    return not is_avoidable(cut_in, DRIVERS[name][0](), 1.0 / RATE)


class Jrc:
    """The models of a checkout of JRC-FSM.

    :raises SystemExit: it is another directory
    """

    def __init__(self, directory: Path) -> None:
        if not (directory / "utility" / "models.py").is_file():
            sys.exit(f"{directory}: found no utility/models.py; allowed is a checkout of JRC-FSM")
        # It is only for speed that JRC-FSM needs numba.
        plain: Any = ModuleType("numba")
        plain.njit = lambda function: function
        sys.modules.setdefault("numba", plain)
        sys.path.insert(0, str(directory))
        self._models: Any = import_module("utility.models")
        self._movement: Any = import_module("utility.movement")

    def contact(self, name: str, speed: int, other: int, across: float, gap: int) -> bool:
        """Whether a model of JRC-FSM has a contact, as its comparison finds it."""
        model, steps = DRIVERS[name][1], 350
        suffix = "_cut_in" if model in _CUT_IN else ""
        check = getattr(self._models, f"{model}_check_safety{suffix}")
        react = getattr(self._models, f"{model}_react")
        profile = self._movement.create_profile_cutting_in
        cutter = profile((gap + LENGTH, ASIDE + WIDTH), other / 3.6, -across, steps, RATE)
        ego = profile((0.0, 0.0), speed / 3.6, 0, steps, RATE)
        for vehicle in (cutter, ego):
            vehicle.width, vehicle.length = WIDTH, LENGTH
        ego.large_TTC = False
        for step in range(steps - 1):
            ego.cfs = ego.pfs = 0
            self._movement.control(ego, cutter, RATE, check, react, step)
            if ego.large_TTC or ego.crash:
                break
        return bool(ego.crash)


def ranges(gaps: Sequence[int]) -> str:
    """Whole numbers as ranges, as 1-9, 14."""
    found: list[list[int]] = []
    for gap in gaps:
        if found and found[-1][1] == gap - 1:
            found[-1][1] = gap
        else:
            found.append([gap, gap])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found) or "none"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, and at its end how often both differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jrc", type=Path, help="checkout of JRC-FSM")
    parser.add_argument("--across", type=float, nargs="+", default=[0.5, 1.0, 1.5], help="[m/s]")
    parser.add_argument("--farthest", type=int, default=120, help="largest gap [m]")
    given = parser.parse_args(arguments)
    jrc = None if given.jrc is None else Jrc(given.jrc)
    counts = {name: [0, 0, 0] for name in DRIVERS}
    print(
        "| km/h | m/s across | Driver | Contact at a gap of, m | JRC-FSM |\n|---|---|---|---|---|"
    )
    for across in given.across:
        for speed, other in SPEEDS:
            for name in DRIVERS:
                case = (name, speed, other, across)
                gaps = range(1, given.farthest + 1)
                here = [gap for gap in gaps if ours(*case, gap)]
                there = None
                if jrc is not None:
                    there = [gap for gap in gaps if jrc.contact(*case, gap)]
                    counts[name][1] += len(set(here) - set(there))
                    counts[name][2] += len(set(there) - set(here))
                counts[name][0] += len(gaps)
                beside = "" if there is None else ranges(there)
                print(f"| {speed}, {other} | {across} | {name} | {ranges(here)} | {beside} |")
    for name, (cases, alone, only_there) in counts.items():
        if jrc is not None:
            print(f"{name}: {cases} cut-ins, contact here alone {alone}, there alone {only_there}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
