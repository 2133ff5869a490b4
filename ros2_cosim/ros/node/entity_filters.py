# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which entities a request of ``simulation_interfaces`` is about, and in what shape they are.

The regular expressions of the standard are POSIX's extended ones; Python's take them except for
the classes of characters, which are written out here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scene.entities import Entity, Volume
from ros2_cosim.world.map import frames

_MAX_PATTERN: Final = 256
#: Coordinates and radii of bounds [m] are at most so large: their sums are numbers, too.
_FARTHEST: Final = 1e9
_CLASSES: Final = {
    "alpha": "A-Za-z",
    "digit": "0-9",
    "alnum": "A-Za-z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "xdigit": "0-9A-Fa-f",
}
Test = Callable[[Entity], bool]


class UnsupportedShape(ConfigurationError):
    """The bounds of a filter are of a kind that is not compared."""


def matching(entities: Iterable[Entity], filters: Any) -> list[Entity]:
    """The entities that pass all parts of an ``EntityFilters`` message.

    :raises UnsupportedShape: its bounds are convex hulls
    :raises ConfigurationError: its expression, its tags or its bounds are wrong
    """
    tests = [*_name_tests(filters.filter), *_bounds_tests(filters.bounds)]
    kinds = {each.category for each in filters.categories}
    has_tags = tags_test(filters.tags)
    return [
        each
        for each in entities
        if (not kinds or int(each.kind) in kinds)
        and has_tags(each.tags)
        and all(test(each) for test in tests)
    ]


def tags_test(wanted: Any) -> Callable[[Sequence[str]], bool]:
    """Whether tags pass a ``TagsFilter`` message; an empty one is passed by all.

    :raises ConfigurationError: its mode is wrong
    """
    modes = {wanted.FILTER_MODE_ANY: any, wanted.FILTER_MODE_ALL: all}
    passes = modes.get(wanted.filter_mode)
    if passes is None:
        raise ConfigurationError(
            f"filter_mode: found {wanted.filter_mode}; allowed are {wanted.FILTER_MODE_ANY} (any) "
            f"and {wanted.FILTER_MODE_ALL} (all)"
        )
    return lambda tags: not wanted.tags or passes(tag in tags for tag in wanted.tags)


def as_bounds(kinds: Any, vector: Any, volume: Volume) -> Any:
    """A box as a ``Bounds`` message: upper corner, lower corner.

    :param kinds: class of the message
    :param vector: class of its points
    """
    points = [vector(x=x, y=y, z=z) for x, y, z in (volume.high, volume.low)]
    return kinds(type=kinds.TYPE_BOX, points=points)


def _name_tests(pattern: str) -> list[Test]:
    if not pattern:
        return []
    if len(pattern) > _MAX_PATTERN:
        raise ConfigurationError(
            f"filter: found {len(pattern)} characters; allowed are {_MAX_PATTERN}"
        )
    text = re.sub(r"\[:(\w+):\]", lambda found: _CLASSES.get(found[1], found[0]), pattern)
    try:
        expression = re.compile(text)
    except re.error as error:
        raise ConfigurationError(f"filter: found '{pattern}': {error}") from None
    return [lambda entity: expression.search(entity.name) is not None]


def _bounds_tests(bounds: Any) -> list[Test]:
    points = [(p.x, p.y, p.z) for p in bounds.points]
    if bounds.type == bounds.TYPE_EMPTY:
        return []
    if bounds.type not in (bounds.TYPE_BOX, bounds.TYPE_SPHERE):
        raise UnsupportedShape(
            f"bounds.type: found {bounds.type}; supported are {bounds.TYPE_BOX} (box) and "
            f"{bounds.TYPE_SPHERE} (sphere)"
        )
    if len(points) != 2:
        raise ConfigurationError(f"bounds.points: found {len(points)}; allowed are 2")
    first, second = points
    sphere = bounds.type == bounds.TYPE_SPHERE
    used = (*first, second[0]) if sphere else (*first, *second)
    least = 0.0 if sphere else -_FARTHEST
    if not (all(abs(part) <= _FARTHEST for part in used) and second[0] >= least):
        raise ConfigurationError(
            f"bounds.points: found {first} and {second}; allowed are numbers up to {_FARTHEST:g} "
            "and a radius of 0 or more"
        )
    if sphere:
        return [lambda entity: _is_near(entity, first, second[0])]
    low = tuple(map(min, first, second))
    high = tuple(map(max, first, second))
    return [lambda entity: _overlaps(entity, low, high)]


def _is_near(entity: Entity, centre: Sequence[float], radius: float) -> bool:
    """Whether a sphere reaches the box of an entity."""
    (x, y, z), q = entity.motion.pose[0:3], entity.motion.pose[3:7]
    away = frames.world_to_body(q, (centre[0] - x, centre[1] - y, centre[2] - z))
    volume = zip(away, entity.volume.low, entity.volume.high, strict=True)
    square = sum((part - min(max(part, a), b)) ** 2 for part, a, b in volume)
    return square <= radius * radius


def _overlaps(entity: Entity, low: Sequence[float], high: Sequence[float]) -> bool:
    """Whether the box of an entity and one along the axes overlap: no axis separates them.

    Of the axes that could, those of the two boxes are looked at, and their cross products.
    """
    (x, y, z), q = entity.motion.pose[0:3], entity.motion.pose[3:7]
    own = entity.volume
    half = [0.5 * (b - a) for a, b in zip(own.low, own.high, strict=True)]
    middle = [0.5 * (b + a) for a, b in zip(own.low, own.high, strict=True)]
    offset = frames.body_to_world(q, (middle[0], middle[1], middle[2]))
    axes = [frames.body_to_world(q, axis) for axis in _AXES]
    between = [
        0.5 * (a + b) - place - part
        for a, b, place, part in zip(low, high, (x, y, z), offset, strict=True)
    ]
    room = [0.5 * (b - a) for a, b in zip(low, high, strict=True)]
    crossed = [_cross(a, b) for a in axes for b in _AXES]
    for axis in (*_AXES, *axes, *crossed):
        reach = sum(r * abs(part) for r, part in zip(room, axis, strict=True))
        reach += sum(h * abs(_dot(a, axis)) for h, a in zip(half, axes, strict=True))
        if abs(_dot(between, axis)) > reach:
            return False
    return True


_AXES: Final = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _cross(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )
