#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Build the wheel as ``pip`` does it, install it as a user does, and use it without the checkout.

``python bench/wheel.py`` takes some minutes: it makes the build environment and the user's from a
package index. Every check prints one line; the exit status is 1 if one fails.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: A run of both kinds, and a type of messages that is built in the user's environment.
GOLDEN = "car_following_seed_1"
DEFINITION = "std_msgs/Header header\nshape_msgs/Plane plane\n"
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
    parser.add_argument("--wheel", type=Path, help="a wheel that is built already")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="cosim-wheel-") as name:
        directory = Path(name)
        wheel = options.wheel.resolve() if options.wheel else build(directory)
        use(wheel, directory)
    return 0


def build(directory: Path) -> Path:
    """Build from what git knows of the checkout, changes included."""
    source = directory / "source"
    for file in said_by("git", "ls-files", cwd=ROOT).splitlines():
        if (ROOT / file).is_file():
            (source / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, source / file)
    dist = directory / "dist"
    said_by(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", dist, ".", cwd=source)
    shutil.rmtree(source)
    (wheel,) = dist.glob("*.whl")
    check(f"built {wheel.name}", holds=True)
    return wheel


def use(wheel: Path, directory: Path) -> None:
    """Install into an environment of its own, and run what a user runs first."""
    said_by(sys.executable, "-m", "venv", "user", cwd=directory)
    prefix, home = directory / "user", directory / "home"
    home.mkdir()
    said_by(prefix / "bin" / "pip", "install", "-q", wheel, cwd=home)
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
    for name in ("launch/platoon.launch.py", "launch/scenario.launch.py", "rviz", "package.xml"):
        check(f"share/ros2_cosim/{name}", holds=(share / name).exists())
    said_by(prefix / "bin" / "pip", "install", "-q", f"{wheel}[messages]", cwd=home)
    (home / "my_msgs" / "msg").mkdir(parents=True)
    (home / "my_msgs" / "msg" / "Wall.msg").write_text(DEFINITION)
    said = said_by(cosim, "messages", "build", "my_msgs", cwd=home)
    check("cosim messages build with the extra", holds="my_msgs/msg/Wall" in said)
    said_by(prefix / "bin" / "python", "-c", "import my_msgs.msg; my_msgs.msg.Wall()", cwd=home)


if __name__ == "__main__":
    sys.exit(main())
