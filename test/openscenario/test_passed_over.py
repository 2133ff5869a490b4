# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a file asks for is done or refused, never passed over: the whole standard, and cases."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
from lxml import etree
from support.played_stories import begins, figures, marker, played
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
    written,
)

from ros2_cosim.core.kernel.errors import ConfigurationError, WithoutEffectWarning
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.core.scenario.schema import load_scenario

#: All of OpenSCENARIO XML 1.0 to 1.3: element around it -> kinds.
ACTIONS = {
    "PrivateAction/LongitudinalAction": "SpeedAction LongitudinalDistanceAction SpeedProfileAction",
    "PrivateAction/LateralAction": "LaneChangeAction LaneOffsetAction LateralDistanceAction",
    "PrivateAction/RoutingAction": "AssignRouteAction FollowTrajectoryAction "
    "AcquirePositionAction RandomRouteAction",
    "PrivateAction/AppearanceAction": "LightStateAction AnimationAction",
    "PrivateAction/TrailerAction": "ConnectTrailerAction DisconnectTrailerAction",
    "PrivateAction/ControllerAction": "AssignControllerAction OverrideControllerValueAction "
    "ActivateControllerAction",
    "PrivateAction": "VisibilityAction SynchronizeAction ActivateControllerAction TeleportAction",
    "GlobalAction/EntityAction": "AddEntityAction DeleteEntityAction",
    "GlobalAction/InfrastructureAction": "TrafficSignalAction",
    "GlobalAction/TrafficAction": "TrafficSourceAction TrafficSinkAction TrafficSwarmAction "
    "TrafficAreaAction TrafficStopAction",
    "GlobalAction": "EnvironmentAction SetMonitorAction ParameterAction VariableAction",
    "UserDefinedAction": "CustomCommandAction",
}
ENTITY_CONDITIONS = (
    "EndOfRoadCondition CollisionCondition OffroadCondition TimeHeadwayCondition "
    "TimeToCollisionCondition AccelerationCondition StandStillCondition SpeedCondition "
    "RelativeSpeedCondition TraveledDistanceCondition ReachPositionCondition DistanceCondition "
    "RelativeDistanceCondition RelativeClearanceCondition AngleCondition RelativeAngleCondition"
)
VALUE_CONDITIONS = (
    "ParameterCondition TimeOfDayCondition SimulationTimeCondition StoryboardElementStateCondition "
    "UserDefinedValueCondition TrafficSignalCondition TrafficSignalControllerCondition "
    "VariableCondition"
)
POSITIONS = (
    "WorldPosition RelativeWorldPosition RelativeObjectPosition RoadPosition RelativeRoadPosition "
    "LanePosition RelativeLanePosition RoutePosition GeoPosition TrajectoryPosition"
)
NOT_SUPPORTED = {
    "RandomRouteAction", "TrailerAction",
    "InfrastructureAction", "TrafficSourceAction", "TrafficSinkAction", "TrafficSwarmAction",
    "TrafficAreaAction", "TrafficStopAction", "SetMonitorAction", "TimeOfDayCondition",
    "UserDefinedValueCondition", "TrafficSignalCondition", "TrafficSignalControllerCondition",
    "GeoPosition",
}  # fmt: skip
WITHOUT_EFFECT = {
    "AppearanceAction", "ControllerAction", "ActivateControllerAction", "UserDefinedAction",
}  # fmt: skip


def findings(path: Path, *settings: str) -> tuple[list[str], list[str]]:
    """Faults and notes."""
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        try:
            load_scenario(path, settings)
            faults = []
        except ScenarioError as error:
            faults = error.faults
        except ConfigurationError as error:
            faults = [str(error)]
    return faults, [str(n.message) for n in notes if n.category is WithoutEffectWarning]


def fault_of(tmp_path: Path, text: str) -> str:
    """The only one."""
    faults, _ = findings(written(tmp_path, text))
    assert len(faults) == 1, faults
    assert re.search(r"file\.xosc, line \d+: ", faults[0])
    return faults[0]


