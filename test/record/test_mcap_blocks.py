# SPDX-License-Identifier: Apache-2.0
"""How records are joined for the disk, and what an MCAP file is made of."""

from __future__ import annotations

from ros2_cosim.record.mcap import _batches, record, text, text_map

MIB = 1 << 20


def test_records_are_joined_until_a_block_has_a_mebibyte() -> None:
    assert list(_batches([])) == []
    assert list(_batches([b"a", b"", b"bc"])) == [b"abc"]
    one_less = b"x" * (MIB - 1)
    assert list(_batches([one_less, b"y", b"z"])) == [one_less + b"y", b"z"]
    assert list(_batches([one_less, b"y"])) == [one_less + b"y"]
    assert [len(block) for block in _batches([one_less, b"yy", one_less])] == [MIB + 1, MIB - 1]


def test_records_are_those_of_the_specification() -> None:
    """https://mcap.dev/spec: an opcode, 8 bytes of length; texts and maps have 4, little-endian."""
    assert text("ä") == b"\x02\x00\x00\x00\xc3\xa4"
    pairs = text("a") + text("") + text("b") + text("1")
    assert text_map({"b": "1", "a": ""}) == b"\x13\x00\x00\x00" + pairs
    assert record(0x0F, b"\x01\x02\x03\x04") == b"\x0f\x04\0\0\0\0\0\0\0\x01\x02\x03\x04"
