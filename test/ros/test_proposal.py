# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A scenario written of nodes that have been seen: wired by topic and type, whole, and true."""

from __future__ import annotations

import sys
from typing import Any

import pytest

pytest.importorskip("rclpy")

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import make_scenario
from ros2_cosim.ros.foreign.command_words import settings_of
from ros2_cosim.ros.foreign.comparison import graph_faults
from ros2_cosim.ros.foreign.graph_view import SeenEnd, SeenNode
from ros2_cosim.ros.foreign.proposal import LookedAt, proposed

FLOAT, TEXT = "std_msgs/msg/Float64", "std_msgs/msg/String"
MS = 1_000_000


def end(topic: str, kind: str = FLOAT, reliable: bool = True, latched: bool = False) -> SeenEnd:
    return SeenEnd(topic, kind, reliable, latched)


def node(
    name: str, reads: Any = (), writes: Any = (), calls: Any = None, offers: Any = None
) -> SeenNode:
    return SeenNode(name, tuple(reads), tuple(writes), offers or {}, calls or {})


def looked(*nodes: SeenNode, timers: Any = (), counts: Any = None) -> LookedAt:
    return LookedAt(nodes, timers, counts or {}, 2.0)


def written(*processes: LookedAt, **settings: Any) -> tuple[dict[str, Any], list[str]]:
    command = {"command": ["/bin/true"], **settings}
    data, notes = proposed("seen", [(command, process) for process in processes])
    check_scenario(make_scenario(data, "seen"), "ros")  # what is written is a scenario
    return data["participants"], notes


def test_what_reads_a_topic_is_fed_by_what_writes_it() -> None:
    timed = looked(node("/a", writes=[end("/x")]), timers=[(20 * MS, True), (30 * MS, True)])
    parts, notes = written(timed, looked(node("/b", reads=[end("/x", reliable=False)])))
    assert (parts["a_adapter"]["period"], parts["a_adapter"]["offset"]) == ("10ms", "20ms")
    assert parts["b_adapter"]["inputs"] == {"x": "a_adapter.x"}
    assert parts["b_adapter"]["parameters"]["inputs"] == {"x": {"topic": "/x", "best_effort": True}}
    assert "period" not in parts["b_adapter"] and not notes


def test_what_no_node_writes_is_stood_in_for() -> None:
    other = looked(node("/a", writes=[end("/x", TEXT)]), timers=[(MS, True)])
    parts, notes = written(other, looked(node("/b", reads=[end("/x"), end("/deep/scan")])))
    outputs = parts["stand_in"]["outputs"]
    assert outputs["deep_scan"] == {"type": FLOAT, "topic": "/deep/scan"}
    assert outputs["x"]["topic"] == "/x/stand_in"
    assert parts["b_adapter"]["inputs"] == {"deep_scan": "stand_in.deep_scan", "x": "stand_in.x"}
    assert any("stand_in sends /deep/scan, /x" in note for note in notes)


def test_nodes_in_a_circle_have_a_latency() -> None:
    one = looked(node("/a", [end("/y")], [end("/x")]), timers=[(MS, True)])
    two = looked(node("/b", [end("/x")], [end("/y"), end("/z")]))
    parts, _ = written(one, two, looked(node("/c", [end("/z")], [end("/end")])))
    assert parts["a_adapter"]["outputs"]["x"]["latency"] == "1ms"
    assert parts["b_adapter"]["outputs"]["y"]["latency"] == "1ms"
    assert "latency" not in parts["c_adapter"]["outputs"]["end"]


def test_what_is_sent_once_to_late_readers_is_declared_so() -> None:
    latched = end("/map", TEXT, latched=True)
    parts, notes = written(looked(node("/a", writes=[latched]), counts={"/map": 1}))
    assert parts["a_adapter"]["outputs"]["map"]["schedule"] == "once"
    assert parts["a_adapter"]["period"] == "100ms" and "nothing activates it" in notes[0]
    # As a node does that latches a static transform, and sends others by a timer.
    both = node("/a", writes=[latched, end("/tf")])
    parts, _ = written(looked(both, timers=[(10**9, True)], counts={"/map": 1, "/tf": 2}))
    schedules = {port: each["schedule"] for port, each in parts["a_adapter"]["outputs"].items()}
    assert schedules == {"map": "once", "tf": "sparse"}


