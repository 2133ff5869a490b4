# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``report.html``: one self-contained page about a run, made of its summary and its bag."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from ros2_cosim.core.documents.files import cause_of, write_atomically
from ros2_cosim.core.kernel.errors import StorageError
from ros2_cosim.core.messages.catalogue import DEFAULT, Catalogue
from ros2_cosim.core.record.profile import path_rows
from ros2_cosim.core.record.results import REPORT_FILE
from ros2_cosim.core.record.summary import ParticipantSummary, Summary, read_summary
from ros2_cosim.driving.measures.recorded_encounters import RecordedEncounters
from ros2_cosim.lab.report.driving_plots import drawn, driving_plots
from ros2_cosim.lab.report.moves import played, scenario_of_run
from ros2_cosim.lab.report.page import Tile, page_template
from ros2_cosim.lab.report.realtime_report import error_rows, realtime_charts
from ros2_cosim.lab.report.report_data import RunData, load_run, stamps_between
from ros2_cosim.lab.report.svg_plot import Bar, Chart, Row, event_rows, stacked_bars
from ros2_cosim.world.map.encounters import Extreme

PARTS = ("compute", "wait", "transport")
_ZOOM_EVENTS = 24
#: Parts of the critical path; what follows them is small.
_MOST_PARTS = 20


def render_report(run_dir: Path, *, catalogue: Catalogue = DEFAULT) -> Path:
    """Write ``report.html`` beside the run's ``summary.json`` and ``bag``.

    Scenarios without vehicles get the sections on timing only.

    :returns: the path of the page
    :raises ConfigurationError: summary or bag is missing or wrong
    :raises ProtocolError: the bag is damaged
    """
    run_dir = Path(run_dir)
    summary = read_summary(run_dir, complete=False)
    data = load_run(run_dir, catalogue=catalogue)
    plots = driving_plots(data)
    page = page_template("report.html").render(
        summary=summary,
        tiles=_tiles(summary, data.encounters),
        facts=_facts(summary),
        played=played({"": (data.moves, scenario_of_run(run_dir))}, data.vehicles),
        driving=[drawn(plot) for plot in plots if not plot.of_one],
        of_one=[drawn(plot) for plot in plots if plot.of_one],
        timing=timing_charts(data, summary.participants, partial(stamps_between, run_dir)),
        parts=PARTS,
        realtime=realtime_charts(summary.realtime),
        error_rows=error_rows,
        topics=[(name, kind, events.count) for name, (kind, events) in sorted(data.topics.items())],
        critical_path=path_rows(run_dir)[:_MOST_PARTS],
        collisions=data.collisions,
        first_collision=_first_collision(data),
    )
    path = run_dir / REPORT_FILE
    write_atomically(path, page)
    return path


def write_report(run_dir: Path) -> None:
    """Write the report of a run that has ended.

    :raises ConfigurationError, ProtocolError: as :func:`render_report`
    :raises StorageError: it cannot be written
    """
    try:
        render_report(run_dir)
    except OSError as error:
        raise StorageError(f"{run_dir / REPORT_FILE}: {cause_of(error)}") from None


def _first_collision(data: RunData) -> tuple[float, str, str] | None:
    """When the first contact began [s], and between which two."""
    if data.first_collision is None:
        return None
    time, event = data.first_collision
    called = data.encounters.name_of
    return time, called(event.vehicle), called(event.other)


def timing_charts(
    data: RunData,
    participants: Sequence[ParticipantSummary],
    stamps: Callable[[float, float], Mapping[str, Sequence[float]]],
) -> list[Chart]:
    """Time lines of activations (of messages, where those were not recorded), step times.

    :param stamps: gives all messages between two times, by topic
    """
    charts = _time_lines(data, participants, stamps)
    active = [p for p in participants if p.activations > 0]
    if any(sum(_parts(p)) > 0.0 for p in active):
        per_step = [Bar(p.name, [1e6 * t / p.activations for t in _parts(p)]) for p in active]
        svg = stacked_bars(per_step, parts=PARTS, x_label="time per activation [µs]")
        charts.append(Chart("Step time", "Mean wall time of one activation.", svg))
        total = [Bar(p.name, _parts(p)) for p in active]
        svg = stacked_bars(total, parts=PARTS, x_label="time in the whole run [s]")
        charts.append(Chart("Wall time", "Where each participant spent the run.", svg))
    return charts


