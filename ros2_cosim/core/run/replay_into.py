# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Replay of a bag into participants: recorded inputs in their exact order, outputs compared.

All topics of the recording are played by one participant, :class:`RecordingFeed`, at their stamps.
The participants under test read it instead of their writers, each other's included, and are
activated by the scheduler of a run: what they read, and when, is what they would have read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol

from typing_extensions import Self

from ros2_cosim.core.documents.run_files import RESOLVED_SCENARIO
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.graph import Connection, Graph, Latency, OutputPort, ParticipantSpec
from ros2_cosim.core.kernel.lifecycle import Operation
from ros2_cosim.core.kernel.lifecycle_group import LifecycleGroup
from ros2_cosim.core.kernel.model import FullModel
from ros2_cosim.core.kernel.participant import Sample
from ros2_cosim.core.kernel.sequential import MessageObserver, SequentialScheduler
from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.core.kernel.unsynchronised import received_port
from ros2_cosim.core.messages.catalogue import DEFAULT
from ros2_cosim.core.messages.cdr import WireCodec
from ros2_cosim.core.messages.raw import CARRIER_TYPE, CarrierCodec
from ros2_cosim.core.messages.wiring import edge_topic, wire_codec
from ros2_cosim.core.realtime.local_host import local_host
from ros2_cosim.core.record.bag import BagWriter
from ros2_cosim.core.record.bag_metadata import BAG, BagTopic
from ros2_cosim.core.record.bag_reader import read_bag, topic_types
from ros2_cosim.core.record.causes import find_recording
from ros2_cosim.core.record.comparison import Rules, in_order
from ros2_cosim.core.record.known_types import check_definitions
from ros2_cosim.core.record.results import REPORT_FILE, open_bag
from ros2_cosim.core.record.run_comparison import RunComparison, compare_recordings
from ros2_cosim.core.record.summary import SUMMARY_FILE, read_summary
from ros2_cosim.core.run.output_directory import OutputDirectory
from ros2_cosim.core.run.recording_player import RecordingFeed, with_recording
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.run.supervised import supervised
from ros2_cosim.core.scenario.adjust import adjusted
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scenario.schema import Scenario, load_scenario, save_scenario
from ros2_cosim.core.scenario.system import build_graph, build_model

#: The participant that plays the recording; no name of a scenario has such a letter.
PLAYER = "Recording"
#: The recording of others, ordered by the stamps that count, below the output directory.
ORDERED = "recorded"
#: Messages are played in stretches of simulated time [ns], so that memory is bounded.
_SLICE_NS = 1_000_000_000


class Source(NamedTuple):
    """What is replayed.

    :ivar directory: of a run or a bag, as :func:`~.record.causes.find_recording` takes it
    :ivar notes: sentences about what the recording does not tell
    """

    directory: Path
    scenario: Scenario
    end_ns: int
    notes: tuple[str, ...] = ()


