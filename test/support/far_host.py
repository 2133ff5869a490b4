# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Another host: a network namespace, joined to this one by a virtual cable."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

#: Addresses of the two ends; the numbers differ between test sessions that run side by side.
NET = f"10.{os.getpid() // 250 % 250}.{os.getpid() % 250}"
NEAR, FAR = f"{NET}.1", f"{NET}.2"


@contextmanager
def joined_namespace() -> Iterator[list[str]]:
    """Words before a command that runs on the other host; the test is skipped without one."""
    name, cable = f"far{os.getpid()}", (f"fn{os.getpid()}", f"ff{os.getpid()}")
    there = ["ip", "netns", "exec", name]
    steps = (
        ["ip", "netns", "add", name],
        ["ip", "link", "add", cable[0], "type", "veth", "peer", "name", cable[1], "netns", name],
        ["ip", "address", "add", f"{NEAR}/24", "dev", cable[0]],
        ["ip", "link", "set", cable[0], "up"],
        [*there, "ip", "address", "add", f"{FAR}/24", "dev", cable[1]],
        [*there, "ip", "link", "set", cable[1], "up"],
        [*there, "ip", "link", "set", "lo", "up"],
    )
    try:
        for words in steps:
            try:
                done = subprocess.run(words, capture_output=True, text=True, check=False)
            except OSError as error:
                pytest.skip(f"no network namespaces here: {error}")
            if done.returncode:
                pytest.skip(f"no network namespaces here: {done.stderr.strip()}")
        yield there
    finally:
        for words in (["ip", "link", "del", cable[0]], ["ip", "netns", "del", name]):
            try:
                subprocess.run(words, capture_output=True, check=False)
            except OSError:
                break
