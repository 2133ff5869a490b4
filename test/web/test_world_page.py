# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The page of a headless server's world: what it is told, and a real browser that shows it."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import carla
import numpy as np
import pytest
import typer
from support.browser import Browser
from support.headless_process import HIGHWAY, TOWN
from support.patience import HANG_S
from typer.testing import CliRunner

from ros2_cosim.core.process.processes import end_with_parent
from ros2_cosim.lab.web.pictures import png_of
from ros2_cosim.lab.web.world_view import world_page
from ros2_cosim.world.headless.__main__ import make_command
from ros2_cosim.world.headless.debug_shapes import DebugShape, Kind
from ros2_cosim.world.headless.maps import MapLibrary
from ros2_cosim.world.headless.onlooker import CameraPicture, picture_of_world
from ros2_cosim.world.headless.server import Server
from ros2_cosim.world.headless.simulation import Simulation
from ros2_cosim.world.headless.wire_types import (
    ActorDescription,
    AttributeValue,
    EpisodeSettings,
    Rotation,
    Transform,
    Vector,
    VehicleControl,
)


def _spawn(
    simulation: Simulation, kind: str, pose: Transform, parent: int = 0, **chosen: str
) -> int:
    attributes = tuple(AttributeValue(name, 4, value) for name, value in chosen.items())
    return simulation.spawn(ActorDescription(0, kind, attributes), pose, parent).id


def _draw(simulation: Simulation, kind: Kind, start: Vector, end: Vector, **more: Any) -> None:
    colour = more.pop("colour", (255, 0, 255))
    shape = DebugShape(kind, False, start, end, Rotation(), 0.2, 0.5, "goal", colour, None)
    simulation.world.shapes.draw(shape._replace(**more), -1.0, 0.0)


@contextmanager
def _served(path: Path) -> Iterator[tuple[Simulation, str]]:
    """A server that stands, with a page: two cars, a walker, a camera, a radar, three shapes."""
    server = Server(MapLibrary([TOWN, HIGHWAY] if path == TOWN else [path]), "127.0.0.1", 0)
    simulation = server.simulation
    simulation.apply_settings(EpisodeSettings(True, fixed_delta_seconds=0.05))
    places = simulation.world.spawn_points()
    hero = _spawn(simulation, "vehicle.tesla.model3", places[0], role_name="hero")
    _spawn(simulation, "vehicle.audi.tt", places[30])
    aside = places[60].location
    _spawn(simulation, "walker.pedestrian.0001", Transform(aside._replace(z=aside.z + 2.0)))
    size = {"image_size_x": "96", "image_size_y": "64"}
    front = Transform(Vector(2.6, 0.0, 1.2))
    for kind in ("rgb", "depth", "semantic_segmentation"):
        _spawn(simulation, f"sensor.camera.{kind}", front, hero, **size)
    _spawn(simulation, "sensor.other.radar", front, hero, range="30")
    x, y, z = places[0].location
    _draw(simulation, Kind.ARROW, Vector(x, y, z + 1.0), Vector(x + 6.0, y, z + 1.0))
    _draw(simulation, Kind.STRING, Vector(x, y + 5.0, z), Vector())
    _draw(simulation, Kind.BOX, Vector(x - 8.0, y, z), Vector(2.0, 1.0, 1.0))
    simulation.world.apply_control(hero, VehicleControl(throttle=1.0))
    simulation.world.require_vehicle(hero).shows_telemetry = True
    for _ in range(40):
        simulation.tick()
    thread = threading.Thread(target=server.run)
    with world_page(server, 0) as address:
        thread.start()
        try:
            yield simulation, address
        finally:
            server.stop()
            thread.join(HANG_S)
    server.close()


def _ask(address: str) -> Any:
    while True:
        with urllib.request.urlopen(address, timeout=HANG_S) as answer:
            data = answer.read()
        if answer.status != 204:  # no picture of a camera yet
            break
    return data if answer.headers.get_content_type() == "image/png" else json.loads(data)


def _pixels(png: bytes) -> Any:
    """(height, width, 3) of a PNG file without filters."""
    width, height = struct.unpack(">II", png[16:24])
    begin = png.index(b"IDAT") + 4
    (length,) = struct.unpack(">I", png[begin - 8 : begin - 4])
    rows = np.frombuffer(zlib.decompress(png[begin : begin + length]), np.uint8)
    return rows.reshape(height, 1 + 3 * width)[:, 1:].reshape(height, width, 3)


