# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints, and runs that go on from one: nothing is computed again, nothing is different."""

from __future__ import annotations

import filecmp
import json
import pickle
import zipfile
from pathlib import Path

import msgpack
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support import checkpoint_models
from support.fmu_builder import build_fmu
from support.sensor_scenario import sensor_scenario
from typer.testing import CliRunner

from ros2_cosim.cli.console import EXIT_VERDICT
from ros2_cosim.cli.main import app
from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.schema import make_scenario

CONFIG = Path(__file__).resolve().parents[2] / "config"
PLATOON = CONFIG / "platoon.yaml"
S = 1_000_000_000
MS = 1_000_000
#: What a run promises to be the same, byte by byte.
FILES = ("bag/bag_0.mcap", "bag/metadata.yaml", "activations.json", "scenario.json")
#: What tells of the wall clock, and of the branch itself.
_OWN = {
    "branch", "checkpoints", "wall_time_s", "startup_time_s", "rtf", "breakdown", "participants",
}  # fmt: skip

#: Scenario, changes, length in ms: sensors with noise, V2V with loss in bursts and drawn latency,
#: lane changes, background traffic, faults, traffic lights, drivers of a manoeuvre.
SCENARIOS = {
    "platoon": (PLATOON, ()),
    "traffic": (
        PLATOON,
        (
            "participants.world.parameters.traffic=12",
            "faults={late: {port: cacc1.odometry, kind: delay, delay: 35ms, probability: 0.5}, "
            "noise: {port: cacc2.odometry, kind: noise, field: vx, std: 0.5, from: 500ms}}",
        ),
    ),
    "packet_loss": (CONFIG / "library" / "packet_loss.yaml", ()),
    "cut_in": (CONFIG / "library" / "cut_in.yaml", ()),
    "join": (
        CONFIG / "library" / "join.yaml",
        (
            "scene.vehicles.follower3.s=325",
            "platoon.manoeuvre.at=100ms",
            "platoon.v2v={period: 25ms, parameters: {triggering: cam, congestion_control: "
            "adaptive, loss: 0.2, radio: {others: 20, others_rate: saturated}}}",
        ),
    ),
    "car_following": (CONFIG / "car_following.yaml", ()),
}


def request(scenario, out: Path, *changes: str, **options) -> RunRequest:
    return RunRequest(scenario, set=tuple(changes), shape="inproc", out=out, **options)


def figures(run: Path) -> dict:
    """The summary, without times of the wall clock."""
    found = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    counts = [(p["name"], p["activations"]) for p in found["participants"]]
    return {key: value for key, value in found.items() if key not in _OWN} | {"counts": counts}


def assert_same(run: Path, other: Path) -> None:
    assert figures(run) == figures(other)
    _, wrong, errors = filecmp.cmpfiles(run, other, FILES, shallow=False)
    assert not wrong and not errors


@pytest.fixture(scope="module")
def platoon(tmp_path_factory) -> Path:
    """Two seconds of the platoon, with a checkpoint in the middle."""
    out = tmp_path_factory.mktemp("runs") / "platoon"
    run_request(request(PLATOON, out, "duration=2s", checkpoints=(S,)))
    return out


