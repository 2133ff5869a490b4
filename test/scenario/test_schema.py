# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Scenario files: what is read, and how every wrong one is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import load_scenario, make_scenario, save_scenario

PLATOON = Path(__file__).parents[2] / "config" / "platoon.yaml"


def refused(text: str, tmp_path: Path, name: str = "a.yaml") -> str:
    """The message for a file of this content, without the file's name."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        load_scenario(path)
    message = str(caught.value)
    assert message.startswith(f"scenario {path}: ")
    return message.removeprefix(f"scenario {path}: ")


def refused_override(*overrides: str) -> str:
    """The message for the platoon with these overrides."""
    with pytest.raises(ConfigurationError) as caught:
        load_scenario(PLATOON, overrides)
    return str(caught.value).removeprefix(f"scenario {PLATOON}: ")


def test_the_platoon_loads() -> None:
    scenario = load_scenario(PLATOON)
    assert (scenario.name, scenario.duration, scenario.seed) == ("platoon", 60_000_000_000, 1)
    assert list(scenario.participants) == [
        *("world", "sensor1", "sensor2", "v2v", "cacc1", "cacc2", "referee")
    ]
    assert scenario.participants["sensor2"].inputs["odometry/leader"].source == (
        "world.odometry/leader",
    )
    assert scenario.participants["world"].inputs["control/follower1"].delayed
    assert scenario.base_directory == str(PLATOON.parent)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed=true", "seed: found true; allowed is an integer"),
        (
            "seed=010",
            "--set seed=010: not readable: found '010'; allowed is a number without a lead",
        ),
        ("seed='7'", "seed: found '7'; allowed is an integer"),
        ("watchdog_s='30'", "watchdog_s: found '30'; allowed is a number"),
        ("startup_s=on", "startup_s: found true; allowed is a number"),
        ("simulator.port=yes", "simulator.port: found true; allowed is an integer"),
    ],
)
def test_texts_and_truths_are_not_numbers(override: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_scenario(PLATOON, [override])
    assert message in str(caught.value) and "unicode string" not in str(caught.value)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("colour=red", "colour: unknown key"),
        ("participants.sensor1.step=3ms", "participants.sensor1.step: unknown key"),
        ("participants.sensor1.period=-3ms", "participants.sensor1.period: found '-3ms'; "),
        ("participants.sensor1.period=0", "participants.sensor1.period: found 0; "),
        ("participants.sensor1.offset=-1", "participants.sensor1.offset: found -1; "),
        ("duration=0s", "duration: found '0s'; allowed is 1ns or more"),
        (
            "duration=ten seconds",
            "duration: found 'ten seconds'; allowed is 0, or a number with its unit",
        ),
        ("duration=1.5", "duration: found 1.5; a time needs a unit: write 1.5s"),
        ("stop_latency=3 parsec", "stop_latency: found '3 parsec'; allowed is"),
        ("run_ahead=1s", "run_ahead: found 1s; it must be at most stop_latency (500ms)"),
        ("run_ahead=-1s", "run_ahead: found '-1s'; allowed is 0s or more"),
        ("run_ahead=1", "run_ahead: found 1; a time needs a unit: write 1s"),
        ("clock_step=251ms", "clock_step: found 251ms; it must be at most half of run_ahead"),
        ("seed=-1", "seed: found -1; allowed is a number of at least 0"),
        ("watchdog_s=0", "watchdog_s: found 0; allowed is a number above 0"),
        ("simulator.kind=3", "simulator.kind: found 3; allowed is a text"),
        ("simulator.kind=carla", "simulator: kind carla needs the port of the server"),
        ("simulator.port=70000", "simulator.port: found 70000; "),
        ("name=My Platoon", "name: found 'My Platoon'; allowed is a text of the form"),
        ("participants.Lead={model: x}", "participants.Lead: found 'Lead'; allowed is a text of"),
        (
            "participants.cacc1.model=null",
            "participants.cacc1.model: found null; allowed is a text",
        ),
        ("participants.x={}", "participants.x.model: missing"),
        ("participants.x=7", "participants.x: found 7; "),
        ("participants.cacc1.inputs.objects=7", "participants.cacc1.inputs.objects: found 7; "),
        (
            "participants.cacc1.outputs.control.schedule=often",
            "participants.cacc1.outputs.control.schedule: found 'often'; allowed is 'every'",
        ),
        ("participants.cacc1.outputs.control.topic=null", "cacc1.outputs.control.topic: found"),
        ("scene.limit=.nan", "scene.limit: found nan; allowed are texts, finite numbers"),
        ("scene={1: a}", "scene: found key 1; allowed are texts"),
    ],
)
def test_wrong_values_are_refused_with_place_found_and_allowed(override: str, message: str) -> None:
    assert message in refused_override(override)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed", "--set seed: allowed is key=value, with dots in the key"),
        ("=3", "--set =3: allowed is key=value, with dots in the key"),
        (
            "scen.map=x",
            "--set scen.map=x: no 'scen' there; found version, name, description,",
        ),
        ("name.x=3", "--set name.x=3: 'name' holds a plain value"),
        ("name.x.y=3", "--set name.x.y=3: no 'x' there; found nothing"),
        ("seed=[1", "--set seed=[1: not readable: "),
        ("scene={a: 1, a: 2}", "--set scene={a: 1, a: 2}: not readable: key 'a' appears twice"),
        ("scene=" + "[" * 5000, "not readable: nested too deeply"),
    ],
)
def test_wrong_overrides_are_refused(override: str, message: str) -> None:
    assert message in refused_override(override)


def test_overrides_are_yaml_applied_in_order_and_may_hold_the_separator() -> None:
    scenario = load_scenario(
        PLATOON,
        ["seed=7", "seed=8", "duration=2s", "scene.note=a=b", "scene.vehicles.leader.speed=20.5"],
    )
    assert (scenario.seed, scenario.duration, scenario.scene["note"]) == (8, 2_000_000_000, "a=b")
    assert scenario.scene["vehicles"]["leader"]["speed"] == 20.5


def test_an_override_changes_one_place_although_the_file_shares_it_by_an_alias() -> None:
    scenario = load_scenario(PLATOON, ["participants.cacc1.parameters.time_gap=0.9"])
    gaps = [scenario.participants[n].parameters["time_gap"] for n in ("cacc1", "cacc2")]
    assert gaps == [0.9, 0.6]


MINIMAL = "name: a\nduration: 1s\nparticipants:\n  p: {model: m, period: 10ms}\n"


def test_the_smallest_scenario_and_the_short_forms_of_inputs(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        MINIMAL + "  q: {model: m, period: 1ns, inputs: {a: p.x, b: [p.x, p.y], c: {from: p.x}}}\n"
    )
    inputs = load_scenario(path).participants["q"].inputs
    assert {name: port.source for name, port in inputs.items()} == {
        "a": ("p.x",),
        "b": ("p.x", "p.y"),
        "c": ("p.x",),
    }


def test_missing_keys_are_named(tmp_path: Path) -> None:
    assert refused("{}", tmp_path) == "name: missing; duration: missing; participants: missing"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.yaml", "name: [", "not readable: while parsing"),
        ("a.yaml", "name: \x00", "not readable: "),
        ("a.yaml", "a: b: c", "not readable: mapping values are not allowed in this context"),
        ("a.yaml", "!!python/object/apply:os.getcwd []", "not readable: found tag"),
        ("a.yaml", "a: &a [*a]", "alias 'a' contains itself"),
        ("a.yaml", "[" * 10_000, "not readable: nested too deeply"),
        ("a.yaml", "", "found nothing, not a mapping"),
        ("a.yaml", "- a\n- b", "found list, not a mapping"),
        ("a.yaml", MINIMAL + "  p: {model: n, period: 2}", "key 'p' appears twice"),
        ("a.yaml", MINIMAL + "seed: 1\nseed: 2", "key 'seed' appears twice"),
        ("a.json", "{", "not readable: Expecting property name"),
        ("a.json", "[]", "found list, not a mapping"),
        ("a.json", '{"a": 1, "a": 2}', "not readable: key 'a' appears twice"),
        ("a.json", '{"a": NaN}', "a: found nan; allowed are texts, finite numbers"),
        ("a.json", "[" * 100_000, "not readable: nested too deeply"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    assert message in refused(text, tmp_path, name)


def test_a_bomb_of_aliases_is_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    assert "too large; allowed are 300000 values" in refused("\n".join(lines), tmp_path)


def test_a_missing_file_a_directory_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    binary = tmp_path / "b.yaml"
    binary.write_bytes(b"\xff\xfe\x00")
    for path, message in [
        (tmp_path / "none.yaml", "there is no such file; cosim new --list"),
        (tmp_path, "Is a directory"),
        (binary, "not UTF-8 text"),
    ]:
        with pytest.raises(ConfigurationError, match=message) as caught:
            load_scenario(path)
        assert str(path) in str(caught.value)


def test_long_values_are_abbreviated_in_messages() -> None:
    assert len(refused_override("simulator.kind=" + "x" * 10_000)) < 250


def test_the_resolved_scenario_is_read_back_as_the_same(tmp_path: Path) -> None:
    scenario = load_scenario(PLATOON, ["seed=42"])
    save_scenario(scenario, tmp_path / "scenario.json")
    assert load_scenario(tmp_path / "scenario.json") == scenario


def test_a_recorded_scenario_of_an_earlier_version_holds_nanoseconds(tmp_path: Path) -> None:
    overrides = ["participants.sensor1.outputs.objects.latency=20ms"]
    overrides += ["participants.v2v.outputs.leader_to_follower1.latency={uniform: [1ms, 2ms]}"]
    scenario = load_scenario(PLATOON, [*overrides, "participants.referee.parameters.time_limit=9s"])
    data = scenario.model_dump(by_alias=True)  # times are numbers in it
    participants = data["participants"]
    participants["sensor1"]["outputs"]["objects"]["latency"] = 20_000_000
    heard = participants["v2v"]["outputs"]["leader_to_follower1"]
    heard["latency"] = {"uniform": [1_000_000, 2_000_000]}
    participants["referee"]["parameters"]["time_limit"] = 9_000_000_000
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(data))
    read = load_scenario(path)
    assert read.duration == scenario.duration
    check_scenario(read)
    outputs = read.participants["v2v"].outputs
    assert outputs["leader_to_follower1"].latency == {"uniform": ["1000000ns", "2000000ns"]}
    assert load_scenario(path, ["duration=2s"]).duration == 2_000_000_000
    with pytest.raises(ConfigurationError, match="duration: found 20; a time needs a unit: write"):
        load_scenario(path, ["duration=20"])


_PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.text(max_size=5)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=60)
@given(scene=st.dictionaries(st.text(max_size=4), _PLAIN, max_size=4))
def test_plain_data_of_models_travels_unchanged(
    scene: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = {**yaml.safe_load(MINIMAL), "scene": scene}
    scenario = make_scenario(data, "test")
    path = tmp_path_factory.mktemp("travel") / "scenario.json"
    save_scenario(scenario, path)
    read = load_scenario(path)
    assert json.dumps(read.scene) == json.dumps(scene)
    assert read == scenario


@settings(max_examples=80)
@given(data=st.dictionaries(st.sampled_from(["name", "duration", "participants", "x"]), _PLAIN))
def test_whatever_stands_in_a_file_the_error_is_ours(data: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="^scenario test: "):
        make_scenario(data, "test")


@pytest.mark.parametrize("name", ["clock", "recorder", "a_slave"])
def test_names_of_other_processes_are_refused(name: str) -> None:
    participant = {"model": "m", "period": "10ms"}
    data = {"name": "s", "duration": "1s", "participants": {"a": participant, name: participant}}
    with pytest.raises(ConfigurationError, match=f"participants.{name}: another process"):
        make_scenario(data, "test")
