# SPDX-License-Identifier: Apache-2.0
"""How the commands behave on a terminal: clear errors, exit codes, signals, progress."""

from __future__ import annotations

import contextlib
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TextIO

import typer

from ros2_cosim.kernel.errors import Cancelled, CosimError, OutdatedWarning

#: Exit codes: something failed; it is complete, but the answer is no: a verdict is not met, or a
#: repeated run is not the same.
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
    except Cancelled as cancelled:
        # A ROS session turns signals into this one, which names them.
        print(f"cosim: ended by {cancelled}", file=sys.stderr)
        number = signal.Signals.__members__.get(str(cancelled), signal.SIGTERM)
        raise typer.Exit(EXIT_SIGNAL + number) from None
    except KeyboardInterrupt as interrupt:
        number = interrupt.args[0] if interrupt.args else signal.SIGINT
        print(f"cosim: ended by {number.name}", file=sys.stderr)
        raise typer.Exit(EXIT_SIGNAL + number) from None


def show_notes() -> None:
    """Print what a scenario should say in a newer way as one line each."""
    others = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, OutdatedWarning):
            print(f"cosim: note: {message}", file=sys.stderr)
        else:
            others(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    warnings.simplefilter("always", OutdatedWarning)


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
        printed = 0

        def tell(time_ns: int) -> None:
            nonlocal printed
            if time_ns // 5_000_000_000 > printed:
                printed = time_ns // 5_000_000_000
                print(f"{name}: {time_ns / 1e9:.0f} s", flush=True)

        yield tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f} s of at most {task.total:.0f} s"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(), transient=True) as bar:
        task = bar.add_task(name, total=duration_ns / 1e9)
        yield lambda time_ns: bar.update(task, completed=time_ns / 1e9)