def _time_lines(
    data: RunData,
    participants: Sequence[ParticipantSummary],
    stamps: Callable[[float, float], Mapping[str, Sequence[float]]],
) -> list[Chart]:
    # Of a long run only the first activations are recorded: its messages tell more.
    kept = {name: len(times) for name, times in data.activations.items()}
    if kept and all(kept.get(p.name, 0) >= p.activations for p in participants):
        what, events = "activations", []
        rows = [Row(n, data.activations[n], i) for i, n in enumerate(sorted(data.activations))]
    else:
        what, events = "messages", [each for _, each in data.topics.values()]
        rows = [Row(n, data.topics[n][1].times, i) for i, n in enumerate(sorted(data.topics))]
    if not rows or data.end <= 0.0:
        return []
    whole = event_rows(rows, start=0.0, end=data.end)
    counts = [each.count for each in events] or [len(row.times) for row in rows]
    start, end = zoom_window(max(counts), data.end)
    if not all(each.is_whole for each in events):
        all_of = stamps(start, end)
        rows = [row._replace(times=all_of.get(row.label, ())) for row in rows]
    zoom = event_rows(rows, start=start, end=end, unit="ms", scale=1e3)
    note = f"{1e3 * (end - start):.0f} ms from the middle of the run."
    return [
        Chart(f"Time line of {what}", "The whole run.", whole),
        Chart(f"Time line of {what}, enlarged", note, zoom),
    ]


def zoom_window(busiest: int, end: float) -> tuple[float, float]:
    """A stretch of the run that holds about two dozen events of the busiest row.

    :param busiest: number of its events
    """
    length = min(end, end * _ZOOM_EVENTS / max(1, busiest))
    decade = 10.0 ** -(1 + sum(length < 10.0**-n for n in range(7)))
    start = int((end - length) / 2.0 / decade) * decade
    return start, start + length


def _parts(participant: ParticipantSummary) -> tuple[float, float, float]:
    return participant.compute_s, participant.wait_s, participant.transport_s


def _tiles(summary: Summary, found: RecordedEncounters) -> list[Tile]:
    if not summary.complete:
        return [Tile("recorded", f"{summary.sim_time_s:.6g} s")]
    tiles = [
        Tile("real-time factor", f"{summary.rtf:.3g}"),
        Tile("simulated", f"{summary.sim_time_s:.6g} s"),
        Tile("wall time", f"{summary.wall_time_s:.3g} s"),
        Tile("causality violations", str(summary.violations), summary.violations == 0),
        Tile("repeatable", "yes" if summary.repeatable else "no", summary.repeatable),
    ]
    if summary.collisions is not None:
        tiles.append(Tile("collisions", str(summary.collisions), summary.collisions == 0))
    if summary.min_gap_m is not None:
        label = _of_pair("smallest gap", found.least_gap)
        judged = {verdict.name: verdict.passed for verdict in summary.verdicts}
        good = judged.get("min_gap_m", summary.min_gap_m > 0.0)
        tiles.append(Tile(label, f"{summary.min_gap_m:.2f} m", good))
    for name, least in (
        ("smallest time to collision", found.least_ttc),
        ("smallest post-encroachment time", found.least_pet),
    ):
        if math.isfinite(least.value):
            tiles.append(Tile(_of_pair(name, least), f"{least.value:.2f} s", None))
    if summary.final_gap_to_obstacle_m is not None:
        gap = summary.final_gap_to_obstacle_m
        tiles.append(Tile("final gap to obstacle", f"{gap:.2f} m", gap > 0.0))
    return tiles


def _of_pair(name: str, least: Extreme) -> str:
    """With pair and time, where they are known."""
    if least.pair is None or least.time is None:
        return name
    return f"{name}: {' to '.join(least.pair)} at {least.time / 1e9:.2f} s"


def _facts(summary: Summary) -> list[tuple[str, str]]:
    facts = [
        ("Scenario", summary.scenario),
        ("Run shape", summary.shape),
        ("Simulator", summary.simulator),
        ("Seed", str(summary.seed)),
        ("Steps", str(summary.steps)),
        ("Start-up", f"{summary.startup_time_s:.2f} s"),
        ("End", summary.end_reason),
        ("Faults", summary.faults),
        ("Trace SHA-256", summary.trace_sha256),
    ]
    if not summary.repeatable:
        since = summary.not_repeatable_since_s
        when = "" if since is None else f" since {since:g} s"
        facts.append((f"Not repeatable{when}", summary.not_repeatable_reason or ""))
    facts.extend((f"Version of {name}", text) for name, text in sorted(summary.versions.items()))
    return [(label, value) for label, value in facts if value]
