# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What drives a follower: from what it sees and hears to a command.

The law, or what stands in for it, is one of the things that decide; the order in which they are
asked is that of :meth:`Follower.command`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, nan
from typing import Any, Final

from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.core.kernel.named_tuples import NEW
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.messages.records import (
    CONTROLLER_MODES,
    ControlCommand,
    ControllerStatus,
    DetectedObject,
    ObjectList,
    V2VMessage,
)
from ros2_cosim.driving.controllers.checks import is_number
from ros2_cosim.driving.controllers.estimation import SingerEstimator
from ros2_cosim.driving.controllers.measurement import Measurement, Peer
from ros2_cosim.driving.controllers.parameters import ESTIMATE, ControllerParameters
from ros2_cosim.driving.controllers.path import CruiseControl
from ros2_cosim.driving.controllers.registry import AdaptedLaw
from ros2_cosim.driving.controllers.safety import (
    BrakingEstimator,
    CommandLimiter,
    CutInWatch,
    EmergencyBraking,
    StandstillHold,
)
from ros2_cosim.driving.controllers.supervision import SensorWatch
from ros2_cosim.driving.controllers.tracking import AccelerationTracker
from ros2_cosim.world.drivers.light_stop import LightStop

_SHORTEST_TIME_GAP: Final = 0.2
#: Time step that is assumed at the first activation [s].
_FIRST_PERIOD_S: Final = 0.04
#: Slower vehicles have no time gap [m/s].
_DRIVES: Final = 2.0


