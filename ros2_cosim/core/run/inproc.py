# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Run shape ``inproc``: kernel and models in this process, no ROS, no sockets."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ros2_cosim.core.kernel.errors import ConfigurationError, CosimError
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.layers import LayeredModel
from ros2_cosim.core.kernel.lifecycle import Operation
from ros2_cosim.core.kernel.lifecycle_group import LifecycleGroup
from ros2_cosim.core.kernel.membership import check_required
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.random_streams import load_generator
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.unsynchronised import Inbox
from ros2_cosim.core.messages.reporting import report_of
from ros2_cosim.core.messages.sink import Sink
from ros2_cosim.core.messages.wiring import wire_codec
from ros2_cosim.core.realtime.local_host import local_host
from ros2_cosim.core.realtime.pacing import Pacer
from ros2_cosim.core.realtime.run_control import Answer, Command, Request, RunControl
from ros2_cosim.core.realtime.run_settings import AS_FAST_AS_POSSIBLE, RealtimeRun, realtime_run
from ros2_cosim.core.realtime.sequential_run import SequentialRun
from ros2_cosim.core.realtime.wall_clock import MonotonicClock
from ros2_cosim.core.record.results import RunFacts, open_sink, trace_of, write_results
from ros2_cosim.core.record.spans import (
    RECORD,
    REPORT,
    SPANS_DIRECTORY,
    WAIT,
    SequenceChronicle,
    Spans,
    noted_scheduler,
)
from ros2_cosim.core.record.summary import SUMMARY_FILE, Summary
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.observed import Observed, Place
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.results import leave_incomplete, note_profile, why, write_reports
from ros2_cosim.core.run.shape import PreparedRun
from ros2_cosim.core.run.supervised import supervised
from ros2_cosim.core.run.tracebacks import noted
from ros2_cosim.core.scenario.changes import changed, reset_of
from ros2_cosim.core.scenario.changes_by_hand import told_change, write_changes
from ros2_cosim.core.scenario.changing import ChangesTaken
from ros2_cosim.core.scenario.declaration import declare_all, repeatability_of
from ros2_cosim.core.scenario.schema import ChangeSettings, Scenario
from ros2_cosim.core.scenario.system import bare_model, build_graph, layered_model

if TYPE_CHECKING:
    from ros2_cosim.core.run.branch import Branch
    from ros2_cosim.core.run.checkpoints import CheckpointRecorder

#: Simulated time between two reports of progress [ns].
_SLICE_NS = 1_000_000_000
#: The same where viewers are shown what has happened [ns].
SEEN_NS = 10_000_000
#: So many new objects may live before the garbage collector looks for circles among them: messages
#: form none, and it would look at each of them again and again.
_GARBAGE_AFTER = 50_000
#: So long [s of wall time] it sleeps at a time while a handler completes asynchronously.
_IDLE_S = 0.02
#: A run that may be longer loads numpy before it begins, where it costs no step its time [ns].
_SHORT_NS = 5_000_000_000


