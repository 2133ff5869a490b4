# SPDX-License-Identifier: Apache-2.0
"""What an activation reads, what it may send, and how a behaviour's faults are reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.behaviours import Scripted, sends, wire

from ros2_cosim.kernel.activation import all_of, any_of
from ros2_cosim.kernel.errors import ParticipantError
from ros2_cosim.kernel.graph import Graph, InputPort, Latency, OutputPort, ParticipantSpec
from ros2_cosim.kernel.latched import LatchedChannel
from ros2_cosim.kernel.model import Model
from ros2_cosim.kernel.participant import Sample
from ros2_cosim.kernel.runtime import ParticipantRuntime
from ros2_cosim.kernel.time import NEVER


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

        def delivered(self, value: Any, data: bytes) -> Any:
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
