# SPDX-License-Identifier: Apache-2.0
"""The HTTP server of the data port: settings, dashboards and observing programs.

By default it listens at the loopback address; at any other address it requires a token. The size,
time and number of requests are bounded: a connection without a complete request for some time is
closed, however its bytes drip, and gives way to a new one before that if there are too many. A page
of another origin can neither read nor command: answers carry no permission for it, a body must be
declared as JSON, and on the loopback address the host name of the request must be that of the
loopback.
"""

from __future__ import annotations

import hmac
import re
import secrets
import socket
import socketserver
import threading
import time
from collections.abc import Iterable
from contextvars import ContextVar
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.kernel.errors import ConnectionFailedError
from ros2_cosim.core.sockets.endpoints import is_loopback
from ros2_cosim.core.sockets.peers import ADMISSION, user_of
from ros2_cosim.vds.data_port.api import RequestApi
from ros2_cosim.vds.data_port.routes import JSON_TYPE, HttpAnswer, error_answer

MAX_BODY = 16_384
MAX_CONNECTIONS = 32
#: A connection is closed if there is no complete request on it for this time [s].
IDLE_S = 30.0
#: Longest pause in the rest of a refused request [s].
REFUSAL_S = 1.0
#: What a Host may be (RFC 9110, 7.2): no user.
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[!$&'()*+,;=._~%0-9A-Za-z-]*)(:[0-9]*)?")
#: The user of the program whose request this thread answers, in words.
REQUESTER: ContextVar[str] = ContextVar("REQUESTER", default="this process")
_HEADERS = (
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"),
    ("Content-Security-Policy", "default-src 'self'; img-src 'self' data:; base-uri 'none'"),
)


class DataPort:
    """Serves an API in its own threads, from ``start`` to ``close``.

    :param api: answers the requests
    :param host: address to listen at
    :param port: 0: any free one
    :param token: required in every request except that for the dashboard's page; generated where
        ``host`` is not a loopback address and none is given
    :raises ConnectionFailedError: the address cannot be had
    """

    def __init__(
        self, api: RequestApi, host: str = "127.0.0.1", port: int = 0, token: str | None = None
    ) -> None:
        self.host = host
        self.token = token or (None if is_loopback(host) else secrets.token_urlsafe(16))
        try:
            self._server = _Server((host, port), api, self.token)
        except (OSError, OverflowError) as error:
            reason = cause_of(error)
            raise ConnectionFailedError(f"HTTP {host}:{port} cannot be opened: {reason}") from None
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="data-port"
        )
        self._thread.daemon = True

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Address of the dashboard, with the token where one is needed."""
        suffix = f"#token={self.token}" if self.token else ""
        return f"http://{self.host}:{self.port}/{suffix}"

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def close(self) -> None:
        """Stop answering, and close all connections."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
        self._server.close_connections()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = MAX_CONNECTIONS

    def __init__(self, address: tuple[str, int], api: RequestApi, token: str | None) -> None:
        self.api = api
        self.token = token
        self.loopback_only = is_loopback(address[0]) and token is None
        self._lock = threading.Lock()
        #: The time of the last answer on each connection, or of its begin; in this order.
        self._open: dict[socket.socket, float] = {}
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Bind without the base class's look-up of the machine's name in the network."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether a connection is served: not, if it is of another user of this machine."""
        return ADMISSION.admits(request)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection; if there are too many, that with the oldest answer has to go."""
        with self._lock:
            longest = list(self._open)[: max(0, len(self._open) + 1 - MAX_CONNECTIONS)]
            for connection in longest:
                del self._open[connection]
            self._open[request] = time.monotonic()
        _end(longest)
        super().process_request(request, client_address)

    def answered(self, request: Any) -> None:
        """Take that a request on a connection is complete."""
        with self._lock:
            if self._open.pop(request, None) is not None:
                self._open[request] = time.monotonic()

    def service_actions(self) -> None:
        """Close the connections on which nothing is completed; called all the time."""
        limit = time.monotonic() - IDLE_S
        with self._lock:
            late = [connection for connection, since in self._open.items() if since < limit]
            for connection in late:
                del self._open[connection]
        _end(late)

    def shutdown_request(self, request: Any) -> None:
        """Forget a connection."""
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        """End the connections that are still open, so that their threads end."""
        with self._lock:
            still_open = list(self._open)
        _end(still_open)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a connection that broke."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "ros2_cosim"
    sys_version = ""
    timeout = IDLE_S
    wbufsize = 65_536  # head and body leave in one piece

    def setup(self) -> None:
        """Begin with a connection, whose thread this is."""
        super().setup()
        REQUESTER.set(user_of(self.connection))

    def log_message(self, format: str, *arguments: Any) -> None:
        """Write no log."""

    def _serve(self) -> None:
        refusal, body = self._read()
        self._reply(refusal or self.server.api.answer(self.command, self.path, body))
        self.server.answered(self.connection)
        if refusal is not None:
            self._hear_out()

    do_GET = do_POST = do_PUT = do_DELETE = _serve

    def _hear_out(self) -> None:
        """Read the rest of a refused request: closing earlier would discard the answer."""
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_WR)
        self.connection.settimeout(REFUSAL_S)
        left = 16 * MAX_BODY
        while left > 0 and (data := self.rfile.read1(4096)):
            left -= len(data)

    def _read(self) -> tuple[HttpAnswer | None, bytes]:
        """(refusal or None, body); after a refusal the connection is not used again."""
        self.close_connection = True
        ambiguous = self._ambiguous()
        if ambiguous:
            return error_answer(400, ambiguous), b""
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdigit()):
            return error_answer(411, "Content-Length: needed, as a number of bytes"), b""
        if len(length) > 9 or int(length) > MAX_BODY:
            return error_answer(
                413, f"body: found {length[:20]} bytes; allowed are at most {MAX_BODY}"
            ), b""
        refusal = self._stranger()
        if refusal is not None:
            return refusal, b""
        if self.command == "POST":
            found = self.headers.get_content_type()
            if found != JSON_TYPE:
                return error_answer(
                    415, f"Content-Type: found {found[:60]}; allowed is {JSON_TYPE}"
                ), b""
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            return error_answer(400, "body: shorter than announced"), b""
        self.close_connection = self.headers.get("Connection", "").lower() == "close"
        return None, body

    def _ambiguous(self) -> str:
        """What others on the way could read in another way, and RFC 9112 refuses; else empty."""
        if self.headers.defects:
            return "header: found a line without 'name: value'; allowed is no blank in the name"
        hosts = self.headers.get_all("Host", [])
        if len(hosts) > 1 or (not hosts and self.request_version == "HTTP/1.1"):
            return f"Host: found {len(hosts)} of them; allowed is one"
        if len(self.headers.get_all("Content-Length", [])) > 1:
            return "Content-Length: found more than one; allowed is one"
        for host in hosts:
            if not _AUTHORITY.fullmatch(host):
                return f"Host: found {host[:60]!r}; allowed are a name or an address, and a port"
        return ""

    def _stranger(self) -> HttpAnswer | None:
        """The refusal of a request that lacks permission; None: it is permitted."""
        name = self.headers.get("Host", "")
        host = _host_of(f"//{name}")
        if self.server.loopback_only and not is_loopback(host):
            return error_answer(403, f"Host: found {name[:60]!r}; allowed is this machine's own")
        origin = self.headers.get("Origin")
        if origin is not None and _netloc_of(origin) != name:
            return error_answer(403, f"Origin: found {origin[:60]!r}; allowed is the port's own")
        token = self.server.token
        if token is None or self.server.api.is_open(self.path):
            return None
        given = self.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            return error_answer(401, "Authorization: allowed is 'Bearer' with the port's token")
        return None

    def _reply(self, answer: HttpAnswer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, value in _HEADERS:
            self.send_header(name, value)
        if answer.allow:
            self.send_header("Allow", answer.allow)
        if answer.status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer.body)


def _end(connections: Iterable[socket.socket]) -> None:
    """End connections, so that the threads that serve them end."""
    for connection in connections:
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def _netloc_of(address: str) -> str | None:
    try:
        return urlsplit(address).netloc
    except ValueError:
        return None


def _host_of(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""
