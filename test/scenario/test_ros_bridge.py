# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The key ``ros_bridge``: topics, types and frames of CARLA's ROS bridge, and its commands."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from support.seam_models import write_definitions
from support.seam_scenarios import Messages, record, scenario, sends
from support.world_scenarios import CONFIG

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import ModelContext, Sample, Step
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.records import (
    Acceleration,
    CollisionEvent,
    ControlCommand,
    Odometry,
)
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.composition import resolved, with_overrides
from ros2_cosim.core.scenario.system import build_graph
from ros2_cosim.core.scene.simulator import SETTLE_TICKS, MapChoice
from ros2_cosim.driving.ros_bridge.control import CarlaRosControl
from ros2_cosim.driving.ros_bridge.lane_marks import LaneMarkWatch
from ros2_cosim.driving.ros_bridge.light_messages import SignalLights
from ros2_cosim.driving.ros_bridge.publisher import CarlaRosBridge
from ros2_cosim.driving.ros_bridge.ros_bridge_ports import LIGHT_OUTPUTS
from ros2_cosim.driving.ros_bridge.seen import SeenWorld
from ros2_cosim.world.carla.inprocess_world import InProcessWorld
from ros2_cosim.world.headless.signals import LightActor
from ros2_cosim.world.map import RoadNetwork

CONTROL = "carla_msgs/msg/CarlaEgoVehicleControl"
EGO = "/carla/ego"


def data(packages: Path, **changes: Any) -> dict[str, Any]:
    """``ego`` is driven on the bridge's topic into ``slow``; two vehicles of the background."""
    return {
        "name": "bridged",
        "duration": "4s",
        "base_directory": str(CONFIG),
        "messages": [str(packages)],
        "ros_bridge": "ego",
        "scene": {
            "map": "highway.xodr",
            "vehicles": {
                "slow": {"lane": -2, "s": 915.0, "speed": 5.0, "driver": {}},
                "ego": {"lane": -2, "s": 900.0, "speed": 10.0, "dynamics": "van"},
            },
            "objects": {"wall": {"lane": -1, "s": 1200.0}},
            "sensors": {
                "gnss": {"vehicle": "ego", "blueprint": "sensor.other.gnss", "period": "1s"},
                "rgb_front": {
                    "vehicle": "ego",
                    "blueprint": "sensor.camera.rgb",
                    "period": "2s",
                    "x": 1.5,
                    "attributes": {"image_size_x": 32, "image_size_y": 16},
                },
            },
        },
        "participants": {
            "pilot": sends(
                CONTROL, f"{EGO}/vehicle_control_cmd", period="40ms", throttle=0.5, steer=-0.01
            ),
            "world": {
                "model": "carla_world",
                "period": "20ms",
                "parameters": {"traffic": 2, "dcp": {"transport": "tcp", "port": 0}},
            },
        },
        **changes,
    }


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_definitions(tmp_path_factory.mktemp("packages"))


