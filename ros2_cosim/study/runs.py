# SPDX-License-Identifier: Apache-2.0
"""One run of a study: the processes, and what is counted in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ros2_cosim.interfaces.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.kernel.errors import RunError
from ros2_cosim.record.bag_reader import read_bag
from ros2_cosim.record.results import BAG
from ros2_cosim.run.bringup import RunRequest
from ros2_cosim.run.domain_lock import domains_from, own_domain
from ros2_cosim.run.start import run_request
from ros2_cosim.scenario.schema import Scenario
from ros2_cosim.scenario.system import build_graph
from ros2_cosim.study.prt import KEEPS_UP, EgoTrack, run_free
from ros2_cosim.study.record import RunKey, StudyRun
from ros2_cosim.study.schedule import Control

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
