# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The trace hash: any difference shows, and nothing else does."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ros2_cosim.core.kernel.latched import REFERENCE
from ros2_cosim.core.kernel.trace import PackedPair, ParticipantTrace, run_digest

_INT64 = st.integers(-(2**63), 2**63 - 1)
_REFERENCES = st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 3))
_ACTIVATIONS = st.tuples(st.just("in"), st.integers(0, 40), st.lists(_REFERENCES, max_size=2))
_OUTPUTS = st.tuples(
    st.just("out"), st.integers(0, 3), st.integers(0, 40), st.integers(0, 3), st.binary(max_size=40)
)
_RECORDS = st.lists(st.one_of(_ACTIVATIONS, _OUTPUTS), max_size=4)


def note(trace: ParticipantTrace, time: int, read: list[tuple[int, int, int]]) -> None:
    """Record an activation that read (channel, stamp, seq)."""
    trace.activation(time, len(read), b"".join(REFERENCE(*one) for one in read))


def digest(records: list[Any]) -> str:
    """The hash of activations and outputs in their order."""
    trace = ParticipantTrace()
    for kind, *content in records:
        if kind == "in":
            note(trace, *content)
        else:
            trace.output(*content)
    return trace.hexdigest()


@settings(max_examples=100)
@given(first=_RECORDS, second=_RECORDS)
def test_equal_records_give_equal_hashes_and_different_ones_do_not(
    first: list[Any], second: list[Any]
) -> None:
    assert (digest(first) == digest(second)) == (first == second)
    assert digest(first) == digest(list(first))


@pytest.mark.parametrize("size", [1, 1_000_000])
def test_another_content_of_the_same_length_gives_another_hash(size: int) -> None:
    assert digest([("out", 0, 0, 0, size * b"a")]) != digest([("out", 0, 0, 0, size * b"b")])


def test_a_message_cannot_pretend_to_be_what_follows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    captured: list[bytes] = []

    class Spy:
        """Takes what is hashed."""

        def update(self, data: bytes) -> None:
            captured.append(bytes(data))

        def hexdigest(self) -> str:
            return hashlib.sha1(b"".join(captured)).hexdigest()

    real = hashlib.sha256
    monkeypatch.setattr(hashlib, "sha256", Spy)
    spy = ParticipantTrace()
    spy.output(0, 0, 0, b"")
    spy.output(1, 2, 3, b"x")
    spy.hexdigest()
    monkeypatch.setattr(hashlib, "sha256", real)
    head = captured[0][: len(captured[0]) // 2]
    tail = captured[0][len(head) :]
    assert digest([("out", 0, 0, 0, tail)]) != real(captured[0]).hexdigest()


@given(time=_INT64, stamp=_INT64)
@settings(max_examples=30)
def test_the_whole_range_of_times_can_be_recorded(time: int, stamp: int) -> None:
    trace = ParticipantTrace()
    note(trace, time, [(0, stamp, 2**64 - 1)])
    trace.output(0, stamp, 2**64 - 1, b"")
    assert len(trace.hexdigest()) == 64


def test_reading_the_hash_in_between_changes_nothing() -> None:
    records = [("in", t, [(0, t, t)]) for t in range(5)]
    trace = ParticipantTrace()
    for _, *content in records:
        note(trace, *content)  # type: ignore[arg-type]
        trace.hexdigest()
    assert trace.hexdigest() == digest(records)


def test_long_runs_hash_all_activations_and_keep_the_first_times() -> None:
    trace, shorter = ParticipantTrace(), ParticipantTrace()
    for time in range(7000):
        note(trace, time, [(0, time, time)])
        if time < 6999:
            note(shorter, time, [(0, time, time)])
    assert trace.activations == 7000
    assert trace.times == list(range(5000))
    assert trace.hexdigest() != shorter.hexdigest()


def test_the_hash_of_a_run_is_over_names_and_hashes_in_the_order_of_names() -> None:
    expected = hashlib.sha256(b"a 11\nb 22\n").hexdigest()
    assert run_digest({"b": "22", "a": "11"}) == run_digest({"a": "11", "b": "22"}) == expected
    assert run_digest({"a": "22", "b": "11"}) != expected
    assert run_digest({"a": "11"}) != expected


@given(st.lists(st.tuples(st.sampled_from((-(2**63), 0, 7)), st.sampled_from((0, 1, 2**64 - 1)))))
def test_two_numbers_are_packed_as_if_there_had_been_none_before(pairs: Any) -> None:
    packed = PackedPair(b"A", "<qQ")
    assert [packed.of(*pair) for pair in pairs] == [
        b"A" + struct.pack("<qQ", *pair) for pair in pairs
    ]
