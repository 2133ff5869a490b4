# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The trials of foreign nodes: their table, what they conclude, and one of them for real."""

from __future__ import annotations

import os
import shlex
import sys

import pytest
from support import gate_scenarios as scenarios

from bench.foreign_trials import Trial, read_table, tried


def test_a_table_is_read_line_by_line() -> None:
    text = "# nodes\na | python x.py --ros-args -r a:=b|y\n\nb|z\n"
    assert read_table(text) == [("a", ["python x.py --ros-args -r a:=b", "y"]), ("b", ["z"])]


@pytest.mark.parametrize(
    ("traces", "named", "verdict"),
    [
        (("a", "a"), "", "one trace"),
        (("a", "b"), "", "DIFFERS"),
        (("a", "b"), "several threads", "named"),
        (("a", ""), "it died", "ends early, named"),
    ],
)
def test_traces_that_differ_must_be_named(
    traces: tuple[str, ...], named: str, verdict: str
) -> None:
    assert Trial("a", True, traces, named).verdict == verdict


@pytest.mark.slow
def test_a_node_has_one_trace_quiet_and_busy(
    ros_domain: int, nothing_left: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")
    paths = [str(scenarios.ROOT), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    relay = shlex.join([sys.executable, str(scenarios.NODES / "relay_node.py")])
    options = ["--shape", "composed", "--set", "duration=300ms"]
    trial = tried("relay", [relay], 1, options)
    assert trial.verdict == "one trace", trial
    wrong = tried("nothing", [shlex.join([sys.executable, "-c", "pass"])], 1, options)
    assert wrong.verdict == "not written" and "the foreign process ended" in wrong.named
