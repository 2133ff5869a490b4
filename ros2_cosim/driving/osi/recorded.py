# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""OSI traces of a bag: what is known of its run, and its messages one after the other.

Needs the package ``osi-python`` (extra ``osi``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.core.kernel.time import parse_duration
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.records import CLASS_TRUCK
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scene.named_simulator import CARLA_KINDS
from ros2_cosim.core.scene.scene import (
    DEFAULT_CAR,
    FIRST_OBJECT_ID,
    SceneVehicleSettings,
    scene_settings,
)
from ros2_cosim.driving.osi.ground_truth import TRUTH, OsiCast, OsiMessage, SensorPlace, TruthOfRun
from ros2_cosim.driving.osi.messages import Axles, Form, SensorFrame
from ros2_cosim.driving.osi.sources import OsiSource, Subject
from ros2_cosim.driving.osi.trace_files import TraceFiles
from ros2_cosim.world.headless.blueprints import LIBRARY
from ros2_cosim.world.map.scene import scene_road, scene_vehicles
from ros2_cosim.world.map.vehicle_info import VehicleInfo
from ros2_cosim.world.vehicle.parameters import SEDAN, TRUCK


def write_traces(subject: Subject, bag: Path, directory: Path) -> None:
    """Write all traces of a bag.

    :raises ConfigurationError: the map of its scenario cannot be read
    :raises ProtocolError: it is damaged
    """
    with TraceFiles(directory, subject.scenario.name) as files:
        for each in messages_of(subject, bag):
            files.write("" if each.name == TRUTH else each.name, each.message)


def messages_of(subject: Subject, bag: Path) -> Iterator[OsiMessage]:
    """The OSI messages of a bag, in order."""
    parameters = subject.parameters
    truth = TruthOfRun(cast_of(subject), parameters.period, parameters.lanes)
    codecs = {
        topic: CATALOGUE.codec(source.output.type) for topic, source in subject.sources.items()
    }
    for message in read_bag(bag):
        source = subject.sources.get(message.topic)
        if source is not None:
            record: Any = codecs[message.topic].decode(message.data)[2]
            yield from truth.take(source.kind, source.name, message.stamp, record)
    yield from truth.present()


def cast_of(subject: Subject) -> OsiCast:
    """What is known of the run before it begins.

    :raises ConfigurationError: the map cannot be read
    """
    scenario = subject.scenario
    context = ModelContext("osi", {}, scenario.scene, scenario.seed, Path(scenario.base_directory))
    known = known_of(context, subject.host)
    step = None
    if scene_settings(context).traffic_lights and scenario.simulator.kind in CARLA_KINDS:
        step = next(
            settings.period
            for name, settings in scenario.participants.items()
            if any(port.startswith("odometry/") for port in scenario.outputs_of(name))
        )
    sensors = _sensors(scenario, subject.sources, known.vehicles)
    return replace(known, sensors=sensors, step_ns=step)


def known_of(context: ModelContext, host: str) -> OsiCast:
    """What is known of a scene; there are no sensors and no traffic lights.

    :param host: the host vehicle
    :raises ConfigurationError: the map cannot be read
    """
    scene = scene_settings(context)
    return OsiCast(
        vehicles=forms_of(context),
        host=host,
        walkers=frozenset(
            number
            for number, item in enumerate(scene.objects.values(), start=FIRST_OBJECT_ID)
            if (item.blueprint or "").startswith("walker.")
        ),
        network=scene_road(context) if scene.map.endswith(".xodr") else None,
        map_name=scene.map.rpartition("/")[2],
    )


def forms_of(context: ModelContext) -> dict[str, Form]:
    """Identity, class, size and axles of the vehicles of a scene.

    :raises ConfigurationError: there is none, or one lacks its size
    """
    infos = scene_vehicles(context)
    vehicles = scene_settings(context).vehicles
    return {name: _form(infos[name], given) for name, given in vehicles.items()}


def front_of(form: Form) -> float:
    """How far the front bumper of a vehicle of the scene is ahead of its rear axle [m]."""
    assert form.axles is not None, "all vehicles of a scene have axles"
    return form.axles.rear + 0.5 * form.length


def _sensors(
    scenario: Scenario, sources: Mapping[str, OsiSource], forms: Mapping[str, Form]
) -> dict[str, SensorPlace]:
    found: dict[str, SensorPlace] = {}
    for source in sources.values():
        if source.kind == "objects":
            ego = str(scenario.participants[source.name].parameters["ego"])
            frame = SensorFrame(len(found) + 1, front_of(forms[ego]))
            latency = source.output.latency
            fixed = None if isinstance(latency, dict) else parse_duration(latency)
            found[source.name] = SensorPlace(frame, ego, fixed)
    return found


def _form(info: VehicleInfo, settings: SceneVehicleSettings) -> Form:
    """Size and axles of a vehicle of the scene.

    Of a kind that CARLA does not have, height and axles are those of the class, scaled to its
    length.
    """
    blueprint = LIBRARY.get(settings.blueprint or DEFAULT_CAR)
    dynamics = blueprint.class_dynamics if blueprint is not None else None
    if blueprint is None or dynamics is None:
        own = TRUCK if info.classification == CLASS_TRUCK else SEDAN
        scale = info.length / own.length
        height = settings.height or own.height
    else:
        own, scale = dynamics, 1.0
        height = settings.height or 2.0 * blueprint.extent.z
    axles = Axles(own.front_axle * scale, own.rear_axle * scale, own.wheel_radius)
    return Form(info.id, info.classification, info.length, info.width, height, axles)
