# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Makes run directories for tests: a small platoon with a simple law, and one without cars."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ros2_cosim.core.messages import catalogue
from ros2_cosim.core.messages.records import (
    Acceleration,
    ControlCommand,
    DetectedObject,
    ObjectList,
    Odometry,
    PlatoonStatus,
    V2VMessage,
)
from ros2_cosim.core.record.bag import BagWriter
from ros2_cosim.core.record.bag_metadata import BagTopic
from ros2_cosim.core.record.summary import (
    Breakdown,
    OrderViolations,
    ParticipantSummary,
    Summary,
    Verdict,
    write_summary,
)

NAMES = ("leader", "follower1", "follower2")
LENGTH = 4.5
MS = 1_000_000


def platoon(end_ms: int) -> Iterator[tuple[str, int, Any]]:
    """(topic, stamp in ms, record) of three cars that brake one after the other."""
    noise = random.Random(1)
    x, v, u = [0.0, -20.0, -40.0], [22.0] * 3, [0.0] * 3
    for ms in range(0, end_ms, 10):
        acceleration = [-2.5 if ms > 6000 and v[0] > 0 else 0.0, u[1], u[2]]
        gaps = [x[0] - x[1] - LENGTH, x[1] - x[2] - LENGTH]
        for i, name in enumerate(NAMES):
            v[i] = max(0.0, v[i] + 0.01 * acceleration[i])
            x[i] += 0.01 * v[i]
            yield f"/{name}/odometry", ms, Odometry(x[i], 2.0, *[0.0] * 4, 1.0, v[i], *[0.0] * 5)
            yield f"/{name}/acceleration", ms, Acceleration(acceleration[i] * (v[i] > 0), 0.0, 0.0)
        for i, name in enumerate(NAMES[1:], start=1) if ms % 40 == 0 else ():
            measured = gaps[i - 1] + noise.gauss(0.0, 0.15)
            found = DetectedObject(i, 1, measured, v[i - 1] - v[i], 0.0, LENGTH, 1.8, 1.0)
            yield f"/{name}/objects", ms, ObjectList((found,))
            u[i] = 0.4 * (measured - 5.0 - 0.5 * v[i]) + 0.9 * (v[i - 1] - v[i])
            u[i] = min(2.0, max(-6.0, u[i]))
            pedal = min(1.0, max(-1.0, u[i] / 6.0))
            yield f"/{name}/control", ms, ControlCommand(u[i], max(0, pedal), max(0, -pedal), 0.0)
        if ms % 50 == 0:
            age = 5 + noise.randrange(20)
            sent = V2VMessage(1, ms * MS, x[0], 2.0, v[0], 0.0, 0.0, LENGTH, False)
            yield "/v2v/leader_to_follower1", ms + age, sent
        if ms % 100 == 0:
            standing = not any(v)
            yield "/platoon_status", ms, PlatoonStatus(290.0 - x[0], 0, standing, tuple(gaps), ())


def write_bag(path: Path, messages: Iterator[tuple[str, int, Any]]) -> None:
    content = [(topic, ms * MS, record) for topic, ms, record in messages]
    types = {topic: catalogue.type_name(type(record)) for topic, _, record in content}
    codecs = {topic: catalogue.codec(name, frame_id="map") for topic, name in types.items()}
    seq = dict.fromkeys(types, 0)
    with BagWriter(path, [BagTopic(*pair) for pair in types.items()]) as writer:
        for topic, stamp, record in content:
            data = codecs[topic].encode(stamp, seq[topic], record)
            writer.write(topic, stamp, seq[topic], data)
            seq[topic] += 1


def summary(scenario: str, participants: dict[str, int], **changes: Any) -> Summary:
    entries = tuple(
        ParticipantSummary(
            name=name,
            activations=count,
            compute_s=2e-5 * count * (1 + number),
            wait_s=4e-4 * count,
            transport_s=1.3e-4 * count,
        )
        for number, (name, count) in enumerate(participants.items())
    )
    content: dict[str, Any] = {
        "scenario": scenario,
        "shape": "ros",
        "simulator": "headless",
        "seed": 7,
        "steps": max(participants.values()),
        "sim_time_s": 20.0,
        "wall_time_s": 6.51,
        "startup_time_s": 3.2,
        "rtf": 20.0 / 6.51,
        "end_reason": "all vehicles stand still",
        "trace_sha256": "3f" * 32,
        "repeatable": True,
        "causality": OrderViolations(),
        "participants": entries,
        "breakdown": Breakdown(
            compute_s=sum(p.compute_s for p in entries),
            wait_s=sum(p.wait_s for p in entries),
            transport_s=sum(p.transport_s for p in entries),
        ),
        "versions": {"ros2_cosim": "0.1.0", "carla": "0.9.16"},
    }
    return Summary(**(content | changes))


def make_platoon_run(run_dir: Path, end_ms: int = 20_000) -> Path:
    """A finished driving run."""
    write_bag(run_dir / "bag", platoon(end_ms))
    counts = {"world": 2000, "v2v": 400, "referee": 200}
    for i in (1, 2):
        counts |= {f"sensor{i}": 500, f"cacc{i}": 500}
    verdicts = (
        Verdict(name="no collision", value=0, limit=0, passed=True),
        Verdict(name="smallest gap [m]", value=6.184931, limit=2.0, passed=True),
        Verdict(name="stands before the obstacle", value=True, limit=True, passed=True),
        Verdict(name="end of the run [s]", value=19.9, limit=60.0, passed=True),
    )
    driving = {"collisions": 0, "min_gap_m": 6.18, "final_gap_to_obstacle_m": 61.3}
    write_summary(run_dir, summary("platoon", counts, verdicts=verdicts, **driving))
    return run_dir


def make_plain_run(run_dir: Path) -> Path:
    """A finished run of participants that drive nothing."""
    write_bag(
        run_dir / "bag",
        (("/ping", ms, ControlCommand(float(ms), 0.0, 0.0, 0.0)) for ms in range(0, 500, 7)),
    )
    write_summary(run_dir, summary("<ping>", {"ping": 72}))
    return run_dir


@pytest.fixture(scope="session")
def platoon_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_platoon_run(tmp_path_factory.mktemp("platoon"), end_ms=12_000)


@pytest.fixture
def plain_run(tmp_path: Path) -> Path:
    return make_plain_run(tmp_path)
