# SPDX-License-Identifier: Apache-2.0
"""What is said while a foreign node is waited for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ros2_cosim.kernel.errors import ParticipantError
from ros2_cosim.ros import foreign_patience
from ros2_cosim.ros.foreign_patience import Patience

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
