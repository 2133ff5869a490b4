# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The interface of models: misspelt members, what a small one has not, layers, reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from support.behaviours import Plain

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.layers import LayeredModel, bare, full
from ros2_cosim.core.kernel.model import (
    BeginsAnew,
    Model,
    Needs,
    Ports,
    Repeatability,
    Report,
    Service,
    Traits,
)
from ros2_cosim.core.kernel.participant import ModelContext, Sample, Step

#: Asked of a class before a model is made: nothing that a wrapper stands in front of.
DESCRIPTIVE = {
    "Parameters",
    "input_ports",
    "output_ports",
    "other_ports",
    "port_names",
    "declared_ports",
    "needs_beside",
    "listens_at",
    "check_settings",
    "drawn_sectors",
    "declared_repeatability",
    "offered_services",
}
STEP = Step(0, {}, {})


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("activat", "activate"),
        ("on_stopp", "on_stop"),
        ("on_startin", "on_starting"),
        ("finnish", "finish"),
        ("clos", "close"),
        ("repport", "report"),
        ("stop_reasons", "stop_reason"),
        ("parameters", "Parameters"),
        ("trait", "traits"),
    ],
)
def test_a_member_that_looks_misspelt_is_refused_where_the_class_is_made(
    wrong: str, right: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"Wrong: found '{wrong}'.*did you mean '{right}'"):
        type("Wrong", (Plain,), {wrong: lambda self: None})


def test_other_helpers_and_private_names_are_allowed() -> None:
    class Helpful(Plain):
        limit: ClassVar[float] = 3.0

        def _activat(self) -> None:
            """Private."""

        def steering(self) -> float:
            return self.limit

    assert Helpful().steering() == 3.0


def test_activate_is_the_one_thing_that_a_model_must_have() -> None:
    class Lacking(Model):
        pass

    with pytest.raises(TypeError, match="activate"):
        Lacking(None, None)  # type: ignore[abstract,arg-type]


def test_a_model_has_little_more_than_what_it_declares_and_its_activation() -> None:
    own = {name for name in dir(Model) if not name.startswith("_")}
    assert own - DESCRIPTIVE == {"activate", "traits", "stop_reason", "next_time"}


@pytest.mark.parametrize("name", ["on_stop", "save_state", "handle_message", "report", "close"])
def test_what_nothing_calls_of_a_model_is_refused_where_the_class_is_made(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"Odd: found '{name}', .*derived from FullModel"):
        type("Odd", (Model,), {name: lambda self: None})


def test_a_model_takes_part_in_the_rest_by_doing_nothing() -> None:
    class Small(Model):
        def __init__(self) -> None:
            pass

        def activate(self, step: Step) -> dict[str, Any]:
            self.stop_reason, self.next_time = "over", 7
            return {"out": step.time}

    model = full(Small())
    assert full(model) is model and isinstance(bare(model), Small)
    assert model.activate(Step(4, {}, {})) == {"out": 4}
    assert (model.stop_reason, model.next_time) == ("over", 7)
    assert model.report() == Report() and model.unsaved == ""
    assert model.ready_handlers == 0 and model.begins_anew is BeginsAnew.MADE_AGAIN
    done: list[int] = []
    model.on_communication_ready_async(lambda: done.append(1))
    assert done == [1]
    with pytest.raises(ConfigurationError, match="service 'look'; it offers none"):
        model.answer_service("look", None, STEP)
    with pytest.raises(ConfigurationError, match="port 'in'; the model has no method handle_me"):
        full(Small()).handle_message("in", Step(3, {"in": (Sample(3, 0, None),)}, {}))


def test_a_participant_enters_at_its_time_unless_the_scenario_says_otherwise() -> None:
    context = ModelContext("p", {}, {}, 0, Path())
    assert (context.enters_freely, context.dynamic_step, context.watchdog_s) == (False, False, 30.0)


def test_a_model_has_defaults_for_everything_else() -> None:
    model = Plain()
    assert model.report() == Report(None, None, None, None, None, 0)
    assert Plain.traits == Traits() and Plain.Parameters is None
    assert Plain.declared_ports(None, None) == Ports(others=True)  # type: ignore[arg-type]
    assert Plain.needs_beside(None, None) == Needs()  # type: ignore[arg-type]
    assert Plain.drawn_sectors(None, None) == ()  # type: ignore[arg-type]
    for call in (model.on_starting, model.on_stop, model.finish, model.on_shutdown, model.close):
        call()
    assert model.save_state() is None


def test_how_a_model_begins_anew_follows_from_its_methods() -> None:
    class Open(Plain):
        def close(self) -> None:
            """Something."""

    class Able(Open):
        def reset(self) -> None:
            """Forget."""

    assert [made().begins_anew for made in (Plain, Open, Able)] == [
        BeginsAnew.MADE_AGAIN,
        BeginsAnew.CANNOT,
        BeginsAnew.RESET,
    ]
    assert LayeredModel(Open()).begins_anew is BeginsAnew.CANNOT


def test_ready_handlers_are_counted_through_layers() -> None:
    class Blocking(Plain):
        def on_communication_ready(self) -> None:
            """Wait."""

    class Both(Blocking):
        def on_communication_ready_async(self, complete: Callable[[], None]) -> None:
            complete()

    assert [m.ready_handlers for m in (Plain(), Blocking(), Both())] == [0, 1, 2]
    assert [LayeredModel(m).ready_handlers for m in (Plain(), Blocking(), Both())] == [0, 1, 2]


def test_a_service_that_is_not_offered_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="service 'tune'; it offers none"):
        Plain().answer_service("tune", {}, Step(0, {}, {}))
    with pytest.raises(
        ConfigurationError, match="port 'in'; the model has no method handle_message"
    ):
        Plain().handle_message("in", Step(0, {}, {}))

    class Tuned(Plain):
        offered_services = (Service("tune", "std_msgs/msg/Bool", "std_msgs/msg/String"),)

        def answer_service(self, name: str, request: Any, step: Step) -> Any:
            return (name, request, step.time)

    step = Step(7, {}, {})
    assert LayeredModel(Tuned()).answer_service("tune", 1, step) == ("tune", 1, 7)


def test_together_models_are_repeatable_as_far_as_the_weakest_is() -> None:
    everywhere, machine, no = Repeatability
    assert Repeatability.weakest([]) is everywhere
    assert Repeatability.weakest([everywhere, machine]) is machine
    assert Repeatability.weakest([machine, no, everywhere]) is no
