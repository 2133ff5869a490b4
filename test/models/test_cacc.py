# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The controller participant: choice of the object ahead, V2V age, fall-back, limits, stop."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.models import made

from ros2_cosim.core.kernel.errors import ConfigurationError, ParticipantError
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.messages.records import (
    CLASS_CAR,
    Acceleration,
    ControlCommand,
    DetectedObject,
    ObjectList,
    Odometry,
    TrafficLightAhead,
    V2VMessage,
)
from ros2_cosim.driving.cacc import CaccController
from ros2_cosim.driving.controllers import Measurement
from ros2_cosim.driving.controllers.parameters import CommandLimits, EmergencyBrake
from ros2_cosim.driving.controllers.safety import (
    BrakingEstimator,
    CommandLimiter,
    EmergencyBraking,
    StandstillHold,
)
from ros2_cosim.driving.controllers.tracking import AccelerationTracker
from ros2_cosim.world.vehicle import SEDAN, pedals_for

MS = 1_000_000


class Probe:
    """A law that remembers what it was asked."""

    def __init__(self, answer: Any = 0.5, needs: Sequence[str] = ()) -> None:
        self.answer = answer
        self.needs_v2v = tuple(needs)
        self.asked: list[Measurement] = []

    def acceleration(self, measurement: Measurement) -> float:
        self.asked.append(measurement)
        return self.answer


def behaviour(
    law: Any, *, name: str = "cacc", fallback: Any = None, **parameters: Any
) -> CaccController:
    """A controller with a law, and a fall-back law (or the name of one)."""
    if isinstance(fallback, str):
        fallback, parameters = None, {"fallback": fallback, **parameters}
    parameters = {"set_speed": 30.0, **parameters}
    return made(CaccController, parameters, name=name, law=law, fallback=fallback)


def thing(number: int, distance: float, rate: float = 0.0, offset: float = 0.0) -> DetectedObject:
    return DetectedObject(number, CLASS_CAR, distance, rate, offset, 4.5, 1.8, 1.0)


def beacon(sender: int, sent: int, commanded: float = 0.0, speed: float = 20.0) -> Sample:
    return Sample(sent, 0, V2VMessage(sender, sent, 0.0, 0.0, speed, -0.1, commanded, 4.5, False))


def step(
    time: int,
    things: Sequence[DetectedObject],
    *,
    speed: float = 20.0,
    leader: Sample | None = None,
    predecessor: Sample | None = None,
    light: tuple[int, float] | None = None,
) -> Step:
    odometry = Odometry(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, speed, 0.0, 0.0, 0.0, 0.0, 0.0)
    return Step(
        time,
        {},
        {
            "objects": Sample(time, 0, ObjectList(tuple(things))),
            "odometry": Sample(time, 0, odometry),
            "acceleration": Sample(time, 0, Acceleration(0.0, 0.0, 0.0)),
            "v2v_leader": leader,
            "v2v_predecessor": predecessor,
            "light": light and Sample(time, 0, TrafficLightAhead(1, *light)),
        },
    )


def drive(model: CaccController, *arguments: Any, **named: Any) -> ControlCommand:
    command = model.activate(step(*arguments, **named))["control"]
    assert isinstance(command, ControlCommand)
    return command


def test_a_law_is_one_method() -> None:
    class MyLaw:
        def acceleration(self, m: Measurement) -> float:
            return 0.3 * m.gap_error + 0.5 * m.gap_rate

    command = drive(behaviour(MyLaw(), integral_gain=0.0), 0, [thing(1, 15.0, -0.2)])
    assert command.acceleration == pytest.approx(0.3 * 1.0 - 0.5 * 0.2)
    assert command.throttle == pedals_for(SEDAN, command.acceleration, 20.0)[0]
    assert (command.brake, command.steer) == (0.0, 0.0)


def test_the_nearest_object_in_the_own_lane_is_followed() -> None:
    law = Probe()
    drive(behaviour(law), 0, [thing(5, 8.0, offset=3.4), thing(1, 30.0), thing(2, 14.0, -1.0)])
    (asked,) = law.asked
    assert (asked.gap, asked.gap_rate) == (14.0, -1.0)
    assert (asked.speed, asked.set_speed, asked.time_gap, asked.dt) == (20.0, 30.0, 0.6, 0.04)


