# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Attributes of the sensors of a scene: as texts, with a seed, checked before anything runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.random_streams import stream_key
from ros2_cosim.core.scene.sensors import Fix, Inertia, SensorBlueprint, SensorForm, form_of
from ros2_cosim.world.headless.actors import Actor
from ros2_cosim.world.headless.blueprints import LIBRARY
from ros2_cosim.world.headless.sensing.hub import device_of
from ros2_cosim.world.headless.wire_types import Transform

SEED: Final = "noise_seed"
PERIOD: Final = "sensor_tick"
_NAMES: Final = ("role_name", "ros_name")
_SEEDS: Final = 2**31  # CARLA's whole numbers have 32 bits
_POINT_BYTES: Final = {"sensor.lidar.ray_cast_semantic": 24}
_RECORDS: Final = ((SensorForm.FIX, Fix), (SensorForm.INERTIA, Inertia))
_USUAL_BYTES: Final = 16
_NUMBERS: Final = {form: len(record._fields) for form, record in _RECORDS}
_NUMBER_BYTES: Final = 8
_FLOW_BYTES, _PIXEL_BYTES = 8, 4


def sensor_attributes(
    name: str, blueprint: SensorBlueprint, given: Mapping[str, bool | float | str], seed: int
) -> dict[str, str]:
    """All attributes of a sensor but its period: as given, else CARLA's.

    A seed of its noise that is not given follows from that of the run and the sensor's name.

    :raises ConfigurationError: there is no such attribute, or a value is not allowed
    """
    where = f"scene.sensors.{name}.attributes"
    if PERIOD in given:
        raise ConfigurationError(f"{where}.{PERIOD}: found one; allowed is the sensor's 'period'")
    kind = LIBRARY[blueprint]
    known = {a.id: a.value for a in kind.attributes if a.id not in _NAMES}
    chosen = {key: _text(value) for key, value in given.items()}
    if SEED in known and SEED not in chosen:
        chosen[SEED] = str(stream_key(seed, "scene.sensors", name) % _SEEDS)
    try:
        device = Actor(0, kind, kind.describe(chosen), Transform())
        device_of(blueprint)(device)
    except ValueError as error:
        raise ConfigurationError(f"{where}: {error}") from None
    return {**known, **chosen}


def number(attributes: Mapping[str, str], name: str) -> float:
    """The value of a numeric attribute, which may end with an f."""
    return float(attributes[name].rstrip("f"))


def _text(value: bool | float | str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def most_bytes(blueprint: SensorBlueprint, attributes: Mapping[str, str], period_ns: int) -> int:
    """Bytes of the longest measurement of a sensor."""
    form = form_of(blueprint)
    if form in _NUMBERS:
        return _NUMBERS[form] * _NUMBER_BYTES
    if form is SensorForm.IMAGE:
        pixels = int(attributes["image_size_x"]) * int(attributes["image_size_y"])
        return pixels * (_FLOW_BYTES if blueprint.endswith("optical_flow") else _PIXEL_BYTES)
    rays = number(attributes, "points_per_second") * period_ns / 1e9
    # Each channel rounds for itself.
    most = int(rays) + int(attributes.get("channels", 1)) + 1
    return most * _POINT_BYTES.get(blueprint, _USUAL_BYTES)
