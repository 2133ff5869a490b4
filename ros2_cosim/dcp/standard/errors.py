# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Errors of the DCP room: one line that names slave, state, PDU and error code."""

from __future__ import annotations

from ros2_cosim.core.kernel.errors import ConfigurationError, ConnectionFailedError, ProtocolError


class DescriptionError(ConfigurationError):
    """A slave description (.dcpx) or package (.dcp) is not valid; the text says where."""


class WiringError(ConfigurationError):
    """The wiring of a co-simulation does not fit the slaves (names, types, units)."""


class CaptureError(ConfigurationError):
    """A capture file or a network interface cannot be read; the text names it."""


class DcpError(ProtocolError):
    """A slave refused a request or went to its error state.

    :ivar slave: name of the slave, ``""`` when none is concerned
    :ivar code: number of the DCP error code, 0 when there is none
    """

    def __init__(self, message: str, *, slave: str = "", code: int = 0) -> None:
        super().__init__(message)
        self.slave = slave
        self.code = code


class DcpTimeoutError(DcpError):
    """A slave did not do in time what was waited for."""


class DcpPeerLostError(DcpError, ConnectionFailedError):
    """The other side cannot be reached or closed its connection."""


class PduError(ProtocolError):
    """Bytes that are not a PDU of the standard: unknown type or wrong length."""


class SlaveFault(ProtocolError):
    """Raised by a model's callback to enter the error state with its own code.

    :param code: error code reported by RSP_error_ack (0x5000-0x5FFF are free for own use)
    """

    def __init__(self, message: str, code: int = 0x1001) -> None:
        super().__init__(message)
        self.code = code
