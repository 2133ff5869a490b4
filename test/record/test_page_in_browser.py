# SPDX-License-Identifier: Apache-2.0
"""The report in a real browser: values under the pointer, time enlarged, and what fits."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.browser import Browser

from ros2_cosim.lab.report.report import render_report
from ros2_cosim.lab.report.report_data import load_run
from ros2_cosim.lab.report.side_by_side import write_side_by_side

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
