# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Random streams: fixed bits, right distributions, independence; latency distributions."""

import math
from statistics import NormalDist, fmean, pstdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Philox

from ros2_cosim.core.kernel import random_streams
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.normal_quantile import normal_quantile
from ros2_cosim.core.kernel.random_streams import LatencyDistribution, RandomStream, stream_key

MS = 1_000_000
DRAWS = 20_000


def test_the_generator_gives_the_published_words() -> None:
    # Known answer of Philox-4x64-10 for counter 0 and key 0 (Random123); numpy counts up first.
    assert [hex(word) for word in Philox(key=0, counter=2**256 - 1).random_raw(4).tolist()] == [
        "0x16554d9eca36314c",
        "0xdb20fe9d672d0fdc",
        "0xd7e772cee186176b",
        "0x7e68b68aec7ba23b",
    ]


def test_a_stream_is_fixed_for_ever() -> None:
    # A change of any of these numbers changes the trace of every scenario with noise.
    assert stream_key(1, "leader", "v2v") == 0xC1B030EE27E1B8E58D14825FB25BA1C0
    stream = RandomStream(1, "leader", "v2v")
    assert [stream.raw() for _ in range(4)] == [
        5155331503622658784,
        2220890920094980458,
        11691422381189811243,
        14732824734270877342,
    ]
    assert [stream.uniform() for _ in range(3)] == [
        0.46231244077073896,
        0.3022259537461741,
        0.8914717223871123,
    ]
    assert [stream.normal() for _ in range(3)] == [
        -0.4409737319361823,
        0.7919045131893956,
        -1.045009755504131,
    ]
    assert [stream.exponential(2.0) for _ in range(3)] == [
        0.4066820123016071,
        0.5310223392541921,
        0.4703733363701825,
    ]
    assert [stream.integers(1000) for _ in range(5)] == [980, 191, 520, 767, 612]
    assert [stream.bernoulli(0.5) for _ in range(8)] == [False] + [True] * 3 + [False] + [True] * 3


def test_the_words_do_not_depend_on_how_they_are_fetched() -> None:
    stream = RandomStream(3, "a", "b")
    expected = Philox(key=stream_key(3, "a", "b")).random_raw(5000).tolist()
    assert [stream.raw() for _ in range(5000)] == expected


@given(st.integers(0, 2**128 - 1), st.integers(0, 2**62), st.integers(1, 8))
def test_words_that_are_computed_here_are_those_of_numpy(key: int, block: int, blocks: int) -> None:
    words = random_streams._words(key, 4 * block, 4 * (block + blocks))
    assert words == Philox(key=key, counter=block).random_raw(4 * blocks).tolist()


@given(st.integers(0, 2**128 - 1), st.integers(0, 2**62))
def test_blocks_by_halves_are_those_of_numpy(key: int, block: int) -> None:
    halves = [key >> shift & 2**32 - 1 for shift in (32, 0, 96, 64)]
    parts = random_streams._block(block, *halves)
    pairs = list(zip(parts[::2], parts[1::2], strict=True))
    words = [high << 32 | low for high, low in pairs]
    assert words == Philox(key=key, counter=block).random_raw(4).tolist()
    expected = [(word >> 11) * 2.0**-53 for word in words]
    assert [random_streams._uniform_of(*pair) for pair in pairs] == expected


@pytest.mark.parametrize("computed_here", [0, 16, 100, 10_000])
def test_numpy_goes_on_where_the_words_that_are_computed_here_end(
    computed_here: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_streams, "_computed_here", [computed_here])
    stream = RandomStream(3, "a", "b")
    expected = Philox(key=stream_key(3, "a", "b")).random_raw(2000).tolist()
    assert [stream.raw() for _ in range(2000)] == expected


def test_each_part_of_the_name_matters_and_none_runs_into_the_next() -> None:
    names = [(1, "ab", "c"), (1, "a", "bc"), (1, "", "abc"), (11, "ab", "c"), (-1, "ab", "c"),
             (1, "ab:", "c"), (1, "ab", ":c"), (1, "a\x00b", "c"), (2**70, "ab", "c")]  # fmt: skip
    assert len({stream_key(*name) for name in names}) == len(names)


