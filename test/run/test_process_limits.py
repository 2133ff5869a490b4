# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Limits of the process are found before a run, and named."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.process_limits import check_limits

INFINITE = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[int, tuple[int, int]]]:
    """Limits as a process may have them; those of this one stay."""
    found = {resource.RLIMIT_NOFILE: INFINITE, resource.RLIMIT_AS: INFINITE}
    monkeypatch.setattr(resource, "getrlimit", found.__getitem__)
    monkeypatch.setattr(resource, "setrlimit", found.__setitem__)
    yield found


def test_without_limits_every_run_fits(process: dict[int, tuple[int, int]]) -> None:
    check_limits(10_000)
    assert set(process.values()) == {INFINITE}


def test_too_few_files_are_named(process: dict[int, tuple[int, int]]) -> None:
    process[resource.RLIMIT_NOFILE] = (24, 24)
    with pytest.raises(ConfigurationError) as caught:
        check_limits(12)
    assert str(caught.value) == (
        "limit of open files (ulimit -n): found 24; a run of 12 processes needs 100"
    )


def test_a_soft_limit_is_raised_as_far_as_needed(process: dict[int, tuple[int, int]]) -> None:
    process[resource.RLIMIT_NOFILE] = (24, 4096)
    check_limits(12)
    assert process[resource.RLIMIT_NOFILE] == (100, 4096)
    check_limits(12, on_lane=10)
    assert process[resource.RLIMIT_NOFILE] == (310, 4096)


def test_too_little_memory_is_named(process: dict[int, tuple[int, int]]) -> None:
    process[resource.RLIMIT_AS] = (300_000_000, 300_000_000)
    with pytest.raises(ConfigurationError) as caught:
        check_limits(1)
    assert str(caught.value) == (
        "limit of memory (ulimit -v): found 292968 KiB; a process of a run needs 786432 KiB"
    )
