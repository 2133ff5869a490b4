# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Remote methods of the shapes that clients draw into the world."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from ros2_cosim.world.headless.debug_shapes import KINDS, DebugShape, Kind
from ros2_cosim.world.headless.decoding import (
    ArgumentError,
    Reader,
    boolean,
    color,
    integer,
    pair,
    real,
    rotation,
    structure,
    text,
    u32,
    vector,
)
from ros2_cosim.world.headless.dispatch import AnswerForm, MethodTable, by_world
from ros2_cosim.world.headless.wire_types import BoundingBox, Rotation, Vector

if TYPE_CHECKING:
    from ros2_cosim.world.headless.simulation import Simulation

TABLE = MethodTable()
_method = TABLE.method
NONE = AnswerForm.NONE

_BLACK: Final = (0, 0, 0)


def _shape(kind: Kind, start: Vector, **rest: Any) -> DebugShape:
    plain = DebugShape(kind, False, start, Vector(), Rotation(), 0.0, 0.0, "", _BLACK, None)
    return plain._replace(**rest)


def _line(start: Vector, end: Vector, thickness: float) -> DebugShape:
    return _shape(Kind.LINE, start, end=end, thickness=_size(thickness))


def _size(value: float) -> float:
    if value < 0.0:
        raise ArgumentError(f"a size must be 0 and above, found {value:g}")
    return value


_box = structure(BoundingBox, vector, vector, rotation, u32)
#: How the fields of each kind become a shape.
_FORMS: Final[dict[Kind, Reader[DebugShape]]] = {
    Kind.POINT: structure(
        lambda place, size: _shape(Kind.POINT, place, size=_size(size)), vector, real
    ),
    Kind.LINE: structure(_line, vector, vector, real),
    Kind.ARROW: structure(
        lambda line, size: line._replace(kind=Kind.ARROW, size=_size(size)),
        structure(_line, vector, vector, real),
        real,
    ),
    Kind.BOX: structure(
        lambda box, turned, thickness: _shape(
            Kind.BOX, box.location, end=box.extent, rotation=turned, thickness=_size(thickness)
        ),
        _box,
        rotation,
        real,
    ),
    Kind.STRING: structure(
        lambda place, words, _shadow: _shape(Kind.STRING, place, text=words),
        vector,
        text,
        boolean,
    ),
}
_which: Reader[int] = integer(0, len(KINDS) - 1)


def _primitive(value: Any) -> DebugShape:
    number, fields = pair(_which, lambda fields: fields)(value)
    read: Callable[[Any], DebugShape] = _FORMS[KINDS[number]]
    return read(fields)._replace(is_hud=number >= len(Kind))


def _drawing(
    shape: DebugShape, colour: tuple[int, int, int], life_time: float, _persistent: bool
) -> tuple[DebugShape, float]:
    return shape._replace(colour=colour), life_time


_drawn = structure(_drawing, _primitive, color, real, boolean)


@_method("draw_debug_shape", NONE, _drawn)
def _draw(simulation: Simulation, drawn: tuple[DebugShape, float]) -> None:
    world = simulation.world
    world.shapes.draw(*drawn, world.elapsed_s)


TABLE.methods(
    NONE,
    by_world,
    ("clear_debug_shape", lambda world: world.shapes.clear(texts=False)),
    ("clear_debug_string", lambda world: world.shapes.clear(texts=True)),
)
