# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The loop as five bare rclpy nodes: the same data edges, no synchronisation.

The plant sends the four messages of a cycle and waits for both controls: what DDS and rclpy
take at least.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from speed_baselines import START, Timed, measure, relay
from speed_result import STEP_S, STEPS_PER_CYCLE, Result
from speed_systems import TYPE, as_record, first_of, plant_step

from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.ros.bringup.dds import loopback_environment

_CYCLE_NS = 40_000_000


def _record_values(record: Any) -> tuple[float, ...]:
    return (record.obstacle_gap, *record.gaps, *record.speeds)


class _Bare:
    """A node with raw publishers and subscriptions on the events executor."""

    def __init__(self, name: str) -> None:
        from ros2_cosim.ros.node.session import Session
        from ros2_cosim.ros.node.writers import data_qos

        self.session = Session(name)
        self._qos = data_qos()
        self._codec = CATALOGUE.codec(TYPE, frame_id="map")
        self._writers: list[tuple[Any, int]] = []
        self._seq = 0

    def publish_to(self, topic: str, readers: int) -> Callable[[int, tuple[float, ...]], None]:
        writer = self.session.writer(topic, TYPE, self._qos)
        self._writers.append((writer, readers))

        def send(stamp: int, values: tuple[float, ...]) -> None:
            writer.send_bytes(self._codec.encode(stamp, self._seq, as_record(values)))
            self._seq += 1

        return send

    def read(self, topic: str, receive: Callable[[int, int, Any], None]) -> None:
        decode = self._codec.decode
        self.session.reader(topic, TYPE, self._qos, lambda data: receive(*decode(data)))

    def connect(self) -> None:
        while any(writer.readers < count for writer, count in self._writers):
            self.session.wait(0.02)

    def flush(self) -> None:
        """Wait until all sent messages have arrived: a node that ends at once loses them."""
        for writer, _ in self._writers:
            writer.flush()


def _plant(pipe: Connection, cycles: int) -> None:
    node = _Bare("bare_plant")
    controls: list[float] = []
    send = node.publish_to("/state", 2)
    for i in (1, 2):
        node.read(f"/control{i}", lambda stamp, seq, record: controls.append(first_of(record)))
    node.connect()
    values = START
    with node.session:
        with Timed(pipe):
            control, stamp = 0.0, 0
            for _ in range(cycles):
                for _ in range(STEPS_PER_CYCLE):
                    values = plant_step(values, control)
                    send(stamp, values)
                    stamp += _CYCLE_NS // STEPS_PER_CYCLE
                while len(controls) < 2:
                    node.session.wait(0.1)
                control = sum(controls)
                controls.clear()
        node.flush()


def _relay(pipe: Connection, name: str, source: str, target: str, gain: float, end: int) -> None:
    node = _Bare(name)
    send = node.publish_to(target, 1)
    reached = -1

    def receive(stamp: int, seq: int, record: Any) -> None:
        nonlocal reached
        reached = stamp
        if stamp % _CYCLE_NS == 0:
            send(stamp, relay(_record_values(record), gain))

    node.read(source, receive)
    node.connect()
    with node.session:
        with Timed(pipe):
            while reached < end:
                node.session.wait(0.1)
        node.flush()


def rclpy_loop(size: int, sim_s: float) -> Result:
    """Five processes with rclpy."""
    cycles = round(sim_s / STEP_S / STEPS_PER_CYCLE)
    last = (cycles - 1) * _CYCLE_NS
    workers: list[tuple[Any, ...]] = [(_plant, cycles)]
    for i in (1, 2):
        workers.append((_relay, f"bare_sensor{i}", "/state", f"/seen{i}", 0.5, last))
        workers.append((_relay, f"bare_controller{i}", f"/seen{i}", f"/control{i}", -0.5, last))
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as directory:
        os.environ.update(loopback_environment(os.environ, Path(directory)))
        try:
            sim = cycles * STEPS_PER_CYCLE * STEP_S
            return measure("loop", "bare rclpy", size, sim, workers)
        finally:
            os.environ.clear()
            os.environ.update(before)