def test_an_empty_road_is_cruised_and_the_set_speed_holds_behind_a_faster_one() -> None:
    law = Probe(2.0)
    model = behaviour(law)
    assert drive(model, 0, [], speed=29.0).acceleration == pytest.approx(0.4)
    assert model.mode == "cruise" and law.asked == []
    assert drive(model, 40 * MS, [thing(1, 90.0)], speed=29.5).acceleration == pytest.approx(0.2)
    assert model.mode == "law"


def test_peers_are_known_by_their_identity() -> None:
    law = Probe()
    model = behaviour(law)
    leader, other = beacon(1, 0, -0.5), beacon(2, 0, -0.7)
    drive(model, 60 * MS, [thing(2, 14.0)], leader=leader, predecessor=other)
    drive(model, 100 * MS, [thing(1, 14.0)], leader=leader)
    drive(model, 140 * MS, [thing(7, 14.0)], leader=leader, predecessor=other)
    first, second, third = law.asked
    assert first.predecessor is not None and first.leader is not None
    assert first.predecessor.commanded_acceleration == -0.7
    assert first.predecessor.age == pytest.approx(0.06)
    assert first.leader.commanded_acceleration == -0.5
    assert second.predecessor == second.leader is not None
    assert third.predecessor is None and third.leader is not None
    assert second.dt == pytest.approx(0.04)


@pytest.mark.parametrize("needs", [("predecessor",), ("leader",)])
def test_a_stale_beacon_hands_over_to_the_fall_back(needs: tuple[str, ...]) -> None:
    law, other = Probe(0.1, needs), Probe(-0.1)
    model = behaviour(law, fallback=other, v2v_timeout=0.2)
    heard = beacon(1, 0)
    for k in range(5):
        drive(model, 50 * k * MS, [thing(1, 14.0)], leader=heard)
    assert model.mode == "law" and len(law.asked) == 5
    drive(model, 250 * MS, [thing(1, 14.0)], leader=heard)
    assert model.mode == "fallback" and len(other.asked) == 1
    drive(model, 300 * MS, [thing(1, 14.0)], leader=beacon(1, 290 * MS))
    assert model.mode == "law"


def test_the_time_gap_opens_and_closes_slowly() -> None:
    law, other = Probe(0.0, ("predecessor",)), Probe(0.0)
    model = behaviour(law, fallback=other, time_gap_rate=0.1, fallback_time_gap=1.0)
    drive(model, 0, [thing(1, 13.0)], leader=beacon(1, 0))
    time = 0
    for _ in range(80):
        time += 100 * MS
        drive(model, time, [thing(1, 13.0)])
    gaps = [asked.time_gap for asked in other.asked]
    assert gaps[0] == pytest.approx(0.55 + 0.01)  # from the present gap, (13 - 2) / 20
    assert all(0.0 <= b - a <= 0.0101 for a, b in itertools.pairwise(gaps))
    assert gaps[-1] == pytest.approx(1.0)
    for _ in range(80):
        time += 100 * MS
        drive(model, time, [thing(1, 13.0)], leader=beacon(1, time))
    assert law.asked[1].time_gap == pytest.approx(0.99)
    assert law.asked[-1].time_gap == pytest.approx(0.6)


def test_the_demand_is_limited_in_size_and_rate() -> None:
    model = behaviour(Probe(-20.0), limits=CommandLimits(max_deceleration=6.0, max_brake_jerk=50.0))
    demands = [drive(model, 40 * k * MS, [thing(1, 60.0)]).acceleration for k in range(5)]
    assert demands == pytest.approx([-2.0, -4.0, -6.0, -6.0, -6.0])


def test_a_scenario_names_parts_by_plain_values() -> None:
    model = behaviour(
        Probe(-20.0, ("leader",)), fallback="cruise_control", set_speed=21.0,
        limits={"max_jerk": 1.0},
    )  # fmt: skip
    assert drive(model, 0, [thing(1, 60.0)]).acceleration == pytest.approx(0.04)
    assert model.mode == "fallback"


def test_the_emergency_brake_overrules_the_law() -> None:
    model = behaviour(Probe(0.0))
    command = drive(model, 0, [thing(1, 21.0, -15.0)])
    assert model.mode == "emergency"
    assert command.acceleration == pytest.approx(-1.2 * 15.0**2 / (2 * 20.0))
    assert command.brake > 0.0


