# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Seams: foreign controllers drive the world by standard messages, and sensors are standard."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from rosbags.typesys import Stores, get_typestore
from support.seam_models import write_definitions
from support.world_scenarios import CONFIG

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.records import (
    CLASS_CAR,
    ControlCommand,
    DetectedObject,
    ObjectList,
    Odometry,
    V2VMessage,
)
from ros2_cosim.core.messages.seams import SeamPlace
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import start
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import load_scenario, make_scenario, save_scenario
from ros2_cosim.core.scenario.seams import available_seams, find_seam
from ros2_cosim.driving.seams.control import FromCarla, FromTwist
from ros2_cosim.driving.seams.cooperation import FromCam, ToCam
from ros2_cosim.world.map.earth import MapOrigin

ODOMETRY = "nav_msgs/msg/Odometry"
START = 20.0
#: Vehicle -> seam, message type, what is demanded, speed after 4 s [m/s].
CONTROLLERS: dict[str, tuple[Any, str, dict[str, Any], float]] = {
    "plain": ("acceleration", "geometry_msgs/msg/AccelStamped", {"ax": -1.0}, 16.0),
    "twisted": ({"twist": {"gain": 2.0}}, "geometry_msgs/msg/Twist", {"linear": {"x": 18.0}}, 18.0),
    "steered": (
        "ackermann",
        "ackermann_msgs/msg/AckermannDriveStamped",
        {"drive": {"speed": 30.0, "acceleration": 0.5}},
        22.0,
    ),
    "auto": (
        "autoware_control",
        "autoware_control_msgs/msg/Control",
        {"longitudinal": {"acceleration": -0.5, "is_defined_acceleration": True}},
        18.0,
    ),
    "pedals": ("carla_control", "carla_msgs/msg/CarlaEgoVehicleControl", {"brake": 0.5}, 0.0),
}


def data(packages: Path) -> dict[str, Any]:
    """A world whose five vehicles are driven in five ways."""
    outputs: dict[str, Any] = {
        "static_objects": {
            "type": "ros2_cosim/msg/StaticObjects",
            "topic": "/static_objects",
            "schedule": "once",
        },
        "collision": {
            "type": "ros2_cosim/msg/CollisionEvent",
            "topic": "/collisions",
            "schedule": "sparse",
        },
    }
    participants: dict[str, Any] = {}
    inputs: dict[str, Any] = {}
    for name, (seam, kind, fields, _) in CONTROLLERS.items():
        outputs[f"odometry/{name}"] = {
            "type": ODOMETRY,
            "topic": f"/{name}/odometry",
            "child_frame_id": f"{name}/base_link",
        }
        outputs[f"acceleration/{name}"] = {
            "type": "geometry_msgs/msg/AccelStamped",
            "topic": f"/{name}/acceleration",
        }
        inputs[f"control/{name}"] = {"from": f"{name}.demand", "delayed": True, "as": seam}
        participants[name] = {
            "model": "support.seam_models:Demand",
            "period": "40ms",
            "parameters": {"fields": fields},
            "outputs": {"demand": {"type": kind, "topic": f"/{name}/demand"}},
        }
    outputs["imu/plain"] = {
        "type": "sensor_msgs/msg/Imu",
        "topic": "/plain/imu",
        "frame_id": "plain/imu",
        "as": "imu",
        "of": ["odometry/plain", "acceleration/plain"],
    }
    outputs["fix/plain"] = {
        "type": "sensor_msgs/msg/NavSatFix",
        "topic": "/plain/fix",
        "as": {"nav_sat": {"latitude": 50.0, "longitude": 8.0, "altitude": 100.0}},
        "of": ["odometry/plain"],
    }
    outputs["velocity/plain"] = {
        "type": "autoware_vehicle_msgs/msg/VelocityReport",
        "topic": "/plain/velocity_status",
        "frame_id": "plain/base_link",
        "as": "autoware_velocity",
        "of": ["odometry/plain"],
    }
    outputs["covariant/plain"] = {
        "type": ODOMETRY,
        "topic": "/plain/covariant",
        "child_frame_id": "plain/base_link",
        "as": {"odometry": {"position": 0.25}},
        "of": ["odometry/plain"],
    }
    participants["world"] = {
        "model": "carla_world",
        "period": "20ms",
        "parameters": {"dcp": {"transport": "tcp", "port": 0}},
        "inputs": inputs,
        "outputs": outputs,
    }
    participants["frames"] = {
        "model": "transforms",
        "period": "100ms",
        "parameters": {"frames": {"plain/imu": {"parent": "plain/base_link", "z": 0.5}}},
        "inputs": {f"odometry/{name}": f"world.odometry/{name}" for name in CONTROLLERS},
        "outputs": {
            "tf": {"type": "tf2_msgs/msg/TFMessage", "topic": "/tf"},
            "tf_static": {
                "type": "tf2_msgs/msg/TFMessage",
                "topic": "/tf_static",
                "schedule": "once",
            },
        },
    }
    return {
        "name": "seams",
        "duration": "4s",
        "base_directory": str(CONFIG),
        "messages": [str(packages)],
        "scene": {
            "map": "highway.xodr",
            "vehicles": {
                name: {"lane": -2, "s": 900.0 - 100.0 * number, "speed": START}
                for number, name in enumerate(CONTROLLERS)
            },
        },
        "participants": participants,
    }


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_definitions(tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="module")
def recorded(
    packages: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[tuple[int, bytes]]]:
    """(stamp, message) of the run, by topic."""
    return record(data(packages), tmp_path_factory.mktemp("run"))


