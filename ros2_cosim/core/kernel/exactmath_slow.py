# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The rare and slow paths of ``exactmath``: whole numbers and decimals of any length.

Both are exact or correctly rounded by definition, so they too give the same bits everywhere.
"""

from __future__ import annotations

import decimal
import math
from functools import lru_cache
from typing import Final


def _half_pi_scaled(bits: int) -> int:
    """floor(pi/2 * 2**bits) by Machin's formula in integers."""
    one = 1 << (bits + 16)

    def arccot(n: int) -> int:
        power = total = one // n
        k, sign = 3, -1
        while power:
            power //= n * n
            total += sign * (power // k)
            k, sign = k + 2, -sign
        return total

    return (8 * arccot(5) - 2 * arccot(239)) >> 16


# The largest double has exponent 1024; 1216 bits leave a reduced argument with > 100 good bits.
_BIG_BITS: Final = 1216
_BIG_HALF_PI = _half_pi_scaled(_BIG_BITS)


@lru_cache(maxsize=256)  # the headings of straight roads come again and again
def reduce_exactly(x: float) -> tuple[int, float, float]:
    """Split x = n pi/2 + (hi + lo), n modulo 4, |hi| <= pi/4, by integers of any length."""
    mantissa, exponent = math.frexp(x)
    scaled = int(math.ldexp(mantissa, 53))
    shift = exponent - 53 + _BIG_BITS
    scaled = scaled << shift if shift >= 0 else scaled >> -shift
    n, rest = divmod(scaled, _BIG_HALF_PI)
    if 2 * rest > _BIG_HALF_PI:
        rest -= _BIG_HALF_PI
        n += 1
    # int -> float would overflow for long integers: keep 120 bits and split them exactly.
    excess = max(abs(rest).bit_length() - 120, 0)
    rest >>= excess
    hi = float(rest)
    lo = float(rest - int(hi))
    return n & 3, math.ldexp(hi, excess - _BIG_BITS), math.ldexp(lo, excess - _BIG_BITS)


_POW_CONTEXT = decimal.Context(
    prec=50, Emin=-99999, Emax=99999, rounding=decimal.ROUND_HALF_EVEN, traps=[]
)


def pow(x: float, y: float) -> float:
    """x**y for finite x >= 0 (any finite x if y is an integer) and finite y.

    Slow but correct: 50 decimal digits, then one rounding.

    :raises ValueError: negative base with a fractional exponent, zero base with a negative
        exponent, an argument that is infinite or not a number
    :raises OverflowError: result above the largest double
    """
    if x - x != 0.0 or y - y != 0.0:
        raise ValueError(f"pow({x!r}, {y!r}): both arguments must be finite")
    if y == 0.0:
        return 1.0
    odd = y == math.floor(y) and math.floor(y) % 2 == 1
    if x == 0.0:
        if y < 0.0:
            raise ValueError("math domain error")
        return x if odd else 0.0
    if x < 0.0 and y != math.floor(y):
        raise ValueError("math domain error")
    if y == 1.0:
        return x
    if y == 2.0 and 1e-150 < abs(x) < 1e150:
        return x * x
    base = decimal.Decimal(abs(x))
    logarithm = _POW_CONTEXT.ln(base)
    power = _POW_CONTEXT.multiply(logarithm, decimal.Decimal(y))
    if power > 710:
        raise OverflowError("math range error")
    result = float(_POW_CONTEXT.exp(power)) if power > -746 else 0.0
    if result == math.inf:
        raise OverflowError("math range error")
    return -result if x < 0.0 and odd else result
