# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What an activation reads, what it may send, and how a behaviour's faults are reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.behaviours import Scripted, sends, wire

from ros2_cosim.core.kernel.activation import all_of, any_of
from ros2_cosim.core.kernel.errors import ParticipantError
from ros2_cosim.core.kernel.graph import Graph, InputPort, Latency, OutputPort, ParticipantSpec
from ros2_cosim.core.kernel.latched import LatchedChannel
from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.time import NEVER


def alone(behaviour: Model, *outputs: OutputPort) -> ParticipantRuntime:
    """A participant ``p`` of period 10 without inputs."""
    graph = Graph([ParticipantSpec("p", 10, outputs=outputs)], [])
    return ParticipantRuntime(graph, "p", behaviour)


def failure(runtime: ParticipantRuntime, activations: int = 1) -> str:
    """The message of the error in the last of so many activations."""
    for _ in range(activations - 1):
        runtime.activate_time()
    with pytest.raises(ParticipantError) as caught:
        runtime.activate_time()
    return str(caught.value)


def test_an_exception_of_the_model_names_participant_activation_time_and_line() -> None:
    def answer(step: Any) -> Mapping[str, Any]:
        return {} if step.time < 20 else {"out": 1 / 0}

    line = answer.__code__.co_firstlineno + 1
    runtime = alone(Scripted(answer), OutputPort("out", schedule="sparse"))
    assert failure(runtime, 3) == (
        "participant 'p' failed in its activation 3 at 20ns: ZeroDivisionError: division "
        f"by zero ({__file__}, line {line})"
    )


def test_the_moment_is_the_time_of_the_activation_that_is_going_on() -> None:
    moments: list[int] = []

    def answer(step: Any) -> Mapping[str, Any]:
        moments.append(runtime.moment[0])
        return {} if step.time < 20 else {"out": 1 / 0}

    runtime = alone(Scripted(answer), OutputPort("out", schedule="sparse"))
    assert runtime.moment[0] == -1
    for _ in range(2):
        runtime.activate_time()
        assert runtime.moment[0] == -1
    failure(runtime)
    assert runtime.moment[0] == -1
    assert moments == [0, 10, 20]


def test_the_cause_of_a_failure_is_kept() -> None:
    def answer(step: Any) -> Mapping[str, Any]:
        raise KeyError("gap")

    with pytest.raises(ParticipantError) as caught:
        alone(Scripted(answer)).activate_time()
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_own_participant_error_of_the_model_is_not_wrapped() -> None:
    error = ParticipantError("plant 'p': vehicle 3 left the road")

    def answer(step: Any) -> Mapping[str, Any]:
        raise error

    with pytest.raises(ParticipantError) as caught:
        alone(Scripted(answer)).activate_time()
    assert caught.value is error


def test_keyboard_interrupts_pass() -> None:
    def answer(step: Any) -> Mapping[str, Any]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        alone(Scripted(answer)).activate_time()


def test_a_forgotten_return_is_named() -> None:
    runtime = alone(Scripted(lambda step: None), OutputPort("out"))
    assert failure(runtime) == (
        "participant 'p' returned NoneType from its activation at 0s; "
        "allowed is a mapping of output port to record (empty: silent)"
    )


@pytest.mark.parametrize("answer", [sends(), sends(out=None)])
def test_silence_on_an_every_port_is_named(answer: Any) -> None:
    assert failure(alone(Scripted(answer), OutputPort("out"))) == (
        "participant 'p' sent nothing on port 'out' at 0s; the port is declared to send at "
        "every activation (declare it 'sparse' if it may stay silent)"
    )


def test_a_sparse_port_may_stay_silent() -> None:
    runtime = alone(
        Scripted(lambda step: {"out": step.time} if step.time == 10 else {}),
        OutputPort("out", schedule="sparse"),
    )
    sent = [[sample for _, sample, _ in runtime.activate_time()] for _ in range(3)]
    assert sent == [[], [Sample(10, 0, 10)], []]


def test_none_is_no_message() -> None:
    outputs = (OutputPort("out", schedule="sparse"), OutputPort("more", schedule="sparse"))
    runtime = alone(Scripted(lambda step: {"out": None, "more": step.time}), *outputs)
    sent = [[(port, found.seq) for port, found, _ in runtime.activate_time()] for _ in range(2)]
    assert sent == [[(1, 0)], [(1, 1)]]


