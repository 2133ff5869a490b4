# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Elementary functions that give the same bits on every machine.

``math.sin`` and its relatives are the C library's; their last bit changes with the library
and even with the CPU (fused multiply-add variants are chosen at run time). Everything that
feeds a simulation result uses this module instead. It is built from operations that
IEEE 754 defines to the last bit: ``+ - * /``, comparison, ``math.sqrt``, ``math.floor``,
``math.fmod``, ``math.frexp`` and ``math.ldexp``; CPython runs each of them as a separate
double operation. They are imported by name, so that mypyc compiles them to machine operations.

The functions follow ``math`` in arguments, special values and exceptions (``ValueError``
for a domain error, ``OverflowError`` for a result out of range). Errors stay below 1 ulp for
``sin cos atan exp log``, below 2 ulp for ``tan asin acos atan2 log1p hypot``. Each call takes
about 0.2 to 1 microsecond, but ``pow`` (correctly rounded in practice) takes tens of them.

Coefficients of the polynomials: fdlibm 5.3 (Sun Microsystems, 1993; files k_sin.c, k_cos.c,
s_atan.c, e_exp.c, e_log.c). Argument reduction: W. J. Cody and W. Waite, "Software Manual for
the Elementary Functions", 1980, with an exact integer reduction (``exactmath_slow``) for hard and
large arguments.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from math import copysign, floor, fmod, frexp, inf, isnan, ldexp, sqrt
from typing import Final

from ros2_cosim.core.kernel.exactmath_slow import pow, reduce_exactly

__all__ = [
    "DEGREE",
    "PI",
    "RADIAN",
    "TWO_PI",
    "acos",
    "asin",
    "atan",
    "atan2",
    "cos",
    "degrees",
    "exp",
    "float32",
    "hypot",
    "log",
    "log1p",
    "pow",
    "radians",
    "sin",
    "sincos",
    "sqrt",
    "tan",
    "total",
    "wrap_angle",
]

PI: Final = 3.141592653589793
TWO_PI: Final = 6.283185307179586
_INF: Final = inf

DEGREE: Final = 0.017453292519943295
RADIAN: Final = 57.29577951308232

# --- sine and cosine ---------------------------------------------------------------------

_QUARTER_PI: Final = 0.7853981633974483
_TWO_OVER_PI: Final = 0.6366197723675814
# pi/2 in parts of 33 bits: a product with an integer below 2**20 is exact.
_HALF_PI_1: Final = 1.57079632673412561417e00
_HALF_PI_2: Final = 6.07710050630396597660e-11
_HALF_PI_2_TAIL: Final = 2.02226624879595063154e-21
_REDUCTION_LIMIT: Final = 1.0e6
# Below this a reduced argument has lost too many bits: the exact reduction takes over.
_CANCELLATION_LIMIT: Final = 1.0e-7

_S1: Final = -1.66666666666666324348e-01
_S2: Final = 8.33333333332248946124e-03
_S3: Final = -1.98412698298579493134e-04
_S4: Final = 2.75573137070700676789e-06
_S5: Final = -2.50507602534068634195e-08
_S6: Final = 1.58969099521155010221e-10

_C1: Final = 4.16666666666666019037e-02
_C2: Final = -1.38888888888741095749e-03
_C3: Final = 2.48015872894767294178e-05
_C4: Final = -2.75573143513906633035e-07
_C5: Final = 2.08757232129817482790e-09
_C6: Final = -1.13596475577881948265e-11


def _reduce(x: float) -> tuple[int, float, float]:
    """Split x = n pi/2 + (hi + lo) with |hi| <= pi/4 (a little more), n modulo 4."""
    if -_REDUCTION_LIMIT < x < _REDUCTION_LIMIT:
        n = floor(x * _TWO_OVER_PI + 0.5)
        first = x - n * _HALF_PI_1
        second = n * _HALF_PI_2
        rest = first - second
        tail = n * _HALF_PI_2_TAIL - ((first - rest) - second)
        hi = rest - tail
        if hi > _CANCELLATION_LIMIT or hi < -_CANCELLATION_LIMIT:
            return n & 3, hi, (rest - hi) - tail
    elif x - x != 0.0:
        raise ValueError("math domain error")
    return reduce_exactly(x)


