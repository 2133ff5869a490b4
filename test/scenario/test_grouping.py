# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The plan of the processes: a function of the scenario, of declared costs and of the cores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.grouped_models import grouped_chain

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scenario.grouping import cores_for, grouped
from ros2_cosim.core.scenario.hosting import needs_thread, processes_of, sharing_thread
from ros2_cosim.core.scenario.schema import Scenario, load_scenario, make_scenario, save_scenario

PLATOON = Path(__file__).parents[2] / "config" / "platoon.yaml"
LONG = "support.grouped_models:LongGrouped"
ALL = ["plant", "sensor", "controller", "observer"]


def made(**settings: Any) -> Scenario:
    """The chain, with more keys for single participants."""
    data = grouped_chain()
    for name, more in settings.items():
        data["participants"][name].update(more)
    return make_scenario(data, "chain")


def planned(scenario: Scenario, cores: int = 2, **options: Any) -> dict[str, list[str]]:
    return processes_of(grouped(scenario, cores, **options))


def test_all_that_compute_shortly_share_one_whatever_the_cores() -> None:
    assert planned(made(), 1) == planned(made(), 64) == {"group1": ALL}


def test_without_grouping_nothing_changes() -> None:
    assert grouped(made(), cores_for("own")) == made()


def test_the_platoon_has_one_group_beside_its_world() -> None:
    assert planned(load_scenario(PLATOON)) == {
        "world": ["world"],
        "group1": ["sensor1", "sensor2", "v2v", "cacc1", "cacc2", "referee"],
    }


@pytest.mark.parametrize(
    ("cores", "processes"),
    [
        (1, {"group1": ALL}),
        (2, {"plant": ["plant"], "group1": ["sensor", "controller", "observer"]}),
    ],
)
def test_long_activations_are_spread_over_the_cores(
    cores: int, processes: dict[str, list[str]]
) -> None:
    # The plant has twice the load of the controller, which goes to the short ones.
    scenario = made(plant={"model": LONG}, controller={"model": LONG})
    assert planned(scenario, cores) == processes


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"required": False}, "required: false"),
        ({"enter": "1s"}, "an own 'enter'"),
        ({"leave": "1s"}, "an own 'leave'"),
        ({"mode": "autonomous", "required": True}, "mode: autonomous"),
        ({"overrun": {"deadline": "5ms"}}, "'coupling' or 'overrun'"),
        ({"model": "support.control_scenarios:Counter"}, "a model without a declared cost"),
        ({"node": "ros2_cosim/participant"}, "node 'ros2_cosim/participant'"),
    ],
)
def test_what_is_never_grouped(settings: dict[str, Any], reason: str) -> None:
    scenario = made(plant=settings)
    assert needs_thread(declare(scenario, "plant")) == reason
    assert planned(scenario) == {"plant": ["plant"], "group1": ALL[1:]}
    # Told to share a process it has a thread of its own there, if it can be there at all.
    assert sharing_thread(scenario, ALL) == frozenset(ALL[1:])


def test_what_is_started_by_hand_stays_alone() -> None:
    assert planned(made(), by_hand=["sensor"]) == {
        "sensor": ["sensor"],
        "group1": ["plant", "controller", "observer"],
    }


def test_what_the_scenario_says_stays() -> None:
    scenario = made(
        plant={"process": "own"}, sensor={"process": "group1"}, observer={"process": "group1"}
    )
    assert planned(scenario) == {
        "plant": ["plant"],
        "group1": ["sensor", "observer"],
        "controller": ["controller"],
    }
    assert planned(made(plant={"process": "group1"})) == {
        "group1": ["plant"],
        "group2": ["sensor", "controller", "observer"],
    }


def test_the_resolved_scenario_has_the_plan_for_other_machines(tmp_path: Path) -> None:
    scenario = made(plant={"model": LONG}, controller={"model": LONG})
    here = grouped(scenario, 1)
    save_scenario(here, tmp_path / "scenario.json")
    assert planned(load_scenario(tmp_path / "scenario.json"), 8) == processes_of(here)


@pytest.mark.parametrize(("text", "cores"), [("own", 0), ("1", 1), ("16", 16)])
def test_the_option(text: str, cores: int) -> None:
    assert cores_for(text) == cores
    assert cores_for("auto") >= 1


@pytest.mark.parametrize("text", ["", "0", "-1", "two", "1.5", "²"])
def test_what_is_no_option(text: str) -> None:
    with pytest.raises(ConfigurationError, match=f"processes: found '{text}'; allowed are auto, "):
        cores_for(text)
