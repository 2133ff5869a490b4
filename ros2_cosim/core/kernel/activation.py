# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Activation functions alpha: which received samples start a computation.

An activation function looks at the samples received since the last activation, oldest
first, and says whether they are enough (seed of the idea: the function alpha of Baron et
al., "Synchronization of Hybrid Models in the Automated Driving Simulation"). It is a
frozen description; :meth:`Activation.evaluator` makes the small state machine that is fed
sample by sample and starts anew after each activation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.sample import Sample
from ros2_cosim.core.kernel.time import NEVER


class Evaluator(Protocol):
    """The running state of an activation function between two activations."""

    def feed(self, port: str, sample: Sample) -> bool:
        """Take one more sample, the next in timestamp order; say whether alpha holds now."""

    def reset(self) -> None:
        """Forget all samples: an activation has consumed them."""


class Activation:
    """Base of all activation functions; combine with ``&`` and ``|``."""

    @property
    def ports(self) -> frozenset[str]:
        """The input ports whose samples the function looks at."""
        raise NotImplementedError(type(self).__name__)

    def evaluator(self) -> Evaluator:
        """Make a fresh evaluator."""
        raise NotImplementedError(type(self).__name__)

    def can_hold(self, fed: frozenset[str]) -> bool:
        """Whether alpha can ever hold when only the ports ``fed`` get samples."""
        return bool(self.ports & fed)

    def minimum_samples(self, port: str) -> int:
        """At least so many samples of ``port`` are consumed by each activation (0: unknown)."""
        return 0

    @property
    def is_regular(self) -> bool:
        """Whether each activation consumes the same number of samples, whatever they hold.

        Only counting functions of a single port are: what the values decide, and how the
        samples of several ports interleave, is not known before the run.
        """
        return False

    def __and__(self, other: Activation) -> Activation:
        return Combination((self, other), require_all=True)

    def __or__(self, other: Activation) -> Activation:
        return Combination((self, other), require_all=False)


class _CountEvaluator:
    """Counts the samples of one port."""

    __slots__ = ("_count", "_needed", "_port")

    def __init__(self, port: str, needed: int) -> None:
        self._port = port
        self._needed = needed
        self._count = 0

    def feed(self, port: str, sample: Sample) -> bool:
        """Count the sample if it is of the port."""
        if port == self._port:
            self._count += 1
        return self._count >= self._needed

    def reset(self) -> None:
        """Count from 0 again."""
        self._count = 0


@dataclass(frozen=True)
class Count(Activation):
    """True once ``n`` samples of ``port`` have come: every n-th sample activates."""

    port: str
    n: int = 1

    def __post_init__(self) -> None:
        if self.n < 1:
            raise ConfigurationError(
                f"activation count of port '{self.port}' is {self.n}; it must be at least 1"
            )

    @property
    def ports(self) -> frozenset[str]:
        """The one port whose samples are counted."""
        return frozenset((self.port,))

    def evaluator(self) -> Evaluator:
        """Make a counter that stands at 0."""
        return _CountEvaluator(self.port, self.n)

    def minimum_samples(self, port: str) -> int:
        """Exactly ``n`` samples of its port."""
        return self.n if port == self.port else 0

    @property
    def is_regular(self) -> bool:
        """Every activation consumes ``n`` samples."""
        return True


class _PredicateEvaluator:
    """Asks a predicate about each sample of one port."""

    __slots__ = ("_holds", "_port", "_predicate")

    def __init__(self, port: str, predicate: Callable[[Sample], bool]) -> None:
        self._port = port
        self._predicate = predicate
        self._holds = False

    def feed(self, port: str, sample: Sample) -> bool:
        """Ask about the sample if it is of the port and no earlier one was enough."""
        if port == self._port and not self._holds:
            self._holds = bool(self._predicate(sample))
        return self._holds

    def reset(self) -> None:
        """Wait for the next sample that is enough."""
        self._holds = False


@dataclass(frozen=True)
class Predicate(Activation):
    """True once a sample of ``port`` satisfies ``predicate`` (a pure function)."""

    port: str
    predicate: Callable[[Sample], bool]

    @property
    def ports(self) -> frozenset[str]:
        """The one port whose samples are asked about."""
        return frozenset((self.port,))

    def evaluator(self) -> Evaluator:
        """Make an evaluator that has seen nothing yet."""
        return _PredicateEvaluator(self.port, self.predicate)

    def minimum_samples(self, port: str) -> int:
        """At least the one that is enough."""
        return 1 if port == self.port else 0


