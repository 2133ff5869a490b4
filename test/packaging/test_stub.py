# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Executables find the interpreter of the environment that holds them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

TEMPLATE = Path(__file__).resolve().parents[2] / "buildtools" / "cmake" / "executable_stub.py.in"

MODULE = """
import sys, time

def main():
    if sys.argv[1:] == ["sleep"]:
        print("ready", flush=True)
        time.sleep(60)
    print(sys.executable, sys.argv[1:])
    return 7

if sys.argv[1:] == ["import"]:
    print("importing", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """An installation prefix with a space in its path and one executable."""
    prefix = tmp_path / "a prefix"
    stub = prefix / "lib" / "ros2_cosim" / "demo"
    stub.parent.mkdir(parents=True)
    text = TEMPLATE.read_text(encoding="utf-8")
    stub.write_text(text.replace("@to_prefix@", "../..").replace("@module@", "demo_module"))
    stub.chmod(0o755)
    (prefix / "demo_module.py").write_text(MODULE)
    return prefix


def search_path(prefix: Path) -> str:
    """That of the program, and of this package for any interpreter."""
    return os.pathsep.join([str(prefix), str(TEMPLATE.parents[2]), *filter(None, sys.path)])


def run(prefix: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(prefix / "lib" / "ros2_cosim" / "demo"), *arguments],
        env={**os.environ, "PYTHONPATH": search_path(prefix), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_takes_the_interpreter_of_its_environment(prefix):
    (prefix / "bin").mkdir()
    chosen = prefix / "bin" / "python3"
    chosen.write_text(f'#!/bin/sh\nCHOSEN=yes exec "{sys.executable}" "$@"\n')
    chosen.chmod(0o755)
    (prefix / "demo_module.py").write_text(
        "import os, sys\ndef main():\n    print(os.environ['CHOSEN'], sys.argv[1:])\n    return 7\n"
    )
    done = run(prefix, "a b", "c")
    assert (done.stdout, done.stderr) == ("yes ['a b', 'c']\n", "")
    assert done.returncode == 7


def test_takes_the_interpreter_on_the_path_elsewhere(prefix):
    directory = prefix / "tools"
    directory.mkdir()
    (directory / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (directory / "python3").chmod(0o755)
    done = run(prefix, "x", PATH=f"{directory}{os.pathsep}{os.environ['PATH']}")
    assert done.returncode == 7, done.stderr
    assert done.stdout.endswith("['x']\n")


def test_is_one_process_that_gets_the_signals(prefix):
    """No shell stays between the caller and the node."""
    command = [str(prefix / "lib" / "ros2_cosim" / "demo"), "sleep"]
    environment = {**os.environ, "PYTHONPATH": search_path(prefix)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait() == -signal.SIGTERM


def interrupted(prefix: Path, at: str, argument: str) -> tuple[int, str]:
    """Exit code and what it complained about, interrupted when it has printed a line."""
    command = [str(prefix / "lib" / "ros2_cosim" / "demo"), argument]
    environment = {**os.environ, "PYTHONPATH": search_path(prefix)}
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == f"{at}\n"
        process.send_signal(signal.SIGINT)
        return process.wait(), process.stderr.read()


@pytest.mark.parametrize(("at", "argument"), [("importing", "import"), ("ready", "sleep")])
def test_an_interrupt_ends_it_quietly(at, argument, prefix):
    assert interrupted(prefix, at, argument) == (0, "")


def test_an_interrupt_waits_until_python_can_take_it(prefix):
    if subprocess.run(
        ["env", "--block-signal=INT", "true"], stderr=subprocess.DEVNULL, check=False
    ).returncode:
        pytest.skip("needs GNU coreutils 8.31 or newer: its env can have a signal wait")
    (prefix / "bin").mkdir()
    chosen = prefix / "bin" / "python3"
    chosen.write_text(f'#!/bin/sh\nkill -INT $$\nexec "{sys.executable}" "$@"\n')
    chosen.chmod(0o755)
    done = run(prefix, "sleep")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_leaves_with_what_the_program_says(prefix):
    (prefix / "demo_module.py").write_text(
        "import atexit\ndef main():\n"
        "    atexit.register(print, 'tidy')\n    raise SystemExit('no licence')\n"
    )
    done = run(prefix)
    assert (done.returncode, done.stdout, done.stderr) == (1, "tidy\n", "no licence\n")
