# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A whole run in shape ``ros`` in one simulated world: the nodes' own classes, and their starter.

Clock, participants and recorder are those of ``ros2_cosim.ros.node``; what the mains of their
processes and the starter of the run do with sockets and signals is done here with events.
"""

from __future__ import annotations

import io
import itertools
import json
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from simulation.disturbances import Disturbances
from simulation.network import Network, SimulatedMiddleware
from simulation.onlooker import Onlooker
from simulation.systems import System
from simulation.world import SECOND, HangError, Process, World

from ros2_cosim.core.kernel.errors import (
    Cancelled,
    CosimError,
    begun_elsewhere,
    reported_elsewhere,
)
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.layers import LayeredModel
from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.process.turns import TurnWriter
from ros2_cosim.core.realtime.renewal import renewed
from ros2_cosim.core.realtime.run_control import RunControl
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.run.watchdog import Watchdog
from ros2_cosim.ros.bringup.plan import Process as PlannedProcess
from ros2_cosim.ros.bringup.plan import make_plan
from ros2_cosim.ros.bringup.processes import GRACE_S
from ros2_cosim.ros.bringup.watch import EARLY_S, GATHER_S, RunWatch
from ros2_cosim.ros.node.expected_readers import CLOCK, RECORDER
from ros2_cosim.ros.node.hosting import Ending
from ros2_cosim.ros.node.recorder_node import RecorderNode
from ros2_cosim.ros.node.repetition import await_clock
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.programs._start import (
    EXIT_ABORTED,
    EXIT_FAILED,
    ReportedError,
    Started,
    participant_node,
)
from ros2_cosim.ros.programs.clock import coordinate
from ros2_cosim.ros.programs.participants import host

#: A run that takes longer in its own world does not end: more than all patience together.
LIMIT_NS = 400 * SECOND
#: No run needs so many events.
MOST_EVENTS = 300_000
_POLL_NS = 50_000_000
#: As in ros/bringup/running.py: the clock is given up when it is silent for so much longer.
_CLOCK_LATE_NS = 5 * SECOND
#: How soon a process learns what the channel of the run brings [ns].
_CHANNEL_NS = 1_000_000


@dataclass
class Repetition:
    """What one run left: reports, and messages by topic as (stamp, number, bytes)."""

    reports: dict[str, Any] = field(default_factory=dict)
    messages: dict[str, list[tuple[int, int, bytes]]] = field(default_factory=dict)
    is_complete: bool = False

    @property
    def clock(self) -> dict[str, Any]:
        """What the clock has reported."""
        found: dict[str, Any] = json.loads(self.reports[CLOCK].details_json)
        return found


@dataclass
class Outcome:
    """How a run ended.

    :ivar stop: why it was stopped, as ``cosim run`` says it; None: it is complete
    :ivar repetitions: the runs, one after the other in the same processes
    :ivar violations: rules that were broken on the way
    :ivar digest: of everything that happened
    """

    stop: str | None
    repetitions: list[Repetition]
    violations: list[str]
    digest: str
    events: int
    wall_ns: int


class _Console(io.TextIOBase):
    """Where processes print."""

    def __init__(self, run: SimulatedRun) -> None:
        self._run = run

    def write(self, text: str) -> int:
        if text.strip():
            self._run.printed(text.strip())
        return len(text)


class _Sink:
    """Keeps what is recorded."""

    def __init__(self, messages: dict[str, list[tuple[int, int, bytes]]]) -> None:
        self._messages = messages

    def write(self, topic: str, stamp_ns: int, seq: int, data: bytes) -> None:
        self._messages.setdefault(topic, []).append((stamp_ns, seq, data))

    def advance(self, time_ns: int) -> None:
        """Nothing is written later."""


class _Starter:
    """What a process sees of the starter of the run; see ``ros/bringup/starter_channel.py``.

    What is told arrives a little later.
    """

    def __init__(self, run: SimulatedRun, name: str) -> None:
        self._run = run
        self._name = name
        self._early_leaves: dict[str, str] = {}
        run.starters.append(self)
        for participant, how in run.early_leaves.items():
            self.learn(participant, how)

    @property
    def early_leaves(self) -> Mapping[str, str]:
        return self._early_leaves

    @property
    def required(self) -> frozenset[str] | None:
        return self._run.required

    def require(self, names: tuple[str, ...]) -> None:
        self._run.required = frozenset(names)

    def progress(self, time_ns: int, resting: bool) -> None:
        self._run.progress(resting)

    def over(self) -> None:
        self._run.over()

    def failed(self, reason: str) -> None:
        self._run.told(self._name, reason)

    def shares(self, turns: object, participants: Sequence[str]) -> None:
        """A death is an event here: it needs no memory."""

    def leave_early(self, participant: str, how: str) -> None:
        self._early_leaves[participant] = how
        self._run.leave_early(participant, how)

    def learn(self, participant: str, how: str) -> None:
        world = self._run.world
        world.after(
            world.draw(_CHANNEL_NS), lambda: self._early_leaves.setdefault(participant, how)
        )


class SimulatedThreads:
    """The threads of a process; see :class:`ros2_cosim.ros.node.hosting.Threads`."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._endings: deque[Ending] = deque()

    def start(self, name: str, body: Callable[[Callable[[Ending], None]], None]) -> None:
        """Run ``body`` in a thread of its own."""

        def take(ending: Ending) -> None:
            self._endings.append(ending)
            self._process.main.wake()

        self._process.start_thread(partial(body, take))

    def next_ending(self, seconds: float) -> Ending | None:
        """What the next thread gives that ends; None: none does within ``seconds``."""
        if not self._endings:
            self._process.sleep(int(seconds * 1e9), wakeable=True)
        return self._endings.popleft() if self._endings else None


