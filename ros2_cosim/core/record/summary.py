# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``summary.json``: the figures of a run, for people and for other programs."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator

from ros2_cosim.core.documents.files import cause_of, write_atomically
from ros2_cosim.core.documents.plain_data import read_record
from ros2_cosim.core.documents.settings import Section, read_section
from ros2_cosim.core.faults.faulty import FAULT_FIGURE
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import Repeatability
from ros2_cosim.core.record.bag_metadata import BAG, TRACE_KEY
from ros2_cosim.core.record.bag_reader import origin_of
from ros2_cosim.core.record.realtime_summary import RealtimeSummary

SUMMARY_FILE = "summary.json"
_SHA256 = r"^([0-9a-f]{64})?$"
#: A time measured or simulated, up to the 292 years that a simulated time can express.
_Seconds = Annotated[float, Field(ge=0.0, le=1e10)]


class OrderViolations(Section):
    """Violations of the promised message order that the transport caused."""

    timing: int = Field(
        default=0, ge=0, description="messages that arrived after their time had passed"
    )
    order: int = Field(default=0, ge=0, description="messages that arrived out of order")
    loss: int = Field(default=0, ge=0, description="messages that never arrived")


class ParticipantSummary(Section):
    """One participant; times are wall time summed over the run."""

    name: str = Field(description="its name")
    activations: int = Field(ge=0, description="how often its model ran")
    compute_s: _Seconds = Field(default=0.0, description="inside the model")
    wait_s: _Seconds = Field(
        default=0.0, description="until others had reached the next activation"
    )
    transport_s: _Seconds = Field(default=0.0, description="coding, sending and receiving")
    entered_s: _Seconds | None = Field(default=None, description="simulated time of its entry")
    left_s: _Seconds | None = Field(default=None, description="simulated time at which it left")


class Breakdown(Section):
    """Wall time of all participants together."""

    compute_s: _Seconds = Field(default=0.0, description="inside models")
    wait_s: _Seconds = Field(default=0.0, description="waiting for others")
    transport_s: _Seconds = Field(default=0.0, description="coding, sending and receiving")


class DataCounts(Section):
    """Data PDUs in one direction between a DCP master and a slave over UDP."""

    received: int = Field(ge=0, description="came")
    lost: int = Field(ge=0, description="never came")
    duplicated: int = Field(ge=0, description="came again")
    reordered: int = Field(ge=0, description="came after a later one")
    refused: int = Field(ge=0, description="had a wrong length")
    held: int = Field(ge=0, description="steps for which none had come: former values were used")
    extrapolated: int = Field(ge=0, description="the same, values on the line through the last two")


class DcpData(Section):
    """What the network did to the data of one DCP slave; ``missing`` is the chosen policy."""

    missing: str = Field(description="the policy for missing data")
    outputs: DataCounts | None = Field(default=None, description="what came from the slave")
    inputs: DataCounts | None = Field(default=None, description="as far as the slave reports them")
    since_s: float | None = Field(default=None, description="the first step without data")

    @property
    def harmed(self) -> int:
        """PDUs and steps whose data the network changed."""
        sides = [side for side in (self.outputs, self.inputs) if side is not None]
        return sum(max(side.lost, side.held + side.extrapolated) for side in sides)


class Verdict(Section):
    """One oracle of the scenario; ``limit`` is what is allowed, a number or a text."""

    name: str = Field(description="its name")
    value: float | int | bool | str | None = Field(description="the value of the run")
    limit: float | int | bool | str | None = Field(description="the allowed value")
    passed: bool = Field(description="whether the value is within the limit")
    pair: tuple[str, str] | None = Field(
        default=None, description="whose value it is, the one behind first"
    )
    time_s: float | None = Field(default=None, description="when it had this value")

    @property
    def of(self) -> str:
        """Pair and time in words; empty where the verdict is about no pair."""
        if self.pair is None:
            return ""
        at = "" if self.time_s is None else f" at {self.time_s:.2f} s"
        return f"{self.pair[0]} to {self.pair[1]}{at}"


class BranchChange(Section):
    """A value of the scenario that is another one from a checkpoint on."""

    place: str = Field(description="the key of the scenario")
    before: Any = Field(default=None, description="value before")
    after: Any = Field(default=None, description="value from then on")


class BranchOrigin(Section):
    """The checkpoint that a run began at, instead of its beginning."""

    checkpoint: str = Field(description="its file")
    time_s: float = Field(ge=0.0, description="its simulated time")
    changes: tuple[BranchChange, ...] = Field(
        default=(), description="what differs from the run of the checkpoint from then on"
    )


class MadeChange(Section):
    """What was changed from outside during the run, and its origin, as far as that is known."""

    time_s: float = Field(ge=0.0, description="simulated time from which on it holds")
    set: str = Field(description="what was changed")
    to: Any = Field(default=None, description="the new value")
    by: str = Field(description="where it came in, and what the client said of itself")


