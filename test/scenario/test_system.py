# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""From scenario to graph and models: wiring errors, random streams, independence."""

from __future__ import annotations

import inspect
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from support.behaviours import Scripted

from ros2_cosim.core.kernel import lookahead
from ros2_cosim.core.kernel.errors import ConfigurationError, ZeroDelayLoopError
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.realtime.run_control import Command, Request
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scenario.schema import Scenario, load_scenario, make_scenario
from ros2_cosim.core.scenario.system import build_graph, build_model
from ros2_cosim.core.scene import scene
from ros2_cosim.core.scene.scene import SceneSettings

PLATOON = Path(__file__).parents[2] / "config" / "platoon.yaml"
PEDAL = "ros2_cosim/msg/ControlCommand"


def system(**participants: dict[str, Any]) -> Scenario:
    """A scenario of these participants; each has period 10 ns unless it says otherwise."""
    filled = {}
    for name, settings in participants.items():
        outputs = {
            port: {"type": "std_msgs/msg/String", "topic": f"/{name}/{port}", **output}
            for port, output in settings.get("outputs", {}).items()
        }
        timing = {} if "activation" in settings else {"period": 10}
        filled[name] = {
            "model": f"{__name__}:Recorder",
            **timing,
            **settings,
            "outputs": outputs,
        }
    return make_scenario({"name": "t", "duration": 1000, "participants": filled}, "test")


def refused(scenario: Scenario) -> str:
    """The message with which the graph is refused."""
    with pytest.raises(ConfigurationError) as caught:
        build_graph(scenario)
    return str(caught.value)


def pedal(**more: Any) -> dict[str, Any]:
    """An output of a type of this project."""
    return {"type": PEDAL, **more}


def test_each_section_is_read_once_in_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file, its scene, and the parameters of each participant."""
    read: Counter[type[BaseModel]] = Counter()
    validate = BaseModel.model_validate.__func__

    def counted(kind: type[BaseModel], *arguments: Any, **options: Any) -> BaseModel:
        read[kind] += 1
        return validate(kind, *arguments, **options)

    monkeypatch.setattr(BaseModel, "model_validate", classmethod(counted))
    monkeypatch.setattr(scene, "_read", [])  # of runs before in this process
    request = RunRequest(PLATOON, set=("duration=100ms",), shape="inproc", out=tmp_path / "out")
    with bring_up(request) as prepared, InprocRun(prepared) as run:
        run.request(Request(Command.UNTIL, time_ns=50_000_000))
        wanted = [
            declare(prepared.scenario, name).model.kind.Parameters
            for name in prepared.scenario.participants
        ]
    wanted += [Scenario, SceneSettings]
    assert {kind: read[kind] for kind in wanted} == Counter(wanted)


def test_the_platoon_has_a_graph() -> None:
    graph = build_graph(load_scenario(PLATOON))
    assert graph.ranks["world"] == 0
    assert graph.ranks["sensor1"] < graph.ranks["cacc1"]
    silent = {
        (name, port.name)
        for name, spec in graph.participants.items()
        for port in spec.outputs
        if lookahead.needs_promises(graph, name, port.name)
    }
    assert silent == {
        ("world", "collision"),
        # They choose their next activation: it comes early if the sensor is silent.
        ("cacc1", "control"),
        ("cacc2", "control"),
        ("v2v", "leader_to_follower1"),
        ("v2v", "leader_to_follower2"),
        ("v2v", "follower1_to_follower2"),
    }
    assert lookahead.separation(graph, "sensor1", "objects") == 40_000_000
    assert lookahead.separation(graph, "cacc1", "control") is None


def test_a_zero_delay_loop_in_a_file_is_named_with_both_ways_out() -> None:
    scenario = load_scenario(
        PLATOON, ["participants.world.inputs.control/follower1={from: cacc1.control}"]
    )
    with pytest.raises(ZeroDelayLoopError) as caught:
        build_graph(scenario)
    message = str(caught.value)
    for part in ("cacc1.control -> world.control/follower1", "latency above zero", "'delayed'"):
        assert part in message


@pytest.mark.parametrize(
    ("participants", "message"),
    [
        (
            {"a": {"outputs": {"x": {"type": "std_msgs/msg/Nothing"}}}},
            "participants.a.outputs.x.type: ",
        ),
        (
            {
                "a": {"outputs": {"x": pedal(topic="/same")}},
                "b": {"outputs": {"y": pedal(topic="/same")}},
            },
            "topic /same is written by both a.x and b.y; each output needs its own topic",
        ),
        (
            {"a": {"outputs": {"x": pedal(topic="/s"), "y": pedal(topic="/s")}}},
            "topic /s is written by both a.x and a.y",
        ),
        (
            {"a": {"inputs": {"in": "b"}}},
            "participant 'a', input 'in': found 'b'; allowed is participant.port",
        ),
        ({"a": {"inputs": {"in": "b.x"}}}, "there is no participant 'b'; participants are a"),
        ({"a": {"inputs": {"in": []}}}, "participant 'a': nothing writes to input port 'in'"),
        (
            {"a": {"inputs": {"in": "b.x"}}, "b": {"outputs": {"y": pedal()}}},
            "participant 'b' has no output port 'x'; it has y",
        ),
        (
            {"a": {"outputs": {"x": pedal(latency="5 parsec")}}},
            "participants.a.outputs.x.latency: found '5 parsec'; allowed is",
        ),
        (
            {"a": {"outputs": {"x": pedal(latency={"uniform": ["3ns", "1ns"]})}}},
            "participants.a.outputs.x.latency.uniform[1]: found '1ns'; allowed is 3ns or more",
        ),
        ({"a": {"activation": None}}, "participant 'a' has neither a period nor an activation"),
        ({"a": {"activation": {"any": ["in"]}, "offset": 5}}, "offset is 5 ns, but there is no"),
        ({"a": {"activation": {"any": ["in"]}}}, "the activation names port 'in'; input ports"),
    ],
)
def test_wrong_wiring_is_refused(participants: dict[str, Any], message: str) -> None:
    assert message in refused(system(**participants))


class Recorder(Scripted):
    """A model for the tests below."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        super().__init__()
        self.stop_reason = f"{context.name} {parameters.get('x')} {context.shape}"