def test_each_kind_of_the_standard_is_read_refused_or_noted(tmp_path: Path) -> None:
    events = []
    for place, kinds in ACTIONS.items():
        for kind in kinds.split():
            inner = f"<{kind}/>"
            for around in reversed(place.split("/")):
                inner = f"<{around}>{inner}</{around}>"
            events.append(event(kind, inner, at(1)))
    for kind in ENTITY_CONDITIONS.split():
        events.append(event(kind, speed("20"), by_entity(f"<{kind}/>")))
    for kind in VALUE_CONDITIONS.split():
        events.append(event(kind, speed("20"), by_value(f"<{kind}/>")))
    events += [event(kind, teleport(f"<{kind}/>"), at(1)) for kind in POSITIONS.split()]
    faults, _ = findings_of(tmp_path, events)
    refused = [re.match(r"(\w+): not supported", fault) for found in faults for fault in found]
    assert {match[1] for match in refused if match} == NOT_SUPPORTED
    # What is not a fault without content is a note.
    rest = [line for line, found in zip(events, faults, strict=True) if not found]
    faults, notes = findings_of(tmp_path, rest)
    assert not any(faults) and all(notes)
    assert {note.partition(":")[0] for found in notes for note in found} == WITHOUT_EFFECT


def findings_of(tmp_path: Path, events: list[str]) -> tuple[list[list[str]], list[list[str]]]:
    """Faults and notes of each event, without their place."""
    text = document(group("".join(f"\n{line}" for line in events)))
    first = text[: text.index(events[0])].count("\n") + 1
    found: tuple[list[list[str]], list[list[str]]] = ([], [])
    for told, where in zip(findings(written(tmp_path, text)), found, strict=True):
        for number in range(first, first + len(events)):
            place = f"file.xosc, line {number}: "
            where.append([each.partition(place)[2] for each in told if place in each])
    return found


