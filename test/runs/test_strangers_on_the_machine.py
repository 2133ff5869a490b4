# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A program of another user attacks each port that listens: nothing obeys it, no result changes."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.util import get_temp_dir
from pathlib import Path

import msgpack
import pytest
from runs.cosim_process import MARK, PLATOON, ROOT, Running, left_processes, user_environment
from support.listening import listening
from support.patience import HANG_S, until
from support.processes import marked_processes
from support.stranger import BECOME, USER, Port, Program, descendants, http, ports_of, program
from support.untold import check_untold
from support.vds_peer import pack_command

from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.changes_by_hand import recorded_changes
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.dcp.standard.enums import PduType, State
from ros2_cosim.dcp.standard.pdu import make
from ros2_cosim.lab.sweep.workers import workers_for

TIME_GAP = "participants.cacc1.parameters.time_gap"
STOP = make(PduType.STC_stop, pdu_seq_id=1, receiver=1, state_id=State.RUNNING)
#: A DCP request as it goes over TCP.
STOP_FRAME = struct.pack("<I", len(STOP)) + STOP
#: Time in which what is not answered could have been [s].
BRIEF_S = 0.1
ASK_VERSION = msgpack.packb([0, 1, "version", [[False]]])
VERSION = b"0.9.16"
#: Pushes all that can be the actors of a small scenario aside. The last answer is the version: a
#: server may drop calls whose connection is closed before.
PUSH = b"".join(
    msgpack.packb([0, actor, "add_actor_impulse", [[False], actor, [4000.0, 1000.0, 0.0]]])
    for actor in range(1, 40)
)
PUSH += ASK_VERSION


ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'test'}"}


