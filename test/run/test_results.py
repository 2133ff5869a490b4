# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What is done with the files of a run once its processes have ended, or were killed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from support.control_scenarios import chain
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import StorageError
from ros2_cosim.core.record import results
from ros2_cosim.core.record.bag_metadata import mcap_path
from ros2_cosim.core.record.bag_reader import is_complete, read_bag
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.output_directory import OutputDirectory, repetitions
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.results import complete_results
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.schema import make_scenario


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of a run of four seconds."""
    output = tmp_path_factory.mktemp("run") / "out"
    run_inproc(make_scenario(chain("4s"), "chain"), output)
    return output


@pytest.fixture
def killed(complete: Path, tmp_path: Path) -> Path:
    """The same, cut off in its last second, as ``kill -9`` leaves it."""
    output = tmp_path / "out"
    shutil.copytree(complete, output)
    (output / "bag" / "metadata.yaml").unlink()
    path = mcap_path(output / "bag")
    os.truncate(path, path.stat().st_size * 2 // 3)
    return output


def test_results_are_written_without_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recorder tells the clock as soon as they are there: no limit covers the report."""
    seen: list[bool] = []
    write = results.write_summary

    def watched(run_dir: Path, summary: results.Summary) -> Path:
        path = write(run_dir, summary)
        seen.append((run_dir / "report.html").exists())
        return path

    monkeypatch.setattr(results, "write_summary", watched)
    monkeypatch.setattr("ros2_cosim.core.run.inproc.write_reports", lambda output, scenario: None)
    run_inproc(make_scenario(chain("1s"), "chain"), tmp_path / "out")
    assert seen == [False]
    assert not (tmp_path / "out" / "report.html").exists()
    complete_results(tmp_path / "out")
    assert (tmp_path / "out" / "report.html").exists()


def test_a_report_completes_the_bag_of_a_killed_run(killed: Path) -> None:
    assert not is_complete(killed / "bag")
    shown = CliRunner().invoke(app, ["report", str(killed)])
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.splitlines()[0].endswith("the run was killed; its bag is complete now")
    assert is_complete(killed / "bag")
    assert max(message.stamp for message in read_bag(killed / "bag")) > 1_900_000_000


def test_a_bag_that_is_being_written_is_left_alone(killed: Path) -> None:
    size = mcap_path(killed / "bag").stat().st_size
    with OutputDirectory(killed, "run 'chain'", marker=None):
        shown = CliRunner().invoke(app, ["report", str(killed)])
    assert shown.exit_code == 1
    assert "run 'chain' (process" in shown.stderr
    assert mcap_path(killed / "bag").stat().st_size == size


@pytest.mark.parametrize("command", ["report", "diff", "replay"])
def test_a_bag_that_lost_its_end_is_damaged(complete: Path, tmp_path: Path, command: str) -> None:
    """Its run had closed it: nobody was killed, and what is left must not pass for the run."""
    output = tmp_path / "out"
    shutil.copytree(complete, output)
    path = mcap_path(output / "bag")
    os.truncate(path, path.stat().st_size // 2)
    kept = path.read_bytes()
    arguments = {
        "report": [str(output)],
        "diff": [str(complete), str(output)],
        "replay": [str(output), "--into", "observer", "--out", str(tmp_path / "again")],
    }
    shown = CliRunner().invoke(app, [command, *arguments[command]])
    assert shown.exit_code == 1
    assert shown.stderr.count("\n") == 1, shown.stderr
    assert "bag_0.mcap is damaged: cut off after its run had closed it" in shown.stderr
    assert path.read_bytes() == kept


def test_a_bag_that_cannot_be_completed_is_named(killed: Path) -> None:
    mcap_path(killed / "bag").write_bytes(b"nothing of the kind")
    with pytest.raises(StorageError, match="bag: cannot be completed: .* is not an MCAP file"):
        complete_results(killed)


def test_a_run_repeats_in_one_process(tmp_path: Path) -> None:
    scenario = make_scenario(chain("300ms"), "chain")
    output = tmp_path / "out"
    first = run_request(RunRequest(scenario, shape="inproc", out=output, repeat=12, record=False))
    found = [read_summary(path).trace_sha256 for path in repetitions(output)]
    assert found == [first.trace_sha256] * 11
    # A run after that one leaves nothing of it.
    run_request(RunRequest(scenario, shape="inproc", out=output, repeat=2))
    assert [path.name for path in repetitions(output)] == ["again-1"]
    assert not (output / "again-10").exists()


def test_repetitions_of_a_run_are_compared(tmp_path: Path) -> None:
    file = tmp_path / "chain.json"
    file.write_text(json.dumps(chain("300ms")))
    arguments = ["run", str(file), "--shape", "inproc", "--no-bag", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*arguments, "--set", "duration=100ms", "--repeat", "2"])
    assert done.exit_code == 0, done.output
    trace = read_summary(tmp_path / "out").trace_sha256
    assert done.stdout.splitlines()[-1] == f"2 repetitions, one trace {trace}"
    assert read_summary(tmp_path / "out").sim_time_s == 0.1
