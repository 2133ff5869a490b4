# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A slave of an FMU in its own process: foreign native code that crashes takes none along."""

from __future__ import annotations

import faulthandler
import logging
import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection

from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.dcp.slave.interfaces import SlaveOptions
from ros2_cosim.dcp.slave.server import SlaveServer
from ros2_cosim.dcp.slave.slave_model import SlaveModel
from ros2_cosim.dcp.standard.errors import DcpError, DescriptionError
from ros2_cosim.dcp.standard.slave_description import SlaveDescription

#: A process whose slave is deregistered ends within this time [s], or is killed.
_GRACE_S = 2.0
#: A process whose connection has ended is about to be reaped [s].
_REAPED_S = 2.0

#: Makes what the process serves, there.
Make = Callable[[], tuple[SlaveModel, SlaveDescription]]


class SlaveProcess:
    """A process that serves one slave on a free port of the loopback until it is deregistered.

    It is a copy of this one, to be made before this one has threads. It ends with this process;
    the temporary files that it leaves go when it is closed.

    :param name: of the slave
    :param file: what is run, for messages
    :param make: loads the slave; called in the new process
    :ivar port: where it listens
    :raises DescriptionError: the slave cannot be loaded
    """

    def __init__(self, name: str, file: str, make: Make, options: SlaveOptions) -> None:
        self.name = name
        self.file = file
        self._directory = tempfile.TemporaryDirectory(prefix="cosim-fmu-")
        fork = multiprocessing.get_context("fork")
        here, there = fork.Pipe(duplex=False)
        self._process = fork.Process(
            target=_serve, args=(there, self._directory.name, make, options), daemon=True
        )
        try:
            self._process.start()
            there.close()
            self.port = self._listening(here)
        except BaseException:
            self.close()
            raise
        finally:
            here.close()

    def _listening(self, link: Connection) -> int:
        try:
            found = link.recv()
        except EOFError:
            raise DescriptionError(
                f"slave {self.name!r} ({self.file}): {self.death() or 'it ended'} while it loaded"
            ) from None
        if isinstance(found, str):
            raise DescriptionError(found)
        return int(found)

    def death(self) -> str:
        """How the process died, in words; empty: it lives, or has ended in order."""
        self._process.join(_REAPED_S)
        code = self._process.exitcode or 0
        return f"crashed by {signal.Signals(-code).name}" if code < 0 else ""

    def kill(self) -> None:
        """End it at once."""
        if self._process.pid is not None:
            self._process.kill()
            self._process.join()

    def close(self) -> None:
        """End it, in order if its slave is deregistered, and delete what it left."""
        if self._process.pid is not None:
            self._process.join(_GRACE_S)
        self.kill()
        self._directory.cleanup()


def _serve(link: Connection, directory: str, make: Make, options: SlaveOptions) -> None:
    """The new process: tell the port, or why there is none, and serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the master that is interrupted
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    tempfile.tempdir = directory
    # The failure of a slave is reported by its master, in one line.
    logging.getLogger("ros2_cosim.dcp").setLevel(logging.CRITICAL)
    faulthandler.disable()
    try:
        model, description = make()
        server = SlaveServer(model, description, host="127.0.0.1", port=0, options=options)
    except (CosimError, OSError) as error:
        link.send(str(error))
        return
    link.send(server.port)
    link.close()
    with suppress(DcpError):  # the master knows itself why it has gone
        server.run()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