def test_a_once_port_sends_at_the_first_activation() -> None:
    assert failure(alone(Scripted(), OutputPort("map", schedule="once"))) == (
        "participant 'p' sent nothing on port 'map' at its first activation (0s), where a port "
        "declared 'once' sends"
    )


def test_a_once_port_sends_no_second_time() -> None:
    runtime = alone(Scripted(sends(map=1)), OutputPort("map", schedule="once"))
    assert failure(runtime, 2) == (
        "participant 'p' sent on port 'map' at 10ns; the port is declared to send once, at the "
        "first activation"
    )


@pytest.mark.parametrize(("ports", "known"), [((), "none"), (("a", "b"), "a, b")])
def test_an_unknown_port_is_named(ports: tuple[str, ...], known: str) -> None:
    outputs = [OutputPort(port, schedule="sparse") for port in ports]
    assert failure(alone(Scripted(sends(out=1)), *outputs)) == (
        f"participant 'p' sent on port 'out' at 0s; its output ports are {known}"
    )


def test_a_value_that_the_message_cannot_hold_is_named() -> None:
    class Strict:
        def encode(self, stamp_ns: int, seq: int, value: Any) -> bytes:
            return bytes([value])

        def delivered(self, value: Any, data: bytes, exact: bool) -> Any:
            return value

    runtime = alone(Scripted(sends(out=256)), OutputPort("out", codec=Strict()))
    message = failure(runtime)
    assert message.startswith("participant 'p' sent on port 'out' at 0s what the message type")
    assert "ValueError: bytes must be in range(0, 256)" in message


def test_a_latency_below_its_declared_minimum_is_named() -> None:
    port = OutputPort("out", Latency(5, iter([6, 5, 4]).__next__))
    assert failure(alone(Scripted(sends(out=1)), port), 3) == (
        "participant 'p', port 'out': latency drawn at 20ns is 4ns; the declared minimum is 5ns"
    )


def test_stamps_are_time_plus_latency_and_never_overtake() -> None:
    port = OutputPort("out", Latency(0, iter([3, 25, 0, 7]).__next__))
    runtime = alone(Scripted(sends(out="v")), port)
    sent = [runtime.activate_time() for _ in range(4)]
    # The message of 20 would be stamped 20, before that of 10.
    assert sent == [
        [(0, Sample(stamp, seq, "v"), f"{stamp} {seq} 'v'".encode())]
        for seq, stamp in enumerate([3, 35, 35, 37])
    ]
    assert runtime.sent("out") == (4, 37)


def reader(
    activation: Any, *inputs: InputPort, writers: str
) -> tuple[ParticipantRuntime, Scripted]:
    """A reader ``r`` whose inputs are fed as ``writers`` says; period 10."""
    connections = wire(writers)
    names = sorted({c.source for c in connections})
    specs = [ParticipantSpec(n, 10, outputs=(OutputPort("out", Latency(1)),)) for n in names]
    specs.append(ParticipantSpec("r", 10, 0, activation, inputs))
    behaviour = Scripted()
    return ParticipantRuntime(Graph(specs, connections), "r", behaviour), behaviour


def test_a_step_holds_samples_of_triggers_and_the_newest_of_every_port() -> None:
    runtime, behaviour = reader(
        all_of(["a", "b"]),
        *(InputPort(p) for p in "abx"),
        writers="u.out>r.a v.out>r.b w.out>r.x",
    )
    for stamp in (3, 4, 9):
        runtime.receiver(0)(Sample(stamp, stamp, "a"))
    runtime.receiver(1)(Sample(5, 0, "b"))
    for stamp in (1, 5, 6):
        runtime.receiver(2)(Sample(stamp, stamp, "x"))
    assert runtime.tso is not None
    assert runtime.tso.determine(100) == 5
    runtime.activate_data()
    (step,) = behaviour.steps
    assert step.time == 5
    assert {port: [s.stamp for s in got] for port, got in step.samples.items()} == {
        "a": [3, 4],
        "b": [5],
    }
    assert {port: s and s.stamp for port, s in step.latest.items()} == {"a": 4, "b": 5, "x": 5}
    # A periodic activation delivers nothing; what triggered before is still the newest.
    runtime.activate_time()
    runtime.activate_time()
    assert behaviour.steps[2].samples == {"a": (), "b": ()}
    assert [s and s.stamp for s in behaviour.steps[2].latest.values()] == [4, 5, 6]


