# SPDX-License-Identifier: Apache-2.0
"""How the commands behave on a terminal: clear errors, exit codes, signals, progress."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ros2_cosim.kernel.errors import CosimError

#: Exit codes: the run or the scenario failed; the run is complete but a verdict is not met.
EXIT_ERROR = 1
EXIT_VERDICT = 3
#: Ended by a signal: this plus the number of the signal, as shells have it.
EXIT_SIGNAL = 128


@contextlib.contextmanager
def clear_errors() -> Iterator[None]:
    """Turn every expected failure into one line and an exit code."""
    try:
        yield
    except CosimError as error:
        print(f"cosim: {error}", file=sys.stderr)
        raise typer.Exit(EXIT_ERROR) from None
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"cosim: {place}{error.strerror or error}", file=sys.stderr)
        raise typer.Exit(EXIT_ERROR) from None
    except KeyboardInterrupt as interrupt:
        number = interrupt.args[0] if interrupt.args else signal.SIGINT
        print(f"cosim: ended by {number.name}", file=sys.stderr)
        raise typer.Exit(EXIT_SIGNAL + number) from None


@contextlib.contextmanager
def ending_in_order(*numbers: signal.Signals) -> Iterator[None]:
    """Treat these signals like Ctrl-C: what has been started is ended before this process."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        # Once is enough; a second one must not cut the tidying up short.
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt(signal.Signals(number))

    former = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def progress_of(name: str, duration_ns: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, a line every five simulated seconds otherwise."""
    if not sys.stdout.isatty():
        told = 0

        def tell(time_ns: int) -> None:
            nonlocal told
            if time_ns // 5_000_000_000 > told:
                told = time_ns // 5_000_000_000
                print(f"{name}: {time_ns / 1e9:.0f} s", flush=True)

        yield tell
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f} s of at most {task.total:.0f} s"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(), transient=True) as bar:
        task = bar.add_task(name, total=duration_ns / 1e9)
        yield lambda time_ns: bar.update(task, completed=time_ns / 1e9)
