# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The VDS1 server over real sockets, against a peer made of struct and zlib."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.patience import HANG_S, until
from support.vds_peer import pack_command, unpack_state
from support.vds_serving import served
from typer.testing import CliRunner

from ros2_cosim.cli.vds import app
from ros2_cosim.core.kernel.errors import ConfigurationError, ConnectionFailedError
from ros2_cosim.core.realtime.wall_clock import MonotonicClock
from ros2_cosim.vds.client import VdsClient
from ros2_cosim.vds.fleet_settings import FleetSettings, read_settings
from ros2_cosim.vds.free_run import FreeRunSettings
from ros2_cosim.vds.lock_step import LockStepMode
from ros2_cosim.vds.replay import replay
from ros2_cosim.vds.server import ServerSettings, VdsServer
from ros2_cosim.vds.sockets import CommandPorts, CommandReceiver, StateSender, read_address
from ros2_cosim.vds.vehicle_plant import FAIL_SAFE, VehicleCommand

ONE = read_settings({"vehicles": {"v": {"speed": 20.0}}}, "fleet")


class Peer:
    """A foreign controller: one socket, states of one vehicle."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(HANG_S)

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.socket.getsockname()
        return host, port

    def send(self, port: int, data: bytes) -> None:
        self.socket.sendto(data, ("127.0.0.1", port))

    def state(self, wanted: Callable[[dict[str, Any]], bool] = lambda s: True) -> dict[str, Any]:
        while True:
            found = unpack_state(self.socket.recv(2000))
            if wanted(found):
                return found

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def peer() -> Iterator[Peer]:
    made = Peer()
    yield made
    made.close()


@contextmanager
def serving(
    receivers: list[tuple[str, int]], fleet: FleetSettings = ONE, **settings: Any
) -> Iterator[VdsServer]:
    made = ServerSettings(fleet, command_port=0, receivers=tuple(receivers), **settings)
    with served(VdsServer(made)) as server:
        yield server


# -- lock-step ------------------------------------------------------------------------------------


def test_every_command_is_one_step_and_its_state_the_answer(peer: Peer) -> None:
    stepped = ONE.fleet()
    with serving([peer.address], lockstep=True) as server:
        port = server.ports.ports["v"]
        first = peer.state()
        assert (first["seq"], first["timestamp"], first["vx"]) == (0, 0.0, 20.0)
        for k in range(1, 201):
            steer, brake = 0.002 * (k % 9), 0.1 if k > 100 else 0.0
            peer.send(port, pack_command(k, steer, 0.3, brake))
            seen = peer.state(lambda s, k=k: s["seq"] == k)  # type: ignore[misc]
            stepped["v"].set_input(VehicleCommand(steer, 0.3, brake))
            state = stepped.tick()["v"].state
            assert seen["timestamp"] == pytest.approx(k * 0.005, abs=1e-12)
            assert (seen["x"], seen["y"], seen["yaw"]) == (state.x, state.y, state.yaw)
            assert (seen["vx"], seen["ax"], seen["steer"]) == (state.vx, state.ax, state.steer)
            assert (seen["spin_fl"], seen["load_rr"]) == (state.wheel_spin[0], state.wheel_load[3])
        assert server.fleet.trace_sha256 == stepped.trace_sha256
        until(lambda: server.figures()["steps"] == 200, "200 steps")
        figures = server.figures()
        assert (figures["state"], figures["time_s"]) == ("running", 1.0)


def test_a_repeated_command_is_answered_again_but_not_stepped_again(peer: Peer) -> None:
    with serving([peer.address], lockstep=True) as server:
        port = server.ports.ports["v"]
        for _ in range(5):
            peer.send(port, pack_command(1, throttle=0.5))
        first = peer.state(lambda s: s["seq"] == 1)
        again = peer.state(lambda s: s["seq"] > 0)
        assert first == again
        peer.send(port, pack_command(2, throttle=0.5))
        assert peer.state(lambda s: s["seq"] > 1)["seq"] == 2
        assert server.fleet["v"].output().steps == 2


def test_another_sender_may_begin_anew(peer: Peer) -> None:
    other = Peer()
    with serving([peer.address], lockstep=True) as server:
        port = server.ports.ports["v"]
        peer.send(port, pack_command(1000))
        peer.state(lambda s: s["seq"] == 1)
        peer.send(port, pack_command(999))  # stale from the same one
        other.send(port, pack_command(5))
        peer.state(lambda s: s["seq"] == 2)
        assert server.ports.counts()["v"] == (2, 1, 0)
    other.close()


def test_a_run_of_so_many_steps_ends_behind_them(peer: Peer) -> None:
    fleet, ports = ONE.fleet(), CommandPorts(["v"], "127.0.0.1", 0)
    sender = StateSender(["v"], [peer.address])
    mode = LockStepMode(fleet, ports, sender)
    for k in range(1, 6):
        peer.send(ports.ports["v"], pack_command(k))
    mode.run(steps=3)
    assert (fleet["v"].output().steps, mode.figures()["state"]) == (3, "ended")
    for each in (mode, ports, sender):
        each.close()  # type: ignore[attr-defined]


def test_pause_and_step_hold_in_lock_step(peer: Peer) -> None:
    with serving([peer.address], lockstep=True) as server:
        port = server.ports.ports["v"]
        server.control.pause()
        for k in range(1, 6):
            peer.send(port, pack_command(k))
        server.control.step(2)
        until(lambda: server.control.status().steps == 2)
        assert server.control.status().state == "paused"
        server.control.resume()
        until(lambda: server.control.status().steps == 5)
        with pytest.raises(ConfigurationError, match="sets the pace"):
            server.control.set_rate(2.0)
        assert not server.control.status().may_change_rate


def test_vehicles_step_each_by_its_own_port(peer: Peer) -> None:
    fleet = read_settings({"vehicles": {"a": {"speed": 5.0}, "b": {"kind": "truck"}}}, "f")
    # The receiver of vehicle i is port + i; two neighbouring ports are found by trying.
    second = Peer()
    second.close()
    while True:
        second = Peer.__new__(Peer)
        second.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        second.socket.settimeout(HANG_S)
        try:
            second.socket.bind(("127.0.0.1", peer.address[1] + 1))
            break
        except (OSError, OverflowError):
            second.close()
            peer.close()
            peer.__init__()  # type: ignore[misc]
    with serving([peer.address], fleet, lockstep=True) as server:
        ports = server.ports.ports
        for k in range(1, 4):
            peer.send(ports["a"], pack_command(k, throttle=1.0))
            peer.state(lambda s, k=k: s["seq"] == k)  # type: ignore[misc]
        second.send(ports["b"], pack_command(1, throttle=1.0))
        assert second.state(lambda s: s["seq"] == 1)["wheel_radius"] == 0.5
        outputs = server.fleet.outputs()
        assert (outputs["a"].steps, outputs["b"].steps) == (3, 1)
    second.close()


# -- free run -------------------------------------------------------------------------------------


def test_a_free_run_sends_states_to_all_receivers(peer: Peer) -> None:
    other = Peer()
    with serving([peer.address, other.address]) as server:
        seen = [peer.state() for _ in range(20)]
        there = other.state(lambda s: s["seq"] >= seen[0]["seq"])
        assert [s["seq"] for s in seen] == list(range(seen[0]["seq"], seen[0]["seq"] + 20))
        for state in seen:
            assert state["timestamp"] == pytest.approx(state["seq"] * 0.005, abs=1e-12)
        assert there in seen or there["seq"] > seen[-1]["seq"]
        until(lambda: server.sender.sent >= 40)
        assert server.sender.failed == 0
    other.close()


def test_a_state_that_cannot_be_sent_is_counted_once() -> None:
    outputs = read_settings({"vehicles": {"a": {}, "b": {}}}, "fleet").fleet().tick()
    sender = StateSender(outputs, [("127.0.0.1", 65535)])  # no port is left for the second one
    for count in (1, 2):
        sender.send(outputs)
        assert (sender.sent, sender.failed) == (count, count)
    sender.close()


def test_silence_brings_the_fail_safe_and_a_command_ends_it(peer: Peer) -> None:
    free = FreeRunSettings(command_timeout_ns=50_000_000)
    with serving([peer.address], free_run=free) as server:
        until(lambda: server.fleet["v"].output().command == FAIL_SAFE)
        seq = 0
        while server.fleet["v"].output().command != VehicleCommand(0.0, 0.5)._replace(
            acceleration=1.0, speed=2.0
        ):
            seq += 1
            peer.send(
                server.ports.ports["v"],
                pack_command(seq, throttle=0.5, acceleration=1.0, speed=2.0),
            )
            time.sleep(0.002)
        until(lambda: server.fleet["v"].output().command == FAIL_SAFE)
        # After such a silence the sender may have been started anew: number 0 is taken.
        taken = FAIL_SAFE
        while taken == FAIL_SAFE:
            peer.send(server.ports.ports["v"], pack_command(0, throttle=0.25))
            time.sleep(0.002)
            taken = server.fleet["v"].output().command
        assert taken.throttle == 0.25


def test_stale_and_malformed_packets_never_change_state(peer: Peer) -> None:
    free = FreeRunSettings(command_timeout_ns=3600 * 10**9, rate=None)
    draw = random.Random(4)
    valid = pack_command(500, throttle=0.5)
    with serving([], free_run=free) as server:
        port = server.ports.ports["v"]
        server.control.pause()
        peer.send(port, valid)
        until(lambda: server.ports.counts()["v"].accepted == 1)
        server.control.step(1)
        until(lambda: server.fleet["v"].output().command.throttle == 0.5)
        latched = server.fleet["v"].output().command
        sent = 0
        for _ in range(40):
            for _ in range(50):
                data = bytearray(valid)
                kind = draw.randrange(4)
                if kind == 0:
                    data[draw.randrange(76)] ^= 1 << draw.randrange(8)
                elif kind == 1:
                    data = data[: draw.randrange(76)]
                elif kind == 2:
                    data += draw.randbytes(draw.randrange(1, 1000))
                else:
                    data = bytearray(draw.randbytes(draw.choice((0, 1, 24, 76, 220, 500))))
                peer.send(port, bytes(data))
                sent += 1
            # Old numbers with a right checksum: half of all numbers lie behind.
            peer.send(port, pack_command((500 - draw.randrange(2**31)) % 2**32, brake=1.0))
            sent += 1
            counted = sent
            until(lambda: sum(server.ports.counts()["v"]) == 1 + counted)  # noqa: B023
        assert server.ports.counts()["v"].accepted == 1
        steps = server.control.status().steps
        server.control.step(10)
        until(lambda: server.control.status().steps == steps + 10)
        assert server.fleet["v"].output().command == latched


def test_a_flood_at_one_port_does_not_hold_up_the_others(peer: Peer) -> None:
    ports = CommandPorts(("v", "w"), "127.0.0.1", 0)
    for k in range(200):
        peer.send(ports.ports["v"], pack_command(k))
    peer.send(ports.ports["w"], pack_command(1))
    order: list[str] = []
    receiver = CommandReceiver(
        ports, lambda vehicle, packet: order.append(vehicle), MonotonicClock(), 10**9
    )
    receiver.start()
    until(lambda: sum(counts.accepted for counts in ports.counts().values()) == 201)
    receiver.close()
    receiver.close()
    ports.close()
    assert order.index("w") <= 64


def test_a_recorded_run_is_replayed_exactly(peer: Peer, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with serving([peer.address], record=path) as server:
        for k in range(1, 40):
            peer.send(server.ports.ports["v"], pack_command(k, 0.001 * k, 0.01 * k))
            peer.state()
    assert replay(path).trace_sha256 == server.fleet.trace_sha256


def test_client_and_server_understand_each_other() -> None:
    client = VdsClient(("127.0.0.1", 9), "127.0.0.1", 0)
    with serving([("127.0.0.1", client.port)], lockstep=True) as server:
        client._server = ("127.0.0.1", server.ports.ports["v"])
        assert client.wait(HANG_S).seq == 0
        for k in range(1, 50):
            packet = client.exchange(VehicleCommand(throttle=0.1), k * 0.005, HANG_S)
            assert packet.seq == k
        assert client.poll() is None
        assert (client.received, client.refused, client.lost) == (50, 0, 0)
        stranger = Peer()
        stranger.send(client.port, b"x" * 220)
        until(lambda: client.poll() is None and client.refused == 1)
        stranger.close()
    client.close()


def test_a_client_without_answer_says_what_it_waited_for() -> None:
    silent = Peer()
    client = VdsClient(silent.address)
    with pytest.raises(ConnectionFailedError, match=f"{silent.address[1]}: no state on port"):
        client.exchange(VehicleCommand(), 0.0, 0.2)
    # The command was repeated meanwhile, byte for byte.
    assert silent.socket.recv(500) == silent.socket.recv(500)
    client.close()
    silent.close()


def test_ports_that_are_taken_are_named_and_nothing_stays_open(peer: Peer) -> None:
    settings = ServerSettings(ONE, command_port=peer.address[1], http_port=0)
    with pytest.raises(ConnectionFailedError, match=f"127.0.0.1:{peer.address[1]} cannot be"):
        VdsServer(settings)
    with pytest.raises(ConfigurationError, match="record"):
        VdsServer(ServerSettings(ONE, command_port=0, record=Path("/nowhere/file")))


@pytest.mark.parametrize("text", ["127.0.0.1:0", "127.0.0.1:99999", "a b", "127.0.0.1:x", ""])
def test_wrong_addresses_are_named(text: str) -> None:
    with pytest.raises(ConfigurationError, match="--to"):
        read_address(text, 0 if not text else 6602, "--to")


# -- the command ----------------------------------------------------------------------------------


def cosim(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ros2_cosim.cli.main", "vds", *arguments]


@pytest.mark.usefixtures("nothing_left")
def test_the_command_serves_until_it_is_told_to_end(peer: Peer, tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    command = cosim("serve", "--port", "0", "--to", f"127.0.0.1:{peer.address[1]}", "--json")
    command += ["--set", "dt=10ms", "--set", "speed=12.5", "--command-timeout", "500ms"]
    command += ["--dashboard", "0", "--record", str(record)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    assert process.stderr is not None
    places = [process.stderr.readline() for _ in range(3)]
    assert places[0].startswith("v0: commands at 127.0.0.1:")
    assert places[1] == f"states to 127.0.0.1:{peer.address[1]}\n"
    assert places[2].startswith("dashboard at http://127.0.0.1:")
    port = int(places[0].rsplit(":", 1)[1])
    for k in range(1, 20):
        peer.send(port, pack_command(k, throttle=0.4))
        state = peer.state()
    assert state["timestamp"] == pytest.approx(state["seq"] * 0.01, abs=1e-12)
    assert state["vx"] > 11.0
    process.terminate()
    out, _ = process.communicate(timeout=HANG_S)
    assert process.returncode == 0
    figures = json.loads(out)
    assert figures["commands"]["v0"] == {"accepted": 19, "stale": 0, "malformed": 0}
    done = subprocess.run(
        cosim("replay", str(record), "--out", str(tmp_path / "states.csv")),
        capture_output=True,
        text=True,
        timeout=HANG_S,
    )
    assert figures["trace_sha256"] in done.stdout, done.stderr
    table = (tmp_path / "states.csv").read_text(encoding="utf-8").splitlines()
    assert len(table) == 1 + figures["steps"]
    assert table[0].startswith("time_s,vehicle,x,y,z,roll")


def test_the_command_ends_by_itself_after_a_duration(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("dt: 10ms\nvehicles: {ego: {kind: van, speed: 3.0}}\n", encoding="utf-8")
    arguments = ["serve", str(fleet), "--port", "0"]
    arguments += ["--duration", "2s", "--factor", "max", "--command-timeout", "0"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert done.output.startswith("ego: commands at")
    assert "2 s in 200 steps; 0 commands" in done.output


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["serve", "--set", "speed"], "--set speed: allowed is key=value"),
        (["serve", "--set", "speed.x.y=1"], "vehicles.v0.speed: found"),
        (["serve", "--vehicles", "0"], "--vehicles: found 0"),
        (["serve", "--to", "no such host"], "--to: found 'no such host'"),
        (["serve", "--factor", "-1"], "--factor: found '-1'"),
        (
            ["serve", "--command-timeout", "0.1"],
            "--command-timeout: found 0.1; a time needs a unit: write 0.1s",
        ),
        (["serve", "--set", "speed=.nan"], "vehicles.v0.speed"),
        (["serve", "none.yaml"], "FILE none.yaml: No such file"),
        (["serve", "--port", "0", "--dashboard", "203.0.113.1:0"], "HTTP"),
        (["replay", "none.jsonl"], "none.jsonl: No such file"),
    ],
)
def test_wrong_options_give_one_line(arguments: list[str], text: str) -> None:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 1
    assert text in done.output
    assert done.output.startswith("cosim: ") and done.output.count("\n") == 1
