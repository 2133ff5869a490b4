# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How storyboards are played: triggers, priorities, actions and their shapes, on real vehicles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.played_stories import NOTHING, PERIOD, begins, figures, marker, played
from support.xosc_files import (
    at,
    by_entity,
    by_value,
    document,
    event,
    group,
    lane_change,
    private,
    speed,
    teleport,
)

from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.driving.openscenario.motion import speed_profile
from ros2_cosim.driving.openscenario.places import neighbour
from ros2_cosim.driving.openscenario.story import Dynamics, compare
from ros2_cosim.world.drivers.speed_profiles import SpeedCourse

#: So long a run goes on when it is to end [s].
LATENCY = 0.5


def when_slower(value: float, name: str = "A", edge: str = "none", delay: float = 0.0) -> str:
    return by_entity(f'<SpeedCondition value="{value}" rule="lessThan"/>', name, edge, delay)


pytestmark = pytest.mark.filterwarnings(
    "ignore::ros2_cosim.core.kernel.errors.WithoutEffectWarning"
)


@pytest.mark.parametrize(
    ("shape", "dimension", "value", "duration", "quarter"),
    [
        ("linear", "time", 4.0, 4.0, 17.5),
        ("sinusoidal", "time", 4.0, 4.0, 18.535533905932738),
        ("cubic", "time", 4.0, 4.0, 18.4375),
        ("linear", "rate", 2.0, 5.0, 17.5),
        ("sinusoidal", "rate", 2.0, 7.853981633974483, 18.535533905932738),
        ("cubic", "rate", 2.0, 7.5, 18.4375),
        ("linear", "distance", 30.0, 2.0, 17.5),
        ("cubic", "distance", 30.0, 2.0, 18.4375),
    ],
)
def test_shapes_of_a_change_of_speed(
    shape: Any, dimension: Any, value: float, duration: float, quarter: float
) -> None:
    dynamics = Dynamics(shape=shape, dimension=dimension, value=value)
    profile = speed_profile(dynamics, 20.0, 10.0)
    assert profile.duration == pytest.approx(duration)
    assert profile.at(0.0).speed == pytest.approx(20.0)
    assert profile.at(duration).speed == pytest.approx(10.0)
    assert profile.at(0.25 * duration).speed == pytest.approx(quarter)
    assert way_of(profile) == pytest.approx(15.0 * duration, rel=1e-6)
    # The derivative is that of the speed; its peak is the rate.
    steepest = min(profile.at(i * duration / 1000).acceleration for i in range(1001))
    if dimension == "rate":
        assert steepest == pytest.approx(-value)
    t, h = 0.3 * duration, 1e-4
    slope = (profile.at(t + h).speed - profile.at(t - h).speed) / (2.0 * h)
    assert profile.at(t).acceleration == pytest.approx(slope, rel=1e-6)


def way_of(profile: SpeedCourse) -> float:
    steps = 1000
    h = profile.duration / steps
    return sum(profile.at((i + 0.5) * h).speed for i in range(steps)) * h


def test_a_step_takes_no_time() -> None:
    profile = speed_profile(Dynamics(shape="step"), 20.0, 10.0)
    assert (profile.duration, profile.at(0.0).speed) == (0.0, 10.0)


@pytest.mark.parametrize(
    ("lane", "lanes", "along", "expected"),
    [(-2, 1, 1.0, -1), (-1, 1, 1.0, 1), (-1, -1, 1.0, -2), (1, 1, -1.0, -1), (2, -1, -1.0, 3)],
)
def test_lanes_to_the_left(lane: int, lanes: int, along: float, expected: int) -> None:
    assert neighbour(lane, lanes, along) == expected


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("lessThan", (True, False, False)),
        ("lessOrEqual", (True, True, False)),
        ("equalTo", (False, True, False)),
        ("notEqualTo", (True, False, True)),
        ("greaterOrEqual", (False, True, True)),
        ("greaterThan", (False, False, True)),
    ],
)
def test_rules(rule: str, holds: tuple[bool, ...]) -> None:
    assert tuple(compare(rule, found, 2.0) for found in (1.0, 2.0, 3.0)) == holds


