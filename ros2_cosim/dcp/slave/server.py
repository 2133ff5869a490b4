# SPDX-License-Identifier: Apache-2.0
"""Running a slave: its sockets, its loop, its clock.

One thread does everything. While a callback of the model computes for long, a second thread
takes over the sockets, so that INF_state is answered and STC_stop heard; it never touches
the model, and it sleeps as long as callbacks are short.
"""

from __future__ import annotations

import logging
import select
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ros2_cosim.dcp.description.model import SlaveDescription
from ros2_cosim.dcp.description.read import read_description
from ros2_cosim.dcp.slave.core import SlaveOptions
from ros2_cosim.dcp.slave.model import SlaveModel
from ros2_cosim.dcp.slave.slave import Slave
from ros2_cosim.dcp.slave.sockets import SlaveSockets
from ros2_cosim.dcp.wire.enums import ErrorCode, State, TransportProtocol
from ros2_cosim.dcp.wire.errors import DcpPeerLostError
from ros2_cosim.dcp.wire.transport import (
    is_local,
)

RELIEF_S = 0.02
"""A callback that runs longer than this leaves the sockets to the second thread."""
MAX_WAIT_S = 3600.0


class SlaveServer(SlaveSockets):
    """A slave on this machine's network.

    :param description: the slave's description, or the path of its .dcpx or .dcp file
    :param host, port: control address; port 0 takes a free one, None that of the description
    :param once: end after the first deregistration, and when the master is lost
    :param responsive: answer requests also during long callbacks
    :ivar port: the control port in use (the same number on TCP and UDP)
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
        responsive: bool = True,
        options: SlaveOptions | None = None,
    ) -> None:
        if not isinstance(description, SlaveDescription):
            description = read_description(description)
        offers = [t for t in (description.tcp, description.udp) if t is not None]
        if host is None:
            host = next((t.host for t in offers if t.host), None) or "127.0.0.1"
        if port is None:
            port = next((t.port for t in offers if t.port), 0) or 0
        super().__init__(description, host, port)
        self._once = once
        self._responsive = responsive
        self._lock = threading.Lock()
        self._busy = False
        self._busy_since = 0.0
        self._ending = False
        self._lost: str | None = None
        self._give_up_at: float | None = None
        self._wake_in, self._wake_out = socket.socketpair()
        self._wake_in.setblocking(False)
        self._register(self._wake_in, self._wake)
        ports = {int(p): self.port for p in TransportProtocol}
        self.slave = Slave(model, description, self, ports, is_local, options)

    def run(self) -> None:
        """Serve until deregistration (``once``), :meth:`stop` or the loss of the master.

        :raises DcpPeerLostError: ``once`` is set and the master went away
        """
        relief = threading.Thread(target=self._relieve, name="dcp-relief", daemon=True)
        self._lock.acquire()
        if self._responsive:
            relief.start()
        try:
            while not self._ending:
                self._turn()
            self.slave.leave()
            self._flush()
        finally:
            self._ending = True
            self._lock.release()
            if self._responsive:
                relief.join()
            self.close()
        if self._lost is not None:
            raise DcpPeerLostError(
                f"slave {self.description.name!r}: the master was lost: {self._lost}",
                slave=self.description.name,
            )

    def stop(self) -> None:
        """Make :meth:`run` return; may be called from any thread or signal handler."""
        self._ending = True
        with suppress(OSError):
            self._wake_out.send(b"x")

    def _turn(self) -> None:
        deadline = self.slave.deadline()
        if self._give_up_at is not None:
            deadline = min(deadline or self._give_up_at, self._give_up_at)
        timeout = None if deadline is None else max(0.0, deadline - time.monotonic())
        if timeout is None or timeout > 0:
            events = self._poller.poll(None if timeout is None else _milliseconds(timeout))
        else:
            events = self._poller.poll(0)
        self._serve(events)
        deadline = self.slave.deadline()
        if deadline is not None and time.monotonic() >= deadline:
            self.slave.on_time()
        self._flush()
        self._watch_for_master()

    def _watch_for_master(self) -> None:
        """With ``once``, end when the master does not even come back after its heartbeat
        was missed.
        """
        slave = self.slave
        if not self._once or slave.error_code != ErrorCode.PROTOCOL_ERROR_HEARTBEAT_MISSED:
            self._give_up_at = None
        elif self._give_up_at is None:
            interval = self.description.heartbeat
            self._give_up_at = time.monotonic() + float(interval or 0)
        elif time.monotonic() >= self._give_up_at:
            self.lost_master(slave.error_text)

    # -- the second thread -----------------------------------------------------------------

    def _relieve(self) -> None:
        """Serve the sockets while a callback has been running for long."""
        while not self._ending:
            time.sleep(RELIEF_S)
            seen = self._busy_since
            if not self._busy or time.monotonic() - seen < RELIEF_S:
                continue
            if not self._lock.acquire(timeout=RELIEF_S):
                continue
            try:
                if self._busy:
                    self._flush()
                    poller = select.poll()
                    for fd in self._handlers:
                        poller.register(fd, select.POLLIN)
                    self._serve(poller.poll(0))
                    deadline = self.slave.deadline()
                    if deadline is not None and time.monotonic() >= deadline:
                        self.slave.on_time()
                    self._flush()
            finally:
                self._lock.release()

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a callback with the sockets free for the second thread."""
        if threading.current_thread().name == "dcp-relief":
            raise RuntimeError("callbacks run in the main thread only")
        self._busy_since = time.monotonic()
        self._busy = True
        self._lock.release()
        try:
            return function(*arguments)
        finally:
            self._lock.acquire()
            self._busy = False

    def close(self) -> None:
        """Close every socket."""
        super().close()
        self._wake_in.close()
        self._wake_out.close()

    def _wake(self) -> None:
        with suppress(BlockingIOError):
            self._wake_in.recv(64)

    def lost_master(self, reason: str) -> None:
        """With ``once`` the loss of the master ends the slave."""
        if self._once:
            self._lost = reason
            self._ending = True

    def await_input(self, fresh: Callable[[], bool]) -> None:
        """Serve sockets until ``fresh()``, at most ``options.input_wait_s``."""
        until = time.monotonic() + self.slave.options.input_wait_s
        while not fresh() and not self._ending:
            left = until - time.monotonic()
            if left <= 0 or self.slave.state is not State.COMPUTING:
                return
            self._serve(self._poller.poll(_milliseconds(left)))
            self._flush()

    def deregistered(self) -> None:
        """Called by the engine when the slave is ALIVE again."""
        if self._once:
            self._ending = True

    def now(self) -> float:
        """UNIX time in seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds on the machine's monotonic clock."""
        return time.monotonic()


