# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Participants on other hosts: what the plan makes of it, and what is refused."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.control_scenarios import chain
from support.grouped_models import grouped_chain

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.loading import data_only
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.grouping import grouped
from ros2_cosim.core.scenario.held_ports import hold_ports
from ros2_cosim.core.scenario.host_settings import HostSettings
from ros2_cosim.core.scenario.schema import Scenario, load_scenario, make_scenario
from ros2_cosim.ros.bringup.far_host import part_command
from ros2_cosim.ros.bringup.plan import Process, make_plan

PLATOON = Path(__file__).parents[2] / "config" / "platoon.yaml"
LAB = {"lab": {"address": "192.0.2.7"}}
TWO = {"lab": {"address": "192.0.2.7"}, "shed": {"address": "192.0.2.8"}}


def on_hosts(
    places: dict[str, str], hosts: dict[str, Any] = LAB, data: dict[str, Any] | None = None
) -> Scenario:
    """A scenario, the chain by default, with participants on hosts."""
    data = {**(data or chain()), "hosts": hosts}
    for name, host in places.items():
        data["participants"][name]["host"] = host
    return make_scenario(data, "test")


def platoon(*overrides: str) -> Scenario:
    """The platoon with a host for its world."""
    return load_scenario(PLATOON, ["hosts={lab: {address: 192.0.2.7}}", *overrides])


def planned(scenario: Scenario, **options: Any) -> dict[str, Process]:
    """The processes of its plan by name."""
    return {p.name: p for p in make_plan(scenario, RunOptions(out=Path("out"), **options))}


def test_what_is_on_a_host_is_one_process_here() -> None:
    plan = planned(on_hosts({"sensor": "lab", "controller": "lab"}))
    assert list(plan) == ["plant", "lab", "observer", "recorder", "clock"]
    lab = plan["lab"]
    assert (lab.executable, lab.arguments, lab.is_ros) == ("far_host", ("out", "lab"), False)
    assert lab.hosts == ("sensor", "controller")
    assert [process.name for process in lab.there] == ["sensor", "controller"]
    assert lab.required


def test_a_host_with_nothing_that_is_required_is_not() -> None:
    data = chain()
    data["participants"]["observer"]["required"] = False
    lab = planned(on_hosts({"observer": "lab"}, data=data))["lab"]
    assert not lab.required
    assert not lab.there[0].required


@pytest.mark.parametrize("shape", ["composed"])
def test_in_one_process_hosts_mean_nothing(shape: str) -> None:
    assert "lab" not in planned(on_hosts({"sensor": "lab"}), shape=shape)


def test_groups_are_made_on_each_host() -> None:
    scenario = on_hosts({"sensor": "lab", "controller": "lab"}, data=grouped_chain())
    found = {n: s.process for n, s in grouped(scenario, 2).participants.items()}
    assert found["sensor"] == found["controller"] is not None
    assert found["plant"] == found["observer"] is not None
    assert found["plant"] != found["sensor"]


def test_what_belongs_to_a_participant_is_on_its_host() -> None:
    plan = planned(platoon("participants.world.host=lab"))
    assert [p.name for p in plan["lab"].there] == ["simulator", "world_slave", "world"]


def test_a_slave_and_its_simulator_may_be_elsewhere() -> None:
    scenario = platoon(
        "hosts.lab.processes=[world_slave, simulator]",
        "participants.world.parameters.dcp.host=192.0.2.7",
        "participants.world.parameters.dcp.start=true",
    )
    plan = planned(scenario)
    assert [p.name for p in plan["lab"].there] == ["simulator", "world_slave"]
    assert plan["lab"].participants == ("world",)
    assert "world" in plan
    # The address is none of this machine: the port is drawn, and nothing is bound here.
    held = hold_ports(scenario)
    assert held.of == {}
    assert held.scenario.participants["world"].parameters["dcp"]["port"] > 0
    assert held.scenario.simulator.port > 0


