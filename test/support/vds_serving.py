# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A VDS1 server with a data port in a thread of the test."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from support.patience import HANG_S

from ros2_cosim.vds.data_port.http_server import DataPort
from ros2_cosim.vds.fleet_settings import read_settings
from ros2_cosim.vds.free_run import FreeRunSettings
from ros2_cosim.vds.server import ServerSettings, VdsServer

JSON = {"Content-Type": "application/json"}
#: Paused runs do not depend on the machine; these vehicles move when they are told to.
NO_WATCHDOG = FreeRunSettings(command_timeout_ns=0)


@contextmanager
def served(server: VdsServer) -> Iterator[VdsServer]:
    """Run a server in a thread, and end it."""
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(HANG_S)
        server.close()
        assert not thread.is_alive()


@contextmanager
def data_port(
    vehicles: dict[str, Any] | None = None,
    free_run: FreeRunSettings = NO_WATCHDOG,
    **settings: Any,
) -> Iterator[VdsServer]:
    """Serve, paused at the start."""
    chosen = vehicles or {"front": {"x": 30.0, "speed": 10.0}, "rear": {"speed": 12.0}}
    server = VdsServer(
        ServerSettings(
            read_settings({"vehicles": chosen}, "fleet"),
            command_port=0,
            receivers=(),
            free_run=free_run,
            **{"http_port": 0, **settings},
        )
    )
    server.control.pause()
    with served(server):
        yield server


class Client:
    """Asks a data port, over one connection."""

    def __init__(self, port: DataPort, **headers: str) -> None:
        self.headers = headers
        self.connection = http.client.HTTPConnection("127.0.0.1", port.port, timeout=HANG_S)

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
