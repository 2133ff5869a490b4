# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What maps paint across their lanes, the pavement between lanes of junctions, and signs' faces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from support.headless_process import HIGHWAY, TOWN
from support.sensor_bench import CAR, HEADER, Bench

from ros2_cosim.world.headless.labels import POLES, ROAD_LINES, ROADS, TERRAIN
from ros2_cosim.world.headless.sensing.cameras import Camera
from ros2_cosim.world.headless.sensing.lettering import strokes
from ros2_cosim.world.headless.sensing.probes import first_on
from ros2_cosim.world.headless.sensing.scene import SceneBuilder
from ros2_cosim.world.headless.sensing.shapes import shape_of
from ros2_cosim.world.headless.signals import LightActor, SignActor
from ros2_cosim.world.headless.wire_types import Transform, Vector
from ros2_cosim.world.headless.world import World
from ros2_cosim.world.map.stop_lines import stop_lines

XODR = HIGHWAY.read_text(encoding="utf-8")
Points = NDArray[np.float64]


def painted(objects: str) -> Points:
    """Triangles (n, 3, 3) of paint that the highway has more with some objects, y to the left."""
    text = XODR.replace("<objects/>", f"<objects>{objects}</objects>", 1)
    assert text != XODR
    meshes = [SceneBuilder().scene(World(each, 0.05)).map for each in (text, XODR)]
    with_it, without = (mesh.points[mesh.tags == ROAD_LINES] for mesh in meshes)
    known = {tuple(corners) for corners in without.reshape(-1, 9).tolist()}
    more = [corners for corners in with_it.reshape(-1, 9).tolist() if tuple(corners) not in known]
    return np.array(more).reshape(-1, 3, 3) * (1.0, -1.0, 1.0)


def area(triangles: Points) -> float:
    a, b = (triangles[:, n, :2] - triangles[:, 0, :2] for n in (1, 2))
    return 0.5 * float(np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum())


def thing(name: str, place: str, size: str = "", outline: str = "", kind: str = "-1") -> str:
    corners = "".join(
        f'<cornerLocal u="{u}" v="{v}" z="0"/>' for u, v in (c.split() for c in outline.split(","))
    ) if outline else ""  # fmt: skip
    inner = f"<outline>{corners}</outline>" if corners else ""
    return f'<object id="900" name="{name}" type="{kind}" {place} {size}>{inner}</object>'


def test_a_stop_line_is_as_long_as_its_outline_and_a_broken_one_has_gaps() -> None:
    across = "-3 0,0 0,3 0"
    place = 's="100" t="-5" hdg="1.5707963267948966"'
    stop = painted(thing("StopLine", place, outline=across))
    low, high = stop.min(axis=(0, 1)), stop.max(axis=(0, 1))
    assert high - low == pytest.approx((0.4, 6.0, 0.0), abs=1e-6)
    assert area(stop) == pytest.approx(6.0 * 0.4)
    line = painted(thing("SolidSingleWhite", place, outline=across))
    assert area(line) == pytest.approx(6.0 * 0.15)
    broken = painted(thing("DashedShortSingleWhite", place, outline=across))
    assert area(broken) == pytest.approx(3.0 * 0.15)


@pytest.mark.parametrize(("t", "ahead"), [(-5.25, 1.0), (5.25, -1.0)])
def test_an_arrow_points_to_its_side_for_those_who_drive_over_it(t: float, ahead: float) -> None:
    x, y, _, heading = World(XODR, 0.05).network.pose(1, 100.0, t)
    assert heading == pytest.approx(0.0)
    size = 'length="1.9" width="2.5"'
    for letter, side in (("R", -1.0), ("L", 1.0)):
        arrow = painted(thing(f"Stencil_ArrowType4{letter}", f's="100" t="{t}" hdg="0"', size))
        local = (arrow[..., :2] - (x, y)) * ahead
        assert np.abs(local).max(axis=(0, 1)) == pytest.approx((1.25, 0.95))
        # The tip is alone at its side, in the front half; the stem begins at the back.
        tip = local[np.abs(local[..., 1] - side * 0.95) < 1e-6]
        assert len(tip) and (tip[:, 0] > 0.1).all()
        assert (local[local[..., 0] < -1.2][:, 1] * side < 0.0).all()


