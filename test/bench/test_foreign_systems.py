# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The systems of other projects: what their nodes compute, what is counted, one run for real."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import gate_scenarios as scenarios

from bench.foreign_systems import LED, PROCESSES, Run, different, measured, plain, read_logs
from bench.systems.reference_graph import CLUSTERS, COMMANDS, FUSIONS, PLANNED, SENSORS, TRANSFORMS

_SYSTEMS = scenarios.ROOT / "bench" / "systems"
#: Prints counts of primes, and whether samples and hashes keep what they get.
_COMPUTES = """
import sys
from reference_system import Entry, entries_of, packed, primes
from determinism import combined
print([primes(n) for n in (2, 13, 19, 29)])
sample = [Entry(1, 2, 3, "First"), Entry(2**63, 5, 0, "N" * 47)]
message = packed(sample, 9)
print(len(message.data), entries_of(message) == sample)
print(combined(1, 2))
"""

#: Printed by the original, compiled.
_HASH = "1017281325365896012"


def test_nodes_compute_what_the_originals_do() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _COMPUTES],
        cwd=_SYSTEMS, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(_SYSTEMS)},
    )  # fmt: skip
    assert done.stdout.splitlines() == ["[1, 6, 8, 10]", "4096 True", _HASH]


def test_no_two_nodes_of_a_process_talk_to_each_other() -> None:
    """Together the processes have all nodes."""
    reads = {name: {source} for name, source in (*TRANSFORMS.items(), *COMMANDS.items())}
    reads |= {name: set(sources) for name, sources in FUSIONS.items()}
    reads |= {"BehaviorPlanner": set(PLANNED), "EuclideanClusterDetector": {s for s, _ in CLUSTERS}}
    writer = {topic: "EuclideanClusterDetector" for _, topic in CLUSTERS}
    groups = PROCESSES["reference_system"]
    assert sorted(sum(groups, ())) == sorted([*SENSORS, *reads])
    for group in groups:
        heard = {writer.get(topic, topic) for name in group for topic in reads.get(name, ())}
        assert not heard & set(group)


def test_latencies_are_those_of_the_path_and_orders_are_compared_as_far_as_all_go(
    tmp_path: Path,
) -> None:
    (tmp_path / "1.log").write_text("FrontLidarDriver -,- 1000000\nFrontLidarDriver -,- 5000000\n")
    (tmp_path / "2.log").write_text(
        "RearLidarDriver -,- 2000000\nObjectCollisionEstimator 0,0 4000000\n"
        "ObjectCollisionEstimator 1,- 9000000\n"
    )
    order, latencies = read_logs(tmp_path)
    assert latencies == [3.0] and order["ObjectCollisionEstimator"] == ["0,0", "1,-"]
    runs = [Run({"a": list(text)}, "", 1.0, 1.0, []) for text in ("xy", "xyz", "xyx")]
    assert different(runs) == 1
    assert different(runs[1:]) == 2


@pytest.mark.slow
def test_a_system_of_others_runs_plainly_and_from_its_scenario(
    ros_domain: int, nothing_left: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")
    paths = [str(scenarios.ROOT), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    run = plain("reference_system", (), 1.5, tmp_path)
    assert run.latencies_ms and set(run.order) == set(sum(PROCESSES["reference_system"], ()))
    monkeypatch.setitem(PROCESSES, "determinism", (("NodeB",),))  # looking takes its time
    quiet, busy = measured("determinism", 1, 0.4, (LED,))
    for found in (quiet, busy):
        assert (found["orders"], found["traces"], found["named"]) == (1, 1, "")
