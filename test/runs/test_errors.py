# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Whatever is wrong before a run: one line that says where, what was found, what is allowed."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from runs.cosim_process import HIGHWAY, PLATOON
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.run.request import RunRequest, adjusted_scenario

#: Options -> what the line says.
WRONG: dict[str, tuple[list[str], str]] = {
    "negative period": (
        ["--set", "participants.world.period=-10ms"],
        "participants.world.period: found '-10ms'; allowed is 1ns or more",
    ),
    "period zero": (
        ["--set", "participants.sensor1.period=0"],
        "participants.sensor1.period: found 0; allowed is 1ns or more",
    ),
    "period without unit": (
        ["--set", "participants.sensor1.period=soon"],
        "participants.sensor1.period: found 'soon'; allowed is 0, or a number with",
    ),
    "duration without unit": (
        ["--set", "duration=20"],
        "duration: found 20; a time needs a unit: write 20s",
    ),
    "latency without unit": (
        ["--set", "participants.v2v.outputs.leader_to_follower1.latency=20"],
        "latency: found 20; a time needs a unit: write 20s",
    ),
    "parameter without unit": (
        ["--set", "participants.referee.parameters.time_limit=20"],
        "participants.referee.parameters.time_limit: found 20; a time needs a unit: write 20s",
    ),
    "checkpoint without unit": (
        ["--checkpoint", "20"],
        "--checkpoint: found 20; a time needs a unit",
    ),
    "--checkpoint without unit": (
        ["--checkpoint", "5"],
        "--checkpoint: found 5; a time needs a unit",
    ),
    "unknown controller": (
        ["--controllers", "nosuch"],
        "participants.cacc1.parameters.law: control law: found 'nosuch'; allowed are "
        "cruise_control, fmu, gipps, idm, leader_predecessor_cacc, mpc_cacc, path_acc, ",
    ),
    "controller file missing": (
        ["--controllers", "nosuch.py:Law"],
        "nosuch.py",
    ),
    "unknown model": (
        ["--set", "participants.v2v.model=nosuch"],
        "participants.v2v.model: found 'nosuch'; allowed are autoware_control, autoware_vehicle, ",
    ),
    "unknown node": (
        ["--set", "participants.v2v.node=nosuch"],
        "participants.v2v.node: found 'nosuch'; allowed are path/to/script.py and ",
    ),
    "wrong parameter of a law": (
        ["--set", "participants.cacc1.parameters.law_parameters={kp: much}"],
        "participants.cacc1.parameters.law_parameters.kp: found 'much'; allowed is a number",
    ),
    "unknown vehicle": (
        ["--set", "participants.sensor1.parameters.ego=ghost"],
        "participants.sensor1.parameters.ego: found vehicle 'ghost'; allowed are follower1, ",
    ),
    "map file missing": (["--set", "scene.map=nosuch.xodr"], "scene.map: "),
    "map that only CARLA has": (
        ["--set", "scene.map=Town04"],
        "scene.map: found 'Town04'; allowed is the path of a .xodr file",
    ),
    "unknown weather": (
        ["--set", "scene.weather=clearnoon"],
        "weather: found 'clearnoon'; did you mean 'ClearNoon'",
    ),
    "start beside the road": (
        ["--set", "scene.vehicles.leader.s=99999"],
        "s=99999.0 is not on road 1: 0 to 3200.0 is allowed",
    ),
    "zero-delay loop": (
        ["--set", "participants.world.inputs.control/follower1.delayed=false"],
        "zero-delay loop: ",
    ),
    "rate zero": (
        ["--rate", "0"],
        "--rate: found '0'; allowed is a number from 0.0001 to below 1e6, or max",
    ),
    "rate a word": (
        ["--rate", "fast"],
        "--rate: found 'fast'; allowed is a number from 0.0001 to below 1e6, or max",
    ),
    "setting without value": (
        ["--set", "novalue"],
        "--set novalue: allowed is key=value",
    ),
    "setting of an unknown key": (
        ["--set", "scene.nosuch.deep=1"],
        "--set scene.nosuch.deep=1: no 'nosuch' there; found map, weather, vehicles",
    ),
    "setting that is not YAML": (["--set", "seed=[1"], "--set seed=[1: not readable: "),
    "setting of the wrong type": (
        ["--set", "seed=abc"],
        "seed: found 'abc'; allowed is an integer",
    ),
    "port out of range": (
        ["--set", "simulator.port=70000"],
        "simulator.port: found 70000; allowed is a",
    ),
    "host unknown": (
        ["--set", "simulator.host=nosuch.invalid"],
        "simulator: port 0 on nosuch.invalid cannot",
    ),
    "markers without processes": (["--shape", "inproc", "--visualise"], "shape inproc runs"),
    "deadlines without a pace": (["--hard"], "--hard: a run as fast as possible has no deadlines"),
}


def run(*arguments: object) -> str:
    """The one line of a ``cosim run`` that fails."""
    result = CliRunner().invoke(app, ["run", *map(str, arguments)])
    assert result.exit_code == 1, (result.output, result.exception)
    assert isinstance(result.exception, SystemExit)
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("cosim: ")
    assert result.stdout == ""
    return lines[0].removeprefix("cosim: ")


LAW = """
class MyLaw:
    def __init__(self, kp=0.4):
        self.kp = kp

    def acceleration(self, m):
        return self.kp * m.gap_error
"""
_GIVEN = "participants.cacc1.parameters.law_parameters"
_C_LAW = str(share_file("config/laws/ploeg_cacc.c"))


