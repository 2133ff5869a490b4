# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What files of OpenSCENARIO become, and which are refused, with all their faults and lines."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import pytest
import yaml
from support.xosc_files import (
    HIGHWAY,
    at,
    by_entity,
    document,
    event,
    group,
    private,
    speed,
    teleport,
    written,
)
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError, WithoutEffectWarning
from ros2_cosim.core.kernel.loading import data_only
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.core.scenario.schema import Scenario, load_scenario

EXAMPLE = HIGHWAY.parent / "openscenario" / "overtaking.xosc"
#: A car's rear axle is so far behind its centre [m].
CENTRE = 1.4


def faults_of(path: Path, *overrides: str) -> list[str]:
    with pytest.raises(ScenarioError) as found:
        load_scenario(path, overrides)
    return found.value.faults


def loaded(tmp_path: Path, text: str, *overrides: str) -> Scenario:
    scenario = load_scenario(written(tmp_path, text), overrides)
    check_scenario(scenario, "ros")
    return scenario


def start_of(tmp_path: Path, position: str) -> dict[str, object]:
    scenario = loaded(tmp_path, document(start_b=position))
    return dict(scenario.scene["vehicles"]["B"])


@pytest.mark.parametrize(
    ("position", "lane", "s"),
    [
        ('<LanePosition roadId="1" laneId="-1" s="150"/>', -1, 150.0),
        ('<RoadPosition roadId="1" s="150" t="-1.7"/>', -1, 150.0),
        ('<WorldPosition x="150" y="-1.7" h="0.1"/>', -1, 150.0),
        ('<RelativeLanePosition entityRef="A" dLane="1" ds="50"/>', -1, 150.0),
        ('<RelativeLanePosition entityRef="A" dLane="-1" ds="-40"/>', -3, 60.0),
        ('<RelativeRoadPosition entityRef="A" ds="50" dt="3.5"/>', -1, 150.0),
        ('<RelativeWorldPosition entityRef="A" dx="50" dy="3.5"/>', -1, 150.0),
        ('<RelativeObjectPosition entityRef="A" dx="50" dy="3.5"/>', -1, 150.0),
    ],
)
def test_places(tmp_path: Path, position: str, lane: int, s: float) -> None:
    start = start_of(tmp_path, position)
    assert (start["lane"], start["s"]) == (lane, pytest.approx(s + CENTRE, abs=0.05))


@pytest.mark.parametrize(
    "position",
    [
        '<WorldPosition x="150" y="{0}1.5" h="{0}0.1"/>',
        '<RoadPosition roadId="1" s="150" t="{}1.5"/>',
        '<LanePosition roadId="1" laneId="-1" s="150" offset="{}0.4"/>',
        '<LanePosition roadId="1" laneId="-1" s="150"><Orientation h="{}0.3"/></LanePosition>',
        '<RelativeLanePosition entityRef="A" dLane="1" ds="50" offset="{}0.4"/>',
        '<RelativeRoadPosition entityRef="A" ds="50" dt="{}0.4"/>',
        '<RelativeWorldPosition entityRef="A" dx="50" dy="{}0.4"/>',
        '<RelativeObjectPosition entityRef="A" dx="50" dy="{}0.4"/>',
    ],
)
def test_files_for_carla_count_to_the_right(tmp_path: Path, position: str) -> None:
    text = document(start_b=position.format("-"))
    plain = loaded(tmp_path, text).scene["vehicles"]["B"]
    text = document(start_b=position.format("")).replace('"d"', '"CARLA:d"')
    assert loaded(tmp_path, text).scene["vehicles"]["B"] == plain
    text = document(start_b=position.format("")).replace('"d"', '"of CARLA:"')
    assert loaded(tmp_path, text).scene["vehicles"]["B"] != plain


def test_a_place_may_be_relative_to_an_entity_below(tmp_path: Path) -> None:
    relative = '<RelativeLanePosition entityRef="B" dLane="0" ds="-30"/>'
    scenario = loaded(tmp_path, document(start_a=relative))
    assert scenario.scene["vehicles"]["A"]["s"] == pytest.approx(120.0 + CENTRE)