def test_a_word_is_read_by_those_who_drive_over_it() -> None:
    x, y, _, _ = World(XODR, 0.05).network.pose(1, 100.0, -5.25)
    word = painted(thing("Stencil_STOP", 's="100" t="-5.25" hdg="0"', 'length="3" width="2"'))
    local = (word[..., :2] - (x, y)) / (1.5, -1.0)  # up, and to the right as one reads
    wanted = sum((right - low) * (up - down) for low, right, down, up in strokes("STOP"))
    assert area(word) == pytest.approx(wanted * 1.5)
    # S begins on the left, and the last letter, P, has nothing on the right below its bow.
    assert local.min() == pytest.approx(-1.0) and local.max() == pytest.approx(1.0)
    last = local[local[..., 1] > 0.8]
    assert last[:, 0].min() > -0.3


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("Crosswalk", 8 * 0.5 * 3.0), ("SimpleCrosswalk", 2 * 0.3 * 8.0),
     ("LadderCrosswalk", 8 * 0.5 * 3.0 + 2 * 0.3 * 8.0)],
)  # fmt: skip
def test_crosswalks_have_bars_lines_or_both(name: str, wanted: float) -> None:
    outline = "-1.5 -4,1.5 -4,1.5 4,-1.5 4,-1.5 -4"
    found = painted(thing(name, 's="100" t="0" hdg="0"', outline=outline, kind="crosswalk"))
    assert area(found) == pytest.approx(wanted)


def test_digits_are_told_apart() -> None:
    shapes = {digit: frozenset(strokes(digit)) for digit in "0123456789"}
    assert len(set(shapes.values())) == 10
    for found in shapes.values():
        corners = np.array(sorted(found))
        assert corners.min() == -1.0 and corners.max() == 1.0


def corners_of(triangles: Points) -> int:
    """How many corners an outline has, seen along x."""
    return len({(round(y, 6), round(z, 6)) for y, z in triangles[..., 1:].reshape(-1, 2).tolist()})


def normals_of(triangles: Points) -> Points:
    return np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])


def test_signs_have_their_outline_and_turn_their_face_to_those_whom_they_hold_for() -> None:
    world = World(TOWN.read_text(encoding="utf-8"), 0.05)
    wanted = {"traffic.stop": 8, "traffic.yield": 3}
    kinds = set()
    for actor in world.signals.actors:
        shape = shape_of(actor)
        assert shape is not None
        kinds.add(actor.blueprint.id)
        back = shape.points[(shape.tags != POLES) & (np.abs(normals_of(shape.points)[:, 0]) > 1e-6)]
        at = back[..., 0] * actor.front
        behind = back[(at < 0.0).all(axis=1)]
        if actor.blueprint.id in wanted:
            assert corners_of(behind) == wanted[actor.blueprint.id]
        ways = stop_lines(world.network, actor.signal.id)
        if isinstance(actor, LightActor):
            # One lamp shines, in front.
            shines = shape.points[shape.glow.any(axis=1)]
            assert len(shines) and (shines[..., 0] * actor.front > 0.0).all()
        for road, lane, s in ways[:1]:
            heading = world.network.lane_pose(road, lane, s).heading
            yaw = -np.radians(actor.state.transform.rotation.yaw)
            assert actor.front * np.cos(heading - yaw) < 0.0
    assert kinds >= {"traffic.stop", "traffic.yield", "traffic.traffic_light"}


def test_speed_signs_among_a_map_s_objects_are_signs() -> None:
    sign = '<objects><object id="9" name="Speed_60" s="150" t="-12" zOffset="0.15"/></objects>'
    text = XODR.replace("<header ", '<header vendor="VectorZero" ').replace("<objects/>", sign, 1)
    world = World(text, 0.05)
    known = {actor.signal.id for actor in World(XODR, 0.05).signals.actors}
    (actor,) = [actor for actor in world.signals.actors if actor.signal.id not in known]
    assert actor.blueprint.id == "traffic.speed_limit.60"
    x, y, _ = actor.state.transform.location
    assert (x, y) == pytest.approx((150.0, 12.0))
    # Drivers come from smaller x.
    shape, other = shape_of(actor), shape_of(_with_limit(actor, 90.0, world))
    assert shape is not None and other is not None and actor.front == -1.0
    assert not np.array_equal(shape.points, other.points)
    plate = shape.points[shape.tags != POLES]
    assert plate[..., 2].min() == pytest.approx(2.0) and plate[..., 2].max() == pytest.approx(2.7)


def _with_limit(actor: SignActor, limit: float, world: World) -> SignActor:
    blueprint = replace(actor.blueprint, id=f"traffic.speed_limit.{limit:g}")
    other = SignActor(9999, blueprint, actor.signal, actor.state.transform)
    other.front = actor.front
    return other


def test_lamps_of_vehicles_shine_as_their_lights_say() -> None:
    world = World(XODR, 0.05)
    car = world.require_vehicle(world.spawn(CAR, Transform(Vector(100.0, 5.25, 0.0))).id)
    builder = SceneBuilder()

    def shining() -> Points:
        mesh = builder.scene(world).actors
        return mesh.centres[mesh.glow.any(axis=1)] - car.state.transform.location

    assert not len(shining())
    found = {}
    for name, light in (
        ("brake", 0x8),
        ("left", 0x20),
        ("right", 0x10),
        ("low", 0x2),
        ("rear", 0x40),
    ):
        car.lights = light
        found[name] = shining()
        assert len(found[name]), name
    assert (found["brake"][:, 0] < -2.0).all() and (found["rear"][:, 0] < -2.0).all()
    assert (found["left"][:, 1] < 0.0).all() and (found["right"][:, 1] > 0.0).all()
    for name in ("left", "right", "low"):  # at both ends
        assert found[name][:, 0].min() < -2.0 and found[name][:, 0].max() > 2.0
    car.lights = 0
    assert not len(shining())


