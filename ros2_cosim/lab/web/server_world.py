# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The world of a headless CARLA server in another process, for a page of this one.

The server answers between two calls of the run. It holds nothing back for this reader, so that a
page that is slow, or gone, delays no tick; to look changes no result.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scene.named_simulator import CARLA_KINDS
from ros2_cosim.world.headless.onlooker import (
    LOOK_AT_CAMERA,
    LOOK_AT_WORLD,
    PICTURE_PERIOD_S,
    CameraPicture,
    WorldPicture,
)
from ros2_cosim.world.headless.server_wire import CallRefused, ServerWire, WireError

ANSWER_S: Final = 2.0
"""A server that does not answer in this time, since it begins or has been stopped, is left [s]."""
RETRY_S: Final = 1.0
"""Time to the next request to it [s]."""

_NO_ANSWER: Final = "the server has not answered"
_PICTURE: Final[TypeAdapter[WorldPicture]] = TypeAdapter(WorldPicture)
_CAMERA: Final[TypeAdapter[CameraPicture | None]] = TypeAdapter(CameraPicture | None)

Connect = Callable[[], ServerWire]


class ServerWorld:
    """The world of a server, and its cameras; may be asked from any thread.

    :param connect: makes a connection
    :raises WireError: never; without an answer the last picture stays
    """

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._wire: ServerWire | None = None
        #: Not asked before this time; ever again, where the server has no such world.
        self._not_before = float("-inf")
        self._asked = float("-inf")
        self._picture: WorldPicture | None = None

    def picture(self) -> WorldPicture | None:
        """The newest picture; None: there was none yet."""
        with self._lock:
            now = monotonic()
            if now - self._asked >= PICTURE_PERIOD_S:
                self._asked = now
                with suppress(TimeoutError):
                    self._picture = self._ask(_PICTURE, LOOK_AT_WORLD) or self._picture
            return self._picture

    def camera(self, number: int) -> CameraPicture | None:
        """The newest picture of a camera; None: there is no such camera.

        :raises TimeoutError: the server has not answered
        """
        with self._lock:
            return self._ask(_CAMERA, LOOK_AT_CAMERA, number)

    def close(self) -> None:
        """Leave the server; it is not asked again."""
        with self._lock:
            self._leave(float("inf"))

    def _ask(self, form: TypeAdapter[Any], method: str, *arguments: Any) -> Any:
        """The answer in its form; None: there is none, nor will there be.

        :raises TimeoutError: there is none yet
        """
        if self._not_before == float("inf"):
            return None
        if monotonic() < self._not_before:
            raise TimeoutError(_NO_ANSWER)
        try:
            if self._wire is None:
                self._wire = self._connect()
            return form.validate_python(self._wire.call(method, *arguments))
        except (CallRefused, ValidationError):
            self._leave(float("inf"))  # CARLA itself, or another version of this server
        except WireError as error:
            self._leave(monotonic() + RETRY_S)
            raise TimeoutError(_NO_ANSWER) from error
        return None

    def _leave(self, not_before: float) -> None:
        self._not_before = not_before
        wire, self._wire = self._wire, None
        if wire is not None:
            with suppress(OSError):
                wire.close()


def server_world(scenario: Scenario) -> ServerWorld | None:
    """The world behind the server of a run in processes; None: it has none.

    :param scenario: as the run has resolved it, with the number of the port
    """
    simulator = scenario.simulator
    if simulator.kind not in CARLA_KINDS or simulator.port == 0:
        return None
    return ServerWorld(lambda: ServerWire(simulator.host, simulator.port, ANSWER_S))
