# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The platoon with its world on another host, over a bad network (needs root and Linux).

Two network namespaces stand for two hosts. Between them a relay passes on every packet late,
some too late for their successors, some not at all. The world is a DCP slave on one host, its
master and all other participants run on the other. Over TCP the run must have the same trace
as the run in one process; over UDP lost data is held, the run must come to its end, and with
another trace it must say that data got lost.

    python bench/dcp_two_hosts.py [--duration 10s] [--latency-ms 0.5] [--jitter-ms 0.5]
                                  [--loss 0.005] [--transport tcp udp]
"""

from __future__ import annotations

import argparse
import ctypes
import fcntl
import heapq
import os
import random
import select
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from string import ascii_lowercase

from ros2_cosim.core.kernel.model import Repeatability
from ros2_cosim.core.scenario.schema import Scenario, load_scenario

ROOT = Path(__file__).resolve().parent.parent
PORT = 18080
SLAVE, MASTER = "10.77.0.1", "10.77.0.2"
_SIOCETHTOOL = 0x8946
_OFFLOADS = (0x17, 0x1F, 0x24, 0x2C)  # transmit checksums, TSO, GSO, GRO
_FRAME = 65536


def scenario_of(duration: str, transport: str) -> Scenario:
    """The platoon whose world is the slave on the other host."""
    changes = [
        f"duration={duration}",
        f"participants.world.parameters.dcp.host={SLAVE}",
        f"participants.world.parameters.dcp.port={PORT}",
        f"participants.world.parameters.dcp.transport={transport}",
    ]
    return load_scenario(ROOT / "config" / "platoon.yaml", changes)


# -- on the hosts --------------------------------------------------------------------------------


def switch_off_offloads(interface: str) -> None:
    """Have this host finish its packets itself: the relay passes them on as they are."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for command in _OFFLOADS:
            value = ctypes.create_string_buffer(struct.pack("II", command, 0), 8)
            request = struct.pack("16sP", interface.encode(), ctypes.addressof(value))
            with suppress(OSError):  # not every interface has every one
                fcntl.ioctl(sock, _SIOCETHTOOL, request)


def run_slave(duration: str) -> None:
    """The world as a DCP slave."""
    from ros2_cosim.core.scenario.declaration import declare
    from ros2_cosim.dcp.slave.interfaces import SlaveOptions
    from ros2_cosim.dcp.slave.server import serve
    from ros2_cosim.world.carla.dcp_slave import SceneSlave
    from ros2_cosim.world.carla.dcp_variables import SceneVariables
    from ros2_cosim.world.carla.inprocess_world import InProcessWorld
    from ros2_cosim.world.carla.scene_settings import scene_parameters

    declared = declare(scenario_of(duration, "tcp"), "world")
    context = declared.context
    parameters = scene_parameters(context, declared.parameters)
    slave = SceneSlave(parameters, InProcessWorld, context)
    options = SlaveOptions(input_wait_s=0.2, newest_only=True)
    description = SceneVariables(parameters).description()
    serve(slave, description, host=SLAVE, port=PORT, options=options)


def run_master(duration: str, transport: str) -> None:
    """All participants, with the world behind DCP; prints what came of it."""
    from ros2_cosim.core.kernel.sequential import SequentialScheduler
    from ros2_cosim.core.messages.reporting import report_of
    from ros2_cosim.core.record.results import RunFacts, write_results
    from ros2_cosim.core.scenario.system import build_graph, build_model

    scenario = scenario_of(duration, transport)
    graph = build_graph(scenario)
    behaviours = {
        name: build_model(scenario, name, "ros" if name == "world" else "inproc")
        for name in graph.order
    }
    scheduler = SequentialScheduler(
        graph, behaviours, stop_latency_ns=scenario.stop_latency, timer=time.perf_counter_ns
    )
    began = time.perf_counter_ns()
    try:
        end = scheduler.run(scenario.duration, scenario.duration)
        behaviours["world"].finish()  # its slave tells what became of its inputs when it stops
        reports = {name: report_of(runtime) for name, runtime in scheduler.runtimes.items()}
    finally:
        for behaviour in behaviours.values():
            behaviour.close()
    facts = RunFacts(
        "inproc", end, "end", time.perf_counter_ns() - began, 0, Repeatability.SAME_MACHINE
    )
    with tempfile.TemporaryDirectory() as directory:
        summary = write_results(Path(directory), scenario, reports, facts)
    said = summary.not_repeatable_reason or "repeatable"
    print(f"{summary.trace_sha256} {summary.wall_time_s:.1f} {said}")


# -- between the hosts -----------------------------------------------------------------------


