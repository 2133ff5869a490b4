# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Joining and leaving a platoon by messages: what both sides say, with and without loss."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.test_radio import at
from support.models import made, scene_of

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.message_types import BYTES
from ros2_cosim.core.scenario.library import library_file
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.driving.platoon_leader import PlatoonLeader
from ros2_cosim.driving.v2v import manoeuvre_message as message
from ros2_cosim.driving.v2v.manoeuvre import (
    LeaderManoeuvres,
    ManoeuvreSettings,
    TailManoeuvre,
    TailView,
)
from ros2_cosim.driving.v2v.manoeuvre_message import (
    ManoeuvreMessage,
    decoded_manoeuvre,
    encoded_manoeuvre,
)
from ros2_cosim.world.map.vehicle_info import VehicleInfo

MS = 1_000_000
S = 1000 * MS
#: Gap of 2 m + 1.1 s at 20 m/s.
IN_PLACE = TailView(20.0, 3, 24.0, 0.0, 2.0, 1.1)
FAR = IN_PLACE._replace(gap=60.0, gap_rate=-3.0)
NAMES = {v: k for k, v in vars(message).items() if k.isupper() and isinstance(v, int)}
_HUNDREDTHS = st.integers(0, 65_535).map(lambda units: units / 100.0)
_STATION = st.integers(0, 2**32 - 1)


@given(
    st.builds(
        ManoeuvreMessage,
        kind=st.sampled_from(message.KINDS),
        sender=_STATION,
        receiver=_STATION,
        number=st.integers(0, 65_535),
        speed=_HUNDREDTHS,
        time_gap=_HUNDREDTHS,
        formation=st.lists(_STATION, max_size=8).map(tuple),
    )
)
def test_what_is_said_is_understood(said: ManoeuvreMessage) -> None:
    assert decoded_manoeuvre(encoded_manoeuvre(said)) == said


@given(st.binary(max_size=60))
def test_other_bytes_are_no_message(data: bytes) -> None:
    found = decoded_manoeuvre(data)
    assert found is None or encoded_manoeuvre(found) == data


def test_the_bytes_of_a_message() -> None:
    said = ManoeuvreMessage(message.ACCEPT, 1, 4, 1, 25.0, 0.6, (1, 2))
    assert encoded_manoeuvre(said).hex() == "0201000000040000000100c4093c00020100000002000000"
    assert decoded_manoeuvre(b"\x0b" + encoded_manoeuvre(said)[1:]) is None, "there is no such kind"
    longest = said._replace(formation=tuple(range(200)))
    assert decoded_manoeuvre(encoded_manoeuvre(longest)) == longest
    assert decoded_manoeuvre(encoded_manoeuvre(said._replace(formation=tuple(range(201))))) is None


def leader(formation: tuple[int, ...] = (1, 2, 3)) -> LeaderManoeuvres:
    return LeaderManoeuvres(formation, (0.6, 1.1), 60 * S)


def tail(kind: str, own: int, **more: int) -> TailManoeuvre:
    return TailManoeuvre(ManoeuvreSettings.model_validate({"kind": kind, "at": S, **more}), own, 1)


def drive(
    one: TailManoeuvre,
    other: LeaderManoeuvres,
    view: Callable[[int], TailView],
    lost: Callable[[], bool] = lambda: False,
    seconds: int = 70,
) -> list[str]:
    """All that is said, in words; each look of a side is 50 ms after the last one."""
    heard: ManoeuvreMessage | None = None
    log = []
    for now in range(0, seconds * S, 50 * MS):
        said = one.advance(now, heard, view(now))
        heard = None
        if said is None:
            continue
        log.append(NAMES[said.kind])
        if lost():
            continue
        answer = other.answer(now, said, 20.0)
        if answer is not None:
            log.append(NAMES[answer.kind].lower())
            heard = None if lost() else answer
    return log


