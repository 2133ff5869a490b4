# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Collisions: find overlapping boxes, exchange momentum along the normal, push apart.

A contact is treated as a frictionless, nearly plastic impact between two masses; vehicles and
walkers move, other actors and what stands beside the roads do not (infinite mass).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ros2_cosim.core.kernel.exactmath import sqrt
from ros2_cosim.world.headless.actors import Actor, VehicleActor
from ros2_cosim.world.headless.contact import BoxContact, contact
from ros2_cosim.world.headless.standing_boxes import StandingBox
from ros2_cosim.world.headless.walkers import MASS, WalkerActor
from ros2_cosim.world.headless.wire_types import Vector
from ros2_cosim.world.map import frames

RESTITUTION: Final = 0.1  # of car bodies at more than walking speed
_STRIDE: Final = 0.2  # m, after which a walker looks whether it has met something


def resolve(actors: Sequence[Actor]) -> list[tuple[int, int, Vector]]:
    """Resolve all contacts once.

    :param actors: what can be hit, in the order of their ids
    :returns: (actor, other, impulse on the actor [N s, CARLA's frame]) for both sides of
        every contact in which the two were approaching, ordered by ids
    """
    events = []
    for i, j in _near_pairs(actors):
        first, second = actors[i], actors[j]
        found = contact(first.box(), second.box())
        if found is None:
            continue
        impulse = _separate(first, second, found)
        if impulse > 0.0:
            push = (impulse * found.normal_x, impulse * found.normal_y, 0.0)
            x, y, z = frames.vector_to_carla(*push)
            events.append((first.id, second.id, Vector(0.0 - x, 0.0 - y, z)))
            events.append((second.id, first.id, Vector(x, y, z)))
    return events


def resolve_standing(
    vehicle: VehicleActor, standing: Sequence[StandingBox]
) -> list[tuple[int, int, Vector]]:
    """Resolve the contacts of a vehicle with what stands fast.

    :returns: as ``resolve``, of the vehicle only
    """
    events = []
    for each in standing:
        found = contact(vehicle.box(), each.hull)
        if found is None:
            continue
        impulse = _separate(vehicle, each, found)
        if impulse > 0.0:
            push = frames.vector_to_carla(impulse * found.normal_x, impulse * found.normal_y, 0.0)
            events.append((vehicle.id, each.id, Vector(0.0 - push[0], 0.0 - push[1], push[2])))
    return events


def walk_against(
    walker: WalkerActor, start: Vector, standing: Sequence[StandingBox]
) -> list[tuple[int, int, Vector]]:
    """Let a walker that comes from a place stop at what stands fast, and go on along it.

    :returns: as ``resolve``, of the walker only
    """
    events = []
    end = walker.state.transform
    dx, dy = end.location.x - start.x, end.location.y - start.y
    parts = int(sqrt(dx * dx + dy * dy) / _STRIDE) + 1
    # Fences are thin: not the end alone counts.
    for part in range(1, parts + 1):
        share = part / parts
        x, y = start.x + share * dx, start.y + share * dy
        if part < parts:
            walker.place(end._replace(location=end.location._replace(x=x, y=y)))
        else:
            walker.place(end)
        for each in standing:
            found = contact(walker.box(), each.hull)
            if found is None:
                continue
            closing = walker.stop(*found)
            if closing > 0.0:
                push = MASS * closing
                x, y, z = frames.vector_to_carla(push * found.normal_x, push * found.normal_y, 0.0)
                events.append((walker.id, each.id, Vector(0.0 - x, 0.0 - y, z)))
        if events:
            break
    return events


def _near_pairs(actors: Sequence[Actor]) -> list[tuple[int, int]]:
    """Pairs with at least one vehicle whose surrounding circles overlap along x.

    None if no two boxes touch: then nothing pushes one against another.
    """
    boxes = [actor.box() for actor in actors]
    moving = [isinstance(actor, VehicleActor) for actor in actors]
    lows = [box.x - (box.half_length + box.half_width) for box in boxes]
    count, touching = len(boxes), False
    order = sorted(range(count), key=lows.__getitem__)
    pairs: list[int] = []  # both numbers in one, so that many cost little
    for position, index in enumerate(order):
        box, moves = boxes[index], moving[index]
        high = box.x + (box.half_length + box.half_width)
        for after in range(position + 1, count):
            other = order[after]
            if lows[other] > high:
                break
            if moves or moving[other]:
                i, j = (index, other) if index < other else (other, index)
                pairs.append(i * count + j)
                touching = touching or contact(boxes[i], boxes[j]) is not None
    return [divmod(pair, count) for pair in sorted(pairs)] if touching else []


def _separate(first: Actor, second: Actor | StandingBox, found: BoxContact) -> float:
    """Push two actors apart; returns the impulse between them [N s], 0 if they part anyway."""
    vx_1, vy_1, inverse_1 = first.motion()
    vx_2, vy_2, inverse_2 = second.motion()
    inverse = inverse_1 + inverse_2
    if inverse <= 0.0:
        return 0.0
    closing = (vx_1 - vx_2) * found.normal_x + (vy_1 - vy_2) * found.normal_y
    impulse = (1.0 + RESTITUTION) * closing / inverse if closing > 0.0 else 0.0
    for actor, share, sign in ((first, inverse_1, -1.0), (second, inverse_2, 1.0)):
        if share > 0.0:
            shift = sign * found.depth * share / inverse
            actor.push(
                found.normal_x * shift,
                found.normal_y * shift,
                found.normal_x * sign * impulse * share,
                found.normal_y * sign * impulse * share,
            )
    return impulse
