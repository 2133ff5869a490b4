# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Chaos: random runs in which random processes are killed, frozen, late, or answer twice.

Each run has to end as the rules say, within the limits, and leave nothing behind:

==============  ======================================================================
none            complete
kill            exit code 1; the line names the process
freeze          stopped by the watchdog; the line names the process
freeze briefly  complete (SIGSTOP, a second later SIGCONT)
late            complete: a participant starts up to three seconds late
too late        not ready within ``startup_s``: the line names the participant
message twice   stopped: the reader that saw it names the connection
answer twice    complete: a completion that comes again changes nothing
==============  ======================================================================

Complete means: the trace is that of the undisturbed run in shape inproc.

    python bench/chaos.py [--runs 200] [--seed 1] [--jobs 2] [--only kill freeze] [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).resolve().parent
# Run as a file: the project lies beside this directory.
sys.path[:0] = [str(_HERE), str(_HERE.parent)]

from chaos_system import ring  # noqa: E402

from ros2_cosim.core.messages.namespaces import process_name_of  # noqa: E402
from ros2_cosim.core.run.inproc import run_inproc  # noqa: E402
from ros2_cosim.core.scenario.schema import make_scenario  # noqa: E402
from ros2_cosim.ros.bringup.dds import USER_CHOICES  # noqa: E402
from ros2_cosim.ros.bringup.domain_lock import claim, listened_to  # noqa: E402

WATCHDOG_S = 3.0
STARTUP_S = 15.0
DURATION_MS = 4000
#: From the disturbance, or the start, to the end of the run [s]: patience of the watchdog, of
#: processes that wait for the clock, and of processes asked to end, on a machine that is busy.
LIMIT_S = 60.0
#: A run that takes so long [s] is taken for one that hangs.
HANG_S = 180.0
MARK = "ROS2_COSIM_CHAOS_MARK"
KINDS = (
    "none", "kill", "freeze", "freeze briefly", "late", "too late", "message twice",
    "answer twice",
)  # fmt: skip
#: What another program sends: on the lane of a run it would not be heard.
ECHOED = ("message twice", "answer twice")
WEIGHTS = (1, 6, 5, 3, 3, 1, 3, 2)


class Case(NamedTuple):
    """One run: its kind, how many participants, which one is disturbed, and when [s]."""

    number: int
    kind: str
    size: int
    victim: str
    after_s: float


@dataclass(frozen=True)
class Outcome:
    """How a run ended, and what was wrong with that (empty: nothing)."""

    number: int
    kind: str
    size: int
    victim: str
    after_s: float
    code: int
    line: str
    ended_s: float
    wrong: str


def draw(number: int, seed: int, only: tuple[str, ...]) -> Case:
    """The case of a number: the same for the same seed."""
    dice = random.Random(f"{seed} {number}")
    kinds = [k for k in KINDS if k in only]
    kind = dice.choices(kinds, [WEIGHTS[KINDS.index(k)] for k in kinds])[0]
    size = dice.randint(2, 5)
    participants = [f"stage{index}" for index in range(size)]
    victims = participants
    if kind in ("kill", "freeze", "freeze briefly"):
        victims = [*participants, "recorder", "clock"]
    return Case(number, kind, size, dice.choice(victims), dice.uniform(0.0, 3.0))


