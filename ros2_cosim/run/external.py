# SPDX-License-Identifier: Apache-2.0
"""Run shape ``external``: a scenario as a DCP slave, which any DCP master steps.

The participants run in this process, as in shape ``inproc``. A step of the master from t to t + h
lets all activations up to t + h happen, so that a scenario without inputs from outside has the
trace of ``cosim run``. The section ``external`` of the scenario names what the master sees::

    external:
      step: 10ms
      outputs:
        leader: {from: world.odometry/leader, fields: [x, y, yaw, vx]}
      inputs:
        wish: {to: driver.wish, fields: [speed]}

An output ``leader`` becomes the variables ``leader.x`` and so on: the fields of the newest message
whose stamp has been reached. An input becomes a message to an unsynchronised input of a
participant, once in every step of the master. Fields without a value are zero.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

from ros2_cosim.dcp.description.model import (
    Causality,
    NonRealTime,
    Resolution,
    SlaveDescription,
    Variable,
)
from ros2_cosim.dcp.slave.declare import DEFAULT_MODES, describe
from ros2_cosim.dcp.slave.model import SlaveModel, StepInfo
from ros2_cosim.dcp.wire.enums import DataType, ErrorCode
from ros2_cosim.dcp.wire.errors import SlaveFault
from ros2_cosim.kernel.errors import CosimError
from ros2_cosim.kernel.participant import Sample
from ros2_cosim.kernel.unsynchronised import Inbox
from ros2_cosim.realtime.run_control import Command, Request
from ros2_cosim.record.summary import Summary
from ros2_cosim.run.bringup import RunRequest, adjusted_scenario, bring_up
from ros2_cosim.run.inproc import InprocRun
from ros2_cosim.scenario.external import Seam
from ros2_cosim.scenario.schema import Scenario

FINISHED = "run.finished"
"""Output: 1 when the scenario has reached its end; further steps change nothing."""
_NS = 1_000_000_000
_TYPES = {
    float: DataType.float64,
    int: DataType.int64,
    bool: DataType.uint8,
    str: DataType.string,
}


def _variables(seam: Seam) -> list[Variable]:
    """The fields of all ports, and whether the scenario is over."""
    found: list[Variable] = []
    for causality, ports in (
        (Causality.INPUT, seam.inputs),
        (Causality.OUTPUT, seam.outputs),
    ):
        for port in ports:
            for name, kind in zip(port.names, port.fields.values(), strict=True):
                found.append(_variable(len(found), name, causality, kind))
    found.append(_variable(len(found), FINISHED, Causality.OUTPUT, bool))
    return found


def _variable(reference: int, name: str, causality: Causality, kind: type) -> Variable:
    start = "" if kind is str else kind(0)
    plain = int(start) if isinstance(start, bool) else start
    return Variable(name, reference, causality, _TYPES[kind], plain)


class ScenarioSlave(SlaveModel):
    """A whole scenario behind DCP callbacks.

    :param scenario: with a section ``external``
    :param out: directory for summary, bag and report, written when the run is over
    :param record: write a bag
    :param done: called with the summary of each run
    :raises ConfigurationError: the scenario is wrong
    """

    def __init__(
        self,
        scenario: Scenario,
        out: Path | None = None,
        *,
        record: bool = True,
        done: Callable[[Summary], None] = lambda summary: None,
    ) -> None:
        self._seam = Seam(scenario)
        self._request = RunRequest(scenario, shape="inproc", out=out, record=record)
        self._done = done
        self._opened = ExitStack()
        self._run: InprocRun | None = None
        self._inboxes: list[Inbox] = []
        self._newest: dict[str, deque[Sample]] = {}

    def description(self) -> SlaveDescription:
        """What a master has to know; equal scenarios give equal descriptions, uuid included."""
        step = Fraction(self._seam.step, _NS)
        scenario = self._request.scenario
        assert isinstance(scenario, Scenario)
        return describe(
            _variables(self._seam),
            name=scenario.name,
            description=scenario.description or None,
            op_modes=DEFAULT_MODES,
            resolutions=(Resolution(step.numerator, step.denominator, fixed=True),),
            steps=NonRealTime(1, fixed_steps=False, min_steps=1),
        )

    # -- callbacks -----------------------------------------------------------------------------

    def initialise(self) -> None:
        """Make all participants and let the activations at time 0 happen."""
        if self._run is None:
            self._begin()
        self._publish(0)

    def do_step(self, step: StepInfo) -> None:
        """All activations up to the end of the step."""
        if self._run is None:
            self._begin()
        self._go_to((step.ticks + step.steps) * self._seam.step)

    def stop(self) -> None:
        """The run is over: write its results, complete or not."""
        run = self._run
        if run is None:
            return
        try:
            if not run.finished:
                run.request(Request(Command.STOP, reason="stopped by the DCP master"))
            summary = run.finish()
        except CosimError as error:
            raise SlaveFault(str(error)) from None
        finally:
            self._end()
        self._done(summary)

    def reset(self) -> None:
        """Be ready to begin anew."""
        self._end()

    def error(self, code: int, message: str) -> None:
        """Release everything; there are no results."""
        self._end()

    # -- inside --------------------------------------------------------------------------------

    def _begin(self) -> None:
        try:
            prepared = self._opened.enter_context(bring_up(self._request))
            self._newest = {port.name: deque() for port in self._seam.outputs}
            run = InprocRun(prepared, watch=self._watch())
            self._run = self._opened.enter_context(run)
            self._inboxes = [run.inbox(p.participant, p.port) for p in self._seam.inputs]
        except CosimError as error:
            self._end()
            raise SlaveFault(str(error), ErrorCode.PROTOCOL_ERROR_GENERIC) from None
        self._go_to(0)

    def _watch(self) -> Mapping[tuple[str, str], Callable[[Sample], None]]:
        watched: dict[tuple[str, str], list[deque[Sample]]] = {}
        for port in self._seam.outputs:
            watched.setdefault((port.participant, port.port), []).append(self._newest[port.name])

        def taker(queues: list[deque[Sample]]) -> Callable[[Sample], None]:
            def take(sample: Sample) -> None:
                for queue in queues:
                    queue.append(sample)

            return take

        return {key: taker(queues) for key, queues in watched.items()}

    def _go_to(self, time_ns: int) -> None:
        """Let every activation up to and at a time happen, with the inputs that are there."""
        run = self._run
        assert run is not None
        self._give_inputs()
        if not run.finished:
            try:
                answer = run.request(Request(Command.UNTIL, time_ns=time_ns + 1))
            except CosimError as error:
                raise SlaveFault(str(error)) from None
            if not answer.success:
                raise SlaveFault(answer.message)
        self._publish(time_ns)

    def _give_inputs(self) -> None:
        at = 0
        for port, inbox in zip(self._seam.inputs, self._inboxes, strict=True):
            size = len(port.fields)
            inbox.receive(port.made(self.inputs[at : at + size]))
            at += size

    def _publish(self, time_ns: int) -> None:
        """Put the newest messages that have been reached into the outputs."""
        at = 0
        for port in self._seam.outputs:
            queue = self._newest.get(port.name, deque())
            while len(queue) > 1 and queue[1].stamp <= time_ns:
                queue.popleft()
            size = len(port.fields)
            if queue and queue[0].stamp <= time_ns:
                self.outputs[at : at + size] = port.values(queue[0].value)
            at += size
        self.outputs[at] = int(self._run is not None and self._run.finished)

    def _end(self) -> None:
        self._run = None
        self._inboxes = []
        opened, self._opened = self._opened, ExitStack()
        opened.close()


def scenario_slave(
    path: Path,
    changes: Sequence[str] = (),
    *,
    out: Path | None = None,
    record: bool = True,
    done: Callable[[Summary], None] = lambda summary: None,
) -> tuple[ScenarioSlave, SlaveDescription]:
    """The scenario of a file as a DCP slave, and its description.

    :param changes: ``dotted.key=value`` texts
    :raises ConfigurationError: something in it is wrong
    """
    scenario = adjusted_scenario(RunRequest(path, set=tuple(changes)))
    model = ScenarioSlave(scenario, out, record=record, done=done)
    return model, model.description()
