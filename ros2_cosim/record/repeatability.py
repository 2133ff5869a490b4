# SPDX-License-Identifier: Apache-2.0
"""Whether another run has to be the same: the causes that say no, put together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Cause(NamedTuple):
    """Why a run cannot be repeated, and since which simulated time [s] (None: unknown)."""

    since_s: float | None
    why: str


def repeatability(causes: Iterable[Cause]) -> dict[str, Any]:
    """The fields of the summary: repeatable, or since when not and why.

    Of several causes the earliest counts as the begin; all are told, the earliest first.
    """
    found = sorted(causes, key=lambda cause: (cause.since_s is None, cause.since_s or 0.0))
    if not found:
        return {"repeatable": True}
    return {
        "repeatable": False,
        "not_repeatable_since_s": found[0].since_s,
        "not_repeatable_reason": "; ".join(cause.why for cause in found),
    }