@cache
def _plan(system: System, paused: bool, repeat: int) -> list[PlannedProcess]:
    """All processes, those that the user starts as well."""
    options = RunOptions(out=Path("out"), paused=paused, repeat=repeat, record=False)
    return make_plan(system.scenario, options)


class SimulatedRun:
    """One run.

    :param system: what is run
    :param disturbances: what happens to it
    """

    def __init__(self, system: System, disturbances: Disturbances) -> None:
        self.system = system
        self.disturbances = disturbances
        self.world = World(f"{system.number} {disturbances.seed}", disturbances.pace)
        self.starters: list[_Starter] = []
        self.early_leaves: dict[str, str] = {}
        self.required: frozenset[str] | None = None
        self.repetitions: list[Repetition] = []
        self.onlooker = Onlooker(self)
        plan = _plan(system, disturbances.paused, disturbances.repeat)
        self.network = Network(
            self.world,
            lease_ns=disturbances.lease_ns,
            onlooker=self.onlooker,
            parameters={(p.name, key): value for p in plan for key, value in p.parameters.items()},
        )
        self._graphs: list[Graph] = []
        self._by_hand = [p.name for p in plan if p.name == disturbances.by_hand]
        started = [p for p in plan if p.name not in self._by_hand]
        self._watch = RunWatch(started, lambda: self.required)
        self._plan = plan
        self.processes: dict[str, Process] = {}
        self._stop: str | None = None
        #: Whether the processes have been asked to end.
        self.is_ending = False
        self._is_over = False
        self._first_end: int | None = None
        self._sign = self.world.now
        self._patience: float = system.scenario.startup_s * 1e9 + _CLOCK_LATE_NS

    def run(self) -> Outcome:
        """Run to the end.

        :raises HangError: it has none
        """
        bodies: dict[str, Callable[[Process], int]] = {
            CLOCK: self._clock,
            RECORDER: self._recorder,
        }
        for planned in self._plan:
            alone = self._shared if planned.hosts else self._participant
            body = bodies.get(planned.name, alone)
            self.processes[planned.name] = Process(self.world, planned.name, body)
        starter = Process(self.world, "starter", self._start)
        starter.start(0)
        self.disturbances.begin(self)
        try:
            with redirect_stdout(_Console(self)), redirect_stderr(io.StringIO()):
                self.world.run(lambda: self._is_over, LIMIT_NS, MOST_EVENTS)
        finally:
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                self.onlooker.is_closed = True
                for process in (*self.processes.values(), starter):
                    process.kill()
        return Outcome(
            self._stop,
            self.repetitions,
            self.onlooker.violations,
            self.world.digest,
            self.world.events,
            self.world.now,
        )

    def repetition(self, number: int) -> Repetition:
        """What is left of a run, counted from 0."""
        while len(self.repetitions) <= number:
            self.repetitions.append(Repetition())
        return self.repetitions[number]

    def progress(self, resting: bool) -> None:
        """Take the clock's sign of life."""
        self._sign = self.world.now
        limit = 2e9 * self.system.scenario.watchdog_s + _CLOCK_LATE_NS
        self._patience = float("inf") if resting else limit

    def over(self) -> None:
        """Take that the processes end now."""
        self._watch.over()

    def told(self, process: str, reason: str) -> None:
        """Take what a process says about its failure."""
        self._watch.told(process, reason)

    def leave_early(self, participant: str, how: str) -> None:
        """Take that a participant is gone, and tell all."""
        self.early_leaves[participant] = how
        for starter in self.starters:
            starter.learn(participant, how)

    def printed(self, line: str) -> None:
        """Take a line that the process prints whose turn it is."""
        thread = self.world.thread
        if thread is not None and thread.process.name not in self._by_hand:
            self._watch.printed(thread.process.name, line)

    # --- the starter, as in ros/bringup/running.py and ros/bringup/processes.py

    def _start(self, starter: Process) -> int:
        for planned in self._plan:
            process = self.processes[planned.name]
            process.start(self.disturbances.start_delay(planned.name))
        while not self._ended():
            failure = self._failure(starter)
            if failure is None and self.world.now - self._sign > self._patience:
                failure = f"{CLOCK}: no sign of life"
            if failure is not None:
                self._stop = failure + self._stopped_processes()
                break
            starter.sleep(_POLL_NS)
        else:
            self._stop = self._failure(starter)
        self._end(starter)
        self._is_over = True
        return 0

    def _stopped_processes(self) -> str:
        names = [name for name, process in self.processes.items() if process.is_frozen]
        return f" (stopped by a signal: {', '.join(names)})" if names else ""

    def _look(self) -> None:
        for name, process in self.processes.items():
            if process.code is not None and name not in self._by_hand:
                self._watch.ended(name, process.code)
        for participant, how in self._watch.early_leaves():
            self.leave_early(participant, how)

    def _failure(self, starter: Process) -> str | None:
        self._look()
        if self._watch.some_failed:
            deadline = self.world.now + int(EARLY_S * 1e9)
            starter.sleep(int(GATHER_S * 1e9))
            self._look()
            while not self._watch.cause_known and self.world.now < deadline:
                starter.sleep(_POLL_NS)
                self._look()
            return self._watch.failure()
        if self._watch.some_ended and not self._watch.complete:
            self._first_end = self._first_end or self.world.now
            if self.world.now - self._first_end > EARLY_S * 1e9:
                return self._watch.early()
        return None

    def _ended(self) -> bool:
        self._look()
        late = self._first_end is not None and self.world.now - self._first_end > EARLY_S * 1e9
        return self._watch.complete or (self._watch.clock_done and late)

    def _end(self, starter: Process) -> None:
        self.is_ending = True
        for process in reversed(self.processes.values()):
            process.thaw()
            if process.name not in self._by_hand:
                process.signal(signal.SIGTERM)
            elif (process, self.processes[CLOCK]) not in self.network.met:
                process.kill()  # it came too late, and waits for a clock until the user ends it
        deadline = self.world.now + int(GRACE_S * 1e9)
        while self.world.now < deadline:
            if all(process.has_ended for process in self.processes.values()):
                return
            starter.sleep(_POLL_NS)
        for process in self.processes.values():
            if not process.has_ended:
                # Nothing may need this: a process ends when it is asked to, and one that the
                # user has started when the clock has gone.
                self.onlooker.violations.append(f"{process.name} did not end in time")
                process.kill()

    # --- the mains of the processes, as in ros/programs/_start.py

    def _graph(self, repetition: int) -> Graph:
        while len(self._graphs) <= repetition:
            self._graphs.append(self.system.graph())
        return self._graphs[repetition]

    def _run_node(self, process: Process, body: Callable[[Started], bool]) -> int:
        name = process.name
        middleware = SimulatedMiddleware(
            self.network, process, ordered=self.disturbances.ordered(name)
        )
        process.on_end = lambda: self.network.vanish(process, middleware.nodes)
        starter = _Starter(self, name)
        scenario = self.system.scenario
        try:
            for repetition in itertools.count():
                with (
                    Session(name, [], middleware=middleware) as session,
                    TurnWriter(list(scenario.participants)) as turns,
                ):
                    session.repetition = repetition
                    if self.disturbances.on_lane:
                        session.join_lane("the lane of the run")
                    started: Any = Started(
                        session,
                        scenario,
                        self._graph(repetition),
                        starter,  # type: ignore[arg-type]
                        Watchdog(scenario.watchdog_s, print),  # which is not started
                        turns,
                    )
                    if repetition and name != CLOCK:
                        await_clock(session, started.run_id(), scenario.startup_s)
                    again = body(started)
                if not again:
                    return 0
        except Cancelled:
            return 0
        except ReportedError:
            return EXIT_FAILED
        except CosimError as error:
            if not reported_elsewhere(error):
                starter.failed(f"{name}: {error}")
            return EXIT_ABORTED if begun_elsewhere(error) else EXIT_FAILED
        raise AssertionError("unreachable")

    def _clock(self, process: Process) -> int:
        controls: list[RunControl] = []
        return self._run_node(process, partial(coordinate, controls))

    def _participant(self, process: Process) -> int:
        name = process.name
        kept: list[Model] = []

        def body(started: Started) -> bool:
            make = partial(self.system.model, name)
            model = LayeredModel(renewed(kept.pop(), name, make) if kept else make())
            again = participant_node(started, name, model).run()
            if again:
                kept.append(model)
            return again

        return self._run_node(process, body)

    def _shared(self, process: Process) -> int:
        return self._run_node(process, partial(host, {}, SimulatedThreads(process)))

    def _recorder(self, process: Process) -> int:
        def body(started: Started) -> bool:
            left = self.repetition(started.session.repetition)
            self.onlooker.records(started.session.repetition, left)
            recorder = RecorderNode(
                started.session,
                started.wiring(),
                sink=_Sink(left.messages),
                quantum_ns=started.scenario.clock_step,
                entry_step_ns=started.scenario.clock_step,
                timer=started.session.timer,
            )
            recorder.record()
            left.reports = dict(recorder.reports)
            left.is_complete = True
            return recorder.finish()

        return self._run_node(process, body)


__all__ = ["HangError", "Outcome", "Repetition", "SimulatedRun"]
