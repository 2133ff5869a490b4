# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Scenario files that include others, take parameters, and describe a platoon by its size."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.documents.former_keys import FORMER_KEYS
from ros2_cosim.core.documents.plain_data import merged
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.composition import MAX_FILES, MAX_SUBSTITUTIONS, compose
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.core.scenario.schema import load_scenario, save_scenario

ROOT = Path(__file__).parents[2]
PLATOON = ROOT / "config" / "platoon.yaml"
#: What config/platoon.yaml says, by the template.
IN_SHORT = f"""
name: platoon
duration: 60s
scene:
  map: {ROOT / "config" / "highway.xodr"}
  roadblock: {{lane: -2, s: 1000.0}}
platoon:
  vehicles: 3
  lane: -2
  s: 700.0
  speed: 25.0
  controller:
    {{law_parameters: {{kp: 0.3, kd: 1.2}}, set_speed: 38.0, hold_rate: null, emergency: null}}
  v2v: {{parameters: {{loss: 0.02}}}}
  driver: {{stop_gap: 7.0, deceleration: 2.5}}
participants:
  referee: {{parameters: {{time_limit: 55s, standstill_time: 1s, min_gap_limit: 0.5}}}}
"""


def written(directory: Path, **files: str) -> Path:
    """Write files NAME.yaml; the first is returned."""
    paths = [directory / f"{name}.yaml" for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths[0]


def refused(path: Path, *overrides: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        compose(path, overrides)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(f"scenario {path}: ")


def test_a_file_completes_and_changes_what_it_includes(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        top="include: [base.yaml, more.yaml]\nname: top\nscene: {roadblock: null, a: {y: 3}}\n",
        base="name: base\nseed: 4\nscene: {roadblock: {s: 1}, a: {x: 1, y: 2}, l: [1, 2]}\n",
        more="seed: 5\nscene: {l: [3]}\n",
    )
    data = compose(path)
    assert data == {
        "name": "top",
        "seed": 5,
        "scene": {"a": {"x": 1, "y": 3}, "l": [3]},
        "base_directory": str(tmp_path),
    }


def test_an_include_is_relative_to_its_own_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    written(tmp_path / "sub", middle="include: inner.yaml\n", inner="seed: 9\n")
    assert compose(written(tmp_path, top="include: sub/middle.yaml\n"))["seed"] == 9


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"top": "include: top.yaml\n"}, "include: found 'top.yaml', which includes itself"),
        (
            {"top": "include: [a.yaml]\n", "a": "include: b.yaml\n", "b": "include: a.yaml\n"},
            "include: found 'a.yaml', which includes itself (top.yaml -> a.yaml -> b.yaml",
        ),
        ({"top": "include: [3]\n"}, "include.0: found 3; allowed is the path of a file"),
        ({"top": "include: /etc/passwd\n"}, "include: found '/etc/passwd'; allowed is the path"),
        ({"top": "include: none.yaml\n"}, "include: found 'none.yaml'; there is no file"),
    ],
)
def test_wrong_includes(tmp_path: Path, files: dict[str, str], message: str) -> None:
    assert message in refused(written(tmp_path, **files))


def test_includes_are_bounded(tmp_path: Path) -> None:
    path = written(tmp_path, top=f"include: [{'a.yaml, ' * MAX_FILES}]\n", a="seed: 1\n")
    assert f"found more than {MAX_FILES} files" in refused(path)


@given(
    *[st.dictionaries(st.sampled_from("abc"), st.integers() | st.dictionaries(
        st.sampled_from("xy"), st.integers() | st.none()
    ), max_size=3)] * 3
)  # fmt: skip
def test_merging_is_last_writer_wins(a: Any, b: Any, c: Any) -> None:
    assert merged(a, {}) == a
    for key, value in merged(merged(a, b), c).items():
        if not isinstance(value, dict):
            assert value in (a.get(key), b.get(key), c.get(key))
    assert all(merged(a, b)[key] == value for key, value in b.items() if isinstance(value, int))


