# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Wrong scenarios: each is refused by the check, in one sentence that names the place."""

from __future__ import annotations

import copy
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import load_scenario, make_scenario

PLATOON = Path(__file__).resolve().parents[2] / "config" / "platoon.yaml"

#: (--set, what the sentence says: place and cause)
WRONG = [
    # a missing required input or output
    ("participants.v2v.inputs={odometry/leader: world.odometry/leader}",
     ["participants.v2v.inputs", "'acceleration/leader' is missing"]),
    ("participants.cacc1.inputs={objects: sensor1.objects}",
     ["participants.cacc1.inputs", "'odometry' is missing"]),
    ("participants.world.outputs={}",
     ["world.odometry/leader -> sensor1", "participant 'world' has no output port"]),
    # an unknown port
    ("participants.cacc2.inputs.v2v_leeder=v2v.leader_to_follower2",
     ["participants.cacc2.inputs.v2v_leeder", "did you mean 'v2v_leader'"]),
    # connections of the wrong type
    ("participants.world.inputs.control/follower1={from: sensor1.objects, delayed: true}",
     ["participants.world.inputs.control/follower1", "ObjectList", "ControlCommand"]),
    ("participants.referee.inputs.odometry/follower1=cacc1.control",
     ["participants.referee.inputs.odometry/follower1", "ControlCommand", "Odometry"]),
    ("participants.world.outputs.collision.type=std_msgs/msg/String",
     ["participants.world.outputs.collision.type", "found std_msgs/msg/String"]),
    # nodes and models
    ("participants.v2v.node=nonsense", ["participants.v2v.node", "found 'nonsense'"]),
    ("participants.world.node=dcp_mater", ["participants.world.node", "found 'dcp_mater'"]),
    ("participants.cacc1.model=os:getcwd", ["participants.cacc1.model", "os:getcwd"]),
    ("participants.cacc1.model=os:getpid", ["participants.cacc1.model", "os:getpid"]),
    ("participants.cacc1.model=builtins:exit", ["participants.cacc1.model", "builtins:exit"]),
    ("participants.cacc1.model=cacc_controler",
     ["participants.cacc1.model", "did you mean 'cacc_controller'"]),
    # topics
    ("participants.sensor1.outputs.objects.topic='/a b'", ["outputs.objects.topic", "'/a b'"]),
    ("participants.sensor1.outputs.objects.topic=''", ["outputs.objects.topic", "found ''"]),
    ("participants.sensor1.outputs.objects.topic='{}'", ["outputs.objects.topic", "found"]),
    ("participants.sensor1.outputs.objects.topic=bad topic", ["outputs.objects.topic", "found"]),
    ("participants.sensor1.outputs.objects.topic=/clock", ["outputs.objects.topic", "'/clock'"]),
    ("participants.sensor1.outputs.objects.topic=/cosim/horizon",
     ["outputs.objects.topic", "'/cosim/horizon'"]),
    ("participants.sensor1.outputs.objects.topic=/cosim/completion/world",
     ["outputs.objects.topic", "/cosim/completion/world"]),
    # parameters
    ("participants.world.parameters.dcp.port=-1", ["participants.world.parameters.dcp.port", "-1"]),
    ("participants.world.parameters.dcp.port={}", ["participants.world.parameters.dcp.port"]),
    ("participants.world.parameters.dcp.port=99999999", ["parameters.dcp.port", "99999999"]),
    ("participants.world.parameters.dcp.transport=serial",
     ["participants.world.parameters.dcp.transport", "found 'serial'", "tcp", "udp"]),
    ("participants.cacc1.parameters.fallback=5", ["participants.cacc1.parameters.fallback", "5"]),
    ("participants.v2v.parameters.links=5", ["participants.v2v.parameters.links", "found 5"]),
    ("participants.v2v.parameters.links=[5]", ["participants.v2v.parameters.links.0", "found 5"]),
    ("participants.cacc1.parameters.law_parameters=[1]",
     ["participants.cacc1.parameters.law_parameters", "mapping"]),
    ("participants.cacc1.parameters.law_parameters=x",
     ["participants.cacc1.parameters.law_parameters", "found 'x'"]),
    ("participants.cacc1.parameters.law_parameters={kq: 1}",
     ["participants.cacc1.parameters.law_parameters.kq", "unknown key; allowed are kp, kd"]),
    ("participants.cacc1.parameters.law=ploeg", ["participants.cacc1.parameters.law", "ploeg"]),
    ("participants.cacc1.parameters.vehicle=[]", ["participants.cacc1.parameters.vehicle"]),
    ("participants.cacc1.parameters.vehicle=[a]", ["participants.cacc1.parameters.vehicle"]),
    ("participants.cacc1.parameters.vehicle={}", ["participants.cacc1.parameters.vehicle"]),
    ("participants.cacc1.parameters.time_gap=fast", ["participants.cacc1.parameters.time_gap"]),
    ("scene.vehicles.leader.driver.manoeuvre=[{when: {gap: 3, of: leader}, constant: 2s}]",
     ["scene.vehicles.leader.driver.manoeuvre.0.when.of", "allowed are follower1, follower2"]),
    ("participants.sensor1.parameters.ego=follower9", ["participants.sensor1", "follower9"]),
    ("participants.sensor1.parameters.detection_rage=5",
     ["detection_rage", "did you mean 'detection_range'"]),
    ("simulator.host=not a host", ["simulator.host", "not a host"]),
    ("participants.world.parameters.dcp.host=not a host", ["dcp.host", "not a host"]),
    # the scene
    ("scene.roadblok={lane: -2, s: 1000}", ["scene.roadblok", "did you mean 'roadblock'"]),
    ("scene.roadblock.count=-1", ["scene.roadblock.count", "found -1"]),
    ("scene.platoon=5", ["scene.platoon", "found 5"]),
    ("scene.platoon=[]", ["scene.platoon"]),
    ("scene.platoon=[leader, nobody]", ["scene.platoon", "nobody"]),
    ("scene.objects={b: 5}", ["scene.objects.b", "found 5"]),
    ("scene.vehicles.leader=5", ["scene.vehicles.leader", "found 5"]),
    ("scene.vehicles.leader.width=abc", ["scene.vehicles.leader.width", "found 'abc'"]),
    ("scene.vehicles.leader.lane={}", ["scene.vehicles.leader.lane"]),
    ("scene.vehicles.leader.lane=-9", ["leader", "-9"]),
    ("scene.vehicles.leader.driver.deceleration=[]",
     ["scene.vehicles.leader.driver.deceleration"]),
    ("scene.map=nowhere.xodr", ["scene.map", "nowhere.xodr"]),
    # unknown keys anywhere
    ("participants.cacc1.perod=5ms", ["participants.cacc1.perod", "did you mean 'period'"]),
    ("duratoin=5s", ["duratoin", "did you mean 'duration'"]),
    ("simulator.prot=5", ["simulator.prot", "did you mean 'port'"]),
    ("participants.world.parameters.dcp.prot=5", ["dcp.prot", "did you mean 'port'"]),
    ("version=2", ["version", "found 2"]),
    # schedules and wiring
    ("participants.world.outputs.collision.schedule=every",
     ["participants.world.outputs.collision.schedule", "found every"]),
    ("participants.world.inputs.control/follower1=cacc1.control", ["zero-delay loop"]),
]  # fmt: skip


