# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The output directory: held by one, refused to others, and what is deleted in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.output_directory import LOCK_FILE, OutputDirectory, read_holder, shown


def refusal(path: Path) -> str:
    with pytest.raises(ConfigurationError) as caught, OutputDirectory(path, "run 'other'"):
        raise AssertionError("entered")
    text = str(caught.value)
    assert text.startswith(f"output directory {path}: ")
    return text.removeprefix(f"output directory {path}: ")


def test_it_is_held_by_one(tmp_path: Path) -> None:
    path = tmp_path / "new" / "out"
    with OutputDirectory(path, "run 'mine'") as held:
        held.announce(channel="x")
        text = refusal(path)
        assert text.startswith(f"run 'mine' (process {os.getpid()}, since 20")
        assert text.endswith(") writes there; wait for it, or name another directory")
        assert (read_holder(path) or {})["channel"] == "x"
    assert (path / LOCK_FILE).read_bytes() == b""
    with OutputDirectory(path, "run 'other'"):
        pass


def test_an_inherited_descriptor_holds_it_until_it_is_left(tmp_path: Path) -> None:
    with OutputDirectory(tmp_path, "run 'mine'") as held:
        inherited = os.dup(held.descriptor)
    try:
        with OutputDirectory(tmp_path, "run 'other'"):
            pass
    finally:
        os.close(inherited)


def test_facts_of_a_run_that_was_killed_hold_nothing(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_text('{"pid": 1, "owner": "run", "since": "then"}' + " " * 1000)
    with OutputDirectory(tmp_path, "run 'mine'"):
        assert (read_holder(tmp_path) or {})["owner"] == "run 'mine'"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": 1}', b"\xff"])
def test_a_lock_file_that_says_nothing_refuses_all_the_same(tmp_path: Path, content: bytes) -> None:
    with OutputDirectory(tmp_path, "run 'mine'"):
        (tmp_path / LOCK_FILE).write_bytes(content)
        assert refusal(tmp_path).startswith("another run writes there; ")


def test_no_link_is_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    output = tmp_path / "out"
    output.mkdir()
    (output / LOCK_FILE).symlink_to(target)
    refusal(output)
    assert not target.exists()
    (output / LOCK_FILE).unlink()
    (output / LOCK_FILE).mkdir()
    refusal(output)


def test_a_pipe_in_place_of_the_lock_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / LOCK_FILE)
    assert refusal(tmp_path) == f"{LOCK_FILE} is not an ordinary file"


def test_a_directory_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    assert "not empty, and not the output of an earlier run" in refusal(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with OutputDirectory(tmp_path, "run 'mine'", marker=None):
        pass


def test_a_run_that_has_begun_to_write_is_named(tmp_path: Path) -> None:
    with OutputDirectory(tmp_path, "run 'mine'"):
        (tmp_path / "fastdds.xml").write_text("x")  # the marker is not there yet
        assert refusal(tmp_path).startswith("run 'mine' (process ")
    # It has ended without leaving the marker: what lies there could be anyone's.
    assert "not empty, and not the output of an earlier run" in refusal(tmp_path)
    # It was killed.
    (tmp_path / LOCK_FILE).write_text('{"pid": 1, "owner": "run", "since": "then"}')
    with OutputDirectory(tmp_path, "run 'other'"):
        pass


def test_results_are_removed_and_nothing_else(tmp_path: Path) -> None:
    output, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    for directory in (output / "bag", output / "again-1", output / "notes", elsewhere):
        directory.mkdir(parents=True)
        (directory / "file").write_text("x")
    for name in (RESOLVED_SCENARIO, "summary.json", "mine.txt"):
        (output / name).write_text("x")
    (output / "again-2").symlink_to(elsewhere)
    with OutputDirectory(output, "run 'mine'") as held:
        assert (output / "summary.json").exists()
        held.clear()
    assert sorted(path.name for path in output.iterdir()) == [LOCK_FILE, "mine.txt", "notes"]
    assert (elsewhere / "file").exists()


def test_paths_are_shown_as_the_user_writes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown(tmp_path / "out" / "x") == Path("out/x")
    assert shown(tmp_path.parent) == tmp_path.parent
