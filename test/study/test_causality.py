# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The study of causality: what it is asked for, what it records, how its page looks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lxml import html
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.protocol import ParticipantReport
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.core.scenario.system import build_graph
from ros2_cosim.lab.study.causality import MOST_TOGETHER, SCENARIO, run_study, study_directory
from ros2_cosim.lab.study.plan import (
    directory_of,
    job_of,
    parse_factors,
    parse_steps,
    planned_runs,
    runs_beyond,
    study_options,
)
from ros2_cosim.lab.study.prt import EgoTrack, make_free_plan, write_free_run
from ros2_cosim.lab.study.record import Study, StudyRun, read_study
from ros2_cosim.lab.study.report import company_text, render_study
from ros2_cosim.lab.study.schedule import Control, Job, in_order, next_job
from ros2_cosim.lab.study.table import deviation, run_table, text_table

SECOND = 1_000_000_000
ROOT = Path(__file__).resolve().parents[2]


def a_run(mode: str, purpose: str, factor: float | None, shift: float, **changes: Any) -> StudyRun:
    """A run of 2 s at 20 m/s, ``shift`` m/s faster."""
    times = [n / 10 for n in range(20)]
    usual = {"timing": 0, "order": 0, "loss": 0, "messages": 1000, "late": 0, "early": 0,
             "wrong": 0, "activations": 500}  # fmt: skip
    numbered = purpose in ("synchronised", "repetition")
    return StudyRun(
        mode,
        purpose,
        int(numbered),
        factor,
        wall_time_s=1.0,
        max_lag_s=0.001 if mode == "PRT" else None,
        track={"times": times, "way": [(20.0 + shift) * t for t in times]},
        **({"rtf": factor or 30.0, "trace_sha256": "ab" * 32} | usual | changes),
    )


@pytest.fixture
def study() -> Study:
    """A study that is complete; both modes go beyond the factors asked for until they break."""
    study = Study("car_following", 1, 2.0, [], True, "ab" * 32, 2.0)
    for run in (
        *(a_run("HDE", "sweep", n / 10, 0.0, beside=0.3, starts=2) for n in range(20, 0, -1)),
        *(a_run("HDE", "beyond", f, 0.0, kept_up=f < 16) for f in (4.0, 8.0, 16.0)),
        *(a_run("PRT", "sweep", n / 10, 0.1, timing=n, late=n, order=3) for n in range(1, 21)),
        a_run(
            "PRT",
            "beyond",
            4.0,
            0.1,
            timing=500,
            late=400,
            early=100,
            loss=1,
            wrong=125,
            kept_up=False,
        ),
        a_run("PRT", "repetition", 1.0, 0.5, timing=7, late=5, early=2),
        a_run("HDE", "synchronised", None, 0.0),
        a_run("TSS", "stepped", None, 0.0, step_ns=2_500_000, rtf=200.0),
        a_run(
            "TSS",
            "stepped",
            None,
            0.2,
            step_ns=10_000_000,
            rtf=200.0,
            timing=250,
            late=250,
            wrong=125,
            trace_sha256="ef" * 32,
        ),
    ):
        study.add(run)
    return study


@pytest.mark.parametrize(
    ("text", "factors"),
    [
        ("0.1:2.0:0.1", [n / 10 for n in range(1, 21)]),
        ("0.2:1:0.3", [0.2, 0.5, 0.8]),
        ("1:1:1", [1.0]),
        ("2,0.5,2", [0.5, 2.0]),
    ],
)
def test_factors(text: str, factors: list[float]) -> None:
    assert list(parse_factors(text)) == factors


@pytest.mark.parametrize(
    "text", ["", "fast", "0", "-1", "1:2", "2:1:0.1", "1:2:0", "0.1:2:0.0001", "nan", "inf", "1/0"]
)
def test_wrong_factors_are_named(text: str) -> None:
    with pytest.raises(ConfigurationError, match="--factors: found"):
        parse_factors(text)


