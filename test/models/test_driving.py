# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Closed loops: a vehicle on the highway with lane keeping and the leader's driver."""

import math
from pathlib import Path

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import float32
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.world.drivers.lane_keeping import LaneKeeper
from ros2_cosim.world.drivers.leader_driver import LeaderDriver
from ros2_cosim.world.map import OFF_ROAD, RoadError, RoadNetwork
from ros2_cosim.world.map.frames import rpy_from_quaternion, yaw_from_quaternion
from ros2_cosim.world.vehicle import (
    SEDAN,
    TRUCK,
    VEHICLES,
    ActuatorCommand,
    RoadVehicle,
    Vehicle,
    VehicleParameters,
    road_position,
)

VAN = VEHICLES["van"]

STEP = 0.01
#: Those that drive at 25 m/s with ease.
FAST = {v.name: v for v in (SEDAN, VAN, TRUCK)}
ALL = pytest.mark.parametrize("p", FAST.values(), ids=FAST.keys())


@pytest.fixture(scope="module")
def highway() -> RoadNetwork:
    return RoadNetwork.from_file(Path(__file__).parents[2] / "config" / "highway.xodr")


def narrowed(odometry: Odometry) -> Odometry:
    """What is left of an odometry after CARLA's single precision."""
    return Odometry(*(float32(value) for value in odometry))


@ALL
@pytest.mark.parametrize("lane_id", [-1, -3])
def test_lane_is_kept_through_the_whole_curve(
    highway: RoadNetwork, p: VehicleParameters, lane_id: int
) -> None:
    car = RoadVehicle.on_lane(highway, p, 1, lane_id, 760.0, 25.0)
    driver, keeper = LeaderDriver(p, cruise_speed=25.0), LaneKeeper(highway, p, lane_id)
    worst = 0.0
    while car.position.s < 1650.0:
        odometry = narrowed(car.odometry())
        steer = keeper.steer(odometry)
        pedals = driver.update(odometry.vx)
        car.step(STEP, ActuatorCommand(pedals.throttle, pedals.brake, steer))
        worst = max(worst, abs(keeper.lateral_error))
    assert worst < 0.1
    assert keeper.lane_id == car.position.lane_id == lane_id
    assert car.vehicle.vx == pytest.approx(25.0, abs=0.1)
    assert car.vehicle.yaw == pytest.approx(car.position.heading, abs=1e-3)


@pytest.mark.parametrize("lane_id", [-2, 2])
def test_an_offset_is_corrected_without_leaving_the_lane_on_the_other_side(
    highway: RoadNetwork, lane_id: int
) -> None:
    car = RoadVehicle.on_lane(highway, SEDAN, 1, lane_id, 500.0, 25.0)
    car.vehicle.y += 1.5
    car = RoadVehicle(highway, car.vehicle)
    keeper = LaneKeeper(highway, SEDAN, lane_id)
    errors = []
    for _ in range(600):
        steer = keeper.steer(car.odometry(), car.position)
        car.step(STEP, ActuatorCommand(throttle=0.2, steer=steer))
        errors.append(keeper.lateral_error if lane_id < 0 else -keeper.lateral_error)
    assert errors[0] == pytest.approx(1.5, abs=1e-3)
    assert min(errors) > -0.3
    assert abs(errors[-1]) < 0.01


def test_lane_keeping_follows_links_to_the_next_road() -> None:
    lane = (
        '<lane id="{0}" type="driving"><link>{1}</link>'
        '<width sOffset="0" a="3.5" b="0" c="0" d="0"/></lane>'
    )
    first = lane.format(-1, '<successor id="-2"/>')
    second = lane.format(-1, "") + lane.format(-2, '<predecessor id="-1"/>')
    text = (
        '<OpenDRIVE><header/><road id="1" length="100"><link><successor elementType="road" '
        'elementId="2" contactPoint="start"/></link><planView><geometry s="0" x="0" y="0" hdg="0" '
        'length="100"><line/></geometry></planView><lanes><laneSection s="0"><right>'
        f"{first}</right></laneSection></lanes></road>"
        '<road id="2" length="100"><link><predecessor elementType="road" elementId="1" '
        'contactPoint="end"/></link><planView><geometry s="0" x="100" y="0" hdg="0" length="100">'
        '<line/></geometry></planView><lanes><laneOffset s="0" a="3.5" b="0" c="0" d="0"/>'
        f'<laneSection s="0"><right>{second}</right></laneSection></lanes></road></OpenDRIVE>'
    )
    roads = RoadNetwork.from_xodr(text)
    car = RoadVehicle.on_lane(roads, SEDAN, 1, -1, 60.0, 20.0)
    keeper = LaneKeeper(roads, SEDAN, -1)
    for _ in range(400):
        car.step(STEP, ActuatorCommand(throttle=0.2, steer=keeper.steer(car.odometry())))
        assert abs(keeper.lateral_error) < 0.01
    assert (car.position.road_id, keeper.lane_id, car.position.lane_id) == (2, -2, -2)


@ALL
@pytest.mark.parametrize(
    ("speed", "way", "deceleration"),
    [(25.0, 300.0, 2.5), (25.0, 120.0, 5.0), (13.9, 100.0, 2.0), (5.0, 60.0, 1.0)],
)
def test_leader_stops_where_it_should(
    p: VehicleParameters, speed: float, way: float, deceleration: float
) -> None:
    vehicle = Vehicle(p, speed=speed)
    driver = LeaderDriver(p, cruise_speed=speed, stop_gap=7.0, deceleration=deceleration)
    slowest = 0.0
    for _ in range(4000):
        command = driver.update(float32(vehicle.vx), way - vehicle.distance)
        vehicle.step(STEP, ActuatorCommand(command.throttle, command.brake))
        slowest = min(slowest, vehicle.ax)
        assert way - vehicle.distance > 6.5
        if not driver.braking:
            assert vehicle.vx == pytest.approx(speed, abs=0.2)
    assert driver.stopped
    assert vehicle.vx == 0.0
    assert way - vehicle.distance == pytest.approx(7.0, abs=0.2)
    assert -slowest < 1.35 * deceleration + 0.3
    assert (command.throttle, command.acceleration) == (0.0, 0.0)
    assert command.brake >= 0.3


