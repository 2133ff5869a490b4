# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The how-to pages about DCP, FMUs and VDS1 do what they say."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from support.ports import free_port
from tutorial import ROOT, Tutorial

HOW_TO = ROOT / "docs" / "how-to"


def page(name: str, directory: Path) -> Tutorial:
    """The page, with its files written."""
    return Tutorial(f"../how-to/{name}", directory)


def test_a_scenario_runs_with_an_fmu(tmp_path: Path) -> None:
    how_to = page("use-an-fmu.md", tmp_path).carry_out()
    assert how_to.files == ["cart.c", "driver.py", "cart.yaml"]
    summary = json.loads((tmp_path / "out/cart/summary.json").read_text(encoding="utf-8"))
    assert summary["sim_time_s"] == 5.0
    shown = how_to.run("cosim dcp serve cart.fmu --step 1/100 --describe -")
    assert re.findall(r'<Variable name="(\w+)"', shown.stdout) == [
        "force",
        "position",
        "cart_speed",
        "mass",
    ]


def test_a_scenario_becomes_an_fmu_and_a_slave(tmp_path: Path) -> None:
    how_to = page("step-a-scenario-from-another-tool.md", tmp_path).carry_out()
    assert (tmp_path / "platoon.fmu").is_file()
    described = how_to.run(how_to.shown[0])
    assert described.returncode == 0, described.stderr
    text = (tmp_path / "platoon.dcpx").read_text(encoding="utf-8")
    names = re.findall(r'<Variable name="([\w.]+)"', text)
    assert names == ["leader.x", "leader.vx", "run.finished"]


def test_the_slave_in_python_has_a_description(tmp_path: Path) -> None:
    how_to = page("serve-a-dcp-slave.md", tmp_path)
    assert how_to.files == ["gain.py"]
    for command in (how_to.shown[0], how_to.shown[3], "cosim check gain.dcpx"):
        done = how_to.run(command)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    assert 'port="8080"' in (tmp_path / "gain.dcpx").read_text(encoding="utf-8")


def test_the_client_holds_the_speed(tmp_path: Path) -> None:
    page("serve-a-vehicle-over-vds1.md", tmp_path)
    port, states = free_port(), free_port()
    client = tmp_path / "client.py"
    text = client.read_text(encoding="utf-8")
    client.write_text(text.replace("6601", str(port)).replace("6602", str(states)))
    serve = ["vds", "serve", "--set", "speed=20", "--lockstep", "--port", str(port)]
    serve += ["--to", f"127.0.0.1:{states}"]
    with subprocess.Popen(
        [sys.executable, "-m", "ros2_cosim.cli.main", *serve],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            assert server.stdout.readline() == f"v0: commands at 127.0.0.1:{port}\n"
            done = subprocess.run(
                [sys.executable, str(client)], capture_output=True, text=True, check=False
            )
        finally:
            server.send_signal(signal.SIGINT)
    shown = re.search(
        r"\$ python client\.py\n(.*\n)",
        (HOW_TO / "serve-a-vehicle-over-vds1.md").read_text(encoding="utf-8"),
    )
    assert shown
    assert done.stdout == shown[1], done.stderr


@pytest.mark.parametrize("path", sorted(HOW_TO.glob("*.md")), ids=lambda path: path.stem)
def test_a_how_to_page_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").split()) <= 400
