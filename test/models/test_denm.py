# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""DENMs: their bytes beside those of an independent encoder, when they are sent, what is kept.

``denm_vectors.txt`` has 40 messages with random contents, every eighth with the container alacarte.
They were made with pycrate 0.8.1 from the modules of ETSI in riebl/vanetza, commit 9811d58e:
``asn1/EN302637-3v131-DENM.asn`` and ``asn1/TS102894-2v131-CDD.asn``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.test_radio import PERIOD, at
from models.test_v2v import VEHICLES
from models.test_v2v import step as beacon_step
from support.models import made, scene_of

from ros2_cosim.core.documents import extras
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.message_types import BYTES
from ros2_cosim.core.messages.records import Acceleration, ObjectList
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.inproc import InprocRun
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.driving.cacc import CaccController
from ros2_cosim.driving.v2v import denm as denm_module
from ros2_cosim.driving.v2v.cam_contents import CamPlace
from ros2_cosim.driving.v2v.denm import Denm, DenmError, decoded_denm, encoded_denm
from ros2_cosim.driving.v2v.denm_service import DenmSender, DenmSettings, HeardWarnings
from ros2_cosim.driving.v2v.v2v import V2VChannel
from ros2_cosim.world.map.earth import MapOrigin
from ros2_cosim.world.map.vehicle_info import VehicleInfo

pytest.importorskip("asn1tools", reason="needs the extra v2x")

MS = 1_000_000
HERE = MapOrigin(latitude=48.1, longitude=11.5)
BRAKES = Denm(
    station=1, sequence=7, detected=4000, referred=4100, is_over=False, latitude=48.1,
    longitude=11.5, relevance=2, validity=2, interval=100, cause=99, sub_cause=1, speed=25.0,
    heading=90.0,
)  # fmt: skip


def test_the_bits_are_those_of_another_encoder() -> None:
    lines = (Path(__file__).parent / "denm_vectors.txt").read_text("ascii").split()
    assert len(lines) == 40
    specification = denm_module._specification()
    same, containers = 0, set()
    for line in lines:
        message = specification.decode("DENM", bytes.fromhex(line))
        containers |= message["denm"].keys()
        if "alacarte" not in message["denm"]:
            assert specification.encode("DENM", message).hex() == line
            same += 1
        decoded_denm(bytes.fromhex(line))
    assert same == 35 and containers == {"management", "situation", "location", "alacarte"}


def test_a_denm_of_a_vehicle_that_brakes() -> None:
    """The same message by pycrate from the same modules."""
    assert encoded_denm(BRAKES).hex() == VECTOR


VECTOR = (
    "020100000001c780000000800380000001f40000000080252506340722494c0ffffffe11dbba1f4800080630500c602"
    "c4e27e384fc00"
)

_ANGLE = st.integers(-900_000_000, 900_000_000).map(lambda units: units * 1e-7)
DENMS = st.builds(
    Denm,
    station=st.integers(0, 2**32 - 1),
    sequence=st.integers(0, 65_535),
    detected=st.integers(0, 2**42 - 1),
    referred=st.integers(0, 2**42 - 1),
    is_over=st.booleans(),
    latitude=_ANGLE,
    longitude=_ANGLE,
    relevance=st.none() | st.integers(0, 7),
    validity=st.integers(0, 86_400),
    interval=st.none() | st.integers(1, 10_000),
    cause=st.integers(0, 255),
    sub_cause=st.integers(0, 255),
    speed=st.none() | st.integers(0, 16_382).map(lambda units: units * 0.01),
    heading=st.none() | st.integers(0, 3599).map(lambda units: units * 0.1),
)


@given(DENMS)
def test_what_is_said_is_understood(denm: Denm) -> None:
    found = decoded_denm(encoded_denm(denm))
    assert found is not None
    for name, value in denm._asdict().items():
        said = getattr(found, name)
        assert said == (pytest.approx(value, abs=1e-9) if isinstance(value, float) else value)


@given(st.binary(max_size=120))
def test_other_bytes_are_no_denm(data: bytes) -> None:
    heard = HeardWarnings(HERE)
    heard.hear(0, data)
    try:
        found = decoded_denm(data)
    except DenmError:
        found = None
    assert heard.news == (found is not None and found.detected > -1000 * found.validity)


