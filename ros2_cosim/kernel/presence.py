# SPDX-License-Identifier: Apache-2.0
"""From when to when a participant takes part, and the points of its period in that time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.time import FOREVER, format_ns

if TYPE_CHECKING:
    from ros2_cosim.kernel.graph import ParticipantSpec


class Presence(NamedTuple):
    """A participant takes part from ``enter_ns`` (inclusive) to ``leave_ns`` (exclusive)."""

    participant: str
    enter_ns: int
    leave_ns: int


def first_periodic(spec: ParticipantSpec, enter_ns: int) -> int | None:
    """The first point of the grid offset + k * period at or after an entry.

    :returns: its time [ns]; None without a period, or if the participant leaves before it
    """
    if spec.period_ns is None:
        return None
    missing = max(0, enter_ns - spec.offset_ns)
    time = spec.offset_ns + -(-missing // spec.period_ns) * spec.period_ns
    return time if time < spec.leave_ns else None


def can_enter(spec: ParticipantSpec, enter_ns: int) -> bool:
    """Whether a participant that enters at this time can be activated before it leaves."""
    if enter_ns >= spec.leave_ns:
        return False
    return spec.activation is not None or first_periodic(spec, enter_ns) is not None


def check_presence(spec: ParticipantSpec) -> None:
    """Refuse a participant that could never be activated.

    :raises ConfigurationError: it enters before time 0, leaves before it has entered, or has no
        point of its period in between
    """
    who = f"participant '{spec.name}'"
    if spec.enter_ns < 0:
        raise ConfigurationError(
            f"{who}: enter is {format_ns(spec.enter_ns)}; it must not be negative"
        )
    if spec.leave_ns <= spec.enter_ns:
        raise ConfigurationError(
            f"{who}: leave is {format_ns(spec.leave_ns)}; it must be after enter "
            f"({format_ns(spec.enter_ns)})"
        )
    if not can_enter(spec, spec.enter_ns):
        raise ConfigurationError(
            f"{who}: leave is {format_ns(spec.leave_ns)}, before its first periodic activation; "
            "it would never run"
        )


def describe_presence(spec: ParticipantSpec) -> list[str]:
    """In words, what is not plain about when a participant takes part; nothing if all is."""
    words = ["enters when it is ready"] if spec.free_entry else []
    words += [f"enters at {format_ns(spec.enter_ns)}"] if spec.enter_ns else []
    words += [f"leaves at {format_ns(spec.leave_ns)}"] if spec.leave_ns < FOREVER else []
    return words + ([] if spec.required else ["not required"])
