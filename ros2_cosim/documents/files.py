# SPDX-License-Identifier: Apache-2.0
"""Reading and writing files in one go."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read_bounded(path: Path, maximum: int) -> bytes:
    """The content of an ordinary file.

    A named pipe or a device, which could keep its reader waiting or never end, is refused.

    :param maximum: largest size [bytes]
    :raises OSError: it cannot be read, is no ordinary file, or is larger
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(0, "Is a directory", str(path))
        if not stat.S_ISREG(mode):
            raise OSError(0, "found no ordinary file; pipes and devices are not read", str(path))
        data = file.read(maximum + 1)
    if len(data) > maximum:
        raise OSError(0, f"found more than {maximum} bytes, which is the most allowed", str(path))
    return data


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
