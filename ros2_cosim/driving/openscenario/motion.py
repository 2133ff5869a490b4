# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The motion of a vehicle of a storyboard: what its actions prescribe, as control commands."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Final, NamedTuple, Protocol

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import PI, cos, hypot, sin
from ros2_cosim.core.messages.records import ControlCommand, Odometry
from ros2_cosim.driving.openscenario.arrival import Arriving
from ros2_cosim.driving.openscenario.beside import Beside
from ros2_cosim.driving.openscenario.places import neighbour
from ros2_cosim.driving.openscenario.story import (
    MAX_PARTS,
    NO_LIMIT,
    Dynamics,
    KeepAside,
    KeepDistance,
    LaneOffset,
    Performance,
    RelativeSpeed,
    SpeedAction,
    SpeedProfile,
    StoryLaneChange,
    StoryRoute,
    Synchronize,
    Trajectory,
    Vertex,
    Where,
)
from ros2_cosim.driving.openscenario.traffic import Measuring, Seen, Traffic
from ros2_cosim.driving.openscenario.trajectories import (
    PlannedPose,
    TrajectoryRun,
    far_from,
    ground_odometry,
    pose_of,
)
from ros2_cosim.world.drivers.lane_keeping import LOOKAHEAD_TIME, MIN_LOOKAHEAD, LaneKeeper
from ros2_cosim.world.drivers.leader_driver import LeaderDriver
from ros2_cosim.world.drivers.speed_profiles import Chain, SpeedCourse, SpeedPoint, Straight
from ros2_cosim.world.map import RoadError, RoadNetwork, RoadPosition, driving_direction
from ros2_cosim.world.map.lane_routes import Stretch, lane_route, roads_of
from ros2_cosim.world.vehicle import VEHICLES, loaded

_NS: Final = 1e9
_MAX_SPEED: Final = 100.0
#: A vehicle does not jump aside: what is to take no time takes what this acceleration allows
#: [m/s^2].
_LATERAL_LIMIT: Final = 3.0
#: The same along the road, for following the speed of another vehicle with a step [m/s^2].
_JUMP_LIMIT: Final = 20.0
#: Of a SpeedProfileAction without times and limits [m/s^2].
_USUAL_UP: Final = 5.0
_USUAL_DOWN: Final = 8.0
#: Where its lane ends a vehicle stops: with this deceleration [m/s^2], so far before the end [m].
_END_DECELERATION: Final = 6.0
_END_GAP: Final = 1.0
#: A vehicle is where it was put if it is so near to that [m].
_LANDED: Final = 2.0
#: A lane that is driven against is a line with corners so far from each other [m].
_AGAINST: Final = 5.0
#: Slower than that a vehicle may change its direction [m/s].
_ROLLS: Final = 0.05
#: From rest a vehicle makes up for the way that it has lost, at most for this much [m], with this
#: acceleration per way [1/s^2] and per speed that it lacks [1/s]: critically damped. What is
#: further from its speed than it can follow does not count [m/s].
_MOST_OWED: Final = 1.0
_OWED_GAIN: Final = 1.0
_LATE_GAIN: Final = 2.0
_NOT_FOLLOWED: Final = 1.0
#: Along a trajectory a slow vehicle looks less far ahead, as it would cut corners: so much nearer
#: [m], but at least so far [m], and so far as it comes in some times the lag of its steering.
_NEARER: Final = 1.2
_LEAST_AHEAD: Final = 1.0
_STEER_LAGS: Final = 4.5
#: Below this speed a vehicle hardly gets aside [m/s].
_SLOW: Final = 1.0
#: Longest action [s]: more than a day is never.
_LONGEST: Final = 1e5
#: Of keeping a distance: acceleration per error of the distance [1/s^2] and of the speed [1/s].
_GAP_GAIN: Final = 0.5
_CLOSING_GAIN: Final = 1.4
#: A distance that is kept within this counts as reached [m], [m/s].
_REACHED: Final = 0.2
_SAME_SPEED: Final = 0.2


class Eased(NamedTuple):
    """From one speed to another with a smooth begin and end.

    ``cubic``: a polynomial of third degree; otherwise half a cosine.
    """

    start: float
    end: float
    duration: float
    cubic: bool

    def at(self, t: float) -> SpeedPoint:
        """The motion at t."""
        share = t / self.duration
        difference = self.end - self.start
        if self.cubic:
            done, rate = share * share * (3.0 - 2.0 * share), 6.0 * share * (1.0 - share)
        else:
            done, rate = 0.5 * (1.0 - cos(PI * share)), 0.5 * PI * sin(PI * share)
        return SpeedPoint(self.start + difference * done, difference * rate / self.duration)


