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
from typing import NamedTuple

from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.kernel.trace import run_digest
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.record.bag_metadata import BAG
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scenario.system import build_graph, build_model
from ros2_cosim.lab.study.prt import KEEPS_UP, EgoTrack, run_free
from ros2_cosim.lab.study.record import RunKey, StudyRun
from ros2_cosim.lab.study.schedule import Control
from ros2_cosim.lab.study.time_stepped import TimeStepped
from ros2_cosim.ros.bringup.domain_lock import domains_from, own_domain

#: The topic whose track is compared.
WATCHED = "/ego/odometry"


class _Watch(NamedTuple):
    """What a run calls while it is under way."""

    progress: Callable[[int], None]
    on_line: Callable[[str, str], None]
    on_poll: Callable[[], None]


def perform(
    key: RunKey,
    scenario: Scenario,
    output: Path,
    control: Control,
    *,
    progress: Callable[[int], None],
    on_line: Callable[[str, str], None],
) -> StudyRun:
    """Do one run, in the first ROS domain that is free from that of this process on.

    The bag of a paced run is deleted once it is counted: those as fast as possible hold the same.

    :param output: directory for the files of this run
    :param progress: called with the simulated time [ns] about once per second
    :param on_line: called with (process name, line) of everything the processes print
    :raises RunError: a process failed
    :raises Cancelled: the run shall end
    """

    def told(time_ns: int) -> None:
        if time_ns > 0:
            control.begun()
        progress(time_ns)

    def said(name: str, line: str) -> None:
        on_line(f"{key.label}: {name}", line)

    watch = _Watch(told, said, control.check)
    try:
        if key.step_ns is not None:
            return _stepped(key, key.step_ns, scenario, watch)
        if key.factor is None or key.mode == "HDE":
            return _synchronised(key, scenario, output, watch)
        return _free(key, key.factor, scenario, output, watch)
    except RunError as error:
        raise RunError(f"{key.label}: {error}") from None


def _synchronised(key: RunKey, scenario: Scenario, output: Path, watch: _Watch) -> StudyRun:
    load = _load()
    summary = run_request(
        RunRequest(scenario, out=output, rate=key.factor),
        domains=domains_from(own_domain()),
        **watch._asdict(),
    )
    readers, track = _count(scenario, output / BAG)
    if key.factor is not None:
        shutil.rmtree(output / BAG)
    for participant in summary.participants:
        readers[participant.name]["activations"] = participant.activations
    counts = summary.causality
    return StudyRun(
        **key._asdict(),
        timing=counts.timing,
        order=counts.order,
        loss=counts.loss,
        messages=sum(reader["messages"] for reader in readers.values()),
        rtf=summary.rtf,
        wall_time_s=summary.wall_time_s,
        kept_up=key.factor is None or summary.rtf >= KEEPS_UP * key.factor,
        trace_sha256=summary.trace_sha256,
        load=load,
        readers=readers,
        track={"times": track.times, "way": track.way},
    )


def _free(key: RunKey, factor: float, scenario: Scenario, output: Path, watch: _Watch) -> StudyRun:
    load = _load()
    result = run_free(
        scenario,
        output,
        factor,
        watched=WATCHED,
        domains=domains_from(own_domain()),
        **watch._asdict(),
    )
    return StudyRun(**{**key._asdict(), **result._asdict()}, load=load)


def _stepped(key: RunKey, step_ns: int, scenario: Scenario, watch: _Watch) -> StudyRun:
    """In this process: no wall clock decides anything, and nothing is written."""
    load = _load()
    track = EgoTrack()

    def observe(participant: str, port: str, sample: Sample) -> None:
        if scenario.participants[participant].outputs[port].topic == WATCHED:
            track.add(sample.stamp, sample.value)

    told = -SECOND

    def before(time_ns: int) -> None:
        nonlocal told
        watch.on_poll()
        if time_ns - told >= SECOND:
            told = time_ns
            watch.progress(time_ns)

    graph = build_graph(scenario)
    with ExitStack() as opened:
        models = {}
        for name in graph.order:
            models[name] = build_model(scenario, name, "inproc")
            opened.callback(models[name].close)
        stepped = TimeStepped(graph, models, step_ns, end_ns=scenario.duration, observer=observe)
        begun = time.monotonic()
        stepped.run(before)
        wall_s = time.monotonic() - begun
    readers = {}
    for name, free in stepped.participants.items():
        counts = free.counts
        readers[name] = {
            "timing": counts.timing,
            **asdict(counts),
            "activations": free.runtime.trace.activations,
        }
    traces = {n: free.runtime.trace.hexdigest() for n, free in stepped.participants.items()}
    kinds = ("timing", "order", "loss", "messages", "late", "early", "wrong", "activations")
    return StudyRun(
        **key._asdict(),
        **{kind: sum(reader[kind] for reader in readers.values()) for kind in kinds},
        rtf=scenario.duration / 1e9 / wall_s,
        wall_time_s=wall_s,
        trace_sha256=run_digest(traces),
        load=load,
        readers=readers,
        track={"times": track.times, "way": track.way},
    )


def _count(scenario: Scenario, bag: Path) -> tuple[dict[str, dict[str, int]], EgoTrack]:
    """Messages by reader, and the track, of a synchronised run."""
    sent: dict[str, int] = {}
    track = EgoTrack()
    decode = CATALOGUE.codec(_type_of(scenario, WATCHED)).decode
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


def _type_of(scenario: Scenario, topic: str) -> str:
    return next(
        output.type
        for participant in scenario.participants.values()
        for output in participant.outputs.values()
        if output.topic == topic
    )
