# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a network loses of a slave's data is in the summary of the run."""

from __future__ import annotations

import json
from collections.abc import Collection
from itertools import count
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import pytest
import yaml
from support.dcp_models import running
from support.udp_relay import losing_relay
from support.wave_models import Trigonometric

from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.messages.reporting import report_of
from ros2_cosim.core.record.results import RunFacts, write_results
from ros2_cosim.core.record.summary import Summary, read_summary
from ros2_cosim.core.scenario.declaration import declare_all, repeatability_of
from ros2_cosim.core.scenario.schema import make_scenario
from ros2_cosim.core.scenario.system import build_graph, build_model
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.interfaces import SlaveOptions
from ros2_cosim.dcp.standard.data_path import Missing
from ros2_cosim.dcp.standard.write_description import write_description

SCENARIO = """
name: waves
duration: 200ms
participants:
  driver:
    model: support.wave_models:Driver
    period: 10ms
    outputs: {control: {type: ros2_cosim/msg/ControlCommand, topic: /control}}
  plant:
    model: dcp_master
    period: 10ms
    parameters:
      slaves: {wave: {description: wave.dcpx, transport: udp}}
      inputs: {command: {wave.a: throttle}}
      outputs: {odometry: {fields: {x: wave.y}}}
    inputs: {command: {from: driver.control, delayed: true}}
    outputs: {odometry: {type: nav_msgs/msg/Odometry, topic: /odometry}}
"""


def run(
    directory: Path,
    lose: Collection[int],
    missing: Missing = Missing.HOLD,
    delay: Collection[int] = (),
    lost_outputs: Collection[int] = (),
    **parameters: Any,
) -> Summary:
    """A run whose slave is reached over UDP through a relay that loses or delays some inputs.

    Where some are delayed the slave does not wait for them.

    :param lost_outputs: those that the slave does not send, by number
    :param parameters: of the participant
    """
    description = describe(Trigonometric)
    write_description(description, directory / "wave.dcpx")
    wait_s = 0.0 if delay else 2.0 if lose else 30.0
    options = SlaveOptions(input_wait_s=wait_s, missing=missing, newest_only=True)
    with (
        running(Trigonometric(), description, options=options) as slave,
        losing_relay(slave.port, lose, delay) as relay,
    ):
        send, sent = slave.server.sockets.send_data, count(1)

        def lossy(target: Any, pdus: list[bytes]) -> None:
            if next(sent) not in lost_outputs:
                send(target, pdus)

        slave.server.sockets.send_data = lossy  # type: ignore[method-assign]
        data: dict[str, Any] = yaml.safe_load(SCENARIO)
        plant = data["participants"]["plant"]
        plant["parameters"] |= parameters
        plant["parameters"]["slaves"]["wave"]["port"] = relay.port
        scenario = make_scenario({**data, "base_directory": str(directory)}, "test")
        graph = build_graph(scenario)
        behaviours = {name: build_model(scenario, name, "composed") for name in graph.order}
        scope = repeatability_of(declare_all(scenario, "composed"))
        scheduler = SequentialScheduler(graph, behaviours, stop_latency_ns=0, timer=perf_counter_ns)
        try:
            end = scheduler.run(scenario.duration, scenario.duration)
            behaviours["plant"].finish()
            reports = {name: report_of(runtime) for name, runtime in scheduler.runtimes.items()}
        finally:
            behaviours["plant"].close()
    return write_results(
        directory,
        scenario,
        reports,
        RunFacts("composed", end, "end", 1, 0, scope),
    )


def test_a_run_that_lost_nothing_is_repeatable(tmp_path: Path) -> None:
    summary = run(tmp_path, set())
    assert summary.repeatable
    # The slave may compute with anything.
    assert summary.repeatable_scope == "same_machine"
    assert summary.dcp_data is not None
    (data,) = summary.dcp_data.values()
    assert data.missing == "hold"
    for side in (data.inputs, data.outputs):
        assert side is not None
        assert (side.lost, side.held, side.extrapolated) == (0, 0, 0)
        assert side.received > 15


@pytest.mark.parametrize(
    ("missing", "held", "extrapolated"), [(Missing.HOLD, 2, 0), (Missing.EXTRAPOLATE, 0, 2)]
)
def test_lost_inputs_are_counted_by_policy_and_the_run_is_not_repeatable(
    tmp_path: Path, missing: Missing, held: int, extrapolated: int
) -> None:
    # The first data PDU belongs to the initialization.
    summary = run(tmp_path, {5, 9}, missing)
    assert summary.dcp_data is not None
    inputs = summary.dcp_data["plant.wave"].inputs
    assert inputs is not None
    assert (inputs.lost, inputs.held, inputs.extrapolated) == (2, held, extrapolated)
    assert not summary.repeatable
    assert summary.repeatable_scope == "no"
    assert summary.not_repeatable_reason == "DCP data lost over UDP: 2 of plant.wave"
    # At steps of 1 ms the fourth step of the run is the first without inputs.
    assert summary.not_repeatable_since_s == pytest.approx(0.004)
    assert read_summary(tmp_path) == summary
    written = json.loads((tmp_path / "summary.json").read_text())
    assert written["dcp_data"]["plant.wave"]["inputs"]["lost"] == 2


#: Data PDUs of a run to the slave: one in the initialization, one for each of 190 steps of 1 ms.
ALL = 191


@pytest.mark.parametrize("number", [1, ALL])
def test_the_first_and_the_last_one_count_too(tmp_path: Path, number: int) -> None:
    """No later sequence id shows that they are missing."""
    summary = run(tmp_path, {number})
    assert summary.dcp_data is not None
    inputs = summary.dcp_data["plant.wave"].inputs
    assert inputs is not None
    assert (inputs.received, inputs.lost) == (ALL - 1, 1)
    assert summary.not_repeatable_reason == "DCP data lost over UDP: 1 of plant.wave"


@pytest.mark.parametrize("number", [1, 7, ALL])
def test_what_comes_behind_its_request_is_not_used_unnoticed(tmp_path: Path, number: int) -> None:
    """A request overtakes its data: the slave, which does not wait, uses former ones."""
    summary = run(tmp_path, set(), delay={number})
    assert summary.dcp_data is not None
    inputs = summary.dcp_data["plant.wave"].inputs
    assert inputs is not None
    assert inputs.held == 1
    assert summary.not_repeatable_reason == "DCP data lost over UDP: 1 of plant.wave"


def test_the_master_ends_the_run_once_more_than_the_acceptable_share_is_lost(
    tmp_path: Path,
) -> None:
    """The third outputs get lost; the fourth ones show it: 1 of 4."""
    assert run(tmp_path, set(), lost_outputs={3}, acceptable_loss=0.25).sim_time_s == 0.2
    with pytest.raises(CosimError, match="0.250 of the PDUs of data_id 2 were lost, 0.24 are"):
        run(tmp_path, set(), lost_outputs={3}, acceptable_loss=0.24)
