# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The .dcp package: a zip archive with the description and further files."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

from ros2_cosim.core.documents.archives import opened_archive
from ros2_cosim.dcp.standard.errors import DescriptionError
from ros2_cosim.dcp.standard.parse_description import parse_description
from ros2_cosim.dcp.standard.slave_description import SlaveDescription
from ros2_cosim.dcp.standard.write_description import description_bytes

FOLDER = "v1.0"
DESCRIPTION = f"{FOLDER}/dcpSlaveDescription.dcpx"
MAX_FILE_BYTES = 16 * 1024 * 1024
_EPOCH = (1980, 1, 1, 0, 0, 0)


def read_package(path: str | Path) -> SlaveDescription:
    """The checked slave description inside a .dcp package.

    :raises DescriptionError: no zip archive, one out of bounds
        (:mod:`ros2_cosim.core.documents.archives`), no description in it, or a wrong one
    """
    path = Path(path)
    with opened_archive(path, DescriptionError) as archive:
        try:
            info = archive.getinfo(DESCRIPTION)
        except KeyError:
            raise DescriptionError(f"{path}: the package lacks {DESCRIPTION}") from None
        if info.file_size > MAX_FILE_BYTES:
            raise DescriptionError(
                f"{path}: {DESCRIPTION} has {info.file_size} bytes; at most {MAX_FILE_BYTES}"
            )
        data = archive.read(info)
    return parse_description(data, f"{path}:{DESCRIPTION}")


def write_package(
    description: SlaveDescription,
    path: str | Path,
    files: Mapping[str, bytes] | None = None,
) -> None:
    """Write a .dcp package; the same contents always give the same bytes.

    :param files: further contents by path inside the folder ``v1.0``
    :raises DescriptionError: a path leaves the folder or hides the description
    """
    contents = {DESCRIPTION: description_bytes(description)}
    for name, data in sorted((files or {}).items()):
        parts = Path(name).parts
        target = f"{FOLDER}/{Path(name).as_posix()}"
        if not parts or ".." in parts or Path(name).is_absolute() or target in contents:
            raise DescriptionError(f"{path}: {name!r} cannot be a path inside {FOLDER}")
        contents[target] = data
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
