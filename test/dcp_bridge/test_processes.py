# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Slaves that a run starts as processes of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from dcp_bridge.test_dcp_bridge import ROOT, TESTS, data
from support import warm

from ros2_cosim.core.documents.installed import module_command
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.held_ports import resolve_ports
from ros2_cosim.core.scenario.schema import Scenario, make_scenario
from ros2_cosim.core.sockets.brief_waits import DIALOGUE_NS
from ros2_cosim.core.sockets.reactor import Reactor
from ros2_cosim.dcp.master import sockets as master_sockets
from ros2_cosim.dcp.master.cosimulation import CoSimulation, prepared, run_cosimulation
from ros2_cosim.dcp.slave import server as slave_server
from ros2_cosim.dcp.slave.loading import load_model, parse_step
from ros2_cosim.dcp.standard.errors import WiringError
from ros2_cosim.dcp.standard.write_description import write_description
from ros2_cosim.ros.bringup.plan import Process, make_plan

MODEL = "support/wave_models.py:Trigonometric"


def scenario(**wave: Any) -> Scenario:
    found = data()
    slaves = found["participants"]["plant"]["parameters"]["slaves"]
    slaves["wave"] = {k: v for k, v in {**slaves["wave"], **wave}.items() if v is not None}
    return make_scenario({**found, "base_directory": str(TESTS)}, "test")


def planned(made: Scenario, shape: str = "ros") -> Process | None:
    """The slave's process of the plan."""
    plan = make_plan(resolve_ports(made), RunOptions(out=Path("out"), shape=shape))
    names = [process.name for process in plan]
    if "plant_wave" not in names:
        return None
    own = "plant" if shape == "ros" else "composed"
    assert names.index("plant_wave") < names.index(own)
    return plan[names.index("plant_wave")]


@pytest.mark.parametrize("shape", ["ros", "composed"])
def test_a_model_is_served_by_a_process_of_the_plan(shape: str) -> None:
    process = planned(scenario(process=True, step="1/1000"), shape)
    assert process is not None
    words = list(process.arguments)
    host, _, port = words[words.index("--port") + 1].partition(":")
    assert host == "127.0.0.1" and 0 < int(port) < 65536
    assert process.executable == sys.executable
    assert [sys.executable, *words[:2]] == module_command("ros2_cosim.cli.main")
    assert words[2:4] == ["dcp", "serve"]
    assert words[words.index("--step") + 1] == "1/1000"
    assert words[-1] == str(TESTS / MODEL)
    assert not process.is_ros
    assert process.participant == "plant"


def test_the_process_of_a_slave_gets_what_its_master_wants() -> None:
    made = scenario(process=True)
    made.participants["plant"].parameters.update(mode="hrt", data_synchronisation=True)
    process = planned(made)
    assert process is not None
    words = list(process.arguments)
    assert "--data-synchronisation" in words
    assert words[words.index("--mode") + 1] == "hrt"


def test_another_program_gets_host_and_port(tmp_path: Path) -> None:
    command = ["bin/slave", "--at", "{host}:{port}"]
    process = planned(scenario(model=None, description="wave.dcpx", command=command))
    assert process is not None
    assert process.executable == str(TESTS / "bin" / "slave")
    assert process.arguments[0] == "--at"
    host, port = process.arguments[1].split(":")
    assert (host, int(port) > 0) == ("127.0.0.1", True)


def test_a_slave_that_runs_already_is_not_started() -> None:
    assert planned(scenario()) is None
    assert planned(scenario(model=None, description="wave.dcpx", port=9)) is None


