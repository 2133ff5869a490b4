# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The files of a run: bag, ``summary.json``, ``activations.json``."""

from __future__ import annotations

import json
import platform
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any, Literal

import ros2_cosim
from ros2_cosim.compiled import is_compiled
from ros2_cosim.core.documents.files import cause_of, write_atomically
from ros2_cosim.core.documents.offered import functions_of
from ros2_cosim.core.documents.plain_data import read_record
from ros2_cosim.core.kernel.errors import ConfigurationError, StorageError
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.model import Repeatability
from ros2_cosim.core.kernel.trace import ParticipantTrace, run_digest
from ros2_cosim.core.messages.protocol import ParticipantReport
from ros2_cosim.core.messages.sink import Sink
from ros2_cosim.core.record.bag import BagForm, BagWriter
from ros2_cosim.core.record.bag_metadata import BAG, BagTopic, Qos
from ros2_cosim.core.record.drawn_bag import DrawnBag, derived_topics
from ros2_cosim.core.record.realtime_results import late_results, realtime_summary, write_records
from ros2_cosim.core.record.summary import (
    BranchOrigin,
    Breakdown,
    DcpData,
    MadeChange,
    OrderViolations,
    ParticipantSummary,
    RepeatabilityCause,
    Summary,
    Verdict,
    repeatability,
    write_summary,
)
from ros2_cosim.core.scenario.exports import export_versions
from ros2_cosim.core.scenario.pictures import picture_of
from ros2_cosim.core.scenario.portable import digest_of, portable_text
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.requirements import version_of

#: Participant -> its activation times [ns], as far as they were recorded.
ACTIVATIONS_FILE = "activations.json"
#: The page about a run, or about many.
REPORT_FILE = "report.html"
#: Entry points of measures: the name of a field of the summary, or of a figure, stands for a
#: function of the bag, which need not be there, and the scenario's scene; None is not a value.
MEASURE_GROUP = "ros2_cosim.measures"
#: Figures of measures are those of this process, whose name no participant has.
_MEASURED = "recorder"
_NS = 1e9


@dataclass(frozen=True)
class RunFacts:
    """Facts of a run that the clock (or the scheduler) knows; times in nanoseconds."""

    shape: str
    end_ns: int
    end_reason: str
    wall_ns: int
    startup_ns: int
    #: How far two runs of the models agree, as they declare it; the weakest of all.
    scope: Repeatability
    #: Participant -> [entered, left], None where it did not; left out: as the scenario declares.
    presence: Mapping[str, Sequence[int | None]] | None = None
    #: (since, why) the run cannot be repeated; None if it can.
    not_repeatable: Sequence[Any] | None = None
    #: Rate, hard real time and jitter of a paced run, as ``RealtimeRun.facts`` has them.
    realtime: Mapping[str, Any] | None = None
    #: Participants that the system controller has named as required; None: those of the scenario.
    required: Sequence[str] | None = None
    #: What was changed from outside, as ``MadeChange`` has it.
    changes: Sequence[Mapping[str, Any]] = ()
    #: Process -> its participants; None: there are no processes.
    processes: Mapping[str, Sequence[str]] | None = None
    #: What carried messages between processes; None: nothing had to.
    transport: Literal["lane", "dds"] | None = None
    #: Files of the checkpoints that were written.
    checkpoints: Sequence[str] | None = None
    #: The checkpoint that the run began at.
    branch: BranchOrigin | None = None
    #: Inputs from outside that are connected and that nothing ever came for.
    unheard: Sequence[str] = ()


