# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Ends of a run: which began in another process, and which of them that process reports."""

from __future__ import annotations

import pytest

from ros2_cosim.core.kernel.errors import (
    Aborted,
    AbortOrigin,
    Cancelled,
    RunError,
    begun_elsewhere,
    reported_elsewhere,
)


@pytest.mark.parametrize(
    ("error", "begun", "reported"),
    [
        (Aborted("why"), False, False),
        (Aborted("why", AbortOrigin.REQUEST), False, False),
        (Aborted("why", AbortOrigin.ELSEWHERE), True, True),
        (Aborted("why", AbortOrigin.UNREACHABLE), True, False),
        (Cancelled(), True, True),
        (RunError("why"), False, False),
        (ValueError(), False, False),
    ],
)
def test_an_error_says_where_the_end_began(
    error: BaseException, begun: bool, reported: bool
) -> None:
    assert begun_elsewhere(error) is begun
    assert reported_elsewhere(error) is reported


def test_an_abort_has_its_reason_and_by_default_a_participant_as_its_origin() -> None:
    assert str(Aborted("too fast")) == "too fast"
    assert Aborted("too fast").origin is AbortOrigin.PARTICIPANT
