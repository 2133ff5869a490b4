# SPDX-License-Identifier: Apache-2.0
"""Radio waves between vehicles, and the channel that all of them share (ITS-G5, 5.9 GHz).

*Range*: the mean power falls with the distance in two slopes, free space up to 10 m, then the
exponents of L. Cheng, B. Henty, D. Stancil, F. Bai, P. Mudalige, "Mobile vehicle-to-vehicle
narrow-band channel measurement and characterization of the 5.9 GHz DSRC frequency band", IEEE J.
Sel. Areas Commun. 25 (2007). Fading has a Nakagami distribution: with integer m and mean power p,
the power exceeds a limit q with exp(-m q/p) sum over k < m of (m q/p)^k / k!; m = 3 as in
M. Killat, H. Hartenstein, "An empirical model for probability of packet reception in vehicular ad
hoc networks", EURASIP J. Wirel. Commun. Netw. (2009). What of that was seen: docs/v2v.md.

*Congestion*: frames of 6 Mbit/s in a channel of 10 MHz (IEEE 802.11, clause 17, half clocked). A
station listens before it sends (CSMA/CA, access category best effort: AIFS 110 us, up to 15 slots
of 13 us after a busy channel, ETSI EN 302 663). A frame needs a signal that exceeds all others
together by ``CAPTURE``, and a receiver that is not sending itself. Broadcasts are not repeated. A
frame that has not been sent by the next beacon is dropped.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section, Whole
from ros2_cosim.core.kernel.exactmath import PI, exp, log, sqrt
from ros2_cosim.core.kernel.random_streams import RandomStream

_LN_10: Final = log(10.0)
_LIGHT: Final = 299_792_458.0
_FREQUENCY: Final = 5.9e9
#: Up to there waves spread as in free space [m].
_FREE: Final = 10.0
#: Mean power from which a station takes the channel for busy [dBm] (IEEE 802.11, clause 17).
_BUSY: Final = -85.0
#: By so much a signal must exceed all others together [dB]: what 6 Mbit/s needs (D. Jiang,
#: Q. Chen, L. Delgrossi, "Optimal data rate selection for vehicle safety communications", 2008).
CAPTURE: Final = 8.0

SLOT_NS: Final = 13_000
AIFS_NS: Final = 110_000
CONTENTION: Final = 15
#: Preamble and head of a frame, and a symbol, which carries 48 bits [ns].
_HEAD_NS: Final = 40_000
_SYMBOL_NS: Final = 8_000
_SYMBOL_BITS: Final = 48
#: Service and tail bits of a frame.
_EXTRA_BITS: Final = 22
#: Of a frame besides the CAM [byte]: MAC of a QoS frame 26 and its check sequence 4, LLC with SNAP
#: 8, GeoNetworking 40 (basic 4, common 8, single-hop broadcast 28), BTP-B 4.
OVERHEAD: Final = 26 + 4 + 8 + 40 + 4

Place = tuple[float, float]


class RadioSettings(Section):
    """Power, range and load of the channel; none of it changes the latency of a link."""

    power: Number = Field(
        default=23.0, ge=-20, le=40, description="sent, with the gains of both antennas [dBm]"
    )
    sensitivity: Number = Field(
        default=-82.0, ge=-120, le=-40, description="least power that is received [dBm]"
    )
    near_exponent: Number = Field(
        default=2.1, ge=1, le=6, description="of the path loss between 10 m and the break [1]"
    )
    far_exponent: Number = Field(
        default=3.8, ge=1, le=8, description="of the path loss beyond the break [1]"
    )
    break_distance: Number = Field(
        default=100.0, ge=10, description="where the exponent changes [m]"
    )
    fading: Whole | None = Field(
        default=3,
        ge=1,
        le=20,
        description="shape m of the Nakagami distribution, 1: Rayleigh; null: none, so that the "
        "range is a sharp limit",
    )
    frame_bytes: Whole = Field(
        default=350,
        ge=20,
        le=2304,
        description="of a beacon, with head and signature; with contents cam: of what the other "
        "stations send [byte]",
    )
    cam_overhead: Whole = Field(
        default=OVERHEAD,
        ge=0,
        le=1500,
        description="with contents cam: what a frame has besides the CAM; the usual value is that "
        "of the heads of MAC, LLC, GeoNetworking and BTP, without a signature [byte]",
    )
    others: Whole = Field(
        default=0,
        ge=0,
        le=1000,
        description="further stations, which all vehicles hear as from others_distance",
    )
    others_rate: Number = Field(
        default=10.0, gt=0, le=50, description="beacons of each of them [1/s]"
    )
    others_distance: Number = Field(default=150.0, gt=0, description="to all vehicles [m]")


class Radio:
    """Mean powers and chances of reception."""

    def __init__(self, settings: RadioSettings) -> None:
        self._settings = settings
        self._free_loss = 20.0 / _LN_10 * log(4.0 * PI * _FREE * _FREQUENCY / _LIGHT)
        #: Time that a frame of the usual size takes [ns].
        self.frame_ns = air_time(settings.frame_bytes)
        self._sensitivity = milliwatts(settings.sensitivity)
        self._busy = milliwatts(_BUSY)
        self._capture = milliwatts(CAPTURE)

    def mean_power(self, distance: float) -> float:
        """Mean power that is received [mW].

        :param distance: between the antennas [m]
        """
        s = self._settings
        loss = self._free_loss
        if distance < _FREE:
            loss += 20.0 / _LN_10 * log(max(distance, 1.0) / _FREE)
        elif distance < s.break_distance:
            loss += 10.0 * s.near_exponent / _LN_10 * log(distance / _FREE)
        else:
            loss += 10.0 * s.near_exponent / _LN_10 * log(s.break_distance / _FREE)
            loss += 10.0 * s.far_exponent / _LN_10 * log(distance / s.break_distance)
        return milliwatts(s.power - loss)

    def hearing_distance(self) -> float:
        """Up to there a station takes the channel for busy [m]."""
        low, high = 1.0, 1e6
        for _ in range(60):
            middle = 0.5 * (low + high)
            if self.mean_power(middle) >= self._busy:
                low = middle
            else:
                high = middle
        return low

    def reception(self, power: float, others: float) -> float:
        """The probability that a frame is received.

        :param power: mean power of its signal [mW]
        :param others: mean power of all other signals at the same time [mW]
        """
        needed = (self._sensitivity + self._capture * others) / power
        shape = self._settings.fading
        if shape is None:
            return 1.0 if needed <= 1.0 else 0.0
        term = total = 1.0
        for k in range(1, shape):
            term *= shape * needed / k
            total += term
        return min(1.0, exp(0.0 - shape * needed) * total)


def air_time(size: int) -> int:
    """Time that a frame takes [ns].

    :param size: all that the MAC hands down [byte]
    """
    bits = 8 * size + _EXTRA_BITS
    return _HEAD_NS + _SYMBOL_NS * -(-bits // _SYMBOL_BITS)


def milliwatts(decibel: float) -> float:
    """The power of a level [dBm -> mW], or the ratio of one [dB -> 1]."""
    return exp(0.1 * _LN_10 * decibel)


class RadioFrame(NamedTuple):
    """What one station sent: its number, begin and end [ns] from the begin of the period."""

    station: int
    begin: int
    end: int


class Attempt(NamedTuple):
    """A station that waits: when it will send [ns], since when it counts, slots, its number."""

    send: int
    station: int
    counting: int
    slots: int
    is_first: bool


def sent_frames(
    arrivals: Sequence[int],
    hears: Sequence[Sequence[bool]],
    lengths: Sequence[int],
    period_ns: int,
    stream: RandomStream,
) -> list[RadioFrame]:
    """What goes over the air in one period, by CSMA/CA; in the order of time.

    :param arrivals: of each station, when its frame is ready [ns], negative: it sends nothing
    :param hears: of each station, whether it hears each other one
    :param lengths: of the frame of each station [ns]
    :param period_ns: frames that have not begun by then are dropped
    :param stream: draws the slots
    """
    waiting = [
        Attempt(ready + AIFS_NS, station, ready + AIFS_NS, 0, True)
        for station, ready in enumerate(arrivals)
        if ready >= 0
    ]
    heapq.heapify(waiting)
    sent: list[RadioFrame] = []
    begins: list[int] = []
    longest = max(lengths, default=0)
    while waiting:
        attempt = heapq.heappop(waiting)
        if attempt.send >= period_ns:
            break
        # Frames that ended before it began to wait are of no matter: most of them are left out.
        first = bisect_right(begins, attempt.counting - AIFS_NS - longest)
        heard = _heard(attempt, sent, first, hears[attempt.station])
        if heard is None:
            begins.append(attempt.send)
            end = attempt.send + lengths[attempt.station]
            sent.append(RadioFrame(attempt.station, attempt.send, end))
            continue
        if attempt.is_first:
            slots = stream.integers(CONTENTION + 1)
        else:
            slots = attempt.slots - max(0, heard.begin - attempt.counting) // SLOT_NS
        counting = heard.end + AIFS_NS
        again = counting + slots * SLOT_NS
        heapq.heappush(waiting, Attempt(again, attempt.station, counting, slots, False))
    return sent


def _heard(
    attempt: Attempt, sent: Sequence[RadioFrame], first: int, hears: Sequence[bool]
) -> RadioFrame | None:
    """The first frame that the station hears while it waits, of those from a number on."""
    for number in range(first, len(sent)):
        frame = sent[number]
        if frame.begin >= attempt.send:
            return None
        if hears[frame.station] and frame.end > attempt.counting - AIFS_NS:
            return frame
    return None


class SharedChannel:
    """All stations of one channel: which link carries a frame, beacon period by beacon period.

    :param settings: of radio and load
    :param names: of the vehicles that send
    :param period_ns: between two beacons of a vehicle
    :param stream: gives the random stream of a name

    :ivar busy: share of the time in which the channel was busy in the last period, as each vehicle
        that sends has heard it [1]
    """

    def __init__(
        self,
        settings: RadioSettings,
        names: Sequence[str],
        period_ns: int,
        stream: Callable[[str], RandomStream],
    ) -> None:
        self._radio = Radio(settings)
        self._names = tuple(names)
        self._period = period_ns
        self._slots = stream("slots")
        self._other_stations = stream("others")
        # A vehicle sends at its own time within the period, which it keeps.
        self._phases = [round(stream(f"phase/{n}").uniform() * period_ns) for n in names]
        self._others = settings.others
        self._other_share = min(1.0, settings.others_rate * period_ns * 1e-9)
        self._other_power = self._radio.mean_power(settings.others_distance)
        distance = self._radio.hearing_distance()
        self._hearing_square = distance * distance
        self._others_are_heard = settings.others_distance <= distance
        self.busy: dict[str, float] = dict.fromkeys(names, 0.0)
        self._frames: list[RadioFrame] = []
        self._places: dict[str, Place] = {}

    def begin(self, places: Mapping[str, Place], lengths: Mapping[str, int]) -> None:
        """A new period.

        :param places: of all vehicles [m]
        :param lengths: of the frames of those that have one to send [ns]
        """
        self._places = dict(places)
        present = [name if name in places else None for name in self._names]
        arrivals = [
            phase if name in lengths else -1
            for name, phase in zip(self._names, self._phases, strict=True)
        ]
        loud = self._others_are_heard
        hears = [
            [self._hears(name, other) for other in present] + [loud] * self._others
            for name in present
        ]
        for _ in range(self._others):
            ready = round(self._other_stations.uniform() * self._period)
            arrivals.append(ready if self._other_stations.bernoulli(self._other_share) else -1)
            hears.append([loud] * len(present) + [True] * self._others)
        usual = self._radio.frame_ns
        times = [lengths.get(name, usual) for name in self._names] + [usual] * self._others
        self._frames = sent_frames(arrivals, hears, times, self._period, self._slots)
        for index, name in enumerate(self._names):
            self.busy[name] = self._busy_share(hears[index], index)

    def reception(self, sender: str, receiver: str) -> float:
        """The probability that the frame of this period arrives; 0 if it was not sent."""
        number = self._names.index(sender)
        own = next((frame for frame in self._frames if frame.station == number), None)
        if own is None or receiver not in self._places:
            return 0.0
        others = 0.0
        for frame in self._frames:
            if frame.station != number and frame.begin < own.end and own.begin < frame.end:
                if frame.station >= len(self._names):
                    others += self._other_power
                elif self._names[frame.station] == receiver:
                    return 0.0
                else:
                    others += self._power(self._names[frame.station], receiver)
        return self._radio.reception(self._power(sender, receiver), others)

    def _power(self, sender: str, receiver: str) -> float:
        return self._radio.mean_power(sqrt(self._square(sender, receiver)))

    def _hears(self, sender: str | None, receiver: str | None) -> bool:
        if sender is None or receiver is None:
            return False
        return self._square(sender, receiver) <= self._hearing_square

    def _square(self, one: str, other: str) -> float:
        x, y = self._places[one]
        u, v = self._places[other]
        return (u - x) * (u - x) + (v - y) * (v - y)

    def _busy_share(self, hears: Sequence[bool], number: int) -> float:
        """The share of the period in which a station hears a frame, its own ones too."""
        busy = until = 0
        for frame in self._frames:
            if hears[frame.station] or frame.station == number:
                begin, end = max(frame.begin, until), min(frame.end, self._period)
                busy += max(0, end - begin)
                until = max(until, end)
        return busy / self._period