def open_bag(
    output: Path, scenario: Scenario, graph: Graph, derived: Sequence[BagTopic] = ()
) -> BagWriter:
    """Create the bag of a run with the data topics that its scenario wants in it.

    :param derived: further topics, which no participant sends
    """
    topics = [topic for topic in derived if scenario.bag.has(topic.name)]
    left_out = {topic.name for topic in derived if topic not in topics}
    for name in scenario.participants:
        for port, settings in scenario.outputs_of(name).items():
            latched = graph.output(name, port).schedule == "once"
            if not scenario.bag.has(settings.topic):
                left_out.add(settings.topic)
                continue
            topics.append(BagTopic(settings.topic, settings.type, Qos(transient_local=latched)))
    text = portable_text(scenario)
    facts = {
        "scenario": scenario.name,
        "seed": str(scenario.seed),
        "scenario_sha256": digest_of(text),
    }
    split = scenario.bag.split
    compression = "" if scenario.bag.compression == "none" else scenario.bag.compression
    form = BagForm(compression, split.size, split.duration)
    return BagWriter(
        output / BAG,
        topics,
        custom_data=facts,
        left_out=left_out,
        form=form,
        scenario=text,
        start_ns=scenario.start_time,
    )


class NoBag:
    """Takes the messages of a run instead of a bag, and drops them."""

    def write(self, topic: str, stamp_ns: int, seq: int, data: bytes) -> None:
        """Drop a message."""

    def advance(self, time_ns: int) -> None:
        """Nothing to write."""

    def conclude(self, trace_sha256: str) -> None:
        """No callback for progress."""

    def close(self) -> None:
        """Nothing to close."""


def open_sink(output: Path, scenario: Scenario, graph: Graph, record: bool) -> Sink:
    """The bag of a run, or its substitute where none is wanted."""
    if not record:
        return NoBag()
    period = scenario.bag.scene
    if period is None:
        return open_bag(output, scenario, graph)
    picture = picture_of(scenario)
    own = (o.topic for name in scenario.participants for o in scenario.outputs_of(name).values())
    topics = derived_topics(picture, own)
    bag = open_bag(output, scenario, graph, topics)
    return DrawnBag(bag, picture, topics, period, scenario.start_time)


def write_incomplete(
    output: Path, scenario: Scenario, shape: str, reason: str, recorded_ns: int
) -> None:
    """Write the summary of a run that has not reached its end.

    :param reason: why
    :param recorded_ns: the last stamp in its bag
    :raises OSError: it cannot be written
    """
    summary = Summary(
        scenario=scenario.name,
        shape=shape,
        complete=False,
        simulator=scenario.simulator.kind,
        seed=scenario.seed,
        steps=0,
        sim_time_s=recorded_ns / _NS,
        wall_time_s=0.0,
        rtf=0.0,
        end_reason=reason,
        trace_sha256="",
        repeatable=False,
        not_repeatable_reason="the run is not complete",
        causality=OrderViolations(),
        versions={**_versions(), **export_versions(scenario)},
        compiled=is_compiled(),
    )
    write_summary(output, summary)


def trace_of(scenario: Scenario, reports: Mapping[str, ParticipantReport], facts: RunFacts) -> str:
    """The hash of a run over the traces of all its participants."""
    found = _with_absent(scenario, reports, facts)
    # A helper process (a DCP slave) has no trace of its own: its participant has.
    return run_digest({n: r.trace_sha256 for n, r in found.items() if r.trace_sha256})


def _with_absent(
    scenario: Scenario, reports: Mapping[str, ParticipantReport], facts: RunFacts
) -> Mapping[str, ParticipantReport]:
    """All reports: of a participant that never took part, or is gone, an empty one."""
    absent = _presence(scenario, facts).keys() - reports.keys()
    return {**reports, **{name: _empty_report(name) for name in absent}}


def _presence(scenario: Scenario, facts: RunFacts) -> Mapping[str, Sequence[int | None]]:
    return facts.presence or _declared_presence(scenario, facts.end_ns)


def write_results(
    output: Path,
    scenario: Scenario,
    reports: Mapping[str, ParticipantReport],
    facts: RunFacts,
) -> Summary:
    """Write summary and activation times of a complete run.

    :raises StorageError: they cannot be written
    """
    try:
        return _write_results(output, scenario, reports, facts)
    except OSError as error:
        raise StorageError(f"results in {output}: {cause_of(error)}") from None


