# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Starting, watching and ending the processes of a plan.

Each process gets its own process group and ends with this one. The first process that ends
before its time ends the run; what it has told about its failure is the reason.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ros2_cosim.core.documents.installed import PACKAGE, module_command
from ros2_cosim.core.kernel.loading import is_own_module
from ros2_cosim.core.messages.namespaces import remapping
from ros2_cosim.core.process.processes import end_with_parent
from ros2_cosim.core.run.crashes import crash_of
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.executables import find_installed
from ros2_cosim.core.scenario.held_ports import HeldPorts
from ros2_cosim.core.scenario.registry import available_models
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.sockets.inherited import close_all, passed_on
from ros2_cosim.ros.bringup.fork_server import ForkServer, StartedProcess, is_usable
from ros2_cosim.ros.bringup.plan import Process, make_plan
from ros2_cosim.ros.bringup.starter_channel import (
    CHANNEL,
    SHIELDED,
    AnyMessage,
    ClockProgress,
    Failed,
    Over,
    StarterChannel,
)
from ros2_cosim.ros.bringup.watch import EARLY_S, GATHER_S, RunWatch
from ros2_cosim.ros.foreign import foreign_model

#: How long a process may take to end in order before it is killed.
GRACE_S = 6.0
_POLL_S = 0.02
#: The output of a process is read by then, even if others have it open [s].
_HEAR_OUT_S = 1.0


@dataclass
class _Child:
    process: Process
    running: StartedProcess
    reader: threading.Thread | None = None
    has_ended: bool = False


class ProcessGroup:
    """The running processes of one plan; use as a context manager.

    :param plan: what to start, in this order
    :param environment: for all of them
    :param on_line: called with (process name, line) of everything they print
    :param on_progress: called with (process name, message) when the clock tells the time
    :param held: processes that :meth:`start` starts later
    :param channel: what the processes talk to this one over; None: one of its own
    :param inherited: open files that they inherit
    :param ports: sockets that are held for them
    :param scenario: what they run, to report a crash of native code as such
    """

    def __init__(
        self,
        plan: Sequence[Process],
        environment: Mapping[str, str],
        on_line: Callable[[str, str], None] = lambda name, line: None,
        *,
        on_progress: Callable[[str, ClockProgress], None] = lambda name, progress: None,
        held: Collection[str] = (),
        channel: StarterChannel | None = None,
        inherited: Sequence[int] = (),
        ports: HeldPorts | None = None,
        scenario: Scenario | None = None,
    ) -> None:
        self._plan = plan
        self._environment = dict(environment)
        self._on_line = on_line
        self._on_progress = on_progress
        self._held = held
        self._inherited = inherited
        self._ports = ports
        self._children: list[_Child] = []
        self._stack = ExitStack()
        self._channel = channel or self._stack.enter_context(StarterChannel())
        self._channel.listen(self._take, self._on_line)
        self._environment |= {CHANNEL: self._channel.address, SHIELDED: "1"}
        self._watch = RunWatch(
            plan,
            lambda: self._channel.required,
            lambda name: self._channel.turn_in(name),
            lambda name, number: (
                ""
                if scenario is None
                else crash_of(scenario, self._channel.going_on_in(name), number)
            ),
        )
        self._models = [] if scenario is None else sorted(_model_modules(scenario))
        self._foreign = set() if scenario is None else _foreign_nodes(scenario)
        self._first_end: float | None = None
        self._server: ForkServer | None = None

    def __enter__(self) -> ProcessGroup:
        try:
            if any(map(_own_module, self._plan)) and is_usable():
                server = ForkServer(self._environment, self._models, self._inherited)
                self._server = self._stack.enter_context(server)
            # What starts a program waits for that one longest: the others start meanwhile.
            for process in sorted(self._plan, key=lambda each: each.name not in self._foreign):
                if process.name not in self._held:
                    self._start(process)
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _take(self, name: str, message: AnyMessage) -> None:
        if isinstance(message, ClockProgress):
            self._on_progress(name, message)
        elif isinstance(message, Failed):
            self._watch.told(name, message.reason, asked=message.asked)
        elif isinstance(message, Over):
            self._watch.over()

    def start(self, name: str) -> None:
        """Start a process of the plan that was held back."""
        self._start(next(process for process in self._plan if process.name == name))

    def pids(self) -> dict[str, int]:
        """Process ids by name."""
        return {child.process.name: child.running.pid for child in self._children}

    def codes(self) -> dict[str, int]:
        """Exit codes of the processes that have ended, by name."""
        self._look()
        found = {child.process.name: child.running.poll() for child in self._children}
        return {name: code for name, code in found.items() if code is not None}

    def failure(self, *, elsewhere: bool = False) -> str | None:
        """One line about the first required process that ended before its time, else None.

        :param elsewhere: the run has processes that are not in this plan: wait for none of them,
            and do not report a failure that one of those causes
        """
        self._look()
        if asked := self._watch.asked():
            return asked
        if self._watch.some_failed and elsewhere:
            self._hear_out()
            return self._watch.failure() if self._watch.cause_known else None
        if self._watch.some_failed:
            self._gather()
            return self._watch.failure()
        if self._watch.some_ended and not self._watch.complete:
            now = time.monotonic()
            self._first_end = self._first_end or now
            if now - self._first_end > EARLY_S:
                return self._watch.early()
        return None

    def _gather(self) -> None:
        """Wait until the cause is known of failures that follow from each other."""
        deadline = time.monotonic() + EARLY_S
        time.sleep(GATHER_S)
        self._look()
        while not self._watch.cause_known and time.monotonic() < deadline:
            # A node that fails tells the clock first and ends last.
            time.sleep(_POLL_S)
            self._look()
        self._hear_out()

    def ended(self) -> bool:
        """Whether all required ROS nodes have ended; servers go on until they are asked to end.

        When the clock has ended in order, the results are complete: a node that has not received
        its last message after a while need not be waited for.
        """
        self._look()
        late = self._first_end is not None and time.monotonic() - self._first_end > EARLY_S
        return self._watch.complete or (self._watch.clock_done and late)

    def stopped(self) -> list[str]:
        """Names of the processes that a signal has stopped (SIGSTOP); known on Linux only."""
        return [
            child.process.name + child.process.note
            for child in self._children
            if _is_stopped(child.running.pid)
        ]

    def _hear_out(self) -> None:
        """Take what the processes printed before they ended."""
        for child in self._children:
            if child.running.poll() is not None and child.reader is not None:
                child.reader.join(_HEAR_OUT_S)

    def turns(self) -> dict[str, str]:
        """Process of several -> the participant whose turn it is, where it is that of one."""
        found = {name: self._channel.turn_in(name) for name in self.pids()}
        return {name: participant for name, participant in found.items() if participant}

    def _look(self) -> None:
        for child in self._children:
            code = child.running.poll()
            if code is not None and not child.has_ended:
                child.has_ended = True
                self._channel.hear_out()
                self._watch.ended(child.process.name, code)
        for participant, how in self._watch.early_leaves():
            self._channel.leave_early(participant, how)

    def end(self) -> None:
        """Ask all processes to end, and kill those that do not.

        Servers are asked after the nodes, which may have something to give back to them.
        """
        for is_node in (True, False):
            self._end([child for child in self._children if child.process.is_ros is is_node])
        for child in self._children:
            if child.reader is not None:
                child.reader.join(_HEAR_OUT_S)
        self._stack.close()

    def _end(self, children: Sequence[_Child]) -> None:
        """End some of the processes, the first started last."""
        for child in reversed(children):
            self._signal(child, signal.SIGTERM)
            # A stopped process could not end.
            self._signal(child, signal.SIGCONT)
        deadline = time.monotonic() + GRACE_S
        for child in children:
            try:
                child.running.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                self._signal(child, signal.SIGKILL)
                child.running.wait()

    @staticmethod
    def _signal(child: _Child, number: signal.Signals) -> None:
        if child.running.poll() is None:
            try:
                os.killpg(child.running.pid, number)
            except ProcessLookupError:
                return

    def _start(self, process: Process) -> None:
        child = _Child(process, self._started(process))
        child.reader = threading.Thread(target=self._read, args=(child,), daemon=True)
        child.reader.start()
        self._children.append(child)

    def _started(self, process: Process) -> StartedProcess:
        held = self._ports.take(process.name) if self._ports is not None else []
        if not process.inherits:
            # It binds the port itself: it has to be free, if only from now on.
            close_all(held)
            held = []
        module = _own_module(process)
        try:
            if self._server is not None and module:
                return self._server.start(module, _arguments(process), held)
            return subprocess.Popen(
                command_of(process),
                env=self._environment | passed_on(held),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=[*self._inherited, *(each.sock.fileno() for each in held)],
                preexec_fn=partial(end_with_parent, os.getpid()),
            )
        finally:
            close_all(held)

    def _read(self, child: _Child) -> None:
        assert child.running.stdout is not None
        for raw in child.running.stdout:
            line = raw.decode(errors="replace").rstrip()
            if line:
                self._watch.printed(child.process.name, line)
                self._on_line(child.process.name, line)
        child.running.stdout.close()