def test_a_join() -> None:
    one, other = tail("join", 4), leader()
    assert not one.listens
    log = drive(one, other, lambda now: FAR if now < 20 * S else IN_PLACE)
    assert log == ["JOIN_REQUEST", "accept", "IN_POSITION", "form", "JOINED", "formation"]
    assert one.state == "member" and one.listens and one.time_gap == 0.6
    assert one.done is not None and 20 * S <= one.done < 21 * S
    assert other.formation == (1, 2, 3, 4)


def test_a_leave() -> None:
    one, other = tail("leave", 3), leader()
    assert one.listens
    closer = IN_PLACE._replace(ahead=2, gap=14.0)
    log = drive(one, other, lambda now: closer if now < 9 * S else IN_PLACE._replace(ahead=2))
    assert log == ["LEAVE_REQUEST", "accept", "LEFT", "formation"]
    assert one.state == "left" and not one.listens and other.formation == (1, 2)
    assert one.done is not None and 9 * S <= one.done < 10 * S


def test_only_what_is_behind_the_named_tail_is_in_position() -> None:
    """Another vehicle is between, the gap still closes, or is too large: it goes on waiting."""
    for view in (IN_PLACE._replace(ahead=9), IN_PLACE._replace(gap_rate=-2.0),
                 IN_PLACE._replace(gap=29.5), IN_PLACE._replace(ahead=None, gap=inf)):  # fmt: skip
        one, other = tail("join", 4), leader()
        assert drive(one, other, lambda now, view=view: view) == ["JOIN_REQUEST", "accept"]
        assert one.state == "failed" and not one.listens and other.formation == (1, 2, 3)


def test_how_near_is_in_position_is_a_setting() -> None:
    for near, state in ((1, "failed"), (6, "member")):
        one = tail("join", 4, near=near)
        drive(one, leader(), lambda _: IN_PLACE._replace(gap=29.5))
        assert one.state == state


def test_without_an_answer_it_gives_up() -> None:
    one, other = tail("join", 4, tries=4), leader()
    assert drive(one, other, lambda _: IN_PLACE, lambda: True) == ["JOIN_REQUEST"] * 4
    assert one.state == "failed" and not one.listens
    stays = tail("leave", 3)
    drive(stays, other, lambda _: IN_PLACE, lambda: True)
    assert stays.state == "failed" and stays.listens, "it is still a member"


def test_a_lost_answer_is_given_again() -> None:
    turn = iter([False, True] * 3 + [False] * 50)
    one, other = tail("join", 4), leader()
    log = drive(one, other, lambda _: IN_PLACE, lambda: next(turn))
    assert log == ["JOIN_REQUEST", "accept"] * 4 + ["IN_POSITION", "form", "JOINED", "formation"]
    assert one.state == "member" and other.formation == (1, 2, 3, 4)


def test_the_leader_refuses() -> None:
    other = leader()
    ask = ManoeuvreMessage(message.JOIN_REQUEST, 4, 1, 1)

    def answer(kind: int, sender: int, now: int = 0) -> str | None:
        said = other.answer(now, ask._replace(kind=kind, sender=sender), 20.0)
        return None if said is None else NAMES[said.kind]

    assert other.answer(0, ask._replace(receiver=2), 20.0) is None
    assert answer(message.LEAVE_REQUEST, 2) == "REJECT", "it is not the last one"
    assert answer(message.IN_POSITION, 4) == "REJECT", "it has not asked"
    assert answer(message.JOINED, 4) == "REJECT"
    assert answer(message.JOIN_REQUEST, 2) == "REJECT", "it is a member"
    assert answer(message.JOIN_REQUEST, 4) == "ACCEPT"
    assert answer(message.JOIN_REQUEST, 5) == "REJECT", "another one is joining"
    assert answer(message.LEAVE_REQUEST, 3) == "REJECT"
    assert answer(message.JOIN_REQUEST, 5, now=61 * S) == "ACCEPT", "that one has given up"
    assert other.formation == (1, 2, 3)
    one = tail("join", 5)
    busy = leader()
    busy.answer(0, ask, 20.0)
    assert drive(one, busy, lambda _: IN_PLACE, seconds=5) == ["JOIN_REQUEST", "reject"]
    assert one.state == "failed"


