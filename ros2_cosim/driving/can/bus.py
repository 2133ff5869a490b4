# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A bus and its controllers in simulated time, without a run: frames, their times, their errors.

A frame begins with the next bit after a request. All that wait then take part in the arbitration,
and the lowest identifier wins. Receivers have a frame, and its sender has its confirmation, at the
end of the last bit.

Disturbances flip single bits, as one node reads them. A sender notices at once; a receiver by the
stuff bits, else by the CRC, behind the acknowledge delimiter. An error frame has a flag of 12 bits,
as two flags that follow each other, and a delimiter of 8. An error passive receiver destroys no
frame, and an error passive sender waits 8 bits more before its next one.

Class estimate: the length of the flag, the bit of waiting, what a wrong bit rate does (the receiver
finds a stuff error in its sixth bit), and that the counters change at the end of the error frame.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.exactmath import log1p
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.driving.can.confinement import (
    SEQUENCE_BITS,
    SEQUENCES,
    Confinement,
    ErrorState,
    FrameError,
)
from ros2_cosim.driving.can.frames import (
    INTERMISSION,
    STUFF_WIDTH,
    BusFrame,
    WireFrame,
    on_wire,
    priority,
)

_NS = 1_000_000_000
#: Bits of an error flag with what others add, and of the delimiter behind it.
ERROR_FRAME: Final = 12 + 8
#: Bits of the shortest attempt to send, at least.
SHORTEST: Final = ERROR_FRAME
#: Bits that an error passive sender waits.
SUSPENDED: Final = 8


class ControllerState(IntEnum):
    """Whether a controller takes part."""

    STOPPED = 0
    STARTED = 1
    SLEEPING = 2


class EventKind(IntEnum):
    """What happens at a controller, as in ``ros2_cosim/msg/CanEvent``."""

    TRANSMITTED = 0
    CANCELLED = 1
    QUEUE_FULL = 2
    ARBITRATION_LOST = 3
    ERROR = 4
    STATE = 5
    WAKE_UP = 6
    RECEIVED = 7


class ControllerCommand(IntEnum):
    """What a controller may have to do, as in ``ros2_cosim/msg/CanCommand``."""

    START = 0
    STOP = 1
    SLEEP = 2
    RESET = 3
    WAKE_BUS = 4
    CONFIGURE = 5


class BusEvent(NamedTuple):
    """What happened to a controller; ``cancelled`` frames are no longer to be sent."""

    controller: str
    kind: EventKind
    frame: BusFrame | None = None
    cancelled: int = 0
    code: FrameError = FrameError.NONE
    primary: bool = False
    sender: bool = False


class SendRequest(NamedTuple):
    """A frame that waits for the bus."""

    order: tuple[tuple[int, int, int, int], int]
    frame: BusFrame
    time: int


class CanController:
    """One controller: bit rates [bit/s] (0: it has no FD frames), its queue, its error counters.

    :param errors: its random numbers, by which bits that it reads are wrong, with ``error_rate``
    """

    def __init__(
        self,
        name: str,
        bit_rate: int,
        fd_bit_rate: int = 0,
        *,
        state: ControllerState = ControllerState.STARTED,
        queue: int = 32,
        retransmit: bool = True,
        recover: bool = True,
        error_rate: float = 0.0,
        errors: RandomStream | None = None,
        confinement: Confinement | None = None,
    ) -> None:
        self.name = name
        self.bit_rate = bit_rate
        self.fd_bit_rate = fd_bit_rate
        self.state = state
        self.longest_queue = queue
        self.retransmit = retransmit
        self.recover = recover
        self.keep_lost = True
        self.confinement = Confinement() if confinement is None else confinement
        self.queue: list[SendRequest] = []
        #: Until when it waits as an error passive sender.
        self.suspended_until = 0
        self.woken = False
        #: Recessive sequences that it still waits for, from when on; None: it does not.
        self.sequences_left: int | None = None
        self.idle_from = 0
        self._errors = errors
        self._certainty = log1p(-error_rate) if error_rate else 0.0

    @property
    def bit_ns(self) -> int:
        """Duration of a bit [ns], at least."""
        return _NS // self.bit_rate

    @property
    def takes_part(self) -> bool:
        """Whether it sends, acknowledges and receives."""
        started = self.state is ControllerState.STARTED
        return started and self.confinement.state is not ErrorState.BUS_OFF

    @property
    def recovers_at(self) -> int | None:
        """When it takes part again if the bus stays idle."""
        if self.sequences_left is None:
            return None
        return self.idle_from + self.sequences_left * SEQUENCE_BITS * _NS // self.bit_rate

    def duration(self, wire: WireFrame, count: int, more: int = 0) -> int:
        """Time of the first bits of a frame, and of more slow ones [ns]."""
        fast = wire.fast_bits(count)
        slow = count - fast + more
        if not fast:
            return slow * _NS // self.bit_rate
        return slow * _NS // self.bit_rate + fast * _NS // self.fd_bit_rate

    def first_wrong_bit(self) -> int | None:
        """Index of the first bit of an attempt that it reads wrongly."""
        if not self._certainty or self._errors is None:
            return None
        return int(log1p(-self._errors.uniform()) / self._certainty)

    def cancel(self) -> int:
        """Give up what it was to send."""
        count = len(self.queue)
        self.queue.clear()
        return count


