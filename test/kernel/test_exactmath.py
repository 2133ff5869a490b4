# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""exactmath: near the C library in value, fixed to the last bit in itself."""

import hashlib
import math
import struct

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel import exactmath, exactmath_slow

ordinary = st.floats(-1.0e6, 1.0e6)
any_finite = st.floats(allow_nan=False, allow_infinity=False)
UNARY = ("sin", "cos", "tan", "atan", "asin", "acos", "exp", "log", "log1p")


def ulps(actual: float, expected: float) -> float:
    """Distance in units of the last place of the expected value."""
    if actual == expected:
        return 0.0
    return abs(actual - expected) / math.ulp(expected)


@given(ordinary)
def test_sine_and_cosine_are_close_to_the_c_library(x: float) -> None:
    assert ulps(exactmath.sin(x), math.sin(x)) <= 2.0
    assert ulps(exactmath.cos(x), math.cos(x)) <= 2.0
    assert ulps(exactmath.tan(x), math.tan(x)) <= 3.0


@given(any_finite)
def test_huge_arguments_are_reduced_exactly(x: float) -> None:
    assert ulps(exactmath.sin(x), math.sin(x)) <= 2.0
    assert ulps(exactmath.cos(x), math.cos(x)) <= 2.0


@pytest.mark.parametrize("k", [*range(-20, 21), 10_001, -634_000, 123_456_789])
def test_arguments_next_to_multiples_of_half_pi_keep_their_relative_accuracy(k: int) -> None:
    x = k * (math.pi / 2.0)
    for neighbour in (math.nextafter(x, -math.inf), x, math.nextafter(x, math.inf)):
        assert ulps(exactmath.sin(neighbour), math.sin(neighbour)) <= 2.0
        assert ulps(exactmath.cos(neighbour), math.cos(neighbour)) <= 2.0


@given(any_finite)
def test_sincos_gives_the_bits_of_the_single_functions(x: float) -> None:
    assert exactmath.sincos(x) == (exactmath.sin(x), exactmath.cos(x))


@given(any_finite)
def test_symmetry_is_exact(x: float) -> None:
    assert exactmath.sin(-x) == -exactmath.sin(x)
    assert exactmath.cos(-x) == exactmath.cos(x)
    assert exactmath.atan(-x) == -exactmath.atan(x)


@given(any_finite, any_finite)
def test_atan2_is_close_to_the_c_library(y: float, x: float) -> None:
    assert ulps(exactmath.atan(x), math.atan(x)) <= 2.0
    assert exactmath.atan2(y, x) == pytest.approx(math.atan2(y, x), rel=5e-16, abs=5e-324)


@pytest.mark.parametrize("y", [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf])
@pytest.mark.parametrize("x", [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf])
def test_atan2_knows_the_signs_of_zeros_and_infinities(y: float, x: float) -> None:
    actual, expected = exactmath.atan2(y, x), math.atan2(y, x)
    assert ulps(actual, expected) <= 1.0
    assert math.copysign(1.0, actual) == math.copysign(1.0, expected)


@given(st.floats(-1.0, 1.0))
def test_inverse_sine_and_cosine_are_close_to_the_c_library(x: float) -> None:
    assert ulps(exactmath.asin(x), math.asin(x)) <= 3.0
    assert ulps(exactmath.acos(x), math.acos(x)) <= 3.0


@given(st.floats(-745.0, 709.0))
def test_exponential_is_close_to_the_c_library(x: float) -> None:
    assert ulps(exactmath.exp(x), math.exp(x)) <= 2.0


@given(st.floats(5e-324, 1.7e308))
def test_logarithm_is_close_to_the_c_library(x: float) -> None:
    assert ulps(exactmath.log(x), math.log(x)) <= 2.0
    assert ulps(exactmath.log1p(x), math.log1p(x)) <= 3.0


@given(st.floats(1e-4, 1e4), st.floats(-30.0, 30.0))
def test_power_is_close_to_the_c_library(x: float, y: float) -> None:
    assert ulps(exactmath.pow(x, y), math.pow(x, y)) <= 1.0


def test_power_at_the_edges() -> None:
    assert exactmath.pow(-2.0, 3.0) == -8.0
    assert exactmath.pow(0.0, 0.0) == 1.0
    assert exactmath.pow(0.0, 2.5) == 0.0
    assert exactmath.pow(10.0, -400.0) == 0.0
    for x, y in ((-2.0, 0.5), (0.0, -1.0), (math.nan, 1.0), (2.0, math.inf)):
        with pytest.raises(ValueError):
            exactmath.pow(x, y)
    with pytest.raises(OverflowError):
        exactmath.pow(10.0, 309.0)


@given(any_finite, any_finite)
def test_hypot_neither_overflows_nor_underflows_on_the_way(x: float, y: float) -> None:
    expected = math.hypot(x, y)
    if math.isfinite(expected):
        assert ulps(exactmath.hypot(x, y), expected) <= 2.0


