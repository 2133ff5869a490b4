# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Several scenarios in one call: rows, JUnit XML, an earlier sweep as baseline, exit codes."""

from __future__ import annotations

import json
import shutil
from os.path import relpath
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.xosc_files import at, document, written
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.record.summary import Verdict
from ros2_cosim.lab.sweep.baseline import Baseline, Worse
from ros2_cosim.lab.sweep.junit import write_junit
from ros2_cosim.lab.sweep.settings import load_sweeps
from ros2_cosim.lab.sweep.store import SweepRun

pq = pytest.importorskip("pyarrow.parquet", reason="the extra sweep is not installed")

FOLLOWING = Path(__file__).resolve().parents[2] / "config" / "car_following.yaml"
START = "participants.traffic.parameters.front.start"


def scenario(path: Path, start: float = 40.0, **changes: object) -> Path:
    """A car-following scenario; the vehicles touch at the start if it is below 4.5."""
    data = yaml.safe_load(FOLLOWING.read_text())
    data |= {"duration": "100ms", **changes}
    data["participants"]["traffic"]["parameters"]["front"]["start"] = start
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(data))
    return path


def cosim(*arguments: object):
    return CliRunner().invoke(app, ["sweep", *map(str, arguments), "--workers", "0"])


def rows(out: Path) -> list[dict]:
    return pq.read_table(out / "runs.parquet").to_pylist()


def test_files_and_directories_have_rows_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scenario(Path("many/one.yaml"))
    scenario(Path("many/two.yaml"), seed=7)
    written(Path("many"), document(stop=at(0.1)))
    (Path("many") / "notes.txt").write_text("no scenario")
    swept = {"scenario": str(FOLLOWING), "set": {"duration": "100ms"}, "seeds": 2}
    Path("gaps.yaml").write_text(yaml.safe_dump({**swept, "parameters": {START: [30.0, 40.0]}}))
    done = cosim("many", "gaps.yaml", "--out", "out")
    assert done.exit_code == 0, done.output
    found = rows(Path("out"))
    assert [row["run_id"] for row in found] == [f"{n:06d}" for n in range(1, 8)]
    names = [row["scenario"] for row in found]
    assert names == ["file", "one", "two", *["gaps"] * 4]
    assert [row["seed"] for row in found] == [1, 1, 7, 1, 2, 1, 2]
    assert [row[f"param.{START}"] for row in found] == [None] * 3 + [30.0, 30.0, 40.0, 40.0]
    page = Path("out/report.html").read_text()
    assert "Sweep of 4 scenarios" in page and "<th>Scenario</th>" in page
    kept = sorted(Path("out/runs").glob("*/run.json"))
    times = [file.stat().st_mtime_ns for file in kept]
    assert cosim("many", "gaps.yaml", "--out", "out", "--resume").exit_code == 0
    assert [file.stat().st_mtime_ns for file in kept] == times and len(times) == 7
    assert rows(Path("out")) == found


