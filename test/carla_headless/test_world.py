# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The world model in process: spawning, motion, teleports, collisions, episodes."""

from __future__ import annotations

import itertools
import random

import pytest
from support.headless_process import HIGHWAY

from ros2_cosim.world.headless import collisions
from ros2_cosim.world.headless.actors import VehicleActor
from ros2_cosim.world.headless.blueprints import LIBRARY
from ros2_cosim.world.headless.contact import contact
from ros2_cosim.world.headless.wire_types import (
    AckermannControl,
    Rotation,
    Transform,
    Vector,
    VehicleControl,
)
from ros2_cosim.world.headless.world import MAX_GONE, CallError, World
from ros2_cosim.world.map import RoadError

CAR = "vehicle.tesla.model3"
BARRIER = "static.prop.streetbarrier"
LANE_Y = 5.25  # centre of lane -2 on the first straight, in CARLA's frame
XODR = HIGHWAY.read_text(encoding="utf-8")


def _at(x: float, y: float = LANE_Y, yaw: float = 0.0) -> Transform:
    return Transform(Vector(x, y, 0.0), Rotation(yaw=yaw))


@pytest.fixture
def world() -> World:
    return World(XODR, 0.01)


def test_a_car_at_rest_stays_where_it_is(world: World) -> None:
    car = world.spawn(CAR, _at(100.0))
    assert world.state(car.id).transform.location == (100.0, LANE_Y, 0.0)
    world.tick()
    settled = world.state(car.id)
    for _ in range(99):
        world.tick()
    assert world.state(car.id) == settled
    # It comes to stand a tenth of a millimetre beside where it was put.
    assert settled.transform.location == (100.0, pytest.approx(LANE_Y, abs=1.01e-4), 0.0)
    assert world.elapsed_s == 1.0
    assert world.frame == 100


def test_throttle_brake_and_steering_have_the_signs_of_carla(world: World) -> None:
    car = world.spawn(CAR, _at(100.0))
    world.apply_control(car.id, VehicleControl(throttle=1.0))
    for _ in range(300):
        world.tick()
    state = world.state(car.id)
    assert state.velocity.x > 5.0 and state.acceleration.x > 1.0
    world.apply_control(car.id, VehicleControl(steer=0.1))
    for _ in range(100):
        world.tick()
    state = world.state(car.id)
    assert state.transform.location.y > LANE_Y  # y points to the right
    assert state.transform.rotation.yaw > 0.0
    assert state.angular_velocity.z > 0.0
    world.apply_control(car.id, VehicleControl(brake=1.0))
    for _ in range(500):
        world.tick()
    assert world.state(car.id).velocity == (0.0, 0.0, 0.0)
    world.apply_control(car.id, VehicleControl(throttle=0.5, reverse=True))
    for _ in range(200):
        world.tick()
    assert world.state(car.id).velocity.x < -0.5


def test_acceleration_is_the_change_of_velocity(world: World) -> None:
    car = world.spawn(CAR, _at(100.0))
    world.set_target_velocity(car.id, Vector(20.0, 0.0, 0.0))
    assert world.state(car.id).acceleration == (0.0, 0.0, 0.0)
    world.apply_control(car.id, VehicleControl(throttle=0.4))
    before = world.state(car.id).velocity.x
    for _ in range(50):
        world.tick()
        after = world.state(car.id)
        assert after.acceleration.x == pytest.approx((after.velocity.x - before) / 0.01, abs=1e-3)
        before = after.velocity.x


def test_vehicles_follow_the_height_of_the_road(world: World) -> None:
    for s in (2080.0, 2640.0):
        x, y, z, _ = world.network.lane_pose(1, -2, s)
        heading = world.network.lane_pose(1, -2, s).heading
        yaw = -heading * 57.29577951308232
        car = world.spawn(CAR, Transform(Vector(x, -y, z), Rotation(yaw=yaw)))
        state = world.state(car.id)
        assert state.transform.location.z == pytest.approx(z, abs=1e-5)
        slope = world.network.slope(1, s)
        assert slope != 0.0
        assert (state.transform.rotation.pitch > 0.0) == (slope > 0.0)
        world.set_target_velocity(car.id, Vector(10.0, 0.0, 0.0))
        world.tick()
        assert (world.state(car.id).velocity.z > 0.0) == (slope > 0.0)


