# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Several faults of one scenario in one error."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ros2_cosim.core.documents.settings import in_one_line
from ros2_cosim.core.kernel.errors import ConfigurationError

_OF_PARTICIPANT = re.compile(r"participants\.([^.:]+)((?:\.[^:]+)?)(: .*)", re.DOTALL)
#: Names of participants with the same fault that are listed; of the others, the number.
_MOST_NAMES = 5


class ScenarioError(ConfigurationError):
    """What is wrong with a scenario, fault by fault."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__(in_one_line(faults))
        self.faults = faults


def folded(faults: Iterable[str]) -> list[str]:
    """The faults, those that several participants have alike as one: what a template makes has one.

    It stands at the place of the first of them and ends with the names of the others.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for fault in faults:
        found = _OF_PARTICIPANT.fullmatch(fault)
        if found is None:
            alike[(fault,)] = []
        else:
            name, key, text = found.groups()
            alike.setdefault((key, text), []).append(name)
    return [_folded(what, names) for what, names in alike.items()]


def _folded(what: tuple[str, ...], names: list[str]) -> str:
    if not names:
        return what[0]
    key, text = what
    first, *others = names
    listed = others[:_MOST_NAMES]
    if len(others) > _MOST_NAMES:
        listed.append(f"{len(others) - _MOST_NAMES} more")
    rest = f" (the same of {', '.join(listed)})" if listed else ""
    return f"participants.{first}{key}{text}{rest}"
