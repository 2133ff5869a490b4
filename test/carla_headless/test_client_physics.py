# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the real ``carla`` client does to a vehicle's physics has its effect."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import carla
import pytest
from support.headless_process import start_server

_STEP = 0.05


@pytest.fixture(scope="module")
def world() -> Iterator[Any]:
    process, port = start_server()
    client = carla.Client("127.0.0.1", port)
    client.set_timeout(60.0)
    world = client.get_world()
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, _STEP
    world.apply_settings(settings)
    yield world
    process.terminate()
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 0, messages
    assert "Traceback" not in messages


@pytest.fixture
def spawn(world: Any) -> Iterator[Any]:
    cars: list[Any] = []

    def make(name: str = "vehicle.tesla.model3", **attributes: str) -> Any:
        blueprint = world.get_blueprint_library().find(name)
        for key, value in attributes.items():
            blueprint.set_attribute(key, value)
        place = carla.Transform(carla.Location(300.0 + 40.0 * len(cars), 5.25, 0.2))
        cars.append(world.spawn_actor(blueprint, place))
        world.tick()
        return cars[-1]

    yield make
    for car in cars:
        car.destroy()
    world.tick()


def _run(world: Any, steps: int) -> None:
    for _ in range(steps):
        world.tick()


def test_all_41_vehicles_spawn_with_their_own_size(world: Any) -> None:
    library = world.get_blueprint_library().filter("vehicle.*")
    assert len(library) == 41
    sizes, masses = set(), set()
    for blueprint in library:
        place = carla.Transform(carla.Location(200.0, 5.25, 0.2))
        car = world.spawn_actor(blueprint, place)
        # The client lets go of actors only that it has seen in a frame.
        world.tick()
        box, physics = car.bounding_box, car.get_physics_control()
        sizes.add((box.extent.x, box.extent.y, box.extent.z))
        masses.add(round(physics.mass))
        wheels = blueprint.get_attribute("number_of_wheels").as_int()
        two = blueprint.get_attribute("base_type").as_str() in ("motorcycle", "bicycle")
        assert wheels == (2 if two else 4)
        assert physics.wheels[0].tire_friction == pytest.approx(3.5)
        car.destroy()
        world.tick()
    assert len(sizes) == 41
    assert min(masses) < 100 and max(masses) >= 12000


def test_a_car_brakes_and_steers_by_the_physics_that_a_client_sets(world: Any, spawn: Any) -> None:
    usual, heavy = spawn(), spawn()
    physics = heavy.get_physics_control()
    physics.mass = 2.0 * physics.mass
    wheels = physics.wheels
    for wheel in wheels:
        wheel.max_brake_torque = 0.25 * wheel.max_brake_torque
    physics.wheels = wheels
    heavy.apply_physics_control(physics)
    world.tick()
    assert heavy.get_physics_control().mass == pytest.approx(physics.mass)
    for car in (usual, heavy):
        car.apply_control(carla.VehicleControl(throttle=1.0))
    _run(world, 60)
    fast, slow = usual.get_velocity().length(), heavy.get_velocity().length()
    assert fast > 1.7 * slow > 5.0
    # Unchanged parameters that come back leave the drive as it is, to the bit.
    usual.apply_physics_control(usual.get_physics_control())
    world.tick()
    for car in (usual, heavy):
        car.apply_control(carla.VehicleControl(brake=1.0))
    _run(world, 20)
    assert usual.get_velocity().length() < fast - 8.0
    assert heavy.get_velocity().length() > slow - 3.0


def test_turning_impulses_and_target_rates_turn(world: Any, spawn: Any) -> None:
    car = spawn()
    car.add_angular_impulse(carla.Vector3D(0.0, 0.0, 2000.0))
    world.tick()
    turned = car.get_transform().rotation.yaw
    assert turned > 0.1  # positive is to the right
    car.set_target_angular_velocity(carla.Vector3D(0.0, 0.0, -40.0))
    world.tick()
    assert car.get_transform().rotation.yaw < turned


def test_neutral_gear_and_transient_control(world: Any, spawn: Any) -> None:
    car = spawn()
    car.apply_control(carla.VehicleControl(throttle=1.0, manual_gear_shift=True, gear=0))
    _run(world, 20)
    assert car.get_velocity().length() == 0.0
    once = spawn(sticky_control="false")
    once.apply_control(carla.VehicleControl(throttle=1.0))
    _run(world, 40)
    assert once.get_control().throttle == 0.0
    assert once.get_velocity().length() < 0.5


