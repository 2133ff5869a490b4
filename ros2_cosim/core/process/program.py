# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What each program of this package does before it imports the rest."""

from __future__ import annotations

import os

from ros2_cosim.core.process.memory import collect_less_often
from ros2_cosim.core.process.one_thread import use_one_thread
from ros2_cosim.requirements import check_for_program


def begin_program() -> None:
    """Check that what is needed is there, else end with a sentence; settle threads and memory."""
    check_for_program()
    use_one_thread()
    # Else pydantic looks for plugins in the metadata of every package of the environment: 10 ms.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    collect_less_often()
