# SPDX-License-Identifier: Apache-2.0
"""Writing files in one go."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace a file in one go: a reader sees the old file or the whole new one.

    The content goes to a hidden file ``.NAME.PID.part`` beside it first. Text is written in
    UTF-8 with line ends as they are.

    :raises OSError: the directory does not exist or cannot be written
    """
    data = content.encode() if isinstance(content, str) else content
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
