# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which requests the data port accepts, and how it answers malformed ones."""

from __future__ import annotations

import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPResponse
from typing import Any
from urllib.request import urlopen

import pytest
from support.patience import HANG_S
from support.vds_serving import Client, data_port

from ros2_cosim.core.kernel.errors import ConnectionFailedError
from ros2_cosim.core.realtime.run_state import RunState
from ros2_cosim.vds.controllable import LiveControl
from ros2_cosim.vds.data_port import http_connections
from ros2_cosim.vds.data_port.api import REQUESTER, DataPortApi
from ros2_cosim.vds.data_port.http_server import DataPort
from ros2_cosim.vds.data_port.routes import HttpAnswer
from ros2_cosim.vds.data_port.view import NoChanges, picture_of
from ros2_cosim.vds.server import VdsServer

#: Most bytes of a request's body, and most connections.
MAX_BODY, MAX_CONNECTIONS = 16_384, 32


def raw(server: VdsServer, request: bytes) -> bytes:
    """Everything that is answered to a request, until the connection is closed."""
    assert server.data_port is not None
    with socket.create_connection(("127.0.0.1", server.data_port.port), HANG_S) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        received = b""
        while data := connection.recv(65536):
            received += data
        return received


def answered(connection: socket.socket) -> bool:
    """Whether a connection gets one answer, with its body."""
    with closing(HTTPResponse(connection)) as answer:
        answer.begin()
        return answer.status == 200 and bool(answer.read())


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (f"Content-Length: {MAX_BODY + 1}", 413),
        ("Content-Length: 99999999999999999999", 413),
        ("Content-Length: -1", 400),
        ("Content-Length: x", 400),
        ("Transfer-Encoding: chunked", 411),
        ("Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0", 411),
        ("Transfer-Encoding: gzip", 501),
        ("Content-Length: 2\r\nContent-Type: text/plain", 415),
        ("Content-Length: 20\r\nContent-Type: application/json", 400),
        ("Host: evil.example", 403),
        ("Host: [::1", 400),
        ("Host: a@127.0.0.1", 400),
        ("Host: localhost\r\nHost: localhost", 400),
        ("Content-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 3", 400),
        ("Transfer-Encoding : chunked", 400),
    ],
)
def test_requests_that_are_not_taken(server: VdsServer, head: str, status: int) -> None:
    host = "" if head.startswith("Host") else "Host: localhost\r\n"
    found = raw(server, f"POST /api/io HTTP/1.1\r\n{host}{head}\r\n\r\n{{}}".encode())
    assert found.split()[1] == str(status).encode(), found
    assert b'"error"' in found


def test_a_body_that_is_too_long_is_refused_in_words(client: Client) -> None:
    status, told = client.ask("POST", "/api/io", b" " * (8 * MAX_BODY))
    assert (status, "allowed are at most" in told["error"]) == (413, True)
    assert client.ask("GET", "/api/health")[0] == 200


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


def test_a_new_connection_takes_the_place_of_the_one_that_has_done_nothing_for_longest() -> None:
    with data_port() as made:
        assert made.data_port is not None
        address = ("127.0.0.1", made.data_port.port)
        ask = b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n"

        # They drip: each has begun a request that it does not complete.
        held = [socket.create_connection(address, HANG_S) for _ in range(MAX_CONNECTIONS)]
        for connection in held:
            connection.sendall(ask + ask[:20])
            assert answered(connection)
        for connection in held[:3]:
            extra = socket.create_connection(address, HANG_S)
            extra.sendall(ask)
            assert answered(extra)
            assert connection.recv(10) == b""
            held.append(extra)
        # The others go on.
        held[3].sendall(ask[20:])
        assert answered(held[3])
        for connection in held:
            connection.close()


