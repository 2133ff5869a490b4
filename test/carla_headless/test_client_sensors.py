# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The real ``carla`` client decodes what the server's sensors send."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from typing import Any

import carla
import numpy as np
import pytest

STEP = 0.05


@pytest.fixture
def world(server_port: int) -> Iterator[Any]:
    client = carla.Client("127.0.0.1", server_port)
    client.set_timeout(60.0)
    world = client.get_world()
    settings = world.get_settings()
    settings.synchronous_mode, settings.fixed_delta_seconds = True, STEP
    world.apply_settings(settings)
    yield world


def _place(x: float, y: float = 0.0, z: float = 0.0, yaw: float = 0.0) -> Any:
    return carla.Transform(carla.Location(x, y, z), carla.Rotation(yaw=yaw))


def _listen(world: Any, kind: str, mount: Any, parent: Any, **attributes: Any) -> tuple[Any, Any]:
    model = world.get_blueprint_library().find(kind)
    for name, value in attributes.items():
        model.set_attribute(name, str(value))
    sensor = world.spawn_actor(model, mount, attach_to=parent)
    data: queue.Queue[Any] = queue.Queue()
    sensor.listen(data.put)
    return sensor, data


def _pixels(image: Any) -> Any:
    return np.frombuffer(image.raw_data, np.uint8).reshape(image.height, image.width, 4)


def test_sensors_of_every_kind_through_the_client(world: Any) -> None:
    library = world.get_blueprint_library()
    model = library.find("vehicle.tesla.model3")
    own = world.spawn_actor(model, _place(100.0, 5.25, 0.2))
    other = world.spawn_actor(model, _place(120.0, 5.25, 0.2))
    world.tick()
    size = {"image_size_x": 200, "image_size_y": 100}
    mount = _place(2.5, z=0.6)  # as high as the bumper of the car ahead
    cameras = {
        kind: _listen(world, f"sensor.camera.{kind}", mount, own, **size)
        for kind in ("rgb", "depth", "semantic_segmentation", "instance_segmentation",
                     "optical_flow", "normals", "cosmos_visualization")
    }  # fmt: skip
    roof = _place(0.0, z=2.0)
    turns = {"rotation_frequency": 1 / STEP, "range": 60, "points_per_second": 200_000}
    lidar = _listen(
        world, "sensor.lidar.ray_cast", roof, own, **turns, dropoff_general_rate=0,
        dropoff_intensity_limit=0, dropoff_zero_intensity=0,
    )  # fmt: skip
    semantic = _listen(world, "sensor.lidar.ray_cast_semantic", roof, own, **turns)
    radar = _listen(world, "sensor.other.radar", mount, own, vertical_fov=6)
    frame = world.tick()
    images = {kind: data.get(timeout=60.0) for kind, (_, data) in cameras.items()}
    for image in images.values():
        assert (image.frame, image.width, image.height) == (frame, 200, 100)
        assert image.fov == pytest.approx(90.0)
        assert image.transform.location.x == pytest.approx(102.5, abs=1e-3)
    gap = 20.0 - 2.5 - own.bounding_box.extent.x
    depth = _pixels(images["depth"]).astype(float)
    metres = (depth[..., 2] + 256 * depth[..., 1] + 65536 * depth[..., 0]) / (2**24 - 1) * 1000
    labels = _pixels(images["semantic_segmentation"])[..., 2].copy()
    assert labels[50, 100] == 14 and labels[5, 100] == 11 and labels[95, 100] == 1
    assert metres[50, 100] == pytest.approx(gap, abs=1e-3)
    instances = _pixels(images["instance_segmentation"])
    assert instances[50, 100, 1] + 256 * int(instances[50, 100, 0]) == other.id
    images["semantic_segmentation"].convert(carla.ColorConverter.CityScapesPalette)
    assert tuple(_pixels(images["semantic_segmentation"])[50, 100, :3]) == (142, 0, 0)
    images["depth"].convert(carla.ColorConverter.LogarithmicDepth)
    lines = _pixels(images["cosmos_visualization"])
    assert {tuple(p) for p in lines.reshape(-1, 4).tolist()} == {(0, 0, 0, 255), (0, 0, 255, 255)}
    flow = images["optical_flow"]
    assert (len(flow), flow[0].x, flow[0].y) == (200 * 100, 0.0, 0.0)
    flow.get_color_coded_flow()
    points = lidar[1].get(timeout=60.0)
    assert points.channels == 32 and len(points) == sum(
        points.get_point_count(channel) for channel in range(32)
    )
    cloud = np.frombuffer(points.raw_data, "<f4").reshape(-1, 4)
    assert len(cloud) == len(points) > 1000
    # The road, and the land beside it up to where scenery stands.
    low = cloud[(cloud[:, 2] < -1.9) & (np.abs(cloud[:, 1] + 1.75) < 9.0)][:, 2]
    assert np.minimum(np.abs(low + 2.0), np.abs(low + 2.15)).max() < 1e-3
    labelled = semantic[1].get(timeout=60.0)
    hits = [point for point in labelled if point.object_idx == other.id]
    assert len(labelled) == len(points) and len(hits) > 5
    assert {point.object_tag for point in hits} == {14}
    assert min(point.point.x for point in hits) == pytest.approx(gap + 2.5, abs=1e-3)
    detections = list(radar[1].get(timeout=60.0))
    assert len(detections) > 10
    assert min(d.depth for d in detections) > 5.0
    for sensor, _ in (*cameras.values(), lidar, semantic, radar):
        sensor.stop()