def test_defaults_are_those_of_the_case_study() -> None:
    options = study_options(Path("x"))
    assert options.duration_ns == 100 * SECOND
    assert (options.factors[0], options.factors[-1], len(options.factors)) == (0.1, 2.0, 20)
    assert options.repetitions == 8
    assert study_options(Path("x"), quick=True, duration="3s").duration_ns == 3 * SECOND
    assert study_options(Path("x"), quick=True, repetitions=0).repetitions == 0
    assert study_options(Path("x")).steps[:3] == (1_000_000, 2_500_000, 5_000_000)


def test_scenario_is_that_of_the_case_study() -> None:
    """Traffic steps of 10 ms, two sensors of 40 ms, a driving function that data activate."""
    scenario = load_scenario(ROOT / SCENARIO)
    assert scenario.duration == 100 * SECOND
    found = {name: part.period for name, part in scenario.participants.items()}
    sensors = {"front_sensor": 40_000_000, "rear_sensor": 40_000_000}
    assert found == {"traffic": 10_000_000, **sensors, "driving": None}
    links = build_graph(scenario).connections
    assert {link.target_port: link.source for link in links if link.target == "driving"} == {
        "front": "front_sensor",
        "rear": "rear_sensor",
        "own": "traffic",
    }


def test_step_widths_are_sorted_and_each_is_there_once() -> None:
    assert parse_steps("10ms,2.5ms,10 ms") == (2_500_000, 10_000_000)


@pytest.mark.parametrize(
    "text", ["", "fast", "10", "1ms,", "50us", ",".join(f"{n}ms" for n in range(1, 60))]
)
def test_wrong_step_widths_are_named(text: str) -> None:
    with pytest.raises(ConfigurationError, match="--steps: found"):
        parse_steps(text)


def test_what_runs_together_is_no_more_than_the_fastest_of_the_sweep() -> None:
    assert study_options(Path("x")).together == 2.0
    assert study_options(Path("x"), factors="0.1,0.7").together == 0.7


def test_both_modes_run_at_every_factor_and_each_run_has_its_own_files() -> None:
    options = study_options(Path("x"), factors="0.1:2.0:0.1")
    planned = planned_runs(options)
    for mode in ("PRT", "HDE"):
        sweep = [key.factor for key in planned if (key.mode, key.purpose) == (mode, "sweep")]
        assert sweep == list(options.factors)
        beyond = [key.factor for key in runs_beyond(options, mode)]
        assert beyond == [4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0]
    keys = [*planned, *runs_beyond(options, "PRT"), *runs_beyond(options, "HDE")]
    assert len({directory_of(key) for key in keys}) == len(keys)
    assert len({key.label for key in keys}) == len(keys)
    assert sorted(keys, key=lambda key: key.place)[: len(planned)] == planned


def expected_s(jobs: list[Job[StudyRun]], budget: float) -> float:
    """Wall time until all are done, if each takes as long as is expected."""
    waiting, ends, now = in_order(jobs), list[tuple[float, int]](), 0.0
    while waiting or ends:
        job = next_job(waiting, [jobs[number] for _, number in ends], budget, MOST_TOGETHER)
        if job is None:
            now = min(ends)[0]
            ends.remove(min(ends))
        else:
            waiting.remove(job)
            ends.append((now + job.expected_s, jobs.index(job)))
    return now


def test_full_study_is_expected_to_take_what_its_page_says() -> None:
    options, minutes = study_options(Path("x")), 53
    beyond = [key for mode in ("PRT", "HDE") for key in runs_beyond(options, mode)[:4]]
    keys = [*planned_runs(options), *beyond]
    jobs = [job_of(key, options.duration_ns, run_of_no_job) for key in keys]
    assert expected_s(jobs, options.together) / 60 == pytest.approx(minutes, abs=2.5)
    page = (ROOT / "docs" / "study.md").read_text()
    assert f"{minutes} min" in page


