# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The output directory of a run or a study: one at a time writes there."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import stat
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType

from ros2_cosim.core.documents.files import cause_of, read_bounded
from ros2_cosim.core.documents.plain_data import json_value
from ros2_cosim.core.documents.run_files import (
    CHANGES_FILE,
    FOXGLOVE_LAYOUT,
    RESOLVED_SCENARIO,
    RVIZ_VIEW,
)
from ros2_cosim.core.kernel.errors import ConfigurationError

#: File in the directory that is locked while something writes there. It stays, empty: a file that
#: is deleted and made again could be locked twice.
LOCK_FILE = ".lock"
#: Logs of the ROS nodes of a run.
LOG_DIRECTORY = "ros_log"
#: What runs write there.
_RESULTS = (
    LOG_DIRECTORY,
    "bag",
    "summary.json",
    "report.html",
    "activations.json",
    "arrivals.json",
    "traceback.txt",
    CHANGES_FILE,
    "values.json",
    "profile",
    "profile.json",
    "checkpoint-*s.ckpt",
    "fastdds.xml",
    "parameters.yaml",
    "host-*.json",
    *(f"again-{'[0-9]' * digits}" for digits in range(1, 7)),
    RESOLVED_SCENARIO,
    RVIZ_VIEW,
    FOXGLOVE_LAYOUT,
    # A process that was killed while it wrote one of them.
    ".*.part",
    # Of earlier versions.
    "lost",
    "required.json",
)
_ATTEMPTS = 5
#: A lock file says a line of facts; it may lie in a directory of another user [bytes].
_LONGEST_LOCK = 65_536


def repetition_directory(repetition: int) -> str:
    """Name of the directory, below the output, of the n-th time that a run began anew."""
    return f"again-{repetition}"


def repetitions(output: Path) -> list[Path]:
    """The directories of those times, in their order."""
    found: list[Path] = []
    while (path := output / repetition_directory(len(found) + 1)).is_dir():
        found.append(path)
    return found


class OutputDirectory:
    """An output directory that is held; use as a context manager.

    Entered, it exists and belongs to this process and to the processes that inherit
    :attr:`descriptor`: nothing else of this project writes there until the last of them has ended
    or this one has left it. Nothing in it is changed before :meth:`clear`.

    :param path: the directory; it is made if it is not there
    :param owner: what is going on, for the message to others, as ``run 'platoon'``
    :param kind: of what it is the output: ``run`` or ``study``
    :param marker: a file that shows that; other directories that hold something are refused.
        None: other files may lie there
    :param results: patterns of what :meth:`clear` removes
    """

    def __init__(
        self,
        path: Path,
        owner: str,
        *,
        kind: str = "run",
        marker: str | None = RESOLVED_SCENARIO,
        results: Sequence[str] = _RESULTS,
    ) -> None:
        self.path = path
        self._owner = owner
        self._kind = kind
        self._marker = marker
        self._results = results
        self._descriptor: int | None = None
        self._facts: dict[str, object] = {}

    @property
    def descriptor(self) -> int:
        """Open file that holds the lock."""
        assert self._descriptor is not None, "the directory is not held"
        return self._descriptor

    def __enter__(self) -> OutputDirectory:
        """Hold the directory.

        :raises ConfigurationError: something else holds it, it holds something else, or it cannot
            be written
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            # A run makes the lock file before anything else: what lies there without it comes
            # from elsewhere. (Looked for last: another run may begin at this moment.)
            if self._is_foreign() and not (self.path / LOCK_FILE).exists():
                raise self._foreign()
            descriptor = self._open()
        except OSError as error:
            raise self._error(cause_of(error)) from None
        try:
            self._hold(descriptor)
        except OSError as error:
            os.close(descriptor)
            raise self._error(cause_of(error)) from None
        except ConfigurationError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, 0)
            # Also for processes that have inherited it.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def announce(self, **facts: str) -> None:
        """Leave something that others need to know in the lock file."""
        self._facts.update(facts)
        self._write(self.descriptor)

    def clear(self, others: Iterable[str] = ()) -> None:
        """Remove what an earlier run has left.

        :param others: names of further files and directories that it may have made
        :raises ConfigurationError: that is not permitted
        """
        try:
            for pattern in (*self._results, *others):
                for path in self.path.glob(pattern):
                    if path.is_dir() and not path.is_symlink():
                        shutil.rmtree(path)
                    else:
                        path.unlink()
        except OSError as error:
            raise self._error(cause_of(error)) from None

    def _hold(self, descriptor: int) -> None:
        """Lock the directory, and check under the lock that it may be written."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._error(
                f"{self._holder()} writes there; wait for it, or name another directory"
            ) from None
        # The facts of a run that was killed, before it could leave the marker, show that too.
        if read_holder(self.path) is None and self._is_foreign():
            raise self._foreign()
        self._facts = {
            "pid": os.getpid(),
            "owner": self._owner,
            "since": time.strftime("%Y-%m-%d %H:%M:%S"),
        }
        self._write(descriptor)

    def _is_foreign(self) -> bool:
        """The directory holds something, and not the output of an earlier run."""
        if self._marker is None:
            return False
        names = {path.name for path in self.path.iterdir()} - {LOCK_FILE}
        return bool(names) and not (self.path / self._marker).exists()

    def _foreign(self) -> ConfigurationError:
        return self._error(
            f"not empty, and not the output of an earlier {self._kind}; name another directory"
        )

    def _open(self) -> int:
        # A link would have another file locked, or made.
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(self.path / LOCK_FILE, flags, 0o644)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(0, f"{LOCK_FILE} is not an ordinary file")
        return descriptor

    def _write(self, descriptor: int) -> None:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(self._facts).encode(), 0)

    def _holder(self) -> str:
        """The run that holds the directory, in words."""
        for _ in range(_ATTEMPTS):
            facts = read_holder(self.path)
            if facts is not None:
                return f"{facts['owner']} (process {facts['pid']}, since {facts['since']})"
            time.sleep(0.02)  # it has just begun, or ends
        return f"another {self._kind}"

    def _error(self, text: str) -> ConfigurationError:
        return ConfigurationError(f"output directory {shown(self.path)}: {text}")


def shown(path: Path) -> Path:
    """A path as the user reads it: relative, if it is below the working directory."""
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path


def was_left(directory: Path) -> bool:
    """Whether the last run that wrote there has ended, and not by being killed."""
    try:
        found = os.stat(directory / LOCK_FILE, follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size == 0


def read_holder(directory: Path) -> dict[str, object] | None:
    """What the run that holds a directory states about itself; None: unknown."""
    try:
        facts = json_value(read_bounded(directory / LOCK_FILE, _LONGEST_LOCK))
    except (OSError, ValueError):
        return None
    return facts if isinstance(facts, dict) and facts.keys() >= {"pid", "owner", "since"} else None
