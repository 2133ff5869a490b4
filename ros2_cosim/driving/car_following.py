# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The car-following scenario: an ego vehicle between two others that speed up and brake.

Three vehicles on a straight lane along x of ``map``. Front and rear vehicle follow given
motions, sinusoidal in speed and shifted in phase; the ego vehicle is driven by a driving
function that keeps it in the middle between them, so that its target gap shifts all the
time. The scenario has the three data flows that make synchronisation hard: diverging from
the traffic to the sensors, merging in the driving function, and fed back to the traffic.
After the case study of Baron et al., "Synchronization of Hybrid Models in the Automated
Driving Simulation", section VI.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import inf
from typing import Any

from pydantic import Field

from ros2_cosim.core.documents.settings import Duration, Number, Section, Whole
from ros2_cosim.core.kernel import exactmath
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import FullModel, Port, Report, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.kernel.saved_state import SavedAttributes
from ros2_cosim.core.kernel.time import to_seconds
from ros2_cosim.core.messages.message_types import CONTROL, OBJECTS, ODOMETRY
from ros2_cosim.core.messages.records import (
    CLASS_CAR,
    ControlCommand,
    DetectedObject,
    ObjectList,
    Odometry,
)

FRONT, EGO, REAR = "front", "ego", "rear"
#: Pedals are full at these demands [m/s^2].
_FULL_THROTTLE = 3.0
_FULL_BRAKE = 6.0
#: Of the driving function: gain on the mean relative speed [1/s], and share of the new demand that
#: is taken over at each activation.
_DAMPING = 0.9
_SMOOTHING = 0.5


class DeclaredLoad(Section):
    """What an activation costs, beside what it computes."""

    processor_time: Duration = Field(
        default=0,
        description="time that each activation takes on the wall clock in addition, as on a "
        "separate processor",
    )

    def spend(self) -> None:
        """Take the declared time; no result depends on it."""
        if self.processor_time:
            time.sleep(self.processor_time / 1e9)


class LeaderMotion(Section):
    """A given motion: v(t) = speed + amplitude / w * sin(w t + phase), w = 2 pi / period."""

    start: Number = Field(description="x of the vehicle's centre at time 0 [m]")
    speed: Number = Field(description="mean speed [m/s]")
    amplitude: Number = Field(description="largest acceleration [m/s^2]")
    period: Number = Field(gt=0, description="of the oscillation [s]")
    phase: Number = Field(description="at time 0 [rad]")

    def at(self, time: int) -> tuple[float, float]:
        """Position [m] and speed [m/s] at a simulated time [ns]."""
        w = exactmath.TWO_PI / self.period
        seconds = to_seconds(time)
        angle = w * seconds + self.phase
        swing = self.amplitude / w
        way = swing / w * (exactmath.cos(self.phase) - exactmath.cos(angle))
        return self.start + self.speed * seconds + way, self.speed + swing * exactmath.sin(angle)


class TrafficParameters(DeclaredLoad):
    """Parameters of the traffic."""

    front: LeaderMotion = Field(description="motion of the front vehicle")
    rear: LeaderMotion = Field(description="motion of the rear vehicle")
    start: Number = Field(default=0.0, description="x of the ego vehicle's centre at the start [m]")
    speed: Number = Field(default=25.0, ge=0, description="of the ego vehicle at the start [m/s]")
    lag: Number = Field(
        default=0.3,
        gt=0,
        description="of the ego vehicle's acceleration, at least the period [s]",
    )
    length: Number = Field(default=4.5, gt=0, description="of all vehicles [m]")


