# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Scenery beside the roads: the roads stay free, the same bits each time, hidden on demand."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.headless_process import HIGHWAY, TOWN

from ros2_cosim.world.headless.labels import (
    ANY,
    BRIDGES,
    BUILDINGS,
    CARS,
    DYNAMIC,
    FENCES,
    GROUND,
    GUARD_RAILS,
    OTHER,
    POLES,
    RAIL_TRACKS,
    STATIC,
    TRAINS,
    VEGETATION,
    WALLS,
    WATER,
)
from ros2_cosim.world.headless.sensing.axes import axes_of
from ros2_cosim.world.headless.sensing.mesh import Mesh
from ros2_cosim.world.headless.sensing.occluders import Hiding, walls_of
from ros2_cosim.world.headless.sensing.painted import box_corners
from ros2_cosim.world.headless.sensing.raster import Lens, View, depths, render
from ros2_cosim.world.headless.sensing.scene import SceneBuilder, TriangleScene
from ros2_cosim.world.headless.sensing.scenery import buildings, plants
from ros2_cosim.world.headless.sensing.scenery.dice import Dice
from ros2_cosim.world.headless.wire_types import Vector
from ros2_cosim.world.headless.world import World

LENS = Lens(160, 90, 160.0)
CIRCUIT, HILL = TOWN.with_name("circuit.xodr"), TOWN.with_name("hill.xodr")
#: Half sizes and height of a truck [m]; it moves by less than its length from place to place.
TRUCK, STEP = (2.5, 1.3, 4.2), 4.0
MADE = {
    BUILDINGS, WALLS, FENCES, VEGETATION, CARS, STATIC, GUARD_RAILS, DYNAMIC, OTHER, TRAINS,
    RAIL_TRACKS, WATER,
}  # fmt: skip
#: What the map names may have these labels, too.
ALSO_NAMED = {POLES, GROUND}
Points = NDArray[np.float64]


@cache
def world_of(path: Path) -> World:
    return World(path.read_text(encoding="utf-8"), 0.05, has_scenery=True)


@cache
def scene_of(path: Path) -> TriangleScene:
    return SceneBuilder().scene(world_of(path))


def over(mesh: Mesh) -> Points:
    """Points (n, 3) of triangles, so dense that a truck cannot pass between them."""
    found = []
    longest = np.abs(mesh.points - mesh.points[:, :1]).max(axis=(1, 2))
    for count in np.unique(steps := longest.astype(int) + 2).tolist():
        a, b, c = (mesh.points[steps == count, i, None] for i in range(3))
        u = np.linspace(0.0, 1.0, count)
        u, v = (part.reshape(1, -1, 1) for part in np.meshgrid(u, u))
        found.append((a + u * (b - a) + v * (1.0 - u) * (c - a)).reshape(-1, 3))
    return np.concatenate(found)


def cell_of(points: Points) -> NDArray[np.int64]:
    """A number of the square of ground (4 m) that a point is in; neighbours differ by 1, 10^5."""
    x, y = np.floor(points[:, :2] / 4.0).astype(np.int64).T
    return x * 100_000 + y


def lane_places(world: World) -> Points:
    """Places (n, 4) on the centre of each lane for vehicles: x, y, z, heading, in CARLA's frame."""
    network, found = world.network, []
    for road in network.roads.values():
        for s in np.arange(0.5, road.length, STEP).tolist():
            for lane in network.lane_ids(road.id, s, "driving"):
                if network.lane_width(road.id, lane, s) > 2.6:
                    x, y, z, heading = network.lane_pose(road.id, lane, s)
                    found.append((x, -y, z, -heading))
    return np.array(found)


