# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``static.prop.mesh`` has the body that its mesh names; ``util.actor.empty`` has none."""

from __future__ import annotations

import logging

import pytest
from support.sensor_bench import Bench

from ros2_cosim.world.headless import meshes
from ros2_cosim.world.headless.actors import Actor
from ros2_cosim.world.headless.blueprints import LIBRARY, MESH
from ros2_cosim.world.headless.sensing.shapes import shape_of
from ros2_cosim.world.headless.wire_types import Transform, Vector
from ros2_cosim.world.headless.world import CallError

PARKED = "/Game/Carla/Static/Car/4Wheeled/ParkedVehicles/"
CAR, DYNAMIC = 14, 21


def _spawn(bench: Bench, path: str, **attributes: object) -> Actor:
    place = Transform(Vector(100.0, 5.25, 0.0))
    return bench.simulation.world.actors[bench.sensor(MESH, place, mesh_path=path, **attributes)]


# Names of meshes as Bench2Drive's and leaderboard 2's parked vehicles have them.
@pytest.mark.parametrize(
    ("path", "model", "label"),
    [
        (PARKED + "Lincoln/SM_LincolnParked.SM_LincolnParked", "lincoln.mkz_2020", CAR),
        (PARKED + "Charger/SM_ChargerParked.SM_ChargerParked", "dodge.charger_2020", CAR),
        (PARKED + "MercedesCCC/SM_MercedesCCC_Parked.SM_MercedesCCC_Parked",
         "mercedes.coupe_2020", CAR),
        (PARKED + "Mini2021/SM_Mini2021_parked.SM_Mini2021_parked", "mini.cooper_s_2021", CAR),
        (PARKED + "TeslaM3/SM_TeslaM3_parked.SM_TeslaM3_parked", "tesla.model3", CAR),
        (PARKED + "VolkswagenT2/SM_VolkswagenT2_2021_Parked.SM_VolkswagenT2_2021_Parked",
         "volkswagen.t2_2021", CAR),
        ("StaticMesh'/Game/Carla/Static/Dynamic/Garden/SM_PlasticTable.SM_PlasticTable'",
         "static.prop.plastictable", DYNAMIC),
    ],
)  # fmt: skip
def test_a_mesh_is_as_large_as_what_it_names(path: str, model: str, label: int) -> None:
    bench = Bench()
    known = LIBRARY.get(model) or LIBRARY[f"vehicle.{model}"]
    actor = _spawn(bench, path)
    assert actor.bounding_box.extent == known.extent and actor.collides
    assert bench.simulation.record(actor).semantic_tags == bytes((label,))
    shape = shape_of(actor)
    assert shape is not None and (len(shape.points) > 100) == (label == CAR)
    # As in CARLA there is always room for a mesh.
    larger = _spawn(bench, path, scale=2.0)
    assert larger.bounding_box.extent.x == 2.0 * known.extent.x
    with pytest.raises(CallError, match="collision at spawn position"):
        bench.car(100.0)


def test_a_mesh_that_is_not_known_is_there_without_a_body(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    # Not by pytest's handler: what another test of this process uses may have silenced loggers.
    logger = logging.getLogger(meshes.__name__)
    monkeypatch.setattr(logger, "warning", lambda text, *values: said.append(text % values))
    bench = Bench()
    actor = _spawn(bench, "/Game/Carla/Static/Building/Houses/SM_House01.SM_House01")
    assert not actor.collides and shape_of(actor) is None
    assert len(said) == 1 and "SM_House01' is not known" in said[0]
    assert bench.car(100.0)


@pytest.mark.parametrize("scale", ["0", "-1", "1e9", "x"])
def test_a_scale_that_is_none_is_refused(scale: str) -> None:
    with pytest.raises(CallError, match="attribute 'scale' .* allowed is above 0 to 100"):
        _spawn(Bench(), PARKED + "Mini2021/SM_Mini2021_parked", scale=scale)


def test_an_empty_actor_carries_sensors_and_collides_with_nothing() -> None:
    bench = Bench()
    empty = bench.sensor("util.actor.empty", Transform(Vector(100.0, 5.25, 1.0)))
    sensor = bench.sensor("sensor.other.gnss", Transform(Vector(0.0, 0.0, 2.0)), empty)
    assert bench.car(100.0)
    bench.run(1)
    assert bench.payloads(sensor)[0][2] == 3.0
