# SPDX-License-Identifier: Apache-2.0
"""The run that is asked for: what every command, launch file and study fills in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.namespaces import ROOT
from ros2_cosim.core.run.branch import scenario_of
from ros2_cosim.core.scenario.adjust import adjusted
from ros2_cosim.core.scenario.grouping import AUTO
from ros2_cosim.core.scenario.leave_out import leave_out
from ros2_cosim.core.scenario.schema import Scenario, load_scenario


@dataclass(frozen=True)
class RunOptions:
    """How a scenario is brought up.

    ``rate`` is a real-time factor, None: as fast as possible; ``hard`` asks for hard real time;
    ``arrivals`` is the arrival record of a run that is to be repeated.
    """

    output: Path
    shape: str = "ros"
    rate: float | None = None
    hard: bool = False
    arrivals: Path | None = None
    record: bool = True
    visualise: bool = False
    rviz: bool = False
    #: Where Foxglove finds the run, [HOST:]PORT; empty: nowhere.
    foxglove: str = ""
    #: Begin paused, before the activations at time 0.
    paused: bool = False
    #: How often it is run, one after the other, in the same processes.
    repeat: int = 1
    #: What carries messages between processes: a lane where it reaches all, or DDS.
    transport: str = "auto"
    #: Whether the processes note what they spend their time on.
    profile: bool = False
    #: Processes that the user starts: of a participant, or of several.
    by_hand: tuple[str, ...] = ()
    #: Of all nodes, topics and services.
    namespace: str = ROOT
    #: ROS arguments of all nodes.
    ros_arguments: tuple[str, ...] = ()
    #: When checkpoints are written [ns], and the one that the run goes on from.
    checkpoints: tuple[int, ...] = ()
    branch: Path | None = None


@dataclass(frozen=True)
class RunRequest:
    """A run that is wanted; every field but the first may be left out.

    ``scenario`` is a file, to which the changes ``set`` (``dotted.key=value``) apply, or a scenario
    that is there already. ``shape`` is the run shape, empty: ``ros``, or ``inproc`` where only that
    can do what is wanted. ``simulator``, ``host``, ``port``, ``seed``, ``duration`` [ns] and
    ``controllers`` change it, ``without`` leaves participants out of it; None and empty leave it as
    it is. ``rate`` is a
    real-time factor, None: as fast as possible. ``arrivals`` is the arrival record of a run that
    is repeated. ``transport`` carries messages between processes. ``by_hand`` names processes that
    the user starts, ``processes`` says how participants share the others. With ``profile`` they
    note what they spend their time on. ``checkpoints`` are the times [ns] at which one is written,
    and ``branch`` is the one that the run goes on from; if ``scenario`` is the same file, the
    scenario in it is meant. ``foxglove`` is where Foxglove finds the run, ``[HOST:]PORT``. With
    ``no_control`` no service changes the run. All its
    nodes and topics are in ``namespace``, and its nodes get the ROS arguments ``ros_args``. ``out``
    is the output directory, None: ``out/NAME`` of the scenario.
    """

    scenario: Path | Scenario
    set: tuple[str, ...] = ()
    shape: str = ""
    simulator: str | None = None
    host: str | None = None
    port: int | None = None
    rate: float | None = None
    hard: bool = False
    arrivals: Path | None = None
    out: Path | None = None
    seed: int | None = None
    duration: int | None = None
    controllers: str | None = None
    without: tuple[str, ...] = ()
    transport: str = "auto"
    by_hand: tuple[str, ...] = ()
    record: bool = True
    visualise: bool = False
    rviz: bool = False
    foxglove: str = ""
    paused: bool = False
    no_control: bool = False
    repeat: int = 1
    processes: str = AUTO
    profile: bool = False
    namespace: str = ROOT
    ros_args: tuple[str, ...] = ()
    checkpoints: tuple[int, ...] = ()
    branch: Path | None = None

    def __post_init__(self) -> None:
        """Choose the shape, unless it is given."""
        if not self.shape:
            saved = self.checkpoints or self.branch is not None
            object.__setattr__(self, "shape", "inproc" if saved else "ros")


def adjusted_scenario(request: RunRequest) -> Scenario:
    """The scenario of a request, with the changes that it asks for.

    :raises ConfigurationError: it cannot be read, or a change is not allowed
    """
    scenario = request.scenario
    if request.branch is not None and scenario == request.branch:
        scenario = scenario_of(request.branch, request.set)
    elif isinstance(scenario, Path):
        scenario = load_scenario(scenario, request.set)
    elif request.set:
        raise ConfigurationError("set: changes by key are made to scenario files only")
    return adjusted(
        leave_out(scenario, request.without),
        seed=request.seed,
        duration=request.duration,
        simulator=request.simulator,
        host=request.host,
        port=request.port,
        controllers=request.controllers,
        overrides=request.set,
    )
