# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How compiled code makes named tuples."""

from __future__ import annotations

from typing import Final

#: Makes a named tuple of its class and a tuple. To call the class would go through Python, in
#: compiled code, too.
NEW: Final = tuple.__new__