def test_hypot_at_the_edges() -> None:
    assert exactmath.hypot(3.0, 4.0) == 5.0
    assert exactmath.hypot(2.0, 3.0, 6.0) == 7.0
    assert exactmath.hypot(0.0, -0.0) == 0.0
    assert exactmath.hypot(math.inf, math.nan) == math.inf
    assert math.isnan(exactmath.hypot(1.0, math.nan))


@pytest.mark.parametrize("name", UNARY)
def test_not_a_number_stays_not_a_number(name: str) -> None:
    assert math.isnan(getattr(exactmath, name)(math.nan))


@pytest.mark.parametrize("name", ["sin", "tan", "atan", "asin", "log1p"])
def test_negative_zero_keeps_its_sign(name: str) -> None:
    result = getattr(exactmath, name)(-0.0)
    assert result == 0.0
    assert math.copysign(1.0, result) == -1.0


@pytest.mark.parametrize(
    ("name", "x"),
    [
        *((name, sign * math.inf) for name in ("sin", "cos", "tan", "sincos") for sign in (1, -1)),
        *((name, x) for name in ("asin", "acos") for x in (1.0000000000000002, -2.0, math.inf)),
        *(("log", x) for x in (0.0, -1.0, -math.inf)),
        ("log1p", -1.0),
    ],
)
def test_domain_errors_are_those_of_math(name: str, x: float) -> None:
    with pytest.raises(ValueError):
        getattr(exactmath, name)(x)


def test_special_values_of_exp_log_and_atan() -> None:
    assert exactmath.exp(-math.inf) == 0.0
    assert exactmath.exp(math.inf) == math.inf
    assert exactmath.exp(0.0) == 1.0
    with pytest.raises(OverflowError):
        exactmath.exp(710.0)
    assert exactmath.log(math.inf) == exactmath.log1p(math.inf) == math.inf
    assert exactmath.log(1.0) == 0.0
    # Where the range of the mantissa begins: the next smaller one is doubled.
    assert exactmath.log(float.fromhex("0x1.6a09e667f3bcdp31")).hex() == "0x1.5d589f2fe5107p+4"
    assert exactmath.atan(math.inf) == math.pi / 2.0


@given(any_finite)
def test_wrapped_angle_is_in_range_and_the_same_direction(x: float) -> None:
    wrapped = exactmath.wrap_angle(x)
    assert -math.pi < wrapped <= math.pi
    assert exactmath.wrap_angle(wrapped) == wrapped
    if abs(x) <= math.pi:
        assert wrapped == x or x == -math.pi
    turns = (x - wrapped) / (2.0 * math.pi)
    if abs(x) < 1e6:
        assert turns == pytest.approx(round(turns), abs=1e-9)


def test_half_a_turn_is_pi_whatever_the_whole_turns() -> None:
    """Three, five and seven times the double pi are doubles."""
    for turns in (3.0, 5.0, 7.0, -1.0, -3.0, -5.0):
        assert exactmath.wrap_angle(turns * math.pi) == math.pi


@given(any_finite)
def test_degrees_and_radians_are_those_of_math(x: float) -> None:
    assert exactmath.radians(x) == math.radians(x)
    assert exactmath.degrees(x) == math.degrees(x)


@given(st.floats(-3.0e38, 3.0e38))
def test_float32_rounds_like_numpy(x: float) -> None:
    assert exactmath.float32(x) == float(numpy.float32(x))
    assert exactmath.float32(exactmath.float32(x)) == exactmath.float32(x)


@given(st.integers(-(2**31), 2**31 - 1))
def test_float32_rounds_ties_as_the_struct_does(bits: int) -> None:
    (x,) = struct.unpack("<f", struct.pack("<i", bits))
    (y,) = struct.unpack("<f", struct.pack("<i", bits ^ 1))
    middle = 0.5 * (x + y)
    if math.isfinite(middle):
        assert struct.pack("<d", exactmath.float32(middle)) == struct.pack(
            "<d", *struct.unpack("<f", struct.pack("<f", middle))
        )


def test_float32_at_the_edges() -> None:
    assert exactmath.float32(math.inf) == math.inf
    assert math.isnan(exactmath.float32(math.nan))
    assert exactmath.float32(0.1) == 0.10000000149011612
    with pytest.raises(OverflowError):
        exactmath.float32(1.0e39)


