# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The referee: watches the platoon, ends the run at standstill, gives the verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf, isfinite
from typing import Annotated, Any

from pydantic import Field

from ros2_cosim.core.documents.settings import Duration, Number, PositiveDuration, Section
from ros2_cosim.core.kernel.errors import ConfigurationError, ModelError
from ros2_cosim.core.kernel.model import FullModel, Port, Report, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.kernel.saved_state import SavedAttributes
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.messages.message_types import (
    COLLISION,
    ODOMETRY,
    RED_LIGHTS_PASSED,
    ROAD_USERS,
    STATIC_OBJECTS,
    STATUS,
)
from ros2_cosim.core.messages.records import (
    CollisionEvent,
    Odometry,
    PlatoonStatus,
    RedLightsPassed,
    StaticObjects,
)
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.driving.measures.assessment import (
    ASSESSMENT_PARTS,
    Assessment,
    AssessmentParameters,
    EgoMotion,
)
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.encounters import Encounters, Extreme, MovingBox
from ros2_cosim.world.map.lane_boxes import LaneBoxes
from ros2_cosim.world.map.lane_frame import LaneBox, fixed_box, gap_ahead, seen_ahead
from ros2_cosim.world.map.movers import Movers, name_of, traffic_name
from ros2_cosim.world.map.scene import scene_boxes, scene_vehicles


class RefereeParameters(Section):
    """Parameters of the referee."""

    min_gap_limit: Number = Field(
        default=0.5,
        ge=0,
        description="smallest gap allowed from a vehicle of the platoon to any road user or "
        "obstacle on its way [m]",
    )
    time_limit: PositiveDuration = Field(
        default=120_000_000_000,
        description="simulated time by which all must stand still",
    )
    standstill_speed: Number = Field(
        default=0.02, gt=0, description="below this a vehicle stands still [m/s]"
    )
    standstill_time: Duration = Field(
        default=1_000_000_000, description="for how long all must stand still"
    )
    expect_standstill: Annotated[bool, Field(strict=True)] = Field(
        default=True,
        description="whether all must stand still by time_limit; if not, the run is only watched "
        "until then",
    )
    min_ttc_limit: Number | None = Field(
        default=None,
        gt=0,
        description="smallest time to collision allowed of the same pairs; default: no limit [s]",
    )
    max_deceleration_limit: Number | None = Field(
        default=None,
        gt=0,
        description="largest deceleration allowed of a follower, as the mean over a period; "
        "default: no limit [m/s^2]",
    )
    max_peak_growth_limit: Number | None = Field(
        default=None,
        ge=0,
        description="how much larger the braking peak of a follower may be than that of the one "
        "ahead; default: no limit [m/s^2]",
    )
    assessment: AssessmentParameters | None = Field(
        default=None,
        description="figures and limits of an assessment, of the followers, or of a platoon of one",
    )


