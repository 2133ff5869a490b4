# SPDX-License-Identifier: Apache-2.0
"""What the starter of a run and its clock tell each other about processes that can be spared.

Who was killed says nothing himself, and only the one who started a process knows at once: it
leaves a file with the name of the participant in the run's directory. Whom the system controller
has named as required the clock learns, and leaves it in a file there, too. That works alike under
``cosim run`` and ``ros2 launch``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path

#: Directory below that of the run's resolved scenario.
LOST = "lost"
#: File beside it with the names of the participants that are required, if somebody has said so.
REQUIRED = "required.json"


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


def tell_required(directory: Path, names: Collection[str]) -> None:
    """Say who is required, instead of what the scenario says."""
    part = directory / f".{REQUIRED}.{os.getpid()}"
    part.write_text(json.dumps(sorted(names)), encoding="utf-8")
    part.replace(directory / REQUIRED)


def read_required(directory: Path) -> frozenset[str] | None:
    """Who is required; None: as the scenario says."""
    try:
        return frozenset(json.loads((directory / REQUIRED).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