def record(data: dict[str, Any], directory: Path) -> dict[str, list[tuple[int, bytes]]]:
    """Run a scenario; (stamp, message) by topic."""
    save_scenario(make_scenario(data, "seams"), directory / "seams.yaml")
    request = RunRequest(directory / "seams.yaml", shape="inproc", out=directory / "out")
    with bring_up(request) as prepared:
        start(prepared)
    found: dict[str, list[tuple[int, bytes]]] = {}
    for message in read_bag(directory / "out" / "bag"):
        found.setdefault(message.topic, []).append((message.stamp, message.data))
    return found


@pytest.mark.parametrize("name", list(CONTROLLERS))
def test_a_controller_that_knows_no_pedals_drives(
    name: str, recorded: dict[str, list[tuple[int, bytes]]]
) -> None:
    _, last = recorded[f"/{name}/odometry"][-1]
    speed = DEFAULT.codec(ODOMETRY).decode(last)[2].vx
    assert speed == pytest.approx(CONTROLLERS[name][3], abs=0.5), name


def test_a_demanded_speed_may_be_backwards(packages: Path, tmp_path: Path) -> None:
    backwards = data(packages)
    backwards["duration"] = "9s"
    demands = {
        "twisted": {"linear": {"x": -3.0}},
        "steered": {"drive": {"speed": -3.0}},
        "auto": {"longitudinal": {"velocity": -3.0}},
    }
    for name, fields in demands.items():
        backwards["participants"][name]["parameters"]["fields"] = fields
        backwards["scene"]["vehicles"][name]["speed"] = 5.0
    found = record(backwards, tmp_path)
    for name in demands:
        _, last = found[f"/{name}/odometry"][-1]
        assert DEFAULT.codec(ODOMETRY).decode(last)[2].vx == pytest.approx(-3.0, abs=0.1), name


