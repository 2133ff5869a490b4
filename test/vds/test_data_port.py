# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The JSON data port over real HTTP: commands, states, telemetry, control, schema."""

from __future__ import annotations

import json
import re
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.patience import HANG_S, until
from support.vds_peer import HandClock
from support.vds_serving import Client

from ros2_cosim.vds.data_port.messages import ChangeRunRequest, IoRequest, Target, TargetsRequest
from ros2_cosim.vds.data_port.telemetry import Telemetry
from ros2_cosim.vds.fleet_settings import read_settings
from ros2_cosim.vds.server import VdsServer
from ros2_cosim.world.vehicle import SEDAN


def test_command_in_state_out(server: VdsServer, client: Client) -> None:
    command = {"vehicle": "rear", "throttle": 0.5, "steer": 0.5, "gear": 1}
    status, told = client.ask("POST", "/api/io", command)
    assert status == 200
    assert told["vehicle"] == "rear"
    before = server.control.status().steps
    server.control.step(100)
    until(lambda: server.control.status().steps == before + 100)
    status, told = client.ask("POST", "/api/io", {"vehicle": "rear"})
    output = server.fleet["rear"].output()
    assert told["state"]["x"] == output.state.x
    assert told["state"]["wheel_load"] == list(output.state.wheel_load)
    assert told["time_s"] == output.time / 1e9
    assert told["step"] == output.steps
    # Asking for the state alone has changed no command.
    assert told["command"]["throttle"] == 0.5
    assert told["command"]["steer"] == 0.5 * SEDAN.max_steer_angle
    assert server.fleet["front"].output().command.throttle == 0.0


def test_states_of_all_and_of_one(client: Client) -> None:
    _, told = client.ask("GET", "/api/state")
    assert [v["vehicle"] for v in told["vehicles"]] == ["front", "rear"]
    _, told = client.ask("GET", "/api/state?vehicle=rear")
    assert [v["vehicle"] for v in told["vehicles"]] == ["rear"]
    status, told = client.ask("GET", "/api/state?vehicle=none")
    assert (status, told["error"]) == (400, "vehicle: found 'none'; allowed are front, rear")


def test_health_and_control(server: VdsServer, client: Client) -> None:
    _, told = client.ask("GET", "/api/health")
    assert (told["status"], told["name"], told["state"]) == ("ok", "vds", "paused")
    before = server.control.status().steps
    _, told = client.ask("POST", "/api/run", {"action": "step", "count": 7})
    until(lambda: server.control.status().steps == before + 7)
    _, told = client.ask("POST", "/api/run", {"action": "rate", "rate": 2.5})
    assert told["rate"] == 2.5
    _, told = client.ask("POST", "/api/run", {"action": "rate", "rate": None})
    assert told["rate"] is None
    _, told = client.ask("POST", "/api/run", {"action": "resume"})
    assert told["state"] == "running"
    until(lambda: server.control.status().steps > before + 7)
    _, told = client.ask("POST", "/api/run", {"action": "pause"})
    assert told["state"] == "paused"
    client.ask("POST", "/api/run", {"action": "rate", "rate": 1})


def test_the_picture_has_vehicles_gaps_and_timing(client: Client) -> None:
    _, told = client.ask("GET", "/api/run")
    rear = next(v for v in told["vehicles"] if v["name"] == "rear")
    assert {"x", "y", "yaw", "speed", "acceleration", "length", "gap", "status"} <= rear.keys()
    assert told["run"]["state"] == "paused"
    assert told["timing"]["overruns"] >= 0


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "text"),
    [
        ("GET", "/api/nothing", None, 404, "path: found '/api/nothing'; there are /api/health"),
        ("GET", "/../etc/passwd", None, 404, "path"),
        ("DELETE", "/api/io", None, 405, "method: found DELETE; allowed is POST"),
        ("GET", "/api/io", None, 405, "method: found GET; allowed is POST"),
        ("POST", "/", {}, 405, "allowed is GET"),
        ("PUT", "/api/io", {}, 405, "method: found PUT; allowed is POST"),
        ("DELETE", "/api/run", None, 405, "method: found DELETE; allowed is GET, POST"),
        ("POST", "/api/io", b"{", 400, "body: not JSON"),
        ("POST", "/api/io", b"\xff", 400, "body: not JSON"),
        ("POST", "/api/io", b"[" * 16_384, 400, "body: not JSON"),
        ("POST", "/api/io", b'{"vehicle": "rear", "brake": NaN}', 400, "NaN is not a number"),
        ("POST", "/api/io", [], 400, r"body: found \[\]; allowed is a mapping"),
        ("POST", "/api/io", {}, 400, "body: vehicle: missing"),
        ("POST", "/api/io", {"vehicle": "none"}, 400, "vehicle: found 'none'"),
        ("POST", "/api/io", {"vehicle": "rear", "brake": 1.5}, 400, "brake.*found 1.5"),
        ("POST", "/api/io", {"vehicle": "rear", "brake": "1"}, 400, "brake.*found '1'"),
        ("POST", "/api/io", {"vehicle": "rear", "wings": 1}, 400, "wings"),
        ("POST", "/api/io", {"vehicle": "rear", "gear": 7}, 400, "gear"),
        ("POST", "/api/run", {"action": "explode"}, 400, "action"),
        ("POST", "/api/run", {"action": "step", "count": 0}, 400, "count.*found 0"),
        ("POST", "/api/run", {"action": "rate", "rate": -1}, 400, "rate.*found -1"),
        ("POST", "/api/io/targets", {"vehicle": "rear"}, 400, "targets"),
        (
            "POST",
            "/api/io/targets",
            {"vehicle": "rear", "targets": [{"ip": "no.such.host", "port": 9}]},
            400,
            "targets.0.ip",
        ),
        (
            "POST",
            "/api/io/targets",
            {"vehicle": "rear", "targets": [{"ip": "127.0.0.1", "port": 9}] * 17},
            400,
            "targets: found 17 entries; allowed is at most 16",
        ),
    ],
)
def test_errors_say_what_is_wrong(
    client: Client, method: str, path: str, body: object, status: int, text: str
) -> None:
    found, told = client.ask(method, path, body)
    assert found == status == told["status"]
    assert re.search(text, told["error"]), told["error"]


