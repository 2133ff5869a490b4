# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Inputs made of others without coverage guidance: the same in every run."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63 - 1, 2**64 - 1)


def mutations(
    stock: Sequence[bytes], words: Sequence[bytes], longest: int, count: int, seed: int
) -> Iterator[bytes]:
    """So many inputs, each one of the stock with a few changes.

    :param words: pieces that are put in now and then
    :param longest: largest input [bytes]
    """
    rng = random.Random(seed)
    for _ in range(count):
        data = bytearray(rng.choice(stock))
        for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
            _change(data, stock, words, rng)
        yield bytes(data[:longest])


def _change(
    data: bytearray, stock: Sequence[bytes], words: Sequence[bytes], rng: random.Random
) -> None:
    at = rng.randrange(len(data) + 1)
    size = rng.choice((1, 1, 2, 4, 8, rng.randrange(64)))
    kind = rng.randrange(8)
    if kind == 0 and at < len(data):
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 1 and at < len(data):
        data[at] = rng.randrange(256)
    elif kind == 2:
        del data[at : at + size]
    elif kind == 3:
        data[at:at] = data[at : at + size]
    elif kind == 4:
        width = rng.choice((1, 2, 4, 8))
        number = rng.choice(_NUMBERS) % (1 << 8 * width)
        data[at : at + width] = number.to_bytes(width, rng.choice(("little", "big")))
    elif kind == 5 and words:
        word = rng.choice(words)
        data[at : at + rng.choice((0, len(word)))] = word
    elif kind == 6:
        other = rng.choice(stock)
        start = rng.randrange(len(other) + 1)
        data[at : at + size] = other[start : start + rng.randrange(256)]
    else:
        data[at:at] = rng.randbytes(size)
