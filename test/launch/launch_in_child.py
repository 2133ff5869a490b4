# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Start a launch file in a process of its own, as ``ros2 launch FILE name:=value ...`` does."""

import sys

import launch
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import AnyLaunchDescriptionSource

if __name__ == "__main__":
    path, *arguments = sys.argv[1:]
    service = launch.LaunchService(argv=arguments, noninteractive=True)
    values = [tuple(argument.split(":=", 1)) for argument in arguments]
    source = AnyLaunchDescriptionSource(path)
    service.include_launch_description(
        launch.LaunchDescription([IncludeLaunchDescription(source, launch_arguments=values)])
    )
    sys.exit(service.run())
