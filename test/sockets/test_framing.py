# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Frames arrive whole, once and in order, however the connection cuts them."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.sockets.framing import Frame, FrameLink, head_of

MIB = 1 << 20


@pytest.fixture
def links() -> Iterator[tuple[FrameLink, FrameLink]]:
    near, far = map(FrameLink, socket.socketpair())
    yield near, far
    near.close()
    far.close()


def put(link: FrameLink, frame: Frame) -> None:
    link.put(head_of(frame.number, len(frame.data), frame.stamp, frame.seq), frame.data)


def arrived(far: FrameLink) -> list[Frame]:
    """All frames that have arrived."""
    return list(iter(far.next, None))


def move(near: FrameLink, far: FrameLink) -> list[Frame]:
    """Everything that waits at one end, at the other."""
    found: list[Frame] = []
    while near.waiting:
        near.flush()
        far.fetch()
        found += arrived(far)
    far.fetch()
    return [*found, *arrived(far)]


frames = st.builds(
    Frame,
    st.integers(0, 2**32 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-1, 2**63 - 1),
    st.one_of(st.binary(max_size=40), st.integers(0, 3 * MIB).map(bytes)),
)


@given(st.lists(st.lists(frames, max_size=4), max_size=4))
def test_what_is_put_arrives_in_order(groups: list[list[Frame]]) -> None:
    near, far = map(FrameLink, socket.socketpair())
    try:
        for group in groups:
            for frame in group:
                put(near, frame)
            assert move(near, far) == group
            assert not far.is_ready
    finally:
        near.close()
        far.close()


@given(st.lists(frames, min_size=1, max_size=4), st.integers(1, 50))
def test_a_connection_may_cut_them_anywhere(group: list[Frame], piece: int) -> None:
    group = [frame._replace(data=frame.data[:100]) for frame in group]
    sender, receiver = socket.socketpair()
    far = FrameLink(receiver)
    with sender:
        data = b"".join(
            head_of(frame.number, len(frame.data), frame.stamp, frame.seq) + frame.data
            for frame in group
        )
        found: list[Frame] = []
        for begin in range(0, len(data), piece):
            sender.sendall(data[begin : begin + piece])
            far.fetch()
            found += arrived(far)
        assert found == group
    far.close()


def test_the_longest_message_passes(links: tuple[FrameLink, FrameLink]) -> None:
    near, far = links
    frame = Frame(7, 1, 2, bytes(64 * MIB))
    put(near, frame)
    assert near.waiting == len(frame.data) + 24
    near.flush()
    assert near.is_stuck
    assert move(near, far) == [frame]
    assert (near.waiting, near.is_stuck) == (0, False)


def test_frames_that_come_while_others_are_handled_are_given_next(
    links: tuple[FrameLink, FrameLink],
) -> None:
    near, far = links
    first, second, third = (Frame(1, 0, seq, b"x") for seq in range(3))
    put(near, first)
    put(near, second)
    near.flush()
    far.fetch()
    found = []
    while (frame := far.next()) is not None:
        found.append(frame)
        if frame == first:
            put(near, third)
            near.flush()
            far.fetch()
    assert found == [first, second, third]


@pytest.mark.parametrize("unread", [False, True])
def test_the_end_comes_after_all_that_was_sent(
    links: tuple[FrameLink, FrameLink], unread: bool
) -> None:
    near, far = links
    if unread:
        # What the other side has not read must not take along what it has sent.
        put(far, Frame(9, 0, 0, b"unread"))
        far.flush()
    put(near, Frame(1, 2, 3, b"last words"))
    near.flush()
    near.close()
    far.fetch()
    assert arrived(far) == [Frame(1, 2, 3, b"last words")]
    assert not far.has_ended
    far.fetch()
    assert far.has_ended
    put(far, Frame(1, 0, 0, b"too late"))
    far.flush()
    assert far.waiting == 0