def hit(places: Points, points: Points) -> int:
    """How many points a truck meets that passes all places."""
    length, width, height = TRUCK
    around = [dx * 100_000 + dy for dx in (-1, 0, 1) for dy in (-1, 0, 1)]
    own = cell_of(places)
    points = points[np.isin(cell_of(points), np.concatenate([own + step for step in around]))]
    cells, count = cell_of(points), 0
    order = np.argsort(cells, kind="stable")
    numbers, starts = np.unique(cells[order], return_index=True)
    for number, chosen in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
        near = np.flatnonzero(np.isin(own, [number + step for step in around]))
        here = points[chosen][:, None]
        away = here[..., :2] - places[near, :2]
        up = here[..., 2] - places[near, 2]
        cos, sin = np.cos(places[near, 3]), np.sin(places[near, 3])
        along = np.abs(away[..., 0] * cos + away[..., 1] * sin) < length
        across = np.abs(away[..., 1] * cos - away[..., 0] * sin) < width
        count += int((along & across & (up > 0.15) & (up < height)).any(axis=1).sum())
    return count


@pytest.mark.parametrize("path", [TOWN, HIGHWAY, CIRCUIT, HILL], ids=lambda path: path.stem)
def test_a_truck_passes_on_every_lane_and_every_spawn_point(path: Path) -> None:
    world = world_of(path)
    mesh = scene_of(path).map
    made = mesh.take(np.isin(mesh.tags, list(MADE | ALSO_NAMED | {BRIDGES})))
    assert world.things.labelled(VEGETATION)
    points = over(made)
    poses = world.spawn_points()
    spawns = np.array([(*pose.location, np.radians(pose.rotation.yaw)) for pose in poses]).reshape(
        -1, 4
    )
    assert hit(np.concatenate((lane_places(world), spawns)), points) == 0
    # The measure can fail: a truck that leaves its lane by ten metres meets something.
    beside = lane_places(world)
    beside[:, 0] -= 10.0 * np.sin(beside[:, 3])
    beside[:, 1] += 10.0 * np.cos(beside[:, 3])
    assert hit(beside, points) > 0


def test_the_same_map_has_the_same_scenery_and_another_one_has_another() -> None:
    text = CIRCUIT.read_text(encoding="utf-8")
    again = SceneBuilder().scene(World(text, 0.05, has_scenery=True))
    first = scene_of(CIRCUIT)
    assert first.details is not None and again.details is not None
    for one, two in ((first.map, again.map), (first.details[0], again.details[0])):
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    text = text.replace("</OpenDRIVE>", "<!-- -->\n</OpenDRIVE>")
    other = SceneBuilder().scene(World(text, 0.05, has_scenery=True)).map
    assert len(other) != len(first.map) or not np.array_equal(other.points, first.map.points)


def test_the_town_has_houses_plants_and_more_of_many_kinds() -> None:
    world = world_of(TOWN)
    scene_of(TOWN)
    things = {label: world.things.labelled(label) for label in MADE}
    assert all(things.values()), {label for label, found in things.items() if not found}
    kinds = {thing.name.split("_")[0] for thing in things[BUILDINGS]}
    assert len(kinds) >= 12 and kinds <= {kind.name for kind in buildings.FACADES}
    trees = {thing.name.split("_")[0] for thing in things[VEGETATION]}
    assert {kind.name for kind in plants.TREES} < trees
    # Without it only what the map names is there.
    bare = World(TOWN.read_text(encoding="utf-8"), 0.05)
    SceneBuilder().complete(bare)
    assert not any(bare.things.labelled(label) for label in MADE)


def test_a_road_over_another_one_has_a_bridge() -> None:
    """A road that crosses the highway ten metres above it."""
    text = HIGHWAY.read_text(encoding="utf-8")
    assert not np.isin(BRIDGES, scene_of(HIGHWAY).map.tags)
    first, end = text.index("<road "), text.index("</road>") + len("</road>")
    road = text[first:end]
    crossing = (
        '<road name="over" length="200" id="90001" junction="-1"><planView>'
        '<geometry s="0" x="150" y="-100" hdg="1.5707963267948966" length="200"><line/></geometry>'
        '</planView><elevationProfile><elevation s="0" a="10" b="0" c="0" d="0"/>'
        '</elevationProfile><lanes><laneSection s="0"><center><lane id="0" type="none"/></center>'
        '<right><lane id="-1" type="driving"><width sOffset="0" a="3.5" b="0" c="0" d="0"/></lane>'
        "</right></laneSection></lanes></road>"
    )
    world = World(text.replace(road, road + crossing, 1), 0.05, has_scenery=True)
    mesh = SceneBuilder().scene(world).map
    deck = mesh.take(mesh.tags == BRIDGES)
    low, high = deck.points.min(axis=(0, 1)), deck.points.max(axis=(0, 1))
    assert 9.0 < low[2] < 9.2 and 10.9 < high[2] < 11.0
    assert high[0] - low[0] == pytest.approx(3.5 + 2 * 0.25, abs=0.01)
    # Vehicles on the highway drive below it.
    assert hit(lane_places(world), over(deck)) == 0


