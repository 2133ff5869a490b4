# SPDX-License-Identifier: Apache-2.0
"""The JSON data port over real HTTP: commands, telemetry, control, schema, and who may ask."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.vds_peer import HandClock
from support.vds_serving import PATIENCE_S, data_port

from ros2_cosim.kernel.errors import ConfigurationError, ConnectionFailedError
from ros2_cosim.models.vehicle import SEDAN
from ros2_cosim.realtime.data_port import MAX_BODY, MAX_CONNECTIONS, DataPort
from ros2_cosim.realtime.data_port_api import DataPortApi
from ros2_cosim.realtime.data_port_messages import IoRequest, RunRequest, Target, TargetsRequest
from ros2_cosim.realtime.data_port_targets import Telemetry
from ros2_cosim.realtime.data_port_view import BoxView, VehicleView, gap_ahead, picture_of
from ros2_cosim.realtime.fleet_settings import read_settings
from ros2_cosim.realtime.run_control import RunStatus
from ros2_cosim.realtime.vds_server import VdsServer

JSON = {"Content-Type": "application/json"}


class Client:
    """Asks a data port, over one connection."""

    def __init__(self, port: DataPort, **headers: str) -> None:
        self.headers = headers
        self.connection = http.client.HTTPConnection("127.0.0.1", port.port, timeout=PATIENCE_S)

    def ask(
        self, method: str, path: str, body: object = None, **headers: str
    ) -> tuple[int, dict[str, Any]]:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        kind = JSON if data is not None else {}
        sent = {**kind, **self.headers, **{k.replace("_", "-"): v for k, v in headers.items()}}
        self.connection.request(method, path, data, sent)
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.getheader("Content-Type", "").startswith("application/json"), text[:200]
        return answer.status, json.loads(text)

    def close(self) -> None:
        self.connection.close()


@pytest.fixture(scope="module")
def server() -> Iterator[VdsServer]:
    with data_port() as made:
        yield made


@pytest.fixture
def client(server: VdsServer) -> Iterator[Client]:
    assert server.data_port is not None
    made = Client(server.data_port)
    yield made
    made.close()


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.002)


def test_command_in_state_out(server: VdsServer, client: Client) -> None:
    command = {"vehicle": "rear", "throttle": 0.5, "steer": 0.5, "gear": 1}
    status, told = client.ask("POST", "/api/io", command)
    assert status == 200
    assert told["vehicle"] == "rear"
    before = server.mode.status().steps
    server.mode.step(100)
    until(lambda: server.mode.status().steps == before + 100)
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
    before = server.mode.status().steps
    _, told = client.ask("POST", "/api/run", {"action": "step", "count": 7})
    until(lambda: server.mode.status().steps == before + 7)
    _, told = client.ask("POST", "/api/run", {"action": "rate", "rate": 2.5})
    assert told["rate"] == 2.5
    _, told = client.ask("POST", "/api/run", {"action": "rate", "rate": None})
    assert told["rate"] is None
    _, told = client.ask("POST", "/api/run", {"action": "resume"})
    assert told["state"] == "running"
    until(lambda: server.mode.status().steps > before + 7)
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
        ("POST", "/api/io", b"{", 400, "body: not JSON"),
        ("POST", "/api/io", b"\xff", 400, "body: not JSON"),
        ("POST", "/api/io", b"[" * MAX_BODY, 400, "body: not JSON"),
        ("POST", "/api/io", b'{"vehicle": "rear", "brake": NaN}', 400, "NaN is no number"),
        ("POST", "/api/io", [], 400, "body: document"),
        ("POST", "/api/io", {}, 400, "body: vehicle: Field required"),
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
            "targets.*at most 16",
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


def raw(server: VdsServer, request: bytes) -> bytes:
    """Everything that is answered to a request, until the connection is closed."""
    assert server.data_port is not None
    with socket.create_connection(("127.0.0.1", server.data_port.port), PATIENCE_S) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while data := connection.recv(65536):
            received += data
        return received


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (f"Content-Length: {MAX_BODY + 1}", 413),
        ("Content-Length: 99999999999999999999", 413),
        ("Content-Length: -1", 411),
        ("Content-Length: x", 411),
        ("Transfer-Encoding: chunked", 411),
        ("Content-Length: 2\r\nContent-Type: text/plain", 415),
        ("Content-Length: 20\r\nContent-Type: application/json", 400),
        ("Host: evil.example", 403),
        ("Host: [::1", 403),
    ],
)
def test_requests_that_are_not_taken(server: VdsServer, head: str, status: int) -> None:
    host = "" if head.startswith("Host") else "Host: localhost\r\n"
    found = raw(server, f"POST /api/io HTTP/1.1\r\n{host}{head}\r\n\r\n{{}}".encode())
    assert found.split()[1] == str(status).encode(), found
    assert b'"error"' in found


@pytest.mark.parametrize("request_", [b"", b"\0" * 5000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"])
def test_what_is_no_request_leaves_the_port_alive(
    server: VdsServer, client: Client, request_: bytes
) -> None:
    raw(server, request_)
    assert client.ask("GET", "/api/health")[0] == 200


def test_a_page_of_another_origin_cannot_ask(client: Client) -> None:
    status, told = client.ask("GET", "/api/health", Origin="http://evil.example")
    assert (status, told["error"]) == (
        403,
        "Origin: found 'http://evil.example'; allowed is the port's own",
    )
    own = f"127.0.0.1:{client.connection.port}"
    assert client.ask("GET", "/api/health", Origin=f"http://{own}")[0] == 200


def test_too_many_connections_are_turned_away() -> None:
    with data_port() as made:
        assert made.data_port is not None
        address = ("127.0.0.1", made.data_port.port)
        held = [socket.create_connection(address, PATIENCE_S) for _ in range(MAX_CONNECTIONS)]
        # Each of them is served, so each is counted, before the next one is tried.
        for connection in held:
            connection.sendall(b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        extra = socket.create_connection(address, PATIENCE_S)
        assert extra.recv(10) == b""
        for connection in (*held, extra):
            connection.close()

        def answers() -> bool:
            try:
                again = Client(made.data_port)  # type: ignore[arg-type]
                return again.ask("GET", "/api/health")[0] == 200
            except (OSError, http.client.HTTPException):
                return False

        until(answers)


def test_elsewhere_a_token_is_needed() -> None:
    with data_port(http_host="0.0.0.0") as made:
        port = made.data_port
        assert port is not None and port.token is not None
        assert port.url.endswith(f"#token={port.token}")
        stranger = Client(port)
        assert stranger.ask("GET", "/api/health")[0] == 401
        assert stranger.ask("GET", "/api/health", Authorization="Bearer x")[0] == 401
        assert stranger.ask("GET", "/api/health", Authorization=f"Basic {port.token}")[0] == 401
        known = Client(port, Authorization=f"Bearer {port.token}")
        assert known.ask("GET", "/api/health", Host="somewhere.example")[0] == 200
        # The page itself tells nothing and is open: it asks with the token behind its #.
        known.connection.request("GET", "/")
        answer = known.connection.getresponse()
        assert (answer.status, b"<h1" in answer.read()) == (200, True)
        stranger.close()
        known.close()
    with data_port(token="secret") as made:
        assert made.data_port is not None
        assert Client(made.data_port).ask("GET", "/api/run")[0] == 401
    with data_port() as made:
        assert made.data_port is not None and made.data_port.token is None


def test_telemetry_fans_out(server: VdsServer, client: Client) -> None:
    receivers = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(3)]
    for receiver in receivers:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(PATIENCE_S)
    targets = [{"ip": "127.0.0.1", "port": r.getsockname()[1]} for r in receivers]
    for vehicle, chosen, command in (("rear", targets[:2], True), ("front", targets[2:], False)):
        request = {"vehicle": vehicle, "targets": chosen, "command": command}
        status, told = client.ask("POST", "/api/io/targets", request)
        assert (status, told["vehicles"][vehicle]["targets"]) == (200, chosen)
    assert client.ask("GET", "/api/io/targets")[1] == told
    server.mode.step(1)
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
    for model in (IoRequest, RunRequest, TargetsRequest):
        assert schemas[model.__name__]["properties"].keys() == model.model_fields.keys()
    _, told = client.ask("GET", "/api/state?vehicle=rear")
    (vehicle,) = told["vehicles"]
    assert vehicle.keys() == schemas["Vehicle"]["properties"].keys()
    assert vehicle["state"].keys() == schemas["State"]["properties"].keys()
    _, run = client.ask("GET", "/api/run")
    assert run["run"].keys() == schemas["Run"]["properties"].keys()


class Watched:
    """A run of another kind: it can be watched and controlled, and that is all."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def pause(self) -> None:
        self.asked.append("pause")

    def resume(self) -> None:
        self.asked.append("resume")

    def step(self, count: int = 1) -> None:
        self.asked.append(count)

    def set_rate(self, rate: float | None) -> None:
        raise ConfigurationError("rate: not here")

    def status(self) -> RunStatus:
        return RunStatus("running", 1_500_000_000, 3, None, False)

    def picture(self) -> dict[str, Any]:
        return picture_of(
            [VehicleView("ego", 0, 0, 0, 5, 0, 4, 2)], [BoxView("wall", 22, 0, 0, 2, 8)]
        )


