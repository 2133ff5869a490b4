# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the same work takes without this project: plain calls, bare sockets, bare rclpy."""

from __future__ import annotations

import multiprocessing
import socket
import struct
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

from speed_result import DOUBLES, STEP_S, STEPS_PER_CYCLE, Result, loop_messages
from speed_systems import plant_step

_DOUBLES = struct.Struct(f"<{DOUBLES}d")
_HANG_S = 120.0
#: Forking would copy what the middleware of another baseline left in this process.
SPAWN = multiprocessing.get_context("spawn")

START = tuple(float(i) for i in range(DOUBLES))
Worker = Callable[..., None]


def relay(values: tuple[float, ...], gain: float) -> tuple[float, ...]:
    """What sensors and controllers do."""
    return (values[0] * gain, *values[1:])


def floor(size: int, sim_s: float) -> Result:
    """The loop as plain Python calls."""
    values, control, steps = START, 0.0, round(sim_s / STEP_S)
    began, cpu = time.perf_counter(), time.process_time()
    for step in range(steps):
        values = plant_step(values, control)
        if step % STEPS_PER_CYCLE == 0:
            seen = [relay(values, 0.5) for _ in range(2)]
            control = sum(relay(s, -0.5)[0] for s in seen)
    wall, used = time.perf_counter() - began, time.process_time() - cpu
    return Result("loop", "plain calls", size, sim_s, wall, used, sim_s, loop_messages(steps))


def measure(
    workload: str,
    subject: str,
    size: int,
    sim_s: float,
    workers: Sequence[tuple[Any, ...]],
    on_ready: Callable[[], None] = lambda: None,
) -> Result:
    """Run ``(function, arguments...)`` in a process each.

    Each gets a pipe first; it says when it is ready, starts when told, and says at the end
    what wall time and processor time it took.

    :param on_ready: called when all are ready
    """
    pipes, processes = [], []
    try:
        for function, *arguments in workers:
            here, there = SPAWN.Pipe()
            process = SPAWN.Process(target=function, args=(there, *arguments), daemon=True)
            process.start()
            there.close()
            pipes.append(here)
            processes.append(process)
        for pipe in pipes:
            _receive(pipe, subject)
        on_ready()
        for pipe in pipes:
            pipe.send("go")
        times = [_receive(pipe, subject) for pipe in pipes]
        for process in processes:
            process.join(_HANG_S)
    finally:
        for process in processes:
            process.kill()
    wall = max(wall for wall, _ in times)
    cpu = sum(used for _, used in times)
    steps = round(sim_s / STEP_S)
    messages = loop_messages(steps) if workload == "loop" else 0
    return Result(workload, subject, size, sim_s, wall, cpu, sim_s, messages)


def _receive(pipe: Connection, subject: str) -> Any:
    if not pipe.poll(_HANG_S):
        raise RuntimeError(f"{subject}: a process did not answer for {_HANG_S:g} s")
    return pipe.recv()


class Timed:
    """Tells the starting process that this one is ready, and then what it took."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def __enter__(self) -> Timed:
        self._pipe.send("ready")
        self._pipe.recv()
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        wall, cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu
        self._pipe.send((wall, cpu))


def _exchange(link: socket.socket, data: bytes) -> bytes:
    link.sendall(data)
    return link.recv(65536)


def _star_hub(pipe: Connection, links: Sequence[socket.socket], steps: int, loop: bool) -> None:
    with Timed(pipe):
        if loop:
            _loop_hub(links, steps)
        else:
            for _ in range(steps):
                for link in links:
                    link.sendall(b"s")
                for link in links:
                    link.recv(64)
        for link in links:
            link.sendall(b"")
            link.shutdown(socket.SHUT_WR)


def _loop_hub(links: Sequence[socket.socket], steps: int) -> None:
    plant, sensors, controllers = links[0], links[1:3], links[3:5]
    control = _DOUBLES.pack(*[0.0] * DOUBLES)
    controls = [control, control]
    for step in range(steps):
        state = _exchange(plant, controls[0] + controls[1])
        if step % STEPS_PER_CYCLE == 0:
            for group in (sensors, controllers):
                inputs = [state, state] if group is sensors else controls
                for link, data in zip(group, inputs, strict=True):
                    link.sendall(data)
                controls = [link.recv(65536) for link in group]


def _star_plant(pipe: Connection, link: socket.socket) -> None:
    values = START
    with Timed(pipe):
        while data := link.recv(65536):
            control = _DOUBLES.unpack_from(data)[0] + _DOUBLES.unpack_from(data, _DOUBLES.size)[0]
            values = plant_step(values, control)
            link.sendall(_DOUBLES.pack(*values))


def _star_relay(pipe: Connection, link: socket.socket, gain: float) -> None:
    with Timed(pipe):
        while data := link.recv(65536):
            link.sendall(_DOUBLES.pack(*relay(_DOUBLES.unpack(data), gain)))


def _star_idle(pipe: Connection, link: socket.socket) -> None:
    with Timed(pipe):
        while link.recv(64):
            link.sendall(b"d")


def star_loop(size: int, sim_s: float) -> Result:
    """The loop as processes around a hub, over Unix sockets."""
    roles: list[tuple[Any, ...]] = [(_star_plant,)]
    roles += [(_star_relay, 0.5)] * 2 + [(_star_relay, -0.5)] * 2
    return _star("loop", size, sim_s, roles)


def star_lockstep(size: int, sim_s: float) -> Result:
    """Lockstep of processes around a hub, over Unix sockets."""
    return _star("lockstep", size, sim_s, [(_star_idle,)] * size)


def _star(workload: str, size: int, sim_s: float, roles: Sequence[tuple[Any, ...]]) -> Result:
    pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in roles]
    workers: list[tuple[Any, ...]] = [
        (role[0], pair[1], *role[1:]) for role, pair in zip(roles, pairs, strict=True)
    ]
    steps = round(sim_s / STEP_S)
    workers.append((_star_hub, [pair[0] for pair in pairs], steps, workload == "loop"))
    try:
        return measure(workload, "star", size, sim_s, workers)
    finally:
        for pair in pairs:
            pair[0].close()
            pair[1].close()
