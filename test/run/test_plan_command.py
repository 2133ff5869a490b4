# SPDX-License-Identifier: Apache-2.0
"""``cosim plan`` shows the processes of a run, for people and for programs."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from runs.cosim_process import PLATOON
from support.ports import free_port, three_free_ports
from typer.testing import CliRunner

from ros2_cosim.cli.main import app


def printed(*words: str) -> str:
    result = CliRunner().invoke(app, ["plan", *words])
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def test_json_says_what_the_lines_say(tmp_path: Path) -> None:
    ports = (
        f"simulator.port={three_free_ports()}",
        f"participants.world.parameters.dcp.port={free_port()}",
    )
    words = [str(PLATOON), *(word for setting in ports for word in ("--set", setting))]
    lines = printed(*words).splitlines()
    found = json.loads(printed(*words, "--json"))
    notes = [f" ({', '.join(p['participants'])})" * (len(p["participants"]) > 1) for p in found]
    commands = [shlex.join(p["command"]) for p in found]
    names = [p["name"] for p in found]
    ports = [
        f"{port['process']} listens at {port['kind']} {port['host']}:{port['port']}, for this user"
        for process in found
        for port in process["ports"]
    ]
    # Three of the simulator, and the world's slave with TCP and UDP.
    assert len(ports) == 5
    starts = [f"{n}{note}: {c}" for n, note, c in zip(names, notes, commands, strict=True)]
    assert starts + ports == lines
    by_name = {process["name"]: process for process in found}
    assert list(by_name)[0] == "simulator" and list(by_name)[-1] == "clock"
    assert not by_name["simulator"]["ros_node"]
    together = ["sensor1", "sensor2", "v2v", "cacc1", "cacc2", "referee"]
    assert by_name["group1"]["participants"] == together
    assert by_name["world"]["participants"] == ["world"]
    alone = json.loads(printed(*words, "--json", "--processes", "own"))
    assert {"world", *together} <= {process["name"] for process in alone}
    assert all(process["required"] for process in found)
    assert not list(tmp_path.iterdir())