class Summary(Section):
    """The content of ``summary.json``; units are in the names."""

    scenario: str = Field(description="name of the scenario")
    shape: str = Field(description="run shape")
    complete: bool = Field(
        default=True,
        description="false: the run ended too early, at `sim_time_s`; `end_reason` says why. It "
        "has no trace and no verdicts",
    )
    simulator: str = Field(default="", description="kind of the simulator")
    processes: dict[str, tuple[str, ...]] | None = Field(
        default=None, description="process -> its participants; shape `inproc` has none"
    )
    transport: Literal["lane", "dds"] | None = Field(
        default=None, description="what carried messages between processes, in shape `ros`"
    )
    seed: int = Field(description="seed of the run")
    steps: int = Field(ge=0, description="activations of the most active participant")
    sim_time_s: _Seconds = Field(description="simulated end of the run")
    wall_time_s: _Seconds = Field(description='from "all ready" to the last activation')
    startup_time_s: _Seconds = Field(default=0.0, description="wall time before that")
    rtf: float = Field(
        ge=0.0, le=1e12, description="simulated time per wall time, without start-up"
    )
    end_reason: str = Field(default="", description="which participant ended the run, and why")
    trace_sha256: str = Field(pattern=_SHA256, description="the trace of the run, guarantee 19")
    repeatable: bool = Field(
        description="false: a late result was estimated, UDP lost DCP data, a participant entered "
        "when it was ready or was lost, or an unsynchronised input was read"
    )
    not_repeatable_since_s: float | None = Field(
        default=None, description="simulated time from which on it cannot be repeated"
    )
    not_repeatable_reason: str | None = Field(default=None, description="why not")
    repeatable_scope: Literal["everywhere", "same_machine", "no"] | None = Field(
        default=None,
        description="where another run has the same trace: the weakest of what all models "
        "declare; `no` for a run that is not repeatable",
    )
    checkpoints: tuple[str, ...] | None = Field(
        default=None, description="files of the checkpoints that were written"
    )
    branch: BranchOrigin | None = Field(
        default=None, description="the checkpoint that the run began at"
    )
    required: tuple[str, ...] | None = Field(
        default=None, description="participants that the system controller has named as required"
    )
    changes: tuple[MadeChange, ...] | None = Field(
        default=None, description="what was changed from outside during the run"
    )
    causality: OrderViolations = Field(description="violations; the first one ends the run")
    participants: tuple[ParticipantSummary, ...] = Field(
        default=(), description="participants and DCP slaves"
    )
    breakdown: Breakdown = Field(
        default=Breakdown(), description="wall time of all participants together"
    )
    verdicts: tuple[Verdict, ...] = Field(default=(), description="what was judged")
    versions: dict[str, str] = Field(
        default={}, description="of ros2_cosim, Python, carla, numpy and rclpy"
    )
    compiled: bool | None = Field(
        default=None,
        description="whether the hot modules ran compiled; results do not depend on it",
    )
    dcp_data: dict[str, DcpData] | None = Field(
        default=None, description="what the network did to the data of DCP slaves on UDP"
    )
    unheard_inputs: tuple[str, ...] | None = Field(
        default=None,
        description="inputs of the run as a DCP slave that the master connected and never sent",
    )
    figures: dict[str, dict[str, Any]] | None = Field(
        default=None,
        description="figures of each model; `recorder` has those of installed measures",
    )
    realtime: RealtimeSummary | None = Field(
        default=None, description="figures of paced runs and couplings"
    )
    collisions: int | None = Field(default=None, ge=0, description="collision events")
    min_gap_m: float | None = Field(
        default=None, description="smallest gap of a platoon vehicle to what is on its way"
    )
    min_pet_s: float | None = Field(
        default=None,
        description="smallest post-encroachment time, from the boxes in the bag; left out "
        "without a bag",
    )
    final_gap_to_obstacle_m: float | None = Field(
        default=None, description="front bumper of the first vehicle to the obstacle"
    )

    @model_validator(mode="after")
    def _reason_given(self) -> "Summary":
        if self.complete != bool(self.trace_sha256):
            raise ValueError("trace_sha256 must be given if, and only if, the run is complete")
        if self.repeatable == (self.not_repeatable_reason is not None):
            raise ValueError("not_repeatable_reason must be given if, and only if, not repeatable")
        return self

    @property
    def passed(self) -> bool:
        """Whether the run is complete and every verdict of the scenario is a pass."""
        return self.complete and all(verdict.passed for verdict in self.verdicts)

    @property
    def faults(self) -> str:
        """On how many messages each fault of the scenario has acted; empty without faults.

        Without it, a verdict that a fault was to put to the test would pass unseen.
        """
        return ", ".join(
            f"{name.removeprefix(FAULT_FIGURE)} acted on {count or 'no'} message{'s'[count == 1 :]}"
            for figures in (self.figures or {}).values()
            for name, count in sorted(figures.items())
            if name.startswith(FAULT_FIGURE)
        )

    @property
    def violations(self) -> int:
        """All causality violations together."""
        return self.causality.timing + self.causality.order + self.causality.loss


class RepeatabilityCause(NamedTuple):
    """Why a run cannot be repeated, and since which simulated time [s] (None: unknown)."""

    since_s: float | None
    why: str