def faults(*settings: str) -> list[str]:
    """The sentences with which the platoon with these settings is refused."""
    with pytest.raises(ConfigurationError) as caught:
        check_scenario(load_scenario(PLATOON, settings), "ros")
    assert "Traceback" not in str(caught.value)
    assert "\n" not in str(caught.value)
    found = getattr(caught.value, "faults", None)
    return found if found is not None else [str(caught.value)]


@pytest.mark.parametrize(("setting", "parts"), WRONG, ids=[setting for setting, _ in WRONG])
def test_a_wrong_scenario_is_refused_in_a_sentence(setting: str, parts: list[str]) -> None:
    sentences = faults(setting)
    assert any(all(part in sentence for part in parts) for sentence in sentences), sentences


def test_each_fault_has_a_sentence() -> None:
    sentences = faults(
        "participants.sensor1.parameters.detection_range=-5",
        "participants.sensor2.parameters.field_of_view=wide",
        "participants.v2v.node=nonsense",
    )
    places = ("sensor1.parameters.detection_range", "sensor2.parameters.field_of_view", "v2v.node")
    assert [any(place in s for s in sentences) for place in places] == [True] * 3


def test_the_check_makes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def refuse(self: Any, *arguments: Any, **keywords: Any) -> None:
        made.append(type(self).__name__)

    from ros2_cosim.core.scenario.registry import available_models, find_model

    for name in available_models():
        monkeypatch.setattr(find_model(name, "test").kind, "__init__", refuse)
    check_scenario(load_scenario(PLATOON), "ros")
    assert made == []