def test_teleport_keeps_the_velocity_relative_to_the_body(world: World) -> None:
    car = world.spawn(CAR, _at(100.0))
    world.set_target_velocity(car.id, Vector(10.0, 0.0, 0.0))
    world.set_transform(car.id, _at(300.0, yaw=180.0))
    state = world.state(car.id)
    assert state.transform.location.x == 300.0
    assert state.velocity.x == pytest.approx(-10.0)


def test_spawning_is_refused_where_it_must_be(world: World) -> None:
    world.spawn(CAR, _at(100.0))
    with pytest.raises(CallError, match="collision at spawn position"):
        world.spawn(CAR, _at(103.0))
    with pytest.raises(CallError, match=r"invalid actor description 'vehicle\.none'"):
        world.spawn("vehicle.none", _at(200.0))
    with pytest.raises(CallError, match="no attribute 'wings'"):
        world.spawn(CAR, _at(200.0), {"wings": "2"})
    with pytest.raises(CallError, match="'base_type' .* is read-only"):
        world.spawn(CAR, _at(200.0), {"base_type": "truck"})
    with pytest.raises(CallError, match="unable to find actor 99"):
        world.spawn("sensor.other.collision", Transform(), {}, 99)
    world.spawn(CAR, _at(106.0))


def test_driving_into_a_barrier(world: World) -> None:
    car = world.spawn(CAR, _at(100.0))
    barrier = world.spawn(BARRIER, _at(110.0))
    world.set_target_velocity(car.id, Vector(10.0, 0.0, 0.0))
    seen = []
    for _ in range(200):
        world.tick()
        seen.extend(world.collisions)
    first = seen[0]
    assert (first.actor, first.other) == (car.id, barrier.id)
    assert first.impulse.x == pytest.approx(-1.1 * car.body.mass * 10.0, rel=0.05)
    assert (seen[1].actor, seen[1].other) == (barrier.id, car.id)
    assert seen[1].impulse.x == -first.impulse.x
    state = world.state(car.id)
    front = state.transform.location.x + car.bounding_box.extent.x
    assert front <= 110.0 - barrier.bounding_box.extent.x + 1e-6
    assert abs(state.velocity.x) < 1.5
    assert world.state(barrier.id).transform.location == (110.0, LANE_Y, 0.0)


def test_momentum_is_kept_between_vehicles(world: World) -> None:
    rear = world.spawn(CAR, _at(100.0))
    front = world.spawn("vehicle.mercedes.sprinter", _at(108.0))
    world.set_target_velocity(rear.id, Vector(15.0, 0.0, 0.0))
    world.set_target_velocity(front.id, Vector(5.0, 0.0, 0.0))
    for _ in range(400):
        before = (
            rear.body.mass * rear.body.velocity()[0] + front.body.mass * front.body.velocity()[0]
        )
        world.tick()
        if world.collisions:
            break
    after = rear.body.mass * rear.body.velocity()[0] + front.body.mass * front.body.velocity()[0]
    assert world.collisions
    assert after == pytest.approx(before, rel=0.001)  # the rest is drag of one step
    assert rear.body.velocity()[0] < front.body.velocity()[0]


def test_an_actor_between_two_others_reports_them_in_turn(world: World) -> None:
    middle = world.spawn(CAR, _at(100.0))
    others = [world.spawn(CAR, _at(94.0)).id, world.spawn(CAR, _at(106.0)).id]
    for other, speed in zip(others, (8.0, -8.0), strict=True):
        world.set_target_velocity(other, Vector(speed, 0.0, 0.0))
    seen = []
    for _ in range(100):
        world.tick()
        reports = [event for event in world.collisions if event.actor == middle.id]
        assert len(reports) <= 1
        seen += [(event.frame, event.other) for event in reports]
    (first_frame, first), (second_frame, second) = seen[:2]
    assert [first, second] == others
    assert second_frame == first_frame + 1
    world.destroy(others[0])
    for _ in range(5):
        world.tick()
        assert all(others[0] not in event for event in world.collisions)


