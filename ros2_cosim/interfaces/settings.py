# SPDX-License-Identifier: Apache-2.0
"""The building blocks of settings, by their former name: see :mod:`ros2_cosim.documents`."""

from ros2_cosim.documents.settings import Duration, Name, PositiveDuration, Section

__all__ = ["Duration", "Name", "PositiveDuration", "Section"]