def test_another_participant_changes_no_draw() -> None:
    alone = RandomStream(5, "sensor1", "noise/2")
    expected = [alone.normal() for _ in range(50)]
    together = RandomStream(5, "sensor1", "noise/2")
    other = RandomStream(5, "sensor2", "noise/2")
    found = []
    for _ in range(50):
        other.normal()
        found.append(together.normal())
    assert found == expected


@pytest.mark.parametrize("wrong", [("1", "a", "b"), (True, "a", "b"), (1, 2, "b"), (1, "a", None)])
def test_a_wrong_part_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="allowed"):
        RandomStream(*wrong)


def test_uniform_has_the_right_moments_and_range() -> None:
    stream = RandomStream(1, "test", "uniform")
    draws = [stream.uniform() for _ in range(DRAWS)]
    assert 0.0 <= min(draws) and max(draws) < 1.0
    assert abs(fmean(draws) - 0.5) < 5 * math.sqrt(1 / 12 / DRAWS)
    between = [stream.uniform_between(-3.0, 5.0) for _ in range(DRAWS)]
    assert -3.0 <= min(between) and max(between) <= 5.0
    assert abs(fmean(between) - 1.0) < 5 * 8.0 * math.sqrt(1 / 12 / DRAWS)


def test_uniform_never_leaves_narrow_bounds() -> None:
    stream = RandomStream(1, "test", "narrow")
    high = math.nextafter(1.0, 2.0)
    assert {stream.uniform_between(1.0, high) for _ in range(100)} == {1.0, high}


def test_normal_follows_its_distribution() -> None:
    stream = RandomStream(1, "test", "normal")
    draws = sorted(stream.normal() for _ in range(DRAWS))
    assert abs(fmean(draws)) < 5 / math.sqrt(DRAWS)
    assert abs(pstdev(draws) - 1.0) < 5 / math.sqrt(2 * DRAWS)
    cdf = NormalDist().cdf
    distance = max(abs(cdf(z) - (i + 0.5) / DRAWS) for i, z in enumerate(draws))
    assert distance < 1.95 / math.sqrt(DRAWS)  # Kolmogorov-Smirnov, 0.1 % level


def test_exponential_follows_its_distribution() -> None:
    stream = RandomStream(1, "test", "exponential")
    draws = sorted(stream.exponential(3.0) for _ in range(DRAWS))
    assert draws[0] > 0.0
    distance = max(abs(1 - math.exp(-x / 3.0) - (i + 0.5) / DRAWS) for i, x in enumerate(draws))
    assert distance < 1.95 / math.sqrt(DRAWS)


def test_integers_are_equally_likely() -> None:
    stream = RandomStream(1, "test", "integers")
    counts = [0] * 7
    for _ in range(DRAWS):
        counts[stream.integers(7)] += 1
    expected = DRAWS / 7
    assert sum((count - expected) ** 2 / expected for count in counts) < 22.5  # chi2, 6, 0.1 %
    assert stream.integers(1) == 0
    assert 0 <= stream.integers(2**64) < 2**64
    assert 0 <= stream.integers(2**63 + 1) <= 2**63
    for wrong in (0, -1, 2**64 + 1):
        with pytest.raises(ValueError, match="must lie in"):
            stream.integers(wrong)


def test_a_word_that_would_make_a_number_more_likely_is_not_used() -> None:
    """Of n numbers above 2^63 each has one word; the first word beyond them is n itself."""
    stream = RandomStream(1, "test", "limit")
    words = [stream.raw() for _ in range(20)]
    place = next(place for place, word in enumerate(words) if word > 2**63)
    n = words[place]
    again = RandomStream(1, "test", "limit")
    for _ in range(place):
        again.raw()
    assert again.integers(n) == next(word for word in words[place + 1 :] if word < n)


