# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A participant that is as at its start from a time on, while the others go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import counter_models
from support.counter_models import Kept

from ros2_cosim.core.kernel.errors import ConfigurationError, LifecycleError
from ros2_cosim.core.kernel.layers import LayeredModel
from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.realtime.run_settings import AS_FAST_AS_POSSIBLE
from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.changes_by_hand import ChangesByHand
from ros2_cosim.core.scenario.changing import Changes, ChangesTaken
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.core.scenario.schema import ChangeSettings, Scenario, load_scenario, make_scenario
from ros2_cosim.core.scenario.system import bare_model, build_graph, layered_model

TESTS = Path(__file__).resolve().parents[1]
PLATOON = TESTS.parent / "config" / "platoon.yaml"
MS = 1_000_000


def reset_at(*times: str, name: str = "counter") -> list[dict[str, Any]]:
    return [{"at": at, "set": f"participants.{name}.reset", "to": True} for at in times]


def made(kind: str = "Counter", **more: Any) -> Scenario:
    return make_scenario(counter_models.scenario(kind, **more), "test")


def run(scenario: Scenario, out: Path, shape: str = "inproc") -> Summary:
    return run_request(RunRequest(scenario, shape=shape, out=out))


def sent(scenario: Scenario, out: Path, *ports: str) -> list[list[Any]]:
    """What the counter sends on its ports: (time [ms], number, random number)."""
    seen: list[list[Any]] = [[] for _ in ports]

    def take(into: list[Any]) -> Any:
        return lambda s: into.append((s.stamp // MS, s.value.ax, s.value.ay))

    watch = {("counter", port): take(into) for port, into in zip(ports, seen, strict=True)}
    request = RunRequest(scenario, shape="inproc", out=out, record=False)
    with bring_up(request) as prepared, InprocRun(prepared, watch=watch) as driven:
        driven.finish()
    return seen


@pytest.mark.parametrize("kind", ["Counter", "Kept"])
def test_the_model_is_as_at_its_start(kind: str, tmp_path: Path) -> None:
    """Its state and its random numbers; what is sent once has been sent."""
    Kept.calls.clear()
    (plain,) = sent(made(kind), tmp_path / "plain", "count")
    once = made(kind, changes=reset_at("55ms", "120ms"))
    counted, begun = sent(once, tmp_path / "reset", "count", "begun")
    values = [each[1:] for each in plain]
    assert len(values) == 20
    assert [each[1:] for each in counted] == values[:6] + values[:6] + values[:8]
    assert [time for time, *_ in counted] == [time for time, *_ in plain]
    assert [time for time, *_ in begun] == [0]
    if kind == "Kept":
        again = ["stop", "reset", "ready"]
        assert Kept.calls == ["ready", "stop", "close", "ready", *again, *again, "stop", "close"]


def test_what_was_changed_stays(tmp_path: Path) -> None:
    factor = "participants.counter.parameters.factor"
    for kind in ("Counter", "Kept"):
        changes = [{"at": "30ms", "set": factor, "to": 10.0}, *reset_at("50ms")]
        (counted,) = sent(made(kind, changes=changes), tmp_path / kind, "count")
        assert [value for _, value, _ in counted[:7]] == [1, 2, 3, 40, 50, 10, 20]


def test_the_shapes_agree(tmp_path: Path, ros_domain: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    scenario = made(changes=reset_at("55ms"))
    traces = {s: run(scenario, tmp_path / s, s).trace_sha256 for s in ("inproc", "composed", "ros")}
    assert len(set(traces.values())) == 1, traces
    assert run(made(), tmp_path / "plain").trace_sha256 not in traces.values()


def test_a_controller_of_the_platoon_begins_anew(tmp_path: Path) -> None:
    """At 0 nothing changes, for nothing has happened; later the platoon differs from there on."""
    sets = ["duration=6s"]
    plain = run(load_scenario(PLATOON, sets), tmp_path / "plain").trace_sha256
    at = "changes=[{{at: {}, set: participants.cacc1.reset, to: true}}]"
    first = run(load_scenario(PLATOON, [*sets, at.format("0s")]), tmp_path / "first").trace_sha256
    later = run(load_scenario(PLATOON, [*sets, at.format("3s")]), tmp_path / "later").trace_sha256
    assert first == plain != later


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (reset_at("1ms", name="nobody"), "found 'participants.nobody.reset'; allowed during"),
        ([{**reset_at("1ms")[0], "to": False}], "counter.reset: found False; allowed is true"),
    ],
)
def test_wrong_resets_are_found_by_check(change: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=said):
        run(made(changes=change), tmp_path / "out")


def test_a_simulator_is_not_reset_while_the_others_go_on(tmp_path: Path) -> None:
    sets = ["changes=[{at: 1s, set: participants.world.reset, to: true}]"]
    with pytest.raises(ScenarioError, match="'world' cannot be reset: it stands for a simulator"):
        run(load_scenario(PLATOON, sets), tmp_path / "out")


def test_a_model_that_cannot_begin_anew_is_not_reset(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="'counter' cannot be reset: its model holds"):
        run(made("Open", changes=reset_at("1ms")), tmp_path / "out")


class Standing:
    """The counter as a run that can be changed has it, between two activations."""

    def __init__(self, scenario: Scenario) -> None:
        def make() -> Any:
            return bare_model(scenario, "counter", "ros")

        model = layered_model(scenario, "counter", make, AS_FAST_AS_POSSIBLE)
        self.runtime = ParticipantRuntime(build_graph(scenario), "counter", model)
        self.taken = ChangesTaken(scenario, "counter")

    def counts(self, number: int) -> list[float]:
        """What the next activations send."""
        sent = [self.runtime.activate_time() for _ in range(number)]
        return [sample.value.ax for outputs in sent for port, sample, _ in outputs if port == 0]


def test_a_reset_by_hand_is_the_declared_one() -> None:
    """It acts on what is later than the last activation; its record changes nothing."""
    scenario = made()
    counter = Standing(scenario)
    model = counter.runtime.model
    assert isinstance(model, LayeredModel)
    assert counter.counts(2) == [1, 2]
    recorded: list[Any] = []

    def taken(changes: Any) -> None:
        recorded[:] = changes

    noted = ChangesByHand(scenario, lambda: 0, taken)
    assert model.find(Changes) is None
    assert counter.taken.reset(counter.runtime) == 10 * MS + 1
    assert model.find(Changes) is not None
    assert counter.counts(2) == [1, 2]
    noted.note_resets("counter", [10 * MS + 1])
    noted.note_resets("counter", [10 * MS + 1])
    counter.taken.take(counter.runtime, recorded)
    assert counter.counts(1) == [3]
    assert [(each.at, each.set, each.to) for each in recorded] == [
        (10 * MS + 1, "participants.counter.reset", True)
    ]
    declared = scenario.model_copy(update={"changes": tuple(recorded)})
    assert Standing(declared).counts(5) == [1, 2, 1, 2, 3]


def test_another_activation_of_the_same_time_comes_before_the_reset() -> None:
    changes = [ChangeSettings(at=10 * MS + 1, set="participants.counter.reset", to=True)]
    model = Standing(made().model_copy(update={"changes": tuple(changes)})).runtime.model
    times = [n * MS for n in (0, 10, 10, 20, 30)]
    found = [model.activate(Step(time, {}, {}))["count"].ax for time in times]
    assert found == [1, 2, 3, 1, 2]


def test_a_state_that_was_saved_knows_its_resets() -> None:
    """One that goes back to it is not reset again."""
    model = Standing(made(changes=reset_at("15ms"))).runtime.model
    model.activate(Step(0, {}, {}))
    model.activate(Step(20 * MS, {}, {}))
    state = json.loads(json.dumps(model.save_state()))
    assert state[0] == {"changes": [0, 15 * MS]}


def test_who_cannot_be_reset_by_hand() -> None:
    counter = Standing(made("Open"))
    with pytest.raises(LifecycleError, match="'counter' cannot be reset: its model holds"):
        counter.taken.check_reset(counter.runtime)
    with pytest.raises(ConfigurationError, match="by hand a participant is reset as a managed"):
        ChangesByHand(made(), lambda: 0, lambda changes: None).take(
            "participants.counter.reset", "true", 0
        )