def test_any_run_can_be_shown() -> None:
    run = Watched()
    api = DataPortApi("platoon", run, run)
    picture = json.loads(api.answer("GET", "/api/run", b"").body)
    assert picture["run"]["name"] == "platoon"
    (ego,) = picture["vehicles"]
    assert (ego["ahead"], ego["gap"], ego["throttle"]) == ("wall", 19.0, None)
    assert picture["timing"] is None
    for action in ("pause", "resume", "step"):
        assert api.answer("POST", "/api/run", json.dumps({"action": action}).encode()).status == 200
    assert run.asked == ["pause", "resume", 1]
    refused = api.answer("POST", "/api/run", b'{"action": "rate", "rate": 2}')
    assert (refused.status, json.loads(refused.body)["error"]) == (400, "rate: not here")
    for method, path in (("POST", "/api/io"), ("GET", "/api/state"), ("GET", "/api/io/targets")):
        assert api.answer(method, path, b'{"vehicle": "ego"}').status == 400


def test_in_lock_step_the_port_looks_on() -> None:
    with data_port(lockstep=True) as made:
        assert made.data_port is not None
        client = Client(made.data_port)
        status, told = client.ask("POST", "/api/io", {"vehicle": "rear", "brake": 1})
        assert status == 400 and "stepped by the commands on its UDP ports" in told["error"]
        assert client.ask("POST", "/api/io", {"vehicle": "rear"})[0] == 200
        run = client.ask("GET", "/api/run")[1]
        assert (run["timing"], run["run"]["may_change_rate"]) == (None, False)
        client.close()


