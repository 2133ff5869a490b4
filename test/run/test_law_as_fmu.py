# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""One platoon, its CACC as built-in law, C source, C FMU, Python FMU and node: the same trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from fmpy import read_model_description
from fmpy.validation import validate_fmu
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.request import RunRequest, adjusted_scenario
from ros2_cosim.driving.controllers.law_as_fmu import build_law

PLATOON = share_file("config/platoon.yaml")
C_SOURCE = share_file("config/laws/ploeg_cacc.c")
NODE = """\
from ros2_cosim.driving.controllers import make_law
from ros2_cosim.ros.programs.cacc_controller import run_controller

run_controller(make_law("ploeg_cacc"))
"""
#: Braking is part of it, and a sensor that is blind for 2 s: after that all three stand.
SHORT = (
    "duration=20s",
    "faults={blind: {port: sensor2.objects, kind: replace, field: objects, value: [],"
    " from: 9s, until: 11s}}",
)


def platoon(out: Path, controllers: str) -> Summary:
    """A run in which one line is another one: the law of the controllers."""
    request = RunRequest(PLATOON, set=SHORT, controllers=controllers)
    return run_inproc(adjusted_scenario(request), out, record=False)


@pytest.fixture(scope="module")
def built_in(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    return platoon(tmp_path_factory.mktemp("law"), "ploeg_cacc")


@pytest.mark.parametrize(
    "form", ["C source", "C FMU 2.0", "C FMU 3.0", "Python FMU 2.0", "Python FMU 3.0", "node"]
)
def test_the_platoon_drives_the_same(form: str, built_in: Summary, tmp_path: Path) -> None:
    if form == "C source":
        law = C_SOURCE
    elif form.startswith("C FMU"):
        law = build_law(str(C_SOURCE), tmp_path / "c.fmu", fmi=form[-3:])
    elif form.startswith("Python FMU"):
        law = build_law("ploeg_cacc", tmp_path / "python.fmu", fmi=form[-3:])
    else:
        law = tmp_path / "node.py"
        law.write_text(NODE)
    found = platoon(tmp_path / "out", str(law))
    assert found.trace_sha256 == built_in.trace_sha256  # tolerance: none, to the bit
    # Supervision is that of the controller, whatever the law.
    modes = [summary.figures["cacc2"]["modes"] for summary in (found, built_in) if summary.figures]
    assert modes[0] == modes[1] and modes[0]["v2v"] > 0.05
    foreign = form != "node"
    assert found.repeatable_scope == ("same_machine" if foreign else "everywhere")


def test_another_law_drives_otherwise(built_in: Summary, tmp_path: Path) -> None:
    fmu = build_law(str(C_SOURCE), tmp_path / "c.fmu", {"kp": "0.3", "kd": "1.2"})
    assert platoon(tmp_path / "out", str(fmu)).trace_sha256 != built_in.trace_sha256


def test_the_command_builds_fmus_that_others_accept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "class MyLaw:\n    def __init__(self, gain=0.5): self.gain = gain\n"
        "    def acceleration(self, m): return self.gain * m.gap_error\n"
    )
    for law, name in ((str(C_SOURCE), "ploeg_cacc.fmu"), ("mine.py:MyLaw", "MyLaw.fmu")):
        for version in ("2.0", "3.0"):
            done = CliRunner().invoke(app, ["fmu", law, "--fmi", version])
            assert done.exit_code == 0 and done.stdout.strip() == name
            assert validate_fmu(name) == []
            assert read_model_description(name).fmiVersion == version
    done = CliRunner().invoke(app, ["fmu", str(C_SOURCE), "--fmi", "1.0"])
    assert (done.exit_code, "found 1.0; allowed are 2.0, 3.0" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("law", "settings", "message"),
    [
        ("ploeg", {}, r"found 'ploeg'; did you mean 'ploeg_cacc'\? allowed are cruise_control"),
        ("ploeg_cacc", {"kq": "1"}, r"ploeg_cacc'\.kq: unknown key"),
        ("ploeg_cacc", {"kp": "x"}, "kp: found 'x'; allowed is a number"),
        ("x.fmu", {}, "found 'x.fmu', which is an FMU already"),
    ],
)
def test_what_cannot_be_built_is_told(
    law: str, settings: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build_law(law, tmp_path / "law.fmu", settings)