@pytest.mark.parametrize(
    ("places", "hosts", "fault"),
    [
        ({"sensor": "shed"}, LAB, "participants.sensor.host: found 'shed'; allowed is lab"),
        ({"sensor": "lab"}, {}, "allowed is none without a section 'hosts'"),
        ({}, {"sensor": LAB["lab"]}, "hosts.sensor: a participant or a process of a run has this"),
        ({}, {"clock": LAB["lab"]}, "hosts.clock: a participant or a process of a run has this"),
        ({}, {"lab": {}}, "hosts.lab.address: missing"),
        ({}, {"lab": {"address": "a b"}}, "hosts.lab.address: found 'a b'"),
        ({}, {"lab": {**LAB["lab"], "start": "hand", "user": "me"}}, "found 'user' with start:"),
        ({}, {"lab": {**LAB["lab"], "port": 9}}, "found 'port' with start: ssh"),
        ({}, {"lab": {**LAB["lab"], "user": "a", "through": "env"}}, "found 'user' with 'through'"),
        ({}, {"lab": {**LAB["lab"], "user": "-oProxyCommand=x"}}, "hosts.lab.user: found"),
    ],
)
def test_wrong_hosts_are_refused(places: Any, hosts: Any, fault: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        on_hosts(places, hosts)
    assert fault in str(caught.value)


def test_those_of_one_process_are_on_one_host() -> None:
    data = chain()
    for name in ("plant", "sensor"):
        data["participants"][name]["process"] = "both"
    with pytest.raises(ConfigurationError, match="sensor.host: found lab; allowed is none, that"):
        on_hosts({"sensor": "lab"}, data=data)


@pytest.mark.parametrize(
    ("hosts", "fault"),
    [
        ({"lab": {**LAB["lab"], "processes": ["clock"]}}, "found 'clock'; allowed are processes"),
        (
            {n: {**TWO[n], "processes": ["world_slave"]} for n in TWO},
            "hosts.shed.processes: found 'world_slave', as on 'lab'",
        ),
    ],
)
def test_processes_that_stay_are_refused(hosts: Any, fault: str) -> None:
    data = {**load_scenario(PLATOON).model_dump(by_alias=True), "hosts": hosts}
    scenario = make_scenario(data, "platoon")
    for find in (planned, partial(check_scenario, shape="ros")):
        with pytest.raises(ConfigurationError) as caught:
            find(scenario)
        assert fault in str(caught.value)
    check_scenario(scenario, "composed")


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"profile": True}, "--profile: found with participants on other hosts (lab)"),
        ({"arrivals": Path("a.json")}, "--arrivals: found with participants on other hosts (lab)"),
        ({"by_hand": ("sensor",)}, "--by-hand sensor: it is on the host 'lab'"),
    ],
)
def test_options_that_need_one_host_are_refused(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        planned(on_hosts({"sensor": "lab"}), **options)
    assert fault in str(caught.value)


def test_a_host_of_a_stranger_is_code() -> None:
    with data_only(), pytest.raises(ConfigurationError, match=r"hosts.lab.through: found 'rm -r'"):
        on_hosts({}, {"lab": {**LAB["lab"], "through": "rm -r"}})
    with data_only(), pytest.raises(ConfigurationError, match="is code"):
        on_hosts({}, {"lab": {**LAB["lab"], "python": "/tmp/x"}})


def test_the_command_that_leads_there() -> None:
    ssh = part_command(HostSettings(address="192.0.2.7", user="me", python="/opt/a b/python"))
    assert ssh[:2] == ["ssh", "-T"]
    assert ssh[-5:] == ["me@192.0.2.7", "'/opt/a b/python'", "-m", "ros2_cosim.cli.main", "join"]
    given = HostSettings(address="192.0.2.7", python="py", through="ip netns exec 'lab 2'")
    words = ["ip", "netns", "exec", "lab 2", "py", "-m", "ros2_cosim.cli.main", "join"]
    assert part_command(given) == words
