# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs against a CARLA server that was started beforehand, and against none."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import carla
import pytest
from runs.cosim_process import HIGHWAY, PLATOON, cosim, left_processes, user_environment

from ros2_cosim.core.process.processes import end_with_parent

SHORT = ("--set", "duration=2s", "--no-bag")


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    with user_environment(tmp_path / "ros-log") as environment:
        yield environment
        assert left_processes(environment) == []


@pytest.fixture(scope="module")
def server() -> Iterator[int]:
    """A headless server that lives longer than the runs; its port."""
    command = [sys.executable, "-m", "ros2_cosim.cli.main", "carla-headless", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--map", str(HIGHWAY)],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=end_with_parent,
    )
    assert process.stdout is not None
    yield int(process.stdout.readline().rsplit(":", 1)[1])
    assert process.poll() is None, "the server did not survive"
    process.terminate()
    assert process.wait() == 0
    process.stdout.close()


def assert_free(port: int) -> None:
    """The server answers, runs on its own again, and nothing stands in its world."""
    client = carla.Client("127.0.0.1", port)
    client.set_timeout(30.0)
    world = client.get_world()
    assert not world.get_settings().synchronous_mode
    kinds = [actor.type_id for actor in world.get_actors()]
    assert [kind for kind in kinds if kind.startswith(("vehicle", "sensor", "static"))] == []


def test_same_run_on_a_server_of_its_own(
    environment: dict[str, str], server: int, tmp_path: Path
) -> None:
    hashes = []
    there = ("--simulator", "carla", "--set", f"simulator.port={server}")
    for number, options in enumerate((("--shape", "inproc"), there)):
        output = tmp_path / str(number)
        result = cosim(environment, PLATOON, "--out", output, *SHORT, *options)
        # After 2 s the platoon still drives: a verdict is not met, the run is complete.
        assert result.code == 3, result
        hashes.append(json.loads((output / "summary.json").read_text())["trace_sha256"])
    assert hashes[0] == hashes[1]
    assert_free(server)


def test_map_without_a_file(environment: dict[str, str], server: int, tmp_path: Path) -> None:
    options = ("--set", f"simulator={{kind: carla, port: {server}}}", "--set", "scene.map=Town99")
    result = cosim(environment, PLATOON, "--out", tmp_path / "out", *options)
    assert result.error().startswith("cosim: scene.map: found 'Town99'; allowed is the path of a ")
    assert_free(server)


def test_no_server(environment: dict[str, str], tmp_path: Path) -> None:
    with socket.socket() as reserved:
        # Bound, but not listened to: no other program can take it meanwhile.
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        result = cosim(
            environment,
            PLATOON,
            "--out",
            tmp_path / "out",
            "--simulator",
            "carla",
            "--set",
            f"simulator.port={port}",
        )
    assert result.error() == (
        f"cosim: world_slave: no CARLA at 127.0.0.1:{port}: Connection refused"
    )


def test_something_else_at_the_port(environment: dict[str, str], tmp_path: Path) -> None:
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        port = mute.getsockname()[1]
        result = cosim(
            environment, PLATOON, "--out", tmp_path / "out", "--simulator", "carla",
            "--set", f"simulator.port={port}",
            "--set", "simulator.timeout_s=1",
        )  # fmt: skip
    assert result.error() == (
        f"cosim: world_slave: no CARLA at 127.0.0.1:{port}: the port is open, but nothing "
        "answered as a CARLA server within 1 s"
    )
