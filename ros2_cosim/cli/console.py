# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How the commands behave on a terminal: clear errors, exit codes, signals, progress, output."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, BinaryIO, TextIO, cast

import typer

from ros2_cosim.cli.read_on import page_about
from ros2_cosim.core.documents.files import in_words
from ros2_cosim.core.kernel.errors import (
    Cancelled,
    ConfigurationError,
    CosimError,
    WithoutEffectWarning,
)
from ros2_cosim.core.process.memory import end_at_once, leave_memory_as_it_is
from ros2_cosim.core.process.processes import signal_of
from ros2_cosim.core.run.process_limits import check_space

if TYPE_CHECKING:
    from ros2_cosim.ros.bringup.control import Visit

#: Exit codes: something failed; the words are wrong; it is complete, but the answer is no: a
#: verdict is not met, or a repeated run is not the same.
EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_VERDICT = 3
#: Ended by a signal: this plus the number of the signal, as shells have it.
EXIT_SIGNAL = 128
#: Wall time [s] after which a signal that was dropped comes once more.
AGAIN_S = 0.01


#: With less address space [bytes] some libraries end the process or fail without an error.
LEAST_SPACE = 256 << 20
#: Texts of errors that a lack of address space causes: a library or a source file cannot be loaded,
#: a thread cannot start, the interpreter cannot allocate an object.
_LACKS_SPACE = (
    "can't load unicodedata",
    "failed to map segment",
    "annot allocate memory",
    "can't start new thread",
    "cannot create thread",
    "without setting an exception",
    "error return without exception set",
)


def lacks_space(error: BaseException) -> bool:
    """Whether an error, or what led to it, comes from a limit of the address space."""
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return False
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, MemoryError) or any(text in str(found) for text in _LACKS_SPACE):
            return True
        found = found.__cause__ or found.__context__
    return False


def _told(error: BaseException) -> str:
    """The line that an error prints."""
    if lacks_space(error):
        return "out of memory (limit of memory, ulimit -v)"
    return in_words(error)


def show_error(line: str) -> None:
    """Print an error; on a terminal, where a person reads it, also the page that says more.

    Programs that read standard error get one line.
    """
    print(f"cosim: {line}", file=sys.stderr, flush=True)
    if sys.stderr.isatty() and (page := page_about(line)):
        print(f"Read on: {page}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def small_spaces() -> Iterator[None]:
    """An error of memory in a small address space prints one line; in one too small the command
    does not start.

    There some libraries end the process by themselves.
    """
    try:
        check_space("cosim", LEAST_SPACE)
        yield
    except Exception as error:
        if not (isinstance(error, ConfigurationError) or lacks_space(error)):
            raise
        print(f"cosim: {_told(error)}", file=sys.stderr)
        sys.exit(EXIT_ERROR)


@contextlib.contextmanager
def clear_errors() -> Iterator[None]:
    """Turn every expected failure into one line and an exit code."""
    try:
        yield
    except (CosimError, OSError, MemoryError) as error:
        if isinstance(sys.stdout, GuardedStream) and error is sys.stdout.lost:
            raise  # safe_output deals with it
        show_error(_told(error))
        raise typer.Exit(EXIT_ERROR) from None
    except (KeyboardInterrupt, Cancelled) as interrupt:
        number = signal_of(interrupt)
        print(f"cosim: ended by {number.name}", file=sys.stderr)
        raise typer.Exit(EXIT_SIGNAL + number) from None


def refuse_beside(context: typer.Context, choice: str, parameters: str) -> None:
    """Check that nothing was given that would be dropped.

    :param choice: the option that leaves no room for the others, as the user knows it
    :param parameters: names of their parameters in the command, with spaces between
    :raises ConfigurationError: one of them was given
    """
    options = {parameter.name: parameter for parameter in context.command.params}
    for name in parameters.split():
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            option = options[name].opts[0]
            raise ConfigurationError(f"{option}: found with {choice}; allowed is only one of them")


def go_on_apart(subject: str = "the run", *, outlasts: bool = False) -> memoryview | None:
    """Go on in a process apart, if this one is the command: see :mod:`ros2_cosim.core.run.apart`.

    :param subject: what this process does, as the error names it
    :param outlasts: whether it outlasts a run in which a participant does not return
    :returns: where a subject that is not a run notes its simulated time [ns]; None: it is not read
    """
    from ros2_cosim.core.run import apart

    if _program == [os.getpid()]:
        apart.go_on_apart(None if outlasts else _leave_stuck, subject)
    place = apart.here()
    return None if place is None else place.moment


def _leave_stuck(line: str) -> None:
    """Show why a run cannot go on whose thread does not come back, and end this process."""
    show_error(line)
    if sys.stdout is not None:
        sys.stdout.flush()
    os._exit(EXIT_ERROR)


@contextlib.contextmanager
def visiting() -> Iterator[Visit]:
    """A visit to a run, which ends when a failure has been shown and the exit code is known."""
    from ros2_cosim.ros.bringup.control import Visit

    visit, code = Visit(), EXIT_ERROR
    try:
        with clear_errors():
            yield visit
        code = 0
    except typer.Exit as ended:
        code = ended.exit_code
        raise
    finally:
        visit.leave(code)


class GuardedStream(io.TextIOWrapper):
    """Standard output or error; when it cannot be written (a full disk, a closed pipe), once.

    Later output is dropped. Otherwise the interpreter would complain at its end, too.

    :param name: in the message to the user
    :ivar goes_on: whether a command goes on without it; else the first loss is raised
    :ivar lost: why it could not be written
    :ivar raised: whether that has ended the command
    """

    def __init__(self, stream: TextIO, name: str, *, goes_on: bool = False) -> None:
        assert isinstance(stream, io.TextIOWrapper), stream
        by_line, at_once = stream.line_buffering, stream.write_through
        encoding, errors = stream.encoding, stream.errors
        # The stream given cannot be used any more.
        below = cast("BinaryIO", stream.detach())
        super().__init__(below, encoding, errors, line_buffering=by_line, write_through=at_once)
        self._name = name
        self.goes_on = goes_on
        self.lost: OSError | None = None
        self.raised = False

    def write(self, text: str, /) -> int:
        """Write, as far as that is possible.

        :raises OSError: it is not, for the first time, and the command does not go on without
        """
        try:
            return super().write(text)
        except OSError as error:
            self._lose(error)
            return len(text)

    def flush(self) -> None:
        """Hand everything to the operating system; raises as :meth:`write`."""
        try:
            super().flush()
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        self.lost = OSError(error.errno, error.strerror, self._name)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)
        if not self.goes_on:
            self.raised = True
            raise self.lost


