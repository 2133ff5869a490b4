# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Reading a slave description from a file: .dcpx, or a .dcp package."""

from __future__ import annotations

from pathlib import Path

from ros2_cosim.core.documents.files import cause_of, read_bounded
from ros2_cosim.dcp.standard.errors import DescriptionError
from ros2_cosim.dcp.standard.parse_description import parse_description
from ros2_cosim.dcp.standard.slave_description import SlaveDescription
from ros2_cosim.dcp.standard.slave_package import MAX_FILE_BYTES, read_package


def read_description(path: str | Path) -> SlaveDescription:
    """Read and check a slave description.

    :param path: a .dcpx file, or a .dcp package
    :raises DescriptionError: naming file and line
    """
    path = Path(path)
    if path.suffix == ".dcp":
        return read_package(path)
    try:
        data = read_bounded(path, MAX_FILE_BYTES)
    except OSError as error:
        raise DescriptionError(f"{path}: {cause_of(error)}") from None
    return parse_description(data, str(path))