def test_the_gap_is_to_what_is_next_in_the_own_path() -> None:
    def at(name: str, x: float, y: float, yaw: float = 0.0) -> VehicleView:
        return VehicleView(name, x, y, yaw, 0.0, 0.0, 4.0, 2.0)

    ego = at("ego", 0, 0)
    others = [
        ego,
        at("far", 50, 0),
        at("near", 20, 1.9),
        at("beside", 10, 2.1),
        at("behind", -9, 0),
    ]
    assert gap_ahead(ego, others) == ("near", 16.0)
    assert gap_ahead(others[1], others) == (None, None)
    turned = at("turned", 0, -30, 1.5707963267948966)
    name, gap = gap_ahead(turned, [*others, turned])
    assert (name, gap) == ("ego", pytest.approx(26.0))


def test_a_port_that_is_taken_is_named() -> None:
    run = Watched()
    first = DataPort(DataPortApi("a", run, run))
    with pytest.raises(ConnectionFailedError, match=f"HTTP 127.0.0.1:{first.port} cannot be"):
        DataPort(DataPortApi("b", run, run), port=first.port)
    first.close()


def test_closing_ends_all_threads() -> None:
    with data_port() as made:
        assert made.data_port is not None
        idle = socket.create_connection(("127.0.0.1", made.data_port.port), PATIENCE_S)
        client = Client(made.data_port)
        client.ask("GET", "/api/health")
    assert idle.recv(10) == b""
    idle.close()
    client.close()
    until(lambda: not any("process_request" in t.name for t in threading.enumerate()))
