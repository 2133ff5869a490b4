# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A gateway from a simulated bus to one of python-can: SocketCAN, UDP, hardware, virtual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from pydantic import Field

from ros2_cosim.core.documents.extras import need_extra
from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.documents.settings import Section, Whole
from ros2_cosim.core.kernel.errors import ConfigurationError, ModelError
from ros2_cosim.core.kernel.model import FullModel, Port, Repeatability, Report, Traits
from ros2_cosim.core.kernel.participant import Host, ModelContext, Step
from ros2_cosim.driving.can.frames import FD_LENGTHS, BusFrame
from ros2_cosim.driving.can.messages import CAN_FRAME, frame_of, message_of

#: Frames that are taken in at one activation; the others wait in the driver.
_MOST: Final = 1000


class GatewayParameters(Section):
    """Which bus of python-can."""

    interface: str = Field(description="of python-can, such as socketcan, udp_multicast, virtual")
    channel: str | Whole = Field(description="of that interface, such as can0")
    options: dict[str, str | bool | int | float] = Field(
        default_factory=dict, description="further arguments of that interface, such as fd: true"
    )


class CanGateway(FullModel):
    """Frames of the run to a bus of python-can, and back, in a run that keeps up with the clock.

    It sends each message of the input ``frames`` (handled) at once. Frames that others have sent
    come out at the next activation. Run it in real time (``rate``). It is not repeatable.

    :raises ConfigurationError: the interface is not there, or cannot be opened
    """

    Parameters = GatewayParameters
    traits: ClassVar[Traits] = Traits(repeatable=Repeatability.NO)
    input_ports: ClassVar[tuple[Port, ...]] = (
        Port("frames", CAN_FRAME, required=False, description="handled: to be sent"),
    )
    output_ports: ClassVar[tuple[Port, ...]] = (
        Port("frames", CAN_FRAME, required=False, schedule="sparse", description="of others"),
    )
    other_ports = False

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: GatewayParameters) -> None:
        """Check whether python-can is there, and knows the interface.

        :raises ConfigurationError: it is not, or does not
        """
        need_extra("can", ("can",), context.where)
        from can.interfaces import VALID_INTERFACES

        if parameters.interface not in VALID_INTERFACES:
            raise ConfigurationError(
                f"{context.where}.interface: found '{parameters.interface}'; allowed are "
                + ", ".join(sorted(VALID_INTERFACES))
            )

    def __init__(self, context: ModelContext, parameters: GatewayParameters) -> None:
        self.check_settings(context, parameters)
        import can

        self._sends = "frames" in context.output_types
        self._host: Host | None = None
        self._sent = self._received = 0
        try:
            self._bus: Any = can.Bus(
                interface=parameters.interface,
                channel=parameters.channel,
                **parameters.options,
            )
        except Exception as error:  # of any driver
            raise ConfigurationError(
                f"{context.where}: interface '{parameters.interface}', channel "
                f"'{parameters.channel}': {one_line(error)}"
            ) from None

    def attach(self, host: Host) -> None:
        """Frames that have arrived together leave together."""
        self._host = host

    def activate(self, step: Step) -> Mapping[str, Any]:
        """What others have sent by now; frames that report errors are passed over."""
        assert self._host is not None and self._host.send is not None
        for _ in range(_MOST):
            message = self._called(self._bus.recv, 0)
            if message is None:
                break
            if self._sends and not message.is_error_frame:
                self._host.send("frames", message_of(frame_of_message(message)))
                self._received += 1
        return {}

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        """Send a frame."""
        for sample in step.samples[port]:
            self._called(self._bus.send, message_of_frame(frame_of(sample.value)))
            self._sent += 1
        return {}

    def report(self) -> Report:
        """Frames that were sent and received; another run may have others."""
        return Report(
            {"sent": self._sent, "received": self._received},
            not_repeatable=(0, "a bus outside of the run"),
        )

    def close(self) -> None:
        """Close the bus."""
        self._bus.shutdown()

    @staticmethod
    def _called(call: Any, *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except Exception as error:  # of any driver
            raise ModelError(f"the bus of python-can: {one_line(error)}") from None


def message_of_frame(frame: BusFrame, stamp_ns: int = 0, *, channel: str | None = None) -> Any:
    """A frame as python-can has it, received at a time."""
    import can

    return can.Message(
        timestamp=stamp_ns / 1e9,
        arbitration_id=frame.id,
        is_extended_id=frame.extended,
        is_remote_frame=frame.remote,
        is_fd=frame.fd,
        bitrate_switch=frame.bit_rate_switch,
        error_state_indicator=frame.error_passive,
        dlc=frame.requested if frame.remote else len(frame.data),
        data=None if frame.remote else frame.data,
        channel=channel,
    )


def frame_of_message(message: Any) -> BusFrame:
    """A frame of python-can."""
    remote = bool(message.is_remote_frame)
    data = b"" if remote else bytes(message.data)
    if message.is_fd:
        longer = next(length for length in FD_LENGTHS if length >= len(data))
        data = data.ljust(longer, b"\0")
    return BusFrame(
        message.arbitration_id,
        message.is_extended_id,
        remote,
        message.is_fd,
        message.bitrate_switch,
        message.error_state_indicator,
        data,
        message.dlc if remote else 0,
    )