def test_without_physics_a_vehicle_stays_where_it_is_put(world: Any, spawn: Any) -> None:
    car = spawn()
    car.set_simulate_physics(False)
    air = carla.Transform(
        carla.Location(300.0, 5.25, 40.0), carla.Rotation(pitch=20.0, yaw=5.0, roll=-30.0)
    )
    car.set_transform(air)
    _run(world, 3)
    there = car.get_transform()
    assert there.location.z == 40.0
    assert (there.rotation.pitch, there.rotation.roll) == pytest.approx((20.0, -30.0))
    car.set_simulate_physics(True)
    _run(world, 20)  # a second of a free fall
    assert car.get_transform().location.z == pytest.approx(40.0 - 0.5 * 9.81, abs=0.4)
    _run(world, 140)
    assert car.get_transform().location.z < 2.0
    car.set_transform(carla.Transform(carla.Location(300.0, 5.25, 0.0)))
    world.tick()
    assert car.get_transform().location.z == 0.0


def test_forces_and_velocities_lift_a_car_and_gravity_can_be_switched_off(
    world: Any, spawn: Any
) -> None:
    car = spawn()
    car.add_impulse(carla.Vector3D(0.0, 0.0, 5.0 * car.get_physics_control().mass))
    _run(world, 10)
    assert car.get_transform().location.z > 1.0
    car.set_enable_gravity(False)
    car.set_target_velocity(carla.Vector3D(1.0, 0.0, 2.0))
    world.tick()
    before = car.get_transform().location
    _run(world, 20)
    after = car.get_transform().location
    assert (after.x - before.x, after.z - before.z) == pytest.approx((1.0, 2.0), abs=0.01)
    car.set_enable_gravity(True)
    _run(world, 60)
    assert abs(car.get_transform().location.z) < 0.01


def test_telemetry_names_the_forces_of_a_bend(world: Any, spawn: Any) -> None:
    car = spawn()
    car.set_target_velocity(carla.Vector3D(15.0, 0.0, 0.0))
    car.apply_control(carla.VehicleControl(throttle=0.3, steer=0.1))
    _run(world, 8)
    wheels = car.get_telemetry_data().wheels
    sideways = sum(wheel.lat_force for wheel in wheels)
    acceleration = car.get_acceleration()
    mass = car.get_physics_control().mass
    assert sideways == pytest.approx(mass * acceleration.y, rel=0.35)
    assert wheels[0].lat_slip != 0.0
    assert sum(w.tire_load for w in wheels) == pytest.approx(9.81 * mass, rel=0.01)


def test_components_and_bones_by_name(world: Any, spawn: Any) -> None:
    car = spawn()
    parts = car.get_component_names()
    assert parts[:2] == ["VehicleMesh", "VehicleBounds"] and "front-blinker-r-1" in parts
    assert car.get_component_world_transform("VehicleMesh") == car.get_transform()
    lamp = car.get_component_relative_transform("front-blinker-r-1").location
    box = car.bounding_box
    assert lamp.x == pytest.approx(box.location.x + box.extent.x)
    assert 0.5 * box.extent.y < lamp.y < box.extent.y
    shown = car.get_component_world_transform("front-blinker-r-1").location
    assert shown.distance(car.get_transform().transform(lamp)) < 1e-3
    with pytest.raises(RuntimeError, match="no component 'Wing'"):
        car.get_component_world_transform("Wing")
    names = car.get_bone_names()
    assert names == [
        "Vehicle_Base", "Wheel_Front_Left", "Wheel_Front_Right", "Wheel_Rear_Left",
        "Wheel_Rear_Right",
    ]  # fmt: skip
    bones = dict(zip(names, car.get_bone_world_transforms(), strict=True))
    here = car.get_location()
    assert bones["Wheel_Front_Left"].location.x > here.x > bones["Wheel_Rear_Left"].location.x
    assert bones["Wheel_Front_Left"].location.y < here.y < bones["Wheel_Front_Right"].location.y
    # Bones are sockets, on which actors are mounted.
    assert car.get_socket_names() == names
    assert [pose.location for pose in car.get_socket_world_transforms()] == [
        pose.location for pose in bones.values()
    ]
    kind = world.get_blueprint_library().find("sensor.other.gnss")
    above = carla.Transform(carla.Location(z=1.0))

    def mounted(socket: str) -> Any:
        return world.spawn_actor(kind, above, car, carla.AttachmentType.Rigid, socket)

    sensor = mounted("Wheel_Rear_Left")
    world.tick()
    place = bones["Wheel_Rear_Left"].location + carla.Location(z=1.0)
    assert sensor.get_location().distance(place) < 0.05
    sensor.destroy()
    with pytest.raises(RuntimeError, match="no socket 'Roof'"):
        mounted("Roof")