def test_parameters_keep_their_type_and_become_text_within_a_text(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        top="parameters: {n: 3, x: 0.5, yes_: true, nil: null, t: abc}\n"
        "scene: {a: '${n}', b: ['${x}', '${yes_}', '${nil}'], c: 'v${n}_${t}', d: '$${n}'}\n",
    )
    scene = compose(path)["scene"]
    assert scene == {"a": 3, "b": [0.5, True, None], "c": "v3_abc", "d": "${n}"}
    assert compose(path, ["parameters.n=7"])["scene"]["c"] == "v7_abc"
    assert "parameters" not in compose(path)


def test_a_file_without_parameters_keeps_its_texts(tmp_path: Path) -> None:
    assert compose(written(tmp_path, top="description: '${HOME}'\n"))["description"] == "${HOME}"


@pytest.mark.parametrize(
    ("text", "overrides", "message"),
    [
        ("parameters: {n: 3}\nseed: '${m}'\n", (), "seed: found ${m}; allowed are the parameters"),
        ("parameters: {n: [1]}\n", (), "parameters.n: found list; allowed are a number"),
        ("parameters: {N-1: 1}\n", (), "parameters: found the name 'N-1'; allowed is"),
        ("parameters: 5\n", (), "parameters: found 5; allowed is a mapping"),
        (f"parameters: {{n: {'x' * 201}}}\n", (), "parameters.n: found str; allowed are a number"),
        ("parameters: {n: 3}\n", ("parameters.m=4",), "has no parameter 'm'; it has n"),
        ("seed: 3\n", ("parameters.m=4",), "no 'parameters' there; found seed, base_directory"),
    ],
)
def test_wrong_parameters(
    tmp_path: Path, text: str, overrides: tuple[str, ...], message: str
) -> None:
    assert message in refused(written(tmp_path, top=text), *overrides)


def test_uses_of_parameters_are_bounded(tmp_path: Path) -> None:
    uses = "${a}" * (MAX_SUBSTITUTIONS + 1)
    path = written(tmp_path, top=f"parameters: {{a: {'x' * 200}}}\ndescription: '{uses}'\n")
    assert f"found more than {MAX_SUBSTITUTIONS} uses" in refused(path)


def test_the_template_is_the_shipped_platoon(tmp_path: Path) -> None:
    path = written(tmp_path, short=IN_SHORT)
    by_hand = ["scene.vehicles.follower1.s=678.2", "scene.vehicles.follower2.s=656.4"]
    summary = run_inproc(load_scenario(path, by_hand), tmp_path / "out", record=False)
    golden = json.loads((ROOT / "test" / "golden" / "traces.json").read_text())["runs"]
    (expected,) = (entry for entry in golden if entry["name"] == "platoon_seed_1")
    assert summary.trace_sha256 == expected["trace_sha256"]


@pytest.mark.parametrize("vehicles", [1, 2, 20])
@pytest.mark.parametrize("hears", ["leader_and_predecessor", "predecessor", "nothing"])
def test_a_platoon_of_any_length_is_wired(tmp_path: Path, vehicles: int, hears: str) -> None:
    changes = [f"platoon.vehicles={vehicles}", f"platoon.v2v.hears={hears}"]
    scenario = load_scenario(written(tmp_path, short=IN_SHORT), changes)
    graph = check_scenario(scenario, "inproc")
    assert sum(name.startswith("cacc") for name in graph.participants) == vehicles - 1
    assert len(scenario.scene["vehicles"]) == vehicles
    links = {"leader_and_predecessor": 2 * (vehicles - 1) - 1, "predecessor": vehicles - 1}
    count = len(scenario.participants["v2v"].outputs) if "v2v" in scenario.participants else 0
    assert count == max(0, links.get(hears, 0))
    for name, participant in scenario.participants.items():
        if name.startswith("sensor"):
            assert len(participant.inputs) == vehicles + 1


