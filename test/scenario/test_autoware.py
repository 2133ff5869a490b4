# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The key ``autoware``: a vehicle with the topics of Autoware's planning simulator."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgpack
import pytest
from support.seam_models import write_definitions
from support.seam_scenarios import Messages, record, scenario, sends
from support.world_scenarios import CONFIG

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import ModelContext, Sample, Step
from ros2_cosim.core.messages.bundles import Item, bundle, items_of
from ros2_cosim.core.messages.catalogue import DEFAULT, Catalogue
from ros2_cosim.core.messages.message_types import BYTES
from ros2_cosim.core.messages.records import Acceleration, Odometry
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.composition import resolved
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scene.simulator import SETTLE_TICKS, MapChoice
from ros2_cosim.driving.autoware.control import AutowareControl
from ros2_cosim.driving.autoware.gears import DRIVE, NEUTRAL, PARK, command_of
from ros2_cosim.driving.autoware.perception import SignalMessages
from ros2_cosim.driving.autoware.vehicle import AutowareVehicle
from ros2_cosim.world.carla.inprocess_world import InProcessWorld
from ros2_cosim.world.headless.signals import LightActor
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.vehicle import SEDAN

REVERSE = 20
MANUAL, AUTONOMOUS = 4, 1
CONTROL = "autoware_control_msgs/msg/Control"
OBJECTS = "/perception/object_recognition"


