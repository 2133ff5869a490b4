# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Services, calls and handled inputs of a scenario: their ports, and what is refused."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.behaviours import Plain
from support.service_models import SCENARIO

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import Service
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.leave_out import leave_out
from ros2_cosim.core.scenario.schema import Scenario, load_scenario, make_scenario, save_scenario
from ros2_cosim.core.scenario.system import build_graph

_TYPE = "geometry_msgs/msg/AccelStamped"
_OTHER = "nav_msgs/msg/Odometry"


class Deaf(Plain):
    """Neither handles messages nor answers."""

    other_ports = False

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        pass

    def activate(self, step: Step) -> Mapping[str, Any]:
        return {}


class Server(Deaf):
    """Offers one service, of declared types."""

    offered_services = (Service("sum", _TYPE, _TYPE),)

    def answer_service(self, name: str, request: Any, step: Step) -> Any:
        return request


class Caller(Deaf):
    """Handles answers."""

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        return {}


def plain(**changes: Any) -> dict[str, Any]:
    """``caller`` calls ``server.sum``; changes by dotted place."""
    data: dict[str, Any] = {
        "name": "calls",
        "duration": "100ms",
        "participants": {
            "caller": {
                "model": f"{__name__}:Caller",
                "period": "10ms",
                "calls": {"sum": {"service": "server.sum", "latency": "1ms"}},
            },
            "server": {
                "model": f"{__name__}:Server",
                "services": {"sum": {"request": _TYPE, "answer": _TYPE}},
            },
        },
    }
    for place, value in changes.items():
        *path, last = place.split("__")
        node = data["participants"]
        for part in path:
            node = node[part]
        node[last] = value
    return data


def test_a_call_is_two_connections() -> None:
    scenario = make_scenario(plain(), "calls")
    graph = check_scenario(scenario)
    assert [str(c) for c in graph.connections] == [
        "server.sum/caller/sum -> caller.sum",
        "caller.sum -> server.sum/caller/sum",
    ]
    assert graph.participants["server"].period_ns is None
    topics = [output.topic for p in scenario.participants.values() for output in p.outputs.values()]
    assert topics == ["/caller/sum/request", "/caller/sum/answer"]


def test_the_resolved_scenario_is_the_same_system(tmp_path: Path) -> None:
    scenario = make_scenario(SCENARIO, "calls")
    save_scenario(scenario, tmp_path / "scenario.json")
    again = load_scenario(tmp_path / "scenario.json")
    assert again == scenario.model_copy(update={"base_directory": again.base_directory})
    assert build_graph(again).connections == build_graph(scenario).connections


def test_either_side_of_a_call_can_be_left_out() -> None:
    scenario = make_scenario(plain(caller__required=False), "calls")
    left = leave_out(scenario, ["caller"])
    assert list(check_scenario(left).participants) == ["server"]
    scenario = make_scenario(plain(server__required=False), "calls")
    left = leave_out(scenario, ["server"])
    assert list(check_scenario(left).participants) == ["caller"]


def test_a_service_is_changed_by_its_place(tmp_path: Path) -> None:
    file = tmp_path / "calls.yaml"
    file.write_text(yaml.safe_dump(SCENARIO), encoding="utf-8")
    scenario = load_scenario(file, ["participants.adder.services.sum.latency=7ms"])
    graph = build_graph(scenario)
    assert graph.output("adder", "sum/first/sum").latency.minimum_ns == 7_000_000


WRONG: list[tuple[dict[str, Any], str]] = [
    (
        {"caller__calls__sum__service": "server.some"},
        "participants.caller.calls.sum.service: found 'server.some'; did you mean 'server.sum'? "
        "services are server.sum",
    ),
    (
        {"caller__calls__sum__service": "server"},
        "participants.caller.calls.sum.service: found 'server'",
    ),
    (
        {"caller__outputs": {"sum": {"type": _TYPE, "topic": "/x"}}},
        "participants.caller.calls.sum: found a port of the same name; allowed is any other name",
    ),
    (
        {"server__services": {"sum": {"request": _OTHER, "answer": _TYPE}}},
        f"participants.server.services.sum.request: found {_OTHER}; allowed is {_TYPE}",
    ),
    (
        {"server__services": {"sum": {"request": _TYPE, "answer": _OTHER}}},
        f"participants.server.services.sum.answer: found {_OTHER}; allowed is {_TYPE}",
    ),
    (
        {
            "server__services": {"add": {"request": _TYPE, "answer": _TYPE}},
            "caller__calls__sum__service": "server.add",
        },
        f"participants.server.services.add: model {__name__}:Server does not answer it; allowed "
        "are sum",
    ),
    (
        {"server__model": f"{__name__}:Deaf"},
        f"participants.server.services.sum: model {__name__}:Deaf answers no services; allowed is "
        "one with a method answer_service(name, request, step)",
    ),
    (
        {"caller__model": f"{__name__}:Deaf"},
        f"participants.caller.calls.sum: model {__name__}:Deaf handles no messages; allowed is one "
        "with a method handle_message(port, step)",
    ),
    (
        {"caller__calls__sum__latency": 0},
        "zero-delay loop: caller.sum -> server.sum/caller/sum, server.sum/caller/sum -> caller.sum",
    ),
    (
        {"caller__inputs": {"in": {"from": ["server.x"], "handled": True, "delayed": True}}},
        "participants.caller.inputs.in: a handled input takes each message at its stamp",
    ),
    (
        {"caller__coupling": {}},
        "needs a period, and neither an activation function nor a dynamic step nor handled inputs",
    ),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=[m[:50] for _, m in WRONG])
def test_what_is_wrong_is_said_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        check_scenario(made(changes))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def made(changes: dict[str, Any]) -> Scenario:
    return make_scenario(copy.deepcopy(plain(**changes)), "calls.yaml")