def command_of(process: Process) -> list[str]:
    """The command line of a process of a plan."""
    return [*_program(process), *_arguments(process)]


def _arguments(process: Process) -> list[str]:
    arguments = list(process.arguments)
    if process.is_ros:
        arguments += ["--ros-args", "-r", f"__node:={process.node}"]
        arguments += [*remapping(process.namespace), *process.ros_arguments]
        for name, value in process.parameters.items():
            # ROS reads parameter values as YAML, of which JSON is a part.
            arguments += ["-p", f"{name}:={json.dumps(value)}"]
    return arguments


def commands_by_hand(scenario: Scenario, options: RunOptions) -> list[tuple[str, str]]:
    """(name, command line) of the processes of a plan that the user starts."""
    plan = make_plan(scenario, replace(options, by_hand=()))
    return [(p.name, shlex.join(command_of(p))) for p in plan if p.name in options.by_hand]


def _model_modules(scenario: Scenario) -> set[str]:
    """Modules of the models of this package: the recorder and more than one host import them."""
    known = available_models()
    used = {known[p.model].module for p in scenario.participants.values() if p.model in known}
    return set(filter(is_own_module, used))


def _foreign_nodes(scenario: Scenario) -> set[str]:
    """Participants that start the program of a node of others; each has its own process."""
    known, module = available_models(), foreign_model.__name__
    participants = scenario.participants.items()
    return {n for n, p in participants if p.model in known and known[p.model].module == module}


def _own_module(process: Process) -> str:
    """The module of a node of this package; empty for another program."""
    own = process.package == PACKAGE
    return f"{process.programs}.{process.executable}" if own else ""


def _program(process: Process) -> list[str]:
    module = _own_module(process)
    if module:
        return module_command(module)
    if process.package:
        return [str(find_installed(process.package, process.executable, process.name))]
    if process.executable.endswith(".py"):
        return [sys.executable, process.executable]
    return [process.executable]


def _is_stopped(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] == "T"
