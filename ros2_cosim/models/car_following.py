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

from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple

from ros2_cosim.interfaces.records import (
    CLASS_CAR,
    ControlCommand,
    DetectedObject,
    ObjectList,
    Odometry,
)
from ros2_cosim.kernel import exactmath
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.participant import ModelContext, Step
from ros2_cosim.kernel.random_streams import RandomStream
from ros2_cosim.kernel.time import to_seconds
from ros2_cosim.models.checks import is_number, require_not_negative, require_positive

FRONT, EGO, REAR = "front", "ego", "rear"
_OTHERS = (FRONT, REAR)
#: Pedals are full at these demands [m/s^2].
_FULL_THROTTLE = 3.0
_FULL_BRAKE = 6.0


class Motion(NamedTuple):
    """A given motion: v(t) = speed + amplitude / w * sin(w t + phase), w = 2 pi / period.

    ``start`` is x of the vehicle's centre at time 0 [m], ``speed`` the mean speed [m/s],
    ``amplitude`` the largest acceleration [m/s^2], ``period`` in s, ``phase`` in rad.
    """

    start: float
    speed: float
    amplitude: float
    period: float
    phase: float

    def at(self, time: int) -> tuple[float, float]:
        """Position [m] and speed [m/s] at a simulated time [ns]."""
        w = exactmath.TWO_PI / self.period
        seconds = to_seconds(time)
        angle = w * seconds + self.phase
        swing = self.amplitude / w
        way = swing / w * (exactmath.cos(self.phase) - exactmath.cos(angle))
        return self.start + self.speed * seconds + way, self.speed + swing * exactmath.sin(angle)


class Traffic:
    """The traffic simulator, a periodic behaviour.

    Input ``control`` (ControlCommand, delayed): the demanded acceleration of the ego vehicle;
    outputs ``odometry/front``, ``odometry/ego``, ``odometry/rear`` (Odometry). An activation
    at t steps from t - period to t; the first one publishes the initial state. The ego
    vehicle's acceleration follows the demand with a first-order lag; it never drives back.
    """

    def __init__(
        self,
        *,
        period_ns: int,
        motions: Mapping[str, Motion],
        start: float = 0.0,
        speed: float = 25.0,
        lag: float = 0.3,
        length: float = 4.5,
        name: str = "traffic",
    ) -> None:
        """Make the traffic.

        :param period_ns: step [ns]
        :param motions: of ``front`` and ``rear``
        :param start: x of the ego vehicle's centre at the start [m]
        :param speed: of the ego vehicle at the start [m/s]
        :param lag: time constant of the ego vehicle's acceleration [s]
        :param length: of all vehicles [m]
        :param name: for error messages
        :raises ConfigurationError: a parameter is out of range
        """
        require_positive(name, lag=lag, length=length)
        require_not_negative(name, speed=speed)
        if not is_number(start):
            raise ConfigurationError(f"{name}: start is {start!r}; it must be a finite number")
        self._motions = {key: motions[key] for key in _OTHERS}
        self._step = to_seconds(period_ns)
        self._gain = self._step / lag
        if self._gain > 1.0:
            raise ConfigurationError(
                f"{name}: lag is {lag!r} s; it must be at least the period ({self._step} s)"
            )
        self._length = length
        self._x = start
        self._v = speed
        self._a = 0.0
        self._started = False
        self._min_gap = inf
        self._contacts = 0
        self._touching = False

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Step once."""
        if self._started:
            command = step.latest["control"]
            demand = 0.0 if command is None else command.value.acceleration
            self._a += (demand - self._a) * self._gain
            self._v = max(0.0, self._v + self._a * self._step)
            self._x += self._v * self._step
        self._started = True
        front_x, front_v = self._motions[FRONT].at(step.time)
        rear_x, rear_v = self._motions[REAR].at(step.time)
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

    def figures(self) -> dict[str, Any]:
        """Return ``collisions`` and ``min_gap_m``."""
        return {"collisions": self._contacts, "min_gap_m": _finite(self._min_gap)}

    def verdicts(self) -> list[dict[str, Any]]:
        """Return the one oracle: no collision."""
        count = self._contacts
        return [{"name": "no_collision", "value": count, "limit": 0, "passed": count == 0}]


class RangeSensor:
    """Distance and relative speed of one other vehicle, a periodic behaviour.

    Inputs, latched: ``own`` and ``target`` (Odometry). Output ``objects`` (ObjectList) with
    the target, or empty while an input is missing. Each activation takes two draws.
    """

    def __init__(
        self,
        *,
        run_seed: int,
        name: str,
        target_id: int,
        length: float = 4.5,
        width: float = 1.8,
        distance_noise: float = 0.05,
        speed_noise: float = 0.05,
    ) -> None:
        """Make a sensor.

        :param run_seed: seed of the run
        :param name: of the participant, names the random stream
        :param target_id: identity reported for the target
        :param length: of all vehicles [m]
        :param width: of the target [m]
        :param distance_noise: standard deviation [m]
        :param speed_noise: standard deviation [m/s]
        :raises ConfigurationError: a parameter is out of range
        """
        require_positive(name, length=length, width=width)
        require_not_negative(
            name, target_id=target_id, distance_noise=distance_noise, speed_noise=speed_noise
        )
        self._stream = RandomStream(run_seed, name, "noise")
        self._id = int(target_id)
        self._length = length
        self._width = width
        self._distance_noise = distance_noise
        self._speed_noise = speed_noise

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Measure once."""
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


