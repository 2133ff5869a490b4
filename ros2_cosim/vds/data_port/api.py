# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The data port without its socket: a request's method, path and body in, an answer out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from importlib.resources import files
from typing import Any, Final, Protocol

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import Sector
from ros2_cosim.core.record.page_files import PAGE, SCRIPTS, STYLE, page_file
from ros2_cosim.vds.controllable import Controllable
from ros2_cosim.vds.data_port.messages import (
    ChangeRunRequest,
    ChangeValueRequest,
    IoRequest,
    TargetsRequest,
    VehicleFilesRequest,
    plain_output,
    plain_status,
)
from ros2_cosim.vds.data_port.routes import (
    NO_CONTENT,
    HttpAnswer,
    PortRoute,
    answered,
    described,
    error_answer,
    json_answer,
    method_refused,
    parts_of,
)
from ros2_cosim.vds.data_port.telemetry import Telemetry
from ros2_cosim.vds.data_port.vehicle_files import VehicleFiles
from ros2_cosim.vds.data_port.view import (
    HISTORY,
    ChangeTarget,
    CommandTarget,
    NoChanges,
    RunPicture,
    known_vehicle,
)
from ros2_cosim.vds.vehicle_plant import VehicleCommand
from ros2_cosim.world.pictures.road_shapes import (
    NO_ROAD,
    PICTURES,
    SCENE_SCRIPTS,
    RoadShapes,
)

_OWN: Final = (
    "index.html", "dashboard.css", "dashboard.js", "cameras.js", "drive.js", "faults.js",
    "garage.js", "histogram.js",
    "parameters.js", "start.js",
)  # fmt: skip
#: The user of the program whose request is being answered, in words.
REQUESTER: ContextVar[str] = ContextVar("REQUESTER", default="this process")
_TYPES: Final = {"html": "html", "css": "css", "js": "javascript"}


def _files() -> dict[str, tuple[Callable[[], bytes], str]]:
    """Path -> what reads the file of the page there, and its type."""
    own = files(__package__).joinpath("dashboard")
    found: dict[str, Callable[[], bytes]] = {n: own.joinpath(n).read_bytes for n in _OWN}
    for room, names in ((PAGE, (STYLE, *SCRIPTS)), (PICTURES, SCENE_SCRIPTS)):
        found |= {name: partial(page_file, name, room) for name in names}
    return {
        f"/{'' if name == 'index.html' else name}": (
            read,
            f"text/{_TYPES[name.rpartition('.')[2]]}; charset=utf-8",
        )
        for name, read in found.items()
    }


_PAGES: Final = _files()
Query = Mapping[str, Sequence[str]]


class RequestApi(Protocol):
    """Answers requests; called from the threads of the data port."""

    def is_open(self, path: str) -> bool:
        """Whether a path is a part of the page, which contains nothing about the run."""

    def answer(self, method: str, path: str, body: bytes) -> HttpAnswer:
        """Answer a request; never raises for what is in it."""


