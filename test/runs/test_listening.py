# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim plan`` names all that listens in a run; at none of it a program of another user is heard.

The kinds of ports are those of :class:`PortUse`: one without an attack here fails.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from dcp_bridge.test_dcp_bridge import data as dcp_data
from runs.cosim_process import MARK, PLATOON, ROOT, Running, left_processes, user_environment
from runs.test_hosts import on_two_hosts, saved
from runs.test_strangers_on_the_machine import BRIEF_S, PUSH, STOP, STOP_FRAME, TIME_GAP
from support.foxglove_protocol import PROTOCOL
from support.listening import Found, difference, listening
from support.patience import HANG_S, until
from support.ports import free_port, three_free_ports
from support.processes import marked_processes
from support.stranger import Program, http, program
from support.vds_models import loop
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.listening import PortUse
from ros2_cosim.vds.vds1 import encode_state
from ros2_cosim.vds.vehicle_plant import PlantState

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

_ZERO = (0.0, 0.0, 0.0, 0.0)
_FAR = PlantState(
    **dict.fromkeys(PlantState._fields[:14], 99.0),
    wheel_spin=_ZERO,
    steer=0.0,
    wheel_radius=1.0,
    wheel_load=_ZERO,
)
#: A state as a vehicle simulator sends it, far ahead of all that it has sent.
STATE = encode_state(1_000_000, 99.0, _FAR)


#: Options of a run that stands before its first activations, or behind them.
STANDS, SLOWLY = ("--paused",), ("--rate", "0.001")


class Shown(NamedTuple):
    """A run that stands, with what was planned to listen in it, and what listens."""

    running: Running
    planned: list[dict[str, Any]]
    found: list[Found]

    def at(self, planned: dict[str, Any]) -> list[Found]:
        """The sockets that a line of the plan stands for; any that has no number there may be."""
        numbers = {each["port"] for each in self.planned}
        port = planned["port"]
        wanted = {port} if port or planned["kind"] == "unix" else {*range(65536)} - numbers
        return [
            at
            for at in self.found
            if at.kind == planned["kind"]
            and fnmatchcase(at.host, planned["host"])
            and at.port in wanted
        ]


@contextmanager
def standing(environment: dict[str, str], *words: object) -> Iterator[Shown]:
    """A run that listens at all that is planned for it, and at nothing else."""
    planned = plan_of(environment, *words)
    domain = int(environment["ROS_DOMAIN_ID"])
    with Running(environment, *words) as running:

        def now() -> tuple[list[Any], list[Any]]:
            return difference(planned, sockets(environment), domain)

        def alive() -> None:
            assert not running.has_ended, running.result()
            time.sleep(0.25)  # to look takes a processor

        until(lambda: now() == ([], []), alive, lambda: f"missing, not planned: {now()}")
        yield Shown(running, planned, sockets(environment))
        running.send(signal.SIGTERM)
        running.result()
    assert left_processes(environment) == []


def sockets(environment: dict[str, str]) -> list[Found]:
    """What the processes of a run listen at."""
    return listening(marked_processes(MARK, environment[MARK]))


def plan_of(environment: dict[str, str], *words: object) -> list[dict[str, Any]]:
    """All ports of the plan for a run."""
    asked = ["plan", *(str(word) for word in words if word not in (*SLOWLY, *STANDS)), "--json"]
    at = asked.index("--out")  # a plan names no files
    del asked[at : at + 2]
    variables = {name: environment.get(name) for name in {*os.environ, *environment}}
    done = CliRunner().invoke(app, asked, env=variables)
    assert done.exit_code == 0, done.output
    processes: list[dict[str, Any]] = json.loads(done.stdout)
    there = [far for process in processes for far in process.get("there", ())]
    return [port for process in (*processes, *there) for port in process["ports"]]


# -- what another user tries at each kind of port --------------------------------------------------

Attack = Callable[[Program, Found], None]


def over_ip(*packets: bytes) -> Attack:
    """Nothing has an answer, and a connection is closed, or never accepted."""

    def attack(stranger: Program, at: Found) -> None:
        for packet in packets:
            if at.kind == "udp":
                said = stranger.udp(at.port, packet, BRIEF_S, at.host)
            else:
                said = stranger.tcp(at.port, packet, wait_s=BRIEF_S, host=at.host)
            assert said.answer == b"", at

    return attack


def by_name(packet: bytes, *, in_packets: bool = False) -> Attack:
    """A socket of this machine closes the connection without a word."""

    def attack(stranger: Program, at: Found) -> None:
        said = stranger.unix(at.host, packet, in_packets=in_packets)
        assert said.answer == b"" and said.closed, at

    return attack


def claim(stranger: Program, at: Found) -> None:
    """Nothing reads there: who connects waits."""
    assert at.kind == "unix"


