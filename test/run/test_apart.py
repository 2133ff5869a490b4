# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Commands that simulate in their own process name what fails there, and leave it readable."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
import yaml
from runs.cosim_process import user_environment
from support import warm
from support.failing_laws import FILE, PATIENCE_S, WORDS
from support.patience import HANG_S

from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun, run_inproc
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.lab.report.report import render_report

PLATOON = Path(__file__).parents[2] / "config" / "platoon.yaml"
SHORT = ["duration=1s", f"watchdog_s={PATIENCE_S}"]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("recording")
    run_inproc(load_scenario(PLATOON, SHORT), output)
    return output


def cosim(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    with user_environment(place / "log") as environment:
        return warm.cosim(environment, *words, directory=place)


INTO = "replay RUN --into cacc1 --controllers LAW"
WHAT_IF = "replay RUN --substitute cacc1=LAW --from 100ms"
STUDY = "study string-stability RUN/scenario.json --law LAW"


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(
    ("command", "law"),
    [
        (INTO, "Endless"),
        (WHAT_IF, "Crashing"),
        (STUDY, "Failing"),
    ],
)
def test_what_fails_is_named(command: str, law: str, recording: Path, tmp_path: Path) -> None:
    given = command.replace("RUN", str(recording)).replace("LAW", f"{FILE}:{law}")
    ended = cosim(tmp_path, *given.split(), "--out", "out")
    place = "; traceback in out/traceback.txt" * (law == "Failing")
    assert ended.stderr.splitlines()[-1] == f"cosim: {WORDS[law]}{place}"
    assert ended.returncode == 1
    if place:
        assert "line 30, in end" in (tmp_path / "out" / "traceback.txt").read_text()


@pytest.mark.usefixtures("nothing_left")
def test_a_run_of_a_page_that_crashes_is_named(tmp_path: Path) -> None:
    """The dashboard that starts scenarios runs them in its own process; it reads no bag there."""
    data = yaml.safe_load(PLATOON.read_text(encoding="utf-8"))
    data["base_directory"] = str(PLATOON.parent)
    law = {"law": f"{FILE}:Crashing", "law_parameters": {}}
    data["participants"]["cacc1"]["parameters"] |= law
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    words = ["dashboard", "0", "."]
    with user_environment(tmp_path / "log") as environment:
        environment["COSIM_TOKEN"] = "t"
        page = subprocess.Popen(
            [sys.executable, "-m", "ros2_cosim.cli.main", *words],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert page.stdout is not None
            url = page.stdout.readline().split()[-1].partition("#")[0]
            told = {"Authorization": "Bearer t", "Content-Type": "application/json"}
            start = Request(f"{url}api/start", b'{"scenario": "mine.yaml", "rate": null}', told)
            with suppress(OSError):  # it may be too late for an answer
                urlopen(start, timeout=HANG_S).close()
            said = page.communicate(timeout=HANG_S)[1]
        finally:
            page.kill()
    assert said.splitlines()[-1] == f"cosim: {WORDS['Crashing']}"
    assert page.returncode == 1


@pytest.mark.parametrize("law", ["Failing", "Endless"])
def test_a_program_with_a_run_gets_the_error(law: str, tmp_path: Path) -> None:
    scenario = load_scenario(PLATOON, SHORT)
    request = RunRequest(scenario, shape="inproc", controllers=f"{FILE}:{law}", out=tmp_path / "o")
    with (
        pytest.raises(ParticipantError) as failed,
        bring_up(request) as prepared,
        InprocRun(prepared) as run,
    ):
        run.finish()
    assert str(failed.value).startswith(WORDS[law])
    # The run is left as far as it came.
    output = tmp_path / "o"
    summary = read_summary(output, complete=False)
    assert (summary.complete, summary.end_reason) == (False, str(failed.value))
    stamps = [message.stamp for message in read_bag(output / "bag")]
    assert summary.sim_time_s * 1e9 == max(stamps) >= 190_000_000
    assert "not complete" in render_report(output).read_text(encoding="utf-8")