@pytest.fixture(scope="module")
def recorded(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Messages:
    """(Stamp, record) of the run, by topic."""
    return record(data(packages), tmp_path_factory.mktemp("run"))


def test_topics_and_types_are_those_of_the_bridge(packages: Path) -> None:
    outputs = {
        output.topic: output.type
        for name in ("ros_bridge", "world")
        for output in scenario(data(packages)).participants[name].outputs.values()
    }
    carla = {topic: kind for topic, kind in outputs.items() if topic.startswith(("/carla", "/tf"))}
    assert carla == {
        f"{EGO}/vehicle_status": "carla_msgs/msg/CarlaEgoVehicleStatus",
        f"{EGO}/vehicle_info": "carla_msgs/msg/CarlaEgoVehicleInfo",
        f"{EGO}/odometry": "nav_msgs/msg/Odometry",
        f"{EGO}/speedometer": "std_msgs/msg/Float32",
        f"{EGO}/objects": "derived_object_msgs/msg/ObjectArray",
        f"{EGO}/collision": "carla_msgs/msg/CarlaCollisionEvent",
        f"{EGO}/lane_invasion": "carla_msgs/msg/CarlaLaneInvasionEvent",
        f"{EGO}/gnss": "sensor_msgs/msg/NavSatFix",
        f"{EGO}/rgb_front/image": "sensor_msgs/msg/Image",
        f"{EGO}/rgb_front/camera_info": "sensor_msgs/msg/CameraInfo",
        "/carla/objects": "derived_object_msgs/msg/ObjectArray",
        "/carla/markers": "visualization_msgs/msg/MarkerArray",
        "/carla/markers/static": "visualization_msgs/msg/MarkerArray",
        "/carla/actor_list": "carla_msgs/msg/CarlaActorList",
        "/carla/status": "carla_msgs/msg/CarlaStatus",
        "/carla/world_info": "carla_msgs/msg/CarlaWorldInfo",
        "/carla/map": "std_msgs/msg/String",
        "/carla/traffic_lights/status": "carla_msgs/msg/CarlaTrafficLightStatusList",
        "/carla/traffic_lights/info": "carla_msgs/msg/CarlaTrafficLightInfoList",
        "/tf": "tf2_msgs/msg/TFMessage",
    }


def test_commands_drive_and_the_status_says_what_is_obeyed(recorded: Messages) -> None:
    """CARLA steers to the right, and its accelerations are in axes of the map."""
    truth = dict(recorded["/ego/odometry"])
    stamp, status = recorded[f"{EGO}/vehicle_status"][-1]
    o = truth[stamp]
    assert status.velocity == pytest.approx(math.hypot(o.vx, o.vy, o.vz))
    assert (status.orientation.z, status.orientation.w) == (o.qz, o.qw)
    assert status.control[1:4] == pytest.approx((0.5, -0.01, 0.0))
    yaw = [2.0 * math.atan2(o.qz, o.qw) for _, o in recorded["/ego/odometry"]]
    assert yaw[-1] - yaw[0] > 0.005, "it turns to the left, away from the lane"
    stamp, before = recorded[f"{EGO}/vehicle_status"][25]
    own = dict(recorded["/ego/acceleration"])[stamp]
    heading = 2.0 * math.atan2(truth[stamp].qz, truth[stamp].qw)
    assert own.ax > 0.5
    assert before.acceleration.linear.x == pytest.approx(
        own.ax * math.cos(heading) - own.ay * math.sin(heading)
    )
    assert recorded[f"{EGO}/vehicle_status"][0][1].control.throttle == 0.0, "nothing had come"


def test_odometry_and_speed_are_those_of_the_vehicle(recorded: Messages) -> None:
    assert recorded[f"{EGO}/odometry"] == recorded["/ego/odometry"]
    (_, speed), (_, o) = recorded[f"{EGO}/speedometer"][-1], recorded["/ego/odometry"][-1]
    assert speed.data == pytest.approx(o.vx)


def test_vehicle_info_describes_its_dynamics_once(recorded: Messages) -> None:
    ((_, info),) = recorded[f"{EGO}/vehicle_info"]
    assert (info.id, info.rolename, info.type) == (2, "ego", "vehicle.tesla.model3")
    assert info.mass == 2400.0
    front_left, front_right, rear_left, _ = info.wheels
    assert front_left.max_steer_angle == pytest.approx(0.66) and rear_left.max_steer_angle == 0.0
    assert front_left.position.x == 1.7 and rear_left.position.x == -1.95
    assert front_left.position.y == -front_right.position.y > 0.0


def test_objects_are_in_the_map_and_leave_out_the_vehicle_itself(recorded: Messages) -> None:
    stamp, everything = recorded["/carla/objects"][-1]
    assert [one.id for one in everything.objects] == [1, 2, 1001, 1002]
    others = recorded[f"{EGO}/objects"][-1][1].objects
    assert others == (everything.objects[0], *everything.objects[2:])
    ego, o = everything.objects[1], dict(recorded["/ego/odometry"])[stamp]
    assert (ego.pose.position.x, ego.pose.position.y) == (o.x, o.y)
    heading = 2.0 * math.atan2(o.qz, o.qw)
    assert ego.twist.linear.x == pytest.approx(o.vx * math.cos(heading), rel=1e-3)
    assert ego.shape.dimensions[0] == 4.792 and ego.classification_age == 200
    user = dict(recorded["/traffic"])[stamp].users[0]
    traffic = everything.objects[2]
    assert traffic.pose.position.x == user.x
    speed = math.hypot(traffic.twist.linear.x, traffic.twist.linear.y)
    assert speed == pytest.approx(math.hypot(user.vx, user.vy))


def test_a_contact_is_told_once_with_the_other_one(recorded: Messages) -> None:
    contacts = recorded["/collisions"]
    assert contacts, "it runs into the slow one"
    told = recorded[f"{EGO}/collision"]
    assert [stamp for stamp, _ in told] == [
        stamp for stamp, event in contacts if 2 in (event.vehicle, event.other)
    ]
    stamp, first = told[0]
    event = dict(contacts)[stamp]
    assert first.other_actor_id == 1
    assert first.normal_impulse.x == pytest.approx(event.impulse)


def at(lane: int, t: float, s: float = 500.0) -> Odometry:
    """A vehicle beside the centre of a lane of the highway, along the road."""
    x, y, z, heading = HIGHWAY.lane_pose(1, lane, s)
    side = (-math.sin(heading), math.cos(heading))
    turn = (0.0, 0.0, math.sin(0.5 * heading), math.cos(0.5 * heading))
    return Odometry(x + t * side[0], y + t * side[1], z, *turn, *[0.0] * 6)


HIGHWAY = RoadNetwork.from_file(CONFIG / "highway.xodr")


@pytest.mark.parametrize(
    ("places", "marks"),
    [
        # Borders of lanes -1 | -2 are broken, the edges of the road are solid.
        ([(-2, 0.0), (-2, 0.3), (-2, -0.3)], [(), (), ()]),
        ([(-2, 0.0), (-2, 1.2), (-2, 2.8), (-1, 0.0)], [(), (1,), (1,), ()]),
        ([(-1, 0.0), (-2, 0.0)], [(), (1,)]),
        ([(-2, 0.0), (-2, -1.2)], [(), "right"]),
    ],
)
def test_marks_are_told_when_a_corner_crosses_them(places: Any, marks: Any) -> None:
    watch = LaneMarkWatch(HIGHWAY, 4.8, 2.0)
    again = LaneMarkWatch(HIGHWAY, 4.8, 2.0)
    road = HIGHWAY.road(1).lanes.section(500.0)
    for (lane, t), expected in zip(places, marks, strict=True):
        found = watch.crossed(at(lane, t))
        if expected == "right":
            kinds = {"broken": 1, "solid": 2}
            expected = (kinds[road.lanes[lane].marks[0].type],)
        assert found == expected, (lane, t)
        # What is saved goes on as if nothing had been.
        again.restore(json.loads(json.dumps(watch.save())))
        assert again.save() == [list(place) for place in watch.save() if place]


def test_a_saved_bridge_goes_on_as_if_nothing_had_been(packages: Path) -> None:
    """What was sent once is not sent again, a contact is told once, corners are known."""
    scenario(data(packages))  # its message definitions
    ports = ("vehicle_info", "vehicle_status", "collision", "lane_invasion", "objects")
    context = ModelContext(
        name="ros_bridge",
        parameters={},
        scene={"map": "highway.xodr", "vehicles": {"ego": {}}},
        run_seed=1,
        base_directory=CONFIG,
        period_ns=20_000_000,
        output_types=dict.fromkeys((f"{port}/ego" for port in ports), ""),
        input_types=dict.fromkeys(("odometry/ego", "acceleration/ego", "collision"), ""),
    )

    def seen(time: int, t: float, contact: int) -> Step:
        samples = {
            "odometry/ego": at(-2, t),
            "acceleration/ego": Acceleration(0.0, 0.0, 0.0),
            "collision": CollisionEvent(1, 9, 100.0 * contact),
        }
        latest = {port: Sample(time, 0, value) for port, value in samples.items()}
        latest["collision"] = Sample(contact, contact, samples["collision"])
        return Step(time, {}, latest)

    steps = [seen(0, 0.0, 1), seen(1, 0.0, 1), seen(2, 1.2, 1), seen(3, 1.2, 2)]
    whole = CarlaRosBridge(context, CarlaRosBridge.Parameters())
    sent = [whole.activate(step) for step in steps]
    present = [sorted(p for p, value in one.items() if value is not None) for one in sent]
    always = ["objects/ego", "vehicle_status/ego"]
    assert present == [
        sorted([*always, "collision/ego", "vehicle_info/ego"]),
        always,
        sorted([*always, "lane_invasion/ego"]),
        sorted([*always, "collision/ego"]),
    ]
    first = CarlaRosBridge(context, CarlaRosBridge.Parameters())
    for step in steps[:2]:
        first.activate(step)
    later = CarlaRosBridge(context, CarlaRosBridge.Parameters())
    later.restore_state(json.loads(json.dumps(first.save_state())))
    assert [later.activate(step) for step in steps[2:]] == sent[2:]


def test_what_is_said_of_the_whole_simulation(recorded: Messages) -> None:
    _, status = recorded["/carla/status"][-1]
    assert status.frame == 199 and status.fixed_delta_seconds == pytest.approx(0.02)
    ((_, info),) = recorded["/carla/world_info"]
    ((_, text),) = recorded["/carla/map"]
    assert info.map_name == "highway" and info.opendrive == text.data
    assert text.data == (CONFIG / "highway.xodr").read_text(encoding="utf-8")
    actors = recorded["/carla/actor_list"][-1][1].actors
    assert [(a.id, a.rolename) for a in actors[:2]] == [(1, "slow"), (2, "ego")]
    assert [a.id for a in actors[2:]] == [1001, 1002, 101]
    markers = recorded["/carla/markers"][-1][1].markers
    assert [m.id for m in markers] == [1, 2, 1001, 1002]
    ((_, static),) = recorded["/carla/markers/static"]
    assert [m.id for m in static.markers] == [101]


def test_the_reverse_gear_drives_backwards(packages: Path, tmp_path: Path) -> None:
    given = data(packages, duration="3s")
    del given["scene"]["vehicles"]["slow"], given["scene"]["sensors"]
    given["scene"]["vehicles"]["ego"]["speed"] = 0.0
    given["participants"]["pilot"] = sends(
        CONTROL, f"{EGO}/vehicle_control_cmd", period="40ms", throttle=0.5, reverse=True
    )
    found = record(given, tmp_path)
    moved = [o.vx for _, o in found["/ego/odometry"]]
    assert moved[0] == 0.0 and moved[-1] < -2.0
    _, status = found[f"{EGO}/vehicle_status"][-1]
    assert (status.control.throttle, status.control.reverse) == (0.5, True)
    assert status.velocity == pytest.approx(-moved[-1], rel=1e-3)


def test_traffic_lights_are_those_of_the_world(packages: Path) -> None:
    """At every step, as a client of the server sees them; phases last 10 s, 3 s and 2 s."""
    scenario(data(packages))  # its message definitions
    town = CONFIG / "town.xodr"
    step_s = 0.05
    world = InProcessWorld()
    chosen = MapChoice(opendrive=town.read_text(encoding="utf-8"))
    world.prepare(chosen, "ClearNoon", step_s)
    lights = SignalLights(RoadNetwork.from_file(town), round(step_s * 1e9))
    actors = [actor for actor in world.world.signals.actors if isinstance(actor, LightActor)]
    assert len(actors) == len(lights.numbers) == 28
    for _ in range(SETTLE_TICKS):
        world.tick()
    sent = []
    for activations in range(420):
        shown = tuple(actor.light.state for actor in actors)
        assert lights.states(activations) == shown, activations
        if lights.status(seen_at(activations)) is not None:
            sent.append(activations)
        world.tick()
    assert sent == [0, 100, 160, 200, 400]
    again = SignalLights(RoadNetwork.from_file(town), round(step_s * 1e9))
    assert again.status(seen_at(400)) is not None and again.status(seen_at(399)) is None
    for actor, told in zip(actors, lights.info().traffic_lights, strict=True):
        x, y, z = actor.state.transform.location
        assert told.transform.position == pytest.approx((x, -y, z))
        turn, yaw = told.transform.orientation, math.radians(actor.state.transform.rotation.yaw)
        assert math.cos(2.0 * math.atan2(turn.z, turn.w) + yaw) == pytest.approx(1.0)
        box = actor.trigger
        x, y, z = box.location
        assert told.trigger_volume.center == pytest.approx((x, -y, z), abs=1e-9)
        assert told.trigger_volume.size == pytest.approx([2.0 * half for half in box.extent])


def seen_at(activations: int) -> SeenWorld:
    return SeenWorld(activations, activations, {}, (), (), ())


def test_the_state_of_lights_is_there_for_programs_that_come_later(packages: Path) -> None:
    found = scenario(data(packages))
    outputs = found.participants["ros_bridge"].outputs
    assert [p for p, o in outputs.items() if o.latched] == ["traffic_lights_status"]
    graph = build_graph(found)
    assert graph.output("ros_bridge", "traffic_lights_status").latched


def test_lights_of_another_simulator_are_not_told(packages: Path) -> None:
    found = scenario(data(packages, simulator={"kind": "carla", "port": 2000}))
    assert not found.participants["ros_bridge"].outputs.keys() & set(LIGHT_OUTPUTS)


def test_frames_have_the_names_of_the_bridge(recorded: Messages) -> None:
    transforms = {t.child_frame_id: t for t in recorded["/tf"][-1][1].transforms}
    assert list(transforms) == ["slow", "ego", "ego/gnss", "ego/rgb_front"]
    camera = transforms["ego/rgb_front"]
    assert camera.header.frame_id == "ego" and camera.transform.translation.x == 1.5
    # An optical frame: its z looks ahead.
    q = camera.transform.rotation
    assert 2.0 * (q.x * q.z + q.w * q.y) == pytest.approx(1.0)


def test_sensors_send_in_the_frames_of_the_bridge(packages: Path) -> None:
    outputs = scenario(data(packages)).participants["world"].outputs
    assert outputs["fix/gnss"].frame_id == "ego/gnss"
    assert outputs["image/rgb_front"].frame_id == "ego/rgb_front"


def test_vehicles_keep_their_order_and_steer(packages: Path) -> None:
    vehicles = scenario(data(packages)).scene["vehicles"]
    assert list(vehicles) == ["slow", "ego"]
    assert vehicles["ego"]["steering"] == "command" and "steering" not in vehicles["slow"]


def test_what_the_file_says_holds_before_the_key(packages: Path) -> None:
    given = data(packages)
    given["participants"]["ros_bridge"] = {"outputs": {"objects": None, "objects/ego": None}}
    given["participants"]["frames"] = {
        "model": "transforms",
        "period": "100ms",
        "outputs": {"tf": {"type": "tf2_msgs/msg/TFMessage", "topic": "/tf"}},
    }
    outputs = scenario(given).participants["ros_bridge"].outputs
    assert not outputs.keys() & {"objects", "objects/ego", "tf"}
    assert "vehicle_status/ego" in outputs


@pytest.mark.parametrize(
    ("value", "vehicles"),
    [(True, 2), (["slow"], 1), ({"vehicles": ["slow", "ego"]}, 2), (False, 0)],
)
def test_forms_of_the_key(value: Any, vehicles: int, packages: Path) -> None:
    found = resolved({**data(packages), "ros_bridge": value}, [], "test")
    bridge = found["participants"].get("ros_bridge", {"outputs": {}})
    assert sum(port.startswith("vehicle_status/") for port in bridge["outputs"]) == vehicles


def test_it_can_be_set_from_the_command_line(packages: Path) -> None:
    found = with_overrides({**data(packages), "ros_bridge": False}, ["ros_bridge=ego"], "test")
    assert "ros_bridge" in found["participants"]


def test_programs_outside_are_obeyed_where_the_key_says_so(packages: Path) -> None:
    """A participant's own topic is not read twice, and a vehicle with a driver takes no command."""
    given = data(packages, ros_bridge={"outside": True})
    found = scenario(given)
    control = found.participants["ros_bridge_control"]
    assert control.inputs["vehicle_control_cmd/ego"].source == ("pilot.demand",)
    outside = {port: i.unsynchronised for port, i in control.inputs.items() if i.unsynchronised}
    assert outside == {
        "vehicle_control_cmd_manual/ego": f"{EGO}/vehicle_control_cmd_manual",
        "vehicle_control_manual_override/ego": f"{EGO}/vehicle_control_manual_override",
        "set_target_velocity/ego": f"{EGO}/control/set_target_velocity",
    }
    assert control.period == found.participants["world"].period
    check_scenario(found, "inproc")
    del given["participants"]["pilot"]
    alone = scenario(given)
    assert alone.participants["ros_bridge_control"].activation is None
    assert list(alone.participants["ros_bridge_control"].outputs) == ["control/ego"]
    check_scenario(alone, "inproc")
    assert "ros_bridge_control" not in scenario({**given, "ros_bridge": True}).participants


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ros_bridge": "eego"}, "ros_bridge.vehicles: found 'eego'; allowed are the vehicles"),
        ({"ros_bridge": {"vehicle": "ego"}}, "ros_bridge.vehicle"),
        ({"participants": {}}, "ros_bridge: found 0 participants with the model carla_world"),
        ({"participants": 3}, "participants: found 3; allowed is a mapping"),
    ],
)
def test_wrong_keys_are_one_line(changes: dict[str, Any], message: str, packages: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolved({**data(packages), **changes}, [], "test")
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "topic", [f"{EGO}/enable_autopilot", f"{EGO}/control/set_transform", "/carla/weather_control"]
)
def test_commands_that_nothing_obeys_are_refused(topic: str, packages: Path) -> None:
    given = data(packages)
    given["participants"]["other"] = sends("std_msgs/msg/Bool", topic)
    with pytest.raises(ConfigurationError) as caught:
        resolved(given, [], "test")
    text = str(caught.value)
    assert f"participants.other.outputs.demand.topic: found {topic}" in text
    assert "vehicle_control_cmd_manual" in text


