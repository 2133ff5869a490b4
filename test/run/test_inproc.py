# SPDX-License-Identifier: Apache-2.0
"""Runs in this process that cannot begin."""

from __future__ import annotations

from pathlib import Path

import pytest

from ros2_cosim.kernel.errors import CosimError
from ros2_cosim.run.bringup import RunRequest
from ros2_cosim.run.start import run_request

MODELS = """
from pathlib import Path

from ros2_cosim.kernel.model import Model


class Keeper(Model):
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
