# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``CarlaUE4.sh`` takes CARLA's command line."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import carla
import pytest
from support.headless_process import HIGHWAY, TOWN

from ros2_cosim.cli.carla_ue4 import ROADS, ROOT_VARIABLE, translate
from ros2_cosim.core.kernel.errors import ConfigurationError

STUB = Path(__file__).resolve().parents[2] / "buildtools" / "cmake" / "executable_stub.py.in"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory as CARLA's, with the roads of three towns."""
    roads = tmp_path / ROADS
    roads.mkdir(parents=True)
    for name in ("Town01", "Town02", "Town10HD"):
        shutil.copy(HIGHWAY, roads / f"{name}.xodr")
    return tmp_path


# Command lines of public programs: leaderboard, Bench2Drive, rllib-integration, scenario_runner.
@pytest.mark.parametrize(
    ("given", "words", "ignored"),
    [
        ("", "", ""),
        ("-world-port=2000 -opengl", "--port 2000", ""),
        ("-carla-rpc-port=30000 -RenderOffScreen -nosound -graphicsadapter=1",
         "--port 30000", ""),
        ("-carla-rpc-port=2002 -quality-level=Low -windowed -ResX=320 -ResY=240",
         "--scenery plain --port 2002", ""),
        ("-carla-port=4000 -benchmark -fps=10", "--port 4000 --rate 10", ""),
        ("-fps=10", "", ""),
        ("-opengl --carla-rpc-port=15001 -quality-level=Low", "--scenery plain --port 15001", ""),
        ("CarlaUE4 -carla-streaming-port=0 -carla-primary-port=0", "", ""),
        ("-carla-streaming-port=9000 -prefernvidia -RPCThreads=2", "",
         "-carla-streaming-port=9000 -RPCThreads=2"),
        ("-ros2 -NoVSync --view 0 --map a.xodr", "--view 0 --map a.xodr", "-NoVSync"),
    ],
)  # fmt: skip
def test_words_of_carla(given: str, words: str, ignored: str) -> None:
    found = translate(given.split(), ())
    assert (found.words, found.ignored) == (words.split(), ignored.split())


def test_towns_are_those_beside_the_program(root: Path) -> None:
    roads = root / ROADS
    everything = ["--map", str(roads)]
    assert translate([], [root]).words == ["--map", str(roads / "Town10HD.xodr"), *everything]
    for given in ("Town02", "/Game/Carla/Maps/Town02", "/Game/Carla/Maps/Town02_Opt"):
        found = translate([given, "-windowed"], [root]).words
        assert found == ["--map", str(roads / "Town02.xodr"), *everything]
    assert translate(["town"], []).words[:2] == ["--map", str(TOWN)]
    assert translate(["Town05", "--town-names"], [root]).words == [*everything, "--town-names"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("-carla-rpc-port=x", "found -carla-rpc-port=x; allowed is a whole number"),
        ("/Game/Carla/Maps/Town05", "map not found: 'Town05'; there are town, highway, circuit"),
        ("-carla-primary-host=10.0.0.1", "it has no secondary servers"),
    ],
)
def test_what_cannot_be_is_said(given: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        translate(given.split(), ())


@pytest.mark.slow
def test_a_program_that_starts_it_by_a_shell_gets_its_towns(root: Path) -> None:
    text = STUB.read_text(encoding="utf-8").replace("@to_prefix@", "..")
    own = root / "environment" / "bin" / "CarlaUE4.sh"
    own.parent.mkdir(parents=True)
    own.write_text(text.replace("@module@", "ros2_cosim.cli.carla_ue4"))
    (own.parent / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (own.parent / "python3").chmod(0o755)
    (root / "CarlaUE4.sh").symlink_to(own)
    environment = {k: v for k, v in os.environ.items() if k != ROOT_VARIABLE}
    with subprocess.Popen(
        ["sh", str(root / "CarlaUE4.sh"), "-carla-rpc-port=0", "-RenderOffScreen", "-Unknown"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        assert line.startswith("listening on 127.0.0.1:"), process.stderr.read()
        client = carla.Client("127.0.0.1", int(line.rsplit(":", 1)[1]))
        client.set_timeout(60.0)
        name = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        assert name.startswith(b"CarlaUE4-Linux-Shipping CarlaUE4 -carla-rpc-port=0")
        assert client.get_world().get_map().name == "Carla/Maps/Town10HD"
        assert client.load_world("Town01").get_map().name == "Carla/Maps/Town01"
        with pytest.raises(RuntimeError, match="map not found: 'Town03'"):
            client.load_world("Town03")
        os.killpg(process.pid, signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert said.splitlines()[0] == "CarlaUE4.sh: ignored: -Unknown"
