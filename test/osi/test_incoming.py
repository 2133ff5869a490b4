# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""OSI comes in: sensor data becomes object lists, and updates of traffic put vehicles elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs.cosim_process import HIGHWAY, cosim, user_environment
from support.fmu_builder import build_fmu

from ros2_cosim.core.kernel.errors import ConfigurationError, ProtocolError
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.records import (
    CLASS_CAR,
    CLASS_OBSTACLE,
    CLASS_TRUCK,
    CLASS_UNKNOWN,
    DetectedObject,
    ObjectList,
    Odometry,
)
from ros2_cosim.core.messages.seams import NoParameters, SeamPlace
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.driving.osi.seams import (
    FromSensorData,
    FromTrafficUpdate,
    SensorDataParameters,
)

pytest.importorskip("osi3", reason="the extra 'osi' is not installed")

from osi3.osi_sensordata_pb2 import SensorData
from osi3.osi_sensorview_pb2 import SensorView
from osi3.osi_trafficupdate_pb2 import TrafficUpdate
from support.osi_models import Octets, sensed

from ros2_cosim.driving.osi import messages

LENGTH = 4.792
SCENE = {
    "vehicles": {
        "lead": {"lane": -2, "s": 700.0, "placed": True},
        "ego": {"id": 7, "lane": -2, "s": 650.0},
    },
    "objects": {"box": {"lane": -2, "s": 900.0, "placed": True}},
}
SIZE = st.floats(0.1, 30.0)


def place(port: str = "objects") -> SeamPlace:
    return SeamPlace(f"participants.x.inputs.{port}", port, "", (), SCENE)


def list_seam() -> FromSensorData:
    return FromSensorData(place(), SensorDataParameters(ego="ego"))


def octets(message: Any) -> Any:
    return Octets(data=message.SerializeToString(deterministic=True))


def front() -> float:
    """How far the bumper is ahead of the rear axle; the closed loop has the right one [m]."""
    seam = list_seam()
    data = SensorData()
    data.moving_object.add().base.position.x = 100.0
    (found,) = seam.convert(octets(data), {}).objects
    return 100.0 - found.distance


@given(
    st.lists(
        st.builds(
            DetectedObject, st.integers(0, 2**32 - 1),
            st.sampled_from((CLASS_UNKNOWN, CLASS_CAR, CLASS_TRUCK, CLASS_OBSTACLE)),
            st.floats(0.0, 300.0), st.floats(-60.0, 60.0), st.floats(-6.0, 6.0), SIZE, SIZE,
            st.floats(0.0, 1.0),
        ),
        max_size=5, unique_by=lambda each: each.id,
    ),
    st.floats(-10.0, 60.0), st.floats(-3.1, 3.1),
)  # fmt: skip
def test_what_a_sensor_reports_comes_back(
    found: list[DetectedObject], speed: float, yaw: float
) -> None:
    """With the own speed from the message, which stationary objects have backwards."""
    ordered = [
        one._replace(relative_speed=-speed) if one.classification == CLASS_OBSTACLE else one
        for one in sorted(found, key=lambda each: each.id)
    ]
    data = SensorData()
    frame = messages.SensorFrame(1, front())
    messages.sensor_data(data, ObjectList(tuple(ordered)), frame, 0, None)
    without = list_seam().convert(octets(data), {}) if ordered else ObjectList(())
    moving = [one for one in ordered if one.classification != CLASS_OBSTACLE]
    assert without is not None
    assert sorted(each.id for each in without.objects) == [each.id for each in moving]
    host = data.host_vehicle_location
    host.orientation.yaw = yaw
    host.velocity.x, host.velocity.y = speed * math.cos(yaw), speed * math.sin(yaw)
    back = list_seam().convert(octets(data), {})
    assert back is not None
    distances = [each.distance for each in back.objects]
    assert distances == sorted(distances)
    pairs = zip(sorted(back.objects, key=lambda each: each.id), ordered, strict=True)
    for mine, theirs in pairs:
        assert mine == pytest.approx(theirs, abs=1e-9)


def test_what_is_behind_is_left_out_and_what_is_beside_is_not() -> None:
    data = SensorData()
    for number, x in enumerate((front() - 0.1, front() + 0.1), start=1):
        item = data.moving_object.add()
        item.header.tracking_id.value = 2**32 + number
        item.base.position.x, item.base.dimension.length = x, 4.0
    found = list_seam().convert(octets(data), {})
    assert found is not None
    assert [(each.id, each.distance) for each in found.objects] == [(2, pytest.approx(-1.9))]


def test_no_bytes_are_no_message() -> None:
    assert list_seam().convert(Octets(data=b""), {}) is None
    assert FromTrafficUpdate(place("place/lead"), NoParameters()).convert(Octets(b""), {}) is None