def test_two_masters_of_one_vehicle_are_refused(packages: Path) -> None:
    given = data(packages)
    given["participants"]["world"]["inputs"] = {"control/ego": "pilot.demand"}
    with pytest.raises(ConfigurationError, match="inputs.control/ego: found beside a participant"):
        resolved(given, [], "test")


def test_a_type_that_is_not_built_is_refused_with_the_command(packages: Path) -> None:
    with pytest.raises(Exception, match="cosim messages build DIRECTORY_OF_CARLA_MSGS"):
        check_scenario(scenario(data(packages)), "composed")


TWIST = "geometry_msgs/msg/Twist"


def control(*inputs: str) -> CarlaRosControl:
    """The model of a vehicle ``ego``."""
    context = ModelContext(
        name="ros_bridge_control",
        parameters={},
        scene={"vehicles": {"ego": {}}},
        run_seed=1,
        base_directory=CONFIG,
        output_types={"control/ego": "ros2_cosim/msg/ControlCommand"},
        input_types=dict.fromkeys((f"{name}/ego" for name in inputs), ""),
    )
    return CarlaRosControl(context, CarlaRosControl.Parameters())


def step(speed: float = 10.0, **commands: Any) -> Step:
    """An activation with these commands."""
    odometry = Odometry(*[0.0] * 6, 1.0, speed, *[0.0] * 5)
    samples = {f"{name}/ego": (Sample(0, 0, value),) for name, value in commands.items()}
    return Step(0, samples, {"odometry/ego": Sample(0, 0, odometry)})


