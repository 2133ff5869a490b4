# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Errors that newcomers meet name a page to read, on a terminal."""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import RawIOBase
from pathlib import Path

import pytest
import typer
from support.behaviours import Scripted
from support.bridge_scenes import platoon

from ros2_cosim.cli.console import clear_errors
from ros2_cosim.cli.read_on import PAGES, page_about
from ros2_cosim.core.kernel.graph import Graph, ParticipantSpec
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.lab.web.starter_page import StarterApi
from ros2_cosim.ros.bringup.dds import check_ros
from ros2_cosim.vds.data_port.http_server import DataPort
from ros2_cosim.world.carla.client_world import ClientWorld
from ros2_cosim.world.carla.scene import Scene

ROOT = Path(__file__).resolve().parents[2]
PLATOON = ROOT / "config" / "platoon.yaml"


def changed(change: str) -> None:
    check_scenario(load_scenario(PLATOON, [change]))


@contextmanager
def bound() -> Iterator[int]:
    """A port that is taken, and where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def taken_port() -> None:
    with bound() as port:
        DataPort(StarterApi(ROOT), port=port)


def no_carla() -> None:
    with bound() as port:
        Scene(ClientWorld(port=port), platoon()).initialise()


def failing_model() -> None:
    graph = Graph([ParticipantSpec("p", 10)], [])
    ParticipantRuntime(graph, "p", Scripted(lambda step: {"out": 1 / 0})).activate_time()


#: What goes wrong -> the page.
ERRORS: dict[str, tuple[Callable[[], object], str]] = {
    "unknown law": (
        lambda: changed("participants.cacc1.parameters.law=nosuch"),
        "docs/how-to/use-your-own-controller.md",
    ),
    "unknown model": (
        lambda: changed("participants.sensor1.model=nosuch"),
        "docs/tutorials/own-sensor.md",
    ),
    "not a model": (
        lambda: changed("participants.sensor1.model=numpy:__name__"),
        "docs/tutorials/own-sensor.md",
    ),
    "wrong key": (
        lambda: changed("colour=red"),
        "docs/how-to/complete-scenarios-in-an-editor.md",
    ),
    "no rclpy": (lambda: check_ros("shape ros"), "docs/installation.md"),
    "no simulator": (no_carla, "docs/how-to/run-against-carla.md"),
    "port in use": (taken_port, "docs/security.md"),
    "failing law": (failing_model, "docs/run-control.md#when-something-fails"),
}


def lines_of(screen: RawIOBase) -> list[str]:
    """What has been written to a terminal that is closed."""
    text = b""
    with suppress(OSError):  # at the end
        while data := screen.read(4096):
            text += data
    return text.decode().splitlines()


@pytest.mark.parametrize("what", ERRORS)
def test_an_error_names_its_page_on_a_terminal(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raises, page = ERRORS[what]
    monkeypatch.setitem(sys.modules, "rclpy", None)
    reader, terminal = os.openpty()
    with open(terminal, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        with pytest.raises(typer.Exit), clear_errors():
            raises()
    with open(reader, "rb", buffering=0) as screen:
        first, *others = lines_of(screen)
    assert first.startswith("cosim: ") and others == [f"Read on: {page}"]


def test_programs_get_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), clear_errors():
        changed("colour=red")
    assert capsys.readouterr().err.count("\n") == 1


def test_the_package_says_these_words_and_the_pages_are_there() -> None:
    sources = "".join(
        path.read_text("utf-8")
        for path in (ROOT / "ros2_cosim").rglob("*.py")
        if path.name != "read_on.py"
    )
    of_the_system = os.strerror(errno.EADDRINUSE)
    assert [words for words, _ in PAGES if words not in sources] == [of_the_system]
    for _, page in PAGES:
        path, _, heading = page.partition("#")
        text = (ROOT / path).read_text(encoding="utf-8")
        titles = [line.lstrip("# ").lower() for line in text.splitlines() if line[:1] == "#"]
        assert not heading or heading.replace("-", " ") in titles, page


def test_most_errors_name_no_page() -> None:
    assert page_about("out: not empty; allowed is an empty directory") is None
