# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sweeps in this process: files, designs, searches, results, going on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.distribution import installed
from support.xosc_files import at, document, written
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.lab.sweep import sweep as sweeping
from ros2_cosim.lab.sweep.design import points_of
from ros2_cosim.lab.sweep.progress import SweepProgress
from ros2_cosim.lab.sweep.rates import rates_of
from ros2_cosim.lab.sweep.settings import load_sweep
from ros2_cosim.lab.sweep.store import SweepRun
from ros2_cosim.lab.sweep.task import perform
from ros2_cosim.lab.sweep.varied import Design, VariedParameter

pq = pytest.importorskip("pyarrow.parquet", reason="the extra sweep is not installed")

CONFIG = Path(__file__).resolve().parents[2] / "config"
START = "participants.traffic.parameters.front.start"
#: The vehicles are 4.5 m long: nearer than that, they touch at the start.
TOUCHING = 4.5


def sweep_file(directory: Path, name: str = "sweep.yaml", **settings: object) -> Path:
    content = {
        "scenario": str(CONFIG / "car_following.yaml"),
        "set": {"duration": "100ms"},
        **settings,
    }
    path = directory / name
    path.write_text(yaml.safe_dump(content))
    return path


def run(path: Path, out: Path, **options: object):
    return sweeping.run_sweep([load_sweep(path)], out, workers=0, **options)


def rows(out: Path) -> list[dict]:
    return pq.read_table(out / "runs.parquet").to_pylist()


def cosim(*arguments: object):
    return CliRunner().invoke(app, ["sweep", *map(str, arguments)])


def test_a_grid_is_run_with_each_seed_and_leaves_a_table(tmp_path):
    path = sweep_file(
        tmp_path,
        seeds=[3, 5],
        parameters={START: [3.0, 40.0], "period": {"places": ["participants.front_sensor.period"],
                    "low": 20, "high": 40, "steps": 2, "whole": True, "unit": "ms"}},
    )  # fmt: skip
    result = run(path, tmp_path / "out")
    found = rows(tmp_path / "out")
    assert [row["run_id"] for row in found] == [f"{n:06d}" for n in range(1, 9)]
    assert [row["seed"] for row in found] == [3, 5] * 4
    assert [row[f"param.{START}"] for row in found] == [3.0] * 4 + [40.0] * 4
    assert [row["param.period"] for row in found] == [20, 20, 40, 40] * 2
    assert [row["verdict.no_collision"] for row in found] == [False] * 4 + [True] * 4
    assert found[0]["figure.min_gap_m"] == pytest.approx(3.0 - TOUCHING)
    assert {row["status"] for row in found} == {"done"}
    assert len({row["trace_sha256"] for row in found}) == 8
    (both, one) = result.rates
    assert (both.not_met, both.runs, one.verdict) == (4, 8, "no_collision")
    # Each run is there whole, and can be looked at by itself.
    summary = json.loads((tmp_path / "out" / "runs" / "000007" / "summary.json").read_text())
    assert (summary["seed"], summary["trace_sha256"]) == (3, found[6]["trace_sha256"])
    assert "no_collision" in (tmp_path / "out" / "report.html").read_text()


def test_a_run_of_a_sweep_is_that_of_cosim_run(tmp_path):
    path = sweep_file(tmp_path, seeds=[7], parameters={START: [41.5]})
    run(path, tmp_path / "out")
    arguments = ["run", str(CONFIG / "car_following.yaml"), "--shape", "inproc", "--no-bag"]
    arguments += ["--seed", "7", "--set", "duration=100ms", "--set", f"{START}=41.5"]
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert rows(tmp_path / "out")[0]["trace_sha256"] == summary["trace_sha256"]


