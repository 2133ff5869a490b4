# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a scenario says of a controller: its laws, and what stands around them."""

from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.driving.v2v.vehicle_side import Caution, TailVehicle


class CommandLimits(Section):
    """Bounds of the demanded acceleration and of its rate."""

    max_acceleration: Number = Field(default=2.5, gt=0, description="highest demand [m/s^2]")
    max_deceleration: Number = Field(
        default=8.0, gt=0, description="lowest demand, as a positive number [m/s^2]"
    )
    max_jerk: Number = Field(
        default=15.0, gt=0, description="rate at which the demand may rise [m/s^3]"
    )
    max_brake_jerk: Number = Field(
        default=60.0,
        gt=0,
        description="rate at which it may fall; braking must not come late [m/s^3]",
    )


class EmergencyBrake(Section):
    """Brakes when the deceleration needed to avoid a contact becomes large.

    The braking needed is ``closing^2 / (2 room)``, room being the gap less ``margin``; unlike the
    time to collision that stays meaningful at low speed. If the object is known to brake with b, at
    least ``v^2 / (2 (room + v_object^2 / (2 b)))`` is needed to stop behind it. The brake acts when
    the need exceeds ``trigger``, with ``gain`` times the need.
    """

    trigger: Number = Field(
        default=4.0, gt=0, description="needed deceleration at which it acts [m/s^2]"
    )
    margin: Number = Field(default=1.0, ge=0, description="gap that is to remain [m]")
    gain: Number = Field(
        default=1.2, gt=0, description="share of the need, above 1 to end early [1]"
    )
    least_room: Number = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="share of the gap that counts as room at least, so that a small closing speed "
        "within the margin is not an emergency; above 0 the trigger falls to 0 from twice the "
        "margin to the margin, and within it the vehicle falls back, so that it never creeps "
        "closer [1]",
    )


#: The value of ``fallback`` by which the law itself goes on without V2V, on estimates.
ESTIMATE: Final = "estimate"


def _none_is_empty(value: object) -> object:
    return {} if value is None else value


class ControllerParameters(Section):
    """Parameters of a controller."""

    set_speed: Number = Field(
        gt=0, description="speed on a free road, never exceeded on purpose [m/s]"
    )
    law: str = Field(
        default="path_cacc",
        min_length=1,
        description="control law: a name, package.module:Class, path/to/file.py:Class, the script "
        "of a controller node, an FMU (file.fmu) or a C function (file.c)",
    )
    law_parameters: Annotated[dict[str, Any], BeforeValidator(_none_is_empty)] = Field(
        default_factory=dict, description="the law's own parameters"
    )
    vehicle: str = Field(
        default="sedan",
        min_length=1,
        description="what the pedals are computed for: sedan, van, truck, or the file of a pedal "
        "map, measured by cosim study pedals",
    )
    time_gap: Number = Field(default=0.6, gt=0, description="h of the spacing policy r + h v [s]")
    standstill_gap: Number = Field(default=2.0, ge=0, description="r of the spacing policy [m]")
    fallback: str | None = Field(
        default=None,
        min_length=1,
        description="law without V2V; default: rajamani_acc (path_acc brakes too gently for the "
        "gaps of a platoon); estimate: the law itself with the acceleration of the vehicle ahead "
        "as the own sensor shows it (graceful degradation), if that is all it needs",
    )
    fallback_time_gap: Number = Field(
        default=1.1, gt=0, description="time gap while V2V is lost [s]"
    )
    time_gap_rate: Number = Field(
        default=0.1, gt=0, description="how fast the time gap may change [s per s]"
    )
    v2v_timeout: Number = Field(default=0.25, gt=0, description="oldest usable V2V message [s]")
    sensor_timeout: Number = Field(
        default=0.1, gt=0, description="oldest usable object list, also of equal ones [s]"
    )
    coast_time: Number = Field(
        default=1.0,
        gt=0,
        description="how long the object ahead is carried on without sensor and V2V [s]",
    )
    minimal_risk_deceleration: Number = Field(
        default=3.5, gt=0, description="of the brake after that [m/s^2]"
    )
    lane_half_width: Number = Field(
        default=1.75, gt=0, description="lateral distance within which an object is ahead [m]"
    )
    hold_brake: Number = Field(
        default=0.5, ge=0, description="brake pedal at standstill, 0..1; more counts as 1 [1]"
    )
    hold_rate: Number | None = Field(
        default=None,
        gt=0,
        description="how fast the brake pedal goes there, default: at once, which is felt as a "
        "jerk [1/s]",
    )
    integral_gain: Number = Field(
        default=0.3, ge=0, description="on the acceleration's error, 0: feed-forward only [1/s]"
    )
    limits: Annotated[CommandLimits, BeforeValidator(_none_is_empty)] = Field(
        CommandLimits(), description="bounds of the demand"
    )
    emergency: Annotated[EmergencyBrake, BeforeValidator(_none_is_empty)] = Field(
        EmergencyBrake(), description="emergency brake"
    )
    warnings: Caution | None = Field(
        default=None,
        description="what it does while a DENM reports a dangerous situation ahead; needs the "
        "extra v2x",
    )
    manoeuvre: TailVehicle | None = Field(
        default=None, description="it joins or leaves the platoon at its tail"
    )

    @property
    def fallback_law(self) -> str | None:
        """The law without V2V; None: the usual one."""
        return None if self.fallback == ESTIMATE else self.fallback