@pytest.mark.parametrize(
    ("wave", "message"),
    [
        ({"process": "yes"}, "wave.process: found 'yes'; allowed is true or false"),
        ({"process": True, "model": None, "description": "w"}, "allowed with either model or fmu"),
        ({"command": "serve"}, "wave.command: found 'serve'; allowed is a list"),
        (
            {"command": ["x"], "model": None, "process": True, "description": "w"},
            "process or command",
        ),
        ({"command": ["x"]}, "allowed with description"),
    ],
)
def test_wrong_entries_are_refused(wave: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        planned(scenario(**wave))


def test_a_name_that_is_taken_is_refused() -> None:
    found = data()
    participants = found["participants"]
    participants["plant"]["parameters"]["slaves"]["wave"]["process"] = True
    participants["plant_wave"] = participants.pop("checker")
    with pytest.raises(ConfigurationError, match="participants.plant: .*be named 'plant_wave'"):
        check_scenario(make_scenario({**found, "base_directory": str(TESTS)}, "test"), "ros")


def test_a_co_simulation_by_itself_starts_no_programs(tmp_path: Path) -> None:
    settings = CoSimulation.model_validate(
        {"slaves": {"a": {"description": "a.dcpx", "command": ["a"]}}, "steps": 1}
    )
    with (
        (tmp_path / "out.csv").open("w") as out,
        pytest.raises(WiringError, match="slaves.a.command: only 'cosim run' starts"),
    ):
        run_cosimulation(settings, out)


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("kind", ["process", "command"])
def test_a_run_starts_and_ends_its_slave(tmp_path: Path, ros_domain: int, kind: str) -> None:
    pytest.importorskip("rclpy")
    found = data()
    slaves = found["participants"]["plant"]["parameters"]["slaves"]
    if kind == "process":
        slaves["wave"]["process"] = True
    else:
        description = tmp_path / "wave.dcpx"
        _, made = load_model(MODEL, directory=TESTS, step=parse_step("1/1000"))
        write_description(made, description)
        serve = [sys.executable, "-m", "ros2_cosim.cli.main", "dcp", "serve"]
        words = ["--port", "{port}", "--step", "1/1000", f"{TESTS}/{MODEL}"]
        parameters = slaves["wave"]["parameters"]
        slaves["wave"] = {
            "description": str(description),
            "command": [*serve, *words],
            "transport": "udp",
            "parameters": parameters,
        }
    file = tmp_path / "waves.yaml"
    file.write_text(yaml.safe_dump({**found, "base_directory": str(TESTS)}, sort_keys=False))
    path = [str(ROOT), str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    shape = "ros" if kind == "process" else "composed"
    words = ("run", file, "--shape", shape, "--no-bag", "--out", tmp_path / "out")
    done = warm.cosim({**os.environ, "PYTHONPATH": os.pathsep.join(path)}, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    inproc = run_inproc(scenario(), tmp_path, record=False)
    assert f"trace {inproc.trace_sha256}" in done.stdout


@pytest.mark.usefixtures("nothing_left")
def test_a_slave_that_cannot_start_ends_the_run(tmp_path: Path, ros_domain: int) -> None:
    pytest.importorskip("rclpy")
    found = data()
    write_description(load_model(MODEL, directory=TESTS)[1], tmp_path / "wave.dcpx")
    found["participants"]["plant"]["parameters"]["slaves"]["wave"] = {
        "description": str(tmp_path / "wave.dcpx"),
        "command": [sys.executable, "-c", "raise SystemExit('no licence for {port}')"],
    }
    file = tmp_path / "waves.yaml"
    file.write_text(yaml.safe_dump({**found, "base_directory": str(TESTS)}, sort_keys=False))
    path = [str(ROOT), str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    words = ("run", file, "--no-bag", "--out", tmp_path / "out")
    done = warm.cosim({**os.environ, "PYTHONPATH": os.pathsep.join(path)}, *words)
    assert done.returncode == 1
    line = done.stderr.splitlines()[-1]
    assert line.startswith("cosim: ")
    assert "process 'plant_wave' ended with exit code 1: no licence for" in line


def test_threads_of_one_process_do_not_look_for_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who looks keeps the interpreter from those that are to send."""
    looks: list[int] = []

    class Noted(Reactor):
        def __init__(self, look_ns: int) -> None:
            looks.append(look_ns)
            super().__init__(look_ns)

    for module in (master_sockets, slave_server):
        monkeypatch.setattr(module, "Reactor", Noted)
    settings = scenario().participants["plant"].parameters
    given = {key: settings[key] for key in ("slaves", "step") if key in settings}
    made = CoSimulation(base_directory=TESTS, steps=1, **given)
    for apart, expected in ((False, {0}), (True, {DIALOGUE_NS})):
        looks.clear()
        with prepared(made, apart=apart):
            assert set(looks) == expected
