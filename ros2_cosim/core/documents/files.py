# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Reading and writing files in one go, and why that may fail."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

#: Limits of a process that its user may have set, by the error that they cause.
_LIMITS = {
    errno.EFBIG: "limit of the size of a file, ulimit -f",
    errno.EMFILE: "limit of open files, ulimit -n",
}


def cause_of(error: Exception) -> str:
    """Why the operating system refused something, in words; a limit is named.

    :param error: from the operating system, or from a library that does not even ask it
    """
    if not isinstance(error, OSError):
        return str(error)
    # Errors of libraries, and time limits of sockets, have neither number nor text of the system.
    text = error.strerror or str(error) or type(error).__name__
    limit = _LIMITS.get(error.errno or 0)
    return f"{text} ({limit})" if limit else text


def in_words(error: BaseException) -> str:
    """What a program says of a failure: one of the operating system with the file, if it is one."""
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        if not place:
            try:
                os.getcwd()
            except FileNotFoundError:
                place = "the working directory: "
        return f"{place}{cause_of(error)}"
    return str(error)


def open_ordinary(path: Path) -> BinaryIO:
    """Open an ordinary file for reading.

    A named pipe or a device, which could keep its reader waiting or never end, is refused.

    :raises OSError: it cannot be read, or is not an ordinary file
    """
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    mode = os.fstat(file.fileno()).st_mode
    if stat.S_ISREG(mode):
        return file
    file.close()
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(0, "Is a directory", str(path))
    raise OSError(0, "found no ordinary file; pipes and devices are not read", str(path))


def read_bounded(path: Path, maximum: int) -> bytes:
    """The content of an ordinary file.

    :param maximum: largest size [bytes]
    :raises OSError: it cannot be read, is not an ordinary file, or is larger
    """
    with open_ordinary(path) as file:
        # Memory is taken for as many bytes as are requested: not for more than the file has.
        size = min(os.fstat(file.fileno()).st_size, maximum)
        data = file.read(size + 1)
        if len(data) > size:  # it grows meanwhile, or has no size, as files of the kernel
            data += file.read(maximum + 1 - len(data))
    if len(data) > maximum:
        raise OSError(0, f"found more than {maximum} bytes, which is the most allowed", str(path))
    return data


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace a file in one go: a reader sees the old file or the whole new one.

    The content goes to a hidden file ``.NAME.PID.part`` beside it first. Text is written in UTF-8;
    line ends do not change. A link stays and its target is replaced; what is not an ordinary file
    (a pipe, a terminal) is written to.

    :raises OSError: the directory does not exist or cannot be written; the file is named
    """
    data = content.encode() if isinstance(content, str) else content
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    except BaseException:
        part.unlink(missing_ok=True)
        raise
