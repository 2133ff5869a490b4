# SPDX-License-Identifier: Apache-2.0
"""The process that imports ``cosim`` once and becomes each command by a copy.

See :mod:`support.warm`. Each command has a keeper, its parent, which adopts what the command
leaves behind: the descendants of a keeper are what is left of its command. A keeper ends with the
last of them. Libraries of the middleware start threads when they are loaded; a copy has none of
them, and leaves without the end functions of these libraries, which would look for them.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import socket
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress

from setproctitle import setproctitle
from support.warm import FILES, REQUEST_LIMIT, TOLD

from ros2_cosim.cli import main as command
from ros2_cosim.core.process.processes import leave, set_adopts_orphans

#: What most commands import when they run.
_MODULES = (
    "numpy.random",
    "ros2_cosim.cli.check",
    "ros2_cosim.cli.control",
    "ros2_cosim.cli.replay",
    "ros2_cosim.cli.run",
    "ros2_cosim.core.run.start",
    "ros2_cosim.core.scenario.check",
    "ros2_cosim.dcp.bridge.participant",
    "ros2_cosim.driving.cacc",
    "ros2_cosim.driving.referee",
    "ros2_cosim.driving.sensors.object_sensor",
    "ros2_cosim.ros.bringup.control",
    "ros2_cosim.ros.bringup.shapes",
    "ros2_cosim.ros.node.session",
    "ros2_cosim.world.carla.world",
)


def main() -> None:
    """Serve until whoever asks has gone; in a copy: run the command."""
    link = socket.socket(fileno=int(sys.argv[1]))
    for name in _MODULES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    while True:
        request, files, _, _ = socket.recv_fds(link, REQUEST_LIMIT, FILES)
        if not request:
            return
        if os.fork() == 0:
            link.close()
            if _is_command(files):
                break
            os._exit(0)
        for descriptor in files:
            os.close(descriptor)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    _become(json.loads(request), files)
    try:
        command.main()
    except SystemExit as left:
        leave(left.code)
    except BaseException:
        traceback.print_exc()
        leave(1)
    leave(0)


def _is_command(files: list[int]) -> bool:
    """Fork the command; whether this is it. The other one is its keeper, and has done its work."""
    set_adopts_orphans(True)
    pid = os.fork()
    if pid == 0:
        return True
    stdout, stderr, tells = files
    os.close(stdout)
    os.close(stderr)
    setproctitle(f"keeper of {pid}")
    with socket.socket(fileno=tells) as listener:
        listener.sendall(TOLD.pack(pid) + TOLD.pack(os.getpid()))
        _, status = os.waitpid(pid, 0)
        with suppress(OSError):  # nobody waits for it
            listener.sendall(TOLD.pack(status))
    with suppress(ChildProcessError):
        while True:
            os.wait()
    return False


def _become(request: Mapping[str, object], files: list[int]) -> None:
    """Take the place of a process that was started as this command."""
    for target, descriptor in zip((1, 2), files[:2], strict=True):
        os.dup2(descriptor, target)
    for descriptor in files:
        os.close(descriptor)
    environment, words = request["environment"], request["words"]
    assert isinstance(environment, dict)
    assert isinstance(words, list)
    os.environ.clear()
    os.environ.update(environment)
    directory = str(request["directory"])
    os.chdir(directory)
    sys.path[0] = directory
    sys.argv = [str(command.__file__), *words]
    setproctitle(" ".join([sys.executable, "-m", command.__name__, *words]))
    importlib.invalidate_caches()


if __name__ == "__main__":
    main()
