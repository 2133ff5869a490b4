# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Readers of foreign input take it or refuse it by a line: seeds, corpora, and fixed mutations.

``python -m bench.fuzz`` looks for new inputs, guided by coverage.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from bench.fuzz.corpora import DIRECTORY, read_corpus
from bench.fuzz.minimise import smallest
from bench.fuzz.mutations import mutations
from bench.fuzz.target import Finding, Guided, Target, joined, pieces
from bench.fuzz.targets import TARGETS

#: Mutations for each target: about half a second of processor time.
MUTATIONS = {
    "bag": 40,
    "carla_recording": 60,
    "carla_rpc": 40,
    "carla_server": 600,
    "carla_stream": 150,
    "checkpoint": 30,
    "dcp_capture": 400,
    "dcp_master": 60,
    "dcp_run": 150,
    "dcp_slave": 200,
    "dcpx": 300,
    "definition": 300,
    "diff": 8,
    "data_port": 500,
    "far_link": 3000,
    "fmu_archive": 120,
    "fmu_description": 100,
    "foreign_bag": 30,
    "message": 3000,
    "opendrive": 300,
    "results": 250,
    "scenario": 40,
    "ssd": 80,
    "start_page": 25,
    "vds1": 5000,
    "vds_record": 500,
    "xosc": 120,
}
#: All that a committed corpus may take.
LARGEST_CORPUS = 10_000


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_breaks_a_reader(name: str) -> None:
    target = TARGETS[name]
    stock = [*target.seeds(), *read_corpus(name)]
    for data in stock:
        target.check(data)
    for data in mutations(stock, target.words, target.longest, MUTATIONS[name], seed=1):
        try:
            target.check(data)
        except Exception as error:
            raise AssertionError(f"{name}: {data!r}") from error


@pytest.mark.parametrize("name", TARGETS)
def test_each_target_has_a_seed_that_is_taken(name: str) -> None:
    target = TARGETS[name]
    assert any(target.check(seed) for seed in target.seeds())
    assert all(len(seed) <= target.longest for seed in target.seeds())


def test_corpora_are_small_and_belong_to_targets() -> None:
    for path in DIRECTORY.glob("*"):
        assert path.stem in TARGETS and path.stat().st_size < LARGEST_CORPUS
        assert len(set(read_corpus(path.stem))) == len(path.read_text("ascii").split())


def _target(read: object, **more: object) -> Target:
    return Target("t", read, lambda: [b"abcd"], (_Refusal,), **more)  # type: ignore[arg-type]


def test_a_reader_that_breaks_is_found() -> None:
    def read(data: bytes) -> None:
        if b"b" not in data:
            raise IndexError

    target = _target(read)
    with pytest.raises(IndexError):
        for data in mutations([b"abcd"], (), 10, 100, seed=1):
            target.check(data)


@pytest.mark.parametrize("text", ["", "two\nlines", "x" * 5000])
def test_a_refusal_that_is_no_line_is_found(text: str) -> None:
    def read(data: bytes) -> None:
        raise _Refusal(text)

    with pytest.raises(Finding, match="refused with"):
        _target(read).check(b"x")


class _Refusal(Exception):
    pass


def test_mutations_are_the_same_in_every_run_and_within_bounds() -> None:
    made = list(mutations([b"abcd", b"xyz"], (b"word",), 20, 500, seed=3))
    assert made == list(mutations([b"abcd", b"xyz"], (b"word",), 20, 500, seed=3))
    assert max(map(len, made)) <= 20 and len(set(made)) > 350
    assert any(b"word" in data for data in made)


def test_what_an_input_decides_repeats_and_its_end_lets_nothing_happen() -> None:
    data = random.Random(1).randbytes(60)
    drawn = [(Guided(data).random(), Guided(data).randrange(9)) for _ in range(2)]
    assert drawn[0] == drawn[1]
    behind = Guided(b"")
    assert behind.random() > 0.999 and behind.randrange(5) == 0 and behind.choice("abc") == "a"
    assert len(Counter(Guided(bytes((n,))).random() for n in range(256))) == 256


def test_messages_are_joined_and_taken_apart() -> None:
    messages = [b"", b"a" * 255, b"b"]
    assert list(pieces(joined(messages))) == messages
    assert list(pieces(joined([b"x" * 300]))) == [b"x" * 255]


def test_the_smallest_inputs_that_reach_as_much_are_kept() -> None:
    target = TARGETS["vds1"]
    (seed, *_) = target.seeds()
    short, long = bytes(76), bytes(220)  # the sizes of both packets, and nothing in them
    assert smallest(target, [long, seed, short]) == [short]
    assert smallest(target, [short], budget=75) == []
