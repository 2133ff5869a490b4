# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The traceback of code of the user that ended a run: in a file of the output directory."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ros2_cosim.core.documents.files import in_words
from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.core.run.output_directory import shown

#: In the output directory of a run that failed in code of the user.
TRACEBACK_FILE = "traceback.txt"
_PLACE = "; traceback in "


def noted(error: BaseException, output: Path) -> str:
    """The sentence about an error, which names the file that now has the traceback of its cause.

    An error without a cause says all itself, and a directory that cannot be written keeps none. A
    sentence that names such a file already keeps it, unless that went with the run's directory.

    :param output: the output directory
    """
    sentence = in_words(error) if isinstance(error, CosimError | OSError) else str(error)
    sentence, _, former = sentence.partition(_PLACE)
    if former and Path(former).is_file():
        return f"{sentence}{_PLACE}{former}"
    cause = error.__cause__ if isinstance(error, CosimError) else error
    if cause is None or isinstance(cause, CosimError | OSError | MemoryError):
        return sentence
    path = output / TRACEBACK_FILE
    try:
        output.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{sentence}\n\n{''.join(traceback.format_exception(cause))}\n")
    except OSError:
        return sentence
    return with_place(sentence, output)


def with_place(sentence: str, output: Path) -> str:
    """A sentence that names the file with the traceback, if there is one."""
    path = output / TRACEBACK_FILE
    place = f"{_PLACE}{shown(path)}"
    return sentence if place in sentence or not path.is_file() else sentence + place


@contextmanager
def noting(output: Path) -> Iterator[None]:
    """Keep the traceback of what ends the body of the statement; see :func:`noted`."""
    try:
        yield
    except CosimError as error:
        error.args = (noted(error, output), *error.args[1:])
        raise


@contextmanager
def showing(output: Path, *, wanted: bool) -> Iterator[None]:
    """Print the traceback of what ends the body of the statement, wherever it was raised."""
    try:
        yield
    except CosimError:
        path = output / TRACEBACK_FILE
        if wanted and path.is_file():
            print(path.read_text(encoding="utf-8"), flush=True)
        raise


@contextmanager
def debugging(*, wanted: bool) -> Iterator[None]:
    """Stop in the debugger where code of the user fails within the body of the statement."""
    try:
        yield
    except CosimError as error:
        if wanted and error.__cause__ is not None:
            print(f"cosim: {error}", flush=True)
            import pdb  # with a dozen modules that only a debugger needs

            pdb.post_mortem(error.__cause__.__traceback__)
        raise
