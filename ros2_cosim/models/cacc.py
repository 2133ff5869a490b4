# SPDX-License-Identifier: Apache-2.0
"""The controller participant of a follower: object list and V2V in, control command out.

Which law drives is a parameter. Around it stands what every law needs: the choice of the
object ahead, the age of V2V data and a fall-back without it, limits, an emergency brake,
standstill, and pedals.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

from ros2_cosim.interfaces.records import ControlCommand, DetectedObject, ObjectList, V2VMessage
from ros2_cosim.kernel.errors import ConfigurationError, ParticipantError
from ros2_cosim.kernel.participant import Sample, Step
from ros2_cosim.models.checks import is_number, require_not_negative, require_positive
from ros2_cosim.models.controllers.measurement import LongitudinalLaw, Measurement, Peer
from ros2_cosim.models.controllers.path import CruiseControl
from ros2_cosim.models.controllers.rajamani import RajamaniAcc
from ros2_cosim.models.controllers.registry import make_law
from ros2_cosim.models.controllers.safety import (
    BrakingEstimator,
    CommandLimits,
    EmergencyBrake,
    StandstillHold,
)
from ros2_cosim.models.controllers.tracking import AccelerationTracker, PedalMap

_NEEDS = ("predecessor", "leader")
_Part = TypeVar("_Part")
_SHORTEST_TIME_GAP = 0.2


class CaccBehaviour:
    """A kernel behaviour, to be triggered by each sample on ``objects``.

    Inputs: ``objects`` (ObjectList, the trigger); latched ``odometry`` and ``acceleration`` of
    the own vehicle, ``v2v_leader`` and ``v2v_predecessor`` (V2VMessage; either may be missing).
    Output at every activation: ``control`` (ControlCommand). Steering is left to the lane
    keeping on the simulator's side: ``steer`` is 0.

    The object ahead is the nearest one in the own lane. A V2V message counts as the
    predecessor's only if its sender is that object, so that a vehicle cutting in is followed
    without V2V; the predecessor may be the leader itself.

    While a peer that the law needs is missing or older than ``v2v_timeout``, the fall-back law
    drives. The time gap then opens from the present gap to ``fallback_time_gap`` at
    ``time_gap_rate``, and closes as slowly afterwards: never a step.

    ``mode`` tells what drove last: ``law``, ``fallback``, ``cruise``, ``emergency``, ``hold``,
    or ``waiting`` (no odometry yet, pedals released).
    """

    def __init__(
        self,
        *,
        law: LongitudinalLaw,
        pedals: PedalMap,
        vehicle_lag: float,
        set_speed: float,
        time_gap: float = 0.6,
        standstill_gap: float = 2.0,
        name: str = "cacc",
        fallback: LongitudinalLaw | str | None = None,
        fallback_time_gap: float = 1.1,
        time_gap_rate: float = 0.1,
        v2v_timeout: float = 0.25,
        lane_half_width: float = 1.75,
        nominal_period: float = 0.04,
        hold_brake: float = 0.5,
        integral_gain: float = 0.3,
        limits: CommandLimits | Mapping[str, float] | None = None,
        emergency: EmergencyBrake | Mapping[str, float] | None = None,
        cruise: CruiseControl | Mapping[str, float] | None = None,
    ) -> None:
        """Make the controller of one vehicle.

        :param law: see :class:`~ros2_cosim.models.controllers.measurement.LongitudinalLaw`
        :param pedals: inverse vehicle model, (acceleration, speed) -> (throttle, brake)
        :param vehicle_lag: time constant of the vehicle's acceleration [s]
        :param set_speed: speed on a free road, never exceeded on purpose [m/s]
        :param time_gap: h of the spacing policy r + h v [s]
        :param standstill_gap: r of the spacing policy [m]
        :param name: for error messages
        :param fallback: law without V2V, or its name (None: Rajamani ACC; PATH ACC brakes too
            gently for the gaps of a platoon)
        :param fallback_time_gap: time gap while V2V is lost [s]
        :param time_gap_rate: how fast the time gap may change [s per s]
        :param v2v_timeout: oldest usable V2V message [s]
        :param lane_half_width: lateral distance within which an object is ahead [m]
        :param nominal_period: time step assumed at the first activation [s]
        :param hold_brake: brake pedal at standstill, 0..1
        :param integral_gain: see :class:`AccelerationTracker` [1/s]
        :param limits: bounds of the demand; like the next two also as a mapping of its fields
        :param emergency: emergency brake
        :param cruise: speed control on a free road
        :raises ConfigurationError: a parameter out of range, or no law
        """
        require_positive(
            name,
            set_speed=set_speed,
            time_gap=time_gap,
            fallback_time_gap=fallback_time_gap,
            time_gap_rate=time_gap_rate,
            v2v_timeout=v2v_timeout,
            lane_half_width=lane_half_width,
            nominal_period=nominal_period,
        )
        require_not_negative(name, standstill_gap=standstill_gap, hold_brake=hold_brake)
        needs = tuple(getattr(law, "needs_v2v", ()))
        if not callable(getattr(law, "acceleration", None)) or not set(needs) <= set(_NEEDS):
            raise ConfigurationError(
                f"{name}: found law {law!r} with needs_v2v {needs!r}; a law has a method"
                f" acceleration(measurement), and may need {' and '.join(_NEEDS)}"
            )
        self.name = name
        self.mode = "waiting"
        self._law = law
        self._needs_predecessor = "predecessor" in needs
        self._needs_leader = "leader" in needs
        self._fallback: LongitudinalLaw = (
            make_law(fallback) if isinstance(fallback, str) else fallback or RajamaniAcc()
        )
        self._cruise = _part(name, CruiseControl, cruise)
        self._limits = _part(name, CommandLimits, limits)
        self._emergency = _part(name, EmergencyBrake, emergency)
        self._tracker = AccelerationTracker(
            pedals=pedals, lag=vehicle_lag, integral_gain=integral_gain
        )
        self._estimator = BrakingEstimator()
        self._hold = StandstillHold()
        self._hold_brake = min(1.0, hold_brake)
        self._set_speed = set_speed
        self._standstill_gap = standstill_gap
        self._wanted_time_gap = time_gap
        self._fallback_time_gap = fallback_time_gap
        self._time_gap_rate = time_gap_rate
        self._timeout_ns = round(v2v_timeout * 1e9)
        self._half_width = lane_half_width
        self._time_gap = time_gap
        self._degraded = False
        self._nominal_period = nominal_period
        self._previous_time: int | None = None
        self._previous_command = 0.0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Compute the command for the newest object list."""
        latest = step.latest
        odometry = latest["odometry"]
        objects = latest["objects"]
        if odometry is None or objects is None:
            return {"control": ControlCommand(0.0, 0.0, 0.0, 0.0)}
        now = step.time
        if self._previous_time is None or now == self._previous_time:
            dt = self._nominal_period
        else:
            dt = (now - self._previous_time) * 1e-9
        self._previous_time = now
        acceleration = latest["acceleration"]
        measured = 0.0 if acceleration is None else acceleration.value.ax
        speed: float = odometry.value.vx
        target = self._object_ahead(objects.value)
        demand = self._demand(latest, now, dt, speed, measured, target)
        if self.mode == "hold":
            self._previous_command = 0.0
            return {"control": ControlCommand(0.0, 0.0, self._hold_brake, 0.0)}
        self._previous_command = demand
        throttle, brake = self._tracker.pedals(demand, measured, speed, dt)
        return {"control": ControlCommand(demand, throttle, brake, 0.0)}

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
        target: DetectedObject | None,
    ) -> float:
        """Return the demanded acceleration after all limits and set ``mode``."""
        limits = self._limits
        previous = self._previous_command
        if target is None:
            self._hold.holding = False
            self.mode = "cruise"
            free = Measurement(
                dt, speed, acceleration, 1e9, 0.0, self._standstill_gap, self._time_gap,
                self._set_speed, previous,
            )  # fmt: skip
            return limits.apply(self._cruise.acceleration(free), previous, dt)
        leader, predecessor = self._peers(latest, now, target.id)
        degraded = (self._needs_predecessor and predecessor is None) or (
            self._needs_leader and leader is None
        )
        self._move_time_gap(degraded, dt, target.distance, speed)
        measurement = Measurement(
            dt, speed, acceleration, target.distance, target.relative_speed,
            self._standstill_gap, self._time_gap, self._set_speed, previous, predecessor, leader,
        )  # fmt: skip
        seen_speed = speed + target.relative_speed
        braking = self._estimator.update(target.id, seen_speed, dt)
        object_speed = seen_speed if predecessor is None else predecessor.speed
        if self._hold.update(speed, target.distance, object_speed, self._standstill_gap):
            self.mode = "hold"
            return 0.0
        self.mode = "fallback" if degraded else "law"
        law = self._fallback if degraded else self._law
        demand = law.acceleration(measurement)
        if not is_number(demand):
            raise ParticipantError(
                f"{self.name}: the law {type(law).__name__} demanded {demand!r} at {now} ns for"
                f" {measurement}; allowed is a finite number"
            )
        demand = min(demand, self._cruise.acceleration(measurement))
        demand = limits.apply(demand, previous, dt)
        if self._needs_predecessor and not degraded:
            # The law knows by V2V that the predecessor brakes, and how it answers is its design.
            braking = 0.0
        forced = self._emergency.demand(
            target.distance, target.relative_speed, speed, braking, limits.max_deceleration
        )
        if forced is not None and forced < demand:
            self.mode = "emergency"
            return forced
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


def _part(owner: str, kind: type[_Part], given: _Part | Mapping[str, float] | None) -> _Part:
    """Return a part of the controller that is given as such, by its fields, or not at all."""
    if isinstance(given, kind):
        return given
    try:
        return kind(**(given or {}))  # type: ignore[arg-type]
    except TypeError:
        known = ", ".join(inspect.signature(kind).parameters)
        raise ConfigurationError(
            f"{owner}: found {given!r} for {kind.__name__}; allowed are {known}"
        ) from None