class Transmission(NamedTuple):
    """A frame that is on the bus, its senders and receivers; ``code`` NONE: it arrives.

    ``noticed`` names the controllers that find the error; ``deaf`` are receivers that get nothing
    of it.
    """

    requests: Mapping[str, SendRequest]
    frame: BusFrame
    receivers: tuple[str, ...]
    begin: int
    end: int
    bit_rate: int
    code: FrameError = FrameError.NONE
    noticed: tuple[str, ...] = ()
    deaf: Mapping[str, FrameError] = {}


class BusCounts:
    """What has happened so far."""

    def __init__(self) -> None:
        self.frames = 0
        self.errors = 0
        self.lost_arbitrations = 0
        self.latency_sum_ns = 0
        self.latency_max_ns = 0


class Bus:
    """All controllers of a bus.

    :param lead_ns: how long before its end the bus reports what becomes of a frame; requests in
        between act behind it
    """

    def __init__(self, controllers: Mapping[str, CanController], lead_ns: int = 0) -> None:
        self.controllers = dict(controllers)
        self._lead_ns = lead_ns
        self.counts = BusCounts()
        self._attempt: Transmission | None = None
        self._free_at = 0
        self._busy_ns = 0
        self._number = 0

    # -- from outside --------------------------------------------------------------------------

    def request(self, time: int, name: str, frame: BusFrame) -> list[BusEvent]:
        """A controller is asked to send a frame."""
        controller = self.controllers[name]
        if not controller.takes_part:
            return [BusEvent(name, EventKind.CANCELLED, frame, 1)]
        if frame.bit_rate_switch and not controller.fd_bit_rate:
            return [BusEvent(name, EventKind.CANCELLED, frame, 1, FrameError.FORM)]
        if len(controller.queue) >= controller.longest_queue:
            return [BusEvent(name, EventKind.QUEUE_FULL, frame, 1)]
        self._number += 1
        controller.queue.append(SendRequest((priority(frame), self._number), frame, time))
        return []

    def command(self, time: int, name: str, command: ControllerCommand) -> list[BusEvent]:
        """A controller is asked to change its state."""
        controller = self.controllers[name]
        cancelled = 0
        if command is ControllerCommand.WAKE_BUS:
            return self._wake(except_for=name)
        if command is ControllerCommand.START:
            controller.state = ControllerState.STARTED
            if controller.confinement.state is ErrorState.BUS_OFF:
                self._begin_recovery(controller, time)
        elif command is not ControllerCommand.CONFIGURE:
            cancelled = controller.cancel()
            sleeps = command is ControllerCommand.SLEEP
            controller.state = ControllerState.SLEEPING if sleeps else ControllerState.STOPPED
            controller.woken = False
            if command is ControllerCommand.RESET:
                controller.confinement.reset()
                controller.sequences_left = None
        return [BusEvent(name, EventKind.STATE, cancelled=cancelled)]

    # -- time ----------------------------------------------------------------------------------

    @property
    def next_time(self) -> int | None:
        """When something happens next without further requests."""
        if self._attempt is not None:
            return max(self._attempt.end - self._lead_ns, self._attempt.begin + 1)
        times = [
            max(c.suspended_until, c.queue[0].time + c.bit_ns)
            for c in self.controllers.values()
            if c.queue and c.takes_part
        ]
        times += [at for c in self.controllers.values() if (at := c.recovers_at) is not None]
        return max(min(times), self._free_at) if times else None

    def busy_ns(self, time: int) -> int:
        """For how long the bus has been busy until a time, intermissions included."""
        if self._attempt is not None:
            return self._busy_ns + time - self._attempt.begin
        return self._busy_ns - max(self._free_at - time, 0)

    def advance(self, time: int) -> list[BusEvent]:
        """Let happen what does at :attr:`next_time`."""
        if self._attempt is not None:
            return self._end(self._attempt)
        events = []
        for controller in self.controllers.values():
            at = controller.recovers_at
            if at is not None and at <= time:
                controller.sequences_left = None
                controller.confinement.reset()
                events.append(BusEvent(controller.name, EventKind.STATE))
        ready = [
            c
            for c in self.controllers.values()
            if c.queue and c.takes_part and c.suspended_until <= time
        ]
        return events + self._begin(time, ready) if ready else events

    def _wake(self, except_for: str = "") -> list[BusEvent]:
        events = []
        for controller in self.controllers.values():
            sleeps = controller.state is ControllerState.SLEEPING and not controller.woken
            if sleeps and controller.name != except_for:
                controller.woken = True
                events.append(BusEvent(controller.name, EventKind.WAKE_UP))
        return events

    def _begin_recovery(self, controller: CanController, time: int) -> None:
        controller.sequences_left = SEQUENCES
        controller.idle_from = max(time, self._free_at)

    def _begin(self, time: int, ready: list[CanController]) -> list[BusEvent]:
        """Arbitration, and how the frame that wins will fare."""
        best = {c.name: min(c.queue) for c in ready}
        first = min(request.order[0] for request in best.values())
        winners = {name: r for name, r in best.items() if r.order[0] == first}
        events = self._wake()
        for name, request in best.items():
            if name not in winners:
                self.counts.lost_arbitrations += 1
                controller = self.controllers[name]
                if not controller.keep_lost:
                    controller.queue.remove(request)
                    events.append(BusEvent(name, EventKind.ARBITRATION_LOST, request.frame, 1))
        for controller in self.controllers.values():
            if controller.sequences_left is not None and time > controller.idle_from:
                sequence = SEQUENCE_BITS * _NS // controller.bit_rate
                controller.sequences_left -= (time - controller.idle_from) // sequence
        self._attempt = self._fate(time, winners)
        return events

    def _fate(self, time: int, winners: Mapping[str, SendRequest]) -> Transmission:
        senders = {name: self.controllers[name] for name in winners}
        frames = {name: self._as_sent(senders[name], r.frame) for name, r in winners.items()}
        name = next(iter(winners))
        sender, frame, wire = senders[name], frames[name], on_wire(frames[name])
        receivers = tuple(
            c.name for c in self.controllers.values() if c.takes_part and c.name not in winners
        )
        found = _collisions({name: on_wire(frame) for name, frame in frames.items()})
        for name, controller in senders.items():
            wrong = controller.first_wrong_bit()
            if wrong is not None and wrong < len(wire.bits):
                form = wrong > wire.acknowledge
                found.append((wrong, FrameError.FORM if form else FrameError.BIT, name))
        deaf: dict[str, FrameError] = {}
        acknowledged = False
        for name in receivers:
            controller = self.controllers[name]
            noticed = _noticed(controller, sender, frame, wire)
            if noticed is None:
                acknowledged = True
            elif controller.confinement.state is ErrorState.PASSIVE:
                deaf[name] = noticed[1]
            else:
                found.append((*noticed, name))
                acknowledged |= noticed[0] > wire.acknowledge + 1
        if not acknowledged:
            found += [(wire.acknowledge, FrameError.ACKNOWLEDGE, name) for name in winners]
        if not found:
            end = time + sender.duration(wire, len(wire.bits))
            return Transmission(winners, frame, receivers, time, end, sender.bit_rate, deaf=deaf)
        # Of what is noticed in the same bit what was found first counts: what senders notice.
        bit, code, _ = min(found, key=lambda one: one[0])
        who = tuple(name for at, what, name in found if (at, what) == (bit, code))
        end = time + sender.duration(wire, bit + 1, ERROR_FRAME)
        return Transmission(winners, frame, receivers, time, end, sender.bit_rate, code, who, deaf)

    @staticmethod
    def _as_sent(sender: CanController, frame: BusFrame) -> BusFrame:
        passive = frame.fd and sender.confinement.state is ErrorState.PASSIVE
        return frame._replace(error_passive=True) if passive else frame

    def _end(self, attempt: Transmission) -> list[BusEvent]:
        self._attempt = None
        bits = INTERMISSION * _NS // attempt.bit_rate
        self._free_at = attempt.end + bits
        self._busy_ns += self._free_at - attempt.begin
        failed = attempt.code is not FrameError.NONE
        events = [*(self._failed if failed else self._arrived)(attempt)]
        for controller in self.controllers.values():
            passive = controller.confinement.state is ErrorState.PASSIVE
            if passive and controller.name in attempt.requests:
                controller.suspended_until = self._free_at + SUSPENDED * controller.bit_ns
            if controller.sequences_left is not None:
                controller.idle_from = max(self._free_at, controller.idle_from)
                controller.sequences_left = max(controller.sequences_left - 1, 0)
        for controller in self.controllers.values():
            off = controller.confinement.state is ErrorState.BUS_OFF
            if off and controller.recover and controller.sequences_left is None:
                self._begin_recovery(controller, self._free_at)
        return events

    def _arrived(self, attempt: Transmission) -> list[BusEvent]:
        events = []
        self.counts.frames += 1
        for name, request in attempt.requests.items():
            controller = self.controllers[name]
            if request in controller.queue:
                controller.queue.remove(request)
                controller.confinement.sent()
                events.append(BusEvent(name, EventKind.TRANSMITTED, attempt.frame, sender=True))
            latency = attempt.end - request.time
            self.counts.latency_sum_ns += latency
            self.counts.latency_max_ns = max(self.counts.latency_max_ns, latency)
        for name in attempt.receivers:
            controller = self.controllers[name]
            if controller.takes_part and name not in attempt.deaf:
                controller.confinement.received()
                events.append(BusEvent(name, EventKind.RECEIVED, attempt.frame))
        return events + self._unheard(attempt)

    def _failed(self, attempt: Transmission) -> list[BusEvent]:
        events = []
        self.counts.errors += 1
        for name in (*attempt.requests, *attempt.receivers):
            controller = self.controllers[name]
            if not controller.takes_part or name in attempt.deaf:
                continue
            sender, primary = name in attempt.requests, name in attempt.noticed
            confinement = controller.confinement
            confinement.failed(attempt.code, sender=sender, primary=primary)
            cancelled = 0
            if confinement.state is ErrorState.BUS_OFF:
                cancelled = controller.cancel()
            elif sender and not controller.retransmit:
                request = attempt.requests[name]
                if request in controller.queue:
                    controller.queue.remove(request)
                    cancelled = 1
            events.append(
                BusEvent(
                    name, EventKind.ERROR, attempt.frame, cancelled, attempt.code, primary, sender
                )
            )
        return events + self._unheard(attempt)

    def _unheard(self, attempt: Transmission) -> list[BusEvent]:
        """Error passive receivers that got nothing of a frame, without disturbing it."""
        events = []
        for name, code in attempt.deaf.items():
            controller = self.controllers[name]
            if controller.takes_part:
                controller.confinement.failed(code, sender=False, primary=True)
                events.append(
                    BusEvent(name, EventKind.ERROR, attempt.frame, code=code, primary=True)
                )
        return events


