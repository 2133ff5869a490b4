# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The dashboard of a run without ROS: it shows the run, controls it, and changes nothing."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.patience import HANG_S, until
from support.sensor_scenario import sensor_scenario
from support.stranger import USER, Program, http, program
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.address import LOOPBACK, Address
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import parse_duration
from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun, run_inproc
from ros2_cosim.core.run.replay import prepare_replay
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.core.sockets.peers import ADMISSION, own_user
from ros2_cosim.lab.web import dashboard
from ros2_cosim.lab.web.driven_run import onlooker_of, run_shown

CONFIG = Path(__file__).resolve().parents[2] / "config"
OWN_TYPES = CONFIG.parent / "test" / "support" / "own_types.yaml"


class Page:
    """Asks as a browser does, from a thread of its own; what it finds is kept, failures too."""

    def __init__(self, use: Callable[[Page], object]) -> None:
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.failure: BaseException | None = None
        self._use = use
        self._url = ""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._url.rstrip("/").rpartition(":")[2])

    def ask(self, request: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if request is None else json.dumps(request).encode()
        kind = {"Content-Type": "application/json"}
        asked = urllib.request.Request(f"{self._url}api/run", data, kind)
        with urllib.request.urlopen(asked, timeout=HANG_S) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def changes(self, request: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        data = None if request is None else json.dumps(request).encode()
        kind = {"Content-Type": "application/json"}
        asked = urllib.request.Request(f"{self._url}api/changes", data, kind)
        with urllib.request.urlopen(asked, timeout=HANG_S) as answer:
            found: list[dict[str, Any]] = json.load(answer)["changes"]
        return found

    def faultable(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self._url}api/faultable", timeout=HANG_S) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def image(self, camera: int) -> bytes:
        asked = f"{self._url}api/camera?id={camera}"

        def picture() -> bytes:
            with urllib.request.urlopen(asked, timeout=HANG_S) as answer:
                found: bytes = answer.read()
            return found

        return until(picture)  # none yet: no bytes

    def until(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        return until(lambda: p if condition(p := self.ask()) else {}, so_far=self.ask)

    def done(self) -> None:
        self._thread.join(HANG_S)
        assert not self._thread.is_alive()
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            self._url = self.lines.get(timeout=HANG_S).split()[-1]
            self._use(self)
        except BaseException as error:  # the test raises it again
            self.failure = error
            self.ask({"action": "resume"})


def shown(output: Path, use: Callable[[Page], object]) -> Summary:
    """The platoon for 3 s, from a pause at its begin, with a page that is used so."""
    scenario = load_scenario(CONFIG / "platoon.yaml", ["duration=3s"])
    page = Page(use)
    with bring_up(RunRequest(scenario, shape="inproc", out=output)) as prepared:
        summary = run_shown(
            prepared, Address(LOOPBACK, 0), paused=True, tell=page.lines.put, last_look=page.done
        )
    return summary


def test_a_run_without_ros_is_shown_and_controlled(tmp_path: Path) -> None:
    def use(page: Page) -> None:
        picture = page.until(lambda p: p["run"]["state"] == "paused")
        assert picture["run"]["name"] == "platoon" and picture["vehicles"] == []
        page.ask({"action": "step", "count": 20})
        picture = page.until(lambda p: p["run"]["time_s"] == 1.0 and p["run"]["state"] == "paused")
        names = [vehicle["name"] for vehicle in picture["vehicles"]]
        assert names == ["leader", "follower1", "follower2"]
        follower = picture["vehicles"][1]
        assert follower["ahead"] == "leader" and 5.0 < follower["gap"] < 40.0
        assert follower["throttle"] is not None
        assert [box["name"] for box in picture["objects"]]
        page.ask({"action": "rate", "rate": 0.1})
        page.until(lambda p: p["run"]["rate"] == 0.1)
        page.ask({"action": "resume"})
        page.until(lambda p: p["run"]["time_s"] > 1.0)
        page.ask({"action": "pause"})
        stands = page.until(lambda p: p["run"]["state"] == "paused")["run"]["time_s"]
        assert stands < 3.0
        page.ask({"action": "rate", "rate": None})
        page.ask({"action": "resume"})

    summary = shown(tmp_path / "out", use)
    scenario = load_scenario(CONFIG / "platoon.yaml", ["duration=3s"])
    assert summary.trace_sha256 == run_inproc(scenario, tmp_path / "alone").trace_sha256
    bag = Path("bag") / "bag_0.mcap"
    assert (tmp_path / "out" / bag).read_bytes() == (tmp_path / "alone" / bag).read_bytes()


def test_a_page_changes_a_parameter_and_a_replay_does_it_too(tmp_path: Path) -> None:
    path = "participants.cacc1.parameters.time_gap"

    def use(page: Page) -> None:
        page.until(lambda p: p["run"]["state"] == "paused")
        known = {each["path"]: each["value"] for each in page.changes()}
        assert known[path] == 0.6
        with pytest.raises(urllib.error.HTTPError) as refused:
            page.changes({"set": path, "to": -1})
        assert "allowed is a number above 0" in json.load(refused.value)["error"]
        page.ask({"action": "step", "count": 20})
        page.until(lambda p: p["run"]["time_s"] == 1.0 and p["run"]["state"] == "paused")
        now = {each["path"]: each["value"] for each in page.changes({"set": path, "to": 1.5})}
        assert now[path] == 1.5
        page.ask({"action": "resume"})

    summary = shown(tmp_path / "out", use)
    (change,) = json.loads((tmp_path / "out" / "changes.json").read_text())["changes"]
    # The time that was reached may lie behind the last step.
    assert (change["set"], change["to"]) == (path, 1.5)
    assert 1_000_000_000 <= parse_duration(change["at"]) <= 1_100_000_000
    alone = load_scenario(CONFIG / "platoon.yaml", ["duration=3s"])
    assert summary.trace_sha256 != run_inproc(alone, tmp_path / "alone").trace_sha256
    scenario, _, _ = prepare_replay(tmp_path / "out")
    assert run_inproc(scenario, tmp_path / "again").trace_sha256 == summary.trace_sha256


def test_the_summary_names_the_user_of_a_change_and_the_bag_does_not(tmp_path: Path) -> None:
    """Two users make the same change at the same time: the bags are the same, byte by byte."""
    path = "participants.cacc1.parameters.time_gap"

    def changed_by(stranger: Program) -> Callable[[Page], object]:
        def use(page: Page) -> None:
            page.until(lambda p: p["run"]["state"] == "paused")
            change = http("POST", "/api/changes", page.port, {"set": path, "to": 1.5})
            assert stranger.tcp(page.port, change).answer.startswith(b"HTTP/1.1 200 ")
            page.ask({"action": "resume"})

        return use

    told = []
    for of_another_user in (False, True):
        output = tmp_path / f"out{of_another_user:d}"
        with program(of_another_user) as stranger, ADMISSION.widened(True):
            shown(output, changed_by(stranger))
        (change,) = json.loads((output / "summary.json").read_text())["changes"]
        told.append(change.pop("by"))
        assert (change["set"], change["to"]) == (path, 1.5)
    assert told[0] == f"page of {own_user()}" and "(uid 0)" in told[0]
    assert told[1].startswith("page of ") and f"uid {USER}" in told[1]
    own, other = (tmp_path / f"out{n}" / "bag" / "bag_0.mcap" for n in (0, 1))
    assert own.read_bytes() == other.read_bytes()


def test_a_page_adds_faults_and_a_replay_has_them_too(tmp_path: Path) -> None:
    """Whatever it is told that a port can have, is taken there."""

    def use(page: Page) -> None:
        page.until(lambda p: p["run"]["state"] == "paused")
        known = page.faultable()
        ports = {(each["port"], each["side"]): each for each in known["ports"]}
        assert "drop" not in ports["sensor1.objects", "output"]["kinds"]
        assert ("world.static_objects", "output") in ports
        values = {"delay": "50ms", "std": 0.1, "offset": 0.5, "bit": 3}
        alike = {"number": 1.5, "whole number": 2, "boolean": True, "text": "a", "list": []}
        for number, kind in enumerate(known["keys"]):
            port = ports["cacc1.objects", "input"]
            fields = known["fields"][port["type"]]
            fault = {"port": port["port"], "side": port["side"], "kind": kind}
            fault |= {key: values[key] for key in known["keys"][kind] if key in values}
            if "field" in known["keys"][kind]:
                fault["field"] = "objects.distance"
            if kind == "replace":
                fault["value"] = alike[fields["objects.distance"]]
            page.changes({"set": f"faults.f{number}", "to": {**fault, "probability": 0.1}})
        for field, kind in known["fields"]["ros2_cosim/msg/ObjectList"].items():
            fault = {"port": "cacc2.objects", "kind": "replace", "field": field}
            name = field.replace(".", "_")
            found = page.changes({"set": f"faults.{name}", "to": {**fault, "value": alike[kind]}})
            page.changes({"set": f"faults.{name}.active", "to": False})
            assert f"faults.{name}.active" in [each["path"] for each in found]
        with pytest.raises(urllib.error.HTTPError) as refused:
            page.changes({"set": "faults.f0", "to": {"port": "cacc1.objects", "kind": "drop"}})
        assert "which is there already" in json.load(refused.value)["error"]
        page.ask({"action": "resume"})

    summary = shown(tmp_path / "out", use)
    scenario, _, _ = prepare_replay(tmp_path / "out")
    again = run_inproc(scenario, tmp_path / "again")
    assert again.trace_sha256 == summary.trace_sha256
    assert again.figures == summary.figures
    acted = [name for name in (again.figures or {})["cacc1"] if name.startswith("fault.f")]
    assert len(acted) == 8


def test_a_world_with_a_fault_is_shown(tmp_path: Path) -> None:
    """What stands around the model of the world hides it from nothing."""
    fault = "{port: world.control/follower1, kind: delay, delay: 20ms}"
    request = RunRequest(
        CONFIG / "platoon.yaml",
        set=("duration=1s", f"faults={{slow: {fault}}}"),
        shape="inproc",
        out=tmp_path / "out",
    )
    with bring_up(request) as prepared, InprocRun(prepared) as run:
        assert onlooker_of(run) is not None
        run.finish()


def test_a_run_shows_its_world_and_cameras_and_keeps_its_trace(tmp_path: Path) -> None:
    def use(page: Page) -> None:
        page.until(lambda p: p["run"]["state"] == "paused")
        page.ask({"action": "step", "count": 2})
        # A run that stands is looked at, too.
        picture = page.until(lambda p: p.get("world", {}).get("frame", 0) > 0 and p["vehicles"])
        # Optical flow is not a picture to look at.
        cameras = picture["world"]["cameras"]
        assert [camera["kind"] for camera in cameras] == ["rgb", "semantic_segmentation"]
        assert not picture["world"]["whole"]
        assert len(picture["world"]["fields"]) == 4 and len(picture["objects"]) == 4
        for camera in cameras:
            assert page.image(camera["id"]).startswith(b"\x89PNG")
        page.ask({"action": "resume"})

    names = ("front", "tags", "flow", "radar")
    scenario = sensor_scenario(*names)
    page = Page(use)
    with bring_up(RunRequest(scenario, shape="inproc", out=tmp_path / "out")) as prepared:
        summary = run_shown(
            prepared, Address(LOOPBACK, 0), paused=True, tell=page.lines.put, last_look=page.done
        )
    alone = run_inproc(sensor_scenario(*names), tmp_path / "alone")
    assert summary.trace_sha256 == alone.trace_sha256


def test_a_step_of_a_run_that_goes_on_pauses_it(tmp_path: Path) -> None:
    def use(page: Page) -> None:
        page.ask({"action": "rate", "rate": 0.1})
        page.ask({"action": "resume"})
        page.until(lambda p: p["run"]["time_s"] > 0.0)
        page.ask({"action": "step", "count": 5})
        page.until(lambda p: p["run"]["state"] == "paused")
        page.ask({"action": "rate", "rate": None})
        page.ask({"action": "resume"})

    assert shown(tmp_path / "out", use).sim_time_s == 3.0


def test_a_scenario_without_vehicles_is_refused(tmp_path: Path) -> None:
    request = RunRequest(OWN_TYPES, shape="inproc", out=tmp_path / "out")
    with bring_up(request) as prepared, pytest.raises(ConfigurationError, match="nothing to show"):
        run_shown(prepared, Address(LOOPBACK, 0))


def test_a_road_that_cannot_be_drawn_leaves_no_run_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[InprocRun] = []

    def broken(scenario: object) -> None:
        raise ConfigurationError("broken")

    def leave(run: InprocRun, *error: Any) -> None:
        left.append(run)
        close(run, *error)

    close = InprocRun.__exit__
    monkeypatch.setattr(InprocRun, "__exit__", leave)
    monkeypatch.setattr(dashboard, "road_of", broken)
    request = RunRequest(
        load_scenario(CONFIG / "platoon.yaml"), shape="inproc", out=tmp_path / "out"
    )
    with bring_up(request) as prepared, pytest.raises(ConfigurationError, match="broken"):
        run_shown(prepared, Address(LOOPBACK, 0))
    assert len(left) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--shape", "ros", "--dashboard", "0"], "--dashboard: found with shape ros; allowed is"),
        (["--shape", "inproc", "--dashboard", "x"], "--dashboard: found 'x'; allowed is [HOST:]PO"),
        (["--shape", "inproc", "--dashboard", "0", "--repeat", "2"], "allowed is a single run"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path: Path, options: list[str], said: str) -> None:
    arguments = ["run", str(CONFIG / "platoon.yaml"), *options, "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 1 and said in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_run_without_a_page_loads_none(tmp_path: Path) -> None:
    """What a page needs takes a good part of the start of a command."""
    script = (
        "import sys; from ros2_cosim.cli.main import app; "
        "app(sys.argv[1:], standalone_mode=False); "
        "print([name for name in sys.modules if name.startswith('ros2_cosim.lab.web')])"
    )
    scenario = CONFIG / "car_following.yaml"
    options = [
        "--shape",
        "inproc",
        "--no-bag",
        "--set",
        "duration=100ms",
        "--out",
        tmp_path / "out",
    ]
    done = subprocess.run(
        [sys.executable, "-c", script, "run", scenario, *options],
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
