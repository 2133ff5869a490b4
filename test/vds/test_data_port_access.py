# SPDX-License-Identifier: Apache-2.0
"""Which requests the data port accepts, and how it answers malformed ones."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator

import pytest
from support.vds_serving import PATIENCE_S, Client, data_port, until

from ros2_cosim.kernel.errors import ConnectionFailedError
from ros2_cosim.vds.data_port.http_server import MAX_BODY, MAX_CONNECTIONS
from ros2_cosim.vds.server import VdsServer


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


def test_a_port_that_is_taken_is_named() -> None:
    with data_port() as first:
        assert first.data_port is not None
        port = first.data_port.port
        with pytest.raises(ConnectionFailedError, match=f"HTTP 127.0.0.1:{port} cannot be"):
            with data_port(http_port=port):
                pass


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
