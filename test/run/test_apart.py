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
from support.patience import HANG_S

from ros2_cosim.kernel.errors import ParticipantError
from ros2_cosim.record.bag_reader import read_bag
from ros2_cosim.record.report import render_report
from ros2_cosim.record.summary import read_summary
from ros2_cosim.run.bringup import RunRequest, bring_up
from ros2_cosim.run.inproc import InprocRun, run_inproc
from ros2_cosim.scenario.schema import load_scenario

PLATOON = Path(__file__).parents[2] / "config" / "platoon.yaml"
LAWS = """\
import ctypes


class Counting:
    calls = 0

    def acceleration(self, measurement):
        self.calls += 1
        if self.calls > 5:
            self.end()
        return 0.0


class Failing(Counting):
    def end(self):
        {}["kp"]


class Endless(Counting):
    def end(self):
        for _ in iter(int, 1): pass


class Crashing(Counting):
    def end(self):
        ctypes.string_at(0)
"""
WORDS = {
    "Failing": "participant 'cacc1' failed in its activation 6 at 200ms: KeyError: 'kp' "
    "({file}, line 16)",
    "Endless": "participant 'cacc1' has not returned from its activation 6 at 200ms for 0.5 s of "
    "wall time ({file}, line 21)",
    "Crashing": "participant 'cacc1' ({file}) crashed by SIGSEGV in its activation at 200ms",
}


@pytest.fixture
def laws(tmp_path: Path) -> Path:
    file = tmp_path / "laws.py"
    file.write_text(LAWS, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("recording")
    run_inproc(load_scenario(PLATOON, ["duration=1s", "watchdog_s=0.5"]), output)
    return output


def cosim(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    with user_environment(place / "log") as environment:
        return subprocess.run(
            [sys.executable, "-m", "ros2_cosim.cli.main", *words],
            cwd=place, capture_output=True, text=True, timeout=HANG_S, check=False, env=environment,
        )  # fmt: skip


INTO = "replay RUN --into cacc1 --controllers LAW"
WHAT_IF = "replay RUN --substitute cacc1=LAW --from 100ms"
STUDY = "study string-stability RUN/scenario.json --law LAW"


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(
    ("command", "law"),
    [
        (INTO, "Failing"),
        (INTO, "Endless"),
        (INTO, "Crashing"),
        (WHAT_IF, "Crashing"),
        (STUDY, "Failing"),
        (STUDY, "Crashing"),
    ],
)
def test_what_fails_is_named(
    command: str, law: str, laws: Path, recording: Path, tmp_path: Path
) -> None:
    given = command.replace("RUN", str(recording)).replace("LAW", f"{laws}:{law}")
    ended = cosim(tmp_path, *given.split(), "--out", "out")
    place = "; traceback in out/traceback.txt" * (law == "Failing")
    sentence = WORDS[law].format(file=laws)
    assert ended.stderr.splitlines()[-1] == f"cosim: {sentence}{place}"
    assert ended.returncode == 1
    if place:
        assert "line 16, in end" in (tmp_path / "out" / "traceback.txt").read_text()


@pytest.mark.usefixtures("nothing_left")
def test_a_run_of_a_page_that_crashes_is_named(laws: Path, tmp_path: Path) -> None:
    """The dashboard that starts scenarios runs them in its own process; it reads no bag there."""
    data = yaml.safe_load(PLATOON.read_text(encoding="utf-8"))
    data["base_directory"] = str(PLATOON.parent)
    law = {"law": f"{laws}:Crashing", "law_parameters": {}}
    data["participants"]["cacc1"]["parameters"] |= law
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    words = ["dashboard", "--folder", ".", "--http-port", "0", "--token", "t"]
    with user_environment(tmp_path / "log") as environment:
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
    assert said.splitlines()[-1] == f"cosim: {WORDS['Crashing'].format(file=laws)}"
    assert page.returncode == 1


@pytest.mark.parametrize("law", ["Failing", "Endless"])
def test_a_program_with_a_run_gets_the_error(law: str, laws: Path, tmp_path: Path) -> None:
    scenario = load_scenario(PLATOON, ["duration=1s", "watchdog_s=0.5"])
    request = RunRequest(scenario, shape="inproc", controllers=f"{laws}:{law}", out=tmp_path / "o")
    with (
        pytest.raises(ParticipantError) as failed,
        bring_up(request) as prepared,
        InprocRun(prepared) as run,
    ):
        run.finish()
    assert str(failed.value).startswith(WORDS[law].format(file=laws))
    # The run is left as far as it came.
    output = tmp_path / "o"
    summary = read_summary(output, complete=False)
    assert (summary.complete, summary.end_reason) == (False, str(failed.value))
    stamps = [message.stamp for message in read_bag(output / "bag")]
    assert summary.sim_time_s * 1e9 == max(stamps) >= 190_000_000
    assert "not complete" in render_report(output).read_text(encoding="utf-8")
