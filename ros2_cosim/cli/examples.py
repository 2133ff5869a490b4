# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Examples of every command, as ``--help`` shows them, and what a newcomer needs first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from typer.core import TyperGroup

#: What ``cosim`` alone shows.
FIRST: Final = (
    ("cosim run platoon", "run a scenario; results are in out/platoon"),
    ("cosim new mine --from cut_in", "write mine.yaml, a scenario of your own"),
    ("cosim check mine.yaml", "find its mistakes without running it"),
    ("cosim report out/a out/b", "compare runs side by side on one page"),
    ("cosim dashboard", "start and watch runs in the browser"),
)
#: Command -> examples.
EXAMPLES: Final[Mapping[str, Sequence[str]]] = {
    "run": (
        "cosim run platoon --shape inproc",
        "cosim run mine.yaml --controllers my_law.py:MyLaw --set duration=20s --seed 2",
    ),
    "check": ("cosim check mine.yaml", "cosim check stranger.yaml --untrusted"),
    "plan": ("cosim plan platoon",),
    "report": ("cosim report out/platoon", "cosim report out/a out/b"),
    "carla-headless": ("cosim carla-headless --port 2000",),
    "models": ("cosim models", "cosim models object_sensor"),
    "new": ("cosim new --list", "cosim new mine --from cut_in"),
    "diff": ("cosim diff out/a out/b", "cosim diff out/a out/b --html difference.html"),
    "profile": ("cosim run platoon --profile", "cosim profile out/platoon"),
    "replay": (
        "cosim replay out/platoon",
        "cosim replay out/platoon --substitute cacc1=my_law.py:MyLaw --from 10s",
    ),
    "sweep": (
        "cosim sweep gaps.yaml --workers 2",
        "cosim sweep scenarios --junit verdicts.xml --baseline out/main",
    ),
    "join": ("cosim join 192.168.1.2:7000 far",),
    "control": ("cosim control status", "cosim control pause", "cosim control until 12s"),
    "dashboard": ("cosim dashboard", "cosim dashboard 8080"),
    "dcp serve": ("cosim dcp serve my_plant.py:Plant --step 0.01 --keep",),
    "dcp run": ("cosim dcp run chain.yaml",),
    "dcp test": ("cosim dcp test slave.dcpx",),
    "dcp sniff": ("cosim dcp sniff 9000=127.0.0.1:8087",),
    "study causality": ("cosim study causality --quick",),
    "study reproduce": ("cosim study reproduce --quick",),
    "study string-stability": (
        "cosim study string-stability platoon20 --time-gap 0.6 --time-gap 1.0",
    ),
    "study pedals": ("cosim study pedals mine.yaml follower1",),
    "vds serve": ("cosim vds serve --vehicles 2 --dashboard 8080",),
    "vds replay": ("cosim vds replay commands.jsonl --out states.csv",),
    "fmu": ("cosim fmu my_law.py:MyLaw --out my_law.fmu",),
    "messages build": ("cosim messages build ../my_msgs",),
}


def first_steps() -> str:
    """What ``cosim`` alone prints."""
    width = max(len(command) for command, _ in FIRST)
    lines = [f"  {command:{width}}  {does}" for command, does in FIRST]
    return "\n".join(["First steps:", "", *lines, "", "All commands: cosim --help"])


def add_examples(command: Any, words: str) -> None:
    """Let the help of a command, or of each command of a group, end with its examples.

    :param words: what calls it behind ``cosim``
    """
    if isinstance(command, TyperGroup):
        for name, part in command.commands.items():
            add_examples(part, f"{words} {name}")
    if words in EXAMPLES:
        # The formatter of help texts makes one line of each paragraph.
        command.epilog = "\n\n".join(["Examples:", *EXAMPLES[words]])