def test_tyres_hold_bends_that_the_traffic_manager_takes(world: Any, spawn: Any) -> None:
    car = spawn()
    car.set_target_velocity(carla.Vector3D(12.0, 0.0, 0.0))
    car.apply_control(carla.VehicleControl(throttle=0.4, steer=0.6))
    sideways = 0.0
    for _ in range(12):
        world.tick()
        right = car.get_transform().get_right_vector()
        acceleration = car.get_acceleration()
        sideways = max(sideways, acceleration.x * right.x + acceleration.y * right.y)
    assert sideways > 12.0  # m/s^2: more than gravity


def _geared(car: Any, **changes: Any) -> Any:
    """Give a car an engine of constant torque with three gears, each twice as long as the last."""
    physics = car.get_physics_control()
    radius = 0.01 * physics.wheels[0].radius
    physics.mass = 1500.0
    physics.drag_coefficient = 0.0
    physics.torque_curve = [carla.Vector2D(0.0, 200.0), carla.Vector2D(6000.0, 200.0)]
    physics.max_rpm, physics.final_ratio = 6000.0, 4.0
    physics.gear_switch_time, physics.use_gear_autobox = 0.5, True
    physics.moi, physics.clutch_strength = 0.0, 1000.0
    physics.damping_rate_full_throttle = 0.0
    physics.damping_rate_zero_throttle_clutch_engaged = 0.0
    physics.forward_gears = [carla.GearPhysicsControl(ratio, 0.3, 0.8) for ratio in (4.0, 2.0, 1.0)]
    for name, value in changes.items():
        setattr(physics, name, value)
    car.apply_physics_control(physics)
    return radius


