# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The sentence about a process that a crash of native code has ended."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ros2_cosim.core.kernel.time import format_ns

if TYPE_CHECKING:
    from ros2_cosim.core.scenario.schema import Scenario

#: Signals by which a process ends itself; what it printed before says why (as, no memory).
OWN_SIGNALS = frozenset(
    {signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSYS}
)


def crash_of(scenario: Scenario, found: tuple[str, int] | None, number: int) -> str:
    """A crash in words: participant, the files that its parameters name, signal, simulated time.

    Empty: the process is not one that has crashed, or its activation is not known.
    """
    if found is None or number not in OWN_SIGNALS:
        return ""
    name, time_ns = found
    participant = scenario.participants[name]
    other = participant.substitute
    texts = [*_texts(participant.parameters), *_texts(other.parameters if other else {})]
    directory = Path(scenario.base_directory)
    files = [text.partition(":")[0] for text in texts]
    named = ", ".join(
        dict.fromkeys(file for file in files if file and (directory / file).is_file())
    )
    return (
        f"participant '{name}'{f' ({named})' * bool(named)} crashed by "
        f"{signal.Signals(number).name} in its activation at {format_ns(time_ns)}"
    )


def _texts(value: Any) -> Iterator[str]:
    """The texts in a parameter, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