VALUES: tuple[Any, ...] = (
    None, True, 0, 1, -1, 5, 1e30, -0.5, 3.5, "", "x", "5ms", "1e3", "world.odometry/leader",
    "cacc1.control", [], [1], ["a", "b"], {}, {"a": 1}, {"from": "v2v.x"}, "/topic", "leader",
    "every", "sparse", "10 parsec", 2**70, [[]], {"normal": {"mean": 1}}, "os:getcwd", "inf",
)  # fmt: skip


def _places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(node, dict):
        for key, value in node.items():
            found += _places(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            found += _places(value, (*path, index))
    return found


def mutated(pickled: bytes, rng: random.Random) -> tuple[dict[str, Any], str]:
    """A copy with one to three edits: values, keys, wiring; and what they are."""
    data: dict[str, Any] = pickle.loads(pickled)
    told = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        path = rng.choice(_places(data))
        *parents, last = path
        node: Any = data
        for key in parents:
            node = node[key]
        way = rng.choice(("value", "value", "delete", "rename", "add", "swap"))
        if way == "delete":
            del node[last]
        elif way == "rename" and isinstance(node, dict):
            text = str(last)
            cut = rng.randrange(len(text) + 1)
            node[text[:cut] + rng.choice("xyz_") + text[cut + rng.choice((0, 1)) :]] = node.pop(
                last
            )
        elif way == "add" and isinstance(node[last], dict):
            node[last][rng.choice(("extra", "delayed", "type", "from"))] = copy.deepcopy(
                rng.choice(VALUES)
            )
        elif way == "swap" and isinstance(node, dict):
            other = rng.choice(list(node))
            node[last], node[other] = node[other], node[last]
        else:
            way = "value"
            node[last] = copy.deepcopy(rng.choice(VALUES))
        told.append(f"{way} {'.'.join(map(str, path))}")
    return data, ", ".join(told)


def plain() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(PLATOON.read_text())
    data["base_directory"] = str(PLATOON.parent)
    return copy.deepcopy(data)


def _check_mutations(count: int, seed: int, tmp_path: Path, runs: int) -> None:
    rng = random.Random(seed)
    data = pickle.dumps(plain())
    accepted = []
    for _ in range(count):
        wrong, told = mutated(data, rng)
        try:
            scenario = make_scenario(wrong, "mutated")
            check_scenario(scenario, "inproc")
        except ConfigurationError as error:
            assert "\n" not in str(error), told
            continue
        except Exception as error:  # the place is told
            pytest.fail(f"{told}: {type(error).__name__}: {error}")
        accepted.append((wrong, told))
    assert accepted
    for number, (wrong, told) in enumerate(rng.sample(accepted, min(runs, len(accepted)))):
        wrong.update(duration="60ms", stop_latency="500ms")
        output = tmp_path / str(number)
        output.mkdir()
        try:
            run_inproc(make_scenario(wrong, "mutated"), output, record=False)
        except Exception as error:  # the edit is told
            pytest.fail(f"accepted, but fails: {told}: {type(error).__name__}: {error}")


def test_random_edits_are_refused_in_words_or_run(tmp_path: Path) -> None:
    _check_mutations(400, 1, tmp_path, runs=5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 5))
def test_many_random_edits_are_refused_in_words_or_run(seed: int, tmp_path: Path) -> None:
    _check_mutations(600, seed, tmp_path, runs=25)
