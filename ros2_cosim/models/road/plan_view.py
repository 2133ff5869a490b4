# SPDX-License-Identifier: Apache-2.0
"""The elements of a road's reference line in the plane: line, arc, spiral, parametric cubic.

Every element starts at (x, y, heading) in the right-handed map frame and is described by the
distance ``ds`` [m] from its start. ``frame(ds)`` gives position, direction and curvature,
``at(ds)`` the same with names; ``turn(ds)`` the change of heading since the start, not
wrapped. Curvature [1/m] is positive to the left.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple, Protocol

from ros2_cosim.kernel.exactmath import atan2, sincos, sqrt
from ros2_cosim.models.road.errors import RoadError


class PlanPoint(NamedTuple):
    """Point of a curve: position [m], unit direction, curvature [1/m]."""

    x: float
    y: float
    cos: float
    sin: float
    curvature: float


#: The values of a ``PlanPoint`` as a plain tuple, for searches that take many of them.
Frame = tuple[float, float, float, float, float]


class PlanElement(Protocol):
    """What the elements have in common."""

    x: float
    y: float
    heading: float
    length: float

    def frame(self, ds: float) -> Frame:
        """(x, y, cos, sin, curvature) at a distance from the start."""

    def at(self, ds: float) -> PlanPoint:
        """Point at a distance from the start."""

    def turn(self, ds: float) -> float:
        """Heading minus the heading at the start [rad], not wrapped."""


class _Element:
    """Base of the elements."""

    __slots__ = ()

    def frame(self, ds: float) -> Frame:
        """(x, y, cos, sin, curvature) at a distance from the start."""
        raise NotImplementedError(type(self).__name__)

    def at(self, ds: float) -> PlanPoint:
        """Point at a distance from the start."""
        return PlanPoint(*self.frame(ds))


class Line(_Element):
    """A straight line."""

    __slots__ = ("_cos", "_sin", "heading", "length", "x", "y")

    def __init__(self, x: float, y: float, heading: float, length: float) -> None:
        self.x, self.y, self.heading, self.length = x, y, heading, length
        self._sin, self._cos = sincos(heading)

    def frame(self, ds: float) -> Frame:
        """(x, y, cos, sin, curvature) at a distance from the start."""
        c, s = self._cos, self._sin
        return self.x + ds * c, self.y + ds * s, c, s, 0.0

    def turn(self, ds: float) -> float:
        """Zero."""
        return 0.0


class Arc(_Element):
    """A circular arc of constant, non-zero curvature."""

    __slots__ = ("_cos", "_sin", "curvature", "heading", "length", "x", "y")

    def __init__(self, x: float, y: float, heading: float, length: float, curvature: float) -> None:
        self.x, self.y, self.heading, self.length = x, y, heading, length
        self.curvature = curvature
        self._sin, self._cos = sincos(heading)

    def frame(self, ds: float) -> Frame:
        """(x, y, cos, sin, curvature) at a distance from the start, through the half angle.

        So nothing cancels in short or flat arcs.
        """
        k = self.curvature
        c0, s0 = self._cos, self._sin
        s, c = sincos(0.5 * k * ds)
        sine, versine = 2.0 * s * c, 2.0 * s * s
        u, v = sine / k, versine / k
        cosine = 1.0 - versine
        return (
            self.x + u * c0 - v * s0,
            self.y + u * s0 + v * c0,
            cosine * c0 - sine * s0,
            cosine * s0 + sine * c0,
            k,
        )

    def turn(self, ds: float) -> float:
        """Curvature times distance."""
        return self.curvature * ds


# Nodes and weights of the three-point Gauss-Legendre rule on [0, 1].
_NODE_LOW = 0.1127016653792583
_NODE_HIGH = 0.8872983346207417
_WEIGHT_OUTER = 5.0 / 18.0
_WEIGHT_MIDDLE = 4.0 / 9.0

# A panel of the spiral turns by at most this angle: the rule is then exact to 1e-15 of it.
_PANEL_TURN = 0.04
_PANEL_LENGTH = 5.0
_KEPT_FRAMES = 64
MAX_TURN = 200.0


class Spiral(_Element):
    """A clothoid: curvature changes linearly from ``start`` to ``end``.

    The Fresnel-type integral is taken by a fixed rule over short panels whose ends are
    computed once; a point costs one panel. The last frames are kept, because a search for a
    moving point begins where the one before ended.
    """

    __slots__ = (
        "_kept",
        "_knots",
        "_panel",
        "_rate",
        "end",
        "heading",
        "length",
        "start",
        "x",
        "y",
    )

    def __init__(
        self, x: float, y: float, heading: float, length: float, start: float, end: float
    ) -> None:
        self.x, self.y, self.heading, self.length = x, y, heading, length
        self.start, self.end = start, end
        self._rate = (end - start) / length
        sharpest = max(abs(start), abs(end))
        if sharpest * length > MAX_TURN:
            raise RoadError(f"a spiral may turn by at most {MAX_TURN:g} rad")
        self._kept: dict[float, Frame] = {}
        panels = 1 + int(max(length * sharpest / _PANEL_TURN, length / _PANEL_LENGTH))
        self._panel = length / panels
        s, c = sincos(heading)
        self._knots = [(x, y, c, s, start)]
        for i in range(1, panels + 1):
            px, py = self._within(self._knots[-1], self._panel)
            ds = i * self._panel
            s, c = sincos(heading + self.turn(ds))
            self._knots.append((px, py, c, s, start + self._rate * ds))

    def _within(
        self, knot: tuple[float, float, float, float, float], u: float
    ) -> tuple[float, float]:
        """Position at the distance u after a knot, inside one panel."""
        x, y, c, s, k = knot
        half_rate = 0.5 * self._rate
        a = _NODE_LOW * u
        b = 0.5 * u
        d = _NODE_HIGH * u
        s1, c1 = sincos(a * (k + half_rate * a))
        s2, c2 = sincos(b * (k + half_rate * b))
        s3, c3 = sincos(d * (k + half_rate * d))
        du = u * (_WEIGHT_OUTER * (c1 + c3) + _WEIGHT_MIDDLE * c2)
        dv = u * (_WEIGHT_OUTER * (s1 + s3) + _WEIGHT_MIDDLE * s2)
        return x + du * c - dv * s, y + du * s + dv * c

    def frame(self, ds: float) -> Frame:
        """(x, y, cos, sin, curvature) at a distance from the start."""
        kept = self._kept.get(ds)
        if kept is not None:
            return kept
        i = int(ds / self._panel)
        last = len(self._knots) - 2
        i = 0 if i < 0 else min(i, last)
        knot = self._knots[i]
        u = ds - i * self._panel
        x, y = self._within(knot, u)
        k = knot[4]
        s, c = sincos(u * (k + 0.5 * self._rate * u))
        frame = x, y, c * knot[2] - s * knot[3], c * knot[3] + s * knot[2], k + self._rate * u
        if len(self._kept) >= _KEPT_FRAMES:
            self._kept.clear()
        self._kept[ds] = frame
        return frame

    def turn(self, ds: float) -> float:
        """Integral of the curvature."""
        return ds * (self.start + 0.5 * self._rate * ds)


class ParamPoly3(_Element):
    """A parametric cubic u(p), v(p) in the frame of its start.

    The parameter is p = ds (``arcLength``) or p = ds / length (``normalized``): like the
    format, this takes the parameter for the distance; a curve written so that it is not makes
    stations uneven, not positions wrong.
    """

    __slots__ = ("_cos", "_scale", "_sin", "_u", "_v", "heading", "length", "x", "y")

    def __init__(
        self,
        x: float,
        y: float,
        heading: float,
        length: float,
        u: tuple[float, float, float, float],
        v: tuple[float, float, float, float],
        normalized: bool,
    ) -> None:
        self.x, self.y, self.heading, self.length = x, y, heading, length
        self._u, self._v = u, v
        self._scale = 1.0 / length if normalized else 1.0
        self._sin, self._cos = sincos(heading)
        for i in range(65):
            p = i / 64.0 * length * self._scale
            du, dv = self._derivative(p)
            if (du * du + dv * dv) * self._scale * self._scale < 1e-4:
                raise RoadError(f"a <paramPoly3> stands still at parameter {p:g}")

    def _derivative(self, p: float) -> tuple[float, float]:
        _, ub, uc, ud = self._u
        _, vb, vc, vd = self._v
        return ub + p * (2.0 * uc + p * 3.0 * ud), vb + p * (2.0 * vc + p * 3.0 * vd)

    def frame(self, ds: float) -> Frame:
        """(x, y, cos, sin, curvature) at a distance from the start."""
        p = ds * self._scale
        ua, ub, uc, ud = self._u
        va, vb, vc, vd = self._v
        u = ua + p * (ub + p * (uc + p * ud))
        v = va + p * (vb + p * (vc + p * vd))
        du, dv = self._derivative(p)
        ddu = 2.0 * uc + 6.0 * p * ud
        ddv = 2.0 * vc + 6.0 * p * vd
        speed = sqrt(du * du + dv * dv)
        cu, cv = du / speed, dv / speed
        c, s = self._cos, self._sin
        return (
            self.x + u * c - v * s,
            self.y + u * s + v * c,
            cu * c - cv * s,
            cu * s + cv * c,
            (du * ddv - dv * ddu) / (speed * speed * speed),
        )

    def turn(self, ds: float) -> float:
        """Direction relative to the stated heading, in [-pi, pi]."""
        du, dv = self._derivative(ds * self._scale)
        return atan2(dv, du)


class ReferenceLine:
    """The elements of one road in a row, addressed by the station s in [0, length].

    Element i begins at station ``starts[i]``; ``frames[i]`` is its method ``frame``. The
    element of a station is ``bisect_right(starts, s, 1) - 1``.
    """

    __slots__ = ("_elements", "_turns", "frames", "length", "starts")

    def __init__(self, elements: list[PlanElement]) -> None:
        self._elements = elements
        self.frames = [element.frame for element in elements]
        # Searches begin at index 1, so that the first element also serves s < 0.
        self.starts: list[float] = []
        self._turns: list[float] = []
        s = turn = 0.0
        for element in elements:
            self.starts.append(s)
            self._turns.append(turn)
            s += element.length
            turn += element.turn(element.length)
        self.length = s

    def frame(self, s: float) -> Frame:
        """(x, y, cos, sin, curvature) at a station.

        Beyond the ends the first or last element is continued.
        """
        starts = self.starts
        i = bisect_right(starts, s, 1) - 1
        return self.frames[i](s - starts[i])

    def at(self, s: float) -> PlanPoint:
        """Point at a station, as ``frame``."""
        return PlanPoint(*self.frame(s))

    def heading(self, s: float) -> float:
        """Heading at a station [rad], not wrapped."""
        i = bisect_right(self.starts, s, 1) - 1
        element = self._elements[i]
        return element.heading + element.turn(s - self.starts[i])

    def turn(self, s: float) -> float:
        """Integral of the curvature from 0 to s [rad]."""
        i = bisect_right(self.starts, s, 1) - 1
        return self._turns[i] + self._elements[i].turn(s - self.starts[i])
