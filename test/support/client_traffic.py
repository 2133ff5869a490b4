# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A traffic manager of a real client, and ticks that do not wait for ever.

The client signals a condition without holding its lock (``TrafficManagerLocal::SynchronousTick``):
now and then the signal comes before the other thread waits for it, and both wait for ever, whatever
the server does. Another signal sets them free; a change of the mode sends one. It has to come over
the manager's own port: a call in this process waits for a lock that the stuck tick holds. The fewer
vehicles the manager has, the sooner it happens: every tick of a world beside a synchronous manager
has to be watched, the first one, too.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import msgpack

#: A tick that takes longer waits for ever [s]; far more than a busy machine needs.
_STUCK_S = 20.0


def set_free(port: int) -> None:
    """Send the signal that a stuck tick waits for to the manager at a port."""
    with socket.create_connection(("127.0.0.1", port), timeout=_STUCK_S) as connection:
        for call, mode in enumerate((False, True)):
            connection.sendall(msgpack.packb([0, call, "set_synchronous_mode", [mode]]))
            connection.recv(1024)


@contextmanager
def synchronous_traffic(
    client: Any, port: int, on_stuck: Callable[[], None] = lambda: None
) -> Iterator[tuple[Any, Callable[[], None]]]:
    """A synchronous manager at a port, and what to call for a tick; it is shut down at the end.

    ``on_stuck`` is told of each tick that had to be set free.
    """
    world = client.get_world()
    manager = client.get_trafficmanager(port)
    over = Event()
    begun: list[float] = []

    def watch() -> None:
        while not over.wait(1.0):
            if begun and time.monotonic() - begun[0] > _STUCK_S:
                on_stuck()
                set_free(port)

    def tick() -> None:
        begun.append(time.monotonic())
        world.tick()
        begun.clear()

    watcher = Thread(target=watch, name="ticks", daemon=True)
    watcher.start()
    manager.set_synchronous_mode(True)
    try:
        yield manager, tick
    finally:
        over.set()
        watcher.join()
        # The end joins the manager's thread, holding the interpreter's lock: that thread must not
        # wait for a signal that was lost, and a second one finds it waiting.
        set_free(port)
        time.sleep(0.1)
        manager.set_synchronous_mode(False)
        manager.shut_down()
