# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A model whose step takes until a file is there: a run that ends when the test wants it.

Beside that file one with the suffix ``.waiting`` says that the step has begun.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.control_scenarios import Counter

from ros2_cosim.core.kernel.participant import ModelContext, Step

MODEL = "support.waiting_models:Waiting"


def waiting_file(file: Path) -> Path:
    """What is there once a model waits for a file."""
    return file.with_suffix(".waiting")


class Waiting(Counter):
    """Counts; its first step waits for the file."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        super().__init__(context, parameters)
        self._file = Path(parameters["file"])

    def activate(self, step: Step) -> Mapping[str, Any]:
        waiting_file(self._file).touch()
        while not self._file.exists():
            time.sleep(0.02)
        return super().activate(step)
