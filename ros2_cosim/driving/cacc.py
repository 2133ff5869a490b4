# SPDX-License-Identifier: Apache-2.0
"""The controller participant of a follower: object list and V2V in, control command out.

Which law drives is a parameter. Around it stands what every law needs: the choice of the
object ahead, the age of V2V data and a fall-back without it, limits, an emergency brake,
standstill, and pedals.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import nan
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.core.kernel.exactmath import total
from ros2_cosim.core.kernel.model import BeginsAnew, FullModel, Port, Repeatability, Report, Traits
from ros2_cosim.core.kernel.participant import Host, ModelContext, Sample, Step
from ros2_cosim.core.kernel.saved_state import SavedAttributes
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.messages.message_types import (
    ACCELERATION,
    CONTROL,
    CONTROLLER_STATUS,
    LIGHT_AHEAD,
    OBJECTS,
    ODOMETRY,
    V2V,
)
from ros2_cosim.core.messages.records import (
    CONTROLLER_MODES,
    ControlCommand,
    ControllerStatus,
    DetectedObject,
    ObjectList,
    V2VMessage,
)
from ros2_cosim.driving.controllers.checks import is_number
from ros2_cosim.driving.controllers.estimation import SingerEstimator, SingerParameters
from ros2_cosim.driving.controllers.measurement import LongitudinalLaw, Measurement, Peer
from ros2_cosim.driving.controllers.path import CruiseControl
from ros2_cosim.driving.controllers.registry import (
    AdaptedLaw,
    adapted,
    check_law,
    law_repeatability,
    make_law,
)
from ros2_cosim.driving.controllers.safety import (
    BrakingEstimator,
    CommandLimits,
    CutInWatch,
    EmergencyBrake,
    StandstillHold,
)
from ros2_cosim.driving.controllers.supervision import SensorWatch
from ros2_cosim.driving.controllers.tracking import AccelerationTracker, PedalMap
from ros2_cosim.world.drivers.light_stop import LightStop
from ros2_cosim.world.vehicle import VEHICLES, pedals_for
from ros2_cosim.world.vehicle.pedal_table import read_pedal_table

_SHORTEST_TIME_GAP: Final = 0.2
#: Slower vehicles have no time gap [m/s].
_DRIVES: Final = 2.0
FALLBACK: Final = "rajamani_acc"
"""The law that drives without V2V if the parameters name none."""


def _none_is_empty(value: object) -> object:
    return {} if value is None else value


class ControllerParameters(Section):
    """Parameters of a controller."""

    set_speed: Number = Field(
        gt=0, description="speed on a free road, never exceeded on purpose [m/s]"
    )
    law: str = Field(
        default="path_cacc",
        min_length=1,
        description="control law: a name, package.module:Class, path/to/file.py:Class, the script "
        "of a controller node, an FMU (file.fmu) or a C function (file.c)",
    )
    law_parameters: Annotated[dict[str, Any], BeforeValidator(_none_is_empty)] = Field(
        default_factory=dict, description="the law's own parameters"
    )
    vehicle: Literal["sedan", "van", "truck"] = Field(
        default="sedan", description="vehicle parameters that the pedals are computed for"
    )
    pedal_map: str | None = Field(
        default=None,
        min_length=1,
        description="file of cosim study pedals, measured with the vehicle; instead of vehicle",
    )
    time_gap: Number = Field(default=0.6, gt=0, description="h of the spacing policy r + h v [s]")
    standstill_gap: Number = Field(default=2.0, ge=0, description="r of the spacing policy [m]")
    fallback: str | None = Field(
        default=None,
        min_length=1,
        description="law without V2V; default: rajamani_acc (path_acc brakes too gently for the "
        "gaps of a platoon)",
    )
    degradation: Literal["fallback", "estimate"] = Field(
        default="fallback",
        description="what drives without V2V: the fall-back law, or the law itself with the "
        "acceleration of the vehicle ahead as the own sensor shows it (graceful degradation), if "
        "that is all it needs",
    )
    estimator: Annotated[SingerParameters, BeforeValidator(_none_is_empty)] = Field(
        SingerParameters(), description="of that acceleration"
    )
    fallback_time_gap: Number = Field(
        default=1.1, gt=0, description="time gap while V2V is lost [s]"
    )
    time_gap_rate: Number = Field(
        default=0.1, gt=0, description="how fast the time gap may change [s per s]"
    )
    v2v_timeout: Number = Field(default=0.25, gt=0, description="oldest usable V2V message [s]")
    sensor_timeout: Number = Field(
        default=0.1, gt=0, description="oldest usable object list, also of equal ones [s]"
    )
    coast_time: Number = Field(
        default=1.0,
        gt=0,
        description="how long the object ahead is carried on without sensor and V2V [s]",
    )
    minimal_risk_deceleration: Number = Field(
        default=3.5, gt=0, description="of the brake after that [m/s^2]"
    )
    lane_half_width: Number = Field(
        default=1.75, gt=0, description="lateral distance within which an object is ahead [m]"
    )
    nominal_period: Number = Field(
        default=0.04, gt=0, description="time step assumed at the first activation [s]"
    )
    hold_brake: Number = Field(
        default=0.5, ge=0, description="brake pedal at standstill, 0..1; more counts as 1 [1]"
    )
    hold_rate: Number | None = Field(
        default=None,
        gt=0,
        description="how fast the brake pedal goes there, default: at once, which is felt as a "
        "jerk [1/s]",
    )
    integral_gain: Number = Field(
        default=0.3, ge=0, description="on the acceleration's error, 0: feed-forward only [1/s]"
    )
    limits: Annotated[CommandLimits, BeforeValidator(_none_is_empty)] = Field(
        CommandLimits(), description="bounds of the demand"
    )
    emergency: Annotated[EmergencyBrake, BeforeValidator(_none_is_empty)] = Field(
        EmergencyBrake(), description="emergency brake"
    )
    cruise: Annotated[CruiseControl, BeforeValidator(_none_is_empty)] = Field(
        CruiseControl(), description="speed control on a free road"
    )


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

    :param law: drives instead of the law that the parameters name
    :param fallback: drives instead of the fall-back law that they name
    :raises ConfigurationError: no law, or its parameters are wrong
    """

    Parameters = ControllerParameters
    traits = Traits(
        law="law",
        cost_ns=50_000,
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
    )
    output_ports = (
        Port("control", CONTROL),
        Port(
            "status",
            CONTROLLER_STATUS,
            required=False,
            description="mode, time gap and its error, age of V2V",
        ),
    )
    other_ports = False

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: ControllerParameters) -> None:
        """Check whether the laws are there and take their parameters.

        :raises ConfigurationError: one is not, or does not
        """
        where, directory = context.where, context.base_directory
        _pedals(parameters, directory)
        for key, law, given in (
            ("law", parameters.law, parameters.law_parameters),
            ("fallback", parameters.fallback, {}),
        ):
            if law is not None:
                check_law(law, given, f"{where}.{key}", base_directory=directory)

    @classmethod
    def declared_repeatability(
        cls, context: ModelContext, parameters: ControllerParameters
    ) -> Repeatability:
        """That of its laws: foreign numerics may differ from machine to machine."""
        laws = (parameters.law, parameters.fallback or FALLBACK)
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
        self.mode = "waiting"
        self._name = context.name
        self._law = adapted(
            law or make_law(parameters.law, parameters.law_parameters, base_directory=directory),
            context.name,
        )
        self._needs_predecessor = "predecessor" in self._law.needs
        self._needs_leader = "leader" in self._law.needs
        without_v2v = parameters.fallback or FALLBACK
        self._fallback = adapted(
            fallback or make_law(without_v2v, base_directory=directory), context.name
        )
        self._cruise = parameters.cruise
        self._emergency = parameters.emergency
        pedals, lag = _pedals(parameters, directory)
        self._tracker = AccelerationTracker(
            pedals=pedals, lag=lag, integral_gain=parameters.integral_gain
        )
        self._estimator = BrakingEstimator()
        self._singer = None
        if parameters.degradation == "estimate" and self._needs_predecessor:
            self._singer = None if self._needs_leader else SingerEstimator(parameters.estimator)
        self._hold = StandstillHold()
        self._watch = CutInWatch()
        self._sensor = SensorWatch()
        self._chooses = context.dynamic_step
        self._last_raw: float | None = None
        self._holds_demand = False
        self._light_stop = LightStop()
        self._hold_brake = min(1.0, parameters.hold_brake)
        self._hold_rate = parameters.hold_rate
        self._brake = 0.0
        self.change_parameters(parameters)
        self._time_gap = parameters.time_gap
        self._tells_status = "status" in context.output_types
        self._activations = dict.fromkeys(CONTROLLER_MODES, 0)
        self._heard: tuple[Peer | None, Peer | None] = (None, None)
        self._degraded = False
        self._nominal_period = parameters.nominal_period
        self._previous_time: int | None = None
        self._previous_command = 0.0

    def change_parameters(self, parameters: ControllerParameters) -> None:
        """Take other parameters; the time gap gets there at ``time_gap_rate``."""
        self._set_speed = parameters.set_speed
        self._standstill_gap = parameters.standstill_gap
        self._wanted_time_gap = parameters.time_gap
        self._fallback_time_gap = parameters.fallback_time_gap
        self._time_gap_rate = parameters.time_gap_rate
        self._timeout_ns = round(parameters.v2v_timeout * 1e9)
        self._sensor_timeout_ns = round(parameters.sensor_timeout * 1e9)
        self._coast_ns = round(parameters.coast_time * 1e9)
        self._minimal_risk = parameters.minimal_risk_deceleration
        self._half_width = parameters.lane_half_width
        self._limits = parameters.limits

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
        if self._chooses:
            # The watch: an activation without a list, put off as long as lists come.
            wait = self._sensor_timeout_ns
            if not step.samples.get("objects"):
                wait = round(self._nominal_period * 1e9)
            self.next_time = step.time + wait
        sent: dict[str, Any] = {"control": self._command(step)}
        self._activations[self.mode] += 1
        if self._tells_status:
            sent["status"] = self._status(step.latest)
        return sent

    def report(self) -> Report:
        """The share of the activations in each mode."""
        activations = total(self._activations.values())
        shares = {mode: count / activations for mode, count in self._activations.items() if count}
        return Report(figures={"modes": shares}) if shares else Report()

    def _status(self, latest: Mapping[str, Sample | None]) -> ControllerStatus:
        odometry, objects = latest["odometry"], latest["objects"]
        error = nan
        if odometry is not None and objects is not None and odometry.value.vx >= _DRIVES:
            target = self._object_ahead(objects.value)
            if target is not None:
                room = target.distance - self._standstill_gap
                error = room / odometry.value.vx - self._time_gap
        ages = [nan if peer is None else peer.age for peer in self._heard]
        return ControllerStatus(CONTROLLER_MODES.index(self.mode), self._time_gap, error, *ages)

    def _command(self, step: Step) -> ControlCommand:
        latest = step.latest
        odometry = latest["odometry"]
        objects = latest["objects"]
        if odometry is None or objects is None:
            return ControlCommand(0.0, 0.0, 0.0, 0.0)
        now = step.time
        if self._previous_time is None or now == self._previous_time:
            dt = self._nominal_period
        else:
            dt = (now - self._previous_time) * 1e-9
        self._previous_time = now
        acceleration = latest["acceleration"]
        measured = 0.0 if acceleration is None else acceleration.value.ax
        speed: float = odometry.value.vx
        target, seen, substitute = self._ahead(latest, objects, now, dt, speed)
        if target is None and substitute == "minimal_risk":
            self._hold.holding = False
            self._heard = (None, None)
            self.mode = substitute
            demand = self._limits.apply(-self._minimal_risk, self._previous_command, dt)
        else:
            demand = self._demand(latest, now, dt, speed, measured, seen, target)
            if substitute is not None and self.mode not in ("hold", "emergency"):
                self.mode = substitute
        if substitute is None and target is not None:
            self._sensor.measured(now, target, speed, self._estimator.braking)
        demand = self._beside(demand, now, speed, seen)
        demand = self._at_light(demand, speed, latest.get("light"))
        if self.mode == "hold":
            self._previous_command = 0.0
            self._brake = self._holding_brake(dt)
            return ControlCommand(0.0, 0.0, self._brake, 0.0)
        self._previous_command = demand
        throttle, self._brake = self._tracker.pedals(demand, measured, speed, dt)
        return ControlCommand(demand, throttle, self._brake, 0.0)

    def _ahead(
        self,
        latest: Mapping[str, Sample | None],
        objects: Sample,
        now: int,
        dt: float,
        speed: float,
    ) -> tuple[DetectedObject | None, ObjectList, str | None]:
        """The object ahead, what is seen, and the mode of the ladder if the sensor is blind."""
        watch = self._sensor
        believed = watch.look(
            now, objects.stamp, objects.value.objects, speed, self._sensor_timeout_ns
        )
        before = watch.object
        heard = None
        if watch.repeats or not believed:
            heard = self._heard_of(before, latest, now)
            if believed and heard is not None:
                believed = not watch.contradicts(heard[0], speed)
        seen = objects.value if believed else ObjectList(())
        target = self._object_ahead(seen)
        aside = before is not None and any(item.id == before.id for item in seen.objects)
        if believed and (aside or watch.replaces(target)):
            if target is None:
                watch.measured(now, None, speed, 0.0)
            return target, seen, None
        if before is None and believed:
            watch.measured(now, None, speed, 0.0)
            return None, seen, None
        heard = heard or self._heard_of(before, latest, now)
        carried = watch.coast(now, dt, speed, heard)
        if heard is not None:
            return carried, seen, "v2v"
        if watch.unknown_for(now) < self._coast_ns:
            return carried, seen, "coast"
        if believed and watch.clears(seen.objects):
            # The sensor works, and has not found it again: it is gone.
            watch.forget()
            return target, seen, None
        return None, seen, "minimal_risk"

    def _heard_of(
        self, known: DetectedObject | None, latest: Mapping[str, Sample | None], now: int
    ) -> tuple[float, float] | None:
        """Speed now [m/s] and acceleration [m/s^2] of an object by V2V, if fresh."""
        if known is None:
            return None
        _, predecessor = self._peers(latest, now, known.id)
        if predecessor is None:
            return None
        acceleration = predecessor.acceleration
        return predecessor.speed + acceleration * predecessor.age, acceleration

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

    def _holding_brake(self, dt: float) -> float:
        """The brake pedal of the coming interval at standstill."""
        if self._hold_rate is None:
            return self._hold_brake
        return max(self._brake, min(self._hold_brake, self._brake + self._hold_rate * dt))

    def _object_ahead(self, objects: ObjectList) -> DetectedObject | None:
        half_width = self._half_width
        best: DetectedObject | None = None
        for item in objects.objects:
            if -half_width <= item.lateral_offset <= half_width and (
                best is None or item.distance < best.distance
            ):
                best = item
        return best

    def _demand(
        self,
        latest: Mapping[str, Sample | None],
        now: int,
        dt: float,
        speed: float,
        acceleration: float,
        seen: ObjectList,
        target: DetectedObject | None,
    ) -> float:
        """Return the demanded acceleration after all limits and set ``mode``."""
        limits = self._limits
        previous = self._previous_command
        if target is None:
            self._hold.holding = False
            self.mode = "cruise"
            self._heard = (None, None)
            free = Measurement(
                dt, speed, acceleration, 1e9, 0.0, self._standstill_gap, self._time_gap,
                self._set_speed, previous,
            )  # fmt: skip
            return limits.apply(self._cruise.acceleration(free), previous, dt)
        leader, predecessor = self._peers(latest, now, target.id)
        self._heard = (predecessor, leader)
        degraded = (self._needs_predecessor and predecessor is None) or (
            self._needs_leader and leader is None
        )
        estimated = self._singer is not None and degraded
        if self._singer is not None:
            ahead = self._singer.update(target.id, speed + target.relative_speed, dt)
            if degraded:
                predecessor = Peer(ahead.speed, ahead.acceleration, ahead.acceleration, 0.0)
        self._move_time_gap(degraded, dt, target.distance, speed)
        measurement = Measurement(
            dt, speed, acceleration, target.distance, target.relative_speed,
            self._standstill_gap, self._time_gap, self._set_speed, previous, predecessor, leader,
            seen.objects,
        )  # fmt: skip
        seen_speed = speed + target.relative_speed
        braking = self._estimator.update(target.id, seen_speed, dt)
        object_speed = seen_speed if predecessor is None else predecessor.speed
        law = self._fallback if degraded and not estimated else self._law
        stands_at = self._standstill_gap if law.standstill_gap is None else law.standstill_gap
        if self._hold.update(speed, target.distance, object_speed, stands_at):
            self.mode = "hold"
            return 0.0
        self.mode = "estimate" if estimated else "fallback" if degraded else "law"
        demand = self._demand_of(law, measurement, now)
        demand = min(demand, self._cruise.acceleration(measurement))
        demand = limits.apply(demand, previous, dt)
        if self._needs_predecessor and not degraded and not self._holds_demand:
            # The law knows by V2V that the predecessor brakes, and how it answers is its design.
            braking = 0.0
        forced = self._emergency.demand(
            target.distance, target.relative_speed, speed, braking, limits.max_deceleration
        )
        if forced is not None and forced < demand:
            self.mode = "emergency"
            return forced
        return demand

    def _demand_of(self, law: AdaptedLaw, measurement: Measurement, now: int) -> float:
        """What a law demands.

        :raises ParticipantError: no finite number
        """
        demand, speed = law.acceleration(measurement), measurement.speed
        if not is_number(demand):
            raise ParticipantError(
                f"{self._name}: the law {law.name} demanded {demand!r} at {format_ns(now)} for gap "
                f"{measurement.gap:.4g} m, gap_rate {measurement.gap_rate:.4g} m/s, speed "
                f"{speed:.4g} m/s; allowed is a finite number"
            )
        if demand == self._last_raw and speed > _DRIVES:
            self._holds_demand = True
        self._last_raw = demand
        return demand

    def _beside(self, demand: float, now: int, speed: float, seen: ObjectList) -> float:
        """The demand with what vehicles that cut in ask of the emergency brake."""
        for item in self._watch.update(now, seen.objects, self._half_width):
            forced = self._emergency.demand(
                item.distance, item.relative_speed, speed, 0.0, self._limits.max_deceleration
            )
            if forced is not None and forced < demand and self.mode != "hold":
                self.mode, demand = "emergency", forced
        return demand

    def _at_light(self, demand: float, speed: float, sample: Sample | None) -> float:
        """The demand with what the next traffic light leaves of it."""
        if sample is None:
            return demand
        light = sample.value
        most = self._light_stop.most(max(speed, 0.0), light.state, light.distance)
        if most is not None and most < demand and self.mode != "hold":
            self.mode, demand = "light", most
        return demand

    def _peers(
        self, latest: Mapping[str, Sample | None], now: int, ahead: int
    ) -> tuple[Peer | None, Peer | None]:
        """Return (leader, predecessor) as far as fresh messages of them are there."""
        leader = predecessor = None
        sample = latest.get("v2v_leader")
        if sample is not None:
            leader = self._peer(sample.value, now)
            if sample.value.sender == ahead:
                predecessor = leader
        sample = latest.get("v2v_predecessor")
        if sample is not None and sample.value.sender == ahead:
            predecessor = self._peer(sample.value, now)
        return leader, predecessor

    def _peer(self, message: V2VMessage, now: int) -> Peer | None:
        age = now - message.generation_time
        if age > self._timeout_ns:
            return None
        return Peer(message.speed, message.acceleration, message.commanded_acceleration, age * 1e-9)

    def _move_time_gap(self, degraded: bool, dt: float, gap: float, speed: float) -> None:
        if degraded and not self._degraded and speed > 1.0:
            present = (gap - self._standstill_gap) / speed
            self._time_gap = min(self._fallback_time_gap, max(_SHORTEST_TIME_GAP, present))
        self._degraded = degraded
        goal = self._fallback_time_gap if degraded else self._wanted_time_gap
        most = self._time_gap_rate * dt
        self._time_gap += max(-most, min(most, goal - self._time_gap))


def _pedals(parameters: ControllerParameters, base_directory: Path) -> tuple[PedalMap, float]:
    """The lower controller: pedal map, and lag of the vehicle [s].

    :raises ConfigurationError: the file of the pedal map cannot be read, or is wrong
    """
    if parameters.pedal_map is not None:
        table = read_pedal_table(base_directory / parameters.pedal_map)
        return table.pedals_for, table.lag
    vehicle = VEHICLES[parameters.vehicle]
    return partial(pedals_for, vehicle), 0.5 * (vehicle.throttle_lag + vehicle.brake_lag)


_STATE = SavedAttributes(
    parts=(
        AccelerationTracker,
        BrakingEstimator,
        CutInWatch,
        LightStop,
        SensorWatch,
        SingerEstimator,
        StandstillHold,
    ),
    values=(DetectedObject,),
    constants=(AdaptedLaw, Section),
)
