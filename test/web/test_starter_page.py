# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim dashboard`` without a run: a page starts scenarios, changed, and ends them."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.browser import Browser
from support.patience import HANG_S, until
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.library import NAMES
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.core.scenario.templates import imported_suffixes
from ros2_cosim.lab.web.startable import changed_scenario, startable, values_of
from ros2_cosim.lab.web.starter_page import StarterPage
from ros2_cosim.vds.data_port.api import ROUTES

#: Guards against hanging only.
#: Whether the view from behind has strong colours of two kinds.
COLOURED = """(() => {
  const canvas = document.querySelector("canvas.solid");
  if (!canvas.width) return false;
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let blue = 0, orange = 0;
  for (let i = 0; i < data.length; i += 4) {
    const [r, , b] = data.slice(i, i + 3);
    if (b - r > 90) blue++;
    if (r - b > 90) orange++;
  }
  return blue > 100 && orange > 100;
})()"""
MINE = """
name: mine
description: A platoon of mine
duration: 600s
parameters: {vehicles: 2, speed: 20.0, gap: 0.00002}
scene: {map: highway.xodr}
platoon:
  vehicles: ${vehicles}
  lane: -2
  s: 300.0
  speed: ${speed}
  driver: {}
participants:
  referee: {parameters: {expect_standstill: false, time_limit: 600s}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's folder with a scenario and files of other programs."""
    found = tmp_path / "folder"
    found.mkdir()
    (found / "highway.xodr").write_bytes(share_file("config/highway.xodr").read_bytes())
    (found / "mine.yaml").write_text(MINE)
    (found / "other.yaml").write_text("services: {web: {}}\n")
    (found / "broken.yaml").write_text("participants: [\n")
    return found


class Port:
    """The data port of a page, as a program uses it."""

    def __init__(self, address: str, lines: list[str]) -> None:
        self.url, _, self.token = address.partition("#token=")
        self._lines = lines

    def ask(self, path: str, body: object = None, **headers: str) -> Any:
        """The answer; a refusal raises ``HTTPError``."""
        data = None if body is None else json.dumps(body).encode()
        told = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        asked = urllib.request.Request(f"{self.url}{path}", data, told | headers)
        with urllib.request.urlopen(asked, timeout=HANG_S) as answer:
            return json.load(answer)

    def refusal(self, path: str, body: object = None, **headers: str) -> tuple[int, str]:
        """Status and text of a refusal."""
        with pytest.raises(urllib.error.HTTPError) as raised:
            self.ask(path, body, **headers)
        return raised.value.code, json.load(raised.value)["error"]

    def until(self, state: str) -> dict[str, Any]:
        """The first picture of a run in this state."""
        pictures = partial(self.ask, "api/run")
        return until(
            lambda: p if (p := pictures())["run"]["state"] == state else None, so_far=pictures
        )

    def until_told(self, start: str) -> None:
        """Wait for a line that starts so."""
        until(
            lambda: any(line.startswith(start) for line in self._lines),
            so_far=lambda: self._lines,
        )


@pytest.fixture
def port(folder: Path, tmp_path: Path) -> Iterator[Port]:
    """The page of the folder, served in another thread."""
    lines: list[str] = []
    page = StarterPage(folder, output=tmp_path / "out", tell=lines.append)
    thread = threading.Thread(target=page.serve)
    thread.start()
    try:
        yield Port(page.url, lines)
    finally:
        page.end()
        thread.join(HANG_S)
        assert not thread.is_alive()


def test_the_list_has_the_folder_and_the_library(folder: Path) -> None:
    found = startable(folder)
    assert [(s.name, s.origin) for s in found] == [
        ("mine.yaml", "folder"),
        *((name, "library") for name in NAMES),
    ]
    assert found[0].description == "A platoon of mine"


def test_the_list_has_files_of_all_formats_that_can_be_read(folder: Path) -> None:
    names = {f"system{suffix}" for suffix in imported_suffixes()}
    for name in (*names, "notes.txt"):
        (folder / name).touch()
    assert {s.name for s in startable(folder) if s.origin == "folder"} == {"mine.yaml", *names}
    assert {"system.ssp", "system.xosc"} <= names


