# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Entities that come into the world and leave it; angles; distances that are there at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.played_stories import PERIOD, begins, marker, played
from support.xosc_files import (
    HIGHWAY,
    at,
    by_entity,
    document,
    event,
    group,
    lane_change,
    private,
    teleport,
    written,
)

from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.core.scenario.schema import load_scenario

pytestmark = pytest.mark.filterwarnings(
    "ignore::ros2_cosim.core.kernel.errors.WithoutEffectWarning"
)
BOX = (
    '<ScenarioObject name="C"><MiscObject name="c" mass="1" miscObjectCategory="obstacle">'
    '<BoundingBox><Center x="0" y="0" z="0.5"/><Dimensions width="2" length="2" height="1"/>'
    "</BoundingBox></MiscObject></ScenarioObject>"
)
STRUCK = '<CollisionCondition><EntityRef entityRef="{}"/></CollisionCondition>'
NEAR = (
    '<RelativeDistanceCondition entityRef="{}" relativeDistanceType="longitudinal" value="{}" '
    'freespace="false" rule="lessThan"/>'
)


def entity(name: str, action: str) -> str:
    return f'<GlobalAction><EntityAction entityRef="{name}">{action}</EntityAction></GlobalAction>'


def add(name: str, place: str) -> str:
    return entity(name, f"<AddEntityAction><Position>{place}</Position></AddEntityAction>")


DELETE = "<DeleteEntityAction/>"
AHEAD = '<LanePosition roadId="1" laneId="-2" s="{}"/>'


@pytest.mark.parametrize("deleted", [False, True])
def test_what_is_deleted_is_met_by_nobody(deleted: bool, tmp_path: Path) -> None:
    action = event("delete", entity("C", DELETE), at(1.0)) if deleted else ""
    text = document(
        group(action + marker("hit", by_entity(STRUCK.format("C"), "A"))),
        stop=at(6.0),
        entities=BOX,
        init=f'<Private entityRef="C">{teleport(AHEAD.format(180))}</Private>',
    )
    summary = played(tmp_path, text)
    assert ("hit" in begins(summary)) is not deleted
    assert bool(summary.collisions) is not deleted


def test_a_vehicle_is_there_from_its_addition_to_its_deletion(tmp_path: Path) -> None:
    car = document().partition('<ScenarioObject name="B">')[2].partition("</ScenarioObject>")[0]
    near = by_entity(NEAR.format("D", 80), "A")
    text = document(
        group(
            event("add", add("D", AHEAD.format(300)), at(2.0))
            + event("delete", entity("D", DELETE), at(8.0))
            + marker("near", near)
            + marker("late", by_entity(NEAR.format("D", 1e6), "A", edge="falling"))
        ),
        stop=at(10.0),
        entities=f'<ScenarioObject name="D">{car}</ScenarioObject>',
    )
    found = begins(played(tmp_path, text))
    # A comes from s = 100 with 20 m/s: 80 m before s = 300 it is at 6 s; D stands there.
    assert found["near"] == pytest.approx(6.0, abs=0.1)
    assert found["late"] == pytest.approx(8.0, abs=3 * PERIOD)


def test_entities_are_added_and_deleted_at_the_start(tmp_path: Path) -> None:
    text = document(
        group(marker("hit", by_entity(STRUCK.format("C"), "A"))),
        stop=at(6.0),
        entities=BOX,
        # A private action, which places A, stands behind it.
        init=add("C", '<RelativeLanePosition entityRef="A" dLane="0" ds="80"/>'),
    )
    private, added = text.index("<Private "), text.index("<GlobalAction>")
    end = text.index("</GlobalAction>") + len("</GlobalAction>")
    text = text[:private] + text[added:end] + text[private:added] + text[end:]
    assert "hit" in begins(played(tmp_path, text))
    text = document(
        group(marker("hit", by_entity(STRUCK.format("C"), "A"))),
        stop=at(6.0),
        entities=BOX,
        init=f'<Private entityRef="C">{teleport(AHEAD.format(180))}</Private>'
        + entity("C", DELETE),
    )
    assert "hit" not in begins(played(tmp_path, text))


def test_contacts_may_be_those_with_a_kind_of_entity(tmp_path: Path) -> None:
    by_type = "<CollisionCondition><ByType type='{}'/></CollisionCondition>"
    text = document(
        group(
            marker("thing", by_entity(by_type.format("miscellaneous"), "A"))
            + marker("vehicle", by_entity(by_type.format("vehicle"), "A"))
        ),
        stop=at(6.0),
        entities=BOX,
        init=f'<Private entityRef="C">{teleport(AHEAD.format(180))}</Private>',
    )
    found = begins(played(tmp_path, text))
    assert "thing" in found and "vehicle" not in found


