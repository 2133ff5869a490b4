# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The CARLA slave on another host: a network namespace, joined to this one by a virtual cable."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.dcp_models import Sine, running, sine_description
from support.far_host import FAR, NEAR, joined_namespace
from support.patience import HANG_S

from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.standard.enums import PduType, TransportProtocol
from ros2_cosim.dcp.standard.pdu import make
from ros2_cosim.dcp.standard.write_description import description_bytes

ROOT = Path(__file__).parents[2]
PLATOON = ROOT / "config" / "platoon.yaml"
SHORT = "duration=500ms"
COSIM = [sys.executable, "-m", "ros2_cosim.cli.main"]


@pytest.fixture
def far_host() -> Iterator[list[str]]:
    """Words before a command that runs on the other host."""
    with joined_namespace() as there:
        yield there


@pytest.mark.usefixtures("nothing_left", "ros_domain")
def test_the_world_on_another_host_gives_the_same_trace(
    far_host: list[str], tmp_path: Path
) -> None:
    pytest.importorskip("rclpy")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    expected = run_inproc(load_scenario(PLATOON, [SHORT]), tmp_path / "near", record=False)
    serve = [*COSIM, "dcp", "serve", "--world", str(PLATOON), "--set", SHORT]
    slave = subprocess.Popen(
        [*far_host, *serve, "--port", f"{FAR}:9000"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert slave.stdout is not None
        assert slave.stdout.readline() == f"carla listens on {FAR}:9000\n"
        settings = [SHORT]
        for key, value in (("host", FAR), ("port", "9000")):
            settings.append(f"participants.world.parameters.dcp.{key}={value}")
        words = [word for setting in settings for word in ("--set", setting)]
        done = subprocess.run(
            [*COSIM, "run", str(PLATOON), "--shape", "composed", "--no-bag", *words]
            + ["--out", str(tmp_path / "run")],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 3, done.stdout + done.stderr  # too short for its verdicts
        output, _ = slave.communicate(timeout=60)
        assert (slave.returncode, output) == (0, "")
    finally:
        slave.kill()
        slave.communicate()
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    assert summary["trace_sha256"] == expected.trace_sha256
    assert summary["repeatable"] is True
    assert summary["repeatable_scope"] == "everywhere"


@pytest.mark.usefixtures("nothing_left")
def test_a_master_has_slaves_here_and_on_another_host_over_udp(
    far_host: list[str], tmp_path: Path
) -> None:
    udp = TransportProtocol.UDP_IPv4
    description = sine_description(name="sine")
    (tmp_path / "sine.dcpx").write_bytes(description_bytes(description))
    (tmp_path / "far.py").write_text("from support.dcp_models import Sine  # noqa: F401\n")
    serve = ["dcp", "serve", str(tmp_path / "far.py:Sine"), "--description"]
    far = subprocess.Popen(
        [*far_host, *COSIM, *serve, str(tmp_path / "sine.dcpx"), "--port", f"{FAR}:9000"],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'test'}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert far.stdout is not None
        assert f"{FAR}:9000" in (line := far.stdout.readline()), line + far.stdout.read()
        with running(Sine(), description) as near, Master(timeout_s=HANG_S) as master:
            master.add_slave(description, port=near.port, name="near", transport=udp)
            master.add_slave(description, FAR, 9000, name="far", transport=udp)
            master.connect("near.y", "far.a")
            master.connect("far.y", "near.a")
            master.configure()
            master.initialise()
            master.run()
            for _ in range(5):
                master.do_step()
            one, two = master.slaves.values()
            # Addresses of the loopback say nothing on the other host: the master passes data on.
            assert one.input_names and two.input_names
            assert one.outputs[0] == two.outputs[0] != 0
            master.stop()
    finally:
        far.kill()
        far.communicate()


@pytest.mark.usefixtures("nothing_left")
def test_a_slave_serves_the_hosts_that_are_listed_alone(far_host: list[str]) -> None:
    """COSIM_ALLOW: another host gets no answer, neither over TCP nor over UDP."""
    model = str(ROOT / "test" / "support" / "dcp_models.py") + ":Sine"
    question = make(PduType.INF_state, pdu_seq_id=0, receiver=1)
    for allowed in (NEAR, "192.0.2.1"):
        serve = ["dcp", "serve", model, "--port", f"{FAR}:0"]
        slave = subprocess.Popen(
            [*far_host, *COSIM, *serve],
            env={
                **os.environ,
                "PYTHONPATH": f"{ROOT}:{ROOT / 'test'}",
                "COSIM_ALLOW": allowed,
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert slave.stdout is not None
            port = int(slave.stdout.readline().rpartition(":")[2])
            with socket.create_connection((FAR, port), HANG_S) as link:
                link.sendall(struct.pack("<I", len(question)) + question)
                try:
                    answer = link.recv(5)
                except ConnectionResetError:
                    answer = b""
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.connect((FAR, port))
                sock.settimeout(HANG_S if allowed == NEAR else 0.2)
                sock.send(question)
                try:
                    datagram = sock.recv(100)
                except TimeoutError:
                    datagram = b""
            assert bool(answer) == bool(datagram) == (allowed == NEAR)
        finally:
            slave.kill()
            slave.communicate()
