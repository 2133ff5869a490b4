# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The dashboard beside a real run: it shows the platoon, controls it, and changes nothing."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from runs.cosim_process import PLATOON, Running, left_processes, user_environment
from support.controlled_run import Controlled
from support.patience import HANG_S, until
from support.ports import free_port
from support.untold import check_untold
from support.warm import Warm, cosim

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.realtime.run_control import Command, Request
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.replay import prepare_replay
from ros2_cosim.core.scenario.changes_by_hand import recorded_changes
from ros2_cosim.core.scenario.schema import load_scenario

pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")

from ros2_cosim.lab.report.road_of_scenario import lanes_of
from ros2_cosim.lab.web.dashboard import RequestedControl, footprints, shown_ports
from ros2_cosim.lab.web.records_view import RecordsView
from ros2_cosim.ros.bringup.domain_lock import active_runs, own_domain


class Page:
    """The data port of a dashboard that is started beside a run, as soon as there is a run."""

    def __init__(self, environment: dict[str, str]) -> None:
        port, domain = free_port(), own_domain(environment)
        self.url = f"http://127.0.0.1:{port}/"
        until(lambda: any(run.domain == domain for run in active_runs()))
        self.process = Warm(["dashboard", str(port)], environment)
        until(self._answers)

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.process.communicate()
        with suppress(urllib.error.URLError):
            return bool(self.ask())
        return False

    def ask(self, request: dict[str, Any] | None = None) -> dict[str, Any]:
        """The picture, or what a request to the run brings about."""
        data = None if request is None else json.dumps(request).encode()
        asked = urllib.request.Request(
            f"{self.url}api/run", data, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(asked, timeout=HANG_S) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def changes(self, request: dict[str, Any] | None = None) -> dict[str, Any]:
        """What may be changed, with its value; after a request to change something."""
        data = None if request is None else json.dumps(request).encode()
        kind = {"Content-Type": "application/json"}
        asked = urllib.request.Request(f"{self.url}api/changes", data, kind)
        with urllib.request.urlopen(asked, timeout=HANG_S) as answer:
            return {each["path"]: each["value"] for each in json.load(answer)["changes"]}

    def history(self) -> dict[str, list[list[float | None]]]:
        """What a page that is opened late gets: vehicle -> rows, time first."""
        with urllib.request.urlopen(f"{self.url}api/history", timeout=HANG_S) as answer:
            found: dict[str, list[list[float | None]]] = json.load(answer)["vehicles"]
        return found

    def until(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first picture that meets a condition."""
        return until(lambda: p if condition(p := self.ask()) else {}, so_far=self.ask)


@pytest.mark.parametrize("shape", ["ros", "composed"])
def test_the_platoon_is_shown_and_controlled(shape: str, tmp_path: Path) -> None:
    (tmp_path / "reference").mkdir()
    scenario = load_scenario(PLATOON, ["duration=3s"])
    reference = run_inproc(scenario, tmp_path / "reference", record=False).trace_sha256
    output = tmp_path / "out"
    arguments = (PLATOON, "--shape", shape, "--out", output, "--paused", "--set", "duration=3s")
    with user_environment(tmp_path / "log") as environment:
        with Running(environment, *arguments) as running:
            page = Page(environment)
            assert page.until(lambda p: p["run"]["state"] == "paused")["run"]["name"] == "platoon"
            # Steps until everything has been heard: an onlooker misses what came before it.
            deadline = time.monotonic() + HANG_S
            while len((picture := page.ask())["vehicles"]) < 3:
                assert time.monotonic() < deadline
                page.ask({"action": "step", "count": 1})
                before = picture["run"]["time_s"]
                page.until(lambda p: p["run"]["time_s"] > before)  # noqa: B023
            vehicles = {vehicle["name"]: vehicle for vehicle in picture["vehicles"]}
            assert list(vehicles) == ["leader", "follower1", "follower2"]
            assert vehicles["follower1"]["speed"] > 10.0
            assert vehicles["follower1"]["ahead"] == "leader"
            assert 5.0 < vehicles["follower1"]["gap"] < 40.0
            # What no message tells comes from the server of the run.
            world = page.until(lambda p: "world" in p)["world"]
            assert world["frame"] > 0 and world["cameras"] == []
            page.ask({"action": "rate", "rate": 3})
            page.until(lambda p: p["run"]["rate"] == 3.0)
            page.ask({"action": "rate", "rate": None})
            page.ask({"action": "resume"})
            result = running.result()
        assert result.code == 3, result  # the platoon does not stand yet
        _, errors = page.process.communicate(timeout=HANG_S)
        assert (page.process.returncode, errors) == (0, "")
        assert left_processes(environment) == []
    summary = json.loads((output / "summary.json").read_text(encoding="utf-8"))
    assert summary["trace_sha256"] == reference


@pytest.mark.parametrize("shape", ["ros", "composed"])
def test_a_page_that_comes_late_has_the_history_and_changes_a_parameter_as_a_replay_does(
    shape: str, tmp_path: Path
) -> None:
    path, output = "participants.cacc1.parameters.time_gap", tmp_path / "out"
    other = "participants.cacc2.parameters.time_gap"
    names = ["leader", "follower1", "follower2"]
    arguments = (PLATOON, "--shape", shape, "--out", output, "--paused", "--set", "duration=5s")
    with user_environment(tmp_path / "log") as environment:
        with Running(environment, *arguments) as running:
            # Another user of the run.
            run = Controlled(environment, running)
            run.wait_for_run()
            assert run.control("change", f"{other}=0.8") == f"{other}: 0.8 from 0s on"
            assert run.control("until", "3s") == "paused at 3s"
            page = Page(environment)
            page.until(lambda p: p["run"]["state"] == "paused")
            assert page.changes()[path] == 0.6
            with pytest.raises(urllib.error.HTTPError) as refused:
                page.changes({"set": path, "to": -1})
            assert "allowed is a number above 0" in json.load(refused.value)["error"]
            page.ask({"action": "step", "count": 20})
            page.until(lambda p: p["run"]["time_s"] >= 4.0 and p["run"]["state"] == "paused")
            assert page.changes({"set": path, "to": 1.5})[path] == 1.5
            assert page.changes()[other] == 0.8
            until(lambda: len(recorded_changes(output)) == 2)
            page.until(lambda p: [v["name"] for v in p["vehicles"]] == names)
            history = page.history()
            run.end("resume")
            result = running.result()
        assert result.code == 3, result
        page.process.communicate(timeout=HANG_S)
        assert left_processes(environment) == []
    made = json.loads((output / "changes.json").read_text())["changes"]
    assert [(each["set"], each["to"]) for each in made] == [(other, 0.8), (path, 1.5)]
    assert (made[0]["at"], made[1]["at"]) == ("0s", "4s")
    scenario, _, former = prepare_replay(output)
    assert run_inproc(scenario, tmp_path / "again").trace_sha256 == former.trace_sha256
    check_untold(output, tmp_path / "again")
    assert list(history) == names
    recorded = recorded_history(output)
    for name, rows in history.items():
        times = [row[0] or 0.0 for row in rows]
        assert times == sorted(set(times)) and times[-1] > 3.0
        # Before its start as well: all that the run had recorded.
        # At 0 s the fixed objects come with the first poses, in any order.
        before = {time: row[1:] for time, row in zip(times, rows, strict=True) if 0.0 < time < 2.0}
        assert before == {time: row for time, row in recorded[name].items() if 0.0 < time < 2.0}
        assert len(before) >= 18 and min(before) <= 0.2


def recorded_history(output: Path) -> dict[str, dict[float, list[float | None]]]:
    """What a page would have heard of a whole run: vehicle -> time -> the rest of its row."""
    scenario = load_scenario(PLATOON)
    view = RecordsView(footprints(scenario), lanes_of(scenario))
    places = {port.topic: port for port in shown_ports(scenario)}
    for message in read_bag(output / "bag"):
        port = places.get(message.topic)
        if port is not None:
            stamp, _, record = CATALOGUE.codec(port.type).decode(message.data)
            view.take(port.vehicle, record, stamp)
    return {
        name: {row[0] or 0.0: list(row[1:]) for row in rows}
        for name, rows in view.history().items()
    }


def test_without_a_run_there_is_one_line(tmp_path: Path) -> None:
    with user_environment(tmp_path / "log") as environment:
        done = cosim(environment, "dashboard")
    assert done.returncode == 1
    assert done.stderr.startswith("cosim: no run is under way on this machine in ROS domain")


def test_what_is_shown_of_the_platoon() -> None:
    scenario = load_scenario(PLATOON)
    topics = {port.topic: port.vehicle for port in shown_ports(scenario)}
    assert topics["/leader/odometry"] == "leader"
    assert topics["/follower1/control"] == "follower1"
    assert topics["/follower2/acceleration"] == "follower2"
    assert "/follower1/objects" not in topics
    assert {"/static_objects", "/collisions"} <= topics.keys()
    assert list(footprints(scenario)) == ["leader", "follower1", "follower2"]
    assert footprints(scenario)["leader"].id == 1


def test_requests_are_those_of_the_run_control() -> None:
    control = RequestedControl()
    control.pause()
    control.resume()
    control.step(3)
    control.set_rate(2.0)
    control.set_rate(None)
    asked = [control.requests.get_nowait() for _ in range(6)]
    assert asked == [
        Request(Command.PAUSE),
        Request(Command.RESUME),
        Request(Command.PAUSE),
        Request(Command.STEP, steps=3),
        Request(Command.RATE, rate=2.0),
        Request(Command.RATE, rate=0.0),
    ]
    with pytest.raises(ConfigurationError, match="step"):
        control.step(0)
    control.received(2_000_000_000)
    assert control.status().time == 2_000_000_000
    control.end()
    assert control.status().state == "ended"
    assert State.PAUSED < State.STOPPING
