# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Shaken: a command whose processes are delayed at random, to find what is right only on a quiet
machine.

System calls by which processes meet (files, locks, sockets, signals) are delayed by up to 80 ms
(``shaken_calls.c``, which gcc makes into a library for LD_PRELOAD), a process begins up to 200 ms
later, and with ``--stop`` random processes stand still for moments of up to 0.6 s. Each delay is
one that a busy machine or a slow disk may bring, too. The exit code is that of the command.

    python bench/shaken.py [--stop] [--seed 1] -- .venv/bin/python -m pytest test/runs
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

SOURCE = Path(__file__).with_name("shaken_calls.c")
MARK = "ROS2_COSIM_SHAKEN_MARK"
#: How long processes stand still, and how long all of them go on in between [s].
STOPS_S = (0.01, 0.05, 0.1, 0.3, 0.6)
GOING_S = (0.02, 0.2)


def build(directory: Path) -> Path:
    """The library, made in a directory.

    :raises OSError: there is no gcc
    :raises subprocess.CalledProcessError: it does not compile here
    """
    library = directory / "shaken_calls.so"
    command = ["gcc", "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True)
    return library


def environment_of(library: Path, mark: str) -> dict[str, str]:
    """The environment of the command: that of this process, with the library."""
    loaded = [os.environ["LD_PRELOAD"]] if "LD_PRELOAD" in os.environ else []
    return os.environ | {"LD_PRELOAD": " ".join([str(library), *loaded]), MARK: mark}


def running(mark: str) -> Iterator[int]:
    """The processes with a mark that do not stand still already."""
    needle = f"{MARK}={mark}".encode()
    for directory in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state = (directory / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
            if state in "RSD" and needle in (directory / "environ").read_bytes().split(b"\0"):
                yield int(directory.name)


def stop_some(mark: str, drawn: random.Random) -> None:
    """Let one or two processes stand still for a moment."""
    found = list(running(mark))
    chosen = drawn.sample(found, min(len(found), drawn.choice((1, 1, 2))))
    for sent, wait_s in ((signal.SIGSTOP, drawn.choice(STOPS_S)), (signal.SIGCONT, 0.0)):
        for process in chosen:
            with suppress(ProcessLookupError):
                os.kill(process, sent)
        time.sleep(wait_s)


def shake(command: list[str], environment: Mapping[str, str], seed: int | None) -> int:
    """Run a command; its exit code.

    :param seed: of the moments at which processes stand still; None: none does
    """
    with subprocess.Popen(command, env=environment) as process:
        drawn = random.Random(seed)
        while seed is not None and process.poll() is None:
            stop_some(environment[MARK], drawn)
            time.sleep(drawn.uniform(*GOING_S))
        return process.wait()


def main(arguments: list[str] | None = None) -> int:
    """Build the library and run the command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--stop", action="store_true", help="processes stand still, too")
    parser.add_argument("--seed", type=int, default=1, help="of those moments")
    parser.add_argument("command", nargs="+", help="after --")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        environment = environment_of(build(Path(scratch)), uuid.uuid4().hex)
        return shake(options.command, environment, options.seed if options.stop else None)


if __name__ == "__main__":
    sys.exit(main())