def test_bernoulli_edges_and_rate() -> None:
    stream = RandomStream(1, "test", "bernoulli")
    assert not any(stream.bernoulli(0.0) for _ in range(1000))
    assert all(stream.bernoulli(1.0) for _ in range(1000))
    rate = sum(stream.bernoulli(0.2) for _ in range(DRAWS)) / DRAWS
    assert abs(rate - 0.2) < 5 * math.sqrt(0.16 / DRAWS)


@given(st.floats(1e-300, 1.0 - 2**-53))
def test_normal_quantile_agrees_with_the_library(p: float) -> None:
    assert normal_quantile(p) == pytest.approx(NormalDist().inv_cdf(p), rel=2e-15, abs=1e-300)


@pytest.mark.parametrize("wrong", [0.0, 1.0, -0.5, 2.0])
def test_normal_quantile_refuses_what_is_no_probability(wrong: float) -> None:
    with pytest.raises(ValueError):
        normal_quantile(wrong)


# --- latency -----------------------------------------------------------------------------


def test_a_constant_latency_takes_no_draw() -> None:
    stream, untouched = RandomStream(1, "a", "b"), RandomStream(1, "a", "b")
    latency = LatencyDistribution.from_spec("20ms")
    assert latency.is_constant
    assert latency.minimum_ns == latency.maximum_ns == latency.draw(stream) == 20 * MS
    assert LatencyDistribution.from_spec("7ns").draw(stream) == 7
    assert stream.raw() == untouched.raw()


def test_latency_draws_are_fixed_for_ever() -> None:
    spec = {"normal": {"mean": "20ms", "std": "5ms", "min": "10ms", "max": "40ms"}}
    latency = LatencyDistribution.from_spec(spec)
    stream = RandomStream(7, "v2v", "latency")
    assert [latency.draw(stream) for _ in range(3)] == [13876401, 25975568, 14662162]


@pytest.mark.parametrize(
    ("spec", "mean"),
    [
        ({"uniform": ["10ms", "30ms"]}, 20 * MS),
        ({"normal": {"mean": "20ms", "std": "2ms", "min": "5ms", "max": "35ms"}}, 20 * MS),
        ({"exponential": {"mean": "20ms", "min": "10ms", "max": "500ms"}}, 20 * MS),
    ],
)
def test_latency_means(spec: object, mean: int) -> None:
    latency = LatencyDistribution.from_spec(spec)
    stream = RandomStream(1, "test", "latency")
    draws = [latency.draw(stream) for _ in range(4000)]
    assert all(isinstance(draw, int) for draw in draws)
    assert fmean(draws) == pytest.approx(mean, rel=0.03)


durations = st.integers(0, 10**11)


