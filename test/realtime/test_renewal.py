# SPDX-License-Identifier: Apache-2.0
"""What stands around a model when a run begins anew: made again, around the same model."""

from __future__ import annotations

import threading

import pytest
from support.behaviours import Plain
from support.coupling_signals import adapted
from support.virtual_clock import VirtualClock

from ros2_cosim.kernel.errors import ParticipantError
from ros2_cosim.kernel.model import Wrapper
from ros2_cosim.realtime.pacing import Pacer
from ros2_cosim.realtime.renewal import cannot_begin_anew, renewed
from ros2_cosim.realtime.run_settings import RealtimeRun


class Open(Plain):
    def __init__(self) -> None:
        self.calls: list[str] = []
        self.stop_reason: str | None = "done"

    def close(self) -> None:
        self.calls.append("close")


class Able(Open):
    def reset(self) -> None:
        self.calls.append("reset")


def test_a_model_that_holds_nothing_is_made_again() -> None:
    made = Plain()
    assert cannot_begin_anew(Wrapper(Plain())) == ""
    assert renewed(Wrapper(Wrapper(Plain())), "p", lambda: made) is made


def test_a_model_that_can_is_kept_whatever_stands_around_it() -> None:
    model = Able()
    assert cannot_begin_anew(Wrapper(Wrapper(model))) == ""
    assert renewed(Wrapper(Wrapper(model)), "p", Plain) is model
    assert model.calls == ["reset"]
    assert model.stop_reason is None


def test_a_model_that_cannot_is_named_and_nothing_is_done_to_it() -> None:
    model = Open()
    assert "a method close) and has no method reset" in cannot_begin_anew(Wrapper(model))
    with pytest.raises(ParticipantError, match="participant 'p' cannot begin anew: its model hold"):
        renewed(Wrapper(model), "p", Plain)
    assert model.calls == []


class Broken(Open):
    def reset(self) -> None:
        raise ValueError("no way back")


def test_a_reset_that_fails_is_said_with_its_line() -> None:
    with pytest.raises(ParticipantError) as raised:
        renewed(Wrapper(Broken()), "p", Plain)
    assert str(raised.value).startswith(
        "participant 'p' cannot begin anew: its method reset failed: ValueError: no way back ("
    )


def test_the_thread_of_a_slow_part_ends_and_its_model_stays_open() -> None:
    def threads() -> set[str]:
        return {t.name for t in threading.enumerate() if t.name.startswith("slow part")}

    model = Able()
    paced = RealtimeRun(Pacer(1.0, VirtualClock()))
    coupled = adapted(model, {}, run=paced)
    assert threads() == {"slow part slow"}
    assert renewed(coupled, "slow", Plain) is model
    assert threads() == set()
    assert model.calls == ["reset"]
