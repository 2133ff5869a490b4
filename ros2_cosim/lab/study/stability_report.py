# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``report.html`` of a study of string stability: gains beside the theory, ratios per pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.record.results import REPORT_FILE
from ros2_cosim.lab.report.page import Tile, page_template
from ros2_cosim.lab.report.svg_plot import COLOURS, Chart, Line, line_chart


def render_stability(output: Path, found: Mapping[str, Any]) -> Path:
    """Write ``report.html``.

    :param found: content of the result file
    :returns: the path of the page
    """
    page = page_template("stability.html", "ros2_cosim.lab.study").render(
        found=found, settings=[_section(result) for result in found["settings"]]
    )
    path = output / REPORT_FILE
    write_atomically(path, page)
    return path


def _section(result: Mapping[str, Any]) -> dict[str, Any]:
    """What the page says of one setting."""
    return {
        "result": result,
        "tiles": _tiles(result),
        "charts": [_gain_chart(result), _ratio_chart(result)],
        "rows": [
            (pair, *(_with_interval(result, key, i) for key in ("gain", "l2", "peak")))
            for i, pair in enumerate(result["pairs"])
        ],
    }


def _tiles(result: Mapping[str, Any]) -> list[Tile]:
    smallest = result["min_time_gap_s"]
    theory = result["theory"] and result["theory"]["min_time_gap_s"]
    contacts = result["contacts"]
    return [
        Tile("string stable", _ANSWERS[result["string_stable"]], result["string_stable"]),
        *([Tile("contacts in the runs", str(contacts), False)] if contacts else []),
        Tile("largest gain of a pair", largest_gain(result)),
        Tile("smallest time gap, measured", "–" if smallest is None else f"{smallest:.2f} s"),
        Tile("smallest time gap, theory", "–" if theory is None else f"{theory:.2f} s"),
    ]


_ANSWERS: Final = {True: "yes", False: "no", None: "not determined"}


def largest_gain(result: Mapping[str, Any]) -> str:
    """That of all pairs whose gain the excitation shows, as text."""
    gains = [gain for gain in result["gain"] if gain is not None]
    return f"{max(gains):.3f}" if gains else "not determined"


def _gain_chart(result: Mapping[str, Any]) -> Chart:
    frequencies = result["frequency_hz"]
    lines = [
        _line(pair, frequencies, result["gain_over_frequency"][i], i % (COLOURS - 1))
        for i, pair in enumerate(result["pairs"][: COLOURS - 1])
    ]
    if result["theory"]:
        theory = result["theory"]["gain_over_frequency"]
        lines.append(Line("theory", frequencies, theory, COLOURS - 1, dashed=True))
    svg = line_chart(lines, y_label="gain of the speed [1]", x_label="frequency [Hz]")
    note = "Amplitude of the speed over that of the vehicle ahead; above 1 a disturbance grows."
    return Chart("Gain over frequency", note, svg)


def _ratio_chart(result: Mapping[str, Any]) -> Chart:
    numbers = [float(i + 1) for i in range(len(result["pairs"]))]
    lines = [
        _line(label, numbers, result[key], colour, dots=len(numbers) == 1)
        for colour, (key, label) in enumerate(
            (("gain", "largest gain"), ("l2", "L2 ratio"), ("peak", "ratio of braking peaks"))
        )
    ]
    svg = line_chart(lines, y_label="ratio [1]", x_label="follower")
    return Chart("Ratios down the platoon", "Each follower against the vehicle ahead.", svg)


def _line(
    label: str, x: Sequence[float], y: Sequence[float | None], colour: int, *, dots: bool = False
) -> Line:
    """A curve through what is determined."""
    there = [(a, b) for a, b in zip(x, y, strict=True) if b is not None]
    return Line(label, [a for a, _ in there], [b for _, b in there], colour, dots=dots)


def _with_interval(result: Mapping[str, Any], key: str, i: int) -> str:
    value, interval = result[key][i], result["ci"][key][i]
    if value is None:
        return "not determined"
    return f"{value:.3f}" + ("" if interval is None else f" ± {interval[1] - value:.3f}")
