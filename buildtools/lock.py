# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Write requirements.lock: every distribution of the environment, pinned and with its hashes.

An extra has its own lock, ``requirements-NAME.lock``: what it needs besides.

The lock covers what pyproject.toml asks for at run time, for building and for development, on
every supported Python version. It names no package index, so any mirror can serve it.
Needs ``uv`` on the PATH; ``--upgrade`` and ``--upgrade-package NAME`` are handed to it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"


def all_requirements(pyproject: dict[str, Any]) -> list[str]:
    """Return the requirements for running, building and developing, sorted, each once."""
    return sorted(
        {
            *pyproject["project"]["dependencies"],
            *pyproject["build-system"]["requires"],
            *pyproject["dependency-groups"]["dev"],
        }
    )


def main(options: list[str]) -> int:
    """Resolve and write the lock; return the exit status."""
    with (ROOT / "pyproject.toml").open("rb") as stream:
        pyproject = tomllib.load(stream)
    oldest = re.search(r">=\s*([\d.]+)", pyproject["project"]["requires-python"])
    if oldest is None:
        raise ValueError("requires-python in pyproject.toml names no oldest version")
    command = ["uv", "pip", "compile", "-", "--universal", "--python-version", oldest.group(1)]
    command += ["--no-python-downloads", "--generate-hashes", "--no-annotate", "--quiet"]
    command += ["--custom-compile-command", "make lock", *options]
    try:
        status = resolve(command, all_requirements(pyproject), LOCK)
        for name, requirements in pyproject["project"].get("optional-dependencies", {}).items():
            own = ROOT / f"requirements-{name}.lock"
            status = status or resolve([*command, "--constraints", LOCK.name], requirements, own)
            own.write_text(without(own.read_text(), LOCK.read_text()))
    except FileNotFoundError:
        print("make lock needs the program uv on the PATH", file=sys.stderr)
        return 1
    return status


def resolve(command: list[str], requirements: list[str], lock: Path) -> int:
    """Write one lock; return the exit status."""
    command = [*command, "--output-file", lock.name]
    return subprocess.run(command, cwd=ROOT, input="\n".join(requirements), text=True).returncode


def without(text: str, other: str) -> str:
    """Return a lock's text without the distributions of another lock."""
    there = {re.split(r"[=\s]", e)[0] for e in entries(other) if not e.startswith("#")}
    return "\n".join(e for e in entries(text) if re.split(r"[=\s]", e)[0] not in there) + "\n"


def entries(text: str) -> list[str]:
    """Return the entries of a lock, and its comments."""
    return re.split(r"\n(?=\S)", text.rstrip("\n"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
