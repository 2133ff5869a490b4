# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Radio range, fading and the shared channel, against closed forms and independent counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from models.test_v2v import VEHICLES
from models.test_v2v import step as beacon_step
from support.models import made, scene_of

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.messages.records import Odometry
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.driving.v2v.cam_triggering import dcc_interval
from ros2_cosim.driving.v2v.contention import RadioFrame, attempt, sent_frames
from ros2_cosim.driving.v2v.radio import Radio, RadioSettings, SharedChannel, milliwatts
from ros2_cosim.driving.v2v.v2v import V2VChannel

PERIOD = 50_000_000
RADIO = RadioSettings()

#: Of the access category of CAMs (IEEE 802.11): inter-frame space and slot [ns]; capture [dB].
AIFS_NS, SLOT_NS, CAPTURE = 110_000, 13_000, 8.0


def level(distance: float) -> float:
    """Mean power in dBm, straight from the two slopes."""
    free = 20.0 * math.log10(4.0 * math.pi * 10.0 * 5.9e9 / 299_792_458.0)
    if distance <= 100.0:
        return 23.0 - free - 21.0 * math.log10(distance / 10.0)
    return 23.0 - free - 21.0 - 38.0 * math.log10(distance / 100.0)


@pytest.mark.parametrize("distance", [10.0, 35.0, 100.0, 250.0, 900.0])
def test_the_mean_power_has_two_slopes(distance: float) -> None:
    assert 10.0 * math.log10(Radio(RADIO).mean_power(distance)) == pytest.approx(level(distance))


def test_range_and_hearing_distance_of_the_usual_radio() -> None:
    """105 dB to the sensitivity of 6 Mbit/s: 265 m; a channel is busy up to 318 m."""
    assert level(265.0) == pytest.approx(-82.0, abs=0.06)
    assert level(Radio(RADIO).hearing_distance()) == pytest.approx(-85.0, abs=1e-6)
    assert Radio(RADIO).hearing_distance() == pytest.approx(318.0, abs=1.0)
    sharp = Radio(RadioSettings(fading=None))
    assert sharp.reception(sharp.mean_power(264.0), 0.0) == 1.0
    assert sharp.reception(sharp.mean_power(266.0), 0.0) == 0.0


@pytest.mark.parametrize("distance", [50.0, 150.0, 265.0, 400.0])
def test_fading_with_shape_3_is_the_closed_form(distance: float) -> None:
    x = 10.0 ** (0.1 * (-82.0 - level(distance)))
    expected = math.exp(-3.0 * x) * (1.0 + 3.0 * x + 4.5 * x * x)
    radio = Radio(RADIO)
    assert radio.reception(radio.mean_power(distance), 0.0) == pytest.approx(expected, rel=1e-6)
    rayleigh = Radio(RadioSettings(fading=1))
    assert rayleigh.reception(radio.mean_power(distance), 0.0) == pytest.approx(math.exp(-x))


def test_another_signal_must_be_weaker_by_the_capture_ratio() -> None:
    sharp = Radio(RadioSettings(fading=None))
    near = sharp.mean_power(20.0)
    just = near / milliwatts(CAPTURE)
    assert sharp.reception(near, 0.99 * just) == 1.0
    assert sharp.reception(near, 1.01 * just) == 0.0


def test_a_frame_of_350_bytes_takes_512_microseconds() -> None:
    """Preamble and signal 40 us, 59 symbols of 48 bits for 16 + 2800 + 6 bits."""
    assert Radio(RADIO).frame_ns == 512_000


FRAME = 512_000


def everyone(count: int) -> list[list[bool]]:
    return [[True] * count for _ in range(count)]


def air(
    arrivals: Sequence[int], hears: Sequence[Sequence[bool]], seed: int = 1
) -> list[RadioFrame]:
    attempts = [attempt(ready, k, k) for k, ready in enumerate(arrivals) if ready >= 0]
    stream = RandomStream(seed, "t", "slots")
    return sent_frames(attempts, hears, [FRAME] * len(arrivals), PERIOD, stream)


def test_a_station_waits_until_the_channel_is_free() -> None:
    frames = air([0, 100_000], everyone(2))
    assert frames[0] == RadioFrame(0, AIFS_NS, AIFS_NS + FRAME)
    slots, rest = divmod(frames[1].begin - frames[0].end - AIFS_NS, SLOT_NS)
    assert rest == 0 and 0 <= slots <= 15
    alone = air([-1, 7_000_000], everyone(2))
    assert alone == [RadioFrame(1, 7_000_000 + AIFS_NS, 7_000_000 + AIFS_NS + FRAME)]


