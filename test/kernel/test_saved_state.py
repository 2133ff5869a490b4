# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""States of models as plain data: in place, by declared classes only, and no code is run."""

from __future__ import annotations

import math
import sys
from collections import deque
from enum import Enum
from typing import NamedTuple

import msgpack
import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.core.kernel.saved_state import SavedAttributes


class Colour(Enum):
    RED = 1
    BLUE = 2


class Point(NamedTuple):
    x: float
    y: float


class Wheel:
    __slots__ = ("road", "speed")

    def __init__(self, road):
        self.speed = 0.0
        self.road = road


class Road:
    """The same in every run."""


class Fixed:
    def __init__(self, a, b):
        self.a, self.b = a, b


class Car(Model):
    """Has one of everything."""

    def __init__(self):
        self.road = Road()
        self.wheels = [Wheel(self.road), Wheel(self.road)]
        self.front = self.wheels[0]
        self.by_name = {"left": self.wheels[0], 3: None}
        self.late = deque([(1, Point(0.0, 1.0))], maxlen=4)
        self.colour = Colour.RED
        self.seen = {1, 2}
        self.always = frozenset(("a",))
        self.stream = RandomStream(1, "car", "noise")
        self.streams = {}
        self.fixed = None
        self.pull = self.late.popleft  # bound to what must stay the same object

    def activate(self, step):
        """Nothing."""
        return {}


STATE = SavedAttributes(parts=(Wheel,), values=(Fixed,), constants=(Road,))


def moved() -> Car:
    car = Car()
    car.front.speed = float("inf")
    car.late.append((2, Point(-0.0, 5e-324)))
    car.colour = Colour.BLUE
    car.seen.add(2**63 - 1)
    car.fixed = Fixed(1.5, (b"\0", None))
    car.stop_reason = "enough"
    for _ in range(37):
        car.stream.raw()
    car.streams["new"] = RandomStream(2, "car", "other")
    car.streams["new"].raw()
    car.by_name[4] = car.wheels[1]
    return car


def test_a_state_is_plain_data_and_goes_into_what_is_there():
    car = moved()
    saved = msgpack.unpackb(msgpack.packb(STATE.save(car)))
    other = Car()
    late, wheel, pull = other.late, other.front, other.pull
    STATE.restore(other, saved)
    assert STATE.save(other) == STATE.save(car)
    assert other.late is late and other.front is wheel is other.by_name["left"]
    assert other.by_name[4] is other.wheels[1]
    assert other.front.road is other.road and other.stop_reason == "enough"
    assert pull() == (1, Point(0.0, 1.0)) and other.late.maxlen == 4
    assert type(other.late[0][1]) is Point and other.colour is Colour.BLUE
    assert (other.fixed.a, other.fixed.b) == (1.5, (b"\0", None))
    assert [other.stream.raw() for _ in range(50)] == [car.stream.raw() for _ in range(50)]
    assert other.streams["new"].raw() == car.streams["new"].raw()


def test_what_is_not_declared_is_an_error_that_names_its_place():
    car = Car()
    car.wheels.append(object())
    with pytest.raises(ConfigurationError, match=r"Car\.wheels: found a builtins:object, which is"):
        STATE.save(car)

    class Local(NamedTuple):
        x: int

    car.wheels[-1] = Local(1)
    with pytest.raises(ConfigurationError, match=r"Car\.wheels: .*cannot be found by that name"):
        STATE.save(car)


@pytest.mark.parametrize(
    "value",
    [
        ["r", "os:system", "true"],
        ["r", "wave:Wave_read", 1],
        ["e", "os:system", "x"],
        ["p", 0, "subprocess:Popen", {}],
        ["v", "subprocess:Popen", {"args": "true"}],
        ["p", 0, f"{Car.__module__}:Road", {}],
        ["x", 0, b"", 16, 0, 0],
        ["x", 0, b"0" * 16, 16, 2**70, 0],
        ["x", 0, b"0" * 16, 2**40, 0, 0],
        ["=", 77],
        ["c"],
        ["?"],
        [],
        [["t"]],
        {"a": 1},
        ["d", 0, [["l", 1], 2]],
    ],
)
def test_a_state_of_a_stranger_is_one_error(value):
    sys.modules.pop("wave", None)
    with pytest.raises(ConfigurationError, match="state|stream"):
        STATE.restore(Car(), {"fixed": value})
    assert "wave" not in sys.modules


def test_nothing_but_attributes_of_the_object_is_set():
    for name in ("activate", "__class__", "unknown"):
        with pytest.raises(ConfigurationError, match=f"found '{name}', which it does not have"):
            STATE.restore(Car(), {name: 1})
    deep = ["l", 0]
    for number in range(100):
        deep = ["l", number, deep]
    with pytest.raises(ConfigurationError, match="not a saved value"):
        STATE.restore(Car(), {"fixed": deep})


@given(st.integers(0, 6000), st.integers(1, 300))
def test_a_stream_goes_on_where_it_stood(before, after):
    stream = RandomStream(5, "a", "b")
    for _ in range(before):
        stream.raw()
    other = RandomStream(0, "", "")
    other.restore_state(stream.save_state())
    assert other.save_state() == stream.save_state()
    assert [other.raw() for _ in range(after)] == [stream.raw() for _ in range(after)]