def test_a_cam_is_no_denm() -> None:
    with pytest.raises(DenmError, match="messageID 2; allowed are 2 and 1"):
        decoded_denm(b"\x02\x02" + encoded_denm(BRAKES)[2:])
    with pytest.raises(DenmError, match="found 5000 bytes; allowed are 4096"):
        decoded_denm(bytes(5000))


def history(braking: dict[int, float], until: int, **settings: Any) -> list[tuple[int, Denm]]:
    """What a vehicle sends, by times [ms], that brakes with a deceleration from some times on."""
    given_settings = DenmSettings(**settings)
    sender = DenmSender(VehicleInfo(1, 4.8, 2.0), given_settings, CamPlace(HERE))
    found, acceleration = [], 0.0
    for time in range(0, until, 50):
        acceleration = -braking.get(time, -acceleration)
        denm = sender.due(time * MS, at(0.02 * time), acceleration)
        if denm is not None:
            found.append((time, denm))
    return found


def test_an_event_is_repeated_updated_and_cancelled() -> None:
    sent = history({1000: 6.0, 2600: 0.0}, 8000)
    active = [(time, denm) for time, denm in sent if not denm.is_over]
    over = [(time, denm) for time, denm in sent if denm.is_over]
    assert [time for time, _ in active] == list(range(1000, 3050, 100))
    assert {(denm.station, denm.sequence) for _, denm in sent} == {(1, 0)}
    # Told anew after each second, then cancelled half a second after the last braking.
    assert [denm.referred for _, denm in active] == [1000] * 10 + [2000] * 10 + [3000]
    assert over[0][0] == 3050 and {denm.referred for _, denm in over} == {3050}
    assert over[-1][0] == 4950 and {denm.detected for _, denm in over} == {3000}


def test_a_second_event_has_the_next_number() -> None:
    sent = history({1000: 6.0, 1200: 0.0, 2200: 7.0}, 3000)
    assert [denm.sequence for _, denm in sent if not denm.is_over][-1] == 1
    assert {denm.sequence for _, denm in sent} == {0, 1}


def test_weak_or_slow_braking_is_no_event() -> None:
    assert history({1000: 3.9}, 3000) == []
    assert history({1000: 6.0}, 3000, speed=21.0) == []


def test_what_a_receiver_keeps() -> None:
    heard = HeardWarnings(HERE)
    place = CamPlace(HERE)
    latitude, longitude = place.plane.geodetic(100.0, 0.0)
    event = BRAKES._replace(latitude=latitude, longitude=longitude)
    behind, passed = at(0.0), at(110.0)
    heard.hear(4100 * MS, encoded_denm(event))
    heard.hear(4100 * MS, encoded_denm(event))
    assert heard.news == 1
    assert heard.ahead(4100 * MS, behind) is not None
    assert heard.ahead(4100 * MS, passed) is None, "it lies behind"
    assert heard.ahead(4100 * MS, at(-120.0)) is None, "220 m away, relevant are 200"
    heard.hear(4100 * MS, encoded_denm(event._replace(referred=4000, is_over=True)))
    assert heard.ahead(4100 * MS, behind) is not None, "older than what is known"
    heard.hear(4100 * MS, encoded_denm(event._replace(referred=4500, detected=4500)))
    assert heard.ahead(6499 * MS, behind) is not None
    other = HeardWarnings(HERE)
    other.hear(4100 * MS, encoded_denm(event))
    assert other.ahead(6000 * MS, behind) is None, "2 s after the detection"
    heard.hear(4100 * MS, encoded_denm(event._replace(referred=4600, is_over=True)))
    assert heard.ahead(4700 * MS, behind) is None
    assert heard.news == 3
    heard.hear(7000 * MS, encoded_denm(event._replace(referred=4700)))
    assert heard.news == 3, "it is no longer valid"


LINK = "leader_to_follower1"


def channel(**parameters: Any) -> V2VChannel:
    context = {
        "scene": scene_of(VEHICLES),
        "period_ns": PERIOD,
        "output_types": {LINK: "x", f"denm/{LINK}": "x"},
    }
    given_parameters = {"links": [("leader", "follower1")], "denm": {}, **parameters}
    return made(V2VChannel, given_parameters, name="v2v", context=context)


