# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What clients draw into the world by ``DebugHelper``: points, lines, arrows, boxes, texts.

Colour cameras and the web view show it, for as long as the client says; those of the HUD only the
web view, as in CARLA the window of the simulator. No other sensor meets it.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.world.headless.materials import Colour
from ros2_cosim.world.headless.wire_types import Rotation, Transform, Vector

MOST_SHAPES: Final = 10_000
"""Of more the oldest go: clients that draw for ever in every frame would fill the memory."""
MOST_TEXT: Final = 500
"""Longer texts are cut."""
_FOR_EVER: Final = -1.0
MOST_COORDINATE: Final = 1.0e6
"""Farther away [m], larger, or turned by more degrees a shape is a mistake."""


class Kind(Enum):
    """The kinds of shapes in the order of the protocol."""

    POINT = 0
    LINE = 1
    ARROW = 2
    BOX = 3
    STRING = 4


#: Kinds of the protocol: those of the world, then all but texts once more for the HUD.
KINDS: Final = (*Kind, *list(Kind)[:4])


class DebugShape(NamedTuple):
    """One shape; sizes in m.

    :ivar start: the point, the place of the text, the centre of the box, or where a line begins
    :ivar end: of a line or an arrow; half sizes of a box
    :ivar size: of a point or of an arrow's head
    :ivar until: simulated seconds at which it ends, None for ever
    """

    kind: Kind
    is_hud: bool
    start: Vector
    end: Vector
    rotation: Rotation
    thickness: float
    size: float
    text: str
    colour: Colour
    until: float | None

    def pose(self) -> Transform:
        """Of a box."""
        return Transform(self.start, self.rotation)


class DebugShapes:
    """The shapes of an episode."""

    def __init__(self) -> None:
        self._shapes: deque[DebugShape] = deque(maxlen=MOST_SHAPES)

    def draw(self, shape: DebugShape, life_time: float, now: float) -> None:
        """Draw a shape.

        :param life_time: simulated seconds, 0 for one frame, -1 for ever
        :param now: simulated seconds
        :raises CosimError: another life time below 0, or a shape that is a mistake
        """
        numbers = (*shape.start, *shape.end, *shape.rotation, shape.thickness, shape.size)
        if not all(-MOST_COORDINATE <= number <= MOST_COORDINATE for number in numbers):
            raise CosimError(f"a shape has a number beyond {MOST_COORDINATE:g}")
        if life_time < 0.0 and life_time != _FOR_EVER:
            raise CosimError(f"life time {life_time:g} must be 0 and above, or -1 for ever")
        until = None if life_time < 0.0 else now + life_time
        self._shapes.append(shape._replace(until=until, text=shape.text[:MOST_TEXT]))

    def clear(self, *, texts: bool) -> None:
        """Remove all texts, or all other shapes."""
        kept = [shape for shape in self._shapes if (shape.kind is Kind.STRING) != texts]
        self._shapes = deque(kept, maxlen=MOST_SHAPES)

    def alive(self, now: float, step: float) -> list[DebugShape]:
        """The shapes that are to be seen in the frame of a time; one lives for a frame at least.

        :param now: simulated seconds of the frame
        :param step: from the last frame to this one [s]
        """
        if self._shapes:
            before = now - step
            kept = [s for s in self._shapes if s.until is None or s.until >= before - 1e-9]
            if len(kept) != len(self._shapes):
                self._shapes = deque(kept, maxlen=MOST_SHAPES)
        return list(self._shapes)