#: Largest rate of a shape in units of its mean rate.
_PEAK_RATE: Final = {"linear": 1.0, "sinusoidal": 0.5 * PI, "cubic": 1.5, "step": 1.0}
#: Largest second derivative of a shape, in units of way / duration^2; of a linear one, which has
#: none at its ends, that of a smooth one.
_PEAK_BEND: Final = {"linear": 6.0, "sinusoidal": 0.5 * PI * PI, "cubic": 6.0, "step": 5.78}
#: Share of a lateral way over the share of time; None: the keeper's own.
_LATERAL_SHAPES: Final[dict[str, Callable[[float], float] | None]] = {
    "linear": lambda share: share,
    "sinusoidal": lambda share: 0.5 * (1.0 - cos(PI * share)),
    "cubic": lambda share: share * share * (3.0 - 2.0 * share),
    "step": None,
}


def speed_profile(dynamics: Dynamics, start: float, end: float) -> SpeedCourse:
    """The speeds of a SpeedAction from one speed [m/s] to another."""
    shape, value = dynamics.shape, dynamics.value
    if shape == "step":
        return Straight(end, end, 0.0)
    if dynamics.dimension == "time":
        duration = value
    elif dynamics.dimension == "rate":
        difference = abs(end - start)
        duration = _PEAK_RATE[shape] * difference / value if value > 0.0 else 0.0
    else:
        # All shapes are symmetric: the mean speed is that of both ends.
        total = abs(start + end)
        duration = 2.0 * value / total if total > 0.0 else _LONGEST
    duration = min(duration, _LONGEST)
    if duration <= 0.0 or start == end:
        return Straight(end, end, max(duration, 0.0))
    if shape == "linear":
        return Straight(start, end, duration)
    return Eased(start, end, duration, shape == "cubic")


class Limited:
    """The task of a vehicle, within its limits.

    :param speed: at the start [m/s]
    :param period: that of the calls [s]
    """

    def __init__(self, limits: Performance, speed: float, period: float) -> None:
        self.limits = limits
        self._speed = speed
        self._period = period

    def within(self, wanted: SpeedPoint) -> SpeedPoint:
        """The speed that is as near to the wanted one as it can be; called in each period."""
        up, down, before = self.limits.max_acceleration, self.limits.max_deceleration, self._speed
        speed = min(wanted.speed, before + up * self._period, self.limits.max_speed)
        self._speed = speed = max(speed, before - down * self._period)
        if speed == wanted.speed:
            return SpeedPoint(speed, min(max(wanted.acceleration, -down), up))
        return SpeedPoint(speed, (speed - before) / self._period)


class Longitudinal(Protocol):
    """An action on the speed."""

    def motion(self, now: int, traffic: Traffic) -> SpeedPoint:
        """What the vehicle should do now [ns]."""

    def done(self, now: int, traffic: Traffic) -> bool:
        """Whether it is complete."""


class Profiled:
    """A speed over time."""

    def __init__(self, profile: SpeedCourse, began: int) -> None:
        self._profile = profile
        self._began = began

    def motion(self, now: int, traffic: Traffic) -> SpeedPoint:
        """What the vehicle should do now."""
        t = (now - self._began) / _NS
        duration = self._profile.duration
        if t >= duration:
            return SpeedPoint(self._profile.at(duration).speed, 0.0)
        return self._profile.at(t)

    def done(self, now: int, traffic: Traffic) -> bool:
        """Whether the time is over."""
        return (now - self._began) / _NS >= self._profile.duration


class Tracked:
    """A speed relative to that of another vehicle, for ever: reached by the dynamics, then kept."""

    def __init__(
        self, action: SpeedAction, start: float, began: int, possible: Callable[[float], float]
    ) -> None:
        assert action.relative is not None
        self._relative = action.relative
        self._possible = possible
        self._dynamics = action.dynamics
        self._start = start
        self._began = began

    def motion(self, now: int, traffic: Traffic) -> SpeedPoint:
        """What the vehicle should do now."""
        other = self._relative.to
        target = self._possible(relative_target(self._relative, traffic.seen[other]))
        profile = speed_profile(self._dynamics, self._start, target)
        t = (now - self._began) / _NS
        if t < profile.duration:
            return profile.at(t)
        factor = self._relative.value if self._relative.factor else 1.0
        limit = _JUMP_LIMIT
        acceleration = min(max(factor * traffic.acceleration[other], -limit), limit)
        return SpeedPoint(target, acceleration)

    def done(self, now: int, traffic: Traffic) -> bool:
        """Never."""
        return False