class InprocRun:
    """A run in this process that its caller drives; use as a context manager.

    >>> request = RunRequest(scenario, shape="inproc", out=Path("out"))
    >>> with bring_up(request) as prepared, InprocRun(prepared) as run:
    ...     run.request(Request(Command.STEP, steps=3))
    ...     run.request(Request(Command.UNTIL, time_ns=2_000_000_000))
    ...     summary = run.finish()

    It begins paused. The trace is the same however the caller drives it.

    :param prepared: what is run
    :param progress: called now and then with the simulated time [ns]; it may call
        :meth:`request`, to pause
    :param realtime: the wall clock that the run is paced by, or the arrivals that it repeats;
        None: as the options of the run say
    :param watch: (participant, output port) -> takes each message that it sends
    :param tell: takes lines for the user: where the run can be seen
    :param slice_ns: simulated time between two calls of ``progress`` [ns]
    :raises CosimError: the scenario is wrong
    """

    def __init__(
        self,
        prepared: PreparedRun,
        *,
        progress: Callable[[int], None] = lambda time_ns: None,
        realtime: RealtimeRun | None = None,
        watch: Mapping[tuple[str, str], Callable[[Sample], None]] | None = None,
        tell: Callable[[str], None] = lambda line: None,
        slice_ns: int = _SLICE_NS,
    ) -> None:
        created = time.perf_counter_ns()
        scenario, options = prepared.scenario, prepared.options
        if realtime is None:
            realtime = realtime_run(options.rate, hard=options.hard, arrivals=options.arrivals)
        self._scenario = scenario
        self._output = prepared.output
        self._record = options.record
        self._progress = progress
        graph = build_graph(scenario)
        self._scope = repeatability_of(declare_all(scenario, "inproc"))
        self._realtime = realtime
        if realtime.pacer is not None or scenario.duration > _SHORT_NS:
            load_generator()
        self._pacer = realtime.pacer or Pacer(None, MonotonicClock())
        #: Wall time [ns] of the run so far, without its pauses.
        self._wall_ns = 0
        self._behaviours: dict[str, LayeredModel] = {}
        self._sink: Sink | None = None
        #: Whether its results are written.
        self._is_written = False
        try:
            for name in graph.order:
                make = partial(bare_model, scenario, name, "inproc")
                self._behaviours[name] = layered_model(scenario, name, make, realtime)
            self._set_up(prepared, graph, watch or {}, tell, slice_ns)
        except BaseException as error:
            self._give_up()
            self._failed(error)
            raise
        self._watchdog = supervised(
            scenario, self._output, self.runtimes.values(), self._close_sink
        )
        self._startup_ns = time.perf_counter_ns() - created

    def _set_up(
        self,
        prepared: PreparedRun,
        graph: Graph,
        watch: Mapping[tuple[str, str], Callable[[Sample], None]],
        tell: Callable[[str], None],
        slice_ns: int,
    ) -> None:
        """Make what runs the models, and what keeps their messages."""
        scenario, options = prepared.scenario, prepared.options
        output, record = prepared.output, options.record
        #: The scenario as it is by what a user has changed.
        self._now = scenario
        self._changed: list[ChangeSettings] = []
        self._changes_told: list[dict[str, Any]] = []
        self._taken = {name: ChangesTaken(scenario, name) for name in self._behaviours}
        #: Times [ns] of the checkpoints that are to be written.
        self._checkpoints = list(options.checkpoints)
        self._written: list[str] = []
        self._branch: Branch | None = None
        if options.branch is not None:
            from ros2_cosim.core.run.branch import Branch

            self._branch = Branch(options.branch, scenario, graph)
            self._branch.silence(self._behaviours)
        self._recorder: CheckpointRecorder | None = None
        if options.checkpoints:
            from ros2_cosim.core.run.checkpoints import CheckpointRecorder

            self._recorder = CheckpointRecorder(scenario, graph, output)
            self._recorder.observe(self._behaviours)
        self._set_up_messages(graph, watch)
        #: Of a run that is profiled.
        self._spans: Spans | None = None
        self._chronicle = chronicle = None
        if options.profile:
            self._spans = Spans("inproc", list(graph.order), time.perf_counter_ns)
            self._chronicle = chronicle = SequenceChronicle(self._spans)
        observer = None
        if record or watch or options.checkpoints or options.foxglove:
            observer = self._observed.take if chronicle is None else self._observe_noted
        if self._recorder is not None:
            self._observed.note = self._note
        self._scheduler = noted_scheduler(
            chronicle,
            graph,
            self._behaviours,
            stop_latency_ns=scenario.stop_latency,
            observer=observer,
        )
        operations = {name: Operation(p.mode) for name, p in scenario.participants.items()}
        runtimes = self._scheduler.runtimes
        self._lifecycles = LifecycleGroup(
            self._behaviours,
            operations=operations,
            host=lambda name: local_host(runtimes[name].send_now, chronicle),
        )
        self._during = self._lifecycles.during(
            partial(time.sleep, _IDLE_S), lambda: self._scheduler.active
        )
        if record or options.foxglove:
            self._sink = sink = open_sink(output, scenario, graph, record)
            if options.foxglove:
                from ros2_cosim.core.record.foxglove_view import with_viewers

                self._sink = with_viewers(sink, options.foxglove, scenario, graph, tell)
            self._observed.keep(self._sink)
        self.control: RunControl = RunControl(
            step_ns=scenario.clock_step,
            scale=self._pacer,
            paused=True,
        )
        self.control.granted = 0
        self.control.on_require = self._require
        self._loop = SequentialRun(
            self._scheduler,
            self.control,
            self._pacer,
            duration_ns=scenario.duration,
            slice_ns=SEEN_NS if options.foxglove else slice_ns,
            serve=time.sleep,
            on_pacing=None if chronicle is None else chronicle.paces,
        )

    def _set_up_messages(
        self, graph: Graph, watch: Mapping[tuple[str, str], Callable[[Sample], None]]
    ) -> None:
        """Where the messages of each output port go; ports are known by their numbers."""
        specs = graph.participants
        places: dict[str, list[Place]] = {}
        for name, spec in specs.items():
            topics = (port.topic for port in self._scenario.outputs_of(name).values())
            plain = (wire_codec(port).plain for port in spec.outputs)
            places[name] = list(zip(topics, plain, strict=True))
        wanted = {
            (name, index): watch[name, port.name]
            for name, spec in specs.items()
            for index, port in enumerate(spec.outputs)
            if (name, port.name) in watch
        }
        self._observed = Observed(places, wanted, lambda: self._scheduler.now)

    def _give_up(self) -> None:
        """Close what has been made for a run that cannot begin."""
        with ExitStack() as stack:
            for model in self._behaviours.values():
                stack.callback(model.close)
            self._close_sink()

    @property
    def time(self) -> int:
        """No activation takes place before this time [ns] any more."""
        return self._loop.time

    @property
    def models(self) -> Mapping[str, LayeredModel]:
        """The models of the participants."""
        return self._behaviours

    @property
    def finished(self) -> bool:
        """Whether the end of the run is reached."""
        return self._loop.has_finished()

    @property
    def steps(self) -> int:
        """The largest number of activations of a participant."""
        return max(r.trace.activations for r in self._scheduler.runtimes.values())

    def request(self, request: Request) -> Answer:
        """Do what is requested, and return when it is done; a resume runs to the end.

        :raises CosimError: a participant failed
        """
        answers: list[Answer] = []
        self.take(request, answers.append)
        if request.command is not Command.PAUSE and (not answers or answers[0].success):
            self.go_on()
        return answers[0]

    def take(self, request: Request, reply: Callable[[Answer], None]) -> None:
        """Take a request, without running; ``reply`` is called when it is done or refused."""
        now = self._pacer.clock.now()
        self.control.handle(request, time=self.time, now=now, reply=reply)

    def changed(self, scenario: Scenario, path: str, to: Any, at: int = 0) -> Scenario:
        """The scenario of this run with one other value; the run continues unchanged.

        Any thread may ask.

        :param at: from when on [ns]
        :raises ConfigurationError: it may not be changed, or not to that
        """
        if self._recorder is not None or self._branch is not None:
            raise ConfigurationError(
                "set: found a change in a run with checkpoints; allowed is one without"
            )
        if reset_of(path) is not None:
            raise ConfigurationError(
                f"set: found '{path}'; in shape inproc a scenario declares what is reset"
            )
        return changed(scenario, path, to, at=at)

    def change(self, path: str, to: Any, by: str = "this process") -> int:
        """Change a parameter, switch or add a fault; recorded, so that a replay does it, too.

        :param path: ``participants.NAME.parameters.KEY``, ``faults.NAME.active``, or
            ``faults.NAME`` of a new fault
        :param by: its origin, for the summary
        :returns: the simulated time [ns] from which on it holds
        :raises ConfigurationError: it may not be changed, or not to that
        """
        at = self._loop.reached
        self._now = self.changed(self._now, path, to, at)
        change = ChangeSettings(at=at, set=path, to=to)
        self._changed.append(change)
        self._changes_told.append(told_change(change, by))
        for name, runtime in self._scheduler.runtimes.items():
            self._taken[name].take(runtime, [change])
        return at

    def inbox(self, participant: str, port: str) -> Inbox:
        """Where messages for an unsynchronised input are put."""
        inboxes = self._scheduler.runtimes[participant].inboxes
        return next(inbox for inbox in inboxes if inbox.port == port)

    @property
    def runtimes(self) -> Mapping[str, ParticipantRuntime]:
        """The participants by name."""
        return self._scheduler.runtimes

    def _failed(self, error: BaseException) -> None:
        """Leave the results of a run that ends early readable, with the traceback of the cause."""
        if isinstance(error, CosimError):
            error.args = (noted(error, self._output), *error.args[1:])
        if not self._is_written:
            (self._output / SUMMARY_FILE).unlink(missing_ok=True)  # of a run before
            leave_incomplete(self._output, why(error), "inproc")

    def finish(self, unheard: Sequence[str] = ()) -> Summary:
        """Run to the end, and write summary, bag and report.

        :param unheard: inputs from outside that are connected and that nothing ever came for
        :raises CosimError: a participant failed
        """
        for time_ns in self._checkpoints:
            self._write_checkpoint(time_ns)
        if not self.finished:
            self.request(Request(Command.RESUME))
        self.control.over("the run is over")
        reason = self._loop.end_reason
        self._lifecycles.stop(reason)
        reports = {name: report_of(runtime) for name, runtime in self._scheduler.runtimes.items()}
        self._lifecycles.shut_down("the run is complete")
        facts = RunFacts(
            "inproc",
            self._loop.end,
            reason,
            self._wall_ns,
            self._startup_ns,
            self._scope,
            realtime=self._realtime.facts(),
            required=self.control.required or None,
            changes=self._changes_told,
            checkpoints=self._written if self._recorder is not None else None,
            branch=None if self._branch is None else self._branch.origin(),
            unheard=unheard,
        )
        self._close_sink(trace_of(self._scenario, reports, facts))
        if self._changed:
            write_changes(self._output, self._changed)
        summary = write_results(self._output, self._scenario, reports, facts)
        self._is_written = True
        if self._spans is not None:
            self._spans.save(self._output / SPANS_DIRECTORY)
            note_profile(self._output)
        if self._record:
            write_reports(self._output, self._scenario)
        return summary

    def _write_checkpoint(self, time_ns: int) -> None:
        """Run to a time and write a checkpoint there, unless the run ends before."""
        if self._loop.reached < time_ns and not self.finished:
            self.request(Request(Command.UNTIL, time_ns=time_ns))
        if self._recorder is not None and self._loop.reached == time_ns and not self.finished:
            runtimes = self._scheduler.runtimes
            self._written.append(self._recorder.write(time_ns, self._behaviours, runtimes).name)

    def _play_branch(self, branch: Branch) -> None:
        """Get to where the checkpoint was written, and let the models take over."""
        with branch.played():
            self.request(Request(Command.UNTIL, time_ns=branch.time_ns))
        branch.take_over(self._scheduler.runtimes)

    def _require(self, names: tuple[str, ...]) -> None:
        check_required(self._scheduler.graph, names)
        self._lifecycles.require(names)

    def go_on(self) -> None:
        """Run until the end, or until the run stands, as its control says.

        :raises CosimError: a participant failed
        """
        self._watchdog.here()
        # The present objects stay until the end: the garbage collector need not look at them again.
        gc.freeze()
        usual = gc.get_threshold()
        gc.set_threshold(_GARBAGE_AFTER, *usual[1:])
        # What came before was not part of the run: its set-up, or a pause.
        self._did(WAIT)
        began = self._pacer.clock.now()
        try:
            # In slices, so that a long run neither fills the memory nor hides its progress.
            while not self.finished and self._loop.advance():
                self._did(REPORT)
                if self._sink is not None:
                    self._sink.advance(self._loop.reached)
                self._did(RECORD)
                self._progress(self._loop.reached)
                self._did(REPORT)
        finally:
            self._wall_ns += self._pacer.clock.now() - began
            gc.set_threshold(*usual)
            gc.unfreeze()
        if self.finished:
            self.control.over("the run is over")

    def _did(self, kind: int) -> None:
        """Called between activations, with the last one."""
        if self._chronicle is not None:
            self._chronicle.did(kind)

    def _observe_noted(self, participant: str, port: int, sample: Sample, data: bytes) -> None:
        assert self._chronicle is not None
        self._chronicle.publishes()
        self._observed.take(participant, port, sample, data)
        self._chronicle.recorded()

    def _note(self, participant: str, port: int, data: bytes) -> None:
        """For a checkpoint."""
        assert self._recorder is not None
        activation = self._scheduler.runtimes[participant].trace.activations
        self._recorder.sent(participant, port, activation, data)

    def _close_sink(self, trace_sha256: str = "") -> None:
        """Close the bag with what it lacks.

        :param trace_sha256: of a run that is complete
        """
        if self._sink is not None:
            sink, self._sink = self._sink, None
            self._observed.keep(None)
            with closing(sink):
                if trace_sha256:
                    sink.conclude(trace_sha256)

    def __enter__(self) -> InprocRun:
        try:
            self._during.__enter__()
        except BaseException as error:
            self._give_up()
            self._failed(error)
            raise
        self._watchdog.__enter__()
        if self._branch is not None:
            try:
                self._play_branch(self._branch)
            except BaseException:
                self.__exit__(*sys.exc_info())
                raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with ExitStack() as stack:
            if error is not None:
                stack.callback(self._failed, error)
            stack.push(self._watchdog)
            stack.callback(self._during.__exit__, kind, error, trace)
            if self._recorder is not None:
                stack.callback(self._recorder.close)
            self._close_sink()


def run_inproc(
    scenario: Scenario,
    output: Path,
    *,
    record: bool = True,
    progress: Callable[[int], None] = lambda time_ns: None,
    realtime: RealtimeRun = AS_FAST_AS_POSSIBLE,
) -> Summary:
    """Run a scenario to its end.

    :param output: directory for bag, summary and report; other files in it stay
    :param record: write a bag and the report made from it
    :param progress: called now and then with the simulated time [ns]
    :param realtime: the wall clock that the run is paced by, or the arrivals that it repeats
    :raises CosimError: the directory is in use, the scenario is wrong or a participant failed
    """
    request = RunRequest(scenario, shape="inproc", out=output, record=record)
    with (
        bring_up(request, clear=False) as prepared,
        InprocRun(prepared, progress=progress, realtime=realtime) as run,
    ):
        return run.finish()
