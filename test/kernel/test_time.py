# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Durations are read and written exactly; adding saturates."""

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.time import (
    FOREVER,
    NEVER,
    format_ns,
    parse_duration,
    parse_ros_time,
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
        (0.0, 0),
        (-0.0, 0),
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


@pytest.mark.parametrize(
    ("time", "duration", "total"),
    [
        (3, 4, 7),
        (3, -4, -1),
        (FOREVER, -5, FOREVER),
        (FOREVER, 5, FOREVER),
        (NEVER, 5, NEVER),
        (NEVER, -5, NEVER),
        (FOREVER - 3, 2, FOREVER - 1),
        (FOREVER - 3, 3, FOREVER),
        (FOREVER - 3, 9, FOREVER),
        (NEVER + 3, -2, NEVER + 1),
        (NEVER + 3, -9, NEVER),
    ],
)
def test_times_add_up_within_their_bounds_which_absorb(
    time: int, duration: int, total: int
) -> None:
    assert saturating_add(time, duration) == total


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (NEVER, "never"),
        (NEVER - 1, "never"),
        (FOREVER, "forever"),
        (FOREVER - 1, "9223372036.854775806s"),
        (0, "0s"),
        (1, "1ns"),
        (999, "999ns"),
        (1000, "1us"),
        (1001, "1.001us"),
        (-1_500_000, "-1.5ms"),
        (1_000_000, "1ms"),
        (999_999_999, "999.999999ms"),
        (1_000_000_000, "1s"),
        (61_000_000_001, "61.000000001s"),
    ],
)
def test_times_are_written_in_the_largest_unit(time: int, text: str) -> None:
    assert format_ns(time) == text


@pytest.mark.parametrize(
    ("value", "minimum", "nanoseconds"),
    [
        (0, 0, 0),
        (0, -3, 0),
        ("2us", 0, 2_000),
        ("1.5 \u00b5s", 0, 1_500),
        ("3\u03bcs", 0, 3_000),
        ("0.25ms", 0, 250_000),
        ("2s", 0, 2_000_000_000),
        ("2min", 0, 120_000_000_000),
        ("1.5h", 0, 5_400_000_000_000),
        ("-2ns", -2, -2),
        ("+2ns", 0, 2),
        ("  10 ms ", 0, 10_000_000),
    ],
)
def test_durations_of_each_unit(value: object, minimum: int, nanoseconds: int) -> None:
    assert parse_duration(value, minimum=minimum) == nanoseconds


@pytest.mark.parametrize(
    ("value", "minimum", "said"),
    [
        (True, 0, "d: found True; allowed is 0, or a number with its unit, as in 10ms"),
        (1.5, 0, "d: found 1.5; a time needs a unit: write 1.5s"),
        ("10", 0, "d: found 10; a time needs a unit: write 10s"),
        ("10 days", 0, "d: found '10 days'; allowed is 0, or a number with its unit"),
        ("0.5ns", 0, "d: found '0.5ns', which is not a whole number of nanoseconds; allowed"),
        ("-1ns", 0, "d: found '-1ns'; allowed is 0s or more (and less than 2^63 nanoseconds)"),
        ("9ns", 10, "d: found '9ns'; allowed is 10ns or more"),
        (40_000_000, 0, "d: found 40000000; a time needs a unit: write 40ms"),
        (FOREVER + 1, 0, "d: found 9223372036854775808; a time needs a unit"),
        (f"{FOREVER + 1}ns", 0, "allowed is 0s or more (and less than 2^63 nanoseconds)"),
        ("9" * 90, 0, f"d: found '{'9' * 56}...; allowed"),
    ],
)
def test_what_is_no_duration(value: object, minimum: int, said: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        parse_duration(value, "d", minimum=minimum)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("time", "seconds", "stamp"),
    [(1_500_000_000, 1.5, (1, 500_000_000)), (-1, -1e-9, (-1, 999_999_999)), (0, 0.0, (0, 0))],
)
def test_seconds_and_stamps(time: int, seconds: float, stamp: tuple[int, int]) -> None:
    assert to_seconds(time) == seconds and split_stamp(time) == stamp


@given(st.integers(0, 2**31 * 10**9 - 1))
def test_a_time_of_ros_is_read_exactly_however_it_is_written(time: int) -> None:
    sec, nanosec = split_stamp(time)
    assert parse_ros_time({"sec": sec, "nanosec": nanosec}) == time
    assert parse_ros_time(f"{time}ns") == time
    date = datetime.fromtimestamp(sec, timezone.utc)
    for zone, name in ((timezone.utc, "Z"), (timezone(-timedelta(hours=4.5)), "-04:30")):
        text = date.astimezone(zone).strftime("%Y-%m-%dT%H:%M:%S")
        assert parse_ros_time(f"{text}.{nanosec:09d}{name}") == time
