# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Run shape ``inproc``: everything in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.namespaces import ROOT
from ros2_cosim.core.process.memory import forget_former_run
from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.shape import PreparedRun, RunCallbacks, Shape, refuse_sharing
from ros2_cosim.core.scenario.schema import Scenario


class InprocShape(Shape):
    """No process but this one, no ROS, no sockets."""

    name = "inproc"

    def check(self, request: RunRequest, scenario: Scenario) -> None:
        """Refuse what only a run with ROS has.

        :raises ConfigurationError: the request asks for it
        """
        refuse_sharing(request)
        if request.ros_args:
            raise ConfigurationError(
                "--ros-args: found with shape inproc, which has no ROS; allowed are the shapes ros "
                "and composed"
            )
        if request.namespace != ROOT:
            raise ConfigurationError(
                f"namespace: found '{request.namespace}' with shape inproc, which has no ROS; "
                "allowed are the shapes ros and composed"
            )
        has_view = request.visualise or request.rviz
        if scenario.simulator.kind == "carla" or has_view or request.paused:
            raise ConfigurationError(
                "shape inproc runs the headless world, without ROS; simulator carla, --visualise, "
                "--rviz and --paused need --shape ros or composed"
            )

    @contextmanager
    def held(
        self, request: RunRequest, prepared: PreparedRun, *, domains: Sequence[int] | None
    ) -> Iterator[PreparedRun]:
        """Nothing more is needed."""
        yield prepared

    def run(self, prepared: PreparedRun, callbacks: RunCallbacks) -> Summary:
        """Run as often as is wanted, in this process.

        Nothing of one run reaches the next: all models are made anew, and those before are closed.

        :returns: the summary of the first time
        """

        def advanced(time_ns: int) -> None:
            callbacks.on_poll()
            callbacks.progress(time_ns)

        def tell(line: str) -> None:
            callbacks.on_line(self.name, line)

        first: Summary | None = None
        for repetition in range(prepared.options.repeat):
            if repetition:
                forget_former_run()
            once = prepared.again(repetition) if repetition else prepared
            with InprocRun(once, progress=advanced, tell=tell) as run:
                summary = run.finish()
            first = first or summary
        assert first is not None, "a run is made at least once"
        return first
