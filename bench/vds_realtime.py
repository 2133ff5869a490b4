# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How well ``cosim vds serve`` keeps its time, seen from the other end of the wire.

``pacing``: 200 Hz for ten minutes. Each state has a lag, wall minus simulated time; the drift is
the smallest lag of the last second minus that of the first, so that it is the server's clock that
is measured and not how late a single state was on a busy machine. ``exchange``: 1 kHz, a command
for every state. ``lockstep``: commands as fast as they are answered. Everything is measured here,
with packets packed and read by ``struct`` alone; the server's own figures stand beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
WORKLOADS = ("pacing", "exchange", "lockstep")
PATIENCE_S = 60.0
GLANCE_S = 0.5


class Served(NamedTuple):
    """A server that runs: where its states arrive, its port for commands, its process."""

    peer: socket.socket
    port: int
    process: subprocess.Popen[str]


def main() -> int:
    """Measure, print a table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=WORKLOADS, help="this workload alone")
    parser.add_argument("--quick", action="store_true", help="a second of each")
    parser.add_argument("--seconds", type=float, default=600.0, help="length of pacing")
    parser.add_argument("--out", type=Path, default=Path("out/bench/vds_realtime.json"))
    options = parser.parse_args()
    plan = {
        "pacing": (200, 1.0 if options.quick else options.seconds, []),
        "exchange": (1000, 1.0 if options.quick else 60.0, []),
        "lockstep": (1000, 1.0 if options.quick else 20.0, ["--lockstep"]),
    }
    results = []
    for name in WORKLOADS:
        if options.only in (None, name):
            rate, seconds, further = plan[name]
            result = {"workload": name, "rate_hz": rate, **measure(rate, seconds, further)}
            results.append(result)
            print(sentence(result), flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    machine = {"cores": os.cpu_count(), "load": os.getloadavg()}
    document = {"machine": machine, "results": results}
    options.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return 0


@contextmanager
def served(rate: int, seconds: float, further: list[str]) -> Iterator[Served]:
    """A server of one vehicle for so long (simulated); it ends with the block."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.bind(("127.0.0.1", 0))
        peer.settimeout(GLANCE_S)
        line = [sys.executable, "-m", "ros2_cosim.cli.main", "vds", "serve", "--json"]
        line += ["--port", "0", "--to", f"127.0.0.1:{peer.getsockname()[1]}"]
        line += ["--set", f"dt={1 / rate:.9f}s", "--set", "speed=20"]
        line += ["--duration", f"{seconds}s", *further]
        pipe = subprocess.PIPE
        server = subprocess.Popen(line, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)
        assert server.stderr is not None
        try:
            yield Served(peer, int(server.stderr.readline().rsplit(":", 1)[1]), server)
        finally:
            server.kill()
            server.communicate()


def measure(rate: int, seconds: float, further: list[str]) -> dict[str, Any]:
    """Run a server for so long (simulated), answering every state by a command."""
    with served(rate, seconds, further) as (peer, port, server):
        seen = exchange(peer, port, round(seconds * rate), server)
        said, _ = server.communicate(timeout=PATIENCE_S)
    return {**seen, "server": json.loads(said)}


def exchange(
    peer: socket.socket, port: int, steps: int, server: subprocess.Popen[str]
) -> dict[str, Any]:
    """Answer each state by a command until the last one, and look at the clock."""
    first: tuple[int, float, int] | None = None
    received = lost = last = 0
    lags: dict[int, int] = {}  # simulated second -> smallest lag [ns]
    slowest = former = 0
    stamp = 0.0
    now = 0
    answer = b""
    while last < steps:
        try:
            data = peer.recv(2000)
        except TimeoutError:
            if server.poll() is None:
                continue
            break  # the last state got lost
        now = time.monotonic_ns()
        seq = struct.unpack_from("<L", data, 8)[0]
        stamp = struct.unpack_from("<d", data, 16)[0]
        if seq <= last and first is not None:
            if seq == last:  # repeated in lock-step: the command has got lost
                peer.sendto(answer, ("127.0.0.1", port))
            continue
        if first is None:
            first = (seq, stamp, now)
        else:
            received += 1
            lost += seq - last - 1
            slowest = max(slowest, now - former)
        last, former = seq, now
        second, lag = int(stamp), now - round(stamp * 1e9)
        lags[second] = min(lag, lags.get(second, lag))
        answer = command(received, now / 1e9)
        peer.sendto(answer, ("127.0.0.1", port))
    assert first is not None
    wall, simulated = (now - first[2]) / 1e9, stamp - first[1]
    return {
        "states": received,
        "states_lost": lost,
        "wall_s": wall,
        "simulated_s": simulated,
        "drift_ms": (lags[max(int(stamp) - 1, min(lags))] - lags[min(lags)]) / 1e6,
        "states_per_s": received / wall if wall else 0.0,
        "longest_pause_ms": slowest / 1e6,
    }


def command(seq: int, stamp: float) -> bytes:
    """A command with a little throttle."""
    body = struct.pack("<LHHLLd", 0x56445331, 1, 1, seq, 0, stamp)
    body += struct.pack("<dddiBxxxdd", 0.0, 0.1, 0.0, 1, 0, float("nan"), float("nan"))
    return body + struct.pack("<L", zlib.crc32(body))


def sentence(result: dict[str, Any]) -> str:
    """One line."""
    server = result["server"]
    text = (
        f"{result['workload']}: {result['simulated_s']:.1f} s simulated in "
        f"{result['wall_s']:.1f} s, {result['states_per_s']:.0f} states/s, "
        f"{result['states_lost']} lost, {server['commands']['v0']['accepted']} commands taken"
    )
    if "timing" in server:
        timing = server["timing"]
        text += (
            f"; drift {result['drift_ms']:.3f} ms, longest pause "
            f"{result['longest_pause_ms']:.1f} ms, {timing['overruns']} overruns, "
            f"{timing['slips']} slips, lateness mean "
            f"{timing['lateness_us']['mean']:.0f} us, max {timing['lateness_us']['max']:.0f} us"
        )
    return text


if __name__ == "__main__":
    sys.exit(main())
