# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The controller participant of a follower: object list and V2V in, control command out.

Which law drives is a parameter. Around it stands what every law needs: the choice of the
object ahead, the age of V2V data and a fall-back without it, limits, an emergency brake,
standstill, and pedals.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import inf
from typing import Any, Final

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import total
from ros2_cosim.core.kernel.guesses import did_you_mean
from ros2_cosim.core.kernel.model import BeginsAnew, FullModel, Port, Repeatability, Report, Traits
from ros2_cosim.core.kernel.participant import Host, ModelContext, Step
from ros2_cosim.core.kernel.saved_state import SavedAttributes
from ros2_cosim.core.messages.message_types import (
    ACCELERATION,
    BYTES,
    CONTROL,
    CONTROLLER_STATUS,
    LIGHT_AHEAD,
    OBJECTS,
    ODOMETRY,
    V2V,
)
from ros2_cosim.core.messages.records import CONTROLLER_MODES, DetectedObject
from ros2_cosim.driving.controllers.estimation import SingerEstimator
from ros2_cosim.driving.controllers.following import Follower
from ros2_cosim.driving.controllers.measurement import LongitudinalLaw
from ros2_cosim.driving.controllers.parameters import ControllerParameters
from ros2_cosim.driving.controllers.registry import (
    AdaptedLaw,
    adapted,
    check_law,
    law_repeatability,
    make_law,
)
from ros2_cosim.driving.controllers.safety import (
    BrakingEstimator,
    CommandLimiter,
    CutInWatch,
    EmergencyBraking,
    StandstillHold,
)
from ros2_cosim.driving.controllers.supervision import SensorWatch
from ros2_cosim.driving.controllers.tracking import AccelerationTracker, PedalMap
from ros2_cosim.driving.v2v.manoeuvre import TailView
from ros2_cosim.driving.v2v.vehicle_side import (
    CONSTANTS,
    MANOEUVRE,
    PARTS,
    VALUES,
    WARNINGS,
    VehicleSide,
    check_vehicle_side,
)
from ros2_cosim.world.drivers.light_stop import LightStop
from ros2_cosim.world.vehicle import VEHICLES, pedals_for
from ros2_cosim.world.vehicle.pedal_table import read_pedal_table

FALLBACK: Final = "rajamani_acc"
"""The law that drives without V2V if the parameters name none."""


