# SPDX-License-Identifier: Apache-2.0
"""Threads of another process, seen from outside."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ros2_cosim.ros import foreign_threads
from ros2_cosim.ros.foreign_threads import (
    ThreadWatch,
    has_loaded,
    own_clockwork,
    process_of_endpoint,
    processes_of_session,
)

#: Answers each line, in its only thread or by another one of which it has several.
PROGRAM = """
import sys
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(3)
for line in sys.stdin:
    if sys.argv[1] == "several":
        pool.submit(len, line).result()
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
        program = PROGRAM if kind in ("one", "several") else WAITING
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


@pytest.mark.parametrize("kind", WAITS)
def test_a_wait_with_a_limit_is_told_from_one_without(child: Child, kind: str) -> None:
    without, limited = map(child, WAITS[kind])
    for process in (without, limited):
        assert process.stdout is not None and process.stdout.readline() == "done\n"
        settled(process.pid)
    assert own_clockwork([without.pid], lambda: None) == ""
    found = own_clockwork([without.pid, limited.pid], lambda: None)
    assert found == "has a timer of the wall clock, or looks for messages now and then"


def test_a_process_that_never_rests_is_named(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    process = child("while True: pass")
    assert process.stdout is not None and process.stdout.readline() == "done\n"
    monkeypatch.setattr(foreign_threads, "_RESTS_WITHIN_S", 0.01)
    looks: list[None] = []
    assert own_clockwork([process.pid], lambda: looks.append(None)) == "never rests"
    assert looks


def test_a_process_that_shows_nothing_may_wait_for_anything(child: Child) -> None:
    process = child("one")
    process.kill()
    process.wait()
    found = own_clockwork([process.pid], lambda: None)
    assert found == "does not show on this machine what it waits for"
