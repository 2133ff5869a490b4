# SPDX-License-Identifier: Apache-2.0
"""A run of shape ``inproc`` in a process of its own: what a crash of native code does not end."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import tempfile

from ros2_cosim.interfaces.processes import end_with_parent
from ros2_cosim.interfaces.turns import TurnWriter
from ros2_cosim.kernel.errors import RunError
from ros2_cosim.record.results import BAG
from ros2_cosim.run.bringup import PreparedRun
from ros2_cosim.run.crashes import crash_of
from ros2_cosim.run.results import close_bag

_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def go_on_apart(prepared: PreparedRun) -> TurnWriter:
    """Go on in a process of its own, so that a crash of native code ends with a sentence.

    Only the new process returns. This one passes signals on, and ends with its exit code.

    :returns: where the activations of the run are to be noted
    :raises RunError: the new process was killed; the bag is readable up to the last whole part
    """
    scenario = prepared.scenario
    turns = TurnWriter(list(scenario.participants))
    temporary = tempfile.mkdtemp(prefix="cosim-")
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    signals = {*_PASSED_ON, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    child = os.fork()
    if child == 0:
        end_with_parent(parent)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        tempfile.tempdir = temporary
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        return turns
    with turns:
        code = _awaited(child, signals)
        shutil.rmtree(temporary, ignore_errors=True)
        if code >= 0:
            os._exit(code)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        name = signal.Signals(-code).name
        problem = close_bag(prepared.output / BAG)
        text = crash_of(scenario, turns.going_on, -code) or f"the run was killed by {name}"
        raise RunError(f"{text}; {problem}" if problem else text)


def _awaited(child: int, signals: set[signal.Signals]) -> int:
    """The exit code of a process; signals that did not come from the terminal are passed on."""
    while True:
        info = signal.sigwaitinfo(signals)
        if info.si_signo != signal.SIGCHLD:
            if info.si_code <= 0:  # another process sent it to this one alone
                os.kill(child, info.si_signo)
            continue
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
