# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What goes over a bus gives one trace in all shapes; what the bus adds to a platoon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from can_bus.test_participant import counter, output, records, scenario_data
from runs.cosim_process import cosim, user_environment
from support.fmu_builder import COUNTDOWN, LS_NODE3, build_fmu

from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.driving.can.messages import CAN_FRAME, frame_of

CONFIG = Path(__file__).resolve().parents[2] / "config"
SUPPORT = Path(__file__).resolve().parents[1] / "support"
SHAPES = ("inproc", "composed", "ros")


def one_trace(
    scenario: Path, directory: Path, *changes: str, shapes: tuple[str, ...] = SHAPES
) -> dict[str, Any]:
    """Run a scenario in several shapes; the summary of the last one."""
    found: dict[str, dict[str, Any]] = {}
    words = [word for change in changes for word in ("--set", change)]
    with user_environment(directory / "ros-log") as environment:
        for shape in shapes:
            out = directory / shape
            cosim(environment, scenario, "--shape", shape, "--out", out, *words, anew=True)
            found[shape] = json.loads((out / "summary.json").read_text())
    assert len({summary["trace_sha256"] for summary in found.values()}) == 1
    assert all(summary["repeatable"] for summary in found.values())
    return found["ros"]


@pytest.mark.slow
def test_a_platoon_over_can_has_one_trace(tmp_path: Path) -> None:
    pytest.importorskip("cantools", reason="the extra 'can' is not installed")
    scenario = CONFIG / "can_platoon.yaml"
    changes = ("duration=600ms", "parameters.bit_error_rate=0.0005")
    summary = one_trace(scenario, tmp_path, *changes)
    assert summary["figures"]["can"]["destroyed"] > 5
    assert summary["repeatable_scope"] == "everywhere"


@pytest.mark.slow
def test_models_and_fmus_at_one_bus_have_one_trace(tmp_path: Path) -> None:
    build_fmu("lsnode3", tmp_path).rename(tmp_path / "triggered.fmu")
    description = LS_NODE3.format(clock=COUNTDOWN)
    build_fmu("lsnode3", tmp_path, description).rename(tmp_path / "countdown.fmu")
    path = tmp_path / "bus.json"
    path.write_text(json.dumps(scenario_data("30ms", bit_error_rate=5e-4)))
    summary = one_trace(path, tmp_path)
    assert summary["figures"]["can"]["frames"] > 25
    assert summary["repeatable_scope"] == "same_machine"


@pytest.mark.slow
def test_an_unmodified_node_and_a_dcp_slave_at_one_bus_have_one_trace(tmp_path: Path) -> None:
    """The node answers the counter's frames, and the slave sends on what it hears of both."""
    names = ("counter", "node", "slave")
    data: dict[str, Any] = {
        "name": "echo",
        "description": "a node and a slave of others",
        "duration": "100ms",
        "participants": {
            "counter": counter(0x10, 4, "10ms", "counter"),
            "node": {
                "model": "foreign_node",
                "parameters": {
                    "script": str(SUPPORT / "ros_nodes" / "can_echo_node.py"),
                    "inputs": {"heard": "heard"},
                    "outputs": {"out": {"topic": "out", "expect": 1}},
                },
                "activation": {"any": ["heard"]},
                "inputs": {"heard": "can.receive/node"},
                "outputs": {"out": output(CAN_FRAME, "/echo", "1ms")},
            },
            "slave": {
                "model": "dcp_master",
                "period": "20ms",
                "parameters": {
                    "step": "1/1000",
                    "slaves": {"unit": {"model": f"{SUPPORT / 'can_models.py'}:ForwardingUnit"}},
                    "inputs": {"heard": {"unit.heard_id": "id", "unit.heard": "data"}},
                    "outputs": {"frame": {"fields": {"id": "unit.sent_id", "data": "unit.sent"}}},
                },
                "inputs": {"heard": {"from": "can.receive/slave", "delayed": True}},
                "outputs": {"frame": {"type": CAN_FRAME, "topic": "/slave/frame"}},
            },
            "can": {
                "model": "can_bus",
                "period": "100ms",
                "dynamic_step": True,
                "parameters": {"controllers": {name: {} for name in names}},
                "inputs": {
                    "transmit/counter": {"from": "counter.frame", "handled": True},
                    "transmit/node": {"from": "node.out", "handled": True},
                    "transmit/slave": {"from": "slave.frame", "handled": True},
                },
                "outputs": {
                    **{f"receive/{name}": output(CAN_FRAME, f"/{name}/rx") for name in names},
                    "frames": output(CAN_FRAME, "/frames"),
                },
            },
        },
    }
    path = tmp_path / "echo.json"
    path.write_text(json.dumps(data))
    one_trace(path, tmp_path, shapes=("composed", "ros"))
    found = records(tmp_path / "ros" / "bag", "/frames", CAN_FRAME)
    frames = [(frame.id, frame.data) for _, message in found for frame in [frame_of(message)]]
    sent = {i: [data for identifier, data in frames if identifier == i] for i in (0x10, 0x110)}
    turned = [bytes(byte ^ 0xFF for byte in data) for data in sent[0x10]]
    assert len(turned) == 10 and turned == sent[0x110]
    # The slave has heard one of these before each of its steps.
    forwarded = [data for identifier, data in frames if identifier == 0x210]
    assert len(forwarded) == 4 and set(forwarded) <= {*turned, *sent[0x10]}


def test_what_the_bus_costs_a_platoon(tmp_path: Path) -> None:
    """Latency and load of the bus, and the run beside the same one without a bus."""
    pytest.importorskip("cantools", reason="the extra 'can' is not installed")
    found = {}
    for name, changes in {
        "without": (
            "participants.cacc1.inputs.objects=sensor1.objects",
            "participants.cacc1.inputs.v2v_leader=v2v.leader_to_follower1",
        ),
        "fast": ("parameters.bit_rate=500000",),
        "slow": ("parameters.bit_rate=125000",),
    }.items():
        scenario = load_scenario(CONFIG / "can_platoon.yaml", ("duration=4s", *changes))
        found[name] = run_inproc(scenario, tmp_path / name, record=False)
    fast, slow = (found[name].figures["can"] for name in ("fast", "slow"))
    assert found["without"].trace_sha256 != found["fast"].trace_sha256
    # The same frames, four times as long but for the fast part of beacons.
    assert fast["frames"] == slow["frames"] > 500
    assert 3.5 < slow["load"] / fast["load"] < 4.0 and 0.02 < fast["load"] < 0.05
    assert 3.5 < slow["mean_latency_ms"] / fast["mean_latency_ms"] < 5.0
    assert 0.2 < fast["mean_latency_ms"] < 0.4 < fast["max_latency_ms"] < 1.0
