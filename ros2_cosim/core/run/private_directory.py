# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Files of runs that other users of the machine can neither make nor read.

What a run leaves for other programs of its user (which domain it holds, how to reach it) is trusted
by them. It lies in a directory that belongs to the user alone: below ``XDG_RUNTIME_DIR`` where the
system provides one, otherwise in the directory for temporary files, with the number of the user in
its name. Directory and files are checked after they have been opened, by descriptor: what was
checked is what is used.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.kernel.errors import ConfigurationError

_NAME = "ros2_cosim"
#: Longest file that is read: a line of facts about a run; far more is not a file of this project.
MAX_BYTES = 65_536
_FILE = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class PrivateDirectory:
    """An open directory of this user alone; use as a context manager.

    :param path: where it is
    :raises ConfigurationError: it belongs to another user, or others can enter it
    :raises FileNotFoundError: it is not there
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._descriptor = os.open(path, _DIRECTORY)
        except FileNotFoundError:
            raise
        except OSError as error:
            reason = "no directory" if path.is_symlink() or path.exists() else cause_of(error)
            raise _refusal(path, f"found {reason}") from None
        status = os.fstat(self._descriptor)
        fault = _ownership(status)
        if fault is None and stat.S_IMODE(status.st_mode) & 0o077:
            fault = f"found mode {stat.S_IMODE(status.st_mode):o}"
        if fault is not None:
            os.close(self._descriptor)
            raise _refusal(path, fault)

    def __enter__(self) -> PrivateDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def names(self) -> list[str]:
        """The names of its files, sorted."""
        return sorted(os.listdir(self._descriptor))

    @contextlib.contextmanager
    def opened(self, name: str, *, create: bool = False) -> Iterator[int]:
        """A descriptor of a file for reading and writing.

        :raises ConfigurationError: it is not an ordinary file of this user
        :raises FileNotFoundError: it is not there, and not to be made
        """
        flags = _FILE | (os.O_CREAT if create else 0)
        path = self.path / name
        try:
            descriptor = os.open(name, flags, 0o600, dir_fd=self._descriptor)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise ConfigurationError(f"lock file {path}: {cause_of(error)}; remove it") from None
        try:
            status = os.fstat(descriptor)
            fault = _ownership(status)
            if fault is None and not (stat.S_ISREG(status.st_mode) and status.st_nlink <= 1):
                fault = "found no ordinary file"
            if fault is not None:
                raise ConfigurationError(
                    f"lock file {path}: {fault}; allowed is an ordinary file that you own, "
                    "remove it"
                )
            yield descriptor
        finally:
            os.close(descriptor)


def read_text(descriptor: int) -> str:
    """The content of a file; what is longer than any file of this project is cut."""
    return os.pread(descriptor, MAX_BYTES, 0).decode(errors="replace")


def write_text(descriptor: int, text: str) -> None:
    """Replace the content of a file."""
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text.encode(), 0)


def private_directory() -> PrivateDirectory:
    """The directory in which this process leaves files; it is made if it is not there.

    :raises ConfigurationError: another user has taken its place, or it cannot be made
    """
    path = _places()[0]
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError:
        pass  # no directory; opening it says so
    except OSError as error:
        raise _refusal(path, cause_of(error)) from None
    return PrivateDirectory(path)


def private_directories() -> Iterator[PrivateDirectory]:
    """The directories in which any process of this user may have left files, each open in turn.

    A run that a service has started need not have the ``XDG_RUNTIME_DIR`` of a terminal. What
    another user has put in such a place is passed over: it holds no file of this user.
    """
    for path in _places():
        try:
            directory = PrivateDirectory(path)
        except (OSError, ConfigurationError):
            continue
        with directory:
            yield directory


def _places() -> list[Path]:
    """The directory of this process, then where others of this user may have theirs."""
    temporary = Path(tempfile.gettempdir()) / f"{_NAME}-{os.getuid()}"
    given = [Path(os.environ.get("XDG_RUNTIME_DIR", "")), Path(f"/run/user/{os.getuid()}")]
    runtime = [path / _NAME for path in given if path.is_absolute() and _is_own(path)]
    first = runtime[:1] if runtime and runtime[0].parent == given[0] else [temporary]
    return list(dict.fromkeys([*first, *runtime, temporary]))


def _is_own(path: Path) -> bool:
    """Whether a directory belongs to this user, and no other one can write there."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(status.st_mode)
        and _ownership(status) is None
        and not status.st_mode & 0o022
        and os.access(path, os.W_OK)
    )


def _ownership(status: os.stat_result) -> str | None:
    """What is wrong with the owner; None: nothing."""
    return None if status.st_uid == os.getuid() else f"found owner {status.st_uid}"


def _refusal(path: Path, fault: str) -> ConfigurationError:
    return ConfigurationError(
        f"directory of runs {path}: {fault}; allowed is a directory of user {os.getuid()} with "
        "mode 700; remove it, or set XDG_RUNTIME_DIR"
    )
