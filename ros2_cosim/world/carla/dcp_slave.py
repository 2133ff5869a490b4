# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""CARLA as a DCP slave: the scene inside the slave wrapper.

The world is built while the slave initialises, so that everything is there before the first
outputs; it is dismantled, and CARLA set free again, while the slave stops.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ros2_cosim.core.kernel.errors import ConfigurationError, CosimError, RunError
from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.scene.entities import ORDERS
from ros2_cosim.core.scene.simulator import Simulator
from ros2_cosim.dcp.slave.slave_model import SlaveModel, StepInfo
from ros2_cosim.dcp.standard.enums import ErrorCode
from ros2_cosim.dcp.standard.errors import SlaveFault
from ros2_cosim.world.carla.dcp_variables import SceneVariables
from ros2_cosim.world.carla.parameters import SceneParameters
from ros2_cosim.world.carla.plant import SceneRun
from ros2_cosim.world.carla.scene import Scene
from ros2_cosim.world.carla.scene_settings import map_choice
from ros2_cosim.world.carla.timing import TimedSimulator


class SceneSlave(SlaveModel):
    """DCP callbacks around a scene.

    :param parameters: the scene, as far as the DCP parameters do not change it
    :param simulator: makes the connection to the simulator
    :param context: of the world participant
    :param stopped: called when the slave stops with the number of steps, the wall time of all
        steps and that of the simulator in them [ns]
    :param simulates: see :class:`TimedSimulator`
    """

    def __init__(
        self,
        parameters: SceneParameters,
        simulator: Callable[[], Simulator],
        context: ModelContext,
        stopped: Callable[[int, int, int], None] = lambda steps, step_ns, simulator_ns: None,
        simulates: Callable[[bool], None] | None = None,
    ) -> None:
        self._variables = SceneVariables(parameters)
        self._parameters = parameters
        self._simulator = simulator
        self._context = context
        self._stopped = stopped
        self._simulates = simulates
        self._run: SceneRun | None = None
        #: What sent the slave to its error state.
        self.failure: str | None = None
        #: Of this run: steps made, and wall time [ns] of all steps and of the simulator in them.
        self.steps = 0
        self.step_ns = 0
        self._timed: TimedSimulator | None = None
        #: How often orders about entities have come.
        self._ordered = 0

    def configure(self, parameters: Mapping[str, Any]) -> None:
        """Take over the parameters: the scene as the master wants it."""
        with self._remembering():
            chosen = self._chosen(parameters)
            self._variables = SceneVariables(chosen)
            self._timed = TimedSimulator(self._simulator(), self._simulates)
            self._run = SceneRun(Scene(self._timed, chosen))
            self.steps = self.step_ns = self._ordered = 0

    def initialise(self) -> None:
        """Build the world and report state 0 and the static objects."""
        assert self._run is not None
        with self._remembering():
            self._run.initialise()
            self._publish(static=True)
            assert self._timed is not None
            self._timed.elapsed_ns = 0

    def do_step(self, step: StepInfo) -> None:
        """One plant step with the commands received."""
        assert self._run is not None
        started = time.perf_counter_ns()
        with self._remembering():
            variables, inputs = self._variables, self.inputs
            self._run.step(
                variables.commands(inputs), variables.places(inputs), self._new_orders(inputs)
            )
            self._publish(static=False)
        self.steps += 1
        self.step_ns += time.perf_counter_ns() - started

    def _new_orders(self, inputs: Sequence[Any]) -> bytes:
        """What is done to entities in this step.

        :raises RunError: something that was to be done got lost
        """
        count, orders = self._variables.orders(inputs)
        before, self._ordered = self._ordered, count
        if count - before > 1:
            raise RunError(
                f"input {ORDERS}: found number {count} after {before}; allowed is each, and data "
                "PDUs got lost"
            )
        return orders if count > before else b""

    def stop(self) -> None:
        """Dismantle the scene and restore the asynchronous mode.

        :raises SlaveFault: another client has moved the world
        """
        with self._dismantled() as run:
            if run is not None and self.failure is None:
                with self._remembering():
                    run.finish()

    def error(self, code: int, message: str) -> None:
        """Dismantle the scene; a run that was cut short needs no diagnosis."""
        with self._dismantled():
            pass

    @contextmanager
    def _dismantled(self) -> Iterator[SceneRun | None]:
        """The run, None if it has ended already; afterwards its scene is gone."""
        run, self._run = self._run, None
        if run is None:
            yield None
            return
        self._stopped(self.steps, self.step_ns, self.simulator_ns)
        try:
            yield run
        finally:
            run.close()

    def reset(self) -> None:
        """Be ready to be configured again."""
        self.stop()
        self.failure = None

    @property
    def simulator_ns(self) -> int:
        """Wall time inside the simulator during the steps."""
        return 0 if self._timed is None else self._timed.elapsed_ns

    def _chosen(self, parameters: Mapping[str, Any]) -> SceneParameters:
        """The scene with everything that a DCP master may change.

        :raises SlaveFault: with the error code that tells which of it does not fit
        """
        given = self._parameters
        chosen = replace(given, weather=parameters["weather"], step_ns=self._step_ns(parameters))
        name = parameters["map"]
        if name and name != given.map.name:
            chosen = replace(chosen, map=map_choice(name, self._context.base_directory))
        try:
            return replace(
                chosen,
                count=parameters["vehicles"],
                traffic=parameters["traffic"],
                traffic_seed=parameters["traffic_seed"] or self._context.run_seed,
            )
        except ConfigurationError as error:
            raise self._fault(ErrorCode.PROTOCOL_ERROR_PROPERTY_VIOLATED, str(error)) from None

    def _step_ns(self, parameters: Mapping[str, Any]) -> int:
        """The step follows the time resolution; ``sample_time``, if set, must say the same."""
        step = self.resolution * SECOND
        wanted = parameters["sample_time"]
        if wanted and round(wanted * SECOND) != step:
            raise self._fault(
                ErrorCode.INVALID_TIME_RESOLUTION,
                f"sample_time: found {wanted:g} s; allowed is the time resolution, "
                f"{self.resolution} s (or 0)",
            )
        period_ns = self._parameters.control_period_ns
        if step.denominator != 1 or (period_ns and period_ns % step):
            raise self._fault(
                ErrorCode.INVALID_TIME_RESOLUTION,
                f"time resolution: found {self.resolution} s; allowed are whole nanoseconds that "
                f"divide the control period, {(period_ns or 0) / SECOND:g} s",
            )
        return int(step)

    def _fault(self, code: ErrorCode, text: str) -> SlaveFault:
        self.failure = text
        return SlaveFault(text, code)

    @contextmanager
    def _remembering(self) -> Iterator[None]:
        """Keep the text of an expected failure; the slave wrapper turns it into a DCP error."""
        try:
            yield
        except SlaveFault:
            raise
        except CosimError as error:
            self.failure = str(error)
            raise SlaveFault(str(error)) from None

    def _publish(self, *, static: bool) -> None:
        assert self._run is not None
        found = self._run.outputs(static=static)
        values = self._variables.state_values(found, self._run.collisions, self._run.measured)
        if static:
            values += self._variables.static_values(found["static_objects"])
        self.outputs[: len(values)] = values
