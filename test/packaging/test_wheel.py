# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What goes into the wheel, and into an editable installation, beside the Python modules.

``bench/wheel.py`` builds and installs one as a user would: that takes minutes.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import setuptools

from ros2_cosim.compiled import directory
from ros2_cosim.core.messages.compilation import PYTHON_DIRECTORY

ROOT = Path(__file__).resolve().parents[2]
MODULES = f"{PYTHON_DIRECTORY}/ros2_cosim"
#: What CMake installs: some of each kind.
INSTALLED = (
    f"{MODULES}/__init__.py",
    f"{MODULES}/cli/main.py",
    f"{MODULES}/msg/__init__.py",
    f"{MODULES}/msg/__pycache__/__init__.cpython-311.pyc",
    f"{PYTHON_DIRECTORY}/ros2_cosim-0.1.0-py3.11.egg-info/PKG-INFO",
    f"{PYTHON_DIRECTORY}/tf2_msgs/msg/__init__.py",
    "bin/CarlaUE4.sh",
    "lib/libros2_cosim__rosidl_typesupport_c.so",
    "lib/ros2_cosim/clock",
    "share/ros2_cosim/config/platoon.yaml",
    "share/ros2_cosim/launch/platoon.launch.py",
    "share/ros2_cosim/msg/ObjectList.msg",
    "share/ros2_cosim/rviz/platoon.rviz",
)
COMPILED = "lib/ros2_cosim_compiled/manifest.json"


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The command of setup.py, with the compilers replaced by ones that write what is listed."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(setuptools, "setup", lambda **options: calls.append(options))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("ROS2_COSIM_BUILD_TREE", str(tmp_path))
    spec = importlib.util.spec_from_file_location("setup_of_the_wheel", ROOT / "setup.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def install(scratch: Path, stage: Path) -> None:
        for name in INSTALLED:
            write(stage / name)

    def compile_hot(command: list[str], **_: Any) -> Any:
        write(Path(command[3]) / "manifest.json")
        return type("Done", (), {"returncode": 0})

    monkeypatch.setattr(module, "build_interfaces", install)
    monkeypatch.setattr(module.subprocess, "run", compile_hot)
    command = module.BuildInterfaces(calls[0]["distclass"]())
    command.build_temp = str(tmp_path)
    return command


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")


def built(command: Any, *, editable: bool) -> set[str]:
    """Paths below the prefix of what is installed."""
    command.editable_mode = editable
    command.run()
    return {
        f"{place}/{Path(path).name}"
        for place, paths in command.distribution.data_files
        for path in paths
    }


def test_a_wheel_has_messages_data_and_compiled_modules(builder: Any) -> None:
    found = built(builder, editable=False)
    # The modules and the metadata of a wheel are those that setuptools puts there.
    apart = {name for name in INSTALLED if "egg-info" in name or "__pycache__" in name}
    apart |= {f"{MODULES}/__init__.py", f"{MODULES}/cli/main.py"}
    assert found == set(INSTALLED) - apart | {COMPILED}
    # Where an installed package looks for them.
    assert Path(COMPILED).parent == directory(Path())


def test_an_editable_installation_takes_its_data_from_the_checkout(builder: Any) -> None:
    found = built(builder, editable=True)
    assert COMPILED not in found
    assert not [n for n in found if n.startswith(("share/ros2_cosim/config", "share/ros2_cosim/l"))]
    assert {f"{MODULES}/msg/__init__.py", "lib/ros2_cosim/clock"} <= found


def test_a_wheel_without_a_compiler_for_its_modules_says_so(
    builder: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = type("Done", (), {"returncode": 1, "stderr": "Traceback\nno compiler cc\n"})
    monkeypatch.setattr(sys.modules["subprocess"], "run", lambda *_, **__: failed)
    assert COMPILED not in built(builder, editable=False)
    assert "the wheel runs as Python alone: no compiler cc" in capsys.readouterr().err


def test_the_build_imports_the_standard_library_only() -> None:
    """pip builds a source archive in an environment that has the build's own requirements."""
    program = "import sys; sys.path[:0] = ['buildtools']; import compile_modules, interface_build"
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
