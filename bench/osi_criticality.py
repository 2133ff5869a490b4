# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Criticality of runs as others compute it from their OSI traces, beside that of this project.

``python -m bench.osi_criticality --peer PYTHON`` runs scenarios of the library, writes them as OSI
traces, and lets omega-prime (package ``omega-prime`` 0.3.7, with ``betterosi`` 0.9.0) read them in
the environment of PYTHON. It prints one line for each pair of vehicles; it ends with code 1 if a
figure differs by more than the steps of the trace explain.

omega-prime measures from centre to centre, along the way of the vehicle behind, and this project
from bumper to bumper, along the lane: half of both lengths lies between.

Without ``--peer`` the traces are read by this program alone, with the same formulas.

With it, ``--crossings N`` also compares the post-encroachment times of N runs of the town whose
vehicles do not stop at red lights. omega-prime calls them time gaps, between boxes that overlap.
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.driving.measures.recorded_encounters import recorded_encounters
from ros2_cosim.world.map.frames import forward_axis

SCENARIOS = ("braking", "cut_in")
#: Of the trace [s].
STEP = 0.05
#: Of all vehicles in these scenarios [m].
LENGTH = 4.792
#: Sine of the heading of a vehicle that does not change its lane.
STRAIGHT = 0.005
#: Largest difference of a distance: float32 of the simulator, and lanes that bend [m].
NEAR = 0.02

#: Run by the other interpreter: what omega-prime finds for one vehicle.
PEER = """
import json, sys, warnings
warnings.simplefilter("ignore")
import omega_prime
from omega_prime.metrics import MetricManager
recording = omega_prime.Recording.from_file(sys.argv[1], apply_proj=False)
_, found = MetricManager().compute(recording, ego_id=int(sys.argv[2]))
json.dump(found["ttc_and_thw"].to_dicts(), sys.stdout)
"""

#: The same for the least time gap of a pair.
GAPS = """
import json, sys, warnings
warnings.simplefilter("ignore")
import omega_prime
import polars
from omega_prime.metrics import MetricManager, distance_traveled, timegaps_and_min_timegaps, vel
recording = omega_prime.Recording.from_file(sys.argv[1], apply_proj=False)
pair = [int(number) for number in sys.argv[2:]]
recording._df = recording._df.filter(polars.col("idx").is_in(pair))
manager = MetricManager(metrics=[vel, distance_traveled, timegaps_and_min_timegaps])
_, found = manager.compute(recording, ego_id=pair[0], time_buffer=10e9)
json.dump(found["min_timegaps"].to_dicts(), sys.stdout)
"""
CROSSING = (
    "duration=20s",
    "platoon.lights=false",
    "parameters.traffic=60",
    "parameters.speed=9",
    "bag.exports.osi={period: 20ms, lanes: none}",
)


class Figures(NamedTuple):
    """What one pair has at one time, from centre to centre [s]."""

    ttc: float | None
    headway: float


class Compared(NamedTuple):
    """A vehicle and those ahead of it: times that were compared, and the largest differences of
    THW and TTC, times the speed that the distance was divided by [m].

    ``elsewhere`` counts times at which the two look at different vehicles. ``unseen`` counts those
    at which the least TTC is that of a vehicle that omega-prime leaves out, because it is more than
    2 s ahead, or at which one changes its lane: the TTC of this project is then that of two boxes
    that move across each other's way, and that of omega-prime looks along the way alone.
    """

    scenario: str
    ego: str
    times: int
    headway: float
    ttcs: int
    ttc: float
    elsewhere: int
    unseen: int


def by_peer(python: str, trace: Path, ego: int) -> dict[int, dict[int, Figures]]:
    """Time [ns] -> other vehicle -> figures, by omega-prime."""
    figures: dict[int, dict[int, Figures]] = {}
    for row in _answer(python, PEER, trace, ego):
        if row["THW"] is not None:
            there = figures.setdefault(row["total_nanos_ego"], {})
            there[row["idx"]] = Figures(row["TTC"], row["THW"])
    return figures


