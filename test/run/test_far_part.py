# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The part of a run on another host, without ROS: its processes are plain programs."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.patience import HANG_S
from typer.testing import CliRunner

from ros2_cosim import __version__
from ros2_cosim.cli.main import app
from ros2_cosim.core.process.seal import RUN_SECRET
from ros2_cosim.ros.bringup.domain_lock import claim, domain_lock
from ros2_cosim.ros.bringup.far_link import (
    Ended,
    EndPart,
    FarLine,
    FarLink,
    FarMessage,
    FarProcess,
    Joined,
    LinkError,
    Part,
    PartFailed,
)
from ros2_cosim.ros.bringup.far_part import connect, join
from ros2_cosim.ros.bringup.far_plan import digest_of
from ros2_cosim.ros.bringup.starter_channel import CHANNEL, EarlyLeave

#: Prints its arguments and waits for its end; with "leave" it tells that a participant has left.
PROGRAM = """
import sys, time
from ros2_cosim.ros.bringup.starter_channel import Starter
starter = Starter("program")
print("runs", *sys.argv[1:], flush=True)
if "leave" in sys.argv:
    starter.leave_early("extra", "fell over")
if "told" in sys.argv:
    while "other" not in starter.early_leaves:
        time.sleep(0.01)
    print("told", starter.early_leaves["other"], flush=True)
if "fail" in sys.argv:
    starter.failed("program: no such thing")
    sys.exit(1)
if "aborted" in sys.argv:
    sys.exit(3)
while True:
    time.sleep(60)
"""


class Run:
    """The run's side, in a thread: it takes what comes, and answers each message by ``on``."""

    def __init__(self, link: socket.socket, on: Callable[[Run, FarMessage], None]) -> None:
        self._socket = link
        self.link = FarLink(link.fileno(), link.fileno())
        self.got: list[FarMessage] = []
        self._on = on
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        try:
            while True:
                for message in self.link.receive(0.05):
                    self.got.append(message)
                    self._on(self, message)
        except LinkError:
            return

    def leave(self) -> None:
        """Close the connection, as the end of a process does."""
        self._socket.shutdown(socket.SHUT_RDWR)

    def of(self, kind: type[FarMessage]) -> list[Any]:
        """What came of one kind, when the part has ended."""
        self._thread.join(HANG_S)
        return [message for message in self.got if isinstance(message, kind)]


