# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The channel between the starter of a run and its processes."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.patience import HANG_S, until

from ros2_cosim.core.run.output_directory import OutputDirectory
from ros2_cosim.ros.bringup.starter_channel import (
    CHANNEL,
    LINE_LIMIT,
    AnyMessage,
    ClockProgress,
    Failed,
    Hello,
    Ready,
    Starter,
    StarterChannel,
)


class Heard:
    """What a channel hands on."""

    def __init__(self, channel: StarterChannel) -> None:
        self.messages: list[tuple[str, AnyMessage]] = []
        self.refused: list[tuple[str, str]] = []
        channel.listen(
            lambda name, message: self.messages.append((name, message)),
            lambda name, text: self.refused.append((name, text)),
        )

    def until(self, condition: Callable[[], object]) -> None:
        until(condition, so_far=lambda: (self.messages, self.refused))


@pytest.fixture
def channel(monkeypatch: pytest.MonkeyPatch) -> Iterator[StarterChannel]:
    with StarterChannel() as opened:
        monkeypatch.setenv(CHANNEL, opened.address)
        yield opened


def raw(channel: StarterChannel) -> socket.socket:
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.settimeout(HANG_S)
    link.connect("\0" + channel.address)
    return link


def test_messages_arrive_with_the_name_of_the_process(
    channel: StarterChannel, capsys: pytest.CaptureFixture[str]
) -> None:
    heard = Heard(channel)
    starter = Starter("a")
    starter.ready("listening")
    starter.progress(1_500_000_000, True)
    starter.failed("a: fell over")
    heard.until(lambda: len(heard.messages) == 4)
    assert heard.messages == [
        ("a", Hello(process="a")),
        ("a", Ready()),
        ("a", ClockProgress(time_ns=1_500_000_000, resting=True)),
        ("a", Failed(reason="a: fell over")),
    ]
    assert capsys.readouterr() == ("", "")


def test_losses_reach_all_also_those_that_come_later(channel: StarterChannel) -> None:
    Heard(channel)
    early, host = Starter("clock"), Starter("host")
    host.leave_early("x", "fell over")
    channel.leave_early("y", "was killed")
    late = Starter("late")
    expected = {"x": "fell over", "y": "was killed"}
    for starter in (early, late):
        until(lambda: starter.early_leaves == expected, so_far=lambda: starter.early_leaves)  # noqa: B023
    assert channel.early_leaves == expected


def test_what_is_required_is_known_everywhere_when_the_request_returns(
    channel: StarterChannel,
) -> None:
    others = [Starter(f"other {n}") for n in range(20)]
    clock = Starter("clock")
    assert clock.required is None and channel.required is None
    for names in (["b", "a"], ["c"], []):
        clock.require(names)
        assert channel.required == frozenset(names)
        assert all(other.required == frozenset(names) for other in others)
    assert Starter("late")._link is not None


def test_progress_is_one_message_a_second(channel: StarterChannel) -> None:
    heard = Heard(channel)
    starter = Starter("clock")
    for step in range(3001):
        starter.progress(step * 1_000_000)
    starter.ready("")
    heard.until(lambda: any(isinstance(m, Ready) for _, m in heard.messages))
    seconds = [m.time_ns for _, m in heard.messages if isinstance(m, ClockProgress)]
    # More on a machine that takes longer than a second for it.
    assert {1_000_000_000, 2_000_000_000, 3_000_000_000} <= set(seconds)
    assert len(seconds) < 100


def test_without_a_starter_it_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(CHANNEL, raising=False)
    starter = Starter("a")
    assert not starter.is_there
    starter.ready("listening on x:1")
    starter.progress(1_000_000_000)
    starter.progress(2_500_000_000, True)
    starter.failed("a: fell over")
    starter.leave_early("x", "was killed")
    starter.require(["y"])
    assert starter.early_leaves == {"x": "was killed"}
    assert starter.required == {"y"}
    printed = capsys.readouterr()
    assert printed.out == "listening on x:1\ntime 1.000 s\ntime 2.500 s paused\n"
    assert printed.err == "a: fell over\n"


