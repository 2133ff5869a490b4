# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How much of a V2X sensor's power arrives: the models of CARLA 0.9.16 (``PathLossModel.cpp``).

``winner`` is that of ETSI TR 103 257-1 (WINNER+), ``geometric`` two rays with a clear view, a log
distance behind buildings, and a knife edge behind vehicles. As in CARLA a knife edge is as high as
the vehicle's roof above the lower of both grounds. ``nakagami`` is not one of CARLA's: there the
channel is the one of this project's V2V models.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple, Protocol

from ros2_cosim.core.kernel.exactmath import PI, log, sincos, sqrt

_LIGHT: Final = 299_792_458.0
_LN_10: Final = log(10.0)
#: Relative permittivity of the ground.
_GROUND: Final = 1.02
#: Standard deviations [dB] of the fading by scenario: clear view, behind vehicles, behind others.
_FADING: Final = {
    "highway": (3.3, 3.8, 6.8),
    "rural": (4.25, 4.55, 6.8),
    "urban": (5.2, 5.3, 6.8),
}
SCENARIOS: Final = tuple(_FADING)
WINNER, GEOMETRIC, NAKAGAMI = MODELS = ("winner", "geometric", "nakagami")


class RadioWaves(Protocol):
    """A channel that tells means and chances; see ``driving/v2v/radio.py``."""

    def mean_power(self, distance: float) -> float:
        """Mean power that is received [mW] at a distance [m]."""

    def reception(self, power: float, others: float) -> float:
        """The probability that a frame of a mean power [mW] arrives beside others [mW]."""


#: Makes the channel of ``NAKAGAMI`` for a power with the gains and a sensitivity [dBm].
RadioFactory = Callable[[float, float], RadioWaves]


class PathState(Enum):
    """What is between two antennas; the value is its place among the deviations."""

    CLEAR = 0
    VEHICLES = 1
    BLOCKED = 2


class KnifeEdge(NamedTuple):
    """A vehicle between two antennas: its way from each in the plane, and its height [m]."""

    from_sender: float
    from_receiver: float
    height: float


class Link(NamedTuple):
    """A way between two antennas.

    :ivar distance: in space [m], and the heights above the lower of both grounds [m]
    """

    distance: float
    heights: tuple[float, float]
    state: PathState
    edges: tuple[KnifeEdge, ...]


class Propagation(NamedTuple):
    """The attributes of a V2X sensor that say how waves reach it."""

    model: str
    scenario: str
    frequency_ghz: float
    exponent: float
    reference: float
    fading: float | None

    def deviation(self, state: PathState) -> float:
        """Standard deviation of the fading [dB]; ``fading`` None: that of ETSI."""
        return _FADING[self.scenario][state.value] if self.fading is None else self.fading

    def loss(self, link: Link) -> float:
        """Mean loss on a way [dB], without the fading."""
        edge = max((self._edge_loss(edge) for edge in link.edges), default=0.0)
        if self.model == WINNER:
            return self._winner(link) + (edge if link.state is PathState.VEHICLES else 0.0)
        if link.state is PathState.CLEAR:
            return self._two_rays(link)
        if link.state is PathState.BLOCKED:
            far = log10(link.distance / self.reference)
            return self._free(self.reference) + 10.0 * self.exponent * far
        return self._free(link.distance) + edge

    @property
    def _wave_length(self) -> float:
        return _LIGHT / (self.frequency_ghz * 1.0e9)

    def _free(self, distance: float) -> float:
        return 20.0 * log10(4.0 * PI * distance / self._wave_length)

    def _winner(self, link: Link) -> float:
        far, high = log10(link.distance), log10(self.frequency_ghz)
        if link.state is PathState.BLOCKED:
            return 36.85 + 30.0 * far + 18.9 * high
        if self.scenario == "highway":
            return 32.4 + 20.0 * far + 20.0 * high
        return 38.77 + 16.7 * far + 18.2 * high

    def _two_rays(self, link: Link) -> float:
        sender, receiver = link.heights
        rise = sender - receiver
        flat = sqrt(max(link.distance * link.distance - rise * rise, 1.0e-6))
        reflected = sqrt(link.distance * link.distance + 4.0 * sender * receiver)
        sine, cosine = (sender + receiver) / reflected, flat / reflected
        bent = sqrt(_GROUND - cosine * cosine)
        gamma = (sine - bent) / (sine + bent)
        s, c = sincos(2.0 * PI / self._wave_length * (link.distance - reflected))
        field = sqrt((1.0 + gamma * c) * (1.0 + gamma * c) + gamma * s * (gamma * s))
        return 20.0 * log10(4.0 * PI * flat / self._wave_length / max(field, 1.0e-6))

    def _edge_loss(self, edge: KnifeEdge) -> float:
        d1, d2 = max(edge.from_sender, 0.1), max(edge.from_receiver, 0.1)
        v = edge.height * sqrt(2.0 * (d1 + d2) / (self._wave_length * d1 * d2))
        if v < -0.78:
            return 0.0
        return 6.9 + 20.0 * log10(sqrt((v - 0.1) * (v - 0.1) + 1.0) + v - 0.1)


def log10(value: float) -> float:
    """Decimal logarithm, the same bits everywhere."""
    return log(value) / _LN_10
