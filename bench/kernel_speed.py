# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Speed of the kernel in every run shape, beside other ways of doing the same.

Three workloads: ``lockstep`` (W1, time synchronisation alone), ``loop`` (W2, plant -> 2 sensors ->
2 controllers -> plant) and ``platoon`` (W3, the main scenario, platoons of 10 to 1,000 vehicles).
With several rounds the cases take turns, and the table at the end has medians. Prints tables, says
which ratios to a peer fell since the last run, and writes JSON; docs/benchmarks.md says what the
figures mean.

    python bench/kernel_speed.py [--quick] [--rounds 5] [--only loop] [--subjects ros star]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# Run as a file: the project lies beside this directory.
sys.path[:0] = [str(_HERE), str(_HERE.parent)]

from speed_page import medians, write_page  # noqa: E402
from speed_ratios import compared, last_ratios, ratios  # noqa: E402
from speed_result import Result  # noqa: E402

from ros2_cosim import compiled  # noqa: E402

SHAPES = ("inproc", "composed", "ros")
LOOP_SIZE = 5
SIZES = (2, 4, 8, 16)


@dataclass(frozen=True)
class Case:
    """One line of the table: ``needs`` is the distribution that may be missing.

    With ``pure`` it runs in a separate process that leaves the compiled modules aside.
    """

    workload: str
    subject: str
    target: str
    sim_s: float
    quick_s: float
    needs: str = ""
    pure: bool = False


CASES = (
    Case("loop", "plain calls", "speed_baselines:floor", 500.0, 5.0),
    Case("loop", "inproc", "", 50.0, 10.0),
    Case("loop", "inproc, pure", "", 50.0, 2.0, pure=True),
    Case("loop", "composed", "", 50.0, 10.0),
    Case("loop", "ros", "", 50.0, 10.0, "rclpy"),
    Case("loop", "ros own", "", 50.0, 10.0, "rclpy"),
    Case("loop", "star", "speed_baselines:star_loop", 50.0, 1.0),
    Case("loop", "bare rclpy", "speed_rclpy:rclpy_loop", 20.0, 1.0, "rclpy"),
    Case("loop", "helics", "speed_helics:helics_loop", 20.0, 0.4, "helics"),
    Case("loop", "mosaik", "speed_mosaik:mosaik_loop", 20.0, 0.4, "mosaik"),
    Case("lockstep", "inproc", "", 50.0, 2.0),
    Case("lockstep", "inproc, pure", "", 50.0, 2.0, pure=True),
    Case("lockstep", "composed", "", 50.0, 2.0),
    Case("lockstep", "ros", "", 20.0, 10.0, "rclpy"),
    Case("lockstep", "ros own", "", 20.0, 10.0, "rclpy"),
    Case("lockstep", "star", "speed_baselines:star_lockstep", 50.0, 1.0),
    Case("lockstep", "helics", "speed_helics:helics_lockstep", 5.0, 0.2, "helics"),
    Case("lockstep", "mosaik", "speed_mosaik:mosaik_lockstep", 5.0, 0.2, "mosaik"),
    Case("platoon", "inproc", "speed_platoon:inproc", 60.0, 0.5),
    Case("platoon", "inproc, pure", "speed_platoon:inproc", 60.0, 0.5, pure=True),
    Case("platoon", "inproc, own laws", "speed_platoon:with_user_laws", 60.0, 0.5),
    Case("platoon", "libsumo", "speed_sumo:platoon", 60.0, 0.5, "libsumo"),
    Case("platoon", "composed", "speed_platoon:composed", 60.0, 0.5, "rclpy"),
    Case("platoon", "ros", "speed_platoon:ros", 60.0, 0.5, "rclpy"),
)

#: Participants of a workload, or vehicles; the shapes with processes drive the main scenario only.
SIZES_OF = {"loop": (LOOP_SIZE,), "lockstep": SIZES, "platoon": (3,)}
#: Of long platoons, by subject.
LONG = {
    "inproc": (3, 10, 100, 1000),
    "inproc, pure": (3, 10, 100),
    "inproc, own laws": (100,),
    "libsumo": (100,),
}
#: Length of a run of a long platoon, times its vehicles [s]; at least one second is simulated.
VEHICLE_SECONDS = 300.0


def sizes_of(case: Case, chosen: argparse.Namespace) -> tuple[int, ...]:
    """The sizes that a case is measured with."""
    if case.workload == "lockstep" and chosen.sizes:
        return tuple(chosen.sizes)
    if case.workload == "platoon":
        long = LONG.get(case.subject, SIZES_OF["platoon"])
        return long[:1] if chosen.quick else long
    return SIZES_OF[case.workload]


def seconds_of(case: Case, size: int, chosen: argparse.Namespace) -> float:
    """Simulated time of a case."""
    if chosen.quick:
        return case.quick_s
    scaled = case.sim_s * chosen.scale
    return min(scaled, max(VEHICLE_SECONDS / size, 1.0)) if case.workload == "platoon" else scaled


