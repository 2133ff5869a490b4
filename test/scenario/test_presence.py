# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Keys of late joiners and leavers, and scenarios without their optional participants."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from support.held_runs import TYPE, participant, scenario
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.core.run.bringup import checked
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.request import RunOptions, RunRequest
from ros2_cosim.core.scenario.leave_out import leave_out
from ros2_cosim.core.scenario.schema import Scenario, make_scenario, save_scenario
from ros2_cosim.core.scenario.system import build_graph
from ros2_cosim.ros.bringup.plan import make_plan


def data(**settings: object) -> dict[str, Any]:
    """``extra`` between a source and two readers; one of them has nothing else."""
    return scenario(
        "optional",
        "200ms",
        source=participant(period="10ms"),
        extra=participant({"in": "source.out"}, activation="in", **settings),
        only=participant({"in": "extra.out"}, activation="in"),
        behind=participant({"in": "only.out"}, period="50ms"),
        both=participant({"a": ["extra.out", "source.out"]}, activation="a"),
    )


def made(**settings: object) -> Scenario:
    return make_scenario(data(**settings), "test")


def test_keys_become_the_kernels() -> None:
    specs = build_graph(made(enter="30ms", leave="90ms", required=False)).participants
    extra = specs["extra"]
    assert (extra.enter_ns, extra.leave_ns) == (30_000_000, 90_000_000)
    assert not extra.required
    assert not extra.free_entry
    source = specs["source"]
    assert (source.enter_ns, source.leave_ns, source.required) == (0, FOREVER, True)


@pytest.mark.parametrize(
    ("settings", "free", "required"),
    [
        ({}, False, True),
        ({"mode": "autonomous"}, True, False),
        ({"mode": "autonomous", "enter": 0}, False, False),
        ({"mode": "autonomous", "required": True}, True, True),
        ({"required": False}, False, False),
    ],
)
def test_only_an_autonomous_one_without_entry_comes_freely(
    settings: dict[str, object], free: bool, required: bool
) -> None:
    extra = build_graph(made(**settings)).participants["extra"]
    assert (extra.free_entry, extra.required) == (free, required)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"enter": "-1s"}, "participants.extra.enter: found '-1s'; allowed is 0s or more"),
        ({"leave": 0}, "participants.extra.leave: found 0; allowed is 1ns or more"),
        ({"mode": "free"}, "participants.extra.mode: found 'free'; allowed is 'coordinated' or"),
        ({"enter": "2s", "leave": "1s"}, "'extra': leave is 1s; it must be after enter"),
    ],
)
def test_wrong_keys_are_named(settings: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told.replace("'", "['\"]")):
        build_graph(made(**settings))


def test_a_process_that_may_end_or_fail_is_marked(tmp_path: Path) -> None:
    plan = make_plan(made(leave="1s", required=False), RunOptions(out=tmp_path))
    part = {p.name: (p.participant, p.required, p.leaves) for p in plan}
    assert part["extra"] == ("extra", False, True)
    assert part["only"] == ("only", True, False)
    assert part["recorder"] == part["clock"] == ("", True, False)


