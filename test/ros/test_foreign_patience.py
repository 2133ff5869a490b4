# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is said while a foreign node is waited for."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType

import pytest
from support.patience import until

from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.ros.foreign import foreign_patience
from ros2_cosim.ros.foreign.foreign_patience import Patience
from ros2_cosim.ros.foreign.foreign_process import ForeignProcess

UNCONFIGURED = "the lifecycle node /acc is unconfigured"
INACTIVE = "the lifecycle node /acc is inactive"


@pytest.fixture
def patience() -> Iterator[Patience]:
    made = Patience("acc", 1000.0)
    yield made
    made.close()


def test_what_is_waited_for_is_said_when_it_lasts_and_when_it_changes(
    patience: Patience, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    state = [UNCONFIGURED]
    patience.begin(lambda: state[0])
    patience.check()
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(foreign_patience, "TOLD_AFTER_S", 0.0)
    patience.begin(lambda: state[0])
    patience.check()
    patience.check()
    state[0] = INACTIVE
    patience.check()
    said = "participant 'acc', at the start: waits for the foreign node. Missing: "
    assert capsys.readouterr().out.splitlines() == [said + UNCONFIGURED, said + INACTIVE]


def test_it_is_told_after_a_while_and_ends_after_the_time_that_is_set(
    patience: Patience, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 7
    monkeypatch.setattr(foreign_patience.time, "monotonic_ns", lambda: now)
    patience.seconds = 6.0
    patience.begin(lambda: UNCONFIGURED)
    for time_ns, said in ((5_000_000_006, 0), (5_000_000_007, 1), (6_000_000_007, 0)):
        now = time_ns
        patience.check()
        assert len(capsys.readouterr().out.splitlines()) == said
    now += 1
    with pytest.raises(ParticipantError, match="keeps the run waiting for 6 s"):
        patience.check()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_wait_and_reaches_who_had_it_before(number: signal.Signals) -> None:
    got: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        got.append(number)

    before = signal.signal(number, handle)
    try:
        patience = Patience("acc", 1000.0)
        patience.begin(lambda: UNCONFIGURED)
        patience.check()
        signal.raise_signal(number)
        assert got == [number]
        with pytest.raises(KeyboardInterrupt):
            patience.check()
        patience.close()
        assert signal.getsignal(number) is handle
        # What another one has set meanwhile stays.
        patience = Patience("acc", 1000.0)
        signal.signal(number, signal.SIG_IGN)
        patience.close()
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_a_signal_without_a_handler_ends_the_wait_alone(
    patience: Patience,
) -> None:
    patience.begin(lambda: UNCONFIGURED)
    signal.raise_signal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        patience.check()


def test_the_end_of_the_process_is_told_at_once(patience: Patience, nothing_left: None) -> None:
    program = [sys.executable, "-S", "-c", "raise SystemExit(3)"]
    patience.process = ForeignProcess(program, os.environ, "here")
    until(patience.process.ended)
    patience.begin(lambda: UNCONFIGURED)
    with pytest.raises(ParticipantError, match=f"exit code 3; .*Missing: {UNCONFIGURED}"):
        patience.check()
    patience.process.close()


def test_what_was_waited_for_is_said_at_the_end(patience: Patience) -> None:
    patience.seconds = -1.0
    patience.begin(lambda: UNCONFIGURED)
    with pytest.raises(ParticipantError, match=f"keeps the run waiting .*Missing: {UNCONFIGURED}"):
        patience.check()


def test_a_known_cause_is_said_with_what_is_missing(patience: Patience) -> None:
    patience.causes = lambda: ["output 'sum': the node publishes std_msgs/msg/String"]
    patience.seconds = -1.0
    patience.begin(lambda: "output 'sum': 0 of 1 messages came on sum")
    with pytest.raises(ParticipantError) as caught:
        patience.check()
    assert str(caught.value).endswith(
        "Missing: output 'sum': 0 of 1 messages came on sum; output 'sum': the node publishes "
        "std_msgs/msg/String"
    )