def _grid_digest() -> str:
    """Hash of all functions over a fixed grid made of exact operations only."""
    digest = hashlib.sha256()

    def put(*values: float) -> None:
        digest.update(struct.pack(f"<{len(values)}d", *values))

    for i in range(-1500, 1501):
        x = i * 0.013671875
        put(*(getattr(exactmath, name)(x) for name in ("sin", "cos", "tan", "atan", "exp")))
        put(*exactmath.sincos(x * 4099.0), *exactmath.sincos(math.ldexp(x, abs(i) // 2)))
        put(exactmath.atan2(x, 1.5), exactmath.atan2(1.5, x), exactmath.hypot(x, 0.7, 0.3))
        put(exactmath.asin(i / 1500), exactmath.acos(i / 1500))
        put(exactmath.log(i + 1500.5), exactmath.log1p(i / 1501))
        put(exactmath.wrap_angle(x), exactmath.degrees(x), exactmath.radians(x))
        put(exactmath.float32(x / 3.0))
        if i % 10 == 0:
            put(exactmath.pow(abs(x) + 0.25, 0.1 * x))
    return digest.hexdigest()


def test_every_machine_gives_the_same_bits() -> None:
    assert _grid_digest() == "3ff277e1276ae29c33c16eabcc0848d16777847a0c24aeee620ac7e951d9dad8"


def test_a_total_is_the_same_in_every_version_of_python() -> None:
    numbers = [0.1] * 10
    # From 3.12 on sum() gives 1.0.
    assert exactmath.total(numbers) == 0.9999999999999999
    assert exactmath.total(iter(numbers[:3])) == 0.1 + 0.1 + 0.1
    assert exactmath.total([]) == 0.0


def test_the_digits_of_half_pi_are_these() -> None:
    """By Machin's formula; those of a table of pi, in 64 binary places."""
    assert exactmath_slow._half_pi_scaled(64) == 28976077832308491369
    assert exactmath_slow._half_pi_scaled(8) == 402


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [
        (math.inf, 1.0, "both arguments must be finite"),
        (1.0, math.nan, "both arguments must be finite"),
        (0.0, -1.0, "math domain error"),
        (-2.0, 0.5, "math domain error"),
    ],
)
def test_powers_that_do_not_exist(x: float, y: float, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        exactmath_slow.pow(x, y)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (5.0, 0.0, 1.0),
        (0.0, 0.0, 1.0),
        (1.0, 7.5, 1.0),
        (0.0, 2.0, 0.0),
        (-0.0, 3.0, -0.0),
        (-0.0, 2.0, 0.0),
        (-3.0, 1.0, -3.0),
        (-3.0, 2.0, 9.0),
        (-2.0, 3.0, -8.0),
        (-2.0, 4.0, 16.0),
        (1e-200, 2.0, 0.0),
        (1e-160, 2.0, 1e-320),
        (2.0, 0.5, 1.4142135623730951),
        (10.0, 308.0, 1e308),
        (0.5, 1074.0, 5e-324),
        (0.5, 1076.0, 0.0),
        (2.0, -1022.0, 2.2250738585072014e-308),
    ],
)
def test_powers_are_these(x: float, y: float, expected: float) -> None:
    found = exactmath_slow.pow(x, y)
    assert (found, math.copysign(1.0, found)) == (expected, math.copysign(1.0, expected))


@pytest.mark.parametrize(("x", "y"), [(10.0, 309.0), (2.0, 1024.0), (10.0, 1e6)])
def test_powers_that_are_too_large(x: float, y: float) -> None:
    with pytest.raises(OverflowError, match="math range error"):
        exactmath_slow.pow(x, y)


@pytest.mark.parametrize(
    ("y", "x", "expected"),
    [
        (math.nan, 1.0, math.nan),
        (1.0, math.nan, math.nan),
        (0.0, -0.0, math.pi),
        (-0.0, -0.0, -math.pi),
        (-0.0, 0.0, -0.0),
        (math.inf, -math.inf, 2.356194490192345),
        (-1.0, 0.0, -1.5707963267948966),
        # Of a quotient that is infinite, or nothing.
        (1e300, 1e-300, 1.5707963267948966),
        (1e-300, 1e300, 0.0),
        (-1e-300, 1e300, -0.0),
        (-1e-300, -1e300, -3.141592653589793),
    ],
)
def test_angles_of_special_points(y: float, x: float, expected: float) -> None:
    assert repr(exactmath.atan2(y, x)) == repr(expected)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 22, 355, 1001, 51819, 573204, 833719])
def test_next_to_a_multiple_of_half_pi_the_reduction_is_that_of_whole_numbers(
    k: int, sign: float
) -> None:
    """Doubles next to a zero of sine or cosine lose most of their digits to it."""
    nearest = sign * k * (math.pi / 2.0)
    for x in (nearest, nearest * (1.0 + 1e-13), nearest + 0.3, nearest - 0.3):
        quarter, hi, lo = exactmath._reduce(x)
        exact_quarter, exact_hi, exact_lo = exactmath_slow.reduce_exactly(x)
        assert quarter == exact_quarter
        assert (hi - exact_hi) + (lo - exact_lo) == pytest.approx(0.0, abs=abs(exact_hi) * 2e-20)


@pytest.mark.parametrize(
    ("quarters", "x", "rest"),
    [
        (41609, 65359.26436160885, 7.586261850805901e-14),
        (59585, 93595.89913207392, 4.096417907456826e-14),
        (83218, 130718.5287232177, 1.5172523701611802e-13),
    ],
)
def test_close_above_a_multiple_of_half_pi_all_digits_are_right(
    quarters: int, x: float, rest: float
) -> None:
    """``rest`` is x - quarters pi/2 with 60 digits of pi; three parts of pi/2 lack two of them."""
    sine, cosine = exactmath.sin(x), exactmath.cos(x)
    assert (sine, -cosine, -sine, cosine)[quarters % 4] == rest
