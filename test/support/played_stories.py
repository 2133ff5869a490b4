# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""OpenSCENARIO files that are played, and when their events began."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.xosc_files import event, private, written

from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request

#: A period of the storyboard [s]: what is seen of a time is so much later at most.
PERIOD = 0.02
#: An action without effect.
NOTHING = private("<VisibilityAction graphics='true' sensors='true' traffic='true'/>")


def played(
    tmp_path: Path, text: str, *overrides: str, shape: str = "inproc", record: bool = False
) -> Summary:
    """Play a file; what the run leaves is in a directory with the name of the shape."""
    path, out = written(tmp_path, text), tmp_path / shape
    return run_request(RunRequest(path, set=overrides, shape=shape, out=out, record=record))


def figures(summary: Summary) -> dict[str, Any]:
    """The figures of the storyboard."""
    assert summary.figures is not None
    return summary.figures["storyboard"]


def begins(summary: Summary) -> dict[str, float]:
    """Event -> when it began first [s]."""
    found: dict[str, float] = {}
    for time, name in figures(summary)["events"]:
        found.setdefault(name, time)
    return found


def marker(name: str, start: str, times: int = 1) -> str:
    """An event without effect, which shows when its trigger fires."""
    return event(name, NOTHING, start, times=times)
