# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a run leaves in a process is freed before the next one begins there."""

from __future__ import annotations

import weakref

from ros2_cosim.core.process.memory import forget_former_run, settled_memory


class _Former:
    """Refers to itself, as nodes and what they call back do."""

    def __init__(self) -> None:
        self.itself = self


def test_what_refers_to_itself_is_freed_also_if_the_collector_has_passed_over_it() -> None:
    former = _Former()
    left = weakref.ref(former)
    with settled_memory():
        del former
    assert left() is not None, "the collector passes over what was there at the beginning"

    forget_former_run()

    assert left() is None


def test_what_is_in_use_stays() -> None:
    used = _Former()
    with settled_memory():
        pass
    forget_former_run()
    assert used.itself is used
