# SPDX-License-Identifier: Apache-2.0
"""The recorder: writes bag, summary and report of a run."""

import json
import sys
from pathlib import Path

from ros2_cosim.nodes._start import Started, run_node
from ros2_cosim.ros.recorder_node import RecorderNode
from ros2_cosim.scenario.plan import dcp_participants, slave_name
from ros2_cosim.tools.bag import BagWriter
from ros2_cosim.tools.results import RunFacts, open_bag, write_results


class _NoBag:
    """Takes what a bag would take, and forgets it."""

    def write(self, topic: str, stamp_ns: int, seq: int, data: bytes) -> None:
        """Drop a message."""

    def advance(self, time_ns: int) -> None:
        """Nothing to write."""

    def close(self) -> None:
        """Nothing to close."""


def main() -> int:
    """Run the node."""
    return run_node("recorder", _record)


def _record(started: Started) -> None:
    session, scenario, graph = started
    output = Path(session.parameter("output", "."))
    wanted = session.parameter("bag", "true") == "true"
    sink: BagWriter | _NoBag = open_bag(output, scenario, graph) if wanted else _NoBag()
    try:
        recorder = RecorderNode(
            session,
            graph,
            topic_of=started.topic_of,
            sink=sink,
            helpers=[slave_name(name) for name in dcp_participants(scenario)],
        )
        recorder.record()
    finally:
        # Whatever ended the run: what has been recorded stays readable.
        sink.close()
    reports = dict(recorder.reports)
    clock = json.loads(reports.pop("clock").details_json)
    facts = RunFacts(
        "ros", clock["end_ns"], clock["end_reason"], clock["wall_ns"], clock["startup_ns"]
    )
    write_results(output, scenario, reports, facts)
    recorder.finish()


if __name__ == "__main__":
    sys.exit(main())
