# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Elementary functions of whole arrays, by operations that give the same bits everywhere.

numpy's own sine and exponential differ in their last bits from one machine to the next.
"""

from __future__ import annotations

import numpy as np

from ros2_cosim.world.headless.sensing.axes import Floats

# pi/2 in two parts: the product of the first with a small integer is exact (Cody and Waite, 1980).
_HALF_PI_1 = 1.57079632673412561417e00
_HALF_PI_2 = 6.07710050650619224932e-11
_TWO_OVER_PI = 0.6366197723675814
# Taylor's coefficients: on [-pi/4, pi/4] what is left out is below the rounding.
_SIN = tuple(
    (-1.0) ** k / f
    for k, f in enumerate(
        (1.0, 6.0, 120.0, 5040.0, 362880.0, 39916800.0, 6227020800.0, 1307674368000.0)
    )
)
_COS = tuple(
    (-1.0) ** k / f
    for k, f in enumerate(
        (1.0, 2.0, 24.0, 720.0, 40320.0, 3628800.0, 479001600.0, 87178291200.0, 20922789888000.0)
    )
)
_LN2_HI = 6.93147180369123816490e-01
_LN2_LO = 1.90821492927058770002e-10
_INV_LN2 = 1.44269504088896338700e00
_EXP_TERMS = 14
_HALF_ROOT = 0.7071067811865476
_LOG_TERMS = 23  # the last odd number of the series
_LEAST_EXPONENT = -740.0


def sincos(angles: Floats) -> tuple[Floats, Floats]:
    """Sines and cosines [rad], right to about 1e-15 for angles of some turns."""
    n = np.floor(angles * _TWO_OVER_PI + 0.5)
    rest = (angles - n * _HALF_PI_1) - n * _HALF_PI_2
    square = rest * rest
    sine = np.full_like(rest, _SIN[-1])
    for coefficient in _SIN[-2::-1]:
        sine = sine * square + coefficient
    sine *= rest
    cosine = np.full_like(rest, _COS[-1])
    for coefficient in _COS[-2::-1]:
        cosine = cosine * square + coefficient
    quarter = n.astype(np.int64) & 3
    odd = (quarter & 1) == 1
    sines, cosines = np.where(odd, cosine, sine), np.where(odd, sine, cosine)
    sines = np.where(quarter >= 2, 0.0 - sines, sines)
    return sines, np.where((quarter == 1) | (quarter == 2), 0.0 - cosines, cosines)


def exp(values: Floats) -> Floats:
    """E to the power of values from -740 (below: as there) to 700."""
    values = np.maximum(values, _LEAST_EXPONENT)
    k = np.floor(values * _INV_LN2 + 0.5)
    rest = (values - k * _LN2_HI) - k * _LN2_LO
    total = np.ones_like(rest)
    for n in range(_EXP_TERMS, 0, -1):
        total = 1.0 + rest / n * total
    return np.ldexp(total, k.astype(np.int64))


def log(values: Floats) -> Floats:
    """Natural logarithms of positive numbers, right to about 1e-15."""
    mantissa, exponent = np.frexp(values)
    low = mantissa < _HALF_ROOT
    mantissa = np.where(low, 2.0 * mantissa, mantissa)
    exponent = exponent - low
    # ln m = 2 artanh((m - 1) / (m + 1)), of which the series is short near 1.
    s = (mantissa - 1.0) / (mantissa + 1.0)
    square = s * s
    total = np.full_like(s, 1.0 / _LOG_TERMS)
    for n in range(_LOG_TERMS - 2, 0, -2):
        total = total * square + 1.0 / n
    return exponent * _LN2_HI + (2.0 * s * total + exponent * _LN2_LO)
