# Copyright 2026 ros2_cosim contributors
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

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.request import RunRequest, adjusted_scenario
from ros2_cosim.core.run.stepped import SteppedScenario
from ros2_cosim.core.scenario.external import ExternalSeam
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.dcp.export.fmu_variables import OUTPUT_DIRECTORY, TRACE, variables_of
from ros2_cosim.dcp.slave.declare import DEFAULT_MODES, describe
from ros2_cosim.dcp.slave.slave_model import SlaveModel, StepInfo
from ros2_cosim.dcp.standard.enums import DataType, ErrorCode
from ros2_cosim.dcp.standard.errors import SlaveFault
from ros2_cosim.dcp.standard.slave_description import (
    ZEROS,
    Causality,
    NonRealTime,
    Resolution,
    SlaveDescription,
    Variable,
)

_TYPES = {
    float: DataType.float64,
    int: DataType.int64,
    bool: DataType.uint8,
    str: DataType.string,
}


def _variables(seam: ExternalSeam) -> list[Variable]:
    """The fields of all ports, and whether the scenario is over."""
    return [
        Variable(v.name, v.reference, Causality(v.causality.capitalize()), kind, ZEROS[kind])
        for v in variables_of(seam)
        if v.name not in (TRACE, OUTPUT_DIRECTORY)
        for kind in (_TYPES[v.kind],)
    ]


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
        self._stepped = SteppedScenario(scenario, out, record=record)
        self._done = done

    def description(self) -> SlaveDescription:
        """What a master has to know; equal scenarios give equal descriptions, uuid included."""
        step = Fraction(self._stepped.seam.step, SECOND)
        scenario = self._stepped.scenario
        return describe(
            _variables(self._stepped.seam),
            name=scenario.name,
            description=scenario.description or None,
            op_modes=DEFAULT_MODES,
            resolutions=(Resolution(step.numerator, step.denominator, fixed=True),),
            steps=NonRealTime(1, fixed_steps=False, min_steps=1),
        )

    # -- callbacks -----------------------------------------------------------------------------

    def initialise(self) -> None:
        """Make all participants and let the activations at time 0 happen."""
        self._begin()
        self._publish(0)

    def do_step(self, step: StepInfo) -> None:
        """All activations up to the end of the step."""
        self._begin()
        self._go_to((step.ticks + step.steps) * self._stepped.seam.step)

    def stop(self) -> None:
        """The run is over: write its results, complete or not."""
        if not self._stepped.has_begun:
            return
        try:
            summary = self._stepped.finish("stopped by the DCP master", self.unheard)
        except CosimError as error:
            raise SlaveFault(str(error)) from None
        self._done(summary)

    def reset(self) -> None:
        """Be ready to begin anew."""
        self._stepped.end()

    def error(self, code: int, message: str) -> None:
        """Release everything; there are no results."""
        self._stepped.end()

    # -- inside --------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self._stepped.has_begun:
            return
        try:
            self._stepped.begin()
        except CosimError as error:
            raise SlaveFault(str(error), ErrorCode.PROTOCOL_ERROR_GENERIC) from None
        self._go_to(0)

    def _go_to(self, time_ns: int) -> None:
        try:
            self._stepped.go_to(time_ns, self.inputs)
        except CosimError as error:
            raise SlaveFault(str(error)) from None
        self._publish(time_ns)

    def _publish(self, time_ns: int) -> None:
        """Put the newest messages that have been reached into the outputs."""
        self._stepped.outputs_at(time_ns, self.outputs)
        self.outputs[-1] = int(self._stepped.finished)


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
