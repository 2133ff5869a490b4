# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Readers of RPC arguments: wire value in, checked value out, ``ArgumentError`` otherwise.

Every argument of every method passes one of these readers before a handler sees it, so that
a handler never has to doubt a type. A reader is a plain function; readers of composite types
are made from readers of their fields.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ros2_cosim.world.headless.limits import MAX_STEP_S
from ros2_cosim.world.headless.wire_types import (
    AckermannControl,
    AckermannSettings,
    ActorDescription,
    AttributeValue,
    EpisodeSettings,
    OpendriveParameters,
    Rotation,
    Transform,
    Vector,
    VehicleControl,
    WalkerControl,
    Weather,
)

T = TypeVar("T")
Reader = Callable[[Any], T]

FLOAT32_MAX = 3.4028234663852886e38


class ArgumentError(ValueError):
    """An argument of a remote call has the wrong type, length or range."""


def real(value: Any) -> float:
    """A finite number within the range of float32."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentError(f"expected a number, found {_shown(value)}")
    if not -FLOAT32_MAX <= value <= FLOAT32_MAX:  # also refuses NaN
        raise ArgumentError(f"expected a finite number, found {value}")
    return float(value)


def boolean(value: Any) -> bool:
    """True or false, nothing else."""
    if not isinstance(value, bool):
        raise ArgumentError(f"expected a boolean, found {_shown(value)}")
    return value


def text(value: Any) -> str:
    """A string."""
    if not isinstance(value, str):
        raise ArgumentError(f"expected a string, found {_shown(value)}")
    return value


def anything(value: Any) -> Any:
    """For arguments that the server accepts and does not look at."""
    return value


def integer(low: int, high: int) -> Reader[int]:
    """Reader of an integer in ``low..high``."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ArgumentError(f"expected an integer in {low}..{high}, found {_shown(value)}")
        return value

    return read


u8 = integer(0, 0xFF)
u16 = integer(0, 0xFFFF)
u32 = integer(0, 0xFFFFFFFF)
u64 = integer(0, 0xFFFFFFFFFFFFFFFF)
i32 = integer(-0x80000000, 0x7FFFFFFF)


def listing(item: Reader[T]) -> Reader[list[T]]:
    """Reader of an array of ``item``."""

    def read(value: Any) -> list[T]:
        return [item(entry) for entry in _array(value)]

    return read


def pair(first: Reader[Any], second: Reader[Any]) -> Reader[tuple[Any, Any]]:
    """Reader of an array of exactly two entries."""

    def read(value: Any) -> tuple[Any, Any]:
        entries = _array(value, 2)
        return first(entries[0]), second(entries[1])

    return read


def optional(item: Reader[T]) -> Reader[T | None]:
    """Reader of ``[false]`` (None) or ``[true, item]``."""

    def read(value: Any) -> T | None:
        entries = _array(value)
        if len(entries) == 1 and entries[0] is False:
            return None
        if len(entries) == 2 and entries[0] is True:
            return item(entries[1])
        raise ArgumentError(f"expected an optional value, found {_shown(value)}")

    return read


def structure(build: Callable[..., T], *fields: Reader[Any]) -> Reader[T]:
    """Reader of an array-struct: ``build(*fields)``."""
    count = len(fields)

    def read(value: Any) -> T:
        entries = _array(value, count)
        return build(*[reader(entry) for reader, entry in zip(fields, entries, strict=True)])

    return read


def _rgb(red: int, green: int, blue: int) -> tuple[int, int, int]:
    return red, green, blue


color = structure(_rgb, u8, u8, u8)
vector = structure(Vector, real, real, real)
rotation = structure(Rotation, real, real, real)
transform = structure(Transform, vector, rotation)
weather = structure(Weather, *[real] * 14)
ackermann_control = structure(AckermannControl, *[real] * 5)
ackermann_settings = structure(AckermannSettings, *[real] * 6)
opendrive_parameters = structure(OpendriveParameters, *[real] * 4, *[boolean] * 3)
walker_control = structure(WalkerControl, vector, real, boolean)
attribute_value = structure(AttributeValue, text, u8, text)
_description = structure(ActorDescription, u32, text, listing(attribute_value))


def actor_description(value: Any) -> ActorDescription:
    """Actor description with its attributes in the order of their names.

    The client sends them in the order of a hash table, which must not reach any result.
    """
    found = _description(value)
    return found._replace(attributes=tuple(sorted(found.attributes)))


def vehicle_control(value: Any) -> VehicleControl:
    """Vehicle control with pedals and steering limited to their ranges."""
    throttle, steer, brake, hand_brake, reverse, manual, gear = _array(value, 7)
    return VehicleControl(
        min(1.0, max(0.0, real(throttle))),
        min(1.0, max(-1.0, real(steer))),
        min(1.0, max(0.0, real(brake))),
        boolean(hand_brake),
        boolean(reverse),
        boolean(manual),
        i32(gear),
    )


def _fixed_step(value: Any) -> float | None:
    step = optional(real)(value)
    if step is not None and not 0.0 <= step <= MAX_STEP_S:
        raise ArgumentError(f"fixed_delta_seconds must lie in 0..{MAX_STEP_S:g}, found {step}")
    return step or None  # a client also sends 0 for a variable step


episode_settings = structure(
    EpisodeSettings,
    boolean,
    boolean,
    _fixed_step,
    boolean,
    real,
    i32,
    real,
    boolean,
    real,
    real,
    boolean,
)


def read_arguments(readers: Sequence[Reader[Any]], values: Sequence[Any]) -> list[Any]:
    """Read all arguments of a call.

    :raises ArgumentError: naming the position of the first wrong argument
    """
    if len(values) != len(readers):
        raise ArgumentError(f"expected {len(readers)} arguments, found {len(values)}")
    result = []
    for position, (reader, entry) in enumerate(zip(readers, values, strict=True), start=1):
        try:
            result.append(reader(entry))
        except ArgumentError as error:
            raise ArgumentError(f"argument {position}: {error}") from None
    return result


def _array(value: Any, count: int | None = None) -> list[Any]:
    if not isinstance(value, list) or (count is not None and len(value) != count):
        size = "an array" if count is None else f"an array of {count}"
        raise ArgumentError(f"expected {size}, found {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