@pytest.mark.parametrize("length", [12.0, 30.0, 80.0, 400.0])
@pytest.mark.parametrize("seed", range(5))
def test_contacts_are_those_of_all_pairs_in_their_order(length: float, seed: int) -> None:
    worlds = [World(XODR, 0.01), World(XODR, 0.01)]
    for world in worlds:
        draw = random.Random(seed)
        for i in range(12):
            kind = BARRIER if i % 4 == 3 else CAR
            actor = world.spawn(kind, _at(20.0 + 10.0 * i, -40.0))
            place = _at(50.0 + length * draw.random(), 8.0 * draw.random(), 360.0 * draw.random())
            world.set_transform(actor.id, place)
            if kind == CAR:
                speed = Vector(draw.uniform(-9.0, 9.0), draw.uniform(-9.0, 9.0), 0.0)
                world.set_target_velocity(actor.id, speed)
    found = collisions.resolve(worlds[0].collidable())
    expected, actors = [], worlds[1].collidable()
    spans = [(b.x, b.half_length + b.half_width) for b in (actor.box() for actor in actors)]
    for i, j in itertools.combinations(range(len(actors)), 2):
        near = abs(spans[i][0] - spans[j][0]) <= spans[i][1] + spans[j][1]
        touch = contact(actors[i].box(), actors[j].box())
        cars = {type(actors[i]), type(actors[j])} & {VehicleActor}
        if near and touch is not None and cars:
            if collisions._separate(actors[i], actors[j], touch) > 0.0:
                expected += [(actors[i].id, actors[j].id), (actors[j].id, actors[i].id)]
    assert [event[:2] for event in found] == expected
    boxes = [[(a.box().x, a.box().y) for a in world.collidable()] for world in worlds]
    assert boxes[0] == boxes[1]
    assert expected or length > 50.0


def test_switched_off_collisions_and_physics(world: World) -> None:
    car = world.spawn(CAR, _at(100.0))
    world.spawn(BARRIER, _at(110.0))
    car.collides = False
    world.set_target_velocity(car.id, Vector(20.0, 0.0, 0.0))
    for _ in range(100):
        world.tick()
        assert not world.collisions
    assert world.state(car.id).transform.location.x > 115.0
    car.simulates_physics = False
    before = world.state(car.id).transform
    world.tick()
    assert world.state(car.id).transform == before


def test_held_velocity_and_impulse(world: World) -> None:
    car = world.spawn(CAR, _at(100.0))
    world.hold_velocity(car.id, Vector(7.0, 0.0, 0.0))
    for _ in range(100):
        world.tick()
    state = world.state(car.id)
    assert state.velocity.x == 7.0
    assert state.transform.location.x == pytest.approx(107.0, abs=0.05)
    world.hold_velocity(car.id, None)
    world.add_impulse(car.id, Vector(car.body.mass, 0.0, 0.0))
    world.add_force(car.id, Vector(car.body.mass * 100.0, 0.0, 0.0))
    assert car.body.velocity()[0] == pytest.approx(9.0)


def test_ackermann_control_reaches_speed_and_angle(world: World) -> None:
    car = world.spawn(CAR, _at(100.0))
    world.apply_ackermann(car.id, AckermannControl(speed=8.0))
    for _ in range(1500):
        world.tick()
    assert world.state(car.id).velocity.x == pytest.approx(8.0, abs=0.3)
    world.apply_ackermann(car.id, AckermannControl(speed=0.0, steer=0.2))
    for _ in range(800):
        world.tick()
    assert world.state(car.id).velocity.x == 0.0
    # To the right, where the inner wheel is.
    assert car.steer_angle(1) == pytest.approx(0.2 * 57.29577951308232, abs=0.1)


def test_attached_actors_move_with_their_parent(world: World) -> None:
    car = world.spawn(CAR, _at(100.0, yaw=90.0))
    sensor = world.spawn("sensor.other.gnss", Transform(Vector(2.0, 0.0, 1.0)), {}, car.id)
    x, y, z = world.pose(sensor).location
    assert (x, y, z) == pytest.approx((100.0, LANE_Y + 2.0, 1.0))
    turned = Transform(Vector(0.0, 1.0, 0.0), Rotation(yaw=10.0))
    world.set_transform(sensor.id, turned)
    pose = world.pose(sensor)
    assert pose.location == pytest.approx((99.0, LANE_Y, 0.0))
    assert pose.rotation.yaw == pytest.approx(100.0)
    world.destroy(car.id)
    assert world.pose(sensor) == pose
    assert [actor.id for actor in world.actors.values()] == [world.spectator.id, sensor.id]


