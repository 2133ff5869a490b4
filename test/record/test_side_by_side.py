# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim report A B C``: what the page of several runs shows, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from lxml import html
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.lab.report.side_by_side import MOST_RUNS, _flat, labels_of, write_side_by_side


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three short runs: a law, another law, and no status of the controllers."""
    base = tmp_path_factory.mktemp("runs")
    short = ["duration=4s", "parameters.vehicles=3", "platoon.status=true"]
    changes = {
        "ploeg": short,
        "path": [*short, "parameters.law=path_cacc"],
        "quiet": ["duration=3s", "parameters.vehicles=3"],
    }
    for name, some in changes.items():
        run_inproc(load_scenario(library_file("braking"), some), base / name)
    return [base / name for name in changes]


def table_after(document: html.HtmlElement, heading: str) -> dict[str, list[str]]:
    """The rows of the table under a heading: first cell -> the others."""
    (table,) = document.xpath(
        f".//h2[text()='{heading}']/following-sibling::*[1]//table"
    ) or document.xpath(f".//h2[text()='{heading}']/following-sibling::div[1]//table")
    return {
        row[0].text_content(): [cell.text_content() for cell in row[1:]]
        for row in table.iterfind("tbody/tr")
    }


def test_figures_verdicts_settings_and_charts_of_three_runs(
    runs: list[Path], tmp_path: Path
) -> None:
    page = tmp_path / "all.html"
    write_side_by_side(runs, page)
    document = html.fromstring(page.read_bytes())
    summaries = [json.loads((run / "summary.json").read_text()) for run in runs]
    verdicts = table_after(document, "Verdicts")
    assert verdicts["no_collision"] == ["0 (limit 0)"] * 3
    figures = table_after(document, "Figures")
    assert figures["Simulated"] == ["4 s", "4 s", "3 s"]
    assert figures["Smallest gap"] == [f"{found['min_gap_m']:.4g} m" for found in summaries]
    assert figures["Trace"] == [found["trace_sha256"][:12] for found in summaries]
    assert figures["Trace of the first run"] == ["yes", "no", "no"]
    peak = "referee.braking_peaks.1"
    assert figures[peak] == [
        f"{s['figures']['referee']['braking_peaks'][1]:.4g}" for s in summaries
    ]
    settings = table_after(document, "Settings that differ")
    law = ['"ploeg_cacc"', '"path_cacc"', '"ploeg_cacc"']
    assert settings["participants.cacc1.parameters.law"] == law
    (folded,) = document.iterfind(".//details")
    assert folded.find("summary").text == f"{len(settings)} settings"
    assert ("open" in folded.attrib) is (len(settings) <= 12)
    headings = [node.text for node in document.iterfind(".//h2")]
    assert {"Speeds", "Gaps", "Controller mode", "Time gap kept"} <= set(headings)
    text = page.read_text()
    assert text.count("No values in this run.") == 4, "mode, both errors and age of the third"
    assert not re.search(r"\b(src|href|url|@import)\b\s*[=(]", text)


def test_charts_of_a_quantity_have_the_same_axes(runs: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "all.html"
    write_side_by_side(runs, page)
    document = html.fromstring(page.read_bytes())
    (speeds,) = document.xpath(".//h2[text()='Speeds']/following-sibling::div[1]")
    plots = speeds.xpath(".//*[@class='plot']")
    assert len(plots) == 3
    assert len({(plot.get("data-x"), plot.get("data-y")) for plot in plots}) == 1
    curves = [path.get("data-label") for path in plots[0].iterfind("path")]
    assert curves == ["leader", "follower1", "follower2"]
    titles = [node.text for node in document.iterfind(".//figcaption/strong")]
    assert "Gap: follower1" in titles


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["out/a", "out/b"], ["a", "b"]),
        (["x/run", "y/run"], ["x/run", "y/run"]),
        (["/x/run", "/y/run"], ["x/run", "y/run"]),
        (["x/one/run", "y/one/run", "y/two/run"], ["x/one/run", "y/one/run", "y/two/run"]),
    ],
)
def test_runs_have_the_shortest_names_that_differ(paths: list[str], expected: list[str]) -> None:
    assert labels_of([Path(path) for path in paths]) == expected


def test_what_cannot_stand_side_by_side_is_refused(runs: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    with pytest.raises(ConfigurationError, match="ploeg twice; allowed is each run once"):
        write_side_by_side([runs[0], runs[1], runs[0]], page)
    with pytest.raises(ConfigurationError, match=f"found 9; allowed are 2 to {MOST_RUNS}"):
        write_side_by_side([tmp_path / str(number) for number in range(9)], page)
    with pytest.raises(ConfigurationError, match="summary.json cannot be read"):
        write_side_by_side([runs[0], tmp_path], page)
    without_bag = tmp_path / "run"
    shutil.copytree(runs[1], without_bag, ignore=shutil.ignore_patterns("bag"))
    with pytest.raises(ConfigurationError, match="no bag at"):
        write_side_by_side([runs[0], without_bag], page)
    assert not page.exists()


def test_a_run_without_an_end_stands_beside_others(runs: list[Path], tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(runs[1], broken)
    summary = json.loads((broken / "summary.json").read_text())
    summary |= {"complete": False, "trace_sha256": "", "verdicts": [], "end_reason": "killed"}
    (broken / "summary.json").write_text(json.dumps(summary))
    page = tmp_path / "both.html"
    write_side_by_side([broken, runs[0]], page)
    figures = table_after(html.fromstring(page.read_bytes()), "Figures")
    assert figures["End"][0] == "killed"
    assert figures["Trace"][0] == "\N{EN DASH}"
    assert figures["Trace of the first run"] == ["no", "no"]


def test_the_command_writes_one_page(runs: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "both.html"
    answer = CliRunner().invoke(app, ["report", *map(str, runs[:2]), "--out", str(page)])
    assert (answer.exit_code, answer.output.strip()) == (0, str(page))
    assert page.is_file()
    refused = CliRunner().invoke(app, ["report", *map(str, runs[:2]), "--out", str(tmp_path)])
    assert refused.exit_code == 1 and "found a directory" in refused.output


def test_figures_of_models_are_found_by_their_place() -> None:
    """Numbers of mappings and lists; what a run does not have is not a figure."""
    given = {"a": {"mean": 1.5, "none": None}, "b": {"each": [3, {"x": True}], "word": "yes"}}
    assert _flat("", given) == [
        ("a.mean", 1.5), ("b.each.0", 3), ("b.each.1.x", True), ("b.word", "yes")
    ]  # fmt: skip
    assert _flat("", {}) == [] == _flat("", {"a": []})
