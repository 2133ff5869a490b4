# SPDX-License-Identifier: Apache-2.0
"""Command line of the headless server: ``python -m ros2_cosim.carla_headless``."""

from __future__ import annotations

import argparse
import ctypes
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ros2_cosim.carla_headless.maps import MapLibrary
from ros2_cosim.carla_headless.server import Server
from ros2_cosim.kernel.errors import CosimError

_PR_SET_PDEATHSIG = 1


def _print_ready(text: str) -> None:
    print(text, flush=True)


def _print_error(text: str) -> None:
    print(f"carla-headless: {text}", file=sys.stderr)


def main(
    arguments: Sequence[str] | None = None,
    *,
    on_ready: Callable[[str], None] = _print_ready,
    on_error: Callable[[str], None] = _print_error,
) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code.

    :param on_ready: called with one line when clients can connect
    :param on_error: called with one line when the server cannot start
    """
    parser = argparse.ArgumentParser(
        prog="carla-headless",
        description="A server that speaks the CARLA 0.9.16 client protocol, without graphics.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at")
    parser.add_argument(
        "--port",
        type=int,
        default=2000,
        help="RPC port, streaming uses the next one (0: any two free ports)",
    )
    parser.add_argument(
        "--map",
        type=Path,
        action="append",
        required=True,
        metavar="FILE.xodr",
        help="OpenDRIVE map, loaded at the start; repeat to offer more maps",
    )
    parser.add_argument(
        "--exit-with-parent",
        action="store_true",
        help="end when the process that started this one ends (Linux)",
    )
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="carla-headless: %(message)s")
    if options.exit_with_parent:
        _exit_with_parent()
    try:
        if not 0 <= options.port <= 65534:
            raise CosimError(f"--port must lie in 0..65534, found {options.port}")
        server = Server(MapLibrary(options.map), options.host, options.port)
    except CosimError as error:
        on_error(str(error))
        return 1
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    signal.set_wakeup_fd(server.wake_descriptor, warn_on_full_buffer=False)
    try:
        on_ready(f"listening on {options.host}:{server.port}")
        server.run()
    finally:
        signal.set_wakeup_fd(-1)
        server.close()
    return 0


def _exit_with_parent() -> None:
    """Ask the kernel for SIGTERM at the end of the thread that started this process."""
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the request took hold
        os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
