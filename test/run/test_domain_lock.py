# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs side by side: each in the first ROS domain that is free."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run import bringup
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.schema import Scenario, save_scenario
from ros2_cosim.ros.bringup.domain_lock import (
    active_runs,
    claim,
    domain_lock,
    domains_from,
    listened_to,
    own_domain,
)

CAR_FOLLOWING = Path(__file__).parents[2] / "config" / "car_following.yaml"


def test_others_that_may_be_taken_begin_above_the_own_one() -> None:
    assert domains_from(0) == tuple(range(102))
    assert domains_from(99) == (99, 100, 101, *range(1, 99))
    # A domain whose ports lie higher is taken if it was asked for, no other of its kind.
    assert domains_from(150) == (150, *range(1, 102))


def test_each_run_gets_the_first_free_domain(ros_domains: int) -> None:
    first = ros_domains
    domains = (first, first + 1, first + 2)
    with domain_lock() as own, domain_lock(domains) as other:
        assert (own.domain, other.domain) == (first, first + 1)
        own.announce("a")
        other.announce("b")
        names = {run.domain: run.scenario for run in active_runs()}
        assert (names[first], names[first + 1]) == ("a", "b")
        with pytest.raises(ConfigurationError, match=f"another run uses ROS domain {first};"):
            domain_lock().__enter__()
        with pytest.raises(ConfigurationError, match="use all of 2 ROS domains"):
            domain_lock(domains[:2]).__enter__()
    with domain_lock(domains) as again:
        assert again.domain == first


@pytest.mark.parametrize("port", [0, 10], ids=["multicast", "first participant"])
def test_domain_of_a_program_that_knows_nothing_of_runs_is_left_alone(
    ros_domains: int, port: int
) -> None:
    first = ros_domains
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 7400 + 250 * (first + 1) + port))
        domains = (first, first + 1, first + 2)
        with domain_lock(), domain_lock(domains) as other:
            assert other.domain == first + 2


def test_a_process_may_be_in_several_domains(ros_domains: int) -> None:
    """In the second one it has another number, and so other ports."""
    rclpy = pytest.importorskip("rclpy", reason="needs rclpy, which make setup installs")
    with contextlib.ExitStack() as stack:
        for domain in (ros_domains, ros_domains + 1):
            context = rclpy.Context()
            rclpy.init(context=context, domain_id=domain)
            stack.callback(context.try_shutdown)
            node = rclpy.create_node("both", context=context)
            stack.callback(node.destroy_node)
        used = [listened_to(ros_domains + number) for number in range(3)]
    assert used == [True, True, False]


@pytest.fixture
def free_domains(monkeypatch: pytest.MonkeyPatch) -> int:
    """The first of three domains that nothing uses or has claimed; set in the environment.

    Programs that take any free domain take none of these: they stay free.
    """
    start = 102 + os.getpid() % 100
    with claim(3, range(start, 233)) as first:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(first))
    return first


TAKE = """
import sys
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.ros.bringup.domain_lock import domain_lock
try:
    with domain_lock([int(word) for word in sys.argv[1:]] or None) as place:
        print(place.domain)
except ConfigurationError as error:
    print(error)
"""


def taken_elsewhere(*domains: int) -> str:
    """What a run in a process that this one starts gets."""
    command = [sys.executable, "-c", TAKE, *map(str, domains)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_claims_exclude_each_other_and_runs_see_them(free_domains: int) -> None:
    first = free_domains
    among = range(first, first + 3)
    with claim(2, among) as claimed:
        assert claimed == first
        with claim(1, among) as other:
            assert other == first + 2
            with pytest.raises(ConfigurationError, match="no 1 free ROS domains"):
                claim(1, among).__enter__()
    with claim(3, among) as again:
        assert again == first


def test_a_claim_leaves_a_domain_to_the_runs_that_its_process_starts(free_domains: int) -> None:
    with claim(1, [free_domains]) as domain:
        assert own_domain() == domain
        assert taken_elsewhere() == str(domain)
        with domain_lock() as here:
            assert here.domain == domain


def test_a_claim_of_another_process_is_not_entered(free_domains: int) -> None:
    first = free_domains
    script = (
        "import sys\n"
        "from ros2_cosim.ros.bringup.domain_lock import claim\n"
        "with claim(1, [int(sys.argv[1])]) as domain:\n"
        "    print(domain, flush=True)\n"
        "    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(first)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline().strip() == str(first)
        with pytest.raises(ConfigurationError, match=f"another run uses ROS domain {first};"):
            domain_lock().__enter__()
        with domain_lock((first, first + 1)) as other_place:
            assert other_place.domain == first + 1
        other.kill()
    # A claim ends with its process, however that ends.
    with domain_lock() as place:
        assert place.domain == first == int(os.environ["ROS_DOMAIN_ID"])


def test_a_run_is_seen_by_claims(free_domains: int) -> None:
    first = free_domains
    with domain_lock(), claim(1, range(first, first + 3)) as claimed:
        assert claimed == first + 1


def test_a_run_is_found_when_it_is_announced_and_not_before(free_domains: int) -> None:
    with domain_lock() as place:
        assert free_domains not in {run.domain for run in active_runs()}
        place.announce("wave")
        assert {run.domain: run.scenario for run in active_runs()}[free_domains] == "wave"
    assert free_domains not in {run.domain for run in active_runs()}


def test_a_run_can_be_found_once_its_scenario_is_there(
    free_domains: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> list[Path]:
        return [run.output for run in active_runs() if run.domain == free_domains]

    def saved(scenario: Scenario, path: Path) -> None:
        assert found() == []
        save_scenario(scenario, path)

    monkeypatch.setattr(bringup, "save_scenario", saved)
    output = tmp_path / "out"
    request = RunRequest(CAR_FOLLOWING, shape="composed", out=output)
    with bringup.bring_up(request):
        assert found() == [output]
        assert (output / RESOLVED_SCENARIO).is_file()
    assert found() == []