def test_sensors_are_standard_messages(recorded: dict[str, list[tuple[int, bytes]]]) -> None:
    store = get_typestore(Stores.ROS2_JAZZY)
    stamp, data = recorded["/plain/imu"][-1]
    imu: Any = store.deserialize_cdr(data, "sensor_msgs/msg/Imu")
    truth = DEFAULT.codec(ODOMETRY).decode(recorded["/plain/odometry"][-1][1])[2]
    assert imu.header.frame_id == "plain/imu"
    assert imu.header.stamp.sec * 10**9 + imu.header.stamp.nanosec == stamp
    assert imu.linear_acceleration.z == pytest.approx(9.81, abs=0.1)
    assert imu.linear_acceleration.x == pytest.approx(-1.0, abs=0.2)
    assert list(imu.linear_acceleration_covariance) == [1e-6, 0, 0, 0, 1e-6, 0, 0, 0, 1e-6]
    fix: Any = store.deserialize_cdr(recorded["/plain/fix"][-1][1], "sensor_msgs/msg/NavSatFix")
    # A degree of latitude has 111.2 km there, one of longitude 71.7 km.
    assert (fix.latitude - 50.0) * 111_229 == pytest.approx(truth.y, rel=1e-3, abs=0.01)
    assert (fix.longitude - 8.0) * 71_696 == pytest.approx(truth.x, rel=1e-3, abs=0.01)
    assert fix.altitude == 100.0 + truth.z and fix.position_covariance_type == 2
    odometry: Any = store.deserialize_cdr(recorded["/plain/covariant"][-1][1], ODOMETRY)
    assert odometry.pose.pose.position.x == truth.x and odometry.twist.twist.linear.x == truth.vx
    assert odometry.pose.covariance[0] == 0.25 and odometry.twist.covariance[35] == 1e-6
    assert (odometry.header.frame_id, odometry.child_frame_id) == ("map", "plain/base_link")


def test_a_velocity_is_what_autoware_reads(recorded: dict[str, list[tuple[int, bytes]]]) -> None:
    codec = DEFAULT.wire_codec("autoware_vehicle_msgs/msg/VelocityReport", frame_id="")
    stamp, data = recorded["/plain/velocity_status"][-1]
    truth = DEFAULT.codec(ODOMETRY).decode(dict(recorded["/plain/odometry"])[stamp])[2]
    found = codec.decode(data)
    assert found[0] == stamp
    assert found[2] == pytest.approx((truth.vx, truth.vy, truth.wz))


def test_frames_are_in_the_bag(recorded: dict[str, list[tuple[int, bytes]]]) -> None:
    store = get_typestore(Stores.ROS2_JAZZY)
    moving, (fixed,) = recorded["/tf"], recorded["/tf_static"]
    assert [stamp for stamp, _ in moving] == list(range(0, 4_000_000_000, 100_000_000))
    last: Any = store.deserialize_cdr(moving[-1][1], "tf2_msgs/msg/TFMessage")
    odometry = dict(recorded["/plain/odometry"])[moving[-1][0]]
    truth = DEFAULT.codec(ODOMETRY).decode(odometry)[2]
    places = {t.child_frame_id: t.transform.translation.x for t in last.transforms}
    assert places["plain/base_link"] == truth.x and len(places) == len(CONTROLLERS)
    message: Any = store.deserialize_cdr(fixed[1], "tf2_msgs/msg/TFMessage")
    assert [t.child_frame_id for t in message.transforms] == ["plain/imu"]


LIST = ObjectList((DetectedObject(7, CLASS_CAR, 30.0, -2.0, 0.5, 4.0, 1.8, 0.9),))


@pytest.mark.parametrize("name", ["vision", "derived_objects", "autoware_objects"])
def test_object_lists_are_standard_messages(name: str, packages: Path) -> None:
    make_scenario({**data(packages), "participants": {}}, "definitions")
    kind: Any = find_seam(name, "as")
    place = SeamPlace("here", "objects_std", "", (), {}, frame_id="car/front")
    seam = kind(place, kind.Parameters())
    codec = DEFAULT.wire_codec(kind.target_type, frame_id="car/front")
    data_ = codec.encode(1_500_000_000, 0, seam.convert(1_500_000_000, LIST))
    stamp, _, message = codec.decode(data_)
    (one,) = message[0]
    if name == "vision":
        assert (one.id, one.results[0].hypothesis) == ("7", ("car", 0.9))
        pose, size = one.bbox.center, one.bbox.size.x
        assert one.header == ((1, 500_000_000), "car/front")
    elif name == "derived_objects":
        assert (one.id, one.classification, one.twist.linear.x) == (7, 6, -2.0)
        pose, size = one.pose, one.shape.dimensions[0]
    else:
        assert one.classification[0].label == 1
        assert one.kinematics.twist_with_covariance.twist.linear.x == -2.0
        pose, size = one.kinematics.pose_with_covariance.pose, one.shape.dimensions.x
    assert (pose.position.x, pose.position.y, size, stamp) == (32.0, 0.5, 4.0, 1_500_000_000)


