# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Charts: where each point lies, which numbers stand at the axes, and what is left out.

In a chart of lines the curves have 478 by 248 units: at a stretch of 4 s, one second is 119.5.
"""

from __future__ import annotations

import math
import re

import pytest

from ros2_cosim.lab.report.svg_plot import (
    Axes,
    Bar,
    Line,
    Row,
    _legend,
    _number,
    _thin,
    event_rows,
    line_chart,
    nice_ticks,
    spread,
    stacked_bars,
)

LINES = [
    Line("speed <a>", (0.0, 1.0, 2.0, 4.0), (0.0, 5.0, math.nan, 10.0), 0),
    Line("held", (1.0, 3.0), (2.0, 8.0), 9, dashed=True, step=True),
    Line("seen", (0.5, 2.5), (1.0, math.nan), 2, dots=True),
    Line("none", (), (), 3),
]
CURVES = (
    '<svg viewBox="0 0 560 322" role="img" aria-label="v [m/s] over simulated time '
    '[s]" xmlns="http://www.w3.org/2000/svg">'
    '<path class="grid" d="M68 260.0H546"/>'
    '<text x="62.0" y="264.0" text-anchor="end">0'
    "</text>"
    '<path class="grid" d="M68 210.4H546"/>'
    '<text x="62.0" y="214.4" text-anchor="end">2'
    "</text>"
    '<path class="grid" d="M68 160.8H546"/>'
    '<text x="62.0" y="164.8" text-anchor="end">4'
    "</text>"
    '<path class="grid" d="M68 111.2H546"/>'
    '<text x="62.0" y="115.2" text-anchor="end">6'
    "</text>"
    '<path class="grid" d="M68 61.6H546"/>'
    '<text x="62.0" y="65.6" text-anchor="end">8'
    "</text>"
    '<path class="grid" d="M68 12.0H546"/>'
    '<text x="62.0" y="16.0" text-anchor="end">10'
    "</text>"
    '<g class="ticks">'
    '<path class="grid" d="M68.0 12V260"/>'
    '<text x="68.0" y="276.0" text-anchor="middle">0'
    "</text>"
    '<path class="grid" d="M187.5 12V260"/>'
    '<text x="187.5" y="276.0" text-anchor="middle">1'
    "</text>"
    '<path class="grid" d="M307.0 12V260"/>'
    '<text x="307.0" y="276.0" text-anchor="middle">2'
    "</text>"
    '<path class="grid" d="M426.5 12V260"/>'
    '<text x="426.5" y="276.0" text-anchor="middle">3'
    "</text>"
    '<path class="grid" d="M546.0 12V260"/>'
    '<text x="546.0" y="276.0" text-anchor="middle">4'
    "</text></g>"
    '<text x="307.0" y="294.0" text-anchor="middle">simulated time [s]'
    "</text>"
    '<text transform="rotate(-90 13 136.0)" x="13" y="136.0" text-anchor="middle">v'
    " [m/s]"
    "</text>"
    '<svg class="plot" x="68" y="12" width="478" height="248" viewBox="0 0 478 248"'
    ' preserveAspectRatio="none" data-axis="simulated time [s]" data-x="0.0 4.0" da'
    'ta-y="0.0 10.0">'
    '<path class="line" data-label="speed &lt;a&gt;" stroke="var(--c0)" d="M0.00 24'
    '8.00L119.50 124.00M478.00 0.00"/>'
    '<path class="line" data-label="held" stroke="var(--c1)" stroke-dasharray="5 4"'
    ' d="M119.50 198.40H358.50V49.60"/>'
    '<path class="dots" data-label="seen" stroke="var(--c2)" d="M59.75 223.20h0"/><'
    "/svg>"
    '<g transform="translate(0 300)">'
    '<path class="key" stroke="var(--c0)" d="M68 10h20"/>'
    '<text x="94.0" y="14.0" text-anchor="start">speed &lt;a&gt;'
    "</text>"
    '<path class="key" stroke="var(--c1)" stroke-dasharray="5 4" d="M186 10h20"/>'
    '<text x="211.6" y="14.0" text-anchor="start">held'
    "</text>"
    '<path class="key dots" stroke="var(--c2)" d="M271 10h0"/>'
    '<text x="287.2" y="14.0" text-anchor="start">seen'
    "</text></g>"
    "</svg>"
)
OTHER_AXES = (
    '<svg viewBox="0 0 560 322" role="img" aria-label="v over s [m]" xmlns="http://'
    'www.w3.org/2000/svg">'
    '<path class="grid" d="M68 260.0H546"/>'
    '<text x="62.0" y="264.0" text-anchor="end">−20'
    "</text>"
    '<path class="grid" d="M68 198.0H546"/>'
    '<text x="62.0" y="202.0" text-anchor="end">−10'
    "</text>"
    '<path class="grid" d="M68 136.0H546"/>'
    '<text x="62.0" y="140.0" text-anchor="end">0'
    "</text>"
    '<path class="grid" d="M68 74.0H546"/>'
    '<text x="62.0" y="78.0" text-anchor="end">10'
    "</text>"
    '<path class="grid" d="M68 12.0H546"/>'
    '<text x="62.0" y="16.0" text-anchor="end">20'
    "</text>"
    '<g class="ticks">'
    '<path class="grid" d="M68.0 12V260"/>'
    '<text x="68.0" y="276.0" text-anchor="middle">−1'
    "</text>"
    '<path class="grid" d="M187.5 12V260"/>'
    '<text x="187.5" y="276.0" text-anchor="middle">0'
    "</text>"
    '<path class="grid" d="M307.0 12V260"/>'
    '<text x="307.0" y="276.0" text-anchor="middle">1'
    "</text>"
    '<path class="grid" d="M426.5 12V260"/>'
    '<text x="426.5" y="276.0" text-anchor="middle">2'
    "</text>"
    '<path class="grid" d="M546.0 12V260"/>'
    '<text x="546.0" y="276.0" text-anchor="middle">3'
    "</text></g>"
    '<text x="307.0" y="294.0" text-anchor="middle">s [m]'
    "</text>"
    '<text transform="rotate(-90 13 136.0)" x="13" y="136.0" text-anchor="middle">v'
    "</text>"
    '<svg class="plot" x="68" y="12" width="478" height="248" viewBox="0 0 478 248"'
    ' preserveAspectRatio="none" data-axis="s [m]" data-x="-1.0 3.0" data-y="-20.0 '
    '20.0">'
    '<path class="line" data-label="speed &lt;a&gt;" stroke="var(--c0)" d="M119.50 '
    '124.00L239.00 93.00M597.50 62.00"/></svg>'
    '<g transform="translate(0 300)">'
    '<path class="key" stroke="var(--c0)" d="M68 10h20"/>'
    '<text x="94.0" y="14.0" text-anchor="start">speed &lt;a&gt;'
    "</text></g>"
    "</svg>"
)
ROWS = (
    '<svg viewBox="0 0 560 96" role="img" aria-label="events over simulated time" x'
    'mlns="http://www.w3.org/2000/svg">'
    '<path class="grid" d="M210.0 12V56"/>'
    '<text x="210.0" y="72.0" text-anchor="middle">1'
    "</text>"
    '<path class="grid" d="M294.0 12V56"/>'
    '<text x="294.0" y="72.0" text-anchor="middle">2'
    "</text>"
    '<path class="grid" d="M378.0 12V56"/>'
    '<text x="378.0" y="72.0" text-anchor="middle">3'
    "</text>"
    '<path class="grid" d="M462.0 12V56"/>'
    '<text x="462.0" y="72.0" text-anchor="middle">4'
    "</text>"
    '<path class="grid" d="M546.0 12V56"/>'
    '<text x="546.0" y="72.0" text-anchor="middle">5'
    "</text>"
    '<text x="202.0" y="27.0" text-anchor="end">controller'
    "</text>"
    '<path class="grid" d="M210 34H546"/>'
    '<path class="event" stroke="var(--c1)" d="M210.0 16v14M218.5 16v14M546.0 16v14'
    '"/>'
    '<text x="202.0" y="49.0" text-anchor="end">a name that is far too l…'
    "</text>"
    '<path class="grid" d="M210 56H546"/>'
    '<path class="event" stroke="var(--c0)" d="M294.0 38v14"/>'
    '<text x="378.0" y="90.0" text-anchor="middle">simulated time [ms]'
    "</text>"
    "</svg>"
)
BARS = (
    '<svg viewBox="0 0 560 126" role="img" aria-label="work, wait: time [s]" xmlns='
    '"http://www.w3.org/2000/svg">'
    '<path class="grid" d="M100.0 12V64"/>'
    '<text x="100.0" y="80.0" text-anchor="middle">0'
    "</text>"
    '<path class="grid" d="M244.7 12V64"/>'
    '<text x="244.7" y="80.0" text-anchor="middle">1'
    "</text>"
    '<path class="grid" d="M389.3 12V64"/>'
    '<text x="389.3" y="80.0" text-anchor="middle">2'
    "</text>"
    '<path class="grid" d="M534.0 12V64"/>'
    '<text x="534.0" y="80.0" text-anchor="middle">3'
    "</text>"
    '<text x="92.0" y="29.0" text-anchor="end">plant'
    "</text>"
    '<rect x="100.0" y="16" width="144.7" height="18" fill="var(--c0)">'
    "<title>plant, work: 1"
    "</title>"
    "</rect>"
    '<rect x="244.7" y="16" width="72.3" height="18" fill="var(--c1)">'
    "<title>plant, wait: 0.5"
    "</title>"
    "</rect>"
    '<text x="92.0" y="55.0" text-anchor="end">driver &amp; co'
    "</text>"
    '<rect x="100.0" y="42" width="434.0" height="18" fill="var(--c1)">'
    "<title>driver &amp; co, wait: 3"
    "</title>"
    "</rect>"
    '<text x="323.0" y="98.0" text-anchor="middle">time [s]'
    "</text>"
    '<g transform="translate(0 104)">'
    '<path class="key" stroke="var(--c0)" d="M68 10h20"/>'
    '<text x="94.0" y="14.0" text-anchor="start">work'
    "</text>"
    '<path class="key" stroke="var(--c1)" d="M144 10h20"/>'
    '<text x="169.6" y="14.0" text-anchor="start">wait'
    "</text></g>"
    "</svg>"
)


def test_curves_over_a_common_axis() -> None:
    assert line_chart(LINES, y_label="v [m/s]") == CURVES


def test_curves_over_the_axes_of_another_chart() -> None:
    axes = Axes((-1.0, 3.0), (-20.0, 20.0))
    assert line_chart(LINES[:1], y_label="v", x_label="s [m]", axes=axes) == OTHER_AXES


@pytest.mark.parametrize(
    ("times", "shown"),
    [
        ((1.0, 101.0), ["0", "20", "40", "60", "80", "100"]),
        ((0.0, 12.5), ["0.0", "2.5", "5.0", "7.5", "10.0", "12.5"]),
        ((1.5, 101.5), ["20", "40", "60", "80", "100"]),
        ((-1.0, 99.0), ["0", "20", "40", "60", "80", "100"]),
        ((-1.5, 98.5), ["0", "20", "40", "60", "80"]),
    ],
)
def test_ticks_lie_within_a_hundredth_of_a_stretch(
    times: tuple[float, float], shown: list[str]
) -> None:
    text = line_chart([Line("a", times, (0.0, 1.0), 0)], y_label="v")
    ticks = text.partition('<g class="ticks">')[2].partition("</g>")[0]
    assert re.findall(r">([^<>]+)</text>", ticks) == shown


def test_events_between_two_times() -> None:
    rows = [
        Row("controller", (0.0, 0.001, 0.0011, 0.005, 0.006), 1),
        Row("a name that is far too long for a row", (0.002,), 8),
    ]
    assert event_rows(rows, start=0.001, end=0.005, unit="ms", scale=1000.0) == ROWS


def test_bars_of_parts() -> None:
    bars = [Bar("plant", (1.0, 0.5)), Bar("driver & co", (0.0, 3.0))]
    assert stacked_bars(bars, parts=("work", "wait"), x_label="time [s]") == BARS


@pytest.mark.parametrize("label", ["plant", "a" * 24, "a" * 25, "a" * 26, "a" * 60])
def test_rows_and_bars_of_the_same_names_begin_at_one_place(label: str) -> None:
    """The charts of a page stand below each other."""
    rows = event_rows([Row(label, (0.0,), 0)], start=0.0, end=1.0)
    bars = stacked_bars([Bar(label, (1.0,))], parts=("work",), x_label="time [s]")
    first_tick = re.compile(r'<path class="grid" d="M([\d.]+) ')
    (of_rows,), (of_bars,) = first_tick.findall(rows)[:1], first_tick.findall(bars)[:1]
    assert of_rows == of_bars


def test_a_chart_of_nothing_says_so() -> None:
    assert "no data" in line_chart(LINES[3:], y_label="v")
    assert "no data" in line_chart([Line("a", (0.0,), (math.inf,), 0)], y_label="v")
    assert "no activations" in event_rows([], start=0.0, end=1.0)
    assert "no activations" in event_rows([Row("a", (), 0)], start=1.0, end=1.0)
    assert "no times were measured" in stacked_bars([Bar("a", (0.0,))], parts=("b",), x_label="c")


def test_the_axes_that_curves_need() -> None:
    assert spread(LINES) == ((0.0, 4.0), (0.0, 10.0))
    assert spread(LINES[1:]) == ((0.5, 3.0), (1.0, 8.0))
    assert spread(LINES[3:]) is None and spread([]) is None


@pytest.mark.parametrize(
    ("low", "high", "count", "ticks"),
    [
        (0.0, 10.0, 5, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]),
        (0.1, 9.9, 5, [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]),
        (0.0, 12.0, 5, [0.0, 2.5, 5.0, 7.5, 10.0, 12.5]),
        (0.0, 20.0, 4, [0.0, 5.0, 10.0, 15.0, 20.0]),
        (-3.0, 3.0, 6, [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]),
        (0.0, 0.03, 3, [0.0, 0.01, 0.02, 0.03]),
        (0.0, 45.0, 5, [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]),
        (0.0, 0.0, 2, [-1.0, 0.0, 1.0]),
        (5.0, 5.0, 2, [4.0, 5.0, 6.0]),
        (50.0, 50.0, 2, [45.0, 50.0, 55.0]),
        (3.0, 3.0, 4, [2.0, 2.5, 3.0, 3.5, 4.0]),
        (5.0, 5.0, 10, [4.0, 4.2, 4.4, 4.6, 4.8, 5.0, 5.2, 5.4, 5.6, 5.8, 6.0]),
        (0.0, 7.0, 0, [0.0, 10.0]),
    ],
)
def test_ticks_are_round_numbers_around_a_stretch(
    low: float, high: float, count: int, ticks: list[float]
) -> None:
    assert nice_ticks(low, high, count) == ticks


@pytest.mark.parametrize(
    ("value", "ticks", "text"),
    [
        (2.0, [0.0, 1.0], "2"),
        (2.5, [0.0, 2.5], "2.5"),
        (0.25, [0.0, 0.25], "0.25"),
        (-0.2, [0.0, 0.1], "\N{MINUS SIGN}0.2"),
        (100.0, [0.0, 100.0], "100"),
        (3.0, [3.0], "3"),
        (1e-7, [0.0, 1e-7], "0.0000001"),
    ],
)
def test_numbers_have_the_digits_of_their_step(value: float, ticks: list[float], text: str) -> None:
    assert _number(value, ticks) == text


def test_a_long_curve_keeps_its_smallest_and_largest_values() -> None:
    times = [float(n) for n in range(1201)]
    short = Line("a", times[:1200], times[:1200], 0)
    assert _thin(short) == list(zip(times[:1200], times[:1200], strict=True))
    values = [math.nan if n % 50 == 3 else math.sin(n) for n in range(1201)]
    values[600:606] = [math.nan] * 6
    values[77], values[901] = 9.0, -9.0
    kept = _thin(Line("a", times, values, 0))
    assert len(kept) == 799 and kept[-1] == (1200.0, values[1200])
    assert (77.0, 9.0) in kept and (901.0, -9.0) in kept
    # Of three points each the smallest and the largest; one of those that have no number.
    assert kept[:4] == [(0.0, 0.0), (2.0, math.sin(2)), (4.0, math.sin(4)), (5.0, math.sin(5))]
    assert [x for x, y in kept if math.isnan(y)] == [600.0, 603.0]


def test_a_legend_begins_a_line_where_an_entry_has_no_room() -> None:
    """A letter has 8.4 units, an entry 34 more and 8 behind it; the page has 560, from 68 on."""
    labels = ("a" * 30, "b" * 30, "c" * 5, "d" * 80, "e")
    text, height = _legend([Line(label, (), (), 0) for label in labels])
    places = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"', text)
    assert places == [
        ("94.0", "14.0"),
        ("94.0", "34.0"),  # 68 + 286 + 8 + 286 > 560
        ("388.0", "34.0"),  # 68 + 286 + 8 = 362
        ("94.0", "54.0"),
        ("94.0", "74.0"),
    ]
    assert height == 82
    # The first entry stays in the first line, however long it is.
    text, height = _legend([Line("d" * 80, (), (), 0)])
    assert 'x="94.0" y="14.0"' in text and height == 22


def test_of_many_curves_the_first_are_named_and_all_are_drawn_with_fewer_points() -> None:
    times = [float(n) for n in range(1000)]
    lines = [Line(f"v{n}", times, [math.sin(t + n) for t in times], n) for n in range(100)]
    text = line_chart(lines, y_label="v")
    assert text.count("data-label=") == 100
    named = re.findall(r">(v\d+)<", text)
    assert named == [f"v{n}" for n in range(24)]
    assert "and 76 more; all have their values where you point" in text
    curve = re.search(r'data-label="v99"[^>]* d="([^"]*)"', text)
    assert curve is not None and 200 < len(re.findall("[ML]", curve[1])) <= 241
    assert "more;" not in line_chart(lines[:24], y_label="v")


def test_short_times_are_drawn_and_no_bars_are_none() -> None:
    assert stacked_bars([], parts=("b",), x_label="c") == stacked_bars(
        [Bar("a", (0.0,))], parts=("b",), x_label="c"
    )
    text = stacked_bars([Bar("a", (0.5, 0.25))], parts=("b", "c"), x_label="d")
    assert "<title>a, b: 0.5</title>" in text and "<title>a, c: 0.25</title>" in text
