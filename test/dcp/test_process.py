# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Slave and master as processes that are killed: the other side ends and says so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from support.dcp_models import Offset, running
from support.patience import HANG_S

from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.slave_process import SlaveProcess
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.interfaces import SlaveOptions
from ros2_cosim.dcp.slave.loading import load_model
from ros2_cosim.dcp.slave.server import SlaveServer, serve
from ros2_cosim.dcp.slave.slave_model import StepInfo
from ros2_cosim.dcp.standard.enums import TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpError, DcpPeerLostError, DescriptionError

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "test")])}


@contextmanager
def victim(place: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    process = subprocess.Popen(
        [sys.executable, str(HERE.parent / "support" / "dcp_process.py"), place],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=ENVIRONMENT,
    )
    try:
        assert process.stdout is not None
        yield process, int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def description() -> object:
    from support.dcp_process import Victim

    return describe(Victim)


@pytest.mark.parametrize(
    ("place", "state"),
    [
        ("configure", "PREPARED|CONFIGURING"),
        ("initialise", "CONFIGURED|INITIALIZING"),
        ("send", "INITIALIZED|SENDING_I"),
        ("do_step", "RUNNING|COMPUTING"),
        ("stop", "RUNNING|STOPPING"),
    ],
)
def test_a_killed_slave_is_named_with_its_state(place: str, state: str) -> None:
    with victim(place) as (_, port), Master(timeout_s=60) as master:
        master.add_slave(description(), port=port, name="victim")  # type: ignore[arg-type]
        with pytest.raises(DcpPeerLostError, match=f"'victim' was lost in ({state}): "):
            master.configure()
            master.initialise()
            master.run()
            master.do_step()
            master.stop()


def test_sigterm_ends_a_slave_cleanly_in_the_middle_of_a_run() -> None:
    with victim("") as (process, port), Master(timeout_s=60) as master:
        master.add_slave(description(), port=port, name="victim")  # type: ignore[arg-type]
        master.configure()
        master.run()
        master.do_step()
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        assert process.stdout.readline() == "stopped\n"
        assert process.wait(20) == 0


def test_sigterm_ends_an_idle_slave() -> None:
    with victim("") as (process, _):
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_deregistration_ends_a_slave_with_success() -> None:
    with victim("") as (process, port):
        with Master(timeout_s=60) as master:
            master.add_slave(description(), port=port)  # type: ignore[arg-type]
            master.configure()
        assert process.wait(20) == 0


MASTER = """
    import os, signal, sys
    from support.dcp_process import Victim
    from ros2_cosim.dcp.slave.declare import describe
    from ros2_cosim.dcp.master.master import Master

    def end():
        os.kill(os.getpid(), signal.SIGKILL)

    master = Master()
    master.add_slave(describe(Victim), port=int(sys.argv[1]))
    for phase in ("configure", "initialise", "run", "do_step", "stop"):
        getattr(master, phase)()
        if phase == sys.argv[2]:
            end()
"""


@pytest.mark.parametrize("phase", ["configure", "initialise", "run", "do_step", "stop"])
def test_a_slave_ends_when_its_master_is_killed(phase: str) -> None:
    with victim("") as (process, port):
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(MASTER), str(port), phase],
            env=ENVIRONMENT,
            check=False,
            timeout=60,
        )
        assert process.stdout is not None
        lines = process.stdout.read().splitlines()
        assert process.wait(20) == 3
        assert lines[0] == "stopped"
        assert "'Victim': the master was lost" in lines[-1]


def test_a_slave_over_udp_ends_when_no_heartbeat_comes_any_more() -> None:
    description = describe(Offset, heartbeat=Fraction(1, 5))
    with running(Offset(), description) as slave:
        master = Master(timeout_s=HANG_S)
        master.add_slave(description, port=slave.port, transport=TransportProtocol.UDP_IPv4)
        master.configure()
        master.run()
        master.do_step()
        master._heartbeat.stop()  # as if its process had been killed: no heartbeat, no farewell
        slave.thread.join(20)
        assert not slave.thread.is_alive()
        master._requests.sockets.close()
    assert isinstance(slave.error, DcpPeerLostError)
    assert "the master was lost: no heartbeat in time" in str(slave.error)


