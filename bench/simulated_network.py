# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The protocol of a run over a simulated network, for as many seeds as there is time.

Each seed is a whole run, clock, participants and recorder, in one thread (``test/simulation/``).
It has to end by the rules. A session that does not is printed; repeat it with ``--seed N``.

    python bench/simulated_network.py [--minutes 60] [--first 0] [--kind kill]
    python bench/simulated_network.py --seed 1114
    python bench/simulated_network.py --faults
    python bench/simulated_network.py --interleavings 3 [--minutes 60]
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter
from pathlib import Path

_HERE = Path(__file__).resolve().parent
# Run as a file: the project and its tests lie beside this directory.
sys.path[:0] = [str(_HERE.parent), str(_HERE.parent / "test")]

from simulation.disturbances import HARMFUL, HARMLESS  # noqa: E402
from simulation.faults import FAULTS  # noqa: E402
from simulation.interleavings import Explorer, small_systems  # noqa: E402
from simulation.judge import run_seeds as judged  # noqa: E402

#: Of a fault that so many seeds do not find, none will.
MOST_TRIED = 5000


def run_seeds(first: int, kind: str | None, minutes: float, most: int | None) -> int:
    """Run seeds until the time is over; return how many broke a rule."""
    began, used = time.perf_counter(), time.process_time()
    ends: Counter[tuple[str, str]] = Counter()
    events = 0
    count = 0
    seeds = itertools.count(first) if most is None else range(first, first + most)
    for verdict in judged(seeds, kind):
        count += 1
        events += verdict.events
        if verdict.wrong:
            print(f"seed {verdict.seed} ({verdict.kind}): {verdict.wrong}", flush=True)
        end = "wrong" if verdict.wrong else "stopped" if verdict.stop else "complete"
        ends[verdict.kind, end] += 1
        if time.perf_counter() - began > 60 * minutes:
            break
    elapsed, used = time.perf_counter() - began, time.process_time() - used
    print("\n| disturbance | complete | stopped for a stated cause | wrong |\n|---|---|---|---|")
    for name in (*HARMLESS, *HARMFUL):
        row = [str(ends[name, end]) for end in ("complete", "stopped", "wrong")]
        print(f"| {name} | {' | '.join(row)} |")
    wrong = sum(number for (_, end), number in ends.items() if end == "wrong")
    print(f"\n{count} seeds in {elapsed:.0f} s ({used:.0f} s of CPU): ", end="")
    print(f"{count / used:.0f} seeds per second of CPU, ", end="")
    print(f"{events / max(count, 1):.0f} events each, {wrong} wrong")
    return wrong


def explore(size: int, minutes: float) -> int:
    """Explore all interleavings of systems until the time is over; return how many are wrong."""
    began, used = time.perf_counter(), time.process_time()
    systems = states = steps = most = wrong = 0
    how = "all"
    for system in small_systems(size):
        if time.perf_counter() - began > 60 * minutes:
            how = "the first"
            break
        systems += 1
        try:
            found = Explorer(system).explore()
        except AssertionError as error:
            wrong += 1
            print(f"{system}: {error}", flush=True)
            continue
        states += found.states
        steps += found.steps
        most = max(most, found.states)
    elapsed, used = time.perf_counter() - began, time.process_time() - used
    print(
        f"{how} {systems} systems of {size} participants in {elapsed:.0f} s ({used:.0f} s of CPU)"
    )
    print(f"{states} states, at most {most} of one system, {steps} steps, {wrong} wrong")
    return wrong


def search(most: int) -> int:
    """Look for the first seed that finds each planted fault; return how many none finds."""
    missed = 0
    print("| fault | disturbances | seeds tried | found by |\n|---|---|---:|---:|")
    for fault in FAULTS:
        tried, verdict = fault.search(most)
        missed += verdict is None
        seed = "none" if verdict is None else verdict.seed
        print(f"| {fault.name} | {fault.kind or 'any'} | {tried} | {seed} |", flush=True)
    return missed


def main() -> int:
    """Return 1 if a rule was broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--seeds", type=int, help="largest number of seeds")
    parser.add_argument("--seed", type=int, help="this one only")
    parser.add_argument("--kind", choices=(*HARMLESS, *HARMFUL), help="of disturbances")
    parser.add_argument("--interleavings", type=int, choices=(1, 2, 3), metavar="SIZE")
    parser.add_argument("--faults", action="store_true", help="plant faults, find seeds for them")
    options = parser.parse_args()
    if options.faults:
        return int(search(options.seeds or MOST_TRIED) > 0)
    if options.interleavings:
        return int(explore(options.interleavings, options.minutes) > 0)
    first, most = options.first, options.seeds
    if options.seed is not None:
        first, most = options.seed, 1
    return int(run_seeds(first, options.kind, options.minutes, most) > 0)


if __name__ == "__main__":
    sys.exit(main())
