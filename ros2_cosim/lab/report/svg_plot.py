# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Small charts as inline SVG: lines over time, rows of events, stacked bars.

Colours come from CSS variables of the page (``--c0`` to ``--c7``, ``--grid``, ``--fg``), so
that one picture reads on a light and on a dark background, which the pictures of a plot library
do not. Equal data give equal text, with any version of a library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from markupsafe import Markup

WIDTH = 560
HEIGHT = 300
LEFT = 68
RIGHT = 14
TOP = 12
BOTTOM = 40
PLOT_WIDTH = WIDTH - LEFT - RIGHT
PLOT_HEIGHT = HEIGHT - TOP - BOTTOM
COLOURS = 8
#: Points of a curve, more than pixels: a part of a chart can be enlarged.
MAX_POINTS = 1200
#: Points of all curves of a chart: many curves lie on each other, and the page stays small.
_MAX_ALL_POINTS = 24_000
#: A chart names so many curves below it. Its script shows the values of all.
_MOST_NAMED = 24
#: Charts over it are enlarged together.
SIMULATED_TIME = "simulated time [s]"


class Chart(NamedTuple):
    """A picture with its heading and one line that explains it."""

    title: str
    note: str
    svg: Markup


class Line(NamedTuple):
    """One curve; ``colour`` is an index.

    ``step`` holds each value until the next one, ``dots`` draws the points alone.
    """

    label: str
    times: Sequence[float]
    values: Sequence[float]
    colour: int
    dashed: bool = False
    step: bool = False
    dots: bool = False


class Axes(NamedTuple):
    """The stretch of both axes that a chart shows, where that is not what its curves need."""

    x: tuple[float, float]
    y: tuple[float, float]


class Row(NamedTuple):
    """Events of one participant or topic, by their times."""

    label: str
    times: Sequence[float]
    colour: int


class Bar(NamedTuple):
    """One stacked bar; ``parts`` belong to the labels given to :func:`stacked_bars`."""

    label: str
    parts: Sequence[float]


def spread(lines: Sequence[Line]) -> Axes | None:
    """The axes that curves need; None if they have no finite value."""
    kept = [line for line in lines if line.times]
    finite = [value for line in kept for value in line.values if math.isfinite(value)]
    if not finite:
        return None
    x = min(line.times[0] for line in kept), max(line.times[-1] for line in kept)
    return Axes(x, (min(finite), max(finite)))


