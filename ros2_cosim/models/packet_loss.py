# SPDX-License-Identifier: Apache-2.0
"""Which packets of a radio link are lost: independently, or in bursts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.random_streams import RandomStream
from ros2_cosim.models.checks import is_number, require_probability


class PacketLoss(Protocol):
    """Decides packet after packet."""

    def next_is_lost(self) -> bool:
        """Return whether the next packet is lost."""


class BernoulliLoss:
    """Each packet is lost with the same probability; one draw per packet."""

    def __init__(self, stream: RandomStream, probability: float) -> None:
        """Check the probability."""
        require_probability("BernoulliLoss", probability=probability)
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

    def __init__(
        self,
        stream: RandomStream,
        *,
        p_gb: float,
        p_bg: float,
        loss_good: float = 0.0,
        loss_bad: float = 1.0,
    ) -> None:
        """Check the probabilities; the channel begins good."""
        require_probability(
            "GilbertElliottLoss", p_gb=p_gb, p_bg=p_bg, loss_good=loss_good, loss_bad=loss_bad
        )
        self._stream = stream
        self._p_gb, self._p_bg = p_gb, p_bg
        self._loss_good, self._loss_bad = loss_good, loss_bad
        self._bad = False

    def next_is_lost(self) -> bool:
        """Return whether the next packet is lost."""
        if self._stream.bernoulli(self._p_bg if self._bad else self._p_gb):
            self._bad = not self._bad
        return self._stream.bernoulli(self._loss_bad if self._bad else self._loss_good)


def make_loss(spec: object, stream: RandomStream, path: str = "loss") -> PacketLoss:
    """Make a loss model from a scenario value.

    :param spec: a probability, ``{bernoulli: p}``, or
        ``{gilbert_elliott: {p_gb, p_bg, loss_good, loss_bad}}`` (the last two may be left out)
    :param path: where the value stands, for the error message
    :raises ConfigurationError: any other form or a value that is no probability
    """
    if isinstance(spec, Mapping) and len(spec) == 1:
        ((kind, body),) = spec.items()
        if kind == "bernoulli":
            require_probability(path, bernoulli=body)
            return BernoulliLoss(stream, body)
        known = {"p_gb", "p_bg", "loss_good", "loss_bad"}
        if (
            kind == "gilbert_elliott"
            and isinstance(body, Mapping)
            and {"p_gb", "p_bg"} <= set(body) <= known
        ):
            require_probability(f"{path}.gilbert_elliott", **body)
            return GilbertElliottLoss(stream, **body)
    elif is_number(spec):
        require_probability(path, probability=spec)  # type: ignore[arg-type]
        return BernoulliLoss(stream, spec)  # type: ignore[arg-type]
    raise ConfigurationError(
        f"{path}: found {spec!r}; allowed are a probability, {{bernoulli: p}} and"
        " {gilbert_elliott: {p_gb, p_bg, loss_good, loss_bad}}"
    )
