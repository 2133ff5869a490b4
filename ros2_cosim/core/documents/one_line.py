# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Texts of libraries and of files, made fit for one line of an error message."""

from __future__ import annotations

#: Longer texts repeat the file that they complain about.
LONGEST = 300


def one_line(text: object, longest: int = LONGEST) -> str:
    r"""A text without line breaks, control characters and length.

    >>> one_line("not closed\n+<road, line 5")
    'not closed +<road, line 5'
    """
    line = " ".join(str(text).split())
    if len(line) > longest:
        line = line[: longest - 3] + "..."
    return printable(line)


def printable(text: str) -> str:
    """A text with its control characters as escapes."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
