# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The process that stands for another host: what it says of a host that it does not reach."""

from __future__ import annotations

import json
import shlex
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.control_scenarios import chain
from support.patience import HANG_S
from support.ports import free_port

from ros2_cosim import __version__
from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.process.seal import RUN_SECRET
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.schema import Scenario, make_scenario, save_scenario
from ros2_cosim.ros.bringup.dds import Network, loopback_environment
from ros2_cosim.ros.bringup.far_host import attend
from ros2_cosim.ros.bringup.far_link import EndPart, Joined, Part, PartFailed, greet
from ros2_cosim.ros.bringup.far_part import connect
from ros2_cosim.ros.bringup.far_plan import network_of, read_part, write_parts
from ros2_cosim.ros.bringup.plan import make_plan
from ros2_cosim.ros.bringup.starter_channel import CHANNEL, AnyMessage, Failed, StarterChannel

Told = Callable[[], list[str]]


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    """Gives what the run has been told of failures."""
    found: list[str] = []

    def take(process: str, message: AnyMessage) -> None:
        if isinstance(message, Failed):
            found.append(f"{process}: {message.reason}")

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with StarterChannel() as channel:
        channel.listen(take, lambda process, text: None)
        monkeypatch.setenv(CHANNEL, channel.address)
        monkeypatch.setenv(RUN_SECRET, "s")
        monkeypatch.setenv("ROS_DOMAIN_ID", "7")

        def told_so_far() -> list[str]:
            channel.hear_out()
            return found

        yield told_so_far
    for number, handler in before.items():
        signal.signal(number, handler)


def made(**host: Any) -> Scenario:
    """The chain with its observer on the host ``lab``."""
    data = {**chain(), "hosts": {"lab": {"address": "127.0.0.1", **host}}}
    data["participants"]["observer"]["host"] = "lab"
    return make_scenario(data, "test")


def prepared(directory: Path, **host: Any) -> Path:
    """An output directory with all that the process reads."""
    scenario, options = made(**host), RunOptions(out=directory)
    plan = make_plan(scenario, options)
    save_scenario(scenario, directory / RESOLVED_SCENARIO)
    network = network_of(scenario, plan)
    assert network is not None
    write_parts(scenario, options, plan, network)
    return directory


def shell(script: str) -> str:
    """Words of a command that does this instead of leading anywhere."""
    return shlex.join(["sh", "-c", script])


def told(message: str) -> str:
    """Script that sends a message."""
    return f"echo {shlex.quote('cosim-far ' + message)}"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo no route >&2; exit 255", "ended with exit code 255: no route"),
        ("exit 0", "ended with exit code 0: it printed nothing"),
        (
            told('{"kind": "joined", "version": "0.0.1"}') + "; cat",
            f"found ros2_cosim 0.0.1 there; allowed is {__version__}, as here",
        ),
        (told('{"kind": "ended"}') + "; cat", "the program there is not a part of a run"),
        (told('{"kind": "joined"}') + "; cat", "found no message of this version"),
        (
            told(json.dumps({"kind": "joined", "version": __version__}))
            + "; read part; "
            + told('{"kind": "part_failed", "reason": "no such model"}')
            + "; cat >/dev/null",
            "host 'lab': no such model",
        ),
    ],
)
@pytest.mark.usefixtures("nothing_left")
def test_a_host_that_is_not_reached(
    script: str, reason: str, failures: Told, tmp_path: Path
) -> None:
    assert attend(prepared(tmp_path, through=shell(script)), "lab") == 1
    (failure,) = failures()
    assert failure.startswith("lab: host 'lab': ")
    assert reason in failure


def test_a_program_that_is_not_there(failures: Told, tmp_path: Path) -> None:
    assert attend(prepared(tmp_path, through="no_such_program"), "lab") == 1
    assert failures() == ["lab: host 'lab': no_such_program: No such file or directory"]


