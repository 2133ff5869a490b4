# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Simulated time: integer nanoseconds, its two bounds, and how it is written and read.

A point in time and a duration are both plain ``int`` nanoseconds, since the start of the run. What
ROS calls the start (``start_time`` of a scenario) is added where a time leaves for ROS, and
subtracted where one comes from there: nothing that computes sees a large number, which would cost
a float its last digits. No float takes part: text
such as ``"0.1s"`` is read as an exact fraction, and a value finer than one nanosecond is
refused, never rounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from typing import Final

from ros2_cosim.core.kernel.errors import ConfigurationError

NEVER = -(2**63)
"""Before every point in time (the smallest signed 64-bit number)."""

FOREVER = 2**63 - 1
"""After every point in time (the largest signed 64-bit number)."""

NANOSECOND: Final = 1
MICROSECOND: Final = 1_000
MILLISECOND: Final = 1_000_000
SECOND: Final = 1_000_000_000

_UNITS = {
    "ns": NANOSECOND,
    "us": MICROSECOND,
    "\N{MICRO SIGN}s": MICROSECOND,
    "\N{GREEK SMALL LETTER MU}s": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "min": 60 * SECOND,
    "h": 3600 * SECOND,
}
# The digit counts bound the work that a hostile file can cause.
_DURATION = re.compile(r"([+-]?)([0-9]{1,19})(?:\.([0-9]{1,19}))? ?([a-z\u00b5\u03bc]{1,3})")
_BARE = re.compile(r"[+-]?[0-9]{1,19}(?:\.[0-9]{0,19})?")
#: Of the message about a number without a unit.
NEEDS_UNIT = "a time needs a unit: write"
_ALLOWED = "0, or a number with its unit, as in 10ms (units ns, us, ms, s, min, h)"


def saturating_add(time: int, duration: int) -> int:
    """Return ``time + duration`` held within NEVER..FOREVER; both bounds absorb any duration."""
    if time >= FOREVER or time <= NEVER:
        return FOREVER if time >= FOREVER else NEVER
    total = time + duration
    if total >= FOREVER:
        return FOREVER
    return max(NEVER, total)


def parse_duration(value: object, path: str = "duration", *, minimum: int = 0) -> int:
    """Read a duration from a scenario value, exactly.

    :param value: text of a decimal number and a unit, as ``"40 ms"``, or 0
    :param path: where the value stands, for the error message
    :param minimum: smallest duration allowed [ns]
    :returns: the duration [ns]
    :raises ConfigurationError: for any other type, a number other than 0 without unit, a fraction
        of a nanosecond, or a value outside ``minimum``..FOREVER
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ConfigurationError(f"{path}: found {value!r}; allowed is {_ALLOWED}")
    bare = str(value).strip()
    if _BARE.fullmatch(bare) and float(bare):
        raise ConfigurationError(f"{path}: found {bare}; {NEEDS_UNIT} {_meant(bare)}")
    nanoseconds = _parse_text("0s" if value == 0 or bare == "0" else bare, path)
    if not minimum <= nanoseconds <= FOREVER:
        raise ConfigurationError(
            f"{path}: found {_quote(value)}; allowed is {format_ns(minimum)} or more"
            f" (and less than 2^63 nanoseconds)"
        )
    return nanoseconds


def _meant(bare: str) -> str:
    """What a number without a unit probably means: earlier versions read nanoseconds."""
    digits = bare.lstrip("+-")
    nanoseconds = int(digits) if digits.isdecimal() else 0
    return format_ns(nanoseconds) if MILLISECOND <= nanoseconds < FOREVER else f"{digits}s"


def _parse_text(text: str, path: str) -> int:
    match = _DURATION.fullmatch(text.strip())
    unit = _UNITS.get(match[4]) if match else None
    if match is None or unit is None:
        raise ConfigurationError(f"{path}: found {_quote(text)}; allowed is {_ALLOWED}")
    sign, whole, decimals, _ = match.groups()
    decimals = decimals or ""
    exact = Fraction(int(whole + decimals), 10 ** len(decimals)) * unit
    if exact.denominator != 1:
        raise ConfigurationError(
            f"{path}: found {_quote(text)}, which is not a whole number of nanoseconds;"
            f" allowed is {_ALLOWED}"
        )
    return -exact.numerator if sign == "-" else exact.numerator


def _quote(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def format_ns(time: int) -> str:
    """Write a time or duration exactly, in the largest of s, ms, us, ns that makes it >= 1.

    ``parse_duration`` reads the result back to the same number, apart from the two bounds,
    which are written ``never`` and ``forever``.
    """
    if time <= NEVER:
        return "never"
    if time >= FOREVER:
        return "forever"
    if time == 0:
        return "0s"
    magnitude = abs(time)
    sign = "-" if time < 0 else ""
    for name in ("s", "ms", "us", "ns"):
        unit = _UNITS[name]
        if magnitude >= unit:
            break
    whole, rest = divmod(magnitude, unit)
    digits = len(str(unit)) - 1
    decimals = f".{rest:0{digits}d}".rstrip("0") if rest else ""
    return f"{sign}{whole}{decimals}{name}"


#: Where the seconds of a ROS stamp end (``int32``).
ROS_TIME_END: Final = 2**31 * SECOND

_DATE = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def parse_ros_time(value: object, path: str = "time") -> int:
    """Read a point in time as ROS counts it, since 1970 in UTC without leap seconds, exactly.

    :param value: a duration since then, a date as ``2026-01-31T12:00:00.5Z``, or a mapping of
        ``sec`` and ``nanosec``
    :param path: where the value stands, for the error message
    :returns: the time [ns], 0 or more and less than ``ROS_TIME_END``
    :raises ConfigurationError: it is something else, or outside of that
    """
    time = _parts_of_time(value)
    if isinstance(value, (int, float)) and value and not isinstance(value, bool):
        raise ConfigurationError(f"{path}: found {value}; {NEEDS_UNIT} {value}s")
    if time is None:
        try:
            time = parse_duration(value, path, minimum=NEVER)
        except ConfigurationError as error:
            raise ConfigurationError(
                f"{error}; or a date as 2026-01-31T12:00:00Z, or {{sec: 0, nanosec: 0}}"
            ) from None
    if not 0 <= time < ROS_TIME_END:
        raise ConfigurationError(
            f"{path}: found {_quote(value)}; allowed is a time from 1970-01-01T00:00:00Z to "
            "2038-01-19T03:14:07Z, as a stamp of ROS holds it"
        )
    return time


def _parts_of_time(value: object) -> int | None:
    """A time of a date or of a ROS stamp [ns]; None: it is neither."""
    if isinstance(value, Mapping):
        sec, nanosec = value.get("sec", 0), value.get("nanosec", 0)
        is_stamp = type(sec) is int and type(nanosec) is int and 0 <= nanosec < SECOND
        return sec * SECOND + nanosec if is_stamp and value.keys() <= {"sec", "nanosec"} else None
    match = _DATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    day, clock, decimals, zone = match.groups()
    try:
        date = datetime.fromisoformat(f"{day}T{clock}{'+00:00' if zone == 'Z' else zone}")
    except ValueError:
        return None
    whole = (date - _EPOCH) // timedelta(seconds=1)
    return whole * SECOND + int((decimals or "").ljust(9, "0"))


def to_seconds(time: int) -> float:
    """Return a time [ns] in seconds, correctly rounded (int by int division is)."""
    return time / SECOND


def split_stamp(time: int) -> tuple[int, int]:
    """Return (sec, nanosec) as a ROS stamp holds them, with 0 <= nanosec < 1e9."""
    return divmod(time, SECOND)
