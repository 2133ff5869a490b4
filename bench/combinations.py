# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs of many combinations, in parallel and over several calls; their results are kept."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

#: One run; a dataclass of plain values.
CombinationT = TypeVar("CombinationT")


def parser_of(description: str | None, seeds: int) -> argparse.ArgumentParser:
    """Options of a bench that calls :func:`rows_of`; it may add its own."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--out", type=Path, help="results, one JSON document a line")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after this time")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    return parser


def rows_of(
    combinations: Iterable[CombinationT],
    run: Callable[[CombinationT], dict[str, Any]],
    is_told: Callable[[dict[str, Any]], bool],
    options: argparse.Namespace,
) -> list[dict[str, Any]]:
    """The results of combinations: those that a file has, and those of the runs that are left.

    :param run: makes the result of a combination, with its fields first
    :param is_told: whether a result is printed at once
    :param options: of :func:`parser_of`
    """
    rows: list[dict[str, Any]] = []
    if options.out is not None and options.out.is_file():
        rows = [json.loads(line) for line in options.out.read_text().splitlines()]
    left = []
    for chosen in combinations:
        fields = asdict(chosen)  # type: ignore[call-overload]
        if not any(fields.items() <= row.items() for row in rows):
            left.append(chosen)
    until = time.monotonic() + options.seconds
    with get_context("spawn").Pool(options.workers) as pool:
        for row in pool.imap_unordered(run, left):
            rows.append(row)
            if options.out is not None:
                with options.out.open("a") as results:
                    results.write(json.dumps(row) + "\n")
            if is_told(row):
                print("found:", json.dumps(row), file=sys.stderr, flush=True)
            if time.monotonic() > until:
                break
        pool.terminate()
    return rows
