# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A recording as a participant: it sends what was recorded, at the recorded stamps.

Around a participant that needs its own processes, as a foreign node does, it stands for all
others: the node gets recorded inputs as it gets those of a run, in exact order, at any rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.model import FullModel, Traits
from ros2_cosim.core.kernel.participant import Host, ModelContext, Step
from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.core.messages.cdr import WireCodec
from ros2_cosim.core.messages.wiring import wire_codec
from ros2_cosim.core.record.bag_reader import topic_types
from ros2_cosim.core.record.comparison import PlacedMessage, in_order
from ros2_cosim.core.scenario.changes import target_of
from ros2_cosim.core.scenario.schema import ParticipantSettings, Scenario

#: The participant that plays the recording.
RECORDING = "recording"


class RecordingFeed(FullModel):
    """Sends recorded messages at their stamps, on a port for each topic.

    :param messages: in the order of their stamps
    :param codecs: topic -> codec of the port
    """

    def __init__(self, messages: Iterator[PlacedMessage], codecs: Mapping[str, WireCodec]) -> None:
        self._messages = messages
        self._codecs = codecs
        self._send: Any = None
        self._next = next(messages, None)

    @property
    def first_ns(self) -> int:
        """Stamp of the first message [ns]."""
        return FOREVER if self._next is None else self._next.stamp

    def attach(self, host: Host) -> None:
        """Send by the host: a port may have several messages with one stamp."""
        self._send = host.send

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Send what has this stamp."""
        while self._next is not None and self._next.stamp == step.time:
            self._send(self._next.topic, self._codecs[self._next.topic].value(self._next.data))
            self._next = next(self._messages, None)
        self.next_time = self.first_ns
        return {}


class RecordingParameters(Section):
    """Parameters of the model: the directory of the bag."""

    bag: str


class RecordingPlayer(RecordingFeed):
    """The same as the participant of a scenario, whose output ports have the names of topics."""

    Parameters: ClassVar[Any] = RecordingParameters
    traits = Traits(needs_graph=True)

    def __init__(self, context: ModelContext, parameters: RecordingParameters) -> None:
        assert context.graph is not None
        outputs = context.graph.participants[context.name].outputs
        codecs = {port.name: wire_codec(port) for port in outputs}
        super().__init__(in_order(Path(parameters.bag), codecs), codecs)


def with_recording(
    scenario: Scenario, bag: Path, into: Sequence[str], duration_ns: int
) -> Scenario:
    """A scenario in which a recording takes the place of all participants but some.

    :param bag: of the recording
    :param into: the participants that stay
    :param duration_ns: how long the recording is
    :raises ConfigurationError: one of them cannot stay
    """
    recorded = topic_types(bag).keys()
    played = {
        f"{name}.{key}": output.model_copy(
            # Stamps and numbers are those of the recording, whatever came late or not at all.
            update={
                "latency": 0,
                "schedule": "sparse",
                "header_stamped": False,
                "seam": None,
                "of": (),
            }
        )
        for name in scenario.participants
        if name not in into
        for key, output in scenario.participants[name].outputs.items()
        if output.topic in recorded
    }
    first = next(in_order(bag, {output.topic: None for output in played.values()}), None)
    player = ParticipantSettings.model_validate(
        {
            "model": f"{__name__}:{RecordingPlayer.__name__}",
            "parameters": {"bag": str(bag.absolute())},
            "period": duration_ns,
            "offset": duration_ns - 1 if first is None else first.stamp,
            "dynamic_step": True,
        }
    ).model_copy(update={"outputs": {output.topic: output for output in played.values()}})
    recording = RECORDING
    while recording in into:
        recording += "_"
    participants = {recording: player}
    for name in into:
        settings = scenario.participants[name]
        inputs = {}
        for key, port in settings.inputs.items():
            where = f"--into {name}: its input '{key}'"
            if port.unsynchronised is not None:
                raise ConfigurationError(
                    f"{where} is unsynchronised; a participant that needs its own processes can "
                    f"have only synchronised inputs"
                )
            for source in port.source:
                if source not in played:
                    raise ConfigurationError(
                        f"{where} reads '{source}', which is not in {bag}, or is sent by another "
                        "participant of --into; replay them one at a time"
                    )
            sources = tuple(f"{recording}.{played[source].topic}" for source in port.source)
            inputs[key] = port.model_copy(update={"source": sources})
        participants[name] = settings.model_copy(update={"inputs": inputs, "host": None})
    return scenario.model_copy(
        update={
            "participants": participants,
            "duration": duration_ns,
            "hosts": {},
            "external": None,
            "faults": {
                name: fault for name, fault in scenario.faults.items() if fault.participant in into
            },
            "changes": tuple(c for c in scenario.changes if target_of(scenario, c.set) in into),
        }
    )
