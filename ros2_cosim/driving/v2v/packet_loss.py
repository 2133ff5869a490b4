# SPDX-License-Identifier: Apache-2.0
"""Which packets of a radio link are lost: independently, or in bursts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Protocol

from pydantic import BeforeValidator, Field, model_validator
from typing_extensions import Self

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.kernel.random_streams import RandomStream

Probability = Annotated[Number, Field(ge=0, le=1)]


class GilbertElliottParameters(Section):
    """A channel that loses more while it is bad."""

    p_gb: Probability = Field(description="probability to turn bad, per packet [1]")
    p_bg: Probability = Field(description="probability to turn good, per packet [1]")
    loss_good: Probability = Field(default=0.0, description="probability of a loss while good [1]")
    loss_bad: Probability = Field(default=1.0, description="probability of a loss while bad [1]")


class LossSettings(Section):
    """Which packets are lost: each with the same probability, or in bursts."""

    bernoulli: Probability | None = Field(default=None, description="probability of a loss [1]")
    gilbert_elliott: GilbertElliottParameters | None = Field(
        default=None, description="losses in bursts"
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.bernoulli is None) == (self.gilbert_elliott is None):
            raise ValueError("allowed is one of bernoulli and gilbert_elliott")
        return self


def _loss(value: object) -> object:
    """A number stands for independent losses."""
    if isinstance(value, (LossSettings, Mapping)):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return {"bernoulli": value}
    raise ValueError(
        f"found {json.dumps(value, default=repr)}; allowed are a probability, {{bernoulli: p}} and "
        "{gilbert_elliott: {p_gb, p_bg, loss_good, loss_bad}}"
    )


#: A :class:`LossSettings`, also written as a probability.
Loss = Annotated[LossSettings, BeforeValidator(_loss, json_schema_input_type=float | LossSettings)]
NO_LOSS = LossSettings(bernoulli=0.0)


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


def make_loss(settings: LossSettings, stream: RandomStream) -> PacketLoss:
    """Make a loss model."""
    if settings.gilbert_elliott is not None:
        return GilbertElliottLoss(stream, settings.gilbert_elliott)
    return BernoulliLoss(stream, settings.bernoulli or 0.0)
