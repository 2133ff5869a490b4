# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The recorder: writes bag and summary of a run."""

import json
from functools import partial

from ros2_cosim.core.kernel.model import Repeatability
from ros2_cosim.core.process.memory import settled_memory
from ros2_cosim.core.process.processes import run_main
from ros2_cosim.core.record.foxglove_view import with_viewers
from ros2_cosim.core.record.results import RunFacts, open_sink, trace_of, write_results
from ros2_cosim.core.scenario.changes_by_hand import settings_of, write_changes
from ros2_cosim.core.scenario.hosting import processes_of
from ros2_cosim.ros.node.recorder_node import RecorderNode
from ros2_cosim.ros.programs._start import Started, profiled, run_node


def main() -> int:
    """Run the node."""
    return run_node("recorder", _record)


def _record(started: Started) -> bool:
    session, scenario, graph, *_ = started
    output = started.output()
    bag, viewers = session.parameter("bag", True), session.parameter("foxglove", "")
    sink = with_viewers(
        open_sink(output, scenario, graph, bag),
        *(viewers, scenario, graph, partial(print, flush=True)),
    )
    try:
        recorder = RecorderNode(
            session,
            started.wiring(),
            sink=sink,
            reads=bool(bag or viewers),
            quantum_ns=scenario.clock_step,
            entry_step_ns=scenario.clock_step,
            helpers=json.loads(session.parameter("reporters", "{}")),
            run_id=started.run_id(),
            timer=session.timer,
            on_changes=lambda changes: write_changes(output, settings_of(changes)),
        )
        with profiled(started, (), works=True), settled_memory():
            recorder.record()
        reports = dict(recorder.reports)
        clock = json.loads(reports.pop("clock").details_json)
        facts = RunFacts(
            "ros",
            clock["end_ns"],
            clock["end_reason"],
            clock["wall_ns"],
            clock["startup_ns"],
            Repeatability(session.parameter("repeatable_scope", "no")),
            presence=clock["presence"],
            not_repeatable=clock["not_repeatable"],
            realtime=clock.get("realtime"),
            required=clock["required"],
            changes=clock["changes"],
            processes=processes_of(scenario),
            transport=session.transport,
        )
        sink.conclude(trace_of(scenario, reports, facts))
    finally:
        # The recorded part stays readable, however the run ended.
        sink.close()
    write_results(output, scenario, reports, facts)
    return recorder.finish()


if __name__ == "__main__":
    run_main(main)
