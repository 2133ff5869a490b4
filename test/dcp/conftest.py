# SPDX-License-Identifier: Apache-2.0
"""Lets the tests of this room import the slaves they share; no test depends on speed."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("dcp", deadline=None)
settings.load_profile("dcp")
