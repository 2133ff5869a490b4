# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A scenario as a DCP slave: stepped from outside it gives the trace of a run left alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.record.summary import Summary, read_summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.dcp.export.external import scenario_slave
from ros2_cosim.dcp.export.fmu_variables import FINISHED
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.slave.server import SlaveServer
from ros2_cosim.dcp.standard.enums import OpMode
from ros2_cosim.dcp.standard.errors import DcpError

PLATOON = Path(__file__).parents[2] / "config" / "platoon.yaml"
SHORT = ["duration=1s"]
SEAM = (
    "external={step: 10ms, outputs: {leader: {from: world.odometry/leader, fields: [x, vx]}, "
    "status: {from: referee.status}}}"
)


@contextmanager
def served(
    path: Path, changes: list[str], out: Path, done: list[Summary], *, record: bool = False
) -> Iterator[tuple[Master, SlaveServer]]:
    """A master with one slave ``run``, which is the scenario."""
    model, description = scenario_slave(path, changes, out=out, record=record, done=done.append)
    server = SlaveServer(model, description, port=0, once=False)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        with Master(timeout_s=60) as master:
            master.add_slave(description, port=server.port, name="run")
            yield master, server
    finally:
        server.stop()
        thread.join(60)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    return run_inproc(
        load_scenario(PLATOON, SHORT), tmp_path_factory.mktemp("expected"), record=False
    )


def test_stepped_to_its_end_it_has_the_trace_of_a_run(tmp_path: Path, expected: Summary) -> None:
    done: list[Summary] = []
    with served(PLATOON, [*SHORT, SEAM], tmp_path, done, record=True) as (master, _):
        run = master.slaves["run"]
        for number in range(2):
            (master.reset if number else master.configure)()
            master.initialise()
            assert master.step_size == Fraction(1, 100)
            assert run.output("leader.x") == 700.0 and run.output(FINISHED) == 0
            master.run()
            stations = [run.output("leader.x")]
            for _ in range(99):
                master.do_step()
                stations.append(run.output("leader.x"))
            assert all(0.2 < b - a < 0.3 for a, b in pairwise(stations))
            assert run.output(FINISHED) == 0
            master.do_step()
            assert run.output(FINISHED) == 1
            end = run.output("leader.x")
            master.do_step()  # beyond the end nothing changes
            assert run.output("leader.x") == end > 720.0
            master.stop()
    assert [one.trace_sha256 for one in done] == [expected.trace_sha256] * 2
    assert [one.end_reason for one in done] == [expected.end_reason] * 2
    assert all(one.repeatable for one in done)
    assert (tmp_path / "bag").is_dir() and (tmp_path / "summary.json").is_file()


def test_long_steps_lead_to_the_same_end(tmp_path: Path, expected: Summary) -> None:
    from ros2_cosim.dcp.master.remote import SlaveUse

    done: list[Summary] = []
    model, description = scenario_slave(
        PLATOON, [*SHORT, SEAM], out=tmp_path, record=False, done=done.append
    )
    server = SlaveServer(model, description, port=0)
    thread = threading.Thread(target=server.run)
    thread.start()
    with Master(timeout_s=60) as master:
        master.add_slave(description, port=server.port, use=SlaveUse(steps=25))
        master.configure()
        master.run()  # without an initialization: the first step brings it about
        master.do_step(4)
        master.stop()
    thread.join(60)
    assert [one.trace_sha256 for one in done] == [expected.trace_sha256]


def test_a_master_may_stop_earlier_and_go_through_the_modes(tmp_path: Path) -> None:
    done: list[Summary] = []
    with served(PLATOON, [*SHORT, SEAM], tmp_path, done) as (master, server):
        master.configure()
        master.initialise()
        master.run()
        master.do_step(30)
        master.stop()
        assert done[0].sim_time_s == pytest.approx(0.3, abs=0.01)
        assert "stopped by the DCP master" in done[0].end_reason
        assert {OpMode.NRT, OpMode.SRT} <= server.description.op_modes


