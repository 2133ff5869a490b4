# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The seal of coordination messages: made by processes of the run only, and once."""

from __future__ import annotations

import pytest

from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.cdr import MAX_TRAILING
from ros2_cosim.core.messages.protocol import Completion, PortPromise
from ros2_cosim.core.process.seal import SEAL_BYTES, SealCheck, Sealer, new_secret, secret_of

TOPIC = "/cosim/completion/a"


@pytest.mark.parametrize("length", range(9))
def test_a_sealed_message_is_accepted_once(length: int) -> None:
    sealer, check = Sealer("secret", TOPIC), SealCheck("secret", TOPIC)
    first, second = sealer.sealed(bytes(length)), sealer.sealed(bytes(length))
    assert first != second
    # Transports pad to four bytes; they must not pad behind the seal.
    assert len(first) % 4 == 0
    assert check.fault(first) is None
    assert check.fault(first) == "was received before"
    assert check.fault(second) is None
    assert check.fault(first) == "was received before"


def test_each_writer_counts_for_itself() -> None:
    writers = [Sealer("secret", TOPIC) for _ in range(3)]
    check = SealCheck("secret", TOPIC)
    messages = [writer.sealed(b"data") for _ in range(2) for writer in writers]
    assert [check.fault(message) for message in messages] == [None] * 6


def test_each_changed_bit_breaks_the_seal() -> None:
    message = Sealer("secret", TOPIC).sealed(b"0123")
    for bit in range(8 * len(message)):
        changed = bytearray(message)
        changed[bit // 8] ^= 1 << bit % 8
        check = SealCheck("secret", TOPIC)
        assert check.fault(bytes(changed)) == "has no seal of this run"
    assert SealCheck("secret", TOPIC).fault(message) is None


@pytest.mark.parametrize("data", [b"", b"0", bytes(SEAL_BYTES - 1), bytes(SEAL_BYTES), bytes(100)])
def test_what_has_no_seal_is_refused(data: bytes) -> None:
    assert SealCheck("secret", TOPIC).fault(data) == "has no seal of this run"


def test_a_seal_belongs_to_a_run_and_a_topic() -> None:
    message = Sealer("secret", TOPIC).sealed(b"data")
    assert SealCheck("another", TOPIC).fault(message) == "has no seal of this run"
    assert SealCheck("secret", TOPIC + "b").fault(message) == "has no seal of this run"


def test_a_decoder_sees_the_message_without_the_seal() -> None:
    codec = CATALOGUE.codec("ros2_cosim/msg/Completion")
    for reason in ("", "a", "ab", "abc", "abcd"):
        record = Completion("p", 1, 2, 3, reason, (PortPromise("out", 4, 5),))
        data = codec.encode(0, 0, record)
        sealed = Sealer("secret", TOPIC).sealed(data)
        assert len(sealed) - len(data) <= MAX_TRAILING
        assert codec.decode_measured(sealed)[2:] == (record, len(data))


def test_secrets_are_made_anew() -> None:
    assert len({new_secret() for _ in range(100)}) == 100
    assert secret_of({"COSIM_RUN_SECRET": "x"}) == "x"
    assert secret_of({}) == ""
