# SPDX-License-Identifier: Apache-2.0
"""Fast DDS may hang while a node is given up: the process ends all the same, as it would have."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

#: Guards against hanging only.
HANG_S = 120.0
#: What the middleware does then: it waits for itself, with Python's lock held.
PROCESS = """
import ctypes, sys
from ros2_cosim.ros.session import Session
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
