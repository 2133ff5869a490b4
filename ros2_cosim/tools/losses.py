# SPDX-License-Identifier: Apache-2.0
"""How the starter of a run tells the clock that a process has ended which the run can spare.

Who was killed says nothing himself, and only the one who started a process knows at once: it
leaves a file with the name of the participant in the run's directory. That works alike under
``cosim run`` and ``ros2 launch``.
"""

from __future__ import annotations

import os
from pathlib import Path

#: Directory below that of the run's resolved scenario.
LOST = "lost"


def tell_loss(directory: Path, participant: str, how: str) -> None:
    """Say how the process of a participant ended.

    :param directory: where the resolved scenario of the run is
    """
    folder = directory / LOST
    folder.mkdir(exist_ok=True)
    # In one go: a reader sees nothing or all of it.
    part = folder / f".{participant}.{os.getpid()}"
    part.write_text(how, encoding="utf-8")
    part.replace(folder / participant)


def read_losses(directory: Path) -> dict[str, str]:
    """Participants whose processes have ended too early, and how."""
    try:
        names = sorted(os.listdir(directory / LOST))
    except FileNotFoundError:
        return {}
    return {
        name: (directory / LOST / name).read_text(encoding="utf-8")
        for name in names
        if not name.startswith(".")
    }
