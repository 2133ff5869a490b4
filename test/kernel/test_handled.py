# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages that are handled one by one, services and their answers: times, order, ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from support.behaviours import Plain
from support.engine_network import EngineNetwork, digests

from ros2_cosim.core.kernel import lookahead
from ros2_cosim.core.kernel.activation import Activation, Count, all_of
from ros2_cosim.core.kernel.errors import DeadEndError, ParticipantError, ZeroDelayLoopError
from ros2_cosim.core.kernel.graph import (
    Connection,
    Graph,
    InputPort,
    Latency,
    OutputPort,
    ParticipantSpec,
)
from ros2_cosim.core.kernel.participant import Step
from ros2_cosim.core.kernel.sequential import SequentialScheduler

Log = list[tuple[str, int, Any]]


class Sender(Plain):
    """Sends its time on every port at every activation."""

    def __init__(self, *ports: str) -> None:
        self._ports = ports

    def activate(self, step: Step) -> Mapping[str, Any]:
        return dict.fromkeys(self._ports, step.time)


class Handler(Plain):
    """Notes what it is called with; ``reply`` says what it sends when it handles a message."""

    def __init__(
        self, log: Log, sends: Mapping[str, Any] | None = None, reply: Callable[..., Any] = dict
    ) -> None:
        self._log, self._sends, self._reply = log, sends or {}, reply

    def activate(self, step: Step) -> Mapping[str, Any]:
        delivered = {p: [s.value for s in got] for p, got in step.samples.items() if got}
        self._log.append(("activate", step.time, delivered))
        return self._sends

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        (sample,) = step.samples[port]
        assert step.latest[port] is sample
        assert sample.stamp == step.time
        self._log.append((port, step.time, sample.value))
        answer: Mapping[str, Any] = self._reply()
        return answer

    def answer_service(self, name: str, request: Any, step: Step) -> Any:
        self._log.append((name, step.time, request))
        return self._reply()


def out(port: str, latency: int = 0, schedule: str = "every") -> OutputPort:
    return OutputPort(port, Latency(latency), schedule)


def handler(
    *ports: str,
    period: int | None = None,
    activation: Activation | None = None,
    more: tuple[InputPort, ...] = (),
    outputs: tuple[OutputPort, ...] = (),
) -> ParticipantSpec:
    inputs = tuple(InputPort(p, handled=True) for p in ports)
    return ParticipantSpec(
        "h", period, activation=activation, inputs=(*inputs, *more), outputs=outputs
    )


def run(graph: Graph, models: dict[str, Any], until: int = 100) -> dict[str, str]:
    scheduler = SequentialScheduler(graph, models)
    scheduler.run(until)
    return digests(scheduler.runtimes)


def test_each_message_is_handled_at_its_stamp_before_the_activation_of_that_time() -> None:
    log: Log = []
    spec = handler("in", period=20)
    sender = ParticipantSpec("a", 10, outputs=(out("x", 10),))
    graph = Graph([sender, spec], [Connection("a", "x", "h", "in")])
    run(graph, {"a": Sender("x"), "h": Handler(log)}, 41)
    assert log == [
        ("activate", 0, {}),
        ("in", 10, 0),
        ("in", 20, 10),
        ("activate", 20, {}),
        ("in", 30, 20),
        ("in", 40, 30),
        ("activate", 40, {}),
    ]


def test_the_activation_function_does_not_see_what_is_handled_nor_lose_what_it_waits_for() -> None:
    """Half of ``all`` is there when a message is handled: it is delivered with the other half."""
    log: Log = []
    spec = handler(
        "in", activation=all_of(["left", "right"]), more=(InputPort("left"), InputPort("right"))
    )
    sender = ParticipantSpec("a", 50, outputs=(out("l", 1), out("x", 2), out("r", 3)))
    graph = Graph(
        [sender, spec],
        [
            Connection("a", "l", "h", "left"),
            Connection("a", "x", "h", "in"),
            Connection("a", "r", "h", "right"),
        ],
    )
    run(graph, {"a": Sender("l", "x", "r"), "h": Handler(log)}, 50)
    assert log == [("in", 2, 0), ("activate", 3, {"left": [0], "right": [0]})]


