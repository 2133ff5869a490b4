# SPDX-License-Identifier: Apache-2.0
"""The process of a foreign node: how it ended, and that it is ended with all that it started."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from support.patience import until

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.ros import foreign_process
from ros2_cosim.ros.foreign_process import ForeignProcess
from ros2_cosim.ros.foreign_threads import processes_of_session


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
    if "SIGKILL" in said:
        monkeypatch.setattr(foreign_process, "GRACE_S", 0.1)
    process = started(
        "import time\ntry:\n  print('here', flush=True)\n  time.sleep(1000)\n"
        f"except KeyboardInterrupt:\n  {asked}"
    )
    until(lambda: "here" in capfd.readouterr().out)
    process.close()
    assert process.ended() == said


def test_what_it_has_started_ends_with_it(nothing_left: None) -> None:
    process = started("import os, time\nos.fork()\nprint('here', flush=True)\ntime.sleep(1000)")
    until(lambda: len(processes_of_session(process.pid)) == 2)
    process.close()
    until(lambda: not processes_of_session(process.pid))
    assert process.ended() is not None


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigurationError, match="here: cannot start no-such-program: No such"):
        ForeignProcess(["no-such-program"], os.environ, "here")