def test_stations_that_wait_collide_in_one_of_sixteen_cases() -> None:
    together = 0
    for seed in range(3000):
        frames = air([0, 100_000, 200_000], everyone(3), seed)
        together += frames[1].begin == frames[2].begin
    assert together / 3000 == pytest.approx(1.0 / 16.0, abs=0.014)


def test_a_station_that_is_overtaken_keeps_the_slots_that_are_left() -> None:
    """Slots that have passed are not waited for again: the last one is done by a bound."""
    for seed in range(200):
        frames = air([0, 1, 2], everyone(3), seed)
        first, second, third = sorted(frames, key=lambda frame: frame.begin)
        if second.begin != third.begin:
            passed = (second.begin - first.end - AIFS_NS) // SLOT_NS
            left = (third.begin - second.end - AIFS_NS) // SLOT_NS
            assert 0 < passed + left <= 15


def test_hidden_stations_do_not_wait_for_each_other() -> None:
    deaf = [[True, False], [False, True]]
    one, two = air([0, 100_000], deaf)
    assert two.begin < one.end


def test_what_comes_too_late_is_dropped() -> None:
    stream = RandomStream(1, "t", "slots")
    attempts = [attempt(ready, ready, ready) for ready in range(120)]
    frames = sent_frames(attempts, everyone(120), [FRAME] * 120, 3_000_000, stream)
    assert len(attempts) == 120 - len(frames)
    assert frames[-1].begin < 3_000_000 and 5 <= len(frames) < 120


def channel(
    places: dict[str, tuple[float, float]], senders: Sequence[str], seed: int = 1, **radio: Any
) -> SharedChannel:
    def stream(name: str) -> RandomStream:
        return RandomStream(seed, "v2v", name)

    made_channel = SharedChannel(RadioSettings(**radio), tuple(places), PERIOD, stream)
    made_channel.begin(places, dict.fromkeys(senders, FRAME))
    return made_channel


def test_how_busy_the_channel_is_follows_from_frames_and_rates() -> None:
    """40 stations, ten frames of 512 us a second each: 20.5 %, less where some collide."""
    busy = [
        channel({"a": (0.0, 0.0)}, [], seed, others=40, others_rate=10.0).busy["a"]
        for seed in range(60)
    ]
    assert sum(busy) / 60 == pytest.approx(40 * 10 * 512e-6, rel=0.08)
    assert channel({"a": (0.0, 0.0)}, ["a"]).busy["a"] == pytest.approx(512e-6 * 20)
    far = channel({"a": (0.0, 0.0)}, [], others=40, others_distance=500.0)
    assert far.busy["a"] == 0.0


def test_a_full_channel_loses_beacons() -> None:
    places = {"a": (0.0, 0.0), "b": (40.0, 0.0)}

    def received(others: int) -> float:
        found = [
            channel(places, ["a"], seed, others=others, others_rate=20.0).reception("a", "b")
            for seed in range(40)
        ]
        return sum(found) / len(found)

    free, busy, full = received(0), received(60), received(200)
    assert free > 0.99
    assert full < 0.75 < 0.85 < busy < free


def test_a_station_that_sends_hears_nothing_then() -> None:
    """Hidden from each other, both send at once; a third one hears neither of them."""
    places = {"a": (0.0, 0.0), "b": (320.0, 0.0), "c": (160.0, 0.0)}
    found = None
    for seed in range(3000):
        found = channel(places, ["a", "b"], seed)
        if 0.0 < found.reception("a", "c") < 0.4:
            break
    assert found is not None
    assert found.reception("a", "b") == found.reception("b", "a") == 0.0
    alone = channel(places, ["a"])
    assert alone.reception("a", "c") > 0.85
    assert alone.reception("b", "c") == 0.0, "it has not sent"


@pytest.mark.parametrize(
    ("busy", "milliseconds"),
    [(0.0, 100), (0.29, 100), (0.3, 200), (0.45, 400), (0.55, 500), (0.6, 1000), (0.9, 1000)],
)
def test_the_reactive_congestion_control(busy: float, milliseconds: int) -> None:
    assert dcc_interval(busy) == milliseconds * 1_000_000


