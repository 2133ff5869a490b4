# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""One run of a study: the processes, and what is counted in it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.trace import run_digest
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.record.bag_metadata import BAG
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.shape import RunCallbacks
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scenario.system import build_graph, build_model
from ros2_cosim.lab.study.prt import KEEPS_UP, EgoTrack, counted, run_free
from ros2_cosim.lab.study.record import RunKey, StudyRun
from ros2_cosim.lab.study.schedule import Control
from ros2_cosim.lab.study.time_stepped import TimeStepped
from ros2_cosim.ros.bringup.domain_lock import domains_from, own_domain

#: The topic whose track is compared.
WATCHED = "/ego/odometry"


def perform(
    key: RunKey,
    scenario: Scenario,
    output: Path,
    control: Control,
    *,
    on_line: Callable[[str, str], None] = lambda name, line: None,
) -> StudyRun:
    """Do one run, in the first ROS domain that is free from that of this process on.

    The bag of a paced run is deleted once it is counted: those as fast as possible hold the same.

    :param output: directory for the files of this run
    :param on_line: called with (process name, line) of everything the processes print
    :raises RunError: a process failed
    :raises Cancelled: the run has to end
    """

    def told(time_ns: int) -> None:
        if time_ns > 0:
            control.begun()

    def said(name: str, line: str) -> None:
        on_line(f"{key.label}: {name}", line)

    watch = RunCallbacks(told, said, on_poll=control.check)
    load = _load()
    try:
        if key.step_ns is not None:
            found = _stepped(key.step_ns, scenario, watch)
        elif key.factor is None or key.mode == "HDE":
            found = _synchronised(key.factor, scenario, output, watch)
        else:
            domains = domains_from(own_domain())
            found = run_free(
                scenario, output, key.factor, watched=WATCHED, callbacks=watch, domains=domains
            )
    except RunError as error:
        raise RunError(f"{key.label}: {error}") from None
    return StudyRun(**key._asdict(), **found, load=load)


def _synchronised(
    factor: float | None, scenario: Scenario, output: Path, watch: RunCallbacks
) -> dict[str, Any]:
    summary = run_request(
        RunRequest(scenario, out=output, rate=factor),
        domains=domains_from(own_domain()),
        **vars(watch),
    )
    readers, track = _count(scenario, output / BAG)
    if factor is not None:
        shutil.rmtree(output / BAG)
    for participant in summary.participants:
        readers[participant.name]["activations"] = participant.activations
    counts = summary.causality
    return {
        "timing": counts.timing,
        "order": counts.order,
        "loss": counts.loss,
        "messages": sum(reader["messages"] for reader in readers.values()),
        "rtf": summary.rtf,
        "wall_time_s": summary.wall_time_s,
        "kept_up": factor is None or summary.rtf >= KEEPS_UP * factor,
        "trace_sha256": summary.trace_sha256,
        "readers": readers,
        "track": track.data(),
    }


def _stepped(step_ns: int, scenario: Scenario, watch: RunCallbacks) -> dict[str, Any]:
    """In this process: no wall clock decides anything, and it writes no files."""
    track = EgoTrack()

    def observe(participant: str, port: str, sample: Sample) -> None:
        if scenario.participants[participant].outputs[port].topic == WATCHED:
            track.add(sample.stamp, sample.value)

    graph = build_graph(scenario)
    with ExitStack() as opened:
        models = {}
        for name in graph.order:
            models[name] = build_model(scenario, name, "inproc")
            opened.callback(models[name].close)
        stepped = TimeStepped(graph, models, step_ns, end_ns=scenario.duration, observer=observe)
        begun = time.monotonic()
        stepped.run(lambda time_ns: watch.on_poll())
        wall_s = time.monotonic() - begun
    readers = {
        name: {
            "timing": free.counts.timing,
            **asdict(free.counts),
            "activations": free.runtime.trace.activations,
        }
        for name, free in stepped.participants.items()
    }
    traces = {n: free.runtime.trace.hexdigest() for n, free in stepped.participants.items()}
    return {
        **counted(readers),
        "rtf": scenario.duration / 1e9 / wall_s,
        "wall_time_s": wall_s,
        "trace_sha256": run_digest(traces),
        "track": track.data(),
    }


def _count(scenario: Scenario, bag: Path) -> tuple[dict[str, dict[str, int]], EgoTrack]:
    """Messages by reader, and the track, of a synchronised run."""
    sent: dict[str, int] = {}
    track = EgoTrack()
    outputs = {o.topic: o for p in scenario.participants.values() for o in p.outputs.values()}
    decode = CATALOGUE.codec(outputs[WATCHED].type).decode
    for message in read_bag(bag):
        sent[message.topic] = sent.get(message.topic, 0) + 1
        if message.topic == WATCHED:
            track.add(message.stamp, decode(message.data)[2])
    graph = build_graph(scenario)
    readers = {
        name: {
            "messages": sum(
                sent.get(scenario.participants[c.source].outputs[c.source_port].topic, 0)
                for c in graph.incoming(name)
            )
        }
        for name in scenario.participants
    }
    return readers, track


def _load() -> float | None:
    """How many processes want to run, mean of the last minute; None where that is not known."""
    try:
        return round(os.getloadavg()[0], 2)
    except (OSError, AttributeError):
        return None
