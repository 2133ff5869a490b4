# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Numerical libraries compute with one thread, as a sum over several depends on their number.

They start as many as there are processors, and each waits busily: where a program of a run imports
numpy, that costs a tenth of a second of each processor.
"""

from __future__ import annotations

import os
from typing import Final

#: What the libraries that numpy may be built with read when they are loaded.
OF_NUMPY: Final = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
#: The same, and what others read: PyTorch, for example.
OF_ALL: Final = (*OF_NUMPY, "OMP_NUM_THREADS")


def use_one_thread() -> None:
    """Have numpy compute with one thread, unless the environment asks for another number.

    A program calls it before it imports numpy; what it starts inherits it.
    """
    for name in OF_NUMPY:
        os.environ.setdefault(name, "1")
