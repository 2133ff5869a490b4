# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Make the pictures of the documentation from this version: ``make pictures``.

``python docs/images/make_pictures.py NAME...`` makes only those. It runs scenarios and shows their
pages in a headless Chromium, so each picture has the look and the figures of the version.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT), str(ROOT / "test")]

from support.browser import Browser, find_chromium  # noqa: E402
from time_advance import time_advance  # noqa: E402
from top_view import SIZE, top_view  # noqa: E402

PLATOON = "config/platoon.yaml"
#: What has been drawn is on the screen after the next frame but one.
_DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"
#: The simulated time [s] that a dashboard shows.
_TIME = "parseFloat(document.getElementById('time').innerText)"


class Studio:
    """A browser, and a directory that stands for the checkout in the paths that pages show.

    :param place: an empty directory for runs and their results
    """

    def __init__(self, browser: Browser, place: Path) -> None:
        self.browser = browser
        self.place = place
        self._environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        (place / "config").symlink_to(ROOT / "config")

    def cosim(self, *words: str, codes: tuple[int, ...] = (0,)) -> None:
        """Execute a command.

        :param codes: exit codes that are no failure
        """
        print("cosim", *words, flush=True)
        done = subprocess.run(_command(words), cwd=self.place, env=self._environment, check=False)
        if done.returncode not in codes:
            sys.exit(f"make_pictures: exit code {done.returncode}")

    def run(self, name: str, *words: str) -> Path:
        """The output of a run in shape ``inproc``, which is made once."""
        out = self.place / "out" / name
        if not out.exists():
            self.cosim("run", *words, "--shape", "inproc", "--out", f"out/{name}")
        return out

    @contextmanager
    def served(self, *words: str) -> Iterator[str]:
        """The address that a command prints; the command ends with the block."""
        print("cosim", *words, flush=True)
        with subprocess.Popen(
            _command(words),
            cwd=self.place,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            try:
                said = (re.search(r"http://\S+", line) for line in process.stdout)
                yield next(found[0] for found in said if found)
            finally:
                process.terminate()

    def shoot(self, path: Path) -> None:
        """Write what the window shows."""
        self.browser.wait_for(_DRAWN)
        self.browser.screenshot(path, whole=False)

    def shoot_file(self, page: Path, path: Path, width: int, height: int, top: str = "") -> None:
        """Write the upper part of a page that is a file.

        :param top: selector of the element that is to be at the upper edge; empty: the page's begin
        """
        self.browser.open(page.as_uri(), width=width, height=height)
        self.browser.wait_for("document.readyState === 'complete'")
        if top:
            below_the_bar = "element.style.scrollMarginTop = '50px'"
            found = f"const element = document.querySelector({top!r})"
            self.browser.evaluate(f"{{ {found}; {below_the_bar}; element.scrollIntoView(); }}")
        self.shoot(path)

    def click(self, name: str) -> None:
        """Click on the element with this id."""
        self.browser.evaluate(f"document.getElementById({name!r}).click()")

    def choose(self, name: str, value: str) -> None:
        """Choose a value of the list with this id, as a user does."""
        chosen = f"const list = document.getElementById({name!r}); list.value = {value!r};"
        self.browser.evaluate(f"{{ {chosen} list.dispatchEvent(new Event('change')); }}")


def _command(words: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", "ros2_cosim.cli.main", *words]


def _state(state: str) -> str:
    """Whether a dashboard shows this state of the run."""
    return f"document.getElementById('state').innerText === '{state}'"


def _platoon(studio: Studio, path: Path) -> None:
    page = studio.place / "top_view.html"
    page.write_text(top_view(studio.run("platoon", PLATOON)), encoding="utf-8")
    studio.shoot_file(page, path, *SIZE)


def _report(studio: Studio, path: Path) -> None:
    studio.shoot_file(studio.run("platoon", PLATOON) / "report.html", path, 1100, 1200)


def _comparison(studio: Studio, path: Path) -> None:
    studio.run("cacc", "braking", "--controllers", "path_cacc")
    studio.run("acc", "braking", "--controllers", "rajamani_acc")
    studio.cosim("report", "out/cacc", "out/acc", "--out", "comparison.html")
    studio.shoot_file(studio.place / "comparison.html", path, 1100, 740, "figure")


def _study(studio: Studio, path: Path) -> None:
    words = ("--duration", "5s", "--factors", "1,2,4", "--steps", "2.5ms,10ms,40ms")
    studio.cosim("study", "causality", *words, "--repeat", "2", "--out", "out/causality")
    studio.shoot_file(studio.place / "out" / "causality" / "report.html", path, 1280, 1120)


def _dashboard(studio: Studio, path: Path) -> None:
    """The platoon brakes, 11 s after the start."""
    page = studio.browser
    words = ("--paused", "--dashboard", "0", "--no-bag", "--out", "out/shown")
    with studio.served("run", PLATOON, *words) as address:
        page.open(address, width=1240, height=1000)
        for steps, time in (("100", 5.0), ("100", 10.0), ("10", 10.5), ("10", 11.0)):
            page.wait_for(_state("paused"))
            studio.choose("count", steps)
            studio.click("step")
            page.wait_for(f"{_TIME} >= {time}")
        page.wait_for(_state("paused"))
        # A page that is opened anew has all that was before, also what this one has missed.
        page.open(address, width=1240, height=1000)
        page.wait_for("document.body?.dataset.steps > 0")
        studio.shoot(path)


def _start_page(studio: Studio, path: Path) -> None:
    """The platoon in the town, started from the page, seen from behind."""
    page = studio.browser
    (studio.place / "folder").mkdir()
    with studio.served("dashboard", "0", "folder") as address:
        page.open(address, width=1280, height=1420, dark=True)
        page.wait_for("document.getElementById('scenario').options.length")
        studio.choose("scenario", "town")
        page.wait_for("document.querySelector('[data-key=\"parameters.traffic\"]') !== null")
        studio.click("start")
        page.wait_for(_state("running"))
        studio.choose("rate", "5")
        page.evaluate("document.querySelector('[data-view=solid]').click()")
        page.wait_for(f"{_TIME} >= 8")
        studio.click("pause")
        page.wait_for(_state("paused"))
        studio.shoot(path)


def _time_advance(studio: Studio, path: Path) -> None:
    path.write_text(time_advance(), encoding="utf-8")


#: File -> what makes it.
PICTURES: dict[str, Callable[[Studio, Path], None]] = {
    "comparison.png": _comparison,
    "dashboard.png": _dashboard,
    "platoon.png": _platoon,
    "report.png": _report,
    "start_page.png": _start_page,
    "study.png": _study,
    "time-advance.svg": _time_advance,
}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="pictures to make (default: all)")
    parser.add_argument("--out", type=Path, default=HERE, help="where they are written")
    options = parser.parse_args()
    if unknown := set(options.names) - PICTURES.keys():
        parser.error(f"found {', '.join(sorted(unknown))}; there are {', '.join(PICTURES)}")
    program = find_chromium()
    if program is None:
        sys.exit("make_pictures: there is no Chromium to show the pages")
    # What has been started ends with this process.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, ExitStack() as opened:
        profile = Path(place) / "browser" / "profile"
        profile.mkdir(parents=True)
        browser = Browser(program, profile, "--hide-scrollbars")
        opened.callback(browser.close)
        runs = Path(place) / "checkout"
        runs.mkdir()
        studio = Studio(browser, runs)
        for name in options.names or PICTURES:
            PICTURES[name](studio, options.out / name)
            print(f"made {options.out / name}", flush=True)


if __name__ == "__main__":
    main()
