# SPDX-License-Identifier: Apache-2.0
"""Ticks of a real client that has a traffic manager of its own.

The client signals a condition without holding its lock (``TrafficManagerLocal::SynchronousTick``):
now and then the signal comes before the other thread waits for it, and both wait for ever, whatever
the server does. Another signal sets them free; the change of the mode sends one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

#: A tick that takes longer waits for ever [s]; far more than a busy machine needs.
_STUCK_S = 30.0


@contextmanager
def ticks_of(world: Any, manager: Any) -> Iterator[Callable[[], None]]:
    """What to call for a tick of a world; ``manager`` is in the synchronous mode."""
    ticked, over = Event(), Event()

    def watch() -> None:
        while not over.is_set():
            ticked.clear()
            if not ticked.wait(_STUCK_S) and not over.is_set():
                manager.set_synchronous_mode(False)
                manager.set_synchronous_mode(True)

    def tick() -> None:
        world.tick()
        ticked.set()

    watcher = Thread(target=watch, name="ticks", daemon=True)
    watcher.start()
    try:
        yield tick
    finally:
        over.set()
        ticked.set()
        watcher.join()