def test_a_connection_that_drips_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connections, "IDLE_S", 0.3)
    with data_port() as made:
        assert made.data_port is not None
        address = ("127.0.0.1", made.data_port.port)
        with socket.create_connection(address, HANG_S) as dripping:
            dripping.settimeout(0.02)
            began = time.monotonic()
            while True:
                assert time.monotonic() - began < HANG_S, "it holds the connection"
                try:
                    dripping.sendall(b"G")
                    if dripping.recv(10) == b"":
                        break
                except TimeoutError:
                    continue
                except OSError:
                    break


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nOrigin: http://[\r\n", 403),
        (b"GET /api/health HTTP/1.1\r\nHost: [\r\n", 400),
        (b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n", 400),
        (b"GET //[/api HTTP/1.1\r\nHost: localhost\r\n", 400),
        (b"GET /api/state?vehicle=%ff%00&&&=;vehicle HTTP/1.1\r\nHost: localhost\r\n", 400),
        (b"POST /api/io HTTP/1.1\r\nHost: localhost\r\nContent-Length: \xb2\r\n", 400),
        (b"POST /api/io HTTP/1.1\r\nHost: localhost\r\nContent-Type: ;=;[\r\n", 415),
        (b"GET /api/health HTTP/1.1\r\n", 400),
        (b"PATCH /api/io HTTP/1.1\r\nHost: localhost\r\n", 405),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 60_000, 431),
        (b"GET /" + b"a" * 300_000 + b" HTTP/1.1\r\n", 431),
        (b"\0\xff nonsense\r\n", 400),
    ],
)
def test_odd_requests_get_an_answer(server: VdsServer, head: bytes, status: int) -> None:
    answer = raw(server, head + b"\r\n")
    assert answer.split()[1] == str(status).encode() and b'{"error": "' in answer, answer


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


def test_a_port_that_is_taken_is_named() -> None:
    with data_port() as first:
        assert first.data_port is not None
        port = first.data_port.port
        with pytest.raises(ConnectionFailedError, match=f"HTTP 127.0.0.1:{port} cannot be"):
            with data_port(http_port=port):
                pass


def test_closing_ends_all_threads() -> None:
    before = threading.enumerate()
    with data_port() as made:
        assert made.data_port is not None
        idle = socket.create_connection(("127.0.0.1", made.data_port.port), HANG_S)
        client = Client(made.data_port)
        client.ask("GET", "/api/health")
    assert idle.recv(10) == b""
    idle.close()
    client.close()
    assert threading.enumerate() == before


def test_a_body_that_ends_early_is_refused_in_words(server: VdsServer) -> None:
    head = "Host: localhost\r\nContent-Length: 20\r\nContent-Type: application/json\r\n\r\n"
    # What has come is a complete request: it must not be taken for what was announced.
    body = '{"action": "pause"}'
    found = raw(server, f"POST /api/run HTTP/1.1\r\n{head}{body}".encode())
    assert b'"body: shorter than announced"' in found


def test_with_a_token_a_name_of_the_network_is_taken_on_the_loopback_too() -> None:
    with data_port(token="secret") as made:
        assert made.data_port is not None
        known = Client(made.data_port, Authorization="Bearer secret")
        assert known.ask("GET", "/api/health", Host="somewhere.example")[0] == 200
        known.close()


def test_a_connection_stays_open_while_there_is_room_for_others() -> None:
    with data_port() as made:
        assert made.data_port is not None and made.data_port.port > 1023
        first, second = Client(made.data_port), Client(made.data_port)
        links = []
        for _ in range(2):
            for client in (first, second):
                assert client.ask("GET", "/api/health")[0] == 200
                links.append(client.connection.sock)
        # No connection was opened anew.
        assert links[0] is links[2] and links[1] is links[3] and links[0] is not links[1]
        first.close()
        second.close()


def test_a_connection_in_use_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connections, "MAX_CONNECTIONS", 3)
    with data_port() as made:
        assert made.data_port is not None
        clients = [Client(made.data_port) for _ in range(4)]
        for number in (0, 1, 2, 0, 3):
            assert clients[number].ask("GET", "/api/health")[0] == 200
        # The fourth has taken the place of the second, for the first has asked since.
        assert clients[1].connection.sock.recv(10) == b""
        link = clients[0].connection.sock
        assert clients[0].ask("GET", "/api/health")[0] == 200
        assert clients[0].connection.sock is link
        for client in clients:
            client.close()


def test_who_has_no_token_is_told_how_to_send_it() -> None:
    """RFC 6750: 401 names the scheme; another answer does not."""
    with data_port(token="secret") as made:
        assert made.data_port is not None
        for header, status, scheme in (("", 401, "Bearer"), ("Bearer secret", 200, None)):
            client = Client(made.data_port)
            client.connection.request("GET", "/api/run", headers={"Authorization": header})
            answer = client.connection.getresponse()
            answer.read()
            assert (answer.status, answer.getheader("WWW-Authenticate")) == (status, scheme)
            client.close()


class Nothing:
    def picture(self) -> dict[str, Any]:
        return picture_of([])


