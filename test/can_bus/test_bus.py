# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A bus by itself: times of frames, arbitration, error counters by hand, bus off and back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.driving.can.bus import (
    Bus,
    BusEvent,
    CanController,
    ControllerCommand,
    ControllerState,
    EventKind,
)
from ros2_cosim.driving.can.confinement import ErrorState, FrameError
from ros2_cosim.driving.can.frames import BusFrame, on_wire

US = 1_000
BIT = 2 * US  # at 500 kbit/s


def bus_of(*controllers: CanController) -> Bus:
    return Bus({controller.name: controller for controller in controllers})


def three(**options: object) -> Bus:
    return bus_of(*(CanController(name, 500_000, 2_000_000) for name in "abc"))


def until(bus: Bus, end: int) -> list[tuple[int, BusEvent]]:
    """All that happens before a time."""
    found = []
    while (time := bus.next_time) is not None and time < end:
        found += [(time, event) for event in bus.advance(time)]
        assert bus.next_time is None or bus.next_time > time
    return found


def kinds(events: Sequence[tuple[int, BusEvent]], kind: EventKind) -> list[tuple[int, str]]:
    return [(time, event.controller) for time, event in events if event.kind is kind]


def test_a_frame_takes_its_bits() -> None:
    bus = three()
    frame = BusFrame(0x123, data=b"\x01\x02")
    assert bus.request(10 * US, "a", frame) == []
    assert bus.next_time == 10 * US + BIT
    end = 10 * US + BIT + len(on_wire(frame).bits) * BIT
    events = until(bus, 1_000 * US)
    assert kinds(events, EventKind.RECEIVED) == [(end, "b"), (end, "c")]
    assert kinds(events, EventKind.TRANSMITTED) == [(end, "a")]
    assert bus.busy_ns(end) == len(on_wire(frame).bits) * BIT
    assert bus.busy_ns(1_000 * US) == (len(on_wire(frame).bits) + 3) * BIT
    assert bus.counts.latency_max_ns == end - 10 * US


def test_fast_bits_of_an_fd_frame_are_shorter() -> None:
    bus = three()
    frame = BusFrame(0x123, fd=True, bit_rate_switch=True, data=bytes(64))
    bus.request(0, "a", frame)
    wire = on_wire(frame)
    fast = wire.fast_bits(len(wire.bits))
    end = BIT + (len(wire.bits) - fast) * BIT + fast * BIT // 4
    assert kinds(until(bus, 10_000 * US), EventKind.RECEIVED)[0] == (end, "b")


def test_the_lowest_identifier_wins_and_the_others_follow() -> None:
    bus = three()
    frames = {name: BusFrame(0x100 + number) for number, name in enumerate("cba")}
    for name, frame in frames.items():
        bus.request(0, name, frame)
    events = until(bus, 10_000 * US)
    sent = kinds(events, EventKind.TRANSMITTED)
    assert [name for _, name in sent] == ["c", "b", "a"]
    bits = [len(on_wire(frames[name]).bits) for name in "cba"]
    assert [time for time, _ in sent] == [
        BIT * (1 + sum(bits[: n + 1]) + 3 * n) for n in range(len(bits))
    ]
    assert bus.counts.lost_arbitrations == 3


def test_a_controller_sends_its_own_frames_by_priority_and_equal_ones_in_order() -> None:
    bus = three()
    for identifier, data in ((7, b"1"), (3, b"2"), (7, b"3")):
        bus.request(0, "a", BusFrame(identifier, data=data))
    received = [e.frame for _, e in until(bus, 10_000 * US) if e.kind is EventKind.RECEIVED]
    assert [frame.data for frame in received[::2] if frame] == [b"2", b"1", b"3"]


def test_equal_frames_of_two_senders_are_one_frame() -> None:
    bus = three()
    for name in "ab":
        bus.request(0, name, BusFrame(5, data=b"same"))
    events = until(bus, 10_000 * US)
    assert len(kinds(events, EventKind.TRANSMITTED)) == 2
    assert len(kinds(events, EventKind.RECEIVED)) == 1


def test_different_frames_of_one_identifier_destroy_each_other_until_one_is_bus_off() -> None:
    bus = bus_of(*(CanController(name, 500_000, recover=False) for name in "abc"))
    bus.request(0, "a", BusFrame(5, data=b"\x00"))
    bus.request(0, "b", BusFrame(5, data=b"\x01"))
    events = until(bus, 1_000_000 * US)
    state = {name: c.confinement.state for name, c in bus.controllers.items()}
    assert state["a"] is state["b"] is ErrorState.BUS_OFF
    errors = [e for _, e in events if e.kind is EventKind.ERROR and e.controller == "b"]
    assert len(errors) == 32 and errors[-1].cancelled == 1
    assert all(e.code is FrameError.BIT and e.primary for e in errors)


def test_a_lone_sender_becomes_error_passive_and_never_bus_off() -> None:
    bus = bus_of(CanController("a", 500_000), CanController("b", 500_000))
    bus.command(0, "b", ControllerCommand.STOP)
    bus.request(0, "a", BusFrame(1))
    events = until(bus, 100_000 * US)
    errors = [e for _, e in events if e.kind is EventKind.ERROR]
    assert {e.code for e in errors} == {FrameError.ACKNOWLEDGE}
    confinement = bus.controllers["a"].confinement
    assert (confinement.transmit_errors, confinement.state) == (128, ErrorState.PASSIVE)
    assert len(errors) > 100
    # Eight bits more between the frames of an error passive sender.
    times = [time for time, e in events if e.kind is EventKind.ERROR]
    attempt = on_wire(BusFrame(1)).acknowledge + 1 + 20 + 3
    assert times[1] - times[0] == attempt * BIT
    assert times[-1] - times[-2] == (attempt + 8) * BIT
    bus.command(100_000 * US, "b", ControllerCommand.START)
    assert kinds(until(bus, 200_000 * US), EventKind.TRANSMITTED)