def test_lamps_of_the_scenery_are_lights_from_the_first_question_on() -> None:
    text = TOWN.read_text(encoding="utf-8")
    world = World(text, 0.05, has_scenery=True)
    named = len(world.lamps.states()) - len(world.things.made_lamps())
    lights = world.lamps.states()
    assert len(lights) > named + 40 and named == len(World(text, 0.05).lamps.states())
    # For that no scenery is made; when it is, lights have the same numbers in the same places, and
    # so they do where it comes first.
    assert not world.things.parts()
    SceneBuilder().complete(world)
    other = World(text, 0.05, has_scenery=True)
    SceneBuilder().complete(other)
    assert world.lamps.states() == lights == other.lamps.states()
    names = [[(t.id, t.name, t.pose) for t in each.things.labelled(ANY)] for each in (world, other)]
    assert names[0] == names[1]
    assert not world.lamps.burning()
    world.lamps.follow_sun(-10.0)
    assert len(world.lamps.burning()) == len(lights)
    # Those that nobody had asked for before sunset burn, too.
    late = World(text, 0.05, has_scenery=True)
    late.lamps.follow_sun(-10.0)
    assert late.lamps.burning() == world.lamps.burning()
    # They hang above sidewalks, or beside them.
    for light in lights[named:]:
        x, y, z = light.location
        at = world.network.project(x, 0.0 - y, z=z)
        right, left = world.network.roads[at.road_id].lanes.edges(at.s)
        assert max(right - at.t, at.t - left) < 0.1
        assert 6.0 < z - world.network.pose(at.road_id, at.s, at.t)[2] < 8.0


def seen_places(view: View) -> Points:
    """Of each pixel the centre of the triangle that it shows, zeros for the sky."""
    places: Points = np.append(view.mesh.centres, [[0.0, 0.0, 0.0]], axis=0)[view.seen]
    return places


def test_what_walls_hide_is_in_no_picture() -> None:
    scene = scene_of(TOWN)
    assert scene.walls is not None and scene.tiles is not None
    hidden = 0
    for number, pose in enumerate(world_of(TOWN).spawn_points()[:60:4]):
        place = pose.location._replace(z=pose.location.z + 0.5 + number % 5)
        eye = axes_of(pose._replace(location=place))
        pair = [render(each, eye, LENS) for each in (scene, scene._replace(walls=None))]
        assert np.array_equal(*(seen_places(view) for view in pair))
        away = Hiding(scene.walls, eye.origin).hidden(scene.tiles.centres, scene.tiles.radii)
        hidden += int(scene.tiles.counts[away].sum())
    # Of the triangles of the town, for each of the 15 eyes.
    assert hidden > 0.05 * 15 * len(scene.map)


def test_a_ball_is_hidden_only_where_each_ray_to_it_meets_the_wall() -> None:
    walls = walls_of(box_corners(5.0, 5.0, 5.0)[None] + np.array((20.0, 0.0, 0.0)))
    hiding = Hiding(walls, Vector(0.0, 0.0, 0.0))
    draws = np.random.default_rng(1)
    centres = draws.uniform((0.0, -30.0, -30.0), (60.0, 30.0, 30.0), (4000, 3))
    radii = draws.uniform(0.0, 3.0, 4000)
    hidden = hiding.hidden(centres, radii)
    assert 50 < hidden.sum() < 2000
    # Points all over the hidden balls lie behind the front wall, x = 15, and within its outline.
    ways = draws.normal(size=(50, 3))
    ways /= np.sqrt((ways * ways).sum(axis=1))[:, None]
    points = centres[hidden][:, None] + radii[hidden][:, None, None] * ways
    assert (points[..., 0] > 15.0).all()
    assert (np.abs(points[..., 1:] * (15.0 / points[..., :1])) < 5.0).all()
    # From a place within two metres of a wall nothing is hidden by it.
    assert not Hiding(walls, Vector(13.5, 0.0, 0.0)).hidden(centres, radii).any()