def repeatability(causes: Iterable[RepeatabilityCause], scope: Repeatability) -> dict[str, Any]:
    """The fields of the summary: repeatable and where, or since when not and why.

    The earliest cause gives the time; the reason lists all of them, the earliest first.

    :param scope: how far two runs of the models agree
    """
    found = sorted(causes, key=lambda cause: (cause.since_s is None, cause.since_s or 0.0))
    if not found:
        return {"repeatable": True, "repeatable_scope": scope.value}
    return {
        "repeatable": False,
        "repeatable_scope": Repeatability.NO.value,
        "not_repeatable_since_s": found[0].since_s,
        "not_repeatable_reason": "; ".join(cause.why for cause in found),
    }


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


def read_summary(run_dir: Path, *, complete: bool = True) -> Summary:
    """Read and check ``summary.json`` of a run.

    :param complete: whether the run must have reached its end
    :raises ConfigurationError: it is missing, is not JSON, a field is wrong, it is of another run
        than the bag in this directory, or the run has not reached its end
    """
    path = Path(run_dir) / SUMMARY_FILE
    origin = origin_of(Path(run_dir) / BAG)
    try:
        data = read_record(path)
    except FileNotFoundError:
        raise ConfigurationError(
            f"{path} cannot be read: there is none; no run has reached its end there (cosim diff "
            "and cosim replay --into read what its bag holds)"
        ) from None
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {cause_of(error)}") from None
    except ValueError as error:
        raise ConfigurationError(f"{path} is not a run summary: not JSON: {error}") from None
    summary = read_section(Summary, data, origin=f"{path} is not a run summary")
    same = {"scenario": summary.scenario, "seed": str(summary.seed)}
    if summary.complete:
        same[TRACE_KEY] = summary.trace_sha256
    for key, own in same.items():
        recorded = origin.get(key, own)
        if recorded != own:
            raise ConfigurationError(
                f"{path} and the bag beside it are not of one run: {key} is {own} in the "
                f"summary, {recorded} in the bag"
            )
    if complete and not summary.complete:
        raise ConfigurationError(
            f"{path}: the run is not complete: {summary.end_reason} (cosim report, cosim diff and "
            "cosim replay --into read what its bag holds)"
        )
    return summary


def figure_text(value: float | int | bool | str | None) -> str:
    """A figure, a verdict's value or limit as text."""
    if value is None:
        return "\N{EN DASH}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def summary_lines(summary: Summary) -> list[str]:
    """Times, verdicts, trace and repeatability of a run."""
    lines = [f"{summary.scenario}: {_times(summary, startup=True)}: {summary.end_reason}"]
    for verdict in summary.verdicts:
        mark = "passed" if verdict.passed else "FAILED"
        of = f", {verdict.of}" if verdict.of else ""
        value = figure_text(verdict.value)
        lines.append(f"  {verdict.name}: {value}{of} (limit {verdict.limit}) {mark}")
    if summary.collisions and all(v.name != "no_collision" for v in summary.verdicts):
        lines.append(f"  collisions: {summary.collisions}, which no verdict judges")
    if summary.faults:
        lines.append(f"  faults: {summary.faults}")
    lines.append(f"  trace {summary.trace_sha256}")
    if summary.realtime is not None:
        lines += [f"  {line}" for line in summary.realtime.lines()]
    if not summary.repeatable:
        since = summary.not_repeatable_since_s
        begin = "" if since is None else f" from {since:g} s on"
        lines.append(f"  not repeatable{begin}: {summary.not_repeatable_reason}")
    return lines


def print_summary(summary: Summary) -> None:
    """Print what :func:`summary_lines` gives."""
    for line in summary_lines(summary):
        print(line)


def print_repetitions(first: Summary, directories: Iterable[Path], *, asked: bool) -> str:
    """Print one line for each repetition of a run, and whether all have one trace.

    :param first: the first run
    :param directories: the output directories of the others
    :param asked: whether they are those of ``--repeat``; a run that was reset by hand may have
        ended before, and is compared with those of its length
    :return: the first repetition that has another trace; empty: there is none
    """
    number, difference = 1, ""
    for number, path in enumerate(directories, 2):
        summary = read_summary(path)
        print(f"{path.name}: {_times(summary)}: {summary.end_reason}")
        print(f"  trace {summary.trace_sha256}")
        same_end = (summary.sim_time_s, summary.end_reason) == (first.sim_time_s, first.end_reason)
        if (asked or same_end) and summary.trace_sha256 != first.trace_sha256:
            difference = difference or (
                f"traces differ: run 1 has {first.trace_sha256}, run {number} ({path.name}) has "
                f"{summary.trace_sha256}"
            )
    if asked and not difference:
        print(f"{number} repetitions, one trace {first.trace_sha256}")
    return difference


def _times(summary: Summary, *, startup: bool = False) -> str:
    start = f", start-up {summary.startup_time_s:.2f} s" if startup else ""
    return (
        f"{summary.sim_time_s:.2f} s simulated in {summary.wall_time_s:.2f} s "
        f"(real-time factor {summary.rtf:.2f}{start})"
    )
