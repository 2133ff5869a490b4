# SPDX-License-Identifier: Apache-2.0
"""Run shape ``inproc``: kernel and models in this process, no ROS, no sockets."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

from ros2_cosim.interfaces.cdr import WireCodec
from ros2_cosim.interfaces.reporting import report_of
from ros2_cosim.kernel.lifecycle import Operation
from ros2_cosim.kernel.lives import Lives
from ros2_cosim.kernel.participant import Sample
from ros2_cosim.kernel.sequential import SequentialScheduler
from ros2_cosim.kernel.time import format_ns
from ros2_cosim.realtime.run_settings import AS_FAST_AS_POSSIBLE, RealtimeRun
from ros2_cosim.scenario.plan import RESOLVED_SCENARIO
from ros2_cosim.scenario.schema import Scenario, save_scenario
from ros2_cosim.scenario.system import build_graph, build_model
from ros2_cosim.tools.results import RunFacts, open_bag, write_results
from ros2_cosim.tools.summary import Summary

#: So much simulated time passes between two reports of progress [ns].
_SLICE_NS = 1_000_000_000


def run_inproc(
    scenario: Scenario,
    output: Path,
    *,
    record: bool = True,
    progress: Callable[[int], None] = lambda time_ns: None,
    realtime: RealtimeRun = AS_FAST_AS_POSSIBLE,
) -> Summary:
    """Run a scenario to its end.

    :param output: existing directory for bag, summary and report
    :param record: write a bag and the report made from it
    :param progress: called now and then with the simulated time [ns]
    :param realtime: the wall clock that the run is paced by, or the arrivals that it repeats
    :raises CosimError: the scenario is wrong or a participant failed
    """
    created = time.perf_counter_ns()
    save_scenario(scenario, output / RESOLVED_SCENARIO)
    graph = build_graph(scenario)
    behaviours = {name: build_model(scenario, name, "inproc", realtime) for name in graph.order}
    messages: list[tuple[str, int, int, bytes]] = []
    topics = {
        name: [port.topic for port in scenario.outputs_of(name).values()]
        for name in scenario.participants
    }
    codecs = {
        name: [cast(WireCodec, port.codec) for port in spec.outputs]
        for name, spec in graph.participants.items()
    }

    def observe(participant: str, port: int, sample: Sample, data: bytes) -> None:
        plain = codecs[participant][port].plain(data)
        messages.append((topics[participant][port], sample.stamp, sample.seq, plain))

    scheduler = SequentialScheduler(
        graph,
        behaviours,
        stop_latency_ns=scenario.stop_latency,
        timer=time.perf_counter_ns,
        observer=observe if record else None,
    )
    bag = open_bag(output, scenario, graph) if record else None
    wall_ns = 0
    pacer = realtime.pacer
    startup_ns = time.perf_counter_ns() - created
    operations = {name: Operation(p.mode) for name, p in scenario.participants.items()}
    lives = Lives(behaviours, operations=operations)
    try:
        with lives.during(time.sleep, lambda: scheduler.active):
            end, reached = scenario.duration, 0
            if pacer is not None:
                pacer.start()
            while reached < end:
                # In slices, so that a long run neither fills the memory nor hides its progress.
                reached = min(reached + _SLICE_NS, end)
                started = time.perf_counter_ns()
                end = scheduler.run(reached, end, before=pacer.wait if pacer else None)
                reached = min(reached, end)
                wall_ns += time.perf_counter_ns() - started
                if bag is not None:
                    for message in messages:
                        bag.write(*message)
                    messages.clear()
                    bag.advance(reached)
                progress(reached)
            reason = f"end of the run at {format_ns(end)}"
            if scheduler.stop_reason is not None and end < scenario.duration:
                reason = scheduler.stop_reason
            lives.stop(reason)
            reports = {name: report_of(runtime) for name, runtime in scheduler.runtimes.items()}
            lives.shut_down("the run is complete")
    finally:
        if bag is not None:
            bag.close()
    facts = RunFacts("inproc", end, reason, wall_ns, startup_ns, realtime=realtime.facts())
    return write_results(output, scenario, reports, facts)
