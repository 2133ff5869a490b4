# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A run whose starter is killed: its processes end, whatever they are doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from support.patience import HANG_S, until
from support.processes import marked_processes

from ros2_cosim.ros.bringup import _guard

#: Guards against hanging only.
#: A starter with processes that do not end by themselves: one is deaf, one has a child in a session
#: of its own, as foreign nodes have; one is frozen.
STARTER = """
import os, signal, subprocess, sys, time
from functools import partial
from ros2_cosim.core.process.processes import end_with_parent
from ros2_cosim.ros.bringup.guard import Guard
mark = sys.argv[1]
name, _, value = mark.partition("=")
deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True)\\n"
deaf += "time.sleep(600)"
child = "import subprocess, sys, time\\n"
child += f"subprocess.Popen([sys.executable, '-c', {deaf!r}], start_new_session=True)\\n"
child += "time.sleep(600)"
with Guard(mark):
    for code in (deaf, child, deaf):
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", code],
            env=os.environ | {name: value},
            stdout=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=partial(end_with_parent, os.getpid()),
        )
        process.stdout.readline()
    process.send_signal(signal.SIGSTOP)
    print("ready", flush=True)
    sys.stdin.readline()
"""


def start(mark: str) -> subprocess.Popen[str]:
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, mark],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert starter.stdout is not None
    assert starter.stdout.readline() == "ready\n"
    return starter


def left(mark: str) -> dict[int, str]:
    return marked_processes(*mark.split("="))


@pytest.mark.usefixtures("nothing_left")
def test_a_killed_starter_leaves_nothing() -> None:
    mark = f"COSIM_TEST_RUN={os.getpid()}-killed"
    with start(mark) as starter:
        assert len(left(mark)) == 4
        starter.kill()
    until(lambda: not left(mark), so_far=lambda: left(mark))


@pytest.mark.usefixtures("nothing_left")
def test_a_starter_that_ends_in_order_has_ended_them_itself() -> None:
    mark = f"COSIM_TEST_RUN={os.getpid()}-ended"
    with start(mark) as starter:
        assert starter.stdin is not None
        starter.stdin.write("\n")
        starter.stdin.close()
        assert starter.wait(HANG_S) == 0
    # The guard has gone without a look at them; only the kernel has asked them to end.
    assert left(mark)
    _guard.send(list(left(mark)), signal.SIGKILL)


def test_what_bears_another_mark_is_left_alone() -> None:
    with subprocess.Popen(["sleep", "600"], env={"COSIM_TEST_RUN": "other-1"}) as other:
        try:
            _guard.end_all(b"COSIM_TEST_RUN=other-")
            assert other.poll() is None
            # At once: a process that is being started is seen.
            assert other.pid in _guard.marked(b"COSIM_TEST_RUN=other-1")
        finally:
            other.kill()


HELD = """
import ctypes, sys
from ros2_cosim.core.process.processes import ExitTimer
timer = ExitTimer()
timer.start(0.05, 99)
timer.cancel()
timer.start(0.2, int(sys.argv[1]))
ctypes.PyDLL(None).sleep(600)  # with Python's lock: no thread and no handler can run
"""


@pytest.mark.parametrize("code", [0, 3])
def test_a_process_ends_with_its_own_code_though_the_lock_of_python_is_held(code: int) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = subprocess.run(
        [sys.executable, "-c", HELD, str(code)], env=environment, timeout=HANG_S, check=False
    )
    assert ended.returncode == code
