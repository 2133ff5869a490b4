# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser: values under the pointer, time enlarged, and what fits."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.browser import Browser

from ros2_cosim.lab.report.report import render_report
from ros2_cosim.lab.report.report_data import load_run
from ros2_cosim.lab.report.side_by_side import write_side_by_side
from ros2_cosim.lab.sweep.report import render_sweep
from ros2_cosim.lab.sweep.settings import SweepSettings
from ros2_cosim.lab.sweep.store import SweepRun

#: Place in the window of a share of the width of the plot with a title.
PLACE = """(() => {
  const titles = [...document.querySelectorAll("figcaption strong")];
  const figure = titles.find((node) => node.textContent === %r).closest("figure");
  figure.scrollIntoView({ block: "center" });
  const plot = figure.querySelector("svg.plot"), outer = figure.querySelector("svg");
  const box = outer.getBoundingClientRect(), scale = box.width / outer.viewBox.baseVal.width;
  const [x, y, w, h] = ["x", "y", "width", "height"].map((n) => Number(plot.getAttribute(n)));
  return [%r, %r].map((s) => [box.left + (x + s * w) * scale, box.top + (y + h / 2) * scale]);
})()"""
VALUES = """[...document.querySelectorAll("figure.read")].map((figure) => [
  figure.querySelector("strong").textContent,
  figure.querySelector(".values").hidden ? [] :
    [...figure.querySelectorAll(".values > *")].map((row) => row.textContent)])"""


def shown(browser: Browser, page: Path, width: int = 1280) -> None:
    browser.open(page.as_uri(), width=width)
    browser.wait_for("document.readyState === 'complete' && !!document.querySelector('.times')")


def values(browser: Browser) -> dict[str, list[str]]:
    return dict(browser.evaluate(VALUES))


def test_values_under_the_pointer_are_those_of_the_run(browser: Browser, platoon_run: Path) -> None:
    shown(browser, render_report(platoon_run))
    ((x, y), _) = browser.evaluate(PLACE % ("Speeds", 0.75, 0.0))
    browser.mouse("mouseMoved", x, y)
    data = load_run(platoon_run)
    read = values(browser)
    time, *speeds = read["Speeds"]
    assert [text.split()[0] for text in speeds] == ["leader", "follower1", "follower2"]
    at = float(time.removesuffix(" s"))
    assert at == pytest.approx(0.75 * data.speed["leader"].times[-1], abs=0.05)
    nearest = min(range(1200), key=lambda i: abs(data.speed["leader"].times[i] - at))
    for text, name in zip(speeds, data.vehicles, strict=True):
        assert float(text.split()[1]) == pytest.approx(data.speed[name].values[nearest], abs=0.05)
    assert read["Gaps within the platoon"][0] == time, "all charts over time tell their values"
    assert read["Braking down the platoon"] == []
    browser.mouse("mouseMoved", 1, 1)
    assert not any(values(browser).values())
    assert browser.complaints == []


def test_a_stretch_of_time_is_enlarged_in_all_charts(browser: Browser, platoon_run: Path) -> None:
    shown(browser, render_report(platoon_run))
    whole = browser.evaluate("document.querySelectorAll('svg.plot')[1].getAttribute('viewBox')")
    (begin, end) = browser.evaluate(PLACE % ("Speeds", 0.25, 0.5))
    for kind, place in (("mouseMoved", begin), ("mousePressed", begin), ("mouseMoved", end),
                        ("mouseReleased", end)):  # fmt: skip
        browser.mouse(kind, *place)
    stretch = browser.evaluate(
        "[...document.querySelectorAll('.times input')].map((i) => +i.value)"
    )
    assert stretch == pytest.approx([3.0, 6.0], abs=0.1)
    boxes = browser.evaluate(
        "[...document.querySelectorAll('svg.plot')].filter((p) => p.dataset.axis[0] === 's')"
        ".map((p) => { const [from, to] = p.dataset.x.split(' ').map(Number);"
        " const [x, , w] = p.getAttribute('viewBox').split(' ').map(Number);"
        " const scale = (to - from) / p.getAttribute('width');"
        " return [from + x * scale, from + (x + w) * scale]; })"
    )
    assert len(boxes) > 8
    for box in boxes:
        assert box == pytest.approx(stretch, abs=0.05), "all charts show the same stretch"
    ticks = browser.evaluate(
        "[...document.querySelector('figure .ticks').querySelectorAll('text')]"
        ".map((t) => +t.textContent)"
    )
    assert min(ticks) >= 2.9 and max(ticks) <= 6.1 and len(ticks) > 4
    browser.evaluate("document.querySelector('.times button').click()")
    again = browser.evaluate("document.querySelectorAll('svg.plot')[1].getAttribute('viewBox')")
    assert [float(n) for n in again.split()] == [float(n) for n in whole.split()]
    assert browser.complaints == []


SEEK = """(() => { const slider = document.querySelector("#player input");
  slider.value = %r; slider.dispatchEvent(new Event("input")); })()"""
PRESS = """document.body.dispatchEvent(new KeyboardEvent("keydown", {key: %r, bubbles: true}))"""
#: How many pixels of the scene are those of brake lamps.
LAMPS = """(() => {
  const canvas = document.querySelector("canvas:not([hidden])");
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let found = 0;
  for (let i = 0; i < data.length; i += 4)
    found += [240, 24, 12].every((part, k) => Math.abs(data[i + k] - part) < 4);
  return found;
})()"""


