# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A real-time and a non-real-time part over a disturbed network: what is estimated and repeated.

The platoon runs at factor 1 with its world, a DCP slave, at the other end of a network that a proxy
plays: each PDU has a latency with jitter, some wait much longer (a segment that TCP sends again, a
radio that changes its channel), and datagrams get lost and overtake each other. A seed decides what
happens to the n-th PDU; the wall clock decides when it arrives. The world is a slow part
(``coupling``): a result that is not there in time is estimated.

Each line is one run, followed by its repetition from the arrival record: in one process, without
network, as fast as possible. Over TCP nothing is lost, and the trace must be the same. Over UDP
lost data are held, which no record of arrivals repeats: the summary must say so.

    python bench/realtime_network.py [--duration 20s] [--networks lan wlan ...] [--seed 1]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic_ns
from typing import Any, NamedTuple

from ros2_cosim.core.sockets.reactor import Reactor
from ros2_cosim.dcp.tools.proxy import Proxy
from ros2_cosim.ros.bringup.domain_lock import claim

ROOT = Path(__file__).resolve().parents[1]
PLATOON = ROOT / "config" / "platoon.yaml"
COSIM = [sys.executable, "-m", "ros2_cosim.cli.main"]
DCP = "participants.world.parameters.dcp"
COLUMNS = (
    "network", "late", "estimates", "longest ms", "load", "worst x m", "min gap m", "collisions",
    "lost", "same again",
)  # fmt: skip


class Network(NamedTuple):
    """What a network does to a PDU; times in milliseconds, one way.

    ``burst`` is the share that waits ``burst_ms`` longer, ``loss`` that of the datagrams that get
    lost. The run exchanges data each ``period_ms``; where that is longer than a step of the
    platoon, the result is due at the next exchange.
    """

    transport: str
    latency: tuple[float, float]
    burst: float = 0.0
    burst_ms: tuple[float, float] = (0.0, 0.0)
    loss: float = 0.0
    period_ms: int = 10


NETWORKS = {
    "lan": Network("tcp", (0.1, 0.3)),
    "wlan": Network("tcp", (0.3, 1.2), 0.004, (15.0, 40.0)),
    "wlan-udp": Network("udp", (0.3, 1.2), 0.004, (15.0, 40.0), loss=0.002),
    "internet": Network("tcp", (8.0, 12.0), 0.01, (60.0, 200.0), period_ms=50),
    # Two ways take longer than a step: it can never catch up.
    "too-far": Network("tcp", (8.0, 12.0)),
}


class DisturbedPath:
    """The way of a proxy: latency, jitter, waiting, loss and overtaking, by a seed.

    PDUs of one connection stay in order, as TCP keeps them; datagrams overtake each other.
    """

    def __init__(self, network: Network, seed: int) -> None:
        self._network = network
        self._dice = random.Random(seed)
        self._free: dict[Hashable, int] = {}
        self.passed = self.lost = 0

    def carry(self, reactor: Reactor, line: Hashable, hand_over: Callable[[], None]) -> None:
        """Hand over later, or never."""
        network, dice = self._network, self._dice
        self.passed += 1
        lost = dice.random() < network.loss
        delay_ms = dice.uniform(*network.latency)
        if dice.random() < network.burst:
            delay_ms += dice.uniform(*network.burst_ms)
        if lost and line is None:
            self.lost += 1
            return
        due = monotonic_ns() + round(delay_ms * 1e6)
        if line is not None:
            due = self._free[line] = max(due, self._free.get(line, 0))
        reactor.call_at(due, hand_over)


def play_network(name: str, seed: int, port: int) -> None:
    """The process of the proxy; prints its port."""
    path = DisturbedPath(NETWORKS[name], seed)
    with Proxy("127.0.0.1", 0, "127.0.0.1", port, lambda pdu: None, path.carry) as proxy:
        print(proxy.port, flush=True)
        proxy.run()