@pytest.mark.parametrize("number", range(0, 60, 12))
def test_details_and_tiles_change_no_depth_and_no_label(number: int) -> None:
    scene = scene_of(TOWN)
    pose = world_of(TOWN).spawn_points()[number]
    eye = axes_of(pose._replace(location=pose.location._replace(z=pose.location.z + 2.0)))
    whole = render(scene, eye, LENS)
    plain = render(scene._replace(tiles=None, details=None, walls=None), eye, LENS)
    tags, others = (np.append(view.mesh.tags, 11)[view.seen] for view in (whole, plain))
    assert np.array_equal(tags, others)
    one, two = depths(whole, LENS), depths(plain, LENS)
    assert np.array_equal(np.isinf(one), np.isinf(two))
    near = np.isfinite(one)
    # Details lie a little before the faces that they are in.
    assert np.abs(one[near] - two[near]).max() < 5e-3
    # Without details the same triangles come through the tiles.
    tiled = render(scene._replace(details=None), eye, LENS)
    assert np.array_equal(seen_places(tiled), seen_places(plain))


def test_what_a_client_hides_is_not_seen() -> None:
    world = World(TOWN.read_text(encoding="utf-8"), 0.05, has_scenery=True)
    builder = SceneBuilder()
    before = builder.scene(world)
    assert before.details is not None
    world.things.show([thing.id for thing in world.things.labelled(BUILDINGS)], shown=False)
    after = builder.scene(world)
    assert BUILDINGS in before.map.tags and BUILDINGS not in after.map.tags
    assert after.details is None or BUILDINGS not in after.details[0].tags
    assert (after.map.tags == VEGETATION).sum() == (before.map.tags == VEGETATION).sum()


@pytest.mark.parametrize("kind", buildings.FACADES, ids=lambda kind: kind.name)
def test_a_house_stays_on_its_lot_and_turns_its_faces_outwards(kind: buildings.Facade) -> None:
    for seed in range(5):
        dice = Dice(seed, kind.name)
        width, depth = dice.between(*kind.width), dice.between(*kind.depth)
        form = buildings.house(kind, width, depth, dice, Dice(seed, "evening"))
        points = np.concatenate([piece.points for piece in form.pieces if not piece.is_detail])
        low, high = points.reshape(-1, 3).min(axis=0), points.reshape(-1, 3).max(axis=0)
        room = 1.2 if kind.balconies else 0.0
        assert low[0] >= 0.0 and high[0] <= width and low[1] >= -room and high[1] <= depth
        # A closed surface seen from outside has the volume that the divergence theorem gives.
        a, b, c = (points[:, i] for i in range(3))
        volume = float(np.sum(np.cross(a, b) * c)) / 6.0
        assert volume > 0.6 * width * depth * kind.storeys[0] * kind.storey
        details = [piece for piece in form.pieces if piece.is_detail]
        assert len(details) > 3


@settings(max_examples=50)
@given(st.integers(0, 2**64 - 1), st.floats(-100.0, 100.0), st.floats(0.001, 50.0))
def test_draws_stay_within_their_bounds(seed: int, low: float, width: float) -> None:
    dice, again = Dice(seed, "one"), Dice(seed, "one")
    values = [dice.between(low, low + width) for _ in range(100)]
    assert values == [again.between(low, low + width) for _ in range(100)]
    assert all(low <= value <= low + width for value in values)
    assert {dice.whole(2, 4) for _ in range(200)} == {2, 3, 4}
