# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Late joiners and leavers as processes: when they come up or end in wall time is no matter."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st
from rosbags.highlevel import AnyReader
from runs.cosim_process import ROOT
from support.graph_scenarios import CannotBeWrittenError, scenario_of
from support.held_runs import TYPE, Direction, participant, reference, run_directed, scenario
from support.kernel_systems import System, systems

from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.record.summary import Summary

# Each example starts half a dozen processes: few of them, and the same ones each time.
FEW = settings(
    max_examples=2,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


#: The clock tells the time each second: a run that stands at 1 s is seen there.
BRIEF = "1200ms"


def presence(summary: Summary) -> dict[str, tuple[float | None, float | None]]:
    return {
        p.name: (p.entered_s, p.left_s) for p in summary.participants if p.entered_s is not None
    }


def coming_and_going(**others: dict[str, Any]) -> dict[str, Any]:
    """Readers of all kinds around one that enters at 1 s and one that leaves at 0.6 s."""
    return scenario(
        "joining",
        BRIEF,
        source=participant(period="10ms"),
        sparse=participant({"in": "source.out"}, "sparse", activation="in"),
        leaver=participant({"in": "source.out"}, period="20ms", leave="600ms"),
        behind=participant({"in": "leaver.out"}, activation={"every": {"in": 2}}),
        joiner=participant(
            {"trigger": "sparse.out", "newest": "leaver.out"}, activation="trigger", enter="1s"
        ),
        after=participant({"in": "joiner.out", "old": "sparse.out"}, period="50ms"),
        **others,
    )


@pytest.mark.parametrize("order", ["backwards", "shuffled"])
def test_the_order_in_which_processes_start_does_not_matter(tmp_path: Path, order: str) -> None:
    """Backwards each two of them start in the other order than everywhere else."""
    data = coming_and_going()
    names = [*data["participants"], "recorder", "clock"][::-1]
    if order == "shuffled":
        random.Random(1).shuffle(names)

    def start_all(direction: Direction) -> None:
        for name in names:
            direction.start(name)

    found = run_directed(tmp_path, data, names, start_all)
    expected = reference(tmp_path, data)
    assert found.trace_sha256 == expected.trace_sha256
    assert presence(found) == presence(expected)
    assert presence(found)["joiner"] == (1.0, None)
    assert presence(found)["leaver"] == (0.0, 0.6)
    assert found.repeatable


@FEW
@given(system=systems(max_participants=5), seed=st.integers(0, 2**32))
def test_random_graphs_do_not_mind_the_order_either(system: System, seed: int) -> None:
    try:
        data = scenario_of(system, 200)
    except CannotBeWrittenError:
        reject()
    names = [*data["participants"], "recorder", "clock"]
    random.Random(seed).shuffle(names)

    def start_all(direction: Direction) -> None:
        for name in names:
            direction.start(name)

    with tempfile.TemporaryDirectory(prefix="cosim_order_") as directory:
        found = run_directed(Path(directory), data, names, start_all)
        assert found.trace_sha256 == reference(Path(directory), data).trace_sha256


def test_the_run_stands_at_a_missed_entry_and_a_leaver_ends_meanwhile(tmp_path: Path) -> None:
    data = coming_and_going(
        goer=participant({"in": "source.out"}, activation="in", leave="500ms"),
        behind_goer=participant({"in": "goer.out"}, period="20ms"),
    )

    def late(direction: Direction) -> None:
        # The clock says so twice where it stands. One that has left ends, unless it has something
        # for the joiner.
        if direction.said("clock", "time 1.000 s") and "goer" in direction.group.codes():
            direction.start("joiner")

    found = run_directed(tmp_path, data, ["joiner"], late, bag=True)
    expected = reference(tmp_path, data)
    assert found.trace_sha256 == expected.trace_sha256
    assert found.causality == expected.causality
    counts = {p.name: p.activations for p in found.participants}
    assert counts == {p.name: p.activations for p in expected.participants}


def test_a_joiner_needs_no_more_than_the_newest_of_what_it_missed(tmp_path: Path) -> None:
    # More than is kept for it, in a type that carries no number, at times that are not known.
    talker = participant({}, "sparse", period="1ms", type="geometry_msgs/msg/AccelStamped")
    talker["parameters"]["record"] = "Acceleration"
    joiner = participant({"in": "talker.out"}, period="10ms", enter="4s")
    data = scenario("missing", "4200ms", talker=talker, joiner=joiner)

    def late(direction: Direction) -> None:
        if direction.said("clock", "time 4.000 s"):
            direction.start("joiner")

    found = run_directed(tmp_path, data, ["joiner"], late)
    assert found.trace_sha256 == reference(tmp_path, data).trace_sha256
    assert found.causality.loss == 0


def test_a_joiner_that_never_comes_is_named(tmp_path: Path) -> None:
    data = scenario(
        "never",
        source=participant(period="10ms"),
        joiner=participant({"in": "source.out"}, period="10ms", enter="300ms"),
    )
    # Long enough for the others to come on a busy machine.
    data["startup_s"] = 8
    with pytest.raises(RunError) as caught:
        run_directed(tmp_path, data, ["joiner"])
    assert str(caught.value) == (
        "clock: stood at 300ms for 8 s, waiting for joiner (not seen) to become ready"
    )


def autonomous(duration: str = BRIEF, **others: dict[str, Any]) -> dict[str, Any]:
    """One that comes when it comes."""
    return scenario(
        "autonomous",
        duration,
        source=participant(period="10ms"),
        guest=participant({"in": "source.out"}, period="30ms", mode="autonomous"),
        behind=participant({"in": "guest.out"}, activation="in"),
        reader=participant({"in": "behind.out", "raw": "guest.out"}, period="20ms"),
        **others,
    )


def test_an_autonomous_participant_gets_an_entry_that_can_be_repeated(tmp_path: Path) -> None:
    # The run stands at 1 s for another one.
    data = autonomous(joiner=participant({"in": "guest.out"}, period="10ms", enter="1s"))

    def come(direction: Direction) -> None:
        if direction.said("clock", "time 1.000 s"):
            direction.start("guest")
        if direction.said("clock", "guest enters at "):
            direction.start("joiner")

    found = run_directed(tmp_path, data, ["joiner", "guest"], come)
    entered = presence(found)["guest"][0]
    assert entered == 1.0
    assert not found.repeatable
    assert found.not_repeatable_since_s == entered
    assert found.not_repeatable_reason == (
        "'guest' entered when it was ready (with enter: 1s it repeats)"
    )
    again = deepcopy(data)
    again["participants"]["guest"]["enter"] = "1s"
    repeated = reference(tmp_path, again)
    assert repeated.repeatable
    assert repeated.trace_sha256 == found.trace_sha256


def test_whenever_it_comes_the_entry_can_be_repeated(tmp_path: Path) -> None:
    data = autonomous("4s")
    found = run_directed(tmp_path, data)
    entered = presence(found).get("guest", (3600.0, None))[0]
    assert entered is not None
    assert not found.repeatable
    data["participants"]["guest"]["enter"] = round(entered * 1e9)
    assert found.trace_sha256 == reference(tmp_path, data).trace_sha256


def test_the_run_does_not_wait_for_an_autonomous_participant(tmp_path: Path) -> None:
    data = autonomous()
    found = run_directed(tmp_path, data, ["guest"])
    assert presence(found).keys() == {"source", "behind", "reader"}
    assert found.not_repeatable_reason == "'guest' did not come before the end"
    data["participants"]["guest"]["enter"] = "1h"
    assert found.trace_sha256 == reference(tmp_path, data).trace_sha256


def optional(**others: dict[str, Any]) -> dict[str, Any]:
    return scenario(
        "optional",
        BRIEF,
        source=participant(period="10ms"),
        extra=participant({"in": "source.out"}, "sparse", activation="in", required=False),
        behind=participant({"in": "extra.out"}, activation="in"),
        reader=participant({"in": "behind.out", "raw": "extra.out"}, period="20ms"),
        **others,
    )


def test_the_run_goes_on_without_optional_participants_that_die_or_end(tmp_path: Path) -> None:
    data = optional(
        ending=participant({"in": "source.out"}, period="20ms", required=False),
        joiner=participant({"in": "source.out"}, period="10ms", enter="1s"),
    )
    codes: dict[str, int] = {}

    def kill(direction: Direction) -> None:
        if direction.said("clock", "time 1.000 s") and direction.once("kill"):
            os.kill(direction.group.pids()["extra"], signal.SIGKILL)
            os.kill(direction.group.pids()["ending"], signal.SIGTERM)
        if all(direction.said("clock", f"goes on without {n}: ") for n in ("extra", "ending")):
            # A second one comes too late.
            direction.start("extra")
            if direction.once("start joiner when it has ended"):
                return
            if (code := direction.group.codes().get("extra", -signal.SIGKILL)) > 0:
                codes["extra"] = code
                direction.start("joiner")

    found = run_directed(tmp_path, data, ["joiner"], kill)
    assert codes == {"extra": 1}
    assert found.sim_time_s == 1.2
    assert found.not_repeatable_since_s is not None
    assert 0.0 <= found.not_repeatable_since_s <= 1.0
    lost = [presence(found)[name] for name in ("extra", "ending")]
    assert min(lost) == (0.0, found.not_repeatable_since_s)
    # The last word of one that ends by itself says so; were it not heard, it would never be missed.
    assert set(str(found.not_repeatable_reason).split("; ")) == {
        "'extra' was lost: process 'extra' was killed by SIGKILL",
        "'ending' was lost: was asked to end",
    }


def test_an_optional_participant_that_cannot_start_is_not_waited_for(tmp_path: Path) -> None:
    data = optional()
    data["participants"]["extra"]["parameters"]["schedules"] = None  # no mixer is made of this
    found = run_directed(tmp_path, data)
    assert found.not_repeatable_since_s == 0.0
    assert str(found.not_repeatable_reason).startswith("'extra' was lost: ")
    counts = {p.name: p.activations for p in found.participants}
    assert counts["extra"] == counts["behind"] == 0
    assert counts["reader"] == 60


def test_what_comes_from_outside_of_the_simulated_time_is_recorded(tmp_path: Path) -> None:
    command = {"unsynchronised": "/operator/command", "type": TYPE}
    data = scenario(
        "unsynchronised",
        reader=participant({"command": command}, period="10ms"),
        behind=participant({"in": "reader.command/received"}, activation="in"),
        joiner=participant({"in": "reader.out"}, period="10ms", enter="1s"),
    )

    def talk(direction: Direction) -> None:
        if direction.said("clock", "time 1.000 s") and direction.once("talk"):
            talker = start_talker(direction.environment, tmp_path / "talks")
            direction.outsiders.append(talker)
        if (tmp_path / "talks").exists():
            direction.start("joiner")

    found = run_directed(tmp_path, data, ["joiner"], talk, bag=True)
    assert not found.repeatable
    since = found.not_repeatable_since_s
    assert since is not None
    assert 0.9 <= since < 2.0
    assert found.not_repeatable_reason == "'reader' read the unsynchronised input 'command'"
    with AnyReader([tmp_path / "directed" / "bag"]) as bag:
        received = [c for c in bag.connections if c.topic == "/cosim/received/reader/command"]
        stamps = [stamp for _, stamp, _ in bag.messages(received)]
    # Each is stamped with the activation that read it.
    assert stamps[0] == round(since * 1e9)
    assert all(stamp % 10_000_000 == 0 for stamp in stamps)
    counts = {p.name: p.activations for p in found.participants}
    assert counts["behind"] == len(stamps)
    assert found.causality.loss == found.causality.order == found.causality.timing == 0


def start_talker(environment: dict[str, str], talks: Path) -> subprocess.Popen[bytes]:
    """A node that knows nothing of the run."""
    script = ROOT / "test" / "support" / "talker_node.py"
    arguments = [sys.executable, str(script), "/operator/command", TYPE, str(talks)]
    return subprocess.Popen(arguments, env=environment)
