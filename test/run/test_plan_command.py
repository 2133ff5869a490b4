# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim plan`` shows the processes of a run, for people and for programs."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from runs.cosim_process import PLATOON
from support.ports import free_port, three_free_ports
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.ros.bringup.listening import ListeningPort


def printed(*words: str) -> str:
    result = CliRunner().invoke(app, ["plan", *words])
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def test_json_says_what_the_lines_say(tmp_path: Path) -> None:
    numbers = (
        f"simulator.port={three_free_ports()}",
        f"participants.world.parameters.dcp.port={free_port()}",
    )
    words = [str(PLATOON), *(word for setting in numbers for word in ("--set", setting))]
    lines = printed(*words).splitlines()
    *found, starter = json.loads(printed(*words, "--json"))
    notes = [f" ({', '.join(p['participants'])})" * (len(p["participants"]) > 1) for p in found]
    commands = [shlex.join(p["command"]) for p in found]
    names = [p["name"] for p in found]
    starts = [f"{n}{note}: {c}" for n, note, c in zip(names, notes, commands, strict=True)]
    assert lines[: len(starts)] == starts
    ports = [port for process in (*found, starter) for port in process["ports"]]
    assert sorted(lines[len(starts) :]) == sorted(str(ListeningPort(**port)) for port in ports)
    fixed = [port for port in ports if port["port"]]
    # Three of the simulator, and the world's slave with TCP and UDP.
    assert [port["users"] for port in fixed] == ["this user"] * 5
    simulator = str(ListeningPort(**fixed[0]))
    number = fixed[0]["port"]
    assert simulator == (
        f"simulator listens at tcp 127.0.0.1:{number} for this user: RPC of the simulator"
    )
    assert {port["use"] for port in starter["ports"]} == {
        "channel of the run",
        "lane of the run",
        "claim of the ROS domain",
    }
    by_name = {process["name"]: process for process in found}
    assert list(by_name)[0] == "simulator" and list(by_name)[-1] == "clock"
    assert not by_name["simulator"]["ros_node"]
    together = ["sensor1", "sensor2", "v2v", "cacc1", "cacc2", "referee"]
    assert by_name["group1"]["participants"] == together
    assert by_name["world"]["participants"] == ["world"]
    *alone, _ = json.loads(printed(*words, "--json", "--processes", "own"))
    assert {"world", *together} <= {process["name"] for process in alone}
    assert all(process["required"] for process in found)
    assert not list(tmp_path.iterdir())


def users(*words: str) -> dict[str, str]:
    """Use -> users of the ports of a plan."""
    processes = json.loads(printed(str(PLATOON), *words, "--json"))
    return {port["use"]: port["users"] for process in processes for port in process["ports"]}


def test_options_say_what_listens_and_for_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    assert users("--shape", "inproc") == {}
    page = "all users of the machine"
    monkeypatch.setenv("COSIM_OPEN", "1")
    assert users("--shape", "inproc", "--dashboard", "0") == {"dashboard": page}
    monkeypatch.delenv("COSIM_OPEN")
    page = "this user and other hosts, with the token"
    assert users("--shape", "inproc", "--dashboard", "0.0.0.0:0") == {"dashboard": page}
    assert "lane of the run" not in users("--transport", "dds")
    elsewhere = users("--set", "participants.world.parameters.dcp.host=0.0.0.0")
    assert elsewhere["DCP control and data of a slave"] == "this user and other hosts"