def measure_pure(case: Case, size: int, sim_s: float, bag: bool) -> Result:
    """Run one case in a process without the compiled modules."""
    given = {"case": case.workload, "size": size, "sim_s": sim_s, "bag": bag}
    done = subprocess.run(
        [sys.executable, __file__, "--one", json.dumps(given)],
        env={**os.environ, "COSIM_PURE": "1"},
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return Result(**json.loads(done.stdout.splitlines()[-1]))


def measure_one(text: str) -> None:
    """Measure shape ``inproc`` as :func:`measure_pure` asks for it, and print the result."""
    given = json.loads(text)
    (case,) = (c for c in CASES if (c.workload, c.subject) == (given["case"], "inproc"))
    with tempfile.TemporaryDirectory() as work:
        result = measure(case, given["size"], given["sim_s"], given["bag"], Path(work))
    print(json.dumps(asdict(result)))


def measure(case: Case, size: int, sim_s: float, bag: bool, work: Path) -> Result:
    """Run one case."""
    if case.pure:
        return replace(measure_pure(case, size, sim_s, bag), subject=case.subject)
    if not case.target:
        from speed_shapes import run_shape

        out = work / f"{case.workload}-{case.subject}-{size}"
        return run_shape(case.workload, case.subject, size, sim_s, bag, out)
    module, _, name = case.target.partition(":")
    function: Callable[[int, float], Result] = getattr(importlib.import_module(module), name)
    return function(size, sim_s)


def missing(case: Case) -> str:
    """Why a case cannot run here; empty if it can."""
    if case.needs and importlib.util.find_spec(case.needs) is None:
        return f"{case.needs} is not installed"
    return ""


def run_all(chosen: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure all chosen cases; print each line as it comes."""
    print(f"{'workload':9s} {'subject':12s} {'size':>4s} {'rtf':>9s} {'steps/s':>9s} "
          f"{'cpu ms/sim s':>12s} {'messages/s':>10s}  note")  # fmt: skip
    for case in CASES:
        if case.workload not in chosen.only:
            continue
        if chosen.subjects and case.subject not in chosen.subjects:
            continue
        for size in sizes_of(case, chosen):
            line = {"workload": case.workload, "subject": case.subject, "size": size}
            reason = missing(case)
            if not reason:
                sim_s = seconds_of(case, size, chosen)
                with tempfile.TemporaryDirectory() as work:
                    try:
                        result = measure(case, size, sim_s, chosen.bag, Path(work))
                    except Exception as error:
                        if not case.target or case.workload == "platoon":
                            raise  # a shape of this project has to work
                        reason = f"failed: {type(error).__name__}: {error}"
            if reason:
                print(f"{case.workload:9s} {case.subject:12s} {size:4d} {'':43s}  {reason}")
                yield {**line, "missing": reason}
                continue
            print(
                f"{case.workload:9s} {case.subject:12s} {size:4d} {result.rtf:9.1f} "
                f"{result.steps_per_s:9.0f} {1e3 * result.cpu_per_sim_s:12.2f} "
                f"{result.messages / result.wall_s:10.0f}  {result.note}",
                flush=True,
            )
            yield result.as_dict()


def print_medians(results: list[dict[str, Any]]) -> None:
    """The medians of several rounds."""
    print("\nmedians")
    for (workload, subject, size), same in medians(results).items():
        rtf, steps, cpu = map(statistics.median, same)
        print(f"{workload:9s} {subject:12s} {size:4d} {rtf:9.1f} {steps:9.0f} {1e3 * cpu:12.2f}")


def print_breakdown(results: list[dict[str, Any]]) -> None:
    """Where the time goes, for the runs of our shapes."""
    for result in results:
        if not result.get("participants") or result["workload"] != "loop":
            continue
        print(f"\n{result['workload']}, {result['subject']}, size {result['size']}: wall time [us] "
              "per activation, processor time [us] per simulated second")  # fmt: skip
        print(f"{'':12s} {'compute':>8s} {'transport':>9s} {'wait':>9s} {'processor':>9s}")
        names = list(dict.fromkeys([*result["participants"], *result["processes"]]))
        for name in names:
            parts = result["participants"].get(name, {})
            cells = [parts.get(f"{kind}_us", 0.0) for kind in ("compute", "transport", "wait")]
            cpu = result["processes"].get(name)
            text = f"{cpu:9.0f}" if cpu is not None else ""
            print(f"{name:12s} {cells[0]:8.1f} {cells[1]:9.1f} {cells[2]:9.1f} {text}")


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    versions = {}
    for name in ("ros-jazzy-rclpy", "ros-fastrtps", "helics", "mosaik"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    return {
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "python": platform.python_version(),
        "compiled": compiled.describe(),
        "versions": versions,
    }


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smoke test of a few seconds")
    parser.add_argument("--only", nargs="+", choices=tuple(SIZES_OF), default=list(SIZES_OF),
                        help="workloads")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=1, help="rounds of each case, alternately")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    subjects = sorted({case.subject for case in CASES})
    parser.add_argument("--subjects", nargs="+", choices=subjects, help="lines of the table")
    parser.add_argument("--sizes", nargs="+", type=int, help="participants in lockstep")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on simulated durations")
    parser.add_argument("--bag", action="store_true", help="our shapes record a bag, too")
    parser.add_argument("--out", type=Path, default=Path("out/bench/kernel_speed.json"))
    parser.add_argument("--page", type=Path, help="write the table into this page")
    chosen = parser.parse_args()
    if chosen.one:
        measure_one(chosen.one)
        return 0
    chosen.sizes = chosen.sizes or ([2] if chosen.quick else list(SIZES))
    before = machine()
    print(f"compiled: {before['compiled']}")
    results = [line for _ in range(chosen.rounds) for line in run_all(chosen)]
    if chosen.rounds > 1:
        print_medians(results)
    print_breakdown(results)
    last, now = last_ratios(chosen.out), ratios(results)
    print("\nratios\n" + "\n".join(compared(now, last)))
    document = {
        "machine": before,
        "load_after": os.getloadavg(),
        "results": results,
        # Also of what was not measured this time.
        "ratios": {key: ratio._asdict() for key, ratio in {**last, **now}.items()},
    }
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if chosen.page:
        write_page(chosen.page, results, chosen.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