def page(stranger: Program, at: Found) -> None:
    change = http("POST", "/api/changes", at.port, {"set": TIME_GAP, "to": 3.2})
    over_ip(change, http("GET", "/api/run", at.port))(stranger, at)


def live_view(stranger: Program, at: Found) -> None:
    """It shows itself, but offers nothing by which a viewer could change the run."""
    head = (
        f"GET / HTTP/1.1\r\nHost: {at.host}:{at.port}\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Key: MTIzNDU2Nzg5MDEyMzQ1Ng==\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: {PROTOCOL}\r\n\r\n"
    )
    said = stranger.tcp(at.port, head.encode(), enough=400, wait_s=1.0, host=at.host).answer
    assert said.startswith(b"HTTP/1.1 101 ")
    assert b'"capabilities":["time"]' in said


ATTACKS: dict[PortUse, Attack] = {
    PortUse.SIMULATOR: over_ip(PUSH),
    PortUse.STREAMS: over_ip(PUSH),
    PortUse.RESERVED: over_ip(PUSH),
    PortUse.DCP_CONTROL: lambda s, at: over_ip(STOP if at.kind == "udp" else STOP_FRAME)(s, at),
    PortUse.DCP_DATA: lambda s, at: over_ip(STOP if at.kind == "udp" else STOP_FRAME)(s, at),
    PortUse.VDS_STATES: over_ip(STATE),
    PortUse.PAGE: page,
    PortUse.LIVE_VIEW: live_view,
    PortUse.FAR_PART: over_ip(b"0" * 32 + b"\n"),
    PortUse.CHANNEL: by_name(b'{"kind": "over"}\n'),
    PortUse.LANE: by_name(b"{}", in_packets=True),
    PortUse.CLAIM: claim,
    # Its topics and services: test_outsiders.py, and docs/security.md for what they allow.
    PortUse.DDS: over_ip(),
}


def attacked(shown: Shown) -> set[str]:
    """The uses of the ports at which a stranger has tried everything."""
    with program() as stranger:
        for planned in shown.planned:
            for at in shown.at(planned) if planned["use"] != PortUse.DDS.value else ():
                ATTACKS[PortUse(planned["use"])](stranger, at)
    return {planned["use"] for planned in shown.planned}


_NODES = {PortUse.CLAIM, PortUse.CHANNEL, PortUse.DDS}
_SERVERS = {PortUse.SIMULATOR, PortUse.STREAMS, PortUse.RESERVED, PortUse.DCP_CONTROL}
#: What listens in the runs below.
USES = {
    "ros": _NODES | _SERVERS | {PortUse.LANE, PortUse.DCP_DATA, PortUse.LIVE_VIEW},
    "composed": _NODES | {PortUse.DCP_CONTROL, PortUse.DCP_DATA, PortUse.VDS_STATES},
    "inproc": {PortUse.PAGE, PortUse.LIVE_VIEW, PortUse.DCP_CONTROL, PortUse.DCP_DATA},
    "hand": _NODES | {PortUse.FAR_PART},
}


def test_all_kinds_of_ports_are_attacked() -> None:
    assert set(ATTACKS) == set(PortUse) == set().union(*USES.values())


def check(shape: str, shown: Shown) -> None:
    assert attacked(shown) == {use.value for use in USES[shape]}


def foxglove() -> tuple[object, ...]:
    pytest.importorskip("foxglove", reason="the extra live is not installed")
    return "--foxglove", free_port()


def test_a_run_in_processes(tmp_path: Path) -> None:
    numbers = {
        "simulator.port": three_free_ports(),
        "participants.world.parameters.dcp.port": free_port(),
    }
    fixed = [word for key, port in numbers.items() for word in ("--set", f"{key}={port}")]
    words = [PLATOON, "--out", tmp_path / "out", *fixed, *foxglove(), *STANDS]
    with (
        user_environment(tmp_path / "log") as environment,
        standing(environment, *words) as shown,
    ):
        check("ros", shown)


def test_a_run_in_one_process_beside_a_vehicle_simulator_and_slaves(tmp_path: Path) -> None:
    waves = json.dumps(dcp_data())
    for old, new in (
        ('"plant"', '"waves"'),
        ("plant.", "waves."),
        ('"driver"', '"waver"'),
        ("driver.", "waver."),
        ('"/odometry"', '"/waves"'),
        ('"/control"', '"/waver"'),
    ):
        waves = waves.replace(old, new)
    participants = json.loads(waves)["participants"]
    slaves = participants["waves"]["parameters"]["slaves"]
    slaves["own"] = {"model": str(ROOT / "test" / slaves["wave"]["model"])}
    slaves["wave"] |= {"model": slaves["own"]["model"], "process": True, "transport": "udp"}
    slaves["wave"]["port"] = free_port()
    participants["waves"]["parameters"]["outputs"]["static"]["fields"]["objects[].x"] = "own.row"
    states = free_port()
    with user_environment(tmp_path / "log") as environment:
        serve = [sys.executable, "-m", "ros2_cosim.cli.main", "vds", "serve", "--lockstep"]
        serve += ["--port", "0", "--to", f"127.0.0.1:{states}"]
        others = {name: text for name, text in environment.items() if name != MARK}
        simulator = subprocess.Popen(serve, env=others, stdout=subprocess.PIPE, text=True)
        try:
            assert simulator.stdout is not None
            port = int(simulator.stdout.readline().rsplit(":", 1)[1])
            reach = {"host": "127.0.0.1", "port": port, "state_port": states, "timeout_s": HANG_S}
            scenario = tmp_path / "loop.json"
            made = loop(reach, "200ms")
            made["participants"] |= participants
            scenario.write_text(json.dumps(made), encoding="utf-8")
            words = [scenario, "--shape", "composed", "--out", tmp_path / "out", *SLOWLY]
            with standing(environment, *words) as shown:
                check("composed", shown)
        finally:
            simulator.terminate()
            simulator.communicate(timeout=HANG_S)


