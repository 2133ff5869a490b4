# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The dashboard in a real browser: what it shows, and that its controls work."""

from __future__ import annotations

from typing import Any

import pytest
from support.browser import Browser
from support.vds_serving import data_port

from ros2_cosim.vds.controllable import ControlStatus
from ros2_cosim.vds.data_port.api import DataPortApi
from ros2_cosim.vds.data_port.http_server import DataPort
from ros2_cosim.vds.data_port.view import BoxView, VehicleView, picture_of
from ros2_cosim.vds.server import VdsServer


def opened(browser: Browser, server: VdsServer, **options: object) -> None:
    assert server.data_port is not None
    browser.open(server.data_port.url, **options)  # type: ignore[arg-type]
    browser.wait_for("document.body?.dataset.steps !== undefined")


#: What a key does: it is pressed, and held until it is released.
KEY = "document.body.dispatchEvent(new KeyboardEvent('%s', {key: '%s', bubbles: true}))"


def text(browser: Browser, selector: str) -> str:
    found = browser.evaluate(f"document.querySelector({selector!r}).innerText")
    assert isinstance(found, str)
    return found


#: How many colours the pixels of a canvas have.
INKED = """(() => {
  const canvas = document.querySelector(%r);
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const colours = new Set();
  for (let i = 0; i < data.length; i += 4) colours.add(data.slice(i, i + 3).join());
  return colours.size;
})()"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_shows_the_run(browser: Browser, server: VdsServer, dark: bool) -> None:
    opened(browser, server, dark=dark)
    assert text(browser, "#name") == "vds"
    assert text(browser, "#state") == "paused"
    assert text(browser, "#pause") == "Resume"
    rows = browser.evaluate("[...document.querySelectorAll('tbody tr')].map(r => r.innerText)")
    assert [row.split()[0] for row in rows] == ["front", "rear"]
    gap = server.fleet["front"].output().state.x - server.fleet["rear"].output().state.x - 4.79
    assert f"{gap:.2f} m" in rows[1]
    assert "driven" in rows[0]
    server.control.step(20)
    browser.wait_for("document.body.dataset.steps >= 20")
    browser.wait_for(f"{INKED % 'canvas.top'} > 3")
    for chart in ("speeds", "gaps"):
        browser.wait_for(f"document.querySelectorAll('#{chart} path.line[d]').length === 2")
    assert browser.complaints == []


def test_it_fits_a_telephone(browser: Browser, server: VdsServer) -> None:
    opened(browser, server, width=400, height=900)
    wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert browser.evaluate(wide) is True


def test_the_controls_work(browser: Browser, server: VdsServer) -> None:
    opened(browser, server)
    before = server.control.status().steps
    browser.evaluate("document.getElementById('count').value = '10'")
    browser.evaluate("document.getElementById('step').click()")
    browser.wait_for(f"document.body.dataset.steps == {before + 10}")
    assert server.control.status().steps == before + 10

    browser.evaluate("document.getElementById('pause').click()")
    browser.wait_for("document.getElementById('state').innerText === 'running'")
    browser.wait_for(f"document.body.dataset.steps > {before + 11}")
    browser.wait_for(f"{INKED % '#timing'} > 3")
    browser.evaluate("document.getElementById('pause').click()")
    browser.wait_for("document.getElementById('state').innerText === 'paused'")
    assert server.control.status().state == "paused"

    choose = "const s = document.getElementById('rate'); s.value = '0.5';"
    browser.evaluate(f"(() => {{ {choose} s.dispatchEvent(new Event('change')); }})()")
    browser.wait_for("document.getElementById('rate').value === '0.5'")
    while server.control.status().rate != 0.5:
        browser.wait_for("true")
    server.control.set_rate(3.0)  # a rate that is none of the choices, set by another client
    browser.wait_for("document.getElementById('rate').value === '3'")
    server.control.set_rate(1.0)
    assert browser.complaints == []


class Hostile:
    """A run whose names are markup."""

    name = "<img src=x onerror='document.title=1'>"

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def step(self, count: int = 1) -> None: ...

    def set_rate(self, rate: float | None) -> None: ...

    def status(self) -> ControlStatus:
        return ControlStatus("running", 0, 1, None, False)

    def picture(self) -> dict[str, Any]:
        ego = VehicleView(self.name, 0, 0, 0, 5, 0, 4, 2, status=self.name)
        return picture_of([ego], [BoxView(f"{self.name} 2", 22, 0, 0, 2, 8)])


def test_another_run_is_shown_and_its_names_are_text(browser: Browser) -> None:
    run = Hostile()
    port = DataPort(DataPortApi(run.name, run, run))
    port.start()
    browser.open(port.url)
    browser.wait_for("document.querySelectorAll('tbody tr').length")
    assert text(browser, "#name") == run.name
    assert run.name in text(browser, "tbody")
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    # Neither timing nor another rate: this run does not offer them.
    assert browser.evaluate("document.getElementById('rate').disabled") is True
    assert browser.evaluate("document.querySelector('.timing').hidden") is True
    assert "19.00 m" in text(browser, "tbody")
    assert browser.complaints == []
    port.close()


def test_it_is_driven_by_keys_and_its_files_are_changed(browser: Browser) -> None:
    with data_port({"car": {}}) as server:
        opened(browser, server, width=420)
        browser.wait_for("document.querySelectorAll('#tyre-fields input').length === 7")
        server.control.resume()
        browser.evaluate("document.getElementById('take').click()")
        for key in ("w", "ArrowLeft"):
            browser.evaluate(KEY % ("keydown", key))
        browser.wait_for("parseFloat(document.getElementById('speed-told').value) > 5")
        command = server.fleet["car"].output().command
        assert command.throttle > 0.5 and command.steer > 0.0 and command.brake == 0.0
        for kind, key in (("keyup", "w"), ("keyup", "ArrowLeft"), ("keydown", "ArrowDown")):
            browser.evaluate(KEY % (kind, key))
        browser.wait_for("document.getElementById('brake-meter').value === 1")
        browser.wait_for("parseFloat(document.getElementById('speed-told').value) === 0")
        browser.evaluate("document.getElementById('take').click()")

        field = "document.querySelector('#tyre-fields [data-key=friction]')"
        mass = "document.querySelector('#vehicle-fields [data-key=mass]')"
        before = server.fleet["car"].output().state
        browser.evaluate(f"{field}.value = '0.4'; {mass}.value = '900'")
        browser.evaluate("document.getElementById('garage-form').requestSubmit()")
        browser.wait_for(f"{field}.defaultValue === '0.4' && {mass}.defaultValue === '900'")
        steps = server.control.status().steps
        browser.wait_for(f"document.body.dataset.steps > {steps}")
        after = server.fleet["car"].output().state
        assert sum(after.wheel_load) == pytest.approx(900 * 9.81)
        assert (after.x, after.y) == pytest.approx((before.x, before.y), abs=0.1)
        browser.evaluate(f"{mass}.value = '-1'")
        browser.evaluate("document.getElementById('garage-form').requestSubmit()")
        browser.wait_for("document.getElementById('message').innerText.includes('found -1')")
        fits = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        assert browser.evaluate(fits)


def test_it_says_that_the_run_does_not_answer(browser: Browser) -> None:
    with data_port() as server:
        opened(browser, server)
        assert server.data_port is not None
        server.data_port.close()
        browser.wait_for("document.getElementById('state').innerText === 'offline'")
        assert browser.evaluate("document.getElementById('pause').disabled") is True
        assert "does not answer" in text(browser, "#message")


def test_a_run_that_has_ended_is_not_missed(browser: Browser) -> None:
    with data_port() as server:
        opened(browser, server)
        server.stop()
        browser.wait_for("document.getElementById('state').innerText === 'ended'")
    # The page asks again and again, and hears nothing any more.
    browser.wait_for("fetch('/api/run').then(() => false, () => true)")
    assert text(browser, "#state") == "ended"
    assert browser.evaluate("document.getElementById('message').hidden") is True


def test_it_takes_the_token_from_the_address(browser: Browser) -> None:
    with data_port(token="a-token") as server:
        opened(browser, server)
        assert text(browser, "#state") == "paused"
        # The token is not left where it could be read over a shoulder.
        assert "token" not in browser.evaluate("location.href")
        assert browser.complaints == []
