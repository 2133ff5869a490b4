# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Terminals of FMUs: groups of variables that are connected as one (FMI 3.0, chapter 2.4.9)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ros2_cosim.core.documents.archives import opened_archive
from ros2_cosim.core.documents.fmi3 import TERMINALS_FILE
from ros2_cosim.core.documents.xml_reader import read_xml
from ros2_cosim.dcp.standard.errors import DescriptionError, WiringError


class FmuTerminal(NamedTuple):
    """One terminal; a nested one is named ``outer.inner``.

    ``members`` are the variables by the names of the members, in order. ``rule`` is ``plug``: all
    of them have to have a counterpart; ``bus``: those that have one are connected; ``sequence``:
    they are matched by order. Another rule is one that only its makers know.
    """

    name: str
    rule: str
    members: Mapping[str, str]


def read_terminals(path: Path) -> dict[str, FmuTerminal]:
    """The terminals of an FMU by name.

    :raises DescriptionError: the archive or the file in it cannot be read
    """
    with opened_archive(path, DescriptionError) as archive:
        if TERMINALS_FILE not in archive.namelist():
            return {}
        text = archive.read(TERMINALS_FILE)
    root = read_xml(text, f"{path}: {TERMINALS_FILE}", error=DescriptionError)
    return {
        terminal.name: terminal
        for group in root.findall("Terminals")
        for terminal in _terminals(group, "")
    }


def _terminals(parent: Any, prefix: str) -> Iterator[FmuTerminal]:
    for element in parent.findall("Terminal"):
        name = prefix + element.get("name", "")
        members = {
            member.get("memberName") or str(number): member.get("variableName", "")
            for number, member in enumerate(element.findall("TerminalMemberVariable"))
        }
        yield FmuTerminal(name, element.get("matchingRule", ""), members)
        yield from _terminals(element, f"{name}.")


def matched(one: FmuTerminal, other: FmuTerminal, where: str) -> list[tuple[str, str]]:
    """The pairs of variables that a connection of two terminals connects.

    :raises WiringError: a rule is not met, or not known
    """
    rules = {one.rule, other.rule}
    if not rules <= {"plug", "bus", "sequence"} or ("sequence" in rules and len(rules) > 1):
        raise WiringError(f"{where}: found matching rules '{one.rule}' and '{other.rule}'")
    if rules == {"sequence"}:
        if len(one.members) != len(other.members):
            raise WiringError(
                f"{where}: found {len(one.members)} and {len(other.members)} members; a sequence "
                "has as many as its counterpart"
            )
        return list(zip(one.members.values(), other.members.values(), strict=True))
    for this, there in ((one, other), (other, one)):
        alone = [name for name in this.members if name not in there.members]
        if this.rule == "plug" and alone:
            raise WiringError(
                f"{where}: terminal '{there.name}' has no member {', '.join(alone)}; "
                f"'{this.name}' is a plug and needs all"
            )
    return [
        (one.members[name], other.members[name]) for name in one.members if name in other.members
    ]
