# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Random numbers that depend only on (run seed, participant, stream name).

Each stream is seeded from those three alone, so adding a participant or a stream changes no
draw of any other. The bits come from numpy's Philox-4x64-10 generator, whose raw output is
fixed by its publication (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11);
the distributions are computed here, because those of ``numpy.random.Generator`` may change
between numpy versions, and use exact arithmetic only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import floor
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import log
from ros2_cosim.core.kernel.normal_quantile import normal_quantile
from ros2_cosim.core.kernel.time import format_ns, parse_duration

if TYPE_CHECKING:
    # Where compiled: numbers of the processor, which wrap; what is done with them allows for that.
    from mypy_extensions import i64
    from numpy.random import Philox

_DOMAIN = b"ros2_cosim random stream 1"
_SMALLEST_BUFFER: Final = 16
_LARGEST_BUFFER: Final = 256
#: Of the states that earlier versions have saved.
_LARGEST_SAVED: Final = 1024
_GROWTH: Final = 4
#: Philox-4x64 gives four words at a time.
_WORDS_OF_BLOCK: Final = 4
_TWO_TO_64 = 2**64
_MASK = _TWO_TO_64 - 1
#: How many more words the streams of this process compute without numpy. Numpy is faster, but takes
#: longer to load than a short run. Compiled streams never need it.
_computed_here = [8192]
#: Multipliers and steps of the keys of Philox-4x64, which has ten rounds.
_M0, _M1 = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_W0, _W1 = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
_ROUNDS: Final = 10
#: The same in halves.
_M0_HIGH: Final = 0xD2E7470E
_M0_LOW: Final = 0xE14C6C93
_M1_HIGH: Final = 0xCA5A8263
_M1_LOW: Final = 0x95121157
_W0_HIGH: Final = 0x9E3779B9
_W0_LOW: Final = 0x7F4A7C15
_W1_HIGH: Final = 0xBB67AE85
_W1_LOW: Final = 0x84CAA73B
_HALF: Final = 0xFFFFFFFF
_UNIFORM_STEP: Final = 1.1102230246251565e-16  # 2^-53
_CELLS: Final = 4503599627370496.0  # 2^52
_OPEN_STEP: Final = 2.220446049250313e-16  # 2^-52


def stream_key(run_seed: object, participant: object, stream: object) -> int:
    """Return the 128-bit Philox key of a stream.

    Each part is hashed behind its length, so that no two triples give the same text.

    :raises ConfigurationError: a part of the wrong type
    """
    if isinstance(run_seed, bool) or not isinstance(run_seed, int):
        raise ConfigurationError(f"run seed: found {run_seed!r}; allowed is an integer")
    if not isinstance(participant, str) or not isinstance(stream, str):
        raise ConfigurationError(
            f"random stream: found participant {participant!r} and stream {stream!r};"
            " allowed are two texts"
        )
    digest = hashlib.sha256()
    for part in (_DOMAIN, b"%d" % run_seed, participant.encode(), stream.encode()):
        digest.update(b"%d:" % len(part) + part)
    return int.from_bytes(digest.digest()[:16], "little")