def test_an_attribute_that_nobody_reads_is_refused_wherever_it_is(tmp_path: Path) -> None:
    waypoints = "".join(
        '<Waypoint routeStrategy="shortest"><Position>'
        f'<LanePosition roadId="1" laneId="-2" s="{s}"/></Position></Waypoint>'
        for s in (300, 500)
    )
    vertices = "".join(
        f'<Vertex time="0"><Position><WorldPosition x="{x}" y="-5"/></Position></Vertex>'
        for x in (300, 400)
    )
    events = [
        speed('<RelativeTargetSpeed entityRef="B" value="1" speedTargetValueType="factor" '
              'continuous="false"/>'),
        private('<LongitudinalAction><LongitudinalDistanceAction entityRef="B" distance="9" '
                'freespace="true" continuous="false"><DynamicConstraints maxSpeed="30"/>'
                "</LongitudinalDistanceAction></LongitudinalAction>"),
        private('<LongitudinalAction><SpeedProfileAction followingMode="follow"><SpeedProfileEntry '
                'speed="3" time="1"/></SpeedProfileAction></LongitudinalAction>'),
        lane_change('<RelativeTargetLane entityRef="A" value="1"/>'),
        private('<LateralAction><LaneOffsetAction continuous="false"><LaneOffsetActionDynamics '
                'dynamicsShape="cubic" maxLateralAcc="1"/><LaneOffsetTarget>'
                '<AbsoluteTargetLaneOffset value="1"/></LaneOffsetTarget></LaneOffsetAction>'
                "</LateralAction>"),
        private('<LateralAction><LateralDistanceAction entityRef="B" distance="3" freespace="true" '
                'continuous="false"/></LateralAction>'),
        private('<RoutingAction><AssignRouteAction><Route name="r" closed="false">'
                f"{waypoints}</Route></AssignRouteAction></RoutingAction>"),
        private('<RoutingAction><FollowTrajectoryAction><TrajectoryRef><Trajectory name="t" '
                f'closed="false"><Shape><Polyline>{vertices}</Polyline></Shape></Trajectory>'
                '</TrajectoryRef><TimeReference><Timing domainAbsoluteRelative="relative" '
                'scale="1" offset="0"/></TimeReference><TrajectoryFollowingMode followingMode='
                '"follow"/></FollowTrajectoryAction></RoutingAction>'),
        private('<SynchronizeAction masterEntityRef="B"><TargetPositionMaster>'
                '<LanePosition roadId="1" laneId="-1" s="400"/></TargetPositionMaster>'
                '<TargetPosition><LanePosition roadId="1" laneId="-2" s="400"/></TargetPosition>'
                '<FinalSpeed><AbsoluteSpeed value="9"/></FinalSpeed></SynchronizeAction>'),
        teleport('<RelativeObjectPosition entityRef="B" dx="9" dy="0"><Orientation type="relative" '
                 'h="0"/></RelativeObjectPosition>'),
    ]  # fmt: skip
    conditions = [
        by_entity('<ReachPositionCondition tolerance="1"><Position><RoadPosition roadId="1" s="9" '
                  't="-2"/></Position></ReachPositionCondition>'),
        by_entity('<TimeToCollisionCondition rule="lessThan" value="1" freespace="true">'
                  '<TimeToCollisionConditionTarget><EntityRef entityRef="B"/>'
                  "</TimeToCollisionConditionTarget></TimeToCollisionCondition>"),
        by_entity('<RelativeClearanceCondition freeSpace="true" oppositeLanes="false">'
                  '<RelativeLaneRange from="1" to="1"/></RelativeClearanceCondition>'),
        by_entity('<CollisionCondition><EntityRef entityRef="B"/></CollisionCondition>'),
        by_value('<StoryboardElementStateCondition storyboardElementType="event" '
                 'storyboardElementRef="0" state="completeState"/>'),
    ]  # fmt: skip
    played_events = [event(str(i), action, at(1)) for i, action in enumerate(events)]
    played_events += [event(f"c{i}", speed("9"), start) for i, start in enumerate(conditions)]
    text = document(
        group("".join(played_events)),
        parameters='<ParameterDeclaration name="p" parameterType="double" value="1"/>',
        start_b='<LanePosition roadId="1" laneId="-1" s="150"><Orientation h="0"/></LanePosition>',
    ).replace("</BoundingBox>", '</BoundingBox><Performance maxSpeed="60" maxAcceleration="9" '
              'maxDeceleration="9"/><Axles><FrontAxle maxSteering="0.5" wheelDiameter="0.6" '
              'trackWidth="1.8" positionX="2.8" positionZ="0.3"/><RearAxle maxSteering="0" '
              'wheelDiameter="0.6" trackWidth="1.8" positionX="0" positionZ="0.3"/></Axles>'
              "<Properties/>")  # fmt: skip
    root = etree.fromstring(text.encode())
    assert findings(written(tmp_path, text)) == ([], [])
    etree.indent(root)
    for node in root.iter():
        node.set("strange", "1")
    path = written(tmp_path, etree.tostring(root, encoding="unicode"))
    faults, _ = findings(path)
    expected = {node.sourceline: node.tag for node in etree.parse(path).iter()}
    told = {
        int(m[1]) for m in (re.search(r"line (\d+): \w+: strange: not s", f) for f in faults) if m
    }
    assert {tag for line, tag in expected.items() if line not in told} == {
        "FileHeader", "TrajectoryFollowingMode", "Properties",
    }  # fmt: skip
    assert len(told) > 150


def test_an_element_that_nobody_reads_is_refused(tmp_path: Path) -> None:
    text = document().replace("</BoundingBox>", "</BoundingBox>\n<Turret/>", 1)
    assert "Turret: not supported here" in fault_of(tmp_path, text)


def changed(action: str) -> str:
    return document(group(event("e", action, at(1))))


