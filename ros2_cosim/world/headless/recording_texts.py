# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Texts about a recording: all of it, its collisions, actors that do not move."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ros2_cosim.core.kernel.exactmath import sqrt
from ros2_cosim.world.headless import recording_extras
from ros2_cosim.world.headless.recording import (
    LIGHT,
    VEHICLE,
    WALKER,
    Added,
    RecordedFrame,
    Recording,
)
from ros2_cosim.world.headless.wire_types import Transform, Vector

_LETTERS = {VEHICLE: "v", WALKER: "w", LIGHT: "t"}


def file_info(recording: Recording, everything: bool) -> str:
    """The header and the events of all frames; ``everything``: also positions and controls."""
    lines = [*_header(recording)]
    last: RecordedFrame | None = None
    for frame in recording.frames():
        last = frame
        found = [*_events(frame), *(_states(frame) if everything else ())]
        if found or everything:
            lines.append(f"Frame {frame.number} at {frame.elapsed:g} seconds")
            lines += found
    return "\n".join([*lines, *_footer(last)])


def collisions(recording: Recording, first: str, second: str) -> str:
    """Collisions between two kinds of actors.

    :param first: v vehicle, w walker, t traffic light, h hero, o other, a any; so ``second``
    """
    title = f"{'Time':>8} {'Types':>6} {'Id':>6} {'Actor 1':<35} {'Id':>6} {'Actor 2':<35}"
    lines = [*_header(recording), title]
    actors: dict[int, Added] = {}
    touching: set[tuple[int, int]] = set()
    last: RecordedFrame | None = None
    for frame in recording.frames():
        last = frame
        actors.update((added.id, added) for added in frame.added)
        now: set[tuple[int, int]] = set()
        for hit in frame.hits:
            kinds = (
                _letter(actors.get(hit.first), hit.first_hero),
                _letter(actors.get(hit.second), hit.second_hero),
            )
            if not (_wanted(first, kinds[0]) and _wanted(second, kinds[1])):
                continue
            pair = hit.first, hit.second
            now.add(pair)
            if pair not in touching:  # one line for as long as the two touch
                names = [actors[i].description.id if i in actors else "" for i in pair]
                lines.append(
                    f"{frame.elapsed:8.0f}   {kinds[0]} {kinds[1]}  {pair[0]:>6} {names[0]:<35} "
                    f"{pair[1]:>6} {names[1]:<35}"
                )
        touching = now
    return "\n".join([*lines, *_footer(last)])


def blocked(recording: Recording, least_s: float, least_m: float) -> str:
    """Actors that for at least ``least_s`` seconds have moved less than ``least_m`` centimetres."""
    lines = [*_header(recording), f"{'Time':>8} {'Id':>6} {'Actor':<35} {'Duration':>10}"]
    names: dict[int, str] = {}
    since: dict[int, tuple[float, Transform]] = {}
    found: list[tuple[float, float, int]] = []
    last: RecordedFrame | None = None
    for frame in recording.frames():
        last = frame
        names.update((added.id, added.description.id) for added in frame.added)
        for actor, pose in frame.places.items():
            start, place = since.setdefault(actor, (frame.elapsed, pose))
            if 100.0 * _distance(place.location, pose.location) >= least_m:
                if frame.elapsed - start >= least_s:
                    found.append((frame.elapsed - start, start, actor))
                since[actor] = frame.elapsed, pose
        for actor in frame.deleted:
            since.pop(actor, None)
    if last is not None:
        found += [
            (last.elapsed - start, start, actor)
            for actor, (start, _) in since.items()
            if last.elapsed - start >= least_s
        ]
    found.sort(key=lambda row: (-row[0], row[2]))
    for duration, start, actor in found:
        lines.append(f"{start:8.0f} {actor:>6} {names.get(actor, ''):<35} {duration:10.0f}")
    return "\n".join([*lines, *_footer(last)])


def _header(recording: Recording) -> Iterator[str]:
    yield f"Version: {recording.version}"
    yield f"Map: {recording.map_name}"
    yield f"Date: {time.strftime('%x %X', time.localtime(recording.date))}"
    yield ""


def _footer(last: RecordedFrame | None) -> Iterator[str]:
    yield ""
    yield f"Frames: {last.number if last else 0}"
    yield f"Duration: {last.elapsed if last else 0.0:g} seconds"
    yield ""


def _events(frame: RecordedFrame) -> Iterator[str]:
    for added in frame.added:
        x, y, z = (100.0 * part for part in added.pose.location)
        yield f" Create {added.id}: {added.description.id} ({added.kind}) at ({x:g}, {y:g}, {z:g})"
        for attribute in added.description.attributes:
            yield f"  {attribute.id} = {attribute.value}"
    for actor in frame.deleted:
        yield f" Destroy {actor}"
    for child, parent in frame.parents:
        yield f" Parenting {child} with {parent} (parent)"
    for hit in frame.hits:
        first = " (hero) " if hit.first_hero else ""
        second = " (hero) " if hit.second_hero else ""
        yield f" Collision id {hit.id} between {hit.first}{first} with {hit.second}{second}"


def _states(frame: RecordedFrame) -> Iterator[str]:
    if frame.places:
        yield f" Positions: {len(frame.places)}"
    for actor, ((x, y, z), (pitch, yaw, roll)) in frame.places.items():
        place = f"({100.0 * x:g}, {100.0 * y:g}, {100.0 * z:g})"
        yield f"  Id: {actor} Location: {place} Rotation: ({roll:g}, {pitch:g}, {yaw:g})"
    if frame.lamps:
        yield f" State traffic lights: {len(frame.lamps)}"
    for lamp in frame.lamps:
        yield (
            f"  Id: {lamp.id} state: {lamp.state} frozen: {lamp.frozen:d} "
            f"elapsedTime: {lamp.elapsed:g}"
        )
    if frame.drives:
        yield f" Vehicle animations: {len(frame.drives)}"
    for drive in frame.drives:
        yield (
            f"  Id: {drive.id} Steering: {drive.steer:g} Throttle: {drive.throttle:g} "
            f"Brake: {drive.brake:g} Handbrake: {drive.hand_brake:d} Gear: {drive.gear}"
        )
    if frame.paces:
        yield f" Walker animations: {len(frame.paces)}"
    for actor, speed in frame.paces:
        yield f"  Id: {actor} speed: {speed:g}"
    yield from recording_extras.texts(frame.extras)


def _letter(added: Added | None, hero: bool) -> str:
    if hero:
        return "h"
    return "o" if added is None else _LETTERS.get(added.kind, "o")


def _wanted(asked: str, letter: str) -> bool:
    return asked in ("a", letter) or (asked == "v" and letter == "h")


def _distance(a: Vector, b: Vector) -> float:
    dx, dy, dz = a.x - b.x, a.y - b.y, a.z - b.z
    return sqrt(dx * dx + dy * dy + dz * dz)
