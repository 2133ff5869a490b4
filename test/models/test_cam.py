# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""CAMs as bytes, against those that an independent encoder makes.

Bytes here and in ``cam_vectors.txt`` were made with pycrate 0.8.1 from the module of ETSI that it
ships (CAM-PDU-Descriptions of EN 302 637-2 with ITS-Container of TS 102 894-2, version 2); the file
has 40 messages with random contents of all containers.
"""

from __future__ import annotations

from math import cos, hypot, pi, sin
from pathlib import Path
from typing import Any

import pytest
from support.models import made, scene_of

from ros2_cosim.core.documents import extras
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.records import Acceleration, Odometry, V2VMessage
from ros2_cosim.core.messages.seams import SeamPlace
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.driving.seams.cooperation import FromCamBytes
from ros2_cosim.driving.v2v.cam import Cam, CamError, PathPoint, decoded, encoded
from ros2_cosim.driving.v2v.cam_contents import CamPlace, CamWriter
from ros2_cosim.driving.v2v.v2v import V2VChannel
from ros2_cosim.world.map.earth import MapOrigin
from ros2_cosim.world.map.vehicle_info import VehicleInfo

pytest.importorskip("asn1tools", reason="needs the extra v2x")

MS = 1_000_000
MUNICH = MapOrigin(latitude=48.1, longitude=11.5, altitude=500.0)

CAR = Cam(
    station=1, milliseconds=4000, latitude=48.0999843, longitude=11.5107723, altitude=500.0,
    heading=90.0, speed=25.0, acceleration=0.0, curvature=0.0, yaw_rate=0.05, length=4.8,
    width=2.2, braking=False,
)  # fmt: skip
LIMITS = Cam(
    station=4294967295, milliseconds=65535, latitude=-33.456789, longitude=-70.5432109,
    altitude=-1000.0, heading=359.9, speed=-163.82, acceleration=-16.0, curvature=-0.1022,
    yaw_rate=-327.66, length=102.1, width=6.0, braking=True,
)  # fmt: skip
UNKNOWN = Cam(
    station=7, milliseconds=0, latitude=None, longitude=None, altitude=None, heading=None,
    speed=None, acceleration=None, curvature=None, yaw_rate=None, length=None, width=None,
    braking=False,
)  # fmt: skip
BRAKES = Cam(
    station=42, milliseconds=12345, latitude=51.5, longitude=-0.1234567, altitude=123.45,
    heading=0.1, speed=12.34, acceleration=-3.7, curvature=0.0051, yaw_rate=3.61, length=4.5,
    width=1.8, braking=True, path=(),
)  # fmt: skip
WAY = (PathPoint(-9.05e-5, 1.34e-4, 0.87), PathPoint(-0.0131071, 0.0131071, 655.35))
VECTORS = [
    (CAR, "0202000000010fa0005a4a0c546e44c7317ffffffc22493e1e40384fc4e27e02f8aa8333ffe2000e0000"),
    (
        LIMITS,
        "0202ffffffffffff00543679e5c827b8fa7ffffffc2200001e40e0ffdfff7e7fc9d8033001e000022000",
    ),
    (
        UNKNOWN,
        "0202000000070000005d693a403ad274803ffffffc23b7743e40e11fdffffe3fe9ed0737feebfff60000",
    ),
    (
        BRAKES._replace(path=WAY),
        "02020000002a3039405a8ae5f80d66df6f3ffffffc2236db3e40001fc2697e02c889ef3432e2059e2000002bf8ed"
        "029de39c002b40000ffffb1ce3fff8",
    ),
    (
        BRAKES,
        "02020000002a3039405a8ae5f80d66df6f3ffffffc2236db3e40001fc2697e02c889ef3432e2059e20000000",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("cam", "data"), VECTORS)
def test_bytes_are_those_of_another_encoder(cam: Cam, data: str) -> None:
    assert encoded(cam).hex() == data


@pytest.mark.parametrize(("cam", "data"), VECTORS)
def test_bytes_of_another_encoder_say_what_they_were_made_of(cam: Cam, data: str) -> None:
    found = decoded(bytes.fromhex(data))
    assert found is not None
    for name, value in cam._asdict().items():
        said = getattr(found, name)
        if name == "path" and value:
            assert [tuple(p) for p in said] == [pytest.approx(tuple(p)) for p in value]
        else:
            assert said == (pytest.approx(value) if isinstance(value, float) else value), name


def test_all_containers_of_a_cam_are_read() -> None:
    """The bits of the second encoder come out again, so each field has its width and place."""
    from ros2_cosim.driving.v2v import cam

    lines = (Path(__file__).parent / "cam_vectors.txt").read_text("ascii").split()
    assert len(lines) == 40
    specification = cam._specification()
    containers = set()
    for line in lines:
        message = specification.decode("CAM", bytes.fromhex(line))
        assert specification.encode("CAM", message).hex() == line
        parameters = message["cam"]["camParameters"]
        containers.add(parameters["highFrequencyContainer"][0])
        containers.add(parameters.get("specialVehicleContainer", ("none",))[0])
        vehicle = decoded(bytes.fromhex(line))
        assert (vehicle is None) == (parameters["highFrequencyContainer"][0] == "roadside")
    assert containers >= {"vehicle", "roadside", "emergency", "publicTransport", "roadWorks"}


def test_what_a_cam_cannot_say_is_the_nearest_that_it_can() -> None:
    fast = CAR._replace(speed=170.0, acceleration=-20.0, width=9.0, length=200.0, curvature=1.0)
    said = decoded(encoded(fast))
    assert said is not None
    found = (said.speed, said.acceleration, said.width, said.length, said.curvature)
    assert found == pytest.approx((163.82, -16.0, 6.0, 102.1, 0.1022))


def test_a_vehicle_that_stands_faces_forward() -> None:
    said = decoded(encoded(CAR._replace(speed=-0.004)))
    assert said is not None and str(said.speed) == "0.0"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "found 0 bytes that are not a CAM"),
        (bytes(44), "found protocolVersion 0, messageID 0; allowed are 2 and 2"),
        (bytes.fromhex(VECTORS[0][1])[:30], "found 30 bytes that are not a CAM"),
        (b"\2\2" + b"\xff" * 80, "not a CAM"),
        (bytes(600), "found 600 bytes; allowed are 512"),
    ],
)
def test_other_bytes_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(CamError, match=message):
        decoded(data)


@pytest.mark.parametrize(("cam", "data"), VECTORS)
def test_with_a_wrong_bit_it_is_another_cam_or_none(cam: Cam, data: str) -> None:
    """Among them are choices of a later version, which is a bit in front of each."""
    place = CamPlace(MUNICH)
    others = refused = 0
    for bit in range(4 * len(data)):
        changed = bytearray.fromhex(data)
        changed[bit // 8] ^= 0x80 >> bit % 8
        try:
            found = decoded(bytes(changed))
        except CamError:
            refused += 1
            continue
        if found is not None:
            place.beacon(found, 0)
        others += found != decoded(bytes.fromhex(data))
    assert refused >= 16 and others > 200


def odometry(x: float, y: float, yaw: float, speed: float, rate: float = 0.0) -> Odometry:
    turned = (0.0, 0.0, sin(yaw / 2), cos(yaw / 2))
    return Odometry(x, y, 3.0, *turned, speed, 0.0, 0.0, 0.0, 0.0, rate)


def test_the_reference_position_is_the_middle_of_the_front() -> None:
    """A car of 4.6 m that drives north: 2.3 m north of its centre, heading 0."""
    writer = CamWriter(VehicleInfo(9, 4.6, 1.8), MUNICH)
    cam = writer.cam(1500 * MS, odometry(100.0, 200.0, pi / 2, 20.0, 0.1), -1.0, True)
    plane = CamPlace(MUNICH).plane
    assert (cam.latitude, cam.longitude) == pytest.approx(plane.geodetic(100.0, 202.3), abs=1e-9)
    assert cam.heading == pytest.approx(0.0, abs=1e-6)
    # 0.1 rad/s to the left at 20 m/s: a circle of 200 m.
    assert (cam.curvature, cam.yaw_rate) == pytest.approx((0.005, 5.729578))
    assert (cam.altitude, cam.milliseconds, cam.path) == (503.0, 1500, ())


@pytest.mark.parametrize("yaw", [0.0, 0.7, 2.5, -3.1, -1.0])
def test_a_receiver_gets_the_state_back_within_the_resolution(yaw: float) -> None:
    writer = CamWriter(VehicleInfo(9, 4.63, 1.8), MUNICH)
    state = odometry(-1234.567, 876.543, yaw, 23.456)
    cam = decoded(encoded(writer.cam(70_321 * MS + 600_000, state, -2.34, True)))
    assert cam is not None
    beacon = CamPlace(MUNICH).beacon(cam, 70_321 * MS + 900_000)
    assert beacon is not None
    # Half a unit of 11 mm either way, of the length 5 cm / 2, of the heading 0.05 deg on 2.3 m.
    assert hypot(beacon.x - state.x, beacon.y - state.y) < 0.008 + 0.025 + 0.002
    assert beacon[0:2] == (9, 70_321 * MS)
    assert beacon[4:8] == pytest.approx((23.46, -2.3, -2.3, 4.6))
    assert beacon.braking


def test_the_path_follows_the_way_within_a_metre() -> None:
    """A quarter of a circle of 60 m radius, then 300 m straight on."""
    way = [(60 * sin(a / 60), 60 - 60 * cos(a / 60), a / 60) for a in range(0, 94, 4)]
    way += [(60.0, 60.0 + s, pi / 2) for s in range(4, 60, 4)]
    writer = CamWriter(VehicleInfo(1, 4.0, 1.8), MUNICH)
    cams = [
        writer.cam(i * 200 * MS, odometry(x, y, yaw, 20.0), 0.0, False)
        for i, (x, y, yaw) in enumerate(way)
    ]
    # With 200 ms between CAMs each third one is 500 ms or more after the last full one.
    assert [i for i, cam in enumerate(cams) if cam.path is not None] == list(range(0, 38, 3))
    last = cams[36]
    assert last.path is not None and last.latitude is not None and last.longitude is not None
    plane = CamPlace(MUNICH).plane
    places = [plane.on_map(last.latitude, last.longitude)]
    north, east = last.latitude, last.longitude
    for point in last.path:
        north, east = north + point.latitude, east + point.longitude
        places.append(plane.on_map(north, east))
    assert 4 <= len(last.path) <= 12
    fronts = [(x + 2 * cos(yaw), y + 2 * sin(yaw)) for x, y, yaw in way[:37]]
    assert places[-1] == pytest.approx(fronts[0], abs=0.01)
    assert max(_distance(front, places) for front in fronts) < 1.0
    assert sum(p.seconds or 0.0 for p in last.path) == pytest.approx(36 * 0.2)


def _distance(point: tuple[float, float], line: list[tuple[float, float]]) -> float:
    """Of a point from a line of points."""
    found = []
    for (ax, ay), (bx, by) in zip(line, line[1:], strict=False):
        dx, dy = bx - ax, by - ay
        share = ((point[0] - ax) * dx + (point[1] - ay) * dy) / (dx * dx + dy * dy)
        share = max(0.0, min(1.0, share))
        found.append(hypot(point[0] - ax - share * dx, point[1] - ay - share * dy))
    return min(found)


def test_a_path_reaches_200_m_back() -> None:
    writer = CamWriter(VehicleInfo(1, 4.0, 1.8), MUNICH)
    for i in range(300):
        cam = writer.cam(i * 500 * MS, odometry(10.0 * i, 0.0, 0.0, 20.0), 0.0, False)
    assert cam.path is not None and cam.longitude is not None
    east = cam.longitude + sum(point.longitude for point in cam.path)
    back = 2992.0 - CamPlace(MUNICH).plane.on_map(48.1, east)[0]
    assert 100.0 <= back <= 200.0 and len(cam.path) <= 2


SIZES = {"a": VehicleInfo(1, 4.5, 1.8), "b": VehicleInfo(2, 4.5, 1.8)}


def channel(outputs: dict[str, str] | None = None, **parameters: Any) -> V2VChannel:
    given = {"links": [["a", "b"]], "contents": "cam", **parameters}
    context = {
        "scene": scene_of(SIZES),
        "period_ns": 100 * MS,
        "output_types": outputs or {},
    }
    return made(V2VChannel, given, name="v2v", context=context)


def look(time: int, x: float = 10.0) -> Step:
    values = {
        "odometry/a": odometry(x, 0.0, 0.0, 20.0),
        "acceleration/a": Acceleration(-1.26, 0.0, 0.0),
        "odometry/b": odometry(x - 30.0, 0.0, 0.0, 20.0),
    }
    return Step(time, {}, {port: Sample(0, 0, value) for port, value in values.items()})


def test_a_channel_hands_on_what_its_bytes_say() -> None:
    port = {"cam/a": "std_msgs/msg/UInt8MultiArray"}
    outputs = channel(port).activate(look(100 * MS))
    cam = decoded(bytes(outputs["cam/a"].data))
    assert cam is not None
    assert outputs["a_to_b"] == CamPlace(MapOrigin()).beacon(cam, 100 * MS)
    assert isinstance(outputs["a_to_b"], V2VMessage)
    assert outputs["a_to_b"].commanded_acceleration == pytest.approx(-1.3)
    assert set(channel().activate(look(0))) == {"a_to_b"}


def test_a_frame_is_as_long_as_its_cam() -> None:
    """By hand: 44 bytes of CAM and 82 of heads are 1008 bits, 22 more 1030: 22 symbols of 48."""
    model = channel(radio={"fading": None})
    model.activate(look(0))
    assert model._air is not None
    assert model._air.channel.busy["a"] * 100 * MS == pytest.approx(40_000 + 22 * 8_000)
    signed = channel(radio={"fading": None, "security": 100})
    signed.activate(look(0))
    assert signed._air is not None
    assert signed._air.channel.busy["a"] * 100 * MS == pytest.approx(40_000 + 39 * 8_000)


def test_a_saved_channel_goes_on_as_if_it_had_not_been() -> None:
    port = {"cam/a": "std_msgs/msg/UInt8MultiArray"}
    one, other = channel(port), channel(port)
    for i in range(8):
        one.activate(look(i * 100 * MS, 10.0 + 20.0 * i))
    other.restore_state(one.save_state())
    for i in range(8, 16):
        step = look(i * 100 * MS, 10.0 + 20.0 * i)
        assert bytes(one.activate(step)["cam/a"].data) == bytes(other.activate(step)["cam/a"].data)


def test_bytes_of_another_station_are_beacons() -> None:
    bytes_ = DEFAULT.record("std_msgs/msg/UInt8MultiArray")
    seam = FromCamBytes(SeamPlace("here", "v2v", "", (), {}), MUNICH)
    beacon = seam.received(bytes_(data=bytes.fromhex(VECTORS[0][1])), {}, 4020 * MS)
    plane = CamPlace(MUNICH).plane
    assert beacon is not None
    x, y = plane.on_map(48.0999843, 11.5107723)
    assert (beacon.x, beacon.y) == pytest.approx((x - 2.4, y), abs=1e-6)
    assert beacon[1] == 4000 * MS and beacon[4:] == pytest.approx((25.0, 0.0, 0.0, 4.8, False))
    assert seam.received(bytes_(data=bytes.fromhex(VECTORS[2][1])), {}, 0) is None
    assert seam.convert(bytes_(data=b"abc"), {}) is None


def test_without_the_encoder_it_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError) as error:
        channel()
    assert str(error.value) == (
        "participants.v2v.parameters.contents: cam needs asn1tools, which is not installed; run "
        "'make setup EXTRAS=v2x'"
    )


SCENARIO = """\
name: cams
duration: 3s
scene: {{map: {map}}}
platoon:
  vehicles: 3
  lane: -1
  s: 300.0
  speed: 20.0
  v2v:
    latency: 20ms
    parameters:
      contents: cam
      triggering: cam
      radio: {{}}
      origin: {{latitude: 48.1, longitude: 11.5, altitude: 500.0}}
  controller: {{v2v_timeout: 1.1}}
  driver: {{manoeuvre: [{{constant: 1s}}, {{ramp: {{speed: 0.0, acceleration: 3.0}}}}]}}
