# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What led to a message of a run: what sent it, and what that activation had read.

A bag holds messages, not activations. Which of them an activation read follows from the wiring
of the scenario and from its time, as ``docs/clock.md`` states: an input holds the newest message
stamped at or before that time, or before it if the input is delayed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.random_streams import LatencyDistribution
from ros2_cosim.core.kernel.unsynchronised import received_port
from ros2_cosim.core.record.bag_metadata import BAG, METADATA_FILE, mcap_path
from ros2_cosim.core.record.comparison import Comparison, Difference, in_order
from ros2_cosim.core.record.results import ACTIVATIONS_FILE, load_activations
from ros2_cosim.core.scenario.changes_by_hand import with_recorded_changes
from ros2_cosim.core.scenario.declaration import declare_all
from ros2_cosim.core.scenario.held_ports import LOOPBACK, address_of
from ros2_cosim.core.scenario.schema import Scenario, load_scenario
from ros2_cosim.core.scenario.system import with_declared_outputs


@dataclass(frozen=True)
class RunRecording:
    """A bag, and what the directory of its run says about it.

    :ivar scenario: None for a bag without a run
    :ivar activations: participant -> times of its first activations [ns]
    """

    path: Path
    bag: Path
    scenario: Scenario | None
    activations: Mapping[str, Sequence[int]]


class InputRead(NamedTuple):
    """An input of an activation, and the newest message that it had read.

    :ivar participant: which has sent the message
    :ivar a_ns: its stamp in the first run [ns]; None: there was none yet
    :ivar b_ns: its stamp in the second run
    :ivar equal: whether it was the same message, and equal
    """

    port: str
    topic: str
    participant: str
    a_ns: int | None
    b_ns: int | None
    equal: bool


class Cause(NamedTuple):
    """Where a message that differs comes from.

    :ivar participant: which has sent it, on ``port``; None for a bag without a run
    :ivar activation_ns: when that was; None where it does not follow from the stamp, for the
        latency of the port is drawn: then the inputs are those at the latest time possible
    """

    difference: Difference
    participant: str | None
    port: str | None
    activation_ns: int | None
    inputs: tuple[InputRead, ...]


def find_recording(path: Path) -> RunRecording:
    """The recording in the directory of a run, or the bag in its own directory.

    :raises ConfigurationError: there is neither
    """
    if not path.exists():
        raise ConfigurationError(f"no run and no bag at {path}: there is no such directory")
    if not path.is_dir():
        raise ConfigurationError(
            f"no run and no bag at {path}: found a file; allowed is the directory of a run, or "
            "that of a bag"
        )
    if (path / METADATA_FILE).is_file() or mcap_path(path).is_file():
        return RunRecording(path, path, None, {})
    scenario = path / RESOLVED_SCENARIO
    if not (path / BAG).is_dir():
        run = scenario.is_file()
        raise ConfigurationError(
            f"no bag at {path}: "
            + (
                f"the run has no {BAG}/; was it made with --no-bag?"
                if run
                else f"neither {BAG}/ nor {METADATA_FILE} is there"
            )
        )
    return RunRecording(
        path,
        path / BAG,
        with_recorded_changes(load_scenario(scenario), path) if scenario.is_file() else None,
        load_activations(path / ACTIVATIONS_FILE),
    )


def trace_causes(
    comparison: Comparison, a: RunRecording, b: RunRecording
) -> tuple[Cause, Cause] | None:
    """The first difference, and the one where it began; None if nothing differs.

    Messages with the stamp of the first may differ because another one does. It began with the
    first of them whose inputs were all equal.

    :raises ConfigurationError, ProtocolError: as :func:`~.bag_reader.read_bag`
    """
    if comparison.first is None:
        return None
    causes = _causes(comparison.at_first, a, b)
    began = (cause for cause in causes if all(found.equal for found in cause.inputs))
    return causes[0], next(began, causes[0])


class _Question(NamedTuple):
    """Which message of a topic is the newest that is stamped at or before a time."""

    topic: str
    limit: int


class _Wire(NamedTuple):
    """A source of an input: the topic, which participant writes it, and up to when it is read."""

    port: str
    question: _Question
    participant: str


def _causes(differences: Sequence[Difference], a: RunRecording, b: RunRecording) -> list[Cause]:
    """Where messages come from that have the stamp of the first difference."""
    time = differences[0].time_ns
    senders = [_sender(each, a, b) for each in differences]
    wires = [
        [] if sender is None else list(_wires(sender, each.time_ns))
        for sender, each in zip(senders, differences, strict=True)
    ]
    questions = {wire.question for some in wires for wire in some}
    in_a, in_b = (_answers(recording.bag, questions, time) for recording in (a, b))
    differing = {each.topic for each in differences}
    causes = []
    for each, sender, some in zip(differences, senders, wires, strict=True):
        inputs = []
        for port, question, participant in some:
            stamps = (in_a[question], in_b[question])
            # Nothing before the time of the first difference differs.
            is_equal = stamps[0] == stamps[1] and not (
                stamps[0] == time and question.topic in differing
            )
            inputs.append(InputRead(port, question.topic, participant, *stamps, is_equal))
        if sender is None:
            causes.append(Cause(each, None, None, None, ()))
        else:
            activation = sender.activation_ns
            causes.append(Cause(each, sender.name, sender.port, activation, tuple(inputs)))
    return causes