def perform(case: Case, directory: Path, limit_s: float = LIMIT_S) -> Outcome:
    """Make one run, disturb it, and judge how it ended."""
    directory.mkdir()
    scenario = directory / "ring.json"
    settings = {"watchdog_s": WATCHDOG_S, "startup_s": STARTUP_S}
    data = ring(case.size, DURATION_MS, **settings)
    if case.kind in ("late", "too late"):
        delay = case.after_s if case.kind == "late" else STARTUP_S + 5.0
        data["participants"][case.victim]["parameters"] = {"start_delay_s": delay}
    scenario.write_text(json.dumps(data))
    mapped: list[str] = []
    with claim() as domain:
        environment = clean_environment(domain, directory)
        run = subprocess.Popen(
            [sys.executable, "-m", "ros2_cosim.cli.main", "run", str(scenario)]
            + ["--out", str(directory / "out"), "--rate", "1", "--no-bag"]
            + ["--transport", "dds" if case.kind in ECHOED else "auto"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        disturbed = time.monotonic()
        try:
            if case.kind not in ("none", "late", "too late"):
                disturbed = disturb(case, run, environment, mapped)
            out, errors = run.communicate(timeout=HANG_S)
        except subprocess.TimeoutExpired:
            run.kill()
            out, errors = run.communicate()
            errors += "\nthe run hung"
        ended = time.monotonic() - disturbed
        left = leftovers(environment[MARK], domain)
    left += [f"shared memory {name}" for name in mapped if Path(f"/dev/shm/{name}").exists()]
    lines = [line for line in errors.splitlines() if not line.startswith("[")]
    line = lines[-1] if lines else ""
    wrong = judge(case, run.returncode, lines, directory / "out" / "summary.json")
    if not wrong and ended > limit_s:
        wrong = f"took {ended:.0f} s"
    if left:
        wrong = "; ".join(filter(None, [wrong, "left behind: " + ", ".join(left)]))
    return Outcome(*case, run.returncode, line, ended, wrong)


def disturb(
    case: Case, run: subprocess.Popen[str], environment: dict[str, str], mapped: list[str]
) -> float:
    """Wait until all processes are there, and then for the time; the moment of the deed.

    :param mapped: filled with the middleware's files in shared memory that they use
    """
    expected = case.size + 2
    while len(children := children_of(run.pid)) < expected:
        if run.poll() is not None:
            return time.monotonic()
        time.sleep(0.02)
    if case.kind in ECHOED:
        topic = "/cosim/completion/" if case.kind == "answer twice" else "/"
        topic += case.victim if case.kind == "answer twice" else f"{case.victim}/out"
        command = [sys.executable, str(_HERE / "chaos_echo.py"), topic, str(case.after_s)]
        echo = {**environment, "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}
        subprocess.run(command, env=echo, timeout=HANG_S, check=False)
        return time.monotonic()
    time.sleep(case.after_s)
    mapped += sorted(shared_memory(children.values()))
    now = time.monotonic()
    with suppress(ProcessLookupError, KeyError):
        victim = children[case.victim]
        os.kill(victim, signal.SIGKILL if case.kind == "kill" else signal.SIGSTOP)
        if case.kind == "freeze briefly":
            time.sleep(1.0)
            os.kill(victim, signal.SIGCONT)
    return now


def judge(case: Case, code: int, lines: list[str], summary: Path) -> str:
    """What is wrong with the end of a run; empty if it is as the rules say."""
    line = lines[-1] if lines else ""
    complete = code == 0 and summary.exists()
    if complete:
        # Whatever came too late to disturb has not changed anything, either.
        found = json.loads(summary.read_text())["trace_sha256"]
        return "" if found == reference(case.size) else "complete, but with another trace"
    if case.kind in ("none", "freeze briefly", "late", "answer twice"):
        return f"not complete: {line}"
    wanted = {
        "kill": (f"process '{case.victim}' was killed by SIGKILL",),
        "freeze": (f"stopped by a signal: {case.victim}",),
        "too late": (case.victim, "to become ready"),
        "message twice": ("participant '", "recorder: "),
    }[case.kind]
    named = any(text in line for text in wanted)
    if case.kind == "too late":
        named = all(text in line for text in wanted)
    if case.kind == "message twice":
        named = named and f"input from {case.victim}.out" in line
    if not named:
        return f"does not name the cause: {line}"
    if len(lines) != 1:
        return f"{len(lines)} lines: {lines}"
    if summary.exists() and json.loads(summary.read_text()).get("complete", True):
        return "the summary calls the run complete"
    return "" if code == 1 else f"exit code {code}"


_references: dict[int, str] = {}


def reference(size: int) -> str:
    """The trace of the undisturbed run."""
    if size not in _references:
        scenario = make_scenario(ring(size, DURATION_MS), "ring")
        with tempfile.TemporaryDirectory() as directory:
            found = run_inproc(scenario, Path(directory), record=False).trace_sha256
        _references[size] = found
    return _references[size]


def clean_environment(domain: int, logs: Path) -> dict[str, str]:
    """The environment of one run: a domain and its own mark."""
    environment = {k: v for k, v in os.environ.items() if k not in USER_CHOICES}
    path = [str(_HERE), str(_HERE.parent), environment.get("PYTHONPATH", "")]
    return {
        **environment,
        "PYTHONPATH": os.pathsep.join(filter(None, path)),
        "ROS_DOMAIN_ID": str(domain),
        "ROS_LOG_DIR": str(logs / "log"),
        MARK: uuid.uuid4().hex,
    }


def children_of(parent: int) -> dict[str, int]:
    """Process ids of a run's ROS nodes by their names."""
    found = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if int((directory / "stat").read_text().rpartition(")")[2].split()[1]) != parent:
                continue
            words = (directory / "cmdline").read_text().replace("\0", " ").split()
        except (OSError, IndexError):
            continue
        given = [w.removeprefix("process:=") for w in words if w.startswith("process:=")]
        shared = list(map(json.loads, given))
        nodes = [w.removeprefix("__node:=") for w in words if w.startswith("__node:=")]
        names = shared or list(map(process_name_of, nodes))
        if names:
            found[names[0]] = int(directory.name)
    return found


def leftovers(mark: str, domain: int) -> list[str]:
    """Processes and ports of a run that are still there some seconds after its end."""
    needle = f"{MARK}={mark}".encode()
    deadline = time.monotonic() + 10.0
    while True:
        found = {}
        for directory in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if needle in (directory / "environ").read_bytes().split(b"\0"):
                    command = (directory / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(directory.name)] = command.decode().strip()
        ports = [f"port of domain {domain}"] if listened_to(domain) else []
        if not (found or ports) or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return [*(f"process {command}" for command in found.values() if command), *ports]


def shared_memory(pids: Iterable[int]) -> set[str]:
    """Files of the middleware in shared memory that these processes use."""
    found = set()
    for pid in pids:
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines():
                _, shared, name = line.partition("/dev/shm/")
                if shared and "fastrtps" in name:
                    found.add(name)
    return found


def table(outcomes: list[Outcome]) -> str:
    """What came of the runs, by kind."""
    lines = [
        "| kind | runs | as the rules say | median s | longest s |",
        "|---|---:|---:|---:|---:|",
    ]
    for kind in KINDS:
        mine = [o for o in outcomes if o.kind == kind]
        if mine:
            times = sorted(o.ended_s for o in mine)
            good = sum(not o.wrong for o in mine)
            middle = times[len(times) // 2]
            lines.append(f"| {kind} | {len(mine)} | {good} | {middle:.1f} | {times[-1]:.1f} |")
    good = sum(not o.wrong for o in outcomes)
    lines.append(f"| all | {len(outcomes)} | {good} | | |")
    return "\n".join(lines)


def main() -> int:
    """Make the runs; exit code 1 if one of them ended otherwise than the rules say."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="for the end of a run [s]")
    parser.add_argument("--out", type=Path, default=Path("out/bench/chaos.json"))
    options = parser.parse_args()
    cases = [draw(n, options.seed, tuple(options.only)) for n in range(options.runs)]
    for size in {case.size for case in cases}:
        reference(size)
    outcomes: list[Outcome] = []
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(
            lambda case: perform(case, Path(scratch) / str(case.number), options.limit), cases
        ):
            outcomes.append(outcome)
            mark = outcome.wrong or "ok"
            print(
                f"{outcome.number:4} {outcome.kind:14} {outcome.victim:9} of {outcome.size} "
                f"after {outcome.after_s:.2f} s: ended {outcome.ended_s:.1f} s later: {mark}",
                flush=True,
            )
            options.out.write_text(json.dumps([asdict(o) for o in outcomes], indent=1) + "\n")
    print(table(outcomes))
    return int(any(outcome.wrong for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