@pytest.fixture
def domain(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setenv(CHANNEL, "")
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with claim() as number:
        yield number
    for each, handler in before.items():
        signal.signal(each, handler)


def part(tmp_path: Path, domain: int, *words: str, **changes: Any) -> Part:
    """A part of one program with these arguments."""
    files = tmp_path / "files"
    files.mkdir(exist_ok=True)
    (files / "road.xodr").write_text("road")
    process = FarProcess(
        name="program",
        executable=sys.executable,
        package="",
        parameters={},
        arguments=("-c", PROGRAM, *words, str(files / "road.xodr")),
        is_ros=False,
        required=True,
        leaves=False,
        participant="",
        hosts=(),
        namespace="/",
        ros_arguments=(),
    )
    given = Part(
        host="lab",
        scenario="{}",
        directory=str(files),
        within="",
        there=None,
        files={"road.xodr": digest_of(files / "road.xodr")},
        processes=(process,),
        environment={"ROS_DOMAIN_ID": str(domain), RUN_SECRET: "s"},
        own="127.0.0.1",
        addresses=("127.0.0.1",),
        most_nodes=1,
        namespace="/",
    )
    return given.model_copy(update=changes)


def joined(given: Part, on: Callable[[Run, FarMessage], None]) -> tuple[int, Run, list[str]]:
    """Take part in a run that gives this part: exit code, the run's side, and what was told."""
    told: list[str] = []

    def answer(run: Run, message: FarMessage) -> None:
        if isinstance(message, Joined):
            run.link.send(given)
        on(run, message)

    here, there = socket.socketpair()
    with here, there:
        run = Run(there, answer)
        code = join(FarLink(here.fileno(), here.fileno()), told.append)
        run.of(Ended)
    return code, run, told


def end_when_it_runs(run: Run, message: FarMessage) -> None:
    """Ask the part to end when its program runs."""
    if isinstance(message, FarLine):
        run.link.send(EndPart())
    ended(run, message)


def ended(run: Run, message: FarMessage) -> None:
    """Close the connection when the part is through."""
    if isinstance(message, Ended):
        run.leave()


@pytest.mark.usefixtures("nothing_left")
def test_a_part_runs_until_the_run_ends_it(tmp_path: Path, domain: int) -> None:
    code, run, told = joined(part(tmp_path, domain, "a"), end_when_it_runs)
    assert (code, told) == (0, ["part 'lab' of a run: program"])
    assert run.of(Joined) == [Joined(version=__version__)]
    assert run.of(FarLine) == [
        FarLine(process="program", text=f"runs a {tmp_path}/files/road.xodr")
    ]
    assert run.of(PartFailed) == []
    assert run.of(Ended) == [Ended()]


@pytest.mark.usefixtures("nothing_left")
def test_files_may_be_elsewhere_there(tmp_path: Path, domain: int) -> None:
    given = part(tmp_path, domain)
    (tmp_path / "files").rename(tmp_path / "there")
    moved = given.model_copy(update={"there": str(tmp_path / "there")})
    _, run, _ = joined(moved, end_when_it_runs)
    assert run.of(FarLine) == [FarLine(process="program", text=f"runs {tmp_path}/there/road.xodr")]


@pytest.mark.parametrize(
    ("content", "fault"),
    [("other", "is another file than on the host of the run"), (None, "is not there")],
)
def test_other_files_are_refused(
    content: str | None, fault: str, tmp_path: Path, domain: int
) -> None:
    given = part(tmp_path, domain)
    road = tmp_path / "files" / "road.xodr"
    road.unlink()
    if content is not None:
        road.write_text(content)
    code, run, told = joined(given, ended)
    said = (
        f"{road}, which the scenario names, {fault}; allowed is the same file, in "
        "hosts.lab.directory"
    )
    assert (code, told[1:], run.of(PartFailed)) == (1, [said], [PartFailed(reason=said)])


def test_an_address_of_another_machine_is_refused(tmp_path: Path, domain: int) -> None:
    code, run, _ = joined(part(tmp_path, domain, own="192.0.2.7"), ended)
    (failed,) = run.of(PartFailed)
    assert code == 1
    assert failed.reason.startswith("hosts.lab.address: found 192.0.2.7, which is not an address")


def test_a_domain_in_use_there_is_refused(tmp_path: Path, domain: int) -> None:
    with domain_lock([domain]) as place:
        place.announce("another", tmp_path, {}, "another secret")
        code, run, _ = joined(part(tmp_path, domain), ended)
    (failed,) = run.of(PartFailed)
    assert code == 1
    assert "another" in failed.reason


@pytest.mark.usefixtures("nothing_left")
def test_a_program_that_fails_ends_the_part_with_its_reason(tmp_path: Path, domain: int) -> None:
    code, run, told = joined(part(tmp_path, domain, "fail"), ended)
    assert run.of(PartFailed) == [PartFailed(reason="program: no such thing")]
    assert (code, told[1:]) == (1, ["program: no such thing"])


@pytest.mark.usefixtures("nothing_left")
def test_one_that_ends_because_of_another_host_is_no_failure(tmp_path: Path, domain: int) -> None:
    """The cause is on another host, which ends the run: there is nothing to tell."""
    code, run, _ = joined(part(tmp_path, domain, "aborted"), end_when_it_runs)
    assert (code, run.of(PartFailed)) == (0, [])


@pytest.mark.usefixtures("nothing_left")
def test_what_all_are_told_goes_both_ways(tmp_path: Path, domain: int) -> None:
    def on(run: Run, message: FarMessage) -> None:
        if message == EarlyLeave(participant="extra", how="fell over"):
            run.link.send(EarlyLeave(participant="other", how="of the run"))
        if message == FarLine(process="program", text="told of the run"):
            run.link.send(EndPart())
        ended(run, message)

    code, run, _ = joined(part(tmp_path, domain, "leave", "told"), on)
    assert code == 0
    # What came from the run does not go back to it.
    assert run.of(EarlyLeave) == [EarlyLeave(participant="extra", how="fell over")]


@pytest.mark.usefixtures("nothing_left")
def test_the_end_of_the_connection_ends_the_part(tmp_path: Path, domain: int) -> None:
    def leave(run: Run, message: FarMessage) -> None:
        if isinstance(message, FarLine):
            run.leave()

    code, _, told = joined(part(tmp_path, domain), leave)
    assert (code, told[1:]) == (1, ["the run has gone; its part here has ended"])


@pytest.mark.usefixtures("nothing_left")
def test_an_interrupt_there_ends_the_part_and_the_run_is_told(tmp_path: Path, domain: int) -> None:
    def interrupt(run: Run, message: FarMessage) -> None:
        if isinstance(message, FarLine):
            os.kill(os.getpid(), signal.SIGINT)
        ended(run, message)

    code, run, _ = joined(part(tmp_path, domain), interrupt)
    assert (code, run.of(PartFailed)) == (
        1,
        [PartFailed(reason="its part was ended there by SIGINT")],
    )


def test_a_run_that_is_not_there_is_named() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        with pytest.raises(LinkError, match=f"127.0.0.1:{port}: no run waits there"):
            connect(("127.0.0.1", port), "s", "lab", 0.0)


def test_a_run_that_has_gone_before_it_begins(domain: int) -> None:
    here, there = socket.socketpair()
    told: list[str] = []
    with here:
        there.close()
        assert join(FarLink(here.fileno(), here.fileno()), told.append) == 1
    assert told == ["the run has gone; its part here has ended"]


def test_a_terminal_is_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "isatty", lambda descriptor: True)
    done = CliRunner().invoke(app, ["join"])
    assert done.exit_code == 1
    assert "ADDRESS:PORT: missing, and standard input is a terminal" in done.stderr