def _write_results(
    output: Path,
    scenario: Scenario,
    reports: Mapping[str, ParticipantReport],
    facts: RunFacts,
) -> Summary:
    details = {name: json.loads(report.details_json) for name, report in reports.items()}
    figures, others, data = _figures(output, scenario, details)
    verdicts = [v for name in sorted(details) for v in details[name].get("verdicts", ())]
    parts = {name: found["realtime"] for name, found in details.items() if "realtime" in found}
    presence = _presence(scenario, facts)
    every = _with_absent(scenario, reports, facts)
    participants = tuple(_participant(r, presence.get(r.participant)) for r in _own_times(every))
    wall_s = facts.wall_ns / _NS
    sim_s = facts.end_ns / _NS
    summary = Summary(
        scenario=scenario.name,
        shape=facts.shape,
        simulator=scenario.simulator.kind,
        processes=None
        if facts.processes is None
        else {name: tuple(names) for name, names in facts.processes.items()},
        transport=facts.transport,
        seed=scenario.seed,
        steps=max((p.activations for p in participants), default=0),
        sim_time_s=sim_s,
        wall_time_s=wall_s,
        startup_time_s=facts.startup_ns / _NS,
        rtf=sim_s / wall_s if wall_s > 0 else 0.0,
        end_reason=facts.end_reason,
        trace_sha256=trace_of(scenario, reports, facts),
        **repeatability(
            [
                *_entries(facts),
                *_declared(details),
                *_unsynchronised(details),
                *_losses(data),
                *late_results(parts),
            ],
            facts.scope,
        ),
        checkpoints=None if facts.checkpoints is None else tuple(facts.checkpoints),
        branch=facts.branch,
        required=None if facts.required is None else tuple(facts.required),
        changes=tuple(MadeChange(**each) for each in _changes(facts, details)) or None,
        dcp_data=data or None,
        unheard_inputs=tuple(facts.unheard) or None,
        realtime=realtime_summary(parts, facts.realtime),
        causality=_violations(reports.values()),
        participants=participants,
        breakdown=_breakdown(participants),
        verdicts=tuple(Verdict(**verdict) for verdict in verdicts),
        versions={**_versions(), **export_versions(scenario)},
        compiled=is_compiled(),
        figures=others or None,
        **figures,
    )
    times = {name: details[name].get("times", []) for name in sorted(details)}
    write_atomically(output / ACTIVATIONS_FILE, json.dumps(times) + "\n")
    write_records(output, parts)
    write_summary(output, summary)
    return summary


def _breakdown(participants: Sequence[ParticipantSummary]) -> Breakdown:
    return Breakdown(
        compute_s=sum(p.compute_s for p in participants),
        wait_s=sum(p.wait_s for p in participants),
        transport_s=sum(p.transport_s for p in participants),
    )


def _violations(reports: Collection[ParticipantReport]) -> OrderViolations:
    return OrderViolations(
        timing=sum(report.timing for report in reports),
        order=sum(report.order for report in reports),
        loss=sum(report.loss for report in reports),
    )


def _figures(
    output: Path, scenario: Scenario, details: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]], dict[str, DcpData]]:
    """The figures that are fields of the summary, those left to each, and the data of slaves."""
    own = {name: dict(details[name].get("figures", {})) for name in sorted(details)}
    data = {
        slave: DcpData(**counts)
        for found in own.values()
        for slave, counts in found.pop("dcp_data", {}).items()
    }
    measured = {
        key: measure(output / BAG, scenario.scene)
        for key, measure in functions_of(MEASURE_GROUP).items()
    }
    own[_MEASURED] = {key: value for key, value in measured.items() if value is not None}
    known = Summary.model_fields
    fields = {key: found[key] for found in own.values() for key in found if key in known}
    others = {n: {k: v for k, v in found.items() if k not in known} for n, found in own.items()}
    return fields, {name: found for name, found in others.items() if found}, data


def _entries(facts: RunFacts) -> list[RepeatabilityCause]:
    """Causes that the clock found: entries that were not declared, missing participants."""
    if facts.not_repeatable is None:
        return []
    since, why = facts.not_repeatable
    return [RepeatabilityCause(None if since is None else since / _NS, why)]