def test_a_braking_object_is_answered_before_it_is_close() -> None:
    model = behaviour(Probe(0.0))
    for k in range(40):
        drive(model, 40 * k * MS, [thing(1, 20.0, -8.0 * 0.04 * k)])
        if model.mode == "emergency":
            break
    assert 5 < k < 20, "neither at once nor only when it has become slow"


def test_standing_behind_a_standing_object_is_held_without_creeping() -> None:
    law = Probe(0.2)
    model = behaviour(law, hold_brake=0.5)
    command = drive(model, 0, [thing(1, 2.2, 0.05)], speed=0.02)
    assert model.mode == "hold"
    assert command == ControlCommand(0.0, 0.0, 0.5, 0.0)
    assert drive(model, 40 * MS, [thing(1, 2.7, -0.1)], speed=0.0).brake == 0.5
    drive(model, 80 * MS, [thing(1, 2.7, 0.8)], speed=0.0)
    assert model.mode == "law"


def test_before_the_first_odometry_the_pedals_are_free() -> None:
    model = behaviour(Probe())
    empty = step(0, [])._replace(latest={"odometry": None, "objects": None})
    assert model.activate(empty)["control"] == ControlCommand(0.0, 0.0, 0.0, 0.0)
    assert model.mode == "waiting"


@pytest.mark.parametrize("answer", [math.nan, math.inf, None, "1"])
def test_a_law_that_gives_no_number_is_named(answer: Any) -> None:
    with pytest.raises(ParticipantError) as caught:
        drive(behaviour(Probe(answer), name="cacc7"), 40 * MS, [thing(1, 15.0)])
    assert str(caught.value) == (
        f"cacc7: the law Probe demanded {answer!r} at 40ms for gap 15 m, gap_rate 0 m/s, speed "
        "20 m/s; allowed is a finite number"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"time_gap": 0.0},
        {"standstill_gap": -1.0},
        {"set_speed": math.nan},
        {"vehicle": "tank"},
        {"law": object()},
        {"law": Probe(needs=("driver",))},
        {"integral_gain": -1.0},
        {"limits": {"max_decelration": 5.0}},
        {"limits": 5.0},
        {"emergency": {"trigger": 0.0}},
        {"fallback": "no_such_law"},
    ],
)
def test_impossible_controllers_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        behaviour(**{"law": Probe(), **wrong})


# --- the parts ---------------------------------------------------------------------------

finite = st.floats(-100.0, 100.0)


@given(finite, st.floats(-8.0, 2.5), st.floats(0.001, 1.0))
def test_limits_hold_for_every_demand(demand: float, previous: float, dt: float) -> None:
    limits = CommandLimits()
    found = CommandLimiter(limits).apply(demand, previous, dt)
    assert -limits.max_deceleration <= found <= limits.max_acceleration
    assert found - previous <= limits.max_jerk * dt + 1e-9
    assert previous - found <= limits.max_brake_jerk * dt + 1e-9
    if abs(demand - previous) < 1e-3 and -8.0 <= demand <= 2.5:
        assert found == pytest.approx(demand, abs=1e-3)


@given(st.floats(-5.0, 200.0), st.floats(-40.0, 40.0), st.floats(0.0, 40.0), st.floats(0.0, 10.0))
def test_emergency_demand_is_bounded_and_enough(
    gap: float, rate: float, speed: float, braking: float
) -> None:
    brake = EmergencyBrake()
    found = EmergencyBraking(brake).demand(gap, rate, speed, braking, 8.0)
    assert found is None or -8.0 <= found <= -brake.trigger
    if found is not None and found > -8.0 and rate < -0.1:
        assert rate * rate / (2 * -found) <= gap - brake.margin
    if rate >= 0.0 and braking == 0.0:
        assert found is None


def test_braking_is_estimated_from_speeds() -> None:
    estimator = BrakingEstimator()
    assert estimator.update(1, 20.0, 0.04) == 0.0
    values = [estimator.update(1, 20.0 - 0.04 * 5.0 * k, 0.04) for k in range(1, 60)]
    assert values == sorted(values)
    assert values[-1] == pytest.approx(5.0, rel=0.01)
    assert estimator.update(2, 3.0, 0.04) == 0.0
    assert estimator.update(2, 3.5, 0.04) == 0.0


