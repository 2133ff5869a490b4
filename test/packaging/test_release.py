# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``make release`` builds the last commit, with the same bytes in any place and at any time.

``bench/wheel.py`` does so with this package, and installs what comes out: that takes minutes.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "small"
version = "1.0"
[tool.setuptools]
packages = ["small"]
"""


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    spec = importlib.util.spec_from_file_location("release", ROOT / "buildtools" / "release.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    before = os.umask(0o077)
    yield module
    os.umask(before)


def git(place: Path, *arguments: str) -> None:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.invalid", *arguments]
    subprocess.run(command, cwd=place, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    place = tmp_path / "first"
    (place / "small").mkdir(parents=True)
    (place / "pyproject.toml").write_text(PROJECT)
    for name in ("b", "a"):
        (place / "small" / f"{name}.py").write_text(f"{name} = 1\n")
    git(place, "init")
    git(place, "add", ".")
    git(place, "commit", "-m", "first", "--date", "2020-01-02T03:04:06Z")
    return place


def test_a_commit_gives_the_same_bytes_from_another_place_at_another_time(
    release: ModuleType, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    git(tmp_path / "elsewhere", "clone", str(checkout), "second")
    # What is not committed does not count.
    (tmp_path / "elsewhere" / "second" / "small" / "a.py").write_text("a = 2\n")
    contents = []
    for place, mask in ((checkout, 0o077), (tmp_path / "elsewhere" / "second", 0o022)):
        monkeypatch.setattr(release, "ROOT", place)
        os.umask(mask)
        built = release.release(place / "dist")
        contents.append({path.name: path.read_bytes() for path in built})
    assert contents[0].keys() == {"small-1.0.tar.gz", "small-1.0-py3-none-any.whl"}
    assert contents[0] == contents[1]


def test_files_of_a_release_have_the_time_of_the_commit_and_no_owner(
    release: ModuleType, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "ROOT", checkout)
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2020-01-02T03:04:06Z")
    git(checkout, "commit", "--amend", "--no-edit")
    source, wheel = sorted(release.release(tmp_path / "dist"), key=lambda path: path.suffix)
    with tarfile.open(source) as archive:
        members = archive.getmembers()
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname) for m in members} == {
        (1577934246, 0, 0, "", "")
    }
    assert [m.name for m in members] == sorted(m.name for m in members)
    assert {m.mode for m in members} == {0o755, 0o644}
    with zipfile.ZipFile(wheel) as packed:
        assert {entry.date_time for entry in packed.infolist()} == {(2020, 1, 2, 3, 4, 6)}


def test_a_build_that_fails_says_why(
    release: ModuleType, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / "pyproject.toml").write_text(PROJECT.replace('"small"]', '"absent"]'))
    git(checkout, "commit", "-a", "-m", "wrong")
    monkeypatch.setattr(release, "ROOT", checkout)
    with pytest.raises(SystemExit, match="absent[^$]*release: the build failed"):
        release.release(tmp_path / "dist")
