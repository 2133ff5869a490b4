# SPDX-License-Identifier: Apache-2.0
"""What a wrong name may stand for, for messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(found: str, known: Iterable[str]) -> str:
    """A question with the known name that is most like the one found; empty if none is like it.

    A space is at its end: it stands before what is allowed.
    """
    near = get_close_matches(found, list(known), n=1)
    return f"did you mean '{near[0]}'? " if near else ""