@pytest.mark.parametrize(
    ("position", "said"),
    [
        ('<LanePosition roadId="1" laneId="-9" s="150"/>', "no lane -9"),
        ('<LanePosition roadId="7" laneId="-1" s="150"/>', "road 7"),
        ('<LanePosition roadId="1" laneId="-1" s="9e9"/>', "0 to 3200.0 is allowed"),
        ('<WorldPosition x="0" y="500"/>', "in no lane of the map"),
        ("<GeoPosition/>", "not supported; supported are WorldPosition"),
        ('<RelativeLanePosition entityRef="C" dLane="0" ds="0"/>', "found 'C'"),
        ('<LanePosition roadId="1" laneId="-1" s="x"/>', "allowed is a finite number"),
        ('<LanePosition roadId="1.5" laneId="-1" s="1"/>', "allowed is a whole number"),
    ],
)
def test_places_that_are_none(tmp_path: Path, position: str, said: str) -> None:
    (fault,) = faults_of(written(tmp_path, document(start_b=position)))
    assert said in fault
    assert "file.xosc, line " in fault


def test_all_that_is_not_supported_is_listed_with_its_line(tmp_path: Path) -> None:
    wrong = (
        event("one", private("<RoutingAction><VisibilityRoute/></RoutingAction>"), at(1))
        + event("two", private("<TrafficSwarmAction/>"), at(1))
        + event("three", speed("5"), by_entity("<RelativeClearanceCondition/>"))
        + event("four", speed('<RelativeTargetSpeed entityRef="C" value="1"/>'), at(1))
    )
    text = document(
        group(wrong),
        entities='<ScenarioObject name="P"><ExternalObjectReference name="p"/></ScenarioObject>',
    )
    path = written(tmp_path, text)
    faults = faults_of(path)
    lines = text.splitlines()
    for name in ("ExternalObjectReference", "VisibilityRoute", "TrafficSwarmAction",
                 "RelativeClearanceCondition", "RelativeTargetSpeed"):  # fmt: skip
        line = next(i for i, content in enumerate(lines, start=1) if f"<{name}" in content)
        assert [f for f in faults if f"file.xosc, line {line}: {name}: " in f], (name, faults)
    assert len(faults) == 5
    result = CliRunner().invoke(app, ["check", str(path), "--json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout)["faults"] == faults


def test_what_has_no_effect_is_a_warning(tmp_path: Path) -> None:
    light = private("<AppearanceAction><LightStateAction/></AppearanceAction>")
    text = document(group(event("light", light, at(1))))
    with pytest.warns(WithoutEffectWarning, match=r"line \d+: AppearanceAction: has no effect"):
        loaded(tmp_path, text)


def test_so_is_a_controller_of_a_vehicle(tmp_path: Path) -> None:
    properties = '<Properties><Property name="gain" value="1"/></Properties>'
    controller = f'<ObjectController><Controller name="c">{properties}</Controller>'
    text = re.sub(
        "</ScenarioObject>", f"{controller}</ObjectController>\\g<0>", document(), count=1
    )
    with pytest.warns(WithoutEffectWarning, match=r"ObjectController: has no effect: the story"):
        loaded(tmp_path, text)


def test_parameters_of_the_file_can_be_set(tmp_path: Path) -> None:
    text = document(
        start_a='<LanePosition roadId="1" laneId="-2" s="${$begin * 2}"/>',
        parameters='<ParameterDeclaration name="begin" parameterType="double" value="50"/>',
    )
    starts = [
        loaded(tmp_path, text, *changes).scene["vehicles"]["A"]["s"]
        for changes in ((), ("openscenario.parameters.begin=60",))
    ]
    assert starts == pytest.approx([100.0 + CENTRE, 120.0 + CENTRE])
    with pytest.raises(ConfigurationError, match=r"found 'start'; allowed are .*begin"):
        load_scenario(written(tmp_path, text), ["openscenario.parameters.start=1"])


def test_catalogues_bring_entries_with_parameters() -> None:
    scenario = load_scenario(EXAMPLE)
    vehicles = scenario.scene["vehicles"]
    lengths = [vehicles[name]["length"] for name in ("Ego", "Overtaker", "Follower")]
    assert lengths == [8.0, 4.8, 4.4]
    assert scenario.scene["vehicles"]["Ego"]["dynamics"] == "truck"
    assert scenario.scene["vehicles"]["Follower"]["blueprint"] == "vehicle.tesla.model3"


def test_an_entry_that_is_in_no_catalogue(tmp_path: Path) -> None:
    where = EXAMPLE.parent / "catalogs"
    text = document(
        catalogues=f'<VehicleCatalog><Directory path="{where}"/></VehicleCatalog>',
        entities='<ScenarioObject name="C"><CatalogReference catalogName="Vehicles" '
        'entryName="bus"/></ScenarioObject>',
    )
    (fault,) = faults_of(written(tmp_path, text))
    assert "entryName: found 'bus'; catalogue 'Vehicles' has car, truck" in fault


def test_a_catalogue_that_cannot_be_read_matters_where_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "broken.xosc").write_text("<OpenSCENARIO", encoding="utf-8")
    good = (EXAMPLE.parent / "catalogs" / "vehicles.xosc").read_text(encoding="utf-8")
    (tmp_path / "good.xosc").write_text(good, encoding="utf-8")
    place = teleport('<LanePosition roadId="1" laneId="-2" s="300"/>')
    text = document(
        catalogues='<VehicleCatalog><Directory path="."/></VehicleCatalog>',
        entities='<ScenarioObject name="C"><CatalogReference catalogName="Vehicles" '
        'entryName="truck"/></ScenarioObject>',
        init=f'<Private entityRef="C">{place}</Private>',
    )
    assert loaded(tmp_path, text).scene["vehicles"]["C"]["dynamics"] == "truck"
    (fault,) = faults_of(written(tmp_path, text.replace('"Vehicles"', '"Other"')))
    assert "found 'Other'; allowed are Vehicles (not readable: " in fault
    assert "broken.xosc" in fault


def test_other_participants_may_drive_an_entity(tmp_path: Path) -> None:
    path = written(tmp_path, document(group(event("slower", speed("10"), at(1)), "B")))
    own = {
        "name": "own",
        "openscenario": {"file": path.name, "external": ["A"]},
        "participants": {
            "mine": {
                "model": "lane_keeping",
                "activation": {"any": ["command"]},
                "parameters": {"vehicle": "A"},
                "inputs": {"command": "storyboard.control/B", "odometry": "world.odometry/A"},
                "outputs": {
                    "control": {"type": "ros2_cosim/msg/ControlCommand", "topic": "/A/control"}
                },
            },
            "world": {"inputs": {"control/A": {"from": "mine.control", "delayed": True}}},
        },
    }
    file = tmp_path / "own.yaml"
    file.write_text(yaml.safe_dump(own), encoding="utf-8")
    scenario = load_scenario(file)
    check_scenario(scenario, "inproc")
    assert list(scenario.participants["storyboard"].outputs) == ["control/B"]
    assert set(scenario.participants["world"].inputs) == {"control/A", "control/B"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("<a/>", "allowed is OpenSCENARIO"),
        ("<OpenSCENARIO/>", "missing FileHeader"),
        ('<OpenSCENARIO><FileHeader revMajor="0" revMinor="9"/></OpenSCENARIO>', "allowed is 1"),
        ('<OpenSCENARIO><FileHeader revMajor="1"/><Catalog/></OpenSCENARIO>', "missing Storyboard"),
        ('<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><OpenSCENARIO>&e;</OpenSCENARIO>',
         "document type"),
        ("<OpenSCENARIO>" + "<a>" * 5000, "not well-formed XML"),
        (document(road="Town01"), "found 'Town01'; allowed is an OpenDRIVE file"),
        (document(road="nowhere.xodr"), "line [0-9]+: LogicFile: filepath: found .*; there is no"),
    ],
)  # fmt: skip
def test_files_that_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text)
    with data_only(), pytest.raises(ConfigurationError, match=said) as found:
        load_scenario(path)
    assert len(str(found.value)) < 600