def test_remappings_of_the_command_are_those_of_its_ports() -> None:
    settings = {"remap": {"drive": "/cmd", "service": "/other", "__node": "b", "__ns": "/car"}}
    parts, _ = written(looked(node("/car/b", [end("/cmd")]), timers=[]), **settings)
    found = parts["car_b_adapter"]["parameters"]
    assert found["inputs"] == {"cmd": "drive"} and found["node_name"] == "/car/b"
    assert found["remap"] == {"service": "/other"}


def test_nodes_of_one_process_keep_their_names_and_talk() -> None:
    process = looked(node("/a", [end("/x")], [end("/y")]), node("/b", [end("/y")]), timers=None)
    parts, notes = written(process)
    assert parts["a_adapter"]["parameters"]["remap"] == {"b:__node": "b"}
    assert any("a_adapter: its nodes talk by /y, which needs the same" in note for note in notes)
    assert parts["a_adapter"]["parameters"]["outputs"] == {"y": {"topic": "/y"}}
    assert parts["a_adapter"]["inputs"] == {"x": "stand_in.x"}
    # One that can be led may say any number of things to itself.
    process = looked(node("/a", [], [end("/y")]), node("/b", [end("/y")]), timers=((MS, True),))
    parts, notes = written(process)
    assert not notes
    told = {"topic": "/y", "expect": "any", "take": "last"}
    assert parts["a_adapter"]["parameters"]["outputs"] == {"y": told}


def test_what_cannot_be_repeated_is_noted() -> None:
    wall = looked(
        node("/a", [end("/x")], calls={"/map/load": "std_srvs/srv/Empty"}), timers=[(MS, False)]
    )
    unknown = looked(node("/b", writes=[end("/x")]), timers=None, counts={"/x": 20})
    parts, notes = written(wall, unknown)
    assert parts["b_adapter"]["period"] == "100ms"
    told = "\n".join(notes)
    for text in (
        "a_adapter calls /map/load",
        "a_adapter has a timer of the wall clock",
        "b_adapter: its timers are not",
    ):
        assert text in told


def test_what_a_node_calls_is_what_another_one_offers() -> None:
    route = {"/route": "tf2_msgs/action/LookupTransform"}
    asks = looked(node("/a", calls={**route, "/other": "std_srvs/srv/Empty"}))
    parts, notes = written(asks, looked(node("/b", offers=route)))
    assert parts["a_adapter"]["inputs"] == {"route": "b_adapter.route"}
    assert parts["b_adapter"]["inputs"] == {"route": "a_adapter.route"}
    tied = {"route": {"action": "/route", "type": route["/route"]}}
    assert parts["a_adapter"]["parameters"]["calls"] == tied
    assert parts["b_adapter"]["parameters"]["offers"] == tied
    assert parts["a_adapter"]["period"] == "100ms"
    assert len(notes) == 1 and "a_adapter calls /other" in notes[0]


def test_services_of_a_running_graph_are_compared() -> None:
    load, route = (
        {"/map/load": "std_srvs/srv/Trigger"},
        {"/route": "tf2_msgs/action/LookupTransform"},
    )
    seen = [
        looked(node("/a", calls={**load, **route})),
        looked(node("/b", offers={**load, **route})),
    ]
    data, _ = proposed("seen", [({"command": ["/bin/true"]}, each) for each in seen])
    scenario = make_scenario(data, "seen")
    graph = check_scenario(scenario, "ros")
    gate = {"/gate/a_adapter/calls/map_load": load["/map/load"]}
    running = [node("/a", calls={**gate, **route}), node("/b", offers={**load, **route})]
    assert graph_faults(scenario, graph, running) == []
    other = {"/map/load": "std_srvs/srv/Empty", "/more": "std_srvs/srv/Empty"}
    assert graph_faults(scenario, graph, [node("/a", calls=other), node("/b", offers=other)]) == [
        "participants.a_adapter.parameters.calls.map_load: /a calls std_srvs/srv/Empty; the "
        "scenario has std_srvs/srv/Trigger",
        "participants.a_adapter.parameters.calls.route: /a calls no /route",
        "participants.a_adapter: /a calls /more, which is not in calls; declare it, or name it in "
        "allow_services",
        "participants.b_adapter.parameters.offers.map_load: /b offers std_srvs/srv/Empty; the "
        "scenario has std_srvs/srv/Trigger",
        "participants.b_adapter.parameters.offers.route: /b offers no /route",
    ]