@settings(max_examples=60)
@given(body=st.binary(max_size=300), path=st.sampled_from(["/api/io", "/api/run", "/x", "/"]))
def test_no_body_disturbs(server: VdsServer, body: bytes, path: str) -> None:
    assert server.data_port is not None
    client = Client(server.data_port)
    before = server.fleet["front"].output()
    assert client.ask("POST", path, body)[0] in (400, 404, 405)
    assert server.fleet["front"].output() == before
    client.close()


def test_telemetry_fans_out(server: VdsServer, client: Client) -> None:
    receivers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(3)]
    for receiver in receivers:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(HANG_S)
    targets = [{"ip": "127.0.0.1", "port": r.getsockname()[1]} for r in receivers]
    for vehicle, chosen, command in (("rear", targets[:2], True), ("front", targets[2:], False)):
        request = {"vehicle": vehicle, "targets": chosen, "command": command}
        status, told = client.ask("POST", "/api/io/targets", request)
        assert (status, told["vehicles"][vehicle]["targets"]) == (200, chosen)
    assert client.ask("GET", "/api/io/targets")[1] == told
    server.control.step(1)
    first, second, third = (json.loads(r.recv(65536)) for r in receivers)
    assert first == second
    assert first["vehicle"] == "rear" and "command" in first
    assert third["vehicle"] == "front" and "command" not in third
    output = server.fleet["rear"].output()
    assert (first["step"], first["state"]["vx"]) == (output.steps, output.state.vx)
    for vehicle in ("front", "rear"):
        client.ask("POST", "/api/io/targets", {"vehicle": vehicle, "targets": []})
    for receiver in receivers:
        receiver.close()


def test_telemetry_holds_its_rate() -> None:
    fleet = read_settings({"vehicles": {"v": {}}}, "fleet").fleet()
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    clock = HandClock(start=10**9)
    telemetry = Telemetry(["v"], clock)
    port = receiver.getsockname()[1]
    telemetry.set_targets("v", [Target(ip="127.0.0.1", port=port)], command=False)
    for _ in range(1000):  # a second at 1 kHz
        telemetry(fleet.tick())
        clock.time += 1_000_000
    assert 55 <= telemetry.sent <= 60
    assert telemetry.failed == 0
    # Ticks at 60 Hz, some of them late: at most the second one is left out.
    before = telemetry.sent
    for number in range(60):
        late = (0, 1, 4, 15)[number % 4] * 1_000_000
        clock.time = 3 * 10**9 + number * 10**9 // 60 + late
        telemetry(fleet.tick())
    assert telemetry.sent - before >= 59
    telemetry.close()
    receiver.close()


def test_the_schema_describes_what_is_there(client: Client) -> None:
    status, document = client.ask("GET", "/api/schema")
    assert (status, document["openapi"]) == (200, "3.1.0")
    for path, operations in document["paths"].items():
        for method in ("get", "post"):
            status, told = client.ask(method.upper(), path, {} if method == "post" else None)
            assert (status == 405) == (method not in operations), (path, method, told)
    schemas = document["components"]["schemas"]
    references = {
        text.split("/")[-1] for text in json.dumps(document).split('"') if text.startswith("#/")
    }
    assert references <= schemas.keys()
    for model in (IoRequest, ChangeRunRequest, TargetsRequest):
        assert schemas[model.__name__]["properties"].keys() == model.model_fields.keys()
    _, told = client.ask("GET", "/api/state?vehicle=rear")
    (vehicle,) = told["vehicles"]
    assert vehicle.keys() == schemas["Vehicle"]["properties"].keys()
    assert {name: type(value) is list for name, value in vehicle["state"].items()} == {
        name: kind.get("type") == "array" for name, kind in schemas["State"]["properties"].items()
    }
    _, run = client.ask("GET", "/api/run")
    assert run["run"].keys() == schemas["Run"]["properties"].keys()
