# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Rules of estimation: their defaults, their limits, and what each method needs."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ros2_cosim.core.realtime.settings import RuleSettings

MAP = {"method": "map", "of": ["a.b", "a.c"], "x": [0], "y": [0], "values": [[1]]}
CURVE = {"method": "curve", "of": ["a.b"], "points": [[0, 1]]}
RATE = {"method": "rate", "of": ["a.b"]}


def test_a_rule_without_settings_extrapolates_every_number_linearly() -> None:
    rule = RuleSettings()
    assert (rule.ports, rule.fields, rule.method, rule.order) == ("*", "*", "extrapolate", 1)
    assert (rule.gain, rule.adapt) == (1.0, 0.0)
    assert (rule.min, rule.max, rule.max_rate, rule.file) == (None, None, None, None)


@pytest.mark.parametrize(
    "given",
    [
        MAP,
        CURVE,
        RATE,
        {"method": "earlier", "file": "values.json"},
        {"order": 0},
        {"order": 2},
        {"min": 1.0, "max": 1.0},
        {"min": 1.0},
        {"max": -1.0},
        {"max_rate": 0},
        {"adapt": 0},
        {"adapt": 1},
    ],
)
def test_a_rule_that_is_complete(given: dict[str, Any]) -> None:
    assert RuleSettings(**given).method == given.get("method", "extrapolate")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        *(({**MAP, key: []}, "method map needs x, y and values") for key in ("x", "y", "values")),
        ({**MAP, "of": ["a.b"]}, "method map takes 2 port.field in 'of', found 1"),
        ({**CURVE, "points": []}, "method curve needs points"),
        ({**CURVE, "of": []}, "method curve takes 1 port.field in 'of', found 0"),
        ({**RATE, "of": ["a.b", "a.c"]}, "method rate takes 1 port.field in 'of', found 2"),
        ({"of": ["a.b"]}, "method extrapolate takes 0 port.field in 'of', found 1"),
        ({"method": "earlier"}, "method earlier needs file"),
        ({"min": 2.0, "max": 1.5}, "min 2 is above max 1.5"),
        ({"order": -1}, "order"),
        ({"order": 3}, "order"),
        ({"max_rate": -0.1}, "max_rate"),
        ({"adapt": -0.1}, "adapt"),
        ({"adapt": 1.1}, "adapt"),
        *(({key: math.inf}, key) for key in ("gain", "min", "max", "max_rate")),
    ],
)
def test_a_rule_that_lacks_something_says_what(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        RuleSettings(**given)
