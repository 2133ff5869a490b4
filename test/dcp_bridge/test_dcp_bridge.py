# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Any slave coupled to a scenario by configuration alone, in process and over ROS."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import warm
from support.wave_models import Trigonometric

from ros2_cosim.core.kernel.errors import ConfigurationError, CosimError
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.messages.records import ControlCommand
from ros2_cosim.core.realtime.renewal import cannot_begin_anew, renewed
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import Scenario, make_scenario
from ros2_cosim.core.scenario.system import build_model
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.slave.server import SlaveServer
from ros2_cosim.dcp.slave.slave_model import StepInfo
from ros2_cosim.dcp.standard.write_description import description_bytes

TESTS = Path(__file__).parent.parent
ROOT = TESTS.parent
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
      step: 1/1000
      slaves:
        wave:
          model: support/wave_models.py:Trigonometric
          parameters: {amplitude: 2.0, phase: 0.25}
      inputs:
        command: {wave.a: throttle}
      outputs:
        odometry:
          fields: {x: wave.y, y: {variable: wave.y, factor: 0.5, offset: 1.0}, qw: 1}
        hits: {fields: wave.hits.*, when: wave.hits.count}
        static:
          fields: {"objects[].x": wave.row, "objects[].id": 3}
    inputs: {command: {from: driver.control, delayed: true}}
    outputs:
      odometry: {type: nav_msgs/msg/Odometry, topic: /odometry}
      hits: {type: ros2_cosim/msg/CollisionEvent, topic: /hits, schedule: sparse}
      static: {type: ros2_cosim/msg/StaticObjects, topic: /static}
  checker:
    model: support.wave_models:Checker
    activation: {any: [odometry]}
    inputs: {odometry: plant.odometry, hits: plant.hits}
