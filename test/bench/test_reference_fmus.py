# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The table of FMUs beside FMPy's own simulation: rows that are equal, and one that is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.fmu_builder import build_fmu

from bench import reference_fmus


def test_each_interface_type_is_a_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ball2", "ball3", "lag2"):
        build_fmu(name, tmp_path)
    monkeypatch.setattr(sys, "argv", ["reference_fmus", str(tmp_path)])
    assert reference_fmus.main() == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[:3] + row[4:] for row in rows] == [
        ["ball2", "2.0", "model_exchange", "256", "768", "0"],
        ["ball3", "3.0", "model_exchange", "256", "768", "0"],
        ["lag2", "2.0", "co_simulation", "256", "256", "0"],
    ]


def test_a_value_that_differs_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fmu = build_fmu("ball2", tmp_path)
    monkeypatch.setattr("ros2_cosim.dcp.fmi.model_exchange.TOLERANCE", 1e-3)
    monkeypatch.setattr("ros2_cosim.dcp.fmi.model_exchange._STEPS", 49.0)
    (found,) = reference_fmus.compared(fmu)
    assert 0 < found.different <= found.values
