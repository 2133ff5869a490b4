# SPDX-License-Identifier: Apache-2.0
"""The options of a run, declared once for the command line and for launch files."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import parse_duration
from ros2_cosim.core.messages.namespaces import parse_namespace
from ros2_cosim.core.realtime.pacing import parse_rate


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigurationError(f"{name}: found '{text}'; allowed is a whole number") from None


def _truth(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ConfigurationError(f"{name}: found '{text}'; allowed are true and false")
    return text.lower() == "true"


def words(name: str, text: str) -> tuple[str, ...]:
    """The words of a text, which are quoted as in a shell.

    :raises ConfigurationError: a quote is not closed
    """
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ConfigurationError(f"{name}: found '{text}'; {str(error).lower()}") from None


def _text(name: str, text: str) -> str:
    return text


def _path(name: str, text: str) -> Path:
    return Path(text).absolute()


def read_time(name: str, text: str, *, minimum: int = 1) -> int:
    """A time of an option [ns]: a number with a unit.

    :raises ConfigurationError: it is none
    """
    return parse_duration(text, name, minimum=minimum)


def _times(name: str, text: str) -> tuple[int, ...]:
    return tuple(read_time(name, word) for word in text.split())


def _rate(name: str, text: str) -> float | None:
    return parse_rate(text)


def _namespace(name: str, text: str) -> str:
    return parse_namespace(text, name)


class RunOption(NamedTuple):
    """One option of a run.

    ``name`` is that of the launch argument and of the field of ``RunRequest``, ``flag`` the one of
    ``cosim run``. ``default`` is the text of the launch argument; empty leaves the thing as the
    scenario has it.
    """

    name: str
    flag: str
    read: Callable[[str, str], Any]
    default: str
    help: str


#: In the order of the help. The scenario itself is an argument of ``cosim run``, no option.
OPTIONS = {
    option.name: option
    for option in (
        RunOption(
            "shape",
            "--shape",
            _text,
            "",
            "Run shape: ros, composed or inproc (ros; inproc for what only that can do).",
        ),
        RunOption(
            "simulator",
            "--simulator",
            _text,
            "",
            "Which simulator: headless, carla, sumo, or module:Class.",
        ),
        RunOption("host", "--host", _text, "", "Host of the CARLA server."),
        RunOption(
            "port", "--port", _whole, "", "Port of the CARLA server; 0: any free one (headless)."
        ),
        RunOption("rate", "--rate", _rate, "max", "Real-time factor, or max."),
        RunOption("hard", "--hard", _truth, "false", "Hard real time where the system permits it."),
        RunOption(
            "arrivals",
            "--arrivals",
            _path,
            "",
            "Arrival record of an earlier run (its arrivals.json), which is repeated.",
        ),
        RunOption("out", "--out", _path, "", "Output directory (out/NAME of the scenario)."),
        RunOption(
            "set",
            "--set",
            words,
            "",
            "Change one value of the scenario: dotted.key=value (several are allowed).",
        ),
        RunOption("seed", "--seed", _whole, "", "Seed of the run."),
        RunOption(
            "duration",
            "--duration",
            read_time,
            "",
            "Simulated time at which the run ends, as 20s.",
        ),
        RunOption(
            "controllers",
            "--controllers",
            _text,
            "",
            "Control law of all controllers: a name, module:Class or file.py:Class. Or a "
            "controller node of your own: script.py or package/executable.",
        ),
        RunOption(
            "without",
            "--without",
            words,
            "",
            "Leave out a participant that is not required (several are allowed).",
        ),
        RunOption(
            "by_hand",
            "--by-hand",
            words,
            "",
            "You start the process of this participant yourself (several are allowed).",
        ),
        RunOption(
            "transport",
            "--transport",
            _text,
            "auto",
            "What carries messages between processes: auto (local sockets where possible) or dds.",
        ),
        RunOption(
            "processes",
            "--processes",
            _text,
            "auto",
            "How participants share processes in shape ros: auto (planned for the cores of this "
            "machine), own (none does), or the number of cores to plan for.",
        ),
        RunOption(
            "profile",
            "--profile",
            _truth,
            "false",
            "Note what the time is spent on, for cosim profile; the trace is the same.",
        ),
        RunOption(
            "namespace",
            "--namespace",
            _namespace,
            "",
            "ROS namespace of the run: all its nodes, topics and services are inside it.",
        ),
        RunOption(
            "ros_args",
            "--ros-args",
            words,
            "",
            "ROS arguments of all nodes of the run: remappings, parameters, log levels.",
        ),
        RunOption(
            "checkpoints",
            "--checkpoint",
            _times,
            "",
            "Write a checkpoint at this simulated time, as 20s (several are allowed; shape "
            "inproc).",
        ),
        RunOption(
            "branch",
            "--branch",
            _path,
            "",
            "Go on from a checkpoint, with what else is asked for changed from there on (shape "
            "inproc).",
        ),
        RunOption("record", "--bag", _truth, "true", "Record a bag, and make a report from it."),
        RunOption(
            "visualise",
            "--visualise",
            _truth,
            "false",
            "Publish markers for RViz; implied by rviz.",
        ),
        RunOption("rviz", "--rviz", _truth, "false", "Start RViz with the view of this package."),
        RunOption(
            "foxglove",
            "--foxglove",
            _text,
            "",
            "Show the run in Foxglove while it runs: [HOST:]PORT to listen at (Foxglove looks for "
            "8765; 0: any free one; without a host 127.0.0.1). Needs make setup EXTRAS=live.",
        ),
        RunOption(
            "paused", "--paused", _truth, "false", "Begin paused; cosim control lets the run go on."
        ),
        RunOption(
            "no_control",
            "--no-control",
            _truth,
            "false",
            "No service changes the run: whatever can reach its ROS domain can call them.",
        ),
        RunOption(
            "repeat",
            "--repeat",
            _whole,
            "1",
            "Number of repetitions of the run, in the same processes.",
        ),
    )
}


def read_options(values: Mapping[str, str]) -> dict[str, Any]:
    """Fields of a ``RunRequest`` from texts.

    :param values: texts by the names of options; an empty one leaves the default
    :raises ConfigurationError: a text is not understood
    """
    return {name: OPTIONS[name].read(name, text) for name, text in values.items() if text}