def _answer(python: str, program: str, trace: Path, *numbers: int) -> Any:
    command = [python, "-c", program, str(trace), *map(str, numbers)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def read_here(trace: Path, ego: int) -> dict[int, dict[int, Figures]]:
    """The same on a straight road along x, by the package of the standard."""
    from osi3.osi_groundtruth_pb2 import GroundTruth

    data, at = trace.read_bytes(), 0
    found: dict[int, dict[int, Figures]] = {}
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        truth = GroundTruth.FromString(data[at + 4 : at + 4 + length])
        at += 4 + length
        objects = {m.id.value: m.base for m in truth.moving_object}
        own = objects.pop(ego)
        if own.velocity.x <= 0.0:
            continue
        there = found.setdefault(truth.timestamp.seconds * 10**9 + truth.timestamp.nanos, {})
        for number, base in objects.items():
            distance = base.position.x - own.position.x
            closing = own.velocity.x - base.velocity.x
            beside = abs(base.position.y - own.position.y) > 2.5
            if distance > 0.0 and not beside:
                ttc = distance / closing if closing > 0.0 else None
                there[number] = Figures(ttc, distance / own.velocity.x)
    return found


def _messages(run: Path) -> Iterator[tuple[list[str], int, Any]]:
    """Topic, stamp and record of each message in the bag."""
    codecs: dict[str, Any] = {}
    for message in read_bag(run / "bag"):
        if message.type_name not in codecs:
            codecs[message.type_name] = CATALOGUE.codec(message.type_name)
        record = codecs[message.type_name].decode(message.data)[2]
        yield message.topic.strip("/").split("/"), message.stamp, record


def _numbers(vehicles: Mapping[str, Any]) -> dict[str, int]:
    """Vehicle -> its number in the traces."""
    numbers = {name: number for number, name in enumerate(vehicles, start=1)}
    return numbers | {name: v["id"] for name, v in vehicles.items() if v.get("id")}


def crossing(seed: int, run: Path, python: str) -> tuple[str, float, float]:
    """Whose post-encroachment time is the least of a run, and that time here and there [s]."""
    loaded = load_scenario(library_file("town"), [*CROSSING, f"seed={seed}"])
    run_inproc(loaded, run)
    ours = recorded_encounters(run, judged=True, traffic=True)
    for message in _messages(run):
        ours.take(*message)
    least, numbers = ours.least_pet, _numbers(loaded.scene["vehicles"])
    assert least.pair is not None, "no two ways cross"
    pair = sorted(least.pair, key=lambda name: name not in numbers)
    (trace,) = (run / "osi").glob("*_gt_*.osi")
    idx = [numbers.get(name) or int(name.split()[-1]) for name in pair]
    (row,) = _answer(python, GAPS, trace, *idx)
    return " and ".join(pair), least.value, abs(row["min_timegap"])


def compare(scenario: str, run: Path, python: str | None) -> Iterator[Compared]:
    """Run a scenario, and compare each vehicle of its platoon but the first."""
    loaded = load_scenario(library_file(scenario), [f"bag.exports.osi.period={STEP}s"])
    run_inproc(loaded, run)
    (trace,) = (run / "osi").glob("*_gt_*.osi")
    ours = recorded_encounters(run, judged=True, traffic=False)
    places: dict[str, dict[int, tuple[float, float, float]]] = {}
    for parts, stamp, record in _messages(run):
        ours.take(parts, stamp, record)
        if parts[1:] == ["odometry"]:
            cos, sin = forward_axis(*record[3:7])  # the road leads along x
            along = record.vx * cos - record.vy * sin
            places.setdefault(parts[0], {})[stamp] = record.x, along, sin
    ours.finish()
    numbers = _numbers(loaded.scene["vehicles"])
    names = {number: name for name, number in numbers.items()}
    for ego in loaded.scene["platoon"][1:]:
        if python is None:
            theirs = read_here(trace, numbers[ego])
        else:
            theirs = by_peer(python, trace, numbers[ego])
        yield _compared(scenario, ego, ours, theirs, places, names)


def _compared(
    scenario: str,
    ego: str,
    ours: Any,
    theirs: Mapping[int, Mapping[int, Figures]],
    places: Mapping[str, Mapping[int, tuple[float, float, float]]],
    names: Mapping[int, str],
) -> Compared:
    series = ours.gap[ego]
    ttcs = dict(zip(ours.ttc[ego].times, ours.ttc[ego].values, strict=True))
    times = compared = elsewhere = unseen = 0
    worst = worst_ttc = 0.0
    for second, gap in zip(series.times, series.values, strict=True):
        time = round(second * 1e9)
        speed = places[ego][time][1]
        rows = theirs.get(time)
        if not rows or gap != gap or speed < 1.0:
            continue
        other = min(rows, key=lambda number: abs(rows[number].headway * speed - LENGTH - gap))
        off = abs(rows[other].headway * speed - LENGTH - gap)
        if off > NEAR:
            elsewhere += 1
            continue
        times += 1
        worst = max(worst, off)
        ttc = ttcs[second]
        if ttc != ttc:
            continue
        off = inf
        for number, row in rows.items():
            closing = speed - places[names[number]][time][1]
            if row.ttc is not None and closing > 0.1:
                off = min(off, abs((row.ttc - ttc) * closing - LENGTH))
        turned = max(abs(place[time][2]) for place in places.values()) > STRAIGHT
        if off > NEAR and turned or _is_of_another(ttc, time, ego, rows, places, names):
            unseen += 1
        elif off < inf:
            worst_ttc, compared = max(worst_ttc, off), compared + 1
    return Compared(scenario, ego, times, worst, compared, worst_ttc, elsewhere, unseen)


def _is_of_another(
    ttc: float,
    time: int,
    ego: str,
    rows: Mapping[int, Figures],
    places: Mapping[str, Mapping[int, tuple[float, float, float]]],
    names: Mapping[int, str],
) -> bool:
    """Whether a TTC is that to a vehicle that has no row, along a straight road."""
    x, v, _ = places[ego][time]
    for number, name in names.items():
        other, slower, _ = places[name][time]
        closing = v - slower
        if number not in rows and closing > 0.0:
            if abs(other - x - LENGTH - ttc * closing) < NEAR:
                return True
    return False


def main() -> int:
    """Compare all; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--peer", help="Python with omega-prime")
    parser.add_argument("--crossings", type=int, default=0, help="runs of the town (0)")
    parser.add_argument("--scenarios", nargs="+", default=SCENARIOS)
    given = parser.parse_args()
    bad = False
    print("scenario  vehicle  THW  differs [m]  TTC  differs [m]  elsewhere  unseen")
    for scenario in given.scenarios:
        with tempfile.TemporaryDirectory() as directory:
            for row in compare(scenario, Path(directory), given.peer):
                print(
                    f"{row.scenario}  {row.ego}  {row.times}  {row.headway:.4f}  {row.ttcs}  "
                    f"{row.ttc:.4f}  {row.elsewhere}  {row.unseen}",
                    flush=True,
                )
                bad |= row.times < 20 or row.ttc > NEAR
    for seed in range(1, given.crossings + 1) if given.peer else ():
        with tempfile.TemporaryDirectory() as directory:
            pair, here, there = crossing(seed, Path(directory), given.peer)
        print(f"town {seed}  {pair}  post-encroachment {here:.2f}  {there:.2f}", flush=True)
        bad |= abs(here - there) > 0.001
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
