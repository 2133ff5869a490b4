# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The elements of a road's reference line in the plane: line, arc, spiral, two kinds of cubic.

Every element starts at (x, y, heading) in the right-handed map frame and is described by the
distance ``ds`` [m] from its start. ``frame(ds)`` gives position, direction and curvature,
``at(ds)`` the same with names; ``turn(ds)`` the change of heading since the start, not
wrapped; ``project`` finds the foot of a point. Curvature [1/m] is positive to the left.
"""

from __future__ import annotations

from bisect import bisect_right
from math import floor, inf, nan
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import TWO_PI, atan2, sincos, sqrt
from ros2_cosim.world.map.cubics import piece_at
from ros2_cosim.world.map.elements import RoadError


class PlanPoint(NamedTuple):
    """Point of a curve: position [m], unit direction, curvature [1/m]."""

    x: float
    y: float
    cos: float
    sin: float
    curvature: float


#: The values of a ``PlanPoint`` as a plain tuple, for searches that take many of them.
Frame = tuple[float, float, float, float, float]

#: The foot of a point: distance (or station), lateral distance to the left, heading there (not
#: wrapped).
Foot = tuple[float, float, float]
_NO_FOOT: Foot = (nan, nan, nan)

_MAX_ITERATIONS: Final = 20
# Nearer to the centre of the curve (as a share of its radius) the foot is ambiguous.
_LEAST_SHRINK: Final = 0.1


class PlanElement:
    """Base of the elements."""

    __slots__ = ()

    x: float
    y: float
    heading: float
    length: float
    # Newton's step from this near is the last one: it leaves its square as error [m].
    _last_step = 1e-5

    def frame(self, ds: float) -> Frame:
        """(x, y, cos, sin, curvature) at a distance from the start."""
        raise NotImplementedError(type(self).__name__)

    def turn(self, ds: float) -> float:
        """Heading minus the heading at the start [rad], not wrapped."""
        raise NotImplementedError(type(self).__name__)

    def project(self, x: float, y: float, guess: float) -> Foot:
        """The foot of a point on the element, near a guess of its distance from the start.

        A foot before the start or behind the end is only roughly known. NaN: there is no foot,
        or the point lies next to the centre of the curve. By Newton's method.
        """
        ds = guess
        for _ in range(_MAX_ITERATIONS):
            px, py, cos, sin, curvature = self.frame(ds)
            dx, dy = x - px, y - py
            along = dx * cos + dy * sin
            across = dy * cos - dx * sin
            shrink = 1.0 - curvature * across
            if shrink < _LEAST_SHRINK:
                return _NO_FOOT
            before = ds
            ds += along / shrink
            if -self._last_step < along < self._last_step:
                return ds, across, self.heading + self.turn(ds)
            if not 0.0 <= ds <= self.length:
                # A step too far, unless it also leads out from the end itself.
                end = 0.0 if ds < 0.0 else self.length
                if before == end:
                    return ds, across, self.heading + self.turn(end)
                ds = end
        return _NO_FOOT

    def at(self, ds: float) -> PlanPoint:
        """Point at a distance from the start."""
        return PlanPoint(*self.frame(ds))


class StraightLine(PlanElement):
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

    def project(self, x: float, y: float, guess: float) -> Foot:
        """The foot of a point, in closed form."""
        c, s = self._cos, self._sin
        dx, dy = x - self.x, y - self.y
        return dx * c + dy * s, dy * c - dx * s, self.heading


class Arc(PlanElement):
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

    def project(self, x: float, y: float, guess: float) -> Foot:
        """The foot of a point, in closed form without a difference of large radii."""
        k = self.curvature
        c, s = self._cos, self._sin
        dx, dy = x - self.x, y - self.y
        u, v = dx * c + dy * s, dy * c - dx * s
        # The point seen from the centre, in units of the radius.
        forward, outward = k * u, 1.0 - k * v
        radius = sqrt(forward * forward + outward * outward)
        if radius < _LEAST_SHRINK:
            return _NO_FOOT
        ds = atan2(forward, outward) / k
        round_trip = TWO_PI / (k if k > 0.0 else -k)
        ds += round_trip * floor((guess - ds) / round_trip + 0.5)
        return ds, (2.0 * v - k * (u * u + v * v)) / (1.0 + radius), self.heading + k * ds


# A panel of the spiral turns by at most this angle and is at most so long [rad, m].
_PANEL_TURN: Final = 0.02
_PANEL_LENGTH: Final = 5.0
MAX_TURN: Final = 200.0

#: Coefficients of x, y, cos, sin as functions of the distance from the middle of a panel, and the
#: curvature there.
_Panel = tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...], tuple[float, ...], float]


class Spiral(PlanElement):
    """A clothoid: curvature changes linearly from ``start`` to ``end``.

    Short panels with the Taylor polynomials about their middles, worked out once. At a turn of
    0.01 rad to either side what they leave out is below 2e-15 (of 1, or of a metre).
    """

    __slots__ = ("_panel", "_panels", "_rate", "end", "heading", "length", "start", "x", "y")

    def __init__(
        self, x: float, y: float, heading: float, length: float, start: float, end: float
    ) -> None:
        self.x, self.y, self.heading, self.length = x, y, heading, length
        self.start, self.end = start, end
        self._rate = (end - start) / length
        sharpest = max(abs(start), abs(end))
        if sharpest * length > MAX_TURN:
            raise RoadError(f"a spiral may turn by at most {MAX_TURN:g} rad")
        count = 1 + int(max(length * sharpest / _PANEL_TURN, length / _PANEL_LENGTH))
        self._panel = length / count
        half = 0.5 * self._panel
        self._panels: list[_Panel] = []
        for i in range(count):
            panel = self._expand((i + 0.5) * self._panel)
            # Move the panel to where the one before ends.
            xs, ys = panel[0], panel[1]
            xs = (x - _polynomial(xs, -half), *xs[1:])
            ys = (y - _polynomial(ys, -half), *ys[1:])
            self._panels.append((xs, ys, *panel[2:]))
            x, y = _polynomial(xs, half), _polynomial(ys, half)

    def _expand(self, ds: float) -> _Panel:
        """The panel with its middle at a distance from the start, in the origin.

        From cos' = -sin k, sin' = cos k with the curvature k + rate u follow the coefficients
        one after the other.
        """
        k, rate = self.start + self._rate * ds, self._rate
        s, c = sincos(self.heading + self.turn(ds))
        cosines, sines = [c, -k * s], [s, k * c]
        for n in range(1, 5):
            c = -(k * sines[n] + rate * sines[n - 1]) / (n + 1.0)
            s = (k * cosines[n] + rate * cosines[n - 1]) / (n + 1.0)
            cosines.append(c)
            sines.append(s)
        xs = [0.0] + [value / (n + 1.0) for n, value in enumerate(cosines)]
        ys = [0.0] + [value / (n + 1.0) for n, value in enumerate(sines)]
        return tuple(xs), tuple(ys), tuple(cosines), tuple(sines), k

    def frame(self, ds: float) -> Frame:
        """(x, y, cos, sin, curvature) at a distance from the start."""
        i = int(ds / self._panel)
        last = len(self._panels) - 1
        i = 0 if i < 0 else i if i < last else last
        xs, ys, cosines, sines, k = self._panels[i]
        u = ds - (i + 0.5) * self._panel
        x0, x1, x2, x3, x4, x5, x6 = xs
        y0, y1, y2, y3, y4, y5, y6 = ys
        c0, c1, c2, c3, c4, c5 = cosines
        s0, s1, s2, s3, s4, s5 = sines
        return (
            x0 + u * (x1 + u * (x2 + u * (x3 + u * (x4 + u * (x5 + u * x6))))),
            y0 + u * (y1 + u * (y2 + u * (y3 + u * (y4 + u * (y5 + u * y6))))),
            c0 + u * (c1 + u * (c2 + u * (c3 + u * (c4 + u * c5)))),
            s0 + u * (s1 + u * (s2 + u * (s3 + u * (s4 + u * s5)))),
            k + self._rate * u,
        )

    def turn(self, ds: float) -> float:
        """Integral of the curvature."""
        return ds * (self.start + 0.5 * self._rate * ds)


def _polynomial(coefficients: tuple[float, ...], u: float) -> float:
    """a0 + a1 u + a2 u^2 + ..."""
    value = 0.0
    for coefficient in reversed(coefficients):
        value = value * u + coefficient
    return value


class ParamPoly3(PlanElement):
    """A parametric cubic u(p), v(p) in the frame of its start.

    The parameter is p = ds (``arcLength``) or p = ds / length (``normalized``): like the
    format, this takes the parameter for the distance; a curve written so that it is not makes
    stations uneven, not positions wrong.
    """

    __slots__ = ("_cos", "_scale", "_sin", "_u", "_v", "heading", "length", "x", "y")

    # Where the parameter is not quite the distance, each step leaves a share of the error.
    _last_step = 1e-9

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


# Abscissae and weights of Gauss's rule with three points, on [0, 1].
_GAUSS = (
    (0.1127016653792583, 0.2777777777777778),
    (0.5, 0.4444444444444444),
    (0.8872983346207417, 0.2777777777777778),
)
_POLY3_STEP = 0.5  # m, of the table of arc lengths


class Poly3(PlanElement):
    """A cubic v(u) = a + b u + c u^2 + d u^3 in the frame of its start, by its arc length.

    The arc length is tabulated at steps of u of at most half a metre and integrated by Gauss's
    rule between them; at the curvatures of roads this is right to below a micrometre.
    """

    __slots__ = (
        "_arcs", "_cos", "_sin", "_step", "_v", "heading", "length", "x", "y"
    )  # fmt: skip

    def __init__(
        self,
        x: float,
        y: float,
        heading: float,
        length: float,
        v: tuple[float, float, float, float],
    ) -> None:
        self.x, self.y, self.heading, self.length = x, y, heading, length
        self._v = v
        self._sin, self._cos = sincos(heading)
        self._step = length / (1 + floor(length / _POLY3_STEP))
        # The arc is at least as long as u: the table ends where the length is reached.
        self._arcs = [0.0]
        while self._arcs[-1] < length:
            u = (len(self._arcs) - 1) * self._step
            self._arcs.append(self._arcs[-1] + self._arc(u, u + self._step))

    def _slope(self, u: float) -> float:
        _, b, c, d = self._v
        return b + u * (2.0 * c + u * (3.0 * d))

    def _arc(self, start: float, end: float) -> float:
        """Arc length between two values of u in one step of the table."""
        span, total = end - start, 0.0
        for share, weight in _GAUSS:
            slope = self._slope(start + share * span)
            total += weight * sqrt(1.0 + slope * slope)
        return span * total

    def _parameter(self, ds: float) -> float:
        """The u of an arc length."""
        i = bisect_right(self._arcs, ds, 1, len(self._arcs) - 1) - 1
        start = i * self._step
        rest = ds - self._arcs[i]
        u = start
        for _ in range(4):
            slope = self._slope(u)
            u += (rest - self._arc(start, u)) / sqrt(1.0 + slope * slope)
        return u

    def frame(self, ds: float) -> Frame:
        """(x, y, cos, sin, curvature) at a distance from the start."""
        u = self._parameter(ds)
        a, b, c, d = self._v
        v = a + u * (b + u * (c + u * d))
        slope = self._slope(u)
        along = 1.0 / sqrt(1.0 + slope * slope)
        across = slope * along
        cos, sin = self._cos, self._sin
        return (
            self.x + u * cos - v * sin,
            self.y + u * sin + v * cos,
            along * cos - across * sin,
            along * sin + across * cos,
            (2.0 * c + 6.0 * d * u) * along * along * along,
        )

    def turn(self, ds: float) -> float:
        """Direction relative to the stated heading, in [-pi/2, pi/2]."""
        return atan2(self._slope(self._parameter(ds)), 1.0)


class ReferenceLine:
    """The elements of one road in a row, addressed by the station s in [0, length].

    Element i begins at station ``_starts[i]``; the element of a station is ``_piece(s)``.
    """

    __slots__ = ("_elements", "_found", "_starts", "_turns", "length")

    def __init__(self, elements: list[PlanElement]) -> None:
        self._elements = elements
        # Searches begin at index 1, so that the first element also serves s < 0.
        self._starts: list[float] = []
        self._turns: list[float] = []
        s = turn = 0.0
        for element in elements:
            self._starts.append(s)
            self._turns.append(turn)
            s += element.length
            turn += element.turn(element.length)
        self.length = s
        #: The element that was found last, from where to where. One object: there may be threads.
        self._found: tuple[int, float, float] = (0, 0.0, 0.0)

    def _piece(self, s: float) -> int:
        """The element of a station; the one found last has most of those asked for."""
        i, low, high = self._found
        if low <= s < high:
            return i
        starts = self._starts
        i = piece_at(starts, s)
        self._found = i, starts[i] if i > 0 else -inf, starts[i + 1] if i + 1 < len(starts) else inf
        return i

    def frame(self, s: float) -> Frame:
        """(x, y, cos, sin, curvature) at a station.

        Beyond the ends the first or last element is continued.
        """
        starts = self._starts
        i = self._piece(s)
        return self._elements[i].frame(s - starts[i])

    def project(self, x: float, y: float, guess: float) -> Foot:
        """(station, lateral distance, heading) of the foot of a point, near a guess.

        A station outside [0, length] is only roughly known. NaN: see ``PlanElement``.
        """
        elements, starts = self._elements, self._starts
        i, low, high = self._found
        if not low <= guess < high:
            i = self._piece(guess)
        came = 0
        while True:
            element = elements[i]
            ds, across, heading = element.project(x, y, guess - starts[i])
            go = -1 if ds < 0.0 else 1 if ds > element.length else 0
            guess = starts[i] + ds
            if go == 0 or not 0 <= i + go < len(elements):
                return guess, across, heading
            if go == -came:  # before one element and behind the other: at the joint of both
                return self.foot_at(x, y, starts[max(i, i + go)])
            i += go
            came = go

    def foot_at(self, x: float, y: float, s: float) -> Foot:
        """A station as the foot of a point, wherever its true foot is."""
        px, py, cos, sin, _ = self.frame(s)
        return s, (y - py) * cos - (x - px) * sin, self.heading(s)

    def at(self, s: float) -> PlanPoint:
        """Point at a station, as ``frame``."""
        return PlanPoint(*self.frame(s))

    def heading(self, s: float) -> float:
        """Heading at a station [rad], not wrapped."""
        i = self._piece(s)
        element = self._elements[i]
        return element.heading + element.turn(s - self._starts[i])

    def turn(self, s: float) -> float:
        """Integral of the curvature from 0 to s [rad]."""
        i, low, high = self._found
        if not low <= s < high:
            i = self._piece(s)
        return self._turns[i] + self._elements[i].turn(s - self._starts[i])