def test_a_process_started_by_hand_finds_the_channel_in_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(CHANNEL, raising=False)
    with OutputDirectory(tmp_path, "run 'x'") as directory, StarterChannel(directory) as channel:
        heard = Heard(channel)
        starter = Starter("a", tmp_path)
        starter.failed("a: fell over")
        heard.until(lambda: ("a", Failed(reason="a: fell over")) in heard.messages)
        # Its user looks at its own console.
        assert capsys.readouterr().err == "a: fell over\n"
    assert not Starter("a", tmp_path).is_there


@pytest.mark.parametrize(
    "garbage",
    [
        b"time 1.000 s\n",
        b'{"kind": "progress"}\n',
        b'{"kind": "progress", "time_ns": "1"}\n',
        b'{"kind": "progress", "time_ns": 1, "more": 2}\n',
        b'{"kind": "nothing"}\n',
        b"\xff\xfe\n",
        b"[]\n",
        b"x" * (LINE_LIMIT + 1),
        json.dumps({"kind": "failed", "reason": "x" * LINE_LIMIT}).encode() + b"\n",
    ],
    ids=range(9),
)
def test_garbage_closes_the_connection_with_one_line(
    channel: StarterChannel, garbage: bytes
) -> None:
    heard = Heard(channel)
    with raw(channel) as link:
        link.sendall(b'{"kind": "hello", "process": "bad"}\n' + garbage)
        heard.until(lambda: heard.refused)
        assert link.recv(1) == b""
    ((name, text),) = heard.refused
    assert name == "bad"
    assert text.startswith("channel of the run: ") and "\n" not in text and len(text) < 300
    # The others are not disturbed.
    Starter("good").failed("good: x")
    heard.until(lambda: ("good", Failed(reason="good: x")) in heard.messages)


def test_messages_may_arrive_in_any_pieces(channel: StarterChannel) -> None:
    heard = Heard(channel)
    with raw(channel) as link:
        for byte in b'{"kind": "hello", "process": "a"}\n{"kind": "ready"}\n':
            link.sendall(bytes([byte]))
        heard.until(lambda: len(heard.messages) == 2)
    assert heard.messages[1] == ("a", Ready())


def test_a_process_that_does_not_read_holds_up_nothing(channel: StarterChannel) -> None:
    heard = Heard(channel)
    with raw(channel) as deaf:
        deaf.sendall(b'{"kind": "hello", "process": "deaf"}\n')
        clock = Starter("clock")
        heard.until(lambda: len(heard.messages) == 2)
        for number in range(2000):
            channel.leave_early(f"p{number}", "x" * 500)
            assert number % 100 or len(clock.early_leaves)
        assert clock.early_leaves == channel.early_leaves


def test_what_a_process_sent_before_its_end_is_heard_out(channel: StarterChannel) -> None:
    heard = Heard(channel)
    script = (
        "from ros2_cosim.ros.bringup.starter_channel import Starter\n"
        "import os\n"
        "Starter('a').failed('a: fell over')\n"
        "os._exit(1)\n"
    )
    for count in range(1, 4):
        subprocess.run([sys.executable, "-c", script], check=False)
        channel.hear_out()
        assert heard.messages.count(("a", Failed(reason="a: fell over"))) == count


def test_the_end_of_the_starter_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    with StarterChannel() as channel:
        monkeypatch.setenv(CHANNEL, channel.address)
        starter = Starter("a")
    assert starter.early_leaves == {}
    assert not starter.is_there
    assert not Starter("b").is_there


def test_nothing_is_left_when_the_starter_is_killed(tmp_path: Path) -> None:
    script = (
        "from ros2_cosim.ros.bringup.starter_channel import StarterChannel\n"
        "import sys\n"
        "with StarterChannel() as channel:\n"
        "    print(channel.address, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as starter:
        assert starter.stdout is not None
        address = starter.stdout.readline().strip()
        assert address in Path("/proc/net/unix").read_text()
        starter.kill()
        starter.wait()
    assert address not in Path("/proc/net/unix").read_text()


def test_many_threads_may_use_one_connection(channel: StarterChannel) -> None:
    heard = Heard(channel)
    starter = Starter("host")

    def work(number: int) -> None:
        for count in range(50):
            starter.leave_early(f"{number}", f"{count}")
            assert f"{number}" in starter.early_leaves

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    heard.until(lambda: len(heard.messages) == 401)
    assert channel.early_leaves == {f"{number}": "49" for number in range(8)}
    assert not heard.refused