@pytest.fixture(params=[False, True], ids=["own", "open"])
def is_open(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether all users are served."""
    monkeypatch.setitem(ENVIRONMENT, "COSIM_OPEN", "1" if request.param else "")
    return bool(request.param)


@contextmanager
def command(
    *words: str, first_line: bool = True
) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A ``cosim`` that serves, and the first line that it says, if it does; it is ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ros2_cosim.cli.main", *words],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process, [process.stdout.readline()] if first_line else []
    finally:
        process.terminate()
        process.communicate(timeout=HANG_S)


def check_refused(
    stranger: Program, port: Port, *attacks: bytes, waiting: Sequence[int] = ()
) -> None:
    """No attack has an answer; each connection is closed, unless nobody accepts it just now."""
    for attack in attacks:
        if port.kind == "udp":
            said = stranger.udp(port.number, attack, BRIEF_S)
        elif port.number in waiting:
            said = stranger.tcp(port.number, attack, wait_s=BRIEF_S)
        else:
            said = stranger.tcp(port.number, attack)
            assert said.closed, port
        assert said.answer == b"", port


@pytest.mark.parametrize("options", [(), ("--open",)], ids=["own", "open"])
def test_a_run_its_simulator_and_its_dashboard(options: tuple[str, ...], tmp_path: Path) -> None:
    """They serve their own user; with ``--open`` of the run a stranger changes it."""
    pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
    from runs.test_dashboard import Page

    (tmp_path / "reference").mkdir()
    scenario = load_scenario(PLATOON, ["duration=2s"])
    reference = run_inproc(scenario, tmp_path / "reference").trace_sha256
    output = tmp_path / "out"
    arguments = (PLATOON, "--out", output, "--paused", "--set", "duration=2s", *options)
    with user_environment(tmp_path / "log") as environment, program() as stranger:
        with Running(environment, *arguments, anew=True) as running:
            page = Page(environment)
            page.until(lambda p: p["run"]["state"] == "paused")
            page.ask({"action": "step", "count": 20})
            page.until(lambda p: p["run"]["time_s"] >= 1.0 and p["run"]["state"] == "paused")
            simulator = running.children()["simulator"]
            found = ports_of(marked_processes(MARK, environment[MARK]))
            rpc = next(port for port in found if port.process == simulator).number
            shown = int(page.url.rstrip("/").rpartition(":")[2])
            assert {rpc, rpc + 1, rpc + 2, shown} <= {each.number for each in found}
            change = http("POST", "/api/changes", shown, {"set": TIME_GAP, "to": 3.2})
            # One is held only; the world, as master of its slave, takes turns when it is activated.
            waiting = [rpc + 2]
            waiting += [p.number for p in found if p.process == running.children()["world"]]
            if options:
                assert VERSION in stranger.tcp(rpc, PUSH, last=VERSION).answer
            else:
                for port in found:
                    attacks = (PUSH, change, STOP_FRAME) if port.kind == "tcp" else (STOP,)
                    check_refused(stranger, port, *attacks, waiting=waiting)
                with program(of_another_user=False) as own:
                    assert VERSION in own.tcp(rpc, ASK_VERSION, last=VERSION).answer
                    seen = own.tcp(shown, http("GET", "/api/changes", shown)).answer
                    assert seen.startswith(b"HTTP/1.1 200 ")
            page.ask({"action": "resume"})
            result = running.result()
        page.process.communicate(timeout=HANG_S)
        assert left_processes(environment) == []
    assert result.code == 3, result  # the platoon does not stand yet
    assert recorded_changes(output) == ()
    summary = json.loads((output / "summary.json").read_text(encoding="utf-8"))
    assert (summary["trace_sha256"] == reference) == (not options)
    if options:
        (change,) = summary["changes"]
        assert (change["set"], change["to"]) == ("simulator.add_actor_impulse", "calls: 39")
        assert change["by"].startswith("RPC of the simulator: ")
        assert f"uid {USER}" in change["by"] and change["time_s"] >= 1.0
        assert "simulator: add_actor_impulse by " in summary["not_repeatable_reason"]
        bag = b"".join(path.read_bytes() for path in (output / "bag").glob("*.mcap"))
        assert b"add_actor_impulse" not in bag
        check_untold(output, tmp_path / "reference")
    else:
        assert "changes" not in summary and summary["repeatable"]


#: What a program that may use a port of Dask does with it.
_RUN_THERE = """
import asyncio, os, pathlib, sys
import cloudpickle, dask
from distributed.core import rpc
become
file = pathlib.Path(sys.argv[1])
def mark():
    file.write_text(str(os.getuid()))
async def attack():
    for port in map(int, sys.argv[2:]):
        try:
            async with rpc(f"tcp://127.0.0.1:{port}", timeout=1) as server:
                await asyncio.wait_for(server.run(function=cloudpickle.dumps(mark)), 3)
            print(port, "obeys")
        except (Exception, asyncio.CancelledError) as error:
            print(port, type(error).__name__)
dask.config.set({"distributed.comm.timeouts.connect": "1s"})
asyncio.run(attack())
"""


def test_a_sweep_runs_no_code_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="the extra sweep is not installed")
    if os.getuid() != 0:
        pytest.skip("a second user: only root can become one")
    before = ports_of(descendants(os.getpid()))
    get_temp_dir()  # of its fork server, which outlasts this test
    with tempfile.TemporaryDirectory() as places, monkeypatch.context() as patched:
        patched.setattr(tempfile, "tempdir", places)
        check_sweep(Path(places), before, tmp_path / "mark")


def check_sweep(places: Path, before: Sequence[Port], marked: Path) -> None:
    """The ports of a sweep whose temporary files are in a directory."""
    with workers_for(2, None, 0, print):
        # None has a name that another user could have taken before, and none lets others in.
        modes = {path.name: path.stat().st_mode & 0o777 for path in places.iterdir()}
        assert set(modes.values()) == {0o700} and "dask-scratch-space" not in modes, modes
        ports = [port for port in ports_of(descendants(os.getpid())) if port not in before]
        numbers = sorted({port.number for port in ports if port.kind == "tcp"})
        assert len(numbers) == 5  # a scheduler, two workers and what watches each; no pages

        def attack(become: str) -> list[str]:
            """How each port answers."""
            script = _RUN_THERE.replace("become", become)
            words = [sys.executable, "-c", script, str(marked), *map(str, numbers)]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=HANG_S)
            return [line.split()[1] for line in done.stdout.splitlines()]

        answers = attack(BECOME)
        assert len(answers) == 5 and "obeys" not in answers, answers
        assert not marked.exists()
        # The same attack by a program of this user: what it would have done.
        assert "obeys" in attack("")
        assert marked.read_text() == "0"


def test_a_dcp_slave_does_not_hear_others() -> None:
    register = make(
        PduType.STC_register,
        **{"pdu_seq_id": 0, "receiver": 1, "state_id": State.ALIVE, "slave_uuid": bytes(16)},
        **{"op_mode": 2, "major_version": 1, "minor_version": 0},
    )
    frame = struct.pack("<I", len(register)) + register
    model = f"{ROOT / 'test' / 'support' / 'dcp_models.py'}:Sine"
    with command("dcp", "serve", model, "--port", "0") as (process, lines), program() as stranger:
        port = int(lines[0].rpartition(":")[2])
        ports = ports_of(descendants(process.pid))
        assert [(each.kind, each.number) for each in ports] == [("tcp", port), ("udp", port)]
        for each in ports:
            check_refused(stranger, each, frame if each.kind == "tcp" else register)
        with program(of_another_user=False) as own:  # of a wrong uuid it is told
            assert own.udp(port, register).answer[:1] == bytes([PduType.RSP_nack])
            assert own.tcp(port, frame, enough=5).answer[4:5] == bytes([PduType.RSP_nack])


def test_a_dcp_proxy_passes_nothing_of_others_on() -> None:
    """It listens at its one port, over TCP and UDP, and a slave behind it hears this user alone."""
    state = make(PduType.INF_state, pdu_seq_id=0, receiver=1)
    frame = struct.pack("<I", len(state)) + state
    model = f"{ROOT / 'test' / 'support' / 'dcp_models.py'}:Sine"
    with command("dcp", "serve", model, "--port", "0") as (_, said):
        target = said[0].rpartition(":")[2].strip()
        words = ("dcp", "sniff", f"0=127.0.0.1:{target}")
        with command(*words) as (process, lines), program() as stranger:
            port = int(lines[0].split()[2].rpartition(":")[2])
            ports = ports_of([process.pid])
            assert [(each.kind, each.number) for each in ports] == [("tcp", port), ("udp", port)]
            for each in ports:
                check_refused(stranger, each, frame if each.kind == "tcp" else state)
            with program(of_another_user=False) as own:
                answer = bytes([PduType.RSP_state_ack])
                assert own.udp(port, state).answer[:1] == answer
                assert own.tcp(port, frame, enough=5).answer[4:5] == answer


def test_a_dcp_sniffer_listens_nowhere() -> None:
    """It has a raw socket, which takes what passes and answers nobody."""
    if os.getuid() != 0:
        pytest.skip("a raw socket: only root may have one")
    with command("dcp", "sniff", "lo", first_line=False) as (process, _):
        until(lambda: raw_sockets(process.pid))
        assert listening([process.pid]) == []


def raw_sockets(process: int) -> list[str]:
    """The inodes of the packet sockets that a process has open."""
    rows = Path("/proc/net/packet").read_text(encoding="utf-8").splitlines()[1:]
    known = {f"socket:[{row.split()[-1]}]" for row in rows}
    found = []
    for name in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):
            found.append(str(name.readlink()))
    return [each for each in found if each in known]


#: A slave that another user serves; what it imports lies where that user may not look.
_SERVE = """
import encodings.idna, os, sys
from ros2_cosim.dcp.slave.loading import load_model
from ros2_cosim.dcp.slave.server import serve
from ros2_cosim.core.sockets.peers import ADMISSION
found = load_model(sys.argv[1])
become
with ADMISSION.widened(True):
    serve(*found, port=0, on_ready=lambda server: print(server.port, flush=True))
"""


def test_a_dcp_master_has_slaves_of_its_own_user(is_open: bool, tmp_path: Path) -> None:
    """And with COSIM_OPEN those of others."""
    if os.getuid() != 0:
        pytest.skip("a second user: only root can become one")
    model = f"{ROOT / 'test' / 'support' / 'dcp_models.py'}:Sine"
    serve = [sys.executable, "-c", _SERVE.replace("become", BECOME), model]
    slave = subprocess.Popen(serve, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    try:
        assert slave.stdout is not None
        port = slave.stdout.readline()
        loop = f"{{step: 1/1000, steps: 3, slaves: {{sine: {{model: '{model}', port: {port}}}}}}}"
        (tmp_path / "loop.yaml").write_text(loop, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "ros2_cosim.cli.main", "dcp", "run", "loop.yaml"],
            cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=HANG_S,
        )  # fmt: skip
    finally:
        slave.terminate()
        slave.communicate(timeout=HANG_S)
    assert done.returncode == (0 if is_open else 1), done.stderr
    assert len(done.stdout.splitlines()) == (5 if is_open else 0), done.stdout
    assert ("what listens there is not of this user" in done.stderr) != is_open


def test_a_vds_server_obeys_its_own_user(is_open: bool) -> None:
    words = ("vds", "serve", "--port", "0", "--dashboard", "0", "--lockstep")
    with command(*words) as (process, lines), program() as stranger:
        assert process.stdout is not None
        lines += [process.stdout.readline() for _ in range(2)]
        commands = int(lines[0].rpartition(":")[2])
        shown = int(lines[2].strip().rstrip("/").rpartition(":")[2])
        brake = pack_command(1, brake=1.0)
        status = http("GET", "/api/status", shown)
        if is_open:
            assert stranger.tcp(shown, status).answer.startswith(b"HTTP/1.1 ")
            stranger.udp(commands, brake, BRIEF_S)
        else:
            for port in ports_of([process.pid]):
                check_refused(stranger, port, status if port.kind == "tcp" else brake)
            with program(of_another_user=False) as own:
                assert own.tcp(shown, status).answer.startswith(b"HTTP/1.1 ")
        process.terminate()
        told = process.communicate(timeout=HANG_S)[0]
    assert f" {int(is_open)} commands;" in told, told


def test_a_simulator_serves_others_when_it_is_open(is_open: bool) -> None:
    """Over IPv6, too; and over IPv4 at a port of both."""
    words = ("carla-headless", "--port", "[::]:0")
    with command(*words) as (_, lines), program() as stranger, program(False) as own:
        port = int(lines[0].rpartition(":")[2])
        for host in ("127.0.0.1", "::1"):
            said = stranger.tcp(port, ASK_VERSION, last=VERSION, host=host)
            assert (VERSION in said.answer) == is_open
            assert said.closed != is_open
            assert VERSION in own.tcp(port, ASK_VERSION, last=VERSION, host=host).answer
