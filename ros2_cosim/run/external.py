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
from typing import Any, get_type_hints

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
from ros2_cosim.interfaces.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.kernel.errors import ConfigurationError, CosimError
from ros2_cosim.kernel.participant import Sample
from ros2_cosim.kernel.unsynchronised import Inbox
from ros2_cosim.realtime.run_control import Command, Request
from ros2_cosim.record.summary import Summary
from ros2_cosim.run.bringup import RunRequest, adjusted_scenario, bring_up
from ros2_cosim.run.inproc import InprocRun
from ros2_cosim.scenario.schema import ExternalSettings, Scenario

FINISHED = "run.finished"
"""Output: 1 when the scenario has reached its end; further steps change nothing."""
_NS = 1_000_000_000
_TYPES = {
    float: DataType.float64,
    int: DataType.int64,
    bool: DataType.uint8,
    str: DataType.string,
}


class _Port:
    """One entry of the section: a port of a participant, its record and the chosen fields."""

    def __init__(
        self, name: str, place: str, port: str, message: str, fields: Sequence[str] | None
    ) -> None:
        participant, _, self.port = port.partition(".")
        self.name, self.participant = name, participant
        self.record = CATALOGUE.record(message)
        kinds = {f: k for f, k in get_type_hints(self.record).items() if k in _TYPES}
        for field in fields or ():
            if field not in kinds:
                raise ConfigurationError(
                    f"{place}.fields: found '{field}'; {message} has {', '.join(kinds) or 'none'}"
                )
        self.fields = {f: kinds[f] for f in (fields if fields is not None else kinds)}
        self._all = kinds

    @property
    def names(self) -> list[str]:
        """Names of its variables."""
        return [f"{self.name}.{field}" for field in self.fields]

    def values(self, record: Any) -> list[Any]:
        """The chosen fields of a record, as values of the variables."""
        picked = (getattr(record, field) for field in self.fields)
        return [int(value) if isinstance(value, bool) else value for value in picked]

    def made(self, values: Sequence[Any]) -> Any:
        """A record of these values; its other fields are zero."""
        given = dict(zip(self.fields, values, strict=True))
        hints = get_type_hints(self.record)
        return self.record(
            **{
                field: kind(given.get(field, 0) if kind is not str else given.get(field, ""))
                if kind in _TYPES
                else ()
                for field, kind in hints.items()
            }
        )


class ExternalPorts:
    """The seam of a scenario: its ports, and the variables that they become.

    :raises ConfigurationError: the scenario has no section ``external``, or a port or a field in it
        is not there
    """

    def __init__(self, scenario: Scenario) -> None:
        if scenario.external is None:
            raise ConfigurationError(
                f"scenario '{scenario.name}': external: missing; it names the step and the "
                "variables that a DCP master sees"
            )
        self.settings: ExternalSettings = scenario.external
        self.outputs = []
        self.inputs = []
        for name, output in self.settings.outputs.items():
            place = f"external.outputs.{name}"
            message = _output_type(scenario, output.source, f"{place}.from")
            self.outputs.append(_Port(name, place, output.source, message, output.fields))
        for name, given in self.settings.inputs.items():
            place = f"external.inputs.{name}"
            message = _input_type(scenario, given.to, f"{place}.to")
            self.inputs.append(_Port(name, place, given.to, message, given.fields))

    def variables(self) -> list[Variable]:
        """All variables of the slave."""
        found: list[Variable] = []
        for causality, ports in (
            (Causality.INPUT, self.inputs),
            (Causality.OUTPUT, self.outputs),
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


def _output_type(scenario: Scenario, port: str, place: str) -> str:
    participant, _, name = port.partition(".")
    known = [f"{p}.{o}" for p, s in scenario.participants.items() for o in s.outputs]
    if port not in known:
        raise ConfigurationError(f"{place}: found '{port}'; there are {', '.join(sorted(known))}")
    return scenario.participants[participant].outputs[name].type


def _input_type(scenario: Scenario, port: str, place: str) -> str:
    participant, _, name = port.partition(".")
    known = [f"{p}.{i}" for p, s in scenario.participants.items() for i in s.unsynchronised]
    if port not in known:
        raise ConfigurationError(
            f"{place}: found '{port}'; allowed are unsynchronised inputs of participants, here "
            f"{', '.join(sorted(known)) or 'none'}"
        )
    return str(scenario.participants[participant].inputs[name].type)


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
        self._ports = ExternalPorts(scenario)
        self._request = RunRequest(scenario, shape="inproc", out=out, record=record)
        self._done = done
        self._opened = ExitStack()
        self._run: InprocRun | None = None
        self._inboxes: list[Inbox] = []
        self._newest: dict[str, deque[Sample]] = {}

    def description(self) -> SlaveDescription:
        """What a master has to know; equal scenarios give equal descriptions, uuid included."""
        step = Fraction(self._ports.settings.step, _NS)
        scenario = self._request.scenario
        assert isinstance(scenario, Scenario)
        return describe(
            self._ports.variables(),
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
        self._go_to((step.ticks + step.steps) * self._ports.settings.step)

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
            self._newest = {port.name: deque() for port in self._ports.outputs}
            run = InprocRun(prepared, watch=self._watch())
            self._run = self._opened.enter_context(run)
            self._inboxes = [run.inbox(p.participant, p.port) for p in self._ports.inputs]
        except CosimError as error:
            self._end()
            raise SlaveFault(str(error), ErrorCode.PROTOCOL_ERROR_GENERIC) from None
        self._go_to(0)

    def _watch(self) -> Mapping[tuple[str, str], Callable[[Sample], None]]:
        watched: dict[tuple[str, str], list[deque[Sample]]] = {}
        for port in self._ports.outputs:
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
        for port, inbox in zip(self._ports.inputs, self._inboxes, strict=True):
            size = len(port.fields)
            inbox.receive(port.made(self.inputs[at : at + size]))
            at += size

    def _publish(self, time_ns: int) -> None:
        """Put the newest messages that have been reached into the outputs."""
        at = 0
        for port in self._ports.outputs:
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
