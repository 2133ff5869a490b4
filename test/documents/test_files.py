# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Files are replaced in one go."""

from __future__ import annotations

import errno
import os
import re
import tracemalloc
from pathlib import Path

import pytest

from ros2_cosim.core.documents.files import cause_of, in_words, read_bounded, write_atomically
from ros2_cosim.core.kernel.errors import ConfigurationError


def test_the_old_file_stays_until_the_new_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    write_atomically(path, "one\n")
    original = Path.write_bytes

    def half(self: Path, data: bytes) -> int:
        original(self, data[:2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(OSError, match="No space") as caught:
        write_atomically(path, b"other")
    assert caught.value.filename == str(path)
    monkeypatch.undo()
    assert path.read_text() == "one\n"
    assert list(tmp_path.iterdir()) == [path]


def test_text_is_utf8_and_bytes_are_bytes(tmp_path: Path) -> None:
    write_atomically(tmp_path / "t", "\u00e4\r\n")
    write_atomically(tmp_path / "b", b"\xff\x00")
    assert (tmp_path / "t").read_bytes() == b"\xc3\xa4\r\n"
    assert (tmp_path / "b").read_bytes() == b"\xff\x00"


def test_a_link_stays_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(tmp_path / "pipe", "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_a_limit_is_named_as_the_cause() -> None:
    assert cause_of(OSError(errno.EMFILE, "Too many open files")) == (
        "Too many open files (limit of open files, ulimit -n)"
    )
    assert cause_of(OSError(errno.ENOSPC, "No space left on device")) == "No space left on device"
    assert cause_of(OSError("odd")) == "odd"
    # The time limit of a socket, and a port that the system is not even asked for.
    assert cause_of(TimeoutError("timed out")) == "timed out"
    assert cause_of(OverflowError("port must be 0-65535")) == "port must be 0-65535"


def test_a_failure_is_told_with_its_file() -> None:
    assert in_words(FileNotFoundError(errno.ENOENT, "No such file", "a.yaml")) == (
        "a.yaml: No such file"
    )
    assert in_words(OSError(errno.EMFILE, "Too many open files")) == (
        "Too many open files (limit of open files, ulimit -n)"
    )
    assert in_words(MemoryError()) == "out of memory"
    assert in_words(ConfigurationError("a.yaml: found 3")) == "a.yaml: found 3"


def test_a_working_directory_that_is_gone_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(FileNotFoundError) as caught:
        Path.cwd()
    assert in_words(caught.value) == "the working directory: No such file or directory"


def test_what_the_operating_system_says_is_put_into_words_by_one_helper() -> None:
    """An error has no text of its own where a library raised it: a message would say None."""
    package = Path(__file__).parents[2] / "ros2_cosim"
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if re.search(r"(?<!\bos)\.strerror|[\"']strerror[\"']", path.read_text())
    }
    # The second one hands it on, in an error.
    assert found == {"core/documents/files.py", "cli/console.py"}


#: The helper itself, an example in a docstring, and files in temporary directories.
_PLAIN_WRITES = {
    "core/documents/files.py",
    "dcp/slave/c_source.py",
    "dcp/tools/tester.py",
    "core/messages/building.py",
    "core/messages/message_generators/sitecustomize.py",
    "core/record/unpacking.py",
    "world/sumo/installation.py",
    "world/sumo/world.py",
}


def test_files_of_results_are_written_by_one_helper() -> None:
    """A run that is killed leaves no file half written."""
    package = Path(__file__).parents[2] / "ros2_cosim"
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        for line in path.read_text().splitlines()
        if re.match(r"\s+[^\"#`]*\.write_(text|bytes)\(", line)
    }
    assert found <= _PLAIN_WRITES


def test_a_reader_takes_memory_for_what_is_there(tmp_path: Path) -> None:
    """Not for the most that is allowed: the address space of a process may be limited."""
    path = tmp_path / "small.json"
    path.write_bytes(b"12345")
    tracemalloc.start()
    try:
        assert read_bounded(path, 1_000_000_000) == b"12345"
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_the_most_that_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5) == b"12345"
    with pytest.raises(OSError, match="found more than 4 bytes"):
        read_bounded(path, 4)
    # The kernel gives the size of this one as 0.
    assert read_bounded(Path("/proc/self/status"), 100_000).startswith(b"Name:")