@given(st.lists(durations, min_size=3, max_size=3), durations, st.integers(0, 2**32))
def test_latencies_stay_within_their_bounds(triple: list[int], std: int, seed: int) -> None:
    low, mean, high = sorted(triple)
    stream = RandomStream(seed, "test", "bounds")
    for spec in (
        {"uniform": [f"{low}ns", f"{high}ns"]},
        {
            "normal": {
                "mean": f"{mean}ns",
                "std": f"{std}ns",
                "min": f"{low}ns",
                "max": f"{high}ns",
            }
        },
        {"exponential": {"mean": f"{mean}ns", "min": f"{low}ns", "max": f"{high}ns"}},
    ):
        latency = LatencyDistribution.from_spec(spec)
        assert (latency.minimum_ns, latency.maximum_ns) == (low, high)
        assert all(low <= latency.draw(stream) <= high for _ in range(10))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (0.02, r"v2v\.latency: found 0\.02"),
        ("-1ms", r"v2v\.latency: found '-1ms'"),
        ({}, "found keys"),
        ({"uniform": ["1ms", "2ms"], "normal": {}}, "found keys"),
        ({"gamma": {}}, "found 'gamma'; allowed is a duration or one of"),
        ({"uniform": "1ms"}, r"v2v\.latency\.uniform: found"),
        ({"uniform": ["2ms", "1ms"]}, r"uniform\[1\]: found '1ms'; allowed is 2ms or more"),
        ({"normal": {"mean": "1ms"}}, "allowed are exactly"),
        ({"normal": {"mean": "1ms", "std": "-1ms", "min": 0, "max": "2ms"}}, r"normal\.std"),
        ({"exponential": {"mean": "3ms", "min": 0, "max": "2ms"}}, "min <= mean <= max"),
    ],
)
def test_wrong_latency_specs_are_refused_with_their_place(spec: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        LatencyDistribution.from_spec(spec, "v2v.latency")


KEY = bytes(range(16))


@pytest.mark.parametrize(
    "state",
    [
        (KEY, 16, 0, 0),
        (KEY, 1024, 2048, 1024),
        (KEY, 16, 16, 16),
        (KEY, 32, 2**64 - 4, 4),
    ],
)
def test_a_state_at_its_limits_is_taken_and_given_back(state: tuple[bytes, int, int, int]) -> None:
    stream = RandomStream(1, "p", "s")
    stream.restore_state(state)
    assert stream.save_state() == state


@pytest.mark.parametrize(
    "state",
    [
        (KEY[:15], 16, 16, 0),
        ("0123456789abcdef", 16, 16, 0),
        (KEY, 16.0, 16, 0),
        (KEY, 16, 16.0, 0),
        (KEY, 16, 16, 0.0),
        (KEY, True, 16, 0),
        (KEY, 15, 16, 0),
        (KEY, 1025, 16, 0),
        (KEY, 16, 16, -1),
        (KEY, 16, 16, 17),
        (KEY, 1024, 2048, 1025),
        (KEY, 16, 18, 0),
        (KEY, 16, 2**64, 0),
    ],
)
def test_a_state_beyond_its_limits_is_none(state: Any) -> None:
    with pytest.raises(ConfigurationError, match="random stream: found what is not a state of one"):
        RandomStream(1, "p", "s").restore_state(state)


def test_a_restored_stream_gives_the_words_that_were_left_and_those_behind_them() -> None:
    one = RandomStream(1, "p", "s")
    words = [one.raw() for _ in range(5000)]
    for taken in (0, 1, 15, 16, 17, 47, 48, 49, 1008, 2031, 2032, 2033):
        other = RandomStream(1, "p", "s")
        for _ in range(taken):
            other.raw()
        third = RandomStream(7, "x", "y")
        third.restore_state(other.save_state())
        assert [third.raw() for _ in range(1500)] == words[taken : taken + 1500]


@pytest.mark.parametrize("n", [0, -1, 2**64 + 1])
def test_integers_beyond_a_word_are_refused(n: int) -> None:
    with pytest.raises(ValueError, match=r"n must lie in 1\.\.2\^64"):
        RandomStream(1, "p", "s").integers(n)


def test_draws_are_these_numbers() -> None:
    """Each from one word of numpy's Philox, by the formula of its distribution."""
    stream = RandomStream(3, "p", "s")
    found = [
        stream.uniform(),
        stream.uniform_between(-2.0, 6.0),
        stream.normal(),
        stream.exponential(3.0),
        stream.bernoulli(0.5),
        stream.integers(10),
        stream.integers(1),
        stream.integers(2**64),
    ]
    assert found == [
        0.5657824138318012,
        5.871789494219311,
        -0.6656609116735275,
        2.5201749724657034,
        False,
        9,
        0,
        13860485907338518658,
    ]


def test_means_of_latencies() -> None:
    """For an exponential and a normal one that of the scenario, before its bounds."""
    specs = {
        "20us": 20_000,
        "0.02s": 20 * MS,
        0: 0,
    }
    for spec, mean in specs.items():
        assert LatencyDistribution.from_spec(spec).mean_ns == mean
    assert LatencyDistribution.from_spec({"uniform": ["1ms", "3ms"]}).mean_ns == 2 * MS