def test_bags_are_kept_where_they_are_asked_for(tmp_path):
    path = sweep_file(tmp_path, parameters={START: [40.0]}, bag=True)
    result = run(path, tmp_path / "out")
    kept = {each.name for each in (tmp_path / "out" / "runs" / "000001").iterdir()}
    assert {"bag", "report.html", "activations.json", "summary.json", "run.json"} <= kept
    # What the reports of runs share is beside them, once.
    report = (tmp_path / "out" / "runs" / "000001" / "report.html").read_text()
    assert '<script src="../page.js">' in report and "<style>\n:root" not in report
    assert (tmp_path / "out" / "runs" / "page.js").is_file()
    whole = (tmp_path / "out" / "report.html").read_text()
    assert '<a href="runs/000001/report.html">' in whole
    plain = run(sweep_file(tmp_path, parameters={START: [40.0]}), tmp_path / "plain")
    assert plain.runs[0].trace_sha256 == result.runs[0].trace_sha256
    kept = {each.name for each in (tmp_path / "plain" / "runs" / "000001").iterdir()}
    assert kept == {"scenario.json", "summary.json", "run.json"}


def test_without_seeds_the_scenario_has_its_own(tmp_path):
    assert load_sweep(sweep_file(tmp_path)).seeds == (1,)
    other = sweep_file(tmp_path, set={"seed": 9, "duration": "100ms"})
    run(other, tmp_path / "out")
    assert [row["seed"] for row in rows(tmp_path / "out")] == [9]


def test_parameters_and_platoons_of_a_file_are_swept_like_values(tmp_path):
    path = sweep_file(
        tmp_path,
        scenario="platoon20",
        parameters={"platoon.vehicles": [2, 3]},
    )
    run(path, tmp_path / "out")
    two, three = rows(tmp_path / "out")
    assert (two["status"], three["status"]) == ("done", "done"), (two["error"], three["error"])
    assert two["figure.activations"] < three["figure.activations"]


