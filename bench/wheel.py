#!/usr/bin/env python3
# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Build wheel and source archive as ``make release`` does, and use each as a user does.

``python bench/wheel.py`` takes half an hour: it builds from two clones, compares the bytes, and
makes an environment for the wheel and one for the source archive, with all they need from a package
index. Every check prints one line; the exit status is 1 if one fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: A run of both kinds, and a type of messages that is built in the user's environment.
GOLDEN = "car_following_seed_1"
DEFINITION = "std_msgs/Header header\nshape_msgs/Plane plane\n"
#: As in the README.
LAW = """\
class MyLaw:
    needs_v2v = ("predecessor",)

    def acceleration(self, m):
        return 0.3 * m.gap_error + 1.0 * m.gap_rate + 0.4 * m.predecessor.acceleration
"""
#: What would lead the user's environment to that of the caller.
FOREIGN = ("PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "_ROS_WHEELS_BOOTSTRAP_COMPLETE",
           "AMENT_PREFIX_PATH", "COSIM_PURE")  # fmt: skip


def said_by(*command: str | Path, cwd: Path) -> str:
    """What a command prints.

    :raises SystemExit: it fails
    """
    environment = {k: v for k, v in os.environ.items() if k not in FOREIGN}
    environment["ROS_DOMAIN_ID"] = environment.get("ROS_DOMAIN_ID", "94")
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, errors="replace"
    )
    if done.returncode:
        sys.exit(f"FAILED: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(description: str, *, holds: bool) -> None:
    """Print a line.

    :raises SystemExit: it does not hold
    """
    print(f"{'ok' if holds else 'FAILED'}: {description}", flush=True)
    if not holds:
        sys.exit(1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n\n")[0])
    parser.add_argument(
        "packages", nargs="*", type=Path, help="wheels and archives that are built already"
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="cosim-wheel-") as name:
        directory = Path(name)
        packages = [path.resolve() for path in options.packages] or build(directory)
        for number, package in enumerate(packages):
            place = directory / f"user{number}"
            place.mkdir()
            use(package, place)
    return 0


def build(directory: Path) -> list[Path]:
    """Build the last commit from two clones."""
    contents = []
    for place in (directory / "one", directory / "further" / "two"):
        place.parent.mkdir(exist_ok=True)
        said_by("git", "clone", "-q", ROOT, place, cwd=directory)
        said_by(ROOT / ".venv/bin/python", place / "buildtools" / "release.py", cwd=place)
        contents.append({path.name: path.read_bytes() for path in (place / "dist").iterdir()})
    check("two clones give the same bytes", holds=contents[0] == contents[1])
    return sorted((directory / "one" / "dist").iterdir())


def use(package: Path, directory: Path) -> None:
    """Install into its own environment, and run what a user runs first."""
    print(package.name, flush=True)
    said_by(sys.executable, "-m", "venv", "user", cwd=directory)
    prefix, home = directory / "user", directory / "home"
    home.mkdir()
    said_by(prefix / "bin" / "pip", "install", "-q", package, cwd=home)
    cosim = prefix / "bin" / "cosim"
    version = said_by(cosim, "--version", cwd=home)
    check(f"{version.strip()}", holds=version.endswith("compiled: yes\n"))
    models = json.loads(said_by(cosim, "models", "--json", cwd=home))
    check(f"{len(models)} models", holds=len(models) > 5)
    runs = json.loads((ROOT / "test" / "golden" / "traces.json").read_text())["runs"]
    (run,) = (run for run in runs if run["name"] == GOLDEN)
    share = prefix / "share" / "ros2_cosim"
    changes = [part for value in run["set"] for part in ("--set", value)]
    for shape in ("inproc", "composed", "ros"):
        said = said_by(cosim, "run", share / run["scenario"], "--shape", shape, *changes,
                       "--out", shape, cwd=home)  # fmt: skip
        check(f"{GOLDEN} in {shape}", holds=f"trace {run['trace_sha256']}" in said)
    said_by(cosim, "new", "mine", "--from", "cut_in", cwd=home)
    said_by(cosim, "check", "mine.yaml", cwd=home)
    check("cosim new and check", holds=True)
    (home / "my_law.py").write_text(LAW)
    said = said_by(cosim, "run", share / "config" / "platoon.yaml", "--shape", "ros",
                   "--out", "platoon", cwd=home)  # fmt: skip
    check("the platoon", holds="no_collision: 0 (limit 0) passed" in said)
    said = said_by(cosim, "run", share / "config" / "platoon.yaml", "--shape", "inproc",
                   "--controllers", "my_law.py:MyLaw", "--out", "mine", cwd=home)  # fmt: skip
    check("the platoon with a law of a user", holds="no_collision: 0 (limit 0) passed" in said)
    for name in ("launch/platoon.launch.py", "launch/scenario.launch.py", "rviz", "package.xml"):
        check(f"share/ros2_cosim/{name}", holds=(share / name).exists())
    if package.suffix == ".whl":
        build_messages(package, prefix, home)


def build_messages(wheel: Path, prefix: Path, home: Path) -> None:
    """Build a type of messages with the extra for it."""
    said_by(prefix / "bin" / "pip", "install", "-q", f"{wheel}[messages]", cwd=home)
    (home / "my_msgs" / "msg").mkdir(parents=True)
    (home / "my_msgs" / "msg" / "Wall.msg").write_text(DEFINITION)
    said = said_by(prefix / "bin" / "cosim", "messages", "build", "my_msgs", cwd=home)
    check("cosim messages build with the extra", holds="my_msgs/msg/Wall" in said)
    said_by(prefix / "bin" / "python", "-c", "import my_msgs.msg; my_msgs.msg.Wall()", cwd=home)


if __name__ == "__main__":
    sys.exit(main())
