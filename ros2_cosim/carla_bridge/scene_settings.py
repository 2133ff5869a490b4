# SPDX-License-Identifier: Apache-2.0
"""The scene part of a scenario as parameters of :class:`~.scene.Scene`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from ros2_cosim.carla_bridge.parameters import (
    MAX_SEED,
    MAX_TRAFFIC,
    DriverSpec,
    ObjectSpec,
    SceneParameters,
    VehicleSpec,
    roadblock,
)
from ros2_cosim.carla_bridge.simulator import MapChoice
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.participant import ModelContext
from ros2_cosim.kernel.time import parse_duration

_KEYS = ("step", "control_period", "vehicles", "traffic", "traffic_seed", "dcp")
_DCP_KEYS = ("transport", "host", "port", "missing", "heartbeat", "description")
_Spec = TypeVar("_Spec")


def scene_parameters(context: ModelContext, step_ns: int) -> SceneParameters:
    """Read map, vehicles and objects of the scene.

    ``vehicles`` is a mapping of name to the fields of ``VehicleSpec`` (and ``id``, ``length``,
    ``width``, which the models use); ``driver`` holds the fields of ``DriverSpec``.
    ``objects`` does the same for ``ObjectSpec``; ``roadblock`` holds the arguments of
    :func:`~.parameters.roadblock`. The participant's parameter ``control_period`` says how often
    lane keeping and drivers act (default: at every step); ``vehicles`` how many of the vehicles
    are there (default: all), ``traffic`` how many others drive around, ``traffic_seed`` where
    (0, the default: by the run's seed).

    :param step_ns: plant step, the period of the world participant
    :raises ConfigurationError: a key is unknown, a value is wrong or the map is not there
    """
    _check_keys(context)
    scene = context.scene
    vehicles = []
    for position, (name, settings) in enumerate(_mapping(scene, "vehicles").items(), start=1):
        settings = dict(settings)
        if settings.pop("id", position) != position:
            raise ConfigurationError(
                f"scene.vehicles.{name}.id: vehicles are numbered from 1 in the order in which "
                f"they stand in the scenario; this one is number {position}"
            )
        for known in ("length", "width"):
            settings.pop(known, None)
        driver = settings.pop("driver", None)
        if driver is not None:
            settings["driver"] = _build(DriverSpec, driver, f"scene.vehicles.{name}.driver")
        vehicles.append(_build(VehicleSpec, {"name": name, **settings}, f"scene.vehicles.{name}"))
    objects = [
        _build(ObjectSpec, {"name": name, **settings}, f"scene.objects.{name}")
        for name, settings in _mapping(scene, "objects").items()
    ]
    block = scene.get("roadblock")
    if block is not None:
        try:
            objects += roadblock(**block)
        except TypeError as error:
            raise ConfigurationError(f"scene.roadblock: {error}") from None
    where = f"participants.{context.name}.parameters.control_period"
    control_period = context.parameters.get("control_period", step_ns)
    parameters = SceneParameters(
        map=map_choice(str(scene.get("map", "")), context.base_directory),
        step_ns=step_ns,
        vehicles=tuple(vehicles),
        objects=tuple(objects),
        weather=str(scene.get("weather", "ClearNoon")),
        control_period_ns=parse_duration(control_period, where, minimum=1),
        count=_whole(context, "vehicles", len(vehicles), 1, len(vehicles)),
        traffic=_whole(context, "traffic", 0, 0, MAX_TRAFFIC),
        traffic_seed=_whole(context, "traffic_seed", 0, 0, MAX_SEED) or context.run_seed,
    )
    _check_ports(context, parameters)
    return parameters


def _check_keys(context: ModelContext) -> None:
    """A key that nobody reads is a mistake in its name."""
    where = f"participants.{context.name}.parameters"
    dcp = context.parameters.get("dcp") or {}
    for place, found, known in (
        (where, context.parameters, _KEYS),
        (f"{where}.dcp", dcp if isinstance(dcp, Mapping) else {}, _DCP_KEYS),
    ):
        for key in found:
            if key not in known:
                raise ConfigurationError(
                    f"{place}.{key}: unknown key; allowed are {', '.join(known)}"
                )


def _whole(context: ModelContext, key: str, default: int, low: int, high: int) -> int:
    value = context.parameters.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigurationError(
            f"participants.{context.name}.parameters.{key}: found {value!r}; allowed is {low} to "
            f"{high}"
        )
    return value


def _check_ports(context: ModelContext, parameters: SceneParameters) -> None:
    """A port of a vehicle that is not there would stay silent for ever."""
    absent = {spec.name for spec in parameters.vehicles} - {v.name for v in parameters.present}
    for port in context.output_types:
        if port.partition("/")[2] in absent:
            raise ConfigurationError(
                f"participants.{context.name}.parameters.vehicles: found {parameters.count}; the "
                f"output '{port}' needs more (vehicles are counted in the order of scene.vehicles)"
            )


def map_choice(name: str, base_directory: Path) -> MapChoice:
    """A map by its OpenDRIVE file (``*.xodr``) or by the name that the simulator knows.

    :raises ConfigurationError: the file cannot be read
    """
    if not name.endswith(".xodr"):
        return MapChoice(name=name)
    path = base_directory / name
    try:
        return MapChoice(opendrive=path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"scene.map: {path}: {reason}") from None


def commanded_vehicles(parameters: SceneParameters) -> list[str]:
    """Vehicles whose pedals come from outside."""
    return [spec.name for spec in parameters.present if spec.driver is None]


def _mapping(scene: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = scene.get(key) or {}
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"scene.{key}: found {value!r}; allowed is name: settings")
    return value


def _build(kind: type[_Spec], settings: Any, where: str) -> _Spec:
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    if not isinstance(settings, Mapping):
        raise ConfigurationError(f"{where}: found {settings!r}; allowed are {', '.join(known)}")
    for key in settings:
        if key not in known:
            raise ConfigurationError(f"{where}.{key}: unknown key; allowed are {', '.join(known)}")
    try:
        return kind(**settings)
    except TypeError as error:
        raise ConfigurationError(f"{where}: {error}") from None
