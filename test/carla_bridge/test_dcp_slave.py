# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The CARLA slave as a process of its own, seen by a DCP master: its parameters."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from runs.cosim_process import cosim, user_environment
from support.world_scenarios import world_data, world_scenario

from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scenario.held_ports import resolve_ports
from ros2_cosim.core.scenario.schema import save_scenario
from ros2_cosim.core.scenario.system import build_model
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.master.remote import SlaveUse
from ros2_cosim.dcp.standard.enums import ErrorCode, OpMode, State
from ros2_cosim.dcp.standard.errors import DcpError
from ros2_cosim.dcp.standard.slave_description import SlaveDescription
from ros2_cosim.ros.bringup.plan import make_plan
from ros2_cosim.ros.bringup.processes import ProcessGroup
from ros2_cosim.world.carla.describe import describe_world

ROOT = Path(__file__).parents[2]


@contextmanager
def slave_process(directory: Path) -> Iterator[tuple[SlaveDescription, int]]:
    """Server and slave as ``cosim run`` starts them; description and port of the slave."""
    scenario = resolve_ports(world_scenario(control_period="20ms"))
    save_scenario(scenario, directory / RESOLVED_SCENARIO)
    plan = make_plan(scenario, RunOptions(out=directory))
    servers = [p for p in plan if p.name in ("simulator", "world_slave")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    description = describe_world(declare(scenario, "world").context)
    with ProcessGroup(servers, environment):
        yield description, scenario.participants["world"].parameters["dcp"]["port"]


def in_process(steps: int) -> list[float]:
    """Station of the first vehicle after each step of the plant in process."""
    plant = build_model(world_scenario(), "world", "inproc")
    found = []
    for number in range(steps + 1):
        outputs = plant.activate(Step(20_000_000 * number, {}, {}))
        found.append(outputs["odometry/first"].x)
    plant.close()
    return found


def test_the_heartbeat_is_a_choice() -> None:
    """For masters that send none, as those of the public C++ library."""
    for dcp, expected in (
        ({}, Fraction(30)),
        ({"heartbeat": "500ms"}, Fraction(1, 2)),
        ({"heartbeat": 0}, None),
    ):
        context = declare(world_scenario(dcp=dcp), "world").context
        assert describe_world(context).heartbeat == expected
    with pytest.raises(ConfigurationError, match=r"parameters\.dcp\.heartbeat: found 'soon'"):
        describe_world(declare(world_scenario(dcp={"heartbeat": "soon"}), "world").context)


@pytest.mark.usefixtures("nothing_left", "ros_domain")
def test_sample_time_vehicles_and_traffic_of_a_slave_process(tmp_path: Path) -> None:
    pytest.importorskip("rclpy")
    step = Fraction(1, 50)
    with slave_process(tmp_path) as (description, port), Master(connect_wait_s=60) as master:
        remote = master.add_slave(description, port=port, name="world", use=SlaveUse(step))

        def refused(code: ErrorCode, text: str, **parameters: object) -> None:
            """The parameters do not fit; the slave says so and can be reset."""
            begin = master.configure if remote.state is None else master.reset
            with pytest.raises(DcpError, match=text) as caught:
                begin({"world": {**BASE, **parameters}})
            assert caught.value.code == code
            assert remote.state in (State.ERRORRESOLVED, State.CONFIGURATION)

        def driven(steps: int, **parameters: object) -> list[float]:
            master.reset({"world": {**BASE, **parameters}})
            master.initialise()
            master.run()
            stations = [remote.output("odometry/first.x")]
            for _ in range(steps):
                master.do_step()
                stations.append(remote.output("odometry/first.x"))
            master.stop()
            return stations

        base = remote.description
        BASE = {v.name: v.start for v in base.variables if v.causality.value == "Parameter"}
        wrong_time = ErrorCode.INVALID_TIME_RESOLUTION
        violated = ErrorCode.PROTOCOL_ERROR_PROPERTY_VIOLATED
        refused(wrong_time, "sample_time: found 0.01 s; .* 1/50 s", sample_time=0.01)
        refused(violated, "PROPERTY_VIOLATED", vehicles=4)
        refused(violated, "PROPERTY_VIOLATED", traffic=501)
        # As many as fit the limit, but not the map.
        master.reset({"world": {**BASE, "vehicles": 3, "traffic": 500}})
        with pytest.raises(DcpError, match="traffic=500; .* has room for"):
            master.initialise()

        # The slave's step is the resolution, and what is driven is what is driven in process.
        assert driven(5, sample_time=0.02) == in_process(5)
        assert driven(5, traffic=8, traffic_seed=5, sample_time=0.0) == in_process(5)
        assert remote.output("odometry/third.x") > 0.0
        assert driven(5, vehicles=2) == in_process(5)
        assert math.isnan(remote.output("odometry/third.x"))
        assert math.isnan(remote.output("acceleration/third.ax"))
        assert not math.isnan(remote.output("odometry/second.x"))

        # 1/200 s divides the control period, 3/200 s does not, 1/5 s is not offered.
        remote.resolution = Fraction(3, 200)
        refused(wrong_time, "divide the control period, 0.02 s")
        remote.resolution = Fraction(1, 200)
        stations = driven(4)
        assert stations[4] - stations[0] == pytest.approx(25.0 * 0.02, abs=0.01)
        remote.resolution = Fraction(1, 5)
        refused(wrong_time, "CFG_time_res.*INVALID_TIME_RESOLUTION")


@pytest.mark.usefixtures("nothing_left", "ros_domain")
def test_the_slave_also_runs_in_soft_real_time(tmp_path: Path) -> None:
    pytest.importorskip("rclpy")
    with (
        slave_process(tmp_path) as (description, port),
        Master(op_mode=OpMode.SRT, connect_wait_s=60) as master,
    ):
        remote = master.add_slave(description, port=port, use=SlaveUse(Fraction(1, 50)))
        master.configure({remote.name: {"vehicles": 1}})
        master.initialise()
        master.run()
        stations = [remote.output("odometry/first.x")]
        for _ in range(2000):
            master.do_step()
            station = remote.output("odometry/first.x")
            if station != stations[-1]:
                stations.append(station)
            if len(stations) == 5:
                break
        master.stop()
        assert len(stations) == 5
        # One tick at 25 m/s; how many went by before the first was seen, the machine decides.
        assert min(b - a for a, b in zip(stations, stations[1:], strict=False)) > 0.49


@pytest.mark.usefixtures("nothing_left", "ros_domain")
def test_a_scenario_with_fewer_vehicles_and_traffic_is_the_same_in_all_shapes(
    tmp_path: Path,
) -> None:
    pytest.importorskip("rclpy")
    data = world_data(2, vehicles=2, traffic=6, traffic_seed=9)
    file = tmp_path / "world.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    expected = run_inproc(
        world_scenario(2, vehicles=2, traffic=6, traffic_seed=9), tmp_path, record=False
    )
    for shape in ("composed", "ros"):
        with user_environment(tmp_path / "log") as environment:
            done = cosim(environment, file, "--shape", shape, "--no-bag", "--out", tmp_path / shape)
        assert done.code == 0, done
        assert f"trace {expected.trace_sha256}" in done.stdout
