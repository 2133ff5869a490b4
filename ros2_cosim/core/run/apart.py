# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs of shape ``inproc`` and DCP slaves in a process apart: a crash of native code ends only it.

The process that waits for it, and the one that works, share some memory: there stands which run is
going on, and which activation, or the time of a slave. So the end of the latter by a signal is a
sentence that names them.
"""

from __future__ import annotations

import atexit
import faulthandler
import mmap
import os
import shutil
import signal
import struct
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.process.processes import end_with_parent
from ros2_cosim.core.run.crashes import OWN_SIGNALS, crash_of

_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Length and path of the output directory come first, then the time [ns] of the activation of each
#: participant that is going on, in the order of the scenario. Without a directory the first of them
#: is the time of what is not a run.
_LENGTH = struct.Struct("=H")
_TIMES = 8192
_TIME = struct.Struct("=q")
_MOST = 65536
_NONE = -1


class _Memory:
    """What a process does, in memory that it shares with the one that waits for it.

    :param subject: what it does, for sentences, unless it is a run
    :ivar moment: where the simulated time [ns] of the subject is noted
    """

    def __init__(self, subject: str = "the run") -> None:
        self._subject = subject
        self._memory = mmap.mmap(-1, _TIMES + _MOST * _TIME.size)
        self.moment = memoryview(self._memory)[_TIMES : _TIMES + _TIME.size].cast("q")
        self.moment[0] = _NONE

    def follow(self, output: Path, names: Sequence[str], runtimes: Iterable[Any]) -> None:
        """A run begins.

        :param names: the participants of its scenario
        """
        path = os.fsencode(output.absolute())
        if _LENGTH.size + len(path) > _TIMES or len(names) > _MOST:
            return
        times = memoryview(self._memory)[_TIMES : _TIMES + len(names) * _TIME.size].cast("q")
        for number in range(len(names)):
            times[number] = _NONE
        numbers = {name: number for number, name in enumerate(names)}
        for runtime in runtimes:
            number = numbers.get(runtime.name, _MOST)
            if number < _MOST:
                runtime.moment = times[number : number + 1]
        _LENGTH.pack_into(self._memory, 0, len(path))
        self._memory[_LENGTH.size : _LENGTH.size + len(path)] = path

    def ended_by(self, number: int) -> str:
        """The sentence about the end of the process by a signal; its run is left readable."""
        # Imported late: the less is in this process, the less has the other one to copy.
        from ros2_cosim.core.run.results import leave_incomplete
        from ros2_cosim.core.scenario.schema import load_scenario

        (length,) = _LENGTH.unpack_from(self._memory, 0)
        how = "crashed" if number in OWN_SIGNALS else "was killed"
        text = f"{self._subject} {how} by {signal.Signals(number).name}"
        if not length:
            time = self.moment[0]
            return text if time == _NONE else f"{text} at {format_ns(time)}"
        output = Path(os.fsdecode(self._memory[_LENGTH.size : _LENGTH.size + length]))
        if not (output / RESOLVED_SCENARIO).is_file():
            return text
        scenario = load_scenario(output / RESOLVED_SCENARIO)
        times = self._memory[_TIMES : _TIMES + len(scenario.participants) * _TIME.size]
        found = zip(scenario.participants, _TIME.iter_unpack(times), strict=True)
        going_on = [(name, time) for name, (time,) in found if time != _NONE]
        text = crash_of(scenario, going_on[0] if len(going_on) == 1 else None, number) or text
        problem = leave_incomplete(output, text, "inproc")
        return f"{text}; {problem}" if problem else text


class Apart:
    """The process apart, if this is one.

    :ivar leave: called with one line when a participant does not return; it ends the process. None:
        that ends its run only
    :ivar moment: takes the simulated time [ns] of what is not a run
    """

    def __init__(self, memory: _Memory, leave: Callable[[str], None] | None) -> None:
        self.follow = memory.follow
        self.moment = memory.moment
        self.leave = leave


#: What this process is; None: no such process.
_here: list[Apart] = []


def here() -> Apart | None:
    """The process apart that this one is; None: it belongs to the program that has the run."""
    return _here[-1] if _here else None


def _begin(memory: _Memory, leave: Callable[[str], None] | None) -> None:
    """This is a process apart from now on."""
    faulthandler.disable()  # the other process reports a crash in one line
    _here.append(Apart(memory, leave))


def go_on_apart(leave: Callable[[str], None] | None, subject: str = "the run") -> None:
    """Go on in a process apart; only that one returns.

    This one passes signals on, and ends with its exit code. Call it before anything is opened.

    :param leave: see :class:`Apart`
    :param subject: what this process does, as the error names it
    :raises RunError: the new process was killed; the bag is readable up to the last whole part
    """
    memory = _Memory(subject)
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
        _begin(memory, leave)
        return
    code = _awaited(child, signals)
    try:
        if code < 0:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            raise RunError(memory.ended_by(-code))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    os._exit(code)


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


def done_apart(work: Callable[[], str]) -> str:
    """Do something in a process apart, which ends with it; any thread may call this.

    :param work: gives what it has to tell
    :returns: that, or how the process crashed
    :raises RunError: another process has killed it
    """
    memory = _Memory()
    reader, writer = os.pipe()
    parent = os.getpid()
    with warnings.catch_warnings():
        # The other threads are not there in the new process, and it needs nothing of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            end_with_parent(parent)
            for number in _PASSED_ON:
                signal.signal(number, signal.SIG_DFL)

            def leave(line: str) -> None:
                _write(writer, line)
                os._exit(0)

            _begin(memory, leave)
            _write(writer, work())
        except BaseException as error:
            _write(writer, f"{type(error).__name__}: {error}")
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as told:
        text = told.read()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code in (-signal.SIGKILL, -signal.SIGTERM):
        raise RunError(memory.ended_by(-code))
    return memory.ended_by(-code) if code < 0 else text


def _write(descriptor: int, text: str) -> None:
    data = text.encode(errors="replace")
    while data:
        data = data[os.write(descriptor, data) :]