"""


def data() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(SCENARIO)
    hits = found["participants"]["plant"]["parameters"]["outputs"]["hits"]
    hits["fields"] = {"vehicle": "wave.hits.vehicle", "impulse": "wave.y"}
    return found


def scenario(**change: Any) -> Scenario:
    found = data()
    found["participants"]["plant"]["parameters"].update(change)
    return make_scenario({**found, "base_directory": str(TESTS)}, "test")


def test_a_slave_in_process_gives_the_closed_form(tmp_path: Path) -> None:
    summary = run_inproc(scenario(), tmp_path, record=False)
    assert summary.repeatable
    again = run_inproc(scenario(), tmp_path, record=False)
    assert again.trace_sha256 == summary.trace_sha256


def test_ports_that_send_when_something_has_changed_and_lists(tmp_path: Path) -> None:
    model = build_model(scenario(), "plant", "inproc")
    try:
        for number in range(4):
            command = ControlCommand(0.0, 0.5 * number, 0.0, 0.0)
            sample = Sample(0, 0, command) if number else None
            outputs = model.activate(Step(number * 10_000_000, {}, {"command": sample}))
            x = outputs["odometry"].x
            assert [o.x for o in outputs["static"].objects] == [x, 2.0 * x]
            assert [o.id for o in outputs["static"].objects] == [3, 3]
            assert ("hits" in outputs) == (number > 0 and x > 0.5)
            if "hits" in outputs:
                assert outputs["hits"][:] == (7, 0, x)
        model.finish()
    finally:
        model.close()


class Remembering(Trigonometric):
    """Counts what is asked of it, and what was not reset shows in its output."""

    resets = configured = 0

    def __init__(self) -> None:
        super().__init__()
        self._steps = 0

    def configure(self, parameters: Mapping[str, Any]) -> None:
        Remembering.configured += 1
        self._steps = 0

    def do_step(self, step: StepInfo) -> None:
        super().do_step(step)
        self._steps += 1
        self.row = (float(self._steps), self.y)

    def reset(self) -> None:
        Remembering.resets += 1


def lived(model: Any) -> list[Any]:
    """What a master reports in a run of four activations."""
    found = []
    for number in range(4):
        sample = Sample(0, 0, ControlCommand(0.0, 0.5 * number, 0.0, 0.0)) if number else None
        found.append(model.activate(Step(number * 10_000_000, {}, {"command": sample})))
    model.finish()
    return found


@contextmanager
def served(tmp_path: Path, *, can_handle_reset: bool) -> Iterator[dict[str, Any]]:
    """A slave elsewhere, as settings."""
    made = describe(Remembering)
    capabilities = replace(made.capabilities, can_handle_reset=can_handle_reset)
    description = replace(made, capabilities=capabilities)
    file = tmp_path / "wave.dcpx"
    file.write_bytes(description_bytes(description))
    server = SlaveServer(Remembering(), description, host="127.0.0.1", port=0, once=False)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield {"description": str(file), "host": "127.0.0.1", "port": server.port}
    finally:
        server.stop()
        thread.join(60.0)


@pytest.mark.parametrize("how", ["reset", "registered again", "made again"])
def test_a_master_begins_anew_with_all_its_slaves(how: str, tmp_path: Path) -> None:
    Remembering.resets = Remembering.configured = 0
    with ExitStack() as stack:
        slave: dict[str, Any] = {"model": "dcp_bridge.test_dcp_bridge:Remembering"}
        if how != "made again":
            slave = stack.enter_context(served(tmp_path, can_handle_reset=how == "reset"))
        wave = {**slave, "parameters": {"amplitude": 2.0, "phase": 0.25}}
        model = build_model(scenario(slaves={"wave": wave}), "plant", "ros")
        stack.callback(model.close)
        assert cannot_begin_anew(model) == ""
        first = lived(model)
        for _ in range(2):
            assert renewed(model, "plant", lambda: model) is model
            assert lived(model) == first
        assert first[3]["static"].objects[0].x == 30.0, "a thousand steps in a second"
        if how != "made again":
            assert Remembering.resets == (2 if how == "reset" else 0)
            assert Remembering.configured == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slaves": {}}, "parameters.slaves: found {}; allowed is at least 1"),
        ({"slaves": {"wave": {}}}, "description, model or fmu is missing"),
        ({"speed": 3}, "parameters.speed: unknown key"),
        ({"mode": "fast"}, "parameters.mode: found 'fast'"),
        ({"inputs": {"command": {"wave.b": "throttle"}}}, "no input 'b'; it has a"),
        ({"inputs": {"command": {"wave.y": "throttle"}}}, "no input 'y'"),
        ({"inputs": {"command": {"wave.a": "trottle"}}}, "no field 'trottle'; there are accel"),
        ({"inputs": {"comand": {"wave.a": "throttle"}}}, "did you mean 'comand'"),
        ({"inputs": {"command": 5}}, "inputs.command: found 5; allowed is"),
        (
            {"outputs": {"other": {"fields": {}}}},
            "outputs: 'other' is missing; model dcp_master sends it",
        ),
        (
            {"outputs": {"odometry": {"x": "wave.y"}}},
            "odometry.x: unknown key; allowed are fields, when, once",
        ),
        ({"outputs": {"odometry": {"fields": {"w": "wave.y"}}}}, "no field 'w'; there are x, y"),
        ({"outputs": {"odometry": {"fields": {"x": "y"}}}}, "slaves are wave"),
        ({"outputs": {"odometry": {"fields": {"x": "wave.row"}}}}, "wave.row is an array"),
        ({"outputs": {"hits": {"fields": {"vehicle": "wave.y"}}}}, "does not fit int"),
        ({"outputs": {"hits": {"fields": {"vehicle": 0.5}}}}, "found 0.5; it does not fit"),
        ({"outputs": {"odometry": {"fields": {"x": {"factor": 2}}}}}, "allowed are variable"),
        (
            {"outputs": {"odometry": {"fields": {"x": {"variable": "wave.y", "factor": "a"}}}}},
            "factor: found 'a'",
        ),
        ({"outputs": {"static": {"fields": {"objects[].w": 1}}}}, r"objects\[\]: no field 'w'"),
        ({"outputs": {"odometry": {"fields": "wave.y"}}}, r"slave.prefix.\*"),
    ],
)
def test_wrong_mappings_are_refused_before_anything_starts(
    change: Mapping[str, Any], message: str
) -> None:
    known = data()["participants"]["plant"]["parameters"]["outputs"]
    if "outputs" in change:
        change = {"outputs": {**known, **change["outputs"]}}
    wrong = scenario(**change)
    with pytest.raises(ConfigurationError, match=message) as caught:
        check_scenario(wrong)
    assert "\n" not in str(caught.value)


def test_a_slave_elsewhere_cannot_be_reached_in_process(tmp_path: Path) -> None:
    from support.wave_models import Trigonometric

    from ros2_cosim.dcp.slave.declare import describe
    from ros2_cosim.dcp.standard.write_description import write_description

    write_description(describe(Trigonometric), tmp_path / "wave.dcpx")
    slaves = {"wave": {"description": str(tmp_path / "wave.dcpx"), "port": 9}}
    with pytest.raises(CosimError, match="shape inproc starts and reaches no other process"):
        run_inproc(scenario(slaves=slaves), tmp_path, record=False)


def test_the_period_must_be_a_multiple_of_the_step(tmp_path: Path) -> None:
    with pytest.raises(CosimError, match="allowed are multiples of the slaves' step, 0.003 s"):
        run_inproc(scenario(step="3/1000"), tmp_path, record=False)


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_a_slave_process_over_ros_gives_the_same_trace(
    tmp_path: Path, ros_domain: int, transport: str
) -> None:
    pytest.importorskip("rclpy")
    path = [str(ROOT), str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    serve = [sys.executable, "-m", "ros2_cosim.cli.main", "dcp", "serve"]
    slave = subprocess.Popen(
        [*serve, f"{TESTS / 'support' / 'wave_models.py'}:Trigonometric"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert slave.stdout is not None
        port = int(slave.stdout.readline().rsplit(":", 1)[1])
        found = data()
        settings = found["participants"]["plant"]["parameters"]["slaves"]["wave"]
        settings |= {"port": port, "transport": transport}
        file = tmp_path / "waves.yaml"
        file.write_text(yaml.safe_dump({**found, "base_directory": str(TESTS)}, sort_keys=False))
        words = ("run", file, "--shape", "ros", "--no-bag", "--out", tmp_path / "out")
        done = warm.cosim(environment, *words)
        assert done.returncode == 0, done.stdout + done.stderr
        assert slave.wait(20) == 0
    finally:
        slave.kill()
        slave.communicate()
    inproc = run_inproc(scenario(), tmp_path, record=False)
    assert f"trace {inproc.trace_sha256}" in done.stdout


@pytest.mark.parametrize("mode", ["nrt", "srt", "hrt"])
def test_data_synchronisation_gives_the_trace_of_requests(tmp_path: Path, mode: str) -> None:
    """In every operating mode: what makes the slaves step changes nothing."""
    expected = run_inproc(scenario(), tmp_path, record=False)
    found = run_inproc(scenario(mode=mode, data_synchronisation=True), tmp_path, record=False)
    assert (found.trace_sha256, found.repeatable) == (expected.trace_sha256, True)


def test_slaves_that_step_by_their_own_clocks_are_not_repeatable(tmp_path: Path) -> None:
    found = data()
    found["participants"]["plant"]["parameters"]["mode"] = "srt"
    # What the slave sends at which step depends on the wall clock: it has no closed form.
    del found["participants"]["checker"]
    made = make_scenario({**found, "base_directory": str(TESTS)}, "test")
    summary = run_inproc(made, tmp_path, record=False)
    assert not summary.repeatable
    reason = "'plant': its DCP slaves step by their own clocks"
    assert reason in str(summary.not_repeatable_reason)
    assert summary.figures is not None
    assert summary.figures["plant"].keys() >= {"dcp_late_ticks", "dcp_worst_tick_s"}


def test_loops_of_slaves_need_a_delay_for_an_order_by_dependency(tmp_path: Path) -> None:
    wave = data()["participants"]["plant"]["parameters"]["slaves"]["wave"]

    def trace(stepping: str, connections: list[Any], inputs: dict[str, Any]) -> str:
        found = data()
        del found["participants"]["checker"]  # it expects one slave
        found["participants"]["plant"]["parameters"] |= {
            "slaves": {"wave": wave, "other": dict(wave)},
            "stepping": stepping,
            "connections": connections,
            "inputs": inputs,
        }
        found["participants"]["plant"]["inputs"] = (
            {"command": {"from": "driver.control", "delayed": True}} if inputs else {}
        )
        made = make_scenario({**found, "base_directory": str(TESTS)}, "test")
        return run_inproc(made, tmp_path, record=False).trace_sha256

    forward, back = "other.y -> wave.a", {"from": "wave.y", "to": "other.a"}
    driven: dict[str, Any] = {"command": {"other.a": "throttle"}}
    assert trace("parallel", [forward], driven) != trace("dependency", [forward], driven)
    with pytest.raises(CosimError, match=r"other\.y -> wave\.a.* are a loop without a delay"):
        trace("dependency", [forward, back], {})
    assert trace("dependency", [forward, {**back, "delayed": True}], {})
