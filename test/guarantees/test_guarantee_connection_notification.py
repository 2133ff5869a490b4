# SPDX-License-Identifier: Apache-2.0
"""Who comes and who goes is told to those who ask to be told."""

from __future__ import annotations

from typing import Any


def test_each_participant_connects_and_disconnects_once(observed: Any) -> None:
    for told in (observed.connected, observed.disconnected):
        assert sorted(set(told)) == sorted(told)
        assert observed.names <= set(told)
    assert set(observed.connected) == set(observed.disconnected)