class Following:
    """Keeps a distance behind or ahead of another vehicle, by a proportional-differential law."""

    def __init__(self, action: KeepDistance, name: str, speed: float, began: int) -> None:
        self._action = action
        self._name = name
        self._speed = speed
        self._time = began
        self._error = 0.0

    def motion(self, now: int, traffic: Traffic) -> SpeedPoint:
        """What the vehicle should do now."""
        action, own = self._action, traffic.seen[self._name]
        way, closing = self._look(traffic)
        wanted = action.distance
        if wanted is None:
            assert action.time_gap is not None
            wanted = action.time_gap * max(own.speed, 0.0)
        ahead = way < 0.0 if action.lead is None else action.lead
        self._error = way + wanted if ahead else way - wanted
        demand = _GAP_GAIN * self._error - _CLOSING_GAIN * closing
        demand = min(max(demand, -action.max_deceleration), action.max_acceleration)
        before, self._time = self._time, now
        speed = self._speed + demand * (now - before) / _NS
        self._speed = min(max(speed, 0.0), action.max_speed)
        # What the plant could not follow must not add up.
        self._speed = min(max(self._speed, own.speed - 1.0, 0.0), own.speed + 1.0)
        return SpeedPoint(self._speed, demand)

    def done(self, now: int, traffic: Traffic) -> bool:
        """Whether the distance is reached, if that ends the action."""
        if self._action.continuous:
            return False
        _, closing = self._look(traffic)
        return abs(self._error) <= _REACHED and abs(closing) <= _SAME_SPEED and self._time > 0

    def _look(self, traffic: Traffic) -> tuple[float, float]:
        own, other = traffic.seen[self._name], traffic.seen[self._action.to]
        how = Measuring(
            "longitudinal", self._action.freespace, True, traffic.network_of(self._name)
        )
        way = traffic.way(own, other, how)
        if abs(way) > 1e9:
            way = traffic.way(own, other, how._replace(along_road=False))
        # Of one ahead; the gap to one behind grows by it.
        return way, own.speed - other.speed * (own.cos * other.cos + own.sin * other.sin)


#: Standing still.
STANDS: Final = Profiled(Straight(0.0, 0.0, 0.0), 0)
#: Later than any time of a run [ns].
NEVER: Final = 1 << 62


class Lateral(NamedTuple):
    """An action on the place across the road: when it is complete [ns]."""

    until: int

    def done(self, now: int, traffic: Traffic) -> bool:
        """Whether the time is over."""
        return now >= self.until


def relative_target(relative: RelativeSpeed, other: Seen) -> float:
    """The speed [m/s] that a relative one means now."""
    if relative.factor:
        return relative.value * other.speed
    return other.speed + relative.value


