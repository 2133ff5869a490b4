# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages of a DBC file: values of signals into the bytes of frames and back (extra ``can``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from ros2_cosim.core.documents.extras import need_extra
from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.driving.can.frames import BusFrame, check_frame

Value = bool | int | float


class SignalDatabase:
    """The messages of one file.

    :param path: a file that cantools reads (``.dbc``, ``.kcd``, ``.sym``, ``.arxml``)
    :param where: the place that names it, for messages
    :raises ConfigurationError: no such file, or not understood; the extra is not installed
    """

    def __init__(self, path: Path, where: str) -> None:
        need_extra("can", ("cantools",), f"{where}: a database of CAN messages")
        self.path = path
        self._where = where
        self._messages = _read(path, where)

    def message(self, name: str, signals: Iterable[str], where: str) -> Any:
        """A message that has these signals.

        :raises ConfigurationError: it is not there, or has others
        """
        message = self._messages.get(name)
        if message is None:
            raise ConfigurationError(
                f"{where}: found message '{name}'; {self.path.name} has "
                f"{', '.join(sorted(self._messages))}"
            )
        known = [signal.name for signal in message.signals]
        for signal in signals:
            if signal not in known:
                raise ConfigurationError(
                    f"{where}: found signal '{signal}'; message '{name}' of {self.path.name} has "
                    f"{', '.join(known) or 'none'}"
                )
        return message

    def coded(self, name: str, values: Mapping[str, Value], *, clip: bool) -> BusFrame:
        """The frame of a message; signals that have no value get their initial one, or 0.

        :param clip: whether a value outside of its signal's range becomes the nearest inside
        :raises ConfigurationError: a value does not fit its signal
        """
        message = self._messages[name]
        given: dict[str, Value] = {}
        for signal in message.signals:
            value = values.get(signal.name)
            if value is None:
                value = 0 if signal.initial is None else signal.initial
            else:
                value = self._inside(name, signal, value, clip)
            given[signal.name] = value
        try:
            data = message.encode(given, strict=False)
        except Exception as error:  # of several libraries
            reason = " ".join(str(error).split())
            raise ConfigurationError(
                f"{self._where}: message '{name}' of {self.path.name}: {reason}"
            ) from None
        frame = BusFrame(
            message.frame_id,
            message.is_extended_frame,
            fd=message.is_fd,
            bit_rate_switch=message.is_fd,
            data=bytes(data),
        )
        check_frame(frame, f"{self._where}: message '{name}' of {self.path.name}")
        return frame

    def _inside(self, name: str, signal: Any, value: Value, clip: bool) -> Value:
        lowest, highest = _range(signal)
        if lowest <= value <= highest:
            return value
        if not clip or value != value:
            raise ConfigurationError(
                f"{self._where}: signal '{signal.name}' of message '{name}': found {value}; allowed"
                f" is {lowest} to {highest}"
            )
        return lowest if value < lowest else highest

    def decoded(self, name: str, frame: BusFrame) -> Mapping[str, Value]:
        """The values of all signals of a message.

        :raises ConfigurationError: the frame is too short
        """
        message = self._messages[name]
        try:
            values: Mapping[str, Value] = message.decode(frame.data, decode_choices=False)
        except Exception as error:  # of several libraries
            reason = " ".join(str(error).split())
            raise ConfigurationError(
                f"{self._where}: found a frame of {len(frame.data)} bytes for message '{name}' of "
                f"{self.path.name}, which has {message.length}: {reason}"
            ) from None
        return values


def _range(signal: Any) -> tuple[float, float]:
    """Values that a signal can have: what the file says, within what its bits can say."""
    if signal.is_float:
        lowest, highest = float("-inf"), float("inf")
    else:
        raw = (1 << signal.length) - 1
        least, most = (-(raw + 1) // 2, raw // 2) if signal.is_signed else (0, raw)
        ends = least * signal.scale + signal.offset, most * signal.scale + signal.offset
        lowest, highest = min(ends), max(ends)
    if signal.minimum is not None:
        lowest = max(lowest, signal.minimum)
    if signal.maximum is not None:
        highest = min(highest, signal.maximum)
    return lowest, highest


@lru_cache(maxsize=8)
def _read(path: Path, where: str) -> Mapping[str, Any]:
    import cantools

    try:
        database = cantools.database.load_file(path)
        return {message.name: message for message in database.messages}
    except OSError as error:
        raise ConfigurationError(f"{where}: found '{path}': {cause_of(error)}") from None
    except Exception as error:  # of several libraries
        reason = " ".join(str(error).split())
        raise ConfigurationError(
            f"{where}: found '{path}', which is not a database of CAN messages: {reason[:200]}"
        ) from None
