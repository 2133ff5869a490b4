# SPDX-License-Identifier: Apache-2.0
"""A VDS1 server with a data port in a thread of the test."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ros2_cosim.realtime.fleet_settings import read_settings
from ros2_cosim.realtime.run_modes import FreeRunSettings
from ros2_cosim.realtime.vds_server import ServerSettings, VdsServer

PATIENCE_S = 60.0
#: Paused runs do not depend on the machine; these vehicles move when they are told to.
NO_WATCHDOG = FreeRunSettings(command_timeout_ns=0)


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
    server.mode.pause()
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join(PATIENCE_S)
        server.close()
        assert not thread.is_alive()