class TrafficSimulator(FullModel):
    """The traffic simulator, a periodic model.

    Input ``control`` (ControlCommand, delayed): the demanded acceleration of the ego vehicle;
    outputs ``odometry/front``, ``odometry/ego``, ``odometry/rear`` (Odometry). An activation
    at t steps from t - period to t; the first one publishes the initial state. The ego
    vehicle's acceleration follows the demand with a first-order lag; it never drives back.
    """

    Parameters = TrafficParameters
    traits = Traits(exact_records=True)

    input_ports = (Port("control", CONTROL, description="demand of the ego vehicle"),)
    output_ports = tuple(Port(f"odometry/{name}", ODOMETRY) for name in (FRONT, EGO, REAR))
    other_ports = False

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: TrafficParameters) -> None:
        """Check whether the vehicle's lag is resolved by the period.

        :raises ConfigurationError: no period, or a shorter lag
        """
        if context.period_ns is None:
            raise ConfigurationError(
                f"participants.{context.name}.period: missing; the traffic steps by it"
            )
        step = to_seconds(context.period_ns)
        if step > parameters.lag:
            raise ConfigurationError(
                f"{context.where}.lag: found {parameters.lag:g} s; allowed is at least the "
                f"period, {step:g} s"
            )

    def __init__(self, context: ModelContext, parameters: TrafficParameters) -> None:
        self.check_settings(context, parameters)
        assert context.period_ns is not None
        self._load = parameters
        self._front, self._rear = parameters.front, parameters.rear
        self._step = to_seconds(context.period_ns)
        self._gain = self._step / parameters.lag
        self._length = parameters.length
        self._x = parameters.start
        self._v = parameters.speed
        self._a = 0.0
        self._started = False
        self._min_gap = inf
        self._contacts = 0
        self._touching = False

    def save_state(self) -> Any:
        """Where the vehicles are, and what was seen of the ego vehicle."""
        return _STATE.save(self)

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        _STATE.restore(self, state)

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Step once."""
        self._load.spend()
        if self._started:
            command = step.latest["control"]
            demand = 0.0 if command is None else command.value.acceleration
            self._a += (demand - self._a) * self._gain
            self._v = max(0.0, self._v + self._a * self._step)
            self._x += self._v * self._step
        self._started = True
        front_x, front_v = self._front.at(step.time)
        rear_x, rear_v = self._rear.at(step.time)
        gap = min(front_x - self._x, self._x - rear_x) - self._length
        self._min_gap = min(self._min_gap, gap)
        if gap <= 0.0 and not self._touching:
            self._contacts += 1
        self._touching = gap <= 0.0
        return {
            "odometry/front": _odometry(front_x, front_v),
            "odometry/ego": _odometry(self._x, self._v),
            "odometry/rear": _odometry(rear_x, rear_v),
        }

    def report(self) -> Report:
        """Figures ``collisions`` and ``min_gap_m``; the one verdict: no collision."""
        count = self._contacts
        return Report(
            figures={"collisions": count, "min_gap_m": _finite(self._min_gap)},
            verdicts=[{"name": "no_collision", "value": count, "limit": 0, "passed": count == 0}],
        )


class RangeSensorParameters(DeclaredLoad):
    """Parameters of a range sensor."""

    target_id: Whole = Field(ge=0, le=2**32 - 1, description="identity reported for the target")
    length: Number = Field(default=4.5, gt=0, description="of all vehicles [m]")
    width: Number = Field(default=1.8, gt=0, description="of the target [m]")
    distance_noise: Number = Field(default=0.05, ge=0, description="standard deviation [m]")
    speed_noise: Number = Field(default=0.05, ge=0, description="standard deviation [m/s]")


class RangeSensor(FullModel):
    """Distance and relative speed of one other vehicle, a periodic model.

    Inputs, latched: ``own`` and ``target`` (Odometry). Output ``objects`` (ObjectList) with
    the target, or empty while an input is missing. Each activation takes two draws.
    """

    Parameters = RangeSensorParameters
    traits = Traits(exact_records=True)

    input_ports = (Port("own", ODOMETRY), Port("target", ODOMETRY))
    output_ports = (Port("objects", OBJECTS),)
    other_ports = False

    def __init__(self, context: ModelContext, parameters: RangeSensorParameters) -> None:
        self._load = parameters
        self._stream = RandomStream(context.run_seed, context.name, "noise")
        self._id = parameters.target_id
        self._length = parameters.length
        self._width = parameters.width
        self._distance_noise = parameters.distance_noise
        self._speed_noise = parameters.speed_noise

    def save_state(self) -> Any:
        """Its random stream."""
        return _STATE.save(self)

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        _STATE.restore(self, state)

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Measure once."""
        self._load.spend()
        distance_error = self._distance_noise * self._stream.normal()
        speed_error = self._speed_noise * self._stream.normal()
        own, target = step.latest["own"], step.latest["target"]
        if own is None or target is None:
            return {"objects": ObjectList(())}
        way = target.value.x - own.value.x
        distance = (way if way >= 0.0 else -way) - self._length
        seen = DetectedObject(
            self._id,
            CLASS_CAR,
            distance + distance_error,
            target.value.vx - own.value.vx + speed_error,
            0.0,
            self._length,
            self._width,
            1.0,
        )
        return {"objects": ObjectList((seen,))}