def test_another_map(tmp_path: Path) -> None:
    scenario = loaded(tmp_path, document(road="Town01"), f"openscenario.map={HIGHWAY}")
    assert (tmp_path / scenario.scene["map"]).resolve() == HIGHWAY


def test_another_map_that_is_not_there(tmp_path: Path) -> None:
    path = written(tmp_path, document(road="Town01"))
    with pytest.raises(ConfigurationError, match="openscenario.map: found 'no.xodr'; there is no"):
        load_scenario(path, ["openscenario.map=no.xodr"])


def _distance(limits: str) -> str:
    return private(
        f'<LongitudinalAction><LongitudinalDistanceAction entityRef="B" freespace="true" '
        f'continuous="true" {limits}/></LongitudinalAction>'
    )


def _line(shape: str) -> str:
    return private(
        "<RoutingAction><FollowTrajectoryAction><TrajectoryRef>"
        f'<Trajectory name="t" closed="false"><Shape>{shape}</Shape></Trajectory></TrajectoryRef>'
        '<TimeReference><None/></TimeReference><TrajectoryFollowingMode followingMode="follow"/>'
        "</FollowTrajectoryAction></RoutingAction>"
    )


_SEGMENT = '<ClothoidSplineSegment curvatureStart="0" curvatureEnd="0" length="{}"/>'


