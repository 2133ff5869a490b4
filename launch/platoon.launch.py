# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Run the platoon: ``ros2 launch ros2_cosim platoon.launch.py``; see ``scenario.launch.py``."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration

from ros2_cosim.core.documents.installed import share_file


def generate_launch_description() -> LaunchDescription:
    """Include the general launch file, with the platoon as default."""
    general = PythonLaunchDescriptionSource(str(Path(__file__).with_name("scenario.launch.py")))
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "scenario",
                default_value=str(share_file("config/platoon.yaml")),
                description="Scenario file (YAML or JSON).",
            ),
            IncludeLaunchDescription(
                general, launch_arguments=[("scenario", LaunchConfiguration("scenario"))]
            ),
        ]
    )