def test_what_runs_alone_and_what_must_not_be_disturbed() -> None:
    options = study_options(Path("x"))
    keys = [*planned_runs(options), *runs_beyond(options, "PRT")]
    jobs = {key: job_of(key, options.duration_ns, run_of_no_job) for key in keys}
    for key, job in jobs.items():
        assert job.alone == (key.purpose in ("synchronised", "stepped", "beyond"))
        if not job.alone:
            assert job.weight == key.factor
            in_sweep = (key.mode, key.purpose) == ("PRT", "sweep")
            assert job.quiet == (in_sweep and job.weight > 0.5)


def test_a_study_of_one_mode_has_no_runs_of_another() -> None:
    options = replace(study_options(Path("x"), quick=True), modes=("PRT",))
    runs = planned_runs(options)
    assert {run.mode for run in runs if run.purpose == "sweep"} == {"PRT"}


def run_of_no_job(control: Control) -> StudyRun:
    raise AssertionError("nothing is run here")


@pytest.mark.parametrize(
    "wrong",
    [
        {"duration": "soon"},
        {"duration": "1ms"},
    ],
)
def test_wrong_options_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=f"--{next(iter(wrong))}: found"):
        study_options(Path("x"), **wrong)  # type: ignore[arg-type]


def test_track_keeps_tenths_of_a_second() -> None:
    track = EgoTrack()
    for n in range(31):
        track.add(n * 10_000_000, Odometry(5.0 + n, *[0.0] * 5, 1.0, *[0.0] * 6))
    assert track.times == [0.0, 0.1, 0.2, 0.3]
    assert track.way == [0.0, 10.0, 20.0, 30.0]


def test_what_never_arrived_is_lost_though_no_later_message_shows_it(tmp_path: Path) -> None:
    graph = build_graph(load_scenario(share_file(SCENARIO)))
    reports = {}
    for name in graph.order:
        mine = {
            "messages": 10,
            "late": 2,
            "early": 1,
            "wrong": 2,
            "tied": 3,
            "max_lag_ns": 5_000_000,
            "finished_ns": 3 * SECOND,
            "sent": {port.name: 10 for port in graph.participants[name].outputs},
            # The feedback lacks the last two messages.
            "received": {str(c): 8 if c.target == "traffic" else 10 for c in graph.incoming(name)},
        }
        details = json.dumps({"free_running": mine})
        reports[name] = ParticipantReport(name, 9, "cd" * 32, 0, 0, 0, 3, 4, 0, details)
    path = write_free_run(
        tmp_path, graph, reports, EgoTrack(), factor=1.0, end_ns=2 * SECOND, start_ns=SECOND,
        complete=True,
    )  # fmt: skip
    found = json.loads(path.read_text())
    assert found["readers"]["traffic"]["loss"] == 2
    del found["readers"], found["track"], found["trace_sha256"]
    assert found == {
        "timing": 12, "order": 16, "loss": 2, "messages": 40, "late": 8, "early": 4, "wrong": 8,
        "tied": 12, "activations": 36, "wall_time_s": 2.0, "rtf": 1.0, "max_lag_s": 0.005,
        "kept_up": True,
    }  # fmt: skip


def test_plan_has_all_participants_and_the_clock_last() -> None:
    scenario = load_scenario(share_file(SCENARIO))
    plan = make_free_plan(scenario, Path("out"), 0.5, "/ego/odometry")
    assert [process.name for process in plan] == [*scenario.participants, "clock"]
    assert {process.parameters["factor"] for process in plan} == {0.5}


def test_record_is_read_back(study: Study, tmp_path: Path) -> None:
    study.save(tmp_path)
    assert read_study(tmp_path) == study
    content = json.loads((tmp_path / "study.json").read_text())
    fields = {"mode", "factor", "timing", "order", "loss", "messages", "rtf", "trace_sha256"}
    assert all(fields <= run.keys() for run in content["runs"])
    assert {run["mode"] for run in content["runs"]} == {"HDE", "PRT", "TSS"}
    assert (content["broke_at"], content["hde_broke_at"]) == (4.0, 16.0)