"""


def test_a_platoon_drives_by_cams(tmp_path: Path) -> None:
    """Each beacon that a vehicle gets is what bytes of its sender say, as recorded."""
    road = Path(__file__).parents[2] / "config" / "highway.xodr"
    path = tmp_path / "cams.yaml"
    path.write_text(SCENARIO.format(map=road), encoding="utf-8")
    request = RunRequest(load_scenario(path), shape="inproc", out=tmp_path / "run")
    with bring_up(request) as prepared, InprocRun(prepared) as running:
        summary = running.finish()
    assert summary.collisions == 0
    figures = summary.figures["v2v"]
    sent: dict[str, dict[int, Cam]] = {"leader": {}, "follower1": {}}
    beacons = []
    codec = DEFAULT.codec("ros2_cosim/msg/V2VMessage")
    for message in read_bag(tmp_path / "run" / "bag"):
        _, kind, name = [*message.topic.split("/"), ""][:3]
        if message.topic.endswith("/cam"):
            # CDR of UInt8MultiArray: no dimension, no offset, then the number of bytes.
            cam = decoded(message.data[16:])
            assert cam is not None
            sent[name][cam.milliseconds] = cam
        elif kind == "v2v":
            beacon = codec.decode(message.data)[2]
            beacons.append((name.split("_to_")[0], beacon))
    assert len(beacons) == figures["received"] > 15
    assert figures["cams"] == sum(map(len, sent.values()))
    assert 42.0 < figures["cam_bytes"] < 60.0
    for sender, beacon in beacons:
        cam = sent[sender][beacon.generation_time // MS]
        assert beacon == CamPlace(MUNICH).beacon(cam, beacon.generation_time + 20 * MS)