def test_calls_that_cast_rays(world: Any) -> None:
    model = world.get_blueprint_library().find("vehicle.tesla.model3")
    world.spawn_actor(model, _place(120.0, 5.25, 0.2))
    world.tick()
    hits = world.cast_ray(carla.Location(100.0, 5.25, 0.5), carla.Location(200.0, 5.25, 0.5))
    assert [str(hit.label) for hit in hits] == ["Car"]
    assert hits[0].location.x == pytest.approx(120.0 - 2.396, abs=2e-3)
    point = world.project_point(
        carla.Location(100.0, 5.25, 2.0), carla.Vector3D(1.0, 0.0, -1.0), 50.0
    )
    assert str(point.label) == "Roads"
    assert (point.location.x, point.location.z) == pytest.approx((102.0, 0.0), abs=1e-4)
    beside = world.ground_projection(carla.Location(100.0, 400.0, 9.0), 50.0)
    assert str(beside.label) == "Terrain"
    assert world.ground_projection(carla.Location(100.0, 5.25, 90.0), 50.0) is None


def test_what_a_ray_meets_of_a_vehicle_lies_in_its_box(world: Any) -> None:
    """Programs that label data ask the box whose hit it is: flat fronts must not be outside."""
    library = world.get_blueprint_library()
    for x, name in ((110.0, "mercedes.sprinter"), (130.0, "carlamotors.firetruck")):
        model = library.find(f"vehicle.{name}")
        vehicle = world.spawn_actor(model, _place(x, 5.25, 0.2, yaw=0.3))
        world.tick()
        box, pose = vehicle.bounding_box, vehicle.get_transform()
        for across in (-0.5, 0.0, 0.5):
            middle = pose.transform(box.location + carla.Location(y=across))
            for ahead in (-9.0, 9.0):
                start = pose.transform(box.location + carla.Location(ahead, across, 0.1))
                (hit,) = world.cast_ray(start, middle)
                assert box.contains(hit.location, pose)


def test_events_messages_and_texts_through_the_client(world: Any) -> None:
    model = world.get_blueprint_library().find("vehicle.tesla.model3")
    own = world.spawn_actor(model, _place(100.0, 5.25, 0.2))
    other = world.spawn_actor(model, _place(112.0, 5.25, 0.2))
    world.tick()
    roof = _place(0.0, z=2.0)
    sure = {"use_etsi_fading": "false"}
    size = {"image_size_x": 80, "image_size_y": 60}
    # A sensor that nothing refers to ends its stream.
    first, heard = _listen(world, "sensor.other.v2x", roof, own, **sure)
    second, _ = _listen(world, "sensor.other.v2x", roof, other, **sure)
    third, texts = _listen(world, "sensor.other.v2x_custom", roof, own, **sure)
    sender, _ = _listen(world, "sensor.other.v2x_custom", roof, other, **sure)
    camera, events = _listen(world, "sensor.camera.dvs", _place(2.5, z=1.2), own, **size)
    other.apply_control(carla.VehicleControl(throttle=1.0))
    sender.send("brake, please")
    for _ in range(20):
        world.tick()
    changes = events.get(timeout=60.0)
    assert (changes.width, changes.height, changes.fov) == (80, 60, pytest.approx(90.0))
    event = changes[0]
    assert 0 <= event.x < 80 and 0 <= event.y < 60 and event.pol in (True, False)
    assert len(changes) == len(list(changes)) and event.t <= changes.timestamp * 1e9 + 1.0
    message = heard.get(timeout=60.0)
    [cam] = list(message)
    said = cam.get()
    assert -90.0 < cam.power < 0.0 and said["Power"] == pytest.approx(cam.power)
    assert said["Message"]["Header"] == {
        "Protocol Version": 2, "Message ID": "CAM", "Station ID": other.id
    }  # fmt: skip
    text = said["Message"]["Message"]["CAM Parameters"]
    assert text["Basic Container"]["Station Type"] == "Passenger Car"
    often = text["High Frequency Container"]["Basic Vehicle Container High Frequency"]
    assert often["Heading"]["Value"] == 900 and often["Vehicle Length"]["Value"] == 48
    [received] = list(texts.get(timeout=60.0))
    assert received.get()["Message"]["Message"] == "brake, please"
    for sensor in (first, second, third, sender, camera):
        sensor.stop()


def test_unsupported_sensors_say_so(world: Any) -> None:
    library = world.get_blueprint_library()
    kind = "sensor.other.rss"
    with pytest.raises(RuntimeError, match=f"'{kind}' is not supported: "):
        world.spawn_actor(library.find(kind), carla.Transform())
