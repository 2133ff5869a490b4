# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Reports, measures and pictures come from entry points; a run works without any of them."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from support.control_scenarios import chain

from ros2_cosim.core.documents import offered
from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.documents.offered import functions_of
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.record.results import MEASURE_GROUP
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.results import REPORT_GROUP
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.pictures import PICTURE_GROUP, Picture, draws, picture_of
from ros2_cosim.core.scenario.schema import load_scenario, make_scenario

PLATOON = share_file("config/platoon.yaml")


def installed(monkeypatch: pytest.MonkeyPatch, group: str, **targets: str) -> None:
    """Have these entry points alone in a group."""
    found = {name: EntryPoint(name, target, group) for name, target in targets.items()}
    before = offered.offered
    monkeypatch.setattr(
        offered, "offered", lambda asked: found if asked == group else before(asked)
    )


def note_run(directory: Path) -> None:
    """A report."""
    (directory / "note.txt").write_text("seen\n")


def topics(bag: Path, scene: Any) -> int:
    """A measure."""
    return len(list(bag.iterdir()))


def nothing(bag: Path, scene: Any) -> None:
    """A measure that finds nothing."""


class Dot(Picture):
    """A picture of one topic."""

    topics = {"/dot": "std_msgs/msg/String"}
    wanted = ("/leader/odometry",)
    latched = frozenset(("/dot",))

    def __init__(self) -> None:
        self.taken: list[str] = []

    def take(self, topic: str, data: bytes) -> None:
        self.taken.append(topic)

    def begin(self):
        yield "/dot", b"begun"

    def draw(self, stamp_ns: int):
        yield "/dot", b"drawn"


def dot_of(scenario: Any) -> Picture:
    return Dot()


def test_a_run_leaves_the_reports_that_are_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = make_scenario(chain("300ms"), "chain")
    installed(monkeypatch, REPORT_GROUP)
    run_inproc(scenario, tmp_path / "none")
    assert not (tmp_path / "none" / "report.html").exists()
    installed(monkeypatch, REPORT_GROUP, note=f"{__name__}:note_run")
    run_inproc(scenario, tmp_path / "own")
    assert (tmp_path / "own" / "note.txt").read_text() == "seen\n"
    assert not (tmp_path / "own" / "report.html").exists()


def test_measures_give_fields_of_the_summary_or_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = make_scenario(chain("300ms"), "chain")
    own = {name: f"{__name__}:topics" for name in ("min_pet_s", "files")}
    installed(monkeypatch, MEASURE_GROUP, none=f"{__name__}:nothing", **own)
    run_inproc(scenario, tmp_path)
    summary = read_summary(tmp_path)
    assert summary.min_pet_s == 2.0
    assert summary.figures is not None and summary.figures["recorder"] == {"files": 2}


def test_a_scene_needs_something_that_draws_it(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = load_scenario(PLATOON, ["bag.scene=40ms"])
    check_scenario(scenario)
    installed(monkeypatch, PICTURE_GROUP)
    check_scenario(load_scenario(PLATOON))
    with pytest.raises(ConfigurationError) as caught:
        check_scenario(scenario)
    assert str(caught.value) == (
        "bag.scene: found 40ms, and nothing that draws the scene is installed (an entry point of "
        "the group ros2_cosim.pictures); leave it out"
    )


def test_all_installed_pictures_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = load_scenario(PLATOON)
    installed(monkeypatch, PICTURE_GROUP)
    assert not draws()
    assert not picture_of(scenario).topics
    scene = "ros2_cosim.world.pictures.drawing:drawing_of"
    installed(monkeypatch, PICTURE_GROUP, dot=f"{__name__}:dot_of", scene=scene)
    picture = picture_of(scenario)
    assert {"/dot", "/tf", "/visualization/scene"} <= picture.topics.keys()
    assert {"/dot", "/visualization/road"} <= picture.latched
    assert {"/leader/odometry", "/follower1/odometry"} <= set(picture.wanted)
    picture.take("/leader/acceleration", b"")
    assert [topic for topic, _ in picture.begin()] == ["/dot", "/visualization/road"]
    assert list(picture.draw(0)) == [("/dot", b"drawn")]


def test_a_part_of_this_package_that_is_not_there_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed(monkeypatch, "g", gone="ros2_cosim.gone.away:this", dot=f"{__name__}:dot_of")
    assert list(functions_of("g")) == ["dot"]
    installed(monkeypatch, "g", gone="no_such_module:this")
    with pytest.raises(ConfigurationError, match=r"^g: 'gone' cannot be loaded: ModuleNotFound"):
        functions_of("g")
    installed(monkeypatch, "g", wrong=f"{__name__}:no_such_name")
    with pytest.raises(ConfigurationError, match=r"^g: 'wrong' cannot be loaded: AttributeError"):
        functions_of("g")
