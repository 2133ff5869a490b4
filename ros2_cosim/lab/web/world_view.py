# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A page of the world of a headless CARLA server: that of the dashboard, without a run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NoReturn

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.record.past import APART_NS, BoundedPast, Row
from ros2_cosim.lab.web.pictures import png_of
from ros2_cosim.vds.controllable import RUNNING, ControlStatus
from ros2_cosim.vds.data_port.api import DataPortApi
from ros2_cosim.vds.data_port.http_server import DataPort
from ros2_cosim.vds.data_port.view import BoxView, RunPicture, VehicleView, picture_of
from ros2_cosim.world.headless.onlooker import (
    CameraPicture,
    ShownVehicle,
    WorldOnlooker,
    WorldPicture,
    shown_vehicle,
)
from ros2_cosim.world.headless.server import Server
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.movers import TRAFFIC, traffic_name
from ros2_cosim.world.pictures.road_shapes import RoadShapes, shapes_of

_LOOK_NS: Final = 50_000_000
#: For so long a request waits for the thread of the server, which may be loading a map [s].
_PATIENCE_S: Final = 5.0
_MOST_GAPS: Final = 40
"""Of more vehicles no gaps are worked out: each is compared with all others."""


def world_part(seen: WorldPicture, *, whole: bool = False) -> dict[str, Any]:
    """What a world has besides vehicles, as plain data for the page.

    :param whole: the page shows the whole map while it follows nothing
    """
    names = {vehicle.id: vehicle.name for vehicle in seen.vehicles}
    return {
        "whole": whole,
        "episode": seen.episode,
        "frame": seen.frame,
        "people": [box._asdict() for box in seen.boxes if box.kind == "walker"],
        "signals": [signal._asdict() for signal in seen.signals],
        "lamps": seen.lamps,
        "shapes": [shape._asdict() for shape in seen.shapes],
        "fields": [field._asdict() for field in seen.fields],
        "cameras": [
            camera._asdict() | {"carrier": names.get(camera.carrier, "")} for camera in seen.cameras
        ],
    }


def vehicles_of(seen: Iterable[ShownVehicle]) -> list[VehicleView]:
    """The vehicles of a world for the page, each under its own name."""
    found: dict[str, VehicleView] = {}
    for v in seen:
        name = f"{v.name} {v.id}" if v.name in found else v.name
        found[name] = VehicleView(
            *(name, v.x, v.y, v.yaw, v.speed, v.acceleration, v.length, v.width, v.lateral),
            *(v.throttle, v.brake, v.steer),
        )
    return list(found.values())


