# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The shared fixtures isolate ROS traffic and find what a test leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import isolation

ROOT = Path(__file__).resolve().parents[2]

LEAKING_TEST = """
import os, subprocess, sys, uuid
from pathlib import Path

def test_leaves_a_process(nothing_left):
    code = "import time; time.sleep(60)"
    subprocess.Popen([sys.executable, "-c", code], start_new_session=True)

def test_leaves_shared_memory(nothing_left):
    Path(f"/dev/shm/fastrtps_{uuid.uuid4().hex}").touch()

def test_leaves_nothing(nothing_left):
    subprocess.run([sys.executable, "-c", ""], check=True)
"""


#: What a session of its own gets as conftest; ``{grace}`` is how long leftovers may last [s].
CONFTEST = """
from support import isolation
from support.isolation import nothing_left, ros_domain

isolation.GRACE_SECONDS = {grace}
"""


def session(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the tests in a directory in a pytest session of their own."""
    command = [sys.executable, "-m", "pytest", "-q", *options, "-c", os.devnull]
    command += ["--rootdir", str(directory), "-p", "no:cacheprovider", str(directory)]
    path = [str(ROOT), str(ROOT / "test"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )


def test_domain_is_in_the_environment(ros_domain, tmp_path):
    assert 1 <= ros_domain <= 101
    assert os.environ["ROS_DOMAIN_ID"] == str(ros_domain)
    assert os.environ["FASTRTPS_DEFAULT_PROFILES_FILE"].startswith(str(tmp_path))
    assert os.environ["ROS_LOG_DIR"].startswith(str(tmp_path))


def test_two_sessions_get_different_domains(ros_domain, tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST.format(grace=5.0))
    (tmp_path / "test_other.py").write_text(
        "def test_other(ros_domain):\n    print('domain', ros_domain, 'given')\n"
    )
    done = session(tmp_path, "-s")
    assert done.returncode == 0, done.stdout + done.stderr
    other = int(done.stdout.split("domain ")[1].split()[0])
    assert other != ros_domain


def test_what_a_test_leaves_behind_fails_it(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST.format(grace=0.2))
    (tmp_path / "test_leaking.py").write_text(LEAKING_TEST)
    done = session(tmp_path)
    report = done.stdout
    try:
        assert "3 passed, 2 errors" in report, report + done.stderr
        assert "time.sleep(60)" in report
        assert "left in shared memory: fastrtps_" in report
    finally:
        for word in report.replace("\n", " ").split():
            if word.startswith("fastrtps_"):
                Path("/dev/shm", word).unlink(missing_ok=True)


@pytest.mark.usefixtures("nothing_left")
def test_message_travels_between_processes(ros_domain):
    """Two processes exchange a message of this package over DDS."""
    pytest.importorskip("rclpy")
    talker = """
import rclpy, time
from ros2_cosim.msg import ControlCommand
rclpy.init()
node = rclpy.create_node("talker")
publisher = node.create_publisher(ControlCommand, "control", 10)
while publisher.get_subscription_count() == 0:
    time.sleep(0.01)
publisher.publish(ControlCommand(seq=41, acceleration=-1.5))
publisher.wait_for_all_acked()
rclpy.shutdown()
"""
    listener = """
import rclpy
from ros2_cosim.msg import ControlCommand
rclpy.init()
node = rclpy.create_node("listener")
received = []
node.create_subscription(ControlCommand, "control", received.append, 10)
while not received:
    rclpy.spin_once(node, timeout_sec=1.0)
print(received[0].seq, received[0].acceleration)
rclpy.shutdown()
"""
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    with subprocess.Popen([sys.executable, "-c", talker], env=environment) as process:
        done = subprocess.run(
            [sys.executable, "-c", listener],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert process.wait() == 0
    assert (done.returncode, done.stdout) == (0, "41 -1.5\n")


def test_ports_in_shared_memory_are_those_of_a_domain(ros_domain):
    first = 7400 + 250 * ros_domain
    for port, foreign in (
        (first - 1, True),
        (first, False),
        (first + 249, False),
        (first + 250, True),
    ):
        for name in (f"fastrtps_port{port}", f"sem.fastrtps_port{port}_mutex"):
            assert isolation._is_of_another_test(name) is foreign
    assert not isolation._is_of_another_test("fastrtps_0123456789abcdef")


def test_files_of_a_domain_that_were_there_before_it_was_claimed_are_not_left_by_the_test(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    domain = 231  # beyond those that tests claim
    names = [f"fastrtps_port{7400 + 250 * domain + above}" for above in (10, 11)]
    old, new = (Path("/dev/shm", name) for name in names)
    monkeypatch.setattr(isolation, "_domains", range(0))
    try:
        old.touch()
        before = isolation._shared_memory()
        monkeypatch.setattr(isolation, "_domains", range(domain, domain + 1))
        new.touch()
        assert isolation._left_since(before) == {new.name}
    finally:
        old.unlink(missing_ok=True)
        new.unlink(missing_ok=True)
