# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Threads of another process, seen from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Lock
from types import SimpleNamespace

import pytest
from support.busy_machine import busy_machine

from ros2_cosim.ros.foreign import foreign_threads
from ros2_cosim.ros.foreign.foreign_threads import (
    ThreadWatch,
    has_loaded,
    own_clockwork,
    process_of_endpoint,
    processes_of_session,
    turn_at,
)

#: Answers each line, in its only thread or by another one of which it has several.
PROGRAM = """
import sys
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(3)
clocks = {"one\\n": ThreadPoolExecutor(1), "two\\n": ThreadPoolExecutor(1)}
for line in sys.stdin:
    if sys.argv[1] == "several" or line == "pooled\\n":
        pool.submit(len, line).result()
    if line in clocks:
        clocks[line].submit(len, line).result()
    print("done", flush=True)
"""
#: How its only thread may wait: without a limit, and with one that never comes.
WAITS = {
    "lock": ("lock.acquire()", "lock.acquire(timeout=1e6)"),
    "poll": ("select.poll().poll()", "select.poll().poll(1e9)"),
    "select": ("select.select([], [], [])", "select.select([], [], [], 1e6)"),
    "epoll": ("select.epoll().poll()", "select.epoll().poll(1e6)"),
    "sleep": ("signal.pause()", "time.sleep(1e6)"),
}
WAITING = """
import select, signal, sys, threading, time
lock = threading.Lock()
lock.acquire()
print("done", flush=True)
exec(sys.argv[1])
"""
Child = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture
def child() -> Iterator[Child]:
    started: list[subprocess.Popen[str]] = []

    def start(kind: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        program = PROGRAM if kind in ("one", "several", "clocks") else WAITING
        command = [sys.executable, "-c", program, kind]
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, start_new_session=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


Show = Callable[..., None]


@pytest.fixture
def show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Show:
    """Shows a thread of a process as the system shows it."""

    def written(
        pid: int,
        thread: int,
        *,
        name: str = "node",
        turns: int = 0,
        call: str = "",
        state: str = "S (sleeping)",
    ) -> None:
        place = tmp_path / str(pid) / "task" / str(thread)
        place.mkdir(parents=True, exist_ok=True)
        (place / "comm").write_text(f"{name}\n")
        (place / "syscall").write_text(f"{call}\n")
        switches = f"voluntary_ctxt_switches:\t{turns}\nnonvoluntary_ctxt_switches:\t7\n"
        (place / "status").write_text(f"Name:\t{name}\nState:\t{state}\n{switches}")

    monkeypatch.setattr(foreign_threads, "_PROC", tmp_path)
    (tmp_path / "uptime").write_text("1.0 1.0\n")
    return written


def ask(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("line\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"


def settled(pid: int) -> None:
    """Wait until all threads of a process sleep."""
    tasks = Path(f"/proc/{pid}/task")
    while any("State:\tS" not in (task / "status").read_text() for task in tasks.iterdir()):
        pass


@pytest.mark.parametrize("kind", ["one", "several"])
def test_several_threads_are_seen(child: Child, kind: str) -> None:
    process = child(kind)
    ask(process)
    watch = ThreadWatch(processes_of_session(process.pid))
    assert watch.sees and not watch.looks
    for time_ns in range(1_000, 40_000, 1_000):
        watch.begin()
        ask(process)
        watch.end(time_ns)
    since = watch.several_since()
    assert since is None if kind == "one" else since in range(1_000, 40_000, 1_000)


ALONE, TOGETHER = ((1, 1),), ((1, 1), (1, 2))


@pytest.mark.parametrize(
    ("activations", "since"),
    [
        ([ALONE, TOGETHER, TOGETHER, TOGETHER], 2),
        ([TOGETHER] * 2, None),
        ([TOGETHER] * 3 + [ALONE] * 3, 1),
        ([TOGETHER] * 3 + [ALONE] * 4, None),
        # Of an activation in which nothing has run nothing is known.
        ([TOGETHER] * 3 + [()] * 4, 1),
        # One thread of each process.
        ([((1, 1), (2, 1))] * 9, None),
        # All but one are of a middleware.
        ([((1, 1), (1, 7), (1, 8), (1, 9))] * 9, None),
        # Not all activations are looked at.
        ([()] * 20 + [TOGETHER] * 9, None),
    ],
)
def test_several_threads_are_those_that_ran_in_half_of_the_activations(
    show: Show, activations: list[tuple[tuple[int, int], ...]], since: int | None
) -> None:
    turns = dict.fromkeys([(1, 1), (1, 2), (1, 7), (1, 8), (1, 9), (2, 1)], 0)
    names = {7: "rx-10", 8: "recvUC", 9: "dds.udp"}

    def run(*threads: tuple[int, int]) -> None:
        for pid, thread in threads:
            turns[pid, thread] += 1
            name = names.get(thread, "node")
            show(pid, thread, name=name, turns=turns[pid, thread])

    run(*turns)
    watch = ThreadWatch([1, 2])
    for number, threads in enumerate(activations, start=1):
        watch.begin()
        run(*threads)
        watch.end(number)
        run(*turns)
    assert watch.several_since() == since


def test_the_first_activations_are_looked_at_and_later_each_tenth() -> None:
    watch = ThreadWatch([])
    looks = []
    for number in range(1, 51):
        watch.begin()
        looks += [number] if watch.looks else []
    assert looks == [*range(1, 21), 30, 40, 50]


@pytest.mark.parametrize(("work", "in_several"), [("line", False), ("pooled", True)])
def test_what_runs_for_another_node_of_the_process_does_not_count(
    child: Child, work: str, in_several: bool
) -> None:
    """Each adapter has the clock of its node set by a thread of its own, as rclcpp does."""
    process = child("clocks")
    assert process.stdin is not None and process.stdout is not None
    lines = process.stdin, process.stdout
    ask(process)
    several: dict[str, bool] = {}
    said = Lock()
    shown = {"one": Event(), "two": Event()}

    def activate(name: str, other: str) -> None:
        watch = ThreadWatch([process.pid])
        for time_ns in range(1, 20):
            with turn_at([process.pid], lambda: None):
                watch.begin()
                watch.pause()
                tell(name)
                shown[name].set()
                watch.resume()
                tell(work)
                # Were there no turns, the other one would have its clock set now.
                shown[other].clear()
                shown[other].wait(0.02)
                watch.end(time_ns)
        several[name] = watch.several_since() is not None

    def tell(line: str) -> None:
        with said:  # one line and its answer
            lines[0].write(f"{line}\n")
            lines[0].flush()
            assert lines[1].readline() == "done\n"

    with ThreadPoolExecutor(2) as adapters, busy_machine():
        list(adapters.map(activate, ("one", "two"), ("two", "one")))
    assert several == {"one": in_several, "two": in_several}


def test_the_turn_at_a_process_is_waited_for(child: Child) -> None:
    def stopped() -> None:
        raise TimeoutError

    one, two, three = (child("one").pid for _ in range(3))
    with turn_at([one, two], stopped):
        with turn_at([three], stopped), pytest.raises(TimeoutError), turn_at([two], stopped):
            raise AssertionError
        with turn_at([], stopped):
            pass
    with turn_at([two, one], stopped):
        pass


def test_a_process_that_has_ended_is_not_waited_for() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    with turn_at([process.pid], lambda: None):
        pass


def test_a_thread_on_its_way_to_rest_is_waited_for(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine gives it a processor for that in the activation."""
    show(1, 1)
    rests: list[float] = []

    def rest(seconds: float) -> None:
        rests.append(seconds)
        show(1, 2, turns=len(rests))

    monkeypatch.setattr(time, "sleep", rest)
    watch = ThreadWatch([1])
    for number in range(1, 10):
        show(1, 2, turns=len(rests), state="R (running)")
        watch.begin()
        show(1, 1, turns=number)
        watch.end(number)
    assert len(rests) == 9
    assert watch.several_since() is None


def test_a_thread_that_never_rests_is_waited_for_once(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []
    monkeypatch.setattr(time, "sleep", rests.append)
    show(1, 1, state="R (running)")
    watch = ThreadWatch([1])
    for number in range(1, 10):
        watch.begin()
        watch.end(number)
    assert len(rests) == 500


def test_what_runs_in_a_pause_does_not_count(child: Child) -> None:
    process = child("several")
    ask(process)
    watch = ThreadWatch(processes_of_session(process.pid))
    for time_ns in range(1_000, 40_000, 1_000):
        watch.begin()
        watch.pause()
        ask(process)
        # It has answered before its threads sleep again: what that counts is in the pause, too.
        settled(process.pid)
        watch.resume()
        watch.end(time_ns)
    assert watch.several_since() is None


def test_what_runs_before_a_pause_counts(child: Child) -> None:
    process = child("several")
    watch = ThreadWatch(processes_of_session(process.pid))
    for time_ns in range(1_000, 40_000, 1_000):
        watch.begin()
        ask(process)
        watch.pause()
        watch.resume()
        watch.end(time_ns)
    assert watch.several_since() is not None


def test_a_loaded_library_is_found(child: Child) -> None:
    process = child("one")
    ask(process)
    assert has_loaded([process.pid], "libc.so")
    assert not has_loaded([process.pid], "librclcpp.so")
    process.kill()
    process.wait()
    assert not has_loaded([process.pid], "libc.so")


def test_a_process_that_has_ended_is_no_error(child: Child) -> None:
    process = child("one")
    watch = ThreadWatch(processes_of_session(process.pid))
    watch.begin()
    process.kill()
    process.wait()
    watch.end(0)
    assert watch.several_since() is None


def test_nothing_is_said_of_processes_that_cannot_be_seen() -> None:
    own = bytes([1, 15, 7, 7, *os.getpid().to_bytes(4, "little")[:2], 0, 0])
    assert process_of_endpoint(bytes([1, 15, 8, 8]) + own[4:], own) is None  # another machine
    free = next(n for n in range(0xFFFF, 0, -1) if not os.path.exists(f"/proc/{n}"))
    assert process_of_endpoint(own[:4] + free.to_bytes(2, "little"), own) is None
    assert not ThreadWatch([]).sees


def test_the_process_of_an_endpoint_is_the_one_with_its_number_and_the_middleware(
    show: Show,
) -> None:
    pid = 0x1_0203  # the lower two bytes of it stand in the endpoint
    own = bytes([1, 15, 7, 7, 9, 9, 0, 0])
    gid = bytes([1, 15, 7, 7, 3, 2, 5, 5])
    show(pid, pid)
    show(0x0204, 1, name="dds.udp")
    assert process_of_endpoint(gid, own) is None
    show(pid, pid + 1, name="dds.udp")
    assert process_of_endpoint(gid, own) == pid
    assert process_of_endpoint(bytes([1, 15, 7, 8]) + gid[4:], own) is None  # another machine
    show(0x2_0203, 1, name="dds.udp")
    assert process_of_endpoint(gid, own) is None


@pytest.mark.parametrize("kind", WAITS)
def test_a_wait_with_a_limit_is_told_from_one_without(child: Child, kind: str) -> None:
    without, limited = map(child, WAITS[kind])
    for process in (without, limited):
        assert process.stdout is not None and process.stdout.readline() == "done\n"
        settled(process.pid)
    assert own_clockwork([without.pid], lambda: None) == ""
    found = own_clockwork([without.pid, limited.pid], lambda: None)
    assert found == "has a timer of the wall clock, or looks for messages now and then"


#: A wait without a limit, and one with.
POINTER, NUMBER = (("0x0",), "0x7ffc"), (("0xffffffff", "0xffffffffffffffff"), "0x5")


@pytest.mark.parametrize(
    ("machine", "number", "place", "limits"),
    [
        ("x86_64", 202, 4, POINTER),
        ("x86_64", 7, 3, NUMBER),
        ("x86_64", 271, 3, POINTER),
        ("x86_64", 23, 5, POINTER),
        ("x86_64", 270, 5, POINTER),
        ("x86_64", 232, 4, NUMBER),
        ("x86_64", 281, 4, NUMBER),
        ("x86_64", 441, 4, POINTER),
        ("x86_64", 35, 1, POINTER),
        ("x86_64", 230, 3, POINTER),
        ("aarch64", 98, 4, POINTER),
        ("aarch64", 73, 3, POINTER),
        ("aarch64", 72, 5, POINTER),
        ("aarch64", 22, 4, NUMBER),
        ("aarch64", 441, 4, POINTER),
        ("aarch64", 101, 1, POINTER),
        ("aarch64", 115, 3, POINTER),
    ],
)
def test_the_limit_of_a_wait_is_the_argument_that_the_kernel_says(
    show: Show,
    monkeypatch: pytest.MonkeyPatch,
    machine: str,
    number: int,
    place: int,
    limits: tuple[tuple[str, ...], str],
) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine=machine))
    without, limit = limits

    def found(argument: str, others: str) -> str:
        arguments = [others] * 6
        arguments[place - 1] = argument
        show(1, 1, call=" ".join([str(number), *arguments, "0x7ffd", "0x7f00"]))
        return own_clockwork([1], lambda: None)

    assert [found(none, limit) for none in without] == [""] * len(without)
    said = "has a timer of the wall clock, or looks for messages now and then"
    assert found(limit, without[0]) == said


def test_a_process_that_never_rests_is_named(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_threads, "_LOOK_AGAIN_S", 0.0)
    show(1, 1, call="running")
    looks: list[None] = []
    assert own_clockwork([1], lambda: looks.append(None)) == "never rests"
    assert len(looks) == 5_000


def test_a_process_that_comes_to_rest_is_looked_at_again(show: Show) -> None:
    show(1, 1, call="running")
    assert own_clockwork([1], lambda: show(1, 1, call="-1 0x7ffd 0x7f00")) == ""


def test_a_process_that_shows_nothing_may_wait_for_anything(child: Child) -> None:
    process = child("one")
    process.kill()
    process.wait()
    found = own_clockwork([process.pid], lambda: None)
    assert found == "does not show on this machine what it waits for"


def test_of_an_unknown_machine_nothing_is_said(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="riscv64"))
    show(1, 1, call="73 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffd 0x7f00")
    found = own_clockwork([1], lambda: None)
    assert found == "does not show on this machine what it waits for"
