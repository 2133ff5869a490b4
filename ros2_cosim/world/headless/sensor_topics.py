# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sensors that clients have enabled for ROS 2 (``enable_for_ros``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.world.headless.snapshot import SENSOR_HEADER_BYTES
from ros2_cosim.world.headless.world import CallError

if TYPE_CHECKING:
    from ros2_cosim.world.headless.actors import Actor
    from ros2_cosim.world.headless.world import World


class SensorTopics(Protocol):
    """What publishes measurements; see ``ros2_cosim.ros.node.native_sensors``."""

    def supports(self, blueprint: str) -> bool:
        """Whether a kind of sensor has a topic."""

    def tell_time(self, time_ns: int) -> None:
        """Publish the simulated time."""

    def publish(
        self,
        blueprint: str,
        names: tuple[str, ...],
        pose: tuple[float, ...],
        time_ns: int,
        payload: bytes,
    ) -> None:
        """Publish a measurement of a sensor with its place on its parent."""

    def close(self) -> None:
        """End publishing."""


Open = Callable[[], SensorTopics]

_NAME: Final = "ros_name"


class RosSensors:
    """The sensors that are published, and what publishes them, which is made for the first one."""

    def __init__(self) -> None:
        #: Makes what publishes; None: this server was started without ROS 2.
        self.open: Open | None = None
        self._topics: SensorTopics | None = None
        self._enabled: set[int] = set()

    def enable(self, sensor: Actor) -> None:
        """Publish a sensor from now on.

        :raises CallError: there is no ROS 2 here, or no topic for this kind of sensor
        """
        if self._topics is None:
            if self.open is None:
                raise CallError("this server has no ROS 2: start it with cosim carla-headless")
            try:
                self._topics = self.open()
            except (ConfigurationError, ImportError, RuntimeError) as error:
                raise CallError(f"ROS 2 cannot be used: {error}") from None
        if not self._topics.supports(sensor.blueprint.id):
            raise CallError(f"'{sensor.blueprint.id}' has no topic in ROS 2")
        self._enabled.add(sensor.id)

    def disable(self, sensor_id: int) -> None:
        """Stop publishing a sensor."""
        self._enabled.discard(sensor_id)

    def is_enabled(self, sensor_id: int) -> bool:
        """Whether a sensor is published."""
        return sensor_id in self._enabled

    def tell_time(self, world: World) -> None:
        """Publish the time of a new frame, if anything is published."""
        if self._topics is not None and self._enabled:
            self._topics.tell_time(int(world.elapsed_s * SECOND + 0.5))

    def publish(self, world: World, sensor: Actor, message: bytes) -> None:
        """Publish a message of the protocol of a sensor that is enabled."""
        if self._topics is None:
            return
        names, actor = [_name(sensor)], world.actors.get(sensor.parent)
        while actor is not None:
            names.append(_name(actor))
            actor = world.actors.get(actor.parent)
        location, rotation = world.pose_to_set(sensor.id)
        self._topics.publish(
            sensor.blueprint.id, tuple(reversed(names)), (*location, *rotation),
            int(world.elapsed_s * SECOND + 0.5), message[SENSOR_HEADER_BYTES:],
        )  # fmt: skip

    def close(self) -> None:
        """Publish nothing any more."""
        self._enabled.clear()
        if self._topics is not None:
            self._topics.close()
            self._topics = None


def _name(actor: Actor) -> str:
    """The name of an actor in topics: its ``ros_name``, else its kind and number."""
    given = actor.attribute(_NAME) or ""
    if not given or given == actor.blueprint.id:
        given = f"{actor.blueprint.id}_{actor.id}"
    word = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in given)
    return word if word[:1].isalpha() else f"_{word}"
