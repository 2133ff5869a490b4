# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""VDS1 at rates from 50 Hz on, and JSON at up to 60 Hz: latency, jitter and loss.

``round trip``: from a command to the state that answers it, commands sent at the rate; VDS1 in
lock-step, JSON as ``POST /api/io`` over one connection. ``jitter``: of the states that the server
sends by its clock at the rate (JSON: as datagrams to a target), how far the time from simulated to
wall time is from its median. Medians have their interval, and ``p99`` stands for 99 of 100 values.
A rate is without loss if no state got lost, and the server moved no deadline.

    python -m bench.vds_rates [--binary 50 100 ...] [--text 10 30 60] [--seconds 10] [--json FILE]
"""

from __future__ import annotations

import argparse
import http.client
import json
import socket
import statistics
import struct
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.figures import Figure, counted, median_of, percentile, show
from bench.vds_realtime import PATIENCE_S, command, served

BINARY, TEXT = (50, 100, 200, 500, 1000, 2000), (10, 30, 60)
_NEVER_S = 3600.0


def paced(rate: int, count: int, call: Callable[[int], object]) -> list[float]:
    """Make calls at a rate; how long each took [us]."""
    took = []
    begun = time.perf_counter()
    for number in range(count):
        time.sleep(max(0.0, begun + number / rate - time.perf_counter()))
        started = time.perf_counter()
        call(number)
        took.append(1e6 * (time.perf_counter() - started))
    return took


def summed_up(name: str, values: list[float]) -> list[Figure]:
    """Median and 99th percentile of times [us]."""
    return [
        median_of(f"{name}, median", values, "us"),
        counted(f"{name}, p99", percentile(values, 0.99), "us"),
    ]


def jitter(name: str, lags: list[float]) -> list[Figure]:
    """How far the lags [s] are from their median."""
    middle = statistics.median(lags)
    return summed_up(f"{name}: jitter", [1e6 * abs(lag - middle) for lag in lags])


def binary_round_trip(rate: int, seconds: float) -> list[float]:
    """Commands in lock-step, each answered by a state [us]."""
    count = round(rate * seconds)
    with served(rate, seconds + 1.0, ["--lockstep"]) as (peer, port, _):
        peer.recv(2000)

        def exchange(number: int) -> None:
            data = command(number + 1, 0.0)
            peer.sendto(data, ("127.0.0.1", port))
            while struct.unpack_from("<L", peer.recv(2000), 8)[0] <= number:
                pass

        return paced(rate, count, exchange)


def binary_states(rate: int, seconds: float) -> tuple[list[float], int, int]:
    """Lags of states in a free run [s], states that were lost, deadlines that were moved."""
    lags, numbers = [], []
    with served(rate, seconds, ["--command-timeout", "0"]) as (peer, port, server):
        while True:
            try:
                data = peer.recv(2000)
            except TimeoutError:
                if server.poll() is None:
                    continue
                break
            now = time.monotonic()
            number, stamp = (struct.unpack_from(*at) for at in (("<L", data, 8), ("<d", data, 16)))
            lags.append(now - stamp[0])
            numbers.append(number[0])
            peer.sendto(command(len(lags), now), ("127.0.0.1", port))
            if stamp[0] > seconds - 0.5 / rate:
                break
        said, _ = server.communicate(timeout=PATIENCE_S)
    lost = round(seconds * rate) - numbers[0] + 1 - len(set(numbers))
    return lags, lost, int(json.loads(said)["timing"]["slips"])


def text_at(rate: int, seconds: float) -> tuple[list[float], list[float], int]:
    """Round trips of requests [us]; lags of the states at a target [s], and how many got lost."""
    further = ["--command-timeout", "0", "--dashboard", "0"]
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as target,
        served(rate, _NEVER_S, further) as (_, _, server),
    ):
        assert server.stderr is not None
        lines = iter(server.stderr.readline, "")
        url = next(line for line in lines if line.startswith("dashboard")).split("://")[1]
        connection = http.client.HTTPConnection(url.split("/")[0])
        target.bind(("127.0.0.1", 0))
        target.settimeout(PATIENCE_S)

        def post(path: str, **document: Any) -> None:
            body = json.dumps({"vehicle": "v0", **document})
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                raise SystemExit(f"{path}: {text.decode()}")

        took = paced(rate, round(rate * seconds), lambda _: post("/api/io", throttle=0.1))
        post("/api/io/targets", targets=[{"ip": "127.0.0.1", "port": target.getsockname()[1]}])
        lags: list[float] = []
        steps: list[int] = []
        while not steps or steps[-1] - steps[0] < rate * seconds - 1:
            state = json.loads(target.recv(65536))
            lags.append(time.monotonic() - state["time_s"])
            steps.append(state["step"])
        connection.close()
    return took, lags, steps[-1] - steps[0] + 1 - len(steps)


def measure(binary: Sequence[int], text: Sequence[int], seconds: float) -> list[Figure]:
    """All rates."""
    figures, whole = [], 0
    for rate in binary:
        name = f"VDS1, {rate} Hz"
        figures += summed_up(f"{name}: round trip", binary_round_trip(rate, seconds))
        lags, lost, slips = binary_states(rate, seconds)
        figures += jitter(name, lags)
        figures += [
            counted(f"{name}: states lost", lost),
            counted(f"{name}: deadlines moved", slips),
        ]
        whole = max(whole, rate if lost == slips == 0 else 0)
    figures.append(counted("VDS1: highest rate without loss", whole, "Hz"))
    for rate in text:
        name = f"JSON, {rate} Hz"
        took, lags, lost = text_at(rate, seconds)
        figures += summed_up(f"{name}: round trip", took)
        figures += jitter(name, lags)
        figures.append(counted(f"{name}: states lost", lost))
    return figures


def main() -> None:
    """Measure all rates."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", type=int, nargs="+", default=BINARY, metavar="HZ")
    parser.add_argument("--text", type=int, nargs="+", default=TEXT, metavar="HZ")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    show(measure(chosen.binary, chosen.text, chosen.seconds), chosen.json)


if __name__ == "__main__":
    main()
