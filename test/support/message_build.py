# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Message packages as a user builds them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.patience import HANG_S


def build_messages(packages: Path, prefix: Path) -> dict[str, Any]:
    """What ``cosim messages build --json`` answers."""
    command = [sys.executable, "-m", "ros2_cosim.cli.main", "messages", "build", str(packages)]
    result = subprocess.run(
        [*command, "--prefix", str(prefix), "--json"],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert result.returncode == 0, result
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def set_variables(environment: dict[str, str], variables: Mapping[str, str]) -> None:
    """Put the variables that the command names before what an environment has."""
    for name, value in variables.items():
        environment[name] = os.pathsep.join(filter(None, [value, environment.get(name, "")]))