class Mover:
    """What obeys actions on its speed.

    :param name: of the vehicle or pedestrian
    :param speed: at the start [m/s]
    :param limits: what it can at most
    """

    #: Whether it goes beside roads, too.
    _walks = False
    #: The lowest speed, below 0 that of the reverse gear [m/s].
    _least = 0.0

    def __init__(self, name: str, speed: float, limits: Performance | None = None) -> None:
        self.name = name
        self.limits = limits or Performance()
        self._longitudinal: Longitudinal = Profiled(Straight(speed, speed, 0.0), 0)
        self._speed = speed
        #: Whether its speeds have begun at rest.
        self._from_rest = False

    def set_speed(self, action: SpeedAction, traffic: Traffic) -> Longitudinal:
        """Begin a SpeedAction."""
        relative = action.relative
        if relative is not None and relative.continuous:
            return self._drive(Tracked(action, self._speed, traffic.time, self._possible))
        target = action.target
        if target is None:
            assert relative is not None
            target = relative_target(relative, traffic.seen[relative.to])
        profile = speed_profile(action.dynamics, self._speed, self._possible(target))
        return self._drive(Profiled(profile, traffic.time))

    def _possible(self, wanted: float) -> float:
        """A speed that it can have."""
        return min(max(wanted, self._least), _MAX_SPEED)

    def set_profile(self, action: SpeedProfile, traffic: Traffic) -> Longitudinal:
        """Begin a SpeedProfileAction."""
        speed = self._speed
        parts: list[SpeedCourse] = []
        for number, wanted in enumerate(action.speeds):
            end = self._possible(wanted)
            duration = self._least_time(action, end - speed)
            if action.times is not None:
                before = action.times[number - 1] if number else 0.0
                duration = max(action.times[number] - before, duration)
            parts.append(Straight(speed if duration > 0.0 else end, end, duration))
            speed = end
        return self._drive(Profiled(Chain(parts), traffic.time))

    def _least_time(self, action: SpeedProfile, change: float) -> float:
        """How long a change of the speed [m/s] takes at least [s]."""
        up, down = action.max_acceleration, action.max_deceleration
        if action.times is None:
            up, down = up or _USUAL_UP, down or _USUAL_DOWN
        limit = min(up or NO_LIMIT, self.limits.max_acceleration)
        if change <= 0.0:
            limit = min(down or NO_LIMIT, self.limits.max_deceleration)
        return abs(change) / limit if limit < NO_LIMIT else 0.0

    def keep_distance(self, action: KeepDistance, traffic: Traffic) -> Longitudinal:
        """Begin a LongitudinalDistanceAction."""
        return self._drive(Following(action, self.name, self._speed, traffic.time))

    def synchronize(self, action: Synchronize, traffic: Traffic) -> Longitudinal:
        """Begin a SynchronizeAction."""
        arriving = Arriving(action, self.name, self._speed, traffic, walks=self._walks)
        return self._drive(arriving)

    def _drive(self, longitudinal: Longitudinal) -> Longitudinal:
        self._longitudinal = longitudinal
        self._from_rest = isinstance(longitudinal, Profiled) and self._speed == 0.0
        return longitudinal