def test_a_change_of_speed_is_driven_and_its_end_seen(tmp_path: Path) -> None:
    slower = event("slower", speed("10", 'dynamicsShape="linear" value="5"'), at(1.0))
    ended = by_value(
        '<StoryboardElementStateCondition storyboardElementType="action" '
        'storyboardElementRef="slower action" state="endTransition"/>'
    )
    marks = (
        marker("half", when_slower(15.0))
        + marker("ended", ended)
        + marker("later", when_slower(15.0, edge="rising", delay=1.5))
        + marker("never", when_slower(30.0, edge="rising"))
        + marker("back", when_slower(12.0, edge="falling"))
    )
    summary = played(tmp_path, document(group(slower + marks)))
    found = begins(summary)
    assert set(found) == {"slower", "half", "ended", "later"}
    assert found["slower"] == 1.0
    assert found["half"] == pytest.approx(3.5, abs=0.15)  # the plant follows closely
    assert found["later"] == pytest.approx(found["half"] + 1.5)
    # A transition is seen in the period after it.
    assert found["ended"] == pytest.approx(6.0 + PERIOD)
    assert figures(summary)["travelled_m"]["A"] == pytest.approx(
        20 + 75 + 40 + 10 * LATENCY, abs=1.0
    )
    assert [(v.name, v.passed) for v in summary.verdicts] == [("stop_trigger", True)]


def test_priorities_and_repetitions(tmp_path: Path) -> None:
    endless = speed(
        '<RelativeTargetSpeed entityRef="B" value="0" speedTargetValueType="delta" '
        'continuous="true"/>'
    )
    stopped = by_value(
        '<StoryboardElementStateCondition storyboardElementType="event" '
        'storyboardElementRef="follows" state="stopTransition"/>'
    )
    skipped = by_value(
        '<StoryboardElementStateCondition storyboardElementType="event" '
        'storyboardElementRef="skipped" state="skipTransition"/>'
    )
    events = (
        event("follows", endless, at(1.0))
        + event("skipped", NOTHING, at(2.0), "skip")
        + event("beside", NOTHING, at(3.0), "parallel")
        + event("instead", NOTHING, at(4.0), "overwrite")
    )
    marks = (
        marker("is stopped", stopped)
        + marker("is skipped", skipped)
        + marker("thrice", at(5.0), times=3)
    )
    summary = played(tmp_path, document(group(events) + group(marks, "B")))
    found = begins(summary)
    assert "skipped" not in found
    assert found["is skipped"] == pytest.approx(2.0 + PERIOD)
    assert found["beside"] == 3.0
    assert found["is stopped"] == pytest.approx(4.0 + PERIOD)
    names = [name for _, name in figures(summary)["events"]]
    assert names.count("thrice") == 3
    assert names.count("follows") == 1
    # Car A drives at car B's speed from the first second on, also after its event was stopped.
    assert figures(summary)["travelled_m"]["A"] == pytest.approx(22 + (9 + LATENCY) * 15, abs=3.0)


