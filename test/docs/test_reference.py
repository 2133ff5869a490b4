# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is generated from the models' declarations is current, and says what is true."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from buildtools.generate_reference import generated
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.reference import model_page, model_pages, scenario_schema
from ros2_cosim.core.scenario.schema import load_scenario

ROOT = Path(__file__).resolve().parents[2]


def test_tables_and_schema_are_current() -> None:
    for file, content in generated().items():
        assert file.read_text(encoding="utf-8") == content, f"{file.name}: run 'make reference'"


def test_the_schema_is_the_same_twice() -> None:
    assert scenario_schema() == scenario_schema()


@pytest.mark.parametrize("name", ["platoon", "car_following"])
def test_each_key_of_a_shipped_scenario_is_in_the_schema(name: str) -> None:
    schema = scenario_schema()
    data = yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text())
    assert data.keys() <= schema["properties"].keys()
    participant = schema["$defs"]["ParticipantSettings"]
    rules = {rule["if"]["properties"]["model"]["const"]: rule for rule in participant["allOf"]}
    for settings in data["participants"].values():
        assert settings.keys() <= participant["properties"].keys()
        reference = rules[settings["model"]]["then"]["properties"]["parameters"]["$ref"]
        own = schema["$defs"][reference.rpartition("/")[2]]
        keys = set(own["properties"])
        for base in own.get("allOf", ()):
            keys |= schema["$defs"][base["$ref"].rpartition("/")[2]]["properties"].keys()
        assert settings.get("parameters", {}).keys() <= keys
        assert not own.get("additionalProperties", own.get("unevaluatedProperties"))
    json.dumps(schema)


def test_every_model_declares_itself() -> None:
    for page in model_pages():
        assert page.summary and page.shapes, page.name
        assert page.ports or page.other_ports, page.name
        for row in page.parameters:
            assert row.description, f"{page.name}.{row.name}"


def test_the_ports_of_a_page_are_those_that_the_check_knows() -> None:
    page = model_page("object_sensor")
    assert [port.name for port in page.ports] == [
        "odometry/{vehicle}",
        "vehicles",
        "static_objects",
        "traffic",
        "objects",
    ]
    scenario = ROOT / "config" / "platoon.yaml"
    inputs = "{odometry/follower1: world.odometry/follower1}"
    with pytest.raises(ConfigurationError, match="odometry/leader' is missing"):
        check_scenario(load_scenario(scenario, [f"participants.sensor1.inputs={inputs}"]))


def test_a_kind_of_faults_has_the_keys_that_all_share_and_its_own() -> None:
    defs = scenario_schema()["$defs"]
    shared = defs["FaultSettings"]
    assert {"port", "kind", "when", "probability"} < shared["properties"].keys()
    assert not shared["unevaluatedProperties"]
    assert defs["faults.delay"]["properties"].keys() == {"delay"}
    assert defs["faults.delay"]["required"] == ["delay"]


def test_a_class_that_several_sections_derive_from_or_hold_is_defined_once() -> None:
    """As all fields that change one field of a message, places on a lane, and origins of a map."""
    defs = scenario_schema()["$defs"]
    assert defs["FieldFault"]["properties"].keys() == {"field"}
    assert (
        "FieldFault" in str(defs["faults.bias"]) and "field" not in defs["faults.bias"]["required"]
    )
    assert defs["LaneStation"]["properties"].keys() == {"lane", "s", "road"}
    for heir in ("platoon", "scene.ObjectSettings", "scene.RoadblockSettings"):
        assert {"$ref": "#/$defs/LaneStation"} in defs[heir]["allOf"]
        assert not defs[heir]["unevaluatedProperties"]
    assert [name for name in defs if name.endswith("MapOrigin")] == ["MapOrigin"]
