# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The same bits on other processors: vector and fused instructions are taken away.

numpy and the C library choose code by what the processor can do. Masking those abilities
shows what a run would give on an older machine, which has none of them.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from runs.cosim_process import PLATOON

from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario

CAR_FOLLOWING = PLATOON.with_name("car_following.yaml")
MASKED = {
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2_Usable,-FMA_Usable,-AVX_Usable,-FMA4_Usable,"
    "-AVX2,-FMA,-AVX,-FMA4,-AVX512F,-ERMS",
}


def masked_trace(output: Path, scenario: Path) -> str:
    """Trace hash of a run in a process from which those abilities are taken."""
    command = [sys.executable, "-m", "ros2_cosim.cli.main", "run", str(scenario)]
    command += ["--shape", "inproc", "--no-bag", "--out", str(output)]
    path = os.pathsep.join([str(PLATOON.parents[1]), os.environ.get("PYTHONPATH", "")])
    subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path, **MASKED},
        check=True,
        capture_output=True,
        timeout=200,
    )
    return str(json.loads((output / "summary.json").read_text())["trace_sha256"])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="masks x86-64 features; needs x86-64")
@pytest.mark.parametrize("scenario", [PLATOON, CAR_FOLLOWING], ids=lambda path: path.stem)
def test_masked_processor_features_change_no_bit(tmp_path: Path, scenario: Path) -> None:
    reference = run_inproc(load_scenario(scenario), tmp_path / "reference", record=False)
    assert masked_trace(tmp_path / "masked", scenario) == reference.trace_sha256