def open_closed_streams() -> None:
    """Stand in for standard streams that the caller has closed, as cron and services may do.

    Output to it is dropped, and no file or socket that is opened later, here or in a
    process that is started, has their numbers.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
            os.set_inheritable(number, True)
    # The interpreter has None for what was closed when it started.
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")


@contextlib.contextmanager
def safe_output() -> Iterator[None]:
    """Standard output and error that may fail; ends the process with the exit code of a command.

    With standard streams that are closed nothing is printed, and nothing fails. An output that is
    lost is one line on standard error; but a reader that has enough of what a command only prints,
    as head has, is not an error: the exit code is that of programs that it ends by SIGPIPE.
    """
    open_closed_streams()
    sys.stderr = GuardedStream(sys.stderr, "standard error", goes_on=True)
    output = sys.stdout = GuardedStream(sys.stdout, "standard output")
    code: str | int | None = None
    try:
        yield
    except SystemExit as ended:
        code = ended.code
    except OSError as error:
        if error is not output.lost:
            raise
    # Written at the latest now.
    works, output.goes_on = output.goes_on, True
    output.flush()
    if output.lost is not None:
        has_enough = output.lost.errno == errno.EPIPE and not works
        if not has_enough:
            print(f"cosim: {in_words(output.lost)}", file=sys.stderr)
        if output.raised or not code:
            code = EXIT_SIGNAL + signal.SIGPIPE if has_enough else EXIT_ERROR
    if _program and _program != [os.getpid()] and not isinstance(code, str):
        end_at_once(code or 0)  # a process apart has nothing to come back to
    sys.exit(code)


def go_on_without_output() -> None:
    """Let a command do its work though nothing can be shown any more; that is an error at its end.

    A run of hours is not lost because the program that reads its progress has ended.
    """
    if isinstance(sys.stdout, GuardedStream):
        sys.stdout.goes_on = True


def show_notes() -> None:
    """Print what of a scenario has no effect, as one line each."""
    others = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, WithoutEffectWarning):
            print(f"cosim: note: {message}", file=sys.stderr)
        else:
            others(message, category, filename, lineno, file, line)

    warnings.showwarning = show
    warnings.simplefilter("always", WithoutEffectWarning)


@contextlib.contextmanager
def ending_in_order(*numbers: signal.Signals) -> Iterator[None]:
    """Treat these signals like Ctrl-C: what has been started is ended before this process."""
    told: list[KeyboardInterrupt] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        # Once is enough; a second one must not cut the tidying up short. With SIG_IGN Python would
        # complain of one that has arrived already.
        for each in numbers:
            signal.signal(each, _nothing)
        told[:] = [KeyboardInterrupt(signal.Signals(number))]
        raise told[0]

    def unraisable(found: sys.UnraisableHookArgs) -> None:
        if not told or found.exc_value is not told[0]:
            others(found)
            return
        # It has come in a destructor, where Python drops what is raised: it comes once more.
        signal.signal(signal.SIGALRM, lambda number, frame: interrupt(told[0].args[0], frame))
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)

    others, sys.unraisablehook = sys.unraisablehook, unraisable
    former = {number: signal.signal(number, interrupt) for number in numbers}
    alarm = signal.getsignal(signal.SIGALRM)
    try:
        yield
    except (CosimError, OSError, MemoryError, typer.Exit):
        raise
    except Exception as error:
        # What the handler raises while pydantic builds a validator comes out as its SchemaError.
        if told:
            raise told[0] from error
        raise
    finally:
        if told:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, alarm)
        for number, handler in former.items():
            signal.signal(number, handler)
        sys.unraisablehook = others


def _nothing(number: int, frame: object) -> None:
    """Handler of a signal that comes after the first one."""


@contextlib.contextmanager
def running() -> Iterator[None]:
    """Around a command that makes runs: clear errors, an end in order, output that may fail."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    go_on_without_output()
    with clear_errors(), ending_in_order(*signals):
        yield


@contextlib.contextmanager
def progress_of(name: str, duration_ns: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, a line every five simulated seconds otherwise."""
    if not sys.stdout.isatty():
        printed = 0

        def tell(time_ns: int) -> None:
            nonlocal printed
            if time_ns // 5_000_000_000 != printed:  # less, where the run has begun anew
                printed = time_ns // 5_000_000_000
                if printed == 0:
                    return
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


def print_line(name: str, line: str) -> None:
    """Show a line that a process of a run has printed."""
    # One write: a thread for each process prints its lines.
    sys.stderr.write(f"[{name}] {line}\n")


_program: list[int] = []


def becomes_program() -> None:
    """Note that this process is the command: it is its own, and no other program's."""
    leave_memory_as_it_is()
    _program[:] = [os.getpid()]