def test_order_of_the_record_does_not_depend_on_the_first_end(study: Study) -> None:
    turned = Study("car_following", 1, 2.0, [], True, "ab" * 32, 2.0)
    for run in reversed(study.runs):
        turned.add(run)
    assert turned == study
    purposes = [run.purpose for run in study.runs]
    assert purposes[:4] == ["synchronised", "stepped", "stepped", "repetition"]
    assert [run.step_ns for run in study.stepped] == [2_500_000, 10_000_000]
    assert [run.mode for run in study.runs[4:8]] == ["PRT", "HDE"] * 2
    again = a_run("PRT", "sweep", 0.3, 0.0, timing=9)
    turned.add(again)
    assert len(turned.runs) == len(study.runs)
    assert again in turned.runs


@pytest.mark.parametrize("text", ["", "{}", '{"runs": 1}', "[1]"])
def test_damaged_record_is_named(study: Study, tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"study\.json"):
        read_study(tmp_path)
    study.save(tmp_path)
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(ConfigurationError, match="not the output of a study"):
        read_study(tmp_path)


def test_page_shows_figures_and_all_runs(study: Study, tmp_path: Path) -> None:
    page = html.parse(str(render_study(tmp_path, study)))
    titles = page.xpath("//figcaption/strong/text()")
    assert titles == [
        "Violations of causality over the real-time factor",
        "How far it goes",
        "Until it breaks",
        "Violations: HDE, time-stepped synchronisation (TSS), PRT",
        "What becomes of them",
        "Time steps: deviation of the covered track",
        "Covered track of the ego vehicle: absolute",
        "Covered track of the ego vehicle: deviation",
    ]
    assert len(page.xpath("//tbody/tr")) == len(study.runs)
    tiles = dict(zip(page.xpath("//div/span/text()"), page.xpath("//div/b/text()"), strict=False))
    assert tiles["violations in 24 HDE runs"] == "0"
    assert tiles["PRT breaks at"] == "factor 4"
    assert tiles["HDE is too slow at"] == "factor 16"
    assert tiles["largest deviation of the track, PRT"] == "0.950 m"
    assert tiles["widest time step with the reference trace"] == "2.5ms"
    assert "http" not in (tmp_path / "report.html").read_text().replace("http://www.w3.org", "")


def test_page_says_what_ran_side_by_side(study: Study, tmp_path: Path) -> None:
    text = company_text(study)
    assert text.startswith("20 of 48 runs had others of the study beside them")
    assert "at most 0.3 together" in text
    page = html.parse(str(render_study(tmp_path, study)))
    assert text in page.xpath("//header/p/text()")
    column = page.xpath("//thead/tr/th/text()").index("Beside")
    assert page.xpath("//tbody/tr[6]/td")[column].text == "0.3 (2)"
    study.runs = [run for run in study.runs if run.beside == 0.0]
    assert company_text(study) == ""


def test_the_table_has_a_line_for_each_run_wherever_it_stands(study: Study, tmp_path: Path) -> None:
    page = html.parse(str(render_study(tmp_path, study)))
    head, *rows = run_table(study)
    assert len(rows) == len(study.runs)
    assert [cell.text or "" for cell in page.xpath("//tbody/tr/td")] == sum(rows, [])
    markdown = (tmp_path / "table.md").read_text().splitlines()
    assert markdown[0] == f"| {' | '.join(head)} |"
    assert markdown[2:] == [f"| {' | '.join(row)} |" for row in rows]
    by_setting = {(row[0], row[1], row[2]): row[3:] for row in rows}
    assert by_setting["HDE", "sweep", "0.1"] == [
        "0.10", "1000", "0", "0", "0", "0", "0", "0.00 %", "0 (0.00 %)", "", "0.000 m", "0.3 (2)",
        "abababababab",
    ]  # fmt: skip
    assert by_setting["PRT", "beyond", "4"] == [
        "4.00, broke", "1000", "400", "100", "500", "0", "1", "50.10 %", "125 (25.00 %)", "1.0 ms",
        "0.190 m", "0", "abababababab",
    ]  # fmt: skip
    assert by_setting["TSS", "stepped", "10ms steps"][-6:] == [
        "25.00 %", "125 (25.00 %)", "", "0.380 m", "0", "efefefefefef",
    ]  # fmt: skip


