# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Programs of a run compute with one thread each, unless the user asks for another number."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ros2_cosim.core.process.one_thread import OF_NUMPY

PROGRAM = "import {}, numpy, os; print(os.environ[{!r}], len(os.listdir('/proc/self/task')))"


def found_in(package: str, **asked: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in OF_NUMPY}
    command = [sys.executable, "-c", PROGRAM.format(package, OF_NUMPY[0])]
    done = subprocess.run(
        command, env={**environment, **asked}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("package", ["ros2_cosim.cli", "ros2_cosim.ros.programs"])
def test_numpy_of_a_program_has_one_thread(package: str) -> None:
    assert found_in(package) == "1 1"


def test_the_user_may_ask_for_more() -> None:
    threads = min(2, os.cpu_count() or 1)
    assert found_in("ros2_cosim.cli", OPENBLAS_NUM_THREADS="2") == f"2 {threads}"
