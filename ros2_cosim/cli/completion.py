# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a shell offers for the words of a command, beyond commands and options.

Each function takes the word as far as it is typed, and is called by the shell's script
(``cosim --show-completion``). It reports no errors: the command does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

#: Endings of scenario files.
SCENARIO_ENDINGS = (".json", ".yaml", ".yml")


def scenario_files(incomplete: str) -> list[str]:
    """Scenario files, and the directories on the way to them.

    A single directory would be taken as the whole word; it is opened instead.
    """
    found = list(_entries(incomplete))
    while len(found) == 1 and found[0].endswith("/"):
        inside = list(_entries(found[0]))
        if not inside:
            break
        found = inside
    return found


def laws(incomplete: str) -> list[str]:
    """Control laws that distributions offer by name."""
    from ros2_cosim.driving.controllers.registry import available_laws

    return _beginning(incomplete, available_laws())


def model_names(incomplete: str) -> list[str]:
    """Models that distributions offer by name."""
    from ros2_cosim.core.scenario.registry import available_models

    return _beginning(incomplete, available_models())


def library_names(incomplete: str) -> list[str]:
    """Scenarios of the library."""
    from ros2_cosim.core.scenario.library import NAMES

    return _beginning(incomplete, NAMES)


def shapes(incomplete: str) -> list[str]:
    """Run shapes that distributions offer."""
    from ros2_cosim.core.documents.offered import offered
    from ros2_cosim.core.run.request import SHAPE_GROUP

    return _beginning(incomplete, offered(SHAPE_GROUP))


def simulators(incomplete: str) -> list[str]:
    """Simulators that scenarios name by a word."""
    from ros2_cosim.core.scene.named_simulator import CARLA_KINDS, available_simulators

    return _beginning(incomplete, [*CARLA_KINDS, *available_simulators()])


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))


def _entries(incomplete: str) -> Iterator[str]:
    """Scenario files and directories that begin so, hidden ones only if asked for."""
    head, _, name = incomplete.rpartition("/")
    prefix = f"{head}/" if head or incomplete.startswith("/") else ""
    try:
        entries = sorted(Path(prefix or ".").expanduser().iterdir())
    except OSError:
        return
    for entry in entries:
        if not entry.name.startswith(name) or (entry.name.startswith(".") and not name):
            continue
        if entry.is_dir():
            yield f"{prefix}{entry.name}/"
        elif entry.suffix in SCENARIO_ENDINGS:
            yield f"{prefix}{entry.name}"