class DataPortApi:
    """Answers the requests about one run.

    :param name: of the run, shown to users
    :param control: pause, resume, step, rate
    :param view: what the dashboard shows
    :param target: takes commands; None: this run takes none
    :param telemetry: sends states to receivers; None: this run does not
    :param road: what is drawn of it; or what makes that, where the road may change
    :param sectors: fields of view, which do not change
    :param number: tells a page this run from others at the same address
    :param starts: whether runs are started at the same address: ``/api/scenarios``
    :param camera: makes the picture (PNG) of a camera by its number; None: there is no such one;
        ``TimeoutError``: none yet
    :param changes: lets parameters change, and faults be switched
    :param garage: vehicle and tyre files, which may change; None: there are none
    :param history: what a page that is opened late has missed: vehicle -> rows of ``HISTORY``
    """

    def __init__(
        self,
        name: str,
        control: Controllable,
        view: RunPicture,
        target: CommandTarget | None = None,
        telemetry: Telemetry | None = None,
        road: RoadShapes | Callable[[], RoadShapes] = NO_ROAD,
        sectors: Sequence[Sector] = (),
        history: Callable[[], Mapping[str, Sequence[Sequence[float | None]]]] = dict,
        number: int = 0,
        starts: bool = False,
        camera: Callable[[int], bytes | None] = lambda number: None,
        changes: ChangeTarget | None = None,
        garage: VehicleFiles | None = None,
    ) -> None:
        self._name = name
        self._number = number
        self._history = history
        self._starts = starts
        self._camera = camera
        self._changes = changes or NoChanges()
        self._garage = garage
        self._road, self._sectors = road, [sector._asdict() for sector in sectors]
        self._control = control
        self._view = view
        self._target = target
        self._telemetry = telemetry

    @staticmethod
    def is_open(path: str) -> bool:
        """Whether a path is a part of the page, which contains nothing about the run."""
        parts = parts_of(path)
        return parts is not None and parts.path in _PAGES

    def answer(self, method: str, path: str, body: bytes) -> HttpAnswer:
        """HttpAnswer a request; never raises for what is in it."""
        parts = parts_of(path)
        if parts is None:
            return error_answer(400, f"path: found {path[:100]!r}, which is not a path")
        if parts.path in _PAGES:
            if method != "GET":
                return method_refused(method, "GET")
            read, content_type = _PAGES[parts.path]
            return HttpAnswer(200, content_type, read())
        answer = answered(ROUTES, self, method, parts, body)
        if answer is None:
            known = ", ".join(dict.fromkeys(route.path for route in ROUTES))
            return error_answer(404, f"path: found {parts.path[:100]!r}; there are {known}")
        return answer

    def _health(self, query: Query) -> HttpAnswer:
        return json_answer(200, {"status": "ok", **self._state_of_run()})

    def _state_of_run(self) -> dict[str, Any]:
        return {"name": self._name, **plain_status(self._control.status())}

    def _schema(self, query: Query) -> HttpAnswer:
        return json_answer(200, described(ROUTES))

    def _scene(self, query: Query) -> HttpAnswer:
        road = self._road if isinstance(self._road, RoadShapes) else self._road()
        known = {
            **road._asdict(),
            "sectors": self._sectors,
            "starts": self._starts,
            "driven": list(self._target.vehicles()) if self._target else [],
        }
        return json_answer(200, known)

    def _image(self, query: Query) -> HttpAnswer:
        wanted = query.get("id", [""])[0]
        if not (wanted.isascii() and wanted.isdigit() and len(wanted) < 11):
            return error_answer(400, f"id: found {wanted[:20]!r}; allowed is a number")
        try:
            image = self._camera(int(wanted))
        except TimeoutError:
            return NO_CONTENT  # a page asks again
        if image is None:
            return error_answer(404, f"camera: found {wanted}, which there is not")
        return HttpAnswer(200, "image/png", image)

    def _run(self, query: Query) -> HttpAnswer:
        run = {"number": self._number, **self._state_of_run()}
        return json_answer(200, {"run": run, **self._view.picture()})

    def _past(self, query: Query) -> HttpAnswer:
        return json_answer(200, {"fields": HISTORY, "vehicles": dict(self._history())})

    def _change(self, request: ChangeRunRequest) -> HttpAnswer:
        if request.action == "pause":
            self._control.pause()
        elif request.action == "resume":
            self._control.resume()
        elif request.action == "step":
            self._control.step(request.count)
        else:
            self._control.set_rate(request.rate)
        return json_answer(200, self._state_of_run())

    def _changeable(self, query: Query | None = None) -> HttpAnswer:
        return json_answer(200, {"changes": self._changes.values()})

    def _faultable(self, query: Query) -> HttpAnswer:
        return json_answer(200, self._changes.faultable())

    def _change_value(self, request: ChangeValueRequest) -> HttpAnswer:
        self._changes.request(request.set, request.to)
        return self._changeable()

    def _state(self, query: Query) -> HttpAnswer:
        target = self._commandable()
        wanted = query.get("vehicle", list(target.vehicles()))
        outputs = {name: target.output(known_vehicle(target, name)) for name in wanted[:64]}
        found = [plain_output(name, outputs[name], command=True) for name in wanted[:64]]
        return json_answer(200, {"vehicles": found})

    def _io(self, request: IoRequest) -> HttpAnswer:
        target = self._commandable()
        vehicle = known_vehicle(target, request.vehicle)
        if request.model_fields_set != {"vehicle"}:
            steer = request.steer * target.max_steer(vehicle)
            pedals = request.throttle, request.brake
            target.command(vehicle, VehicleCommand(steer, *pedals, request.gear, request.handbrake))
        return json_answer(200, plain_output(vehicle, target.output(vehicle), command=True))

    def _vehicle_files(self, query: Query) -> HttpAnswer:
        target = self._commandable()
        vehicle = known_vehicle(target, query.get("vehicle", list(target.vehicles()))[0])
        return json_answer(200, self._files_of_vehicles().plain(vehicle))

    def _change_vehicle(self, request: VehicleFilesRequest) -> HttpAnswer:
        vehicle = known_vehicle(self._commandable(), request.vehicle)
        self._files_of_vehicles().change(request)
        return json_answer(200, self._files_of_vehicles().plain(vehicle))

    def _files_of_vehicles(self) -> VehicleFiles:
        if self._garage is None:
            raise ConfigurationError("the vehicles of this run have no files to change")
        return self._garage

    def _targets(self, query: Query) -> HttpAnswer:
        return json_answer(200, {"vehicles": self._sender().targets()})

    def _set_targets(self, request: TargetsRequest) -> HttpAnswer:
        sender = self._sender()
        vehicle = known_vehicle(self._commandable(), request.vehicle)
        sender.set_targets(vehicle, request.targets, command=request.command)
        return json_answer(200, {"vehicles": sender.targets()})

    def _commandable(self) -> CommandTarget:
        if self._target is None:
            raise ConfigurationError("this run can be watched and controlled, but not commanded")
        return self._target

    def _sender(self) -> Telemetry:
        if self._telemetry is None:
            raise ConfigurationError("this run sends no telemetry")
        return self._telemetry