@pytest.mark.parametrize(
    ("action", "start", "said"),
    [
        (_distance('distance="-12"'), at(1), "distance: found -12; allowed is a number of at"),
        (_distance('timeGap="-1"'), at(1), "timeGap: found -1; allowed is a number of at least 0"),
        (_line(f"<ClothoidSpline>{_SEGMENT.format(0)}</ClothoidSpline>"), at(1),
         "length: found 0; allowed is a number above 0"),
        (speed("20"), by_entity('<StandStillCondition duration="-2"/>'),
         "duration: found -2; allowed is a number of at least 0"),
        (speed("20"), by_entity('<TraveledDistanceCondition value="-9"/>'),
         "value: found -9; allowed is a number of at least 0"),
    ],
)  # fmt: skip
def test_amounts_below_zero_are_named_with_their_line(
    tmp_path: Path, action: str, start: str, said: str
) -> None:
    (fault,) = faults_of(written(tmp_path, document(group(event("e", action, start)))))
    assert said in fault
    assert "file.xosc, line " in fault


@pytest.mark.parametrize(
    ("shape", "number"),
    [
        ('<Polyline><Vertex time="0">{0}</Vertex><Vertex>{1}</Vertex></Polyline>', 1),
        ('<ClothoidSpline timeEnd="9">' + _SEGMENT.format(9) + "</ClothoidSpline>", 0),
        ('<ClothoidSpline><ClothoidSplineSegment curvatureStart="0" curvatureEnd="0" length="9" '
         'timeStart="0"/></ClothoidSpline>', 1),
    ],
)  # fmt: skip
def test_a_timing_needs_the_times_of_all_points(tmp_path: Path, shape: str, number: int) -> None:
    places = [f'<Position><WorldPosition x="{x}" y="-5"/></Position>' for x in (150, 250)]
    timing = '<Timing domainAbsoluteRelative="relative" scale="1" offset="0"/>'
    follow = _line(shape.format(*places)).replace("<None/>", timing)
    text = document(group(event("e", follow, at(1))))
    (fault,) = faults_of(written(tmp_path, text))
    assert f"Timing: found a trajectory whose point {number}, counted from 0, has no time" in fault
    loaded(tmp_path, text.replace(timing, "<None/>"))


def test_names_of_entities_become_names_of_topics(tmp_path: Path) -> None:
    text = document().replace('"A"', '"Über car #1"').replace('"B"', '"1"')
    scenario = loaded(tmp_path, text)
    assert list(scenario.scene["vehicles"]) == ["ber_car_1", "entity_1"]


def test_objects_stand_in_the_scene(tmp_path: Path) -> None:
    place = '<LanePosition roadId="1" laneId="-2" s="400" offset="0.5"/>'
    text = document(
        entities='<ScenarioObject name="O"><MiscObject name="box"/></ScenarioObject>',
        init=f'<Private entityRef="O">{teleport(place)}</Private>',
    )
    found = loaded(tmp_path, text).scene["objects"]["O"]
    assert (found["lane"], found["s"], found["offset"]) == (-2, 400.0, 0.5)


