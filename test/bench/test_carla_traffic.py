# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bench of traffic: each kind of event and whose fault it is, and a short drive."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from math import cos, inf, pi, sin
from pathlib import Path

import pytest
from support.ports import free_port

from bench import carla_traffic
from bench.traffic_events import (
    GREEN,
    LATERAL_LIMIT,
    MANAGER,
    RED,
    SERVER,
    Event,
    Line,
    Sample,
    Watch,
)
from bench.traffic_judge import FAST, judge, table
from bench.traffic_rule import TurnRule, circle

_LINE = Line(7, 100.0, 0.0, 1.0, 0.0, 1.75)
_STEP = 0.05


def _driving(
    speed: float, told: int | None, brake: float = 0.0, start: float = 90.0, number: int = 1
) -> Iterator[Sample]:
    x = start
    while True:
        yield Sample(
            number, 2.0, x, 0.0, 0.0, speed, 0.0, 0.0, 0.0, 0.3, brake, 0.0,
            told is not None, GREEN if told is None else told,
        )  # fmt: skip
        x += speed * _STEP


def _watch(samples: Iterator[Sample], seconds: float = 3.0, state: int = RED) -> Watch:
    watch = Watch([_LINE], _STEP, 10.0)
    for step in range(round(seconds / _STEP)):
        watch.step(step * _STEP, {7: state}, [next(samples)])
    watch.end(seconds)
    return watch


@pytest.mark.parametrize(
    ("told", "brake", "fault", "wrong"),
    [(None, 0.0, SERVER, True), (RED, 0.0, MANAGER, False), (RED, 1.0, SERVER, False)],
)
def test_red_crossings(told: int | None, brake: float, fault: str, wrong: bool) -> None:
    watch = _watch(_driving(5.0, told, brake))
    (event,) = watch.events
    assert (event.kind, event.fault, event.who) == ("red crossing", fault, (1, 7))
    assert event.place[0] == pytest.approx(100.0, abs=0.3) and watch.steps > 10
    assert (watch.wrong > 0) == wrong


def test_green_may_be_crossed_and_must_be_told() -> None:
    watch = _watch(_driving(5.0, GREEN), state=GREEN)
    assert not watch.events and watch.wrong == 0


def test_stands() -> None:
    (event,) = _watch(_driving(0.0, None, 1.0), 12.0).events
    assert (event.kind, event.fault) == ("stand", MANAGER)
    (event,) = _watch(_driving(0.0, RED, 1.0), 12.0).events
    assert (event.kind, event.fault) == ("stand", SERVER)
    watch = Watch([], _STEP, 10.0)
    for step in range(240):  # its light was green, but others stood before it
        watch.step(step * _STEP, {}, [next(_driving(0.0, GREEN if step == 9 else RED, 1.0))])
    watch.end(12.0)
    assert [event.fault for event in watch.events] == [MANAGER]
    (event,) = _watch(_driving(0.0, None), 12.0).events
    assert event.fault == SERVER and "did not move" in event.why
    watch = Watch([], _STEP, 10.0)
    watch.step(0.0, {}, [next(_driving(0.0, None, 1.0))])
    watch.step(_STEP, {}, [])
    assert [event.why for event in watch.events] == ["0 s, it braked, removed by the manager"]
    assert watch.events[0].fault == MANAGER


def test_contacts() -> None:
    watch = Watch([], _STEP, 10.0)
    one, two = _driving(5.0, None), _driving(0.0, None, 1.0, 110.0, 2)
    watch.touched(0.0, 8, 9)
    assert not watch.events  # no step has shown them
    for step in range(60):
        watch.step(step * _STEP, {}, [next(one), next(two)])
        if step == 5:
            watch.touched(step * _STEP, 1, 2)
    watch.touched(0.5, 2, 1)
    watch.touched(9.0, 2, 1)
    assert [event.fault for event in watch.events] == [SERVER, MANAGER]
    assert "spawned" in watch.events[0].why and watch.events[1].why.startswith("1 moved at 5.0")
    jumped = next(one)
    for _ in range(5):
        watch.step(3.0, {}, [jumped._replace(x=jumped.x + 1.0), next(two)])
    watch.touched(20.0, 1, 2)
    assert watch.events[2].fault == SERVER and "jumped" in watch.events[2].why


def test_full_brakes_must_slow_down() -> None:
    watch = _watch(_driving(5.0, None, 1.0, start=0.0))
    watch.touched(3.0, 1, 9)
    assert watch.events[-1].fault == SERVER and "full brake" in watch.events[-1].why


def test_acceleration_across_counts_without_contact() -> None:
    watch = Watch([], _STEP, 10.0)
    sample = next(_driving(5.0, None))

    def steps(*shown: Sample) -> None:
        for one in (*shown, *(sample,) * 20):
            watch.step(0.0, {}, [one])

    # The second one had been steered so just before.
    steps(sample._replace(ay=6.5, bend=-0.3), sample._replace(ay=6.8, bend=0.1))
    assert watch.too_lateral == {SERVER: 0, MANAGER: 2}
    steps(sample._replace(ay=7.0, ax=99.0))
    assert watch.lateral[1] == pytest.approx(7.0)
    assert watch.too_lateral == {SERVER: 1, MANAGER: 2}
    # It brakes to a stand with its wheels turned: its middle has moved sideways.
    steps(sample._replace(vx=0.5, ax=-7.0, ay=-6.5, bend=0.5))
    assert watch.too_lateral == {SERVER: 1, MANAGER: 3}
    watch.step(0.0, {}, [sample._replace(ay=20.0)])
    watch.touched(0.0, 1, 2)  # a contact is known after what it did
    steps()
    assert watch.lateral[1] == pytest.approx(7.0)