def v2v(
    links: Sequence[tuple[str, str]], seed: int = 1, period: int = PERIOD, **parameters: Any
) -> V2VChannel:
    context = {"scene": scene_of(VEHICLES), "run_seed": seed, "period_ns": period}
    return made(V2VChannel, {"links": list(links), **parameters}, name="v2v", context=context)


def at(x: float) -> Odometry:
    return Odometry(x, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 20.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def test_beacons_arrive_as_often_as_the_distance_lets_them() -> None:
    links = [("leader", "follower1"), ("leader", "follower2")]
    model = v2v(links, radio={})
    away = {"odometry/leader": at(600.0), "odometry/follower1": at(350.0)}
    moment = beacon_step(**away, **{"odometry/follower2": at(0.0)})
    outputs = [model.activate(moment) for _ in range(600)]
    radio = Radio(RADIO)
    expected = radio.reception(radio.mean_power(250.0), 0.0)
    near = sum("leader_to_follower1" in item for item in outputs) / 600
    assert near == pytest.approx(expected, abs=0.06)
    assert not any("leader_to_follower2" in item for item in outputs)
    figures = model.report().figures
    assert figures["received"] + figures["lost"] == 1200
    assert figures["busy_ratio"] == pytest.approx(512e-6 * 20)
    unknown = model.activate(beacon_step(**away))
    assert "leader_to_follower2" not in unknown, "its place is not known"


def test_another_link_changes_nothing_for_the_draws_of_a_link() -> None:
    moment = beacon_step(**{"odometry/leader": at(250.0), "odometry/follower1": at(0.0)})
    port = "leader_to_follower1"
    one, two = (
        v2v([("leader", "follower1")], radio={}),
        v2v([("leader", "follower2"), ("leader", "follower1")], radio={}),
    )
    first, second = ([port in m.activate(moment) for _ in range(200)] for m in (one, two))
    assert first == second and 20 < sum(first) < 180
    two.restore_state(two.save_state())


def test_a_busy_channel_stretches_the_interval_of_cams() -> None:
    def sent(**more: Any) -> int:
        crowd = {"others": 100, "others_rate": 20.0}
        model = v2v([("leader", "follower1")], triggering="cam", radio=crowd, **more)
        count = 0
        for k in range(100):
            moment = beacon_step(k * PERIOD, **{"odometry/leader": at(3.0 * k)})
            before = model.lost + model.received
            model.activate(moment)
            count += model.lost + model.received - before
        return count

    assert sent() == 50
    assert sent(congestion_control=True) <= 8


def test_what_the_radio_needs_is_told() -> None:
    with pytest.raises(ConfigurationError, match="congestion_control: found without radio"):
        v2v([("leader", "follower1")], congestion_control=True)
    context = {
        "scene": scene_of(VEHICLES),
        "period_ns": PERIOD,
        "input_types": {"odometry/leader": "x"},
    }
    parameters = {"links": [("leader", "follower1")], "radio": {}}
    with pytest.raises(ConfigurationError, match="found no input odometry/follower1"):
        made(V2VChannel, parameters, name="v2v", context=context)


OWN_NETWORK = """
from ros2_cosim.core.kernel.model import Report
from ros2_cosim.driving.v2v.v2v import V2VChannel


class Network(V2VChannel):
    '''A stand-in for a network simulator: every second beacon is lost.'''

    turn = False

    def activate(self, step):
        self.turn = not self.turn
        return super().activate(step) if self.turn else {}

    def report(self):
        return Report(figures={"beacons": self.received})
"""


def run(directory: Path, *changes: str) -> Any:
    request = RunRequest(
        library_file("packet_loss"),
        set=("duration=2s", *changes),
        shape="inproc",
        out=directory,
        record=False,
    )
    with bring_up(request) as prepared, InprocRun(prepared) as running:
        return running.finish()


def test_a_platoon_with_a_radio_and_one_with_a_network_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = run(tmp_path / "a", "platoon.v2v.parameters={radio: {others: 20}}")
    figures = summary.figures["v2v"]
    assert 0.0 < figures["busy_ratio"] < 0.2 and figures["received"] > 100
    (tmp_path / "network_of_this_test.py").write_text(OWN_NETWORK)
    monkeypatch.syspath_prepend(str(tmp_path))
    own = run(tmp_path / "b", "platoon.v2v={model: 'network_of_this_test:Network'}")
    assert own.collisions == 0 and own.figures["v2v"]["beacons"] > 100
