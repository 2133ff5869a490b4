# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Simulators that a scenario names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.loading import data_only
from ros2_cosim.core.scene.named_simulator import (
    NamedSimulator,
    SimulatorContext,
    find_simulator,
)
from ros2_cosim.core.scene.simulator import Body, Contact, MapChoice, Motion, Pose, Simulator

HERE = "interfaces.test_named_simulator"
STILL = Motion(Pose(0, 0, 0, 0, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, 0))


class Still(NamedSimulator):
    """Nothing moves."""

    def prepare(self, chosen: MapChoice, weather: str, step_s: float) -> None:
        self.text = chosen.opendrive

    def opendrive(self) -> str:
        return self.text

    def spawn(self, blueprint: str, role: str, pose: Pose) -> tuple[int, Body]:
        return 1, Body((0, 0, 0), (1, 1, 1))

    def place(self, actor: int, pose: Pose, velocity: tuple[float, float, float]) -> None: ...

    def control(self, actor: int, throttle: float, steer: float, brake: float) -> None: ...

    def tick(self) -> None: ...

    def motion(self, actor: int) -> Motion:
        return STILL

    def contacts(self) -> list[Contact]:
        return []

    def close(self) -> None: ...


class Tuned(Still):
    """One with a parameter."""

    class Options(Section):
        grip: Number = Field(default=1.0, gt=0, description="of the road")


class Unfinished(NamedSimulator):
    """Lacks most."""

    def tick(self) -> None: ...


def test_carla_and_the_headless_server_are_no_named_simulators() -> None:
    for kind in ("headless", "carla"):
        assert find_simulator({"kind": kind}) is None


def test_a_class_is_named_and_made_with_its_options() -> None:
    found = find_simulator({"kind": f"{HERE}:Tuned", "options": {"grip": 0.5}})
    assert found is not None
    made = found.make(SimulatorContext(Path(), 7))
    assert type(made).__name__ == "Tuned"
    assert (made.context.seed, made.options.grip) == (7, 0.5)
    simulator: Simulator = made  # by its methods
    simulator.prepare(MapChoice(opendrive="text"), "ClearNoon", 0.01)
    assert simulator.opendrive() == "text"


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("headles", {}, "simulator.kind: found 'headles'; did you mean 'headless'? allowed are"),
        ("Gazebo", {}, "allowed are headless, carla, sumo, and module:Class"),
        ("os:getcwd", {}, "the Python standard library has no simulators"),
        ("no_such_module:World", {}, "simulator 'no_such_module:World' cannot be loaded: Module"),
        (f"{HERE}:Nothing", {}, "cannot be loaded: AttributeError"),
        (f"{HERE}:STILL", {}, "allowed is a class derived from NamedSimulator"),
        (f"{HERE}:Unfinished", {}, "lacks close, contacts, control, motion, opendrive, place"),
        (f"{HERE}:Still", {"grip": 1.0}, "simulator.options: found grip; "),
        (f"{HERE}:Tuned", {"grib": 1.0}, "simulator.options.grib: unknown key; did you mean"),
        (f"{HERE}:Tuned", {"grip": -1.0}, "simulator.options.grip: "),
        ("headless", {"grip": 1.0}, "simulator.options.grip: unknown key; "),
        ("headless", {"scenery": "half"}, "simulator.options.scenery: found 'half'; allowed"),
        ("carla", {"scenery": "none"}, "simulator.options: found scenery; carla takes no options"),
    ],
)
def test_what_is_no_simulator_is_refused(
    kind: str, options: dict[str, float], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        find_simulator({"kind": kind, "options": options})


def test_a_strangers_scenario_loads_no_simulator_of_others() -> None:
    with data_only(), pytest.raises(ConfigurationError, match="is code; allowed is code of"):
        find_simulator({"kind": f"{HERE}:Still"})
