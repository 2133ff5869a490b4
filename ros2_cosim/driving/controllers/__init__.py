# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Longitudinal control laws and what turns their demand into pedal positions."""

from ros2_cosim.driving.controllers.measurement import LongitudinalLaw, Measurement, Peer
from ros2_cosim.driving.controllers.registry import available_laws, make_law

__all__ = ["LongitudinalLaw", "Measurement", "Peer", "available_laws", "make_law"]