def test_conditions_of_distance(tmp_path: Path) -> None:
    # Car A starts 50 m behind car B, in the lane beside it, and is 5 m/s faster.
    def distance(kind: str, freespace: str, value: float) -> str:
        return by_entity(
            f'<RelativeDistanceCondition entityRef="B" relativeDistanceType="{kind}" '
            f'coordinateSystem="road" freespace="{freespace}" rule="lessThan" value="{value}"/>'
        )

    headway = by_entity(
        '<TimeHeadwayCondition entityRef="B" value="1.5" freespace="false" '
        'coordinateSystem="road" relativeDistanceType="longitudinal" rule="lessThan"/>'
    )
    collision = by_entity(
        '<TimeToCollisionCondition value="6" freespace="true" coordinateSystem="road" '
        'relativeDistanceType="longitudinal" rule="lessThan"><TimeToCollisionConditionTarget>'
        '<EntityRef entityRef="B"/></TimeToCollisionConditionTarget></TimeToCollisionCondition>'
    )
    place = '<Position><LanePosition roadId="1" laneId="-2" s="180"/></Position>'
    marks = (
        marker("points 20 m", distance("longitudinal", "false", 20.0))
        + marker("boxes 20 m", distance("longitudinal", "true", 20.0))
        + marker("beside", distance("euclidianDistance", "false", 4.0))
        + marker("boxes beside", distance("euclidianDistance", "true", 5.2))
        + marker("across", distance("lateral", "false", 3.6))
        + marker("headway", headway)
        + marker("time to collision", collision)
        + marker("reached", by_entity(
            f'<ReachPositionCondition tolerance="1">{place}</ReachPositionCondition>'))
        + marker("travelled", by_entity('<TraveledDistanceCondition value="60"/>'))
        + marker("relative speed", by_entity(
            '<RelativeSpeedCondition entityRef="B" rule="greaterThan" value="4"/>'))
        + marker("none", by_entity("<CollisionCondition><EntityRef entityRef='B'/>"
                                   "</CollisionCondition>"))
    )  # fmt: skip
    text = document(group(marks), by_value('<SimulationTimeCondition value="11" '
                                           'rule="greaterThan"/>'))  # fmt: skip
    found = begins(played(tmp_path, text))
    expected = {
        "points 20 m": 6.0,  # (50 - 20) / 5
        "boxes 20 m": 5.04,  # 4.8 m between centres and bumpers
        "boxes beside": 8.04,  # 4.98 m ahead, 1.5 m between the sides
        "beside": 9.62,  # 1.9 m ahead, 3.5 m between the middles
        "headway": 4.0,  # 30 m at 20 m/s
        "time to collision": 3.04,  # 30 m at 5 m/s, 4.8 m less
        "reached": 3.95,
        "travelled": 3.0,
        "relative speed": 0.0,
        "across": 0.0,
    }
    assert found == {name: pytest.approx(time, abs=0.15) for name, time in expected.items()}


def test_a_lane_change_ends_where_it_should(tmp_path: Path) -> None:
    change = event("left", lane_change('<RelativeTargetLane entityRef="B" value="0"/>'), at(1.0))
    offset = private(
        '<LateralAction><LaneOffsetAction continuous="false"><LaneOffsetActionDynamics '
        'dynamicsShape="cubic" maxLateralAcc="1"/><LaneOffsetTarget><AbsoluteTargetLaneOffset '
        'value="0.5"/></LaneOffsetTarget></LaneOffsetAction></LateralAction>'
    )
    aside = event("aside", offset, at(6.0))
    in_lane = (
        '<RelativeDistanceCondition entityRef="B" relativeDistanceType="lateral" '
        'coordinateSystem="road" freespace="false" rule="{}" value="{}"/>'
    )
    marks = (
        marker("half", by_entity(in_lane.format("lessThan", 1.75)))
        + marker("there", by_entity(in_lane.format("lessThan", 0.1)))
        + marker("beside", by_entity(in_lane.format("greaterThan", 0.4), edge="rising"))
    )
    start_b = '<LanePosition roadId="1" laneId="-1" s="300"/>'
    summary = played(tmp_path, document(group(change + aside + marks), start_b=start_b))
    found = begins(summary)
    assert found["half"] == pytest.approx(3.0, abs=0.3)
    assert found["there"] == pytest.approx(5.0, abs=0.5)
    assert found["beside"] == pytest.approx(7.5, abs=1.0)


