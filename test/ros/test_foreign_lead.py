# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A Python node that is led through its activations gives what one gives that is not led."""

from __future__ import annotations

import os
import socket
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from support import gate_scenarios as scenarios
from support.isolation import drop_dds_settings

from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.schema import make_scenario

pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

from ros2_cosim.ros.foreign.foreign_lead import Lead
from ros2_cosim.ros.foreign.led_program import Frames, shutting_down_once

RELAY = {"model": "support.gate_models:Relay"}


@pytest.mark.parametrize(
    ("does", "ways"),
    [
        ("nothing else", ["led"]),
        ("nothing else, by the barrier", ["not led"]),
        ("information", ["led"]),
        ("task", ["led"]),
        ("error", ["led"]),
        ("subscription", ["led"]),
        ("client", ["led", "not led"]),
        ("coroutine", ["not led"]),
        ("wall timer", ["not led"]),
    ],
)
def test_a_node_gives_the_same_whether_it_is_led_or_not(
    ros_domain: int,
    nothing_left: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    does: str,
    ways: list[str],
) -> None:
    drop_dds_settings(monkeypatch)
    paths = [str(scenarios.ROOT), str(scenarios.ROOT / "test"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    plain = make_scenario(scenarios.relay(RELAY, "150ms"), "relay")
    expected = run_inproc(plain, tmp_path / "inproc").trace_sha256
    told = tmp_path / "ways.txt"
    data = scenarios.relay(
        duration="150ms",
        script="led_node.py",
        arguments=[does, str(told)],
        allow_services=["/nobody"],
        barrier="parameters" if does.endswith("by the barrier") else "lead",
    )
    scenario = make_scenario(data, "relay")
    found = run_request(RunRequest(scenario, out=tmp_path / "run", shape="composed"))
    assert (found.trace_sha256, found.repeatable) == (expected, True)
    lines = told.read_text().splitlines()
    assert ([way for way, _ in groupby(lines)], len(lines)) == (ways, 15)


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ([sys.executable, __file__, "--ros-args"], 1),
        ([sys.executable, "-m", "my_package.node"], 1),
        ([sys.executable, "-m"], 0),
        ([sys.executable, "-O", __file__], 0),
        ([sys.executable, "no-such-file.py"], 0),
        ([sys.executable], 0),
        (["/bin/sh", __file__], 0),
        (["no-such-program", __file__], 0),
    ],
)
def test_a_program_of_another_interpreter_is_run_as_it_is(command: list[str], place: int) -> None:
    lead = Lead(["/in"], {"/out": []}, lambda: None)
    found = lead.command(command, 1)
    lead.close()
    assert found[3:] == (command[place:] if place else [])


def test_a_program_says_what_its_nodes_tell_each_other_and_how_much_it_wrote() -> None:
    lead = Lead([], {"/out": []}, lambda: None)
    there = Frames(lead.there, 0.01)
    plain, latched = ("a/msg/A", True, False), ("a/msg/A", True, True)
    account = {
        "reads": [("/a", *plain), ("/a", *plain), ("/b", *latched), ("/c", *plain)],
        "writes": [("/a", *plain), ("/a", *latched), ("/b", *plain), ("/out", *plain)],
    }
    account["reads"].append(("/rosout", *plain))
    account["writes"].append(("/rosout", *plain))
    there.send({"account": account})
    assert lead.introduced() and lead.inner == {"/a": 2}
    there.send({"ended": [3]})
    lead.hear_out()
    assert lead.written == {"/out": 3}
    lead.close()


class _LateContext:
    """A context of rclpy that a signal shuts down just before the program does."""

    def __init__(self, context: Any, *, is_down: bool) -> None:
        self._context = context
        self._looks = [True] if is_down else []

    def come_late(self) -> None:
        self._looks = [True]

    def __enter__(self) -> None:
        self._context.__enter__()

    def __exit__(self, *found: object) -> None:
        self._context.__exit__(*found)

    def ok(self) -> bool:
        return self._looks.pop() if self._looks else self._context.ok()

    def shutdown(self) -> None:
        self._context.shutdown()


@pytest.mark.parametrize("is_down", [True, False])
def test_a_signal_may_shut_down_what_a_program_shuts_down(is_down: bool) -> None:
    from rclpy.context import Context

    context = Context()
    context.init()
    if is_down:
        vars(context)["_Context__context"].shutdown()
    vars(context)["_Context__context"] = _LateContext(
        vars(context)["_Context__context"], is_down=is_down
    )
    if is_down:
        with pytest.raises(Exception, match="already called"):
            Context.try_shutdown(context)
        vars(context)["_Context__context"].come_late()
    shutting_down_once(Context.try_shutdown)(context)
    assert not context.ok()


def test_frames_come_whole_and_in_order() -> None:
    here, there = map(Frames, socket.socketpair(), (0.01, 0.01))
    assert (here.receive(), here.is_over) == (None, False)
    blocks = [(0, 1, 2**63, b""), (3, 2**40, 5, bytes(3_000))]
    there.send({"free": True}, blocks)
    there.send(None, blocks[:1])
    assert here.receive() == ({"free": True}, blocks)
    assert here.receive() == ({}, blocks[:1])
    there.stream.close()
    assert (here.receive(), here.is_over) == (None, True)
    here.send(None)
    here.stream.close()
