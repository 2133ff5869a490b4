# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a fuzz target is: one reader of foreign input, its seeds, and what it may raise."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: A message longer than this is cut: it repeats the input.
LONGEST_MESSAGE = 2000


class Finding(AssertionError):
    """A reader did what it must not do."""


@dataclass(frozen=True)
class Target:
    """A reader that is fuzzed.

    :ivar name: on the command line, and of its corpus
    :ivar read: gives an input to the reader, and raises :class:`Finding` if what it did with it
        is wrong
    :ivar seeds: makes inputs that the reader takes, by the project's own writers where it has any
    :ivar refusals: what the reader may raise; all else is a finding
    :ivar words: pieces of inputs that mutations would not find
    :ivar longest: largest input [bytes]
    """

    name: str
    read: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    refusals: tuple[type[Exception], ...]
    words: tuple[bytes, ...] = ()
    longest: int = 4096

    def check(self, data: bytes) -> bool:
        """Give an input to the reader.

        :returns: whether it was taken; False: refused by a line of text
        :raises Finding: it was refused without a clear line
        :raises Exception: it broke the reader, whatever came out
        """
        try:
            self.read(data)
        except Finding:
            raise
        except self.refusals as error:
            text = str(error)
            if not text or len(text) > LONGEST_MESSAGE or not text.isprintable():
                raise Finding(f"{self.name}: refused with {text[:200]!r}") from error
            return False
        return True


class Guided(random.Random):
    """Random numbers that an input decides: what draws from it is fuzzed by its bytes.

    Behind its end come numbers that let nothing unusual happen: the largest for probabilities,
    zero for choices.
    """

    def __new__(cls, data: bytes) -> Guided:
        """A generator without its own seed."""
        return super().__new__(cls, 0)

    def __init__(self, data: bytes) -> None:
        super().__init__(0)
        self._data = data
        self._at = 0

    def random(self) -> float:
        """A probability by one byte."""
        taken = self._take(1)
        return taken[0] / 256.0 if taken else 1.0 - 2.0**-53

    def getrandbits(self, k: int) -> int:
        """As many bytes as the bits need."""
        size = (k + 7) // 8
        return int.from_bytes(self._take(size), "little") & ((1 << k) - 1)

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        self._at += size
        return taken


@contextmanager
def as_file(data: bytes, name: str) -> Iterator[Path]:
    """An input as a file in its own directory."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as directory:
        path = Path(directory) / name
        path.write_bytes(data)
        yield path


def pieces(data: bytes) -> Iterator[bytes]:
    """An input as a sequence of messages, each behind a byte with its length."""
    at = 0
    while at < len(data):
        yield data[at + 1 : at + 1 + data[at]]
        at += 1 + data[at]


def joined(messages: Iterable[bytes]) -> bytes:
    """The input that :func:`pieces` takes apart; longer messages are cut."""
    return b"".join(bytes((len(m[:255]),)) + m[:255] for m in messages)


def expect(condition: bool, text: str, *found: Any) -> None:
    """Check whether something holds.

    :raises Finding: it does not
    """
    if not condition:
        raise Finding(f"{text}: {found!r}" if found else text)