def test_an_offset_relative_to_another_vehicle(tmp_path: Path) -> None:
    offset = private(
        '<LateralAction><LaneOffsetAction continuous="false"><LaneOffsetActionDynamics '
        'dynamicsShape="sinusoidal" maxLateralAcc="3"/><LaneOffsetTarget>'
        '<RelativeTargetLaneOffset entityRef="B" value="-1.5"/></LaneOffsetTarget>'
        "</LaneOffsetAction></LateralAction>"
    )
    beside = (
        '<RelativeDistanceCondition entityRef="B" relativeDistanceType="lateral" '
        'coordinateSystem="road" freespace="false" rule="lessThan" value="{}"/>'
    )
    marks = marker("there", by_entity(beside.format(1.6))) + marker(
        "too far", by_entity(beside.format(1.3))
    )
    text = document(group(event("aside", offset, at(1.0)) + marks))
    assert set(begins(played(tmp_path, text))) == {"aside", "there"}


def change(kind: str, name: str, how: str) -> str:
    """A ParameterAction or VariableAction."""
    reference = f'{kind.lower()}Ref="{name}"'
    return f"<GlobalAction><{kind}Action {reference}>{how}</{kind}Action></GlobalAction>"


def when(kind: str, name: str, rule: str, value: str) -> str:
    """A trigger by the value of a parameter or variable."""
    reference = f'{kind.lower()}Ref="{name}"'
    return by_value(f'<{kind}Condition {reference} rule="{rule}" value="{value}"/>')


def modify(rule: str) -> str:
    return f"<ModifyAction><Rule>{rule}</Rule></ModifyAction>"


VALUES = """<VariableDeclarations>
<VariableDeclaration name="mode" variableType="string" value="day"/>
<VariableDeclaration name="on" variableType="boolean" value="false"/></VariableDeclarations>
<CatalogLocations>"""


def test_values_change_and_conditions_see_it_in_the_next_period(tmp_path: Path) -> None:
    add, times = modify('<AddValue value="5"/>'), modify('<MultiplyByValue value="2"/>')
    actions = (
        event("set", change("Parameter", "p", '<SetAction value="11"/>'), at(1.0))
        + event("add", change("Parameter", "p", add), at(2.0))
        + event("double", change("Parameter", "p", times), at(3.0))
        + event("night", change("Variable", "mode", '<SetAction value="night"/>'), at(4.0))
        + event("on", change("Variable", "on", '<SetAction value="true"/>'), at(5.0))
    )
    marks = (
        marker("one", when("Parameter", "p", "equalTo", "1"))
        + marker("eleven", when("Parameter", "p", "greaterThan", "10"))
        + marker("sixteen", when("Parameter", "p", "equalTo", "16"))
        + marker("32", when("Parameter", "p", "greaterOrEqual", "32"))
        + marker("dark", when("Variable", "mode", "equalTo", "night"))
        + marker("is on", when("Variable", "on", "equalTo", "true"))
        + marker("never", when("Variable", "mode", "equalTo", "1"))
    )
    declared = '<ParameterDeclaration name="p" parameterType="integer" value="1"/>'
    # What sees the values stands before what changes them, and behind it.
    text = document(group(marks, "B") + group(actions), at(6.0), parameters=declared)
    text = text.replace("<CatalogLocations>", VALUES)
    found = begins(played(tmp_path, text))
    # A period after the action, though it stands behind what asks.
    seen = {"one": 0.0, "eleven": 1.02, "sixteen": 2.02, "32": 3.02, "dark": 4.02, "is on": 5.02}
    changes = {"set": 1.0, "add": 2.0, "double": 3.0, "night": 4.0, "on": 5.0}
    assert found == pytest.approx(seen | changes)


def test_conditions_see_from_the_first_period_on_what_init_has_set(tmp_path: Path) -> None:
    text = document(
        group(
            marker("one", when("Parameter", "p", "equalTo", "1"))
            + marker("two", when("Parameter", "p", "equalTo", "2"))
        ),
        at(1.0),
        parameters='<ParameterDeclaration name="p" parameterType="integer" value="1"/>',
    )
    set_first = change("Parameter", "p", '<SetAction value="2"/>')
    text = text.replace("<Init><Actions>", f"<Init><Actions>{set_first}")
    assert set_first in text
    assert begins(played(tmp_path, text)) == {"two": 0.0}


