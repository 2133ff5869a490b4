# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Zip archives from outside: bounded before anything in them is unpacked.

A zip archive of a megabyte may hold gigabytes, a million files, or paths that lead out of the
directory that it is unpacked to. What its directory says of sizes binds :mod:`zipfile`: no entry
is read beyond its stated size.

A path may lead through an archive: ``system.ssp/resources/plant.fmu`` is in ``system.ssp``.
"""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.kernel.errors import ConfigurationError

#: FMUs with a runtime or tables have some hundred megabytes and some thousand files.
MAX_BYTES = 1 << 30
MAX_ENTRIES = 20_000
#: Binaries and descriptions shrink to a tenth, repeated text to a fiftieth; a bomb to a thousandth.
MAX_RATIO = 100
#: Below this size the ratio does not matter.
_SMALL = 16 << 20


@contextmanager
def opened_archive(path: Path, error: type[ConfigurationError]) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive whose content can be unpacked: it is neither too large nor astray.

    :param error: class of the error to raise
    :raises ConfigurationError: (``error``) it is not an archive that can be read, or out of bounds
    """
    try:
        inner = inner_content(path, error)
        if inner is None and not path.is_file():
            raise error(f"{path}: {'no ordinary file' if path.exists() else 'no such file'}")
        with zipfile.ZipFile(path if inner is None else io.BytesIO(inner)) as archive:
            fault = _fault(archive.infolist())
            if fault is not None:
                raise error(f"{path}: {fault}")
            yield archive
    except ConfigurationError:
        raise
    except OSError as fault_:
        raise error(f"{path}: {cause_of(fault_)}") from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError) as fault_:
        raise error(f"{path}: no readable zip archive: {one_line(fault_)}") from None
    except Exception as fault_:  # zlib.error and its kin have no common base class
        raise error(f"{path}: {one_line(fault_)}") from None


def inner_content(path: Path, error: type[ConfigurationError]) -> bytes | None:
    """What a file in an archive has, if the path leads through one; None: it does not.

    :param error: class of the error to raise
    :raises ConfigurationError: (``error``) the archive is out of bounds, or has no such file
    """
    around = next((parent for parent in path.parents if parent.exists()), None)
    if around is None or not around.is_file():
        return None
    with opened_archive(around, error) as archive:
        name = path.relative_to(around).as_posix()
        if name not in archive.namelist():
            raise error(f"{path}: no such file in the archive")
        return archive.read(name)


def _fault(entries: list[zipfile.ZipInfo]) -> str | None:
    """What is wrong with the content of an archive; None: nothing."""
    if len(entries) > MAX_ENTRIES:
        return f"found {len(entries)} files in the archive; allowed are {MAX_ENTRIES}"
    size = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    if size > MAX_BYTES:
        return f"found {size} bytes when unpacked; allowed are {MAX_BYTES}"
    if size > max(_SMALL, MAX_RATIO * packed):
        return f"found {size} bytes packed into {packed}; allowed is the {MAX_RATIO}-fold"
    for entry in entries:
        # Before zipfile cuts it at a null byte and turns other separators round.
        name = entry.orig_filename
        mode = entry.external_attr >> 16
        if (
            not name
            or any(mark in name for mark in "\\:\0")
            or PurePosixPath(name).is_absolute()
            or ".." in PurePosixPath(name).parts
        ):
            return f"found path {name[:60]!r} in the archive; allowed are paths inside it"
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
            return f"found {name[:60]!r}, which is not an ordinary file, in the archive"
    return None
