# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Whatever reads a run whose bag or summary is damaged says so in one line, and ends with 1."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario

PLATOON = Path(__file__).parents[2] / "config" / "platoon.yaml"
STORAGE, METADATA, SUMMARY = "bag/bag_0.mcap", "bag/metadata.yaml", "summary.json"
#: A text in a record, with its length in front.
TOPIC, OTHER_TOPIC = b"\x13\0\0\0/follower1/odometry", b"\x13\0\0\0/follower3/odometry"
REPORT = "report RUN"
DIFF = "diff RUN RUN"
INTO = "replay RUN --into cacc1"
REPLAY = "replay RUN --out OUT"


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def emptied(content: bytes) -> bytes:
    return b""


def flipped(content: bytes) -> bytes:
    """Another bit in the middle, which is in a chunk."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]


def renamed(content: bytes) -> bytes:
    """One bit in the declaration of a topic, which no checksum guards."""
    assert TOPIC in content
    return content.replace(TOPIC, OTHER_TOPIC, 1)


def of_another_run(content: bytes) -> bytes:
    return content.replace(b'"seed": 1,', b'"seed": 2,')


def of_the_same_scenario(content: bytes) -> bytes:
    """As after a change of a law: scenario and seed are the same, the trace is not."""
    return re.sub(rb'("trace_sha256": ")\w{8}', rb"\g<1>00000000", content)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("recording") / "run"
    run_inproc(load_scenario(PLATOON, ["duration=100ms"]), output)
    return output


@pytest.mark.parametrize(
    ("file", "damage", "commands", "words"),
    [
        (STORAGE, cut, (REPORT, DIFF, INTO), "is damaged: cut off after its run had closed it"),
        (STORAGE, emptied, (REPORT,), "is not an MCAP file"),
        (STORAGE, emptied, (DIFF, INTO), "seems to be empty"),
        (STORAGE, flipped, (REPORT, DIFF, INTO), "checksum of a chunk is wrong"),
        (STORAGE, renamed, (REPORT, DIFF, INTO), "odometry is not as metadata.yaml has it"),
        (STORAGE, None, (REPORT, DIFF, INTO), "are missing: "),
        (METADATA, emptied, (REPORT, DIFF, INTO, REPLAY), "found nothing, not a mapping"),
        (METADATA, None, (DIFF, INTO), "the bag at RUN/bag is not complete"),
        (SUMMARY, cut, (REPORT, DIFF, INTO, REPLAY), "is not a run summary: not JSON"),
        (SUMMARY, emptied, (REPORT, DIFF, INTO, REPLAY), "is not a run summary: not JSON"),
        (SUMMARY, None, (REPORT, REPLAY), "there is none; no run has reached its end there"),
        (
            SUMMARY,
            of_another_run,
            (REPORT, DIFF, INTO, REPLAY),
            "RUN/summary.json and the bag beside it are not of one run: seed is 2 in the ",
        ),
        (
            SUMMARY,
            of_the_same_scenario,
            (REPORT, DIFF, INTO, REPLAY),
            "RUN/summary.json and the bag beside it are not of one run: trace_sha256 is 00000000",
        ),
    ],
)
def test_damage_is_named(
    recording: Path,
    tmp_path: Path,
    file: str,
    damage: Callable[[bytes], bytes] | None,
    commands: tuple[str, ...],
    words: str,
) -> None:
    run = tmp_path / "run"
    for command in commands:
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(recording, run)
        if damage is None:
            (run / file).unlink()
        else:
            (run / file).write_bytes(damage((run / file).read_bytes()))
        given = command.replace("RUN", str(run)).replace("OUT", str(tmp_path / "out"))
        ended = CliRunner().invoke(app, given.split())
        assert ended.exit_code == 1, (command, ended.output)
        (line,) = ended.stderr.splitlines()
        assert line.startswith("cosim: "), command
        assert words.replace("RUN", str(run)) in line, command