def test_a_run_that_fails_does_not_stop_the_rest(tmp_path):
    path = sweep_file(
        tmp_path, parameters={"participants.traffic.parameters.rear.period": [16.0, -1.0, 12.0]}
    )
    done = cosim(path, "--workers", 0, "--out", tmp_path / "out", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["runs"] == 3
    assert "1 of 3 runs failed" in done.stderr
    found = rows(tmp_path / "out")
    assert [row["status"] for row in found] == ["done", "failed", "done"]
    assert "rear.period: found -1" in found[1]["error"]
    assert found[1]["verdict.no_collision"] is None and found[1]["trace_sha256"] is None
    assert found[1]["version"] == found[0]["version"]


def test_what_is_done_is_not_done_again(tmp_path, monkeypatch):
    path = sweep_file(tmp_path, parameters={START: [20.0, 30.0, 40.0]})
    run(path, tmp_path / "whole")
    whole = (tmp_path / "whole" / "runs.parquet").read_bytes()
    out = tmp_path / "out"

    # Ended after two of three runs.
    keep, kept = sweeping.Store.keep, []

    def keep_two(self, *arguments):
        if len(kept) == 2:
            raise KeyboardInterrupt
        kept.append(arguments[0])
        return keep(self, *arguments)

    monkeypatch.setattr(sweeping.Store, "keep", keep_two)
    with pytest.raises(KeyboardInterrupt):
        run(path, out)
    assert not (out / "runs.parquet").exists()

    again = []
    monkeypatch.setattr(
        sweeping.Store, "keep", lambda self, *a: again.append(a[0]) or keep(self, *a)
    )
    run(path, out, resume=True)
    assert (kept, again) == (["000001", "000002"], ["000003"])
    assert (out / "runs.parquet").read_bytes() == whole


def test_a_failed_run_is_tried_again_when_the_sweep_goes_on(tmp_path, monkeypatch):
    path = sweep_file(tmp_path, parameters={START: [20.0, 30.0]}, retries=0)

    def no_disk(job):
        if job.run_id == "000002":
            raise OSError(28, "No space left on device")
        return perform(job)

    monkeypatch.setattr("ros2_cosim.lab.sweep.workers.perform", no_disk)
    result = run(path, tmp_path / "out")
    assert [r.error for r in result.failed] == ["No space left on device"]
    monkeypatch.undo()
    assert not run(path, tmp_path / "out", resume=True).failed


def test_another_sweep_is_not_gone_on_with(tmp_path):
    run(sweep_file(tmp_path, parameters={START: [20.0]}), tmp_path / "out")
    other = sweep_file(tmp_path, parameters={START: [21.0]})
    done = cosim(other, "--workers", 0, "--out", tmp_path / "out", "--resume")
    assert done.exit_code == 1
    assert "holds another sweep" in done.stderr and done.stderr.count("\n") == 1


def test_damaged_results_are_named_or_made_again(tmp_path):
    out = tmp_path / "out"
    path = sweep_file(tmp_path, parameters={START: [20.0]})
    (whole,) = run(path, out).runs
    own = out / "runs" / whole.run_id
    for file, words in (
        (out / "sweep.json", "cannot be read: "),
        (own / "summary.json", "not JSON"),
    ):
        good = file.read_bytes()
        file.write_bytes(good[: len(good) // 2])
        done = cosim(path, "--workers", 0, "--out", out, "--resume")
        (line,) = done.stderr.splitlines()
        assert done.exit_code == 1 and line.startswith(f"cosim: {file} ") and words in line
        file.write_bytes(good)
    (own / "run.json").write_bytes(b"{")  # it does not say that the run is done
    assert run(path, out, resume=True).runs == [whole]
    assert (own / "run.json").read_bytes() != b"{"


def test_a_sweep_over_a_parameter_of_openscenario(tmp_path):
    """A changed .xosc file is another sweep, as a changed scenario is."""
    declared = '<ParameterDeclaration name="{}" parameterType="double" value="{}"/>'
    gap = declared.format("place", 100)
    place = '<LanePosition roadId="1" laneId="-2" s="$place"/>'
    xosc = written(tmp_path, document(stop=at(0.1), start_a=place, parameters=gap))
    parameters = {"openscenario.parameters.place": [100, 120]}
    path = sweep_file(tmp_path, scenario=xosc.name, set={}, parameters=parameters)
    result = run(path, tmp_path / "out")
    assert len({r.trace_sha256 for r in result.runs}) == 2
    again = run(path, tmp_path / "out", resume=True)
    assert [r.trace_sha256 for r in again.runs] == [r.trace_sha256 for r in result.runs]
    written(tmp_path, document(stop=at(0.2), start_a=place, parameters=gap))
    with pytest.raises(ConfigurationError, match="holds another sweep"):
        run(path, tmp_path / "out", resume=True)


def test_the_boundary_is_found_by_halving(tmp_path):
    path = sweep_file(
        tmp_path,
        search={"kind": "boundary", "along": START, "tolerance": 0.01},
        parameters={
            START: {"low": 2.0, "high": 20.0},
            "participants.traffic.parameters.front.amplitude": [1.0, 2.0],
        },
    )
    finding = run(path, tmp_path / "out").finding
    assert len(finding["boundaries"]) == 2
    for found in finding["boundaries"]:
        assert found["fails"] <= TOUCHING < found["passes"] <= found["fails"] + 0.01
    # 2 ends, then 11 halvings of 18 m; not the 1800 runs of a grid.
    assert len(rows(tmp_path / "out")) == 2 * (2 + 11)


def test_without_a_boundary_that_is_said(tmp_path):
    path = sweep_file(
        tmp_path,
        search={"kind": "boundary", "along": START, "tolerance": 0.01},
        parameters={START: {"low": 10.0, "high": 20.0}},
    )
    done = cosim(path, "--workers", 0, "--out", tmp_path / "out")
    assert done.exit_code == 0
    assert f"boundary of {START}: passes at both ends of the range" in done.stdout


def test_a_boundary_of_what_nothing_judges_is_refused(tmp_path):
    search = {"kind": "boundary", "along": START, "tolerance": 0.01}
    parameters = {START: {"low": 10.0, "high": 20.0}}
    settings = load_sweep(sweep_file(tmp_path, search=search, parameters=parameters)).settings
    plan = settings.search.plan(settings)
    next(plan)
    done = SweepRun("000001", 1, {}, "done")
    with pytest.raises(ConfigurationError, match="search: run 000001 has no verdicts, so that"):
        plan.send([[done], [done]])


def test_a_falsification_finds_the_worst_case(tmp_path):
    path = sweep_file(
        tmp_path,
        search={"kind": "falsification", "minimise": "min_gap_m", "points": 40,
                "until_failure": True},
        parameters={START: {"low": 4.0, "high": 60.0}},
    )  # fmt: skip
    finding = run(path, tmp_path / "out").finding
    worst = min(rows(tmp_path / "out"), key=lambda row: row["figure.min_gap_m"])
    assert finding["run_id"] == worst["run_id"]
    assert finding["worst"] == worst["figure.min_gap_m"] == finding["at"][START] - TOUCHING
    assert worst["verdict.no_collision"] is False and len(finding["history"]) < 40
    # Of 40 random points of the range one would be that near with a probability of 0.3.
    again = run(path, tmp_path / "again").finding
    assert again == finding


@pytest.mark.parametrize("kind", ["random", "latin_hypercube", "sobol"])
def test_points_fill_the_space_and_are_the_same_again(kind):
    parameters = {
        "x": VariedParameter(low=1.0, high=100.0, log=True),
        "n": VariedParameter(low=1, high=4, whole=True),
        "law": VariedParameter(values=("a", "b")),
    }
    points = points_of(Design(kind=kind, samples=64), parameters)
    assert points == points_of(Design(kind=kind, samples=64), parameters)
    assert points != points_of(Design(kind=kind, samples=64, seed=2), parameters)
    assert all(1.0 <= point["x"] < 100.0 for point in points)
    assert {point["n"] for point in points} == {1, 2, 3, 4}
    tens = sum(point["x"] < 10.0 for point in points)
    # Half of them, exactly so where points are spread out.
    assert tens == 32 if kind != "random" else 16 < tens < 48


def test_the_interval_of_a_rate_is_the_exact_one():
    runs = [
        SweepRun(str(n), n, {}, "done", verdicts={"gap": n >= 3, "other": True}) for n in range(20)
    ]
    runs.append(SweepRun("x", 1, {}, "failed", "gone"))
    both, gap, other = rates_of(runs)
    assert (gap.not_met, gap.runs, gap.rate) == (3, 20, 0.15)
    # Clopper and Pearson's own table, 95 %: 3 of 20.
    assert (gap.low, gap.high) == pytest.approx((0.032, 0.379), abs=5e-4)
    assert both[1:] == gap[1:]
    assert (other.low, other.high) == pytest.approx((0.0, 0.168), abs=5e-4)


@given(answers=st.lists(st.booleans(), min_size=1, max_size=300))
def test_the_interval_of_a_rate_is_that_of_scipys_test(answers):
    from scipy.stats import binomtest

    runs = [SweepRun(str(n), n, {}, "done", verdicts={"gap": met}) for n, met in enumerate(answers)]
    rate = rates_of(runs)[0]
    interval = binomtest(answers.count(False), len(answers)).proportion_ci(0.95, method="exact")
    assert (rate.low, rate.high) == pytest.approx((interval.low, interval.high), abs=1e-9)


def test_the_time_left_is_told():
    now = [0.0]
    lines: list[str] = []
    progress = SweepProgress(lines.append, lambda: now[0])
    progress.expect(10, former=2)
    for failed in (False, True, False):
        now[0] += 6.0
        progress.done(failed=failed)
    assert lines[1] == "4 of 12 runs done, 2 of them before, 1 failed, about 48 s left"


ONE = """
from ros2_cosim.lab.sweep.search import Search


class OneMore(Search):
    kind: str
    start: float

    def check(self, settings):
        if len(settings.parameters) != 1:
            raise ValueError(f"search: found {len(settings.parameters)} parameters; allowed is one")

    def designed(self, settings):
        return set()

    def plan(self, settings):
        (name,) = settings.parameters
        value, tried = self.start, []
        while len(tried) < 3:
            ((run,),) = yield [{name: value}]
            tried.append(run.figures["min_gap_m"])
            value += 1.0
        return {"kind": self.kind, "gaps": len(tried), "last": tried[-1]}
"""


@pytest.fixture
def one_more(tmp_path):
    """A search of another distribution."""
    entries = "[ros2_cosim.searches]\none_more = one_more:OneMore\n"
    with installed(tmp_path / "site", "one_more", entries, ONE):
        yield


def test_a_search_of_another_distribution_chooses_points_and_is_in_the_report(tmp_path, one_more):
    ranges = {START: {"low": 10.0, "high": 20.0}}
    search = {"kind": "one_more", "start": 12.0}
    path = sweep_file(tmp_path, search=search, parameters=ranges)
    done = cosim(path, "--workers", 0, "--out", tmp_path / "out")
    assert done.exit_code == 0 and "gaps: 3\nlast: 9.5\n" in done.stdout
    assert [row[f"param.{START}"] for row in rows(tmp_path / "out")] == [12.0, 13.0, 14.0]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Found by one_<wbr>more" in page and '<td class="number">9.5</td>' in page
    for wrong, said in (
        ({"search": {"kind": "one_more"}}, "search.start: missing"),
        (
            {"search": {"kind": "two_more"}},
            "search.kind: found 'two_more'; did you mean 'one_more'? ",
        ),
        ({"search": {"kind": "one_more", "start": 1, "end": 2}}, "search.end: unknown key"),
        ({"search": search, "parameters": {}}, "search: found 0 parameters; allowed is one"),
    ):
        with pytest.raises(ConfigurationError, match=re.escape(said)):
            load_sweep(sweep_file(tmp_path, **{"parameters": ranges, **wrong}))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"parameters": {"x": {"low": 1.0}}}, "parameters.x: allowed are either values, or low"),
        ({"parameters": {"x": {"low": 2.0, "high": 1.0}}}, "low must be smaller"),
        ({"parameters": {"x": {"low": 1.0, "high": 2.0}}}, "parameters.x: a grid needs values"),
        ({"design": {"kind": "sobol"}}, "design: samples is missing"),
        ({"design": {"kind": "lhs", "samples": 3}}, "design.kind: found 'lhs'; allowed is 'grid'"),
        ({"parameters": {"seed": [1, 2]}}, "runs get theirs by the key 'seeds'"),
        ({"seeds": [1, 1]}, "seeds: each may appear once"),
        ({"sets": {}}, "sets: unknown key; did you mean 'set'"),
        ({"set": {"participants.nothing.x": 1}}, "no 'nothing' there; found traffic"),
        (
            {"search": {"kind": "boundary", "along": "y", "tolerance": 1.0}},
            "search.along: found 'y'; allowed is a parameter with low and high",
        ),
    ],
)
def test_a_wrong_file_is_refused_by_its_place(tmp_path, settings, said):
    with pytest.raises(ConfigurationError) as error:
        load_sweep(sweep_file(tmp_path, **settings))
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_wrong_place_is_found_before_anything_is_run(tmp_path):
    path = sweep_file(tmp_path, parameters={"participants.trafic.period": ["10ms"]})
    with pytest.raises(ConfigurationError, match="no 'trafic' there; found traffic, front_sensor"):
        run(path, tmp_path / "out")


def test_a_missing_extra_is_one_sentence_with_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "ros2_cosim.core.documents.extras.find_spec",
        lambda name: None if name == "optuna" else name,
    )
    done = cosim(sweep_file(tmp_path), "--out", tmp_path / "out")
    assert done.exit_code == 1
    assert done.stderr == (
        "cosim: cosim sweep needs optuna, which is not installed; run 'make setup EXTRAS=sweep'\n"
    )