def test_the_player_shows_the_run_at_any_time(browser: Browser, platoon_run: Path) -> None:
    page = render_report(platoon_run)
    shown(browser, page)
    told = "document.querySelector('#player .told').textContent"
    assert browser.evaluate(told).startswith("0.0 / ")
    assert browser.evaluate(LAMPS) == 0
    for view in ("top", "solid"):
        browser.evaluate(f"document.querySelector('[data-view={view}]').click()")
        browser.evaluate(SEEK % 2.0)
        assert browser.evaluate(LAMPS) == 0
        browser.evaluate(SEEK % 8.0)  # all brake
        assert browser.evaluate(LAMPS) > 10, view
    browser.evaluate(PRESS % "ArrowLeft")
    assert browser.evaluate(told).startswith("7.9 / ")
    marked = "document.querySelectorAll('svg.plot')[0].querySelector('.marked')"
    before = browser.evaluate(f"{marked}.getAttribute('d')")
    browser.evaluate(PRESS % " ")
    browser.wait_for(f"{marked}.getAttribute('d') !== {before!r}")
    browser.evaluate(PRESS % " ")
    assert browser.evaluate("document.querySelector('#player .play').ariaLabel") == "Play"
    # A click on a chart goes to its time, and keys read the chart that has the focus.
    ((x, y), _) = browser.evaluate(PLACE % ("Speeds", 0.5, 0.0))
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        browser.mouse(kind, x, y)
    half = load_run(platoon_run).speed["leader"].times[-1] / 2
    assert float(browser.evaluate(told).split()[0]) == pytest.approx(half, abs=0.1)
    browser.evaluate(
        "(() => { const figure = document.querySelector('figure.read'); figure.focus();"
        " for (const key of ['ArrowRight', '+'])"
        " figure.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})); })()"
    )
    (low, high) = browser.evaluate(
        "[...document.querySelectorAll('.times input')].map((i) => +i.value)"
    )
    assert high - low == pytest.approx(half, rel=0.05)
    assert browser.complaints == []
    assert len(page.read_bytes()) < 1_000_000


def test_runs_of_a_sweep_are_filtered_sorted_and_lead_to_their_reports(
    browser: Browser, tmp_path: Path
) -> None:
    runs = [
        SweepRun(f"{n:06d}", n, {"speed": 10.0 * n}, "done", None, "ab" * 32, "1",
                 {"no_collision": n < 3}, {"min_gap_m": 0.1 * (7 * n % 5)})
        for n in range(1, 5)
    ]  # fmt: skip
    runs.append(SweepRun("000005", 5, {"speed": 50.0}, "failed", "<b>burst</b>"))
    report = tmp_path / "runs" / "000002" / "report.html"
    report.parent.mkdir(parents=True)
    report.write_text("<title>the run</title>")
    settings = SweepSettings(scenario="a.yaml", parameters={"speed": [10.0]})
    page = render_sweep(tmp_path, [settings], runs, [], None)
    browser.open(page.as_uri())
    browser.wait_for("document.readyState === 'complete' && !!document.querySelector('.sort')")
    kept = """[...document.querySelectorAll("table.searched tbody tr")].filter((r) => !r.hidden)
        .map((r) => r.cells[0].textContent)"""
    assert browser.evaluate(kept) == ["000005", "000003", "000004", "000001", "000002"]
    for text, expected in (
        ("burst", ["000005"]),
        ("min_gap_m < 0.15, speed > 10", ["000003"]),
        ("nothing like that", ["No run is like that."]),
        ("", ["000005", "000003", "000004", "000001", "000002"]),
    ):
        browser.evaluate(
            "(() => { const input = document.querySelector('input[type=search]');"
            f" input.value = {text!r}; input.dispatchEvent(new Event('input')); }})()"
        )
        assert browser.evaluate(kept) == expected, text
    gap = """[...document.querySelectorAll("th")].find((h) => h.textContent === "min_gap_m")"""
    for order in ("ascending", "descending"):
        browser.evaluate(f"{gap}.querySelector('button').click()")
        assert browser.evaluate(f"{gap}.getAttribute('aria-sort')") == order
        assert browser.evaluate(kept)[-1] == "000005", "a run without the figure comes last"
    assert browser.evaluate(kept)[:2] == ["000002", "000004"]
    assert browser.evaluate("document.querySelectorAll('td b').length") == 0
    browser.evaluate("document.querySelector('td a').click()")
    browser.wait_for("document.title === 'the run'")
    assert browser.complaints == []


@pytest.mark.parametrize("width", [420, 1280])
def test_nothing_is_cut_off(
    browser: Browser, platoon_run: Path, tmp_path: Path, width: int
) -> None:
    page = tmp_path / "both.html"
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("bag", "summary.json"):
        (copy / name).symlink_to(platoon_run / name)
    write_side_by_side([platoon_run, copy], page)
    for each in (render_report(platoon_run), page):
        shown(browser, each, width)
        wide = browser.evaluate(
            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert wide[0] <= wide[1]
        if width == 1280:
            cards = "[...document.querySelectorAll('.card')]"
            assert browser.evaluate(f"{cards}.every((c) => c.scrollWidth <= c.clientWidth)")