class WorldView:
    """``RunPicture`` and ``Controllable`` of a server's world: to be looked at, not controlled.

    It remembers where the vehicles of the episode were, also while no page is open.
    """

    def __init__(self, server: Server) -> None:
        simulation = server.simulation
        self._server = server
        self._onlooker = WorldOnlooker(
            lambda: simulation.world, lambda: simulation.sensors, lambda: simulation.weather
        )
        self._road: tuple[RoadNetwork, RoadShapes] | None = None
        self._lock = threading.Lock()
        self._past = BoundedPast()
        #: The episode that is remembered, and from which time on something new is.
        self._episode, self._next_ns = -1, 0
        server.every(_LOOK_NS, self._look)

    def picture(self) -> dict[str, Any]:
        """The world now."""
        seen = self._seen()
        views = vehicles_of(seen.vehicles)
        props = [
            BoxView(f"{box.kind} {box.id}", box.x, box.y, box.yaw, box.length, box.width)
            for box in seen.boxes
            if box.kind != "walker"
        ]
        if len(views) <= _MOST_GAPS:
            picture = picture_of(views, props, road=self._server.simulation.world.network)
        else:
            picture = picture_of((), props)
            none = {"ahead": None, "gap": None, "ttc": None}
            picture["vehicles"] = [view._asdict() | none for view in views]
        return picture | {"world": world_part(seen, whole=True)}

    def history(self) -> Mapping[str, Sequence[Row]]:
        """Rows of ``HISTORY`` of each vehicle since the episode began; gaps are not remembered."""
        with self._lock:
            return self._past.rows()

    def _look(self) -> None:
        """Look at the world; called by the thread that has it."""
        self._onlooker.serve()
        world = self._server.simulation.world
        time_ns = round(world.elapsed_s * SECOND)
        begins = world.episode != self._episode
        if not begins and time_ns < self._next_ns:
            return
        self._episode, self._next_ns = world.episode, time_ns + APART_NS
        views = vehicles_of(map(shown_vehicle, world.vehicles()))
        with self._lock:
            if begins:
                self._past = BoundedPast()
            for v in views:
                row = v.speed, None, v.acceleration, v.x, v.y, v.yaw, v.brake
                self._past.add(v.name, time_ns, row)

    def road(self) -> RoadShapes:
        """The present map's roads; made once for each map."""
        network = self._server.simulation.world.network
        if self._road is None or self._road[0] is not network:
            self._road = network, shapes_of(network)
        return self._road[1]

    def camera(self, number: int) -> bytes | None:
        """Picture of a camera.

        :raises TimeoutError: there is none yet
        """
        found = self._onlooker.camera(number, _PATIENCE_S)
        return None if found is None else png_of(found)

    def status(self) -> ControlStatus:
        """Where the world is."""
        seen = self._seen()
        return ControlStatus(
            RUNNING, round(seen.time_s * SECOND), seen.frame, None, False, may_pause=False
        )

    def _refuse(self, *ignored: Any, **also: Any) -> NoReturn:
        raise ConfigurationError("the clients of this server step it; the page cannot")

    pause = resume = step = set_rate = _refuse

    def _seen(self) -> WorldPicture:
        seen = self._onlooker.picture(_PATIENCE_S)
        if seen is None:
            raise ConfigurationError(f"the server has not answered for {_PATIENCE_S:g} s")
        return seen


class WithWorld:
    """``RunPicture`` of a run: its own picture, and the world of its simulator.

    :param view: of the run
    :param look: gives the newest picture of its world; None: there is none yet
    :param camera: gives the newest picture of a camera; None: there is no such camera;
        ``TimeoutError``: none yet
    """

    def __init__(
        self,
        view: RunPicture,
        look: Callable[[], WorldPicture | None],
        camera: Callable[[int], CameraPicture | None],
    ) -> None:
        self._view = view
        self._look = look
        self._camera = camera

    @classmethod
    def here(cls, view: RunPicture, onlooker: WorldOnlooker) -> WithWorld:
        """With a world of this process."""
        return cls(
            view,
            lambda: onlooker.picture(0.0),
            lambda number: onlooker.camera(number, _PATIENCE_S),
        )

    def picture(self) -> dict[str, Any]:
        """Both, once the run has begun."""
        seen = self._look()
        picture = self._view.picture()
        if seen is None:
            return picture
        objects = picture["objects"]
        if not any(box["name"].startswith(TRAFFIC) for box in objects):
            # The run does not send where its background traffic is: the world knows.
            known = {vehicle["name"] for vehicle in picture["vehicles"]}
            objects = objects + [
                BoxView(traffic_name(v.id), v.x, v.y, v.yaw, v.length, v.width)._asdict()
                for v in seen.vehicles
                if v.name not in known
            ]
        return picture | {"objects": objects, "world": world_part(seen)}

    def camera(self, number: int) -> bytes | None:
        """Picture of a camera.

        :raises TimeoutError: there is none yet
        """
        found = self._camera(number)
        return None if found is None else png_of(found)


@contextmanager
def world_page(server: Server, port: int) -> Iterator[str]:
    """Serve the page of a server's world at the loopback address.

    :param port: 0: any free one
    :returns: its address
    :raises ConnectionFailedError: the port cannot be had
    """
    view = WorldView(server)
    api = DataPortApi(
        "CARLA, headless", view, view, road=view.road, camera=view.camera, history=view.history
    )
    served = DataPort(api, "127.0.0.1", port)
    try:
        served.start()
        yield served.url
    finally:
        served.close()
