# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Of a board each end sees what the others write, and only the last answer to an aim rings."""

from __future__ import annotations

import os
import resource
import select
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.time import FOREVER, NEVER
from ros2_cosim.core.sockets.board import ENDS, NOTHING, Board, BoardEnd

EndOf = Callable[[int], BoardEnd]


@pytest.fixture
def end_of() -> Iterator[EndOf]:
    """Makes the end of a number."""
    board = Board()
    ends: list[BoardEnd] = []

    def make(number: int) -> BoardEnd:
        ends.append(BoardEnd(number, [os.dup(file) for file in board.files]))
        return ends[-1]

    yield make
    for end in ends:
        end.close()
    board.close()


class Ringing:
    """Hears what rings, once for each time."""

    def __init__(self, file: int) -> None:
        self._poll = select.epoll()
        self._poll.register(file, select.EPOLLIN | select.EPOLLET)

    def heard(self) -> bool:
        return bool(self._poll.poll(0))


@pytest.mark.parametrize("number", [0, ENDS - 1])
def test_what_one_end_writes_the_others_see(end_of: EndOf, number: int) -> None:
    writer, reader = end_of(number), end_of(1)
    cells = [writer.cell() for _ in range(3)]
    views = [reader.view(number, cell.number) for cell in cells if cell is not None]
    assert len(views) == 3
    assert not any(view.has_changed() for view in views)
    assert [view.reached for view in views] == [NOTHING] * 3 == [NEVER] * 3
    for number, cell in enumerate(cells):
        assert cell is not None
        cell.write(number, FOREVER - number)
        cell.reach(10 + number)
    assert all(view.has_changed() for view in views)
    assert not any(view.has_changed() for view in views)
    assert [(v.first, v.second, v.reached) for v in views] == [
        (number, FOREVER - number, 10 + number) for number in range(3)
    ]


@given(st.lists(st.tuples(*2 * [st.integers(NEVER, FOREVER)]), min_size=4, max_size=4))
def test_ends_share_no_cell(messages: list[tuple[int, int]]) -> None:
    board = Board()
    ends = [BoardEnd(number, [os.dup(file) for file in board.files]) for number in range(2)]
    try:
        cells = [list(iter(end.cell, None)) for end in ends]
        edges = [(end, place) for end in range(2) for place in (0, -1)]
        for (end, place), message in zip(edges, messages, strict=True):
            cells[end][place].write(*message)
        for (end, place), message in zip(edges, messages, strict=True):
            view = ends[0].view(end, cells[end][place].number)
            view.has_changed()
            assert (view.first, view.second, view.reached) == (*message, NEVER)
    finally:
        for each in ends:
            each.close()
        board.close()


def test_where_there_is_no_room_there_is_no_cell(end_of: EndOf) -> None:
    assert end_of(ENDS).cell() is None
    end = end_of(0)
    cells = 0
    while end.cell() is not None:
        cells += 1
    assert cells > 500


def test_the_last_of_the_others_rings(end_of: EndOf) -> None:
    clock, others = end_of(0), [end_of(number) for number in (1, 2, 3)]
    done, bells = Ringing(clock.done), [Ringing(other.bell) for other in others]
    assert clock.aim == 0
    for aim, target in enumerate((10, 20), 1):
        clock.aim_at(target, len(others))
        assert [bell.heard() for bell in bells] == [True] * 3
        assert [(other.aim, other.target) for other in others] == [(aim, target)] * 3
        assert [other.answer() for other in others] == [False, False, True]
        assert done.heard()
        assert not done.heard()


def test_an_aim_that_was_not_reached_is_forgotten(end_of: EndOf) -> None:
    clock, others = end_of(0), [end_of(1), end_of(2)]
    done = Ringing(clock.done)
    clock.aim_at(10, 9)
    assert not others[0].answer()
    clock.aim_at(20, 2)
    assert [other.answer() for other in others] == [False, True]
    # One too many, of which the clock did not know, rings as well.
    assert others[0].answer()
    assert done.heard()


def test_an_end_that_is_closed_has_no_file_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    board = Board()
    end = BoardEnd(0, [os.dup(file) for file in board.files])
    cell, view = end.cell(), end.view(1, 0)
    end.close()
    board.close()
    assert len(os.listdir("/proc/self/fd")) == before
    assert cell is not None
    with pytest.raises(ValueError, match="released"):
        view.has_changed()


def test_a_limit_of_the_size_of_files_leaves_room_for_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (100_000, 100_000))
    board = Board()
    ends = [
        BoardEnd(number, [os.dup(file) for file in board.files])
        for number in (0, board.ends - 1, board.ends)
    ]
    try:
        assert 1 < board.ends < 10
        assert os.fstat(board.files[0]).st_size <= 100_000
        assert [end.cell() is None for end in ends] == [False, False, True]
        assert ends[0].view(board.ends - 1, 0).reached == NOTHING
    finally:
        for end in ends:
            end.close()
        board.close()