def test_an_automatic_gearbox_shifts_at_its_engine_speeds(world: Any, spawn: Any) -> None:
    car = spawn()
    radius = _geared(car)
    car.apply_control(carla.VehicleControl(throttle=1.0))
    seen: list[tuple[int, float, float]] = []  # gear, engine speed, speed
    for _ in range(240):
        world.tick()
        told = car.get_telemetry_data()
        seen.append((told.gear, told.engine_rpm, told.speed))
        assert car.get_control().gear == told.gear
    gears = [gear for gear, _, _ in seen]
    assert sorted(set(gears)) == [1, 2, 3] and gears == sorted(gears)
    speeds = [speed for _, _, speed in seen]
    for gear, ratio in ((2, 8.0), (3, 4.0)):
        at = gears.index(gear)
        # It shifts in the step after the engine has passed 80 % of 6000 / min ...
        longer = 2.0 * ratio
        before = [speeds[k] / radius * longer * 60.0 / (2.0 * math.pi) for k in (at - 2, at)]
        assert before[0] <= 4800.0 <= before[1]
        # ... and does not drive for half a second, 10 steps, without the lag of the throttle.
        usual, parted = speeds[at] - speeds[at - 3], speeds[at + 9] - speeds[at + 6]
        assert parted < 0.1 * usual
        assert speeds[at + 18] - speeds[at + 15] > 0.3 * usual
    # In the first gear: force of torque, ratio and radius, without the lag of the throttle.
    first = [k for k, gear in enumerate(gears) if gear == 1]
    k = first[len(first) // 2]
    driven = (speeds[k + 2] - speeds[k]) / (2.0 * _STEP)
    assert driven == pytest.approx(200.0 * 16.0 / radius / 1500.0, rel=0.03)
    # Braking brings it back.
    car.apply_control(carla.VehicleControl(brake=0.6))
    _run(world, 120)
    assert car.get_telemetry_data().gear == 1


def test_gears_by_hand_limit_the_speed_and_drive_backwards(world: Any, spawn: Any) -> None:
    back, first, second = spawn(), spawn(), spawn()  # one behind the other
    for car in (first, second, back):
        radius = _geared(car, gear_switch_time=0.0)
    top = 6000.0 * 2.0 * math.pi / 60.0 / 16.0 * radius
    for car, gear in ((first, 1), (second, 2), (back, -1)):
        car.apply_control(carla.VehicleControl(throttle=1.0, manual_gear_shift=True, gear=gear))
    _run(world, 30)
    # In the second gear half the force; the lag of the throttle is the same.
    assert first.get_velocity().length() == pytest.approx(
        2.0 * second.get_velocity().length(), rel=0.1
    )
    _run(world, 130)
    assert first.get_velocity().length() == pytest.approx(top, rel=0.06)
    assert second.get_velocity().length() > 1.5 * top
    assert second.get_control().gear == 2 and second.get_telemetry_data().gear == 2
    assert back.get_velocity().x < -1.0 and back.get_telemetry_data().gear == -1
    second.apply_control(carla.VehicleControl(throttle=1.0, manual_gear_shift=True, gear=0))
    _run(world, 20)  # the lag of the throttle
    before = second.get_velocity().length()
    _run(world, 20)
    assert second.get_velocity().length() < before
    assert second.get_telemetry_data().engine_rpm == 0.0


def test_a_torque_curve_is_felt_at_its_engine_speeds(world: Any, spawn: Any) -> None:
    even, falling = spawn(), spawn()
    _geared(even)
    _geared(
        falling,
        torque_curve=[
            carla.Vector2D(0.0, 200.0), carla.Vector2D(2000.0, 200.0), carla.Vector2D(3000.0, 50.0)
        ],
    )  # fmt: skip
    for car in (even, falling):
        car.apply_control(carla.VehicleControl(throttle=1.0))
    _run(world, 10)
    assert falling.get_velocity().length() == pytest.approx(even.get_velocity().length())
    _run(world, 20)
    assert falling.get_velocity().length() < 0.9 * even.get_velocity().length()


def test_without_friction_a_car_slides_on(world: Any, spawn: Any) -> None:
    smooth, usual = spawn(), spawn()
    for car, friction in ((smooth, 0.0), (usual, 3.0)):
        physics = car.get_physics_control()
        physics.drag_coefficient = 0.0
        wheels = physics.wheels
        for wheel in wheels:
            wheel.tire_friction = friction
        physics.wheels = wheels
        car.apply_physics_control(physics)
        car.set_target_velocity(carla.Vector3D(25.0, 0.0, 0.0))
        car.apply_control(carla.VehicleControl(brake=1.0, steer=0.25))
    assert smooth.get_physics_control().wheels[0].tire_friction == 0.0
    _run(world, 60)
    velocity, turn = smooth.get_velocity(), smooth.get_angular_velocity().z
    assert velocity.x == pytest.approx(25.0, abs=0.01) and abs(velocity.y) < 0.01
    assert abs(turn) < 0.01
    assert usual.get_velocity().length() < 5.0
    # With its friction it can be stopped again.
    physics = smooth.get_physics_control()
    wheels = physics.wheels
    for wheel in wheels:
        wheel.tire_friction = 3.0
    physics.wheels = wheels
    smooth.apply_physics_control(physics)
    _run(world, 80)
    assert smooth.get_velocity().length() < 1.0


def test_a_steering_curve_takes_steering_away_with_speed(world: Any, spawn: Any) -> None:
    usual, curved = spawn(), spawn()
    for car, share in ((usual, 1.0), (curved, 0.5)):
        physics = car.get_physics_control()
        assert [point.y for point in physics.steering_curve] == pytest.approx([1.0, 0.9, 0.8, 0.7])
        physics.steering_curve = [carla.Vector2D(0.0, 1.0), carla.Vector2D(36.0, share)]
        car.apply_physics_control(physics)
    angles = []
    for car in (usual, curved):
        car.enable_constant_velocity(carla.Vector3D(10.0, 0.0, 0.0))
        car.apply_control(carla.VehicleControl(steer=0.2))
    _run(world, 20)
    for car in (usual, curved):
        angles.append(car.get_wheel_steer_angle(carla.VehicleWheelLocation.FR_Wheel))
        car.disable_constant_velocity()
    assert angles[1] == pytest.approx(0.5 * angles[0], rel=0.01)


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_rpm", 0.0), ("final_ratio", -1.0), ("drag_coefficient", -1.0), ("mass", 0.0)],
)
def test_wrong_physics_changes_nothing(world: Any, spawn: Any, name: str, value: float) -> None:
    car = spawn()
    physics = car.get_physics_control()
    usual = getattr(physics, name)
    setattr(physics, name, value)
    car.apply_physics_control(physics)
    world.tick()
    assert getattr(car.get_physics_control(), name) == usual


