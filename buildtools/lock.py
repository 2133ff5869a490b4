# SPDX-License-Identifier: Apache-2.0
"""Write requirements.lock: every distribution of the environment, pinned and with its hashes.

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
    command += ["--custom-compile-command", "make lock", "--output-file", LOCK.name, *options]
    try:
        done = subprocess.run(
            command, cwd=ROOT, input="\n".join(all_requirements(pyproject)), text=True
        )
    except FileNotFoundError:
        print("make lock needs the program uv on the PATH", file=sys.stderr)
        return 1
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