def test_without_an_optional_participant_its_readers_go_on(tmp_path: Path) -> None:
    left = leave_out(made(required=False), ["extra"])
    assert left.participants["only"].inputs["in"].unfed
    assert left.participants["both"].inputs["a"].source == ("source.out",)
    summary = run_inproc(left, tmp_path, record=False)
    counts = {p.name: p.activations for p in summary.participants}
    assert counts == {"source": 20, "only": 0, "behind": 4, "both": 20}
    assert summary.repeatable
    # What was left out stays so in the file from which the run can be repeated.
    save_scenario(left, tmp_path / "again.json")
    again = make_scenario(left.model_dump(by_alias=True), "again")
    assert run_inproc(again, tmp_path, record=False).trace_sha256 == summary.trace_sha256


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "ghost",
            "--without ghost: the scenario 'optional' has no such participant; it has source",
        ),
        ("source", "--without source: the scenario 'optional' requires it; only participants"),
    ],
)
def test_a_participant_that_cannot_be_left_out_is_named(name: str, told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        leave_out(made(required=False), [name])
    assert str(caught.value).startswith(told)


def test_leaving_none_out_changes_nothing() -> None:
    whole = made(required=False)
    assert leave_out(whole, []) is whole


def test_an_input_is_not_unfed_by_mistake() -> None:
    wrong = data()
    wrong["participants"]["only"]["inputs"] = {"in": {"from": []}}
    with pytest.raises(ConfigurationError, match="nothing writes to input port 'in'"):
        build_graph(make_scenario(wrong, "test"))


def test_the_command_line_leaves_out(tmp_path: Path) -> None:
    file = tmp_path / "scenario.json"
    save_scenario(made(required=False), file)
    arguments = ["run", str(file), "--shape", "inproc", "--without", "extra", "--no-bag"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    left = leave_out(made(required=False), ["extra"])
    expected = run_inproc(left, tmp_path, record=False).trace_sha256
    assert f"trace {expected}" in result.stdout


def test_the_presence_is_in_the_summary(tmp_path: Path) -> None:
    coming = deepcopy(data(enter="30ms", leave="90ms"))
    coming["participants"]["behind"]["enter"] = "1s"
    summary = run_inproc(make_scenario(coming, "test"), tmp_path, record=False)
    found = {p.name: (p.entered_s, p.left_s) for p in summary.participants}
    assert found["source"] == (0.0, None)
    assert found["extra"] == (0.03, 0.09)
    assert found["behind"] == (None, None)


def test_a_process_started_by_hand_is_not_in_the_plan(tmp_path: Path) -> None:
    names = [p.name for p in make_plan(made(), RunOptions(out=tmp_path, by_hand=("extra",)))]
    assert names == ["source", "only", "behind", "both", "recorder", "clock"]
    with pytest.raises(ConfigurationError, match="--by-hand ghost: the scenario 'optional' has no"):
        make_plan(made(), RunOptions(out=tmp_path, by_hand=("ghost",)))
    for shape in ("composed", "inproc"):
        request = RunRequest(made(), shape=shape, out=tmp_path, by_hand=("extra",))
        with pytest.raises(ConfigurationError, match=f"in shape {shape} participants have no proc"):
            checked(request)


def test_check_tells_entries_and_leaves(tmp_path: Path) -> None:
    file = tmp_path / "scenario.json"
    save_scenario(made(enter="30ms", leave="90ms", required=False), file)
    told = CliRunner().invoke(app, ["check", str(file)]).stdout
    assert "rank 1  extra; enters at 30ms; leaves at 90ms; not required\n" in told
    assert "rank 0  source\n" in told
    save_scenario(made(mode="autonomous"), file)
    told = CliRunner().invoke(app, ["check", str(file)]).stdout
    assert "rank 1  extra; enters when it is ready; not required\n" in told


def outside(**settings: object) -> Scenario:
    command = {"unsynchronised": "/operator/command", "type": TYPE, **settings}
    return make_scenario(
        scenario(
            "outside",
            "100ms",
            reader=participant({"command": command}, period="10ms"),
            behind=participant({"in": "reader.command/received"}, activation="in"),
        ),
        "test",
    )


def test_what_an_unsynchronised_input_reads_is_a_port_of_its_own(tmp_path: Path) -> None:
    made = outside()
    (received,) = [p for p in build_graph(made).participants["reader"].outputs if "/" in p.name]
    assert (received.name, received.schedule) == ("command/received", "sparse")
    assert made.outputs_of("reader")[received.name].topic == "/cosim/received/reader/command"
    summary = run_inproc(made, tmp_path)
    assert summary.repeatable
    assert {p.name: p.activations for p in summary.participants} == {"reader": 10, "behind": 0}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"type": None}, "an unsynchronised input needs a 'type' and has no 'from'"),
        ({"from": ["reader.out"]}, "an unsynchronised input needs a 'type' and has no 'from'"),
        ({"unsynchronised": None}, "'from' is missing"),
        ({"unsynchronised": None, "from": ["reader.out"]}, "leave 'type' out"),
        ({"unsynchronised": "no topic"}, "unsynchronised: found 'no topic'"),
        ({"unsynchronised": "/behind/out"}, "/behind/out is written by behind.out"),
        ({"type": "no_msgs/msg/Such"}, "reader.outputs.command/received.type: "),
    ],
)
def test_a_wrong_unsynchronised_input_is_named(settings: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_graph(outside(**settings))
    assert told in str(caught.value)
