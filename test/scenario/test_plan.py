# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bring-up plan: processes in order, ports that are free."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.ports import free_port

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.request import RunOptions
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.held_ports import hold_ports, resolve_ports
from ros2_cosim.core.scenario.schema import Scenario, load_scenario, make_scenario
from ros2_cosim.core.scenario.server_ports import server_ports
from ros2_cosim.core.sockets.inherited import close_all
from ros2_cosim.ros.bringup.plan import make_plan

PLATOON = Path(__file__).parents[2] / "config" / "platoon.yaml"
OUTPUT = Path("out/platoon")
PARTICIPANTS = ["world", "sensor1", "sensor2", "v2v", "cacc1", "cacc2", "referee"]


@pytest.fixture
def platoon() -> Scenario:
    """The platoon scenario."""
    return load_scenario(PLATOON)


def names(scenario: Scenario, **options: Any) -> list[str]:
    """Names of the processes in their order."""
    return [process.name for process in make_plan(scenario, RunOptions(out=OUTPUT, **options))]


def test_servers_come_first_and_the_clock_last(platoon: Scenario) -> None:
    assert names(platoon) == [
        *("simulator", "world_slave"),
        *PARTICIPANTS,
        *("recorder", "clock"),
    ]


def test_a_foreign_simulator_is_not_started(platoon: Scenario) -> None:
    data = platoon.model_dump(by_alias=True)
    data["simulator"] = {"kind": "carla", "port": 2000}
    assert names(make_scenario(data, "test"))[0] == "world_slave"