def test_a_run_without_ros_and_its_page(tmp_path: Path) -> None:
    scenario = tmp_path / "waves.json"
    made = {**dcp_data(), "base_directory": str(ROOT / "test")}
    wave = made["participants"]["plant"]["parameters"]["slaves"]["wave"]
    wave["model"] = str(ROOT / "test" / wave["model"])
    scenario.write_text(json.dumps(made), encoding="utf-8")
    words = [scenario, "--shape", "inproc", "--out", tmp_path / "out", *SLOWLY]
    words += ["--dashboard", free_port(), *foxglove()]
    with (
        user_environment(tmp_path / "log") as environment,
        standing(environment, *words) as shown,
    ):
        check("inproc", shown)


def test_a_run_that_waits_for_a_part_that_is_started_by_hand(tmp_path: Path) -> None:
    data = on_two_hosts({"address": "127.0.0.1", "start": "hand", "port": free_port()})
    words = [saved(data, tmp_path), "--out", tmp_path / "out"]
    with (
        user_environment(tmp_path / "log") as environment,
        standing(environment, *words) as shown,
    ):
        check("hand", shown)


#: Beginnings of the names that a run gives its sockets in the abstract space.
NAMED = {
    "@ros2_cosim-channel-": PortUse.CHANNEL,
    "@ros2_cosim-lane-": PortUse.LANE,
    "@ros2_cosim-run-": PortUse.CLAIM,
}


def many_runs(directory: Path) -> dict[str, tuple[list[str], set[str]]]:
    """Command -> its words, and beginnings of what listens while its runs are under way."""
    sweep = directory / "sweep.json"
    # It ends by a signal, before its runs do.
    endless = {"scenario": str(ROOT / "config" / "car_following.yaml"), "set": {"duration": "1h"}}
    sweep.write_text(json.dumps({**endless, "seeds": [1, 2]}), encoding="utf-8")
    study = ["--duration", "100s", "--factors", "0.1", "--steps", "10ms", "--repeat", "1"]
    return {
        "study": (["causality", *study], {*NAMED, "udp"}),
        "sweep": ([str(sweep), "--workers", "2"], {"tcp", "/"}),
    }


@pytest.mark.parametrize("name", ["study", "sweep"])
def test_a_command_of_many_runs(name: str, tmp_path: Path) -> None:
    """What a study opens is that of its runs; what a sweep opens serves its own user."""
    words, expected = many_runs(tmp_path)[name]
    with (
        user_environment(tmp_path / "log") as environment,
        program() as stranger,
        TemporaryDirectory() as for_files,  # the paths of its sockets are short
    ):
        process = subprocess.Popen(
            [sys.executable, "-m", "ros2_cosim.cli.main", name, *words, "--out", tmp_path / "out"],
            env={**environment, "TMPDIR": str(for_files)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            seen: set[Found] = set()

            def kinds() -> set[str]:
                seen.update(set(sockets(environment)) - seen)
                return {
                    next((n for n in (*NAMED, "/") if at.host.startswith(n)), at.kind)
                    for at in seen
                }

            until(lambda: kinds() >= expected, lambda: None, kinds)
            assert kinds() == expected
            for at in sockets(environment):
                use = next((u for n, u in NAMED.items() if at.host.startswith(n)), None)
                if use is not None:
                    ATTACKS[use](stranger, at)
                elif at.kind == "unix":  # where the other user cannot even look for it
                    assert Path(at.host).parent.stat().st_mode & 0o777 == 0o700, at
                elif at.kind == "tcp":
                    over_ip(PUSH)(stranger, at)
            process.send_signal(signal.SIGTERM)
            told = process.communicate(timeout=HANG_S)[1]
        finally:
            process.kill()
            process.communicate()
        assert told.splitlines()[-1] == "cosim: ended by SIGTERM", told
        assert process.returncode == 128 + signal.SIGTERM
        assert left_processes(environment) == []