@pytest.mark.parametrize(
    ("changes", "slower"),
    [
        ({"moi": 30.0}, True),  # 30 * (16 / radius)^2: more than the mass of the vehicle
        ({"clutch_strength": 0.2}, True),  # at most 0.2 N m s * 628 / s
        ({"damping_rate_full_throttle": 5.0}, True),
        ({"damping_rate_zero_throttle_clutch_engaged": 5.0}, False),
    ],
)
def test_engine_clutch_and_damping_have_their_effect(
    world: Any, spawn: Any, changes: dict[str, float], slower: bool
) -> None:
    usual, changed = spawn(), spawn()
    _geared(usual)
    _geared(changed, **changes)
    for car in (usual, changed):
        if slower:
            car.apply_control(carla.VehicleControl(throttle=1.0))
        else:
            car.set_target_velocity(carla.Vector3D(10.0, 0.0, 0.0))
    _run(world, 20)
    speeds = [car.get_velocity().length() for car in (usual, changed)]
    assert 0.0 <= speeds[1] < 0.9 * speeds[0]


def test_wheels_have_their_damping_stiffness_and_hand_brake(world: Any, spawn: Any) -> None:
    usual, changed, held = spawn(), spawn(), spawn()
    physics = changed.get_physics_control()
    wheels = physics.wheels
    for wheel in wheels:
        wheel.damping_rate = 20.0
        wheel.long_stiff_value = 500.0
    physics.wheels = wheels
    changed.apply_physics_control(physics)
    weak = held.get_physics_control()
    brakes = weak.wheels
    for wheel in brakes:
        wheel.max_handbrake_torque = 100.0
    weak.wheels = brakes
    held.apply_physics_control(weak)
    for car in (usual, changed):
        car.set_target_velocity(carla.Vector3D(15.0, 0.0, 0.0))
    _run(world, 20)
    coasting = [car.get_velocity().length() for car in (usual, changed)]
    # exp(-4 * 20 / (radius^2 mass) * 1 s) of the speed is left, and some more is lost as usual.
    radius = 0.01 * wheels[0].radius
    left = math.exp(-80.0 / (radius * radius * physics.mass))
    assert coasting[1] == pytest.approx(coasting[0] * left, rel=0.05)
    for car in (usual, changed):
        car.apply_control(carla.VehicleControl(throttle=0.5))
    _run(world, 10)
    tyres = [car.get_telemetry_data().wheels[0] for car in (usual, changed)]
    assert tyres[0].long_slip == pytest.approx(tyres[0].long_force / (1000.0 * 9.81), rel=1e-3)
    assert tyres[1].long_slip == pytest.approx(tyres[1].long_force / (500.0 * 9.81), rel=1e-3)
    for car in (usual, held):
        car.set_target_velocity(carla.Vector3D(15.0, 0.0, 0.0))
        car.apply_control(carla.VehicleControl(hand_brake=True))
    _run(world, 20)
    assert usual.get_velocity().length() < held.get_velocity().length() - 2.0
    # What clients have set is forgotten.
    changed.restore_physx_physics()
    world.tick()
    assert changed.get_physics_control().wheels[0].damping_rate == pytest.approx(0.25)
    for car in (usual, changed):
        car.apply_control(carla.VehicleControl())
    _run(world, 40)  # the lags of the pedals
    for car in (usual, changed):
        car.set_target_velocity(carla.Vector3D(15.0, 0.0, 0.0))
    _run(world, 20)
    assert changed.get_velocity().length() == pytest.approx(usual.get_velocity().length(), rel=1e-3)
