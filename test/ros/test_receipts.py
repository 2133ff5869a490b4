# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What has reached a session: it is counted, and what it raises comes out in the next wait."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from ros2_cosim.core.kernel.errors import Cancelled
from ros2_cosim.core.kernel.membership import Presence
from ros2_cosim.core.messages.protocol import Completion, Horizon, PortPromise, RunChange
from ros2_cosim.ros.node.receipts import Receipts, by_numbers
from ros2_cosim.ros.node.short_forms import short_completion, short_horizon


def test_the_first_error_is_raised_once_and_before_the_signal() -> None:
    received = Receipts()
    got: list[tuple[Any, int, int]] = []

    def take(*message: Any) -> None:
        got.append(message)
        if len(got) > 1:
            raise ValueError(f"number {len(got)}")

    receive = received.guarded(take)
    receive("a", 1, 2)
    assert (got, received.handled, received.has_pending) == ([("a", 1, 2)], 1, False)
    received.raise_pending()
    receive("b", 3, 4)
    receive("c", 5, 6)
    assert (len(got), received.handled, received.has_pending) == (3, 3, True)
    received.stop_signal = signal.SIGTERM
    with pytest.raises(ValueError, match="number 2"):
        received.raise_pending()
    for _ in range(2):
        assert received.has_pending
        with pytest.raises(Cancelled, match="SIGTERM"):
            received.raise_pending()


def test_records_without_content_are_two_numbers_where_those_are_taken() -> None:
    got: list[Any] = []
    for pair in (None, lambda *numbers: got.append(numbers)):
        receive = by_numbers(got.append, pair)
        receive(b"record", 1, 2)
        receive(b"", 3, 4)
    assert got == [b"record", b"", b"record", (3, 4)]


def test_two_numbers_stand_for_a_record_that_says_nothing_else() -> None:
    completion = Completion("a", 7, 30, 99, "", ())
    assert short_completion(completion) == (30, 7)
    assert short_completion(completion._replace(stop_reason="enough")) is None
    assert short_completion(completion._replace(ports=(PortPromise("x", 1, 5),))) is None
    horizon = Horizon("run", 30, 99)
    assert short_horizon(horizon) == (30, 99)
    assert short_horizon(horizon._replace(presences=(Presence("late", 2, 99),))) is None
    changes = (RunChange(5, "a.gain", "1.0"),)
    assert short_horizon(horizon._replace(changes=changes)) is None