def test_before_the_first_sample_the_latest_is_none() -> None:
    runtime, behaviour = reader(
        any_of(["a"]), InputPort("a"), InputPort("x"), writers="u.out>r.a w.out>r.x"
    )
    runtime.activate_time()
    assert behaviour.steps[0].latest == {"a": None, "x": None}


def test_a_plain_port_sees_its_own_time_and_a_delayed_port_does_not() -> None:
    plain, delayed = LatchedChannel(False), LatchedChannel(True)
    samples = [Sample(10 * k, k, k) for k in range(3)]
    for sample in samples:
        plain.push(sample)
        delayed.push(sample)
    assert [plain.read(t) for t in (0, 9, 10, 35)] == [samples[k] for k in (0, 0, 1, 2)]
    assert [delayed.read(t) for t in (0, 9, 10, 11, 35)] == [
        None,
        samples[0],
        samples[0],
        samples[1],
        samples[2],
    ]


def test_of_several_writers_the_newest_stamp_wins_and_the_later_channel_on_a_tie() -> None:
    runtime, behaviour = reader(None, InputPort("x"), writers="u.out>r.x v.out>r.x")
    runtime.receiver(0)(Sample(0, 0, "u0"))
    runtime.receiver(1)(Sample(0, 0, "v0"))
    runtime.receiver(0)(Sample(7, 1, "u7"))
    runtime.receiver(1)(Sample(4, 1, "v4"))
    runtime.activate_time()
    runtime.activate_time()
    assert [step.latest["x"].value for step in behaviour.steps if step.latest["x"]] == [
        "v0",
        "u7",
    ]


def test_compute_time_is_measured_with_the_timer_given_and_only_then() -> None:
    ticks = iter([100, 130, 200, 205])
    graph = Graph([ParticipantSpec("p", 10)], [])
    timed = ParticipantRuntime(graph, "p", Scripted(), ticks.__next__)
    timed.activate_time()
    timed.activate_time()
    assert timed.compute_ns == 35
    untimed = alone(Scripted())
    untimed.activate_time()
    assert untimed.compute_ns == 0


def test_the_first_stop_reason_and_its_time_are_kept() -> None:
    behaviour = Scripted()
    runtime = alone(behaviour)
    runtime.activate_time()
    assert (runtime.stop_reason, runtime.stop_time) == (None, NEVER)
    behaviour.stop_reason = "all stand still"
    runtime.activate_time()
    behaviour.stop_reason = "something else"
    runtime.activate_time()
    told: tuple[str | None, int] = (runtime.stop_reason, runtime.stop_time)
    assert told == ("all stand still", 10)


def sent(outputs: list[Any]) -> list[tuple[int, int, int, Any]]:
    """Port, stamp, sequence number and value of what an activation sends."""
    return [(port, sample.stamp, sample.seq, sample.value) for port, sample, _ in outputs]


def test_what_is_sent_within_an_activation_leaves_with_it_or_at_once() -> None:
    left: list[Any] = []

    def answer(step: Any) -> Mapping[str, Any]:
        runtime.send_now("often", step.time + 1)
        runtime.send_now("often", step.time + 2)
        runtime.send_now("each", 7)
        return {"often": 9}

    ports = (OutputPort("often", schedule="sparse"), OutputPort("each"))
    runtime = alone(Scripted(answer), *ports)
    early = [(0, 0, 0, 1), (0, 0, 1, 2), (1, 0, 0, 7)]
    assert sent(runtime.activate_time()) == [*early, (0, 0, 2, 9)]
    runtime.leave = left.extend
    assert sent(runtime.activate_time()) == [(0, 10, 5, 9)]
    assert sent(left) == [(0, 10, 3, 11), (0, 10, 4, 12), (1, 10, 1, 7)]
    with pytest.raises(ParticipantError, match="'p' sent on port 'each' outside of an activation"):
        runtime.send_now("each", 1)


def test_a_port_that_sent_at_once_has_sent_in_this_activation_only() -> None:
    def answer(step: Any) -> Mapping[str, Any]:
        if step.time < 20:
            runtime.send_now("each", 7)
        return {}

    runtime = alone(Scripted(answer), OutputPort("each"))
    assert "sent nothing on port 'each' at 20ns" in failure(runtime, 3)


