# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Handlers are called in the same order whatever the participant runs in."""

from __future__ import annotations

from typing import Any


def test_each_participant_logs_what_it_logs_in_process(observed: Any) -> None:
    assert observed.logs == observed.reference_logs


def test_handlers_stand_around_the_steps(observed: Any) -> None:
    for name in observed.names:
        calls = [line.split()[0] for line in observed.logs[name]]
        assert calls[0].startswith("on_communication_ready")
        assert calls[1] == "on_starting"
        assert set(calls[2:-2]) <= {"step", "answer"}
        assert calls[-2:] == ["on_stop", "on_shutdown"]