def test_periods_without_a_common_measure_take_the_smallest() -> None:
    parts, _ = written(
        looked(node("/a", writes=[end("/x")]), timers=[(100 * MS, True), (33_333_333, True)])
    )
    assert parts["a_adapter"]["period"] == "33.333333ms"


def test_a_running_graph_that_differs_is_told_place_by_place() -> None:
    seen = node("/b", [end("/x"), end("/more")], [end("/y", reliable=False)])
    data, _ = proposed(
        "seen",
        [
            (
                {"command": ["/bin/true"]},
                looked(node("/a", writes=[end("/x")]), timers=[(MS, True)]),
            ),
            ({"command": ["/bin/true"]}, looked(node("/b", [end("/x")], [end("/y")]))),
        ],
    )
    scenario = make_scenario(data, "seen")
    graph = check_scenario(scenario, "ros")
    behind = node("/a", writes=[end("/gate/a_adapter/out/x")])
    assert graph_faults(scenario, graph, [behind, seen]) == [
        "participants.b_adapter.parameters.outputs.y: /b publishes /y without reliable delivery; "
        "best_effort: true accepts that",
        "participants.b_adapter: /b reads /more, which is not an input; declare it, or name it in "
        "allow_topics",
    ]
    other = node("/b", [end("/x", TEXT)])
    assert graph_faults(scenario, graph, [other]) == [
        "participants.a_adapter: no node /a runs; there are /b",
        "participants.b_adapter.parameters.inputs.x: /b reads std_msgs/msg/String; the scenario "
        "has std_msgs/msg/Float64",
        "participants.b_adapter.parameters.outputs.y: /b publishes no topic /y",
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["node.py", "-v"], {"script": "node.py", "arguments": ["-v"]}),
        ([sys.executable, "-m", "package.node"], {"module": "package.node"}),
        (["ros2", "run", "p", "e", "7"], {"package": "p", "executable": "e", "arguments": ["7"]}),
        (["/bin/sh", "-c", "x"], {"command": ["/bin/sh", "-c", "x"]}),
        (
            ["node.py", "--ros-args", "-r", "a:=/b", "-p", "gain:=[1.0, 2.0]", "--", "last"],
            {
                "script": "node.py",
                "remap": {"a": "/b"},
                "ros_parameters": {"gain": [1.0, 2.0]},
                "arguments": ["last"],
            },
        ),
        (
            ["node.py", "--ros-args", "--log-level", "debug", "--params-file", "p.yaml"],
            {
                "script": "node.py",
                "arguments": [
                    *("--ros-args", "--log-level", "debug", "--params-file", "p.yaml", "--"),
                ],
            },
        ),
    ],
)
def test_a_command_line_is_taken_apart(words: list[str], expected: dict[str, Any]) -> None:
    assert settings_of(words, "test") == expected


def test_parameters_of_a_launch_file_are_kept(tmp_path: Any) -> None:
    file = tmp_path / "launch_params_x"
    file.write_text("/**: {ros__parameters: {a: 1, b: 2.0}}\n/car/n: {ros__parameters: {b: 3.0}}\n")
    words = ["x.py", "--ros-args", "-r", "__node:=n", "--params-file", str(file), "-p", "c:=x"]
    assert settings_of(words, "test")["ros_parameters"] == {"a": 1, "b": 3.0, "c": "x"}


@pytest.mark.parametrize(
    "words", [[], ["x.py", "--ros-args", "-r"], ["x.py", "--ros-args", "-p", "a"]]
)
def test_a_wrong_command_line_is_refused(words: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="^test: found .*allowed is"):
        settings_of(words, "test")