def test_a_new_episode_starts_empty_and_a_wrong_map_changes_nothing(world: World) -> None:
    car = world.spawn(CAR, _at(100.0))
    world.tick()
    with pytest.raises(RoadError):
        world.load("<OpenDRIVE/>")
    assert car.id in world.actors
    world.load(XODR)
    assert list(world.actors) == [world.spectator.id]
    assert world.spectator.id > car.id
    assert (world.episode, world.elapsed_s) == (2, 0.0)
    assert world.tick() == 2


def test_the_same_calls_give_the_same_bits() -> None:
    def run() -> list[object]:
        world = World(XODR, 0.01)
        cars = [world.spawn(CAR, _at(700.0 - 12.0 * i)) for i in range(3)]
        world.spawn(BARRIER, _at(790.0))
        for car in cars:
            world.set_target_velocity(car.id, Vector(25.0, 0.0, 0.0))
        states: list[object] = []
        for step in range(300):
            for car in cars:
                world.apply_control(car.id, VehicleControl(0.3, 0.01 * (step % 7 - 3), 0.0))
            world.tick()
            states.extend(world.state(car.id) for car in cars)
            states.extend(world.collisions)
        return states

    assert run() == run()


def test_spawn_points_are_free_and_on_driving_lanes(world: World) -> None:
    points = world.spawn_points()
    assert len(points) > 100
    for pose in points[::40]:
        car = world.spawn(CAR, pose)
        assert car.state.transform.location.z <= pose.location.z
    assert world.ground_below(points[0].location, 5.0) is not None
    assert world.ground_below(Vector(0.0, 500.0, 1.0), 5.0) is None


def test_limits_of_roadrunner_s_maps_are_those_of_the_last_sign() -> None:
    """Its towns name signs as objects, and speeds of roads that CARLA's vehicles do not know."""
    sign = '<objects><object id="9" name="Speed_60" s="150" t="-12"/></objects>'
    text = XODR.replace("<header ", '<header vendor="VectorZero" ').replace("<objects/>", sign, 1)
    world = World(text, 0.05)
    places = {"before": (100.0, 1.0), "behind": (200.0, 1.0), "other side": (100.0, -1.0)}
    cars = {}
    for name, (x, side) in places.items():
        car = world.spawn(CAR, _at(x, side * LANE_Y, 0.0 if side > 0.0 else 180.0))
        assert isinstance(car, VehicleActor)
        cars[name] = car.body
    world.tick()
    limits = {name: body.speed_limit_kmh() for name, body in cars.items()}
    assert limits == pytest.approx({"before": 30.0, "behind": 60.0, "other side": 30.0})
    assert World(XODR, 0.05).network.has_limits_by_signs is False


def test_a_friction_trigger_changes_the_tyres_inside_it(world: World) -> None:
    """Half sizes are in cm; outside, and without it, tyres are as they were."""
    car = world.spawn("vehicle.tesla.model3", Transform(Vector(300.0, 5.25, 0.0)))
    assert isinstance(car, VehicleActor)
    usual = car.body.parameters
    trigger = world.spawn(
        "static.trigger.friction",
        Transform(Vector(300.0, 5.25, 0.0)),
        {"friction": "0.1", "extent_x": "2000.0", "extent_y": "500.0", "extent_z": "300.0"},
    )
    world.apply_control(car.id, VehicleControl(throttle=1.0))
    world.tick()
    slippery = car.body.parameters
    assert slippery.friction == pytest.approx(0.1)
    assert slippery.friction * slippery.lateral_grip == pytest.approx(0.1)
    world.set_transform(car.id, Transform(Vector(325.0, 5.25, 0.0)))
    world.tick()
    assert car.body.parameters == usual
    world.set_transform(car.id, Transform(Vector(300.0, 5.25, 0.0)))
    world.tick()
    assert car.body.parameters == slippery
    world.destroy(trigger.id)
    assert car.body.parameters == usual


def test_the_box_of_a_destroyed_actor_is_still_known(world: World) -> None:
    """A thread of a client may ask for it, and would end the client with an error."""
    boxes = {}
    for _ in range(2):
        car = world.spawn("vehicle.tesla.model3", Transform(Vector(300.0, 5.25, 0.0)))
        boxes[car.id] = car.bounding_box
        world.destroy(car.id)
    assert {actor: world.bounding_box(actor) for actor in boxes} == boxes
    for _ in range(MAX_GONE):
        world.destroy(world.spawn("sensor.other.imu", Transform()).id)
    with pytest.raises(CallError, match="unable to find actor"):
        world.bounding_box(min(boxes))


