# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a wrong name may stand for: for messages, and in classes of users."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from ros2_cosim.core.kernel.errors import ConfigurationError

#: Classes of these modules bring their own names, which are not misspelt ones.
_FOREIGN = ("builtins", "typing", "abc", "pydantic.main")


def did_you_mean(found: str, known: Iterable[str]) -> str:
    """A question with the known name that is most like the one found; empty if none is like it.

    A space is at its end: it stands before what is allowed.
    """
    near = get_close_matches(found, list(known), n=1)
    return f"did you mean '{near[0]}'? " if near else ""


def public_names(kind: type) -> list[str]:
    """The public names that a class defines itself, inherited ones of ``object`` aside."""
    return [name for name in vars(kind) if not name.startswith("_")]


def check_names(owner: str, names: Iterable[str], declared: Iterable[str]) -> None:
    """Refuse a name that looks like a misspelt declared one; other helpers are allowed.

    :raises ConfigurationError: a name is within two edits of a declared one
    """
    known = sorted(declared)
    for name in names:
        if name in known:
            continue
        near = [other for other in known if edit_distance(name, other) <= 2]
        if near:
            best = min(near, key=lambda other: (edit_distance(name, other), other))
            raise ConfigurationError(
                f"{owner}: found '{name}', which nothing calls; did you mean '{best}'? (Another "
                "name, or one that begins with an underscore, is allowed for a helper.)"
            )


def check_members(kind: type, where: str, declared: Iterable[str]) -> None:
    """The same for all members of a class, what it inherits included.

    :param where: how messages call the place that names the class
    :raises ConfigurationError: a member is within two edits of a declared one
    """
    wanted = tuple(declared)
    if (kind, wanted) not in _checked:
        own = (base for base in kind.__mro__ if base.__module__ not in _FOREIGN)
        names = [name for base in own for name in public_names(base)]
        check_names(f"{where}: {kind.__name__}", names, wanted)
        _checked.add((kind, wanted))


#: Classes whose members are right, and what these had to be.
_checked: set[tuple[type, tuple[str, ...]]] = set()


def edit_distance(one: str, other: str) -> int:
    """Least number of insertions, deletions and replacements between two texts (Levenshtein)."""
    if abs(len(one) - len(other)) > 2:
        return 3  # far enough apart for all uses here
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        before, row[0] = row[0], i
        for j, wanted in enumerate(other, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != wanted))
        if min(row) > 2:
            break  # it does not become less
    return row[-1]
