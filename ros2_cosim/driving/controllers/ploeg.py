# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""CACC with dynamic feed-forward of the predecessor's demanded acceleration.

Source: J. Ploeg, B. Scheepers, E. van Nunen, N. van de Wouw, H. Nijmeijer, "Design and
experimental evaluation of cooperative adaptive cruise control", IEEE ITSC 2011; J. Ploeg,
N. van de Wouw, H. Nijmeijer, "Lp string stability of cascaded systems", IEEE TCST 22 (2014).
Gains as in the Plexe platooning simulator.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.kernel import exactmath
from ros2_cosim.driving.controllers.measurement import Measurement


class PloegCacc(Section):
    """``h du/dt = -u + kp e + kd de/dt + u_pred``, with ``de/dt = gap_rate - h a``.

    With an ideal channel a disturbance passes to the next vehicle as 1/(h s + 1), whatever the
    actuator. The delay of V2V sets the smallest string-stable time gap; it is 0.25 s for 20 ms
    with an actuator of lag 0.1 s and dead time 0.2 s.

    A leader that no controller node drives can send only its measured acceleration, which lags
    behind its demand; the published gains then amplify by about 2 % from the leader to the
    first follower (0.6 s, beacons every 50 ms). ``kp=0.3, kd=1.2`` keeps every link below 1.

    Between activations the right side is taken as constant and the filter is solved exactly.
    Its state is the command that was really given, so a limit never winds it up and another
    law can hand over without a jump.
    """

    kp: Number = Field(default=0.2, gt=0, description="gain on the gap error [1/s^2]")
    kd: Number = Field(default=0.7, ge=0, description="gain on its derivative [1/s]")

    needs_v2v: ClassVar = ("predecessor",)

    def acceleration(self, measurement: Measurement) -> float:
        """Return the demanded acceleration [m/s^2]."""
        m = measurement
        peer = m.predecessor
        wanted = self.kp * m.gap_error + self.kd * (m.gap_rate - m.time_gap * m.acceleration)
        if peer is not None:
            wanted += peer.commanded_acceleration
        share = 1.0 - exactmath.exp(-m.dt / m.time_gap)
        return m.previous_command + share * (wanted - m.previous_command)