def with_vehicle(old: str, new: str) -> str:
    return document().replace(old, new, 1)


CONTROL = (
    "<ControllerAction><OverrideControllerValueAction>{}</OverrideControllerValueAction>"
    "</ControllerAction>"
)
FRICTION = (
    '<GlobalAction><EnvironmentAction><Environment name="e"><RoadCondition '
    'frictionScaleFactor="{}"/></Environment></EnvironmentAction></GlobalAction>'
)
OFFSET = (
    '<LateralAction><LaneOffsetAction continuous="true"><LaneOffsetActionDynamics '
    'dynamicsShape="cubic"/><LaneOffsetTarget>{}</LaneOffsetTarget></LaneOffsetAction></LateralAction>'
)
CONSTRAINED = (
    '<ParameterDeclaration name="p" parameterType="double" value="{}"><ConstraintGroup>'
    '<ValueConstraint rule="greaterThan" value="1"/><ValueConstraint rule="lessThan" value="3"/>'
    '</ConstraintGroup><ConstraintGroup><ValueConstraint rule="equalTo" value="9"/>'
    "</ConstraintGroup></ParameterDeclaration>"
)
ROUTE = (
    '<RoutingAction><AssignRouteAction><Route name="r" closed="true"><Waypoint '
    'routeStrategy="shortest"><Position><LanePosition roadId="1" laneId="-2" s="1"/></Position>'
    "</Waypoint></Route></AssignRouteAction></RoutingAction>"
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (changed(speed("-200")), "value: found -200 m/s; supported is -100 to 100 m/s"),
        (changed(private(
            "<LongitudinalAction><SpeedProfileAction followingMode='follow'><SpeedProfileEntry "
            "speed='-101' time='2'/></SpeedProfileAction></LongitudinalAction>")),
         "speed: found -101 m/s; supported is -100 to 100 m/s"),
        (changed(private(
            "<LongitudinalAction><SpeedProfileAction followingMode='follow'><DynamicConstraints "
            "maxAccelerationRate='3'/><SpeedProfileEntry speed='1'/></SpeedProfileAction>"
            "</LongitudinalAction>")),
         "DynamicConstraints: maxAccelerationRate: not supported"),
        (changed(private("<VisibilityAction graphics='true' sensors='false' traffic='true'/>")),
         "sensors: found false; supported is true"),
        (changed(private(CONTROL.format("<Brake active='true' value='1'/>"))),
         "Brake: active: found true; supported is false"),
        (changed(FRICTION.format("0.5")), "frictionScaleFactor: found 0.5; supported is 1"),
        (changed(private(OFFSET.format("<RelativeTargetLaneOffset entityRef='B' value='1'/>"))),
         "continuous: found true of a relative one"),
        (changed(private(ROUTE)), "Route: closed: found true; supported is false"),
        (changed(private(
            '<SynchronizeAction masterEntityRef="B"><TargetPositionMaster><LanePosition roadId="1" '
            'laneId="-1" s="400"/></TargetPositionMaster><TargetPosition><LanePosition roadId="1" '
            'laneId="-2" s="400"/></TargetPosition><FinalSpeed><RelativeSpeedToMaster value="2" '
            'speedTargetValueType="factor"/></FinalSpeed></SynchronizeAction>')),
         "speedTargetValueType: found 'factor'; allowed are delta"),
        (with_vehicle("</BoundingBox>", "</BoundingBox><Trailer><TrailerRef entityRef='B'/>"
                      "</Trailer>"),
         "Trailer: not supported; supported are vehicles without"),
        (with_vehicle('y="0" z', 'y="0.4" z'), "Center: y: found 0.4; supported is 0 m"),
        (with_vehicle("</BoundingBox>", "</BoundingBox><Performance maxSpeed='15' "
                      "maxAcceleration='9' maxDeceleration='9'/>"),
         "found a speed of 20 m/s; supported is -10 to 15 m/s"),
        (document(parameters=CONSTRAINED.format("3")),
         "found the value '3'; allowed is greaterThan 1 and lessThan 3 or equalTo 9"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_one_clear_fault(text: str, said: str, tmp_path: Path) -> None:
    assert said in fault_of(tmp_path, text)


def test_a_parameter_that_an_entry_does_not_declare_is_refused(tmp_path: Path) -> None:
    entry = (
        '<OpenSCENARIO><FileHeader revMajor="1"/><Catalog name="c"><MiscObject name="box">'
        '<ParameterDeclarations><ParameterDeclaration name="width" parameterType="double" '
        'value="1"/></ParameterDeclarations><BoundingBox><Center x="0" y="0" z="0"/><Dimensions '
        'length="1" width="$width" height="1"/></BoundingBox></MiscObject></Catalog></OpenSCENARIO>'
    )
    written(tmp_path, entry, "entries.xosc")
    text = document(
        catalogues='<MiscObjectCatalog><Directory path="."/></MiscObjectCatalog>',
        entities='<ScenarioObject name="O"><CatalogReference catalogName="c" entryName="box">'
        '<ParameterAssignments><ParameterAssignment parameterRef="width" value="2.5"/>'
        "</ParameterAssignments></CatalogReference></ScenarioObject>",
        init='<Private entityRef="O">'
        + teleport('<LanePosition roadId="1" laneId="-2" s="400"/>')
        + "</Private>",
    )
    loaded = load_scenario(written(tmp_path, text))
    assert loaded.scene is not None
    assert loaded.scene["objects"]["O"]["width"] == 2.5
    assert "parameterRef: found 'widht'; 'box' has width" in fault_of(
        tmp_path, text.replace('parameterRef="width"', 'parameterRef="widht"')
    )


@pytest.mark.parametrize(
    "text",
    [
        changed(FRICTION.format("1.0")),
        changed(private(CONTROL.format("<Brake active='false' value='1'/>"))),
        with_vehicle('vehicleCategory="car"', 'vehicleCategory="car" mass="0"'),
        with_vehicle("</BoundingBox>", "</BoundingBox><Axles><FrontAxle positionX='9.5'/><RearAxle "
                     "positionX='0'/></Axles>"),
        with_vehicle("</BoundingBox>", "</BoundingBox><Axles><FrontAxle positionX='2.8' "
                     "maxSteering='30'/><RearAxle positionX='0'/></Axles>"),
        document(start_b='<LanePosition roadId="1" laneId="-1" s="150"><Orientation r="1"/>'
                 "</LanePosition>"),
    ],
    ids=["environment", "override", "mass", "wheelbase", "steering", "roll"],
)  # fmt: skip
def test_what_has_no_effect_is_a_note(text: str, tmp_path: Path) -> None:
    faults, notes = findings(written(tmp_path, text))
    assert faults == []
    assert len(notes) == 1 and re.search(r"file\.xosc, line \d+: .* has no effect: ", notes[0]), (
        notes
    )


@pytest.mark.parametrize(
    ("kind", "name", "note"),
    [
        ("act", "akt", "found the act 'akt'; did you mean 'act'? the storyboard has act"),
        ("event", "act", "found the event 'act'; the storyboard has go, wait"),
        ("action", "go action", ""),
        ("event", "story::act::go", ""),
        ("maneuverGroup", "group of A", ""),
    ],
)
def test_a_condition_about_an_element_that_is_not_there_is_noted(
    tmp_path: Path, kind: str, name: str, note: str
) -> None:
    state = (
        f'<StoryboardElementStateCondition storyboardElementType="{kind}" '
        f'storyboardElementRef="{name}" state="completeState"/>'
    )
    text = document(
        group(event("go", speed("25"), at(1)) + event("wait", speed("5"), by_value(state)))
    )
    faults, notes = findings(written(tmp_path, text))
    assert faults == [] and [n.partition("never holds: ")[2] for n in notes] == [note] * bool(note)


def test_actions_of_a_group_without_actors_are_noted(tmp_path: Path) -> None:
    text = document(group(event("go", speed("25"), at(1))))
    empty = text.replace('<EntityRef entityRef="A"/></Actors>', "</Actors>")
    faults, (note,) = findings(written(tmp_path, empty))
    assert faults == [] and "PrivateAction: has no effect: its ManeuverGroup has no actors" in note
    by_trigger = empty.replace(
        'selectTriggeringEntities="false"', 'selectTriggeringEntities="true"'
    )
    assert findings(written(tmp_path, by_trigger)) == ([], [])


def test_mass_and_axles_of_a_file_are_the_vehicles(tmp_path: Path) -> None:
    text = document().replace('vehicleCategory="car"', 'vehicleCategory="car" mass="1900"')
    text = text.replace(
        "</BoundingBox>",
        "</BoundingBox><Axles><FrontAxle positionX='3.1' maxSteering='0.5' wheelDiameter='0.7' "
        "trackWidth='1.5'/><RearAxle positionX='0.1'/></Axles>",
    )
    path = written(tmp_path, text)
    assert findings(path) == ([], [])
    loaded = load_scenario(path)
    assert loaded.scene is not None
    keys = "mass", "wheelbase", "max_steer_angle", "wheel_radius", "track"
    for vehicle in loaded.scene["vehicles"].values():
        assert [vehicle[key] for key in keys] == [1900.0, 3.0, 0.5, 0.35, 1.5]


def test_values_within_the_constraints_of_a_parameter_are_taken(tmp_path: Path) -> None:
    path = written(tmp_path, document(parameters=CONSTRAINED.format("2")))
    assert findings(path) == findings(path, "openscenario.parameters.p=9") == ([], [])
    (fault,), _ = findings(path, "openscenario.parameters.p=4")
    assert "ParameterDeclaration: found the value '4'; allowed is" in fault


def test_a_driver_keeps_to_the_performance_of_its_vehicle(tmp_path: Path) -> None:
    """A: with 1 m/s² from 20 to 25 m/s in 5 s, 112.5 m, then 25 m/s. B: from 15 m/s with 2 m/s² to
    a standstill: 56.25 m. Both are asked for steps.
    """
    text = document(
        group(event("up", speed("40"), at(0.0)), "A")
        + group(event("down", speed("0"), at(0.0)), "B"),
    )
    for limits in (
        "maxSpeed='25' maxAcceleration='1' maxDeceleration='9'",
        "maxSpeed='60' maxAcceleration='9' maxDeceleration='2'",
    ):
        text = text.replace("</BoundingBox></V", f"</BoundingBox><Performance {limits}/></V", 1)
    summary = played(tmp_path, text)
    found = figures(summary)["travelled_m"]
    assert found["A"] == pytest.approx(112.5 + 25.0 * (summary.sim_time_s - 5.0), abs=2.0)
    assert found["B"] == pytest.approx(56.25, abs=2.0)


# What marks the events has no effect.
@pytest.mark.filterwarnings("ignore::ros2_cosim.core.kernel.errors.WithoutEffectWarning")
def test_an_offset_that_is_kept_for_ever_never_completes(tmp_path: Path) -> None:
    offset = private(OFFSET.format("<AbsoluteTargetLaneOffset value='0.5'/>"))
    over = by_value(
        '<StoryboardElementStateCondition storyboardElementType="event" storyboardElementRef="{}" '
        'state="completeState"/>'
    )
    once = offset.replace('continuous="true"', 'continuous="false"')
    text = document(
        group(event("ever", offset, at(0.0)) + marker("never", over.format("ever")), "A")
        + group(event("once", once, at(0.0)) + marker("then", over.format("once")), "B")
    )
    assert set(begins(played(tmp_path, text))) == {"ever", "once", "then"}