def test_the_command_takes_the_shape_that_has_checkpoints(tmp_path):
    """And its answer is one document."""

    def run(*arguments: object) -> dict:
        done = CliRunner().invoke(app, ["run", *map(str, arguments), "--json"])
        assert done.exit_code == EXIT_VERDICT, done.output  # it is too short for some verdicts
        return json.loads(done.stdout)

    out = tmp_path / "whole"
    whole = run(PLATOON, "--set", "duration=2s", "--checkpoint", "1s", "--out", out)
    assert (whole["shape"], whole["output"], whole["repetitions"]) == ("inproc", str(out), [])
    branch = run("--branch", out / "checkpoint-1s.ckpt", "--out", tmp_path / "branch")
    assert branch["trace_sha256"] == whole["trace_sha256"]


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_branch_is_the_run_that_went_on(name, tmp_path_factory):
    scenario, changes = SCENARIOS[name]
    length = "duration=1s"

    @settings(
        max_examples=2, deadline=None, database=None, phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(at=st.integers(1, 999_999_999))
    def check(at):
        base = tmp_path_factory.mktemp(name)
        run_request(request(scenario, base / "whole", length, *changes, checkpoints=(at,)))
        (checkpoint,) = (base / "whole").glob("checkpoint-*s.ckpt")
        run_request(request(checkpoint, base / "branch", branch=checkpoint))
        assert_same(base / "whole", base / "branch")

    check()


def test_sensors_go_on_with_their_noise_and_their_turns(tmp_path):
    """Of every kind; most have measured at the time of the checkpoint, and remember something."""
    scenario = sensor_scenario(duration="600ms")
    times = (215 * MS, 400 * MS)
    run_request(request(scenario, tmp_path / "whole", checkpoints=times))
    for number, checkpoint in enumerate(sorted((tmp_path / "whole").glob("*.ckpt"))):
        out = tmp_path / f"branch{number}"
        run_request(request(checkpoint, out, branch=checkpoint))
        assert_same(tmp_path / "whole", out)


def test_a_checkpoint_changes_nothing_and_is_the_same_file_each_time(platoon, tmp_path):
    run_request(request(PLATOON, tmp_path / "plain", "duration=2s"))
    assert_same(platoon, tmp_path / "plain")
    first = platoon / "checkpoint-1s.ckpt"
    times = (500 * MS, 1500 * MS)
    run_request(request(PLATOON, tmp_path / "twice", "duration=2s", checkpoints=times))
    # A branch writes the checkpoints that the whole run writes.
    half = tmp_path / "twice" / "checkpoint-0.5s.ckpt"
    run_request(request(half, tmp_path / "branch", branch=half, checkpoints=(S, 1500 * MS)))
    assert_same(platoon, tmp_path / "branch")
    assert filecmp.cmp(first, tmp_path / "branch" / first.name, shallow=False)
    late = "checkpoint-1.5s.ckpt"
    assert filecmp.cmp(tmp_path / "twice" / late, tmp_path / "branch" / late, shallow=False)


def test_another_law_from_the_checkpoint_on_is_the_what_if_replay(platoon, tmp_path):
    checkpoint = platoon / "checkpoint-1s.ckpt"
    arguments = ["--shape", "inproc", "--out", str(tmp_path / "branch"), "--branch", checkpoint]
    own = "participants.cacc1.parameters"
    changes = ["--set", f"{own}.law_parameters={{}}", "--set", f"{own}.law=rajamani_acc"]
    done = CliRunner().invoke(app, ["run", *map(str, arguments), *changes])
    assert done.exit_code in (0, 3), done.output
    replay = ["replay", platoon, "--substitute", "cacc1=rajamani_acc", "--from", "1s"]
    done = CliRunner().invoke(app, [*map(str, replay), "--out", str(tmp_path / "what_if")])
    assert done.exit_code == 0, done.output
    summary = read_summary(tmp_path / "branch")
    assert summary.trace_sha256 == read_summary(tmp_path / "what_if").trace_sha256
    assert summary.trace_sha256 != read_summary(platoon).trace_sha256
    assert summary.branch is not None
    assert summary.branch.checkpoint == str(checkpoint)
    assert summary.branch.time_s == 1.0
    changed = {change.place: change.after for change in summary.branch.changes}
    assert changed.pop(f"{own}.law") == "rajamani_acc"
    assert all(place.startswith(f"{own}.law_parameters.") for place in changed)


def test_all_controllers_and_a_longer_run(platoon, tmp_path):
    checkpoint = platoon / "checkpoint-1s.ckpt"
    longer = "duration=2500ms"
    run_request(request(checkpoint, tmp_path / "longer", longer, branch=checkpoint))
    run_request(request(PLATOON, tmp_path / "whole", longer))
    assert_same(tmp_path / "longer", tmp_path / "whole")
    run_request(
        request(
            PLATOON, tmp_path / "other", "duration=2s", branch=checkpoint,
            controllers="support.checkpoint_models:ForgetfulLaw",
        )
    )  # fmt: skip
    summary = read_summary(tmp_path / "other")
    assert summary.branch is not None
    assert {change.place for change in summary.branch.changes} == {
        f"participants.cacc{n}.parameters.{key}"
        for n in (1, 2)
        for key in ("law", "law_parameters")
    }


def test_a_fault_from_the_checkpoint_on(platoon, tmp_path):
    fault = "faults={bias: {port: cacc1.odometry, kind: bias, field: vx, offset: 1.5, from: 1s}}"
    checkpoint = platoon / "checkpoint-1s.ckpt"
    run_request(request(checkpoint, tmp_path / "branch", fault, branch=checkpoint))
    run_request(request(PLATOON, tmp_path / "whole", "duration=2s", fault))
    assert_same(tmp_path / "branch", tmp_path / "whole")


def hopping(**changes) -> dict:
    """A model that chooses its steps, and one of messages alone."""
    sent = {"type": "geometry_msgs/msg/AccelStamped"}
    return {
        "name": "hopping",
        "duration": "4s",
        "participants": {
            "hopper": {
                "model": "support.checkpoint_models:Hopper",
                "period": "10ms",
                "dynamic_step": True,
                "outputs": {
                    "one": {**sent, "topic": "/one", "latency": {"uniform": ["1ms", "30ms"]}},
                    "many": {**sent, "topic": "/many", "schedule": "sparse"},
                },
            },
            "collector": {
                "model": "support.checkpoint_models:Collector",
                "activation": {"every": {"one": 3}},
                "inputs": {
                    "one": {"from": "hopper.one"},
                    "many": {"from": "hopper.many", "handled": True},
                },
                "outputs": {"sum": {**sent, "topic": "/sum"}},
            },
            **changes,
        },
    }


@pytest.mark.parametrize("at", [7 * MS, 703 * MS, 1_600 * MS])
def test_queues_chosen_steps_drawn_latencies_and_a_requested_stop(at, tmp_path):
    scenario = make_scenario(hopping(), "hopping")
    run_request(request(scenario, tmp_path / "whole", checkpoints=(at,)))
    whole = read_summary(tmp_path / "whole")
    assert whole.end_reason == "hopper: far enough" and whole.sim_time_s > 1.6
    (checkpoint,) = (tmp_path / "whole").glob("*.ckpt")
    checkpoint_models.ACTIVATIONS.clear()
    run_request(request(checkpoint, tmp_path / "branch", branch=checkpoint))
    assert_same(tmp_path / "whole", tmp_path / "branch")
    # Nothing before the checkpoint was computed.
    times = json.loads((tmp_path / "whole" / "activations.json").read_text(encoding="utf-8"))
    later = sum(time >= at for time in times["hopper"])
    assert checkpoint_models.ACTIVATIONS["hopper"] == later


@pytest.mark.parametrize("kind", ["SlowLaw", "PlainLaw"])
def test_a_law_with_a_state_of_its_own(kind, tmp_path):
    law = {"controllers": f"support.checkpoint_models:{kind}"}
    run_request(request(PLATOON, tmp_path / "whole", "duration=2s", checkpoints=(S,), **law))
    checkpoint = tmp_path / "whole" / "checkpoint-1s.ckpt"
    run_request(request(checkpoint, tmp_path / "branch", branch=checkpoint))
    assert_same(tmp_path / "whole", tmp_path / "branch")


@pytest.mark.parametrize("name", ["lag2", "lag3"])
def test_an_fmu_saves_its_state_by_the_means_of_fmi(name, tmp_path):
    fmu = build_fmu(name, tmp_path)
    law = {"controllers": str(fmu)}
    run_request(request(PLATOON, tmp_path / "whole", "duration=2s", checkpoints=(S,), **law))
    checkpoint = tmp_path / "whole" / "checkpoint-1s.ckpt"
    run_request(request(checkpoint, tmp_path / "branch", branch=checkpoint))
    assert_same(tmp_path / "whole", tmp_path / "branch")
    # Without it, the demand would begin anew.
    with zipfile.ZipFile(checkpoint) as archive:
        states = msgpack.unpackb(archive.read("states"))
    _, (_, law, _) = states["cacc1"]  # its layers have none
    saved = law[2][0][0]
    content = saved[0]
    saved[0] = bytes(len(content))
    other = rewritten(checkpoint, tmp_path / "other.ckpt", states=msgpack.packb(states))
    run_request(request(other, tmp_path / "other", branch=other))
    assert (
        read_summary(tmp_path / "other").trace_sha256
        != read_summary(tmp_path / "whole").trace_sha256
    )
    saved[0] = content[:-1]
    wrong = rewritten(checkpoint, tmp_path / "wrong.ckpt", states=msgpack.packb(states))
    with pytest.raises(RunError, match=rf"{name}\.fmu: fmi.De[sS]erializeFMU.tate"):
        run_request(request(wrong, tmp_path / "out", branch=wrong))


def test_an_fmu_that_cannot_save_its_state_is_named_before_the_run(tmp_path):
    law = str(share_file("config/laws/ploeg_cacc.c"))
    with pytest.raises(ConfigurationError, match=r"cacc1: .*ploeg_cacc\.c: its description does"):
        run_request(request(PLATOON, tmp_path / "out", controllers=law, checkpoints=(S,)))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("law", ["mpc_cacc", "path_cacc_sampled"])
def test_laws_that_keep_something(law, tmp_path):
    whole = tmp_path / "whole"
    times = (1010 * MS,)
    run_request(request(PLATOON, whole, "duration=2s", checkpoints=times, controllers=law))
    (checkpoint,) = whole.glob("*.ckpt")
    run_request(request(checkpoint, tmp_path / "branch", branch=checkpoint))
    assert_same(whole, tmp_path / "branch")


def test_what_cannot_save_its_state_is_named_before_the_run(tmp_path):
    out = tmp_path / "out"
    sent = {"out": {"type": "geometry_msgs/msg/AccelStamped", "topic": "/out"}}
    model = "support.checkpoint_models:Forgetful"
    data = hopping(third={"model": model, "period": "10ms", "outputs": sent})
    with pytest.raises(ConfigurationError, match=r"participants\.third: found the model 'support"):
        run_request(request(make_scenario(data, "hopping"), out, checkpoints=(S,)))
    law = "support.checkpoint_models:ForgetfulLaw"
    with pytest.raises(
        ConfigurationError, match=r"ForgetfulLaw\._demands: found a builtins:generator"
    ):
        run_request(request(PLATOON, out, controllers=law, checkpoints=(S,)))
    late = "participants.v2v.coupling={}"
    with pytest.raises(ConfigurationError, match=r"participants\.v2v: .*without coupling"):
        run_request(request(PLATOON, out, late, checkpoints=(S,)))
    assert not out.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--shape", "ros"], "--checkpoint: found with shape ros; allowed is shape inproc"),
        (["--shape", "composed"], "found with shape composed; allowed is shape inproc"),
        (["--shape", "inproc", "--rate", "1"], "--checkpoint: found together with --rate"),
        (["--shape", "inproc", "--repeat", "2"], "--checkpoint: found together with --repeat"),
        (["--shape", "inproc", "--set", "duration=1s"], "more than 0 s and less than 1 s"),
        (["--shape", "inproc", "--checkpoint", "soon"], "--checkpoint: found 'soon'"),
    ],
)
def test_what_does_not_go_with_a_checkpoint(tmp_path, options, said):
    out = tmp_path / "out"
    arguments = ["run", PLATOON, "--checkpoint", "1s", "--out", out, *options]
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 1 and said in done.stderr and len(done.stderr.splitlines()) == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("seed=2", "seed: found another value than in the run of the checkpoint; allowed are"),
        ("scene.vehicles.leader.speed=20.0", "scene.vehicles.leader.speed: found another value"),
        ("participants.cacc1.outputs.control.latency=1ms", "participants.cacc1.outputs.control"),
        ("duration=1s", "duration: found 1s; allowed is more than 1s, the time of the checkpoint"),
        ("participants.cacc1.parameters.time_gap=-1", "participants.cacc1.parameters.time_gap"),
        ("participants.cacc9.model=x", "no 'cacc9' there"),
    ],
)
def test_what_a_branch_cannot_change(platoon, tmp_path, change, said):
    checkpoint = platoon / "checkpoint-1s.ckpt"
    with pytest.raises(ConfigurationError) as error:
        run_request(request(checkpoint, tmp_path / "out", change, branch=checkpoint))
    assert said in str(error.value)