def test_what_is_only_looked_at_may_end_without_ending_the_run(
    platoon: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rviz2").write_text("#!/bin/sh\n")
    (tmp_path / "rviz2").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    plan = make_plan(platoon, RunOptions(out=OUTPUT, visualise=True, rviz=True))
    assert {p.name for p in plan if not p.required} == {"visualisation", "rviz"}
    assert [p.name for p in plan][-1] == "clock"
    assert {p.name for p in plan if not p.is_ros} == {"simulator", "rviz"}


def test_without_rviz_on_the_path_asking_for_it_is_refused(
    platoon: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match="rviz2 is not on the PATH"):
        make_plan(platoon, RunOptions(out=OUTPUT, rviz=True))


def test_in_shape_composed_one_process_holds_all_participants(platoon: Scenario) -> None:
    assert names(platoon, shape="composed") == ["simulator", "world_slave", "composed"]


def test_every_participant_gets_its_name_and_the_resolved_scenario(platoon: Scenario) -> None:
    plan = {process.name: process for process in make_plan(platoon, RunOptions(out=OUTPUT))}
    for name in PARTICIPANTS:
        assert plan[name].parameters == {
            "scenario_file": "out/platoon/scenario.json",
            "participant": name,
        }
        assert plan[name].executable == platoon.participants[name].node
    assert plan["world_slave"].parameters["participant"] == "world"
    assert str(PLATOON.parent / "highway.xodr") in plan["simulator"].arguments


@pytest.mark.parametrize(("rate", "value"), [(None, "max"), (1.0, 1.0), (0.5, 0.5)])
def test_rate_and_recording_reach_their_nodes(
    platoon: Scenario, rate: float | None, value: object
) -> None:
    plan = make_plan(platoon, RunOptions(out=OUTPUT, rate=rate, record=rate is None))
    by_name = {process.name: process.parameters for process in plan}
    assert by_name["clock"]["rate"] == value
    assert by_name["recorder"]["bag"] is (rate is None)
    assert by_name["recorder"]["output"] == "out/platoon"


def ports(scenario: Scenario) -> tuple[int, int]:
    """(simulator, DCP slave)."""
    return scenario.simulator.port, scenario.participants["world"].parameters["dcp"]["port"]


def test_free_ports_are_found_and_none_is_given_twice(platoon: Scenario) -> None:
    resolved = resolve_ports(platoon)
    simulator, slave = ports(resolved)
    # The simulator needs the port after its own, too.
    assert len({simulator, simulator + 1, slave}) == 3
    for port in (simulator, simulator + 1, slave):
        assert 0 < port < 65536
        with socket.socket() as free:
            free.bind(("127.0.0.1", port))
    assert resolved.participants["world"].parameters["dcp"]["host"] == "127.0.0.1"
    assert ports(platoon) == (0, 0)


def test_the_ports_of_a_run_are_held_until_its_processes_take_them(platoon: Scenario) -> None:
    held = hold_ports(platoon)
    simulator, slave = ports(held.scenario)
    wanted = [(port, socket.SOCK_STREAM) for port in (simulator, simulator + 1, slave)]
    for port, kind in [*wanted, (slave, socket.SOCK_DGRAM)]:
        with socket.socket(socket.AF_INET, kind) as thief:
            thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with pytest.raises(OSError, match="in use"):
                thief.bind(("127.0.0.1", port))
    assert set(held.of) == {"simulator", "world_slave"}
    close_all(held.take("world_slave"))
    assert held.take("world_slave") == []
    held.close()
    for port, kind in [*wanted, (slave, socket.SOCK_DGRAM)]:
        with socket.socket(socket.AF_INET, kind) as free:
            free.bind(("127.0.0.1", port))


def test_free_ports_lie_outside_the_range_that_the_kernel_gives_to_clients(
    platoon: Scenario,
) -> None:
    text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii")
    first, last = map(int, text.split())
    for port in ports(resolve_ports(platoon)):
        assert not first <= port <= last


def test_programs_that_start_at_the_same_time_try_different_ports() -> None:
    assert len({next(server_ports()) for _ in range(20)}) > 10


def test_the_rest_of_the_scenario_stays(platoon: Scenario) -> None:
    resolved = resolve_ports(platoon).model_dump()
    original = platoon.model_dump()
    resolved["simulator"]["port"] = 0
    for participant in resolved["participants"].values():
        for output in participant["outputs"].values():
            assert (output["whole"], output["header_stamped"]) == (False, False)
            assert output["record"] == ""
            output["whole"] = output["header_stamped"] = output["record"] = None
            output["frame_id"] = None if output["frame_id"] == "map" else output["frame_id"]
    resolved["participants"]["world"]["parameters"]["dcp"] = {"transport": "tcp", "port": 0}
    assert resolved == original


@pytest.fixture
def used_port() -> Iterator[int]:
    """A port on which another program listens, above a free one."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        yield listener.getsockname()[1]


@pytest.mark.parametrize("key", ["simulator.port", "participants.world.parameters.dcp.port"])
def test_a_used_port_is_refused(used_port: int, key: str) -> None:
    scenario = load_scenario(PLATOON, [f"{key}={used_port}"])
    place = key.removesuffix(".port")
    with pytest.raises(ConfigurationError) as caught:
        resolve_ports(scenario)
    assert str(caught.value) == (
        f"{place}: port {used_port} on 127.0.0.1 cannot be used: Address already in use "
        "(port 0 takes a free one)"
    )


def test_a_used_port_beside_that_of_the_simulator_is_refused(used_port: int) -> None:
    scenario = load_scenario(PLATOON, [f"simulator.port={used_port - 1}"])
    with pytest.raises(
        ConfigurationError, match=f"port ({used_port}|{used_port - 1}) on 127.0.0.1"
    ):
        resolve_ports(scenario)


@pytest.mark.parametrize("port", ["-1", "65536", "many", "1.5", "null", "true"])
def test_ports_that_are_none_are_refused(port: str) -> None:
    scenario = load_scenario(PLATOON, [f"participants.world.parameters.dcp.port={port}"])
    with pytest.raises(ConfigurationError, match=r"dcp\.port: found .*; allowed is an? "):
        resolve_ports(scenario)


def test_the_simulator_cannot_have_the_last_port() -> None:
    scenario = load_scenario(PLATOON, ["simulator.port=65535"])
    with pytest.raises(ConfigurationError, match=r"simulator\.port: .* allowed is 0 to 65533"):
        resolve_ports(scenario)


def test_an_address_of_another_machine_is_refused_at_once() -> None:
    scenario = load_scenario(PLATOON, ["simulator.host=192.0.2.1"])
    with pytest.raises(ConfigurationError, match=r"simulator: port 0 on 192\.0\.2\.1 cannot be"):
        resolve_ports(scenario)


def test_nothing_stays_open_when_a_port_is_refused(used_port: int) -> None:
    free = free_port()
    overrides = [f"simulator.port={free}", f"participants.world.parameters.dcp.port={used_port}"]
    with pytest.raises(ConfigurationError, match=r"dcp"):
        resolve_ports(load_scenario(PLATOON, overrides))
    with socket.socket() as again:
        again.bind(("127.0.0.1", free))
        again.listen(1)
        assert again.getsockname()[1] == free


def test_more_messages_under_way_than_are_kept_are_refused(tmp_path: Path) -> None:
    scenario = load_scenario(PLATOON, ["participants.referee.period=100us"])
    with pytest.raises(ConfigurationError, match=r"participants\.referee\.period: found 100us"):
        check_scenario(scenario, "ros")
    check_scenario(scenario, "composed")
    assert make_plan(scenario, RunOptions(out=tmp_path, shape="composed"))