@pytest.mark.parametrize(
    ("action", "start", "said"),
    [
        (change("Parameter", "q", '<SetAction value="1"/>'), at(1.0), "found 'q'; allowed are"),
        (NOTHING, when("Variable", "v", "equalTo", "1"), "found 'v'; allowed are mode, on"),
        (NOTHING, when("Variable", "mode", "lessThan", "a"), "found lessThan of a text"),
    ],
)
def test_values_that_are_none_are_said(tmp_path: Path, action: str, start: str, said: str) -> None:
    text = document(group(event("e", action, start))).replace("<CatalogLocations>", VALUES)
    with pytest.raises(ScenarioError) as raised:
        played(tmp_path, text)
    assert said in str(raised.value)


def test_nothing_is_added_to_a_text(tmp_path: Path) -> None:
    add = change("Variable", "mode", modify('<AddValue value="1"/>'))
    text = document(group(event("add", add, at(0.5)))).replace("<CatalogLocations>", VALUES)
    with pytest.raises(RunError, match="mode: found 'day' to add 1.0; allowed are numbers"):
        played(tmp_path, text)


def test_room_beside_a_vehicle(tmp_path: Path) -> None:
    """Car A passes car B, which is 50 m ahead in the lane on its left and 5 m/s slower."""

    def clear(lanes: str, others: str = "") -> str:
        return (
            '<RelativeClearanceCondition distanceForward="30" distanceBackward="10" '
            f'freeSpace="false" oppositeLanes="false">{lanes}{others}</RelativeClearanceCondition>'
        )

    left = clear('<RelativeLaneRange from="1" to="1"/>')
    right = clear('<RelativeLaneRange from="-2" to="0"/>')
    marks = (
        marker("clear", by_entity(left))
        + marker("taken", by_entity(left, edge="falling"))
        + marker("again", by_entity(left, edge="rising"))
        + marker("any lane", by_entity(clear(""), edge="falling"))
        + marker("open end", by_entity(clear('<RelativeLaneRange from="1"/>'), edge="falling"))
        + marker("right", by_entity(right, edge="falling"))
        + marker("itself", by_entity(clear("", '<EntityRef entityRef="A"/>'), edge="falling"))
    )
    found = begins(played(tmp_path, document(group(marks), at(14.0))))
    assert found["clear"] == 0.0
    assert found["taken"] == pytest.approx(4.0, abs=0.2)
    assert found["any lane"] == found["open end"] == found["taken"]
    assert found["again"] == pytest.approx(12.0, abs=0.4)
    assert not {"right", "itself"} & set(found)


def aside(settings: str, limits: str = "") -> str:
    """A LateralDistanceAction relative to car B."""
    return private(
        f'<LateralAction><LateralDistanceAction entityRef="B" {settings}>{limits}'
        "</LateralDistanceAction></LateralAction>"
    )


#: The lateral distance between the cars, which start 3.5 m apart and are 2 m wide.
APART = (
    '<RelativeDistanceCondition entityRef="B" relativeDistanceType="lateral" '
    'coordinateSystem="road" freespace="false" rule="{}" value="{}"/>'
)


def test_a_distance_to_the_side_is_reached(tmp_path: Path) -> None:
    limits = '<DynamicConstraints maxAcceleration="1" maxSpeed="0.5"/>'
    keep = aside('distance="0.5" freespace="true" continuous="false"', limits)
    ended = by_value(
        '<StoryboardElementStateCondition storyboardElementType="event" '
        'storyboardElementRef="aside" state="completeState"/>'
    )
    marks = marker("there", by_entity(APART.format("lessThan", 2.6))) + marker("ended", ended)
    marks += marker("too close", by_entity(APART.format("lessThan", 2.3)))
    found = begins(played(tmp_path, document(group(event("aside", keep, at(1.0)) + marks))))
    assert set(found) == {"aside", "there", "ended"}
    # 1 m at 0.5 m/s, with half a second to begin and to end; the vehicle follows its line.
    assert 2.5 < found["there"] < 6.0
    # Complete within 0.1 m, then the vehicle comes to its line.
    assert found["ended"] == pytest.approx(found["there"], abs=0.3)