def test_a_new_scenario_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["new", "mine", "--from", str(EXAMPLE), "--json"])
    assert result.exit_code == 0, result.output
    files = json.loads(result.stdout)["files"]
    assert files == ["mine.yaml"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mine, original = load_scenario(Path("mine.yaml")), load_scenario(EXAMPLE)
    assert mine.name == "mine"
    assert mine.participants == original.participants


def oriented(h: float, kind: str = 'LanePosition roadId="1" laneId="-1" s="150"') -> str:
    return f'<{kind}><Orientation type="absolute" h="{h}"/></{kind.split()[0]}>'


def test_vehicles_start_as_they_head(tmp_path: Path) -> None:
    # Across the lane: the centre is that far to the left of the rear axle.
    across = start_of(tmp_path, oriented(1.570796))
    assert (across["lane"], across["s"]) == (-1, pytest.approx(150.0, abs=1e-4))
    assert (across["offset"], across["turn"]) == (pytest.approx(CENTRE, abs=1e-4), 1.570796)
    # Against it: in the lane of the other direction, beside its centre; lanes are 3.5 m wide.
    oncoming = start_of(tmp_path, oriented(3.14159265))
    assert (oncoming["lane"], oncoming.get("turn", 0.0)) == (1, 0.0)
    assert oncoming["s"] == pytest.approx(150.0 - CENTRE, abs=1e-3)
    # To its left is where the lane of the others is.
    assert oncoming["offset"] == pytest.approx(3.5, abs=1e-3)


def test_a_place_relative_to_a_vehicle_has_its_heading(tmp_path: Path) -> None:
    other = (
        '<ScenarioObject name="C"><Vehicle name="c" vehicleCategory="car"><BoundingBox>'
        '<Center x="1.4" y="0" z="0.8"/><Dimensions width="2" length="4.8" height="1.5"/>'
        "</BoundingBox></Vehicle></ScenarioObject>"
    )
    behind = teleport('<RelativeObjectPosition entityRef="B" dx="-5" dy="0"/>')
    text = document(
        start_b=oriented(1.570796),
        entities=other,
        init=f'<Private entityRef="C">{behind}</Private>',
    )
    vehicles = loaded(tmp_path, text).scene["vehicles"]
    assert vehicles["C"]["turn"] == pytest.approx(1.570796, abs=1e-5)
    assert vehicles["C"]["s"] == pytest.approx(vehicles["B"]["s"], abs=1e-4)


def test_a_trajectory_with_an_offset_begins_there(tmp_path: Path) -> None:
    vertices = "".join(
        f'<Vertex time="0"><Position><WorldPosition x="{x}" y="1.75"/></Position></Vertex>'
        for x in (400, 300)
    )
    follow = private(
        '<RoutingAction><FollowTrajectoryAction initialDistanceOffset="30"><TimeReference><None/>'
        '</TimeReference><TrajectoryFollowingMode followingMode="follow"/><TrajectoryRef>'
        f'<Trajectory name="t" closed="false"><Shape><Polyline>{vertices}</Polyline></Shape>'
        "</Trajectory></TrajectoryRef></FollowTrajectoryAction></RoutingAction>"
    )
    text = document(init=f'<Private entityRef="B">{follow}</Private>')
    start = teleport('<LanePosition roadId="1" laneId="-1" s="150"/>')
    scenario = loaded(tmp_path, text.replace(start, "", 1))
    found = scenario.scene["vehicles"]["B"]
    # Along the trajectory, which leads against the road.
    assert (found["lane"], found["s"]) == (1, pytest.approx(370.0 - CENTRE, abs=1e-3))


@pytest.mark.parametrize("lane", [-1, 1])
def test_an_offset_on_a_route_is_to_the_left_of_the_way(tmp_path: Path, lane: int) -> None:
    stations = (300, 500) if lane < 0 else (500, 300)
    points = "".join(
        '<Waypoint routeStrategy="shortest"><Position>'
        f'<LanePosition roadId="1" laneId="{lane}" s="{s}"/></Position></Waypoint>'
        for s in stations
    )
    place = (
        f'<RoutePosition><RouteRef><Route name="r" closed="false">{points}</Route></RouteRef>'
        f'<InRoutePosition><FromLaneCoordinates pathS="100" laneId="{lane}" laneOffset="-0.5"/>'
        "</InRoutePosition></RoutePosition>"
    )
    found = start_of(tmp_path, place)
    ahead = CENTRE if lane < 0 else -CENTRE
    assert (found["lane"], found["offset"]) == (lane, -0.5)
    assert found["s"] == pytest.approx(400.0 + ahead)