def test_by_hand_strangers_are_refused_and_the_part_gets_its_work(
    failures: Told, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    got: list[Part] = []

    def come() -> None:
        stranger = connect_plainly(port)
        with stranger, suppress(OSError):  # it may be refused at any of these
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n" + b"x" * 100)
            stranger.shutdown(socket.SHUT_WR)
            while stranger.recv(100):
                pass
        link = connect(("127.0.0.1", port), "s", "lab", HANG_S)
        link.send(Joined(version=__version__))
        while not got:
            got.extend(message for message in link.receive(HANG_S) if isinstance(message, Part))
        link.send(PartFailed(reason="done"))

    visitor = threading.Thread(target=come, daemon=True)
    visitor.start()
    assert attend(prepared(tmp_path, start="hand", port=port), "lab") == 1
    visitor.join(HANG_S)
    assert failures() == ["lab: host 'lab': done"]
    (part,) = got
    assert json.loads(part.scenario)["name"] == "chain"
    assert part.environment["ROS_DOMAIN_ID"] == "7"
    assert [process.name for process in part.processes] == ["observer"]
    said = capfd.readouterr().out
    assert f"{RUN_SECRET}=s cosim join 127.0.0.1:{port} lab\n" in said
    assert "refused a connection: found no greeting of a part of a run" in said


def test_one_that_says_nothing_keeps_the_part_not_out(failures: Told, tmp_path: Path) -> None:
    port = free_port()
    silent: list[bytes] = []

    def come() -> None:
        # The last ones are greeted, and say nothing, while the part comes.
        strangers = [connect_plainly(port) for _ in range(8)]
        with connect_plainly(port) as connection:
            link = greet(connection, "s", "lab", is_part=True)
            link.send(Joined(version=__version__))
            while not any(isinstance(message, Part) for message in link.receive(HANG_S)):
                pass
            link.send(PartFailed(reason="done"))
            for stranger in strangers:
                with stranger, suppress(ConnectionResetError):
                    while data := stranger.recv(100):
                        silent.append(data)

    visitor = threading.Thread(target=come, daemon=True)
    visitor.start()
    assert attend(prepared(tmp_path, start="hand", port=port), "lab") == 1
    visitor.join(HANG_S)
    # All of them were ended, too.
    assert not visitor.is_alive()
    assert failures() == ["lab: host 'lab': done"]


def connect_plainly(port: int) -> socket.socket:
    """A connection as soon as something listens there."""
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), HANG_S)
        except ConnectionRefusedError:
            continue


def test_files_that_the_scenario_names_are_known_by_their_hashes(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("x = 1\n")
    output = tmp_path / "out"
    output.mkdir()
    scenario = made().model_copy(update={"base_directory": str(tmp_path)})
    observer = scenario.participants["observer"]
    changed = observer.model_copy(update={"parameters": {"law": "own.py:Law", "text": "none.py"}})
    scenario = scenario.model_copy(
        update={"participants": {**scenario.participants, "observer": changed}}
    )
    plan = make_plan(scenario, RunOptions(out=output))
    write_parts(scenario, RunOptions(out=output), plan, Network(("127.0.0.1",), ("127.0.0.1",), 5))
    assert list(read_part(output, "lab").files) == ["own.py"]


def test_each_host_uses_its_own_address_and_knows_all(tmp_path: Path) -> None:
    network = Network(("192.0.2.1",), ("192.0.2.1", "192.0.2.7"), 5)
    environment = loopback_environment({"ROS_DOMAIN_ID": "3"}, tmp_path, network=network)
    profile = Path(environment["FASTRTPS_DEFAULT_PROFILES_FILE"]).read_text(encoding="utf-8")
    assert "<interfaceWhiteList><address>192.0.2.1</address></interfaceWhiteList>" in profile
    for peer in network.all:
        assert f"<locator><udpv4><address>{peer}</address></udpv4></locator>" in profile
    assert "127.0.0.1" not in profile
    # Sent to each reader: multicast may not reach the other hosts.
    assert "239.255.0.2" not in profile
    kept = loopback_environment({"COSIM_KEEP_DDS": "1"}, tmp_path, network=network)
    assert kept == {"COSIM_KEEP_DDS": "1"}
    (tmp_path / "librmw_cyclonedds_cpp.so").touch()
    other = {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp", "LD_LIBRARY_PATH": str(tmp_path)}
    found = loopback_environment(other, tmp_path, network=network)
    assert found["ROS_STATIC_PEERS"] == "192.0.2.1;192.0.2.7"


def test_an_end_that_is_asked_for_is_none_of_a_failure(failures: Told, tmp_path: Path) -> None:
    port = free_port()
    ended: list[EndPart] = []

    def come() -> None:
        with connect_plainly(port) as connection:
            link = greet(connection, "s", "lab", is_part=True)
            link.send(Joined(version=__version__))
            while not any(isinstance(message, Part) for message in link.receive(HANG_S)):
                pass
            signal.raise_signal(signal.SIGTERM)
            while not ended:
                ended.extend(m for m in link.receive(HANG_S) if isinstance(m, EndPart))

    visitor = threading.Thread(target=come, daemon=True)
    visitor.start()
    assert attend(prepared(tmp_path, start="hand", port=port), "lab") == 0
    visitor.join(HANG_S)
    assert (failures(), ended) == ([], [EndPart()])