def test_messages_of_equal_stamp_are_handled_in_the_order_of_the_connections() -> None:
    log: Log = []
    senders = [ParticipantSpec(n, 50, outputs=(out("x", 5),)) for n in ("b", "a")]
    graph = Graph(
        [*senders, handler("late", "early")],
        [Connection("b", "x", "h", "early"), Connection("a", "x", "h", "late")],
    )
    run(graph, {"a": Sender("x"), "b": Sender("x"), "h": Handler(log)}, 50)
    assert [name for name, _, _ in log] == ["late", "early"]


def test_a_port_that_sends_at_every_activation_keeps_its_distance() -> None:
    """Handled messages do not count: readers may still conclude when the next one comes."""
    spec = handler("in", period=20, outputs=(out("tick"), out("note", 0, "sparse")))
    sender = ParticipantSpec("a", 7, outputs=(out("x", 1),))
    graph = Graph([sender, spec], [Connection("a", "x", "h", "in")])
    assert lookahead.separation(graph, "h", "tick") == 20
    assert lookahead.first_stamp(graph, "h", "tick") == 0
    spec = handler("in", activation=Count("go"), more=(InputPort("go"),),
                   outputs=(out("tick"), out("note", 0, "sparse")))  # fmt: skip
    sender = ParticipantSpec("a", 7, outputs=(out("x", 1), out("y", 4)))
    graph = Graph(
        [sender, spec], [Connection("a", "x", "h", "in"), Connection("a", "y", "h", "go")]
    )
    assert lookahead.first_stamp(graph, "h", "tick") == 4
    assert lookahead.first_stamp(graph, "h", "note") == 1


@pytest.mark.parametrize("schedule", ["every", "once"])
def test_while_it_handles_a_message_only_sparse_ports_may_send(schedule: str) -> None:
    spec = handler("in", period=20, outputs=(out("tick", 0, schedule),))
    sender = ParticipantSpec("a", 30, 10, outputs=(out("x"),))
    graph = Graph([sender, spec], [Connection("a", "x", "h", "in")])
    models = {"a": Sender("x"), "h": Handler([], {"tick": 1}, lambda: {"tick": 1})}
    message = f"'tick' at 10ns while it handled a message; the port is declared '{schedule}'"
    if schedule == "once":
        models["h"] = Handler([], None, lambda: {"tick": 1})
        graph = Graph(
            [ParticipantSpec("a", 30, outputs=(out("x"),)),
             handler("in", activation=Count("y"), more=(InputPort("y"),),
                     outputs=(out("tick", 0, "once"),))],
            [Connection("a", "x", "h", "in"), Connection("a", "x", "h", "y")],
        )  # fmt: skip
        message = message.replace("10ns", "0s")
    with pytest.raises(ParticipantError, match=message):
        run(graph, models)


def service(request: int, answer: int, caller_period: int = 20) -> Graph:
    """``c`` calls service ``add`` of ``h``."""
    caller = ParticipantSpec(
        "c",
        caller_period,
        inputs=(InputPort("ask", handled=True),),
        outputs=(out("ask", request, "sparse"),),
    )
    server = ParticipantSpec(
        "h",
        inputs=(InputPort("asked", handled=True, service="add"),),
        outputs=(out("asked", answer, "sparse"),),
    )
    return Graph(
        [caller, server],
        [Connection("c", "ask", "h", "asked"), Connection("h", "asked", "c", "ask")],
    )


@pytest.mark.parametrize(("request_ns", "answer_ns"), [(3, 4), (0, 4), (3, 0), (30, 30)])
def test_request_and_answer_are_events_at_their_stamps(request_ns: int, answer_ns: int) -> None:
    asked: Log = []
    answered: Log = []
    graph = service(request_ns, answer_ns)
    numbers = iter(range(100))
    models = {
        "c": Handler(answered, {"ask": "question"}),
        "h": Handler(asked, None, lambda: next(numbers)),
    }
    run(graph, models, 100)
    due = [t + request_ns for t in range(0, 100, 20) if t + request_ns < 100]
    assert asked == [("add", t, "question") for t in due]
    back = [(t + answer_ns, n) for n, t in enumerate(due) if t + answer_ns < 100]
    assert [(t, n) for what, t, n in answered if what == "ask"] == back