def test_the_page_is_told_the_world_and_changes_nothing() -> None:
    with _served(TOWN) as (simulation, address):
        frame, before = simulation.world.frame, list(simulation.world.records())
        told = _ask(address + "api/run")
        run, world = told["run"], told["world"]
        assert (run["steps"], run["may_pause"], run["may_change_rate"]) == (frame, False, False)
        assert run["time_s"] == pytest.approx(2.0)
        hero, other = told["vehicles"]
        assert hero["name"] == "hero" and other["name"].startswith("audi.tt ")
        assert hero["speed"] > 3.0 and hero["throttle"] == 1.0
        assert len(world["people"]) == 1 and len(world["signals"]) == 28
        assert len(world["lamps"]) > 100 and len(world["shapes"]) == 4
        assert len(world["fields"]) == 4
        assert {camera["carrier"] for camera in world["cameras"]} == {"hero"}
        assert "gear 1, throttle 1.00" in world["shapes"][3]["text"]
        # Places are in the map frame: y to the left.
        place = simulation.world.spawn_points()[0].location
        (arrow,) = (shape for shape in world["shapes"] if shape["kind"] == "arrow")
        assert arrow["points"][0] == pytest.approx([place.x, -place.y])
        images = {
            camera["kind"]: _pixels(_ask(f"{address}api/camera?id={camera['id']}"))
            for camera in world["cameras"]
        }
        assert {image.shape for image in images.values()} == {(64, 96, 3)}
        assert tuple(images["semantic_segmentation"][0, 48]) == (70, 130, 180)  # sky
        depth = images["depth"].astype(int)
        assert depth[0, 48, 0] == 255 > depth[63, 48, 0]
        assert len(np.unique(images["rgb"].reshape(-1, 3), axis=0)) > 4
        car = next(simulation.world.vehicles()).id
        for wrong, code in (("99999", 404), ("x", 400), (str(car), 404)):
            with pytest.raises(urllib.error.HTTPError) as found:
                _ask(f"{address}api/camera?id={wrong}")
            assert found.value.code == code
        request = urllib.request.Request(
            address + "api/run", b'{"action": "pause"}', {"Content-Type": "application/json"}
        )
        with pytest.raises(urllib.error.HTTPError, match="400"):
            urllib.request.urlopen(request, timeout=HANG_S)
        assert simulation.world.frame == frame
        assert list(simulation.world.records()) == before


def test_pictures_of_one_world_are_the_same() -> None:
    with _served(HIGHWAY) as (simulation, _):
        pass
    first = picture_of_world(simulation.world)
    assert first == picture_of_world(simulation.world)
    assert first.vehicles[0].name == "hero"


def test_depth_and_instances_have_colours_for_the_eye() -> None:
    farther = [bytes((k, 0, 0, 255)) for k in (0, 1, 40, 255)]  # blue is the coarsest part
    grey = _pixels(png_of(CameraPicture("depth", 4, 1, b"".join(farther))))
    assert (np.diff(grey[0, :, 0].astype(int)) > 0).all()
    actors = [bytes((0, number, 14, 255)) for number in (1, 2)]
    two = _pixels(png_of(CameraPicture("instance_segmentation", 2, 1, b"".join(actors))))
    assert (two[0, 0] != two[0, 1]).any()


#: How many pixels of the top view have a colour, within a little.
COLOURED = """(() => {
  const canvas = document.querySelector("canvas.top");
  const { width, height } = canvas;
  const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
  let found = 0;
  for (let i = 0; i < data.length; i += 4)
    found += [%d, %d, %d].every((part, k) => Math.abs(data[i + k] - part) < 12);
  return found;
})()"""
SHOWN = "document.querySelectorAll('#cameras canvas[data-pictures]').length === 3"
FOLLOW = """(() => {
  const select = document.querySelector("select.follow");
  select.value = "hero";
  select.dispatchEvent(new Event("change"));
})()"""