def test_the_file_holds_before_the_template(tmp_path: Path) -> None:
    data = yaml.safe_load(IN_SHORT)
    data["participants"] = {
        "cacc2": {"parameters": {"law": "path_acc", "law_parameters": None}},
        "referee": None,
    }
    data["scene"]["vehicles"] = {"cutter": {"lane": -1, "s": 640.0, "speed": 25.0, "driver": {}}}
    path = tmp_path / "a.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    scenario = load_scenario(path, ["participants.cacc1.parameters.time_gap=0.9"])
    check_scenario(scenario, "inproc")
    assert scenario.participants["cacc2"].parameters["law"] == "path_acc"
    assert scenario.participants["cacc2"].parameters["time_gap"] == 0.6
    assert scenario.participants["cacc1"].parameters["time_gap"] == 0.9
    assert "referee" not in scenario.participants
    assert list(scenario.scene["vehicles"])[-1] == "cutter"
    assert "odometry/cutter" in scenario.participants["sensor1"].inputs


def test_a_fault_of_the_template_is_told_once(tmp_path: Path) -> None:
    path = written(tmp_path, short=IN_SHORT)
    changes = ["platoon.vehicles=9", "platoon.controller.hold=1"]
    with pytest.raises(ScenarioError) as caught:
        check_scenario(load_scenario(path, [*changes, "participants.cacc2.parameters.old=2"]))
    first, own, *more = caught.value.faults
    assert first.startswith("participants.cacc1.parameters.hold: unknown key; did you ")
    assert first.endswith(" (the same of cacc2, cacc3, cacc4, cacc5, cacc6, 2 more)")
    assert own.startswith("participants.cacc2.parameters.old: unknown key")
    assert not more


def test_background_traffic_of_a_platoon_is_seen_by_its_sensors(tmp_path: Path) -> None:
    path = written(tmp_path, short=IN_SHORT)
    before = compose(path)["participants"]
    assert "traffic" not in before["world"]["outputs"]
    participants = compose(path, ["platoon.traffic=5"])["participants"]
    assert participants["world"]["parameters"]["traffic"] == 5
    assert participants["world"]["outputs"]["traffic"]["type"] == "ros2_cosim/msg/RoadUsers"
    for sensor in ("sensor1", "sensor2"):
        assert participants[sensor]["inputs"]["traffic"] == "world.traffic"
    # What the file says of the world holds; 0 vehicles leave those of other clients.
    more = ["platoon.traffic=0", "participants.world.parameters.traffic=3"]
    assert compose(path, more)["participants"]["world"]["parameters"]["traffic"] == 3
    check_scenario(load_scenario(path, ["platoon.traffic=5"]), "inproc")
    message = refused(path, "platoon.traffic=501")
    assert message == "platoon.traffic: found 501; allowed is a number of at most 500"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("platoon.vehicles=0", "platoon.vehicles: found 0; allowed is a number of at least 1"),
        ("platoon.vehicles=201", "platoon.vehicles: found 201; allowed is a number of at most 200"),
        ("platoon.vehicels=4", "platoon.vehicels: unknown key; did you mean 'vehicles'?"),
        ("platoon=3", "platoon: found 3; allowed is a mapping"),
        ("platoon.v2v.hears=all", "platoon.v2v.hears: found 'all'; allowed is"),
    ],
)
def test_wrong_platoons(tmp_path: Path, change: str, message: str) -> None:
    assert message in refused(written(tmp_path, short=IN_SHORT), change)


def test_a_platoon_starts_in_the_direction_of_its_lane(tmp_path: Path) -> None:
    path = written(tmp_path, short=IN_SHORT)
    behind = compose(path)["scene"]["vehicles"]["follower1"]["s"]
    assert behind == pytest.approx(700.0 - 21.792)
    data = compose(path, ["platoon.lane=2"])
    assert data["scene"]["vehicles"]["follower1"]["s"] == pytest.approx(700.0 + 21.792)


