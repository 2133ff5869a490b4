# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Settings: what is wrong is said in one form, by place, what was found and what is allowed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ConfigDict, Field, model_validator

from ros2_cosim.core.documents.settings import (
    Duration,
    Name,
    PositiveDuration,
    Section,
    read_section,
)
from ros2_cosim.core.kernel.errors import ConfigurationError, ZeroDelayLoopError


class Wheel(Section):
    radius: float = Field(default=0.3, gt=0, le=2)
    spokes: int | Literal["none"] = 5
    source: str = Field(default="", alias="from")


class Engine(Section):
    power: float


class Car(Section):
    name: Name = "car"
    wheels: tuple[Wheel, ...] = Field(default=(), max_length=4)
    parts: dict[Name, Wheel | None] = {}
    engine: Annotated[Engine | None, Field(description="what drives it")] = None
    delay: Duration = 0
    period: PositiveDuration = 1
    lights: bool = True
    weights: frozenset[int] = frozenset()

    @model_validator(mode="after")
    def _rule(self) -> Car:
        if self.delay > self.period:
            raise ValueError("delay must not be above period")
        return self


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ([], "a.yaml: found []; allowed is a mapping"),
        ({"name": "A"}, "a.yaml: name: found 'A'; allowed is a text of the form ^[a-z][a-z0-9_]*$"),
        ({"name": None}, "a.yaml: name: found null; allowed is a text"),
        ({"lights": "maybe"}, "a.yaml: lights: found 'maybe'; allowed is true or false"),
        (
            {"wheels": [{}, {"radius": 0}]},
            "a.yaml: wheels.1.radius: found 0; allowed is a number above 0",
        ),
        (
            {"wheels": [{"radius": float("inf")}]},
            "a.yaml: wheels.0.radius: found inf; allowed is a finite number",
        ),
        ({"wheels": {}}, "a.yaml: wheels: found {}; allowed is a list"),
        ({"weights": 1}, "a.yaml: weights: found 1; allowed is a valid frozenset"),
        ({3: 1}, "a.yaml: 3: found 3; allowed is a text as key"),
        ({"wheels": [{}] * 5}, "a.yaml: wheels: found 5 entries; allowed is at most 4"),
        (
            {"wheels": [{"spokes": "few"}]},
            "a.yaml: wheels.0.spokes: found 'few'; allowed is an integer or 'none'",
        ),
        (
            {"wheels": [{"radios": 1}]},
            "a.yaml: wheels.0.radios: unknown key; did you mean 'radius'? allowed are radius, "
            "spokes, from",
        ),
        (
            {"parts": {"spare": {"x": 1}}},
            "a.yaml: parts.spare.x: unknown key; allowed are radius, spokes, from",
        ),
        ({"parts": {"A": {}}}, "a.yaml: parts.A: found 'A'; allowed is a text of the form"),
        ({"engine": {}}, "a.yaml: engine.power: missing"),
        ({"engine": {"power": "x", "pover": 1}}, "engine.pover: unknown key; did you mean 'power'"),
        ({"delay": 1.5}, "a.yaml: delay: found 1.5; a time needs a unit: write 1.5s"),
        ({"period": 0}, "a.yaml: period: found 0; allowed is 1ns or more"),
        ({"delay": "1s"}, "a.yaml: delay must not be above period"),
        ({"name": "x" * 90 + "!"}, "xxx...xxx"),
        (
            {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5},
            "; b: unknown key; allowed are name, wheels, parts, engine, delay, period, lights, "
            "weights; "
            "c: unknown key; allowed are name, wheels, parts, engine, delay, period, lights, "
            "weights; "
            "and 2 more",
        ),
    ],
)
def test_a_fault_is_one_sentence(data: Any, complaint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_section(Car, data, origin="a.yaml")
    text = str(caught.value)
    assert "\n" not in text and len(text) < 400
    if "..." in complaint:
        assert text.startswith("a.yaml: name: found 'xxx") and "...xxx" in text.replace(
            "xx!", "xxx"
        )
    else:
        assert complaint in text


def test_places_join_and_the_class_of_the_error_is_the_callers() -> None:
    with pytest.raises(ZeroDelayLoopError) as caught:
        read_section(Car, {"lights": 2}, place="participants.x", error=ZeroDelayLoopError)
    assert str(caught.value) == "participants.x.lights: found 2; allowed is true or false"


def test_sections_do_not_change_and_may_add_to_the_configuration() -> None:
    class Strict(Section):
        model_config = ConfigDict(strict=True)
        number: float

    with pytest.raises(ConfigurationError, match="number: found '1'; allowed is a number"):
        read_section(Strict, {"number": "1"})
    with pytest.raises(ConfigurationError, match="number: found nan; allowed is a finite number"):
        read_section(Strict, {"number": float("nan")})
    section = read_section(Strict, {"number": 1.0})
    with pytest.raises(ValueError, match="frozen"):
        section.number = 2.0  # type: ignore[misc]


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(
            st.sampled_from([*Car.model_fields, *Wheel.model_fields, "from", "x", "", 3]), inner
        )
    ),
    max_leaves=20,
)


@given(_PLAIN)
def test_any_data_give_a_section_or_one_sentence(data: Any) -> None:
    try:
        read_section(Car, data, origin="a.yaml")
    except ConfigurationError as error:
        text = str(error)
        assert text.startswith("a.yaml: ")
        assert "unknown key" in text or "missing" in text or "allowed" in text or "must" in text
