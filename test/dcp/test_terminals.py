# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Terminals of FMUs: one connection wires their variables, in both directions."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from support.fmu_builder import build_fmu

from ros2_cosim.core.documents.fmi3 import TERMINALS_FILE
from ros2_cosim.dcp.fmi.terminals import read_terminals
from ros2_cosim.dcp.master.cosimulation import load_cosimulation, run_cosimulation
from ros2_cosim.dcp.master.terminal_wires import terminal_wires
from ros2_cosim.dcp.slave.fmu import describe_fmu
from ros2_cosim.dcp.standard.errors import WiringError

TERMINALS = """<fmiTerminalsAndIcons fmiVersion="3.0"><Terminals>
<Terminal name="gate" matchingRule="{rule}">
<TerminalMemberVariable variableKind="signal" variableName="{sent}" memberName="m"/>
<TerminalMemberVariable variableKind="signal" variableName="{taken}" memberName="{back}"/>
<Terminal name="inner" matchingRule="bus">
<TerminalMemberVariable variableKind="signal" variableName="{sent}" memberName="m"/></Terminal>
</Terminal></Terminals></fmiTerminalsAndIcons>"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_fmu("trig2", tmp_path_factory.mktemp("fmu"))


def with_terminals(fmu: Path, target: Path, **words: str) -> None:
    """A copy with a file of terminals."""
    with zipfile.ZipFile(fmu) as source, zipfile.ZipFile(target, "w") as copy:
        for name in source.namelist():
            copy.writestr(name, source.read(name))
        copy.writestr(TERMINALS_FILE, TERMINALS.format(**{"rule": "plug", "back": "n"} | words))


def run(directory: Path, connections: str) -> list[str]:
    path = directory / "pair.yaml"
    path.write_text(
        "step: 1/8\nsteps: 3\nslaves: {a: {fmu: a.fmu}, b: {fmu: b.fmu}}\n"
        f"connections: [{connections}]\ninputs: {{a.count: 5, b.u: 1.0}}\n"
        "outputs: [a.y, b.y, a.next, b.next]\n"
    )
    written = io.StringIO()
    run_cosimulation(load_cosimulation(path), written)
    return written.getvalue().splitlines()


def wires(directory: Path, name: str) -> list[tuple[str, str]]:
    """What ``a.NAME -> b.NAME`` stands for."""
    fmus = {slave: directory / f"{slave}.fmu" for slave in "ab"}
    described = {slave: describe_fmu(fmu) for slave, fmu in fmus.items()}
    return list(terminal_wires(f"a.{name}", f"b.{name}", described, fmus))


@pytest.mark.parametrize("rule", ["plug", "bus", "sequence"])
def test_two_terminals_are_wired_in_both_directions(rule: str, built: Path, tmp_path: Path) -> None:
    with_terminals(built, tmp_path / "a.fmu", rule=rule, sent="next", taken="u")
    with_terminals(built, tmp_path / "b.fmu", rule=rule, sent="count", taken="y")
    assert wires(tmp_path, "gate") == [("a.next", "b.count"), ("b.y", "a.u")]
    assert wires(tmp_path, "gate.inner") == [("a.next", "b.count")]
    assert wires(tmp_path, "u") == [("a.u", "b.u")]  # a variable is itself
    assert list(read_terminals(tmp_path / "a.fmu")) == ["gate", "gate.inner"]


def test_a_connection_of_terminals_is_one_of_their_variables(built: Path, tmp_path: Path) -> None:
    with_terminals(built, tmp_path / "a.fmu", sent="next", taken="u")
    with_terminals(built, tmp_path / "b.fmu", sent="count", taken="y")
    assert run(tmp_path, "a.gate -> b.gate") == run(tmp_path, "a.next -> b.count, b.y -> a.u")


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ({"back": "k"}, {}, "terminal 'gate' has no member k; 'gate' is a plug and needs all"),
        ({"rule": "mine"}, {}, "found matching rules 'mine' and 'plug'"),
        ({"sent": "count"}, {}, "found 'a.count' and 'b.count'; allowed is an output with"),
        ({"sent": "gone"}, {}, "found 'a.gone' and 'b.count'; allowed is an output with"),
    ],
)
def test_terminals_that_do_not_match_are_refused(
    one: dict[str, str], other: dict[str, str], message: str, built: Path, tmp_path: Path
) -> None:
    with_terminals(built, tmp_path / "a.fmu", **{"sent": "next", "taken": "u"} | one)
    with_terminals(built, tmp_path / "b.fmu", **{"sent": "count", "taken": "y"} | other)
    with pytest.raises(WiringError, match=message):
        wires(tmp_path, "gate")
