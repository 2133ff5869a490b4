# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which commands a vehicle can obey; told before they are sent, for a slave takes NaN for none."""

from __future__ import annotations

from math import isfinite, isnan

from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.messages.records import ControlCommand


def has_no_pedals(command: ControlCommand) -> bool:
    """Whether the vehicle is to find the pedals for the acceleration itself."""
    return isnan(command.throttle) and isnan(command.brake)


def check_command(vehicle: str, command: ControlCommand) -> None:
    """Return if the command says what the vehicle is to do.

    :raises RunError: it demands what is not a finite number
    """
    if has_no_pedals(command):
        if not isfinite(command.acceleration):
            raise RunError(
                f"vehicle '{vehicle}': found the acceleration {command.acceleration} in a command "
                "without pedals; allowed is a finite number"
            )
    elif not (isfinite(command.throttle) and isfinite(command.brake)):
        raise RunError(
            f"vehicle '{vehicle}': found the throttle {command.throttle} and the brake "
            f"{command.brake}; allowed are finite numbers, or NaN for both and an acceleration"
        )