ECHO_SCENARIO = """
name: echoed
duration: 1s
participants:
  echo:
    model: support.external_models:Echo
    period: 10ms
    inputs: {wish: {unsynchronised: /wish, type: ros2_cosim/msg/ControlCommand}}
    outputs: {seen: {type: ros2_cosim/msg/ControlCommand, topic: /seen}}
external:
  step: 10ms
  inputs: {wish: {to: echo.wish, fields: [throttle, brake]}}
  outputs: {seen: {from: echo.seen, fields: [throttle, brake, steer]}}
"""


def test_inputs_become_messages_of_unsynchronised_ports(tmp_path: Path) -> None:
    (tmp_path / "echo.yaml").write_text(ECHO_SCENARIO)
    done: list[Summary] = []
    with served(tmp_path / "echo.yaml", [], tmp_path / "out", done) as (master, _):
        run = master.slaves["run"]
        master.configure()
        master.initialise()
        master.run()
        for number in range(1, 20):
            run.set_inputs({"wish.throttle": number / 32, "wish.brake": 0.5})
            master.do_step()
            # The message of the first activation, at 0, came from the start values.
            assert run.output("seen.throttle") == number / 32
            assert run.output("seen.steer") == pytest.approx((number + 1) / 100)
        master.stop()
    assert not done[0].repeatable
    assert "unsynchronised input 'wish'" in str(done[0].not_repeatable_reason)


def test_inputs_that_the_master_never_sends_are_in_the_summary(tmp_path: Path) -> None:
    (tmp_path / "echo.yaml").write_text(ECHO_SCENARIO)
    done: list[Summary] = []
    with served(tmp_path / "echo.yaml", [], tmp_path / "out", done) as (master, _):
        for sends in (True, False):
            (master.configure if sends else master.reset)()
            if not sends:
                master.slaves["run"].sent_pdus.clear()
            master.initialise()
            master.run()
            master.do_step()
            master.stop()
    assert [one.unheard_inputs for one in done] == [None, ("wish.throttle", "wish.brake")]
    assert read_summary(tmp_path / "out").unheard_inputs == ("wish.throttle", "wish.brake")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("seed=2", "external: missing; it names the step"),
        ("external={step: 0}", "external.step: found 0"),
        (
            "external={step: 10ms, outputs: {a: {from: world.nothing}}}",
            r"external.outputs.a.from: found 'world.nothing'; there are cacc1.control",
        ),
        (
            "external={step: 10ms, outputs: {a: {from: world.odometry/leader, fields: [u]}}}",
            r"external.outputs.a.fields: found 'u'; nav_msgs/msg/Odometry has x, y",
        ),
        (
            "external={step: 10ms, inputs: {a: {to: cacc1.objects}}}",
            "external.inputs.a.to: found 'cacc1.objects'; allowed are unsynchronised inputs",
        ),
        (
            "external={step: 10ms, outputs: {run: {from: referee.status}}}",
            "found 'run' .*names that differ",
        ),
    ],
)
def test_wrong_seams_are_refused(change: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=message):
        scenario_slave(PLATOON, [change], out=tmp_path)
    if change.startswith("external"):  # a scenario that is only run needs none
        with pytest.raises(ConfigurationError, match=message):
            check_scenario(load_scenario(PLATOON, [change]))


def test_a_participant_that_fails_is_the_error_of_the_slave(tmp_path: Path) -> None:
    (tmp_path / "echo.yaml").write_text(ECHO_SCENARIO.replace(":Echo", ":Failing"))
    done: list[Summary] = []
    with served(tmp_path / "echo.yaml", [], tmp_path / "out", done) as (master, _):
        master.configure()
        with pytest.raises(DcpError, match="participant 'echo' failed in its activation 1 at 0s"):
            master.initialise()
    assert done == []