def test_a_browser_shows_the_world(browser: Browser, tmp_path: Path) -> None:
    with _served(TOWN) as (_, address):
        browser.open(address)
        browser.wait_for(f"document.body?.dataset.steps !== undefined && {SHOWN}")
        assert browser.evaluate("document.getElementById('people').innerText") == "1"
        assert browser.evaluate("document.getElementById('shapes').innerText") == "4"
        assert browser.evaluate("document.getElementById('pause').disabled")
        names = "[...document.querySelector('select.follow').options].map(o => o.value)"
        assert browser.evaluate(names)[:2] == ["", "hero"]
        # Red and green lights in the picture of the whole town; shapes near the hero.
        assert browser.evaluate(COLOURED % (229, 56, 43)) > 20
        assert browser.evaluate(COLOURED % (47, 178, 76)) > 20
        far = browser.evaluate(COLOURED % (255, 0, 255))
        browser.evaluate(FOLLOW)
        browser.wait_for(f"{COLOURED % (255, 0, 255)} > {2 * far + 50}")
        seen = "Number(document.querySelector('#cameras canvas').dataset.pictures)"
        browser.wait_for(f"{seen} > {browser.evaluate(seen)}")
        fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        assert browser.evaluate(fits)
        # The whole page would have to change its size between two moving pictures: Chromium may
        # wait for that without an end on a busy machine.
        browser.screenshot(tmp_path / "world.png", whole=False)
        browser.open(address, width=420)
        browser.wait_for(f"document.body?.dataset.steps !== undefined && {SHOWN}")
        assert browser.evaluate(fits)
        assert browser.complaints == []


@contextmanager
def _command() -> Iterator[tuple[int, str]]:
    """``cosim carla-headless --view`` as a process: its port, and the address of its page."""
    command = [sys.executable, "-m", "ros2_cosim.cli.main", "carla-headless"]
    process = subprocess.Popen(
        [*command, "--port", "0", "--map", str(HIGHWAY), "--view", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=end_with_parent,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        listening, _, port = process.stdout.readline().strip().rpartition(":")
        assert listening == "listening on 127.0.0.1"
        ready, _, address = process.stdout.readline().strip().partition(" at ")
        assert ready == "world"
        yield int(port), address
    finally:
        process.terminate()
        _, messages = process.communicate(timeout=HANG_S)
    # A client of another test may still look for its server at a port that was free again.
    said = [line for line in messages.splitlines() if "not a request" not in line]
    assert (process.returncode, said) == (0, [])


def test_the_command_names_the_page_after_the_ready_line() -> None:
    with _command() as (_, address):
        assert _ask(address + "api/run")["world"]["signals"] == []


def test_a_page_that_is_opened_late_has_the_whole_episode(browser: Browser) -> None:
    with _command() as (port, address):
        client: Any = carla.Client("127.0.0.1", port)
        client.set_timeout(60.0)
        world = client.get_world()
        settings = world.get_settings()
        settings.synchronous_mode, settings.fixed_delta_seconds = True, 0.05
        world.apply_settings(settings)
        blueprint = world.get_blueprint_library().find("vehicle.carlamotors.carlacola")
        blueprint.set_attribute("role_name", "lorry")
        lorry = world.spawn_actor(blueprint, world.get_map().get_spawn_points()[0])
        lorry.apply_control(carla.VehicleControl(throttle=1.0))

        def drive(seconds: float) -> float:
            """As slow as the page looks; the time at the end [s]."""
            for _ in range(round(seconds / 0.05)):
                world.tick()
                time.sleep(0.01)
            return float(world.get_snapshot().timestamp.elapsed_seconds)

        begin = drive(0.05)
        end = drive(6.0)
        told = _ask(address + "api/history")
        rows = [dict(zip(told["fields"], row, strict=True)) for row in told["vehicles"]["lorry"]]
        assert rows[0]["time_s"] <= begin + 0.5 and rows[-1]["time_s"] >= end - 0.5
        assert len(rows) > 10 and rows[-1]["x"] > rows[0]["x"] + 3.0
        assert rows[-1]["speed"] > 1.0 and {row["gap"] for row in rows} == {None}
        browser.open(address)
        slider = "document.querySelector('#player input[type=range]')"
        browser.wait_for(f"document.body?.dataset.steps && Number({slider}.min) < {begin + 1.0}")
        browser.evaluate(f"{slider}.value = 3; {slider}.dispatchEvent(new Event('input'))")
        browser.wait_for("document.querySelector('#vehicles th')?.innerText.includes('lorry')")
        assert browser.complaints == []
        # A new episode starts with an empty history.
        client.reload_world()
        drive(0.5)
        assert "lorry" not in _ask(address + "api/history")["vehicles"]


def test_a_server_without_a_page_says_so() -> None:
    errors: list[str] = []
    command = typer.Typer()
    command.command()(make_command(on_error=errors.append))
    result = CliRunner().invoke(command, ["--port", "0", "--view", "0"])
    assert result.exit_code == 1
    assert errors == ["--view: found without a page to show; allowed is only cosim carla-headless"]
