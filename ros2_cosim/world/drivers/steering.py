# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Lane keeping as a participant: it adds the steering to the pedals of another controller.

For vehicles whose ``steering`` is ``command``. A model of your own with the same ports takes its
place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from ros2_cosim.core.documents.settings import Section, Whole
from ros2_cosim.core.kernel.errors import ConfigurationError, ParticipantError
from ros2_cosim.core.kernel.model import FullModel, Port, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.kernel.saved_state import SavedAttributes
from ros2_cosim.core.messages.message_types import CONTROL, ODOMETRY
from ros2_cosim.core.messages.records import ControlCommand
from ros2_cosim.core.scene.scene import scene_settings
from ros2_cosim.world.drivers.lane_keeping import LaneKeeper
from ros2_cosim.world.map import RoadError, RoadNetwork
from ros2_cosim.world.map.scene import scene_road
from ros2_cosim.world.vehicle import VEHICLES, VehicleParameters


class LaneKeepingParameters(Section):
    """Parameters of lane keeping."""

    vehicle: str = Field(description="name of the vehicle in the scene")
    lane: Whole | None = Field(
        default=None, description="OpenDRIVE lane that is kept; default: the one it starts in"
    )


class LaneKeepingController(FullModel):
    """Adds the steering that keeps a lane to each control command.

    Inputs: ``command`` (ControlCommand, the trigger), whose pedals and demand are passed on, and
    ``odometry`` of the vehicle, latched. Output at every activation: ``control``. Before the
    first odometry the wheels stay straight.

    :raises ConfigurationError: unknown vehicle, no lane, or the road cannot be read
    """

    Parameters = LaneKeepingParameters
    traits = Traits(cost_ns=50_000)

    input_ports = (
        Port("command", CONTROL, description="triggers"),
        Port("odometry", ODOMETRY, description="of the vehicle"),
    )
    output_ports = (Port("control", CONTROL),)
    other_ports = False

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: LaneKeepingParameters) -> None:
        """Check whether there is the vehicle, its lane and a road."""
        _lane(context, parameters)
        scene_road(context)

    def __init__(self, context: ModelContext, parameters: LaneKeepingParameters) -> None:
        lane, dynamics = _lane(context, parameters)
        self._name = context.name
        self._keeper = LaneKeeper(scene_road(context), VEHICLES[dynamics], lane)

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Steer once."""
        command, odometry = step.latest["command"], step.latest["odometry"]
        if command is None:
            return {"control": ControlCommand(0.0, 0.0, 0.0, 0.0)}
        steer = 0.0
        if odometry is not None:
            try:
                steer = self._keeper.steer(odometry.value)
            except RoadError as error:
                raise ParticipantError(f"{self._name}: {error}") from error
        return {"control": command.value._replace(steer=steer)}

    def save_state(self) -> Any:
        """Where in its lane the vehicle is."""
        return _STATE.save(self)

    def restore_state(self, state: Any) -> None:
        """Go back to a state that ``save_state`` gave."""
        _STATE.restore(self, state)


_STATE = SavedAttributes(parts=(LaneKeeper,), constants=(RoadNetwork, VehicleParameters))


def _lane(context: ModelContext, parameters: LaneKeepingParameters) -> tuple[int, str]:
    """(lane, dynamics) of the vehicle."""
    scene = scene_settings(context)
    scene.require_vehicle(parameters.vehicle, f"{context.where}.vehicle")
    vehicle = scene.vehicles[parameters.vehicle]
    lane = vehicle.lane if parameters.lane is None else parameters.lane
    if not lane:
        raise ConfigurationError(
            f"{context.where}.lane: found {lane}; allowed are the ids of lanes, as -1, -2, 1"
        )
    return lane, vehicle.dynamics or "sedan"
