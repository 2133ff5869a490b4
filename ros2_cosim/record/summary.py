# SPDX-License-Identifier: Apache-2.0
"""``summary.json``: what a run says of itself, for people and for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from ros2_cosim.documents.files import write_atomically
from ros2_cosim.documents.settings import Section, read_section
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.record.realtime_summary import RealtimeSummary

SUMMARY_FILE = "summary.json"
_SHA256 = r"^[0-9a-f]{64}$"


class Causality(Section):
    """Violations of the promised message order that the transport brought up."""

    timing: int = Field(
        default=0, ge=0, description="messages that arrived after their time had passed"
    )
    order: int = Field(default=0, ge=0, description="messages that arrived out of order")
    loss: int = Field(default=0, ge=0, description="messages that never arrived")


class ParticipantSummary(Section):
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


class Breakdown(Section):
    """Wall time of all participants together."""

    compute_s: float = Field(default=0.0, ge=0.0)
    wait_s: float = Field(default=0.0, ge=0.0)
    transport_s: float = Field(default=0.0, ge=0.0)


class DataCounts(Section):
    """Data PDUs in one direction between a DCP master and a slave over UDP."""

    received: int = Field(ge=0)
    lost: int = Field(ge=0, description="never came")
    duplicated: int = Field(ge=0, description="came again")
    reordered: int = Field(ge=0, description="came after a later one")
    refused: int = Field(ge=0, description="had a wrong length")
    held: int = Field(ge=0, description="steps for which none had come: former values were used")
    extrapolated: int = Field(ge=0, description="the same, values on the line through the last two")


class DcpData(Section):
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


class Verdict(Section):
    """One oracle of the scenario; ``limit`` says in words or numbers what is allowed."""

    name: str
    value: float | int | bool | str | None
    limit: float | int | bool | str | None
    passed: bool


class Summary(Section):
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
    text = json.dumps(content, indent=2, sort_keys=True, allow_nan=False)
    write_atomically(path, text + "\n")
    return path


def read_summary(run_dir: Path) -> Summary:
    """Read and check ``summary.json`` of a run.

    :raises ConfigurationError: it is missing, is not JSON, or a field is wrong
    """
    path = Path(run_dir) / SUMMARY_FILE
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not a run summary: not JSON: {error}") from None
    return read_section(Summary, data, origin=f"{path} is not a run summary")