def test_windows_and_lamp_heads_shine_at_night() -> None:
    world = World(TOWN.read_text(encoding="utf-8"), 0.05, has_scenery=True)
    builder = SceneBuilder()
    day = builder.scene(world)
    assert day.details is not None and not day.details[0].glow.any() and not day.map.glow.any()
    world.lamps.follow_sun(-10.0)
    night = builder.scene(world)
    assert night.details is not None
    share = night.details[0].glow.any(axis=1).mean()
    assert 0.2 < share < 0.7
    heads = night.map.glow.any(axis=1)
    assert heads.sum() == 12 * len(world.lamps.burning())
    world.lamps.follow_sun(10.0)
    again = builder.scene(world)
    assert again.details is not None and not again.details[0].glow.any()


def test_instances_of_scenery_are_told_apart() -> None:
    bench = Bench(0.05, path=TOWN, has_scenery=True)
    pose = bench.simulation.world.spawn_points()[30]
    place = pose._replace(location=pose.location._replace(z=pose.location.z + 2.0))
    camera = bench.sensor(
        "sensor.camera.instance_segmentation", place, image_size_x=320, image_size_y=180
    )
    bench.run(1)
    _, _, pixels = Camera.pixels_of(bench.messages[camera][-1][HEADER:])
    colours = np.frombuffer(pixels, np.uint8).reshape(-1, 4).astype(int)
    owners, tags = colours[:, 1] + 256 * colours[:, 0], colours[:, 2]
    things = {thing.id: thing for thing in bench.simulation.world.things.labelled(255)}
    seen = set(zip(owners[owners > 32768].tolist(), tags[owners > 32768].tolist(), strict=True))
    assert len(seen) > 5
    for owner, tag in seen:
        assert things[65535 - owner].label == tag
    assert not owners[np.isin(tags, (ROADS, TERRAIN, ROAD_LINES))].any()


def road(number: int, junction: int, x: float, length: float, shape: str) -> str:
    return (
        f'<road name="" length="{length}" id="{number}" junction="{junction}"><planView>'
        f'<geometry s="0" x="{x}" y="0" hdg="0" length="{length}">{shape}</geometry></planView>'
        '<lanes><laneSection s="0"><center><lane id="0" type="none"/></center><right>'
        '<lane id="-1" type="driving"><width sOffset="0" a="3.5" b="0" c="0" d="0"/></lane>'
        "</right></laneSection></lanes></road>"
    )


def test_a_wedge_between_lanes_of_a_junction_is_paved_and_open_land_is_not() -> None:
    """A lane goes straight on, and another one to the left around (30, 15) with 15 to 18.5 m."""
    links = "".join(
        f'<connection id="{n}" incomingRoad="1" connectingRoad="{n}" contactPoint="start">'
        '<laneLink from="-1" to="-1"/></connection>'
        for n in (2, 3)
    )
    text = (
        '<OpenDRIVE><header revMajor="1" revMinor="4"/>'
        + road(1, -1, 0.0, 30.0, "<line/>")
        + road(2, 9, 30.0, 30.0, "<line/>")
        + road(3, 9, 30.0, 23.5, '<arc curvature="0.06666666666666667"/>')
        + f'<junction id="9" name="">{links}</junction></OpenDRIVE>'
    )
    world = World(text, 0.05)
    scene = SceneBuilder().scene(world)

    def below(x: float, y: float) -> tuple[int, float]:
        found = first_on(scene, Vector(x, -y, 5.0), Vector(0.0, 0.0, -1.0), 30.0)
        height = world.land.height(x, y)
        assert found is not None and height is not None
        assert height == pytest.approx(found.location.z, abs=0.025)
        return found.label, height

    # The lanes are 0, 1.2, 1.8, 10 m apart, and the last place is beside all.
    wedge = [below(x, y) for x, y in ((41.5, 0.3), (42.3, 0.6), (43.0, 0.9))]
    assert {label for label, _ in wedge} == {ROADS}
    assert [height for _, height in wedge] == pytest.approx([0.0] * 3)
    for place in ((48.0, 5.0), (45.0, -8.0)):
        label, height = below(*place)
        assert label == TERRAIN and height < -0.04
    # A road's part has them: clients paint and hide it as a whole.
    names = {thing.name for thing in world.things.labelled(ROADS)}
    assert names == {"Road_1", "Road_2", "Road_3"}
