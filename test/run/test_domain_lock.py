# SPDX-License-Identifier: Apache-2.0
"""Runs side by side: each in the first ROS domain that nobody uses."""

from __future__ import annotations

import socket

import pytest

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.run.domain_lock import active_runs, domain_lock, domains_from


def test_others_that_may_be_taken_begin_above_the_own_one() -> None:
    assert domains_from(0) == tuple(range(102))
    assert domains_from(99) == (99, 100, 101, *range(1, 99))
    # A domain whose ports lie higher is taken if it was asked for, no other of its kind.
    assert domains_from(150) == (150, *range(1, 102))


def test_each_run_gets_the_first_free_domain(ros_domains: int) -> None:
    first = ros_domains
    domains = (first, first + 1, first + 2)
    with domain_lock("a") as own, domain_lock("b", domains=domains) as other:
        assert (own, other) == (first, first + 1)
        names = {run.domain: run.scenario for run in active_runs()}
        assert (names[first], names[first + 1]) == ("a", "b")
        with pytest.raises(ConfigurationError, match=f"another run uses ROS domain {first};"):
            domain_lock("c").__enter__()
        with pytest.raises(ConfigurationError, match="use all of 2 ROS domains"):
            domain_lock("c", domains=domains[:2]).__enter__()
    with domain_lock("d", domains=domains) as again:
        assert again == first


def test_domain_of_a_program_that_knows_nothing_of_runs_is_left_alone(ros_domains: int) -> None:
    first = ros_domains
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 7400 + 250 * (first + 1) + 10))
        domains = (first, first + 1, first + 2)
        with domain_lock(), domain_lock(domains=domains) as other:
            assert other == first + 2