def warned(model: V2VChannel, periods: int = 40) -> list[bytes]:
    brakes = {"acceleration/leader": Acceleration(-6.0, 0.0, 0.0)}
    found = []
    for k in range(periods):
        outputs = model.activate(beacon_step(k * PERIOD, **brakes))
        if f"denm/{LINK}" in outputs:
            found.append(bytes(outputs[f"denm/{LINK}"].data))
    return found


def test_the_channel_carries_denms_and_loses_some() -> None:
    first = decoded_denm(warned(channel())[0])
    assert first is not None and (first.station, first.cause, first.sub_cause) == (1, 99, 1)
    assert first.speed == 20.0 and first.heading == 90.0
    assert len(warned(channel())) == 20
    assert 4 <= len(warned(channel(loss=0.5))) <= 16
    figures = channel().report().figures
    assert figures["denms"] == figures["warnings"] == 0


def test_denms_take_the_radio() -> None:
    """In two periods of three there is no DENM, in the third a second frame of the vehicle."""
    model = channel(radio={})
    assert len(warned(model, 20)) == 10
    figures = model.report().figures
    # A DENM of 54 bytes and 82 more: 24 symbols.
    frame = 40e-6 + 24 * 8e-6
    assert figures["busy_ratio"] == pytest.approx((20 * 512e-6 + 10 * frame) / (20 * 0.05))
    state = model.save_state()
    after = warned(model, 4)
    model.restore_state(state)
    assert warned(model, 4) == after


def braking(directory: Path, *changes: str) -> Any:
    request = RunRequest(
        library_file("braking"),
        set=("platoon.v2v.parameters={denm: {}}", "duration=11s", *changes),
        shape="inproc",
        out=directory,
        record=False,
    )
    with bring_up(request) as prepared, InprocRun(prepared) as running:
        return running.finish()


def test_a_controller_that_heeds_warnings_keeps_more_room(tmp_path: Path) -> None:
    """The leader brakes with 8 m/s^2: those behind know it at once, and brake less."""
    deaf = braking(tmp_path / "a")
    heeds = "platoon.controller={warnings: {deceleration: 3.0, time_gap: 1.0}}"
    warned_run = braking(tmp_path / "b", heeds)
    room = [s.figures["referee"]["min_ttc_s"] for s in (deaf, warned_run)]
    peaks = [s.figures["referee"]["braking_peaks"] for s in (deaf, warned_run)]
    assert room[1] > 1.2 * room[0]
    assert peaks[1][-1] < peaks[0][-1] - 2.0
    assert warned_run.figures["cacc1"]["warnings"] >= 4
    assert "warnings" not in deaf.figures["cacc1"]


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"v2v\.parameters\.denm.*EXTRAS=v2x"):
        channel()


def test_what_a_controller_has_heard_is_in_its_state() -> None:
    context = {"scene": scene_of(VEHICLES), "input_types": {"denm_leader": "x"}}
    parameters = {"set_speed": 30.0, "warnings": {"deceleration": 2.0}}
    model = made(CaccController, parameters, name="cacc", context=context)
    latitude, longitude = CamPlace(MapOrigin()).plane.geodetic(100.0, 0.0)
    data = encoded_denm(BRAKES._replace(latitude=latitude, longitude=longitude))
    latest: dict[str, Any] = {
        "odometry": Sample(0, 0, at(0.0)),
        "acceleration": None,
        "objects": Sample(4100 * MS, 0, ObjectList(())),
        "denm_leader": Sample(4100 * MS, 0, DEFAULT.record(BYTES)(data=data)),
    }
    heard = model.activate(Step(4100 * MS, {}, latest))["control"]
    assert heard.acceleration < 0.0, "on a free road, slower than the set speed"
    state = model.save_state()
    other = made(CaccController, parameters, name="cacc", context=context)
    other.restore_state(state)
    later = Step(4140 * MS, {}, latest | {"denm_leader": None})
    assert other.activate(later) == model.activate(later)
    assert other.activate(later)["control"].acceleration == -2.0