class StoryActor(Mover):
    """A vehicle that a storyboard drives, asked in order of time."""

    def __init__(
        self,
        name: str,
        network: RoadNetwork,
        dynamics: str,
        lane: int,
        offset: float = 0.0,
        *,
        speed: float,
        length: float,
        period: int,
        limits: Performance | None = None,
        chassis: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0),
    ) -> None:
        """Begin in a lane, ``offset`` [m] from its centre towards larger t, at a speed [m/s].

        ``period`` is that of the calls [ns]. ``chassis`` is what ``loaded`` takes: mass [kg],
        wheelbase, radius of the wheels [m] and their largest angle [rad]; 0 is that of the class.
        """
        super().__init__(name, speed, limits)
        self._limited = Limited(self.limits, speed, period / _NS)
        parameters = loaded(VEHICLES[dynamics], *chassis)
        self._least = -parameters.max_reverse_speed
        self._network = network
        self._period = period
        self._keeper = LaneKeeper(network, parameters, lane, offset)
        self._half = 0.5 * length
        #: One for the way ahead, one for the way back.
        self._driver, self._backing = (
            LeaderDriver(
                parameters,
                cruise_speed=max(abs(speed), 0.1),
                stop_gap=_END_GAP,
                deceleration=min(_END_DECELERATION, self.limits.max_deceleration),
                period=period / _NS,
            )
            for _ in range(2)
        )
        #: How far from the centre of its lane it goes backwards, towards larger t [m].
        self._back: float | None = None
        #: The way that it is behind that of its speeds [m].
        self._owed = 0.0
        self._parameters = parameters
        #: What it follows instead of a lane.
        self._trajectory: TrajectoryRun | None = None
        #: What moves the line that it keeps.
        self._beside: Beside | None = None
        self._odometry: Odometry | None = None
        #: The place of the next teleport, and that of a teleport that has not happened yet.
        self._target: PlannedPose | None = None
        self._landing: PlannedPose | None = None

    def teleport(self, where: Where, traffic: Traffic) -> None:
        """Begin a TeleportAction: it drives on from there, in the lane that is there.

        :raises RoadError: a lane that the place counts from is not there
        """
        self._target = pose_of(where, traffic)
        self._trajectory, self._beside = None, None
        traffic.lines.pop(self.name, None)
        traffic.routed.pop(self.name, None)
        self._network = traffic.network

    def vanish(self, traffic: Traffic) -> None:
        """It is out of the world from now on."""
        seen = traffic.seen[self.name]
        self._target = far_from(PlannedPose(seen.x, seen.y, 0.0), self.name, traffic)
        self._speed, self._limited = 0.0, Limited(self.limits, 0.0, self._period / _NS)
        self._drive(STANDS)
        self._trajectory, self._beside = None, None

    def keep_distance(self, action: KeepDistance, traffic: Traffic) -> Longitudinal:
        """Begin a LongitudinalDistanceAction, with a jump to that distance where it says so."""
        if action.jumps:
            self._jump(action, traffic)
        return super().keep_distance(action, traffic)

    def _jump(self, action: KeepDistance, traffic: Traffic) -> None:
        """Be at a distance of another vehicle of the same road at once; else it drives there."""
        own, other = traffic.seen[self.name], traffic.seen[action.to]
        if own.position.road_id != other.position.road_id or own.along != other.along:
            return
        way = action.distance
        if way is None:
            assert action.time_gap is not None
            way = action.time_gap * abs(other.speed)
        ahead = own.along * (own.position.s - other.position.s) >= 0.0
        ahead = ahead if action.lead is None else action.lead
        if action.freespace:
            way += own.lane.half + other.lane.half
            way += other.centre - own.centre if ahead else own.centre - other.centre
        aside = own.along * (own.position.t - other.position.t)
        turn = 0.0 if own.along > 0.0 else PI
        there = Where(x=way if ahead else -way, y=aside, to=action.to, frame="road", heading=turn)
        try:
            self.teleport(there, traffic)
        except RoadError:  # the road is not that long
            return
        self._speed = max(other.speed, 0.0)
        self._limited = Limited(self.limits, self._speed, self._period / _NS)

    def placed(self, traffic: Traffic) -> Odometry | None:
        """Where the vehicle is to be put now; None: it stays. To be asked after ``command``."""
        if self._target is None:
            return None
        self._landing, self._target = self._target, None
        centre = traffic.seen[self.name].centre
        return ground_odometry(self._landing.ahead(centre, 0.0, 0.0), self._speed, traffic)

    def _land(self, odometry: Odometry, pose: PlannedPose, traffic: Traffic) -> bool:
        """Take the lane of the place that the vehicle was put to, once it is there.

        :raises ConfigurationError: no lane there leads where the vehicle heads
        """
        seen = traffic.seen[self.name]
        x, y = seen.reference
        if hypot(x - pose.x, y - pose.y) > _LANDED + abs(seen.speed):
            return False
        self._landing = None
        self._odometry = odometry
        if not self._leave_trajectory(traffic):
            raise ConfigurationError(
                f"vehicle '{self.name}': teleport: found a place without a lane that leads where "
                f"it heads, at ({pose.x:.1f}, {pose.y:.1f}); allowed is one in a lane"
            )
        return True

    def take_route(self, action: StoryRoute, traffic: Traffic) -> None:
        """Turn in junctions as a route does from now on.

        :raises ConfigurationError: the vehicle's lane does not lead to its begin
        """
        here, roads = traffic.seen[self.name].position, list(action.roads)
        if here.road_id not in roads:
            network = traffic.network
            own = Stretch(here.road_id, self._keeper.lane_id, here.s)
            way = lane_route(network, own, Stretch(action.road, action.lane, action.s))
            if way is None:
                raise ConfigurationError(
                    f"vehicle '{self.name}': route: found road {own.road}, lane {own.lane}, "
                    f"s={own.s:.1f} m; allowed is a place whose lane leads to road {action.road}, "
                    f"s={action.s:g} m, without a change"
                )
            joined = roads_of(network, way)
            roads = joined + [road for road in roads if road not in joined[-1:]]
        self._network = self._keeper.network = traffic.network.along(roads)
        traffic.routed[self.name] = self._network

    def follow(self, action: Trajectory, traffic: Traffic) -> TrajectoryRun:
        """Begin a FollowTrajectoryAction.

        :raises ConfigurationError: it has no length, or its times do not grow
        """
        found = TrajectoryRun(action, self.name, traffic)
        self._trajectory, self._beside = found, None
        traffic.lines[self.name] = found.path
        if found.is_timed:
            self._drive(found)
        return found

    def _leave_trajectory(self, traffic: Traffic) -> bool:
        """Keep the nearest lane that leads the same way from now on, if there is one."""
        seen = traffic.seen[self.name]
        here = seen.position
        lanes = [
            lane
            for lane in self._network.lane_ids(here.road_id, here.s, "driving")
            if driving_direction(lane) * seen.along > 0.0
        ]
        if not lanes or self._odometry is None:
            return False
        centre = {i: self._network.lane_centre(here.road_id, i, here.s) for i in lanes}
        lane = min(lanes, key=lambda i: abs(centre[i] - here.t))
        self._trajectory = None
        traffic.lines.pop(self.name, None)
        self._keeper = LaneKeeper(self._network, self._parameters, lane)
        self._keeper.steer(self._odometry, here)
        return True

    def change_lane(self, action: StoryLaneChange, traffic: Traffic) -> Lateral:
        """Begin a LaneChangeAction.

        :raises ConfigurationError: the road has no such lane here
        """
        self._require_lane("lane change", traffic)
        lane, own = action.lane, traffic.seen[self.name]
        if action.relative_to is not None:
            other = traffic.seen[action.relative_to]
            lane = other.position.lane_id or self._keeper.lane_id
            lane = neighbour(lane, action.lane, other.along) if action.lane else lane
        offset = action.offset
        here = own.position
        driven = self._network.lane_ids(here.road_id, here.s, "driving")
        if (lane > 0) != (self._keeper.lane_id > 0) or lane not in driven:
            lane, offset = self._beside_own(own, lane, offset)
        way = self._way_aside(own, lane, offset)
        shape, value = action.dynamics.shape, action.dynamics.value
        if action.dynamics.dimension == "distance":
            duration = value / max(own.speed, 1.0)
        elif action.dynamics.dimension == "rate":
            duration = _PEAK_RATE[shape] * way / value if value > 0.0 else 0.0
        else:
            duration = value
        if shape == "step":
            duration = 0.0
        return self._aside(lane, offset, shape, way, duration, _LATERAL_LIMIT, traffic)

    def change_offset(self, action: LaneOffset, traffic: Traffic) -> Lateral:
        """Begin a LaneOffsetAction.

        :raises ConfigurationError: the vehicle is in no lane
        """
        self._require_lane("lane offset", traffic)
        lane, offset, own = self._keeper.lane_id, action.offset, traffic.seen[self.name]
        if action.relative_to is not None:
            here = own.position
            centre = self._network.lane_centre(here.road_id, lane, here.s)
            offset += traffic.seen[action.relative_to].position.t - centre
        way = self._way_aside(own, lane, offset)
        limit = min(action.max_acceleration, _LATERAL_LIMIT)
        found = self._aside(lane, offset, action.shape, way, 0.0, limit, traffic)
        return Lateral(NEVER) if action.continuous else found

    def keep_aside(self, action: KeepAside, traffic: Traffic) -> Beside:
        """Begin a LateralDistanceAction.

        :raises ConfigurationError: the vehicle is in no lane
        """
        self._require_lane("lateral distance", traffic)
        self._beside = Beside(action, self.name, traffic, self._period / _NS)
        return self._beside

    def _keep_line(self, beside: Beside, traffic: Traffic) -> None:
        """Keep the line where it is now."""
        here, lane = traffic.seen[self.name].position, self._keeper.lane_id
        offset = beside.line(traffic) - self._network.lane_centre(here.road_id, lane, here.s)
        self._keeper.change_lane(lane, 1, offset=offset)

    def _require_lane(self, what: str, traffic: Traffic) -> None:
        """Leave a trajectory: what is done in lanes takes its place."""
        if self._trajectory is not None and not self._leave_trajectory(traffic):
            raise ConfigurationError(
                f"vehicle '{self.name}': {what}: found a vehicle on a trajectory beside all lanes; "
                "allowed is one in a lane"
            )

    def _beside_own(self, own: Seen, lane: int, offset: float) -> tuple[int, float]:
        """A lane of the other direction, or one for others, as the own lane with an offset."""
        here = own.position
        lanes = self._network.lane_ids(here.road_id, here.s)
        kept = self._keeper.lane_id
        if lane not in lanes or kept not in lanes:
            raise ConfigurationError(
                f"vehicle '{self.name}': lane change: found lane {lane}; allowed on road "
                f"{here.road_id} at s={here.s:.1f} m are {', '.join(map(str, lanes))}"
            )
        there = self._network.lane_centre(here.road_id, lane, here.s)
        return kept, there - self._network.lane_centre(here.road_id, kept, here.s) + offset

    def _way_aside(self, own: Seen, lane: int, offset: float) -> float:
        here = own.position
        if lane not in self._network.lane_ids(here.road_id, here.s):
            return 0.0  # the keeper says what is wrong
        centre = self._network.lane_centre(here.road_id, lane, here.s)
        return abs(centre + offset - here.t)

    def _aside(
        self, lane: int, offset: float, shape: str, way: float, duration: float, limit: float,
        traffic: Traffic,
    ) -> Lateral:  # fmt: skip
        self._beside = None
        least = sqrt(_PEAK_BEND[shape] * way / limit)
        taken = min(max(duration, least), _LONGEST)
        calls = max(round(taken * _NS / self._period), 1)
        curve = _LATERAL_SHAPES[shape]
        if curve is not None:
            # Steering aims at a point ahead: at the place to reach when the vehicle is there.
            speed = max(traffic.seen[self.name].speed, _SLOW)
            curve = _ahead(curve, max(MIN_LOOKAHEAD / speed, LOOKAHEAD_TIME) / max(taken, 0.1))
        try:
            self._keeper.change_lane(lane, calls, offset=offset, shape=curve)
        except ConfigurationError as error:
            raise ConfigurationError(f"vehicle '{self.name}': {error}") from None
        # A step is complete at once, however long the vehicle takes.
        complete = duration if shape == "step" else taken
        return Lateral(traffic.time + round(complete * _NS))

    def locate(self, odometry: Odometry, traffic: Traffic) -> None:
        """Tell where the vehicle is, before it acts."""
        first, self._odometry = self._odometry is None, odometry
        seen = traffic.seen[self.name]
        if self._keeper.position is None:
            self._keeper.steer(odometry, seen.position)
        if first and driving_direction(self._keeper.lane_id) * seen.along < 0.0:
            self._go_against(seen, traffic)

    def _go_against(self, seen: Seen, traffic: Traffic) -> None:
        """Follow the own lane against its direction, as far as it comes from: as a trajectory."""
        network, lane = self._network, self._keeper.lane_id
        road, s = seen.position.road_id, seen.position.s
        aside = seen.position.t - network.lane_centre(road, lane, s)
        points: list[Vertex] = []
        while len(points) < MAX_PARTS:
            t = network.lane_centre(road, lane, s) + aside
            x, y, _, _ = network.pose(road, s, t)
            points.append(Vertex(at=Where(x=x, y=y)))
            s -= driving_direction(lane) * _AGAINST
            if not 0.0 <= s <= network.length(road):
                before = network.lane_before(road, lane)
                if before is None:
                    break
                road, lane, s = before
            elif lane not in network.lane_ids(road, s):
                break
        if len(points) > 1:
            self.follow(Trajectory(polyline=tuple(points)), traffic)

    def command(self, odometry: Odometry, traffic: Traffic) -> ControlCommand:
        """The present command of the vehicle.

        :raises RoadError: its lane is not there any more
        """
        if self.name in traffic.gone:
            self._landing = None
            return ControlCommand(0.0, 0.0, 1.0, 0.0)
        on_its_way = self._landing is not None and not self._land(odometry, self._landing, traffic)
        if self._target is not None or on_its_way:
            self._speed = self._motion(traffic).speed
            return ControlCommand(0.0, 0.0, 0.0, 0.0)
        if self._trajectory is not None:
            self._trajectory.look(traffic)
            if self._trajectory.over:
                self._leave_trajectory(traffic)  # or go straight on
        position = traffic.seen[self.name].position
        motion = self._motion(traffic)
        self._speed = motion.speed
        motion = self._caught_up(motion, odometry.vx)
        if self._beside is not None:
            self._keep_line(self._beside, traffic)
        backwards = motion.speed < 0.0 or odometry.vx < -_ROLLS
        room = None
        if self._trajectory is None:
            direction = float(driving_direction(self._keeper.lane_id))
            steer = self._keeper.steer(odometry, position)
            if backwards:
                steer = self._steer_back(odometry, traffic)
            else:
                room, self._back = self._room(odometry.vx), None
        else:
            direction = traffic.seen[self.name].along
            steer = self._steer_along(self._trajectory, odometry, traffic, backwards)
        slope = direction * self._network.slope(position.road_id, position.s)
        if backwards:
            return self._go_back(odometry.vx, motion, slope, steer)
        demand = self._driver.follow(odometry.vx, motion.speed, motion.acceleration, room, slope)
        return ControlCommand(demand.acceleration, demand.throttle, demand.brake, steer)

    def _go_back(self, vx: float, motion: SpeedPoint, slope: float, steer: float) -> ControlCommand:
        """The command of a vehicle that goes backwards, or is to do so: a mirrored driver's."""
        speed, acceleration = motion
        if vx > _ROLLS:  # it stops first
            demand = self._driver.follow(vx, 0.0, min(acceleration, 0.0), None, slope)
            return ControlCommand(demand.acceleration, demand.throttle, demand.brake, steer)
        if speed > 0.0:
            speed, acceleration = 0.0, max(acceleration, 0.0)
        demand = self._backing.follow(-vx, -speed, 0.0 - acceleration, None, 0.0 - slope)
        back = (0.0 - demand.acceleration, 0.0 - demand.throttle)
        return ControlCommand(*back, demand.brake, steer)

    def _motion(self, traffic: Traffic) -> SpeedPoint:
        """What it is to do now."""
        return self._limited.within(self._longitudinal.motion(traffic.time, traffic))

    def _caught_up(self, motion: SpeedPoint, vx: float) -> SpeedPoint:
        """The same after a start from rest, where brake and drive come late: the way that the
        speeds mean is made up for.
        """
        late = motion.speed - vx
        if not self._from_rest or motion.speed == 0.0 or abs(late) > _NOT_FOLLOWED:
            self._owed = 0.0
            return motion
        owed = self._owed + late * self._period / _NS
        self._owed = owed = min(max(owed, -_MOST_OWED), _MOST_OWED)
        more = _LATE_GAIN * late + _OWED_GAIN * owed
        return SpeedPoint(max(vx, _ROLLS), motion.acceleration + more)

    def _steer_back(self, odometry: Odometry, traffic: Traffic) -> float:
        """Steering backwards beside the centre of the lane, as far from it as at the begin."""
        network, lane, here = self._network, self._keeper.lane_id, self._keeper.position
        assert here is not None
        if self._back is None:
            self._back = here.t - network.lane_centre(here.road_id, lane, here.s)
        way = traffic.seen[self.name].centre + MIN_LOOKAHEAD
        s = here.s - driving_direction(lane) * way
        if not 0.0 <= s <= network.length(here.road_id):
            return 0.0
        if lane not in network.lane_ids(here.road_id, s):
            return 0.0
        t = network.lane_centre(here.road_id, lane, s) + self._back
        x, y, _, _ = network.pose(here.road_id, s, t)
        return self._steer_to_back(odometry, x, y, traffic)

    def _steer_to_back(self, odometry: Odometry, x: float, y: float, traffic: Traffic) -> float:
        """Steering backwards to a point: on the circle along the heading of the rear axle."""
        rear_x, rear_y = traffic.seen[self.name].reference
        return self._keeper.steer_to(odometry, x - rear_x + odometry.x, y - rear_y + odometry.y)

    def _steer_along(
        self, trajectory: TrajectoryRun, odometry: Odometry, traffic: Traffic, backwards: bool
    ) -> float:
        """Steering to the point of a trajectory that is ahead of the vehicle's middle, or behind
        its rear axle where it goes backwards.
        """
        if backwards:
            x, y = trajectory.path.at(trajectory.path.way + MIN_LOOKAHEAD)
            return self._steer_to_back(odometry, x, y, traffic)
        vx, lag = odometry.vx, self._parameters.steer_lag
        ahead = max(_LEAST_AHEAD, _STEER_LAGS * lag * vx, LOOKAHEAD_TIME * vx - _NEARER)
        centre = traffic.seen[self.name].centre
        x, y = trajectory.path.at(trajectory.path.way + centre + ahead)
        return self._keeper.steer_to(odometry, x, y)

    def _room(self, speed: float) -> float | None:
        """Way from the front to the end of the lane [m]; None: it goes on for long enough."""
        here, lane = self._keeper.position, self._keeper.lane_id
        assert here is not None
        network = self._network
        braking = 0.5 * speed * speed / self._driver.deceleration
        look = braking + speed + self._half + 2.0 * _END_GAP
        if lane not in network.lane_ids(here.road_id, here.s):
            return None
        road, last, s = network.advance(here.road_id, lane, here.s, look)
        if network.advance(here.road_id, lane, here.s, look + 1.0) != (road, last, s):
            return None
        if road == here.road_id:
            return abs(s - here.s) - self._half
        try:
            way = network.distance(here, RoadPosition(road, s, here.t, last, 0.0))
        except RoadError:
            return None
        return abs(way) - self._half


def _ahead(curve: Callable[[float], float], lead: float) -> Callable[[float], float]:
    """A curve over 0..1 that is ahead by a share."""
    return lambda share: curve(min(share + lead, 1.0))