def test_curves_and_signs() -> None:
    scene = {"vehicles": {"a": {"dynamics": "sedan"}}}
    place = SeamPlace("here", "control/a", "geometry_msgs/msg/Twist", ("odometry/a",), scene)
    twist: Any = DEFAULT.record("geometry_msgs/msg/Twist")
    vector: Any = DEFAULT.part("geometry_msgs/msg/Vector3")
    seam = FromTwist(place, FromTwist.Parameters())
    command = twist(vector(x=10.0), vector(z=0.5))
    assert seam.convert(command, {}) is None, "nothing is known of the speed yet"
    moving = Odometry(*[0.0] * 7, 10.0, *[0.0] * 5)
    made = seam.convert(command, {"odometry/a": moving})
    assert made is not None and math.isnan(made.throttle) and made.acceleration == 0.0
    assert made.steer == pytest.approx(math.atan(2.84 * 0.5 / 10.0) / 0.61), "left is positive"
    rolling = {"odometry/a": Odometry(*[0.0] * 7, -2.0, *[0.0] * 5)}
    made = seam.convert(twist(vector(x=-3.0), vector(z=0.3)), rolling)
    assert made is not None and made.throttle < 0.0 and made.brake == 0.0, "the reverse gear"
    assert made.steer == pytest.approx(math.atan(2.84 * 0.3 / -2.0) / 0.61), "left needs right"
    stop = seam.convert(twist(vector(x=3.0)), rolling)
    assert stop is not None and stop.throttle == 0.0 and stop.brake > 0.0, "first to a standstill"
    assert math.isnan(seam.convert(twist(vector(x=-3.0)), {"odometry/a": moving}).throttle)
    write = DEFAULT.record("carla_msgs/msg/CarlaEgoVehicleControl")
    carla = FromCarla(place._replace(source=FromCarla.source_types[0]), None)
    assert carla.convert(write(0.5, 0.25, 0.0), {}) == ControlCommand(0.0, 0.5, 0.0, -0.25)
    assert carla.convert(write(hand_brake=True), {}).brake == 1.0
    assert carla.convert(write(0.5, reverse=True), {}).throttle == -0.5
    by_hand = {"manual_gear_shift": True, "reverse": True}
    assert carla.convert(write(0.5, gear=-1, **by_hand), {}).throttle == -0.5
    assert carla.convert(write(0.5, gear=1, **by_hand), {}).throttle == 0.5


@pytest.mark.parametrize(
    ("place", "value", "fault"),
    [
        ("inputs.control/plain.as", "acceleratoin", "did you mean 'acceleration'"),
        ("inputs.control/plain.as", "imu", "found 'imu', which is a seam of an output"),
        ("inputs.control/plain.as", "twist", "for messages of type geometry_msgs/msg/AccelStamped"),
        ("inputs.control/plain.as", {"acceleration": {"gain": 1}}, "as.acceleration.gain: unknown"),
        ("inputs.control/plain.as", None, "or as: acceleration"),
        ("inputs.control/twisted.as", {"twist": {"gain": -1}}, "as.twist.gain: found -1"),
        (
            "outputs.imu/plain.of",
            ["odometry/plain"],
            "'imu' is made of nav_msgs/msg/Odom",
        ),
        ("outputs.imu/plain.of", ["speed"], "of: found 'speed'; allowed are outputs of 'world'"),
        ("outputs.imu/plain.type", ODOMETRY, "allowed for 'imu' is sensor_msgs/msg/Imu"),
        ("outputs.imu/plain.as", "twist", "found 'twist', which is a seam of an input"),
        ("outputs.imu/plain.as", None, "'as', a seam, and 'of', the outputs that it is made of"),
    ],
)
def test_what_does_not_fit_is_refused(place: str, value: Any, fault: str, packages: Path) -> None:
    wrong = data(packages)
    node = wrong["participants"]["world"]
    *path, last = place.split(".")
    for part in path:
        node = node[part]
    if value is None:
        del node[last]
    else:
        node[last] = value
    with pytest.raises(ConfigurationError, match=fault):
        check_scenario(make_scenario(wrong, "wrong"))


