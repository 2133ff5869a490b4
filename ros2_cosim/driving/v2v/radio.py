# Copyright 2026 ros2_cosim contributors
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

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section, Whole
from ros2_cosim.core.kernel.exactmath import PI, exp, log, sqrt
from ros2_cosim.core.kernel.random_streams import RandomStream
from ros2_cosim.driving.v2v.congestion import SaturatedStations
from ros2_cosim.driving.v2v.contention import (
    AIFS_NS,
    Attempt,
    Category,
    RadioFrame,
    attempt,
    sent_frames,
)

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

#: Largest error of a clock [1] (class estimate: what IEEE 802.11 allows a transmitter is 20 ppm).
_CLOCK: Final = 20e-6
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
    security: Whole = Field(
        default=0,
        ge=0,
        le=1500,
        description="signature and what belongs to it (ETSI TS 103 097), in each CAM, DENM and "
        "message of a manoeuvre; 93 with a digest of the certificate (class estimate) [byte]",
    )
    others: Whole = Field(
        default=0,
        ge=0,
        le=1000,
        description="further stations, which all vehicles hear as from others_distance",
    )
    others_rate: Annotated[Number, Field(gt=0, le=50)] | Literal["saturated"] = Field(
        default=10.0,
        description="beacons of each of them [1/s]; saturated: they always have one, and send it "
        "when adaptive congestion control lets them",
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


class SharedChannel:
    """All stations of one channel: which link carries a frame, beacon period by beacon period.

    :param settings: of radio and load
    :param names: of the vehicles that send
    :param period_ns: between two beacons of a vehicle
    :param stream: gives the random stream of a name

    :ivar busy: share of the time in which the channel was busy in the last period, as each vehicle
        that sends has heard it [1]
    :ivar saturated: the other stations, if they always have a frame
    :ivar others_busy: as ``busy``, heard by a saturated one [1]
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
        self._other_power = self._radio.mean_power(settings.others_distance)
        distance = self._radio.hearing_distance()
        self._hearing_square = distance * distance
        self._others_are_heard = settings.others_distance <= distance
        self.busy: dict[str, float] = dict.fromkeys(names, 0.0)
        self.others_busy = 0.0
        self._frames: list[RadioFrame] = []
        #: Of each station, the number of the vehicle or of the other station that it belongs to.
        self._owners: list[int] = []
        #: Of the period before: frames that last into this one, and saturated stations that wait.
        self._before: list[RadioFrame] = []
        self._waiting: list[Attempt] = []
        self._places: dict[str, Place] = {}
        self._now = 0
        self.saturated: SaturatedStations | None = None
        self._other_share = 0.0
        if isinstance(settings.others_rate, str):
            # They come up at their own times within the first second.
            draws = self._other_stations
            opens = [round(draws.uniform() * 1e9) for _ in range(self._others)]
            clocks = [(2.0 * draws.uniform() - 1.0) * _CLOCK for _ in range(self._others)]
            self.saturated = SaturatedStations(opens, clocks, self._radio.frame_ns, period_ns)
        else:
            self._other_share = min(1.0, settings.others_rate * period_ns * 1e-9)

    def begin(
        self,
        places: Mapping[str, Place],
        lengths: Mapping[str, int],
        more: Sequence[tuple[str, int, Category]] = (),
    ) -> None:
        """A new period.

        :param places: of all vehicles [m]
        :param lengths: of the frames of those that have one to send [ns]
        :param more: further frames: the sender of each, its length [ns] and its access category
        """
        # Of a frame that lasts into this period, the sender is of interest and no longer the queue.
        self._before = [
            RadioFrame(self._owners[f.station], f.begin - self._period, f.end - self._period)
            for f in (*self._before, *self._frames)
            if f.end + AIFS_NS > self._period
        ]
        self._places = dict(places)
        number = len(self._names)
        owners = [*range(number + self._others), *(self._names.index(item[0]) for item in more)]
        self._owners = owners
        present = [name if name in places else None for name in self._names]
        attempts = [
            attempt(phase, index, index)
            for index, (name, phase) in enumerate(zip(self._names, self._phases, strict=True))
            if name in lengths
        ]
        for index, (_, _, category) in enumerate(more, start=number + self._others):
            owner = owners[index]
            attempts.append(attempt(self._phases[owner], index, owner, category))
        attempts += self._other_attempts()
        loud = self._others_are_heard
        extra = [self._names[owner] for owner in owners[number + self._others :]]
        of_vehicle = {
            name: [self._hears(name, other) for other in present]
            + [loud] * self._others
            + [self._hears(name, other) for other in extra]
            for name in present
        }
        of_other = [loud] * number + [True] * self._others + [loud] * len(more)
        hears = [of_vehicle[name] for name in present] + [of_other] * self._others
        hears += [of_vehicle[name if name in places else None] for name in extra]
        usual = self._radio.frame_ns
        times = [lengths.get(name, usual) for name in self._names] + [usual] * self._others
        times += [item[1] for item in more]
        self._frames = sent_frames(attempts, hears, times, self._period, self._slots, self._before)
        for index, name in enumerate(self._names):
            self.busy[name] = self._busy_share(hears[index], index)
        self._end(attempts, of_other)

    def _other_attempts(self) -> list[Attempt]:
        """What the other stations want to send."""
        first = len(self._names)
        if self.saturated is not None:
            found = self._waiting
            for station, time in self.saturated.ready(self._now, self._now + self._period):
                found.append(attempt(time - self._now, first + station, first + station))
            return found
        found = []
        for station in range(first, first + self._others):
            ready = round(self._other_stations.uniform() * self._period)
            if self._other_stations.bernoulli(self._other_share):
                found.append(attempt(ready, station, station))
        return found

    def _end(self, attempts: Sequence[Attempt], of_other: Sequence[bool]) -> None:
        """The end of a period: what lasts into the next one."""
        period, first = self._period, len(self._names)
        if self.saturated is not None:
            for frame in self._frames:
                if first <= frame.station < first + self._others:
                    self.saturated.sent(frame.station - first, self._now + frame.begin)
            self.others_busy = self._busy_share(of_other, first)
            self.saturated.hear(self.others_busy, self._now + period)
            self._waiting = [
                item._replace(send=item.send - period, counting=item.counting - period)
                for item in attempts
                if first <= item.station < first + self._others
            ]
        self._now += period

    def reception(self, sender: str, receiver: str, number: int | None = None) -> float:
        """The probability that a frame of this period arrives; 0 if it was not sent.

        :param number: of the frame in ``more`` of ``begin``; None: the beacon
        """
        first = len(self._names) + self._others
        station = self._names.index(sender) if number is None else first + number
        own = next((frame for frame in self._frames if frame.station == station), None)
        if own is None or receiver not in self._places:
            return 0.0
        others = 0.0
        for frame in (*self._before, *self._frames):
            if frame is not own and frame.begin < own.end and own.begin < frame.end:
                owner = self._owners[frame.station]
                if owner >= len(self._names):
                    others += self._other_power
                elif self._names[owner] == receiver:
                    return 0.0
                else:
                    others += self._power(self._names[owner], receiver)
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
        for frame in (*self._before, *self._frames):
            if hears[frame.station] or self._owners[frame.station] == number:
                begin, end = max(frame.begin, until), min(frame.end, self._period)
                busy += max(0, end - begin)
                until = max(until, end)
        return busy / self._period
