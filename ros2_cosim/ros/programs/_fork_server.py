# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The fork server of a run: imports what nodes need, once, and becomes each node by a fork.

See :mod:`ros2_cosim.ros.bringup.fork_server`. It has no thread of its own and opens nothing that a
copy could share. Libraries of the middleware start threads that wait for a tracing session; a copy
has none of them, and leaves without the end functions of these libraries, which would look for
them.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import inspect
import json
import os
import socket
import sys
import traceback
from collections.abc import Sequence

from setproctitle import setproctitle

from ros2_cosim.core.documents.installed import PACKAGE, share_file
from ros2_cosim.core.documents.offered import all_offered
from ros2_cosim.core.documents.settings import build_validators
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.random_streams import load_generator
from ros2_cosim.core.messages.definitions import find_definition
from ros2_cosim.core.process.processes import end_with_parent, leave, run_main
from ros2_cosim.core.sockets.inherited import INHERITED
from ros2_cosim.ros.bringup.fork_server import FILES_LIMIT, REQUEST_LIMIT

#: Packages of message types that each node uses, by itself or by rclpy.
_MESSAGES = (
    "builtin_interfaces.msg",
    "geometry_msgs.msg",
    "lifecycle_msgs.msg",
    "nav_msgs.msg",
    "rcl_interfaces.msg",
    "ros2_cosim.msg",
    "rosgraph_msgs.msg",
)
_SERVICES = ("lifecycle_msgs.srv", "rcl_interfaces.srv", "type_description_interfaces.srv")
#: What models and nodes import when they are made.
_MODULES = ("ros2_cosim.ros.node.session", "ros2_cosim.core.scenario.check")
#: Message types that most nodes read the definitions of, beside those of this package.
_TYPES = (
    "builtin_interfaces/msg/Time",
    "geometry_msgs/msg/AccelStamped",
    "geometry_msgs/msg/Point",
    "geometry_msgs/msg/Pose",
    "geometry_msgs/msg/PoseWithCovariance",
    "geometry_msgs/msg/Quaternion",
    "geometry_msgs/msg/Twist",
    "geometry_msgs/msg/TwistWithCovariance",
    "geometry_msgs/msg/Vector3",
    "nav_msgs/msg/Odometry",
    "std_msgs/msg/Header",
)
#: What the C library points to.
_KEPT: list[ctypes.c_char_p] = []


def main(starter: int | None = None) -> int:
    """Serve until the starter has gone.

    :param starter: process id of the one whose children the nodes are; None: the parent
    """
    starter = os.getppid() if starter is None else starter
    link = socket.socket(fileno=int(sys.argv[1]))
    prepare(sys.argv[2:-1])
    while True:
        request, files, _, _ = socket.recv_fds(link, REQUEST_LIMIT, FILES_LIMIT)
        if not request:
            return 0
        module, arguments, addresses = json.loads(request)
        # Those that were requested before run while this one is imported.
        _import(module)
        hold, go_on = os.pipe()
        middle = os.fork()
        if middle == 0:
            if os.fork():
                os._exit(0)
            os.close(go_on)
            for (kind, host, port), descriptor in zip(addresses, files[1:], strict=True):
                INHERITED.offer(kind, host, port, descriptor)
            _become(module, arguments, files[0], link, starter, hold)
        for descriptor in files:
            os.close(descriptor)
        os.waitpid(middle, 0)
        os.close(hold)
        os.close(go_on)


def prepare(modules: Sequence[str]) -> None:
    """Import and read what all nodes need; the node reports what is missing or wrong."""
    for name in (*_MODULES, *modules):
        _import(name)
    with contextlib.suppress(ImportError):
        _load_type_supports()
    load_generator()
    all_offered()
    build_validators()
    with contextlib.suppress(ConfigurationError):
        own = share_file("msg/Horizon.msg").parent.glob("*.msg")
        for name in (*_TYPES, *(f"{PACKAGE}/msg/{path.stem}" for path in own)):
            find_definition(name)
    gc.freeze()


def _import(module: str) -> None:
    with contextlib.suppress(Exception):
        importlib.import_module(module)
    # The garbage collector would touch, and so copy, the pages that all processes share.
    gc.freeze()


def _load_type_supports() -> None:
    from rclpy.type_support import check_for_type_support

    for name in (*_MESSAGES, *_SERVICES):
        for kind in vars(importlib.import_module(name)).values():
            if inspect.isclass(kind):
                check_for_type_support(kind)


def _become(
    module: str, arguments: list[str], output: int, link: socket.socket, starter: int, hold: int
) -> None:
    """Run a node in this process, a copy of the server; ends the process.

    :param hold: at its end when the process in between has gone for good: what it asks of its
        parent before that, its parent may still be the wrong one
    """
    try:
        os.read(hold, 1)
        os.close(hold)
        end_with_parent(starter)
        os.setsid()
        for descriptor in (1, 2):
            os.dup2(output, descriptor)
        os.close(output)
        link.send(str(os.getpid()).encode())
        link.close()
        sys.argv = [f"{module}", *arguments]
        setproctitle(" ".join([sys.executable, "-m", module, *arguments]))
        _name_logs(module.rpartition(".")[2])
        main = importlib.import_module(module).main
    except BaseException:
        traceback.print_exc()
        leave(1)
    run_main(main)


def _name_logs(name: str) -> None:
    """Give the log file of rcl its name: it takes what the C library thinks the program's is.

    That points to the process's title, arguments included.
    """
    program = ctypes.c_char_p.in_dll(ctypes.CDLL(None), "program_invocation_name")
    program.value = name.encode()
    _KEPT.append(program)


if __name__ == "__main__":
    sys.exit(main())
