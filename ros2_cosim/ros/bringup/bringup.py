# SPDX-License-Identifier: Apache-2.0
"""The bring-up of a run, one for all that start runs.

A request goes through these stages: the scenario is *adjusted* and *checked*, the output directory
and the ROS domain are *locked*, ports are chosen and the processes *planned*, and the directory is
*prepared*. What is wrong shows before anything is locked, and what is taken before anything in
the directory is deleted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.live.foxglove_view import check_address
from ros2_cosim.core.messages.namespaces import ROOT, renamed_argument
from ros2_cosim.core.process.seal import RUN_SECRET, new_secret, secret_of
from ros2_cosim.core.realtime.arrivals import read_arrivals
from ros2_cosim.core.run.branch import check_branch, scenario_of
from ros2_cosim.core.run.checkpoints import check_savable, check_times
from ros2_cosim.core.run.output_directory import (
    LOG_DIRECTORY,
    OutputDirectory,
    repetition_directory,
)
from ros2_cosim.core.run.process_limits import check_limits
from ros2_cosim.core.scenario.adjust import adjusted
from ros2_cosim.core.scenario.check import check_scenario, try_models
from ros2_cosim.core.scenario.drawing import drawn_vehicles, undrawable
from ros2_cosim.core.scenario.grouping import AUTO, cores_for, grouped
from ros2_cosim.core.scenario.held_ports import HeldPorts, hold_ports
from ros2_cosim.core.scenario.leave_out import leave_out
from ros2_cosim.core.scenario.plan import RESOLVED_SCENARIO, Process, RunOptions, make_plan
from ros2_cosim.core.scenario.schema import Scenario, load_scenario, save_scenario
from ros2_cosim.core.scenario.system import with_declared_outputs
from ros2_cosim.core.scenario.views import write_views
from ros2_cosim.core.scene.named_simulator import find_simulator
from ros2_cosim.core.sockets.switchboard import LANE, Switchboard
from ros2_cosim.driving.controllers.law_loop import doubts
from ros2_cosim.ros.bringup.dds import (
    Network,
    dds_environment,
    dds_notes,
    dds_settings,
    loopback_environment,
)
from ros2_cosim.ros.bringup.domain_lock import HeldPlace, domain_lock
from ros2_cosim.ros.bringup.guard import Guard
from ros2_cosim.ros.bringup.processes import commands_by_hand
from ros2_cosim.ros.bringup.starter_channel import CHANNEL, StarterChannel
from ros2_cosim.ros.bringup.transport import TRANSPORTS, has_lane
from ros2_cosim.ros.hosts.far_plan import network_of, write_parts
from ros2_cosim.ros.node.service_switch import NO_CONTROL

SHAPES = ("ros", "composed", "inproc")


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


#: Lists the processes of a run; :func:`make_plan` but for runs without synchronisation.
Planner = Callable[[Scenario, RunOptions], list[Process]]


@dataclass(frozen=True)
class PreparedRun:
    """A run that can be started: nothing is in its way.

    ``plan`` lists its processes, ``environment`` is theirs, ``channel`` connects them with the
    starter and ``ports`` are what their servers listen at. In shape ``inproc`` there are none.
    """

    scenario: Scenario
    options: RunOptions
    directory: OutputDirectory
    plan: list[Process]
    environment: dict[str, str]
    channel: StarterChannel | None
    ports: HeldPorts | None

    @property
    def output(self) -> Path:
        """The output directory."""
        return self.options.output

    def again(self, repetition: int) -> PreparedRun:
        """The n-th time that the run begins anew, with a directory of its own below this one."""
        output = self.output / repetition_directory(repetition)
        output.mkdir()
        save_scenario(self.scenario, output / RESOLVED_SCENARIO)
        return replace(self, options=replace(self.options, output=output))

    def notes(self) -> list[str]:
        """What was asked for that this run does not do, or is hardly meant, in lines."""
        reason = undrawable(self.scenario)
        wanted = {
            "visualise": self.options.visualise,
            "bag.scene": _has_scene(self.scenario, self.options),
        }
        undrawn = [f"{key}: {reason}" for key, is_wanted in wanted.items() if is_wanted and reason]
        reach = dds_notes(os.environ) if self.plan else []
        return [*doubts(self.scenario), *undrawn, *reach]

    def commands_by_hand(self) -> list[tuple[str, str]]:
        """(name, command line) of the processes that the user starts."""
        return commands_by_hand(self.scenario, self.options) if self.options.by_hand else []


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


def checked(request: RunRequest, planner: Planner = make_plan) -> tuple[Scenario, RunOptions]:
    """The scenario and the options of a request; nothing on the machine is changed.

    :raises ConfigurationError: something is wrong with them
    """
    if request.shape not in SHAPES:
        raise ConfigurationError(f"shape: found '{request.shape}'; allowed are {', '.join(SHAPES)}")
    if request.transport not in TRANSPORTS:
        raise ConfigurationError(
            f"transport: found '{request.transport}'; allowed are {' and '.join(TRANSPORTS)}"
        )
    if request.repeat < 1:
        raise ConfigurationError(f"repeat: found {request.repeat}; allowed is 1 or more")
    for argument in request.ros_args:
        if argument.startswith(("__node:=", "__name:=", "__ns:=")):
            raise ConfigurationError(
                f"--ros-args: found '{argument}'; the nodes of a run have the names of its "
                "participants; allowed is --namespace for where they are"
            )
    if request.hard and request.rate is None:
        raise ConfigurationError("--hard: a run as fast as possible has no deadlines; add --rate")
    if request.foxglove:
        check_address(request.foxglove)
    _check_checkpoints(request)
    scenario = adjusted_scenario(request)
    find_simulator(scenario.simulator.model_dump())
    check_shape(request, scenario)
    options = RunOptions(
        Path(request.out or Path("out") / scenario.name).absolute(),
        shape=request.shape,
        rate=request.rate,
        hard=request.hard,
        arrivals=None if request.arrivals is None else request.arrivals.absolute(),
        record=request.record,
        visualise=request.visualise or request.rviz,
        rviz=request.rviz,
        foxglove=request.foxglove,
        paused=request.paused,
        repeat=request.repeat,
        transport=request.transport,
        by_hand=request.by_hand,
        profile=request.profile,
        namespace=request.namespace,
        ros_arguments=tuple(map(renamed_argument, request.ros_args)),
        checkpoints=request.checkpoints,
        branch=None if request.branch is None else request.branch.absolute(),
    )
    check_scenario(scenario, request.shape)
    if options.branch is not None or options.checkpoints:
        options = _checked_branch(scenario, options)
    cores = cores_for(request.processes)
    if request.shape == "ros":
        scenario = grouped(scenario, cores, request.by_hand)
    if request.shape != "inproc" or request.by_hand:
        plan = planner(scenario, options)
        if request.shape != "inproc":
            on_lane = len(scenario.participants) * has_lane(options, plan, os.environ)
            check_limits(len(plan), on_lane)
    if request.shape != "inproc":  # which makes all models in the starting process
        try_models(scenario, request.shape)
    if request.arrivals is not None:
        read_arrivals(request.arrivals)
    return scenario, options


def _check_checkpoints(request: RunRequest) -> None:
    asked = "--branch" if request.branch is not None else "--checkpoint"
    if request.branch is None and not request.checkpoints:
        return
    if request.shape != "inproc":
        raise ConfigurationError(
            f"{asked}: found with shape {request.shape}; allowed is shape inproc: what is "
            "on its way between processes cannot be saved"
        )
    for option, given in (
        ("--repeat", request.repeat > 1),
        ("--rate", request.rate is not None),
        ("--arrivals", request.arrivals is not None),
    ):
        if given:
            raise ConfigurationError(
                f"{asked}: found together with {option}; allowed is one of them"
            )


def _checked_branch(scenario: Scenario, options: RunOptions) -> RunOptions:
    began = 0
    if options.branch is not None:
        began = check_branch(options.branch, scenario)
        if options.branch.resolve().is_relative_to(options.output.resolve()):
            raise ConfigurationError(
                f"--out {options.output}: it holds the checkpoint {options.branch.name}, which the "
                "run would remove; allowed is another directory"
            )
    times = check_times(options.checkpoints, began, scenario.duration)
    if times:
        check_savable(scenario)
    return replace(options, checkpoints=times)


def check_shape(request: RunRequest, scenario: Scenario) -> None:
    """See whether the shape of a run has what the request asks of it.

    :raises ConfigurationError: it has not
    """
    if request.shape != "ros":
        for option, is_given in (
            ("processes", request.processes != AUTO),
            ("transport", request.transport != "auto"),
        ):
            if is_given:
                raise ConfigurationError(
                    f"--{option}: found with shape {request.shape}, whose participants share one "
                    "process; allowed is shape ros"
                )
    if request.shape != "inproc":
        if find_spec("rclpy") is None:
            raise ConfigurationError(
                f"shape {request.shape} needs rclpy, which is not installed; run 'make setup', or "
                "source a ROS installation, or use --shape inproc"
            )
        return
    if request.ros_args:
        raise ConfigurationError(
            "--ros-args: found with shape inproc, which has no ROS; allowed are the shapes ros and "
            "composed"
        )
    if request.namespace != ROOT:
        raise ConfigurationError(
            f"namespace: found '{request.namespace}' with shape inproc, which has no ROS; allowed "
            "are the shapes ros and composed"
        )
    if request.no_control:
        raise ConfigurationError(
            "--no-control: found with shape inproc, which has no services; allowed are the shapes "
            "ros and composed"
        )
    if scenario.simulator.kind == "carla" or request.visualise or request.rviz or request.paused:
        raise ConfigurationError(
            "shape inproc runs the headless world, without ROS; simulator carla, --visualise, "
            "--rviz and --paused need --shape ros or composed"
        )


@contextmanager
def bring_up(
    request: RunRequest,
    *,
    clear: bool = True,
    domains: Sequence[int] | None = None,
    planner: Planner = make_plan,
) -> Iterator[PreparedRun]:
    """Prepare a run; directory and domain are held until the body of the statement ends.

    :param clear: the directory is the run's alone: results of an earlier run in it are deleted.
        Without it other files may lie there
    :param domains: ROS domains of which the first that is free is taken; None: that of this
        process
    :param planner: lists the processes
    :raises ConfigurationError: the request is wrong, or another run holds the directory or the
        domain
    """
    scenario, options = checked(request, planner)
    owner = f"run '{scenario.name}'"
    with ExitStack() as stack:
        directory = OutputDirectory(options.output, owner)
        if not clear:
            directory = OutputDirectory(options.output, owner, marker=None)
        stack.enter_context(directory)
        plan: list[Process] = []
        environment = dict(os.environ)
        channel: StarterChannel | None = None
        ports: HeldPorts | None = None
        place: HeldPlace | None = None
        network: Network | None = None
        settings, secret = {}, ""
        if options.shape != "inproc":
            # One that was set holds: processes on other hosts, started by the user, have it too.
            secret = secret_of() or new_secret()
            place = stack.enter_context(domain_lock(domains, namespace=options.namespace))
            ports = hold_ports(scenario, options.shape)
            stack.callback(ports.close)
            scenario = with_declared_outputs(ports.scenario)
            plan = planner(scenario, options)
            network = network_of(scenario, plan)
            settings = dds_settings(dds_environment(os.environ, options.output, network))
            channel = stack.enter_context(StarterChannel(directory))
            stack.enter_context(Guard(f"{CHANNEL}={channel.address}"))
            environment |= {
                "ROS_DOMAIN_ID": str(place.domain),
                CHANNEL: channel.address,
                RUN_SECRET: secret,
            }
            if request.no_control:
                environment[NO_CONTROL] = "1"
            environment.pop(LANE, None)
            if has_lane(options, plan, environment):
                switchboard = stack.enter_context(Switchboard(secret))
                directory.announce(lane=switchboard.address)
                environment[LANE] = switchboard.address
            # In the home directory it would stay for ever, if it can be written at all.
            environment.setdefault("ROS_LOG_DIR", str(options.output / LOG_DIRECTORY))
        if clear:
            directory.clear()
        save_scenario(scenario, options.output / RESOLVED_SCENARIO)
        seen = options.visualise or options.foxglove or _has_scene(scenario, options)
        if seen and not undrawable(scenario):
            vehicles = drawn_vehicles(scenario)
            write_views(options.output, scenario, vehicles, options.namespace)
        if plan:
            environment = loopback_environment(
                environment, options.output, options.namespace, network
            )
            if network is not None:
                write_parts(scenario, options, plan, network)
        if place is not None:
            place.announce(scenario.name, options.output, settings, secret)
        yield PreparedRun(scenario, options, directory, plan, environment, channel, ports)


def _has_scene(scenario: Scenario, options: RunOptions) -> bool:
    return options.record and scenario.bag.scene is not None