def test_the_past_is_what_was_read_and_sent_last() -> None:
    spec = ParticipantSpec(
        "p", 10, inputs=(InputPort("in"),), outputs=(OutputPort("a", schedule="sparse"),
                                                     OutputPort("b", schedule="sparse")),
    )  # fmt: skip
    writer = ParticipantSpec("w", 10, outputs=(OutputPort("out"),))
    graph = Graph([writer, spec], wire("w.out>p.in"))
    runtime = ParticipantRuntime(graph, "p", Scripted(sends(a=5)))
    assert runtime.past() == ({}, {})
    runtime.receiver(0)(Sample(0, 0, "x"))
    runtime.activate_time()
    assert runtime.past() == ({"in": Sample(0, 0, "x")}, {"a": 5})


def test_what_is_to_be_done_between_activations_waits_for_the_end_of_one() -> None:
    log: list[str] = []

    def answer(step: Any) -> Mapping[str, Any]:
        log.append(f"at {step.time}")
        assert runtime.open_activation == (step.time // 10 + 1, step.time, 0)
        if step.time == 0:
            runtime.between(lambda: log.append("later"))
            log.append("still at 0")
        return {}

    runtime = alone(Scripted(answer))
    assert runtime.open_activation is None
    runtime.between(lambda: log.append("now"))
    runtime.activate_time()
    runtime.activate_time()
    assert log == ["now", "at 0", "still at 0", "later", "at 10"]
    assert runtime.open_activation is None


class Choosing(Scripted):
    next_time: int | None = None


@pytest.mark.parametrize(
    ("dynamic", "chosen", "leave", "found"),
    [
        (True, 17, 40, 17),
        (True, 39, 40, 39),
        (True, 40, 40, None),
        (True, None, 40, 10),
        (True, None, 10, None),
        (True, 1, 40, 1),
        (True, 0, 40, "'p' chose 0s for its next activation at 0s; allowed is any later time"),
        (False, 17, 40, "allowed only with 'dynamic_step: true' in the scenario"),
    ],
)
def test_a_model_chooses_its_next_activation(
    dynamic: bool, chosen: int | None, leave: int, found: int | str | None
) -> None:
    spec = ParticipantSpec("p", 10, leave_ns=leave, dynamic_step=dynamic)
    model = Choosing()
    runtime = ParticipantRuntime(Graph([spec], []), "p", model)
    model.next_time = chosen
    if isinstance(found, str):
        assert found in failure(runtime)
    else:
        runtime.activate_time()
        assert runtime.next_time == found


def test_a_free_entry_begins_the_grid_of_the_period() -> None:
    spec = ParticipantSpec("p", 10, 3, free_entry=True)
    runtime = ParticipantRuntime(Graph([spec], []), "p", Scripted())
    runtime.enter(14)
    assert runtime.next_time == 23
    assert (runtime.spec.enter_ns, runtime.spec.free_entry) == (14, False)


@pytest.mark.parametrize(
    ("answer", "expected"), [("yes", [(0, 5, 0, "yes")]), (None, "gave no answer to a request")]
)
def test_each_request_is_answered_once(answer: Any, expected: Any) -> None:
    class Serving(Scripted):
        def answer_service(self, name: str, request: Any, step: Any) -> Any:
            assert (name, request, step.time) == ("ask", "q", 5)
            return answer

    spec = ParticipantSpec(
        "p", 10, inputs=(InputPort("in", handled=True, service="ask"),),
        outputs=(OutputPort("in", schedule="sparse"),),
    )  # fmt: skip
    caller = ParticipantSpec("c", 5, outputs=(OutputPort("out", schedule="sparse"),))
    graph = Graph([caller, spec], wire("c.out>p.in"))
    runtime = ParticipantRuntime(graph, "p", Serving())
    runtime.receiver(0)(Sample(5, 0, "q"))
    assert runtime.determine(6) == 5
    if isinstance(expected, str):
        with pytest.raises(ParticipantError, match=expected):
            runtime.activate_data()
    else:
        assert sent(runtime.activate_data()) == expected


def test_a_sparse_port_may_be_named_without_a_message() -> None:
    runtime = alone(Scripted(sends(out=None)), OutputPort("out", schedule="sparse"))
    assert runtime.activate_time() == []
