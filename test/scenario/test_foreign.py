# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Settings of foreign nodes: what is wrong is found before anything is started."""

from __future__ import annotations

import json

import pytest
from support import gate_scenarios as scenarios
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.foreign import ForeignSettings
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import make_scenario
from ros2_cosim.core.scenario.system import build_graph


def refused(data, **settings):
    foreign = next(p for p in data["participants"].values() if p["model"] == "foreign_node")
    foreign["parameters"].update(settings)
    with pytest.raises(ConfigurationError) as caught:
        check_scenario(make_scenario(data, "test"), "ros")
    return str(caught.value)


@pytest.mark.parametrize(
    "data",
    [scenarios.relay(), scenarios.fold(), scenarios.timer(stamp="header")],
    ids=lambda data: str(data["name"]),
)
def test_the_graph_of_a_valid_scenario_has_the_foreign_node(data):
    graph = build_graph(make_scenario(data, "test"))
    assert graph.participants.keys() == data["participants"].keys()


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"script": None}, "found none; allowed is one of command, script"),
        ({"module": "m"}, "found script, module; allowed is one of"),
        ({"package": "p", "script": None}, "package and executable go together"),
        ({"inputs": {}}, "inputs.number: unknown port"),
        (
            {"inputs": {"number": "a", "other": "b"}},
            "inputs: 'other' is missing; model foreign_node reads it",
        ),
        ({"nonsense": 1}, "parameters.nonsense"),
        ({"patience_s": 0}, "patience_s"),
        ({"clock_start": "1s"}, "clock_start goes with use_sim_time"),
        (
            {"outputs": {"sum": {"topic": "s", "expect": "any"}}},
            "schedule: found every; model foreign_node sends at some activations only",
        ),
        ({"outputs": {"sum": {"topic": "s", "expect": 0}}}, "at least 1"),
        ({"outputs": {"sum": {"topic": "s", "expect": 2}}}, "take: last"),
        ({"outputs": {"sum": {"topic": "s", "window": "1ms"}}}, "window goes with stamp: header"),
        ({"outputs": {"sum": {"topic": "s", "stamp": "header"}}}, "Float64 has no header"),
        ({"outputs": {"sum": {"topic": "s", "expect": "any"}}, "barrier": "none"}, "barrier"),
        ({"attach": True, "script": None}, "attach needs the node_name"),
        ({"attach": "/box"}, "found '/box'; a container goes with the package and executable"),
        ({"attach": "box", "script": None}, "parameters.attach: found 'box'"),
        ({"ros_parameters": {"a": None}}, "ros_parameters: a: found None; allowed are a text"),
        ({"ros_parameters": {"a": {"b": [1, 2.5]}}}, "a.b: found [1, 2.5]; allowed are"),
        ({"ros_parameters": {"a": [[1.0]]}}, "a: found [[1.0]]; allowed are"),
    ],
)
def test_wrong_settings_are_named(settings, text):
    message = refused(scenarios.relay(), **settings)
    assert message.startswith("participants.relay.")
    assert text in message


@pytest.mark.parametrize(
    ("kind", "tied", "text"),
    [
        (
            "inputs",
            {"add": "add", "take": "/add"},
            "inputs.take: found '/add', the topic of 'add'; allowed is one port for each topic",
        ),
        (
            "outputs",
            {"state": "~/state", "other": "/fold_node/state"},
            "outputs.other: found '/fold_node/state', the topic of 'state'; allowed is one port",
        ),
    ],
)
def test_two_ports_of_one_topic_are_refused(kind, tied, text):
    data = scenarios.fold()
    outputs = data["participants"]["fold"]["outputs"]
    outputs |= {port: {**outputs["state"], "topic": f"/{port}"} for port in tied if port == "other"}
    assert text in refused(data, **{kind: tied})


def test_parameters_in_mappings_have_full_names():
    data = scenarios.relay(ros_parameters={"a": {"b": 1.5, "c": {"d": [True]}}, "e": "text"})
    settings = ForeignSettings.model_validate(data["participants"]["relay"]["parameters"])
    assert settings.ros_parameters == {"a.b": 1.5, "a.c.d": [True], "e": "text"}


def test_order_of_several_inputs_needs_a_barrier():
    outputs = {"state": {"topic": "state", "expect": 1}}
    assert "in order" in refused(scenarios.fold(), barrier="none", outputs=outputs)


@pytest.mark.parametrize(
    ("shape", "code", "said"),
    [
        ("ros", 0, "3 participants, 2 connections"),
        ("composed", 0, "3 participants, 2 connections"),
        ("inproc", 1, "allowed is --shape ros or composed"),
    ],
)
def test_cosim_check_takes_a_scenario_with_a_foreign_node(tmp_path, shape, code, said):
    file = tmp_path / "relay.json"
    file.write_text(json.dumps(scenarios.relay()), encoding="utf-8")
    result = CliRunner().invoke(app, ["check", str(file), "--shape", shape])
    assert (result.exit_code, said in result.output) == (code, True), result.output
