# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters and expressions in attributes of OpenSCENARIO."""

from __future__ import annotations

import pytest

from ros2_cosim.driving.openscenario.expressions import MAX_LENGTH, substituted

PARAMETERS = {"v": "90", "name": "Ego", "on": "true", "_x1": "-2.5"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("$name", "Ego"),
        ("${$v / 3.6}", "25"),
        ("${$v/4}", "22.5"),
        ("${-($_x1) + 1}", "3.5"),
        ("${7 % 4}", "3"),
        ("${-7 % 4}", "-3"),  # the sign of the dividend, as in C
        ("${round(2.5) + floor(-0.5) + ceil(0.2)}", "3"),
        ("${pow(2, 10)}", "1024"),
        ("${pow(2, -1)}", "0.5"),
        ("${sqrt(16) + sign($_x1) + abs(-1) + max(1, 2) + min(1, 2)}", "7"),
        ("${cos(pi) + sin(0) + tan(0) + acos(1) + asin(0) + atan(0)}", "-1"),
        ("${not $on}", "false"),
        ("${$on and not false}", "true"),
    ],
)
def test_values(text: str, expected: str) -> None:
    assert substituted(text, PARAMETERS) == expected


def test_a_power_that_is_no_whole_number() -> None:
    assert float(substituted("${pow(2, 0.5)}", {})) == pytest.approx(2.0**0.5, rel=1e-14)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("$other", "allowed are _x1, name, on, v"),
        ("${$other + 1}", r"found parameter \$other"),
        ("${$name + 1}", "could not convert"),
        ("${__import__('os')}", "which is not an expression"),
        ("${$v.real}", "which is not an expression"),
        ("${[1][0]}", "which is not an expression"),
        ("${2 ** 3}", "which is not an expression"),
        ("${pow(1, 2, 3)}", "which is not an expression"),
        ("${1 / 0}", "division by zero"),
        ("${1e308 * 10}", "no finite number"),
        ("${sqrt(-1)}", "expression 'sqrt"),
        ("${pow(1e300, 64)}", "no finite number"),
        ("${" + "(" * 240 + "1" + ")" * 240 + "}", "which is not an expression"),
        ("${" + "1+" * MAX_LENGTH + "1}", f"allowed are {MAX_LENGTH}"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        substituted(text, PARAMETERS)
