# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the data port says and takes, part by part and without a network."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.virtual_clock import VirtualClock

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.vds.controllable import MOST_STEPS, ControlStatus
from ros2_cosim.vds.data_port.api import ROUTES, DataPortApi
from ros2_cosim.vds.data_port.http_app import headers_of
from ros2_cosim.vds.data_port.messages import (
    ChangeRunRequest,
    IoRequest,
    Target,
    TargetsRequest,
    plain_output,
    plain_status,
    read_document,
)
from ros2_cosim.vds.data_port.routes import described, error_answer
from ros2_cosim.vds.data_port.telemetry import Telemetry
from ros2_cosim.vds.data_port.view import NoChanges, VehicleView, picture_of
from ros2_cosim.vds.fleet import VehicleOutput
from ros2_cosim.vds.vehicle_plant import IDLE, PlantState, TyreForces
from ros2_cosim.world.pictures.road_shapes import RoadShapes

FORCES = TyreForces((0.0,) * 4, 0.0)
STATE = PlantState(*range(14), (14.0, 15.0, 16.0, 17.0), 18.0, 19.0, (20.0, 21.0, 22.0, 23.0))


class Control:
    """Notes what is asked of a run."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def status(self) -> ControlStatus:
        return STATUS

    def pause(self) -> None:
        self.asked.append("pause")

    def resume(self) -> None:
        self.asked.append("resume")

    def step(self, count: int) -> None:
        self.asked.append(count)

    def set_rate(self, rate: float | None) -> None:
        self.asked.append(rate)


class Picture:
    def picture(self) -> dict[str, Any]:
        return picture_of([])


STATUS = ControlStatus(
    state="paused", time=1_500_000_000, steps=7, rate=2.0, may_change_rate=True, may_pause=False
)
PLAIN = {
    "state": "paused", "time_s": 1.5, "steps": 7, "rate": 2.0, "may_change_rate": True,
    "may_pause": False,
}  # fmt: skip


def asked(method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
    api = DataPortApi("run", more.pop("control", Control()), Picture(), **more)
    answer = api.answer(method, path, b"" if body is None else json.dumps(body).encode())
    return answer.status, answer


def said(method: str, path: str, body: Any = None, **more: Any) -> tuple[int, Any]:
    status, answer = asked(method, path, body, **more)
    return status, json.loads(answer.body)


def test_the_document_of_a_vehicle_has_its_times_in_seconds() -> None:
    output = VehicleOutput(
        **{
            "time": 2_500_000_000, "steps": 5, "measured_time": 1_250_000_000,
            "measured": STATE, "state": STATE, "command": IDLE, "realised": IDLE, "forces": FORCES,
        }
    )  # fmt: skip
    found = plain_output("car", output, command=True)
    assert (found["vehicle"], found["time_s"], found["step"], found["measured_s"]) == (
        "car", 2.5, 5, 1.25
    )  # fmt: skip
    assert found["state"]["wheel_spin"] == [14.0, 15.0, 16.0, 17.0] and found["state"]["ay"] == 13
    assert found["command"]["gear"] == 1
    assert "command" not in plain_output("car", output, command=False)
    assert plain_status(STATUS) == PLAIN


@pytest.mark.parametrize(
    ("kind", "good", "wrong"),
    [
        (IoRequest, {"vehicle": "a", "throttle": 1.0, "brake": 0.0, "steer": -1.0}, {}),
        (IoRequest, {"vehicle": "a", "steer": 1.0, "gear": -1}, {"vehicle": "a", "steer": 1.01}),
        (IoRequest, {"vehicle": "a", "gear": 0}, {"vehicle": "a", "gear": 2}),
        (IoRequest, {"vehicle": "a", "handbrake": True}, {"vehicle": "a", "handbrake": 1}),
        (IoRequest, {"vehicle": "a"}, {"vehicle": "a", "throttle": 1.01}),
        (IoRequest, {"vehicle": "a"}, {"vehicle": "a", "brake": -0.01}),
        (IoRequest, {"vehicle": "a"}, {"vehicle": "a", "steer": -1.01}),
        (Target, {"ip": "255.0.10.1", "port": 1}, {"ip": "256.0.0.1", "port": 1}),
        (Target, {"ip": "1.2.3.4", "port": 65535}, {"ip": "1.2.3.4", "port": 65536}),
        (Target, {"ip": "1.2.3.4", "port": 9}, {"ip": "1.2.3.4", "port": 0}),
        (ChangeRunRequest, {"action": "step", "count": 1}, {"action": "step", "count": 0}),
        (ChangeRunRequest, {"action": "rate", "rate": 1e-4}, {"action": "rate", "rate": 9e-5}),
        (ChangeRunRequest, {"action": "rate", "rate": None}, {"action": "rate", "rate": 1e6}),
        (
            TargetsRequest,
            {"vehicle": "a", "targets": [{"ip": "1.2.3.4", "port": 9}] * 16},
            {"vehicle": "a", "targets": [{"ip": "1.2.3.4", "port": 9}] * 17},
        ),
    ],
)
def test_requests_have_these_limits(kind: Any, good: Any, wrong: Any) -> None:
    assert read_document(kind, json.dumps(good).encode()).model_dump(include=set(good)) == good
    with pytest.raises(ConfigurationError):
        read_document(kind, json.dumps(wrong).encode())


def test_requests_have_these_defaults() -> None:
    assert IoRequest(vehicle="a").model_dump() == {
        "vehicle": "a", "throttle": 0.0, "brake": 0.0, "steer": 0.0, "gear": 1, "handbrake": False
    }  # fmt: skip
    assert TargetsRequest(vehicle="a", targets=[]).command is False
    assert (ChangeRunRequest(action="step").count, ChangeRunRequest(action="step").rate) == (
        1,
        None,
    )
    for body in (b"{", b"\xff", b""):
        with pytest.raises(ConfigurationError, match="^body: not JSON: "):
            read_document(IoRequest, body)


@pytest.mark.parametrize(
    ("body", "done"),
    [
        ({"action": "pause"}, "pause"),
        ({"action": "resume"}, "resume"),
        ({"action": "step"}, 1),
        ({"action": "step", "count": 4}, 4),
        ({"action": "rate"}, None),
        ({"action": "rate", "rate": 0.5}, 0.5),
    ],
)
def test_a_run_is_changed_by_its_actions(body: Any, done: Any) -> None:
    control = Control()
    assert said("POST", "/api/run", body, control=control) == (200, {"name": "run", **PLAIN})
    assert control.asked == [done]


def test_a_run_says_what_it_is() -> None:
    assert said("GET", "/api/health") == (200, {"status": "ok", "name": "run", **PLAIN})
    run = {"name": "run", "number": 3, **PLAIN}
    nothing = {"vehicles": [], "objects": [], "links": [], "timing": None}
    assert said("GET", "/api/run", number=3) == (200, {"run": run, **nothing})
    scene = {
        "surfaces": [[[2.0, 3.0]]],
        "lines": [[[0.0, 1.0]]],
        "sectors": [],
        "starts": True,
        "driven": [],
    }
    road = RoadShapes([[(2.0, 3.0)]], [[(0.0, 1.0)]])
    assert said("GET", "/api/scene", road=road, starts=True) == (200, scene)
    assert said("GET", "/api/scene", road=lambda: road, starts=True) == (200, scene)
    past = {"car": [[1.0, None]]}
    assert said("GET", "/api/history", history=lambda: past)[1]["vehicles"] == past
    assert said("GET", "/api/history")[1]["vehicles"] == {}


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ("", 400, "id: found ''; allowed is a number"),
        ("?id=x", 400, "id: found 'x'; allowed is a number"),
        ("?id=-1", 400, "id: found '-1'; allowed is a number"),
        ("?id=12345678901", 400, "id: found '12345678901'; allowed is a number"),
        ("?id=%C2%B2", 400, "id: found '\u00b2'; allowed is a number"),
        ("?id=5", 404, "camera: found 5, which there is not"),
        ("?id=1234567890", 404, "camera: found 1234567890, which there is not"),
    ],
)
def test_a_camera_is_asked_for_by_its_number(query: str, status: int, text: str) -> None:
    found = said("GET", f"/api/camera{query}", camera=lambda n: b"png" if n == 4 else None)
    assert found == (status, {"error": text, "status": status})


def test_an_image_is_its_bytes() -> None:
    status, answer = asked("GET", "/api/camera?id=4", camera=lambda number: b"png")
    assert (status, answer.content_type, answer.body) == (200, "image/png", b"png")


def test_an_image_that_is_not_there_yet_is_no_fault() -> None:
    def camera(number: int) -> bytes:
        raise TimeoutError

    status, answer = asked("GET", "/api/camera?id=4", camera=camera)
    assert (status, answer.body) == (204, b"")
    names = {name.lower() for name, _ in headers_of(answer, is_last=False)}
    assert not names & {b"content-length", b"content-type"}


@pytest.mark.parametrize(
    ("method", "path", "status", "allow", "text"),
    [
        ("GET", "/nowhere", 404, None, "path: found '/nowhere'; there are /api/health, "),
        ("GET", "http://[", 400, None, "path: found 'http://[', which is not a path"),
        ("PUT", "/api/run", 405, "GET, POST", "method: found PUT; allowed is GET, POST"),
        ("POST", "/", 405, "GET", "method: found POST; allowed is GET"),
        ("POST", "/api/run", 400, None, "body: not JSON: "),
    ],
)
def test_what_is_not_there_is_said(
    method: str, path: str, status: int, allow: str | None, text: str
) -> None:
    found, answer = asked(method, path)
    assert (found, answer.allow) == (status, allow)
    assert json.loads(answer.body)["error"].startswith(text)
    assert error_answer(418, "x").body == b'{"error": "x", "status": 418}\n'


def test_a_page_is_open_and_the_api_is_not() -> None:
    assert DataPortApi.is_open("/") and not DataPortApi.is_open("/api/run")
    assert not DataPortApi.is_open("http://[")
    status, answer = asked("GET", "/")
    assert status == 200 and b"<html" in answer.body.lower()


class Changes:
    def __init__(self) -> None:
        self.asked: list[Any] = []

    def values(self) -> list[dict[str, Any]]:
        return [{"path": "a", "value": 1}]

    def faultable(self) -> dict[str, Any]:
        return {"ports": ["x"]}

    def request(self, path: str, to: Any) -> None:
        self.asked.append((path, to))


def test_values_are_changed_where_the_run_lets_them() -> None:
    changes = Changes()
    known = {"changes": [{"path": "a", "value": 1}]}
    assert said("GET", "/api/changes", changes=changes) == (200, known)
    assert said("GET", "/api/faultable", changes=changes) == (200, {"ports": ["x"]})
    assert said("POST", "/api/changes", {"set": "a", "to": 2}, changes=changes) == (200, known)
    assert changes.asked == [("a", 2)]
    assert said("GET", "/api/changes") == (200, {"changes": []})
    assert said("GET", "/api/faultable") == (200, {})
    refused = said("POST", "/api/changes", {"set": "a", "to": 2})
    assert refused[1]["error"] == "set: found 'a'; this run lets nothing change"
    assert (refused[0], NoChanges().values()) == (400, [])


def view(name: str, x: float, y: float = 0.0, yaw: float = 0.0, speed: float = 0.0) -> VehicleView:
    return VehicleView(name, x, y, yaw, speed, 0.0, 4.0, 2.0)


def test_telemetry_counts_what_leaves_and_holds_its_rate() -> None:
    clock = VirtualClock(1000)
    telemetry = Telemetry(["car", "other"], clock)
    try:
        nowhere = {"targets": [], "command": False}
        assert telemetry.targets() == {"car": nowhere, "other": nowhere}
        output = VehicleOutput(
            **{
                "time": 0, "steps": 0, "measured_time": 0, "measured": STATE, "state": STATE,
                "command": IDLE, "realised": IDLE, "forces": FORCES,
            }
        )  # fmt: skip
        telemetry({"car": output, "other": output})
        assert (telemetry.sent, telemetry.failed) == (0, 0)
        good, bad = Target(ip="127.0.0.1", port=9), Target(ip="255.255.255.255", port=9)
        telemetry.set_targets("car", [good, bad, good], command=True)
        assert telemetry.targets()["car"] == {
            "targets": [t.model_dump() for t in (good, bad, good)], "command": True
        }  # fmt: skip
        sent = []
        for now in (1000, 16_667_665, 16_667_666, 33_334_331, 33_334_332):
            clock.time = now
            telemetry({"other": output, "car": output})
            sent.append((telemetry.sent, telemetry.failed))
        assert sent == [(2, 1), (2, 1), (4, 2), (4, 2), (6, 3)]
    finally:
        telemetry.close()


def test_the_schema_says_what_is_required() -> None:
    schemas = described(ROUTES)["components"]["schemas"]
    assert schemas["IoRequest"]["required"] == ["vehicle"]
    assert schemas["TargetsRequest"]["required"] == ["vehicle", "targets"]
    assert schemas["Vehicle"]["required"] == ["vehicle", "time_s", "step", "measured_s", "state"]
    assert set(schemas["Run"]["required"]) == {"name", *PLAIN}


def test_one_request_takes_at_most_a_million_steps() -> None:
    assert MOST_STEPS == 1_000_000
    assert ChangeRunRequest(action="step", count=1_000_000).count == 1_000_000
    with pytest.raises(ValueError):
        ChangeRunRequest(action="step", count=1_000_001)
