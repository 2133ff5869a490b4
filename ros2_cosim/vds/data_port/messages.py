# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The documents of the data port: checked requests, and answers as plain data."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field

from ros2_cosim.core.documents.plain_data import json_value
from ros2_cosim.core.documents.settings import Section, read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.realtime.pacing import RATE_LIMIT, RATE_MINIMUM
from ros2_cosim.vds.controllable import MOST_STEPS, ControlStatus
from ros2_cosim.vds.fleet import VehicleOutput
from ros2_cosim.vds.replay import plain_command
from ros2_cosim.vds.vehicle_plant import PlantState

MAX_TARGETS = 16
_IPV4 = r"^(25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}$"

_Document = TypeVar("_Document", bound="PortDocument")
Pedal = Annotated[float, Field(ge=0.0, le=1.0)]


class PortDocument(Section):
    """A request: of exactly the types that are declared."""

    model_config = ConfigDict(strict=True)


class IoRequest(PortDocument):
    """A command to one vehicle. With ``vehicle`` alone no command is given."""

    vehicle: str = Field(description="Name of the vehicle.")
    throttle: Pedal = Field(0.0, description="Throttle pedal.")
    brake: Pedal = Field(0.0, description="Brake pedal.")
    steer: float = Field(
        0.0, ge=-1.0, le=1.0, description="Part of the largest steering angle, left positive."
    )
    gear: Literal[-1, 0, 1] = Field(1, description="1 forward, 0 neutral, -1 reverse.")
    handbrake: bool = Field(False, description="Hand brake.")


class VehicleFilesRequest(PortDocument):
    """Other files of one vehicle; a key that is left out changes nothing."""

    vehicle: str = Field(description="Name of the vehicle.")
    level: str | None = Field(None, description="Level of detail.")
    vehicle_file: str | None = Field(None, description="Text (YAML) of a vehicle file.")
    tyre_file: str | None = Field(None, description="Text (YAML) of a tyre file.")


class Target(PortDocument):
    """Where telemetry goes."""

    ip: str = Field(pattern=_IPV4, description="IPv4 address.")
    port: int = Field(ge=1, le=65535, description="UDP port.")


class TargetsRequest(PortDocument):
    """Receivers of one vehicle's telemetry; they replace the former ones."""

    vehicle: str = Field(description="Name of the vehicle.")
    targets: list[Target] = Field(max_length=MAX_TARGETS, description="All receivers.")
    command: bool = Field(False, description="Send the command along with the state.")


class ChangeRunRequest(PortDocument):
    """A change to the run."""

    action: Literal["pause", "resume", "step", "rate"] = Field(description="What to do.")
    count: int = Field(1, ge=1, le=MOST_STEPS, description="Steps to take (action step).")
    rate: float | None = Field(
        None,
        ge=RATE_MINIMUM,
        lt=RATE_LIMIT,
        description="Real-time factor (action rate); null: as fast as possible.",
    )


class ChangeValueRequest(PortDocument):
    """Another value of a parameter, a fault that is switched or a new one, from now on."""

    set: str = Field(
        description="One of the paths that GET tells: participants.NAME.parameters.KEY, or "
        "faults.NAME.active; or faults.NAME of a new fault."
    )
    to: Any = Field(description="The new value; of a new fault its keys, as in a scenario.")


def read_document(kind: type[_Document], body: bytes) -> _Document:
    """Read a request's document.

    :raises ConfigurationError: it is not JSON, or not what is allowed; the text says where
    """
    try:
        data = json_value(body.decode("utf-8"))
    except ValueError as error:
        raise ConfigurationError(f"body: not JSON: {error}") from None
    return read_section(kind, data, origin="body")


def plain_state(state: PlantState) -> dict[str, Any]:
    """A state as JSON has it."""
    return {k: list(v) if isinstance(v, tuple) else v for k, v in state._asdict().items()}


def plain_output(vehicle: str, output: VehicleOutput, *, command: bool) -> dict[str, Any]:
    """The document of one vehicle: simulated time, ticks, measured state, and its command."""
    document: dict[str, Any] = {
        "vehicle": vehicle,
        "time_s": output.time / SECOND,
        "step": output.steps,
        "measured_s": output.measured_time / SECOND,
        "state": plain_state(output.measured),
    }
    if command:
        document["command"] = plain_command(output.command)
    return document


def plain_status(status: ControlStatus) -> dict[str, Any]:
    """Where a run is."""
    return {
        "state": status.state,
        "time_s": status.time / SECOND,
        "steps": status.steps,
        "rate": status.rate,
        "may_change_rate": status.may_change_rate,
        "may_pause": status.may_pause,
    }
