# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The run that is requested: what every command, launch file and study fills in.

Its fields are the options of a run. The command line, the launch arguments and the tables of the
reference are made of them.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from ros2_cosim.core.documents.offered import find_entry
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import parse_duration
from ros2_cosim.core.messages.namespaces import ROOT, parse_namespace
from ros2_cosim.core.realtime.pacing import parse_rate

if TYPE_CHECKING:
    from ros2_cosim.core.scenario.schema import Scenario

#: Entry points of run shapes.
SHAPE_GROUP = "ros2_cosim.shapes"


class RunOption(NamedTuple):
    """An option of a run, besides the type and the default of its field.

    ``flag`` is its name on the command line where that is not the one of the field; the launch
    argument has the same words. ``read`` makes a value of a place and a text (None: the type says
    how), of a field with several values one of each. ``choices`` are all texts that are allowed,
    ``minimum`` is the least number.
    """

    help: str
    flag: str = ""
    read: Callable[[str, str], Any] | None = None
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    metavar: str | None = None


def read_time(name: str, text: str, *, minimum: int = 1) -> int:
    """A time of an option [ns]: a number with a unit.

    :raises ConfigurationError: it is not a time
    """
    return parse_duration(text, name, minimum=minimum)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a scenario is brought up."""

    #: Empty: ``ros``, or ``inproc`` where only that can do what is wanted.
    shape: Annotated[
        str,
        RunOption(
            "Run shape: ros, composed, inproc, or that of another package (ros, or inproc with "
            "options that only inproc has).",
            read=lambda name, text: find_entry(SHAPE_GROUP, text, name).name,
        ),
    ] = ""
    #: Real-time factor; None: as fast as possible.
    rate: Annotated[
        float | None,
        RunOption(
            "Real-time factor, or max (as fast as possible).",
            read=lambda name, text: parse_rate(text, name),
        ),
    ] = None
    hard: Annotated[bool, RunOption("Hard real time where the system permits it.")] = False
    arrivals: Annotated[
        Path | None,
        RunOption("Repeat the arrivals of an earlier run (its arrivals.json)."),
    ] = None
    #: None in a request: ``out/NAME`` of the scenario.
    out: Annotated[Path | None, RunOption("Output directory (out/NAME of the scenario).")] = None
    #: Processes that the user starts: of a participant, or of several.
    by_hand: Annotated[
        tuple[str, ...],
        RunOption("You start the process of this participant yourself (several are allowed)."),
    ] = ()
    #: What carries messages between processes: a lane where it reaches all, or DDS.
    transport: Annotated[
        str,
        RunOption(
            "Transport of messages between processes: auto (local sockets where possible) or dds.",
            choices=("auto", "dds"),
        ),
    ] = "auto"
    profile: Annotated[
        bool,
        RunOption("Record where the wall time goes, for cosim profile; the trace does not change."),
    ] = False
    namespace: Annotated[
        str,
        RunOption(
            "ROS namespace of the run: all its nodes, topics and services are inside it.",
            read=lambda name, text: parse_namespace(text, name),
        ),
    ] = ROOT
    ros_args: Annotated[
        tuple[str, ...],
        RunOption("ROS arguments of all nodes of the run: remappings, parameters, log levels."),
    ] = ()
    #: When checkpoints are written [ns].
    checkpoints: Annotated[
        tuple[int, ...],
        RunOption(
            "Write a checkpoint at this simulated time, as 20s (several are allowed; shape "
            "inproc).",
            "--checkpoint",
            read_time,
        ),
    ] = ()
    #: If the scenario of a request is the same file, the one in it is meant.
    branch: Annotated[
        Path | None,
        RunOption(
            "Continue from a checkpoint; the other options change the run from there on (shape "
            "inproc)."
        ),
    ] = None
    record: Annotated[bool, RunOption("Record a bag, and make a report from it.", "--bag")] = True
    visualise: Annotated[bool, RunOption("Publish markers for RViz; implied by rviz.")] = False
    rviz: Annotated[bool, RunOption("Start RViz with the view of this package.")] = False
    foxglove: Annotated[
        str,
        RunOption(
            "Show the run in Foxglove while it runs: [HOST:]PORT to listen at (Foxglove expects "
            "8765; 0: any free one; without a host 127.0.0.1). Needs make setup EXTRAS=live.",
            metavar="[HOST:]PORT",
        ),
    ] = ""
    #: Before the activations at time 0.
    paused: Annotated[bool, RunOption("Begin paused; cosim control resumes the run.")] = False
    #: One after the other.
    repeat: Annotated[
        int, RunOption("Number of repetitions of the run, in the same processes.", minimum=1)
    ] = 1

    def __post_init__(self) -> None:
        """Choose the shape, unless it is given."""
        if not self.shape:
            saved = self.checkpoints or self.branch is not None
            object.__setattr__(self, "shape", "inproc" if saved else "ros")

    @property
    def output(self) -> Path:
        """The output directory, which is known once the run is prepared."""
        assert self.out is not None
        return self.out


@dataclass(frozen=True)
class RunRequest(RunOptions):
    """The request for a run; only the first field is required.

    ``scenario`` is a file, to which the changes ``set`` (``dotted.key=value``) apply, or a scenario
    that is there already. Other options leave it unchanged where they are None or empty.
    """

    scenario: Path | Scenario
    set: Annotated[
        tuple[str, ...],
        RunOption("Change one value of the scenario: dotted.key=value (several are allowed)."),
    ] = ()
    simulator: Annotated[
        str | None, RunOption("Which simulator: headless, carla, sumo, or module:Class.")
    ] = None
    seed: Annotated[int | None, RunOption("Seed of the run.")] = None
    controllers: Annotated[
        str | None,
        RunOption(
            "Control law of all controllers: a name, module:Class or file.py:Class. Or "
            "your own controller node: script.py or package/executable."
        ),
    ] = None
    without: Annotated[
        tuple[str, ...],
        RunOption("Leave out a participant that is not required (several are allowed)."),
    ] = ()
    processes: Annotated[
        str,
        RunOption(
            "How participants share processes in shape ros: auto (planned for the cores of this "
            "machine), own (none does), or the number of cores to plan for."
        ),
    ] = "auto"

    def options(self, **changed: Any) -> RunOptions:
        """How the scenario is brought up, with other values for some of the fields."""
        own = {field.name: getattr(self, field.name) for field in fields(RunOptions)}
        return RunOptions(**own | changed)


class DeclaredOption(NamedTuple):
    """An option of a run: its field of :class:`RunRequest`, in words."""

    field: str
    kind: type
    several: bool
    default: Any
    told: RunOption

    @property
    def flag(self) -> str:
        """Its name on the command line."""
        return self.told.flag or f"--{self.field.replace('_', '-')}"

    @property
    def argument(self) -> str:
        """Its name as a launch argument."""
        return self.flag.removeprefix("--").replace("-", "_")

    @property
    def text(self) -> str:
        """The default of the launch argument; an empty value changes nothing."""
        if self.told.read is not None or self.default in (None, ()):
            return ""
        return str(self.default).lower()

    def read(self, place: str, value: Any) -> Any:
        """The value at a place: a text, several texts, or the value itself.

        :raises ConfigurationError: it is not understood
        """
        if self.several:
            texts = words(place, value) if isinstance(value, str) else value
            return tuple(self._one(place, text) for text in texts)
        return self._one(place, value) if isinstance(value, str) else value

    def _one(self, place: str, text: str) -> Any:
        reader = self.told.read or _READERS.get(self.kind)
        return text if reader is None else reader(place, text)


@cache
def run_options() -> dict[str, DeclaredOption]:
    """The options by their launch arguments, without the scenario itself."""
    hints = get_type_hints(RunRequest, localns={"Scenario": object}, include_extras=True)
    found = {}
    for field in fields(RunRequest):
        kind = hints[field.name]
        if get_origin(kind) is not Annotated:
            continue
        plain, told = get_args(kind)
        several = get_origin(plain) is tuple
        (kind, *_) = [part for part in get_args(plain) or (plain,) if part is not NoneType]
        option = DeclaredOption(field.name, kind, several, field.default, told)
        found[option.argument] = option
    return found


def read_options(values: Mapping[str, Any], *, flags: bool = False) -> dict[str, Any]:
    """Fields of a :class:`RunRequest` from texts.

    :param values: by the names of launch arguments; an empty one leaves the default
    :param flags: whether they stand on a command line, as messages name them
    :raises ConfigurationError: a text is not understood
    """
    options = run_options()
    given = [(options[name], value) for name, value in values.items()]
    return {
        option.field: option.read(option.flag if flags else option.argument, value)
        for option, value in given
        if value not in (None, "", [])
    }


def words(name: str, text: str) -> tuple[str, ...]:
    """The words of a text with quotes as in a shell.

    :raises ConfigurationError: a quote is not closed
    """
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ConfigurationError(f"{name}: found '{text}'; {str(error).lower()}") from None


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ConfigurationError(f"{name}: found '{text}'; allowed is a whole number") from None


def _truth(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ConfigurationError(f"{name}: found '{text}'; allowed are true and false")
    return text.lower() == "true"


_READERS: dict[type, Callable[[str, str], Any]] = {
    int: _whole,
    bool: _truth,
    Path: lambda _, text: Path(text).absolute(),
}


def adjusted_scenario(request: RunRequest) -> Scenario:
    """The scenario of a request, with the changes that it asks for.

    :raises ConfigurationError: it cannot be read, or a change is not allowed
    """
    # Imported late: the command line shows the options without what reads scenarios.
    from ros2_cosim.core.scenario.adjust import adjusted
    from ros2_cosim.core.scenario.leave_out import leave_out
    from ros2_cosim.core.scenario.schema import load_scenario

    scenario = request.scenario
    if request.branch is not None and scenario == request.branch:
        from ros2_cosim.core.run.branch import scenario_of

        scenario = scenario_of(request.branch, request.set)
    elif isinstance(scenario, Path):
        scenario = load_scenario(scenario, request.set)
    elif request.set:
        raise ConfigurationError("set: changes by key are made to scenario files only")
    return adjusted(
        leave_out(scenario, request.without),
        seed=request.seed,
        simulator=request.simulator,
        controllers=request.controllers,
        overrides=request.set,
    )