def _collisions(wires: Mapping[str, WireFrame]) -> list[tuple[int, FrameError, str]]:
    """Of senders of one identifier whose frames differ: those that read other bits than theirs."""
    if len(wires) < 2:
        return []
    bits = [wire.bits for wire in wires.values()]
    for index, there in enumerate(zip(*bits, strict=False)):
        if len(set(there)) > 1:
            recessive = [name for name, wire in wires.items() if wire.bits[index]]
            return [(index, FrameError.BIT, name) for name in recessive]
    return []


def _noticed(
    receiver: CanController, sender: CanController, frame: BusFrame, wire: WireFrame
) -> tuple[int, FrameError] | None:
    """When and as what a receiver notices that it does not read a frame; None: it reads it."""
    wrong = receiver.first_wrong_bit()
    if receiver.bit_rate != sender.bit_rate:
        return STUFF_WIDTH, FrameError.STUFF
    if frame.fd and not receiver.fd_bit_rate:
        return wire.format, FrameError.FORM
    if frame.bit_rate_switch and receiver.fd_bit_rate != sender.fd_bit_rate:
        return wire.fast[0] + STUFF_WIDTH, FrameError.STUFF
    if wrong is None or wrong >= len(wire.bits) - 1 or wrong == wire.acknowledge:
        return None  # its own acknowledge bit is dominant, and the last bit does not count
    if wrong > wire.acknowledge or wrong == wire.acknowledge - 1:
        return wrong, FrameError.FORM
    return _of_flipped(wire, wrong)


def _of_flipped(wire: WireFrame, wrong: int) -> tuple[int, FrameError]:
    """The first violation that a flipped bit makes."""
    bits = bytearray(wire.bits[: wire.stuffed])
    if wrong < len(bits):
        bits[wrong] ^= 1
        run = 1
        for index in range(1, len(bits)):
            run = run + 1 if bits[index] == bits[index - 1] else 1
            if run > STUFF_WIDTH and index >= wrong:
                return index, FrameError.STUFF
    return wire.acknowledge + 1, FrameError.CRC