class DrivingParameters(DeclaredLoad):
    """Parameters of the driving function."""

    set_speed: Number = Field(
        default=25.0, gt=0, description="wanted speed without other vehicles [m/s]"
    )
    gain: Number = Field(default=0.3, gt=0, description="on the shift from the middle [1/s^2]")


class DrivingFunction(FullModel):
    """Keeps the ego vehicle in the middle, a data-triggered model.

    Triggering inputs ``front`` and ``rear`` (ObjectList), latched ``own`` (Odometry). Output
    ``control`` (ControlCommand) at every activation. The demand is
    gain * (front gap - rear gap) / 2 + damping * mean relative speed of the two, towards the
    set speed while one of them is not seen; it is smoothed from activation to activation, so
    that the order of the sensor values matters.
    """

    Parameters = DrivingParameters
    traits = Traits(changeable=("set_speed", "gain"), exact_records=True)

    input_ports = (Port("front", OBJECTS), Port("rear", OBJECTS), Port("own", ODOMETRY))
    output_ports = (Port("control", CONTROL),)
    other_ports = False

    def __init__(self, context: ModelContext, parameters: DrivingParameters) -> None:
        self.change_parameters(parameters)
        self._demand = 0.0

    def change_parameters(self, parameters: DrivingParameters) -> None:
        """Take other parameters."""
        self._load = parameters
        self._set_speed = parameters.set_speed
        self._gain = parameters.gain

    def save_state(self) -> Any:
        """What it demanded last."""
        return _STATE.save(self)

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        _STATE.restore(self, state)

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Decide once."""
        self._load.spend()
        front, rear = _first(step.latest["front"]), _first(step.latest["rear"])
        own = step.latest["own"]
        wanted = 0.0
        if front is not None and rear is not None:
            shift = 0.5 * (front.distance - rear.distance)
            closing = 0.5 * (front.relative_speed + rear.relative_speed)
            wanted = self._gain * shift + _DAMPING * closing
        elif own is not None:
            wanted = _DAMPING * (self._set_speed - own.value.vx)
        if own is not None and own.value.vx <= 0.0:
            wanted = max(0.0, wanted)
        wanted = min(max(wanted, -_FULL_BRAKE), _FULL_THROTTLE)
        self._demand += _SMOOTHING * (wanted - self._demand)
        demand = self._demand
        throttle = max(0.0, demand) / _FULL_THROTTLE
        brake = max(0.0, -demand) / _FULL_BRAKE
        return {"control": ControlCommand(demand, throttle, brake, 0.0)}


def _odometry(x: float, v: float) -> Odometry:
    return Odometry(x, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, v, 0.0, 0.0, 0.0, 0.0, 0.0)


def _first(sample: Any) -> DetectedObject | None:
    return sample.value.objects[0] if sample is not None and sample.value.objects else None


def _finite(value: float) -> float | None:
    return value if value < inf else None


_STATE = SavedAttributes(constants=(Section,))