def test_the_gap_between_vehicles_counts_from_their_ends(tmp_path: Path) -> None:
    path = written(tmp_path, short=IN_SHORT)
    start = compose(path, ["platoon.vehicle={length: 6.0}"])["scene"]["vehicles"]["follower1"]["s"]
    assert start == pytest.approx(700.0 - 21.792 - (6.0 - 4.792))
    wrong = load_scenario(path, ["platoon.vehicle={length: long}"])
    with pytest.raises(ScenarioError, match="scene.vehicles.leader.length: found 'long'; allowed"):
        check_scenario(wrong, "inproc")


STORY = ROOT / "config" / "openscenario" / "overtaking.xosc"
JOIN = ROOT / "config" / "library" / "join.yaml"
#: Key that is gone -> where a scenario has its place, and what is set there.
GONE_AT = {
    "openscenario": (STORY, "{}=1"),
    "participants.storyboard": (STORY, "{}=1"),
    "participants.*": (PLATOON, "participants.cacc1{}=1"),
    "manoeuvre.*.brake": (PLATOON, "scene.vehicles.leader.driver={{manoeuvre: [{{brake: 1}}]}}"),
    "loss": (PLATOON, "participants.v2v.parameters.loss={{p_gb: 0, p_bg: 0, {last}: 1}}"),
    "parameters.radio": (PLATOON, "participants.v2v.parameters.radio={{{last}: 1}}"),
    "parameters.denm": (PLATOON, "participants.v2v.parameters.denm={{{last}: 1}}"),
    "parameters.manoeuvre": (JOIN, "participants.cacc3.parameters.manoeuvre.{last}=1"),
    "coupling": (
        PLATOON,
        "participants.cacc1.coupling={{lateness: {{probability: 1, {last}: 1}}}}",
    ),
    "ros_bridge": (PLATOON, "ros_bridge={{{last}: world}}"),
    "autoware": (PLATOON, "autoware={{{last}: world}}"),
}


@pytest.mark.parametrize(("key", "now"), FORMER_KEYS.items())
def test_a_key_that_is_gone_is_refused_with_what_is_written_instead(
    tmp_path: Path, key: str, now: str
) -> None:
    start = max((each for each in GONE_AT if key.startswith(each)), key=len, default="")
    path, change = GONE_AT.get(start) or (written(tmp_path, short=IN_SHORT), "{}=1")
    last = key.rpartition(".")[2]
    given = key.removeprefix(start) if start == "participants.*" else key
    with pytest.raises(ConfigurationError, match=rf"\b{last}: gone; allowed is {re.escape(now)}"):
        check_scenario(load_scenario(path, [change.format(given, last=last)]), "inproc")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"| `{key}` | {now} |" in changelog


def test_a_default_of_the_template_can_be_changed(tmp_path: Path) -> None:
    path = written(tmp_path, short=IN_SHORT)
    data = compose(path, ["platoon.sensor.parameters.detection_range=80.0"])
    assert data["participants"]["sensor2"]["parameters"]["detection_range"] == 80.0
    assert "platoon.censor: unknown key" in refused(path, "platoon.censor.period=1ms")


