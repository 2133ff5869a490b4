# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Share of a Euro NCAP test point's score by the closing speed at impact.

Crash Avoidance, Frontal Collisions, version 1.2, section 5.2, as in the program that Euro NCAP
publishes (package ``euroncap-rating-2026`` 5.4.9, ``crash_avoidance/matrix_processing.py``: colours
by ``v_rel_impact``, and their scores in the standard range). It holds for tests of "mitigation or
avoidance": CCRs, CCRm, CCRb, CMRs, CMRb, CPNA, CPFA, CPNCO, CBNA, CBFA, CBNAO, and CPLA and CBLA
with braking.
"""

from __future__ import annotations

from typing import Final

_KMH: Final = 3.6
#: Test speed [km/h] -> the share below each closing speed [km/h]; the last row holds above it, too.
_SHARES: Final[dict[int, tuple[tuple[float, float], ...]]] = {
    10: (),
    20: (),
    30: ((10.0, 0.25),),
    40: ((10.0, 0.5), (20.0, 0.25)),
    50: ((10.0, 0.75), (20.0, 0.5), (30.0, 0.25)),
}
#: So far from a test speed of the table a speed may be [km/h]; class estimate.
_NEAR: Final = 1.0


def euro_ncap_share(speed: float, closing: float) -> float | None:
    """The share, from 0 to 1; None: the table has no such test speed.

    :param speed: of the test [m/s]
    :param closing: at impact [m/s]; 0: there was none
    """
    kmh = speed * _KMH
    nearest = 10 * round(kmh / 10.0)
    if nearest < min(_SHARES) or abs(kmh - nearest) > _NEAR:
        return None
    if closing <= 0.0:
        return 1.0
    rows = _SHARES[min(nearest, max(_SHARES))]
    return next((share for below, share in rows if closing * _KMH < below), 0.0)