MODELS = """
import ctypes

from ros2_cosim.dcp.slave.slave_model import Output, SlaveModel


class Counting(SlaveModel):
    y = Output("float64", start=0.0)
    steps = 0

    def do_step(self, step):
        self.steps += 1
        if self.steps > 5:
            self.end()


class Failing(Counting):
    def end(self):
        {}["kp"]


class Crashing(Counting):
    def end(self):
        ctypes.string_at(0)
"""


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("Crashing", "slave 'one' (models.py:Crashing) crashed by SIGSEGV at 0.05 s"),
        (
            "Failing",
            "slave 'one' went to its error state: PROTOCOL_ERROR_GENERIC (0x1001): do_step in "
            "COMPUTING: KeyError: 'kp' ({place}/models.py, line 19), at 0.05 s",
        ),
    ],
)
def test_a_model_that_fails_or_crashes_is_one_line_and_its_rows_are_kept(
    model: str, words: str, tmp_path: Path, nothing_left: None
) -> None:
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    (tmp_path / "loop.yaml").write_text(
        f"{{step: 1/100, steps: 20, slaves: {{one: {{model: 'models.py:{model}'}}}}, "
        "outputs: [one.y]}",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "ros2_cosim.cli.main", "dcp", "run", "loop.yaml"]
    done = subprocess.run(
        [*command, "--out", "loop.csv"],
        cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, f"cosim: {words.format(place=tmp_path)}\n")
    assert len((tmp_path / "loop.csv").read_text(encoding="utf-8").splitlines()) == 7


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (lambda: os._exit(0), "it ended"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "crashed by SIGKILL"),
    ],
)
@pytest.mark.usefixtures("nothing_left")
def test_a_process_that_is_gone_before_its_slave_is_loaded_is_named(
    end: Callable[[], Any], words: str
) -> None:
    text = rf"^slave 'one' \(one.fmu\): {words} while it loaded$"
    with pytest.raises(DescriptionError, match=text):
        SlaveProcess("one", "one.fmu", end, SlaveOptions())


class Leaving(Offset):
    def do_step(self, step: StepInfo) -> None:
        raise SystemExit("enough")


def test_a_model_that_ends_the_program_ends_its_server() -> None:
    description = describe(Leaving)
    with running(Leaving(), description) as slave, Master(timeout_s=20) as master:
        master.add_slave(description, port=slave.port)
        master.configure()
        master.run()
        with pytest.raises(DcpPeerLostError):
            master.do_step()
        with pytest.raises(DcpPeerLostError, match="'Leaving' is not connected any more"):
            master.request_states()
        slave.thread.join(20)
        assert not slave.thread.is_alive()
    assert isinstance(slave.error, SystemExit)


class Signalled(Offset):
    """Gets two signals within a step."""

    def __init__(self) -> None:
        self.passed = 0

    def do_step(self, step: StepInfo) -> None:
        for _ in range(2):
            signal.raise_signal(signal.SIGTERM)
            self.passed += 1


def test_a_first_signal_lets_a_step_finish_and_a_second_one_interrupts_it() -> None:
    model, description = Signalled(), describe(Signalled)

    def control(port: int) -> None:
        with suppress(DcpError), Master(timeout_s=20) as master:
            master.add_slave(description, port=port)
            master.configure()
            master.run()
            master.do_step()

    masters: list[Thread] = []

    def begin(server: SlaveServer) -> None:
        masters.append(Thread(target=control, args=(server.port,)))
        masters[0].start()

    with pytest.raises(KeyboardInterrupt):
        serve(model, description, port=0, on_ready=begin)
    masters[0].join(HANG_S)
    assert model.passed == 1


@pytest.mark.usefixtures("nothing_left")
def test_a_served_model_that_crashes_is_one_line(tmp_path: Path) -> None:
    """With the simulated time of its step; the FMU that it could be goes the same way."""
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    words = [sys.executable, "-m", "ros2_cosim.cli.main", "dcp", "serve", "models.py:Crashing"]
    served = subprocess.Popen(
        [*words, "--step", "1/100", "--port", "0"],
        cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert served.stdout is not None
        port = int(served.stdout.readline().rpartition(":")[2])
        found = load_model("models.py:Crashing", directory=tmp_path, step=Fraction(1, 100))[1]
        with Master(timeout_s=HANG_S) as master:
            master.add_slave(found, port=port, name="one")
            master.configure()
            master.run()
            with pytest.raises(DcpPeerLostError):
                master.do_step(20)
        said = served.communicate(timeout=HANG_S)[1]
    finally:
        served.kill()
    assert said == "cosim: slave models.py:Crashing crashed by SIGSEGV at 50ms\n"
    assert served.returncode == 1
