# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The HTTP server of the data port: settings, dashboards and observing programs.

By default it listens at the loopback address; at any other address it requires a token. What it
refuses is in ``http_access``; the bounds of its connections are in ``http_connections``.
"""

from __future__ import annotations

import secrets
import threading

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.kernel.errors import ConnectionFailedError
from ros2_cosim.core.sockets.endpoints import is_loopback, open_listener
from ros2_cosim.vds.data_port.api import RequestApi
from ros2_cosim.vds.data_port.http_access import Access


class DataPort:
    """Serves an API in its own threads, from ``start`` to ``close``.

    :param api: answers the requests
    :param host: address to listen at
    :param port: 0: any free one
    :param token: required in every request except that for the dashboard's page; generated where
        ``host`` is not a loopback address and none is given
    :ivar port: where it listens
    :raises ConnectionFailedError: the address cannot be had
    """

    def __init__(
        self, api: RequestApi, host: str = "127.0.0.1", port: int = 0, token: str | None = None
    ) -> None:
        from ros2_cosim.vds.data_port.http_app import HttpApp
        from ros2_cosim.vds.data_port.http_connections import HttpServer

        self.host = host
        self.token = token or (None if is_loopback(host) else secrets.token_urlsafe(16))
        access = Access(self.token, api.is_open, is_loopback(host))
        self._server = HttpServer(HttpApp(api, access))
        try:
            self._listener = open_listener(host, port)
        except OSError as error:
            reason = cause_of(error)
            raise ConnectionFailedError(f"HTTP {host}:{port} cannot be opened: {reason}") from None
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(
            target=self._server.run, args=([self._listener],), name="data-port", daemon=True
        )

    @property
    def url(self) -> str:
        """Address of the dashboard, with the token where one is needed."""
        suffix = f"#token={self.token}" if self.token else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/{suffix}"

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def close(self) -> None:
        """Close all connections; return when the last answer has been made."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join()
        self._listener.close()
