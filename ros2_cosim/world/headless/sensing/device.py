# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What all sensors have in common: a moment at which they measure, and payloads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ros2_cosim.world.headless.wire_types import ActorRecord, Transform, Weather

if TYPE_CHECKING:
    from ros2_cosim.world.headless.actors import Actor
    from ros2_cosim.world.headless.sensing.path_loss import RadioFactory
    from ros2_cosim.world.headless.sensing.raster import Lens, View
    from ros2_cosim.world.headless.sensing.scene import TriangleScene
    from ros2_cosim.world.headless.sensing.shadows import Shade
    from ros2_cosim.world.headless.world import World


class SentMessage(NamedTuple):
    """A V2X message of a frame: the actor that sends it, and the power [dBm]."""

    owner: int
    power: float
    body: bytes


class AirOfFrame(Protocol):
    """What V2X sensors send in a frame."""

    radio: RadioFactory | None

    def heard_by(self, sensor: Actor) -> Iterator[SentMessage]:
        """What others send of a sensor's kind, in the order of the senders."""


class SensedFrame(NamedTuple):
    """What there is to measure in a frame.

    :ivar pose: where the sensor is
    :ivar dt: seconds since it measured last, or its period before the first time
    :ivar scene: makes, when it is called, what rays and cameras see
    :ivar view: renders, when it is called, what a camera in the sensor's place sees
    :ivar shade: makes, when it is called, the shadows around the sensor; None: there are none
    :ivar record: what the protocol calls Actor
    :ivar header: what stands before each payload
    :ivar air: what V2X sensors send; None: there is none
    """

    world: World
    pose: Transform
    dt: float
    weather: Weather
    scene: Callable[[], TriangleScene]
    view: Callable[[Lens], View]
    shade: Callable[[], Shade | None]
    record: Callable[[Actor], ActorRecord]
    header: bytes = b""
    air: AirOfFrame | None = None


class Device(ABC):
    """One sensor; keeps what it has to remember from one measurement to the next.

    :cvar sensor_type: the number by which the protocol knows its messages
    :cvar beside: whether it may measure in a separate thread, beside others
    """

    sensor_type: int
    beside = False

    def __init__(self, sensor: Actor) -> None:
        """Take the attributes of the actor.

        :raises ValueError: one of them has a value that the sensor cannot work with
        """
        self.sensor = sensor

    @abstractmethod
    def measure(self, moment: SensedFrame) -> list[bytes]:
        """The messages of this frame."""

    def may_measure(self, world: World) -> bool:
        """Whether there can be something to measure; it costs less to ask than to measure."""
        return True

    def within(self, name: str, low: float, high: float) -> float:
        """A numeric attribute.

        :raises ValueError: it lies outside of [low, high]
        """
        value = self.sensor.number(name)
        if not low <= value <= high:
            raise ValueError(
                f"attribute '{name}' of '{self.sensor.blueprint.id}': found {value:g}; "
                f"allowed is {low:g} to {high:g}"
            )
        return value