class CaccController(FullModel):
    """The controller of one vehicle, to be triggered by each sample on ``objects``.

    Inputs: ``objects`` (ObjectList, the trigger); latched ``odometry`` and ``acceleration`` of
    the own vehicle, ``v2v_leader`` and ``v2v_predecessor`` (V2VMessage; either may be missing),
    and ``light`` (TrafficLightAhead): it stops at red, whatever the law demands.
    Outputs at every activation: ``control`` (ControlCommand), and ``status`` (ControllerStatus) if
    the scenario has that port. Steering is left to the lane
    keeping on the simulator's side: ``steer`` is 0.

    The object ahead is the nearest one in the own lane. The emergency brake also looks at those
    beside that are coming into it (``CutInWatch``). A V2V message counts as the
    predecessor's only if its sender is that object, so that a vehicle cutting in is followed
    without V2V; the predecessor may be the leader itself.

    While a peer that the law needs is missing or older than ``v2v_timeout``, the fall-back law
    drives. The time gap then opens from the present gap to ``fallback_time_gap`` at
    ``time_gap_rate``, and closes as slowly afterwards: never a step.

    With ``degradation`` ``estimate`` a law that needs the predecessor alone goes on driving, and
    the acceleration that V2V no longer tells is estimated from the object's speed.

    ``mode`` tells what drove last: ``law``, ``fallback``, ``estimate``, ``cruise``, ``emergency``,
    ``hold``, ``light``, ``coast``, ``v2v``, ``minimal_risk``, or
    ``waiting`` (no odometry yet, pedals released).

    Without a usable object list (silent, frozen, or without the object that was ahead) the object
    is carried on: with what V2V reports about it (``v2v``), else for ``coast_time`` as it was last
    (``coast``); after that it brakes gently (``minimal_risk``), unless the sensor works. To be
    activated without lists too it needs a ``period`` with ``dynamic_step``.

    With ``warnings`` it heeds DENMs. With ``manoeuvre`` it joins a platoon: until then it drives as
    if it heard nothing; or it leaves one.

    :param law: drives instead of the law that the parameters name
    :param fallback: drives instead of the fall-back law that they name
    :raises ConfigurationError: no law, or its parameters are wrong
    """

    Parameters = ControllerParameters
    traits = Traits(
        law="law",
        cost_ns=50_000,
        exact_records=True,
        changeable=(
            "set_speed",
            "time_gap",
            "standstill_gap",
            "fallback_time_gap",
            "time_gap_rate",
            "v2v_timeout",
            "sensor_timeout",
            "coast_time",
            "minimal_risk_deceleration",
            "lane_half_width",
            "limits",
        ),
    )

    input_ports = (
        Port("objects", OBJECTS, description="triggers"),
        Port("odometry", ODOMETRY, description="of the own vehicle"),
        Port("acceleration", ACCELERATION, description="of the own vehicle"),
        Port("v2v_leader", V2V, required=False),
        Port("v2v_predecessor", V2V, required=False),
        Port("light", LIGHT_AHEAD, required=False, description="the next light, to stop at if red"),
        *(Port(n, BYTES, required=False, description="DENMs, with warnings") for n in WARNINGS),
        Port(MANOEUVRE, BYTES, required=False, description="what the leader says"),
    )
    output_ports = (
        Port("control", CONTROL),
        Port(
            "status",
            CONTROLLER_STATUS,
            required=False,
            description="mode, time gap and its error, age of V2V",
        ),
        Port(
            "manoeuvre",
            BYTES,
            required=False,
            schedule="sparse",
            description="with manoeuvre: what it says to the leader",
        ),
    )
    other_ports = False

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: ControllerParameters) -> None:
        """Check whether the laws are there and take their parameters.

        :raises ConfigurationError: one is not, or does not
        """
        where, directory = context.where, context.base_directory
        _pedals(parameters, context)
        check_vehicle_side(context, parameters.warnings, parameters.manoeuvre)
        for key, law, given in (
            ("law", parameters.law, parameters.law_parameters),
            ("fallback", parameters.fallback_law, {}),
        ):
            if law is not None:
                check_law(law, given, f"{where}.{key}", base_directory=directory)

    @classmethod
    def declared_repeatability(
        cls, context: ModelContext, parameters: ControllerParameters
    ) -> Repeatability:
        """That of its laws: foreign numerics may differ from machine to machine."""
        laws = (parameters.law, parameters.fallback_law or FALLBACK)
        return Repeatability.weakest(law_repeatability(law, context.base_directory) for law in laws)

    def __init__(
        self,
        context: ModelContext,
        parameters: ControllerParameters,
        *,
        law: LongitudinalLaw | None = None,
        fallback: LongitudinalLaw | None = None,
    ) -> None:
        directory = context.base_directory
        self._law = adapted(
            law or make_law(parameters.law, parameters.law_parameters, base_directory=directory),
            context.name,
        )
        without_v2v = parameters.fallback_law or FALLBACK
        self._fallback = adapted(
            fallback or make_law(without_v2v, base_directory=directory), context.name
        )
        pedals, lag = _pedals(parameters, context)
        tracker = AccelerationTracker(
            pedals=pedals, lag=lag, integral_gain=parameters.integral_gain
        )
        self._follower = Follower(context.name, parameters, self._law, self._fallback, tracker)
        self._side: VehicleSide | None = None
        if parameters.warnings is not None or parameters.manoeuvre is not None:
            self._side = VehicleSide(context, parameters.warnings, parameters.manoeuvre)
        self._chooses = context.dynamic_step
        self._tells_status = "status" in context.output_types
        self._tells_manoeuvre = "manoeuvre" in context.output_types
        self._activations = dict.fromkeys(CONTROLLER_MODES, 0)

    @property
    def mode(self) -> str:
        """What drove last."""
        return self._follower.mode

    def change_parameters(self, parameters: ControllerParameters) -> None:
        """Take other parameters; the time gap gets there at ``time_gap_rate``."""
        self._follower.change_parameters(parameters)

    def attach(self, host: Host) -> None:
        """Give the law the node of the participant, if it asks for one."""
        if host.node is not None and self._law.attach is not None:
            self._law.attach(host.node)

    def close(self) -> None:
        """Release what the laws hold, as the library of an FMU."""
        for law in (self._law, self._fallback):
            if law.close is not None:
                law.close()

    @property
    def begins_anew(self) -> BeginsAnew:
        """A new one is made, unless a law holds something open."""
        held = self._law.close is not None or self._fallback.close is not None
        return BeginsAnew.CANNOT if held else BeginsAnew.MADE_AGAIN

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Compute the command for the newest object list."""
        follower = self._follower
        if self._chooses:
            # The watch: an activation without a list, put off as long as lists come.
            self.next_time = step.time + follower.patience(bool(step.samples.get("objects")))
        sent: dict[str, Any] = {}
        if self._side is not None:
            self._cooperate(self._side, step, sent)
        sent["control"] = follower.command(step)
        self._activations[follower.mode] += 1
        if self._tells_status:
            sent["status"] = follower.status(step.latest)
        return sent

    def _cooperate(self, side: VehicleSide, step: Step, sent: dict[str, Any]) -> None:
        """Tell the follower what warnings and manoeuvre ask of it."""
        follower, odometry = self._follower, step.latest["odometry"]
        if odometry is None:
            return
        caution = side.caution(step.time, step.latest, odometry.value)
        follower.most_demand = inf if caution is None else -caution.deceleration
        follower.least_time_gap = 0.0 if caution is None else caution.time_gap or 0.0
        if side.manoeuvre is None:
            return
        ahead = follower.object
        view = TailView(
            odometry.value.vx,
            None if ahead is None else ahead.id,
            inf if ahead is None else ahead.distance,
            0.0 if ahead is None else ahead.relative_speed,
            follower.standstill_gap,
            follower.alone_time_gap,
        )
        said = side.advance(step.time, step.latest, view)
        follower.listens = side.manoeuvre.listens
        follower.ordered_time_gap = side.manoeuvre.time_gap
        if said is not None and self._tells_manoeuvre:
            sent["manoeuvre"] = said

    def report(self) -> Report:
        """The share of the activations in each mode; warnings heard, state of the manoeuvre."""
        activations = total(self._activations.values())
        shares = {mode: count / activations for mode, count in self._activations.items() if count}
        figures: dict[str, Any] = {"modes": shares} if shares else {}
        verdicts = None
        if self._side is not None:
            figures |= self._side.figures
            verdicts = self._side.verdicts
        return Report(figures=figures or None, verdicts=verdicts)

    def save_state(self) -> Any:
        """What it knows and did last, with the states of its laws."""
        return [_STATE.save(self), self._law.save_state(), self._fallback.save_state()]

    @property
    def unsaved(self) -> str | None:
        """Why a law stands in the way of a checkpoint."""
        return self._law.unsaved or self._fallback.unsaved or None

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        own, law, fallback = state
        _STATE.restore(self, own)
        self._law.restore_state(law)
        self._fallback.restore_state(fallback)


def _pedals(parameters: ControllerParameters, context: ModelContext) -> tuple[PedalMap, float]:
    """The lower controller: pedal map, and lag of the vehicle [s].

    :raises ConfigurationError: the file of the pedal map cannot be read, or is wrong
    """
    vehicle = VEHICLES.get(parameters.vehicle)
    if vehicle is None:
        if "." not in parameters.vehicle:
            raise ConfigurationError(
                f"{context.where}.vehicle: found '{parameters.vehicle}'; "
                f"{did_you_mean(parameters.vehicle, VEHICLES)}allowed are {', '.join(VEHICLES)}, "
                "or the file of a pedal map"
            )
        table = read_pedal_table(context.base_directory / parameters.vehicle)
        return table.pedals_for, table.lag
    return partial(pedals_for, vehicle), 0.5 * (vehicle.throttle_lag + vehicle.brake_lag)


_STATE = SavedAttributes(
    parts=(
        AccelerationTracker,
        BrakingEstimator,
        CommandLimiter,
        CutInWatch,
        EmergencyBraking,
        Follower,
        LightStop,
        SensorWatch,
        SingerEstimator,
        StandstillHold,
        *PARTS,
    ),
    values=(DetectedObject, *VALUES),
    constants=(AdaptedLaw, Section, *CONSTANTS),
)