def line_chart(
    lines: Sequence[Line], *, y_label: str, x_label: str = SIMULATED_TIME, axes: Axes | None = None
) -> Markup:
    """Curves over a common axis with a legend below; values that are not finite are gaps.

    The attributes of the inner picture, which holds the curves, tell the script of the page
    (``charts.js``) what a place in it means.

    :param axes: as those of other charts, so that they can be compared
    """
    kept = [line for line in lines if line.times]
    needed = axes or spread(kept)
    if needed is None:
        return _empty("no data")
    (x0, x1), (low, high) = needed
    y_ticks = nice_ticks(low, high, 5)
    slack = 0.01 * (x1 - x0)
    x_ticks = [tick for tick in nice_ticks(x0, x1, 6) if x0 - slack <= tick <= x1 + slack]
    y0, y1 = y_ticks[0], y_ticks[-1]
    legend, legend_height = _legend(kept)
    height = HEIGHT + legend_height

    def px(x: float) -> float:
        return (x - x0) / ((x1 - x0) or 1.0) * PLOT_WIDTH

    def py(y: float) -> float:
        return PLOT_HEIGHT - (y - y0) / ((y1 - y0) or 1.0) * PLOT_HEIGHT

    out = [_open(height, f"{y_label} over {x_label}")]
    for tick in y_ticks:
        y = TOP + py(tick)
        out.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        out.append(_text(LEFT - 6, y + 4, _number(tick, y_ticks), "end"))
    out.append('<g class="ticks">')
    for tick in x_ticks:
        x = LEFT + px(tick)
        out.append(f'<path class="grid" d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}"/>')
        out.append(_text(x, HEIGHT - BOTTOM + 16, _number(tick, x_ticks), "middle"))
    out.append("</g>")
    out.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, x_label, "middle"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    out.append(
        f'<text transform="rotate(-90 13 {middle:.1f})" x="13" y="{middle:.1f}" '
        f'text-anchor="middle">{escape(y_label)}</text>'
    )
    out.append(
        f'<svg class="plot" x="{LEFT}" y="{TOP}" width="{PLOT_WIDTH}" height="{PLOT_HEIGHT}" '
        f'viewBox="0 0 {PLOT_WIDTH} {PLOT_HEIGHT}" preserveAspectRatio="none" '
        f'data-axis="{escape(x_label)}" data-x="{x0!r} {x1!r}" data-y="{y0!r} {y1!r}">'
    )
    most = min(MAX_POINTS, _MAX_ALL_POINTS // len(kept))
    for line in kept:
        points = [(px(x), py(y)) for x, y in _thin(line, most)]
        path = _dots(points) if line.dots else _path(points, line.step)
        out.append(_stroke(line, "dots" if line.dots else "line", path, line.label))
    out.append(f'</svg><g transform="translate(0 {HEIGHT})">{legend}</g></svg>')
    return Markup("".join(out))


def event_rows(
    rows: Sequence[Row], *, start: float, end: float, unit: str = "s", scale: float = 1.0
) -> Markup:
    """One tick per event and row between two times; ``scale`` turns seconds into ``unit``."""
    if not rows or end <= start:
        return _empty("no activations")
    row_height = 22
    left = min(210, 16 + max(round(7.6 * len(row.label)) for row in rows))
    bottom = TOP + row_height * len(rows)
    ticks = [t for t in nice_ticks(start * scale, end * scale, 6) if t <= end * scale + 1e-9]
    ticks = [t for t in ticks if t >= start * scale - 1e-9]

    def px(time: float) -> float:
        return left + (time - start) / (end - start) * (WIDTH - left - RIGHT)

    out = [_open(bottom + BOTTOM, "events over simulated time")]
    for tick in ticks:
        x = px(tick / scale)
        out.append(f'<path class="grid" d="M{x:.1f} {TOP}V{bottom}"/>')
        out.append(_text(x, bottom + 16, _number(tick, ticks), "middle"))
    for number, row in enumerate(rows):
        y = TOP + row_height * number
        out.append(_text(left - 8, y + 15, _shorten(row.label), "end"))
        out.append(f'<path class="grid" d="M{left} {y + row_height}H{WIDTH - RIGHT}"/>')
        marks = sorted({round(2.0 * px(t)) / 2.0 for t in row.times if start <= t <= end})
        path = "".join(f"M{x:.1f} {y + 4}v{row_height - 8}" for x in marks)
        out.append(f'<path class="event" stroke="var(--c{row.colour % COLOURS})" d="{path}"/>')
    label = f"simulated time [{unit}]"
    out.append(_text((left + WIDTH - RIGHT) / 2, bottom + BOTTOM - 6, label, "middle"))
    return Markup("".join([*out, "</svg>"]))


def stacked_bars(bars: Sequence[Bar], *, parts: Sequence[str], x_label: str) -> Markup:
    """Horizontal bars of several parts each, with a legend below."""
    total = max((sum(bar.parts) for bar in bars), default=0.0)
    if total <= 0.0:
        return _empty("no times were measured")
    row_height = 26
    left = min(210, 16 + max(round(7.6 * len(bar.label)) for bar in bars))
    bottom = TOP + row_height * len(bars)
    ticks = nice_ticks(0.0, total, 5)
    legend, legend_height = _legend([Line(name, (), (), n) for n, name in enumerate(parts)])

    def px(value: float) -> float:
        return left + value / ticks[-1] * (WIDTH - left - RIGHT - 12)

    out = [_open(bottom + BOTTOM + legend_height, f"{', '.join(parts)}: {x_label}")]
    for tick in ticks:
        out.append(f'<path class="grid" d="M{px(tick):.1f} {TOP}V{bottom}"/>')
        out.append(_text(px(tick), bottom + 16, _number(tick, ticks), "middle"))
    for number, bar in enumerate(bars):
        y = TOP + row_height * number
        out.append(_text(left - 8, y + 17, _shorten(bar.label), "end"))
        value = 0.0
        for colour, part in enumerate(bar.parts):
            width = px(value + part) - px(value)
            value += part
            if width > 0.0:
                out.append(
                    f'<rect x="{px(value - part):.1f}" y="{y + 4}" width="{width:.1f}" '
                    f'height="{row_height - 8}" fill="var(--c{colour})">'
                    f"<title>{escape(f'{bar.label}, {parts[colour]}: {part:.4g}')}</title></rect>"
                )
    out.append(_text((left + WIDTH - RIGHT) / 2, bottom + BOTTOM - 6, x_label, "middle"))
    out.append(f'<g transform="translate(0 {bottom + BOTTOM})">{legend}</g></svg>')
    return Markup("".join(out))


def nice_ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers that enclose [low, high], about ``count`` of them."""
    if high - low < 1e-9 * max(1.0, abs(low)):
        pad = max(1.0, 0.1 * abs(low)) if low else 1.0
        low, high = low - pad, high + pad
    raw = (high - low) / max(1, count)
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(f * magnitude for f in (1.0, 2.0, 2.5, 5.0, 10.0) if f * magnitude >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _thin(line: Line, most: int = MAX_POINTS) -> list[tuple[float, float]]:
    """At most about so many points: smallest and largest value of each stretch."""
    points = list(zip(line.times, line.values, strict=True))
    if len(points) <= most:
        return points
    size = math.ceil(2 * len(points) / max(most, 2))
    kept: list[tuple[float, float]] = []
    for start in range(0, len(points), size):
        stretch = points[start : start + size]
        finite = [p for p in stretch if math.isfinite(p[1])] or stretch[:1]
        kept.extend(sorted({min(finite, key=_value), max(finite, key=_value)}))
    return [*kept, points[-1]] if kept[-1] != points[-1] else kept


def _value(point: tuple[float, float]) -> float:
    return point[1]


def _path(points: Sequence[tuple[float, float]], step: bool) -> str:
    out: list[str] = []
    pen_up = True
    for x, y in points:
        if not math.isfinite(y):
            pen_up = True
            continue
        if pen_up:
            out.append(f"M{x:.2f} {y:.2f}")
        elif step:
            out.append(f"H{x:.2f}V{y:.2f}")
        else:
            out.append(f"L{x:.2f} {y:.2f}")
        pen_up = False
    return "".join(out)


def _dots(points: Sequence[tuple[float, float]]) -> str:
    return "".join(f"M{x:.2f} {y:.2f}h0" for x, y in points if math.isfinite(y))


def _stroke(line: Line, kind: str, path: str, label: str | None = None) -> str:
    dash = ' stroke-dasharray="5 4"' if line.dashed else ""
    name = "" if label is None else f' data-label="{escape(label)}"'
    colour = f"var(--c{line.colour % COLOURS})"
    return f'<path class="{kind}"{name} stroke="{colour}"{dash} d="{path}"/>'


def _legend(entries: Sequence[Line]) -> tuple[str, int]:
    """Legend entries laid out in lines; returns the picture and its height."""
    x, y = float(LEFT), 10.0
    out: list[str] = []
    for entry in entries[:_MOST_NAMED]:
        width = 34 + 8.4 * len(entry.label)
        if x + width > WIDTH and x > LEFT:
            x, y = float(LEFT), y + 20
        key = f"M{x + 10:.0f} {y:.0f}h0" if entry.dots else f"M{x:.0f} {y:.0f}h20"
        out.append(_stroke(entry, "key dots" if entry.dots else "key", key))
        out.append(_text(x + 26, y + 4, entry.label, "start"))
        x += width + 8
    if len(entries) > _MOST_NAMED:
        y += 20
        more = f"and {len(entries) - _MOST_NAMED} more; all have their values where you point"
        out.append(_text(LEFT, y + 4, more, "start"))
    return "".join(out), round(y) + 12


def _open(height: int, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}" '
        'xmlns="http://www.w3.org/2000/svg">'
    )


def _empty(text: str) -> Markup:
    return Markup(_open(60, text) + _text(WIDTH / 2, 34, text, "middle") + "</svg>")


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _shorten(label: str, length: int = 25) -> str:
    return label if len(label) <= length else label[: length - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _number(value: float, ticks: Sequence[float]) -> str:
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    decimals = max(0, min(6, -math.floor(math.log10(step) + 1e-9)))
    if round(step * 10**decimals, 6) != round(step * 10**decimals):
        decimals += 1  # a step of 2.5, 0.25, ...
    return f"{value:.{decimals}f}".replace("-", "\N{MINUS SIGN}")