def test_hold_does_not_flutter_within_the_noise() -> None:
    hold = StandstillHold()
    assert not hold.update(1.0, 2.0, 0.0, 2.0)
    assert hold.update(0.05, 2.3, 0.1, 2.0)
    assert hold.update(0.0, 3.5, 0.5, 2.0)
    assert not hold.update(0.0, 2.3, 0.7, 2.0)
    assert not hold.update(0.0, 2.3, 0.4, 2.0)
    assert hold.update(0.0, 2.3, 0.0, 2.0)
    assert not hold.update(0.0, 4.5, 0.0, 2.0)


def test_a_right_pedal_map_leaves_nothing_to_correct() -> None:
    lag, dt = 0.2, 0.04
    tracker = AccelerationTracker(pedals=lambda a, v: (a, 0.0), lag=lag, integral_gain=2.0)
    acceleration = 0.0
    for k in range(200):
        demand = math.sin(0.3 * k)
        throttle, _ = tracker.pedals(demand, acceleration, 20.0, dt)
        assert throttle == pytest.approx(demand, abs=1e-9)
        acceleration += (1.0 - math.exp(-dt / lag)) * (demand - acceleration)


def test_a_wrong_pedal_map_is_corrected_within_bounds() -> None:
    tracker = AccelerationTracker(pedals=lambda a, v: (a, 0.0), lag=0.2, integral_gain=0.5)
    throttle = 0.0
    for _ in range(2000):
        throttle, _ = tracker.pedals(1.0, throttle - 0.4, 20.0, 0.04)
    assert throttle == pytest.approx(1.4, abs=1e-3)
    for _ in range(2000):
        throttle, _ = tracker.pedals(1.0, -5.0, 20.0, 0.04)
    assert throttle == 2.0


def test_the_room_within_the_margin_is_not_nothing() -> None:
    hard = EmergencyBraking(EmergencyBrake(trigger=2.0))
    soft = EmergencyBraking(EmergencyBrake(trigger=2.0, least_room=0.1))
    # 0.3 m/s at 0.8 m, within the margin of 1 m: 0.56 m/s^2 is needed, and that is given.
    assert hard.demand(0.8, -0.3, 0.3, 0.0, 8.0) == -8.0
    assert soft.demand(0.8, -0.3, 0.3, 0.0, 8.0) == pytest.approx(-1.2 * 0.09 / (2.0 * 0.08))
    # At rest to each other it falls back; where the gap opens, it leaves it to the law.
    assert soft.demand(0.8, 0.0, 5.0, 0.0, 8.0) == pytest.approx(-1.2 * 0.5 * 0.2)
    assert soft.demand(0.8, 0.3, 5.0, 0.0, 8.0) is None
    for gap in (5.0, 20.0):
        assert hard.demand(gap, -9.0, 20.0, 3.0, 8.0) == soft.demand(gap, -9.0, 20.0, 3.0, 8.0)


@pytest.mark.parametrize("things", [[], [thing(1, 40.0)]], ids=["alone", "behind another"])
def test_a_red_light_stops_it_whatever_the_law_demands(things: list[DetectedObject]) -> None:
    """It holds at red, and goes on at green."""
    model = behaviour(Probe(2.0), set_speed=12.0)
    speed, way, time = 12.0, 60.0, 0
    modes = set()
    while time < 20_000 * MS:
        red = (0, way) if time < 15_000 * MS else (2, way)
        # No sensor that works measures the very same while the own speed changes.
        noise = 1e-3 * (time // (40 * MS) % 2)
        seen = [item._replace(distance=item.distance + noise) for item in things]
        demand = drive(model, time, seen, speed=speed, light=red).acceleration
        modes.add(model.mode)
        way -= speed * 0.04
        speed = max(0.0, speed + demand * 0.04)
        time += 40 * MS
        if red[0] == 0:
            assert way > 0.0
            stood = way, speed
    assert "light" in modes
    assert stood[0] == pytest.approx(1.0, abs=0.5) and stood[1] == 0.0
    assert speed > 1.0


def test_a_green_light_changes_nothing() -> None:
    free = drive(behaviour(Probe()), 0, [thing(1, 40.0)])
    assert drive(behaviour(Probe()), 0, [thing(1, 40.0)], light=(2, 5.0)) == free