def _milliseconds(seconds: float) -> int:
    """For poll, which takes no longer times (a run may be told to start in a distant year)."""
    return max(0, int(min(seconds, MAX_WAIT_S) * 1000 + 0.999))


def serve(
    model: SlaveModel,
    description: SlaveDescription | str,
    host: str | None = None,
    port: int | None = None,
    *,
    once: bool = True,
    on_ready: Callable[[SlaveServer], None] | None = None,
    options: SlaveOptions | None = None,
    responsive: bool = True,
) -> None:
    """Run a slave until it is deregistered; SIGTERM and SIGINT end it cleanly.

    A callback of the model that is running then may finish; a second signal interrupts it.

    :param port: control port, 0 for a free one, None for that of the description
    :param on_ready: called with the server when it listens (``server.port``)
    :raises OSError: the address cannot be used
    :raises DcpPeerLostError: the master went away (only with ``once``)
    """
    server = SlaveServer(
        model,
        description,
        host=host,
        port=port,
        once=once,
        options=options,
        responsive=responsive,
    )
    former: dict[int, Any] = {}
    told = False

    def end(number: int, frame: object) -> None:
        """The first signal lets a running callback finish, a second one interrupts it."""
        nonlocal told
        if told:
            raise KeyboardInterrupt
        told = True
        server.stop()

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            former[int(number)] = signal.signal(number, end)
    logging.getLogger("ros2_cosim.dcp.slave.slave").info(
        "slave %s listens on %s:%d", server.description.name, server.host, server.port
    )
    try:
        if on_ready is not None:
            on_ready(server)
        server.run()
    finally:
        for former_number, handler in former.items():
            signal.signal(former_number, handler)
        server.close()
