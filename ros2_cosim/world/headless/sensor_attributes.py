# SPDX-License-Identifier: Apache-2.0
"""The sensors of CARLA 0.9.16: ids, attributes with their types and recommended values.

The first recommended value is the default. ``UNSUPPORTED`` names the sensors that this server
refuses to spawn, and why.
"""

from __future__ import annotations

from typing import NamedTuple


class SensorAttribute(NamedTuple):
    """One attribute; ``type`` is ``bool``, ``int``, ``float`` or ``str``."""

    id: str
    type: str
    recommended: tuple[str, ...]


class SensorKind(NamedTuple):
    """One kind of sensor."""

    id: str
    attributes: tuple[SensorAttribute, ...]


def _floats(*pairs: tuple[str, str]) -> tuple[SensorAttribute, ...]:
    return tuple(SensorAttribute(name, "float", (value,)) for name, value in pairs)


def _ints(*pairs: tuple[str, str]) -> tuple[SensorAttribute, ...]:
    return tuple(SensorAttribute(name, "int", (value,)) for name, value in pairs)


def _bools(*pairs: tuple[str, str]) -> tuple[SensorAttribute, ...]:
    return tuple(SensorAttribute(name, "bool", (value,)) for name, value in pairs)


_TICK = _floats(("sensor_tick", "0.0"))
_SEED = _ints(("noise_seed", "0"))

_CAMERA = (
    *_ints(("image_size_x", "800"), ("image_size_y", "600")),
    *_floats(
        ("fov", "90.0"),
        ("lens_circle_falloff", "5.0"),
        ("lens_circle_multiplier", "0.0"),
        ("lens_k", "-1.0"),
        ("lens_kcube", "0.0"),
        ("lens_x_size", "0.08"),
        ("lens_y_size", "0.08"),
    ),
    *_TICK,
)

_PHOTOGRAPHY = (
    SensorAttribute("exposure_mode", "str", ("histogram", "manual")),
    *_bools(("enable_postprocess_effects", "true")),
    *_ints(("blade_count", "5")),
    *_floats(
        ("exposure_compensation", "0.0"),
        ("shutter_speed", "200.0"),
        ("iso", "100.0"),
        ("fstop", "1.4"),
        ("gamma", "2.2"),
        ("motion_blur_intensity", "0.45"),
        ("motion_blur_max_distortion", "0.35"),
        ("motion_blur_min_object_screen_size", "0.1"),
        ("lens_flare_intensity", "0.1"),
        ("bloom_intensity", "0.675"),
        ("exposure_min_bright", "10.0"),
        ("exposure_max_bright", "12.0"),
        ("exposure_speed_up", "3.0"),
        ("exposure_speed_down", "1.0"),
        ("calibration_constant", "16.0"),
        ("focal_distance", "1000.0"),
        ("blur_amount", "1.0"),
        ("blur_radius", "0.0"),
        ("min_fstop", "1.2"),
        ("slope", "0.88"),
        ("toe", "0.55"),
        ("shoulder", "0.26"),
        ("black_clip", "0.0"),
        ("white_clip", "0.04"),
        ("temp", "6500.0"),
        ("tint", "0.0"),
        ("chromatic_aberration_intensity", "0.0"),
        ("chromatic_aberration_offset", "0.0"),
    ),
)

_EVENTS = (
    *_bools(("use_log", "true")),
    *_floats(
        ("positive_threshold", "0.3"),
        ("negative_threshold", "0.3"),
        ("sigma_positive_threshold", "0.0"),
        ("sigma_negative_threshold", "0.0"),
        ("log_eps", "0.001"),
    ),
    *_ints(("refractory_period_ns", "0")),
)

_LIDAR = (
    *_ints(("channels", "32"), ("points_per_second", "56000")),
    *_floats(
        ("range", "10.0"),
        ("rotation_frequency", "10.0"),
        ("upper_fov", "10.0"),
        ("lower_fov", "-30.0"),
        ("horizontal_fov", "360.0"),
    ),
    *_TICK,
)

_LIDAR_LOSSES = (
    *_floats(
        ("atmosphere_attenuation_rate", "0.004"),
        ("dropoff_general_rate", "0.45"),
        ("dropoff_intensity_limit", "0.8"),
        ("dropoff_zero_intensity", "0.4"),
        ("noise_stddev", "0.0"),
    ),
    *_SEED,
)

SENSORS: tuple[SensorKind, ...] = (
    SensorKind("sensor.camera.cosmos_visualization", _CAMERA),
    SensorKind("sensor.camera.depth", _CAMERA),
    SensorKind("sensor.camera.dvs", (*_CAMERA, *_PHOTOGRAPHY, *_EVENTS)),
    SensorKind("sensor.camera.instance_segmentation", _CAMERA),
    SensorKind("sensor.camera.normals", _CAMERA),
    SensorKind("sensor.camera.optical_flow", _CAMERA),
    SensorKind("sensor.camera.rgb", (*_CAMERA, *_PHOTOGRAPHY)),
    SensorKind("sensor.camera.semantic_segmentation", _CAMERA),
    SensorKind("sensor.lidar.ray_cast", (*_LIDAR, *_LIDAR_LOSSES)),
    SensorKind("sensor.lidar.ray_cast_semantic", _LIDAR),
    SensorKind("sensor.other.collision", ()),
    SensorKind(
        "sensor.other.gnss",
        (
            *_floats(
                *(
                    (f"noise_{axis}_{what}", "0.0")
                    for axis in ("alt", "lat", "lon")
                    for what in ("bias", "stddev")
                )
            ),
            *_SEED,
            *_TICK,
        ),
    ),
    SensorKind(
        "sensor.other.imu",
        (
            *_floats(
                *(
                    (f"noise_{what}_{axis}", "0.0")
                    for what in ("accel_stddev", "gyro_bias", "gyro_stddev")
                    for axis in "xyz"
                )
            ),
            *_SEED,
            *_TICK,
        ),
    ),
    SensorKind("sensor.other.lane_invasion", ()),
    SensorKind(
        "sensor.other.obstacle",
        (
            *_floats(("distance", "5.0"), ("hit_radius", "0.5")),
            *_bools(("only_dynamics", "false"), ("debug_linetrace", "false")),
            *_TICK,
        ),
    ),
    SensorKind(
        "sensor.other.radar",
        (
            *_floats(("horizontal_fov", "30.0"), ("vertical_fov", "30.0"), ("range", "100.0")),
            *_ints(("points_per_second", "1500")),
            *_SEED,
            *_TICK,
        ),
    ),
    SensorKind("sensor.other.rss", ()),
    SensorKind("sensor.other.v2x", _TICK),
    SensorKind("sensor.other.v2x_custom", _TICK),
)

UNSUPPORTED = {
    "sensor.camera.cosmos_visualization": "this server draws no input for Cosmos Transfer",
    "sensor.camera.dvs": "this server renders no event camera",
    "sensor.other.rss": "the client has no RSS library",
    "sensor.other.v2x": "this server has no V2X radio",
    "sensor.other.v2x_custom": "this server has no V2X radio",
}
"""Sensors that cannot be spawned, with the reason."""

CLIENT_SIDE = "sensor.other.lane_invasion"
"""The sensor whose data the client itself computes."""