def _sin_kernel(x: float, tail: float) -> float:
    z = x * x
    v = z * x
    r = _S2 + z * (_S3 + z * (_S4 + z * (_S5 + z * _S6)))
    return x - ((z * (0.5 * tail - v * r) - tail) - v * _S1)


def _cos_kernel(x: float, tail: float) -> float:
    z = x * x
    r = z * (_C1 + z * (_C2 + z * (_C3 + z * (_C4 + z * (_C5 + z * _C6)))))
    half = 0.5 * z
    w = 1.0 - half
    return w + (((1.0 - w) - half) + (z * r - x * tail))


def sin(x: float) -> float:
    """Sine of x [rad]; ValueError for an infinity."""
    if -_QUARTER_PI <= x <= _QUARTER_PI:
        z = x * x
        r = _S2 + z * (_S3 + z * (_S4 + z * (_S5 + z * _S6)))
        return x + z * x * (_S1 + z * r) if z else x
    if isnan(x):
        return x
    n, hi, lo = _reduce(x)
    if n == 0:
        return _sin_kernel(hi, lo)
    if n == 1:
        return _cos_kernel(hi, lo)
    if n == 2:
        return -_sin_kernel(hi, lo)
    return -_cos_kernel(hi, lo)


def cos(x: float) -> float:
    """Cosine of x [rad]; ValueError for an infinity."""
    if -_QUARTER_PI <= x <= _QUARTER_PI:
        return _cos_kernel(x, 0.0)
    if isnan(x):
        return x
    n, hi, lo = _reduce(x)
    if n == 0:
        return _cos_kernel(hi, lo)
    if n == 1:
        return -_sin_kernel(hi, lo)
    if n == 2:
        return -_cos_kernel(hi, lo)
    return _sin_kernel(hi, lo)


def sincos(x: float) -> tuple[float, float]:
    """(sin x, cos x), the same bits as the two functions, with one argument reduction."""
    if -_QUARTER_PI <= x <= _QUARTER_PI:
        # The kernels written out: two calls less where most angles are.
        z = x * x
        half = 0.5 * z
        w = 1.0 - half
        r = z * (_C1 + z * (_C2 + z * (_C3 + z * (_C4 + z * (_C5 + z * _C6)))))
        c = w + (((1.0 - w) - half) + z * r)
        r = _S2 + z * (_S3 + z * (_S4 + z * (_S5 + z * _S6)))
        return (x + z * x * (_S1 + z * r) if z else x), c
    if isnan(x):
        return x, x
    n, hi, lo = _reduce(x)
    s = _sin_kernel(hi, lo)
    c = _cos_kernel(hi, lo)
    if n == 0:
        return s, c
    if n == 1:
        return c, -s
    if n == 2:
        return -s, -c
    return -c, s


def tan(x: float) -> float:
    """Tangent of x [rad]; ValueError for an infinity."""
    s, c = sincos(x)
    return s / c


# --- inverse functions -------------------------------------------------------------------

# atan at 0.5, 1, 1.5 and infinity, each with what the double leaves out.
_ATAN_1: Final = 4.63647609000806093515e-01
_ATAN_1_TAIL: Final = 2.26987774529616870924e-17
_ATAN_2: Final = 7.85398163397448278999e-01
_ATAN_2_TAIL: Final = 3.06161699786838301793e-17
_ATAN_3: Final = 9.82793723247329054082e-01
_ATAN_3_TAIL: Final = 1.39033110312309984516e-17
_ATAN_4: Final = 1.57079632679489655800e00
_ATAN_4_TAIL: Final = 6.12323399573676603587e-17
_A0: Final = 3.33333333333329318027e-01
_A1: Final = -1.99999999998764832476e-01
_A2: Final = 1.42857142725034663711e-01
_A3: Final = -1.11111104054623557880e-01
_A4: Final = 9.09088713343650656196e-02
_A5: Final = -7.69187620504482999495e-02
_A6: Final = 6.66107313738753120669e-02
_A7: Final = -5.83357013379057348645e-02
_A8: Final = 4.97687799461593236017e-02
_A9: Final = -3.65315727442169155270e-02
_A10: Final = 1.62858201153657823623e-02