def test_a_human_overrides_and_gives_back(packages: Path) -> None:
    scenario(data(packages))  # its message definitions
    pedals: Any = DEFAULT.record(CONTROL)
    switch: Any = DEFAULT.record("std_msgs/msg/Bool")
    model = control("vehicle_control_cmd", "vehicle_control_cmd_manual")
    normal, manual = pedals(throttle=0.25), pedals(brake=0.5, steer=0.125)
    both = {"vehicle_control_cmd": normal, "vehicle_control_cmd_manual": manual}
    by_node = {"control/ego": ControlCommand(0.0, 0.25, 0.0, 0.0)}
    by_human = {"control/ego": ControlCommand(0.0, 0.0, 0.5, -0.125)}
    assert model.activate(step(**both)) == by_node
    assert model.activate(step(vehicle_control_cmd_manual=manual)) == {}
    override = {"vehicle_control_manual_override": switch(True)}
    assert model.activate(step(**both, **override)) == by_human
    assert model.activate(step(vehicle_control_cmd=normal)) == {}
    kept = control("vehicle_control_cmd", "vehicle_control_cmd_manual")
    kept.restore_state(model.save_state())
    assert kept.activate(step(**both)) == by_human
    back = {"vehicle_control_manual_override": switch(False)}
    assert model.activate(step(**both, **back)) == by_node
    kept.reset()
    assert kept.activate(step(**both)) == by_node


