# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The CARLA slave of a scenario outside of a run: its description, and serving it alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.core.scenario.declaration import ParticipantDeclaration, declare_all
from ros2_cosim.core.scenario.schema import Scenario, SimulatorSettings, load_scenario
from ros2_cosim.core.scene.named_simulator import find_simulator, headless_options
from ros2_cosim.core.scene.simulator import Simulator
from ros2_cosim.dcp.slave.server import SlaveServer
from ros2_cosim.dcp.standard.slave_description import SlaveDescription
from ros2_cosim.world.carla.describe import describe_world
from ros2_cosim.world.carla.inprocess_world import InProcessWorld
from ros2_cosim.world.carla.scene_settings import WorldParameters
from ros2_cosim.world.carla.serve import serve_world
from ros2_cosim.world.carla.world import simulator_context


def find_world(scenario: Scenario, origin: str | os.PathLike[str]) -> ParticipantDeclaration:
    """The first participant whose plant is a DCP slave.

    :raises ConfigurationError: there is none
    """
    for declaration in declare_all(scenario).values():
        parameters = declaration.parameters
        if isinstance(parameters, WorldParameters) and parameters.dcp is not None:
            return declaration
    raise ConfigurationError(f"scenario {origin}: no participant has a DCP slave")


def describe_scenario_world(path: Path, changes: Sequence[str] = ()) -> SlaveDescription:
    """The description of that slave.

    :param changes: ``dotted.key=value`` texts
    :raises ConfigurationError: the scenario is wrong, or has none
    """
    return describe_world(find_world(load_scenario(path, changes), path).context)


def serve_scenario_world(
    path: Path,
    changes: Sequence[str],
    *,
    host: str | None,
    port: int | None,
    keep: bool,
    on_ready: Callable[[SlaveServer], None],
    moment: memoryview | None = None,
) -> None:
    """Serve that slave on this machine, for a run on another one.

    With simulator kind headless and no port of a server, the world is simulated in this process;
    the numbers are the same. Otherwise the slave is a client of the server.

    :param changes: ``dotted.key=value`` texts
    :param moment: see :class:`~ros2_cosim.dcp.slave.server.SlaveServer`
    :raises CosimError: see :func:`~ros2_cosim.world.carla.serve.serve_world`
    """
    scenario = load_scenario(path, changes)
    declared = find_world(scenario, path)
    serve_world(
        declared.context,
        declared.parameters,
        lambda: _simulator(declared.context, scenario.simulator),
        host=host,
        port=port,
        keep=keep,
        on_ready=on_ready,
        moment=moment,
    )


def _simulator(context: ModelContext, settings: SimulatorSettings) -> Simulator:
    named = find_simulator(context.simulator)
    if named is not None:
        return named.make(simulator_context(context))
    if settings.kind == "headless" and settings.port == 0:
        return InProcessWorld(options=headless_options(context.simulator))
    from ros2_cosim.world.carla.client_world import ClientWorld

    return ClientWorld(settings.host, settings.port, settings.timeout_s)