def test_a_model_may_be_any_that_is_named_by_module_and_class() -> None:
    scenario = system(a={"model": f"{__name__}:Recorder", "parameters": {"x": 1}})
    model = build_model(scenario, "a", "inproc")
    assert isinstance(model, Recorder)
    assert model.stop_reason == "a 1 inproc"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "warp_drive",
            "participants.a.model: found 'warp_drive'; allowed are autoware_control, autow",
        ),
        ("v2v_chanel", "participants.a.model: found 'v2v_chanel'; did you mean 'v2v_channel'? "),
        (
            "no.such.module:make",
            "model 'no.such.module:make' cannot be loaded: ModuleNotFoundError: No module named",
        ),
        ("numpy:make", "model 'numpy:make' cannot be loaded: AttributeError: "),
        (":make", "found ':make'; "),
        (".x:make", "model '.x:make' cannot be loaded: "),
        ("numpy:__name__", "found 'numpy:__name__', which is not a model; allowed are classes"),
        ("json:loads", "found 'json:loads'; the Python standard library has no models"),
        ("models/mine.py:Mine", "allowed is module:Class with a module that can be imported"),
        (
            "support.behaviours:wire",
            "which is not a model; allowed are classes derived from Model, and",
        ),
    ],
)
def test_models_that_cannot_be_made_are_named(model: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_model(system(a={"model": model}), "a", "inproc")
    assert message in str(caught.value)


class Wrong(Scripted):
    """A model with a genuine fault in its constructor."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self.gain = 1.0 if "3" < parameters["x"] else 2.0


def test_a_fault_in_a_constructor_is_shown_as_what_it_is_with_its_line() -> None:
    scenario = system(a={"model": f"{__name__}:Wrong", "parameters": {"x": 3}})
    with pytest.raises(ConfigurationError) as caught:
        build_model(scenario, "a", "inproc")
    text = str(caught.value)
    assert text.startswith(f"participants.a.model: '{__name__}:Wrong' cannot be made: TypeError: ")
    assert "'<' not supported between instances of 'str' and 'int'" in text
    line = inspect.getsourcelines(Wrong.__init__)[1] + 1
    assert f"({__file__}, line {line})" in text


class Leaving(Scripted):
    """A model whose constructor ends the process."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        raise SystemExit(3)


def test_a_constructor_does_not_end_the_process() -> None:
    """It may be that of other models, or of a page that starts runs."""
    scenario = system(a={"model": f"{__name__}:Leaving"})
    with pytest.raises(ConfigurationError, match="cannot be made: SystemExit: 3 "):
        build_model(scenario, "a", "inproc")


def test_topic_and_type_of_a_port() -> None:
    settings = load_scenario(PLATOON).outputs_of("cacc1")["control"]
    assert (settings.topic, settings.type) == ("/follower1/control", PEDAL)


RADIO = {"latency": {"normal": {"mean": "20ns", "std": "4ns", "min": "5ns", "max": "60ns"}}}
STATUS = {"type": "ros2_cosim/msg/StaticObjects", **RADIO}


def stamps_and_traces(scenario: Scenario) -> tuple[dict[str, list[int]], dict[str, str]]:
    """Stamps of all messages and trace digests, by participant."""
    from ros2_cosim.core.messages.records import StaticObjects

    graph = build_graph(scenario)
    stamps: dict[str, list[int]] = {name: [] for name in graph.order}

    def answer(step: Step) -> dict[str, Any]:
        return {"x": StaticObjects(())}

    scheduler = SequentialScheduler(
        graph,
        {name: Scripted(answer) for name in graph.order},
        observer=lambda name, port, sample, data: stamps[name].append(sample.stamp),
    )
    scheduler.run(scenario.duration)
    return stamps, {name: r.trace.hexdigest() for name, r in scheduler.runtimes.items()}


def test_random_latencies_depend_on_seed_participant_and_port_alone() -> None:
    a = {"outputs": {"x": STATUS}}
    listener = {"inputs": {"in": "a.x"}, "outputs": {"x": STATUS}}
    stamps, traces = stamps_and_traces(system(a=a, b=listener))
    assert len(set(stamps["a"])) > 20
    again, traces_again = stamps_and_traces(system(c=listener, z=a, b=listener, a=a))
    assert {name: again[name] for name in "ab"} == stamps
    assert {name: traces_again[name] for name in "ab"} == traces
    assert again["z"] != again["a"]
    scenario = system(a=a, b=listener)
    reseeded, _ = stamps_and_traces(scenario.model_copy(update={"seed": 2}))
    assert reseeded["a"] != stamps["a"]