def test_engines_give_the_trace_of_the_reference() -> None:
    def made() -> dict[str, Any]:
        numbers = iter(range(1000))
        return {"c": Handler([], {"ask": 1}), "h": Handler([], None, lambda: next(numbers))}

    expected = run(service(2, 5, 10), made(), 200)
    for seed in range(10):
        network = EngineNetwork(service(2, 5, 10), made(), 200, seed)
        assert network.run() == expected


def test_a_call_without_any_latency_is_a_loop() -> None:
    with pytest.raises(ZeroDelayLoopError, match=r"c\.ask -> h\.asked.*Two ways out"):
        service(0, 0)


def test_a_request_needs_an_answer() -> None:
    models = {"c": Handler([], {"ask": 1}), "h": Handler([], None, lambda: None)}
    with pytest.raises(ParticipantError, match=r"'h' gave no answer .* 'add' at 3ns; each request"):
        run(service(3, 4), models)


def test_handlers_that_only_wait_for_each_other_never_run() -> None:
    specs = [
        ParticipantSpec(
            name, inputs=(InputPort("in", handled=True),), outputs=(out("x", 1, "sparse"),)
        )
        for name in "ab"
    ]
    with pytest.raises(DeadEndError, match="a waits for b.x, b waits for a.x"):
        Graph(specs, [Connection("a", "x", "b", "in"), Connection("b", "x", "a", "in")])


class Early(Plain):
    """Sends on its ports within its activation."""

    def __init__(self, *sends: tuple[str, Any], at_end: Mapping[str, Any] | None = None) -> None:
        self.sends, self._at_end = sends, at_end or {}
        self.host: Any = None

    def activate(self, step: Step) -> Mapping[str, Any]:
        for port, value in self.sends:
            self.host(port, value)
        return self._at_end


def early(model: Early, schedule: str) -> Callable[[], list[tuple[int, Any]]]:
    graph = Graph(
        [ParticipantSpec("a", 10, outputs=(out("x", 2, schedule), out("y", 0, "sparse")))], []
    )
    seen: list[tuple[int, Any]] = []
    scheduler = SequentialScheduler(
        graph, {"a": model}, observer=lambda n, p, s, d: seen.append((s.stamp, s.value))
    )
    model.host = scheduler.runtimes["a"].send_now

    def go() -> list[tuple[int, Any]]:
        scheduler.run(20)
        return seen

    return go


def test_what_is_sent_within_an_activation_has_its_stamp_and_its_place() -> None:
    model = Early(("x", 1), ("y", 2), ("x", 3), at_end={"x": 4})
    assert early(model, "sparse")() == [(2, 1), (0, 2), (2, 3), (2, 4)] + [
        (12, 1), (10, 2), (12, 3), (12, 4)
    ]  # fmt: skip


def test_a_port_of_every_activation_has_then_sent_and_sends_once() -> None:
    assert early(Early(("x", 1)), "every")() == [(2, 1), (12, 1)]
    assert early(Early(("x", 1), ("x", 2)), "sparse")()[:2] == [(2, 1), (2, 2)]
    with pytest.raises(ParticipantError, match=r"'x' at 0s a second time; .* 'every'"):
        early(Early(("x", 1), ("x", 2)), "every")()
    with pytest.raises(ParticipantError, match=r"'x' at 0s a second time"):
        early(Early(("x", 1), at_end={"x": 2}), "every")()


def test_outside_of_an_activation_nothing_is_sent() -> None:
    model = Early()
    go = early(model, "sparse")
    with pytest.raises(ParticipantError, match="port 'x' outside of an activation"):
        model.host("x", 1)
    go()
    with pytest.raises(ParticipantError, match="port 'x' outside of an activation"):
        model.host("x", 1)