@pytest.mark.parametrize("slope", [0.04, -0.04])
def test_leader_stops_on_a_hill_and_stays(slope: float) -> None:
    vehicle = Vehicle(VAN, speed=20.0)
    driver = LeaderDriver(VAN, cruise_speed=20.0)
    for _ in range(3000):
        command = driver.update(vehicle.vx, 150.0 - vehicle.distance, slope)
        vehicle.step(STEP, ActuatorCommand(command.throttle, command.brake), slope)
    assert vehicle.vx == 0.0
    assert 150.0 - vehicle.distance == pytest.approx(7.0, abs=0.3)


def test_leader_brakes_harder_when_the_obstacle_is_near() -> None:
    vehicle = Vehicle(SEDAN, speed=25.0)
    driver = LeaderDriver(SEDAN, cruise_speed=25.0, deceleration=2.0)
    slowest = 0.0
    for _ in range(1500):
        command = driver.update(vehicle.vx, 60.0 - vehicle.distance)
        vehicle.step(STEP, ActuatorCommand(command.throttle, command.brake))
        slowest = min(slowest, vehicle.ax)
    assert vehicle.vx == 0.0
    assert vehicle.distance < 53.5
    assert -9.0 < slowest < -5.5


def test_leader_reaches_and_holds_its_speed_uphill_without_steady_error() -> None:
    vehicle = Vehicle(TRUCK, speed=10.0)
    driver = LeaderDriver(TRUCK, cruise_speed=15.0)
    for _ in range(10_000):
        command = driver.update(vehicle.vx)
        vehicle.step(STEP, ActuatorCommand(command.throttle, command.brake), 0.02)
    assert vehicle.vx == pytest.approx(15.0, abs=0.02)


def test_leader_goes_on_when_the_obstacle_is_gone() -> None:
    vehicle = Vehicle(SEDAN)
    driver = LeaderDriver(SEDAN, cruise_speed=10.0)
    assert driver.update(0.0, 7.0).brake >= 0.3
    assert driver.stopped
    for _ in range(2000):
        command = driver.update(vehicle.vx)
        vehicle.step(STEP, ActuatorCommand(command.throttle, command.brake))
    assert not driver.braking
    assert vehicle.vx == pytest.approx(10.0, abs=0.1)


@pytest.mark.parametrize("name", ["cruise_speed", "stop_gap", "deceleration", "jerk", "period"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan])
def test_leader_arguments_are_checked(name: str, value: float) -> None:
    with pytest.raises(ConfigurationError, match=f"{name}=.* must be positive"):
        LeaderDriver(SEDAN, **{"cruise_speed": 20.0, name: value})


def test_lane_keeper_needs_a_lane(highway: RoadNetwork) -> None:
    with pytest.raises(ConfigurationError, match="lane_id=0 is not a lane"):
        LaneKeeper(highway, SEDAN, 0)
    car = RoadVehicle.on_lane(highway, SEDAN, 1, -1, 10.0)
    with pytest.raises(RoadError, match="no lane -9"):
        LaneKeeper(highway, SEDAN, -9).steer(car.odometry())


@pytest.mark.parametrize("lane_id", [-2, 2])
def test_vehicle_follows_the_height_of_the_road(highway: RoadNetwork, lane_id: int) -> None:
    car = RoadVehicle.on_lane(highway, SEDAN, 1, lane_id, 2080.0, 20.0)
    slope = 1.5 * 10.0 / 560.0
    uphill = 1.0 if lane_id < 0 else -1.0
    assert car.z == pytest.approx(5.0)
    assert car.pitch == pytest.approx(-uphill * math.atan(slope))
    assert car.roll == pytest.approx(0.0, abs=1e-12)
    start = car.odometry()
    roll, pitch, yaw = rpy_from_quaternion(start.qx, start.qy, start.qz, start.qw)
    assert (roll, pitch, yaw) == pytest.approx((car.roll, car.pitch, car.vehicle.yaw))
    for _ in range(100):
        car.step(STEP, ActuatorCommand())
    end = car.odometry()
    assert (end.z - start.z) * uphill > 0.4
    assert car.acceleration().ax == pytest.approx(-0.46 - uphill * 9.81 * slope, abs=0.05)


def test_vehicle_in_a_curve_starts_with_its_yaw_rate(highway: RoadNetwork) -> None:
    for lane_id, sign in ((-1, 1.0), (1, -1.0)):
        car = RoadVehicle.on_lane(highway, SEDAN, 1, lane_id, 1200.0, 20.0)
        assert car.odometry().wz == pytest.approx(sign * 20.0 / 800.0, rel=0.01)
        odometry = car.odometry()
        yaw = yaw_from_quaternion(odometry.qx, odometry.qy, odometry.qz, odometry.qw)
        assert yaw == pytest.approx(car.vehicle.yaw)
        assert road_position(highway, odometry) == car.position


def test_leaving_the_road_is_seen(highway: RoadNetwork) -> None:
    car = RoadVehicle.on_lane(highway, SEDAN, 1, -4, 100.0, 20.0)
    for _ in range(300):
        car.step(STEP, ActuatorCommand(steer=-0.1))
    assert car.position.lane_id == OFF_ROAD