@pytest.mark.parametrize("fast", [0, 5_000_000])
def test_a_receiver_that_cannot_read_fd_frames_destroys_them_until_it_is_passive(fast: int) -> None:
    bus = bus_of(
        CanController("a", 500_000, 2_000_000),
        CanController("b", 500_000, 2_000_000),
        CanController("c", 500_000, fast),
    )
    bus.request(0, "a", BusFrame(1, fd=True, bit_rate_switch=True, data=bytes(8)))
    events = until(bus, 100_000 * US)
    errors = [e for _, e in events if e.kind is EventKind.ERROR and e.controller == "c"]
    assert [e.code for e in errors] == [FrameError.STUFF if fast else FrameError.FORM] * 17
    assert len(kinds(events, EventKind.RECEIVED)) == 1
    # 16 errors by 8 make it passive; the frame then arrives, and it does not read that either.
    counters = {n: c.confinement for n, c in bus.controllers.items()}
    assert counters["c"].receive_errors == 136
    assert counters["a"].transmit_errors == 16 * 8 - 1
    assert counters["b"].receive_errors == 16 - 1


def test_the_way_back_takes_128_times_11_bits() -> None:
    bus = bus_of(*(CanController(name, 500_000) for name in "ab"))
    controller = bus.controllers["a"]
    for _ in range(32):
        controller.confinement.failed(FrameError.BIT, sender=True, primary=True)
    assert controller.confinement.state is ErrorState.BUS_OFF
    assert [e.kind for e in bus.request(0, "a", BusFrame(1))] == [EventKind.CANCELLED]
    bus.command(100 * US, "a", ControllerCommand.START)
    assert kinds(until(bus, 10_000 * US), EventKind.STATE) == [(100 * US + 128 * 11 * BIT, "a")]
    assert controller.confinement.transmit_errors == 0


def test_a_busy_bus_delays_the_way_back() -> None:
    bus = bus_of(*(CanController(name, 500_000) for name in "abc"))
    controller = bus.controllers["a"]
    for _ in range(32):
        controller.confinement.failed(FrameError.BIT, sender=True, primary=True)
    bus.command(0, "a", ControllerCommand.START)
    for number in range(20):
        bus.request(0, "b", BusFrame(number, data=bytes(8)))
    events = until(bus, 10_000 * US)
    ((time, _),) = kinds(events, EventKind.STATE)
    last = kinds(events, EventKind.TRANSMITTED)[-1][0]
    # Each frame ends with one of the sequences.
    assert time == last + 3 * BIT + (128 - 20) * 11 * BIT


def test_disturbed_frames_are_sent_again_and_the_stream_decides() -> None:
    def run(seed: int) -> tuple[list[tuple[int, BusEvent]], Bus]:
        bus = bus_of(
            *(
                CanController(n, 500_000, error_rate=2e-3, errors=RandomStream(seed, "bus", n))
                for n in "abc"
            )
        )
        for number in range(20):
            bus.request(0, "a", BusFrame(number, data=bytes(8)))
        return until(bus, 1_000_000 * US), bus

    events, bus = run(1)
    assert run(1)[0] == events and run(2)[0] != events
    assert len(kinds(events, EventKind.TRANSMITTED)) == 20
    assert bus.counts.errors > 5
    codes = {e.code for _, e in events if e.kind is EventKind.ERROR}
    assert {FrameError.BIT, FrameError.STUFF, FrameError.CRC} <= codes


def test_one_shot_frames_are_given_up() -> None:
    bus = bus_of(CanController("a", 500_000, retransmit=False), CanController("b", 500_000))
    bus.command(0, "b", ControllerCommand.SLEEP)
    bus.request(0, "a", BusFrame(1))
    events = until(bus, 10_000 * US)
    assert [(e.kind, e.cancelled) for _, e in events] == [
        (EventKind.WAKE_UP, 0),
        (EventKind.ERROR, 1),
    ]


def test_a_full_queue_refuses_and_stopping_cancels() -> None:
    bus = bus_of(CanController("a", 500_000, queue=2), CanController("b", 500_000))
    answers = [bus.request(0, "a", BusFrame(n)) for n in range(3)]
    assert [len(a) for a in answers] == [0, 0, 1]
    assert answers[2][0].kind is EventKind.QUEUE_FULL
    (stopped,) = bus.command(1, "a", ControllerCommand.STOP)
    assert (stopped.kind, stopped.cancelled) == (EventKind.STATE, 2)
    assert bus.next_time is None
    assert bus.controllers["a"].state is ControllerState.STOPPED
    (woken,) = [
        e for e in bus.command(2, "b", ControllerCommand.SLEEP) if e.kind is EventKind.STATE
    ]
    assert woken.controller == "b"
    assert [e.controller for e in bus.command(3, "a", ControllerCommand.WAKE_BUS)] == ["b"]
