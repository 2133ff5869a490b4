# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim check --untrusted``: a stranger's scenario is read as data, and its code is named."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.loading import data_only
from ros2_cosim.driving.controllers.registry import make_law
from ros2_cosim.driving.controllers.script import law_of_script

PLATOON = Path(__file__).parents[2] / "config" / "platoon.yaml"
#: Leaves a mark when it is imported or run.
CODE = """
from pathlib import Path
(Path(__file__).parent / "ran").touch()
from ros2_cosim.dcp.slave.slave_model import SlaveModel
class Thing(SlaveModel):
    def acceleration(self, measurement):
        return 0.0
    def activate(self, step):
        return {}
"""


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with code, from which modules are imported."""
    (tmp_path / "strange.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("strange", None)


def faults(path: Path, *arguments: str) -> list[str]:
    result = CliRunner().invoke(app, ["check", str(path), "--json", *arguments])
    answer = json.loads(result.stdout)
    assert answer["good"] == (result.exit_code == 0)
    assert isinstance(answer["faults"], list)
    return answer["faults"]


def scenario(directory: Path, **participant: Any) -> Path:
    path = directory / "scenario.yaml"
    participant.setdefault("period", "10ms")
    path.write_text(
        yaml.safe_dump({"name": "s", "duration": "1s", "participants": {"p": participant}})
    )
    return path


@pytest.mark.parametrize("file", ["platoon", "car_following"])
@pytest.mark.parametrize("shape", ["ros", "inproc"])
def test_scenarios_of_this_project_contain_no_code(file: str, shape: str) -> None:
    assert faults(PLATOON.with_stem(file), "--untrusted", "--shape", shape) == []


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ("participants.sensor1.model=strange:Thing", "participants.sensor1.model"),
        ("participants.sensor1.model=random:Random", "participants.sensor1.model"),
        ("participants.cacc1.parameters.law={path}/strange.py:Thing", "participants.cacc1"),
        ("participants.cacc1.parameters.law=strange:Thing", "participants.cacc1"),
        ("participants.cacc1.parameters.law={path}/strange.py", "participants.cacc1"),
        ("participants.cacc1.node={path}/strange.py", "participants.cacc1.node"),
        (
            "participants.cacc1.substitute={{model: 'strange:Thing', from: 1s}}",
            "participants.cacc1.substitute",
        ),
        ("simulator.kind=strange:Thing", "simulator.kind"),
    ],
)
@pytest.mark.parametrize("shape", ["ros", "inproc"])
def test_code_that_a_scenario_names_is_a_fault_and_does_not_run(
    stranger: Path, change: str, place: str, shape: str
) -> None:
    change = change.format(path=stranger)
    found = faults(PLATOON, "--untrusted", "--shape", shape, "--set", change)
    assert any(fault.startswith(place) for fault in found), found
    assert any("allowed is code of ros2_cosim only" in f or "standard library" in f for f in found)
    assert not (stranger / "ran").exists()
    assert "strange" not in sys.modules


@pytest.mark.parametrize(
    "slave",
    [
        {"model": "strange:Thing"},
        {"model": "strange.py:Thing", "description": "strange.dcpx", "process": True},
        {"fmu": "strange.fmu"},
        {"command": ["touch", "ran"], "description": "strange.dcpx"},
    ],
)
def test_slaves_that_are_code_are_a_fault(stranger: Path, slave: dict[str, Any]) -> None:
    master = {"model": "dcp_master", "parameters": {"slaves": {"a": slave}}}
    (fault,) = faults(scenario(stranger, **master), "--untrusted")
    assert fault.startswith("participants.p.parameters.slaves.a: found '")
    assert "is code; allowed is code of ros2_cosim only" in fault
    assert not (stranger / "ran").exists()


def test_a_foreign_node_is_a_fault(stranger: Path) -> None:
    foreign = {"model": "foreign_node", "parameters": {"script": "strange.py"}}
    found = faults(scenario(stranger, **foreign), "--untrusted")
    assert any(f.startswith("participants.p: the foreign node is code") for f in found)


def test_without_the_option_modules_are_imported(stranger: Path) -> None:
    faults(PLATOON, "--set", "participants.sensor1.model=strange:Thing")
    assert (stranger / "ran").exists()


def test_nothing_that_names_a_law_loads_it(stranger: Path) -> None:
    with data_only():
        for spec in ("strange:Thing", f"{stranger}/strange.py:Thing", f"{stranger}/strange.py"):
            with pytest.raises(ConfigurationError, match="allowed is code of ros2_cosim only"):
                make_law(spec)
        with pytest.raises(ConfigurationError, match="allowed is code of ros2_cosim only"):
            law_of_script(stranger / "strange.py")
        assert make_law("ploeg_cacc") is not None
    assert not (stranger / "ran").exists()