def atan(x: float) -> float:
    """Arc tangent, in [-pi/2, pi/2]."""
    size = x if x >= 0.0 else -x
    if size < 0.4375:
        z = x * x
        w = z * z
        even = z * (_A0 + w * (_A2 + w * (_A4 + w * (_A6 + w * (_A8 + w * _A10)))))
        odd = w * (_A1 + w * (_A3 + w * (_A5 + w * (_A7 + w * _A9))))
        return x - x * (even + odd) if z else x
    if size < 1.1875:
        if size < 0.6875:
            most, tail = _ATAN_1, _ATAN_1_TAIL
            t = (2.0 * size - 1.0) / (2.0 + size)
        else:
            most, tail = _ATAN_2, _ATAN_2_TAIL
            t = (size - 1.0) / (size + 1.0)
    elif size < 2.4375:
        most, tail = _ATAN_3, _ATAN_3_TAIL
        t = (size - 1.5) / (1.0 + 1.5 * size)
    elif not isnan(size):
        most, tail = _ATAN_4, _ATAN_4_TAIL
        t = -1.0 / size
    else:
        return x
    z = t * t
    w = z * z
    even = z * (_A0 + w * (_A2 + w * (_A4 + w * (_A6 + w * (_A8 + w * _A10)))))
    odd = w * (_A1 + w * (_A3 + w * (_A5 + w * (_A7 + w * _A9))))
    angle = most - ((t * (even + odd) - tail) - t)
    return angle if x > 0.0 else -angle


def atan2(y: float, x: float) -> float:
    """Angle of the point (x, y), in [-pi, pi], with the signs of zeros and infinities."""
    ax, ay = (x if x > 0.0 else -x), (y if y > 0.0 else -y)
    if not (0.0 < ax < _INF and 0.0 < ay < _INF):
        if isnan(x) or isnan(y):
            return x + y
        return copysign(_atan2_special(abs(y), abs(x), copysign(PI, x) == -PI), y)
    angle = atan(ay / ax)
    if x < 0.0:
        angle = PI - (angle - 1.2246467991473531772e-16)
    return angle if y > 0.0 else -angle


def _atan2_special(ay: float, ax: float, x_negative: bool) -> float:
    """atan2 of non-negative arguments of which one is zero or infinite."""
    if ay == _INF:
        if ax == _INF:
            return 3.0 * _QUARTER_PI if x_negative else _QUARTER_PI
        return 1.5707963267948966
    if ax == _INF or ay == 0.0:
        return PI if x_negative else 0.0
    return 1.5707963267948966


def asin(x: float) -> float:
    """Arc sine, in [-pi/2, pi/2]; ValueError outside [-1, 1]."""
    if isnan(x):
        return x
    if not -1.0 <= x <= 1.0:
        raise ValueError("math domain error")
    return atan2(x, sqrt((1.0 - x) * (1.0 + x)))


def acos(x: float) -> float:
    """Arc cosine, in [0, pi]; ValueError outside [-1, 1]."""
    if isnan(x):
        return x
    if not -1.0 <= x <= 1.0:
        raise ValueError("math domain error")
    return atan2(sqrt((1.0 - x) * (1.0 + x)), x)


# --- exponential and logarithm -----------------------------------------------------------

_LN2_HI: Final = 6.93147180369123816490e-01
_LN2_LO: Final = 1.90821492927058770002e-10
_INV_LN2: Final = 1.44269504088896338700e00
_P1: Final = 1.66666666666666019037e-01
_P2: Final = -2.77777777770155933842e-03
_P3: Final = 6.61375632143793436117e-05
_P4: Final = -1.65339022054652515390e-06
_P5: Final = 4.13813679705723846039e-08

_SQRT_HALF: Final = 0.7071067811865476
_L1: Final = 6.666666666666735130e-01
_L2: Final = 3.999999999940941908e-01
_L3: Final = 2.857142874366239149e-01
_L4: Final = 2.222219843214978396e-01
_L5: Final = 1.818357216161805012e-01
_L6: Final = 1.531383769920937332e-01
_L7: Final = 1.479819860511658591e-01