class DrivingFunction:
    """Keeps the ego vehicle in the middle, a data-triggered behaviour.

    Triggering inputs ``front`` and ``rear`` (ObjectList), latched ``own`` (Odometry). Output
    ``control`` (ControlCommand) at every activation. The demand is
    gain * (front gap - rear gap) / 2 + damping * mean relative speed of the two, towards the
    set speed while one of them is not seen; it is smoothed from activation to activation, so
    that the order of the sensor values matters.
    """

    def __init__(
        self,
        *,
        set_speed: float = 25.0,
        gain: float = 0.3,
        damping: float = 0.9,
        smoothing: float = 0.5,
        name: str = "driving",
    ) -> None:
        """Make a driving function.

        :param set_speed: wanted speed without other vehicles [m/s]
        :param gain: [1/s^2]
        :param damping: [1/s]
        :param smoothing: share of the new demand taken over at each activation, above 0, at
            most 1
        :param name: for error messages
        :raises ConfigurationError: a parameter is out of range
        """
        require_positive(name, set_speed=set_speed, gain=gain, damping=damping, smoothing=smoothing)
        if smoothing > 1.0:
            raise ConfigurationError(f"{name}: smoothing is {smoothing!r}; it must not exceed 1")
        self._set_speed = set_speed
        self._gain = gain
        self._damping = damping
        self._smoothing = smoothing
        self._demand = 0.0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Decide once."""
        front, rear = _first(step.latest["front"]), _first(step.latest["rear"])
        own = step.latest["own"]
        wanted = 0.0
        if front is not None and rear is not None:
            shift = 0.5 * (front.distance - rear.distance)
            closing = 0.5 * (front.relative_speed + rear.relative_speed)
            wanted = self._gain * shift + self._damping * closing
        elif own is not None:
            wanted = self._damping * (self._set_speed - own.value.vx)
        if own is not None and own.value.vx <= 0.0:
            wanted = max(0.0, wanted)
        wanted = min(max(wanted, -_FULL_BRAKE), _FULL_THROTTLE)
        self._demand += self._smoothing * (wanted - self._demand)
        demand = self._demand
        throttle = max(0.0, demand) / _FULL_THROTTLE
        brake = max(0.0, -demand) / _FULL_BRAKE
        return {"control": ControlCommand(demand, throttle, brake, 0.0)}


def make_traffic(context: ModelContext) -> Traffic:
    """Make the traffic simulator; ``front`` and ``rear`` are mappings as :class:`Motion`."""
    if context.period_ns is None:
        raise ConfigurationError(f"participants.{context.name}: the traffic needs a period")
    parameters = dict(context.parameters)
    motions = {key: _motion(context, key, parameters.pop(key, None)) for key in _OTHERS}
    return _construct(context, Traffic, parameters, period_ns=context.period_ns, motions=motions)


def make_range_sensor(context: ModelContext) -> RangeSensor:
    """Make the sensor of one target vehicle."""
    return _construct(context, RangeSensor, context.parameters, run_seed=context.run_seed)


def make_driving_function(context: ModelContext) -> DrivingFunction:
    """Make the driving function of the ego vehicle."""
    return _construct(context, DrivingFunction, context.parameters)


def _motion(context: ModelContext, key: str, value: Any) -> Motion:
    where = f"participants.{context.name}.parameters.{key}"
    if not isinstance(value, Mapping) or set(value) != set(Motion._fields):
        raise ConfigurationError(
            f"{where}: found {value!r}; allowed are exactly {', '.join(Motion._fields)}"
        )
    for name, number in value.items():
        if not is_number(number):
            raise ConfigurationError(f"{where}.{name}: found {number!r}; allowed is a number")
    require_positive(where, period=value["period"])
    return Motion(**{name: float(number) for name, number in value.items()})


def _construct(
    context: ModelContext, make: Any, parameters: Mapping[str, Any], **given: Any
) -> Any:
    """Call a constructor with the scenario's parameters; a wrong name is an error of the file."""
    try:
        return make(name=context.name, **given, **parameters)
    except TypeError as error:
        raise ConfigurationError(
            f"participants.{context.name}.parameters: {str(error).split('() ')[-1]}"
        ) from None


def _odometry(x: float, v: float) -> Odometry:
    return Odometry(x, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, v, 0.0, 0.0, 0.0, 0.0, 0.0)


def _first(sample: Any) -> DetectedObject | None:
    return sample.value.objects[0] if sample is not None and sample.value.objects else None


def _finite(value: float) -> float | None:
    return value if value < inf else None