def test_the_boxes_of_actors_that_went_with_their_map_are_still_known(world: World) -> None:
    car = world.spawn("vehicle.tesla.model3", Transform(Vector(300.0, 5.25, 0.0)))
    world.load(world.opendrive)
    assert car.id not in world.actors
    assert world.bounding_box(car.id) == car.bounding_box


@pytest.mark.parametrize(("given", "kept"), [("64", "64"), ("64.0", "64"), ("-3.", "-3")])
def test_whole_numbers_of_attributes_are_read_as_carla_reads_them(
    world: World, given: str, kept: str
) -> None:
    sensor = world.spawn("sensor.lidar.ray_cast", Transform(), {"noise_seed": given})
    assert sensor.attribute("noise_seed") == kept
    with pytest.raises(CallError, match="'6.5.0'"):
        world.spawn("sensor.lidar.ray_cast", Transform(), {"channels": "6.5.0"})


@pytest.mark.parametrize(
    ("name", "centre", "extent"),
    [
        ("carlamotors.firetruck", (-0.253, 0.0), (4.234, 1.446, 1.914)),
        ("dodge.charger_police_2020", (0.109, 0.0), (2.619, 0.965, 0.819)),
        ("ford.ambulance", (-0.289, 0.0), (3.183, 1.176, 1.216)),
        ("ford.crown", (0.185, 0.0), (2.683, 0.900, 0.787)),
        ("lincoln.mkz_2020", (0.0, 0.0), (2.446, 0.918, 0.745)),
        ("mitsubishi.fusorosa", (-0.445, -0.121), (5.136, 1.972, 2.126)),
        ("nissan.patrol", (-0.057, 0.0), (2.302, 0.966, 0.927)),
        ("volkswagen.t2_2021", (0.117, 0.0), (2.221, 0.887, 0.992)),
    ],
)
def test_boxes_are_where_a_recorded_carla_has_them(
    world: World,
    name: str,
    centre: tuple[float, float],
    extent: tuple[float, float, float],
) -> None:
    # Recorded with CARLA 0.9.15: tmuehlen80/graph_coverage 90e9d345, example_data/carla.
    yaw, (x, y) = 90.0, (300.0, LANE_Y)
    vehicle = world.spawn(f"vehicle.{name}", _at(x, y, yaw))
    assert vehicle.bounding_box.extent == pytest.approx(extent, abs=1e-3)
    assert vehicle.bounding_box.location[:2] == pytest.approx(centre, abs=1e-3)
    box = vehicle.box()  # in the map frame: it looks to the right, and left is up
    assert (box.x, box.y) == pytest.approx((x, 0.0 - y - centre[0]), abs=1e-3)
    # A car that looks the other way has room up to its front.
    front = y + centre[0] + extent[0] + LIBRARY[CAR].extent.x
    with pytest.raises(CallError, match="collision at spawn position"):
        world.spawn(CAR, _at(x, front - 0.05, -yaw))
    world.spawn(CAR, _at(x, front + 0.05, -yaw))


def test_what_is_spawned_may_have_a_size_of_its_own(world: World) -> None:
    truck = world.spawn("vehicle.carlamotors.firetruck", _at(100.0), {"dimensions": "12 2.4 0"})
    usual = world.spawn("vehicle.carlamotors.firetruck", _at(200.0))
    assert truck.bounding_box.extent == (6.0, 1.2, usual.bounding_box.extent.z)
    # Its own hull is that narrow, too: nothing is left of the kind's.
    assert (truck.box().half_length, truck.box().half_width) == (6.0, 1.2)
    # Its front is 6 m ahead, a car ends 2.4 m behind its middle.
    with pytest.raises(CallError, match="collision at spawn position"):
        world.spawn(CAR, _at(108.0))
    world.spawn(CAR, _at(109.0))
    for text in ("1 2", "-1 2 1", "nan 2 1", "1000 2 1", "long wide high"):
        expected = f"'dimensions' of blueprint '{CAR}': found '{text}'; allowed are length, width"
        with pytest.raises(CallError, match=expected):
            world.spawn(CAR, _at(300.0), {"dimensions": text})
