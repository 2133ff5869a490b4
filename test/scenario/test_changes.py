# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Parameters that change, and faults that are switched, while a run goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.layers import LayeredModel
from ros2_cosim.core.kernel.model import FullModel, Model
from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.realtime.run_control import Command, Request
from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.core.run.replay import prepare_replay
from ros2_cosim.core.run.replay_into import replay_into
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.changes import MAX_BY_HAND
from ros2_cosim.core.scenario.changes_by_hand import ChangesByHand, messages_of, settings_of
from ros2_cosim.core.scenario.changing import Changes, ChangesTaken, changes_layer
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.core.scenario.schema import ChangeSettings, Scenario, load_scenario
from ros2_cosim.core.scenario.system import build_graph
from ros2_cosim.driving.car_following import DrivingParameters

CONFIG = Path(__file__).resolve().parents[2] / "config"
CAR_FOLLOWING = CONFIG / "car_following.yaml"
GAIN = "participants.driving.parameters.gain"
FAULT = (
    "{front: {port: driving.front, kind: bias, field: objects.distance, offset: 5.0, "
    "active: false}}"
)
SECOND = 1_000_000_000


def run(out: Path, *overrides: str, shape: str = "inproc") -> Summary:
    set_ = ("duration=5s", *overrides)
    return run_request(RunRequest(CAR_FOLLOWING, set=set_, shape=shape, out=out, record=False))


def changed_by_hand(
    out: Path,
    *changes: tuple[int, str, Any],
    overrides: tuple[str, ...] = (),
    record: bool = False,
) -> Summary:
    """A run in which a user changes something at simulated times [s]."""
    set_ = ("duration=5s", f"faults={FAULT}", *overrides)
    request = RunRequest(CAR_FOLLOWING, set=set_, shape="inproc", out=out, record=record)
    with bring_up(request) as prepared, InprocRun(prepared) as driven:
        for time_s, path, to in changes:
            driven.request(Request(Command.UNTIL, time_ns=time_s * SECOND))
            assert driven.change(path, to) == time_s * SECOND
        return driven.finish()