def test_a_bend_above_the_limit_is_one_event_with_what_its_lane_needs() -> None:
    watch = Watch([], _STEP, 10.0, lambda now, sample: f", {sample.lateral():.1f} at {now:.2f} s")
    sample = next(_driving(5.0, None))
    fast = sample._replace(ay=6.5, bend=-0.3)
    # Two steps that are 0.2 s apart, a gap of a second, and one that nobody had steered.
    shown = [fast, *(sample,) * 3, fast._replace(ay=7.0), *(sample,) * 20]
    shown += [sample._replace(ay=9.0), *(sample,) * 20]
    for step, one in enumerate(shown):
        watch.step(step * _STEP, {}, [one])
    first, second = watch.events
    assert (first.kind, first.who, first.fault, second.fault) == ("bend", (1,), MANAGER, SERVER)
    assert first.why.startswith("up to 7.0 m/s^2 for 0.20 s, at 5.0 m/s, steering for")
    assert first.why.endswith(", 7.0 at 0.20 s")
    assert second.time - first.time == pytest.approx(25 * _STEP)
    watch = Watch([], _STEP, 10.0)
    for one in (fast, *(sample,) * 5):
        watch.step(0.0, {}, [one])
    watch.end(0.0)
    assert [event.kind for event in watch.events] == ["bend"]


def test_the_circle_through_three_points() -> None:
    assert circle((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)) == pytest.approx(1.0)
    assert circle((0.0, 0.0), (1.0, 1.0), (2.0, 2.0)) == inf


_BEND = """<OpenDRIVE><header revMajor="1" revMinor="4"/>
<road name="" length="50" id="1" junction="-1"><link><successor elementType="road" elementId="2"
contactPoint="start"/></link><planView><geometry s="0" x="0" y="0" hdg="0" length="50"><line/>
</geometry></planView>{lanes}</road>
<road name="" length="{arc}" id="2" junction="-1"><link><predecessor elementType="road"
elementId="1" contactPoint="end"/><successor elementType="road" elementId="3"
contactPoint="start"/></link><planView><geometry s="0" x="50" y="0" hdg="0" length="{arc}">
<arc curvature="0.125"/></geometry></planView>{lanes}</road>
<road name="" length="50" id="3" junction="-1"><link><predecessor elementType="road" elementId="2"
contactPoint="end"/></link><planView><geometry s="0" x="58" y="8" hdg="{right}" length="50"><line/>
</geometry></planView>{lanes}</road></OpenDRIVE>"""
_LANES = """<lanes><laneSection s="0"><center><lane id="0" type="none"/></center><right>
<lane id="-1" type="driving"><link><predecessor id="-1"/><successor id="-1"/></link>
<width sOffset="0" a="4" b="0" c="0" d="0"/></lane></right></laneSection></lanes>"""


def test_the_managers_rule_wants_more_than_the_limit_in_a_short_bend() -> None:
    carla = pytest.importorskip("carla", reason="needs the client: pip install ros2_cosim[carla]")
    text = _BEND.format(arc=4.0 * pi, right=0.5 * pi, lanes=_LANES)
    rule = TurnRule(carla.Map("bend", text))
    # The right lane of a left bend of 8 m has 10 m; CARLA's y points to the right.
    way = [(float(x), 2.0, 0.0) for x in range(4, 50, 2)]
    way += [(50.0 + 10.0 * sin(a), 2.0 - 10.0 * (1.0 - cos(a)), 0.0) for a in (0.0, 0.4, 0.8, 1.2)]
    way += [(60.0, -8.0 - 2.0 * n, 0.0) for n in range(10)]
    wanted = rule.wanted(way, 22, 0.0, 8.0)
    assert wanted is not None and wanted.bend == pytest.approx(0.1, rel=0.02)
    # The circle of the bend alone would allow 7.7 m/s, which are 0.6 g.
    assert 8.0 < wanted.speed < 12.0 and wanted.across() > LATERAL_LIMIT
    assert rule.wanted(way, 0, 0.0, 3.0) is None  # straight on for 15 m


def test_a_short_drive_in_the_town(tmp_path: Path) -> None:
    pytest.importorskip("carla", reason="needs the client: pip install ros2_cosim[carla]")
    options = argparse.Namespace(
        port=free_port(), vehicles=4, walkers=2, seconds=2.0, safe=True, record=tmp_path
    )
    town = Path(__file__).parents[2] / "config" / "town.xodr"
    row = carla_traffic.one(options, town, 1)
    assert row is not None and row["vehicles"] == 4 and row["km"] > 0.0
    assert row["wrong"] == 0
    assert all(Event(*event).kind == FAST for event in row["events"])
    assert judge(tmp_path / "town_1") == row
    assert table([row]).splitlines()[-1].startswith("| town | 1 | 4, ")
    assert all("sprinter" not in kind and "hgv" not in kind for kind in row["kinds"].values())
