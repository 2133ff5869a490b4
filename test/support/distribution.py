# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Distributions of others, which offer something by entry points."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ros2_cosim.core.documents.offered import all_offered


def write_distribution(site: Path, name: str, entries: str, code: str) -> Path:
    """Lay a distribution of one module, of its own name, in a directory for packages.

    :param entries: its entry points: ``[group]`` and lines ``name = module:attribute``
    :returns: the directory
    """
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entries)
    (site / f"{name}.py").write_text(code)
    return site


@contextmanager
def installed(site: Path, name: str, entries: str, code: str) -> Iterator[None]:
    """Have a distribution in this process: see :func:`write_distribution`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(write_distribution(site, name, entries, code))
        all_offered.cache_clear()  # a process looks once
        yield
    all_offered.cache_clear()
