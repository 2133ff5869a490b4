# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Two runs into one output directory, started at once: one is refused, the other completes."""

from __future__ import annotations

import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from runs.cosim_process import Running, cosim, left_processes, user_environment
from support.control_scenarios import chain
from support.patience import until
from support.processes import children_of
from support.waiting_models import MODEL, waiting_file

from ros2_cosim.core.record.bag_reader import is_complete, read_bag
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.output_directory import LOCK_FILE, read_holder
from ros2_cosim.core.scenario.schema import make_scenario

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

SHAPES = ("inproc", "composed", "ros")


def waiting_chain(directory: Path) -> tuple[Path, Path]:
    """A scenario whose run waits for a file: (scenario file, file)."""
    go = directory / "go"
    data = waiting_data(go)
    file = directory / "chain.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    return file, go


def waiting_data(go: Path) -> dict[str, Any]:
    data = chain("200ms")
    data["participants"]["plant"].update(model=MODEL, parameters={"file": str(go)})
    return data


def files_of(output: Path) -> dict[Path, int]:
    """What is in a directory, by i-node: a file that is made again has another one."""
    return {path: path.stat().st_ino for path in output.rglob("*")}


@pytest.mark.parametrize(
    ("first", "second"), [("inproc", "ros"), ("composed", "inproc"), ("ros", "composed")]
)
def test_one_of_two_is_refused(tmp_path: Path, first: str, second: str) -> None:
    file, go = waiting_chain(tmp_path)
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        with (
            Running(environment, file, "--out", output, "--shape", first) as one,
            Running(environment, file, "--out", output, "--shape", second) as other,
        ):
            until(
                lambda: one.has_ended or other.has_ended,
                so_far=lambda: "both runs write into one directory",
            )
            refused, going = (one, other) if one.has_ended else (other, one)
            error = refused.result()
            # A run of shape inproc simulates in a child process, which holds the directory.
            holders = (going.pid, *children_of(going.pid))
            go.touch()
            done = going.result()
        assert left_processes(environment) == []
    assert error.code == 1
    # Which run is in the way; nothing else is said.
    found = re.match(
        rf"cosim: output directory {re.escape(str(output))}: run 'chain' \(process (\d+), since ",
        error.error(),
    )
    assert found is not None and int(found[1]) in holders, error
    assert error.error().endswith(" writes there; wait for it, or name another directory")
    assert done.code == 0, done
    (tmp_path / "reference").mkdir()
    data = waiting_data(go)
    expected = run_inproc(make_scenario(data, "chain"), tmp_path / "reference")
    assert read_summary(output).trace_sha256 == expected.trace_sha256
    assert is_complete(output / "bag")
    messages = [(m.topic, m.stamp, m.data) for m in read_bag(output / "bag")]
    assert messages == [
        (m.topic, m.stamp, m.data) for m in read_bag(tmp_path / "reference" / "bag")
    ]
    assert (output / LOCK_FILE).read_bytes() == b""


def test_a_refused_run_touches_nothing(tmp_path: Path) -> None:
    file, go = waiting_chain(tmp_path)
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        with Running(environment, file, "--out", output, "--shape", "inproc") as running:
            while not waiting_file(go).exists():
                assert not running.has_ended, running.result()
                time.sleep(0.02)
            before = files_of(output)
            for shape in SHAPES:
                refused = cosim(environment, file, "--out", output, "--shape", shape)
                assert re.search(r"output directory .* writes there", refused.error())
            assert files_of(output) == before
            go.touch()
            assert running.result().code == 0


def test_processes_of_a_killed_run_hold_its_directory_until_they_have_ended(
    tmp_path: Path,
) -> None:
    file, go = waiting_chain(tmp_path)
    output = tmp_path / "out"
    with user_environment(tmp_path / "log") as environment:
        with Running(environment, file, "--out", output) as running:
            while "recorder" not in running.children():
                assert not running.has_ended, running.result()
                time.sleep(0.02)
            running.send(signal.SIGKILL)
            running.result()
        go.touch()
        while (again := cosim(environment, file, "--out", output)).code != 0:
            assert f"run 'chain' (process {running.pid}, since " in again.error()
        assert left_processes(environment) == []
    assert is_complete(output / "bag")
    assert read_holder(output) is None
