# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bring-up of a run, one for all that start runs.

A request goes through these stages: the scenario is *adjusted* and *checked*, the output directory
and what the run shape needs besides are *held*, and the directory is *prepared*. Errors show before
anything is locked, and conflicts with other runs before anything in the directory is deleted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ros2_cosim.core.documents.offered import offered
from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.namespaces import renamed_argument
from ros2_cosim.core.realtime.arrivals import read_arrivals
from ros2_cosim.core.run.output_directory import OutputDirectory
from ros2_cosim.core.run.request import RunOptions, RunRequest, adjusted_scenario
from ros2_cosim.core.run.shape import PreparedRun, Shape, find_shape, has_scene
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.drawing import drawn_vehicles, undrawable
from ros2_cosim.core.scenario.exports import EXPORT_GROUP
from ros2_cosim.core.scenario.schema import Scenario, save_scenario
from ros2_cosim.core.scenario.views import write_views
from ros2_cosim.core.scene.named_simulator import find_simulator


def checked(request: RunRequest, shape: Shape | None = None) -> tuple[Scenario, RunOptions]:
    """The scenario and the options of a request; changes nothing on the machine.

    :raises ConfigurationError: something is wrong with them
    """
    shape = shape or find_shape(request.shape)
    if request.repeat < 1:
        raise ConfigurationError(f"repeat: found {request.repeat}; allowed is 1 or more")
    for argument in request.ros_args:
        if argument.startswith(("__node:=", "__name:=", "__ns:=")):
            raise ConfigurationError(
                f"--ros-args: found '{argument}'; the nodes of a run have the names of its "
                "participants; use --namespace to place them"
            )
    if request.hard and request.rate is None:
        raise ConfigurationError("--hard: a run as fast as possible has no deadlines; add --rate")
    if request.foxglove:
        from ros2_cosim.core.record.foxglove_view import check_address

        check_address(request.foxglove)
    _check_checkpoints(request, shape)
    scenario = adjusted_scenario(request)
    find_simulator(scenario.simulator.model_dump())
    shape.check(request, scenario)
    options = request.options(
        out=Path(request.out or Path("out") / scenario.name).absolute(),
        arrivals=None if request.arrivals is None else request.arrivals.absolute(),
        visualise=request.visualise or request.rviz,
        ros_args=tuple(map(renamed_argument, request.ros_args)),
        branch=None if request.branch is None else request.branch.absolute(),
    )
    check_scenario(scenario, shape.name)
    if options.branch is not None or options.checkpoints:
        options = _checked_branch(scenario, options)
    scenario = shape.arranged(request, scenario, options)
    if request.arrivals is not None:
        read_arrivals(request.arrivals)
    return scenario, options


def _check_checkpoints(request: RunRequest, shape: Shape) -> None:
    asked = "--branch" if request.branch is not None else "--checkpoint"
    if request.branch is None and not request.checkpoints:
        return
    if shape.name != "inproc":
        raise ConfigurationError(
            f"{asked}: found with shape {request.shape}; allowed is shape inproc: messages "
            f"between processes cannot be saved"
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
    from ros2_cosim.core.run.branch import check_branch
    from ros2_cosim.core.run.checkpoints import check_savable, check_times

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


@contextmanager
def bring_up(
    request: RunRequest,
    *,
    clear: bool = True,
    domains: Sequence[int] | None = None,
    shape: Shape | None = None,
) -> Iterator[PreparedRun]:
    """Prepare a run; directory and domain are held until the body of the statement ends.

    :param clear: the directory is the run's alone: results of an earlier run in it are deleted.
        Without it other files may lie there
    :param domains: ROS domains of which the first that is free is taken; None: that of this
        process
    :param shape: that runs it; None: the one of the name
    :raises ConfigurationError: the request is wrong, or another run holds the directory or the
        domain
    """
    shape = shape or find_shape(request.shape)
    scenario, options = checked(request, shape)
    owner = f"run '{scenario.name}'"
    directory = OutputDirectory(options.output, owner)
    if not clear:
        directory = OutputDirectory(options.output, owner, marker=None)
    wanted = PreparedRun(scenario, options, directory)
    with directory, shape.held(request, wanted, domains=domains) as prepared:
        if clear:
            directory.clear(offered(EXPORT_GROUP))
        scenario = prepared.scenario
        save_scenario(scenario, options.output / RESOLVED_SCENARIO)
        seen = options.visualise or options.foxglove or has_scene(scenario, options)
        if seen and not undrawable(scenario):
            vehicles = drawn_vehicles(scenario)
            write_views(options.output, scenario, vehicles, options.namespace)
        yield prepared.with_files()