@pytest.mark.parametrize(
    ("distance", "kept"), [('distance="3" freespace="false"', 3.0), ('freespace="true"', 3.5)]
)
def test_a_distance_to_the_side_is_kept_until_another_action(
    tmp_path: Path, distance: str, kept: float
) -> None:
    keep = aside(f'{distance} continuous="true" displacement="rightToReferencedEntity"')
    offset = private(
        '<LateralAction><LaneOffsetAction continuous="false"><LaneOffsetActionDynamics '
        'dynamicsShape="sinusoidal" maxLateralAcc="2"/><LaneOffsetTarget>'
        '<AbsoluteTargetLaneOffset value="-1"/></LaneOffsetTarget></LaneOffsetAction>'
        "</LateralAction>"
    )
    stopped = by_value(
        '<StoryboardElementStateCondition storyboardElementType="action" '
        'storyboardElementRef="keep action" state="stopTransition"/>'
    )
    marks = (
        marker("nearer", by_entity(APART.format("lessThan", kept - 0.3)))
        + marker("again", by_entity(APART.format("greaterThan", kept - 0.1), edge="rising"))
        + marker("stopped", stopped)
        + event("away", lane_change('<AbsoluteTargetLane value="-3"/>'), at(10.0))
    )
    actions = group(event("keep", keep, at(0.5)) + marks) + group(event("b", offset, at(4.0)), "B")
    found = begins(played(tmp_path, document(actions, at(12.0))))
    # Car B comes a metre nearer; car A gives way.
    assert 4.0 < found["nearer"] < found["again"] < 10.0
    # Replaced in the first period, told in the second, seen in the third.
    assert found["stopped"] == pytest.approx(10.0 + 2 * PERIOD)


def test_a_distance_is_reached_and_kept(tmp_path: Path) -> None:
    keep = private(
        '<LongitudinalAction><LongitudinalDistanceAction entityRef="B" distance="30" '
        'freespace="true" continuous="false"><DynamicConstraints maxAcceleration="2" '
        'maxDeceleration="3" maxSpeed="40"/></LongitudinalDistanceAction></LongitudinalAction>'
    )
    ended = by_value(
        '<StoryboardElementStateCondition storyboardElementType="event" '
        'storyboardElementRef="keep" state="completeState"/>'
    )
    text = document(group(event("keep", keep, at(0.5)) + marker("kept", ended)), at(20.0))
    summary = played(tmp_path, text)
    ways = figures(summary)["travelled_m"]
    # 50 m between the axles at the start, 34.8 m at the end.
    assert ways["A"] - ways["B"] == pytest.approx(50.0 - 34.8, abs=0.5)
    assert 2.0 < begins(summary)["kept"] < 15.0


def test_a_vehicle_stops_where_its_road_ends(tmp_path: Path) -> None:
    end = '<LanePosition roadId="1" laneId="-2" s="3000"/>'
    text = document(
        group(marker("at rest", by_entity('<StandStillCondition duration="1"/>'))),
        at(25.0),
        start_a=end,
    )
    summary = played(tmp_path, text)
    assert figures(summary)["travelled_m"]["A"] == pytest.approx(200 - 1.4 - 2.4 - 1.0, abs=0.7)
    assert begins(summary)["at rest"] < 24.0


def test_without_a_stop_trigger_the_run_ends_with_the_stories(tmp_path: Path) -> None:
    text = document(group(marker("one", at(2.0))))
    text = text.replace(f"<StopTrigger>{at(10.0)}</StopTrigger>", "<StopTrigger/>")
    summary = played(tmp_path, text)
    assert summary.sim_time_s == pytest.approx(2.5, abs=0.1)
    assert "all stories" in summary.end_reason
    assert not summary.verdicts


