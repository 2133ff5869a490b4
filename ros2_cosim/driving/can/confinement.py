# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Error counters of a controller: error active, error passive, bus off, and the way back.

Rules: modelica/fmi-ls-bus-guides, commit b6de1af4, ls-bus-guide/4_network_abstraction.adoc. Of the
values that it allows a receive counter above 127 falls to 127. The way back from bus off, 128 times
11 recessive bits, is that of ISO 11898-1 (class estimate: the standard was not seen).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

PASSIVE_FROM: Final = 128
BUS_OFF_FROM: Final = 256
#: Recessive sequences after which a controller that is bus off takes part again, and their bits.
SEQUENCES: Final = 128
SEQUENCE_BITS: Final = 11
_SENDER_ERROR = _PRIMARY_ERROR = 8


class ErrorState(IntEnum):
    """What a controller may do, with the numbers of FMI-LS-BUS."""

    ACTIVE = 1
    PASSIVE = 2
    BUS_OFF = 3


class FrameError(IntEnum):
    """What was wrong, with the numbers of FMI-LS-BUS."""

    NONE = 0
    BIT = 1
    STUFF = 2
    FORM = 3
    CRC = 4
    ACKNOWLEDGE = 5


class Confinement:
    """The counters of one controller, and the state that follows from them."""

    def __init__(self) -> None:
        self.transmit_errors = 0
        self.receive_errors = 0
        self.state = ErrorState.ACTIVE

    def sent(self) -> None:
        """A frame of its own has arrived."""
        self.transmit_errors = max(self.transmit_errors - 1, 0)
        self._judge()

    def received(self) -> None:
        """A frame of another one has arrived."""
        self.receive_errors = min(max(self.receive_errors - 1, 0), PASSIVE_FROM - 1)
        self._judge()

    def failed(self, code: FrameError, *, sender: bool, primary: bool) -> None:
        """A frame was destroyed.

        :param sender: it was its own
        :param primary: it noticed the error first
        """
        if sender:
            if self.state is not ErrorState.PASSIVE or code is not FrameError.ACKNOWLEDGE:
                self.transmit_errors += _SENDER_ERROR
        else:
            more = _PRIMARY_ERROR if primary else 1
            self.receive_errors = min(self.receive_errors + more, BUS_OFF_FROM - 1)
        self._judge()

    def reset(self) -> None:
        """Begin anew."""
        self.transmit_errors = self.receive_errors = 0
        self.state = ErrorState.ACTIVE

    def _judge(self) -> None:
        if self.state is ErrorState.BUS_OFF or self.transmit_errors >= BUS_OFF_FROM:
            self.state = ErrorState.BUS_OFF
        elif max(self.transmit_errors, self.receive_errors) >= PASSIVE_FROM:
            self.state = ErrorState.PASSIVE
        else:
            self.state = ErrorState.ACTIVE


class ReportedState(Confinement):
    """A controller that counts by itself, and says what its state is."""

    def sent(self) -> None:
        """It counts."""

    def received(self) -> None:
        """It counts."""

    def failed(self, code: FrameError, *, sender: bool, primary: bool) -> None:
        """It counts."""
