# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bench of adaptive congestion control, in short: vehicles with CAMs are not held back."""

import pytest

from bench.adaptive_dcc import fixed_point, saturated, with_cams


def test_cams_stay_far_below_the_share_that_is_allowed() -> None:
    (free, rate), (held, slow) = (with_cams(20, 2, control) for control in (False, True))
    assert free.busy == held.busy and rate == slow
    assert 0.02 < free.busy < 0.06 and held.delta > 0.0153


def test_saturated_stations_use_their_share() -> None:
    assert saturated(20, 30) == pytest.approx(fixed_point(20), rel=0.02)
