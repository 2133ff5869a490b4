# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Serving the CARLA slave of a scenario: as a node of a run, or alone on another host."""

from __future__ import annotations

from collections.abc import Callable

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.kernel.errors import (
    Aborted,
    AbortOrigin,
    ConfigurationError,
    ConnectionFailedError,
)
from ros2_cosim.core.kernel.participant import ModelContext
from ros2_cosim.core.scene.simulator import Simulator
from ros2_cosim.dcp.slave.interfaces import SlaveOptions
from ros2_cosim.dcp.slave.server import SlaveServer, serve
from ros2_cosim.dcp.standard.data_path import Missing
from ros2_cosim.dcp.standard.errors import DcpPeerLostError
from ros2_cosim.world.carla.dcp_slave import SceneSlave
from ros2_cosim.world.carla.describe import scene_description
from ros2_cosim.world.carla.scene_settings import DcpSettings, WorldParameters, scene_parameters

INPUT_WAIT_S = 0.2
"""Over UDP a step's inputs may come after the request for the step."""


def serve_world(
    context: ModelContext,
    parameters: WorldParameters,
    simulator: Callable[[], Simulator],
    *,
    host: str | None = None,
    port: int | None = None,
    keep: bool = False,
    stopped: Callable[[int, int, int], None] = lambda steps, step_ns, simulator_ns: None,
    simulates: Callable[[bool], None] | None = None,
    on_ready: Callable[[SlaveServer], None] | None = None,
    moment: memoryview | None = None,
) -> None:
    """Serve the slave of a world participant until it is deregistered.

    :param context, parameters: of the world participant
    :param simulator: makes the connection to the simulator
    :param host, port: where it listens, by default as the scenario says
    :param keep: serve one master after the other
    :param stopped, simulates: see :class:`SceneSlave`
    :param on_ready: called when it listens
    :param moment: see :class:`~ros2_cosim.dcp.slave.server.SlaveServer`
    :raises ConfigurationError: the scene is wrong, or the address cannot be used
    :raises ConnectionFailedError: the slave went to its error state, with the reason
    :raises Aborted: its master was lost
    """
    dcp = parameters.dcp or DcpSettings()
    scene = scene_parameters(context, parameters)
    slave = SceneSlave(scene, simulator, context, stopped, simulates)
    place = (host or dcp.host, dcp.port if port is None else port)
    try:
        serve(
            slave,
            scene_description(parameters, scene),
            host=place[0],
            port=place[1],
            once=not keep,
            options=slave_options(dcp),
            on_ready=on_ready,
            moment=moment,
        )
    except OSError as error:
        raise ConfigurationError(
            f"DCP port {place[1]} on {place[0]} cannot be used: {cause_of(error)}"
        ) from None
    except DcpPeerLostError as error:
        if slave.failure is None:
            # The master's process is the one that failed; it has its own say.
            raise Aborted(str(error), AbortOrigin.ELSEWHERE) from None
    if slave.failure is not None:
        raise ConnectionFailedError(slave.failure)


def slave_options(dcp: DcpSettings) -> SlaveOptions:
    """What the slave does where the standard leaves a choice.

    A slave that its clock makes step does not wait for inputs: it would miss its ticks.
    """
    return SlaveOptions(
        data_synchronisation=dcp.data_synchronisation,
        input_wait_s=0.0 if dcp.depends_on_wall_clock else INPUT_WAIT_S,
        missing=Missing(dcp.missing),
        newest_only=True,
    )
