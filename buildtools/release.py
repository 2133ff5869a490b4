# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Build wheel and source archive of the last commit (``make release``).

The same commit, compiler and Python give the same bytes, wherever the checkout is: files are those
of the commit, with its time, and the tools are the locked ones of ``.venv``, whose interpreter runs
this.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = """
import sys
from setuptools import build_meta
place = sys.argv[1]
build_meta.build_sdist(place)
build_meta.build_wheel(place)
"""


def git(*arguments: str) -> bytes:
    """What git says of the checkout."""
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


def release(place: Path) -> list[Path]:
    """Build both into a directory.

    :returns: source archive and wheel
    :raises subprocess.CalledProcessError: the checkout is none of git
    :raises SystemExit: the build fails
    """
    epoch = git("log", "-1", "--format=%ct").decode().strip()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch, "PYTHONHASHSEED": "0"}
    place.mkdir(parents=True, exist_ok=True)
    os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="cosim-release-") as scratch:
        source, made = Path(scratch, "source"), Path(scratch, "made")
        with tarfile.open(fileobj=io.BytesIO(git("archive", "HEAD"))) as archive:
            archive.extractall(source)
        made.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", BUILD, made],
            cwd=source, env=environment, check=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
        if done.returncode:
            sys.exit(f"{done.stdout[-4000:]}\nrelease: the build failed")
        (archive_path,) = made.glob("*.tar.gz")
        archive_path.write_bytes(normalised(archive_path.read_bytes(), int(epoch)))
        return [Path(shutil.copy(path, place)) for path in sorted(made.iterdir())]


def normalised(packed: bytes, time: int) -> bytes:
    """A source archive with its members in order, of no user, and of one time [s]."""
    plain = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(packed)) as old,
        tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = time, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    return gzip.compress(plain.getvalue(), mtime=time)


def main(arguments: list[str]) -> int:
    """Build into ``dist/``, or the directory that is named, and tell the digests."""
    if git("status", "--porcelain"):
        print("release: what is not committed is left out", file=sys.stderr)
    for path in release(Path(arguments[0]) if arguments else ROOT / "dist"):
        print(f"{sha256(path.read_bytes()).hexdigest()}  {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