def test_the_table_of_a_terminal_is_narrow_and_lines_up(study: Study) -> None:
    lines = text_table(study)
    assert len({len(line) for line in lines}) == 1 and len(lines[0]) <= 120
    assert lines[0].split() == (
        "Mode Setting Reached Messages Timing Order Loss All kinds Largest lag Beside Trace".split()
    )


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6])
def test_page_of_an_interrupted_study(study: Study, tmp_path: Path, count: int) -> None:
    part = Study("car_following", 1, 2.0, study.runs[:count], reference_sha256="ab" * 32)
    page = html.parse(str(render_study(tmp_path, part)))
    assert len(page.xpath("//tbody/tr")) == count
    assert page.xpath("//header/span/text()") == ["not complete"]


def test_deviation_is_that_of_the_same_time(study: Study) -> None:
    times, values = deviation(study.repetitions[0], study)
    assert times[-1] == 1.9
    assert values[-1] == pytest.approx(0.95)


def test_command_report_makes_the_page_of_a_study_again(study: Study, tmp_path: Path) -> None:
    study.save(tmp_path)
    done = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert done.exit_code == 0, done.output
    first = (tmp_path / "report.html").read_text()
    render_study(tmp_path, study)
    assert (tmp_path / "report.html").read_text() == first


@pytest.mark.parametrize("wrong", ["--duration=soon", "--factors=0", "--steps=0ms", "--repeat=-1"])
def test_command_names_a_wrong_option(tmp_path: Path, wrong: str) -> None:
    done = CliRunner().invoke(app, ["study", "causality", wrong, f"--out={tmp_path / 'x'}"])
    assert done.exit_code == 1
    assert done.stderr.startswith(f"cosim: {wrong.partition('=')[0]}: found")
    assert not (tmp_path / "x").exists()


def test_violation_or_other_trace_of_the_synchronised_run_shows(study: Study) -> None:
    assert study.hde_is_clean
    other = Study("car_following", 1, 2.0, study.runs[:1], reference_sha256="cd" * 32)
    assert not other.hde_is_clean
    # A paced one, too.
    study.add(a_run("HDE", "sweep", 0.7, 0.0, order=1))
    assert not study.hde_is_clean


def test_foreign_directory_is_left_alone(study: Study, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(ConfigurationError, match="not empty"):
        study_directory(tmp_path).__enter__()
    assert (tmp_path / "mine.txt").exists()
    study.save(tmp_path)
    (tmp_path / "hde-1").mkdir()
    with study_directory(tmp_path) as directory:
        directory.clear()
    assert not (tmp_path / "hde-1").exists()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"duration": "3s"}, "is of car_following, seed 1, 2 s; asked for is"),
        ({"factors": "0.5:2.0:0.1"}, "has the run 'PRT 0.1'"),
        ({"repetitions": 0}, "has the run 'PRT 1, repetition 1'"),
    ],
)
def test_another_study_is_not_resumed(
    study: Study, tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    pytest.importorskip("rclpy")
    study.save(tmp_path)
    before = (tmp_path / "study.json").read_bytes()
    asked = {"duration": "2s", "repetitions": 1} | changed
    with pytest.raises(ConfigurationError, match=message):
        run_study(study_options(tmp_path, resume=True, **asked))
    assert (tmp_path / "study.json").read_bytes() == before


def test_nothing_to_resume_is_named(tmp_path: Path) -> None:
    pytest.importorskip("rclpy")
    with pytest.raises(ConfigurationError, match=r"study\.json"):
        run_study(study_options(tmp_path / "none", resume=True))


def test_study_of_another_reference_is_not_resumed(study: Study, tmp_path: Path) -> None:
    pytest.importorskip("rclpy")
    study.save(tmp_path)
    with pytest.raises(ConfigurationError, match="another sequential reference"):
        run_study(study_options(tmp_path, resume=True, duration="2s", repetitions=1))
