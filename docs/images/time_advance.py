# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Draws time-advance.svg: which messages one activation of a participant delivers, and when.

The numbers in the picture follow from the messages and promises below by the rules of
``docs/concepts.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

LEFT, SCALE = 190.0, 11.0  # place of time 0, pixels per ms
END = 60
LATENCY = 5
INK, GREY, BLUE, DARK = "#222222", "#666666", "#2e75b6", "#1f4e79"
ORANGE, GREEN, RED, PURPLE, BROWN = "#c55a11", "#548235", "#c00000", "#7030a0", "#7f6000"


class Port(NamedTuple):
    """An input: stamps of its messages with their letters, and up to when it is promised [ms]."""

    name: str
    kind: str
    y: int
    promise: int
    messages: tuple[tuple[int, str], ...]


CAMERA = Port("camera", "activates", 110, 48, ((40, "A"),))
RADAR = Port("radar", "activates", 180, 53, ((42, "B"), (50, "C")))
SPEED = Port("speed", "latched", 250, 50, ((18, ""), (28, ""), (38, "")))
LBTS = min(CAMERA.promise, RADAR.promise)
#: The port that comes last decides: each has a message that is safe.
TIME = max(CAMERA.messages[0][0], RADAR.messages[0][0])
READ = max(stamp for stamp, _ in SPEED.messages if stamp <= TIME)


def time_advance() -> str:
    """The picture as SVG."""
    head = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 470" width="880" height="470" '
        'font-family="DejaVu Sans, Verdana, sans-serif" font-size="13">',
        "<!-- SPDX-License-Identifier: Apache-2.0 -->",
        "<title>One time advance of participant fusion</title>",
        '<rect width="880" height="470" fill="#ffffff"/>',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0,0 L8,4 L0,8 z" '
        f'fill="{DARK}"/></marker></defs>',
        _text(20, 28, "One time advance of participant fusion", INK, size=16, bold=True),
    )
    ports = [part for port in (CAMERA, RADAR, SPEED) for part in _port(port)]
    return "\n".join([*head, *ports, *_activation(), *_output(), *_axis(), "</svg>\n"])


def _port(port: Port) -> Iterator[str]:
    y, end = port.y, _at(port.promise)
    yield from _label(port.name, port.kind, y)
    yield f'<rect x="{LEFT}" y="{y - 18}" width="{end - LEFT:.0f}" height="36" fill="#dcebf7"/>'
    yield _line(LEFT, y, _at(END), y, "#999999")
    yield _line(end, y - 22, end, y + 22, BLUE, 3)
    yield _text(end + 5, y - 11, f"promise {port.promise}", BLUE, size=12)
    colour = GREEN if port is SPEED else ORANGE
    for stamp, letter in port.messages:
        used = stamp == READ if port is SPEED else stamp <= TIME
        x, fill = _at(stamp), colour if used else "#ffffff"
        yield f'<circle cx="{x}" cy="{y}" r="7" fill="{fill}" stroke="{colour}" stroke-width="2"/>'
        if letter:
            yield _text(x - 4, y - 11, letter, colour, size=12, bold=True)


def _activation() -> Iterator[str]:
    bound, x = _at(LBTS), _at(TIME)
    yield _line(bound, 66, bound, 330, RED, 2, dashes="6 4")
    promises = f"min({CAMERA.promise}, {RADAR.promise})"
    lbts = f"LBTS of the activating ports: {promises} = {LBTS}"
    yield _text(bound - 6, 58, lbts, RED, ends=True)
    yield _text(20, 325, "fusion", INK, bold=True)
    yield _text(75, 325, "activations", GREY, size=12)
    yield _line(LEFT, 320, _at(END), 320, "#999999")
    yield '<rect x="207.0" y="306" width="10" height="28" fill="#bbbbbb"/>'
    yield f'<rect x="{x - 6}" y="304" width="12" height="32" fill="{DARK}"/>'
    first = _at(CAMERA.messages[0][0])
    yield _arrow((first, CAMERA.y + 8), (first, 300), (x - 9, 310))
    yield _arrow((x, RADAR.y + 8), (x, 302))
    text = f"activation at t = {TIME}: delivers A and B, reads speed of {READ}"
    yield _text(638.0, 354, text, DARK, ends=True)


def _output() -> Iterator[str]:
    stamp = TIME + LATENCY
    yield from _label("objects", f"output, latency {LATENCY}", 385)
    yield _line(LEFT, 385, _at(END), 385, "#999999")
    yield f'<circle cx="{_at(stamp)}" cy="385" r="7" fill="{PURPLE}"/>'
    yield _arrow((_at(TIME) + 7, 332), (_at(stamp) - 5, 377))
    text = f"message stamped {TIME} + {LATENCY} = {stamp}"
    yield _text(_at(stamp) - 12, 407, text, PURPLE, ends=True)


def _axis() -> Iterator[str]:
    yield _line(_at(END), 66, _at(END), 397, BROWN, 2)
    yield _text(_at(END) - 4, 419, "horizon", BROWN, ends=True)
    yield _line(LEFT, 430, _at(END) + 11, 430, INK)
    for time in range(0, END + 1, 10):
        x = _at(time)
        number = f'<text x="{x}" y="450" text-anchor="middle" fill="{INK}">{time}</text>'
        yield _line(x, 426, x, 434, INK) + number
    yield _text(20, 436, "simulated time [ms]", INK)


def _at(time: int) -> float:
    return LEFT + SCALE * time


def _label(name: str, kind: str, y: int) -> Iterator[str]:
    yield _text(20, y - 1, name, INK, bold=True) + _text(20, y + 16, kind, GREY, size=12)


def _line(
    x1: float, y1: float, x2: float, y2: float, colour: str, width: int = 1, dashes: str = ""
) -> str:
    more = f' stroke-width="{width}"' if width > 1 else ""
    more += f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}"{more}/>'


def _arrow(*points: tuple[float, float]) -> str:
    path = " L".join(f"{x},{y}" for x, y in points)
    return (
        f'<path d="M{path}" fill="none" stroke="{DARK}" stroke-width="1.5" '
        'marker-end="url(#arrow)"/>'
    )


def _text(
    x: float,
    y: float,
    text: str,
    colour: str,
    *,
    size: int = 13,
    bold: bool = False,
    ends: bool = False,
) -> str:
    more = f' font-size="{size}"' if size != 13 else ""
    more += ' text-anchor="end"' if ends else ""
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}"{more} fill="{colour}"{weight}>{text}</text>'
