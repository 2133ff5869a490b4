# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The report: what it shows, that it stands alone, and what it refuses."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree, html

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.lab.report.page import page_template
from ros2_cosim.lab.report.report import render_report
from ros2_cosim.lab.report.report_data import load_run
from ros2_cosim.lab.report.svg_plot import (
    Bar,
    Line,
    Row,
    event_rows,
    line_chart,
    nice_ticks,
    stacked_bars,
)


def titles(page: Path) -> list[str]:
    document = html.fromstring(page.read_bytes())
    return [node.text for node in document.iterfind(".//figcaption/strong")]


def test_a_driving_run_gets_all_charts(platoon_run: Path) -> None:
    page = render_report(platoon_run)
    assert page == platoon_run / "report.html"
    assert titles(page) == [
        "Speeds",
        "Gaps within the platoon",
        "Space-time diagram",
        "Distance to the obstacle",
        "Accelerations",
        "Jerk",
        "Braking down the platoon",
        "Pedals",
        "V2V latency",
        "Commanded and measured: follower1",
        "Commanded and measured: follower2",
        "Object sensor: follower1",
        "Object sensor: follower2",
        "Time line of messages",
        "Time line of messages, enlarged",
        "Step time",
        "Wall time",
    ]
    text = page.read_text()
    for fact in ("3f" * 32, "smallest gap [m]", "follower1 \N{EN DASH} follower2", "0.9.16"):
        assert fact in text


def test_what_is_long_is_folded_and_there() -> None:
    """A run of a hundred vehicles would be a page of a hundred screens."""
    template = page_template("charts.html").environment.from_string(
        '{% from "charts.html" import folded %}'
        "{% call folded('All topics', count, 40) %}<p>rows</p>{% endcall %}"
    )
    few, many = (html.fromstring(f"<div>{template.render(count=n)}</div>") for n in (40, 41))
    assert few.xpath("string(p)") == "rows" and not few.xpath("//details")
    assert many.xpath("string(//details/summary)") == "All topics (41)"
    assert many.xpath("string(//details/p)") == "rows"


def test_the_page_stands_alone_and_is_small(platoon_run: Path) -> None:
    page = render_report(platoon_run)
    text = page.read_text()
    assert page.stat().st_size < 2_000_000
    assert not re.search(r"\b(src|href|url|@import)\b\s*[=(]", text)
    assert set(re.findall(r"https?://[^\"\s<]+", text)) == {"http://www.w3.org/2000/svg"}
    pictures = re.findall(r"</figcaption>\s*(<svg.*?)</figure>", text, re.DOTALL)
    assert len(pictures) == text.count("<figure>")
    for svg in pictures:
        etree.fromstring(svg)


def test_the_same_run_gives_the_same_page(platoon_run: Path) -> None:
    first = render_report(platoon_run).read_bytes()
    assert render_report(platoon_run).read_bytes() == first


def test_a_run_without_vehicles_gets_the_timing_sections(plain_run: Path) -> None:
    page = render_report(plain_run)
    assert titles(page) == [
        "Time line of messages",
        "Time line of messages, enlarged",
        "Step time",
        "Wall time",
    ]
    assert "<ping>" not in page.read_text()
    assert "&lt;ping&gt;" in page.read_text()


def test_recorded_activations_replace_messages_in_the_time_line(plain_run: Path) -> None:
    times = [7_000_000 * k for k in range(72)]
    (plain_run / "activations.json").write_text(json.dumps({"ping": times}))
    assert load_run(plain_run).activations["ping"][1] == pytest.approx(0.007)
    assert titles(render_report(plain_run))[:2] == [
        "Time line of activations",
        "Time line of activations, enlarged",
    ]


def test_vehicles_are_named_from_the_front(platoon_run: Path) -> None:
    assert load_run(platoon_run).vehicles == ["leader", "follower1", "follower2"]


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (
            lambda run: (run / "summary.json").unlink(),
            "summary.json cannot be read: there is none; no run has",
        ),
        (lambda run: shutil.rmtree(run / "bag"), "no bag at"),
        (lambda run: (run / "activations.json").write_text("[1]"), "activation times"),
        (lambda run: (run / "activations.json").write_text('{"a": ["x"]}'), "activation times"),
    ],
)
def test_an_incomplete_run_is_refused(plain_run: Path, damage: object, complaint: str) -> None:
    assert callable(damage)
    damage(plain_run)
    with pytest.raises(ConfigurationError, match=complaint):
        render_report(plain_run)
    assert not (plain_run / "report.html").exists()


NUMBERS = st.floats(-1e9, 1e9, allow_nan=False)


@given(st.lists(NUMBERS | st.sampled_from([math.nan, math.inf]), max_size=30))
def test_any_curve_can_be_drawn(values: list[float]) -> None:
    times = [0.1 * k for k in range(len(values))]
    for dots in (False, True):
        svg = line_chart([Line("a<b", times, values, 3, True, True, dots)], y_label="y & z")
        etree.fromstring(svg)
        assert "nan" not in svg
        assert "inf" not in svg


@given(NUMBERS, NUMBERS, st.integers(1, 10))
def test_ticks_enclose_their_range(a: float, b: float, count: int) -> None:
    low, high = min(a, b), max(a, b)
    ticks = nice_ticks(low, high, count)
    assert 2 <= len(ticks) <= 2 * count + 3
    slack = 1e-6 * max(1.0, high - low, abs(low))
    assert ticks[0] <= low + slack
    assert ticks[-1] >= high - slack
    assert ticks == sorted(ticks)


def test_long_curves_keep_their_extremes() -> None:
    values = [0.0] * 50_000
    values[31_415] = 100.0
    svg = line_chart([Line("spike", list(range(50_000)), values, 0)], y_label="y")
    assert len(svg) < 20_000
    assert ">100<" in svg
    assert len({y for y in re.findall(r"L[\d.]+ ([\d.]+)", svg)}) == 2


def test_nothing_to_draw_says_so() -> None:
    assert "no data" in line_chart([], y_label="y")
    assert "no activations" in event_rows([], start=0.0, end=1.0)
    assert "no times" in stacked_bars([Bar("a", (0.0, 0.0))], parts=("x", "y"), x_label="s")
    etree.fromstring(event_rows([Row("r" * 80, [0.5], 2)], start=0.0, end=1.0))
