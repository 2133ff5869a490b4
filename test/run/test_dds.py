# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The DDS settings of a run are understood by Fast DDS, and lose nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import dds_reader
from support.isolation import drop_dds_settings

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.ros.bringup.dds import (
    PROFILE_FILE,
    dds_environment,
    dds_notes,
    loopback_environment,
)

MESSAGES = 1500
#: Sends what its argument says, in bursts that no socket buffer holds while the reader stands.
WRITER = """
import os, signal, sys, time
from ros2_cosim.core.messages.protocol import Horizon
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.session import Session
from ros2_cosim.ros.node.writers import data_qos
reader, count = int(sys.argv[1]), int(sys.argv[2])
def is_stopped():
    stat = open(f"/proc/{reader}/stat").read()
    return stat.rpartition(")")[2].split()[0] == "T"
with Session("dds_writer", []) as session:
    writer = session.writer(topics.HORIZON, topics.HORIZON_TYPE, data_qos())
    while not writer.readers:
        session.wait(0.02)
    writer.send(Horizon("x" * 1000, 0, 0, ()))
    while not is_stopped():
        session.wait(0.02)
    for number in range(1, count):
        writer.send(Horizon("x" * 1000, number, 0, ()))
    os.kill(reader, signal.SIGCONT)
    while not writer.flush():
        pass
print("sent", count)
"""


@pytest.fixture
def environment(ros_domain: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """The environment of a run without DDS settings of the user."""
    drop_dds_settings(monkeypatch)
    return loopback_environment(os.environ, tmp_path)


def test_the_profile_is_accepted_and_a_reader_that_stood_gets_everything(
    environment: dict[str, str], ros_domain: int, tmp_path: Path
) -> None:
    pytest.importorskip("rclpy")
    command = [sys.executable, str(Path(dds_reader.__file__)), str(MESSAGES)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as reader:
        try:
            writer = subprocess.run(
                [sys.executable, "-c", WRITER, str(reader.pid), str(MESSAGES)],
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
            )
            said, _ = reader.communicate(timeout=120)
        finally:
            reader.kill()
    assert (writer.returncode, writer.stdout, writer.stderr) == (0, f"sent {MESSAGES}\n", "")
    # A profile with a mistake in it is refused as a whole, with a word on the console.
    assert "XMLPARSER" not in said
    assert f"received {MESSAGES} True" in said
    # 239.255.0.2 in the byte order of this processor: the horizon comes by multicast.
    assert "0200FFEF" in said or "EFFF0002" in said, said
    port = 7401 + 250 * ros_domain
    assert f"<port>{port}</port>" in (tmp_path / PROFILE_FILE).read_text(encoding="utf-8")


@pytest.mark.parametrize("found", ["x", "-1", "233"])
def test_a_domain_that_is_none_is_refused(found: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"ROS_DOMAIN_ID: found '{found}'"):
        loopback_environment({"ROS_DOMAIN_ID": found}, tmp_path)


@pytest.mark.parametrize("own", [{}, {"ROS_DISCOVERY_SERVER": "here"}])
def test_a_middleware_that_is_not_installed_is_named(own: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "librmw_fastrtps_cpp.so").touch()
    environment = {"RMW_IMPLEMENTATION": "rmw_other_cpp", "LD_LIBRARY_PATH": str(tmp_path), **own}
    with pytest.raises(ConfigurationError) as caught:
        dds_environment(environment, tmp_path)
    assert str(caught.value) == (
        "RMW_IMPLEMENTATION: found 'rmw_other_cpp', which is not installed here; allowed is "
        "rmw_fastrtps_cpp"
    )


def test_settings_that_replace_the_profile_are_told() -> None:
    assert dds_notes({"HOME": "/x", "COSIM_KEEP_DDS": "1"}) == []
    (line,) = dds_notes({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "HOME": "/x"})
    assert line.startswith("ROS_AUTOMATIC_DISCOVERY_RANGE: set, so the run has no loopback profile")
    (line,) = dds_notes({"RMW_IMPLEMENTATION": "rmw_other_cpp"})
    assert line == "RMW_IMPLEMENTATION: rmw_other_cpp may listen at all addresses"
