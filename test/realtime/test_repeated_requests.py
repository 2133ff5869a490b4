# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A request that comes again is answered again, and done once."""

from __future__ import annotations

from ros2_cosim.core.realtime.repeated_requests import RepeatedRequests, Reply
from ros2_cosim.core.realtime.run_control import Answer

DONE = Answer(True, "done")


class Steps:
    """Requests that are done when it is said so."""

    def __init__(self) -> None:
        self.open: list[Reply] = []
        self.answers: list[Answer] = []

    def do(self, reply: Reply) -> None:
        self.open.append(reply)


def test_while_a_request_is_open_it_is_not_done_again_and_every_arrival_is_answered() -> None:
    requests, steps = RepeatedRequests(), Steps()
    for _ in range(3):
        requests.take(7, steps.answers.append, steps.do)
    assert len(steps.open) == 1
    assert steps.answers == []
    steps.open[0](DONE)
    assert steps.answers == [DONE] * 3


def test_after_it_was_done_it_has_the_same_answer() -> None:
    requests, steps = RepeatedRequests(), Steps()
    requests.take(7, steps.answers.append, steps.do)
    steps.open[0](DONE)
    requests.take(7, steps.answers.append, steps.do)
    assert len(steps.open) == 1
    assert steps.answers == [DONE, DONE]


def test_requests_without_a_number_are_each_done() -> None:
    requests, steps = RepeatedRequests(), Steps()
    for _ in range(2):
        requests.take(0, steps.answers.append, steps.do)
    assert len(steps.open) == 2


def test_only_the_newest_requests_are_remembered() -> None:
    requests, steps = RepeatedRequests(kept=2), Steps()
    for number in (1, 2, 3, 1, 3):
        requests.take(number, steps.answers.append, steps.do)
    assert len(steps.open) == 4
    for reply in steps.open:
        reply(DONE)
    assert len(steps.answers) == 5