BEACON = V2VMessage(
    sender=7,
    generation_time=70_123_000_000,
    x=1234.56,
    y=-78.9,
    speed=27.77,
    acceleration=-3.4,
    commanded_acceleration=-4.0,
    length=4.5,
    braking=True,
)


def test_beacons_are_etsi_cams_and_back(packages: Path) -> None:
    make_scenario({**data(packages), "participants": {}}, "definitions")
    origin = MapOrigin(latitude=50.0, longitude=8.0)
    seam = ToCam(SeamPlace("here", "cam", "", (), {}), origin)
    codec = DEFAULT.wire_codec(ToCam.target_type)
    wire = codec.encode(70_123_000_000, 0, seam.convert(70_123_000_000, BEACON))
    _, _, cam = codec.decode(wire)
    # 70 123 ms modulo 65 536.
    assert cam.cam.generation_delta_time.value == 4587
    assert (cam.header.message_id, cam.header.station_id.value) == (2, 7)
    place = cam.cam.cam_parameters.basic_container.reference_position
    # At 50 degrees a degree has 111 229.0 m to the north and 71 695.7 m to the east.
    assert place.latitude.value == 500_000_000 - round(78.9 / 111_229.0 * 1e7)
    assert place.longitude.value == pytest.approx(80_000_000 + 1234.56 / 71_695.7 * 1e7, abs=1)
    vehicle = cam.cam.cam_parameters.high_frequency_container.basic_vehicle_container_high_frequency
    assert vehicle.speed.speed_value.value == 2777
    acceleration = vehicle.longitudinal_acceleration.longitudinal_acceleration_value
    assert acceleration.value == -34
    assert vehicle.vehicle_length.vehicle_length_value.value == 45
    assert bytes(vehicle.acceleration_control.value) == b"\x80"
    assert vehicle.heading.heading_value.value == 3601  # unavailable

    back = FromCam(SeamPlace("here", "v2v", ToCam.target_type, (), {}), origin)
    heard = back.received(cam, {}, 70_180_000_000)
    assert heard is not None
    assert heard.generation_time == BEACON.generation_time
    assert (heard.x, heard.y) == pytest.approx((BEACON.x, BEACON.y), abs=0.01)
    assert heard._replace(x=BEACON.x, y=BEACON.y) == BEACON._replace(commanded_acceleration=-3.4)


@pytest.mark.parametrize(
    ("changes", "speed", "direction", "acceleration"),
    [
        ({"speed": -2.5}, 250, 1, -34),
        ({"speed": 400.0, "acceleration": 30.0}, 16_382, 0, 160),
        ({"acceleration": -30.0}, 2777, 0, -160),
    ],
)
def test_what_a_cam_cannot_say_is_its_largest_value(
    packages: Path, changes: dict[str, float], speed: int, direction: int, acceleration: int
) -> None:
    make_scenario({**data(packages), "participants": {}}, "definitions")
    cam = ToCam(SeamPlace("here", "cam", "", (), {}), MapOrigin()).convert(
        0, BEACON._replace(**changes)
    )
    vehicle = cam.cam.cam_parameters.high_frequency_container.basic_vehicle_container_high_frequency
    found = vehicle.longitudinal_acceleration.longitudinal_acceleration_value.value
    assert (vehicle.speed.speed_value.value, vehicle.drive_direction.value, found) == (
        speed,
        direction,
        acceleration,
    )


def test_all_seams_can_be_found() -> None:
    assert set(available_seams()) >= {"acceleration", "twist", "ackermann", "imu", "vision", "cam"}
    for name in available_seams():
        kind = find_seam(name, "as")
        assert kind.target_type and kind.source_types, name


def test_the_records_of_a_resolved_scenario_keep_seams(packages: Path, tmp_path: Path) -> None:
    scenario = make_scenario(data(packages), "seams")
    save_scenario(scenario, tmp_path / "seams.json")
    again = load_scenario(tmp_path / "seams.json")
    assert again.participants["world"] == scenario.participants["world"]
