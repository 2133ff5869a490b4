# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A child ends with its parent, also when the parent is killed."""

import signal
import subprocess
import sys

import pytest
from support.patience import HANG_S

_CHILD = "import time; print('up', flush=True); time.sleep(3600)"
_STARTER = f"""
import os, subprocess, sys, time
from functools import partial
from ros2_cosim.core.process.processes import end_with_parent
parent = int(sys.argv[1]) or os.getpid()
child = subprocess.Popen(
    [sys.executable, "-c", {_CHILD!r}], preexec_fn=partial(end_with_parent, parent)
)
print(child.pid, flush=True)
if int(sys.argv[1]):
    print(child.wait(), flush=True)
time.sleep(3600)
"""


@pytest.mark.usefixtures("nothing_left")
def test_a_child_ends_when_its_parent_is_killed() -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", _STARTER, "0"], stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    lines = {starter.stdout.readline().strip(), starter.stdout.readline().strip()}
    assert "up" in lines
    starter.kill()
    # The child holds the other end of the pipe: it ends when the child has ended.
    assert starter.stdout.read() == ""
    starter.wait()


def test_a_child_that_is_an_orphan_already_does_not_start() -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", _STARTER, "1"], stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    assert int(starter.stdout.readline()) > 0
    assert int(starter.stdout.readline()) == -signal.SIGKILL
    starter.kill()
    starter.wait()


def test_a_process_leaves_before_its_objects_are_tidied_up() -> None:
    """It has said everything and ended its threads; an object would keep it for ever."""
    program = """
import atexit, sys, threading, time
from ros2_cosim.core.process.processes import leave
class Slow:
    def __del__(self):
        time.sleep(1000.0)
slow = Slow()
atexit.register(print, "at exit")
threading.Thread(target=lambda: (time.sleep(0.1), print("thread"))).start()
leave(3)
"""
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=HANG_S
    )
    assert (found.returncode, found.stdout, found.stderr) == (3, "thread\nat exit\n", "")
