# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs in this process that cannot begin, or whose participants cannot report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.behaviours import Plain
from support.control_scenarios import chain
from support.virtual_clock import VirtualClock

from ros2_cosim.core.kernel.errors import CosimError, ParticipantError
from ros2_cosim.core.kernel.graph import Graph, ParticipantSpec
from ros2_cosim.core.kernel.model import Report
from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.messages.reporting import report_of
from ros2_cosim.core.realtime.pacing import Pacer
from ros2_cosim.core.realtime.run_control import Command, Request
from ros2_cosim.core.realtime.run_settings import RealtimeRun
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.schema import make_scenario

MODELS = """
from pathlib import Path

from ros2_cosim.core.kernel.model import FullModel, Model


class Keeper(FullModel):
    def __init__(self, context, parameters):
        self._note = Path(parameters["note"])
        self._note.write_text("open")

    def activate(self, step):
        return {}

    def close(self):
        self._note.write_text("closed")


class Refuser(Model):
    def __init__(self, context, parameters):
        raise RuntimeError("no such device")

    def activate(self, step):
        return {}
"""

SCENARIO = """
name: refused
duration: 1s
participants:
  keeper:
    model: refusing_models:Keeper
    period: 10ms
    parameters: {{note: {note}}}
  refuser:
    model: refusing_models:Refuser
    period: 10ms
"""


def test_models_that_were_made_are_closed_if_a_later_one_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "refusing_models.py").write_text(MODELS)
    note = tmp_path / "note"
    scenario = tmp_path / "refused.yaml"
    scenario.write_text(SCENARIO.format(note=note))
    with pytest.raises(CosimError, match="no such device"):
        run_request(RunRequest(scenario, shape="inproc", out=tmp_path / "out"))
    assert note.read_text() == "closed"


class Unreportable(Plain):
    """Reports what it is told to, or fails in it."""

    def __init__(self, figures: Any) -> None:
        self._figures = figures

    def activate(self, step: Step) -> dict[str, Any]:
        return {}

    def report(self) -> Report:
        if self._figures is None:
            raise ValueError("no\nfigures")
        return Report(figures=self._figures)


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        (None, "ValueError: no figures"),
        ({"gap": float("nan")}, "ValueError: Out of range float values are not JSON compliant"),
        ({"gap": {1.0}}, "TypeError: Object of type set is not JSON serializable"),
    ],
)
def test_a_report_that_fails_is_one_line_with_the_participant(figures: Any, said: str) -> None:
    graph = Graph([ParticipantSpec("p", 10)], [])
    runtime = ParticipantRuntime(graph, "p", Unreportable(figures))
    with pytest.raises(ParticipantError) as failed:
        report_of(runtime)
    assert str(failed.value).startswith(f"participant 'p' failed in its report: {said}")
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize("paused_ns", [0, 3_000_000_000])
def test_what_the_run_does_between_slices_counts_and_a_pause_does_not(
    tmp_path: Path, paused_ns: int
) -> None:
    """A paced run that a page shows said that it was faster than its rate."""
    clock = VirtualClock()
    realtime = RealtimeRun(Pacer(1.0, clock))
    with bring_up(
        RunRequest(make_scenario(chain("2s"), "chain"), shape="inproc", out=tmp_path / "out")
    ) as prepared:
        with InprocRun(
            prepared,
            realtime=realtime,
            progress=lambda time_ns: clock.work(30_000_000),
            slice_ns=100_000_000,
        ) as run:
            run.request(Request(Command.UNTIL, time_ns=1_000_000_000))
            clock.work(paused_ns)
            summary = run.finish()
    # The last activation is at 1.99 s; the page has 0.03 s of the time behind it, too.
    assert summary.sim_time_s == 2.0
    assert summary.wall_time_s == pytest.approx(2.0, abs=0.05)
    assert summary.rtf == pytest.approx(1.0, abs=0.03)