def data(packages: Path, plan: list[list[float]], **changes: Any) -> dict[str, Any]:
    """``ego`` is driven by plan; one vehicle and a wall ahead, one vehicle of the background."""
    return {
        "name": "autoware",
        "duration": "4s",
        "base_directory": str(CONFIG),
        "messages": [str(packages)],
        "autoware": "ego",
        "scene": {
            "map": "highway.xodr",
            "vehicles": {
                "slow": {"lane": -2, "s": 960.0, "speed": 5.0, "driver": {}},
                "ego": {"lane": -2, "s": 900.0, "speed": 0.0},
            },
            "objects": {"wall": {"lane": -1, "s": 1200.0}},
        },
        "participants": {
            "pilot": {
                "model": "support.seam_models:AutowarePilot",
                "period": "30ms",
                "parameters": {"plan": plan},
                "outputs": {
                    "control": {"type": CONTROL, "topic": "/control/command/control_cmd"},
                    "gear": {
                        "type": "autoware_vehicle_msgs/msg/GearCommand",
                        "topic": "/control/command/gear_cmd",
                    },
                },
            },
            "blinker": sends(
                "autoware_vehicle_msgs/msg/TurnIndicatorsCommand",
                "/control/command/turn_indicators_cmd",
                command=2,
            ),
            "world": {
                "model": "carla_world",
                "period": "20ms",
                "parameters": {"traffic": 1, "dcp": {"transport": "tcp", "port": 0}},
            },
        },
        **changes,
    }


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_definitions(tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where ``driven`` has run."""
    return tmp_path_factory.mktemp("driven")


@pytest.fixture(scope="module")
def driven(packages: Path, ran: Path) -> Messages:
    """Forwards to the left, to a stop, and backwards."""
    plan = [[0.0, DRIVE, 2.0, 0.1], [2.0, DRIVE, -3.0, 0.1], [4.0, REVERSE, 1.5, 0.0]]
    return record(data(packages, plan, duration="6s"), ran)


def test_topics_and_types_are_those_of_the_planning_simulator(packages: Path) -> None:
    found = scenario(data(packages, []))
    outputs = {
        output.topic: output.type
        for name in ("autoware", "autoware_control")
        for output in found.participants[name].outputs.values()
    }
    vehicle, perception = "autoware_vehicle_msgs/msg/", "autoware_perception_msgs/msg/"
    assert outputs == {
        "/ego/control": "ros2_cosim/msg/ControlCommand",
        "/vehicle/status/velocity_status": f"{vehicle}VelocityReport",
        "/vehicle/status/steering_status": f"{vehicle}SteeringReport",
        "/vehicle/status/gear_status": f"{vehicle}GearReport",
        "/vehicle/status/control_mode": f"{vehicle}ControlModeReport",
        "/vehicle/status/turn_indicators_status": f"{vehicle}TurnIndicatorsReport",
        "/vehicle/status/hazard_lights_status": f"{vehicle}HazardLightsReport",
        "/localization/kinematic_state": "nav_msgs/msg/Odometry",
        "/localization/acceleration": "geometry_msgs/msg/AccelWithCovarianceStamped",
        "/tf": "tf2_msgs/msg/TFMessage",
        f"{OBJECTS}/detection/objects": f"{perception}DetectedObjects",
        f"{OBJECTS}/tracking/objects": f"{perception}TrackedObjects",
        f"{OBJECTS}/objects": f"{perception}PredictedObjects",
        "/perception/traffic_light_recognition/traffic_signals": (
            f"{perception}TrafficLightGroupArray"
        ),
    }
    check_scenario(found, "inproc")
    assert found.scene["vehicles"]["ego"]["steering"] == "command"
    assert list(found.scene["vehicles"]) == ["slow", "ego"]


def test_it_stands_in_park_until_a_gear_comes(packages: Path, tmp_path: Path) -> None:
    given = data(packages, [], duration="1s")
    del given["participants"]["pilot"], given["participants"]["blinker"]
    found = record(given, tmp_path)
    assert {v.longitudinal_velocity for _, v in found["/vehicle/status/velocity_status"]} == {0.0}
    assert {v.report for _, v in found["/vehicle/status/gear_status"]} == {PARK}
    assert {v.mode for _, v in found["/vehicle/status/control_mode"]} == {AUTONOMOUS}
    assert {v.report for _, v in found["/vehicle/status/turn_indicators_status"]} == {1}
    assert {v.brake for _, v in found["/ego/control"]} == {1.0}


def test_it_drives_stops_and_drives_backwards(driven: Messages) -> None:
    speeds = dict(driven["/vehicle/status/velocity_status"])
    ms = {round(stamp / 1e6): v.longitudinal_velocity for stamp, v in speeds.items()}
    assert ms[2000] == pytest.approx(3.6, abs=0.5)
    assert abs(ms[3980]) < 0.02, "the brake does not drive backwards"
    assert ms[5980] == pytest.approx(-2.4, abs=0.6)
    gears = {round(stamp / 1e6): v.report for stamp, v in driven["/vehicle/status/gear_status"]}
    assert (gears[0], gears[100], gears[3980], gears[5000]) == (PARK, DRIVE, DRIVE, REVERSE)
    assert driven["/vehicle/status/turn_indicators_status"][-1][1].report == 2


def test_base_link_is_the_centre_of_the_rear_axle(driven: Messages) -> None:
    """There a vehicle that turns does not move sideways, and circles around the same point."""
    states = dict(driven["/ego/odometry"])
    # With covariances, which the record of this project does not hold.
    moved = dict(driven["/localization/kinematic_state"])
    turned = 0
    for stamp, o in states.items():
        heading = 2.0 * math.atan2(o.qz, o.qw)
        base = moved[stamp]
        assert base.x == pytest.approx(o.x - SEDAN.rear_axle * math.cos(heading), abs=2e-3)
        assert base.y == pytest.approx(o.y - SEDAN.rear_axle * math.sin(heading), abs=2e-3)
        if abs(o.vx) > 1.0 and abs(o.wz) > 0.05:
            turned += 1
            assert abs(base.vy) < 0.35 * abs(o.vy), stamp
    assert turned > 50
    stamp, last = driven["/tf"][-1]
    (transform,) = last.transforms
    assert (transform.header.frame_id, transform.child_frame_id) == ("map", "base_link")
    assert transform.transform.translation[:2] == pytest.approx(moved[stamp][:2])
    assert transform.header.stamp == divmod(stamp, 1_000_000_000)


def test_the_kinematic_state_has_frames_and_covariances(driven: Messages, ran: Path) -> None:
    """As the planning simulator's; the record of this project holds neither."""
    (*_, wire) = (
        m.data for m in read_bag(ran / "out" / "bag") if m.topic == "/localization/kinematic_state"
    )
    codec = Catalogue().wire_codec("nav_msgs/msg/Odometry")
    _, _, whole = codec.decode(wire)
    assert whole.child_frame_id == "base_link" and b"map" in wire[:24]
    assert list(whole.pose.covariance)[:8] == [1e-4, *[0.0] * 6, 1e-4]
    assert whole.pose.pose.position.x == driven["/localization/kinematic_state"][-1][1].x


def test_the_wheels_turn_as_the_vehicle_does(driven: Messages) -> None:
    """Slowly, yaw rate, speed and angle of the wheels are those of a bicycle without slip."""
    speeds = dict(driven["/vehicle/status/velocity_status"])
    compared = 0
    for stamp, steering in driven["/vehicle/status/steering_status"]:
        v = speeds[stamp]
        if v.longitudinal_velocity > 1.0:
            compared += 1
            expected = v.longitudinal_velocity * math.tan(steering.steering_tire_angle)
            assert v.heading_rate * SEDAN.wheelbase == pytest.approx(expected, rel=0.06, abs=0.01)
    assert compared > 50
    angles = [v.steering_tire_angle for _, v in driven["/vehicle/status/steering_status"]]
    assert angles[0] == 0.0 and max(angles) == pytest.approx(0.1, abs=1e-4)
    assert abs(angles[-1]) < 1e-4


def test_the_acceleration_is_that_of_the_rear_axle(driven: Messages) -> None:
    truth, states = dict(driven["/ego/acceleration"]), dict(driven["/ego/odometry"])
    for stamp, message in driven["/localization/acceleration"]:
        a, o, accel = truth[stamp], states[stamp], message.accel
        assert accel.accel.linear.x == pytest.approx(a.ax + o.wz**2 * SEDAN.rear_axle)
        assert accel.accel.linear.y == pytest.approx(o.wz * o.vx)
        assert accel.covariance[0] == accel.covariance[35] == 0.001


def test_objects_are_all_others_ten_times_a_second(driven: Messages) -> None:
    stamps = [stamp for stamp, _ in driven[f"{OBJECTS}/objects"]]
    assert stamps == [100_000_000 * number for number in range(60)]
    stamp, tracked = driven[f"{OBJECTS}/tracking/objects"][-1]
    ids = [int.from_bytes(one.object_id.uuid, "big") for one in tracked.objects]
    assert ids == [1, 101, 1001]
    assert [one.classification[0].label for one in tracked.objects] == [1, 9, 1]
    slow, wall, traffic = tracked.objects
    assert (slow.kinematics.is_stationary, wall.kinematics.is_stationary) == (False, True)
    o = dict(driven["/slow/odometry"])[stamp]
    place = slow.kinematics.pose_with_covariance.pose.position
    assert (place.x, place.y) == pytest.approx((o.x, o.y))
    assert place.z == pytest.approx(o.z + 0.5 * slow.shape.dimensions.z)
    assert slow.kinematics.twist_with_covariance.twist.linear.x == pytest.approx(o.vx)
    assert traffic.existence_probability == 1.0
    first = driven[f"{OBJECTS}/objects"][0][1].objects
    assert [one.object_id for one in first] == [one.object_id for one in tracked.objects]


def test_detected_objects_are_in_the_frame_of_the_vehicle(driven: Messages) -> None:
    stamp, detected = driven[f"{OBJECTS}/detection/objects"][-1]
    base = dict(driven["/localization/kinematic_state"])[stamp]
    heading = 2.0 * math.atan2(base.qz, base.qw)
    o = dict(driven["/slow/odometry"])[stamp]
    dx, dy = o.x - base.x, o.y - base.y
    found = detected.objects[0].kinematics.pose_with_covariance.pose
    ahead = dx * math.cos(heading) + dy * math.sin(heading)
    left = dy * math.cos(heading) - dx * math.sin(heading)
    assert (found.position.x, found.position.y) == pytest.approx((ahead, left), abs=0.02)
    turn = 2.0 * math.atan2(found.orientation.z, found.orientation.w)
    assert math.cos(turn - 2.0 * math.atan2(o.qz, o.qw) + heading) == pytest.approx(1.0)


def test_predicted_paths_have_a_constant_velocity(driven: Messages) -> None:
    _, predicted = driven[f"{OBJECTS}/objects"][-1]
    slow, wall, _ = predicted.objects
    (path,) = slow.kinematics.predicted_paths
    assert (len(path.path), path.time_step) == (31, (0, 500_000_000))
    a, b = path.path[0].position, path.path[30].position
    speed = slow.kinematics.initial_twist_with_covariance.twist.linear.x
    assert math.hypot(b.x - a.x, b.y - a.y) == pytest.approx(15.0 * speed, rel=1e-3)
    (still,) = wall.kinematics.predicted_paths
    assert len(still.path) == 21 and still.path[0] == still.path[20]


def test_traffic_lights_are_those_of_the_world(packages: Path) -> None:
    scenario(data(packages, []))  # its message definitions
    town = CONFIG / "town.xodr"
    world = InProcessWorld()
    world.prepare(MapChoice(opendrive=town.read_text(encoding="utf-8")), "ClearNoon", 0.05)
    messages = SignalMessages(RoadNetwork.from_file(town), 50_000_000)
    actors = [actor for actor in world.world.signals.actors if isinstance(actor, LightActor)]
    for _ in range(SETTLE_TICKS):
        world.tick()
    colours = set()
    for activations in range(220):
        groups = messages.make(50_000_000 * activations).traffic_light_groups
        assert [group.traffic_light_group_id for group in groups] == list(range(1, 29))
        # CARLA counts red, yellow and green from 0, Autoware from 1.
        shown = [group.elements[0].color for group in groups]
        assert shown == [actor.light.state + 1 for actor in actors], activations
        colours |= set(shown)
        world.tick()
    assert colours == {1, 2, 3}


@pytest.mark.parametrize(
    ("gear", "speed", "expected"),
    [
        (DRIVE, 5.0, (-1.0, None, None)),
        (DRIVE, -1.0, (0.0, 0.0, 1.0)),  # rolls backwards
        (REVERSE, 1.0, (0.0, 0.0, 1.0)),  # rolls forwards
        (PARK, 5.0, (0.0, 0.0, 1.0)),
    ],
)
def test_a_gear_has_its_direction(gear: int, speed: float, expected: tuple[Any, ...]) -> None:
    command = command_of(SEDAN, gear, -1.0, 0.0, speed)
    pedals = [None if math.isnan(p) else p for p in (command.throttle, command.brake)]
    assert (command.acceleration, *pedals) == expected


def test_a_positive_acceleration_in_reverse_is_one_backwards() -> None:
    faster, slower = (command_of(SEDAN, REVERSE, a, 0.0, -3.0) for a in (1.0, -3.0))
    assert faster.throttle < 0.0 == faster.brake and faster.acceleration == -1.0
    assert slower.throttle == 0.0 < slower.brake and slower.acceleration == 3.0
    coasting = command_of(SEDAN, NEUTRAL, 2.0, 0.0, 3.0)
    assert (coasting.throttle, coasting.brake) == (0.0, 0.0)
    assert command_of(SEDAN, NEUTRAL, -3.0, 0.0, 3.0).brake > 0.1


def test_wheels_turn_to_the_left_and_no_further_than_they_can() -> None:
    steers = [command_of(SEDAN, DRIVE, 0.0, angle, 0.0).steer for angle in (0.061, 9.0, -9.0)]
    assert steers == pytest.approx([0.1, 1.0, -1.0])


def control_model(packages: Path) -> AutowareControl:
    found = scenario(data(packages, []))
    context = context_of(found, "autoware_control")
    return AutowareControl(context, AutowareControl.Parameters())


def context_of(found: Scenario, name: str, **changes: Any) -> ModelContext:
    participant = found.participants[name]
    settings: dict[str, Any] = {
        "name": name,
        "parameters": {},
        "scene": found.scene,
        "run_seed": 1,
        "base_directory": CONFIG,
        "period_ns": 20_000_000,
        "output_types": {port: o.type for port, o in participant.outputs.items()},
        "input_types": dict.fromkeys(participant.inputs, ""),
    }
    return ModelContext(**(settings | changes))


def commanded(time: int = 0, samples: Any = None, **commands: Any) -> Step:
    """An activation after commands: port -> fields of its message."""
    types = {
        "control_cmd": CONTROL,
        "manual_control_cmd": CONTROL,
        "gear_cmd": "autoware_vehicle_msgs/msg/GearCommand",
        "manual_gear_command": "autoware_vehicle_msgs/msg/GearCommand",
        "emergency_cmd": "tier4_vehicle_msgs/msg/VehicleEmergencyStamped",
    }
    part = DEFAULT.part("autoware_control_msgs/msg/Longitudinal")
    latest: dict[str, Any] = {}
    for port, value in commands.items():
        kind: Any = DEFAULT.record(types[port])
        message = kind(longitudinal=part(acceleration=value)) if "control" in port else kind(value)
        latest[port] = Sample(0, 1, message)
    still = Odometry(*[0.0] * 6, 1.0, *[0.0] * 6)
    latest["odometry/ego"] = Sample(0, 1, still)
    return Step(time, samples or {}, latest)


def request(*modes: int) -> dict[str, Any]:
    items = [Item(0, n, msgpack.packb([[0, 0], mode])) for n, mode in enumerate(modes, start=1)]
    record: Any = DEFAULT.record(BYTES)
    return {"control_mode_request": (Sample(0, 1, record(data=bundle(items))),)}


def test_the_mode_chooses_whose_commands_count(packages: Path) -> None:
    model = control_model(packages)
    commands = {"control_cmd": 1.0, "gear_cmd": DRIVE, "manual_control_cmd": 0.5}
    sent = model.activate(commanded(**commands))
    assert sent["control/ego"].acceleration == 1.0 and sent["control_mode"].mode == AUTONOMOUS
    sent = model.activate(commanded(samples=request(MANUAL, 3, 0), **commands))
    answers = [
        (i.number, msgpack.unpackb(i.data)) for i in items_of(sent["control_mode_request"].data)
    ]
    assert answers == [(1, [True]), (2, [False]), (3, [False])]
    assert sent["control_mode"].mode == MANUAL and sent["gear_status"].report == PARK
    assert sent["control/ego"].brake == 1.0
    saved = json.loads(json.dumps(model.save_state()))
    sent = model.activate(commanded(manual_gear_command=DRIVE, **commands))
    assert sent["control/ego"].acceleration == 0.5 and "control_mode_request" not in sent
    model.restore_state(saved)
    assert model.activate(commanded(**commands))["control/ego"].brake == 1.0
    model.reset()
    assert model.activate(commanded(**commands))["control/ego"].acceleration == 1.0


def test_what_cannot_be_obeyed_is_passed_over(packages: Path) -> None:
    model = control_model(packages)
    model.activate(commanded(control_cmd=1.0, gear_cmd=DRIVE))
    sent = model.activate(commanded(control_cmd=math.nan, gear_cmd=0))
    assert sent["control/ego"].acceleration == 1.0 and sent["gear_status"].report == DRIVE
    sent = model.activate(commanded(emergency_cmd=True))
    assert sent["control/ego"].brake == 1.0 and sent["gear_status"].report == DRIVE
    sent = model.activate(commanded(emergency_cmd=False))
    assert sent["control/ego"].acceleration == 1.0


def test_a_saved_vehicle_goes_on_as_if_nothing_had_been(packages: Path) -> None:
    found = scenario(data(packages, []))
    model, again = (
        AutowareVehicle(context_of(found, "autoware"), AutowareVehicle.Parameters())
        for _ in range(2)
    )
    still = Odometry(*[0.0] * 6, 1.0, *[0.0] * 6)
    turned = Sample(0, 1, command_of(SEDAN, DRIVE, 0.0, 0.3, 0.0))
    latest = {
        "odometry/ego": Sample(0, 1, still),
        "acceleration/ego": Sample(0, 1, Acceleration(0.0, 0.0, 0.0)),
        "control/ego": turned,
    }
    angles = []
    for time in range(0, 100_000_000, 20_000_000):
        sent = model.activate(Step(time, {}, latest))
        angles.append(sent["steering_status"].steering_tire_angle)
    assert angles[0] == 0.0 < angles[1] < angles[2] < 0.3
    again.restore_state(json.loads(json.dumps(model.save_state())))
    step = Step(100_000_000, {}, latest)
    assert again.activate(step) == model.activate(step)
    model.reset()
    assert model.activate(step)["steering_status"].steering_tire_angle == 0.0


def test_a_vehicle_that_something_else_drives_gets_no_commands(packages: Path) -> None:
    """It is seen, and stands behind no gear."""
    given = data(packages, [], autoware={"vehicle": "slow"})
    del given["participants"]["pilot"], given["participants"]["blinker"]
    given["scene"]["vehicles"]["ego"]["driver"] = {}
    found = scenario(given)
    assert "autoware_control" not in found.participants
    outputs = found.participants["autoware"].outputs
    assert "steering_status" not in outputs and "kinematic_state" in outputs
    check_scenario(found, "inproc")


def test_programs_outside_are_obeyed_where_the_key_says_so(packages: Path) -> None:
    given = data(packages, [], autoware={"vehicle": "ego", "outside": True})
    inputs = scenario(given).participants["autoware_control"].inputs
    assert inputs["control_cmd"].source == ("pilot.control",)
    assert inputs["hazard_lights_cmd"].unsynchronised == "/control/command/hazard_lights_cmd"
    check_scenario(scenario(given), "inproc")


def test_a_call_for_a_mode_is_connected(packages: Path) -> None:
    given = data(packages, [])
    service = {
        "service": "/control/control_mode_request",
        "type": "autoware_vehicle_msgs/srv/ControlModeCommand",
    }
    given["participants"]["engager"] = {
        "model": "foreign_node",
        "period": "100ms",
        "parameters": {"script": "engager.py", "calls": {"mode": service}},
    }
    found = scenario(given)
    control, engager = found.participants["autoware_control"], found.participants["engager"]
    assert control.inputs["control_mode_request"].source == ("engager.mode",)
    assert engager.inputs["mode"].source == ("autoware_control.control_mode_request",)
    assert engager.outputs["mode"].latency == "1ms"
    given["participants"]["second"] = given["participants"]["engager"]
    with pytest.raises(ConfigurationError, match=r"second.parameters.calls: found a second caller"):
        scenario(given)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"autoware": "eego"}, "autoware.vehicle: found 'eego'; allowed are the vehicles"),
        ({"autoware": {}}, "autoware.vehicle"),
        ({"participants": {}}, "autoware: found 0 participants with the model carla_world"),
    ],
)
def test_wrong_keys_are_one_line(changes: dict[str, Any], message: str, packages: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolved({**data(packages, []), **changes}, [], "test")
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("topic", ["/initialpose", "/vehicle/engage"])
def test_topics_that_nothing_obeys_are_refused(topic: str, packages: Path) -> None:
    given = data(packages, [])
    given["participants"]["other"] = sends("std_msgs/msg/Bool", topic)
    with pytest.raises(ConfigurationError) as caught:
        resolved(given, [], "test")
    text = str(caught.value)
    assert f"participants.other.outputs.demand.topic: found {topic}" in text
    assert "/control/command/control_cmd" in text


def test_two_masters_of_one_vehicle_are_refused(packages: Path) -> None:
    given = data(packages, [])
    given["participants"]["world"]["inputs"] = {"control/ego": "pilot.control"}
    with pytest.raises(ConfigurationError, match="inputs.control/ego: found beside a participant"):
        resolved(given, [], "test")
    given = data(packages, [])
    given["scene"]["vehicles"]["ego"]["driver"] = {}
    with pytest.raises(ConfigurationError, match="vehicles.ego.driver: found beside a participant"):
        resolved(given, [], "test")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"period_ns": None}, "participants.autoware.period: missing"),
        ({"input_types": {"odometry/ego": ""}}, "'acceleration/ego' is missing; output"),
        ({"input_types": {}}, "found odometry/... of no vehicle; allowed is one vehicle"),
    ],
)
def test_missing_parts_are_named(changes: dict[str, Any], message: str, packages: Path) -> None:
    found = scenario(data(packages, []))
    with pytest.raises(ConfigurationError, match=message):
        AutowareVehicle(context_of(found, "autoware", **changes), AutowareVehicle.Parameters())