VEHICLES = {name: VehicleInfo(k, 4.8, 2.0) for k, name in enumerate("abcd", start=1)}


def test_the_participant_of_the_leader() -> None:
    """Two ask at once: both are answered, one after the other; then the first one gives up."""
    types = {"odometry": "x", "manoeuvre/c": "x", "manoeuvre/d": "x"}
    context = {"scene": scene_of(VEHICLES), "input_types": types}
    settings = {"formation": ["a", "b"], "expected": ["a", "b", "d"], "patience": "2s"}
    model = made(PlatoonLeader, settings, name="manoeuvres", context=context)

    def ask(time: int, **said: tuple[int, int]) -> str | None:
        latest: dict[str, Any] = dict.fromkeys(types)
        latest["odometry"] = Sample(0, 0, at(0.0))
        for name, (stamp, kind) in said.items():
            data = encoded_manoeuvre(ManoeuvreMessage(kind, VEHICLES[name].id, 1, 1))
            latest[f"manoeuvre/{name}"] = Sample(stamp, 0, DEFAULT.record(BYTES)(data=data))
        outputs = model.activate(Step(time * MS, {}, latest))
        if not outputs:
            return None
        answer = decoded_manoeuvre(bytes(outputs["manoeuvre"].data))
        assert answer is not None and answer.speed == 20.0
        return f"{NAMES[answer.kind]} {answer.receiver}"

    requests = {name: (1, message.JOIN_REQUEST) for name in "cd"}
    assert ask(50, **requests) == "ACCEPT 3"
    state = model.save_state()
    assert ask(100, **requests) == "REJECT 4"
    assert ask(150, **requests) is None, "nothing new has come"
    model.restore_state(state)
    assert ask(200, **requests) == "REJECT 4"
    assert ask(2100, d=(2, message.JOIN_REQUEST)) == "ACCEPT 4"
    assert [verdict["passed"] for verdict in model.report().verdicts or ()] == [False]
    assert ask(2150, d=(3, message.JOINED)) == "FORMATION 0"
    assert [verdict["passed"] for verdict in model.report().verdicts or ()] == [True]
    assert model.report().figures == {"vehicles": 3}


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"formation": ["a", "x"]}, "formation.1"),
        ({"formation": ["a"], "expected": ["y"]}, "expected.0"),
    ],
)
def test_the_leader_names_vehicles_of_the_scene(settings: Any, place: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"manoeuvres\.parameters\.{place}"):
        made(PlatoonLeader, settings, name="manoeuvres", context={"scene": scene_of(VEHICLES)})


def test_a_manoeuvre_in_a_platoon_needs_a_tail() -> None:
    changes = ["platoon.vehicles=2", "platoon.manoeuvre={kind: leave}"]
    with pytest.raises(ConfigurationError, match="manoeuvre with less than three vehicles"):
        load_scenario(library_file("leave"), changes)


@pytest.mark.parametrize("loss", [0.2, 0.5])
@pytest.mark.parametrize(("kind", "questions"), [("join", 3), ("leave", 2)])
def test_how_often_it_succeeds_follows_from_the_loss(
    kind: str, questions: int, loss: float
) -> None:
    """Each question is answered with probability 1 - (1 - (1 - p)^2)^tries."""
    draws, tries, runs = random.Random(5), 3, 2000
    done = 0
    for _ in range(runs):
        one, other = tail(kind, 4 if kind == "join" else 3, tries=tries), leader()
        view = IN_PLACE._replace(ahead=3 if kind == "join" else 2)
        drive(one, other, lambda _, view=view: view, lambda: draws.random() < loss, seconds=4)
        done += one.done is not None
    expected = (1.0 - (1.0 - (1.0 - loss) ** 2) ** tries) ** questions
    spread = (expected * (1.0 - expected) / runs) ** 0.5
    assert done / runs == pytest.approx(expected, abs=4.0 * spread)
