# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Limits of this process that its run would reach: found before anything is started.

A process that has no descriptor or no memory left fails somewhere in a library, with words that do
not name the cause.
"""

from __future__ import annotations

import resource

from ros2_cosim.core.kernel.errors import ConfigurationError

#: Open files of one process of a run: sockets of the middleware, a bag, libraries being loaded.
FILES_OF_A_PROCESS = 64
#: The starter has the output of each process, and its end of the channel.
FILES_PER_PROCESS = 3
#: A participant on the lane of a run: what it waits with, the board, and its connections, both ends
#: of them in one process where it shares that with its neighbours. In the starter it has one.
FILES_PER_PARTICIPANT = 21
#: Address space of a ROS node with all that it imports [bytes]; most of it is never touched.
ADDRESS_SPACE = 768 << 20


def check_limits(processes: int, on_lane: int = 0) -> None:
    """Check whether a run of so many processes fits; a soft limit of open files is raised.

    :param on_lane: participants that are connected with each other by its lane
    :raises ConfigurationError: a limit is too low
    """
    needed = FILES_OF_A_PROCESS + FILES_PER_PROCESS * processes + FILES_PER_PARTICIPANT * on_lane
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if not _allows(hard, needed):
        raise ConfigurationError(
            f"limit of open files (ulimit -n): found {hard}; "
            f"a run of {processes} processes needs {needed}"
        )
    if not _allows(soft, needed):
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    check_space("a process of a run", ADDRESS_SPACE)


def check_space(process: str, needed: int) -> None:
    """Check whether a process fits into the address space that it may have [bytes].

    :param process: as the error names it
    :raises ConfigurationError: the limit is too low
    """
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if not _allows(space, needed):
        raise ConfigurationError(
            f"limit of memory (ulimit -v): found {space >> 10} KiB; "
            f"{process} needs {needed >> 10} KiB"
        )


def _allows(limit: int, needed: int) -> bool:
    return limit == resource.RLIM_INFINITY or limit >= needed
