# SPDX-License-Identifier: Apache-2.0
"""``summary.json``: what a run says of itself, for people and for other programs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.record.realtime_summary import RealtimeSummary

SUMMARY_FILE = "summary.json"
_SHA256 = r"^[0-9a-f]{64}$"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Causality(_Model):
    """Violations of the promised message order that the transport brought up."""

    timing: int = Field(
        default=0, ge=0, description="messages that arrived after their time had passed"
    )
    order: int = Field(default=0, ge=0, description="messages that arrived out of order")
    loss: int = Field(default=0, ge=0, description="messages that never arrived")


class ParticipantSummary(_Model):
    """One participant; times are wall time summed over the run."""

    name: str
    activations: int = Field(ge=0)
    compute_s: float = Field(default=0.0, ge=0.0, description="inside the model")
    wait_s: float = Field(
        default=0.0, ge=0.0, description="for others to reach the next activation"
    )
    transport_s: float = Field(default=0.0, ge=0.0, description="coding, sending and receiving")
    entered_s: float | None = Field(default=None, description="simulated time of its entry")
    left_s: float | None = Field(default=None, description="simulated time at which it left")


class Breakdown(_Model):
    """Wall time of all participants together."""

    compute_s: float = Field(default=0.0, ge=0.0)
    wait_s: float = Field(default=0.0, ge=0.0)
    transport_s: float = Field(default=0.0, ge=0.0)


class DataCounts(_Model):
    """Data PDUs in one direction between a DCP master and a slave over UDP."""

    received: int = Field(ge=0)
    lost: int = Field(ge=0, description="never came")
    duplicated: int = Field(ge=0, description="came again")
    reordered: int = Field(ge=0, description="came after a later one")
    refused: int = Field(ge=0, description="had a wrong length")
    held: int = Field(ge=0, description="steps for which none had come: former values were used")
    extrapolated: int = Field(ge=0, description="the same, values on the line through the last two")


class DcpData(_Model):
    """What the network did to the data of one DCP slave; ``missing`` is the chosen policy."""

    missing: str
    outputs: DataCounts | None = None
    inputs: DataCounts | None = Field(default=None, description="as far as the slave tells")
    since_s: float | None = Field(default=None, description="the first step without data")

    @property
    def harmed(self) -> int:
        """PDUs and steps whose data the network changed."""
        sides = [side for side in (self.outputs, self.inputs) if side is not None]
        return sum(max(side.lost, side.held + side.extrapolated) for side in sides)


class Verdict(_Model):
    """One oracle of the scenario; ``limit`` says in words or numbers what is allowed."""

    name: str
    value: float | int | bool | str | None
    limit: float | int | bool | str | None
    passed: bool


class Summary(_Model):
    """The content of ``summary.json``; units are in the names."""

    scenario: str
    shape: str
    simulator: str = ""
    seed: int
    steps: int = Field(ge=0)
    sim_time_s: float = Field(ge=0.0)
    wall_time_s: float = Field(ge=0.0)
    startup_time_s: float = Field(default=0.0, ge=0.0)
    rtf: float = Field(ge=0.0, description="simulated time per wall time, without start-up")
    end_reason: str = ""
    trace_sha256: str = Field(pattern=_SHA256)
    repeatable: bool
    not_repeatable_since_s: float | None = None
    not_repeatable_reason: str | None = None
    required: tuple[str, ...] | None = Field(
        default=None, description="whom the system controller has named as required"
    )
    causality: Causality
    participants: tuple[ParticipantSummary, ...] = ()
    breakdown: Breakdown = Breakdown()
    verdicts: tuple[Verdict, ...] = ()
    versions: dict[str, str] = {}
    dcp_data: dict[str, DcpData] | None = None
    figures: dict[str, dict[str, Any]] | None = Field(
        default=None, description="participant -> what its model tells beside the fields below"
    )
    realtime: RealtimeSummary | None = None
    collisions: int | None = Field(default=None, ge=0)
    min_gap_m: float | None = None
    final_gap_to_obstacle_m: float | None = None

    @model_validator(mode="after")
    def _reason_given(self) -> Summary:
        if self.repeatable == (self.not_repeatable_reason is not None):
            raise ValueError("not_repeatable_reason must be given if, and only if, not repeatable")
        return self

    @property
    def passed(self) -> bool:
        """Whether every verdict of the scenario is a pass."""
        return all(verdict.passed for verdict in self.verdicts)

    @property
    def violations(self) -> int:
        """All causality violations together."""
        return self.causality.timing + self.causality.order + self.causality.loss


def write_summary(run_dir: Path, summary: Summary) -> Path:
    """Write ``summary.json`` in one go: a reader sees the old file or the whole new one.

    Keys are sorted; fields that do not apply to the scenario are left out.

    :returns: the path of the file
    """
    path = Path(run_dir) / SUMMARY_FILE
    content = summary.model_dump(mode="json", exclude_none=True)
    for verdict, full in zip(content["verdicts"], summary.verdicts, strict=True):
        verdict.update(value=full.value, limit=full.limit)
    part = path.with_name(f".{SUMMARY_FILE}.{os.getpid()}.part")
    part.write_text(json.dumps(content, indent=2, sort_keys=True, allow_nan=False) + "\n", "utf-8")
    part.replace(path)
    return path


def read_summary(run_dir: Path) -> Summary:
    """Read and check ``summary.json`` of a run.

    :raises ConfigurationError: it is missing, is not JSON, or a field is wrong
    """
    path = Path(run_dir) / SUMMARY_FILE
    try:
        return Summary.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc'])) or 'content'}: {fault['msg']}"
            for fault in error.errors()
        )
        raise ConfigurationError(f"{path} is not a run summary: {faults}") from None