def test_a_stop_trigger_that_does_not_fire_is_a_verdict(tmp_path: Path) -> None:
    summary = played(tmp_path, document(), "duration=1s")
    assert [(v.name, v.passed) for v in summary.verdicts] == [("stop_trigger", False)]


def test_a_lane_that_is_not_there_ends_the_run_with_a_line(tmp_path: Path) -> None:
    change = event("left", lane_change('<AbsoluteTargetLane value="-9"/>'), at(1.0))
    with pytest.raises(RunError, match="vehicle 'A': lane change: found lane -9; allowed"):
        played(tmp_path, document(group(change)))


def test_the_start_beside_the_middle_of_a_lane(tmp_path: Path) -> None:
    aside = '<LanePosition roadId="1" laneId="-2" s="100" offset="0.6"/>'
    there = teleport(aside)
    assert "TeleportAction" in there
    condition = (
        '<RelativeDistanceCondition entityRef="B" relativeDistanceType="lateral" '
        'coordinateSystem="road" freespace="false" rule="lessThan" value="3.0"/>'
    )
    text = document(group(marker("aside", by_entity(condition))), start_a=aside)
    # It stands there from the start, and keeps that line.
    assert begins(played(tmp_path, text))["aside"] < 0.05


def test_a_parked_car_stands_where_the_file_says(tmp_path: Path) -> None:
    beside = '<LanePosition roadId="1" laneId="-2" s="150" offset="-3.5"/>'
    text = document(group(""), at(5.0), start_b=beside)
    text = text.replace('<AbsoluteTargetSpeed value="15"/>', '<AbsoluteTargetSpeed value="0"/>')
    summary = played(tmp_path, text)
    travelled = figures(summary)["travelled_m"]
    assert (summary.collisions, travelled["B"]) == (0, 0.0)
    assert travelled["A"] > 99.0


_OBJECT = """<ScenarioObject name="O"><MiscObject name="o"><BoundingBox>
<Center x="0.5" y="0" z="0.5"/><Dimensions width="1.2" length="2.0" height="1.0"/></BoundingBox>
</MiscObject></ScenarioObject>"""


@pytest.mark.parametrize(
    ("length", "target", "contact"),
    [
        # At 20 km/h: 30 m from rear axle to rear axle, less the length of a car.
        (4.3, "B", 25.7 / (20.0 / 3.6)),
        (6.5, "B", 23.5 / (20.0 / 3.6)),
        # From the front, 3.55 m ahead of the axle, to the box's back, 0.5 m before its place.
        (4.3, "O", 25.95 / (20.0 / 3.6)),
    ],
)
def test_a_collision_is_seen_when_the_bodies_touch(
    tmp_path: Path, length: float, target: str, contact: float
) -> None:
    """As in the tests of Euro NCAP: to a standing target without braking."""
    here, away = (
        '<LanePosition roadId="1" laneId="-2" s="130"/>',
        '<LanePosition roadId="1" laneId="-3" s="300"/>',
    )
    touched = by_entity(
        f"<CollisionCondition><EntityRef entityRef='{target}'/></CollisionCondition>"
    )
    text = document(
        group(marker("AtCollision", touched)),
        by_value(
            '<StoryboardElementStateCondition storyboardElementType="event" '
            'storyboardElementRef="AtCollision" state="completeState"/>',
            delay=1.0,
        ),
        start_b=here if target == "B" else away,
        entities=_OBJECT,
        init=f'<Private entityRef="O">{teleport(away if target == "B" else here)}</Private>',
    )
    for old, new in (
        ('<AbsoluteTargetSpeed value="20"/>', f'<AbsoluteTargetSpeed value="{20.0 / 3.6}"/>'),
        ('<AbsoluteTargetSpeed value="15"/>', '<AbsoluteTargetSpeed value="0"/>'),
        ('width="2.0" length="4.8"', f'width="1.7" length="{length}"'),
    ):
        assert old in text
        text = text.replace(old, new)
    summary = played(tmp_path, text)
    # Contacts are told 30 ms later, and the storyboard looks every 20 ms.
    assert 0.0 <= begins(summary)["AtCollision"] - contact <= 0.08
    assert summary.passed
    assert summary.collisions >= 1