@pytest.mark.parametrize(
    ("law", "given", "told"),
    [
        ("law.py:MyLaw", "={kpp: 0.5}", "'kpp'); it takes kp"),
        ("law.py:MyLaw", "={kp: abc}", f"{_GIVEN}.kp: found 'abc'; allowed is a number"),
        ("rajamani_acc", "={kp: 0.5}", f"{_GIVEN}.kp: unknown key; allowed are lam"),
        (_C_LAW, "={kpp: 0.5}", f"{_GIVEN}.kpp: unknown key"),
        (_C_LAW, "={parameters: {kpp: 0.5}}", "parameters.kpp: there is no such parameter"),
        ("law.py", "={kp: 0.5}", "makes its law itself; parameters are allowed for"),
    ],
)
@pytest.mark.parametrize("named_by", ["--controllers", "law"])
def test_wrong_parameters_of_a_law_however_it_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    law: str,
    given: str,
    told: str,
    named_by: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "law.py").write_text(LAW)
    by_key = ["--set", f"participants.cacc1.parameters.law={tmp_path / law}"]
    if law == "rajamani_acc":
        by_key = ["--set", f"participants.cacc1.parameters.law={law}"]
    named = by_key if named_by == "law" else [named_by, law]
    assert told in run(PLATOON, "--out", tmp_path / "out", *named, "--set", _GIVEN + given)


def test_parameters_of_the_law_that_controllers_names(tmp_path: Path) -> None:
    """Those that the command gives are its own, those of the file are of the file's law."""
    (tmp_path / "law.py").write_text(LAW)
    request = RunRequest(PLATOON, controllers=f"{tmp_path}/law.py:MyLaw", set=(f"{_GIVEN}.kp=0.5",))
    participants = adjusted_scenario(request).participants
    assert participants["cacc1"].parameters["law_parameters"] == {"kp": 0.5}
    assert "law_parameters" not in participants["cacc2"].parameters


@pytest.fixture(autouse=True)
def clean(nothing_left: None, ros_domain: int) -> None:
    """No run starts here; should one start all the same, it does no harm."""


@pytest.mark.parametrize("name", WRONG)
def test_wrong_options(tmp_path: Path, name: str) -> None:
    options, told = WRONG[name]
    assert told in run(PLATOON, "--out", tmp_path / "out", *options)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: [unclosed\nx: 1", "not readable: "),
        ("- 1\n- 2\n", "found list, not a mapping"),
        ("", "found nothing, not a mapping"),
        ("name: platoon\n", "duration: missing"),
        ("name: platoon\nduration: 1s\nparticipants: {}\nsede: 3\n", "sede: unknown key"),
    ],
)
def test_broken_scenario_file(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text(text)
    error = run(path, "--out", tmp_path / "out")
    assert str(path) in error
    assert told in error


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("plato", ["config/platoon.yaml", "config/library/platoon20.yaml"]),
        ("brakin.yaml", ["config/library/braking.yaml"]),
        ("mien.yaml", ["mine.yaml"]),
        ("xyz", []),
    ],
)
def test_missing_scenario_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, meant: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").touch()
    told = run(given)
    assert told.startswith(f"scenario {given}: there is no such file; ")
    assert told.endswith("cosim new --list shows the scenario library")
    assert ("did you mean" in told) == bool(meant)
    for file in meant:
        assert file in told


@pytest.mark.parametrize("command", [["check", "--untrusted"], ["check"], ["run"]])
@pytest.mark.parametrize(
    ("setting", "told"),
    [
        (
            "participants.v2v.model=ros2_cosim.cli.main:main",
            "which is not a model; allowed are classes",
        ),
        (
            "participants.v2v.model=ros2_cosim.cli.main:app",
            "which is not a model; allowed are classes",
        ),
        (
            "participants.cacc1.parameters.law=ros2_cosim.core.run.bringup:RunRequest",
            "has no method acceleration",
        ),
    ],
)
def test_what_is_no_model_and_no_law_of_this_package_is_not_called(
    command: list[str], setting: str, told: str
) -> None:
    clear = ["--set", "participants.cacc1.parameters.law_parameters={}"]
    result = CliRunner().invoke(app, [*command, str(PLATOON), "--set", setting, *clear])
    assert result.exit_code == 1
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert setting.split("=")[1] in line
    assert told in line


@pytest.mark.parametrize("place", ["file", "file/below", "used"])
def test_output_directory_that_cannot_be_used(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "thesis.tex").write_text("mine")
    error = run(PLATOON, "--out", tmp_path / place)
    assert error.startswith(f"output directory {tmp_path / place}: ")
    assert (tmp_path / "file").read_text() == "mine"
    assert (tmp_path / "used" / "thesis.tex").read_text() == "mine"


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("simulator.port", "simulator"),
        ("participants.world.parameters.dcp.port", "participants.world.parameters.dcp"),
    ],
)
def test_port_in_use(tmp_path: Path, key: str, told: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        error = run(PLATOON, "--out", tmp_path / "out", "--set", f"{key}={port}")
    assert error.startswith(
        f"{told}: port {port} on 127.0.0.1 cannot be used: Address already in use"
    )


def test_results_survive_a_mistake(tmp_path: Path) -> None:
    output = tmp_path / "out"
    short = (PLATOON, "--shape", "inproc", "--out", output, "--set", "duration=1s")
    assert CliRunner().invoke(app, ["run", *map(str, short)]).exit_code == 3
    before = (output / "summary.json").read_bytes()
    run(*short, "--set", "scene.map=nosuch.xodr")
    assert (output / "summary.json").read_bytes() == before


def test_map_is_not_opendrive(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.xodr"
    wrong.write_text(HIGHWAY.read_text()[:1000])
    error = run(PLATOON, "--out", tmp_path / "out", "--set", f"scene.map={wrong}")
    assert error.startswith(f"scene.map: {wrong}: not well-formed XML: ")
