# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Layers between a model and its ports: order, what each may do, and what passes through."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from kernel.test_model import DESCRIPTIVE
from support.behaviours import Plain

from ros2_cosim.core.kernel.layers import Activation, Layer, LayeredModel, bare
from ros2_cosim.core.kernel.model import DECLARED, FullModel, Report
from ros2_cosim.core.kernel.participant import Host, Sample, Step

STEP = Step(5, {}, {})


class Noting(Plain):
    """Records every call with its arguments; each method returns its own value."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []


def _noting(name: str) -> Callable[..., Any]:
    def note(self: Noting, *arguments: Any) -> Any:
        self.calls.append((name, arguments))
        return f"answer of {name}"

    return note


#: Of a model's members, those that layers do not hand through as they are.
_OWN = {"attach", "save_state", "restore_state", "handle_message", "report"}


def test_a_model_without_layers_is_asked_for_every_member() -> None:
    """No member that is declared is forgotten, now or when one is added."""
    #: The asynchronous one stands for both.
    not_through = {"on_communication_ready"}
    attributes = {
        *("stop_reason", "next_time", "traits", "unsaved", "begins_anew", "ready_handlers"),
    }
    methods = DECLARED - DESCRIPTIVE - not_through - attributes - _OWN
    kind = type("All", (Noting,), {name: _noting(name) for name in methods})
    for name in sorted(methods):
        inner = kind()
        given = inspect.signature(getattr(FullModel, name)).parameters.values()
        arguments = tuple(STEP if p.name == "step" else object() for p in list(given)[1:])
        answer = getattr(LayeredModel(inner), name)(*arguments)
        assert inner.calls == [(name, arguments)], name
        if name in ("activate", "answer_service"):
            assert answer == f"answer of {name}"


class Counter(Plain):
    """Sends how often it was activated, at once and as its output."""

    def __init__(self) -> None:
        self.count = 0
        self.send: Callable[[str, Any], None] | None = None

    def attach(self, host: Host) -> None:
        self.send = host.send

    def activate(self, step: Step) -> Mapping[str, Any]:
        self.count += 1
        if self.send is not None:
            self.send("now", self.count)
        return {"out": self.count + step.latest.get("in", 0)}  # type: ignore[operator]

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        return {"out": step.samples[port][0].value}

    def report(self) -> Report:
        return Report(figures={"count": self.count})

    def save_state(self) -> Any:
        return self.count

    def restore_state(self, state: Any) -> None:
        self.count = state


class Digit(Layer):
    """Writes its digit behind the number that passes, in both directions."""

    def __init__(self, digit: int) -> None:
        self.digit = digit
        self.name = f"digit {digit}"
        self.passed = 0

    def read(self, step: Step) -> Step:
        return step._replace(latest={"in": step.latest.get("in", 0) * 10 + self.digit})  # type: ignore[dict-item, operator]

    def sent(self, time: int, values: Mapping[str, Any]) -> Mapping[str, Any]:
        self.passed += 1
        return {port: value * 10 + self.digit for port, value in values.items()}

    def at_once(self, port: str, record: Any) -> Any:
        return None if record == 2 else record * 10 + self.digit

    def save_state(self) -> Any:
        return self.passed

    def restore_state(self, state: Any) -> None:
        self.passed = state

    def report(self, report: Report) -> Report:
        return report._replace(figures={**(report.figures or {}), self.name: self.passed})


def test_inputs_pass_from_the_ports_to_the_model_and_outputs_back() -> None:
    sent: list[Any] = []
    model = LayeredModel(Counter(), [Digit(3), Digit(7)])
    model.attach(Host(lambda s: None, lambda: None, send=lambda *what: sent.append(what)))
    # In: 7, then 3; out: 1 + 73, then 3, then 7.
    assert model.activate(STEP) == {"out": 7437}
    assert model.activate(STEP) == {"out": 7537}
    # The second message is lost.
    assert sent == [("now", 137)]
    assert model.report().figures == {"count": 2, "digit 3": 2, "digit 7": 2}


def test_a_message_that_a_layer_has_lost_is_not_handled() -> None:
    class Lost(Layer):
        def read(self, step: Step) -> Step:
            return step._replace(samples={"in": ()})

    message = Step(5, {"in": (Sample(5, 0, 4),)}, {})
    assert LayeredModel(Counter(), [Digit(3)]).handle_message("in", message) == {"out": 43}
    assert LayeredModel(Counter(), [Lost(), Digit(3)]).handle_message("in", message) == {}


def test_a_state_is_that_of_all_layers_by_their_names() -> None:
    first = LayeredModel(Counter(), [Digit(3), Digit(7)])
    for _ in range(4):
        first.activate(STEP)
    one, other = Digit(7), Digit(1)
    second = LayeredModel(Counter(), [one, Layer(), other])
    second.restore_state(first.save_state())
    assert (second.model.save_state(), one.passed, other.passed) == (4, 4, 0)


def test_a_layer_says_why_no_checkpoint_holds_its_state() -> None:
    layer = Layer()
    assert LayeredModel(Counter(), [layer]).unsaved is None
    assert LayeredModel(Noting(), [layer]).unsaved == ""
    layer.unsaved = "on its way"
    assert LayeredModel(Counter(), [Digit(1), layer]).unsaved == "on its way"


def test_layers_decide_about_the_end_and_about_the_next_activation() -> None:
    class Never(Layer):
        def stop_reason(self, reason: str | None) -> str | None:
            return f"not yet {reason}"

        def next_time(self, time: int | None) -> int | None:
            return None if time is None else time + 1

    inner = Counter()
    inner.stop_reason, inner.next_time = "over", 3
    assert LayeredModel(inner, [Layer()]).stop_reason == "over"
    assert LayeredModel(inner, [Layer()]).next_time == 3
    model = LayeredModel(inner, [Never(), Layer(), Never()])
    assert (model.stop_reason, model.next_time) == ("not yet not yet over", 5)


def test_before_an_activation_a_layer_may_change_what_is_below() -> None:
    class Changing(Layer):
        def placed(self, model: LayeredModel) -> None:
            self.model = model

        def begin(self, time: int) -> bool:
            if time == 20:
                self.model.exchange(other, [Digit(4)], above=self)
            if time == 30:
                self.model.insert(Digit(9))
                self.model.insert(Digit(8), below=self)
            return time != 10

    class Beginning(Layer):
        def begin(self, time: int) -> bool:
            begun.append(time)
            return True

    begun: list[int] = []
    first, other = Counter(), Counter()
    model = LayeredModel(first, [Beginning(), Changing()])
    host = Host(lambda s: None, lambda: None, send=lambda *what: sent.append(what))
    sent: list[Any] = []
    model.attach(host)
    assert [model.activate(Step(time, {}, {}))["out"] for time in (0, 10)] == [1, 2]
    assert begun == [0]  # a layer nearer to the ports said that those below take no part
    # The other model has its own layer, and is attached to the process.
    assert model.activate(Step(20, {}, {})) == {"out": 54}
    assert sent[-1] == ("now", 14) and first.count == 2
    # From the model to its ports: 4, 8, 9.
    out = model.activate(Step(30, {}, {}))["out"]
    assert out == (2 + 984) * 1000 + 489


def test_a_layer_that_comes_first_is_the_last_to_be_closed_and_the_model_closes_in_any_case() -> (
    None
):
    log: list[str] = []

    class Held(Layer):
        def __init__(self, name: str) -> None:
            self.name = name

        def over(self) -> None:
            log.append(f"{self.name} over")

        def release(self) -> None:
            log.append(f"{self.name} released")

        def close(self) -> None:
            log.append(f"{self.name} closed")
            raise OSError(self.name)

    class Open(Counter):
        def on_stop(self) -> None:
            log.append("stop")

        def close(self) -> None:
            log.append("closed")

    inner = Open()
    model = LayeredModel(inner, [Held("a"), Held("b")])
    model.on_stop()
    assert model.release() is inner is bare(model) is bare(inner)
    with pytest.raises(OSError, match="^a$"):
        model.close()
    assert log == [
        "b over", "a over", "stop", "b released", "a released", "b closed", "a closed", "closed",
    ]  # fmt: skip


def test_what_a_layer_sends_passes_those_nearer_to_the_ports_only() -> None:
    class Sending(Layer):
        def placed(self, model: LayeredModel) -> None:
            self.model = model

        def around(self, below: Activation) -> Activation:
            def activate(step: Step) -> Mapping[str, Any]:
                self.model.send_at_once("now", 6, above=self)
                return below(step)

            return activate

    sent: list[Any] = []
    model = LayeredModel(Counter(), [Digit(3), Sending(), Digit(7)])
    model.attach(Host(lambda s: None, lambda: None, send=lambda *what: sent.append(what)))
    model.activate(STEP)
    assert sent == [("now", 67), ("now", 137)]
