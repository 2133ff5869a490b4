# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Scenario replay: from files written by hand and from recorded runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import StringIO
from math import nan
from pathlib import Path

import pytest
from support.vds_peer import HandClock

from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.vds.fleet import VehicleOutput
from ros2_cosim.vds.fleet_settings import read_settings
from ros2_cosim.vds.free_run import FreeRunMode, FreeRunSettings
from ros2_cosim.vds.replay import VdsRecorder, replay
from ros2_cosim.vds.vehicle_plant import VehicleCommand

MS = 1_000_000
SCENARIO = """\
{"vds_scenario": 1, "dt": "10ms", "vehicles": {"v": {"speed": 20.0}, "w": {"x": -30}}}

{"at": "0s", "vehicle": "v", "throttle": 0.5}
{"at": "25ms", "vehicle": "v", "brake": 0.4, "steer": 0.01}
{"at": "25ms", "vehicle": "w", "gear": -1, "handbrake": true}
{"end": "100ms"}
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "scenario.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


def test_commands_hold_from_the_first_tick_at_their_time(tmp_path: Path) -> None:
    seen: list[Mapping[str, VehicleOutput]] = []
    done = replay(written(tmp_path, SCENARIO), seen.append)
    assert (done.time, done.steps) == (100 * MS, 10)
    assert [o["v"].command.throttle for o in seen] == [0.5] * 3 + [0.0] * 7
    assert [o["v"].command.brake for o in seen] == [0.0] * 3 + [0.4] * 7
    assert {o["v"].command.steer for o in seen[3:]} == {0.01}
    assert [o["w"].command.gear for o in seen] == [1] * 3 + [-1] * 7
    assert seen[-1]["w"].command.handbrake
    assert seen[-1]["v"].state.x > 1.9


def test_a_replay_is_the_same_every_time(tmp_path: Path) -> None:
    path = written(tmp_path, SCENARIO)
    assert replay(path) == replay(path)


def test_recordings_of_earlier_versions_hold_nanoseconds(tmp_path: Path) -> None:
    new = replay(written(tmp_path, SCENARIO))
    times = {'"10ms"': "10000000", '"0s"': "0", '"25ms"': "25000000", '"100ms"': "100000000"}
    text = SCENARIO
    for now, before in times.items():
        text = text.replace(now, before)
    assert replay(written(tmp_path, text)) == new
    with pytest.raises(ConfigurationError, match="line 1: dt: found 20; a time needs a unit"):
        replay(written(tmp_path, SCENARIO.replace('"10ms"', "20")))


def test_all_run_modes_give_the_same_states(tmp_path: Path) -> None:
    settings = read_settings({"vehicles": {"a": {"speed": 15.0}, "b": {"kind": "van"}}}, "f")
    stream = StringIO()
    recorder = VdsRecorder(stream, settings)
    clock = HandClock(late=70_000)
    free = settings.fleet()
    ticks = 0

    def on_tick(outputs: Mapping[str, VehicleOutput]) -> None:
        nonlocal ticks
        ticks += 1
        recorder(outputs)
        if ticks < 120 and ticks % 7 == 0:  # then both fall silent and go into fail-safe
            run.command("a", VehicleCommand(0.001 * ticks, 0.3, acceleration=nan))
            run.command("b", VehicleCommand(0.0, 0.01 * (ticks % 50)))

    run = FreeRunMode(free, FreeRunSettings(), clock=clock, on_tick=on_tick)
    run.run(steps=200)
    recorder.end(free)
    assert run.fail_safes == {"a": 1, "b": 1}

    path = written(tmp_path, stream.getvalue())
    commands: list[tuple[VehicleCommand, ...]] = []
    done = replay(path, lambda outputs: commands.append(tuple(o.command for o in outputs.values())))
    assert (done.steps, done.trace_sha256) == (200, free.trace_sha256)

    stepped = settings.fleet()
    for a, b in commands:
        stepped["a"].set_input(a)
        stepped["b"].set_input(b)
        stepped.tick()
    assert stepped.trace_sha256 == free.trace_sha256
    # One line per change: the head, the first commands, 17 pairs, the fail-safe, the end.
    assert len(stream.getvalue().splitlines()) == 1 + 2 * (1 + 17 + 1) + 1


def test_a_replay_that_differs_says_so(tmp_path: Path) -> None:
    path = written(tmp_path, SCENARIO.replace('"100ms"', f'"100ms", "trace_sha256": "{64 * "0"}"'))
    with pytest.raises(RunError, match="line 6: the replay differs"):
        replay(path)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("[1]", "line 3: found '\\[1\\]'; allowed is an object"),
        ("{", "line 3: not JSON"),
        ("[" * 100_000, "line 3: not JSON"),
        ('{"at": "1s"}', "vehicle: found 'None'; allowed are v, w"),
        ('{"at": "1s", "vehicle": "u"}', "vehicle: found 'u'"),
        ('{"at": 1.5, "vehicle": "v"}', "line 3: at: found 1.5"),
        ('{"vehicle": "v"}', "line 3: at: found None"),
        ('{"at": "100000000000h", "vehicle": "v"}', "line 3: at"),
        ('{"at": 0, "vehicle": "v", "throttle": "x"}', "throttle: found 'x'"),
        (
            '{"at": 0, "vehicle": "v", "throttle": true}',
            "throttle: found true; allowed is a",
        ),
        ('{"at": 0, "vehicle": "v", "throttle": NaN}', "finite"),
        ('{"at": "1300000h", "vehicle": "v"}', "line 3: at: .* is beyond any run"),
        ('{"at": 0, "vehicle": "v", "gear": 1.5}', "gear: found 1.5"),
        ('{"at": 0, "vehicle": "v", "handbrake": 1}', "handbrake: found 1"),
        ('{"at": 0, "vehicle": "v", "wings": 1}', "wings: unknown key; allowed are"),
        (
            '{"at": "2ns", "vehicle": "v"}\n{"at": "1ns", "vehicle": "v"}',
            "line 4: found 1ns after 2ns",
        ),
    ],
)
def test_wrong_lines_are_named(tmp_path: Path, line: str, text: str) -> None:
    head = SCENARIO.splitlines()[0]
    with pytest.raises(ConfigurationError, match=text):
        replay(written(tmp_path, f"{head}\n\n{line}\n" + '{"end": "10s"}\n'))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "vds_scenario: found None"),
        ('{"vds_scenario": 2}', "found 2; allowed is 1"),
        ('{"vds_scenario": 1}', "vehicles"),
        (SCENARIO.splitlines()[0], "the last line must give the end"),
        (json.dumps({"x": "y" * 2_000_000}), "line 1: longer than"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, found: str) -> None:
    with pytest.raises(ConfigurationError, match=found):
        replay(written(tmp_path, text))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No such file"):
        replay(tmp_path / "none.jsonl")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="binary"):
        replay(tmp_path / "binary")