class NodesReplay(Protocol):
    """Plays topics of a bag to nodes that run already, and listens to what they answer."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def wait(self, patience_s: float) -> None:
        """Wait until each topic has its nodes [s of wall time].

        :raises RunError: one has not
        """

    def play(self, bag: Path) -> None:
        """Play the inputs."""

    def write(self, bag: Path, others: Mapping[str, object], writer: BagWriter) -> None:
        """Write the answers into a bag, between what is recorded of other topics."""


#: Makes one of (topic -> type and whether late readers get the last message, of what is played;
#: topic -> codec, of what is listened to).
NodesReplayer = Callable[[Mapping[str, tuple[str, bool]], Mapping[str, WireCodec]], NodesReplay]


def replay_into(
    bag: Path,
    into: Sequence[str],
    output: Path | None = None,
    *,
    controllers: str | None = None,
    scenario: Path | None = None,
    nodes: NodesReplayer | None = None,
) -> RunComparison:
    """Feed recorded inputs to participants, and compare what they send with what is recorded.

    :param bag: directory of a run, of its bag, or of any bag of rosbag2
    :param into: the participants
    :param output: directory for a bag with their outputs; None: none is kept
    :param controllers: control law that they are to have instead
    :param scenario: that of the bag, for one that was recorded elsewhere
    :param nodes: publishes the inputs as topics, and listens to what nodes answer that run
        already
    :raises ConfigurationError: the recording or the scenario does not fit
    :raises ProtocolError: the bag is damaged
    :raises ParticipantError: a participant failed
    """
    if output is None:
        with TemporaryDirectory(prefix="cosim-replay-") as place:
            found = replay_into(
                bag,
                into,
                Path(place),
                controllers=controllers,
                scenario=scenario,
                nodes=nodes,
            )
            # Nothing is left at its place.
            return replace(found, b=replace(found.b, path=Path("replay")))
    with OutputDirectory(output, "a replay") as directory:
        directory.clear()
        source = _source(bag, scenario, output)
        changed = adjusted(source.scenario, controllers=controllers)
        _check_participants(changed, into)
        names = tuple(dict.fromkeys(into))
        in_processes = nodes is None and any(
            "inproc" not in declare(changed, name).traits.shapes for name in names
        )
        check_scenario(changed, "ros" if nodes or in_processes else "inproc")
        save_scenario(changed, output / RESOLVED_SCENARIO)
        if not in_processes:
            replay = _Replay(source, changed, names, output)
            if nodes is not None:
                replay.run_on(nodes)
            else:
                replay.run()
    if in_processes:
        # The run holds the directory itself.
        _run_in_processes(source, changed, names, output)
    return _compared(source, changed, names, output)


def _run_in_processes(
    source: Source, scenario: Scenario, into: Sequence[str], output: Path
) -> None:
    """Replay to participants that need their own processes, as foreign nodes do."""
    bag = find_recording(source.directory).bag
    played = with_recording(scenario, bag, into, source.end_ns)
    run_request(RunRequest(played, shape="ros", out=output), clear=False)
    # What it leaves is a recording of the scenario that was recorded, as any replay.
    save_scenario(scenario, output / RESOLVED_SCENARIO)
    for name in (SUMMARY_FILE, REPORT_FILE):
        (output / name).unlink(missing_ok=True)


def _compared(
    source: Source, scenario: Scenario, into: Sequence[str], output: Path
) -> RunComparison:
    """Compare what the participants have sent with what is recorded."""
    own = {port.topic for name in into for port in scenario.outputs_of(name).values()}
    names = topic_types(find_recording(source.directory).bag).keys() | own
    others = sorted(names - own)
    known = topic_types(output / BAG).keys() | names
    found = compare_recordings(source.directory, output, Rules(set(others) & known))
    return replace(found, notes=(*source.notes, *found.notes))


def _check_participants(scenario: Scenario, into: Sequence[str]) -> None:
    for name in into:
        if name not in scenario.participants:
            raise ConfigurationError(
                f"--into {name}: no such participant; there are {', '.join(scenario.participants)}"
            )
        if scenario.participants[name].enters_freely:
            raise ConfigurationError(
                f"--into {name}: it entered when it was ready, and the recording does not say when"
            )


def _source(bag: Path, scenario: Path | None, output: Path) -> Source:
    """The recording to replay, with its scenario."""
    if bag.name == BAG and (bag.parent / RESOLVED_SCENARIO).is_file():
        bag = bag.parent
    recording = find_recording(bag)
    check_definitions(recording.bag, topic_types(recording.bag).values(), DEFAULT)
    loaded = recording.scenario if scenario is None else load_scenario(scenario)
    if loaded is None:
        raise ConfigurationError(
            f"{bag}: a bag alone does not say which participant reads what; name its scenario "
            "with --scenario"
        )
    if recording.scenario is not None:
        end = _end_of_run(bag, recording.bag)
        return Source(bag, loaded, end)
    ordered, notes = _in_stamps(recording.bag, loaded, output / ORDERED)
    return Source(ordered, loaded, _last_stamp(ordered) + 1, notes)


def _end_of_run(run: Path, bag: Path) -> int:
    """When the run ended [ns]: later activations have not taken place."""
    if (run / SUMMARY_FILE).is_file():
        summary = read_summary(run, complete=False)
        if summary.complete:
            return round(summary.sim_time_s * 1e9)
    return _last_stamp(bag) + 1


def _last_stamp(bag: Path) -> int:
    return max((message.stamp for message in read_bag(bag)), default=0)


def _in_stamps(bag: Path, scenario: Scenario, target: Path) -> tuple[Path, tuple[str, ...]]:
    """A bag of others in the order of the stamps in its messages; all of it is held in memory.

    Messages without their own stamp take the time of their reception, counted from the first
    message of the bag.

    :returns: the ordered bag, and remarks about it
    """
    graph = build_graph(scenario)
    types = topic_types(bag)
    settings: dict[str, tuple[WireCodec, str]] = {}
    #: Topic in the bag -> topic of the scenario. Messages without a header also travel in one with
    #: a stamp, on their own topic, which is better.
    topic_of: dict[str, str] = {}
    for name in scenario.participants:
        for key, port in scenario.outputs_of(name).items():
            codec = wire_codec(graph.output(name, key))
            stamped = edge_topic(port.topic, codec)
            topic = stamped if stamped in types else port.topic
            if topic in types:
                settings[port.topic] = codec, port.type
                topic_of[topic] = port.topic
                found = types[topic].type_name
                if found != (CARRIER_TYPE if topic != port.topic else port.type):
                    raise ConfigurationError(
                        f"{bag}: topic {topic}: found messages of type {found}; the scenario has "
                        f"{port.type}"
                    )
    messages: list[tuple[int, str, int, bytes]] = []
    received: set[str] = set()
    first: int | None = None
    for number, message in enumerate(read_bag(bag)):
        first = message.stamp if first is None else first
        if message.topic not in topic_of:
            continue
        topic = topic_of[message.topic]
        codec = settings[topic][0]
        data = message.data
        if not isinstance(codec, CarrierCodec):
            stamp = codec.decode(data)[0]
        elif message.type_name == CARRIER_TYPE:
            stamp = codec.decode(data)[0]
            data = codec.plain(data)
        else:
            stamp = message.stamp - first
            received.add(topic)
        messages.append((stamp, topic, number, data))
    messages.sort()
    target = target / BAG
    with BagWriter(target, [BagTopic(t, kind) for t, (_, kind) in settings.items()]) as writer:
        count = dict.fromkeys(settings, 0)
        for stamp, topic, _, data in messages:
            writer.write(topic, stamp, count[topic], data)
            count[topic] += 1
    notes = []
    if received:
        notes.append(
            f"{', '.join(sorted(received))}: messages without a stamp; they count by the time of "
            "their reception, from the first message of the bag on"
        )
    return target, tuple(notes)


class _Replay:
    """One replay: the graph of player and participants, and the bag that it leaves."""

    def __init__(
        self, source: Source, scenario: Scenario, into: Sequence[str], output: Path
    ) -> None:
        self._source = source
        self._scenario = scenario
        self._into = into
        self._output = output
        self._graph = build_graph(scenario)
        self._bag = find_recording(source.directory).bag
        recorded = topic_types(self._bag).keys()
        self._ports = {
            port.topic: self._graph.output(name, key)
            for name in scenario.participants
            for key, port in scenario.outputs_of(name).items()
            if port.topic in recorded
        }
        self._topics = {
            (name, key): port.topic
            for name in scenario.participants
            for key, port in scenario.outputs_of(name).items()
        }
        for name in into:
            self._check_inputs(name)

    def _check_inputs(self, name: str) -> None:
        for connection in self._graph.incoming(name):
            topic = self._topics[connection.source, connection.source_port]
            if topic not in self._ports:
                raise ConfigurationError(
                    f"--into {name}: its input '{connection.target_port}' reads {topic}, which is "
                    f"not in {self._bag}"
                )

    def run(self) -> None:
        """Replay all there is."""
        codecs = {topic: wire_codec(port) for topic, port in self._ports.items()}
        player = RecordingFeed(in_order(self._bag, codecs), codecs)
        graph = Graph(
            [
                ParticipantSpec(
                    PLAYER,
                    period_ns=FOREVER - 1,
                    offset_ns=min(player.first_ns, FOREVER - 1),
                    dynamic_step=True,
                    outputs=tuple(
                        OutputPort(topic, Latency(), "sparse", port.codec)
                        for topic, port in self._ports.items()
                    ),
                ),
                *(self._graph.participants[name] for name in self._into),
            ],
            [
                Connection(
                    PLAYER, self._topics[c.source, c.source_port], name, c.target_port
                )
                for name in self._into
                for c in self._graph.incoming(name)
            ],
        )  # fmt: skip
        with ExitStack() as stack:
            models: dict[str, FullModel] = {PLAYER: player}
            for name in self._into:
                models[name] = build_model(self._scenario, name, "inproc")
                stack.callback(models[name].close)
            bag = stack.enter_context(open_bag(self._output, self._scenario, self._graph))
            scheduler = SequentialScheduler(graph, models, observer=self._observer(graph, bag))
            modes = {n: Operation(self._scenario.participants[n].mode) for n in self._into}
            group = LifecycleGroup(
                models,
                operations=modes,
                host=lambda name: local_host(scheduler.runtimes[name].send_now),
            )
            stack.pop_all()  # the group closes the models
            watchdog = supervised(
                self._scenario, self._output, scheduler.runtimes.values(), bag.close
            )
            with bag, watchdog, group.during(lambda: None, lambda: scheduler.active):
                self._follow(scheduler, bag)
                group.stop("the recording is over")
                group.shut_down("the replay is complete")

    def run_on(self, nodes: NodesReplayer) -> None:
        """Replay to nodes that run already.

        :raises RunError: there is none
        """
        played = {
            self._topics[connection.source, connection.source_port]
            for name in self._into
            for connection in self._graph.incoming(name)
        }
        kinds = topic_types(self._bag)
        inputs = {
            topic: (kinds[topic].type_name, self._ports[topic].schedule == "once")
            for topic in sorted(played)
        }
        outputs = {
            self._topics[name, port.name]: wire_codec(port)
            for name in self._into
            for port in self._graph.participants[name].outputs
        }
        others = {topic: None for topic in self._ports if topic not in outputs}
        with nodes(inputs, outputs) as replay:
            replay.wait(self._scenario.startup_s)
            replay.play(self._bag)
            with open_bag(self._output, self._scenario, self._graph) as bag:
                replay.write(self._bag, others, bag)

    def _observer(self, graph: Graph, bag: BagWriter) -> MessageObserver:
        """Write what the participants send, and all that is recorded of others."""
        own = {
            self._topics[name, key]
            for name in self._into
            for key in self._scenario.outputs_of(name)
        }
        ports = {
            name: [
                (port.name if name == PLAYER else self._topics[name, port.name], wire_codec(port))
                for port in spec.outputs
            ]
            for name, spec in graph.participants.items()
        }

        def observe(participant: str, port: int, sample: Sample, data: bytes) -> None:
            topic, codec = ports[participant][port]
            if participant != PLAYER or topic not in own:
                bag.write(topic, sample.stamp, sample.seq, codec.plain(data))

        return observe

    def _follow(self, scheduler: SequentialScheduler, bag: BagWriter) -> None:
        """Run all activations up to the end of the recording."""
        received = self._received(scheduler)
        reached, end = 0, self._source.end_ns
        while reached < end:
            reached = min(reached + _SLICE_NS, end)
            if scheduler.run(reached, end, before=received.before) < reached:
                return  # a participant has ended the run
            bag.advance(reached)

    def _received(self, scheduler: SequentialScheduler) -> _Received:
        return _Received(
            self._bag,
            {
                self._topics[name, received_port(inbox.port)]: (
                    inbox.receive,
                    wire_codec(self._graph.output(name, received_port(inbox.port))),
                )
                for name in self._into
                for inbox in scheduler.runtimes[name].inboxes
            },
        )


class _Received:
    """Gives unsynchronised inputs what the activation at the same time had read."""

    def __init__(self, bag: Path, inboxes: Mapping[str, tuple[Any, WireCodec]]) -> None:
        self._inboxes = inboxes
        self._messages = in_order(bag, inboxes) if inboxes else iter(())
        self._next = next(self._messages, None)

    def before(self, time: int) -> None:
        """Put in what is read at this time."""
        while self._next is not None and self._next.stamp <= time:
            receive, codec = self._inboxes[self._next.topic]
            receive(codec.value(self._next.data))
            self._next = next(self._messages, None)