class Follower:
    """Drives one vehicle behind another; see :class:`~ros2_cosim.driving.cacc.CaccController`.

    :ivar mode: what drove last
    :ivar listens: whether V2V counts; else it drives as if it heard nothing
    :ivar ordered_time_gap: that it keeps instead of the one of its parameters [s]
    :ivar least_time_gap: that it keeps at least [s]
    :ivar most_demand: that it demands at most [m/s^2]
    :param name: of the participant, for messages
    :param law: drives while it hears what it needs
    :param fallback: drives else
    :param tracker: finds the pedals for a demand
    """

    def __init__(
        self,
        name: str,
        parameters: ControllerParameters,
        law: AdaptedLaw,
        fallback: AdaptedLaw,
        tracker: AccelerationTracker,
    ) -> None:
        self.mode = "waiting"
        self.listens = True
        self.ordered_time_gap: float | None = None
        self.least_time_gap = 0.0
        self.most_demand = inf
        self._name = name
        self._law = law
        self._needs_predecessor = "predecessor" in law.needs
        self._needs_leader = "leader" in law.needs
        self._fallback = fallback
        self._cruise = CruiseControl()
        self._emergency = EmergencyBraking(parameters.emergency)
        self._tracker = tracker
        self._estimator = BrakingEstimator()
        self._singer: SingerEstimator | None = None
        if parameters.fallback == ESTIMATE and self._needs_predecessor:
            self._singer = None if self._needs_leader else SingerEstimator()
        self._hold = StandstillHold()
        self._watch = CutInWatch()
        self._sensor = SensorWatch()
        self._last_raw: float | None = None
        self._holds_demand = False
        self._light_stop = LightStop()
        self._hold_brake: float = min(1.0, parameters.hold_brake)
        self._hold_rate: float | None = parameters.hold_rate
        self._brake = 0.0
        self.change_parameters(parameters)
        self._time_gap: float = parameters.time_gap
        self._heard: tuple[Peer | None, Peer | None] = (None, None)
        self._degraded = False
        self._previous_time: int | None = None
        self._previous_command = 0.0

    def patience(self, told: bool) -> int:
        """How long it waits for the next list before it looks without one [ns].

        :param told: whether this activation has brought a list
        """
        return self._sensor_timeout_ns if told else round(_FIRST_PERIOD_S * 1e9)

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
        self._limits = CommandLimiter(parameters.limits)
        self._brake_jerk: float = parameters.limits.max_brake_jerk

    @property
    def standstill_gap(self) -> float:
        """The gap that it keeps at standstill [m]."""
        return self._standstill_gap

    @property
    def alone_time_gap(self) -> float:
        """The time gap that it keeps without V2V [s]."""
        return self._fallback_time_gap

    @property
    def object(self) -> DetectedObject | None:
        """The object ahead as last measured or thought."""
        return self._sensor.object

    def status(self, latest: Mapping[str, Sample | None]) -> ControllerStatus:
        """Mode, time gap and its error, age of V2V."""
        odometry, objects = latest["odometry"], latest["objects"]
        error = nan
        if odometry is not None and objects is not None and odometry.value.vx >= _DRIVES:
            target = self._object_ahead(objects.value)
            if target is not None:
                room = target.distance - self._standstill_gap
                error = room / odometry.value.vx - self._time_gap
        ages = [nan if peer is None else peer.age for peer in self._heard]
        return ControllerStatus(CONTROLLER_MODES.index(self.mode), self._time_gap, error, *ages)

    def command(self, step: Step) -> ControlCommand:
        """What to do until the next activation."""
        latest = step.latest
        odometry = latest["odometry"]
        objects = latest["objects"]
        if odometry is None or objects is None:
            return ControlCommand(0.0, 0.0, 0.0, 0.0)
        now = step.time
        if self._previous_time is None or now == self._previous_time:
            dt = _FIRST_PERIOD_S
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
        if self.most_demand < demand:
            least = self._previous_command - self._brake_jerk * dt
            demand = max(self.most_demand, min(demand, least))
        if self.mode == "hold":
            self._previous_command = 0.0
            self._brake = self._holding_brake(dt)
            return ControlCommand(0.0, 0.0, self._brake, 0.0)
        self._previous_command = demand
        throttle, self._brake = self._tracker.pedals(demand, measured, speed, dt)
        return NEW(ControlCommand, (demand, throttle, self._brake, 0.0))

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

    def _holding_brake(self, dt: float) -> float:
        """The brake pedal of the coming interval at standstill."""
        if self._hold_rate is None:
            return self._hold_brake
        return max(self._brake, min(self._hold_brake, self._brake + self._hold_rate * dt))

    def _object_ahead(self, objects: ObjectList) -> DetectedObject | None:
        half_width = self._half_width
        best: DetectedObject | None = None
        nearest = inf
        for item in objects.objects:
            distance: float = item[2]
            offset: float = item[4]
            if -half_width <= offset <= half_width and (best is None or distance < nearest):
                best, nearest = item, distance
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
                self._set_speed, previous, objects=seen.objects,
            )  # fmt: skip
            demand = self._cruise.acceleration(free)
            if self._law.drives_alone:
                asked = self._demand_of(self._law, free, now)
                if asked < demand:
                    self.mode, demand = "law", asked
            return limits.apply(demand, previous, dt)
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
        measurement = NEW(
            Measurement,
            (
                dt, speed, acceleration, target.distance, target.relative_speed,
                self._standstill_gap, self._time_gap, self._set_speed, previous, predecessor,
                leader, seen.objects,
            ),
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
        if law.drives_alone:
            return demand
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
        ask: Any = law.acceleration  # it may give anything
        demand: Any = ask(measurement)
        speed = measurement.speed
        if not is_number(demand):
            raise ParticipantError(
                f"{self._name}: the law {law.name} demanded {demand!r} at {format_ns(now)} for gap "
                f"{measurement.gap:.4g} m, gap_rate {measurement.gap_rate:.4g} m/s, speed "
                f"{speed:.4g} m/s; allowed is a finite number"
            )
        if demand == self._last_raw and speed > _DRIVES:
            self._holds_demand = True
        # A law may give an integer or a number of numpy: what follows is the same with each.
        demand = float(demand)
        self._last_raw = demand
        return demand

    def _beside(self, demand: float, now: int, speed: float, seen: ObjectList) -> float:
        """The demand with what vehicles that cut in ask of the emergency brake."""
        if self._law.drives_alone:
            return demand
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
        if not self.listens:
            return None, None
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
        _, sent, _, _, speed, acceleration, commanded, _, _ = message
        age = now - sent
        if age > self._timeout_ns:
            return None
        return NEW(Peer, (speed, acceleration, commanded, age * 1e-9))

    def _move_time_gap(self, degraded: bool, dt: float, gap: float, speed: float) -> None:
        if degraded and not self._degraded and speed > 1.0:
            present = (gap - self._standstill_gap) / speed
            self._time_gap = min(self._fallback_time_gap, max(_SHORTEST_TIME_GAP, present))
        self._degraded = degraded
        wanted = self.ordered_time_gap or self._wanted_time_gap
        goal = max(self._fallback_time_gap if degraded else wanted, self.least_time_gap)
        most = self._time_gap_rate * dt
        self._time_gap += max(-most, min(most, goal - self._time_gap))
