# SPDX-License-Identifier: Apache-2.0
"""The data port without its socket: a request's method, path and body in, an answer out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple, Protocol
from urllib.parse import SplitResult, parse_qs, urlsplit

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import Sector
from ros2_cosim.vds.controllable import Controllable
from ros2_cosim.vds.data_port.messages import (
    ChangeRunRequest,
    ChangeValueRequest,
    IoRequest,
    TargetsRequest,
    plain_output,
    plain_status,
    read_document,
)
from ros2_cosim.vds.data_port.openapi import openapi
from ros2_cosim.vds.data_port.telemetry import Telemetry
from ros2_cosim.vds.data_port.view import (
    HISTORY,
    ChangeTarget,
    CommandTarget,
    NoChanges,
    RunPicture,
    known_vehicle,
)
from ros2_cosim.vds.vehicle_plant import VehicleCommand

_PAGES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/dashboard.css": ("dashboard.css", "text/css; charset=utf-8"),
    "/dashboard.js": ("dashboard.js", "text/javascript; charset=utf-8"),
    "/world.js": ("world.js", "text/javascript; charset=utf-8"),
    "/drawing.js": ("drawing.js", "text/javascript; charset=utf-8"),
    "/parameters.js": ("parameters.js", "text/javascript; charset=utf-8"),
    "/faults.js": ("faults.js", "text/javascript; charset=utf-8"),
    "/start.js": ("start.js", "text/javascript; charset=utf-8"),
    "/scene3d.js": ("scene3d.js", "text/javascript; charset=utf-8"),
}
Lines = Sequence[Sequence[tuple[float, float]]]
JSON_TYPE = "application/json"


class HttpAnswer(NamedTuple):
    """Status, content type and body of an answer; ``allow``: methods, where one was wrong."""

    status: int
    content_type: str
    body: bytes
    allow: str | None = None


def json_answer(status: int, data: Mapping[str, Any]) -> HttpAnswer:
    """An answer in JSON."""
    return HttpAnswer(status, JSON_TYPE, json.dumps(data, allow_nan=False).encode() + b"\n")


def error_answer(status: int, text: str, allow: str | None = None) -> HttpAnswer:
    """An error: its text names the place, what was found and what is allowed."""
    return json_answer(status, {"error": text, "status": status})._replace(allow=allow)


def _split(path: str) -> SplitResult | None:
    """The parts of the target of a request; None: it has none."""
    try:
        return urlsplit(path)
    except ValueError:
        return None


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
    :param lines: of the road, each a list of places (x, y) [m]; or what makes them, where the road
        may change
    :param sectors: fields of view, which do not change
    :param number: tells a page this run from others at the same address
    :param starts: whether runs are started at the same address: ``/api/scenarios``
    :param camera: makes the picture (PNG) of a camera by its number; None: there is no such one
    :param changes: lets parameters change, and faults be switched
    :param history: what a page that is opened late has missed: vehicle -> rows of ``HISTORY``
    """

    def __init__(
        self,
        name: str,
        control: Controllable,
        view: RunPicture,
        target: CommandTarget | None = None,
        telemetry: Telemetry | None = None,
        lines: Lines | Callable[[], Lines] = (),
        sectors: Sequence[Sector] = (),
        history: Callable[[], Mapping[str, Sequence[Sequence[float | None]]]] = dict,
        number: int = 0,
        starts: bool = False,
        camera: Callable[[int], bytes | None] = lambda number: None,
        changes: ChangeTarget | None = None,
    ) -> None:
        self._name = name
        self._number = number
        self._history = history
        self._starts = starts
        self._camera = camera
        self._changes = changes or NoChanges()
        self._lines, self._sectors = lines, [sector._asdict() for sector in sectors]
        self._control = control
        self._view = view
        self._target = target
        self._telemetry = telemetry
        self._routes: dict[str, dict[str, Callable[[str, bytes], HttpAnswer]]] = {
            "/api/health": {"GET": self._health},
            "/api/schema": {"GET": lambda query, body: json_answer(200, openapi())},
            "/api/run": {"GET": self._run, "POST": self._change},
            "/api/scene": {"GET": self._scene},
            "/api/camera": {"GET": self._image},
            "/api/history": {"GET": self._past},
            "/api/changes": {"GET": self._changeable, "POST": self._change_value},
            "/api/faultable": {"GET": self._faultable},
            "/api/state": {"GET": self._state},
            "/api/io": {"POST": self._io},
            "/api/io/targets": {"GET": self._targets, "POST": self._set_targets},
        }

    @staticmethod
    def is_open(path: str) -> bool:
        """Whether a path is a part of the page, which contains nothing about the run."""
        parts = _split(path)
        return parts is not None and parts.path in _PAGES

    def answer(self, method: str, path: str, body: bytes) -> HttpAnswer:
        """HttpAnswer a request; never raises for what is in it."""
        parts = _split(path)
        if parts is None:
            return error_answer(400, f"path: found {path[:100]!r}, which is none")
        if parts.path in _PAGES:
            if method != "GET":
                return error_answer(405, f"method: found {method}; allowed is GET", "GET")
            name, content_type = _PAGES[parts.path]
            page = files(__package__).joinpath("dashboard", name)
            return HttpAnswer(200, content_type, page.read_bytes())
        methods = self._routes.get(parts.path)
        if methods is None:
            known = ", ".join(self._routes)
            return error_answer(404, f"path: found {parts.path[:100]!r}; there are {known}")
        if method not in methods:
            allow = ", ".join(methods)
            return error_answer(405, f"method: found {method}; allowed is {allow}", allow)
        try:
            return methods[method](parts.query, body)
        except ConfigurationError as error:
            return error_answer(400, str(error))

    def _health(self, query: str, body: bytes) -> HttpAnswer:
        status = plain_status(self._control.status())
        return json_answer(200, {"status": "ok", "name": self._name, **status})

    def _scene(self, query: str, body: bytes) -> HttpAnswer:
        lines = self._lines() if callable(self._lines) else self._lines
        known = {"lines": lines, "sectors": self._sectors, "starts": self._starts}
        return json_answer(200, known)

    def _image(self, query: str, body: bytes) -> HttpAnswer:
        wanted = parse_qs(query).get("id", [""])[0]
        if not (wanted.isascii() and wanted.isdigit() and len(wanted) < 11):
            return error_answer(400, f"id: found {wanted[:20]!r}; allowed is a number")
        image = self._camera(int(wanted))
        if image is None:
            return error_answer(404, f"camera: found {wanted}, which there is not")
        return HttpAnswer(200, "image/png", image)

    def _run(self, query: str, body: bytes) -> HttpAnswer:
        status = plain_status(self._control.status())
        run = {"name": self._name, "number": self._number, **status}
        return json_answer(200, {"run": run, **self._view.picture()})

    def _past(self, query: str, body: bytes) -> HttpAnswer:
        return json_answer(200, {"fields": HISTORY, "vehicles": dict(self._history())})

    def _change(self, query: str, body: bytes) -> HttpAnswer:
        request = read_document(ChangeRunRequest, body)
        if request.action == "pause":
            self._control.pause()
        elif request.action == "resume":
            self._control.resume()
        elif request.action == "step":
            self._control.step(request.count)
        else:
            self._control.set_rate(request.rate)
        return json_answer(200, {"name": self._name, **plain_status(self._control.status())})

    def _changeable(self, query: str, body: bytes) -> HttpAnswer:
        return json_answer(200, {"changes": self._changes.values()})

    def _faultable(self, query: str, body: bytes) -> HttpAnswer:
        return json_answer(200, self._changes.faultable())

    def _change_value(self, query: str, body: bytes) -> HttpAnswer:
        request = read_document(ChangeValueRequest, body)
        self._changes.request(request.set, request.to)
        return self._changeable(query, body)

    def _state(self, query: str, body: bytes) -> HttpAnswer:
        target = self._commandable()
        wanted = parse_qs(query).get("vehicle", list(target.vehicles()))
        return json_answer(
            200,
            {
                "vehicles": [
                    plain_output(name, target.output(known_vehicle(target, name)), command=True)
                    for name in wanted[:64]
                ]
            },
        )

    def _io(self, query: str, body: bytes) -> HttpAnswer:
        target = self._commandable()
        request = read_document(IoRequest, body)
        vehicle = known_vehicle(target, request.vehicle)
        if request.model_fields_set != {"vehicle"}:
            target.command(
                vehicle,
                VehicleCommand(
                    request.steer * target.max_steer(vehicle),
                    request.throttle,
                    request.brake,
                    request.gear,
                    request.handbrake,
                ),
            )
        return json_answer(200, plain_output(vehicle, target.output(vehicle), command=True))

    def _targets(self, query: str, body: bytes) -> HttpAnswer:
        return json_answer(200, {"vehicles": self._sender().targets()})

    def _set_targets(self, query: str, body: bytes) -> HttpAnswer:
        sender = self._sender()
        request = read_document(TargetsRequest, body)
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
