# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Models that harm the worker that runs them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from ros2_cosim.core.kernel.model import Model


class KillsItsWorker(Model):
    """Kills the worker of its run in its first activation, as long as ``file`` is not there.

    :param file: made before it does so; empty: it always does
    """

    def __init__(self, context, parameters):
        self._file = parameters["file"]

    def activate(self, step):
        """Send nothing."""
        if not self._file or not Path(self._file).exists():
            if self._file:
                Path(self._file).touch()
            os.kill(os.getppid(), signal.SIGKILL)
            signal.pause()
        return {}
