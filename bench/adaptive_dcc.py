# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Adaptive congestion control: stations that always have a frame, and stations that send CAMs.

``python -m bench.adaptive_dcc`` prints channel load and delta of 5 to 200 stations, beside the
fixed point of the control, and the same of vehicles that send CAMs at 25 m/s: with and without
control. It ends with code 1 if a saturated channel is more than 1 % off the fixed point.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ros2_cosim.core.documents.settings import read_section
from ros2_cosim.core.kernel.participant import ModelContext, Sample, Step
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.messages.records import Acceleration, Odometry
from ros2_cosim.driving.v2v.congestion import ALPHA, BETA, LEAST, MOST, TARGET
from ros2_cosim.driving.v2v.radio import RadioSettings, SharedChannel
from ros2_cosim.driving.v2v.v2v import V2VChannel

STATIONS = (5, 10, 20, 50, 100, 150, 200)
#: With frames of 1 ms (750 byte) no station would send oftener than every 25 ms.
FRAME_BYTES = 750
PERIOD = 25_000_000
#: Of a CAM without path on the air, with its security [byte].
CAM_BYTES = 211
SPEED = 25.0


class Load(NamedTuple):
    """Channel load and delta [1], the means of the last 20 s."""

    busy: float
    delta: float


def fixed_point(stations: int) -> Load:
    """Where saturated stations are to end."""
    delta = min(max(BETA * TARGET / (ALPHA + stations * BETA), LEAST), MOST)
    return Load(stations * delta, delta)


def saturated(stations: int, seconds: int, seed: int = 1) -> Load:
    """What they come to after a time."""
    settings = RadioSettings(
        others=stations, others_rate="saturated", frame_bytes=FRAME_BYTES, others_distance=50.0
    )
    channel = SharedChannel(settings, (), PERIOD, partial(RandomStream, seed, "dcc"))
    assert channel.saturated is not None
    periods = seconds * 1_000_000_000 // PERIOD
    busy, deltas = [], []
    for _ in range(periods):
        channel.begin({}, {})
        busy.append(channel.others_busy)
        deltas.append(channel.saturated.control.delta)
    last = min(periods, 20_000_000_000 // PERIOD)
    return Load(sum(busy[-last:]) / last, sum(deltas[-last:]) / last)


def with_cams(stations: int, seconds: int, control: bool, seed: int = 1) -> tuple[Load, float]:
    """Load, delta (0 without control), and CAMs of a vehicle in a second."""
    names = [f"v{number}" for number in range(stations)]
    vehicles = {n: {"id": k, "length": 4.8, "width": 2.0} for k, n in enumerate(names, start=1)}
    links = list(zip(names, [*names[1:], names[0]], strict=True))
    parameters = {
        "links": links,
        "triggering": "cam",
        "radio": {"frame_bytes": CAM_BYTES},
        "congestion_control": "adaptive" if control else False,
    }
    context = ModelContext(
        name="v2v", parameters=parameters, scene={"vehicles": vehicles}, run_seed=seed,
        base_directory=Path(), period_ns=PERIOD,
    )  # fmt: skip
    model = V2VChannel(context, read_section(V2VChannel.Parameters, parameters, place="v2v"))
    sent = 0
    still = Sample(0, 0, Acceleration(0.0, 0.0, 0.0))
    periods = seconds * 1_000_000_000 // PERIOD
    for k in range(1, periods + 1):
        latest: dict[str, Any] = {}
        for number, name in enumerate(names):
            # Four lanes within 250 m: all hear each other. Each started at its own place.
            x = SPEED * (k * PERIOD * 1e-9) + 250.0 * number / stations
            place = (x, 3.5 * (number % 4), 0.0)
            twist = (SPEED, 0.0, 0.0, 0.0, 0.0, 0.0)
            latest[f"odometry/{name}"] = Sample(0, 0, Odometry(*place, 0.0, 0.0, 0.0, 1.0, *twist))
            latest[f"acceleration/{name}"] = still
        before = model.received + model.lost
        # They come up one after the other within the first second.
        up = {n for i, n in enumerate(names) if i * 1_000_000_000 // stations < k * PERIOD}
        latest |= {f"odometry/{name}": None for name in names if name not in up}
        model.activate(Step(k * PERIOD, {}, latest))
        sent += model.received + model.lost - before
    figures = model.report().figures or {}
    load = Load(figures["busy_ratio"], figures.get("duty_cycle", 0.0))
    return load, sent / stations / seconds


def main() -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--stations", type=int, nargs="+", default=STATIONS)
    parser.add_argument("--seconds", type=int, default=60)
    given = parser.parse_args()
    print(
        "| stations | load | fixed point | delta | fixed point | off |\n"
        "|---:|---:|---:|---:|---:|---:|"
    )
    worst = 0.0
    for count in given.stations:
        found, wanted = saturated(count, given.seconds), fixed_point(count)
        off = max(abs(a / b - 1.0) for a, b in zip(found, wanted, strict=True))
        worst = max(worst, off)
        print(
            f"| {count} | {found.busy:.4f} | {wanted.busy:.4f} | {found.delta:.6f} | "
            f"{wanted.delta:.6f} | {100.0 * off:.2f} % |"
        )
    print("\n| vehicles with CAMs | load | CAMs/s | load, controlled | CAMs/s | delta |")
    print("|---:|---:|---:|---:|---:|---:|")
    for count in given.stations:
        (free, rate), (held, slow) = (with_cams(count, 10, control) for control in (False, True))
        print(
            f"| {count} | {free.busy:.4f} | {rate:.2f} | {held.busy:.4f} | {slow:.2f} | "
            f"{held.delta:.4f} |"
        )
    return int(worst > 0.01)


if __name__ == "__main__":
    sys.exit(main())
