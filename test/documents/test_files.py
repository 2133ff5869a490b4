# SPDX-License-Identifier: Apache-2.0
"""Files are replaced in one go."""

from __future__ import annotations

from pathlib import Path

import pytest

from ros2_cosim.documents.files import write_atomically


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
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"other")
    monkeypatch.undo()
    assert path.read_text() == "one\n"
    assert list(tmp_path.iterdir()) == [path]


def test_text_is_utf8_and_bytes_are_bytes(tmp_path: Path) -> None:
    write_atomically(tmp_path / "t", "\u00e4\r\n")
    write_atomically(tmp_path / "b", b"\xff\x00")
    assert (tmp_path / "t").read_bytes() == b"\xc3\xa4\r\n"
    assert (tmp_path / "b").read_bytes() == b"\xff\x00"