def settings_of(network: Network, duration: str) -> list[str]:
    """What the scenario says, at both ends."""
    period = network.period_ms
    due = f"budget: {period * 6 // 10}ms" if period == 10 else "overlap: true"
    changes = [
        f"duration={duration}",
        f"participants.world.period={period}ms",
        f"participants.world.parameters.control_period={max(period, 20)}ms",
        f"{DCP}.transport={network.transport}",
        f"{DCP}.data_synchronisation=true",
        f"participants.world.coupling={{{due}, estimate: [{{order: 1}}]}}",
    ]
    return [word for change in changes for word in ("--set", change)]


@contextmanager
def started(words: list[str]) -> Iterator[str]:
    """A separate process until the block ends; gives its first line."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate()


def measure(name: str, duration: str, seed: int, directory: Path) -> dict[str, Any]:
    """One run over a network, and its repetition."""
    network = NETWORKS[name]
    settings = settings_of(network, duration)
    serve = [*COSIM, "dcp", "serve", "--world", str(PLATOON), *settings]
    with ExitStack() as processes:
        line = processes.enter_context(started([*serve, "--port", "127.0.0.1:0"]))
        slave = line.rpartition(":")[2]
        me = [sys.executable, __file__, "--play", name, "--seed", str(seed), "--slave", slave]
        port = processes.enter_context(started(me))
        there = ["--set", f"{DCP}.start=false", "--set", f"{DCP}.port={port}"]
        out = directory / "run"
        run = [
            *COSIM,
            "run",
            str(PLATOON),
            *settings,
            *there,
            "--shape",
            "composed",
            "--rate",
            "1",
        ]
        with claim() as domain:
            first = _done([*run, "--no-bag", "--out", str(out)], ROS_DOMAIN_ID=str(domain))
    again = _done([*COSIM, "replay", str(out)])
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    coupling = summary["realtime"]["couplings"]["world"]
    errors = [largest for port, field, _, largest in coupling["errors"] if field == "x"]
    lost = summary.get("dcp_data") or {}
    return {
        "network": name,
        "late": coupling["late"] / coupling["exchanges"],
        "estimates": coupling["estimates"],
        "longest ms": 1e3 * coupling["longest_lateness_s"],
        "load": coupling["load"],
        "worst x m": max(errors, default=0.0),
        "min gap m": summary["min_gap_m"],
        "collisions": summary["collisions"],
        "lost": sum(side["lost"] for data in lost.values() for side in data.values()
                    if isinstance(side, dict)),
        "same again": again == 0,
        "code": first,
        "repeatable": summary["repeatable"],
    }  # fmt: skip


class EndedError(Exception):
    """A run ended with an error; the text is its last line."""


def _done(words: list[str], **variables: str) -> int:
    environment = {**os.environ, **variables}
    done = subprocess.run(
        words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 3):  # 3: a verdict, or another trace
        raise EndedError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return done.returncode


def main() -> int:
    """Run all cases, print the table; 1 if a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duration", default="20s")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--play", choices=NETWORKS, help=argparse.SUPPRESS)
    parser.add_argument("--slave", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.play:
        play_network(options.play, options.seed, options.slave)
        return 0
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    kept = True
    for name in options.networks:
        try:
            with tempfile.TemporaryDirectory() as directory:
                found = measure(name, options.duration, options.seed, Path(directory))
        except EndedError as error:
            print(f"| {name} | {error} |", flush=True)
            kept = kept and name == "too-far"  # it cannot catch up, and says so
            continue
        cells = [found[c] for c in COLUMNS]
        shown = [f"{v:.3g}" if isinstance(v, float) else str(v) for v in cells]
        print("| " + " | ".join(shown) + " |", flush=True)
        if NETWORKS[name].transport == "tcp" or not found["lost"]:
            kept = kept and found["same again"]
        else:
            kept = kept and not found["repeatable"]
    return int(not kept)


if __name__ == "__main__":
    # Run as a file: the project lies beside this directory.
    sys.exit(main())
