# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants that name a process: what the plan makes of it, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.control_scenarios import chain

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scenario.hosting import check_hosting
from ros2_cosim.core.scenario.schema import Scenario, load_scenario, make_scenario, save_scenario
from ros2_cosim.ros.bringup.plan import Process, make_plan
from ros2_cosim.ros.bringup.processes import commands_by_hand
from ros2_cosim.ros.bringup.watch import RunWatch

PLATOON = Path(__file__).parents[2] / "config" / "platoon.yaml"
HALVES = {"plant": "left", "sensor": "right", "controller": "left", "observer": "right"}


def made(processes: dict[str, str], **settings: Any) -> Scenario:
    """The chain with some in processes, and more keys for one participant each."""
    data = chain()
    for name, process in processes.items():
        data["participants"][name]["process"] = process
    for name, more in settings.items():
        data["participants"][name].update(more)
    return make_scenario(data, "chain")


def planned(scenario: Scenario, **options: Any) -> dict[str, Process]:
    """The processes of its plan by name."""
    return {p.name: p for p in make_plan(scenario, RunOptions(out=Path("out"), **options))}


def platoon(name: str, process: str, **settings: Any) -> Scenario:
    """The platoon with one participant in a shared process."""
    data = load_scenario(PLATOON).model_dump(by_alias=True)
    data["participants"][name].update(process=process, **settings)
    return make_scenario(data, "platoon")


def test_those_with_one_process_are_started_as_one() -> None:
    plan = planned(made({**HALVES, "observer": None}))
    assert list(plan) == ["left", "right", "observer", "recorder", "clock"]
    left = plan["left"]
    assert (left.executable, left.hosts) == ("participants", ("plant", "controller"))
    assert left.parameters == {"scenario_file": "out/scenario.json", "process": "left"}
    assert plan["observer"].executable == "participant"


def test_what_paced_runs_need_reaches_the_process() -> None:
    left = planned(made(HALVES), rate=2.0, hard=True, arrivals=Path("a.json"))["left"]
    assert {k: left.parameters[k] for k in ("rate", "hard", "arrivals")} == {
        "rate": 2.0,
        "hard": True,
        "arrivals": "a.json",
    }


def test_other_shapes_take_no_notice() -> None:
    assert list(planned(made(HALVES), shape="composed")) == ["composed"]
    # Participants that could not share one do not matter either.
    planned(platoon("world", "left"), shape="composed")


def test_the_key_stands_in_the_saved_scenario(tmp_path: Path) -> None:
    save_scenario(made(HALVES), tmp_path / "scenario.json")
    again = load_scenario(tmp_path / "scenario.json")
    assert {name: p.process for name, p in again.participants.items()} == HALVES


@pytest.mark.parametrize(
    ("plant", "controller", "part"),
    [
        ({}, {}, (True, False)),
        ({"required": False}, {}, (True, False)),
        ({"required": False}, {"required": False}, (False, True)),
        ({"leave": "1s"}, {}, (True, False)),
        ({"leave": "1s"}, {"leave": "2s"}, (True, True)),
        ({"leave": "1s"}, {"required": False}, (True, True)),
    ],
)
def test_a_process_is_required_for_its_required_participants(
    plant: dict[str, Any], controller: dict[str, Any], part: tuple[bool, bool]
) -> None:
    left = planned(made(HALVES, plant=plant, controller=controller))["left"]
    assert (left.required, left.leaves) == part


def test_when_it_dies_all_its_participants_are_lost() -> None:
    spare = {"required": False}
    watch = RunWatch(list(planned(made(HALVES, plant=spare, controller=spare)).values()))
    watch.ended("left", -9)
    how = "process 'left' (plant, controller) was killed by SIGKILL"
    assert watch.early_leaves() == [("plant", how), ("controller", how)]
    assert watch.failure() is None
    watch.ended("right", -9)
    assert watch.failure() == "process 'right' (sensor, observer) was killed by SIGKILL"


def test_what_a_participant_of_it_says_of_its_failure_is_the_reason() -> None:
    watch = RunWatch(list(planned(made(HALVES)).values()))
    watch.printed("left", "and plant: also")
    watch.told("left", "controller: fell over")
    watch.told("left", "plant: also")
    watch.ended("left", 1)
    assert watch.failure() == "controller: fell over"


def test_a_process_is_started_by_hand_as_a_whole() -> None:
    scenario = made({**HALVES, "observer": None})
    assert list(planned(scenario, by_hand=("left", "observer"))) == ["right", "recorder", "clock"]
    ((name, command),) = commands_by_hand(scenario, RunOptions(out=Path("out"), by_hand=("left",)))
    assert name == "left"
    assert "ros2_cosim.ros.programs.participants" in command
    with pytest.raises(ConfigurationError) as caught:
        planned(scenario, by_hand=("plant",))
    assert str(caught.value) == (
        "--by-hand plant: it shares the process 'left' with others (plant, controller); "
        "allowed is --by-hand left"
    )
    with pytest.raises(ConfigurationError, match="such participant; it has plant, .*, left, right"):
        planned(scenario, by_hand=("middle",))


@pytest.mark.parametrize("name", ["sensor", "clock", "recorder", "sensor_slave", "composed"])
def test_names_that_are_taken_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        made({"plant": name})
    assert str(caught.value).startswith(
        f"scenario chain: participants.plant.process: found '{name}'; another process or node"
    )


def test_a_name_has_to_be_one() -> None:
    with pytest.raises(ConfigurationError, match="plant.process: found 'not/one'"):
        made({"plant": "not/one"})


SLAVES = {"slaves": {"s": {"fmu": "s.fmu"}}}
ECHO = {"module": "echo", "node_name": "echo"}


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        (platoon("world", "left"), "parameter 'dcp', which puts its plant"),
        (platoon("cacc1", "left", node="ros2_cosim/participant"), "node 'ros2_cosim/participant'"),
        (platoon("v2v", "left", model="foreign_node", parameters=ECHO), "a foreign node"),
        (
            platoon("v2v", "left", model="dcp_master", parameters=SLAVES),
            "model 'dcp_master', which has DCP slaves",
        ),
    ],
)
def test_what_needs_a_process_of_its_own_is_refused(scenario: Scenario, reason: str) -> None:
    name = next(n for n, p in scenario.participants.items() if p.process)
    with pytest.raises(ConfigurationError) as caught:
        check_hosting(declare(scenario, name))
    text = str(caught.value)
    assert text.startswith(f"participants.{name}.process: found 'left' together with {reason}")
    assert "such a participant needs its own process" in text


def test_the_rest_of_the_platoon_can_share_one() -> None:
    data = load_scenario(PLATOON).model_dump(by_alias=True)
    for name in data["participants"].keys() - {"world"}:
        data["participants"][name]["process"] = "software"
    plan = planned(make_scenario(data, "platoon"))
    assert list(plan) == ["simulator", "world_slave", "world", "software", "recorder", "clock"]