class PlatoonReferee(FullModel):
    """Watches the platoon that ``scene.platoon`` names, to be activated periodically.

    Inputs, all latched: ``odometry/<vehicle>``, ``static_objects``, ``traffic``, ``collision``
    (CollisionEvent; the number of events is the newest sequence number plus one, so none is
    missed between two activations). Output at every activation: ``status`` (PlatoonStatus), with
    the gaps within the platoon. Smallest gap and time to collision are those of each vehicle of the
    platoon to all that is on its way (``encounters.py``).

    Sets ``stop_reason`` once all vehicles, having driven, have stood still for
    ``standstill_time``, or at ``time_limit``. While a vehicle's odometry is missing its speed
    counts as 0 and its gaps as infinite, and nothing ends the run but the time limit.

    What it cannot see does not pass. Without the input ``collision`` there is no verdict
    ``no_collision``, and an assessment is refused. While a vehicle of the platoon has never been
    seen, no verdict is met, and none about braking before all were seen twice. A place or speed
    that is not a finite number ends the run.

    :param boxes: the road with what is on it; default: that of the scene
    :raises ConfigurationError: no platoon, an unknown vehicle, the road cannot be read, or an
        assessment without contacts
    """

    DRIVEN_SPEED = 1.0
    """A vehicle has driven once it was faster than this [m/s]."""

    Parameters = RefereeParameters
    traits = Traits(cost_ns=200_000, exact_records=True)

    input_ports = (
        Port("odometry/{member}", ODOMETRY, description="of each vehicle of the platoon"),
        Port("odometry/{other}", ODOMETRY, required=False, description="may be on the way"),
        Port("static_objects", STATIC_OBJECTS, required=False),
        Port("traffic", ROAD_USERS, required=False, description="may be on the way"),
        Port("collision", COLLISION, required=False),
        Port("red_lights", RED_LIGHTS_PASSED, required=False, description="none may be passed"),
    )
    output_ports = (Port("status", STATUS),)
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: RefereeParameters
    ) -> Mapping[str, Sequence[str]]:
        """The vehicles of the platoon, and those of the scene that are not in it."""
        platoon = _platoon(context)
        others = [name for name in scene_settings(context).vehicles if name not in platoon]
        return {"member": platoon, "other": others}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: RefereeParameters) -> None:
        """Check whether the scene has the platoon, all sizes and a road, and contacts are seen."""
        _platoon(context)
        _check_contacts(context, parameters)
        scene_vehicles(context)
        scene_boxes(context)

    def __init__(
        self,
        context: ModelContext,
        parameters: RefereeParameters,
        *,
        boxes: LaneBoxes | None = None,
    ) -> None:
        platoon = _platoon(context)
        _check_contacts(context, parameters)
        vehicles = scene_vehicles(context)
        self._unseen = list(platoon)
        self._sees_contacts = "collision" in context.input_types
        self._platoon = [(name, f"odometry/{name}") for name in platoon]
        boxes = boxes or scene_boxes(context)
        self._road = boxes.road
        self._movers = Movers(boxes, vehicles)
        self._min_gap_limit = parameters.min_gap_limit
        self._time_limit = parameters.time_limit
        self._standstill_speed = parameters.standstill_speed
        self._standstill_time = parameters.standstill_time
        self._driven = [False] * len(platoon)
        self._obstacle: LaneBox | None = None
        self._obstacle_chosen = False
        self._still_since: int | None = None
        self._watch = Encounters(self._road)
        others = [name for name in vehicles if name not in platoon]
        self._others = [
            (name, f"odometry/{name}")
            for name in others
            if f"odometry/{name}" in context.input_types
        ]
        self._vehicles = vehicles
        self._fixed: list[MovingBox] = []
        self._first_collision = _NOBODY
        self._stood_at: int | None = None
        self._status = PlatoonStatus(inf, 0, False, (), ())
        self._expect_standstill = parameters.expect_standstill
        self._min_ttc_limit = parameters.min_ttc_limit
        self._max_deceleration_limit = parameters.max_deceleration_limit
        self._max_peak_growth_limit = parameters.max_peak_growth_limit
        self._peaks = [0.0] * len(platoon)
        self._before: tuple[int, tuple[float, ...]] | None = None
        self._has_compared = False
        self._sees_lights = "red_lights" in context.input_types
        self._red_lights = RedLightsPassed(0, 0)
        self._assessment: Assessment | None = None
        if parameters.assessment is not None:
            egos = platoon[1:] or platoon
            self._assessment = Assessment(egos, self._road, parameters.assessment)
        self._contacts = 0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Look once."""
        latest = step.latest
        boxes: list[LaneBox | None] = []
        speeds: list[float] = []
        movers: list[MovingBox] = []
        for index, (name, port) in enumerate(self._platoon):
            sample = latest[port]
            if sample is None:
                boxes.append(None)
                speeds.append(0.0)
                continue
            mover = self._vehicle(name, port, sample.value)
            boxes.append(mover.box)
            movers.append(mover)
            speed = sample.value.vx
            speeds.append(speed)
            if speed > self.DRIVEN_SPEED:
                self._driven[index] = True
        if self._unseen:
            there = {mover.name for mover in movers}
            self._unseen = [name for name in self._unseen if name not in there]
        gaps = tuple(self._gap(boxes[i + 1], boxes[i]) for i in range(len(boxes) - 1))
        static = latest.get("static_objects")
        if static is not None and not self._obstacle_chosen and boxes[0] is not None:
            self._obstacle = self._nearest_ahead(boxes[0], static.value)
            self._obstacle_chosen = True
            self._fixed = self._movers.fixed(static.value)
        others = [*movers, *self._beside(step)]
        self._watch.look(step.time, movers, [*others, *self._fixed])
        collision = latest.get("collision")
        if self._assessment is not None:
            if collision is not None and collision.seq >= self._contacts:
                if collision.seq > self._contacts:
                    self._assessment.contacts_unread(step.time, [*others, *self._fixed])
                self._contacts = collision.seq + 1
                self._assessment.contact(collision.stamp, *self._pair_of(collision.value))
            self._assessment.look(step.time, others, self._fixed)
        if collision is not None and self._first_collision.pair is None:
            pair = self._pair_of(collision.value)
            self._first_collision = Extreme(pair=pair, time=collision.stamp)
        red_lights = latest.get("red_lights")
        if red_lights is not None:
            self._red_lights = red_lights.value
        self._status = PlatoonStatus(
            obstacle_gap=self._gap(boxes[0], self._obstacle),
            collisions=0 if collision is None else collision.seq + 1,
            standstill=self._stands_still(step.time, speeds),
            gaps=gaps,
            speeds=tuple(speeds),
        )
        self._judge_braking(step.time, boxes)
        self._decide(step.time)
        return {"status": self._status}

    def _pair_of(self, event: CollisionEvent) -> tuple[str, str]:
        """The names of those that have a contact."""
        return name_of(event.vehicle, self._vehicles), name_of(event.other, self._vehicles)

    def _vehicle(self, name: str, port: str, odometry: Odometry) -> MovingBox:
        """One of the scene.

        :raises ModelError: its place or speed is not finite
        """
        self._check(port, name, odometry.x, odometry.y, odometry.vx, odometry.vy)
        return self._movers.vehicle(name, odometry)

    def _check(self, port: str, name: str, *numbers: float) -> None:
        """Check place and speed: NaN is not near, so that it would look like a large gap."""
        if not all(map(isfinite, numbers)):
            raise ModelError(
                f"input '{port}': found {', '.join(map(str, numbers))} as x, y, vx and vy of "
                f"{name}; allowed are finite numbers"
            )

    def _beside(self, step: Step) -> list[MovingBox]:
        """All that move and are not of the platoon."""
        latest = step.latest
        found = [
            self._vehicle(name, port, sample.value)
            for name, port in self._others
            if (sample := latest[port]) is not None
        ]
        traffic = latest.get("traffic")
        if traffic is not None:
            for user in traffic.value.users:
                self._check("traffic", traffic_name(user.id), user.x, user.y, user.vx, user.vy)
            found += self._movers.traffic(traffic.stamp, traffic.value)
        return found

    def _judge_braking(self, time: int, boxes: Sequence[LaneBox | None]) -> None:
        """Braking peaks from the change of the speeds."""
        speeds = self._status.speeds
        if any(box is None for box in boxes):
            return
        if self._before is not None and time > self._before[0]:
            seconds = (time - self._before[0]) / 1e9
            self._has_compared = True
            for i, old in enumerate(self._before[1]):
                self._peaks[i] = max(self._peaks[i], (old - speeds[i]) / seconds)
        self._before = (time, speeds)

    def _gap(self, behind: LaneBox | None, ahead: LaneBox | None) -> float:
        if behind is None or ahead is None:
            return inf
        return gap_ahead(self._road, behind, ahead)

    def _nearest_ahead(self, first: LaneBox, static: StaticObjects) -> LaneBox | None:
        """Return the fixed object that the first vehicle would hit if it kept its lane."""
        best, best_gap = None, inf
        for item in static.objects:
            box = fixed_box(self._road, item.x, item.y, item.yaw, item.length, item.width)
            gap, _, left, cos, sin = seen_ahead(self._road, first, box)
            reach = 0.5 * (first.width + box.length * abs(sin) + box.width * abs(cos))
            if 0.0 <= gap < best_gap and abs(left) < reach:
                best, best_gap = box, gap
        return best

    def _stands_still(self, time: int, speeds: Sequence[float]) -> bool:
        limit = self._standstill_speed
        if not all(self._driven) or any(not -limit < speed < limit for speed in speeds):
            self._still_since = None
            return False
        if self._still_since is None:
            self._still_since = time
        return time - self._still_since >= self._standstill_time

    def _decide(self, time: int) -> None:
        if self.stop_reason is not None:
            return
        if self._status.standstill and self._expect_standstill:
            self._stood_at = self._still_since
            self.stop_reason = "all vehicles stand still"
        elif time >= self._time_limit and not self._expect_standstill:
            self.stop_reason = f"watched for {format_ns(self._time_limit)}"
        elif time >= self._time_limit:
            moving = [
                f"{name} {speed:.2f} m/s"
                for (name, _), speed in zip(self._platoon, self._status.speeds, strict=True)
            ]
            self.stop_reason = (
                f"time limit {format_ns(self._time_limit)} reached before all vehicles stood"
                f" still ({', '.join(moving)})"
            )

    def save_state(self) -> Any:
        """Everything that it has seen so far."""
        return _STATE.save(self)

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        _STATE.restore(self, state)

    def report(self) -> Report:
        """Figures and the oracles of the run so far.

        Figures are ``collisions`` (None: not seen), ``min_gap_m``, ``final_gap_to_obstacle_m`` and
        ``min_ttc_s`` (None: none), and ``braking_peaks`` [m/s^2] of each vehicle. The oracle
        ``stands_before_obstacle`` is only there if an obstacle lies ahead and all are to stand.
        """
        status = self._status
        stood = self._stood_at is not None
        gap, ttc = self._watch.gap, self._watch.ttc
        first = self._first_collision
        verdicts = []
        if self._sees_contacts:
            count = status.collisions
            verdicts.append(_verdict("no_collision", count, 0, count == 0, first))
        good = gap.value >= self._min_gap_limit
        verdicts.append(_verdict("min_gap_m", _finite(gap.value), self._min_gap_limit, good, gap))
        if self._obstacle is not None and self._expect_standstill:
            room = status.obstacle_gap
            verdicts.append(
                _verdict("stands_before_obstacle", _finite(room), 0.0, stood and room > 0.0)
            )
        if self._expect_standstill:
            stood_s = None if self._stood_at is None else self._stood_at / 1e9
            verdicts.append(_verdict("stands_still_by_s", stood_s, self._time_limit / 1e9, stood))
        if self._sees_lights:
            passed = self._red_lights.vehicles + self._red_lights.traffic
            verdicts.append(_verdict("red_lights_passed", passed, 0, passed == 0))
        growth = max((b - a for a, b in pairwise(self._peaks)), default=0.0)
        worst = max(self._peaks[1:], default=0.0)
        if self._min_ttc_limit is not None:
            good = ttc.value >= self._min_ttc_limit
            verdicts.append(
                _verdict("min_ttc_s", _finite(ttc.value), self._min_ttc_limit, good, ttc)
            )
        for name, found, limit in (
            ("max_deceleration", worst, self._max_deceleration_limit),
            ("max_peak_growth", growth, self._max_peak_growth_limit),
        ):
            if limit is not None:
                value, good = (found, found <= limit) if self._has_compared else (None, False)
                verdicts.append(_verdict(name, value, limit, good))
        figures = {
            "collisions": status.collisions if self._sees_contacts else None,
            "min_gap_m": _finite(gap.value),
            "final_gap_to_obstacle_m": _finite(status.obstacle_gap),
            "min_ttc_s": _finite(ttc.value),
            "braking_peaks": list(self._peaks),
        }
        if self._assessment is not None:
            verdicts += [_verdict(*found) for found in self._assessment.verdicts()]
            figures |= {name: value for name, (value, _) in self._assessment.values().items()}
        if self._unseen:
            missing = f"{', '.join(self._unseen)} never seen"
            verdicts = [
                {**verdict, "value": missing, "passed": False} if verdict["passed"] else verdict
                for verdict in verdicts
            ]
        return Report(figures=figures, verdicts=verdicts)


#: What is kept of the road makes nothing but speed.
_NOBODY = Extreme()
_STATE = SavedAttributes(
    parts=(Encounters, Movers, *ASSESSMENT_PARTS),
    values=(LaneBox, MovingBox, Extreme, EgoMotion),
    constants=(LaneBoxes, RoadNetwork, Section),
)


def _platoon(context: ModelContext) -> tuple[str, ...]:
    """The platoon's vehicles.

    :raises ConfigurationError: there are none, or one stands there twice
    """
    platoon = scene_settings(context).platoon
    if not platoon or len(set(platoon)) != len(platoon):
        raise ConfigurationError(
            f"scene.platoon: found {list(platoon)}; allowed are one or more different names"
        )
    return platoon


def _check_contacts(context: ModelContext, parameters: RefereeParameters) -> None:
    """Check whether an assessment learns of contacts.

    :raises ConfigurationError: it does not
    """
    if parameters.assessment is not None and "collision" not in context.input_types:
        raise ConfigurationError(
            f"participants.{context.name}.inputs: 'collision' is missing; parameters.assessment "
            "needs it"
        )


def _finite(value: float) -> float | None:
    return value if -inf < value < inf else None


def _verdict(
    name: str, value: Any, limit: Any, passed: bool, of: Extreme = _NOBODY
) -> dict[str, Any]:
    """A verdict; with the pair and the time of the value where it is that of a pair."""
    found = {"name": name, "value": value, "limit": limit, "passed": passed}
    if of.pair is not None:
        assert of.time is not None
        found |= {"pair": list(of.pair), "time_s": of.time / 1e9}
    return found
