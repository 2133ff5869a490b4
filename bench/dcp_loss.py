# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How much loss over UDP a run stands: the platoon with its world behind a network that loses.

The world is a DCP slave in NRT. Between master and slave a simulated wire loses each datagram with
a probability, by a seed, requests, answers and data alike; nothing waits for a clock, so that the
figures are the same on every machine. For each probability and policy (``missing``):

- ``data lost``: share of data PDUs that did not arrive, both directions together;
- ``repeated``: share of requests that had to be sent again, and ``wait``: simulated time per step
  [ms] that this took (a request is repeated after 100 ms, lost outputs are given up after 200 ms);
- ``deviation``: greatest distance [m] of a follower from its place in the run without loss;
- ``gap``: smallest gap [m] between the vehicles, ``collisions``, and whether all verdicts are met.

    python bench/dcp_loss.py [--loss 0 0.001 ...] [--seeds 3] [--duration 60s]
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.dcp_master_soak import Faults, Network, simulated
from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.kernel.trace import run_digest
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.core.scenario.system import build_graph, build_model
from ros2_cosim.dcp.standard.enums import PduType
from ros2_cosim.world.carla.dcp_slave import SceneSlave
from ros2_cosim.world.carla.describe import scene_description
from ros2_cosim.world.carla.inprocess_world import InProcessWorld
from ros2_cosim.world.carla.scene_settings import scene_parameters
from ros2_cosim.world.carla.serve import slave_options

PLATOON = Path(__file__).parents[1] / "config" / "platoon.yaml"
WORLD = "participants.world.parameters.dcp"
LOSSES = (0.0, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
POLICIES = ("hold", "extrapolate")
_PUMPS = 10**9


class Loss(Faults):
    """A wire that loses, and does nothing else.

    :param share: probability that a PDU gets lost
    :ivar data, data_lost: data PDUs, and those that were lost
    """

    def __init__(self, rng: random.Random, share: float) -> None:
        super().__init__(rng, 0.0)
        self._dice = rng
        self._share = share
        self.data = self.data_lost = 0

    def passed_on(self, data: bytes) -> list[bytes]:
        """The PDU, or nothing."""
        lost = self._dice.random() < self._share
        if data and data[0] == PduType.DAT_input_output:
            self.data += 1
            self.data_lost += lost
        return [] if lost else [data]


class LossyNetwork(Network):
    """Counts requests, and their repetitions by their sequence ids."""

    def __init__(self, loss: Loss, options: object) -> None:
        super().__init__(loss, options)  # type: ignore[arg-type]
        self.loss = loss
        self.most_pumps = _PUMPS
        self.requests = self.repeated = 0
        self._last = b""

    def to_slave(self, port: int, data: bytes) -> None:
        """A request or a data PDU."""
        if data[0] < PduType.RSP_ack:
            self.requests += 1
            self.repeated += data[1:3] == self._last
            self._last = data[1:3]
        for arrived in self.loss.passed_on(data):
            self.peers[port].slave.receive(arrived, "master")


@dataclass(frozen=True)
class Result:
    """One run; ``failed`` says why it ended, empty for a run to its end."""

    trace: str
    places: dict[tuple[str, int], float]
    gap_m: float
    collisions: int
    passed: bool
    data_lost: float
    repeated: float
    wait_ms: float
    failed: str = ""


def drive(share: float, policy: str, seed: int, duration: str) -> Result:
    """One run of the platoon with a share of lost datagrams."""
    changes = [
        f"duration={duration}",
        f"{WORLD}.transport=udp",
        f"{WORLD}.port=8001",
        f"{WORLD}.missing={policy}",
    ]
    scenario = load_scenario(PLATOON, changes)
    declared = declare(scenario, "world")
    scene = scene_parameters(declared.context, declared.parameters)
    slave = SceneSlave(scene, InProcessWorld, declared.context)
    loss = Loss(random.Random(seed), share)
    network = LossyNetwork(loss, slave_options(declared.parameters.dcp))
    network.add(slave, scene_description(declared.parameters, scene))
    places: dict[tuple[str, int], float] = {}
    graph = build_graph(scenario)
    ports = {
        at: port.name for at, port in enumerate(graph.participants["world"].outputs)
        if port.name.startswith("odometry/follower")
    }  # fmt: skip

    def observe(participant: str, port: int, sample: Sample, data: bytes) -> None:
        if participant == "world" and port in ports:
            places[ports[port], sample.stamp] = sample.value.x

    failed = ""
    with simulated(network):
        try:
            models = {
                name: build_model(scenario, name, "ros" if name == "world" else "inproc")
                for name in graph.order
            }
        except CosimError as error:
            return Result("", {}, 0.0, 0, False, 0.0, 0.0, 0.0, str(error))
        scheduler = SequentialScheduler(
            graph, models, stop_latency_ns=scenario.stop_latency, observer=observe
        )
        began, steps = network.time, 1
        try:
            scheduler.run(scenario.duration)
            steps = max(1, len(places) // max(1, len(ports)))
            waited = network.time - began
            models["world"].finish()
        except CosimError as error:
            failed, waited = str(error), network.time - began
        finally:
            models["world"].close()
    report = models["referee"].report()
    figures = report.figures or {}
    digests = {name: runtime.trace.hexdigest() for name, runtime in scheduler.runtimes.items()}
    return Result(
        run_digest(digests),
        places,
        float(figures.get("min_gap_m") or 0.0),
        int(figures.get("collisions") or 0),
        not failed and all(verdict["passed"] for verdict in report.verdicts or ()),
        loss.data_lost / max(1, loss.data),
        network.repeated / max(1, network.requests),
        1000.0 * waited / steps,
        failed,
    )


def deviation(result: Result, reference: Result) -> float:
    """Greatest distance [m] of a follower from its place in another run."""
    both = result.places.keys() & reference.places.keys()
    return max((abs(result.places[key] - reference.places[key]) for key in both), default=0.0)


def measure(losses: Sequence[float], seeds: int, duration: str) -> None:
    """Print one line per loss and policy: the worst of all seeds, shares as means."""
    reference = drive(0.0, "hold", 0, duration)
    print("| loss | missing | data lost | repeated | wait per step | deviation | gap | collisions "
          "| verdicts | ended early |")  # fmt: skip
    print("|---:|---|---:|---:|---:|---:|---:|---:|---|---|")
    for share in losses:
        for policy in POLICIES:
            runs = [drive(share, policy, seed, duration) for seed in range(1, seeds + 1)]
            failed = [result.failed for result in runs if result.failed]
            found = [result for result in runs if not result.failed] or runs[:1]
            count = len(runs)
            print(
                f"| {share:.1%} | {policy} "
                f"| {sum(r.data_lost for r in found) / len(found):.2%} "
                f"| {sum(r.repeated for r in found) / len(found):.2%} "
                f"| {sum(r.wait_ms for r in found) / len(found):.1f} ms "
                f"| {max(deviation(r, reference) for r in found):.3f} m "
                f"| {min(r.gap_m for r in found):.2f} m "
                f"| {max(r.collisions for r in found)} "
                f"| {'met' if all(r.passed for r in found if not r.failed) else 'not met'} "
                f"| {f'{len(failed)} of {count}: {failed[0]}' if failed else ''} |",
                flush=True,
            )


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loss", type=float, nargs="+", default=LOSSES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--duration", default="60s")
    chosen = parser.parse_args()
    measure(chosen.loss, chosen.seeds, chosen.duration)


if __name__ == "__main__":
    main()
