# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Completion in shells: by their own scripts where a shell is there, else by what these ask."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ros2_cosim.cli.completion import laws, library_names, model_names, scenario_files, simulators

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).parent / "cosim"
SHELLS = ("bash", "zsh", "fish")

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="the command is not installed")


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join((str(PROGRAM.parent), os.environ["PATH"]))
    return {**os.environ, "PATH": path, **more}


def output(command: list[str], **more: str) -> str:
    done = subprocess.run(
        command, cwd=ROOT, env=environment(**more), capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done
    return done.stdout


def in_bash(line: str) -> list[str]:
    """What a real bash offers, by the script for it."""
    words = [*shlex.split(line), *([""] if line.endswith(" ") else [])]
    program = (
        'eval "$(_COSIM_COMPLETE=source_bash cosim)"; '
        f"COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; "
        "_cosim_completion cosim; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    return output(["bash", "--norc", "-c", program]).split()


def for_zsh(line: str) -> list[str]:
    """What the function for zsh evaluates: words with descriptions, for ``_arguments``."""
    told = output(["cosim"], _COSIM_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS=line)
    return [entry.strip("'()").split('"')[1] for entry in told.splitlines() if '"' in entry]


def for_fish(line: str) -> list[str]:
    """What the script for fish reads: a word and its description on a line."""
    more = {"_TYPER_COMPLETE_FISH_ACTION": "get-args", "_TYPER_COMPLETE_ARGS": line}
    told = output(["cosim"], _COSIM_COMPLETE="complete_fish", **more)
    return [entry.split("\t")[0] for entry in told.splitlines()]


OFFERS: dict[str, Callable[[str], list[str]]] = {"zsh": for_zsh, "fish": for_fish}


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("cosim re", {"replay", "report"}),
        ("cosim run config/platoon.yaml --controllers path_a", {"path_acc"}),
        ("cosim run config/platoon.yaml --contr", {"--controllers"}),
        ("cosim models object_", {"object_sensor", "object_tracker"}),
    ],
)
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_commands_options_and_names_are_offered(line: str, offered: set[str]) -> None:
    assert set(in_bash(line)) == offered


@pytest.mark.parametrize("shell", SHELLS[1:])
def test_files_are_offered_with_the_scripts_of_other_shells(shell: str) -> None:
    assert OFFERS[shell]("cosim run config/pl") == ["config/platoon.yaml"]


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script_that_it_understands(shell: str, tmp_path: Path) -> None:
    script = output(["cosim"], _COSIM_COMPLETE=f"source_{shell}")
    assert f"_COSIM_COMPLETE=complete_{shell}" in script
    if (program := shutil.which(shell)) is not None:
        file = tmp_path / "script"
        file.write_text(script)
        output([program, "-n", str(file)])


def test_scenario_files_are_found_along_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config" / "deep").mkdir(parents=True)
    for name in ("a.yaml", "b.json", "notes.md", "config/c.yml", "config/deep/d.yaml", ".e.yaml"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    assert scenario_files("") == ["a.yaml", "b.json", "config/"]
    assert scenario_files("a") == ["a.yaml"]
    # A single directory is not a whole word: what is in it is offered.
    assert scenario_files("co") == ["config/c.yml", "config/deep/"]
    assert scenario_files("config/de") == ["config/deep/d.yaml"]
    assert scenario_files(f"{tmp_path}/a") == [f"{tmp_path}/a.yaml"]
    assert scenario_files(".e") == [".e.yaml"]
    assert scenario_files("nowhere/") == scenario_files("zzz") == []


def test_names_are_those_that_commands_accept() -> None:
    assert "path_cacc" in laws("") and laws("nothing") == []
    assert {"object_sensor", "v2v_channel"} <= set(model_names(""))
    assert "cut_in" in library_names("cut")
    assert {"carla", "headless", "sumo"} <= set(simulators(""))
