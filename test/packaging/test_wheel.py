# SPDX-License-Identifier: Apache-2.0
"""The wheel: what is in it, and its use in an environment of its own, away from the checkout.

``bench/wheel.py`` does it all as a user would, with every requirement installed anew.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import ros2_cosim
from ros2_cosim.interfaces.compilation import PYTHON_DIRECTORY, build_environment

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = Path(sys.prefix)
BUILD_TREE = ENVIRONMENT / "build"


def said_by(*command: str | Path, cwd: Path, environment: Mapping[str, str] | None = None) -> str:
    """What a command prints; it must end well."""
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built in the tree of `make setup`: little has to be compiled again."""
    if not (BUILD_TREE / "interfaces").is_dir():
        pytest.skip("the environment was not made by make setup: no build tree")
    place = tmp_path_factory.mktemp("wheel")
    # As set_up.py does it: one build of a checkout at a time.
    checkout = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(checkout, fcntl.LOCK_EX)
        said_by(
            sys.executable, "setup.py", "--quiet",
            # What setuptools writes stays out of the checkout.
            "egg_info", "--egg-base", place,
            "build", "--build-base", place / "build",
            "bdist_wheel", "--dist-dir", place,
            cwd=ROOT, environment={**os.environ, "ROS2_COSIM_BUILD_TREE": str(BUILD_TREE)},
        )  # fmt: skip
    finally:
        os.close(checkout)
    (wheel,) = place.glob("*.whl")
    return wheel


def test_the_wheel_has_all_that_a_user_needs_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    data = f"ros2_cosim-{ros2_cosim.__version__}.data/data/"
    installed = {name.removeprefix(data) for name in names if name.startswith(data)}
    modules = {name for name in names if name.startswith("ros2_cosim/")}
    for name in (
        "lib/ros2_cosim/cosim",
        "lib/ros2_cosim_compiled/manifest.json",
        f"{PYTHON_DIRECTORY}/ros2_cosim/msg/__init__.py",
        f"{PYTHON_DIRECTORY}/tf2_msgs/msg/__init__.py",
        "share/ros2_cosim/package.xml",
        "share/ament_index/resource_index/packages/ros2_cosim",
    ):
        assert name in installed
    for directory in ("config", "launch", "rviz", "msg", "srv"):
        for path in (ROOT / directory).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert f"share/ros2_cosim/{path.relative_to(ROOT)}" in installed
    for path in (ROOT / "ros2_cosim").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert str(path.relative_to(ROOT)) in modules
    tops = {
        name.partition("/")[0].removeprefix(f"ros2_cosim-{ros2_cosim.__version__}")
        for name in names
    }
    assert tops == {"ros2_cosim", ".data", ".dist-info"}
    assert not [name for name in names if "__pycache__" in name]


def test_the_installed_wheel_runs_a_scenario_as_the_checkout_does(
    wheel: Path, tmp_path: Path
) -> None:
    """Its requirements are those of this environment; its modules and data are its own."""
    said_by(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    prefix = tmp_path / "venv"
    said_by(
        sys.executable, "-m", "pip", "--python", prefix / "bin" / "python",
        "install", "--quiet", "--no-index", "--no-deps", "--no-compile", wheel,
        cwd=tmp_path,
    )  # fmt: skip
    # A line of a .pth file reads no other .pth files: the checkout is not on the path.
    (prefix / PYTHON_DIRECTORY / "requirements.pth").write_text(f"{ENVIRONMENT / PYTHON_DIRECTORY}")
    libraries = build_environment([prefix, ENVIRONMENT])["LD_LIBRARY_PATH"]
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries}
    for name in ("PYTHONPATH", "AMENT_PREFIX_PATH", "COSIM_PURE"):
        environment.pop(name, None)
    cosim = prefix / "bin" / "cosim"
    home = tmp_path / "home"
    home.mkdir()
    assert said_by(cosim, "--version", cwd=home, environment=environment) == (
        f"cosim {ros2_cosim.__version__}, compiled: yes\n"
    )
    places = said_by(
        prefix / "bin" / "python", "-c",
        "import ros2_cosim.msg, tf2_msgs.msg, ros2_cosim.documents.installed as i\n"
        "ros2_cosim.msg.ObjectList, tf2_msgs.msg.TFMessage\n"
        "print(ros2_cosim.__file__, ros2_cosim.msg.__file__, i.share_file('config/platoon.yaml'))",
        cwd=home, environment=environment,
    )  # fmt: skip
    assert all(place.startswith(str(prefix)) for place in places.split())
    said_by(cosim, "new", "platoon", "--from", "roadblock", cwd=home, environment=environment)
    golden = json.loads((ROOT / "test" / "golden" / "traces.json").read_text(encoding="utf-8"))
    (run,) = (run for run in golden["runs"] if run["name"] == "car_following_seed_1")
    said = said_by(
        cosim, "run", prefix / "share" / "ros2_cosim" / run["scenario"], "--shape", "inproc",
        *(part for value in run["set"] for part in ("--set", value)),
        cwd=home, environment=environment,
    )  # fmt: skip
    assert f"trace {run['trace_sha256']}" in said