def test_a_place_ahead_in_a_lane_is_reached(tmp_path: Path) -> None:
    def when(way: str) -> str:
        place = f'<Position><RelativeLanePosition entityRef="B" dLane="-1" {way}="-20"/></Position>'
        return by_entity(f'<ReachPositionCondition tolerance="1">{place}</ReachPositionCondition>')

    text = document(group(marker("ds", when("ds")) + marker("dsLane", when("dsLane"))))
    found = begins(played(tmp_path, text))
    # 50 m behind, 5 m/s faster, to 20 m behind less the tolerance.
    assert found["dsLane"] == found["ds"] == pytest.approx((50.0 - 20.0 - 1.0) / 5.0, abs=0.05)


def test_conditions_know_what_stands_still(tmp_path: Path) -> None:
    """A pedestrian and a box, 100 m and 120 m ahead of a car that drives at 20 m/s."""
    size = (
        '<BoundingBox><Center x="0.0" y="0" z="0.9"/>'
        '<Dimensions width="{0}" length="{0}" height="1.8"/></BoundingBox>'
    )
    entities = (
        f'<ScenarioObject name="P"><Pedestrian name="p" mass="70">{size.format(0.5)}</Pedestrian>'
        f'</ScenarioObject><ScenarioObject name="O"><MiscObject name="o">{size.format(2.0)}'
        "</MiscObject></ScenarioObject>"
    )
    place = '<LanePosition roadId="1" laneId="-3" s="{}"/>'
    distance = (
        '<RelativeDistanceCondition entityRef="{}" value="30" freespace="{}" rule="lessThan" '
        'relativeDistanceType="longitudinal" coordinateSystem="entity"/>'
    )
    text = document(
        group(
            marker("to the point", by_entity(distance.format("P", "false")))
            + marker("to the box", by_entity(distance.format("O", "true")))
        ),
        stop=at(6.0),
        entities=entities,
        init=f'<Private entityRef="P">{teleport(place.format(200))}</Private>'
        f'<Private entityRef="O">{teleport(place.format(220))}</Private>',
    )
    found = begins(played(tmp_path, text))
    assert found["to the point"] == pytest.approx((100 - 30) / 20.0, abs=2 * PERIOD)
    # From the front of the car (its centre is 1.4 m ahead) to the rear of the box.
    assert found["to the box"] == pytest.approx((120 - 30 - 1.4 - 2.4 - 1.0) / 20.0, abs=2 * PERIOD)


@pytest.mark.parametrize(
    ("category", "length", "final", "seconds"),
    [("bicycle", 1.9, 4.2, 1.7), ("motorbike", 2.1, 20.0, 8.0)],
)
def test_two_wheelers_follow_their_speeds(
    tmp_path: Path, category: str, length: float, final: float, seconds: float
) -> None:
    """From rest to a speed: the way is that of the constant acceleration, but for the lag."""
    rider = (
        f'<ScenarioObject name="R"><Vehicle name="r" vehicleCategory="{category}"><BoundingBox>'
        f'<Center x="0.6" y="0" z="0.6"/><Dimensions width="0.5" length="{length}" height="1.2"/>'
        "</BoundingBox></Vehicle></ScenarioObject>"
    )
    start = teleport('<LanePosition roadId="1" laneId="-3" s="100"/>')
    go = event("go", speed(str(final), f'dynamicsShape="linear" value="{seconds}"'), at(0.0))
    end = seconds + 2.0
    summary = played(
        tmp_path,
        document(
            group(go, "R"), at(end), entities=rider,
            init=f'<Private entityRef="R">{start}</Private>',
        ),
    )  # fmt: skip
    way = final * (0.5 * seconds + end + LATENCY - seconds)
    assert figures(summary)["travelled_m"]["R"] == pytest.approx(way, abs=0.25 * final)