@dataclass(frozen=True)
class _Sender:
    """The activation that sent a message; its time is known, or has an upper limit."""

    scenario: Scenario
    name: str
    port: str
    activation_ns: int | None
    latest_ns: int


def _sender(difference: Difference, a: RunRecording, b: RunRecording) -> _Sender | None:
    for recording in (a, b):
        if recording.scenario is not None:
            found = _writer_of(recording.scenario, difference.topic)
            if found is not None:
                return _activation(recording, recording.scenario, *found, difference)
    return None


def _writer_of(scenario: Scenario, topic: str) -> tuple[str, str] | None:
    for name in scenario.participants:
        for port, settings in scenario.outputs_of(name).items():
            if settings.topic == topic:
                return name, port
    return None


def _activation(
    recording: RunRecording, scenario: Scenario, name: str, port: str, difference: Difference
) -> _Sender:
    """When a message was sent, as far as its stamp or its number tells."""
    settings = scenario.outputs_of(name)[port]
    latency = LatencyDistribution.from_spec(settings.latency)
    latest = difference.time_ns - latency.minimum_ns
    time: int | None = None
    handles = any(given.handled for given in scenario.participants[name].inputs.values())
    times = recording.activations.get(name, ())
    if settings.header_stamped:
        pass  # the sender has chosen the stamp
    elif latency.is_constant:
        time = latest
    elif settings.schedule == "every" and not handles and difference.number < len(times):
        time = times[difference.number]
    else:
        first = bisect_left(times, difference.time_ns - latency.maximum_ns)
        behind = bisect_right(times, latest)
        # Only the first activations of a run are recorded: a later one may be missing.
        if behind - first == 1 and behind < len(times):
            time = times[first]
    return _Sender(scenario, name, port, time, latest if time is None else time)


def _wires(sender: _Sender, stamp: int) -> Iterable[_Wire]:
    """The topics that an activation read."""
    for port, given in sender.scenario.participants[sender.name].inputs.items():
        sources = [source.partition(".")[::2] for source in given.source]
        if given.unsynchronised:
            sources = [(sender.name, received_port(port))]
        limit = sender.latest_ns - given.delayed
        for participant, output in sources:
            topic = sender.scenario.outputs_of(participant)[output].topic
            yield _Wire(port, _Question(topic, limit), participant)


def _answers(bag: Path, questions: Iterable[_Question], time: int) -> dict[_Question, int | None]:
    """The stamp of the newest message for each question; None where there is none."""
    found: dict[_Question, int | None] = dict.fromkeys(questions)
    by_topic: dict[str, list[_Question]] = {}
    for question in found:
        by_topic.setdefault(question.topic, []).append(question)
    if by_topic:
        for message in in_order(bag, by_topic, time + 1):
            for question in by_topic[message.topic]:
                if message.stamp <= question.limit:
                    found[question] = message.stamp
    return found


def settings_that_differ(*scenarios: Scenario) -> dict[str, tuple[Any, ...]]:
    """The settings of scenarios that are not all the same, by their path; None: not there.

    Values that a run fills in by itself are not among them: defaults that models declare,
    processes, and where its servers listen.
    """
    found: dict[str, tuple[Any, ...]] = {}
    _collect([_as_meant(scenario) for scenario in scenarios], "", found)
    return found


def _as_meant(scenario: Scenario) -> dict[str, Any]:
    """A scenario as plain data, the same whether a run has filled it in or not."""
    try:
        scenario = with_declared_outputs(scenario)
        companions = {
            name: declaration.needs.companions
            for name, declaration in declare_all(scenario).items()
        }
    except ConfigurationError:  # a model that is not here: the scenarios are compared unchanged
        companions = {}
    data = scenario.model_dump(mode="json")
    del data["base_directory"], data["simulator"]["port"]
    for participant in data["participants"].values():
        del participant["process"]
    for name, found in companions.items():
        for companion in found:
            listening = address_of(companion, data["participants"][name]["parameters"])
            listening.pop("port", None)
            if listening.get("host") == LOOPBACK:
                del listening["host"]
    return data


def _collect(values: Sequence[Any], path: str, found: dict[str, tuple[Any, ...]]) -> None:
    if all(isinstance(value, dict) for value in values):
        for key in dict.fromkeys(key for value in values for key in value):
            place = f"{path}.{key}" if path else key
            _collect([value.get(key) for value in values], place, found)
    elif any(value != values[0] for value in values):
        found[path] = tuple(values)
