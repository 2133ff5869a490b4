# SPDX-License-Identifier: Apache-2.0
"""Makes the behaviours of this room from the parameters of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.participant import ModelContext
from ros2_cosim.kernel.time import parse_duration
from ros2_cosim.models.cacc import CaccBehaviour
from ros2_cosim.models.controllers import LongitudinalLaw, make_law
from ros2_cosim.models.object_sensor import ObjectSensor
from ros2_cosim.models.referee import PlatoonReferee
from ros2_cosim.models.road import RoadNetwork
from ros2_cosim.models.v2v import V2VChannel
from ros2_cosim.models.vehicle import VEHICLES, pedals_for
from ros2_cosim.models.vehicle_info import VehicleInfo

_Behaviour = TypeVar("_Behaviour")


def scene_road(context: ModelContext) -> RoadNetwork:
    """Read the road network of the scene.

    :raises ConfigurationError: no map is named, or it cannot be read
    """
    name = context.scene.get("map")
    if not isinstance(name, str) or not name.endswith(".xodr"):
        raise ConfigurationError(f"scene.map: found {name!r}; allowed is the path of a .xodr file")
    return _read_road(context.base_directory / name)


@lru_cache(maxsize=4)
def _read_road(path: Path) -> RoadNetwork:
    # Shared by all models of a process: a network does not change once it is read.
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"scene.map: {path}: {reason}") from None
    return RoadNetwork.from_xodr(text, f"scene.map: {path}")


def scene_vehicles(context: ModelContext) -> dict[str, VehicleInfo]:
    """Identity and size of every vehicle of the scene.

    :raises ConfigurationError: a vehicle lacks id or size
    """
    vehicles = context.scene.get("vehicles")
    if not isinstance(vehicles, Mapping) or not vehicles:
        raise ConfigurationError(f"scene.vehicles: found {vehicles!r}; allowed is name: settings")
    result = {}
    for name, settings in vehicles.items():
        try:
            result[name] = VehicleInfo(
                int(settings["id"]), float(settings["length"]), float(settings["width"])
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(
                f"scene.vehicles.{name}: id, length and width are needed ({error!r})"
            ) from None
    return result


def make_object_sensor(context: ModelContext) -> ObjectSensor:
    """Make the object sensor of the vehicle named by parameter ``ego``."""
    return _construct(
        context,
        ObjectSensor,
        vehicles=scene_vehicles(context),
        road=scene_road(context),
        run_seed=context.run_seed,
    )


def make_v2v_channel(context: ModelContext) -> V2VChannel:
    """Make the V2V channel; ``links`` is a list of [sender, receiver]."""
    parameters = dict(context.parameters)
    links = parameters.pop("links", ())
    return _construct(
        context,
        V2VChannel,
        parameters,
        links=[tuple(link) for link in links],
        vehicles=scene_vehicles(context),
        run_seed=context.run_seed,
    )


def make_cacc_controller(
    context: ModelContext, own_law: LongitudinalLaw | None = None
) -> CaccBehaviour:
    """Make a follower's controller; ``law`` names the control law, ``law_parameters`` its own.

    ``vehicle`` names the vehicle parameters that the pedals are computed for.

    :param own_law: drives instead of the one that the parameters name
    """
    parameters = dict(context.parameters)
    name = parameters.pop("law", "path_cacc")
    law_parameters = parameters.pop("law_parameters", None)
    law = own_law or make_law(name, law_parameters, base_directory=context.base_directory)
    kind = parameters.pop("vehicle", "sedan")
    if kind not in VEHICLES:
        raise ConfigurationError(
            f"participants.{context.name}.parameters.vehicle: found {kind!r}; allowed are "
            f"{', '.join(sorted(VEHICLES))}"
        )
    vehicle = VEHICLES[kind]
    return _construct(
        context,
        CaccBehaviour,
        parameters,
        law=law,
        pedals=partial(pedals_for, vehicle),
        vehicle_lag=0.5 * (vehicle.throttle_lag + vehicle.brake_lag),
    )


def make_platoon_referee(context: ModelContext) -> PlatoonReferee:
    """Make the referee of the platoon named by ``scene.platoon``."""
    parameters = dict(context.parameters)
    for name in ("time_limit", "standstill_time"):
        if name in parameters:
            where = f"participants.{context.name}.parameters.{name}"
            parameters[f"{name}_ns"] = parse_duration(parameters.pop(name), where)
    return _construct(
        context,
        PlatoonReferee,
        parameters,
        platoon=list(context.scene.get("platoon", ())),
        vehicles=scene_vehicles(context),
        road=scene_road(context),
    )


def _construct(
    context: ModelContext,
    make: Callable[..., _Behaviour],
    parameters: Mapping[str, Any] | None = None,
    **given: Any,
) -> _Behaviour:
    """Call a constructor with the scenario's parameters; a wrong name is an error of the file."""
    parameters = context.parameters if parameters is None else parameters
    try:
        return make(name=context.name, **given, **parameters)
    except TypeError as error:
        raise ConfigurationError(
            f"participants.{context.name}.parameters: {str(error).split('() ')[-1]}"
        ) from None
