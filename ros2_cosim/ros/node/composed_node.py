# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Shape ``composed``: all participants in one process, their topics still published.

The sequential scheduler runs the participants; every message is also published, and
``/clock`` follows, so that RViz, bags and other nodes see the same as in shape ``ros``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.core.messages.protocol import Completion, ParticipantState, SystemState
from ros2_cosim.core.messages.sink import Sink
from ros2_cosim.core.messages.wiring import Wiring
from ros2_cosim.core.realtime.pacing import Pacer
from ros2_cosim.core.realtime.run_control import RunControl
from ros2_cosim.core.realtime.sequential_run import SequentialRun
from ros2_cosim.core.record.spans import RECEIVE, RECORD, REPORT, WAIT, SequenceChronicle
from ros2_cosim.core.scene.entities import Offer
from ros2_cosim.ros.node.blocking import BlockingTable
from ros2_cosim.ros.node.control_services import ControlServices, describe_end
from ros2_cosim.ros.node.looks import Looks
from ros2_cosim.ros.node.outputs import OutputTopics, flush_onlookers
from ros2_cosim.ros.node.run_view import RunProgress, RunView
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.time_topics import StandingTime
from ros2_cosim.ros.node.writers import ClockWriter

#: ``/clock`` moves at least once in this time [ns of simulated time].
CLOCK_STEP_NS = 10_000_000
#: While the next time is further away than this, the middleware is served meanwhile [ns].
_NEAR_NS = 2_000_000


class ComposedNode:
    """Publishes what a sequential run sends, and the clock.

    :param session: the ROS node
    :param wiring: the system and its topics
    :param sink: recorder of the messages
    :param control: what limits how far the run goes: pauses, steps, rate
    :param run_id: names this run in its status
    :param timer: monotonic wall clock [ns]
    :param chronicle: takes what the time is spent on; None: nothing does
    :param world: what the world of the scenario has; None: there is none with entities
    """

    def __init__(
        self,
        session: Session,
        wiring: Wiring,
        *,
        sink: Sink,
        control: RunControl,
        run_id: str,
        timer: Callable[[], int],
        chronicle: SequenceChronicle | None = None,
        world: Offer | None = None,
    ) -> None:
        graph = wiring.graph
        self._session = session
        self._sink = sink
        self._control = control
        self._run_id = run_id
        self._timer = timer
        self._chronicle = chronicle
        self._run: SequentialRun | None = None
        self._looks = Looks(timer())
        self._table = BlockingTable(graph, graph.participants, timer())
        # An activation that lasts keeps this process from publishing: there are no warnings.
        self._view = RunView(
            session, self._table, run_id=run_id, warn_ns=FOREVER, timer=timer, warn=print
        )
        self._services = ControlServices(
            session, control, time=self._time, state=self._state, timer=timer, world=world
        )
        self.ask = self._services.ask
        self._clock = ClockWriter(session.node, session.start_ns)
        session.follow(session.node, self._time)
        self._standing = StandingTime(self._clock, timer)
        self._writers = {
            name: OutputTopics(session, wiring, name, timer, for_onlookers=True).writers
            for name in graph.participants
        }
        #: Wall time [ns] spent on publishing and recording.
        self.transport_ns = 0

    def observe(self, participant: str, port: int, sample: Sample, data: bytes) -> None:
        """Publish and record one message; the observer of the scheduler."""
        started = self._timer()
        writer = self._writers[participant][port]
        writer.send_bytes(data)
        if self._chronicle is not None:
            self._chronicle.publishes()
        self._sink.write(writer.topic, sample.stamp, sample.seq, writer.plain(data))
        if self._chronicle is not None:
            self._chronicle.recorded()
        self.transport_ns += self._timer() - started

    def wait(self, scheduler: SequentialScheduler, seconds: float) -> None:
        """Handle what arrives while the step, or a handler, of a participant is open.

        A step that is open is part of the results of a run that is stopped; nothing follows it.

        :raises Aborted: a request asked for the end at once
        :raises Cancelled: the process was asked to end
        """
        self._session.wait(seconds)
        self._control.check_abort()
        if self._control.stop_reason is not None and scheduler.active is not None:
            scheduler.stop(self._control.stop_reason)

    def run(self, run: SequentialRun, pacer: Pacer, progress: Callable[[int], None]) -> None:
        """Run to the end, in slices of the clock's step.

        :param run: the loop of the run
        :param pacer: the scale of the control, with the wall clock of the run
        :param progress: called with the simulated time [ns] after each step and while waiting
        :raises Aborted: a request asked for the end at once
        :raises Cancelled: the process was asked to end
        """
        control = self._control
        control.started(self._timer())
        self._view.started()
        self._run = run
        self._did(WAIT)  # what came before was not part of the run
        while not run.has_finished():
            advanced = run.advance()
            if advanced:
                self._did(REPORT)
                self._sink.advance(run.reached)
                self._did(RECORD)
                self._clock.show(run.reached)
            elif run.has_finished():
                break
            else:
                self._standing.poll(run.reached)
            self._tell(run)
            progress(run.reached)
            self._did(REPORT)
            self._serve(advanced=advanced)
            self._did(RECEIVE if advanced else WAIT)
            if advanced:
                self._wait_for(run.reached, pacer, progress)
                self._did(WAIT)
        flush_onlookers(chain.from_iterable(self._writers.values()), self._timer)
        self._services.over(describe_end(run.end, run.stop_reason or "complete"))

    def _did(self, kind: int) -> None:
        """Between activations: this is what it was at."""
        if self._chronicle is not None:
            self._chronicle.did(kind)

    def _serve(self, *, advanced: bool) -> None:
        """Handle requests; without an advance of time, wait for one."""
        if not advanced:
            self._session.wait(0.05)
            return
        began = self._timer()
        if not self._looks.is_due(began):
            self._session.raise_pending()
            return
        handled = self._session.handled
        self._session.wait(0.0)
        self._looks.looked(began, self._timer(), found=self._session.handled > handled)

    def _wait_for(self, time: int, pacer: Pacer, progress: Callable[[int], None]) -> None:
        """Let the wall clock come near a simulated time [ns], unless a request comes first."""
        control, rate = self._control, pacer.rate
        while (
            rate is not None
            and pacer.rate == rate
            and not (control.paused or control.stop_reason is not None)
            and (ahead := pacer.due(time) - pacer.clock.now()) > _NEAR_NS
        ):
            self._session.wait(min((ahead - _NEAR_NS) / 1e9, 0.05))
            progress(time)

    def _time(self) -> int:
        """No activation takes place before this time [ns] any more."""
        return self._run.time if self._run is not None else 0

    def _state(self) -> State:
        stands = self._control.paused and self._time() >= self._control.limit
        return State.PAUSED if stands else State.RUNNING

    def _tell(self, run: SequentialRun) -> None:
        if not self._view.is_due():
            return
        now, state = self._timer(), self._state()
        for name, runtime in run.runtimes.items():
            self._table.on_state(ParticipantState(name, int(state), ""), now)
            done = runtime.trace.activations
            self._table.on_completion(Completion(name, done, run.reached, FOREVER, "", ()), now)
        system = SystemState(int(state), self._control.describe(run.time), self._run_id)
        rate, resting = self._control.rate, self._control.resting
        self._view.publish(RunProgress(system, run.time, run.reached, run.end, rate, resting))
