# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The process of a foreign node: how it ended, and that it is ended with all that it started."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from support.patience import HANG_S, until

from ros2_cosim.core.documents.installed import module_command
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.foreign import ForeignSettings
from ros2_cosim.ros.foreign import foreign_process
from ros2_cosim.ros.foreign.foreign_process import (
    ForeignProcess,
    foreign_command,
    foreign_environment,
    ros_arguments,
)
from ros2_cosim.ros.foreign.foreign_threads import processes_of_session


def started(program: str) -> ForeignProcess:
    return ForeignProcess([sys.executable, "-S", "-c", program], os.environ, "here")


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("", "ended with exit code 0; its last line: it printed nothing"),
        ("print('a'); print('b'); raise SystemExit(3)", "ended with exit code 3; its last line: b"),
        ("import os; os.kill(os.getpid(), 9)", "was killed by SIGKILL; its last line: it printed"),
    ],
)
def test_its_end_is_told_with_its_last_words(nothing_left: None, program: str, said: str) -> None:
    process = started(program)
    assert until(process.ended).startswith(said)
    process.close()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("print('bye'); raise SystemExit(4)", "ended with exit code 4; its last line: bye"),
        ("time.sleep(1000)", "was killed by SIGKILL; its last line: here"),
    ],
)
def test_it_is_asked_to_end_and_killed_if_it_does_not(
    nothing_left: None, monkeypatch: pytest.MonkeyPatch, capfd: Any, asked: str, said: str
) -> None:
    monkeypatch.setattr(foreign_process, "GRACE_S", 0.1 if "SIGKILL" in said else HANG_S)
    process = started(
        # A signal that comes just before a sleep is noticed behind it.
        "import time\ntry:\n  print('here', flush=True)\n  while True: time.sleep(0.01)\n"
        f"except KeyboardInterrupt:\n  {asked}"
    )
    until(lambda: "here" in capfd.readouterr().out)
    assert processes_of_session(process.pid) == [process.pid]
    process.close()
    assert process.ended() == said


def test_it_is_asked_to_end_where_this_program_ignores_the_signal(
    nothing_left: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign_process, "GRACE_S", HANG_S)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = started("import time\ntime.sleep(1000)")
    finally:
        signal.signal(signal.SIGINT, before)
    process.close()
    assert process.ended() in (
        "was killed by SIGINT; its last line: it printed nothing",
        "was killed by SIGINT; its last line: KeyboardInterrupt",
        # While Python starts.
        "ended with exit code 1; its last line: KeyboardInterrupt",
    )


def test_what_it_has_started_ends_with_it(nothing_left: None) -> None:
    process = started("import os, time\nos.fork()\nprint('here', flush=True)\ntime.sleep(1000)")
    until(lambda: len(processes_of_session(process.pid)) == 2)
    process.close()
    until(lambda: not processes_of_session(process.pid))
    assert process.ended() is not None


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigurationError, match="here: cannot start no-such-program: No such"):
        ForeignProcess(["no-such-program"], os.environ, "here")


@pytest.mark.parametrize(
    ("given", "begins"),
    [
        ({"command": ["node", "-v"]}, ["node", "-v"]),
        ({"script": "node.py"}, [sys.executable, "{here}/node.py"]),
        ({"module": "my.node"}, [*module_command("my.node")]),
        ({"package": "mine", "executable": "relay"}, ["{here}/lib/mine/relay"]),
    ],
)
def test_the_command_line_has_all_names_and_parameters_of_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], begins: list[str]
) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    executable = tmp_path / "lib" / "mine" / "relay"
    executable.parent.mkdir(parents=True)
    for file in (tmp_path / "node.py", executable):
        file.touch()
    executable.chmod(0o755)
    settings = ForeignSettings(
        arguments=["plain"], remap={"a": "b"}, ros_parameters={"gain": 2.5, "name": "x"}, **given
    )
    command = foreign_command(settings, tmp_path, {"scan": "/gate/scan"}, "here")
    assert command == [
        *(part.format(here=tmp_path) for part in begins),
        *("plain", "--ros-args", "-r", "a:=b", "-r", "scan:=/gate/scan"),
        *("-p", "gain:=2.5", "-p", 'name:="x"'),
    ]
    timed = settings.model_copy(update={"use_sim_time": True})
    assert ros_arguments(timed, {})[-2:] == ["-p", "use_sim_time:=true"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"script": "node.py"}, "here: script: there is no file {here}/node.py"),
        (
            {"package": "mine", "executable": "relay"},
            "here: package: found no executable 'relay' of package 'mine'; source its workspace",
        ),
    ],
)
def test_a_node_that_is_not_there_is_named(
    tmp_path: Path, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        foreign_command(ForeignSettings(**given), tmp_path, {}, "here")
    assert str(caught.value) == said.format(here=tmp_path)


def test_the_environment_is_this_one_with_the_changes_of_the_scenario(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("KEPT", "CHANGED", "REMOVED"):
        monkeypatch.setenv(name, "before")
    settings = ForeignSettings(
        command=["node"], environment={"CHANGED": "after", "REMOVED": None, "ABSENT": None}
    )
    found = foreign_environment(settings)
    assert (found["KEPT"], found["CHANGED"]) == ("before", "after")
    assert not {"REMOVED", "ABSENT"} & found.keys()
    assert os.environ["CHANGED"] == "before"
