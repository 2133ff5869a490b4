# SPDX-License-Identifier: Apache-2.0
"""Durations are read and written exactly; adding saturates."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.kernel.time import (
    FOREVER,
    NEVER,
    format_ns,
    parse_duration,
    saturating_add,
    split_stamp,
    to_seconds,
)

times = st.integers(NEVER, FOREVER)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10ms", 10_000_000),
        ("40 ms", 40_000_000),
        ("0.1s", 100_000_000),
        ("0.3s", 300_000_000),
        (" 1.000000001s ", 1_000_000_001),
        ("20us", 20_000),
        ("20\N{MICRO SIGN}s", 20_000),
        ("7ns", 7),
        ("1.5min", 90_000_000_000),
        ("2h", 7_200_000_000_000),
        ("0s", 0),
        (0, 0),
        ("0", 0),
        (f"{FOREVER}ns", FOREVER),
    ],
)
def test_durations_are_read_exactly(text: object, expected: int) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    "wrong",
    ["ms", "", "1e3ms", "-1ms", "0.1ns", "1.0000000001s", "10 seconds", "10  ms", "1,5s",
     "9999999999999999999h", "1" * 50 + "s", None, True, [1], "9223372036854775808ns",
     "\u0663s", "inf s"],
)  # fmt: skip
def test_what_is_no_duration_is_refused_with_its_place(wrong: object) -> None:
    with pytest.raises(ConfigurationError, match=r"world\.period: found .*allowed is"):
        parse_duration(wrong, "world.period")


@pytest.mark.parametrize("wrong", [20, -20, "20", " +20 "])
def test_a_number_without_a_unit_is_refused(wrong: object) -> None:
    with pytest.raises(
        ConfigurationError, match=r"^d: found [+-]?20; a time needs a unit: write 20s$"
    ):
        parse_duration(wrong, "d")
    with pytest.raises(
        ConfigurationError, match=r"^d: found 0\.1; a time needs a unit: write 0\.1s$"
    ):
        parse_duration(0.1, "d")


def test_minimum_is_part_of_the_message() -> None:
    with pytest.raises(ConfigurationError, match="allowed is 1ns or more"):
        parse_duration("0ms", "step", minimum=1)
    assert parse_duration("-5ms", minimum=NEVER) == -5_000_000


@given(st.integers(NEVER + 1, FOREVER - 1))
def test_written_time_reads_back(time: int) -> None:
    assert parse_duration(format_ns(time), minimum=NEVER) == time


@pytest.mark.parametrize(
    ("time", "text"),
    [(0, "0s"), (40_000_000, "40ms"), (1_500_000_000, "1.5s"), (-20_500, "-20.5us"), (7, "7ns"),
     (NEVER, "never"), (FOREVER, "forever")],
)  # fmt: skip
def test_written_form(time: int, text: str) -> None:
    assert format_ns(time) == text


@given(times, times)
def test_adding_saturates(time: int, duration: int) -> None:
    total = saturating_add(time, duration)
    assert NEVER <= total <= FOREVER
    if NEVER < time < FOREVER:
        assert total == min(max(time + duration, NEVER), FOREVER)
    else:
        assert total == time


@given(times)
def test_stamps_are_split(time: int) -> None:
    sec, nanosec = split_stamp(time)
    assert 0 <= nanosec < 10**9
    assert sec * 10**9 + nanosec == time


def test_seconds() -> None:
    assert to_seconds(100_000_000) == 0.1


@given(st.text(max_size=30))
def test_any_text_gives_a_duration_or_the_one_error(text: str) -> None:
    try:
        assert 0 <= parse_duration(text) <= FOREVER
    except ConfigurationError:
        pass
