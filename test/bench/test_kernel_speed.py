# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.isolation import without_dds_settings

from bench.speed_page import write_page
from bench.speed_ratios import compared, last_ratios, ratios

BENCH = Path(__file__).resolve().parents[2] / "bench" / "kernel_speed.py"


def bench(out: Path, *options: str) -> list[dict[str, object]]:
    """A short run; guarded against hanging only."""
    command = [sys.executable, str(BENCH), "--out", str(out / "speed.json"), *options]
    environment = without_dds_settings(os.environ)
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment)
    assert done.returncode == 0, done.stderr
    document = json.loads((out / "speed.json").read_text())
    assert document["machine"]["cores"] >= 1
    for result in document["results"]:
        assert str(result["subject"]) in done.stdout
    return list(document["results"])


@pytest.mark.usefixtures("ros_domain", "nothing_left")
def test_our_shapes_are_measured(tmp_path: Path) -> None:
    shapes = ["inproc", "composed", "ros", "ros own"]
    options = ("--quick", "--only", "loop", "lockstep")
    results = bench(tmp_path, *options, "--subjects", *shapes)
    assert [(result["workload"], result["subject"]) for result in results] == [
        (workload, shape) for workload in ("loop", "lockstep") for shape in shapes
    ]
    for result in results:
        assert result["rtf"] > 0  # type: ignore[operator]
        assert result["cpu_per_sim_s"] >= 0  # type: ignore[operator]
        assert result["participants"]
    # Plant every 10 ms; sensors and controllers every 40 ms.
    assert {result["messages"] for result in results[:4]} == {1000 + 4 * 250}
    # All four share one process.
    assert {"group1", "recorder", "clock"} <= set(results[2]["processes"])  # type: ignore[call-overload]
    # A process each.
    assert {"idle1", "idle2", "clock"} <= set(results[7]["processes"])  # type: ignore[call-overload]


@pytest.mark.usefixtures("ros_domain", "nothing_left")
def test_baselines_are_measured_or_reported_missing(tmp_path: Path) -> None:
    subjects = ["plain calls", "star", "bare rclpy", "helics", "mosaik"]
    # A hundredth of the simulated time, and the smallest lockstep.
    results = bench(tmp_path, "--scale", "0.01", "--sizes", "2", "--subjects", *subjects)
    assert {result["subject"] for result in results} == set(subjects)
    for result in results:
        if result["subject"] in ("plain calls", "star", "bare rclpy"):
            assert "missing" not in result
        assert "missing" in result or result["rtf"] > 0  # type: ignore[operator]


@pytest.mark.usefixtures("nothing_left")
def test_platoons_are_measured_compiled_and_pure(tmp_path: Path) -> None:
    subjects = ["inproc", "inproc, pure"]
    options = ("--quick", "--only", "platoon", "--rounds", "2")
    results = bench(tmp_path, *options, "--subjects", *subjects)
    assert [result["subject"] for result in results] == subjects * 2
    for result in results:
        assert result["size"] == 3
        assert result["rtf"] > 0  # type: ignore[operator]


def test_the_page_gets_the_medians_the_fastest_first(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- generated: speed -->\nold\n<!-- end of generated -->\nafter\n")
    figures = {"helics": (9.5, 9.7, 9.6), "inproc": (630.4, 610.0, 655.0), "ros": (50.0,) * 3}
    results: list[dict[str, object]] = [
        {"workload": workload, "subject": subject, "size": size, "rtf": rtf, "steps_per_s": 1.0,
         "cpu_per_sim_s": 0.0158 / rtf}
        for workload, sizes in (("loop", (5,)), ("lockstep", (2, 16)))
        for size in sizes
        for subject, factors in figures.items()
        for rtf in factors
    ]  # fmt: skip
    results.append({"workload": "loop", "subject": "mosaik", "size": 5, "missing": "not installed"})
    write_page(page, results, 3)
    lines = page.read_text().splitlines()
    assert (lines[0], lines[-1], lines.count("old")) == ("before", "after", 0)
    assert " medians of 3 rounds; " in lines[3]
    assert [line for line in lines if line.startswith("| W")] == [
        "| Workload | Subject | Size | rtf | lowest to highest | cpu [ms/s] |",
        "| W1 | inproc | 16 | 630 | 610 to 655 | 0.0251 |",
        "| W1 | ros | 16 | 50 | 50 to 50 | 0.316 |",
        "| W1 | helics | 16 | 9.6 | 9.5 to 9.7 | 1.65 |",
        "| W2 | inproc | 5 | 630 | 610 to 655 | 0.0251 |",
        "| W2 | ros | 5 | 50 | 50 to 50 | 0.316 |",
        "| W2 | helics | 5 | 9.6 | 9.5 to 9.7 | 1.65 |",
    ]
    page.write_text("no marks")
    with pytest.raises(ValueError, match="the lines '<!-- generated: speed -->' and"):
        write_page(page, results, 3)


def measured(subject: str, rtf: float, size: int = 16) -> dict[str, object]:
    return {"workload": "lockstep", "subject": subject, "size": size, "rtf": rtf, "sim_s": 2.0}


def test_ratios_to_a_peer_are_compared_with_those_of_the_last_run(tmp_path: Path) -> None:
    missing = {"workload": "loop", "subject": "helics", "size": 5, "missing": "not installed"}
    rows = [measured("ros own", 40.0), measured("ros own", 60.0), measured("ros own", 50.0)]
    before = ratios([*rows, measured("star", 100.0), measured("star", 3.0, size=2), missing])
    assert {key: (r.value, r.peer, r.rounds) for key, r in before.items()} == {
        "lockstep, ros own, 16": (0.5, "star", 3)
    }
    file = tmp_path / "speed.json"
    assert last_ratios(file) == {}
    file.write_text(json.dumps({"ratios": {key: r._asdict() for key, r in before.items()}}))
    assert last_ratios(file) == before
    for rtf, end in [(48.0, "no ratio fell by more than 5%"), (47.0, "lockstep, ros own, 16")]:
        now = ratios([measured("ros own", rtf), measured("star", 100.0)])
        assert compared(now, before)[-1].endswith(end)
    # The host may be slower, and a shorter run is another measurement.
    slow = ratios([measured("ros own", 5.0), measured("star", 10.0)])
    assert compared(slow, before)[-1].startswith("no ratio fell")
    short = {key: r._replace(value=0.1, sim_s=1.0) for key, r in before.items()}
    assert compared(short, before)[-1].startswith("no ratio fell")
    assert compared(before, {})[-1].startswith("no figures")
