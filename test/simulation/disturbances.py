# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What happens to a run: drawn by the seed, harmless or not."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from ros2_cosim.srv import ControlRun
from simulation.world import SECOND, Pace, Process

from ros2_cosim.core.realtime.run_control import Command
from ros2_cosim.ros.node.control_services import CONTROL

if TYPE_CHECKING:
    from simulation.simulated_run import SimulatedRun
    from simulation.systems import System

MS = 1_000_000
#: How often a run that may stand on request is asked to go on [ns].
_NUDGE_NS = SECOND // 2

#: Kinds of disturbances that are harmless: the run is complete whatever happens.
HARMLESS = ("calm", "stumbling", "control", "repeat", "require")
HARMFUL = ("kill", "frozen", "cut", "end")
#: As often as they are drawn.
KINDS = (*HARMLESS, "calm", "stumbling", "control", "kill", *HARMFUL)


class Disturbances:
    """What happens to the run of one seed.

    :param seed: decides about everything
    :param system: what is run
    :param kind: one of ``KINDS``; None: drawn
    :param on_lane: whether messages of the run take its lane, which nothing cuts; None: drawn
    """

    def __init__(
        self, seed: int, system: System, kind: str | None = None, on_lane: bool | None = None
    ) -> None:
        self.seed = seed
        self._dice = dice = random.Random(f"disturbances {seed}")
        drawn = dice.choice(KINDS)
        self.kind = kind or drawn
        self._can_reset = system.can_reset
        self._late = system.late
        self._connected = system.connected
        self.pace = Pace(
            step=dice.choice((10_000, 50_000, MS // 2, MS)),
            message=dice.choice((20_000, 200_000, MS, 4 * MS)),
            discovery=dice.choice((MS, 8 * MS, 30 * MS)),
            spike=dice.choice((10 * MS, 150 * MS)),
            spikes=dice.choice((0.0, 0.002, 0.02)),
        )
        #: A process that cannot be reached for so long is forgotten by the others.
        self.lease_ns = 3 * SECOND
        self.paused = self.kind == "control" and dice.random() < 0.3
        self.repeat = dice.choice((2, 3)) if self.kind == "repeat" and self._can_reset else 1
        #: Processes that something harmful happens to.
        self.victims: list[str] = []
        #: Whether a request may have ended the run, and whether at once.
        self.may_stop = self.may_abort = False
        drawn_lane = random.Random(f"lane {seed}").random() < 0.5
        #: Whether messages of the run take its lane.
        self.on_lane = drawn_lane if on_lane is None else on_lane
        self._orders: dict[str, bool] = {}
        more = random.Random(f"more disturbances {seed}")
        names = list(system.scenario.participants)
        places = sorted({p.process or name for name, p in system.scenario.participants.items()})
        #: The process of participants that the user starts, at any time; empty: none.
        self.by_hand = ""
        if self.is_harmless and more.random() < 0.3:
            self.by_hand = more.choice(places)
        #: What a system controller requires.
        self.named: tuple[str, ...] = ()
        #: Whether it was told that the run requires these.
        self.is_required = False
        if self.kind == "require":
            self.named = tuple(more.sample(names, more.randrange(1, len(names) + 1)))
        self._late = self._late | {self.by_hand}

    @property
    def is_harmless(self) -> bool:
        """Whether the run has to be complete."""
        return self.kind in HARMLESS

    def ordered(self, name: str) -> bool:
        """Whether a process takes what arrives in that order."""
        return self._orders.setdefault(name, self._dice.random() < 0.5)

    def start_delay(self, name: str) -> int:
        """How late a process starts [ns]; one that may come late often does."""
        if name in self._late and self._dice.random() < 0.5:
            return self._dice.randrange(SECOND // 2)
        if self._dice.random() < (0.3 if self.named and name not in self.named else 0.04):
            return self._dice.randrange(SECOND)
        return self._dice.randrange(40 * MS)

    def begin(self, run: SimulatedRun) -> None:
        """Arrange all that will happen."""
        dice = self._dice
        if self.kind != "calm":
            for _ in range(dice.randrange(4)):
                self._stumble(run)
        if self.kind in ("control", "end"):
            self._control(run)
        if self.named:
            run.world.after(dice.randrange(100 * MS), partial(self._require, run))
        victim = dice.choice(list(run.processes))
        if self.kind in ("kill", "frozen"):
            self.victims.append(victim)
        if self.kind == "kill":
            self._kill(run, run.processes[victim])
        elif self.kind == "frozen":
            self._later(run, partial(self._freeze, run, victim, dice.randrange(3, 15) * SECOND))
        elif self.kind == "cut":
            other = dice.choice([name for name in run.processes if name != victim])
            if self._connected and dice.random() < 0.6:
                victim, other = dice.choice(self._connected)
            self.victims += [victim, other]
            duration = self.lease_ns + dice.randrange(dice.choice((SECOND, 12 * SECOND)))
            self._later(run, partial(self._cut, run, victim, other, duration))

    def _later(self, run: SimulatedRun, action: Callable[[], None]) -> None:
        """At any time of the run, which lasts half a second or so."""
        run.world.after(self._dice.randrange(self._dice.choice((150 * MS, SECOND))), action)

    def _stumble(self, run: SimulatedRun) -> None:
        """A process stands, or a connection, for less than a lease."""
        dice = self._dice
        one, other = dice.sample(list(run.processes), 2)
        duration = dice.randrange(dice.choice((50 * MS, SECOND)))
        if dice.random() < 0.5:
            self._later(run, partial(self._freeze, run, one, duration))
        else:
            self._later(run, partial(self._cut, run, one, other, duration))

    @staticmethod
    def _freeze(run: SimulatedRun, name: str, duration: int) -> None:
        if run.is_ending:
            return  # one that does not come back from this is killed, whatever it would do
        process = run.processes[name]
        process.freeze(duration)
        run.network.frozen(process, duration)

    @staticmethod
    def _cut(run: SimulatedRun, one: str, other: str, duration: int) -> None:
        run.network.cut(run.processes[one], run.processes[other], duration)

    def _kill(self, run: SimulatedRun, victim: Process) -> None:
        dice = self._dice
        if dice.random() < 0.4:
            self._later(run, victim.kill)
            return
        # In the midst of its work: before one of its messages.
        left = dice.randrange(dice.choice((12, 60)))

        def publishing(process: Process) -> None:
            nonlocal left
            if process is victim:
                left -= 1
                if left < 0:
                    victim.kill()

        run.network.publishing = publishing

    # --- requests ---------------------------------------------------------------------------

    def _control(self, run: SimulatedRun) -> None:
        dice = self._dice
        commands = [Command.PAUSE, Command.STEP, Command.RESUME, Command.INSTANT, Command.UNTIL]
        commands += [Command.RATE, Command.STATUS]
        for _ in range(dice.randrange(1, 6)):
            if dice.random() < 0.25:
                name = dice.choice(list(run.system.scenario.participants))
                self._later(run, partial(_change, run, name, Transition.TRANSITION_DEACTIVATE))
            else:
                self._later(run, partial(self._ask, run, dice.choice(commands)))
        if self.kind == "end":
            command = dice.choice((Command.STOP, Command.STOP, Command.ABORT, Command.RESET))
            if command is Command.RESET and not self._can_reset:
                command = Command.STOP
            self.may_stop = command is not Command.ABORT
            self.may_abort = command is Command.ABORT
            self._later(run, partial(self._ask, run, command))
        run.world.after(3 * SECOND, partial(self._nudge, run))

    def _ask(self, run: SimulatedRun, command: Command) -> None:
        dice = run.world.random
        request = ControlRun.Request(
            command=int(command),
            steps=dice.choice((0, 1, 3)) if command is not Command.RESET else 0,
            time_ns=dice.randrange(50) * MS if command in (Command.UNTIL, Command.STEP) else 0,
            rate=dice.choice((0.0, 0.1, 1.0)) if command is Command.RATE else 0.0,
        )
        _call(run, CONTROL, request)

    def _require(self, run: SimulatedRun) -> None:
        """Name the required participants, as soon as there is a clock."""
        request = ControlRun.Request(command=int(Command.REQUIRE), participants=list(self.named))

        def answered(response: ControlRun.Response) -> None:
            run.world.note("required", str(response))
            self.is_required = response.success

        if not run.network.call(CONTROL, request, answered):
            run.world.after(5 * MS, partial(self._require, run))

    def _nudge(self, run: SimulatedRun) -> None:
        """A run that was asked to stand is asked to go on."""
        _call(run, CONTROL, ControlRun.Request(command=int(Command.RESUME)))
        for name in run.system.scenario.participants:
            _change(run, name, Transition.TRANSITION_ACTIVATE)
        run.world.after(_NUDGE_NS, partial(self._nudge, run))


def _call(run: SimulatedRun, service: str, request: object) -> None:
    def answered(response: object) -> None:
        run.world.note("answer", service, str(response))

    run.network.call(service, request, answered)


def _change(run: SimulatedRun, name: str, transition: int) -> None:
    request = ChangeState.Request(transition=Transition(id=transition))
    _call(run, f"/{name}/change_state", request)