def test_what_is_no_such_message_is_refused() -> None:
    wrong = r"participants.x.inputs.objects: found 3 bytes, which are not an osi3.SensorData"
    with pytest.raises(ProtocolError, match=wrong):
        list_seam().convert(Octets(data=b"\xff\xff\xff"), {})
    data = SensorData()
    data.moving_object.add().base.velocity.x = math.nan
    with pytest.raises(ProtocolError, match=r"inputs.objects: found .*nan.*finite numbers"):
        list_seam().convert(octets(data), {})
    update = TrafficUpdate()
    update.update.add().id.value = 1
    seam = FromTrafficUpdate(place("place/lead"), NoParameters())
    with pytest.raises(ProtocolError, match=r"place/lead: found height 0.0 of object 1; allowed"):
        seam.convert(octets(update), {})


def test_an_unknown_vehicle_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"as.ego: found vehicle 'nobody'; allowed are"):
        FromSensorData(place(), SensorDataParameters(ego="nobody"))
    with pytest.raises(ConfigurationError, match=r"inputs.place/nobody: found vehicle 'nobody'"):
        FromTrafficUpdate(place("place/nobody"), NoParameters())


@pytest.mark.parametrize(("name", "number"), [("lead", 1), ("ego", 7), ("box", 101)])
def test_an_update_is_that_of_the_name_of_the_port(name: str, number: int) -> None:
    update = TrafficUpdate()
    for other in (1, 7, 101):
        item = update.update.add()
        item.id.value = other
        item.base.position.x, item.base.position.z = float(other), 0.8
        item.base.dimension.height = 1.6
        item.base.orientation.yaw, item.base.velocity.y = math.pi / 2, 3.0
    found = FromTrafficUpdate(place(f"place/{name}"), NoParameters()).convert(octets(update), {})
    half = math.sqrt(0.5)
    assert found == pytest.approx(
        Odometry(float(number), 0, 0, 0, 0, half, half, 3.0, 0, 0, 0, 0, 0), abs=1e-12
    )
    del update.update[:]
    assert (
        FromTrafficUpdate(place("place/lead"), NoParameters()).convert(octets(update), {}) is None
    )


SCENARIO = """
version: 1
name: osi_loop
duration: 6s
scene:
  map: MAP
  vehicles:
    lead: {lane: -2, s: 700.0, speed: 20.0, driver: {}, placed: true}
    ego:  {lane: -2, s: 660.0, speed: 22.0}
  roadblock: {lane: -2, s: 1000.0}
participants:
  mover:
    model: support.osi_models:Mover
    period: 20ms
    parameters: {x: 700.0, y: LANE}
    outputs: {update: {type: std_msgs/msg/UInt8MultiArray, topic: /osi/traffic_update}}
  world:
    model: carla_world
    period: 20ms
    parameters: {dcp: {transport: tcp, port: 0}}
    inputs:
      place/lead:  {from: mover.update, as: osi_traffic_update}
      control/ego: {from: acc.control, delayed: true}
    outputs:
      static_objects:   {type: ros2_cosim/msg/StaticObjects, topic: /static_objects, schedule: once}
      collision:        {type: ros2_cosim/msg/CollisionEvent, topic: /hits, schedule: sparse}
      odometry/lead:    {type: nav_msgs/msg/Odometry, topic: /lead/odometry}
      odometry/ego:     {type: nav_msgs/msg/Odometry, topic: /ego/odometry}
      acceleration/ego: {type: geometry_msgs/msg/AccelStamped, topic: /ego/acceleration}
  osi:
    model: osi_ground_truth
    period: 40ms
    parameters: {host: ego, sensors: {radar: ego}}
    inputs:
      odometry/lead: world.odometry/lead
      odometry/ego: world.odometry/ego
      static_objects: world.static_objects
    outputs:
      ground_truth: {type: std_msgs/msg/UInt8MultiArray, topic: /osi/ground_truth}
      sensor_view/radar: {type: std_msgs/msg/UInt8MultiArray, topic: /osi/view}
  radar:
    model: support.osi_models:Sensor
    activation: {any: [view]}
    inputs: {view: osi.sensor_view/radar}
    outputs: {data: {type: std_msgs/msg/UInt8MultiArray, topic: /osi/data, latency: 10ms}}
  acc:
    model: cacc_controller
    activation: {any: [objects]}
    parameters:
      {law: rajamani_acc, time_gap: 1.4, standstill_gap: 2.0, set_speed: 30.0, vehicle: sedan}
    inputs:
      objects: {from: radar.data, as: {osi_sensor_data: {ego: ego}}}
      odometry: world.odometry/ego
      acceleration: world.acceleration/ego
    outputs: {control: {type: ros2_cosim/msg/ControlCommand, topic: /ego/control}}
"""


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    with user_environment(tmp_path / "logs") as found:
        yield found


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "osi_loop.yaml"
    path.write_text(SCENARIO.replace("MAP", str(HIGHWAY)).replace("LANE", "-5.25"))
    return path


