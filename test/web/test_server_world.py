# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The world of a server in another process, as a dashboard reads it over the server's own port."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from support.headless_process import HIGHWAY
from support.patience import HANG_S

from ros2_cosim.core.messages.message_types import ODOMETRY
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.lab.web import server_world as module
from ros2_cosim.lab.web.server_world import ServerWorld, server_world
from ros2_cosim.lab.web.world_view import WithWorld
from ros2_cosim.vds.data_port.view import picture_of
from ros2_cosim.world.headless.maps import MapLibrary
from ros2_cosim.world.headless.onlooker import (
    CAMERA_PERIOD_S,
    PICTURE_PERIOD_S,
    Glances,
    picture_of_camera,
    picture_of_world,
)
from ros2_cosim.world.headless.server import Server
from ros2_cosim.world.headless.server_wire import CallRefused, ServerWire, WireError
from ros2_cosim.world.headless.simulation import Simulation
from ros2_cosim.world.headless.wire_types import (
    ActorDescription,
    AttributeValue,
    EpisodeSettings,
    Transform,
    Vector,
)


def _spawn(simulation: Simulation, kind: str, pose: Transform, parent: int = 0, **more: str) -> int:
    attributes = tuple(AttributeValue(name, 4, value) for name, value in more.items())
    return simulation.spawn(ActorDescription(0, kind, attributes), pose, parent).id


@contextmanager
def _standing() -> Iterator[tuple[Server, int, int]]:
    """A server that stands, with a car of the run, a car of the traffic and a camera."""
    server = Server(MapLibrary([HIGHWAY]), "127.0.0.1", 0)
    simulation = server.simulation
    simulation.apply_settings(EpisodeSettings(True, fixed_delta_seconds=0.05))
    places = simulation.world.spawn_points()
    hero = _spawn(simulation, "vehicle.tesla.model3", places[0], role_name="hero")
    _spawn(simulation, "vehicle.audi.tt", places[1])
    size = {"image_size_x": "32", "image_size_y": "16"}
    camera = _spawn(simulation, "sensor.camera.rgb", Transform(Vector(2.6, 0.0, 1.2)), hero, **size)
    # Its pictures need the one before: they are not shown.
    _spawn(simulation, "sensor.camera.optical_flow", Transform(), hero, **size)
    simulation.tick()
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server, hero, camera
    finally:
        server.stop()
        thread.join(HANG_S)
        server.close()


def _reader(server: Server) -> ServerWorld:
    return ServerWorld(lambda: ServerWire("127.0.0.1", server.port, HANG_S))


class _Run:
    """The picture of a run that sends where one vehicle is."""

    def picture(self) -> dict[str, Any]:
        return picture_of(()) | {"vehicles": [{"name": "hero"}]}


def test_the_world_of_another_process_is_the_world_there() -> None:
    with _standing() as (server, hero, camera):
        simulation = server.simulation
        before, frame = list(simulation.world.records()), simulation.world.frame
        world = _reader(server)
        page = WithWorld(_Run(), world.picture, world.camera)
        try:
            assert world.picture() == picture_of_world(simulation.world)
            assert world.camera(camera) == picture_of_camera(
                simulation.world, simulation.sensors, simulation.weather, camera
            )
            assert (world.camera(hero), world.camera(99_999)) == (None, None)
            told = page.picture()
            (traffic,) = told["objects"]
            assert traffic["length"] == pytest.approx(4.18, abs=0.1)
            assert told["world"]["frame"] == frame and not told["world"]["whole"]
            (seen,) = told["world"]["cameras"]
            assert (seen["id"], seen["carrier"]) == (camera, "hero")
            image = page.camera(camera)
            assert image is not None and image.startswith(b"\x89PNG")
        finally:
            world.close()
        assert (list(simulation.world.records()), simulation.world.frame) == (before, frame)


def test_the_last_picture_stays_when_the_server_has_gone() -> None:
    with _standing() as (server, _, camera):
        world = _reader(server)
        seen = world.picture()
    assert seen is not None
    assert world.picture() == seen
    with pytest.raises(TimeoutError):
        world.camera(camera)
    world.close()


class _Wire:
    """A connection that answers one thing."""

    def __init__(self, answer: object) -> None:
        self._answer = answer
        self.left = False

    def call(self, method: str, *arguments: Any) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer

    def close(self) -> None:
        self.left = True


@pytest.mark.parametrize("answer", [CallRefused("cosim_world: unknown"), [1, 2], b"x", None])
def test_a_server_without_such_a_world_is_asked_once(
    answer: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(module, "monotonic", lambda: now)
    wires: list[_Wire] = []

    def connect() -> Any:
        wires.append(_Wire(answer))
        return wires[-1]

    world = ServerWorld(connect)
    for _ in range(4):
        assert world.picture() is None
        now += 10.0 * module.RETRY_S
    assert [wire.left for wire in wires] == [True]


def test_a_server_that_does_not_answer_is_asked_again_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(module, "monotonic", lambda: now)
    asked: list[float] = []

    def connect() -> ServerWire:
        asked.append(now)
        raise WireError("no connection")

    world = ServerWorld(connect)
    for _ in range(20):
        assert world.picture() is None
        now += 0.25 * module.RETRY_S
    assert asked == [0.0, 1.0, 2.0, 3.0, 4.0]
    world.close()
    now += 100.0
    assert world.picture() is None and len(asked) == 5


def test_however_many_look_no_more_is_made() -> None:
    with _standing() as (server, hero, camera):
        pass
    simulation, now = server.simulation, 0.0
    glances = Glances(
        lambda: simulation.world, lambda: simulation.sensors, lambda: simulation.weather,
        lambda: now,
    )  # fmt: skip
    first, image = glances.world(), glances.camera(camera)
    assert glances.world() is first and glances.camera(camera) is image is not None
    now = PICTURE_PERIOD_S
    assert glances.world() is not first and glances.camera(camera) is image
    now = CAMERA_PERIOD_S
    assert glances.camera(camera) is not image
    assert glances.camera(hero) is None


def test_which_runs_have_a_server() -> None:
    def found(**simulator: Any) -> ServerWorld | None:
        return server_world(
            Scenario.model_validate(
                {
                    "name": "x",
                    "duration": "1s",
                    "simulator": simulator,
                    "participants": {
                        "p": {
                            "period": "1s",
                            "model": "x:Y",
                            "outputs": {"odometry": {"topic": "/o", "type": ODOMETRY}},
                        }
                    },
                }
            )
        )

    assert found(kind="headless", port=2000) is not None
    assert found(kind="carla", port=2000) is not None
    assert found(kind="headless", port=0) is None
    assert found(kind="sumo", port=2000) is None
