# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Adaptive congestion control: its steps by hand, its gate, and where a saturated channel ends."""

from __future__ import annotations

from typing import Any

import pytest
from models.test_radio import PERIOD, at, v2v
from models.test_v2v import step as beacon_step

from bench.adaptive_dcc import fixed_point, saturated
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.driving.v2v.congestion import AdaptiveControl, SaturatedStations
from ros2_cosim.driving.v2v.contention import (
    BEST_EFFORT,
    VOICE,
    RadioFrame,
    attempt,
    sent_frames,
)
from ros2_cosim.driving.v2v.radio import RadioSettings, SharedChannel

MS = 1_000_000


@pytest.mark.parametrize("stations", [5, 10, 20, 50, 100, 200])
def test_saturated_stations_meet_at_the_fixed_point(stations: int) -> None:
    """delta = beta target / (alpha + N beta), at most 0.03: 6 % of that are missing for five."""
    delta = min(0.0012 * 0.68 / (0.016 + stations * 0.0012), 0.03)
    assert fixed_point(stations) == pytest.approx((stations * delta, delta))
    assert saturated(stations, 60) == pytest.approx((stations * delta, delta), rel=0.01)


def test_delta_moves_every_200_ms_by_limited_steps() -> None:
    control = AdaptiveControl(50 * MS)
    assert control.delta == pytest.approx(0.0153)
    assert [control.hear(0.0) for _ in range(4)] == [False, False, False, True]
    # A free channel asks for 0.0012 x 0.68 = 0.000816: more than the largest step up, 0.0005.
    first = 0.984 * 0.0153 + 0.0005
    assert control.delta == pytest.approx(first, rel=1e-12)
    for _ in range(4):
        control.hear(1.0)
    # The load is 0.5 of that before and 0.5 of the mean: 0.5, below the target.
    second = 0.984 * first + 0.0012 * (0.68 - 0.5)
    assert control.delta == pytest.approx(second, rel=1e-12)
    for _ in range(4):
        control.hear(1.0)
    third = 0.984 * second + 0.0012 * (0.68 - 0.75)
    assert control.delta == pytest.approx(third, rel=1e-12)
    for _ in range(4000):
        control.hear(1.0)
    assert control.delta == 0.0006
    for _ in range(4000):
        control.hear(0.0)
    assert control.delta == 0.03


def test_the_gate_opens_after_the_time_on_the_air_over_delta() -> None:
    control = AdaptiveControl(50 * MS)
    control.sent(MS)
    assert control.interval == round(MS / 0.0153)
    control.sent(100_000)
    assert control.interval == 25 * MS
    control.sent(100 * MS)
    assert control.interval == 1000 * MS


def test_a_new_delta_scales_what_is_left_of_the_time() -> None:
    stations = SaturatedStations([0], [0.0], MS, 100 * MS)
    stations.sent(0, 170 * MS)
    before = stations.ready(0, 10**12)[0][1]
    assert before == 170 * MS + round(MS / 0.0153)
    stations.hear(0.0, 100 * MS)
    stations.hear(0.0, 200 * MS)
    delta = stations.control.delta
    expected = 200e6 + (before - 200e6) * (1e6 / delta) / (1e6 / 0.0153)
    assert stations.ready(0, 10**12)[0][1] == pytest.approx(expected, abs=1.0)


FRAME = 512_000


def stream(name: str) -> RandomStream:
    return RandomStream(1, "v2v", name)


def test_a_warning_waits_for_less_time_than_a_beacon() -> None:
    hears = [[True] * 2] * 2
    busy = [RadioFrame(0, -1000, 400_000)]
    for seed in range(50):
        attempts = [attempt(0, 0, 0, BEST_EFFORT), attempt(0, 1, 1, VOICE)]
        draws = RandomStream(seed, "t", "slots")
        frames = sent_frames(attempts, hears, [FRAME] * 2, PERIOD, draws, busy)
        warning = next(frame for frame in frames if frame.station == 1)
        slots, rest = divmod(warning.begin - 400_000 - 58_000, 13_000)
        assert rest == 0 and 0 <= slots <= 3
    alone = sent_frames([attempt(0, 0, 0, VOICE)], hears, [FRAME] * 2, PERIOD, stream("s"))
    assert alone[0].begin == 58_000 < 110_000


