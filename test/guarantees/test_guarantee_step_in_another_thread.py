# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The step can be handled in another thread, with the same result."""

from __future__ import annotations

import queue
import threading

from support.engine_network import digests
from support.step_systems import MS, Part, StepSystem


def build(threaded: bool) -> StepSystem:
    def work(time, step) -> None:
        newest = step.latest["x"]
        time.send("out", (step.time, newest and newest.value))

    jobs: queue.SimpleQueue[object] = queue.SimpleQueue()

    def worker() -> None:
        while (job := jobs.get()) is not None:
            time, step = job  # type: ignore[misc]
            work(time, step)
            time.complete_step()

    handlers = {}
    if threaded:
        handlers["on_starting"] = lambda: threading.Thread(target=worker).start()
        handlers["on_stop"] = lambda: jobs.put(None)
    step = (lambda time, step: jobs.put((time, step))) if threaded else work
    return StepSystem(
        a=Part(10 * MS, step, {"x": "b"}, True, asynchronous=threaded, handlers=handlers),
        b=Part(4 * MS, lambda time, step: {"out": step.time}),
    )


def test_it_gives_the_trace_of_the_blocking_one():
    blocking, asynchronous = build(False).run(100 * MS), build(True).run(100 * MS)
    assert digests(asynchronous.runtimes) == digests(blocking.runtimes)
