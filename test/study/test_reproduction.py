# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The page of the publications: its table, what is found at once, and a study that is resumed."""

from __future__ import annotations

import csv
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from study.test_causality import a_run

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.lab.study.declared_load import Reached
from ros2_cosim.lab.study.load_experiments import FULL, LoadRecord, figures_of
from ros2_cosim.lab.study.published import (
    ComparedRow,
    Figure,
    Publication,
    PublishedRow,
    compare,
    number,
    published,
)
from ros2_cosim.lab.study.record import Study
from ros2_cosim.lab.study.reproduction import (
    BENCH,
    LOAD,
    SMALL,
    Reproduction,
    _run_program,
    figures_of_bench,
    read_reproduction,
    run_reproduction,
)

#: Rows of small experiments where the publication has another number.
OTHER = {"states that the slave has"}
#: What the interrupted study has done.
LATER = ("platoon_srt", "platoon", "calibration", "computed", "idle", "bench.carla_slave_step")
#: On the wall clock.
PACED = {"platoon_srt"}


@pytest.fixture(scope="module")
def small() -> dict[str, Mapping[str, Figure]]:
    """What is found at once, but for what takes its time."""
    return {name: experiment() for name, experiment in SMALL.items() if name not in PACED}


def rows() -> list[PublishedRow]:
    return [row for publication in published().values() for row in publication.rows]


def a_study() -> Study:
    """Runs over all factors, two repetitions and two synchronised runs."""
    runs = [a_run("HDE", "synchronised", None, 0.0) for _ in range(2)]
    for factor in FULL.factors:
        runs.append(
            a_run("PRT", "sweep", factor, 0.0, timing=round(10 * factor), late=round(10 * factor),
                  order=20, tied=15, readers={"traffic": {"late": 4}, "front_sensor": {"late": 4}})
        )  # fmt: skip
    runs += [a_run("PRT", "repetition", 1.0, shift) for shift in (0.1, 0.2)]
    return Study("car_following", 1, 2.0, runs, reference_sha256=runs[0].trace_sha256)


def test_each_row_names_something_that_is_found(small: dict[str, Mapping[str, Figure]]) -> None:
    sweep = figures_of(a_study())
    for row in rows():
        experiment, figure = row.source
        if experiment in small:
            assert figure in small[experiment], row
        elif experiment == "sweep":
            assert figure in sweep, row
        elif row.here is not None:
            assert experiment in (*PACED, *LOAD, *BENCH), row
    assert {row.source[0] for row in rows()} - {""} == {*SMALL, *LOAD, *BENCH}


def test_what_is_found_at_once_is_what_is_published(
    small: dict[str, Mapping[str, Figure]],
) -> None:
    different = {
        row.quantity
        for row in rows()
        if row.source[0] in small
        and compare(row, small, {}, {}).judgement not in ("equal", "found")
    }
    assert different == OTHER


def test_every_figure_and_table_of_the_publications_has_a_row() -> None:
    places = {name: " ".join(r.place for r in p.rows) for name, p in published().items()}
    for name, figures in {
        "dcp": [f"fig. {n}" for n in range(1, 9)] + ["table 1"],
        "silkit": [f"fig. {n}" for n in range(7, 12)],
        "patent": ["figs 1 and 2", "fig. 3", "fig. 4A", "fig. 4B", "fig. 4C"],
        "vdsim": ["18.3, table", "18.6, table"],
        "causality": ["1a", "1b", "2", "3a", "3b", "4", "5", "6a", "6b"],
    }.items():
        missing = [figure for figure in figures if figure not in places[name]]
        assert not missing, name


def test_a_row_has_a_figure_or_a_cause() -> None:
    with pytest.raises(ValueError, match="needs a 'cause'"):
        PublishedRow(place="1", quantity="speed", paper=1.0)
    assert Publication(
        title="a", rows=(PublishedRow(place="1", quantity="b", paper=1.0, cause="c"),)
    ).rows


@pytest.mark.parametrize(
    ("paper", "here", "ratio", "judgement"),
    [
        (10.0, 10.0, 1.0, "equal"),
        (10.0, 20.0, 2.0, "near"),
        (10.0, 5.0, 0.5, "near"),
        (10.0, 21.0, 2.1, "misses"),
        (10.0, 4.9, 0.49, "misses"),
        (0.0, 0.0, None, "equal"),
        (0.0, 0.1, None, "misses"),
        ("match", "match", None, "equal"),
        ("in the figure only", 3.0, None, "found"),
        (10.0, None, None, "missing"),
    ],
)
def test_ratio_and_judgement(
    paper: float | str, here: float | str | None, ratio: float | None, judgement: str
) -> None:
    row = PublishedRow(place="1", quantity="x", paper=paper, here="steps: x")
    one = ComparedRow(row, None if here is None else Figure(here), "", "")
    assert one.ratio == (None if ratio is None else pytest.approx(ratio))
    assert one.judgement == judgement


@pytest.mark.parametrize(
    ("between", "here", "judgement"),
    [
        ((100.0, None), 2000.0, "within"),
        ((100.0, None), 99.0, "misses"),
        ((-0.44, 0.44), -0.44, "within"),
        ((-0.44, 0.44), 0.45, "misses"),
        ((None, 5.0), 5.0, "within"),
    ],
)
def test_a_limit_or_a_statistic_has_a_range(
    between: tuple[float | None, float | None], here: float, judgement: str
) -> None:
    row = PublishedRow(place="1", quantity="x", paper=0.0, here="steps: x", between=between)
    assert ComparedRow(row, Figure(here), "", "").judgement == judgement


