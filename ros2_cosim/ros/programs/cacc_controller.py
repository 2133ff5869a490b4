# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The CACC controller of one follower, and the start of such a node with your own law."""

from __future__ import annotations

from functools import partial
from typing import NoReturn

from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.process.processes import run_main
from ros2_cosim.driving.cacc import CaccController
from ros2_cosim.driving.controllers import LongitudinalLaw
from ros2_cosim.driving.controllers.script import hand_over


def main() -> int:
    """Run the node with the law that the scenario names."""
    from ros2_cosim.ros.programs._start import run_participant

    return run_participant("cacc_controller")


def run_controller(law: LongitudinalLaw) -> NoReturn:
    """Run a controller node with your own law, to the end of the run; does not return.

    The last statement of a script that launch arguments name: ``controllers:=my_node.py``. The
    node does all that ``cacc_controller`` does, with the same parameters; only the law differs.
    If the law has a method ``attach(node)``, it is called once with the rclpy node, before the
    first activation: for publishers and its own ROS parameters.

    :param law: an object with a method ``acceleration(measurement)``
    """
    hand_over(law)
    # ROS is not needed before: shape inproc runs the same script where there is none.
    from ros2_cosim.core.scenario.declaration import declare
    from ros2_cosim.ros.programs._start import Started, run_participant

    def build(started: Started, name: str) -> FullModel:
        declared = declare(started.scenario, name)
        return CaccController(declared.context, declared.parameters, law=law)

    run_main(partial(run_participant, "cacc_controller", build))


if __name__ == "__main__":
    run_main(main)
