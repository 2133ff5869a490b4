# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Fast DDS may hang while a node is given up: the process ends all the same, as it would have."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support.patience import HANG_S

pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

#: Guards against hanging only.
#: What the middleware does then: it waits for itself, with Python's lock held.
PROCESS = """
import ctypes, sys
from ros2_cosim.ros.node.session import Session
with Session("late", ["late"]) as session:
    session.node.destroy_node = lambda: ctypes.PyDLL(None).sleep(600)
    print("the last word")
    session.ends_with(int(sys.argv[1]))
"""


@pytest.mark.usefixtures("ros_domain", "nothing_left")
@pytest.mark.parametrize("code", [0, 3])
def test_a_process_that_hangs_at_its_end_keeps_its_exit_code(code: int) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROCESS, str(code)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "the last word\n", "")


#: A command that talks to a run, with an answer or an error; the middleware hangs at its end.
COMMAND = """
import ctypes, os, sys
from pathlib import Path
from ros2_cosim.cli.console import safe_output, visiting
from ros2_cosim.core.kernel.errors import ConnectionFailedError
from ros2_cosim.ros.bringup.domain_lock import ActiveRun
with safe_output(), visiting() as visit:
    run = ActiveRun(int(os.environ["ROS_DOMAIN_ID"]), "wave", Path("out"), {}, "secret")
    session = visit.join(run, "control")
    session.node.destroy_node = lambda: ctypes.PyDLL(None).sleep(600)
    print("the answer")
    if sys.argv[1] == "fail":
        raise ConnectionFailedError("the run did not answer")
"""


@pytest.mark.usefixtures("ros_domain", "nothing_left")
@pytest.mark.parametrize(
    ("word", "code", "said"), [("go", 0, ""), ("fail", 1, "cosim: the run did not answer\n")]
)
def test_a_command_that_hangs_at_its_end_has_said_everything(
    word: str, code: int, said: str
) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", COMMAND, word],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "the answer\n", said)
