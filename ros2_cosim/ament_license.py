# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The short notice of this project's files, as ``ament_copyright`` asks for it by entry point.

``ament_copyright`` knows the long header of the Apache License. Its licences are entry points
(ament/ament_lint, ``ament_copyright/licenses.py``): a package declares the header that it has.
Nothing is imported: the linter runs in the system's Python, for all packages of a workspace.
"""

from typing import NamedTuple


class NoticeOfFiles(NamedTuple):
    """What ``ament_copyright`` reads of a licence: the texts that it looks for in files."""

    name: str
    spdx: str
    file_headers: tuple[str, ...]
    license_files: tuple[str, ...]
    contributing_files: tuple[str, ...]


APACHE_2_SPDX = NoticeOfFiles(
    name="Apache License, Version 2.0, as an SPDX line",
    spdx="Apache-2.0",
    file_headers=("{copyright}\nSPDX-License-Identifier: Apache-2.0",),
    license_files=("Apache License\nVersion 2.0, January 2004",),
    contributing_files=("under the Apache License 2.0",),
)
