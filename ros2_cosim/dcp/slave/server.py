# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Running a slave: its loop, its clock, its threads.

One thread does everything. While a callback of the model computes for long, a second thread
takes over the sockets, so that INF_state is answered and STC_stop heard; it never touches
the model, and it sleeps as long as callbacks are short.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.sockets.brief_waits import DIALOGUE_NS
from ros2_cosim.core.sockets.reactor import Reactor
from ros2_cosim.dcp.slave.interfaces import SlaveOptions
from ros2_cosim.dcp.slave.slave import Slave
from ros2_cosim.dcp.slave.slave_model import SlaveModel
from ros2_cosim.dcp.slave.sockets import SlaveSockets
from ros2_cosim.dcp.standard.enums import ErrorCode, State
from ros2_cosim.dcp.standard.errors import DcpPeerLostError
from ros2_cosim.dcp.standard.read_description import read_description
from ros2_cosim.dcp.standard.slave_description import SlaveDescription

logger = logging.getLogger("ros2_cosim.dcp.slave")

RELIEF_S = 0.02
"""A callback that runs longer than this leaves the sockets to the second thread."""


class SlaveServer:
    """A slave on this machine's network (the ``SlaveHost`` of its protocol side).

    :param description: the slave's description, or the path of its .dcpx or .dcp file
    :param host, port: control address; port 0 takes a free one, None that of the description
    :param once: end after the first deregistration, and when the master is lost
    :param moment: takes the simulated time [ns] of each callback, for a process that looks on
    :param look_ns: how long it looks for messages before it sleeps; 0 in the process of the master
    :ivar slave: the protocol side
    :ivar sockets: its transport
    :raises OSError: the address cannot be used
    """

    def __init__(
        self,
        model: SlaveModel,
        description: SlaveDescription | str,
        *,
        host: str | None = None,
        port: int | None = None,
        once: bool = True,
        options: SlaveOptions | None = None,
        moment: memoryview | None = None,
        look_ns: int = DIALOGUE_NS,
    ) -> None:
        if not isinstance(description, SlaveDescription):
            description = read_description(description)
        offers = [t for t in (description.tcp, description.udp) if t is not None]
        if host is None:
            host = next((t.host for t in offers if t.host), None) or "127.0.0.1"
        if port is None:
            port = next((t.port for t in offers if t.port), None) or 0
        self.description = description
        self.options = options or SlaveOptions()
        self._once = once
        self._moment = moment
        self._lock = threading.Lock()
        #: The second thread; 0: there is none yet.
        self._relief = 0
        self._busy = False
        self._busy_since = time.monotonic()
        self._lost: str | None = None
        #: The number of the signal that has ended it; 0: none has.
        self.ended_by = 0
        self._give_up_at: float | None = None
        with ExitStack() as opened:
            self.reactor = opened.enter_context(Reactor(look_ns))
            self.sockets = SlaveSockets(self.reactor, description, host, port)
            opened.callback(self.sockets.close)
            self.slave = Slave(model, description, self.sockets, self, self.options)
            opened.pop_all()  # the server is complete; close() releases them
        self.sockets.serve(self.slave, self._lost_master)

    @property
    def host(self) -> str:
        """The control host."""
        return self.sockets.host

    @property
    def port(self) -> int:
        """The control port in use (the same number on TCP and UDP)."""
        return self.sockets.port

    def run(self) -> None:
        """Serve until deregistration (``once``), :meth:`stop` or the loss of the master.

        :raises DcpPeerLostError: ``once`` is set and the master went away
        """
        relief = threading.Thread(target=self._relieve, name="dcp-relief", daemon=True)
        self._lock.acquire()
        relief.start()
        try:
            while not self.reactor.stopped:
                self._turn()
            self.slave.leave()
            self.sockets.flush()
        finally:
            self.reactor.stop()
            self._lock.release()
            relief.join()
            self.close()
        if self._lost is not None:
            raise DcpPeerLostError(
                f"slave {self.description.name!r}: the master was lost: {self._lost}",
                slave=self.description.name,
            )

    def stop(self) -> None:
        """Make :meth:`run` return; may be called from any thread or signal handler."""
        self.reactor.stop()

    def close(self) -> None:
        """Close every socket."""
        self.sockets.close()
        self.reactor.close()

    def _turn(self) -> None:
        deadline = self.slave.deadline()
        if self._give_up_at is not None:
            deadline = min(deadline or self._give_up_at, self._give_up_at)
        self.reactor.turn(None if deadline is None else int(deadline * SECOND))
        self._on_time()
        self.sockets.flush()
        self._watch_for_master()

    def _on_time(self) -> None:
        deadline = self.slave.deadline()
        if deadline is not None and time.monotonic() >= deadline:
            self.slave.on_time()

    def _watch_for_master(self) -> None:
        """With ``once``, end if the master does not come back after its heartbeat
        was missed.
        """
        slave = self.slave
        if not self._once or slave.error_code != ErrorCode.PROTOCOL_ERROR_HEARTBEAT_MISSED:
            self._give_up_at = None
        elif self._give_up_at is None:
            interval = self.description.heartbeat
            assert interval is not None  # else none could have been missed
            self._give_up_at = time.monotonic() + float(interval)
        elif time.monotonic() >= self._give_up_at:
            self._lost_master(slave.error_text)

    def _lost_master(self, reason: str) -> None:
        """With ``once`` the loss of the master ends the slave."""
        if self._once:
            self._lost = reason
            self.reactor.stop()

    # -- the second thread -------------------------------------------------------------------

    def _relieve(self) -> None:
        """Serve the sockets while a callback has been running for long."""
        self._relief = threading.get_ident()
        while not self.reactor.stopped:
            time.sleep(RELIEF_S)
            seen = self._busy_since
            if not self._busy or time.monotonic() - seen < RELIEF_S:
                continue
            if not self._lock.acquire(timeout=RELIEF_S):
                continue
            try:
                if self._busy:
                    self.sockets.flush()
                    self.reactor.serve_ready()
                    self._on_time()
                    self.sockets.flush()
            finally:
                self._lock.release()

    # -- what the protocol side asks for -----------------------------------------------------

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a callback with the sockets free for the second thread."""
        if threading.get_ident() == self._relief:
            raise RuntimeError("callbacks run in the main thread only")
        if self._moment is not None:
            self._moment[0] = self.slave.time_ns
        self._busy_since = time.monotonic()
        self._busy = True
        self._lock.release()
        try:
            return function(*arguments)
        finally:
            self._lock.acquire()
            self._busy = False

    def await_input(self, fresh: Callable[[], bool]) -> None:
        """Serve sockets until ``fresh()``, at most ``options.input_wait_s``."""

        def done() -> bool:
            self.sockets.flush()
            return fresh() or self.slave.state is not State.COMPUTING

        wait_ns = int(self.options.input_wait_s * SECOND)
        self.reactor.run_until(done, time.monotonic_ns() + wait_ns)

    def deregistered(self) -> None:
        """The slave is ALIVE again: with ``once`` its work is done."""
        if self._once:
            self.reactor.stop()

    def now(self) -> float:
        """UNIX time in seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds on the machine's monotonic clock."""
        return time.monotonic()


def serve(
    model: SlaveModel,
    description: SlaveDescription | str,
    *,
    on_ready: Callable[[SlaveServer], None] | None = None,
    **more: Any,
) -> None:
    """Run a slave until it is deregistered; SIGTERM and SIGINT end it cleanly.

    A callback of the model that is running then may finish; a second signal interrupts it.

    :param on_ready: called with the server when it listens (``server.port``)
    :param more: further arguments of :class:`SlaveServer`
    :raises OSError: the address cannot be used
    :raises DcpPeerLostError: the master went away (only with ``once``)
    """
    server = SlaveServer(model, description, **more)
    told = False

    def end(number: int) -> None:
        """The first signal lets a running callback finish, a second one interrupts it."""
        nonlocal told
        if told:
            raise KeyboardInterrupt
        told = True
        server.ended_by = number
        server.stop()

    logger.info("slave %s listens on %s:%d", server.description.name, server.host, server.port)
    try:
        with server.reactor.handling(end):
            if on_ready is not None:
                on_ready(server)
            server.run()
    finally:
        server.close()