def test_a_target_velocity_is_followed_unless_a_human_drives() -> None:
    twist: Any = DEFAULT.record(TWIST)
    vector: Any = DEFAULT.part("geometry_msgs/msg/Vector3")
    switch: Any = DEFAULT.record("std_msgs/msg/Bool")
    model = control("set_target_velocity", "odometry")
    target = {"set_target_velocity": twist(linear=vector(x=12.0))}
    command = model.activate(step(**target))["control/ego"]
    assert command.acceleration == 2.0 and math.isnan(command.throttle)
    override = {"vehicle_control_manual_override": switch(True)}
    assert model.activate(step(**target, **override)) == {}


def test_a_command_that_is_not_finite_is_passed_over(packages: Path) -> None:
    scenario(data(packages))  # its message definitions
    pedals: Any = DEFAULT.record(CONTROL)
    twist: Any = DEFAULT.record(TWIST)
    vector: Any = DEFAULT.part("geometry_msgs/msg/Vector3")
    model = control("vehicle_control_cmd", "set_target_velocity", "odometry")
    wrong = [pedals(steer=math.nan), pedals(throttle=math.inf), pedals(brake=math.nan)]
    for command in wrong:
        assert model.activate(step(vehicle_control_cmd=command)) == {}
    assert model.activate(step(set_target_velocity=twist(linear=vector(x=math.nan)))) == {}
    mixed = step(vehicle_control_cmd=pedals(throttle=0.25))
    good = mixed.samples["vehicle_control_cmd/ego"]
    later = tuple(Sample(1, 1, command) for command in wrong)
    both = Step(0, {"vehicle_control_cmd/ego": (*good, *later)}, mixed.latest)
    assert model.activate(both) == model.activate(mixed) != {}


def test_a_target_velocity_needs_an_odometry() -> None:
    with pytest.raises(ConfigurationError, match="'odometry/ego' is missing"):
        control("set_target_velocity")
