# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Control units at a CAN bus: values of messages into signals of frames, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from ros2_cosim.core.documents.settings import Number, Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import FullModel, Model, Port, Traits
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.field_paths import FieldPath, field_path
from ros2_cosim.driving.can.frames import BusFrame
from ros2_cosim.driving.can.made_records import made_record, settable_path
from ros2_cosim.driving.can.messages import CAN_FRAME, frame_of, message_of
from ros2_cosim.driving.can.signals import SignalDatabase

_FRAMES = "frames"


class EncoderParameters(Section):
    """What a control unit sends."""

    database: str = Field(description="file that describes the messages, such as a .dbc")
    send: dict[str, dict[str, str]] = Field(
        description="message -> signal -> input port and path of the value, as "
        "objects.objects[nearest].distance"
    )
    clip: bool = Field(
        default=False,
        description="whether a value outside of its signal's range becomes the nearest inside, "
        "instead of ending the run",
    )


class SignalEncoder(Model):
    """Sends CAN frames made of the newest messages of its inputs.

    Each activation sends each message of the database that ``send`` names on the output of its
    name, once all inputs of its signals have a value.

    :raises ConfigurationError: unknown message, signal, input or path
    """

    Parameters = EncoderParameters
    traits: ClassVar[Traits] = Traits(cost_ns=100_000)
    output_ports: ClassVar[tuple[Port, ...]] = (
        Port("{message}", CAN_FRAME, schedule="sparse", description="frames of a message"),
    )

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: EncoderParameters
    ) -> Mapping[str, Sequence[str]]:
        """The messages that it sends."""
        return {"message": tuple(parameters.send)}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: EncoderParameters) -> None:
        """Check whether database and inputs have what is sent.

        :raises ConfigurationError: one has not
        """
        if context.input_types:
            cls._plan(context, parameters)

    @staticmethod
    def _plan(
        context: ModelContext, parameters: EncoderParameters
    ) -> tuple[SignalDatabase, dict[str, dict[str, tuple[str, FieldPath]]]]:
        database = _database(context, parameters.database)
        plan: dict[str, dict[str, tuple[str, FieldPath]]] = {}
        for message, signals in parameters.send.items():
            where = f"{context.where}.send.{message}"
            database.message(message, signals, where)
            sources = plan[message] = {}
            for signal, text in signals.items():
                port, _, path = text.partition(".")
                if port not in context.input_types:
                    raise ConfigurationError(
                        f"{where}.{signal}: found input '{port}'; there are "
                        f"{', '.join(sorted(context.input_types)) or 'none'}"
                    )
                record = DEFAULT.record(context.input_types[port])
                value = field_path(record, path, f"{where}.{signal}")
                if value.repeated or value.scalar is str:
                    raise ConfigurationError(
                        f"{where}.{signal}: found {text!r}; allowed is a single number"
                    )
                sources[signal] = port, value
        return database, plan

    def __init__(self, context: ModelContext, parameters: EncoderParameters) -> None:
        self._database, self._sources = self._plan(context, parameters)
        self._clip = parameters.clip

    def activate(self, step: Step) -> Mapping[str, Any]:
        """The frames of all messages whose inputs are there."""
        outputs = {}
        for message, sources in self._sources.items():
            samples = {port: step.latest[port] for port, _ in sources.values()}
            if None in samples.values():
                continue
            values = {
                signal: path.read(samples[port].value)  # type: ignore[union-attr]
                for signal, (port, path) in sources.items()
            }
            outputs[message] = message_of(self._database.coded(message, values, clip=self._clip))
        return outputs


class ReceivedMessage(Section):
    """What an output is made of."""

    message: str = Field(description="of the database")
    fields: dict[str, str | bool | Number] = Field(
        description="path in the record of the output -> signal, or a constant"
    )


class DecoderParameters(Section):
    """What a control unit receives."""

    database: str = Field(description="file that describes the messages, such as a .dbc")
    receive: dict[str, ReceivedMessage] = Field(description="output port -> what it is made of")


class SignalDecoder(FullModel):
    """Makes messages of the CAN frames that it receives.

    The input ``frames`` is handled; a frame of one of the messages sends the outputs that are made
    of it at once. Other frames are passed over. An element of a list is there if its ``valid`` is.

    :raises ConfigurationError: unknown message, signal, output or path
    """

    Parameters = DecoderParameters
    traits: ClassVar[Traits] = Traits(cost_ns=100_000)
    input_ports: ClassVar[tuple[Port, ...]] = (
        Port(_FRAMES, CAN_FRAME, description="handled: of the bus"),
    )
    output_ports: ClassVar[tuple[Port, ...]] = (
        Port("{output}", schedule="sparse", description="of any type, made of a message"),
    )
    other_ports = False

    @classmethod
    def port_names(
        cls, context: ModelContext, parameters: DecoderParameters
    ) -> Mapping[str, Sequence[str]]:
        """The outputs."""
        return {"output": tuple(parameters.receive)}

    @classmethod
    def check_settings(cls, context: ModelContext, parameters: DecoderParameters) -> None:
        """Check whether database and outputs have what is received.

        :raises ConfigurationError: one has not
        """
        if context.output_types:
            cls._plan(context, parameters)

    @staticmethod
    def _plan(
        context: ModelContext, parameters: DecoderParameters
    ) -> tuple[SignalDatabase, dict[tuple[int, bool], list[_Made]]]:
        database = _database(context, parameters.database)
        plan: dict[tuple[int, bool], list[_Made]] = {}
        for port, received in parameters.receive.items():
            where = f"{context.where}.receive.{port}"
            signals = [name for name in received.fields.values() if isinstance(name, str)]
            message = database.message(received.message, signals, f"{where}.message")
            if port not in context.output_types:
                raise ConfigurationError(
                    f"{where}: found no output '{port}'; there are "
                    f"{', '.join(sorted(context.output_types)) or 'none'}"
                )
            record = DEFAULT.record(context.output_types[port])
            fields = {
                path: (settable_path(record, path, f"{where}.fields").scalar, source)
                for path, source in received.fields.items()
            }
            key = message.frame_id, message.is_extended_frame
            plan.setdefault(key, []).append(_Made(port, received.message, record, fields))
        return database, plan

    def __init__(self, context: ModelContext, parameters: DecoderParameters) -> None:
        self._database, self._made = self._plan(context, parameters)

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Nothing: all that it does is to handle frames."""
        return {}

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        """The outputs that are made of a frame."""
        outputs = {}
        for sample in step.samples[port]:
            frame = frame_of(sample.value)
            if not frame.remote:
                for made in self._made.get((frame.id, frame.extended), ()):
                    outputs[made.port] = made.of(frame, self._database)
        return outputs

    def save_state(self) -> Any:
        """Nothing: it keeps nothing between two frames."""
        return []


class _Made:
    """One output that is made of a message."""

    def __init__(
        self, port: str, message: str, record: type, fields: Mapping[str, tuple[type, Any]]
    ) -> None:
        self.port = port
        self._message = message
        self._record = record
        self._fields = fields

    def of(self, frame: BusFrame, database: SignalDatabase) -> Any:
        """The record of a frame."""
        signals = database.decoded(self._message, frame)
        return made_record(
            self._record,
            {
                path: scalar(signals[source] if isinstance(source, str) else source)
                for path, (scalar, source) in self._fields.items()
            },
        )


def _database(context: ModelContext, name: str) -> SignalDatabase:
    return SignalDatabase(context.base_directory / name, f"{context.where}.database")