def test_two_queues_of_one_vehicle_do_not_meet_on_the_air() -> None:
    """Both would begin at the same time: the warning, which was ready later, goes first."""
    hears = [[True] * 2] * 2
    both = [attempt(0, 0, 0, BEST_EFFORT), attempt(52_000, 1, 0, VOICE)]
    first, second = sent_frames(both, hears, [FRAME] * 2, PERIOD, stream("s"))
    assert (first.station, first.begin) == (1, 110_000)
    assert second.begin >= first.end + 110_000
    strangers = [attempt(0, 0, 0, BEST_EFFORT), attempt(52_000, 1, 1, VOICE)]
    first, second = sent_frames(strangers, hears, [FRAME] * 2, PERIOD, stream("s"))
    assert first.begin == second.begin == 110_000


def test_a_frame_that_lasts_into_the_next_period_is_heard_there() -> None:
    """Of one vehicle in two periods of 2 ms, the frame of 3 ms: all of it is counted."""
    places = {"a": (0.0, 0.0)}
    channel = SharedChannel(RadioSettings(), ("a",), 2 * MS, stream)
    channel.begin(places, {"a": 3 * MS})
    found = [channel.busy["a"]]
    for _ in range(3):
        channel.begin(places, {})
        found.append(channel.busy["a"])
    assert sum(found) * 2 * MS == pytest.approx(3 * MS) or found[0] == 0.0
    assert found[0] > 0.0 and found[1] > 0.0 and found[3] == 0.0


def sent(period: int, seconds: int = 10, **more: Any) -> tuple[int, Any]:
    """How many CAMs a vehicle sends that drives fast, and the figures."""
    model = v2v([("leader", "follower1")], triggering="cam", period=period, **more)
    for k in range(seconds * 1000 * MS // period):
        model.activate(beacon_step(k * period, **{"odometry/leader": at(3.0 * k)}))
    return model.lost + model.received, model.report().figures


def test_a_full_channel_stretches_the_interval_of_cams() -> None:
    crowd = {"others": 40, "others_rate": 50.0, "frame_bytes": 700}
    free, _ = sent(50 * MS, 10, radio=crowd)
    held, figures = sent(50 * MS, 10, radio=crowd, congestion_control="adaptive")
    assert free == 100
    assert figures["busy_ratio"] > 0.68 and figures["duty_cycle"] < 0.0098
    assert held < 90


def test_vehicles_share_the_channel_with_stations_that_are_controlled() -> None:
    crowd = {"others": 100, "others_rate": "saturated", "others_distance": 50.0}
    count, figures = sent(25 * MS, 5, radio=crowd, congestion_control="adaptive")
    assert count == 50, "the share of one vehicle is enough for its CAMs"
    assert 0.5 < figures["busy_ratio"] < 0.8
    assert 0.0 < figures["others_duty_cycle"] < 0.03


@pytest.mark.parametrize(
    ("period", "more", "message"),
    [
        (30 * MS, {}, r"found period 30ms with adaptive congestion control; allowed"),
        (50 * MS, {"others_rate": "saturated"}, r"others_rate: found saturated with period 50ms"),
    ],
)
def test_periods_that_cannot_measure_are_refused(period: int, more: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        sent(period, radio=more, congestion_control="adaptive")


@pytest.mark.parametrize("value", ["fast", 1])
def test_another_kind_of_control_is_refused(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"congestion_control: found"):
        sent(50 * MS, radio={}, congestion_control=value)


def test_signatures_take_time_on_the_air() -> None:
    pytest.importorskip("asn1tools", reason="needs the extra v2x")
    _, bare = sent(50 * MS, 2, radio={}, contents="cam")
    _, signed = sent(50 * MS, 2, radio={"security": 93}, contents="cam")
    # 93 byte are 15.5 symbols of 48 bits, of 8 us each.
    more = (signed["busy_ratio"] - bare["busy_ratio"]) * 2.0 / bare["cams"]
    assert more == pytest.approx(93 * 8 / 48 * 8e-6, rel=0.05)