def relay(ends: list[str], latency_s: float, jitter_s: float, loss: float) -> None:
    """Pass the packets of each interface on to all others, until this process receives the order to
    end.
    """
    rng = random.Random(1)
    socks = []
    for name in ends:
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        sock.bind((name, 0))
        sock.setblocking(False)
        socks.append(sock)
    waiting: list[tuple[float, int, int, bytes]] = []
    number = 0
    while True:
        rest = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        readable, _, _ = select.select(socks, [], [], rest)
        for sock in readable:
            frame, address = sock.recvfrom(_FRAME)
            if address[2] == socket.PACKET_OUTGOING:
                continue
            is_ip = frame[12:14] == b"\x08\x00"
            if is_ip and rng.random() < loss:
                continue
            due = time.monotonic() + latency_s + (rng.random() * jitter_s if is_ip else 0.0)
            for side, other in enumerate(socks):
                if other is not sock:
                    number += 1
                    heapq.heappush(waiting, (due, number, side, frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, side, frame = heapq.heappop(waiting)
            try:
                socks[side].send(frame)
            except OSError:
                continue  # the buffer is full: one more that is lost


def ip(*arguments: str) -> None:
    """Run the program ip."""
    subprocess.run(["ip", *arguments], check=True)


@contextmanager
def two_hosts(latency_s: float, jitter_s: float, loss: float) -> Iterator[tuple[str, str]]:
    """Two namespaces joined by the relay; yields their names and takes all down again."""
    with joined_hosts((SLAVE, MASTER), latency_s, jitter_s, loss) as (slave, master):
        yield slave, master


@contextmanager
def joined_hosts(
    addresses: Sequence[str], latency_s: float, jitter_s: float, loss: float
) -> Iterator[list[str]]:
    """Namespaces with these addresses, of one network, joined by the relay; yields their names."""
    mark = f"{os.getpid() % 100000}"
    hosts = [f"dcp{letter}{mark}" for letter in ascii_lowercase[: len(addresses)]]
    passing: subprocess.Popen[bytes] | None = None
    try:
        for host, address in zip(hosts, addresses, strict=True):
            ip("netns", "add", host)
            ip("link", "add", f"{host}r", "type", "veth", "peer", "name", "dcp0", "netns", host)
            ip("link", "set", f"{host}r", "up")
            ip("-n", host, "address", "add", f"{address}/24", "dev", "dcp0")
            ip("-n", host, "link", "set", "dcp0", "up")
            ip("-n", host, "link", "set", "lo", "up")
            subprocess.run(on(host, "offloads"), check=True)
        settings = ["--latency-ms", str(latency_s * 1e3), "--jitter-ms", str(jitter_s * 1e3)]
        command = [sys.executable, __file__, "--role", "relay", *settings, "--loss", str(loss)]
        passing = subprocess.Popen([*command, "--ends", *(f"{host}r" for host in hosts)])
        yield hosts
    finally:
        if passing is not None:
            passing.terminate()
            passing.wait()
        for host in hosts:
            subprocess.run(["ip", "netns", "delete", host], check=False)


def on(host: str, role: str, *more: str) -> list[str]:
    """Command line of this file on a host."""
    return ["ip", "netns", "exec", host, sys.executable, __file__, "--role", role, *more]


def measure(chosen: argparse.Namespace) -> int:
    """Run the platoon over each transport; returns 1 if a promise is not kept."""
    from ros2_cosim.core.run.inproc import run_inproc

    with tempfile.TemporaryDirectory() as directory:
        scenario = scenario_of(chosen.duration, "tcp")
        reference = run_inproc(scenario, Path(directory), record=False)
    print(f"one process: {reference.trace_sha256[:16]} in {reference.wall_time_s:.1f} s")
    failed = False
    network = (chosen.latency_ms / 1e3, chosen.jitter_ms / 1e3, chosen.loss)
    for transport in chosen.transport:
        with two_hosts(*network) as (host_a, host_b):
            slave = subprocess.Popen(on(host_a, "slave", "--duration", chosen.duration))
            time.sleep(1.0)
            more = ("--duration", chosen.duration, "--transport", transport)
            done = subprocess.run(on(host_b, "master", *more), capture_output=True, text=True)
            if done.returncode:
                print(f"{transport}: {done.stderr.strip().splitlines()[-1:]}")
                slave.terminate()
            ended = slave.wait(90)
        trace, wall, said = (*done.stdout.split(maxsplit=2), "", "", "")[:3]
        same = trace == reference.trace_sha256
        print(
            f"{transport}: {trace[:16]} in {wall} s, trace {'the same' if same else 'another'}, "
            f"slave ended with {ended}, {said.strip()}",
            flush=True,
        )
        silent = not same and (transport == "tcp" or said.startswith("repeatable"))
        failed = failed or done.returncode != 0 or ended != 0 or silent
    return int(failed)


def main() -> int:
    """Play one of the roles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duration", default="10s")
    parser.add_argument("--latency-ms", type=float, default=0.5)
    parser.add_argument("--jitter-ms", type=float, default=0.5)
    parser.add_argument("--loss", type=float, default=0.005)
    parser.add_argument("--transport", nargs="+", default=["tcp", "udp"])
    parser.add_argument("--role", default="measure", help=argparse.SUPPRESS)
    parser.add_argument("--ends", nargs="+", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.role == "offloads":
        switch_off_offloads("dcp0")
    elif chosen.role == "relay":
        relay(tuple(chosen.ends), chosen.latency_ms / 1e3, chosen.jitter_ms / 1e3, chosen.loss)
    elif chosen.role == "slave":
        run_slave(chosen.duration)
    elif chosen.role == "master":
        run_master(chosen.duration, chosen.transport[0])
    else:
        return measure(chosen)
    return 0


if __name__ == "__main__":
    sys.exit(main())
