# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which packets of a radio link are lost: independently, or in bursts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Protocol

from pydantic import Discriminator, Field, Tag

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.kernel.random_streams import RandomStream

Probability = Annotated[Number, Field(ge=0, le=1)]


class GilbertElliottParameters(Section):
    """A channel that loses more while it is bad."""

    p_gb: Probability = Field(description="probability to turn bad, per packet [1]")
    p_bg: Probability = Field(description="probability to turn good, per packet [1]")
    loss_good: Probability = Field(default=0.0, description="probability of a loss while good [1]")
    loss_bad: Probability = Field(default=1.0, description="probability of a loss while bad [1]")


def _kind(value: object) -> str:
    return "bursts" if isinstance(value, (GilbertElliottParameters, Mapping)) else "each"


#: Which packets are lost: each with the same probability, or in bursts.
Loss = Annotated[
    Annotated[Probability, Tag("each")] | Annotated[GilbertElliottParameters, Tag("bursts")],
    Discriminator(_kind),
]


class PacketLoss(Protocol):
    """Decides packet after packet."""

    def next_is_lost(self) -> bool:
        """Return whether the next packet is lost."""


class BernoulliLoss:
    """Each packet is lost with the same probability; one draw per packet."""

    def __init__(self, stream: RandomStream, probability: float) -> None:
        self._stream = stream
        self._probability = probability

    def next_is_lost(self) -> bool:
        """Return whether the next packet is lost."""
        return self._stream.bernoulli(self._probability)


class GilbertElliottLoss:
    """A channel that is good or bad and loses more while it is bad; two draws per packet.

    Before each packet the state may change, good to bad with ``p_gb``, bad to good with
    ``p_bg``; the packet is then lost with ``loss_good`` or ``loss_bad``. The stationary loss
    is ``(p_bg loss_good + p_gb loss_bad) / (p_gb + p_bg)`` and the bad state lasts 1 / p_bg
    packets in the mean (E. N. Gilbert, Bell Syst. Tech. J. 39 (1960); E. O. Elliott, 42
    (1963)).
    """

    def __init__(self, stream: RandomStream, parameters: GilbertElliottParameters) -> None:
        """The channel begins good."""
        self._stream = stream
        self._p_gb, self._p_bg = parameters.p_gb, parameters.p_bg
        self._loss_good, self._loss_bad = parameters.loss_good, parameters.loss_bad
        self._bad = False

    def next_is_lost(self) -> bool:
        """Return whether the next packet is lost."""
        if self._stream.bernoulli(self._p_bg if self._bad else self._p_gb):
            self._bad = not self._bad
        return self._stream.bernoulli(self._loss_bad if self._bad else self._loss_good)


def make_loss(settings: Loss, stream: RandomStream) -> PacketLoss:
    """Make a loss model."""
    if isinstance(settings, GilbertElliottParameters):
        return GilbertElliottLoss(stream, settings)
    return BernoulliLoss(stream, settings)