def test_what_was_not_found_says_why() -> None:
    row = PublishedRow(place="1", quantity="x", paper=1.0, here="vds: x", cause="Another machine.")
    said = compare(row, {}, {"vds": "how"}, {"vds": "needs rclpy"})
    assert (said.cause, said.configuration) == ("needs rclpy. Another machine.", "how")
    assert compare(row, {}, {}, {}).cause.startswith("not measured in this form of the study. ")


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.29, "1.29"), (0.123456, "0.1235"), (60000.0, "60000"), ("a", "a"), (None, ""), (0.0, "0")],
)
def test_numbers_have_four_digits_that_count(value: float | str | None, text: str) -> None:
    assert number(value) == text


def test_figures_over_the_factor() -> None:
    found = figures_of(a_study())
    assert found["timing at 2"].value == 2.0 and found["order at 0.1"].value == 2.0
    assert found["late at 2 for traffic"].value == pytest.approx(0.4)
    assert found["untied at 0.1"].value == pytest.approx(0.5)
    assert found["runs"].value == 20 and found["repetitions"].value == 2
    assert found["different tracks"].value == 2
    # 0.2 m/s for 1.9 s, and 0.1 m/s.
    assert found["largest deviation"] == pytest.approx((0.38, 0.19, 0.38))
    assert found["HDE traces"].value == 1 and found["HDE violations"].value == 0


def test_a_run_that_did_not_keep_up_has_no_shares() -> None:
    study = a_study()
    study.add(a_run("PRT", "sweep", 2.0, 0.0, timing=900, rtf=1.5, kept_up=False))
    found = figures_of(study)
    assert found["timing at 2"] == Figure("did not keep up: 1.50")
    assert found["timing at 1.9"].value == pytest.approx(1.9)
    assert found["runs"].value == 20


def test_figures_of_a_program() -> None:
    row = {"quantity": "step", "value": 1.5, "unit": "ms", "interval": [1.4, 1.6]}
    assert figures_of_bench({"rows": [row]}) == {"step": Figure(1.5, 1.4, 1.6)}
    assert figures_of_bench({"rows": [{**row, "interval": None}]}) == {"step": Figure(1.5)}
    with pytest.raises(ConfigurationError, match="lacks something"):
        figures_of_bench({"rows": [{"quantity": "step"}]})


PROGRAM = """
import json, sys
if sys.argv[1:3] == ["--steps", "20"]:
    sys.exit("no such host")
row = {"quantity": " ".join(sys.argv[1:-2]), "value": 3, "unit": "1", "interval": [3, 3]}
with open(sys.argv[-1], "w") as file:
    json.dump({"rows": [row]}, file)
"""


def test_an_interrupted_study_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that takes long is there; the page and the table have it, and what was missing."""
    output = tmp_path / "study"
    output.mkdir()
    # Of three programs of a checkout, one is not there, and one fails.
    monkeypatch.setattr("ros2_cosim.lab.study.reproduction._ROOT", tmp_path)
    (tmp_path / "bench").mkdir()
    for name in ("srt_late_steps", "vds_rates"):
        (tmp_path / "bench" / f"{name}.py").write_text(PROGRAM)
    load = LoadRecord(
        [Reached(0.0, 20.0), Reached(0.25, 1.28)], 0.25, [[0.5, 50.0, 30.0, 12.0, 600.0]]
    )
    found = {name: {"x": Figure(1.0)} for name in LATER}
    before = Reproduction("quick", load, {**found, "sweep": figures_of(a_study())})
    before.save(output)
    told: list[str] = []
    study = run_reproduction(output, quick=True, resume=True, tell=told.append)
    begun = {line.removesuffix(" begins") for line in told if line.endswith(" begins")}
    assert begun == {*SMALL, *BENCH} - found.keys()
    assert study.found["bench.vds_rates"] == {"--binary 100 --text 60 --seconds 2": Figure(3, 3, 3)}
    assert study.reasons == {
        "bench.dcp_sockets": "needs bench/dcp_sockets.py of a checkout",
        "bench.srt_late_steps": "ended with code 1: no such host",
    }
    assert read_reproduction(output).found == study.found
    assert study.load.busy == 0.25
    page = (output / "report.html").read_text(encoding="utf-8")
    for said in ("25 % reach factor 1.280", "idle share of a step", "here 2 % (further away)"):
        assert said in page
    with (output / "reproduction.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    assert len(table) == len(rows())
    assert all(line["here"] or line["cause"] for line in table)
    limit = next(line for line in table if "at factor 2.0" in line["quantity"])
    assert (limit["paper"], limit["here"], limit["ratio"]) == ("10", "2", "0.2")
    with pytest.raises(ConfigurationError, match="has the quick form of the study; asked for"):
        run_reproduction(output, resume=True)


def test_nothing_stays_of_a_program_that_takes_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ros2_cosim.lab.study.reproduction._ROOT", tmp_path)
    child = "import time; time.sleep(600)"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    command = [sys.executable, "-c", program, str(tmp_path)]
    with pytest.raises(ConfigurationError, match="took longer than 2 s"):
        _run_program(command, 2.0)

    def left() -> list[Path]:
        return [
            file
            for file in Path("/proc").glob("[0-9]*/cwd")
            if file.exists() and os.readlink(file) == str(tmp_path)
        ]

    # What has been killed is gone a moment later.
    deadline = time.monotonic() + 20.0
    while left() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left() == []


def test_a_directory_without_a_study_is_not_resumed(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="has no study of reproduction"):
        run_reproduction(tmp_path / "new", resume=True)
    (tmp_path / "new" / "reproduction.json").write_text(json.dumps({"form": "full"}))
    with pytest.raises(ConfigurationError, match="has no study of reproduction"):
        run_reproduction(tmp_path / "new", resume=True)
