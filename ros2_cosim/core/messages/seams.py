# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Seams: standard messages at the ports of models that know this project's records.

A scenario puts a seam on a port by ``as: NAME``. On an input it makes records of what the writer
sends; on an output, which the model does not know, it makes messages of what the model sends on
others of its ports. Names are entry points of the group ``ros2_cosim.seams``.

A seam is part of the participant whose port it is on: it costs no process, no activation and no
delay, and the bag holds the messages as they were sent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.layers import Layer
from ros2_cosim.core.kernel.participant import Sample, Step


class SeamPlace(NamedTuple):
    """Where a seam is: its port, and what is known of the participant.

    ``where`` is how messages call the place; ``source`` the message type that an input seam reads;
    ``outputs`` are the participant's output ports, and ``scene`` is the section of the scenario.
    The frames are those of an output port.
    """

    where: str
    port: str
    source: str
    outputs: Sequence[str]
    scene: Mapping[str, Any]
    frame_id: str = ""
    child_frame_id: str = ""


class NoParameters(Section):
    """A seam without parameters."""


class Seam:
    """What all seams declare.

    ``target_type`` is the message type of the port; ``source_types`` are those that an input seam
    reads, one of them, or those of the outputs that an output seam is made of, in this order.
    """

    Parameters: ClassVar[type[Section]] = NoParameters
    source_types: ClassVar[tuple[str, ...]] = ()
    target_type: ClassVar[str] = ""


class InputSeam(Seam, ABC):
    """Makes what a port takes of messages of another type."""

    #: Whether it looks at what the participant has sent, which a saved state does not hold.
    looks_at_outputs: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, place: SeamPlace, parameters: Any) -> None:
        """Make the seam of one port.

        :raises ConfigurationError: it does not fit the port
        """

    @abstractmethod
    def convert(self, record: Any, sent: Mapping[str, Any]) -> Any:
        """The record of the port; None while there is none.

        :param record: of the message
        :param sent: output port -> what the participant sent last
        """

    def received(self, record: Any, sent: Mapping[str, Any], stamp: int) -> Any:
        """The same, for seams that need to know when.

        :param stamp: time of reception [ns]
        """
        return self.convert(record, sent)


class OutputSeam(Seam, ABC):
    """Makes the messages of a port of what the model sends on others."""

    #: Whether a message depends on those before, which a saved state does not hold.
    has_state: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, place: SeamPlace, parameters: Any) -> None:
        """Make the seam of one port.

        :raises ConfigurationError: it does not fit the port
        """

    @abstractmethod
    def convert(self, time: int, *records: Any) -> Any:
        """The record, or RawMessage, of the port.

        :param time: of the activation [ns]
        :param records: those of the outputs that it is made of
        """


class MadeOutput(NamedTuple):
    """An output port with a seam, and the ports that it is made of."""

    port: str
    seam: OutputSeam
    of: tuple[str, ...]


class Seams(Layer):
    """The seams on the ports of a model.

    :param inputs: input port -> seam
    :param outputs: the ports that the model does not know
    """

    def __init__(self, inputs: Mapping[str, InputSeam], outputs: Sequence[MadeOutput]) -> None:
        self._inputs = dict(inputs)
        self._outputs = tuple(outputs)
        self._sent: dict[str, Any] = {}
        looks = any(seam.looks_at_outputs for seam in inputs.values())
        if looks or any(made.seam.has_state for made in outputs):
            self.unsaved = ""

    def read(self, step: Step) -> Step:
        """Records of what the writers send."""
        if not self._inputs:
            return step
        samples, latest = dict(step.samples), dict(step.latest)
        for port, seam in self._inputs.items():
            if port in samples:
                made = (self._made(seam, sample) for sample in samples[port])
                samples[port] = tuple(sample for sample in made if sample is not None)
            newest = latest.get(port)
            if newest is not None:
                latest[port] = self._made(seam, newest)
        return Step(step.time, samples, latest)

    def sent(self, time: int, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the model sends, and what the seams make of it."""
        self._sent.update(values)
        if not self._outputs:
            return values
        complete = dict(values)
        for port, seam, of in self._outputs:
            records = [values.get(source) for source in of]
            if None not in records:
                complete[port] = seam.convert(time, *records)
        return complete

    def _made(self, seam: InputSeam, sample: Sample) -> Sample | None:
        value = seam.received(sample.value, self._sent, sample.stamp)
        return None if value is None else Sample(sample.stamp, sample.seq, value)
