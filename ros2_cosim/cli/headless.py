# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim carla-headless``: the server with a page of its world and sensors in ROS 2."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from ros2_cosim.cli.console import go_on_without_output
from ros2_cosim.world.headless.__main__ import make_command

if TYPE_CHECKING:
    from ros2_cosim.world.headless.sensing.path_loss import RadioWaves
    from ros2_cosim.world.headless.sensor_topics import SensorTopics
    from ros2_cosim.world.headless.server import Server


def _world_page(server: Server, port: int) -> AbstractContextManager[str]:
    """The page of a headless server's world."""
    from ros2_cosim.lab.web.world_view import world_page

    return world_page(server, port)


def _sensor_topics() -> SensorTopics:
    """What publishes the sensors of a headless server to ROS 2."""
    from ros2_cosim.ros.bringup.dds import check_ros

    check_ros("a topic of a sensor")
    from ros2_cosim.ros.node.native_sensors import NativeSensors

    return NativeSensors()


def _radio_waves(power: float, sensitivity: float) -> RadioWaves:
    """The channel of the V2V models, for levels that the attributes of sensors have [dBm]."""
    from ros2_cosim.driving.v2v.radio import Radio, RadioSettings

    return Radio(RadioSettings.model_construct(power=power, sensitivity=sensitivity))


def _tell_ready(line: str) -> None:
    go_on_without_output()
    print(line, flush=True)


carla_headless = make_command(
    on_ready=_tell_ready,
    page=_world_page,
    topics=_sensor_topics,
    radio=_radio_waves,
    look_ahead=True,
)
