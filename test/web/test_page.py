# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The page of a run in a real browser that comes late, at two widths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browser import Browser

from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.realtime.run_control import Command, Request
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.lab.report.road_of_scenario import road_of, sectors
from ros2_cosim.lab.web.dashboard import footprints, shown_ports
from ros2_cosim.lab.web.driven_run import DrivenControl
from ros2_cosim.lab.web.records_view import RecordsView
from ros2_cosim.vds.data_port.api import DataPortApi
from ros2_cosim.vds.data_port.http_server import DataPort

PLATOON = Path(__file__).resolve().parents[2] / "config" / "platoon.yaml"

#: The share of the width of a chart in which its longest line is.
DRAWN = """(() => {
  const plot = document.querySelector("#%s svg.plot");
  const wide = [...plot.querySelectorAll("path.line")].map((path) => path.getBBox().width);
  return Math.max(...wide) / plot.viewBox.baseVal.width;
})()"""


#: How many white lines one above the other the top view has at the most.
LANES = """(() => {
  const canvas = document.querySelector("canvas.top");
  const { width, height } = canvas;
  const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
  let most = 0;
  for (let x = 0; x < width; x++) {
    let found = 0, inside = false;
    for (let y = 0; y < height - 24; y++) {
      const at = 4 * (y * width + x);
      const [r, g, b] = data.slice(at, at + 3);
      const light = Math.min(r, g, b) > 240;
      if (light && !inside) found++;
      inside = light;
    }
    most = Math.max(most, found);
  }
  return most;
})()"""


#: How many pixels of the top view have the colour of the road.
GREY = """(() => {
  const canvas = document.querySelector("canvas.top");
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let found = 0;
  for (let i = 0; i < data.length; i += 4)
    found += [189, 196, 205].every((part, k) => Math.abs(data[i + k] - part) < 3);
  return found;
})()"""


#: How many pixels of the top view are other ones with fields of view, and with links.
MORE = """(async () => {
  const { Scene } = await import("./scene.js");
  const known = await (await fetch("api/scene")).json();
  const { vehicles, objects, links } = await (await fetch("api/run")).json();
  const drawn = (sectors, links) => {
    const canvas = document.createElement("canvas");
    canvas.style = "width: 400px; height: 300px";
    document.body.append(canvas);
    const scene = new Scene(canvas, document.createElement("span"));
    scene.take({ surfaces: [], lines: [], sectors });
    scene.draw({ vehicles, objects, links });
    const { width, height } = canvas;
    const data = canvas.getContext("2d").getImageData(0, 0, width, height).data;
    canvas.remove();
    return data;
  };
  const plain = drawn([], []);
  const others = (data) => data.reduce((sum, value, i) => sum + (value !== plain[i]), 0);
  const old = links.map((link) => ({ ...link, age: 9 }));
  return [known.sectors.length, links.length, others(drawn(known.sectors, [])),
          others(drawn([], links)), others(drawn([], old))];
})()"""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The page of a platoon that has driven for 8 s, and stands."""
    scenario = load_scenario(PLATOON)
    view, control = RecordsView(footprints(scenario)), DrivenControl()
    watch = {
        (p.participant, p.port): lambda sample, p=p: _take(view, p.vehicle, sample)
        for p in shown_ports(scenario)
    }
    request = RunRequest(scenario, shape="inproc", out=tmp_path / "out", record=False)
    with bring_up(request) as prepared, InprocRun(prepared, watch=watch) as run:
        run.request(Request(Command.UNTIL, time_ns=8 * SECOND))
        control.tell(run, "paused")
    api = DataPortApi(
        scenario.name,
        control,
        view,
        road=road_of(scenario),
        sectors=sectors(scenario),
        history=view.history,
    )
    served = DataPort(api)
    served.start()
    yield served.url
    served.close()


def _take(view: RecordsView, vehicle: str, sample: Sample) -> None:
    view.take(vehicle, sample.value, sample.stamp)


@pytest.mark.parametrize("width", [420, 1280])
def test_a_late_page_shows_what_was_before(
    browser: Browser, address: str, width: int, tmp_path: Path
) -> None:
    browser.open(address, width=width, height=1800)
    browser.wait_for("document.body?.dataset.steps !== undefined")
    assert browser.evaluate("document.getElementById('time').innerText") == "8.00 s"
    # A single picture would draw no line.
    for chart in ("speeds", "gaps", "accelerations"):
        browser.wait_for(f"{DRAWN % chart} > 0.6")
    assert browser.evaluate(LANES) > 2
    # The road is filled beside its lines, and the ground beside it is not.
    assert browser.evaluate(GREY) > 500
    fields, links, *pixels = browser.evaluate(MORE)
    assert (fields, links) == (2, 3)
    assert min(pixels) > 100 and pixels[1] != pixels[2]
    for key in ("field-key", "link-key"):
        assert browser.evaluate(f"!document.getElementById('{key}').hidden")
    assert browser.evaluate("document.getElementById('min-ttc').innerText").endswith(" s")
    cells = "[...document.querySelectorAll('#vehicles tr')].map(r => r.cells.length)"
    heads = browser.evaluate("document.querySelectorAll('thead th').length")
    assert browser.evaluate(cells) == [heads] * 3
    wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert browser.evaluate(wide)
    # Back in time: the table shows where the vehicles were, and the charts have a mark there.
    speed = "document.querySelector('#vehicles tr').cells[2].innerText"
    now = browser.evaluate(speed)
    browser.evaluate(
        "(() => { const slider = document.querySelector('#player input'); slider.value = 3;"
        " slider.dispatchEvent(new Event('input')); })()"
    )
    browser.wait_for(f"{speed} !== {now!r}")
    told = "document.querySelector('#player .told').innerText"
    assert browser.evaluate(told) == "3.0 / 8.0 s"
    assert browser.evaluate("!!document.querySelector('#speeds .marked').getAttribute('d')")
    for key, time in (("ArrowLeft", "2.9"), ("Home", "0.0")):
        browser.evaluate(
            f"document.body.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}',"
            " bubbles: true}))"
        )
        assert browser.evaluate(told) == f"{time} / 8.0 s"
    browser.evaluate("document.querySelector('#player button:last-child').click()")
    assert browser.evaluate(speed) == now
    assert browser.complaints == []
    browser.screenshot(tmp_path / "page.png")