def test_one_trace_of_a_closed_loop_in_every_shape(
    environment: dict[str, str], scenario: Path, tmp_path: Path
) -> None:
    traces = {}
    for shape in ("inproc", "composed", "ros"):
        result = cosim(environment, scenario, "--shape", shape, "--out", tmp_path / shape)
        assert result.code == 0, result
        traces[shape] = read_summary(tmp_path / shape).trace_sha256
    assert len(set(traces.values())) == 1, traces
    found: dict[str, list[Any]] = {}
    for message in read_bag(tmp_path / "ros" / "bag"):
        found.setdefault(message.topic, []).append(message.data)
    assert "/hits" not in found
    odometry = DEFAULT.codec("nav_msgs/msg/Odometry")
    lead = odometry.decode(found["/lead/odometry"][-1])[2]
    ego = odometry.decode(found["/ego/odometry"][-1])[2]
    # 20 m/s for 5 s, slower by 1 m/s each second, and 15 m/s for the last one.
    assert lead.x == pytest.approx(700.0 + 87.5 + 15.0, abs=0.7)
    assert lead.vx == pytest.approx(15.0, abs=0.05)
    gap = lead.x - ego.x - LENGTH
    assert 15.0 < ego.vx < 16.5
    assert gap == pytest.approx(2.0 + 1.4 * ego.vx, abs=2.0)
    octet = DEFAULT.codec("std_msgs/msg/UInt8MultiArray")
    views = [SensorView.FromString(bytes(octet.decode(d)[2].data)) for d in found["/osi/view"]]
    assert [bool(view.global_ground_truth.lane) for view in views[:2]] == [True, False]
    assert len(views) == 150 == len(found["/osi/data"])
    assert messages.time_of(views[-1].timestamp) == 149 * 40_000_000
    (car, *barriers) = list_of(views[-1])
    assert car.id == 1 and car.classification == CLASS_CAR and len(barriers) == 3
    before = odometry.decode(found["/ego/odometry"][149 * 2])[2]
    ahead = odometry.decode(found["/lead/odometry"][149 * 2])[2]
    assert car.distance == pytest.approx(ahead.x - before.x - LENGTH, abs=1e-3)
    assert car.relative_speed == pytest.approx(ahead.vx - before.vx, abs=1e-3)
    speeds = [each.relative_speed for each in barriers]
    assert speeds == pytest.approx([-before.vx] * 3, abs=1e-3)


def list_of(view: SensorView) -> tuple[DetectedObject, ...]:
    found = list_seam().convert(octets(sensed(view)), {})
    assert found is not None
    return found.objects


def test_an_fmu_of_osmp_gets_the_views(scenario: Path, tmp_path: Path) -> None:
    """All but the first, at which it is initialised. It adds the number of its steps to bytes."""
    slave = (
        "participants.slave={model: dcp_master, period: 40ms, inputs: {view: osi.sensor_view/radar}"
        ", outputs: {seen: {type: std_msgs/msg/UInt8MultiArray, topic: /seen}}, parameters: "
        f"{{slaves: {{osmp: {{fmu: {build_fmu('osmp2', tmp_path)}}}}}, inputs: {{view: "
        "{osmp.OSMPSensorViewIn: data}}, outputs: {seen: {fields: {data: osmp.OSMPSensorDataOut}}}}"
        "}"
    )
    wishes = ["duration=200ms", slave, "participants.osi.parameters.lanes=every"]
    run_inproc(load_scenario(scenario, wishes), tmp_path / "out")
    octet = DEFAULT.codec("std_msgs/msg/UInt8MultiArray")
    found: dict[str, list[bytes]] = {"/osi/view": [], "/seen": []}
    for message in read_bag(tmp_path / "out" / "bag"):
        if message.topic in found:
            found[message.topic].append(bytes(octet.decode(message.data)[2].data))
    assert len(found["/seen"]) == 5 and found["/seen"][0] == b""
    pairs = zip(found["/osi/view"], found["/seen"], strict=True)
    for number, (view, seen) in list(enumerate(pairs))[1:]:
        steps = 4 * number  # of 10 ms
        assert bytes((byte - steps) % 256 for byte in seen) == view
        assert SensorView.FromString(view).global_ground_truth.lane


def test_a_sensor_on_an_unknown_vehicle_is_named(scenario: Path) -> None:
    wrong = load_scenario(scenario, ["participants.osi.parameters.sensors={radar: nobody}"])
    with pytest.raises(ConfigurationError, match=r"sensors.radar: found vehicle 'nobody'; allowed"):
        check_scenario(wrong)
