# SPDX-License-Identifier: Apache-2.0
"""Simulated time: integer nanoseconds, its two bounds, and how it is written and read.

A point in time and a duration are both plain ``int`` nanoseconds. No float takes part: text
such as ``"0.1s"`` is read as an exact fraction, and a value finer than one nanosecond is
refused, never rounded.
"""

from __future__ import annotations

import re
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


def to_seconds(time: int) -> float:
    """Return a time [ns] in seconds, correctly rounded (int by int division is)."""
    return time / SECOND


def split_stamp(time: int) -> tuple[int, int]:
    """Return (sec, nanosec) as a ROS stamp holds them, with 0 <= nanosec < 1e9."""
    return divmod(time, SECOND)