def test_a_run_that_was_changed_by_hand_is_repeated(tmp_path: Path) -> None:
    """By replay, and by a scenario that declares the same; another run differs."""
    changes = ((1, GAIN, 0.5), (2, "faults.front.active", True), (3, "faults.front.active", False))
    first = changed_by_hand(tmp_path / "first", *changes)
    scenario, _, former = prepare_replay(tmp_path / "first")
    again = run_request(RunRequest(scenario, shape="inproc", out=tmp_path / "again", record=False))
    assert first.trace_sha256 == former.trace_sha256 == again.trace_sha256
    declared = run(
        tmp_path / "declared",
        f"faults={FAULT}",
        f"changes=[{{at: 3s, set: faults.front.active, to: false}}, "
        f"{{at: 1s, set: {GAIN}, to: 0.5}}, {{at: 2s, set: faults.front.active, to: true}}]",
    )
    assert declared.trace_sha256 == first.trace_sha256
    without = changed_by_hand(tmp_path / "without")
    only = changed_by_hand(tmp_path / "only", changes[0])
    assert len({first.trace_sha256, without.trace_sha256, only.trace_sha256}) == 3
    assert first.figures is not None
    acted = first.figures["driving"]["fault.front"]
    assert 0 < acted < 60
    result = CliRunner().invoke(app, ["replay", str(tmp_path / "first"), "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["equal"] and found["trace_sha256"] == [first.trace_sha256] * 2


def test_a_run_without_changes_leaves_no_record(tmp_path: Path) -> None:
    """One of an earlier run in the directory is removed."""
    changed_by_hand(tmp_path / "out", (1, GAIN, 0.5))
    assert (tmp_path / "out" / "changes.json").exists()
    changed_by_hand(tmp_path / "out")
    assert not (tmp_path / "out" / "changes.json").exists()


@pytest.mark.parametrize(
    ("path", "to", "said"),
    [
        ("participants.driving.parameters.nothing", 1, "allowed during a run are partici"),
        ("participants.absent.parameters.gain", 1, "allowed during a run are participants.driving"),
        ("seed", 1, "set: found 'seed'; allowed during a run are"),
        (GAIN, "much", "participants.driving.parameters.gain: found 'much'"),
        ("faults.front.active", 1, "faults.front.active: found 1; allowed is true or false"),
    ],
)
def test_what_may_not_be_changed(tmp_path: Path, path: str, to: Any, said: str) -> None:
    """It is refused in words, and the run goes on as it was."""
    with pytest.raises(ConfigurationError, match=said):
        changed_by_hand(tmp_path / "out", (1, path, to))


def test_changes_that_are_wrong_are_found_by_check(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"changes.0.set: found 'duration'; allowed during"):
        run(tmp_path / "out", "changes=[{at: 1s, set: duration, to: 3s}]")


def test_a_declared_change_acts_the_same_in_processes(tmp_path: Path, ros_domain: int) -> None:
    changes = f"changes=[{{at: 1s, set: {GAIN}, to: 0.5}}]"
    traces = {
        run(tmp_path / shape, changes, shape=shape).trace_sha256 for shape in ("inproc", "ros")
    }
    assert len(traces) == 1
    assert run(tmp_path / "none").trace_sha256 not in traces


def test_recorded_inputs_replayed_into_what_was_changed_by_hand_differ_nowhere(
    tmp_path: Path,
) -> None:
    """The changes are part of what a run is repeated from."""
    changes = ((1, GAIN, 0.5), (2, "faults.front.active", True))
    changed_by_hand(tmp_path / "run", *changes, record=True)
    assert replay_into(tmp_path / "run", ["driving"]).equal
    (tmp_path / "run" / "changes.json").unlink()
    assert not replay_into(tmp_path / "run", ["driving"]).equal


def test_a_run_that_was_stopped_is_repeated_up_to_there(tmp_path: Path) -> None:
    request = RunRequest(CAR_FOLLOWING, shape="inproc", out=tmp_path / "first", record=False)
    with bring_up(request) as prepared, InprocRun(prepared) as driven:
        driven.request(Request(Command.UNTIL, time_ns=2 * SECOND))
        driven.change(GAIN, 0.5)
        driven.request(Request(Command.UNTIL, time_ns=3 * SECOND))
        assert driven.request(Request(Command.STOP)).success
        first = driven.finish()
    scenario, _, _ = prepare_replay(tmp_path / "first")
    again = run_request(RunRequest(scenario, shape="inproc", out=tmp_path / "again", record=False))
    assert again.trace_sha256 == first.trace_sha256
    assert again.sim_time_s == first.sim_time_s == 3.0


def test_a_change_by_hand_beside_declared_ones_is_repeated(tmp_path: Path) -> None:
    """Those of one time: the declared one first."""
    declared = f"changes=[{{at: 3s, set: {GAIN}, to: 0.9}}, {{at: 2s, set: {GAIN}, to: 0.7}}]"
    by_hand = ((1, GAIN, 0.5), (2, GAIN, 0.6))
    first = changed_by_hand(tmp_path / "first", *by_hand, overrides=(declared,))
    again = run_request(
        RunRequest(prepare_replay(tmp_path / "first")[0], out=tmp_path / "again", shape="inproc")
    )
    every = [(3, 0.9), (2, 0.7), (1, 0.5), (2, 0.6)]
    listed = ", ".join(f"{{at: {at}s, set: {GAIN}, to: {to}}}" for at, to in every)
    alone = run(tmp_path / "alone", f"faults={FAULT}", f"changes=[{listed}]")
    assert first.trace_sha256 == again.trace_sha256 == alone.trace_sha256
    without = run(tmp_path / "without", f"faults={FAULT}", declared)
    assert without.trace_sha256 != first.trace_sha256


class Run:
    """What a run hands to :class:`ChangesByHand`, and what it gets of it."""

    def __init__(self) -> None:
        self.earliest = 0
        self.made: list[ChangeSettings] = []
        scenario = load_scenario(CAR_FOLLOWING, ["duration=5s", f"faults={FAULT}"])
        self.by_hand = ChangesByHand(scenario, lambda: self.earliest, self.take)

    def take(self, changes: Sequence[ChangeSettings]) -> None:
        assert settings_of(messages_of(changes)) == list(changes)
        self.made = list(changes)


def test_a_change_holds_from_a_time_on_that_nobody_has_reached() -> None:
    run = Run()
    run.earliest = 2 * SECOND
    assert run.by_hand.take(GAIN, "0.5", 0) == f"{GAIN}: 0.5 from 2s on"
    assert run.by_hand.take("faults.front.active", "true", 3 * SECOND).endswith("true from 3s on")
    assert [(each.at, each.to) for each in run.made] == [(2 * SECOND, 0.5), (3 * SECOND, True)]


@pytest.mark.parametrize(
    ("path", "value", "at", "said"),
    [
        (GAIN, "0.5", SECOND, "at: found 1s; participants may have passed that, allowed is a time"),
        (GAIN, "0.5", 5 * SECOND, "at: found 5s; the run ends at 5s"),
        (GAIN, "half", 0, "value: found 'half'; allowed is JSON"),
        (GAIN, '"half"', 0, "gain: found 'half'"),
        (GAIN, "[" * 100_000, 0, r"value: found '\[\[\["),
        ("", "1", 0, "set: found ''; allowed during a run are participants.driving"),
        ("faults.front.active", "1", 0, "found 1; allowed is true or false"),
        ("faults.front", '{"port": "driving.front", "kind": "freeze"}', 0, "is there already"),
        ("faults.new", "true", 0, r"faults.new: found true"),
        ("faults.new", '{"kind": "freeze"}', 0, r"faults.new.port: missing"),
        ("faults.new", '{"port": "driving.x", "kind": "freeze"}', 0, "which is not a port; inputs"),
        ("faults.new", '{"port": "driving.own", "kind": "drop", "from": "soon"}', 0, "new.from: f"),
        ("faults.new", '{"port": "driving.own", "kind": "drop", "until": "1s"}', 0, "more than"),
        ("faults.New", '{"port": "driving.own", "kind": "drop"}', 0, "faults.New: found 'New'"),
    ],
)
def test_a_change_that_cannot_be_is_refused(path: str, value: str, at: int, said: str) -> None:
    run = Run()
    run.earliest = 2 * SECOND
    with pytest.raises(ConfigurationError, match=said):
        run.by_hand.take(path, value, at)
    assert run.made == []


def test_changes_by_hand_are_limited() -> None:
    """Each travels with each horizon of the rest of the run."""
    run = Run()
    run.by_hand._made = [ChangeSettings(at=0, set=GAIN, to=1.0)] * MAX_BY_HAND
    with pytest.raises(ConfigurationError, match=f"more than {MAX_BY_HAND} changes"):
        run.by_hand.take(GAIN, "0.5", 0)


class Noting(FullModel):
    """Takes note of the values that it has."""

    def __init__(self, parameters: DrivingParameters) -> None:
        self.gain = parameters.gain

    def change_parameters(self, parameters: DrivingParameters) -> None:
        self.gain = parameters.gain

    def activate(self, step: Step) -> dict[str, Any]:
        return {}


def with_its_changes(scenario: Scenario, model: Model) -> LayeredModel:
    layer = changes_layer(scenario, "driving", model)
    return LayeredModel(model, [] if layer is None else [layer])


times = st.integers(0, 20)


@given(
    declared=st.lists(st.tuples(times, st.floats(0.1, 1.0)), max_size=4),
    by_hand=st.lists(st.tuples(times, times, st.floats(0.1, 1.0)), max_size=6),
)
def test_changes_act_as_if_they_had_been_declared(
    declared: list[tuple[int, float]], by_hand: list[tuple[int, int, float]]
) -> None:
    """Whenever each of them is made, for whatever time that has not been reached."""
    scenario = load_scenario(CAR_FOLLOWING, ["duration=5s"])
    settings = DrivingParameters.model_validate(scenario.participants["driving"].parameters)
    before = tuple(ChangeSettings(at=at, set=GAIN, to=to) for at, to in declared)
    scenario = scenario.model_copy(update={"changes": before})
    inner = Noting(settings)
    changing = with_its_changes(scenario, inner)
    runtime = ParticipantRuntime(build_graph(scenario), "driving", changing)
    taken = ChangesTaken(scenario, "driving")
    made: list[ChangeSettings] = []
    seen = []
    waiting = sorted(by_hand, key=lambda each: each[0])
    for now in range(21):
        while waiting and waiting[0][0] <= now:
            _, later, to = waiting.pop(0)
            made.append(ChangeSettings(at=now + later, set=GAIN, to=to))
            taken.take(runtime, made[-1:])
        runtime.model.activate(Step(now, {}, {}))
        seen.append(inner.gain)
    whole = scenario.model_copy(update={"changes": (*before, *made)})
    twin = Noting(settings)
    model = with_its_changes(whole, twin)
    for now, gain in enumerate(seen):
        model.activate(Step(now, {}, {}))
        assert twin.gain == gain


def added(out: Path, at_s: int, *faults: dict[str, Any], before: str = "{}") -> Summary:
    """A run to which faults are added by hand at a time."""
    changes = ((at_s, f"faults.new{n}", fault) for n, fault in enumerate(faults))
    return changed_by_hand(out, *changes, overrides=(f"faults={before}",))


NOISE = {"kind": "noise", "field": "x", "std": 0.5, "probability": 0.5}
HELD = "{held: {port: driving.front, kind: delay, delay: 90ms, until: 2500ms}}"
SENT = "{sent: {port: traffic.odometry/ego, kind: bias, field: x, offset: 1.0}}"


@pytest.mark.parametrize(
    ("faults", "before"),
    [
        ([{"port": "driving.front", "kind": "drop"}], "{}"),
        ([{"port": "driving.rear", "kind": "drop", "until": "3s"}], "{}"),
        ([{"port": "driving.front", "kind": "delay", "delay": "200ms"}], "{}"),
        ([{"port": "driving.front", "kind": "freeze"}], "{}"),
        ([{"port": "driving.front", "kind": "freeze"}], HELD),
        ([{"port": "front_sensor.target", "kind": "freeze"}], "{}"),
        ([{"port": "driving.front", "kind": "stuck", "field": "objects.distance"}], "{}"),
        ([{"port": "traffic.odometry/ego", "kind": "stuck", "field": "x"}], "{}"),
        ([{"port": "traffic.odometry/ego", "kind": "freeze"}], SENT),
        ([{"port": "traffic.odometry/front", "kind": "freeze", "from": "3s"}], SENT),
        ([{"port": "front_sensor.target", **NOISE}, {"port": "driving.own", **NOISE}], "{}"),
        ([{"port": "rear_sensor.own", **NOISE}, {"port": "rear_sensor.own", **NOISE}], "{}"),
        ([{"port": "driving.control", "kind": "bias", "field": "throttle", "offset": 0.1}], "{}"),
        (
            [{"port": "driving.rear", "kind": "bit_error", "field": "objects.distance", "bit": 50}],
            "{}",
        ),
        (
            [
                {
                    "port": "driving.front",
                    "kind": "replace",
                    "field": "objects",
                    "value": [],
                    "when": {"port": "own", "field": "vx", "above": 25.0},
                }
            ],
            "{}",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else "+".join(f"{f['kind']}" for f in each),
)
def test_a_fault_that_is_added_by_hand_is_as_if_it_had_been_declared(
    tmp_path: Path, faults: list[dict[str, Any]], before: str
) -> None:
    """With its beginning as the time at which it was added; a replay has it, too."""
    first = added(tmp_path / "first", 2, *faults, before=before)
    declared = yaml.safe_load(before) | {
        f"new{n}": {"from": "2s", **fault} for n, fault in enumerate(faults)
    }
    same = run(tmp_path / "declared", f"faults={json.dumps(declared)}")
    assert same.trace_sha256 == first.trace_sha256
    assert same.figures == first.figures
    changes = [{"at": "2s", "set": f"faults.new{n}", "to": each} for n, each in enumerate(faults)]
    listed = run(tmp_path / "listed", f"faults={before}", f"changes={json.dumps(changes)}")
    assert listed.trace_sha256 == first.trace_sha256
    scenario, _, former = prepare_replay(tmp_path / "first")
    again = run_request(RunRequest(scenario, shape="inproc", out=tmp_path / "again", record=False))
    assert again.trace_sha256 == former.trace_sha256 == first.trace_sha256
    # It acts, and from then on.
    assert run(tmp_path / "none", f"faults={before}").trace_sha256 != first.trace_sha256
    assert first.figures is not None
    assert all(
        first.figures[fault["port"].partition(".")[0]][f"fault.new{n}"] > 0
        for n, fault in enumerate(faults)
    )


def test_a_fault_that_was_added_can_be_switched(tmp_path: Path) -> None:
    bias = {"port": "driving.front", "kind": "bias", "field": "objects.distance", "offset": 5.0}
    by_hand = ((1, "faults.new", bias), (2, "faults.new.active", False))
    first = changed_by_hand(tmp_path / "first", *by_hand, record=True)
    declared = {"new": {**bias, "from": "1s", "until": "2s"}}
    same = run(tmp_path / "declared", f"faults={json.dumps(declared)}")
    assert same.trace_sha256 == first.trace_sha256
    assert replay_into(tmp_path / "first", ["driving"]).equal


def test_faults_that_changes_add_are_checked_like_others(tmp_path: Path) -> None:
    twice = "{at: 1s, set: faults.new, to: {port: driving.own, kind: drop}}"
    with pytest.raises(ConfigurationError, match=r"changes.1.to: found a new fault 'new', which"):
        run(tmp_path / "out", f"changes=[{twice}, {twice}]")
    wrong = "{at: 1s, set: faults.new, to: {port: driving.own, kind: rust}}"
    with pytest.raises(ConfigurationError, match=r"changes.0.to: faults.new.kind: found 'rust'"):
        run(tmp_path / "out", f"changes=[{wrong}]")


def test_a_model_that_nobody_changes_has_no_layer_for_that(tmp_path: Path) -> None:
    request = RunRequest(CAR_FOLLOWING, set=("duration=1s",), shape="inproc", out=tmp_path / "out")
    with bring_up(request) as prepared, InprocRun(prepared) as driven:
        driven.request(Request(Command.UNTIL, time_ns=SECOND // 2))

        def changing() -> list[str]:
            return [name for name, model in driven.models.items() if model.find(Changes)]

        assert changing() == []
        driven.change("faults.new", {"port": "driving.own", "kind": "drop"})
        assert changing() == ["driving"]
        driven.finish()