def test_declared_parameters_come_first_and_all_values_are_numbers(folder: Path) -> None:
    mine = startable(folder)[0]
    values = values_of(mine)
    assert [(v.key, v.value) for v in values[:5]] == [
        ("parameters.vehicles", 2),
        ("parameters.speed", 20.0),
        ("parameters.gap", 0.00002),
        ("seed", 1),
        ("duration", 600.0),
    ]
    assert [v.declared for v in values[:5]] == [True, True, True, False, False]
    assert any(v.key.startswith("participants.") for v in values)
    assert all(isinstance(v.value, int | float) for v in values)


def test_changes_are_those_of_set(folder: Path) -> None:
    mine = startable(folder)[0]
    changes = {"parameters.speed": 15.5, "parameters.gap": 0.00001, "duration": 2.5, "seed": 7}
    overrides = ["parameters.speed=15.5", "parameters.gap=0.00001", "duration=2.5s", "seed=7"]
    assert changed_scenario(mine, changes) == load_scenario(mine.file, overrides)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": 1.0}, "values: found 'name'"),
        ({"scene.map": 1.0}, "values: found 'scene.map'"),
        ({"seed": True}, "values: seed: found True; allowed is a number"),
        ({"seed": float("inf")}, "values: seed: found inf; allowed is a number"),
        ({"duration": -1.0}, "duration"),
        ({"seed": 10**400}, "seed"),
    ],
)
def test_other_changes_are_refused(folder: Path, changes: dict[str, float], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        changed_scenario(startable(folder)[0], changes)


def test_a_scenario_is_started_changed_and_has_the_trace_of_the_command(
    port: Port, folder: Path, tmp_path: Path
) -> None:
    assert port.ask("api/run")["run"]["state"] == "idle"
    assert port.ask("api/scene")["starts"]
    values = {"duration": 2.0, "parameters.speed": 22.0}
    port.ask("api/start", {"scenario": "mine.yaml", "values": values, "rate": None})
    picture = port.until("ended")
    assert picture["run"]["number"] == 1 and picture["run"]["time_s"] == 2.0
    assert [vehicle["name"] for vehicle in picture["vehicles"]] == ["leader", "follower1"]
    port.until_told("mine: ")
    scenario = load_scenario(folder / "mine.yaml", ["duration=2s", "parameters.speed=22.0"])
    alone = run_inproc(scenario, tmp_path / "alone", record=False)
    assert read_summary(tmp_path / "out").trace_sha256 == alone.trace_sha256


def test_the_port_describes_its_starts(port: Port) -> None:
    described = port.ask("api/schema")
    assert {"/api/run", "/api/scenarios", "/api/start", "/api/stop"} <= described["paths"].keys()
    start = described["components"]["schemas"]["StartRequest"]
    assert set(start["properties"]) == {"scenario", "values", "rate"}
    assert "/api/start" not in {route.path for route in ROUTES}  # other ports do not have it


def test_one_run_at_a_time_which_is_ended_from_the_page(port: Port) -> None:
    assert port.refusal("api/stop", {})[1] == "stop: no run is under way"
    port.ask("api/start", {"scenario": "mine.yaml"})
    said = port.refusal("api/start", {"scenario": "mine.yaml"})
    assert said == (400, "start: a run is under way; end it before the next one")
    port.until("running")
    port.ask("api/run", {"action": "pause"})
    port.until("paused")
    port.ask("api/stop", {})
    picture = port.until("ended")
    assert picture["run"]["time_s"] < 600.0
    until(lambda: not port.ask("api/start")["busy"])  # what it leaves is written after its end
    port.ask("api/start", {"scenario": "braking", "values": {"duration": 1.0}, "rate": None})
    port.until_told("braking: ")
    last = port.ask("api/run")["run"]
    assert (last["name"], last["number"], last["state"]) == ("braking", 2, "ended")


def test_a_run_that_fails_is_told_and_the_next_one_goes(port: Port, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "foreign.txt").write_text("x")
    port.ask("api/start", {"scenario": "mine.yaml", "values": {"duration": 1.0}})
    port.until_told("mine: ")
    state = port.ask("api/start")
    assert not state["busy"] and "not empty" in state["failure"]
    (tmp_path / "out" / "foreign.txt").unlink()
    port.ask("api/start", {"scenario": "mine.yaml", "values": {"duration": 1.0}, "rate": None})
    port.until("ended")


@pytest.mark.parametrize("begun", [False, True])
def test_the_end_of_the_page_ends_what_was_asked_for(
    folder: Path, tmp_path: Path, begun: bool
) -> None:
    """A run of ten minutes, under way or only asked for."""
    lines: list[str] = []
    page = StarterPage(folder, output=tmp_path / "out", tell=lines.append)
    thread = threading.Thread(target=page.serve)
    thread.start()
    port = Port(page.url, lines)
    port.ask("api/start", {"scenario": "mine.yaml"})
    if begun:
        port.until("running")
    page.end()
    thread.join(HANG_S)
    assert not thread.is_alive()
    # One that had begun has its files; one that came too late has none, or those of its begin.
    if begun:
        assert lines[-1].startswith("mine: stop: the page is closed; results in ")


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("api/start", {"scenario": "/etc/passwd"}, "scenario: found '/etc/passwd'; there are mine"),
        ("api/start", {"scenario": "../mine.yaml"}, "scenario: found '../mine.yaml'; there are"),
        ("api/start", {"scenario": "mine.yaml", "values": {"seed": "1; rm"}}, "body: values"),
        ("api/start", {"scenario": "mine.yaml", "set": ["a=b"]}, "body: set"),
        ("api/start", {"scenario": "mine.yaml", "rate": 0}, "body: rate"),
        ("api/scenarios?name=nothing", None, "scenario: found 'nothing'"),
        ("api/stop", None, "method: found GET; allowed is POST"),
        ("api/scenarios", {}, "method: found POST; allowed is GET"),
    ],
)
def test_wrong_requests_are_one_sentence(port: Port, path: str, body: object, said: str) -> None:
    status, text = port.refusal(path, body)
    assert status in (400, 405) and text.startswith(said), text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": "Bearer guessed"}, 401),
        ({"Authorization": ""}, 401),
        ({"Origin": "http://evil.example"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
def test_a_page_of_another_origin_and_another_user_start_nothing(
    port: Port, headers: dict[str, str], status: int
) -> None:
    assert port.refusal("api/start", {"scenario": "mine.yaml"}, **headers)[0] == status
    assert not port.ask("api/start")["busy"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["0.0.0.0:8080"], "[HOST:]PORT: found '0.0.0.0', and no run; allowed is"),
        (["0", "not-there"], "FOLDER: found 'not-there'; allowed is a directory"),
    ],
)
def test_what_cannot_be_is_one_line(
    options: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
    monkeypatch.setattr("ros2_cosim.ros.bringup.domain_lock.active_runs", list)
    done = CliRunner().invoke(app, ["dashboard", *options])
    assert done.exit_code == 1 and said in done.stderr and len(done.stderr.splitlines()) == 1


def test_the_page_starts_a_scenario(port: Port, browser: Browser, tmp_path: Path) -> None:
    browser.open(f"{port.url}#token={port.token}", width=420, height=1200)
    browser.wait_for("document.querySelectorAll('#values input').length === 5")
    browser.evaluate("document.querySelector('[data-key=\"parameters.speed\"]').value = '17'")
    browser.evaluate("document.getElementById('start').click()")
    browser.wait_for("document.getElementById('state').innerText === 'running'")
    browser.wait_for("document.querySelectorAll('#vehicles tr').length === 2")
    browser.evaluate("document.querySelector('[data-view=solid]').click()")
    # The solids have the colours of both vehicles.
    browser.wait_for(COLOURED)
    wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert browser.evaluate(wide)
    browser.evaluate("document.getElementById('stop').click()")
    browser.wait_for("document.getElementById('state').innerText === 'ended'")
    assert browser.evaluate("!document.getElementById('start').disabled")
    assert browser.complaints == []
    port.until_told("mine: ")
    data = json.loads((tmp_path / "out" / "scenario.json").read_text())
    assert data["scene"]["vehicles"]["leader"]["speed"] == 17.0