def exp(x: float) -> float:
    """e**x; OverflowError above about 709.78."""
    if not -746.0 < x < 709.782712893384:
        if isnan(x) or x == _INF:
            return x
        if x < 0.0:
            return 0.0
        raise OverflowError("math range error")
    k = floor(x * _INV_LN2 + 0.5)
    hi = x - k * _LN2_HI
    lo = k * _LN2_LO
    r = hi - lo
    t = r * r
    c = r - t * (_P1 + t * (_P2 + t * (_P3 + t * (_P4 + t * _P5))))
    if k == 0:
        return 1.0 - ((r * c) / (c - 2.0) - r)
    return ldexp(1.0 - ((lo - (r * c) / (2.0 - c)) - hi), k)


def log(x: float) -> float:
    """Natural logarithm; ValueError for x <= 0."""
    if not 0.0 < x < _INF:
        if isnan(x) or x == _INF:
            return x
        raise ValueError("math domain error")
    m, k = frexp(x)
    if m < _SQRT_HALF:
        m += m
        k -= 1
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    r = z * (_L1 + z * (_L2 + z * (_L3 + z * (_L4 + z * (_L5 + z * (_L6 + z * _L7))))))
    half = 0.5 * f * f
    if k == 0:
        return f - (half - s * (half + r))
    return k * _LN2_HI - ((half - (s * (half + r) + k * _LN2_LO)) - f)


def log1p(x: float) -> float:
    """log(1 + x), accurate near zero; ValueError for x <= -1."""
    u = 1.0 + x
    if u == 1.0 or isnan(x) or x == _INF:
        return x
    return log(u) + (x - (u - 1.0)) / u


# --- the rest ----------------------------------------------------------------------------


def hypot(x: float, y: float, z: float = 0.0) -> float:
    """Length of the vector (x, y, z)."""
    square = x * x + y * y + z * z
    if 1e-280 < square < 1e300:
        return sqrt(square)
    size = max(abs(x), abs(y), abs(z))
    if size == _INF or isnan(square):
        if _INF in (abs(x), abs(y), abs(z)):
            return _INF
        return square
    _, exponent = frexp(size)
    x, y, z = ldexp(x, -exponent), ldexp(y, -exponent), ldexp(z, -exponent)
    return ldexp(sqrt(x * x + y * y + z * z), exponent)


def radians(degrees: float) -> float:
    """Degrees to radians."""
    return degrees * DEGREE


def degrees(radians: float) -> float:
    """Radians to degrees."""
    return radians * RADIAN


def wrap_angle(angle: float) -> float:
    """The same direction in (-pi, pi]; an angle already there keeps its bits.

    :raises ValueError: for an infinity
    """
    if -PI < angle <= PI:
        return angle
    if TWO_PI <= angle < 2.0 * TWO_PI:
        angle -= TWO_PI  # exact, as ``fmod`` is, which compiled code has to ask Python for
    elif not -TWO_PI < angle < TWO_PI:
        angle = fmod(angle, TWO_PI)
    if angle > PI:
        return angle - TWO_PI
    if angle <= -PI:
        return angle + TWO_PI
    return angle


def total(numbers: Iterable[float]) -> float:
    """The sum: each number is added to that of those before it, and rounded.

    The built-in ``sum`` also adds what was rounded off from Python 3.12 on, not before.
    """
    found = 0.0
    for number in numbers:
        found += number
    return found


_FLOAT32 = struct.Struct("<f")
_pack32 = _FLOAT32.pack
_unpack32 = _FLOAT32.unpack


def float32(x: float) -> float:
    """The double nearest to x that a 32-bit float can hold (ties to even).

    By Veltkamp's splitting, which does not say where ties go: numbers of 25 bits are left to
    ``struct``.

    :raises OverflowError: finite x beyond the largest 32-bit float
    """
    if x == 0.0:
        return x
    if 1.1754943508222875e-38 <= abs(x) <= 3.4028234663852886e38:  # the normal ones
        wide = x * 268435457.0  # 2^28 + 1: 25 bits stay
        if wide - (wide - x) != x:
            wide = x * 536870913.0
            return wide - (wide - x)
    return _unpack32(_pack32(x))[0]
