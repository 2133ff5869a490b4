# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Fuzz readers of foreign input, guided by the coverage of the code.

    python -m bench.fuzz [TARGET ...] [--seconds 60]

Findings go to ``out/fuzz/TARGET``; the next run continues from there. ``--keep`` makes the
committed corpora anew from it. An input that breaks a reader is kept beside it, and repeated by
``--only FILE``. Needs atheris: ``make setup EXTRAS=fuzz``; repeating and keeping do not.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from contextlib import redirect_stderr
from pathlib import Path
from typing import NamedTuple, NoReturn

from bench.fuzz.corpora import read_corpus, write_corpus
from bench.fuzz.minimise import smallest
from bench.fuzz.target import Target

#: One input may take so long [s] and so much memory [MB]; slower or larger ones are findings.
#: It is time of the wall: on a busy machine a second of work may take twenty.
_LONGEST_S = 120
_MOST_MB = 2048
#: What is guided by its coverage: this project's readers, and those that they call.
_GUIDED_BY = ("ros2_cosim", "yaml", "zipfile", "fmpy", "rosbags", "h11", "uvicorn")
_OUTPUT = Path("out") / "fuzz"


class _Figures(NamedTuple):
    """What libFuzzer says at the end of a run."""

    executions: int
    covered: int
    features: int
    inputs: int
    newest_at: int
    finding: bool


def _child(target: Target, directory: Path, seconds: int) -> NoReturn:
    """Fuzz one target in this process, which libFuzzer ends."""
    import atheris

    stock = directory / "stock"
    stock.mkdir(exist_ok=True)
    for number, data in enumerate([*target.seeds(), *read_corpus(target.name)]):
        (stock / f"seed{number}").write_bytes(data)
    arguments = [
        sys.argv[0],
        f"-max_total_time={seconds}",
        f"-max_len={target.longest}",
        f"-timeout={_LONGEST_S}",
        f"-rss_limit_mb={_MOST_MB}",
        f"-artifact_prefix={directory}/",
        "-print_final_stats=1",
    ]
    if target.words:
        words = directory / "words"
        words.write_text("".join(map(_entry, target.words)))
        arguments.append(f"-dict={words}")
    atheris.Setup([*arguments, str(stock)], lambda data: bool(target.check(data)) and None)
    atheris.Fuzz()
    sys.exit("libFuzzer came back")


def _entry(word: bytes) -> str:
    return '"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n'


def _fuzz(target: Target, seconds: int) -> _Figures:
    """Fuzz one target in its own process: it shares what this one has imported."""
    directory = _OUTPUT / target.name
    directory.mkdir(parents=True, exist_ok=True)
    log = directory / "log"
    process = os.fork()
    if process == 0:
        with log.open("wb") as stream:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
        _child(target, directory, seconds)
    _, status = os.waitpid(process, 0)
    return _figures(log.read_text(errors="replace"), status)


def _figures(log: str, status: int) -> _Figures:
    """The figures in what libFuzzer has printed."""
    covered = features = inputs = newest = executions = 0
    for number, event, found, more, size in re.findall(
        r"^#(\d+)\s+(\w+)\s+cov: (\d+) ft: (\d+) corp: (\d+)", log, re.MULTILINE
    ):
        if event == "NEW" and int(found) > covered:
            newest = int(number)
        covered, features, inputs = int(found), int(more), int(size)
        executions = max(executions, int(number))
    for number in re.findall(r"number_of_executed_units: (\d+)", log):
        executions = int(number)
    return _Figures(executions, covered, features, inputs, newest, status != 0)


def _keep(target: Target) -> int:
    """Make the committed corpus of a target from what was found."""
    found = [path.read_bytes() for path in (_OUTPUT / target.name / "stock").glob("*")]
    chosen = smallest(target, [*read_corpus(target.name), *found])
    write_corpus(target.name, chosen)
    return len(chosen)


def _targets(instrumented: bool) -> dict[str, Target]:
    """All targets; the code that they reach reports its coverage if it is ``instrumented``.

    :raises SystemExit: atheris is not installed
    """
    if not instrumented:
        from bench.fuzz.targets import TARGETS
    else:
        try:
            import atheris
        except ImportError:
            raise SystemExit(
                "fuzzing needs atheris, which is not installed; make setup EXTRAS=fuzz installs it"
            ) from None
        said = io.StringIO()  # a line for each module
        with redirect_stderr(said), atheris.instrument_imports(include=list(_GUIDED_BY)):
            from bench.fuzz.targets import TARGETS
    return TARGETS


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--only", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    targets = _targets(instrumented=not chosen.keep and chosen.only is None)
    unknown = [name for name in chosen.targets if name not in targets]
    if unknown:
        parser.error(f"found {', '.join(unknown)}; targets are {', '.join(targets)}")
    names = chosen.targets or list(targets)
    if chosen.only is not None:
        print("taken" if targets[names[0]].check(chosen.only.read_bytes()) else "refused")
        return 0
    if chosen.keep:
        for name in names:
            print(f"{name}: {_keep(targets[name])} inputs")
        return 0
    findings = 0
    print(f"{'target':16} {'executions':>10} {'covered':>8} {'features':>9} {'newest':>9}")
    for name in names:
        f = _fuzz(targets[name], chosen.seconds)
        findings += f.finding
        end = f"  FINDING, see {_OUTPUT / name / 'log'}" if f.finding else ""
        print(
            f"{name:16} {f.executions:10} {f.covered:8} {f.features:9} {f.newest_at:9}{end}",
            flush=True,
        )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
