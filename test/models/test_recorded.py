# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Recorded road users: what readers find in each format, and where the users are at a time."""

from __future__ import annotations

import math
import os
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.documents.settings import read_section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.exactmath import wrap_angle
from ros2_cosim.core.scene.recorded import RecordedSettings
from ros2_cosim.core.scene.simulator import Size
from ros2_cosim.world.recorded import tracks
from ros2_cosim.world.recorded.users import (
    LONGEST_GAP,
    MAX_RECORDED,
    RecordedPlace,
    RecordedUser,
    recorded_users,
)

S = 1_000_000_000


def users_of(path: Path, **settings: Any) -> list[RecordedUser]:
    section = read_section(RecordedSettings, {"file": path.name, **settings})
    # What was read is kept by its path and settings; a test writes other files of the same name.
    os.utime(path)
    return list(recorded_users({"seen": section}, path.parent))


def fault_of(path: Path, **settings: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        users_of(path, **settings)
    return str(caught.value)


TABLE = """\
time,id,class,x,y,yaw,speed,length,width,height
10.0,a,car,100.0,5.0,0.0,10.0,4.5,1.8,1.4
10.1,a,car,101.0,5.0,0.2,12.0,4.5,1.8,1.4
10.1,b,truck,50.0,0.0,3.1,20.0,12.0,2.5,3.5
10.2,b,truck,48.0,0.0,-3.1,20.0,12.0,2.5,3.5
"""


def test_a_table_gives_users_with_their_times(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    a, b = users_of(path)
    assert (a.name, a.kind, a.size) == ("seen.a", "car", Size(4.5, 1.8, 1.4))
    assert (b.name, b.kind) == ("seen.b", "truck")
    assert a.at(0) == RecordedPlace(100.0, 5.0, 0.0, 0.0, 10.0, 0.0)
    assert a.at(S // 20) == RecordedPlace(100.5, 5.0, 0.0, 0.1, 11.0, 0.0)
    assert a.at(S // 10 + 1) is None, "it has gone"
    assert b.at(S // 10 - 1) is None, "it is not there yet"
    middle = b.at(3 * S // 20)
    assert middle is not None and middle.x == 49.0
    assert abs(middle.yaw) == pytest.approx(math.pi, abs=1e-12), "the shorter turn"


def test_a_recording_is_put_into_the_map(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    (b,) = users_of(path, begin="150ms", x=1000.0, y=200.0, yaw=math.pi / 2, without=["a"])
    there = b.at(0)
    assert there is not None
    assert (there.x, there.y) == pytest.approx((1000.0, 249.0))
    assert there.yaw == pytest.approx(-math.pi / 2)
    assert (there.vx, there.vy) == (20.0, 0.0), "along its own heading"
    assert "recording with one" in fault_of(path, begin="1s")


def test_what_a_table_does_not_say_follows_from_the_motion(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (2.0, 0.0, 4.0), (3.0, 0.0, 8.0), (9.0, 0.0, 8.0)]
    text = ["Date,8,10,2019", "Time;E1;N1", *(f"{t};{x};{y}" for t, x, y in rows), "9.5;;"]
    path.write_text("\n".join(text) + "\n")
    (user,) = users_of(path, columns={"time": "Time", "x": "E1", "y": "N1"})
    assert user.name == "seen.1" and user.size == Size()
    found = [user.at(t * S) for t in range(4)]
    # Differences to both sides; before it moves it heads where it will go, and so it does behind.
    assert [p.vx for p in found if p] == pytest.approx([0.0, 2.0, 4.0, 4.0])
    assert [p.yaw for p in found if p] == pytest.approx([math.pi / 2] * 4)
    assert user.at(4 * S) is None and LONGEST_GAP < 6 * S, "nobody saw it"
    last = user.at(9 * S)
    assert last is not None and (last.y, last.vx) == (8.0, 0.0)


_TIMES = st.lists(st.integers(0, 40 * S), min_size=2, max_size=12, unique=True).map(sorted)


@given(times=_TIMES, data=st.data())
def test_a_row_is_met_exactly_and_a_place_lies_between_its_rows(
    times: list[int], data: st.DataObject
) -> None:
    number = st.floats(-1e4, 1e4)
    angle = st.floats(-3.1, 3.1)
    places = [
        RecordedPlace(
            *(data.draw(kind) for kind in (number, number, number, angle, number, number))
        )
        for _ in times
    ]
    user = RecordedUser("u", "car", Size(), times, places)
    assert [user.at(time) for time in times] == places
    time = data.draw(st.integers(times[0], times[-1]))
    found = user.at(time)
    behind = next(i for i, t in enumerate(times) if t >= time)
    before = behind if times[behind] == time else behind - 1
    assert (found is None) == (times[behind] - times[before] > LONGEST_GAP)
    if found is not None:
        a, b = places[before], places[behind]
        for one, other, value in zip(a[:3], b[:3], found[:3], strict=True):
            assert min(one, other) - 1e-9 <= value <= max(one, other) + 1e-9
        turned = abs(wrap_angle(found.yaw - a.yaw)) + abs(wrap_angle(b.yaw - found.yaw))
        assert turned == pytest.approx(abs(wrap_angle(b.yaw - a.yaw)), abs=1e-9)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("100.0,5.0", "100.0,north", "t.csv, line 2, column 'y': found 'north'; allowed is a num"),
        ("10.1,a", "soon,a", "line 3, column 'time': found 'soon'; allowed is a time in seconds"),
        ("truck", "tank", "line 4, column 'class': found 'tank'; allowed is one of car, van"),
        ("10.2,b", "10.1,b", "road user 'b': found a row at 10.1 s behind one at 10.1 s"),
        ("4.5", "0.05", "road user 'a': found the size (0.05, 1.8, 1.4); allowed are 0.1 to 100 m"),
        ("100.0,", "691000,", "found the place (691000, 5) m; allowed are 100000 m from the map's"),
        ("20.0,12.0", "2000,12.0", "road user 'b': found 2000 m/s at (50, 0) m; allowed are 150"),
        (
            "1.4\n10.1,a",
            "1.4,7\n10.1,a",
            "line 2: found 11 cells; allowed are 10, as in the head line",
        ),
        ("5.0,0.0,", "5.0,90.0,", "road user 'a': found the yaw 90 rad"),
        ("time,id", "t,id", "found no head line with the columns time, x, y; the line with the"),
    ],
)
def test_a_wrong_table(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TABLE.replace(old, new, 1))
    found = fault_of(path)
    assert message in found and found.startswith("scene.recorded.seen")


def test_wrong_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    assert "without: found 'c'; road users of" in fault_of(path, without=["c"])
    assert "columns" in fault_of(path, columns={"x": "E1"})
    (tmp_path / "t.txt").write_text(TABLE)
    assert "ends in .csv, .mcap, .osi, .xml, or a directory" in fault_of(tmp_path / "t.txt")
    rows = [f"0.0,{n},car,{20 * n},0,0,0,4,2,1" for n in range(MAX_RECORDED + 1)]
    path = tmp_path / "many.csv"
    path.write_text("\n".join([TABLE.splitlines()[0], *rows]) + "\n")
    assert f"found {MAX_RECORDED + 1} road users; allowed are {MAX_RECORDED}" in fault_of(path)
    monkeypatch.setattr(tracks, "MAX_ROWS", 3)
    assert "found more than 3 rows" in fault_of(path, begin="1ms")


STATE = """<{tag}><position>{place}</position><orientation><exact>{yaw}</exact></orientation>
<time><exact>{time}</exact></time><velocity><exact>{speed}</exact></velocity></{tag}>"""


def state(tag: str, time: Any, x: float, yaw: float = 0.5, speed: float = 8.0) -> str:
    place = f"<point><x>{x}</x><y>1.5</y></point>"
    return STATE.format(tag=tag, place=place, time=time, yaw=yaw, speed=speed)


ROAD = f"""<?xml version="1.0"?>
<commonRoad timeStepSize="0.1" commonRoadVersion="2020a">
<lanelet id="1"><leftBound/></lanelet>
<dynamicObstacle id="363"><type>truck</type>
<shape><rectangle><length>8.0</length><width>2.4</width></rectangle></shape>
{state("initialState", 0, 20.0)}
<trajectory>{state("state", 1, 21.0)}{state("state", 2, 22.0, 0.6, 9.0)}</trajectory>
</dynamicObstacle>
<staticObstacle id="7"><type>parkedVehicle</type>
<shape><rectangle><length>4.0</length><width>1.7</width></rectangle></shape>
{state("initialState", 0, 40.0, 0.0, 0.0)}
</staticObstacle>
<obstacle id="9"><role>dynamic</role><type>pedestrian</type>
<shape><circle><radius>0.3</radius></circle></shape>
{state("initialState", 1, 60.0, 0.0, 1.0)}
<trajectory>{state("state", 3, 60.2, 0.0, 1.0)}</trajectory>
</obstacle>
</commonRoad>
"""


def test_obstacles_of_a_commonroad_scenario_move_by_their_trajectories(tmp_path: Path) -> None:
    path = tmp_path / "r.xml"
    path.write_text(ROAD)
    truck, parked, walker = users_of(path)
    assert (truck.name, truck.kind, truck.size) == ("seen.363", "truck", Size(8.0, 2.4, 0.0))
    assert truck.at(0) == RecordedPlace(20.0, 1.5, 0.0, 0.5, 8.0, 0.0)
    assert truck.at(S // 5) == RecordedPlace(22.0, 1.5, 0.0, 0.6, 9.0, 0.0)
    assert truck.at(S // 5 + 1) is None
    assert parked.kind == "car" and parked.at(0) == parked.at(90 * S)
    assert (walker.kind, walker.size) == ("pedestrian", Size(0.6, 0.6, 0.0))
    assert walker.at(0) is None
    middle = walker.at(S // 5)
    assert middle is not None and middle.x == pytest.approx(60.1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<point><x>21.0</x><y>1.5</y></point>", "<circle/>", "line 8: <state>: found no position"),
        (
            "<exact>0.6</exact>",
            "<intervalStart>0</intervalStart>",
            "allowed is a number in <exact>",
        ),
        ("<rectangle><length>8.0", "<polygon/><rectangle><length>8.0", "one rectangle or circle"),
        ("<length>8.0</length>", "<length>long</length>", "line 5: <rectangle>: found 'long'; all"),
        ('"0.1"', '"0"', "timeStepSize: found '0'; allowed are 0.001 to 100 s"),
        ("<exact>2</exact>", "<exact>1.5</exact>", "found the time 1.5; allowed is a whole number"),
        ('id="9"', 'id="7"', "a second obstacle with the id '7'"),
        ("commonRoad", "openRoad", "found <openRoad>; allowed is <commonRoad>"),
    ],
)
def test_a_wrong_commonroad_scenario(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "r.xml"
    path.write_text(ROAD.replace(old, new, 1 if old != "commonRoad" else -1))
    assert message in fault_of(path)


def ground_truths() -> list[Any]:
    """Two moments of a truck that turns while it drives to the north, and of a person."""
    osi = pytest.importorskip("osi3.osi_groundtruth_pb2", reason="needs the extra osi")
    found = []
    for step in range(2):
        truth = osi.GroundTruth()
        truth.timestamp.seconds, truth.timestamp.nanos = 1_600_000_000, 100_000_000 * step
        moving = truth.moving_object.add()
        moving.id.value, moving.type = 5, 2
        moving.vehicle_classification.type = 7
        base = moving.base
        base.dimension.length, base.dimension.width, base.dimension.height = 12.0, 2.5, 3.5
        base.position.x, base.position.y, base.position.z = 10.0, 2.0 * step, 1.75
        base.velocity.x, base.velocity.y = 0.0, 20.0
        base.orientation.yaw = math.pi / 2
        person = truth.moving_object.add()
        person.id.value, person.type = 6, 3
        person.base.position.x = float(step)
        found.append(truth)
    return found


def single(path: Path, truths: list[Any]) -> None:
    data = [truth.SerializeToString() for truth in truths]
    path.write_bytes(b"".join(struct.pack("<I", len(each)) + each for each in data))


def multi(path: Path, truths: list[Any]) -> None:
    protobuf = pytest.importorskip("mcap_protobuf.writer", reason="needs the extra osi")
    with path.open("wb") as file, protobuf.Writer(file) as writer:
        for number, truth in enumerate(truths):
            writer.write_message("ground_truth", truth, log_time=number, publish_time=number)


@pytest.mark.parametrize(("name", "write"), [("t.osi", single), ("t.mcap", multi)])
def test_moving_objects_of_an_osi_trace_are_road_users(
    tmp_path: Path, name: str, write: Any
) -> None:
    path = tmp_path / name
    write(path, ground_truths())
    truck, person = users_of(path)
    assert (truck.name, truck.kind, truck.size) == ("seen.5", "truck", Size(12.0, 2.5, 3.5))
    there = truck.at(S // 10)
    assert there is not None
    # The centre of its footprint, and its velocity along its heading.
    assert there == pytest.approx((10.0, 2.0, 0.0, math.pi / 2, 20.0, 0.0))
    assert person.kind == "pedestrian" and person.size == Size()
    walked = person.at(S // 20)
    assert walked is not None and (walked.x, walked.vx) == pytest.approx((0.5, 10.0))


def test_wrong_osi_traces(tmp_path: Path) -> None:
    path = tmp_path / "t.osi"
    truths = ground_truths()
    single(path, truths)
    whole = path.read_bytes()
    for name, data, message in (
        ("cut", whole[:-5], "found a message that is cut off"),
        ("huge", b"\xff" * 8, "found a message of more than"),
        ("other", b"\x03\0\0\0\x0a\xff\xff", "message 1: found no GroundTruth"),
        ("empty", b"", "found no message; allowed are those of GroundTruth"),
    ):
        wrong = tmp_path / f"{name}.osi"
        wrong.write_bytes(data)
        assert message in fault_of(wrong), name
    truths[1].moving_object[0].base.position.x = math.nan
    single(tmp_path / "nan.osi", truths)
    assert "message 2: moving object 5: found" in fault_of(tmp_path / "nan.osi")
    multi(tmp_path / "t.mcap", ground_truths())
    cut = tmp_path / "cut.mcap"
    cut.write_bytes((tmp_path / "t.mcap").read_bytes()[:400])
    assert "cut off" in fault_of(cut)
