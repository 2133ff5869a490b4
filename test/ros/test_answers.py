# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Answers of services that are sent again until their clients have them."""

from __future__ import annotations

import threading
import warnings
from types import SimpleNamespace
from typing import Any

from support.patience import HANG_S

from ros2_cosim.ros.node.answers import NOT_FOUND, answer_of, answer_until_heard

#: How long one thread leaves the other the opportunity to disturb it.
_OPPORTUNITY_S = 0.3


def answering(send: Any) -> Any:
    """A service whose answers are sent by this function."""
    service = SimpleNamespace(send_response=send)
    answer_until_heard(service)
    return service


def test_an_answer_is_sent_again_until_its_client_is_found() -> None:
    sent: list[tuple[str, str]] = []

    def send(response: str, header: str) -> None:
        sent.append((response, header))
        if len(sent) < 3:
            warnings.warn(NOT_FOUND, RuntimeWarning, stacklevel=1)

    answering(send).send_response("yes", "to")
    assert sent == [("yes", "to")] * 3


def test_a_service_is_asked_again_until_it_has_answered() -> None:
    asked: list[str] = []
    given_up: list[Any] = []
    waits: list[float] = []

    def ask(request: str) -> Any:
        asked.append(request)
        answers = len(asked) == 3
        return SimpleNamespace(done=lambda: answers, result=lambda: "yes")

    client = SimpleNamespace(call_async=ask, remove_pending_request=given_up.append)
    assert answer_of(client, "well?", lambda condition, seconds: waits.append(seconds)) == "yes"
    assert (asked, len(given_up), waits) == (["well?"] * 3, 2, [0.5] * 3)


def test_threads_that_answer_at_one_time_leave_the_warnings_as_they_are() -> None:
    began, other_began, ended = threading.Event(), threading.Event(), threading.Event()

    def first(response: str, header: str) -> None:
        began.set()
        other_began.wait(_OPPORTUNITY_S)

    def second(response: str, header: str) -> None:
        other_began.set()
        ended.wait(_OPPORTUNITY_S)

    def answer_second() -> None:
        began.wait(HANG_S)
        answering(second).send_response("", "")

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("ignore")
        before = list(warnings.filters)
        other = threading.Thread(target=answer_second)
        other.start()
        answering(first).send_response("", "")
        ended.set()
        other.join(HANG_S)
        assert list(warnings.filters) == before
        warnings.simplefilter("always")
        warnings.warn("told", RuntimeWarning, stacklevel=1)
    assert [str(warning.message) for warning in said] == ["told"]
