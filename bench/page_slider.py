# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How fast the slider of a page answers: a run of ten minutes with 50 vehicles in a real browser.

``python bench/page_slider.py`` prints the size of the page, how long it takes to come up, and the
time from a move of the slider to the next picture on the screen; exit code 1 if one took more than
100 ms.
"""

from __future__ import annotations

import argparse
import math
import shutil
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

from support.browser import Browser  # noqa: E402

from ros2_cosim.core.kernel.time import SECOND  # noqa: E402
from ros2_cosim.core.messages.records import Odometry  # noqa: E402
from ros2_cosim.core.scenario.schema import load_scenario  # noqa: E402
from ros2_cosim.lab.report.moves import Moves, played  # noqa: E402
from ros2_cosim.lab.report.page import page_template  # noqa: E402

LIMIT_MS = 100.0
#: Moves the slider over the run, and waits for the next picture each time: [ms].
MOVES = """(async () => {
  const slider = document.querySelector("#player input"), found = [];
  for (let n = 0; n < %d; n++) {
    const begun = performance.now();
    slider.value = Number(slider.max) * ((n * 37) %% 100) / 100;
    slider.dispatchEvent(new Event("input"));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    found.push(performance.now() - begun);
  }
  return found;
})()"""


def moves_of(vehicles: int, seconds: int) -> Moves:
    """Vehicles that drive in circles beside each other."""
    found = Moves()
    for tenth in range(10 * seconds):
        for number in range(vehicles):
            radius, angle = 200.0 + 4.0 * number, 0.01 * tenth + 0.1 * number
            x, y, half = radius * math.cos(angle), radius * math.sin(angle), 0.5 * angle + 0.785
            turn = 0.0, 0.0, math.sin(half), math.cos(half)
            pose = Odometry(x, y, 0.0, *turn, 0.1 * radius, *[0.0] * 5)
            found.take([f"car{number}", "odometry"], tenth * SECOND // 10, pose)
    return found


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--vehicles", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--moves", type=int, default=50)
    options = parser.parse_args()
    scenario = load_scenario(ROOT / "config" / "platoon.yaml")
    moves = moves_of(options.vehicles, options.seconds)
    page = page_template("side_by_side.html").render(
        labels=[], scenarios=["slider"], verdicts=[], figures=[], settings=[], overlaid=[],
        rows=[], played=played({"run": (moves, scenario)}),
    )  # fmt: skip
    program = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
    with TemporaryDirectory() as directory:
        file, profile = Path(directory) / "page.html", Path(directory) / "profile"
        file.write_text(page, encoding="utf-8")
        profile.mkdir()
        browser = Browser(program, profile)
        try:
            browser.open(file.as_uri(), width=1280)
            browser.wait_for("!!document.querySelector('#player .told')?.textContent")
            up = browser.evaluate("performance.now()")
            found = browser.evaluate(MOVES % options.moves)
        finally:
            browser.close()
    print(f"page: {len(page) / 1e6:.2f} MB, up after {up:.0f} ms")
    print(f"slider: median {statistics.median(found):.1f} ms, longest {max(found):.1f} ms")
    return 0 if max(found) <= LIMIT_MS else 1


if __name__ == "__main__":
    sys.exit(main())