def test_headings_are_compared_with_the_map_the_road_and_each_other(tmp_path: Path) -> None:
    angle = '<AngleCondition angleType="heading" angle="{}" angleTolerance="{}" {}/>'
    other = (
        '<RelativeAngleCondition entityRef="B" angleType="heading" angle="0.03" '
        'angleTolerance="0.01"/>'
    )
    road = 'coordinateSystem="road"'
    text = document(
        group(
            event("change", lane_change('<RelativeTargetLane entityRef="A" value="1"/>'), at(1.0))
            + marker("map", by_entity(angle.format(0.03, 0.01, ""), "A"))
            + marker("road", by_entity(angle.format(0.03, 0.01, road), "A"))
            + marker("B", by_entity(other, "A"))
            + marker("back", by_entity(angle.format(3.1, 0.1, ""), "A"))
        ),
        stop=at(6.0),
    )
    found = begins(played(tmp_path, text))
    assert found["map"] == found["road"] == found["B"] and 1.0 < found["map"] < 3.0
    assert "back" not in found


def test_a_distance_without_limits_is_there_at_once(tmp_path: Path) -> None:
    """A is 50 m behind B and 5 m/s faster; with limits it takes its time."""
    action = private(
        '<LongitudinalAction><LongitudinalDistanceAction entityRef="B" distance="12" '
        'freespace="true" continuous="false" displacement="leadingReferencedEntity">{}'
        "</LongitudinalDistanceAction></LongitudinalAction>"
    )
    limits = '<DynamicConstraints maxAcceleration="2" maxDeceleration="2" maxSpeed="40"/>'
    gap = (
        '<RelativeDistanceCondition entityRef="B" relativeDistanceType="longitudinal" '
        'coordinateSystem="road" value="12.3" freespace="true" rule="{}"/>'
    )
    ahead = by_entity(gap.format("lessThan"), "A")
    found = {}
    for name, content in (("jump", ""), ("limited", limits)):
        directory = tmp_path / name
        directory.mkdir()
        text = document(
            group(event("keep", action.format(content), at(1.0)) + marker("near", ahead)),
            stop=at(4.0),
        )
        found[name] = begins(played(directory, text))
    assert found["jump"]["near"] == pytest.approx(1.1, abs=0.1)
    assert "near" not in found["limited"]


def test_lane_0_is_the_line_from_which_lanes_are_counted(tmp_path: Path) -> None:
    place = '<LanePosition roadId="1" laneId="0" s="180" offset="-5.25"/>'
    text = document(
        group(marker("hit", by_entity(STRUCK.format("C"), "A"))),
        stop=at(6.0),
        entities=BOX,
        init=f'<Private entityRef="C">{teleport(place)}</Private>',
    )
    assert "hit" in begins(played(tmp_path, text))


def test_errors_that_follow_from_another_one_are_left_out(tmp_path: Path) -> None:
    """An entity that cannot be read is named where it is, not wherever it appears."""
    broken = '<ScenarioObject name="D"><Vehicle name="d" vehicleCategory="tram"/></ScenarioObject>'
    text = document(
        group(event("change", lane_change('<RelativeTargetLane entityRef="D" value="1"/>'), at(1)))
        + group(marker("near", by_entity(NEAR.format("D", 5), "A")), actor="D"),
        entities=broken,
        init='<Private entityRef="D">'
        + teleport('<RelativeLanePosition entityRef="D" dLane="0" ds="5"/>')
        + "</Private>",
    )
    with pytest.raises(ScenarioError) as found:
        load_scenario(written(tmp_path, text))
    (fault,) = found.value.faults
    assert "Vehicle: vehicleCategory: found 'tram'" in fault


def test_a_catalogue_may_be_called_by_the_name_of_its_file(tmp_path: Path) -> None:
    car = document().partition('<ScenarioObject name="B">')[2].partition("</ScenarioObject>")[0]
    header = document().partition("<ParameterDeclarations>")[0]
    catalogue = header + f'<Catalog name="other">{car}</Catalog></OpenSCENARIO>'
    written(tmp_path, catalogue, "Cars.xosc")
    text = document(
        stop=at(0.1),
        catalogues='<VehicleCatalog><Directory path="."/></VehicleCatalog>',
        entities='<ScenarioObject name="C"><CatalogReference catalogName="Cars" entryName="car"/>'
        "</ScenarioObject>",
        init=f'<Private entityRef="C">{teleport(AHEAD.format(180))}</Private>',
    )
    assert played(tmp_path, text).passed


def test_a_vehicle_in_a_lane_for_others_moves_within_it(tmp_path: Path) -> None:
    road = tmp_path / "shoulder.xodr"
    text = HIGHWAY.read_text(encoding="utf-8")
    road.write_text(text.replace('id="-2" type="driving"', 'id="-2" type="shoulder"'), "utf-8")
    offset = private(
        '<LateralAction><LaneOffsetAction continuous="false"><LaneOffsetActionDynamics '
        'dynamicsShape="cubic"/><LaneOffsetTarget><AbsoluteTargetLaneOffset value="0.8"/>'
        "</LaneOffsetTarget></LaneOffsetAction></LateralAction>"
    )
    nearer = (
        '<RelativeDistanceCondition entityRef="B" relativeDistanceType="lateral" '
        'coordinateSystem="road" value="2.8" freespace="false" rule="lessThan"/>'
    )
    text = document(
        group(event("offset", offset, at(1.0)) + marker("nearer", by_entity(nearer, "A"))),
        road=str(road),
        stop=at(6.0),
    )
    # Lanes are 3.5 m wide: 0.8 m further to the left A is 2.7 m beside B.
    assert begins(played(tmp_path, text))["nearer"] > 1.0
