# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The corpora: for each target a text file, an input in each line (base64).

They hold what coverage guidance has found beyond the seeds, made small, and inputs that have
broken a reader.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path

DIRECTORY = Path(__file__).with_name("corpora")


def read_corpus(name: str) -> list[bytes]:
    """The inputs of a target; empty if it has none."""
    path = DIRECTORY / f"{name}.txt"
    if not path.is_file():
        return []
    return [base64.b64decode(line, validate=True) for line in path.read_text("ascii").split()]


def write_corpus(name: str, inputs: Iterable[bytes]) -> None:
    """Replace the corpus of a target; short inputs come first."""
    chosen = sorted(set(inputs), key=lambda data: (len(data), data))
    lines = [base64.b64encode(data).decode() for data in chosen if data]
    (DIRECTORY / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), "ascii")