_Api = DataPortApi
ROUTES: Final = (
    PortRoute("GET", "/api/health", _Api._health, "Whether the run is alive, and where it is",
              "Run"),
    PortRoute("GET", "/api/schema", _Api._schema, "This document"),
    PortRoute("GET", "/api/run", _Api._run, "Picture of the run for a dashboard"),
    PortRoute("POST", "/api/run", _Api._change, "Pause, resume, step, change the rate", "Run",
          ChangeRunRequest),
    PortRoute("GET", "/api/scene", _Api._scene, "The road, fields of view of sensors"),
    PortRoute("GET", "/api/camera", _Api._image, "Picture (PNG) of a camera of the world",
          query=("id", "integer")),
    PortRoute("GET", "/api/history", _Api._past, "Where the vehicles were since the run began"),
    PortRoute("GET", "/api/changes", _Api._changeable,
          "Parameters and faults that may be changed, with their values"),
    PortRoute("POST", "/api/changes", _Api._change_value, "Change one of them from now on",
          request=ChangeValueRequest),
    PortRoute("GET", "/api/faultable", _Api._faultable,
          "Ports that a fault can be added to, and kinds"),
    PortRoute("GET", "/api/state", _Api._state, "Measured states and commands",
          query=("vehicle", "string")),
    PortRoute("POST", "/api/io", _Api._io, "Command in, state out", "Vehicle", IoRequest),
    PortRoute("GET", "/api/vehicle", _Api._vehicle_files, "Vehicle and tyre file of a vehicle",
          query=("vehicle", "string")),
    PortRoute("POST", "/api/vehicle", _Api._change_vehicle, "Change them from now on",
          request=VehicleFilesRequest),
    PortRoute("GET", "/api/io/targets", _Api._targets, "Receivers of telemetry"),
    PortRoute("POST", "/api/io/targets", _Api._set_targets, "Set the receivers of a vehicle",
          request=TargetsRequest),
)  # fmt: skip
"""What each port answers."""