def _changes(
    facts: RunFacts, details: Mapping[str, Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """What was changed from outside: by hand, and what models report."""
    yield from facts.changes
    for name in sorted(details):
        yield from details[name].get("changes", ())


def _declared(details: Mapping[str, Mapping[str, Any]]) -> list[RepeatabilityCause]:
    """Causes that models report."""
    found = {
        name: own["not_repeatable"] for name, own in details.items() if "not_repeatable" in own
    }
    return [
        RepeatabilityCause(since / _NS, f"'{name}': {why}")
        for name, (since, why) in sorted((n, cause) for n, cause in found.items() if cause)
    ]


def _unsynchronised(details: Mapping[str, Mapping[str, Any]]) -> list[RepeatabilityCause]:
    """Inputs whose values came from outside of the simulated time."""
    return [
        RepeatabilityCause(since / _NS, f"'{name}' read the unsynchronised input '{port}'")
        for name in sorted(details)
        for port, since in details[name].get("unsynchronised", {}).items()
    ]


def _losses(data: Mapping[str, DcpData]) -> list[RepeatabilityCause]:
    """Data that the network lost, so that the run used others."""
    harmed = {name: found for name, found in data.items() if found.harmed}
    if not harmed:
        return []
    since = [found.since_s for found in harmed.values() if found.since_s is not None]
    lost = ", ".join(f"{found.harmed} of {name}" for name, found in sorted(harmed.items()))
    return [RepeatabilityCause(min(since, default=None), f"DCP data lost over UDP: {lost}")]


def _own_times(reports: Mapping[str, ParticipantReport]) -> list[ParticipantReport]:
    """Reports by name; what a process beside it does itself is not transport of a participant."""
    beside = {json.loads(report.details_json).get("beside"): report for report in reports.values()}
    result = []
    for name in sorted(reports):
        report = reports[name]
        slave = beside.get(name)
        if slave is not None:
            inside = slave.compute_ns + slave.transport_ns
            report = report._replace(transport_ns=max(0, report.transport_ns - inside))
        result.append(report)
    return result


def _declared_presence(scenario: Scenario, end_ns: int) -> dict[str, Sequence[int | None]]:
    """(entered, left) of each participant if all enter and leave as declared."""
    found: dict[str, Sequence[int | None]] = {}
    for name, settings in scenario.participants.items():
        enter, leave = settings.enter or 0, settings.leave
        if enter >= end_ns:
            found[name] = (None, None)
        else:
            found[name] = (enter, leave if leave is not None and leave < end_ns else None)
    return found


def _empty_report(name: str) -> ParticipantReport:
    nothing = ParticipantTrace().hexdigest()
    return ParticipantReport(name, 0, nothing, 0, 0, 0, 0, 0, 0, "{}")


def _participant(
    report: ParticipantReport, presence: Sequence[int | None] | None
) -> ParticipantSummary:
    entered, left = presence or (None, None)
    return ParticipantSummary(
        name=report.participant,
        activations=report.activations,
        compute_s=report.compute_ns / _NS,
        wait_s=report.wait_ns / _NS,
        transport_s=report.transport_ns / _NS,
        entered_s=None if entered is None else entered / _NS,
        left_s=None if left is None else left / _NS,
    )


def load_activations(path: Path) -> dict[str, list[int]]:
    """The activation times [ns] of each participant; none if the run did not record them.

    :raises ConfigurationError: the file is not understood
    """
    if not path.is_file():
        return {}
    try:
        content = read_record(path)
        return {str(name): [int(t) for t in times] for name, times in content.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise ConfigurationError(f"{path}: not a table of activation times: {error}") from None


@cache
def _versions() -> Mapping[str, str]:
    found = {"ros2_cosim": ros2_cosim.__version__, "python": platform.python_version()}
    for package in ("carla", "numpy", "ros-rclpy"):
        try:
            found[package] = version_of(package)
        except PackageNotFoundError:
            continue
    return found