class Law:
    """Of code that declares nothing."""

    def __init__(self):
        self.gain = 1.0
        self.wheel = Wheel(None)
        self.other = None
        self.lengths = numpy.array([[1.0, 2.0], [3.0, 4.0]])
        self.one = numpy.float32(0.5)
        self.half = math.sqrt
        self.helper = len_of
        self.own = self.twice
        self.module = math

    def twice(self):
        return 2.0 * self.gain


def len_of(x):
    return len(x)


PLAIN = SavedAttributes(plain=True, constants=(Road,))


def test_the_state_of_code_that_declares_nothing_is_all_that_is_plain():
    law = Law()
    law.gain, law.wheel.speed, law.other = 2.5, 7.0, law.wheel
    law.lengths[1, 0] = 9.0
    law.one = numpy.float32(0.25)
    law.new = [Point(1.0, 2.0), Colour.BLUE]
    state = msgpack.unpackb(msgpack.packb(PLAIN.save(law)))
    assert set(state) == {"gain", "wheel", "other", "lengths", "one", "new"}
    assert state["lengths"][:4] == ["n", True, "<f8", [2, 2]]
    assert state["one"] == ["n", False, "<f4", [], b"\0\0\x80>"]
    other = Law()
    wheel = other.wheel
    PLAIN.restore(other, state)
    assert other.wheel is wheel is other.other and wheel.speed == 7.0
    assert other.lengths.tolist() == [[1.0, 2.0], [9.0, 4.0]]
    other.lengths[0, 0] = 5.0  # it can be written, as the one that was saved
    assert type(other.one) is numpy.float32 and other.one == 0.25
    assert other.new == [Point(1.0, 2.0), Colour.BLUE]
    assert other.own() == 5.0


class Lengths(numpy.ndarray):
    """An array of a class of one's own may have more than its numbers."""


def closure(value):
    return lambda: value


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (closure(3), r"Law\.gain: found a builtins:function, which cannot be saved; allowed are"),
        (Law().twice, r"Law\.gain: found a builtins:method, which cannot be saved"),
        (numpy.array([None]), r"Law\.gain: found a numpy:ndarray, which cannot be saved"),
        (numpy.zeros(2).view(Lengths), r"Law\.gain: found a \S+:Lengths, which cannot be saved"),
        (type("Call", (), {"__call__": len_of})(), "Call, which cannot be saved"),
        (type("Hidden", (), {})(), "Hidden, which cannot be found by that name"),
        (open, None),
        (math, None),
        (Road(), None),
        (len_of, None),
    ],
)
def test_what_hides_a_state_is_refused(value, said):
    law = Law()
    law.gain = value
    if said is None:
        assert "gain" not in PLAIN.save(law)
    else:
        with pytest.raises(ConfigurationError, match=said):
            PLAIN.save(law)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"wheel": ["o", 0, "builtins:list", {}]}, "a builtins:list, which is not part of it"),
        ({"wheel": ["o", 0, "no.such:Class", {}]}, "found 'no.such:Class', which is not a known"),
        ({"wheel": ["c"]}, None),
        ({"other": ["c"]}, "a constant is not where it was"),
        ({3: 1.0}, "found '3', which it does not have"),
        ({"gain": ["?", 1]}, r"found the kind '\?'"),
        ({"gain": []}, "found what is not a saved value"),
        ({"gain": [1]}, "found the kind 1"),
        ({"gain": ["e", f"{__name__}:Point", "x"]}, "is not an enumeration"),
        ({"gain": ["r", f"{__name__}:Point", 1.0]}, "is not a record with these fields"),
        ({"gain": ["r", f"{__name__}:Colour", 1.0, 2.0]}, "is not a record with these fields"),
    ],
)
def test_a_state_that_does_not_fit_code_that_declares_nothing_is_refused(state, said):
    if said is None:
        PLAIN.restore(Law(), state)
    else:
        with pytest.raises(ConfigurationError, match=said):
            PLAIN.restore(Law(), state)


def test_what_is_declared_takes_no_arrays_and_no_other_objects():
    for state in (["n", True, "<f8", [1], b"\0" * 8], ["o", 0, f"{__name__}:Wheel", {}]):
        with pytest.raises(ConfigurationError, match="which is not part of it"):
            STATE.restore(Car(), {"road": state})
    car = Car()
    car.fixed = numpy.float64(1.0)
    with pytest.raises(ConfigurationError, match="declared neither as a part of the state nor"):
        STATE.save(car)


def test_a_state_nested_too_deep_is_refused():
    def nested(depth):
        state = 1.0
        for _ in range(depth):
            state = ["t", state]
        return {"fixed": state}

    STATE.restore(Car(), nested(60))
    with pytest.raises(ConfigurationError, match="found what is not a saved value"):
        STATE.restore(Car(), nested(61))


def test_a_set_is_changed_in_place_and_written_in_one_order():
    one, other = Car(), Car()
    one.seen = {3, 1, 4}
    kept = other.seen  # it has a 2
    state = STATE.save(one)
    assert state["seen"] == ["s", 1, 3, 4]
    STATE.restore(other, state)
    assert other.seen is kept == {1, 3, 4}
    other.always = None
    STATE.restore(other, state)
    assert other.always == frozenset(("a",)) and type(other.always) is frozenset


def test_a_set_has_what_was_saved_and_nothing_else() -> None:
    car, other = Car(), Car()
    car.seen = {2, 5}
    seen = other.seen
    STATE.restore(other, STATE.save(car))
    assert other.seen is seen and seen == {2, 5}