class _NewerThanEvaluator:
    """Compares the stamps of two ports."""

    __slots__ = ("_holds", "_newest", "_port", "_than")

    def __init__(self, port: str, than: str) -> None:
        self._port = port
        self._than = than
        self._newest = NEVER
        self._holds = False

    def feed(self, port: str, sample: Sample) -> bool:
        """Remember the newest stamp of one port, compare that of the other."""
        if port == self._than:
            self._newest = sample.stamp
        elif port == self._port and sample.stamp > self._newest:
            self._holds = True
        return self._holds

    def reset(self) -> None:
        """Wait for the next newer sample; what is the newest of the other port stays."""
        self._holds = False


@dataclass(frozen=True)
class NewerThan(Activation):
    """True once a sample of ``port`` is stamped after the newest sample of ``than``."""

    port: str
    than: str

    def __post_init__(self) -> None:
        if self.port == self.than:
            raise ConfigurationError(
                f"activation 'newer' compares port '{self.port}' with itself; name two ports"
            )

    @property
    def ports(self) -> frozenset[str]:
        """Both ports: of the second one the stamps are needed."""
        return frozenset((self.port, self.than))

    def evaluator(self) -> Evaluator:
        """Make an evaluator that has seen nothing yet."""
        return _NewerThanEvaluator(self.port, self.than)

    def can_hold(self, fed: frozenset[str]) -> bool:
        """Only samples of ``port`` can make it hold."""
        return self.port in fed

    def minimum_samples(self, port: str) -> int:
        """At least the one that is newer."""
        return 1 if port == self.port else 0


class _CombinationEvaluator:
    """Combines evaluators; all of them see every sample."""

    __slots__ = ("_parts", "_require_all")

    def __init__(self, parts: list[Evaluator], require_all: bool) -> None:
        self._parts = parts
        self._require_all = require_all

    def feed(self, port: str, sample: Sample) -> bool:
        """Show the sample to every part."""
        # A list, not a generator: every part must see the sample.
        results = [part.feed(port, sample) for part in self._parts]
        return all(results) if self._require_all else any(results)

    def reset(self) -> None:
        """Let every part start anew."""
        for part in self._parts:
            part.reset()


@dataclass(frozen=True)
class Combination(Activation):
    """All (or any) of several activation functions hold."""

    parts: tuple[Activation, ...]
    require_all: bool

    def __post_init__(self) -> None:
        if not self.parts:
            raise ConfigurationError("an activation combines no ports; name at least one")

    @property
    def ports(self) -> frozenset[str]:
        """The ports of all parts."""
        return frozenset().union(*(part.ports for part in self.parts))

    def evaluator(self) -> Evaluator:
        """Make an evaluator of fresh parts."""
        return _CombinationEvaluator([part.evaluator() for part in self.parts], self.require_all)

    def can_hold(self, fed: frozenset[str]) -> bool:
        """Whether enough of the parts can hold."""
        results = [part.can_hold(fed) for part in self.parts]
        return all(results) if self.require_all else any(results)

    def minimum_samples(self, port: str) -> int:
        """What the most (all) or least (any) demanding part needs."""
        counts = [part.minimum_samples(port) for part in self.parts]
        return max(counts) if self.require_all else min(counts)

    @property
    def is_regular(self) -> bool:
        """Counts of one port: the largest (all) or smallest (any) of them decides alone."""
        return len(self.ports) == 1 and all(part.is_regular for part in self.parts)


def any_of(ports: Iterable[str]) -> Activation:
    """One new sample on any of the ports activates."""
    return _combine(ports, require_all=False)


def all_of(ports: Iterable[str]) -> Activation:
    """A new sample on each of the ports activates."""
    return _combine(ports, require_all=True)


def _combine(ports: Iterable[str], require_all: bool) -> Activation:
    parts = tuple(Count(port) for port in ports)
    return parts[0] if len(parts) == 1 else Combination(parts, require_all)