def test_a_name_of_the_library_is_a_scenario(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (sweep,) = load_sweeps([Path("cut_in")])
    assert (sweep.name, sweep.refused, sweep.given) == ("cut_in", "", True)
    with pytest.raises(ConfigurationError, match="did you mean"):
        load_sweeps([Path("cutin")])
    with pytest.raises(ConfigurationError, match="no such file"):
        load_sweeps([Path("cut_in.yaml")])


def test_one_that_is_refused_does_not_keep_the_others_from_running(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scenario(Path("many/good.yaml"))
    Path("many/other.yaml").write_text("participants: 3\n")
    Path("many/torn.yaml").write_text("a: [")
    done = cosim("many", "--out", "out", "--junit", "found.xml")
    assert done.exit_code == 1
    good, other, torn = rows(Path("out"))
    assert good["status"] == "done"
    assert (other["status"], torn["status"]) == ("failed", "failed")
    assert "participants: found 3" in other["error"] and "torn.yaml" in torn["error"]
    root = ElementTree.parse("found.xml").getroot()
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "0", "2")
    assert [suite.get("name") for suite in root] == ["good", "other", "torn"]


def test_a_sweep_file_that_is_wrong_ends_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scenario(Path("good.yaml"))
    Path("wrong.yaml").write_text("scenario: nosuch.yaml\n")
    done = cosim("good.yaml", "wrong.yaml", "--out", "out")
    assert done.exit_code == 1 and "no such file" in done.stderr and not Path("out").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["a.yaml", "a.yaml"], "a: found twice; allowed are different names"),
        (
            ["empty"],
            "empty: found no scenario; allowed are files with .yaml, .yml, .json, .xosc, .ssp, "
            ".ssd",
        ),
        (["s1.yaml", "s2.yaml"], "search: found in s1 and s2; allowed is one"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(tmp_path, monkeypatch, given, said):
    monkeypatch.chdir(tmp_path)
    scenario(Path("a.yaml"))
    Path("empty").mkdir()
    search = {"kind": "boundary", "along": START, "tolerance": 1.0}
    for name in ("s1.yaml", "s2.yaml"):
        content = {"scenario": "a.yaml", "search": search}
        content["parameters"] = {START: {"low": 2.0, "high": 20.0}}
        Path(name).write_text(yaml.safe_dump(content))
    with pytest.raises(ConfigurationError) as error:
        load_sweeps([Path(path) for path in given])
    assert str(error.value) == said


def test_names_do_not_depend_on_where_a_sweep_is_started(tmp_path, monkeypatch):
    for place in ("one/a.yaml", "one/b.yaml", "two/x/a.yaml", "three/x/a.yaml"):
        scenario(tmp_path / place)
    wanted = ["one/a", "b", "two/x/a", "three/x/a"]
    for start in (".", "two", "two/x"):
        monkeypatch.chdir(tmp_path / start)
        given = [Path(relpath(tmp_path / place)) for place in ("one", "two/x", "three/x/a.yaml")]
        assert [sweep.name for sweep in load_sweeps(given)] == wanted
        assert [sweep.name for sweep in load_sweeps([each.absolute() for each in given])] == wanted


def test_a_verdict_that_is_not_met_is_the_answer_no(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scenario(Path("good.yaml"))
    scenario(Path("crash.yaml"), start=3.0)
    done = cosim("good.yaml", "crash.yaml", "--out", "out", "--junit", "sub/found.xml", "--json")
    assert done.exit_code == 3
    assert "1 of 2 runs do not meet a verdict" in done.stderr
    assert json.loads(done.stdout)["not_met"] == ["000002"]
    suites = ElementTree.parse("sub/found.xml").getroot()
    good, crash = suites
    assert good.find(".//failure") is None
    (case,) = crash
    assert (case.get("classname"), case.get("name")) == ("crash", "no_collision [seed=1]")
    (failure,) = case
    assert failure.get("message") == "run 000002: no_collision: 1 (limit 0)"


def test_what_is_worse_than_an_earlier_sweep_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scenario(Path("one.yaml"))
    scenario(Path("two.yaml"))
    assert cosim("one.yaml", "two.yaml", "--out", "before").exit_code == 0
    same = cosim("one.yaml", "two.yaml", "--out", "same", "--baseline", "before")
    assert same.exit_code == 0 and "2 runs are compared with the baseline" in same.stdout
    scenario(Path("two.yaml"), start=20.0)  # the gap is smaller, and no verdict says so
    table = Path("before/runs.parquet")
    done = cosim("one.yaml", "two.yaml", "--out", "now", "--baseline", table, "--junit", "now.xml")
    assert done.exit_code == 3
    assert "run 000002 of two: min_gap_m is worse: 35.13 before, now 15.5\n" in done.stderr
    failures = ElementTree.parse("now.xml").getroot().findall(".//testcase[failure]")
    assert "min_gap_m [seed=1]" in [case.get("name") for case in failures]
    # The other way round it is better.
    scenario(Path("two.yaml"))
    done = cosim("one.yaml", "two.yaml", "--out", "again", "--baseline", "now")
    assert done.exit_code == 0, done.stderr
    # A verdict that was met, and the directory of the baseline may be the one that is replaced.
    scenario(Path("one.yaml"), start=3.0)
    done = cosim("one.yaml", "--out", "again", "--baseline", "again")
    assert done.exit_code == 3
    assert "run 000001 of one: no_collision is worse: yes before, now no" in done.stderr
    assert "1 runs are compared with the baseline; 1 of the baseline are not among" in done.stdout


def test_a_verdict_that_is_gone_is_worse(tmp_path):
    before = judged(3.0, 1.0, True)
    now = before._replace(verdicts={}, figures={}, judged=())
    baseline = table_of(tmp_path / "runs.parquet", before)
    (found,) = baseline.compare([now]).worse
    assert (found.name, found.change) == ("gap", "yes before, now \N{EN DASH}")
    assert baseline.compare([before]).gone == 0 and not baseline.compare([before]).worse
    assert not table_of(tmp_path / "runs.parquet", judged(3.0, 9.0, False)).compare([now]).worse


def test_a_baseline_that_is_none_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scenario(Path("one.yaml"))
    shutil.copy("one.yaml", "two.yaml")
    assert cosim("two.yaml", "--out", "before").exit_code == 0
    for path, said in (
        ("nosuch", "--baseline: nosuch cannot be read: "),
        ("one.yaml", "--baseline: one.yaml cannot be read: "),
        ("before", "--baseline: before has no run with scenario, parameters and seed of one of "
                   "these; one, seed 1 is the first"),
    ):  # fmt: skip
        done = cosim("one.yaml", "--out", "out", "--baseline", path)
        assert done.exit_code == 1 and done.stderr.startswith(f"cosim: {said}")


def judged(value: float, limit: float, passed: bool, name: str = "gap") -> SweepRun:
    verdict = Verdict(name=name, value=value, limit=limit, passed=passed)
    return SweepRun(
        "000001", 1, {}, "done", verdicts={name: passed}, figures={name: value}, judged=(verdict,)
    )


def table_of(path: Path, run: SweepRun) -> Baseline:
    import pyarrow

    row = {"scenario": "", "seed": run.seed, "status": run.status}
    row |= {f"param.{name}": value for name, value in run.parameters.items()}
    row |= {f"verdict.{name}": met for name, met in run.verdicts.items()}
    row |= {f"figure.{name}": value for name, value in run.figures.items()}
    pq.write_table(pyarrow.Table.from_pylist([row]), path)
    return Baseline(path)


@given(
    before=st.floats(-1e3, 1e3), now=st.floats(-1e3, 1e3), limit=st.floats(-1e3, 1e3),
    larger_is_better=st.booleans(),
)  # fmt: skip
def test_the_limit_of_a_verdict_tells_which_side_is_bad(
    tmp_path_factory, before, now, limit, larger_is_better
):
    def met(value: float) -> bool:
        return value >= limit if larger_is_better else value <= limit

    path = tmp_path_factory.mktemp("table") / "runs.parquet"
    old, new = judged(before, limit, met(before)), judged(now, limit, met(now))
    worse = {each.now for each in table_of(path, old).compare([new]).worse}
    change = before - now if larger_is_better else now - before
    known = now != limit or before != limit
    assert (now in worse) == (known and change > max(0.01 * abs(before), 0.001))
    assert (False in worse) == (met(before) and not met(now)) or now in worse


@pytest.mark.parametrize(
    ("name", "worse"), [("a.min_ttc_s", True), ("max_speed", False), ("steps", False)]
)
def test_the_name_of_a_figure_tells_which_side_is_bad(tmp_path, name, worse):
    before = SweepRun("000001", 1, {"x": 20, "law": "a"}, "done", figures={name: 3.0})
    now = before._replace(parameters={"law": "a", "x": 20.0}, figures={name: 2.0})
    found = table_of(tmp_path / "runs.parquet", before).compare([now]).worse
    assert found == ([Worse("000001", "", name, 3.0, 2.0)] if worse else [])


@given(text=st.text(max_size=30))
def test_any_text_can_be_read_back_as_xml(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("junit") / "found.xml"
    run = SweepRun("000001", 1, {"x": text}, "failed", text, scenario=text)
    write_junit(path, [run], [])
    (suite,) = ElementTree.parse(path).getroot()
    assert suite.get("errors") == "1"
    plain = "".join(c for c in text if c >= " " and not "\ud800" <= c <= "\udfff")
    if plain == text and "\ufffe" not in text and "\uffff" not in text:
        assert suite.get("name") == text