def _words(key: int, begin: int, end: int) -> list[int]:
    """Words of a stream as numpy's generator gives them.

    :param begin, end: the first one, and the one behind the last; both are beginnings of blocks
    """
    found: list[int] = []
    # numpy steps its counter before each block.
    for block in range(begin // _WORDS_OF_BLOCK + 1, end // _WORDS_OF_BLOCK + 1):
        x, y, z, w = block, 0, 0, 0
        k0, k1 = key & _MASK, key >> 64
        for _ in range(_ROUNDS):
            p, q = _M0 * x, _M1 * z
            x, y, z, w = q >> 64 ^ y ^ k0, q & _MASK, p >> 64 ^ w ^ k1, p & _MASK
            k0, k1 = k0 + _W0 & _MASK, k1 + _W1 & _MASK
        found += x, y, z, w
    return found


def _product(a_high: i64, a_low: i64, b_high: i64, b_low: i64) -> tuple[i64, i64, i64, i64]:
    """The four halves, the highest first, of the product of two words given by halves."""
    low: i64 = a_low * b_low
    one: i64 = a_high * b_low
    two: i64 = a_low * b_high
    high: i64 = a_high * b_high
    middle: i64 = (low >> 32 & _HALF) + (one & _HALF) + (two & _HALF)
    upper: i64 = (one >> 32 & _HALF) + (two >> 32 & _HALF) + (middle >> 32) + (high & _HALF)
    return (high >> 32 & _HALF) + (upper >> 32), upper & _HALF, middle & _HALF, low & _HALF


def _block(
    number: i64, k1: i64, k0: i64, l1: i64, l0: i64
) -> tuple[i64, i64, i64, i64, i64, i64, i64, i64]:
    """The words of a block, each as its two halves: those of :func:`_words`.

    :param number: of the block, from 0
    :param k1, k0, l1, l0: halves of the lower and of the upper word of the key
    """
    counter: i64 = number + 1  # numpy steps it before each block
    x1: i64 = counter >> 32
    x0: i64 = counter & _HALF
    y1: i64 = 0
    y0: i64 = 0
    z1: i64 = 0
    z0: i64 = 0
    w1: i64 = 0
    w0: i64 = 0
    turn: i64 = 0
    while turn < _ROUNDS:
        p3, p2, p1, p0 = _product(_M0_HIGH, _M0_LOW, x1, x0)
        q3, q2, q1, q0 = _product(_M1_HIGH, _M1_LOW, z1, z0)
        x1 = q3 ^ y1 ^ k1
        x0 = q2 ^ y0 ^ k0
        y1 = q1
        y0 = q0
        z1 = p3 ^ w1 ^ l1
        z0 = p2 ^ w0 ^ l0
        w1 = p1
        w0 = p0
        k0 += _W0_LOW
        k1 = k1 + _W0_HIGH + (k0 >> 32) & _HALF
        k0 &= _HALF
        l0 += _W1_LOW
        l1 = l1 + _W1_HIGH + (l0 >> 32) & _HALF
        l0 &= _HALF
        turn += 1
    return x1, x0, y1, y0, z1, z0, w1, w0


def _uniform_of(high: i64, low: i64) -> float:
    """What ``uniform`` makes of a word given by halves."""
    number: int = high << 21 | low >> 11
    return float(number) * _UNIFORM_STEP


#: Compiled, a block takes less time than a call of numpy.
_IS_COMPILED: Final = not isinstance(_block, FunctionType)


def load_generator() -> None:
    """Load numpy now: else a stream does, in the midst of a step, behind the first words.

    A run that keeps up with a clock, or that others wait for, calls it before it begins.
    """
    if _IS_COMPILED:
        return
    import_module("numpy.random")
    _computed_here[0] = 0


class RandomStream:
    """One named source of random numbers.

    Each draw of ``uniform``, ``uniform_between``, ``normal``, ``exponential`` and ``bernoulli``
    takes exactly one 64-bit word of the generator; ``integers`` takes one, or more with a
    probability below n / 2^64.
    """

    __slots__ = (
        "_bits", "_first", "_fourth", "_generated", "_k0", "_k1", "_key", "_l0", "_l1", "_left",
        "_second", "_size", "_third", "_uniforms", "_words",
    )  # fmt: skip

    # Compiled code would refuse other types itself, and in fewer words.
    def __init__(self, run_seed: object, participant: object, stream: object) -> None:
        """Open the stream at its beginning.

        :param run_seed: an integer
        :param participant, stream: their names
        :raises ConfigurationError: a part of the wrong type
        """
        self._take_key(stream_key(run_seed, participant, stream))
        self._bits: Philox | None = None
        self._size = _SMALLEST_BUFFER
        #: Words that the generator has given, those that wait included.
        self._generated = 0
        #: The words that were made last (none where compiled), and what ``uniform`` makes of those
        #: that wait, the next one last. A draw is no more than to take a number from a list.
        self._words: Any = ()
        self._uniforms: list[float] = []
        #: The same of a block where compiled, and how many of the four are left.
        self._first = self._second = self._third = self._fourth = 0.0
        self._left = 0

    def _take_key(self, key: int) -> None:
        self._key = key
        self._k1: i64 = key >> 32 & _HALF
        self._k0: i64 = key & _HALF
        self._l1: i64 = key >> 96
        self._l0: i64 = key >> 64 & _HALF

    def _refill(self) -> None:
        if _IS_COMPILED:
            number = self._generated // _WORDS_OF_BLOCK
            x1, x0, y1, y0, z1, z0, w1, w0 = _block(number, self._k1, self._k0, self._l1, self._l0)
            self._words = ()
            self._first, self._second = _uniform_of(x1, x0), _uniform_of(y1, y0)
            self._third, self._fourth = _uniform_of(z1, z0), _uniform_of(w1, w0)
            self._left = _WORDS_OF_BLOCK
            self._generated += _WORDS_OF_BLOCK
            return
        # Asking numpy for one word costs more than the word: ask for more each time.
        end = self._generated + self._size
        if self._bits is None and self._size <= _computed_here[0]:
            _computed_here[0] -= self._size
            self._hold(_words(self._key, self._generated, end))
        else:
            if self._bits is None:
                from numpy.random import Philox

                self._bits = Philox(key=self._key, counter=self._generated // _WORDS_OF_BLOCK)
            self._words = self._bits.random_raw(self._size)
            self._uniforms = ((self._words >> 11) * _UNIFORM_STEP).tolist()
            self._uniforms.reverse()
        self._generated = end
        self._size = min(_GROWTH * self._size, _LARGEST_BUFFER)

    def _hold(self, words: list[int]) -> None:
        """Let these words be what waits."""
        self._words = words
        self._left = 0
        self._uniforms = [(word >> 11) * _UNIFORM_STEP for word in reversed(words)]

    def save_state(self) -> tuple[bytes, int, int, int]:
        """Where the stream stands, as plain data."""
        return self._key.to_bytes(16, "little"), self._size, self._generated, self._waiting()

    def _waiting(self) -> int:
        """How many words wait."""
        return self._left + len(self._uniforms)

    def restore_state(self, state: Sequence[Any]) -> None:
        """Go to where a stream stood; this one is then that stream.

        :param state: as :meth:`save_state` gave it
        :raises ConfigurationError: it is not such a state
        """
        key, size, generated, left = state
        if not (
            isinstance(key, bytes)
            and len(key) == 16
            and all(type(number) is int for number in (size, generated, left))
            and _SMALLEST_BUFFER <= size <= _LARGEST_SAVED
            and 0 <= left <= min(generated, _LARGEST_SAVED)
            and generated % _WORDS_OF_BLOCK == 0
            and generated < _TWO_TO_64
        ):
            raise ConfigurationError("random stream: found what is not a state of one")
        self._take_key(int.from_bytes(key, "little"))
        self._size, self._generated = size, generated
        self._bits = None
        # Blocks are counted: the first one is that of the oldest word in the buffer.
        begin = (generated - left) // _WORDS_OF_BLOCK * _WORDS_OF_BLOCK
        words = _words(self._key, begin, generated)
        self._hold(words[len(words) - left :])

    def raw(self) -> int:
        """Return the next 64 bits as an integer."""
        self.uniform()
        words = self._words
        if not len(words):
            end = self._generated
            words = _words(self._key, end - _WORDS_OF_BLOCK, end)
        return int(words[len(words) - 1 - self._waiting()])

    def uniform(self) -> float:
        """Return a number in [0, 1), a multiple of 2^-53."""
        left = self._left
        if left == 0:
            if not self._uniforms:
                self._refill()
                left = self._left
            if left == 0:
                return self._uniforms.pop()
        self._left = left - 1
        if left > 2:
            return self._first if left > 3 else self._second
        return self._third if left > 1 else self._fourth

    def uniform_between(self, low: float, high: float) -> float:
        """Return a number in [low, high] (``high`` only by rounding)."""
        return min(high, low + (high - low) * self.uniform())

    def _within(self) -> float:
        """The middle of one of 2^52 cells of (0, 1): never 0 or 1, and symmetric."""
        return (floor(self.uniform() * _CELLS) + 0.5) * _OPEN_STEP

    def normal(self) -> float:
        """Return a standard normal number (mean 0, standard deviation 1), within +-8.3."""
        return normal_quantile(self._within())

    def exponential(self, mean: float) -> float:
        """Return an exponentially distributed number > 0 with the given mean."""
        return -mean * log(self._within())

    def bernoulli(self, probability: float) -> bool:
        """Return True with the given probability (never for 0, always for 1)."""
        return self.uniform() < probability

    def integers(self, n: int) -> int:
        """Return an integer in [0, n), each exactly as likely, for 1 <= n <= 2^64.

        :raises ValueError: n outside that range
        """
        if not 1 <= n <= _TWO_TO_64:
            raise ValueError(f"integers({n}): n must lie in 1..2^64")
        limit = _TWO_TO_64 - _TWO_TO_64 % n
        word = self.raw()
        while word >= limit:
            word = self.raw()
        return word % n


@dataclass(frozen=True)
class LatencyDistribution:
    """A delay of an output port: constant, or drawn anew for each message.

    Use :meth:`from_spec`. Every value drawn lies in ``minimum_ns..maximum_ns``; the minimum is
    what a receiver may rely on as lookahead. Values beyond the bounds are moved onto them.
    """

    kind: str
    minimum_ns: int
    maximum_ns: int
    mean_ns: int = 0
    std_ns: int = 0

    @classmethod
    def from_spec(cls, spec: object, path: str = "latency") -> LatencyDistribution:
        """Read a distribution from a scenario value.

        ============================================= =====================================
        ``20ms``                                      constant
        ``{uniform: [min, max]}``                     every nanosecond in min..max
        ``{normal: {mean, std, min, max}}``           normal, held within min..max
        ``{exponential: {mean, min, max}}``           min + an exponential part, held below
                                                      max; ``mean`` is that of the whole
        ============================================= =====================================

        :param path: where the value stands, for the error message
        :raises ConfigurationError: any other form, or bounds out of order
        """
        if not isinstance(spec, Mapping):
            constant = parse_duration(spec, path)
            return cls("constant", constant, constant, constant)
        if len(spec) != 1:
            raise ConfigurationError(f"{path}: found keys {sorted(map(str, spec))}; {_KINDS}")
        ((kind, body),) = spec.items()
        where = f"{path}.{kind}"
        if kind == "uniform":
            if not isinstance(body, (list, tuple)) or len(body) != 2:
                raise ConfigurationError(f"{where}: found {body!r}; allowed is [min, max]")
            low = parse_duration(body[0], f"{where}[0]")
            high = parse_duration(body[1], f"{where}[1]", minimum=low)
            return cls("uniform", low, high, (low + high) // 2)
        if kind == "normal":
            part = _durations(body, ("mean", "std", "min", "max"), where)
            return cls._bounded("normal", part, where)
        if kind == "exponential":
            part = _durations(body, ("mean", "min", "max"), where)
            return cls._bounded("exponential", part, where)
        raise ConfigurationError(f"{path}: found {kind!r}; {_KINDS}")

    @classmethod
    def _bounded(cls, kind: str, part: dict[str, int], where: str) -> LatencyDistribution:
        low, mean, high = part["min"], part["mean"], part["max"]
        if not low <= mean <= high:
            raise ConfigurationError(
                f"{where}: found min {format_ns(low)}, mean {format_ns(mean)},"
                f" max {format_ns(high)}; allowed is min <= mean <= max"
            )
        return cls(kind, low, high, mean, part.get("std", 0))

    @property
    def is_constant(self) -> bool:
        """Whether every draw gives ``minimum_ns`` (a constant takes no random number)."""
        return self.minimum_ns == self.maximum_ns

    def draw(self, stream: RandomStream) -> int:
        """Return the next delay [ns]; takes one draw of ``stream`` unless constant."""
        low, high = self.minimum_ns, self.maximum_ns
        if low == high:
            return low
        if self.kind == "uniform":
            return low + stream.integers(high - low + 1)
        if self.kind == "normal":
            value = self.mean_ns + round(self.std_ns * stream.normal())
        else:
            value = low + round(stream.exponential(float(self.mean_ns - low)))
        return max(low, min(value, high))


_KINDS = "allowed is a duration or one of uniform, normal, exponential"


def _durations(body: Any, names: tuple[str, ...], where: str) -> dict[str, int]:
    """Read a mapping that has exactly the named durations."""
    if not isinstance(body, Mapping) or set(body) != set(names):
        raise ConfigurationError(f"{where}: found {body!r}; allowed are exactly {list(names)}")
    return {name: parse_duration(body[name], f"{where}.{name}") for name in names}