def test_a_branch_does_not_remove_its_checkpoint(platoon):
    checkpoint = platoon / "checkpoint-1s.ckpt"
    with pytest.raises(ConfigurationError, match="it holds the checkpoint checkpoint-1s.ckpt"):
        run_request(request(checkpoint, platoon, branch=checkpoint))
    assert checkpoint.exists()


def test_a_run_that_ended_before_says_so(tmp_path):
    file = tmp_path / "short.json"
    file.write_text(json.dumps(hopping()), encoding="utf-8")
    arguments = ["run", file, "--shape", "inproc", "--checkpoint", "3.5s", "--out", tmp_path / "o"]
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    assert "note: no checkpoint-3.5s.ckpt: the run had ended before" in done.stderr
    assert read_summary(tmp_path / "o").checkpoints == ()


def rewritten(source: Path, target: Path, **members: bytes) -> Path:
    """A checkpoint with other content."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, members.get(name.partition(".")[0], old.read(name)))
    return target


class _Dangerous:
    def __reduce__(self):
        return (_Dangerous.strike, ())

    @staticmethod
    def strike():
        raise AssertionError("code of a file was run")


def test_a_file_of_a_stranger_is_data(platoon, tmp_path):
    good = platoon / "checkpoint-1s.ckpt"
    with zipfile.ZipFile(good) as archive:
        messages, states = archive.read("messages"), archive.read("states")
    shifted = bytearray(messages)
    shifted[len(shifted) // 2] ^= 1
    evil = msgpack.unpackb(states)
    evil["cacc1"][1][0]["mode"] = ["r", "os:system", "true"]
    part = msgpack.unpackb(states)
    part["cacc1"][1][0]["_hold"] = ["p", 99, "subprocess:Popen", {}]
    other = msgpack.unpackb(states)
    other["cacc1"][1][0]["activate"] = 3
    deep: list = ["l", 0]
    for number in range(200):
        deep = ["l", number, deep]
    nested = msgpack.unpackb(states)
    nested["cacc1"][1][0]["_brake"] = deep
    for content in (b"", b"PK", pickle.dumps(_Dangerous()), good.read_bytes()[:-400]):
        file = tmp_path / "raw.ckpt"
        file.write_bytes(content)
        with pytest.raises(ConfigurationError):
            run_request(request(file, tmp_path / "out", branch=file))
    for number, members in enumerate(
        [
            {"checkpoint": b"{}"},
            {"checkpoint": b"[" * 100_000},
            {"states": pickle.dumps(_Dangerous())},
            {"states": msgpack.packb({"world": None})},
            {"messages": pickle.dumps(_Dangerous())},
            {"messages": messages[: len(messages) // 2]},
            {"messages": bytes(shifted)},
            {"messages": msgpack.packb((0, 99, 1, b"x"))},
            {"messages": messages + messages[-500:]},
            {"states": msgpack.packb(evil)},
            {"states": msgpack.packb(part)},
            {"states": msgpack.packb(other)},
            {"states": msgpack.packb(nested)},
        ]
    ):
        file = rewritten(good, tmp_path / f"{number}.ckpt", **members)
        with pytest.raises((ConfigurationError, RunError), match=f"{number}.ckpt"):
            run_request(request(file, tmp_path / f"out{number}", branch=file, record=False))