@pytest.mark.parametrize(
    ("speed", "manoeuvre", "expected"),
    [
        (20.0, [], 30.0),
        (20.0, [{"ramp": {"speed": 0.0, "acceleration": 2.0}}], 30.0),
        (0.0, [{"ramp": {"speed": 14.0, "acceleration": 1.0}}, {"constant": "5s"}], 21.0),
        (20.0, [{"when": {"time": "9s"}, "ramp": {"speed": 30.0, "acceleration": 1.0}}], 45.0),
        (
            20.0,
            [
                {"ramp": {"speed": 0.0, "acceleration": 2.0}},
                {"sine": {"amplitude": 6.0, "period": "9s"}},
            ],
            30,
        ),
        (20.0, [{"sweep": {"amplitude": 2, "start": 0.1, "end": 1, "duration": "9s"}}], 33.0),
        (10.0, [{"stop_and_go": {"speed": 12.0}}], 18.0),
        (20.0, [{"cycle": "nedc"}], 50.0),
        (0.0, [{"cycle": "ece15"}], 1.5 * 50.0 / 3.6),
        (0.0, [], 1.0),
    ],
)
def test_followers_may_drive_faster_than_the_leader_ever_does(
    tmp_path: Path, speed: float, manoeuvre: list[Any], expected: float
) -> None:
    section: dict[str, Any] = {"vehicles": 2, "lane": -2, "s": 700.0, "speed": speed}
    section["driver"] = {"manoeuvre": manoeuvre}
    scenario = {"name": "fast", "duration": "5s", "platoon": section}
    data = compose(written(tmp_path, fast=yaml.safe_dump(scenario)))
    assert data["participants"]["cacc1"]["parameters"]["set_speed"] == pytest.approx(expected)


def test_a_wrong_manoeuvre_of_the_leader_is_named_where_it_stands(tmp_path: Path) -> None:
    path = written(tmp_path, short=IN_SHORT)
    message = refused(path, "platoon.driver={manoeuvre: [{ramp: {speed: 5}}]}")
    assert "platoon.driver.manoeuvre.0.ramp.acceleration: missing" in message


def test_a_file_of_speeds_from_a_standstill_needs_the_set_speed(tmp_path: Path) -> None:
    path = written(tmp_path, short=IN_SHORT)
    changes = ["platoon.speed=0", "platoon.driver={manoeuvre: [{csv: {file: way.csv}}]}"]
    assert compose(path, changes)["participants"]["cacc1"]["parameters"]["set_speed"] == 38.0
    message = refused(path, *changes, "platoon.controller={}")
    assert message.startswith("platoon.controller.set_speed: missing; behind a leader")


def test_a_platoon_starts_from_a_standstill_on_a_slope(tmp_path: Path) -> None:
    ramp = {"ramp": {"speed": 12.0, "acceleration": 1.5}}
    section: dict[str, Any] = {"vehicles": 3, "lane": -1, "s": 800.0, "speed": 0.0}
    section["driver"] = {"manoeuvre": [ramp, {"ramp": {"speed": 0.0, "acceleration": 3.0}}]}
    scenario: dict[str, Any] = {"name": "uphill", "duration": "41s", "platoon": section}
    limits = {"time_limit": "40s", "min_gap_limit": 1.5}
    scenario["participants"] = {"referee": {"parameters": limits}}
    scenario["scene"] = {"map": str(ROOT / "config" / "hill.xodr")}
    path = written(tmp_path, uphill=yaml.safe_dump(scenario))
    summary = run_inproc(load_scenario(path), tmp_path / "out", record=False)
    assert {each.name: each.passed for each in summary.verdicts} == {
        "no_collision": True,
        "min_gap_m": True,
        "stands_still_by_s": True,
    }


def test_a_file_need_not_name_the_simulator_whose_options_are_set(tmp_path: Path) -> None:
    changes = ["simulator.options.vehicles=100", "simulator.kind=sumo"]
    scenario = load_scenario(written(tmp_path, short=IN_SHORT), changes)
    assert (scenario.simulator.kind, scenario.simulator.options) == ("sumo", {"vehicles": 100})


def test_the_resolved_scenario_is_read_again_unchanged(tmp_path: Path) -> None:
    scenario = load_scenario(written(tmp_path, short=IN_SHORT))
    save_scenario(scenario, tmp_path / "scenario.json")
    assert load_scenario(tmp_path / "scenario.json") == scenario
