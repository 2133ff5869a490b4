# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Short soaks of a live slave and of a master; ``bench/dcp_soak.py`` and
``bench/dcp_master_soak.py`` are the long ones.
"""

from __future__ import annotations

import pytest

from bench.dcp_loss import PLATOON, deviation, drive
from bench.dcp_master_soak import soak as soak_master
from bench.dcp_soak import soak
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.kernel.trace import run_digest
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.core.scenario.system import build_graph, build_model
from ros2_cosim.dcp.master.requests import Requests
from ros2_cosim.dcp.standard.enums import State


@pytest.mark.usefixtures("nothing_left")
def test_a_live_slave_survives_fuzzing_and_answers_as_the_engine() -> None:
    seen = soak(pdus=20_000, sequences=50, seed=3)
    reached = {name.split()[1] for name in seen if name.startswith("NTF_state_changed")}
    assert {"RUNNING", "COMPUTED", "STOPPED", "INITIALIZED"} <= reached <= {s.name for s in State}
    assert sum(count for name, count in seen.items() if name.startswith("RSP_nack")) > 1000


def test_a_master_survives_slaves_that_send_anything() -> None:
    """Its calls return or say what is wrong, and without faults every session succeeds."""
    ends = soak_master(range(200), seed=7).ends
    assert 50 < ends["complete"] < 175
    phases = {end.split(" in ")[1] for end in ends if end != "complete"}
    assert {"configure", "initialise", "do_step"} <= phases


def test_the_soak_finds_a_master_that_breaks_or_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two planted faults: an error that is not ours, and a wait without an end."""
    with monkeypatch.context() as planted:
        planted.setattr("ros2_cosim.dcp.master.remote.STATES", {})
        with pytest.raises(SystemExit, match="session"):
            soak_master(range(50), seed=7)
    with monkeypatch.context() as planted:
        planted.setattr(Requests, "_timeout", lambda *ignored: None)
        with pytest.raises(SystemExit, match="session"):
            soak_master(range(50), seed=7)


def test_a_run_over_a_network_that_loses_differs_by_what_was_lost() -> None:
    reference = drive(0.0, "hold", 1, "2s")
    scenario = load_scenario(PLATOON, ["duration=2s"])
    graph = build_graph(scenario)
    models = {name: build_model(scenario, name, "inproc") for name in graph.order}
    scheduler = SequentialScheduler(graph, models, stop_latency_ns=scenario.stop_latency)
    scheduler.run(scenario.duration)
    models["world"].close()
    digests = {name: runtime.trace.hexdigest() for name, runtime in scheduler.runtimes.items()}
    assert reference.trace == run_digest(digests)
    assert (reference.data_lost, reference.repeated, reference.wait_ms) == (0.0, 0.0, 0.0)
    lossy = drive(0.1, "hold", 1, "2s")
    assert lossy == drive(0.1, "hold", 1, "2s")
    assert lossy.trace != reference.trace and not lossy.failed
    assert 0.05 < lossy.data_lost < 0.15 and lossy.repeated > 0.1
    assert 0.0 < deviation(lossy, reference) < 1.0