def test_requests_name_the_user_who_made_them() -> None:
    """For the record of changes: whose process holds the connection, as the system knows it."""
    users = []

    class Asked(NoChanges):
        def request(self, path: str, to: Any) -> None:
            users.append(REQUESTER.get())

    with data_port() as made:
        port = made.data_port
        assert port is not None
        api = DataPortApi("run", made.control, Nothing(), changes=Asked())
        own = DataPort(api, "127.0.0.1", 0, None)
        own.start()
        client = Client(own)
        assert client.ask("POST", "/api/changes", {"set": "a", "to": 2})[0] == 200
        client.close()
        own.close()
    assert len(users) == 1 and f"uid {os.getuid()}" in users[0]


class Halting(DataPortApi):
    """Answers nothing before as many have asked at once."""

    together = threading.Barrier(8)

    def answer(self, method: str, path: str, body: bytes) -> HttpAnswer:
        self.together.wait(HANG_S)
        return super().answer(method, path, body)


def own_port(api: type[DataPortApi] = DataPortApi, host: str = "127.0.0.1") -> DataPort:
    """A port about nothing."""
    port = DataPort(api("run", LiveControl(RunState(), 1, int, now=int), Nothing()), host)
    port.start()
    return port


def test_answers_are_made_at_once() -> None:
    with closing(own_port(Halting)) as port:
        clients = [Client(port) for _ in range(Halting.together.parties)]
        with ThreadPoolExecutor(len(clients)) as asking:
            found = list(asking.map(lambda client: client.ask("GET", "/api/health"), clients))
        assert [status for status, _ in found] == [200] * len(clients)
        for client in clients:
            client.close()


@pytest.mark.parametrize("connection", ["close", "keep-alive"])
def test_who_sends_more_than_is_taken_gets_the_refusal_whole(connection: str) -> None:
    """A connection that is closed with unread data is reset, and what was sent on it is lost."""
    with closing(own_port()) as port:
        size = 40 * MAX_BODY
        head = f"POST /api/run HTTP/1.1\r\nHost: localhost\r\nConnection: {connection}\r\n"
        with socket.create_connection(("127.0.0.1", port.port), HANG_S) as link:
            link.sendall(f"{head}Content-Length: {size}\r\n\r\n".encode())
            for _ in range(size // MAX_BODY):
                link.sendall(b" " * MAX_BODY)
            with closing(HTTPResponse(link)) as answer:
                answer.begin()
                assert (answer.status, b"allowed are at most" in answer.read()) == (413, True)
            assert link.recv(10) == b""


def test_requests_that_come_together_are_answered_in_order(server: VdsServer) -> None:
    ask = "GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n"
    found = raw(server, "".join(map(ask.format, ("/api/health", "/no", "/", "no"))).encode())
    assert [part[:3] for part in found.split(b"HTTP/1.1 ")[1:]] == [b"200", b"404", b"200", b"404"]


def test_who_is_not_admitted_gets_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connections.ADMISSION, "admits", lambda link: False)
    with closing(own_port()) as port:
        with socket.create_connection(("127.0.0.1", port.port), HANG_S) as link:
            assert link.recv(10) == b""


def test_an_answer_tells_browsers_what_they_may_not_do_and_no_program(client: Client) -> None:
    client.connection.request("GET", "/api/health")
    answer = client.connection.getresponse()
    answer.read()
    assert answer.getheader("Server") is None
    assert answer.getheader("X-Content-Type-Options") == "nosniff"
    assert answer.getheader("Content-Security-Policy", "").startswith("default-src 'self'")


def test_nothing_is_written_to_a_log(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(DataPortApi):
        def answer(self, method: str, path: str, body: bytes) -> HttpAnswer:
            raise ValueError("wrong")

    with closing(own_port(Broken)) as port:
        for request in (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\0\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", port.port), HANG_S) as link:
                link.sendall(request)
                assert link.recv(8) == b"HTTP/1.1"
    assert caplog.records == []


def test_it_listens_at_an_address_of_ipv6_too() -> None:
    try:
        port = own_port(host="::1")
    except ConnectionFailedError:
        pytest.skip("this machine has no IPv6")
    with closing(port):
        assert port.url == f"http://[::1]:{port.port}/"
        with urlopen(port.url, timeout=HANG_S) as answer:
            assert b"<h1" in answer.read()


def test_a_port_that_was_never_started_is_closed() -> None:
    port = DataPort(DataPortApi("run", LiveControl(RunState(), 1, int, now=int), Nothing()))
    port.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port.port), HANG_S)
