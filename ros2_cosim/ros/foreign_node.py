# SPDX-License-Identifier: Apache-2.0
"""An unmodified ROS node as a participant: the adapter that stands for it.

The node's topics are remapped to private ones, so it gets exactly what an activation
delivers: its clock, the latched inputs that are new, then the triggering samples in
timestamp order, each after the callback of the one before has returned. What it publishes
meanwhile is what the activation sends.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from ros2_cosim.interfaces.cdr import WireCodec
from ros2_cosim.interfaces.foreign import (
    ForeignOutput,
    ForeignSettings,
    HeaderDelay,
)
from ros2_cosim.interfaces.raw import CarrierCodec
from ros2_cosim.interfaces.wiring import wire_codec
from ros2_cosim.kernel.errors import ConfigurationError, ParticipantError, ProtocolError
from ros2_cosim.kernel.graph import Graph, OutputPort
from ros2_cosim.kernel.participant import ModelContext, Sample, Step
from ros2_cosim.kernel.time import NEVER, format_ns
from ros2_cosim.ros.foreign_process import (
    ForeignProcess,
    foreign_command,
    foreign_environment,
    ros_arguments,
)
from ros2_cosim.ros.foreign_topics import (
    ForeignTopics,
    Received,
    clock_topic,
    input_topic,
    output_topic,
)

#: The adapter gives up before the clock's watchdog does, for it knows more of the cause.
_SHARE_OF_WATCHDOG = 2 / 3
#: How long the discovery of a node's readers may take [s]; it decides about an error message only.
_DISCOVERY_S = 0.5


def connected_node(context: ModelContext, settings: ForeignSettings) -> ForeignNodeAdapter:
    """Start a foreign node and connect to it.

    :raises ConfigurationError: the node cannot be started
    :raises ParticipantError: the node does not appear
    """
    assert context.graph is not None
    usual_s = context.watchdog_s * _SHARE_OF_WATCHDOG
    adapter = ForeignNodeAdapter(context, context.graph, settings, usual_s)
    try:
        adapter.connect()
        adapter.patience_s = settings.patience_s or usual_s
    except BaseException:
        adapter.close()
        raise
    return adapter


class ForeignNodeAdapter:
    """The model of a participant whose model is a foreign node.

    :param graph: the checked system
    :param settings: how the node is started and tied to the ports
    :param patience_s: wall seconds after which a silent node ends the run
    """

    def __init__(
        self, context: ModelContext, graph: Graph, settings: ForeignSettings, patience_s: float
    ) -> None:
        name = context.name
        spec = graph.participants[name]
        self._name = name
        self._settings = settings
        #: Wall time [ns] spent on the foreign node and on the way to it.
        self.transport_ns = 0
        # An input without a writer has no type; the node's reader of it finds no publisher.
        fed = [port.name for port in spec.inputs if not port.unfed]
        self._codecs = {port: _input_codec(graph, name, port) for port in fed}
        self._triggers = tuple(p.name for p in spec.inputs if p.name in spec.trigger_ports)
        self._latched = tuple(p.name for p in spec.inputs if p.name not in spec.trigger_ports)
        self._newest: dict[str, tuple[int, int]] = {}
        self._first_clock = settings.clock_start
        if settings.use_sim_time and self._first_clock is None and spec.period_ns is not None:
            self._first_clock = max(0, (spec.first_time or 0) - spec.period_ns)
        self._barrier = settings.barrier == "parameters"
        base = settings.node_name or f"{name}_node"
        self._node_name = base if base.startswith("/") else f"/{base}"
        self._patience = _Patience(name, patience_s)
        outputs = {port.name: wire_codec(port) for port in spec.outputs}
        once = {port.name: port.schedule == "once" for port in spec.outputs}
        self._topics = ForeignTopics(
            name,
            self._node_name,
            {port: codec_type(codec) for port, codec in self._codecs.items()},
            {port: (codec_type(codec), once[port]) for port, codec in outputs.items()},
            barrier=self._barrier,
            clock=settings.use_sim_time,
            check=self._patience.check,
        )
        self._outputs = [
            _Output(port, settings.outputs[port.name], self._topics.received[port.name],
                    self._patience)
            for port in spec.outputs
        ]  # fmt: skip
        self._process: ForeignProcess | None = None
        where = f"participants.{name}.parameters"
        if settings.attach:
            arguments = " ".join(ros_arguments(settings, self._remappings()))
            self._patience.hint = f"; start the node with --ros-args {arguments}"
            return
        try:
            self._process = ForeignProcess(
                foreign_command(settings, context.base_directory, self._remappings(), where),
                foreign_environment(settings),
                where,
            )
        except ConfigurationError:
            self.close()
            raise
        self._patience.process = self._process

    @property
    def patience_s(self) -> float:
        """Wall seconds after which a silent node ends the run."""
        return self._patience.seconds

    @patience_s.setter
    def patience_s(self, seconds: float) -> None:
        self._patience.seconds = seconds

    def connect(self) -> None:
        """Wait until the node is there and reads and writes what is declared.

        :raises ParticipantError: it does not appear, or it reads what it is not given
        """
        topics, settings, patience = self._topics, self._settings, self._patience
        patience.begin(lambda: ", ".join(topics.missing()) or self._node_name)
        topics.wait_until(lambda: not topics.missing())
        patience.begin(lambda: f"an answer of {self._node_name}/get_parameters")
        topics.greet()
        for port in self._outputs:
            if topics.publishers(port.name) != 1:
                patience.fail(
                    f"{topics.publishers(port.name)} publishers write to {port.settings.topic}; "
                    "allowed is one"
                )
        # Discovery of the node's readers may be late: give it a while here, and look once more
        # when the run is over.
        time.sleep(_DISCOVERY_S)
        self._refuse_undeclared()
        for name, tied in settings.inputs.items():
            if topics.best_effort(name) and not tied.best_effort:
                patience.fail(
                    f"the node reads {tied.topic} without reliable delivery: a lost message would "
                    "go unnoticed; set best_effort: true on the input to accept that"
                )
        if self._first_clock is not None:
            self._show_time(self._first_clock)
        for port in self._outputs:
            port.begin()

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Hand the samples over and collect what the node publishes.

        :raises ParticipantError: the node died, is silent, or publishes what is not expected
        """
        started = time.perf_counter_ns()
        self._patience.hint = ""
        self._patience.place = f"activation at {format_ns(step.time)}"
        window = time.time_ns()
        # Latched inputs first: timers that the new time makes due already see them.
        self._hand_over(self._fresh(step))
        if self._settings.use_sim_time:
            self._show_time(step.time)
        self._hand_over(self._delivered(step))
        if self._barrier:
            # Once more for what the callbacks published: it came the same way, and earlier.
            self._pass_barrier()
        for port in self._outputs:
            if not port.is_complete():
                self._patience.begin(port.missing)
                self._topics.wait_until(port.is_complete)
        # A node of its own clockwork may have published before this process asked it to.
        earliest = None if self._process is None else window
        values = {port.name: port.take(step.time, earliest) for port in self._outputs}
        self.transport_ns += time.perf_counter_ns() - started
        return values

    def finish(self) -> None:
        """Refuse a run in which the node read what it was not given.

        :raises ParticipantError: it did
        """
        self._refuse_undeclared()

    def _refuse_undeclared(self) -> None:
        undeclared = self._topics.undeclared(self._settings.allow_topics)
        if undeclared:
            self._patience.fail(
                f"the node also reads {', '.join(undeclared)}, which is no input of the "
                "participant; declare it, or name it in allow_topics if what comes there never "
                "changes a result"
            )

    def close(self) -> None:
        """End the foreign process and leave the ROS graph."""
        if self._process is not None:
            self._process.close()
        self._topics.close()
        self._patience.close()

    def _remappings(self) -> dict[str, str]:
        names = {tied.topic: input_topic(self._name, port)
                 for port, tied in self._settings.inputs.items()}  # fmt: skip
        names |= {tied.topic: output_topic(self._name, port)
                  for port, tied in self._settings.outputs.items()}  # fmt: skip
        names["/clock"] = clock_topic(self._name)
        space, _, base = self._node_name.rpartition("/")
        names["__node"] = base
        if space:
            names["__ns"] = space
        return names

    def _fresh(self, step: Step) -> list[_Handed]:
        """Latched inputs that have changed, oldest first."""
        queue = []
        for index, port in enumerate(self._latched):
            sample = step.latest[port]
            if sample is not None and self._newest.get(port) != (sample.stamp, sample.seq):
                self._newest[port] = (sample.stamp, sample.seq)
                queue.append(_Handed(sample.stamp, index, port, sample))
        return sorted(queue, key=_order)

    def _delivered(self, step: Step) -> list[_Handed]:
        """Samples of the triggering ports in timestamp order."""
        # Ports come in the order of their channels, so this is (stamp, channel, number).
        queue = [
            _Handed(sample.stamp, index, port, sample)
            for index, port in enumerate(self._triggers)
            for sample in step.samples[port]
        ]
        return sorted(queue, key=_order)

    def _hand_over(self, queue: list[_Handed]) -> None:
        for stamp, _, port, sample in queue:
            codec = self._codecs[port]
            data = codec.plain(codec.encode(stamp, sample.seq, sample.value))
            self._topics.publish(port, data, acknowledge=self._settings.acknowledge)
            if self._settings.ordered and self._barrier:
                self._pass_barrier()
        if queue and self._barrier and not self._settings.ordered:
            # An executor takes one message of each topic between two looks at its services.
            for _ in range(max(Counter(entry.port for entry in queue).values())):
                self._pass_barrier()

    def _show_time(self, time_ns: int) -> None:
        self._topics.show_time(time_ns)
        if self._barrier:
            # After the first answer the clock is set; timers that it made due have run when
            # the second one comes.
            self._pass_barrier()
            self._pass_barrier()

    def _pass_barrier(self) -> None:
        self._patience.begin(lambda: f"an answer of {self._node_name}/get_parameters (is it busy?)")
        self._topics.barrier()


class _Patience:
    """What the adapter does while it waits: notices signals, a dead process and a silent node.

    From its construction to :meth:`close` it has the signals of the process, for the node may
    keep the adapter waiting inside an activation.

    :param name: the participant
    :param seconds: wall time after which a silent node ends the run
    """

    def __init__(self, name: str, seconds: float) -> None:
        self.seconds = seconds
        #: The foreign process, if the adapter has started it.
        self.process: ForeignProcess | None = None
        #: Where in the run the adapter is, for error messages.
        self.place = "at the start"
        #: What a user can do about a node that does not appear.
        self.hint = ""
        self._name = name
        self._deadline = NEVER
        self._waits_for: Callable[[], str] = lambda: "nothing"
        self._interrupted = False
        self._previous = {
            number: signal.signal(number, self._on_signal)
            for number in (signal.SIGINT, signal.SIGTERM)
        }

    def begin(self, waits_for: Callable[[], str]) -> None:
        """Begin to wait for something new.

        :param waits_for: gives what is missing, for error messages
        """
        self._waits_for = waits_for
        self._deadline = time.monotonic_ns() + int(self.seconds * 1e9)

    def check(self) -> None:
        """Called while waiting.

        :raises ParticipantError: there is nothing to wait for any more, or it takes too long
        :raises KeyboardInterrupt: a signal asked the process to end
        """
        if self._interrupted:
            raise KeyboardInterrupt
        if self.process is not None:
            ended = self.process.ended()
            if ended is not None:
                self.fail(f"the foreign process {ended}. Missing: {self._waits_for()}")
        if time.monotonic_ns() > self._deadline:
            self.fail(
                f"the foreign node keeps the run waiting for {self.seconds:g} s. Missing: "
                f"{self._waits_for()}{self.hint}"
            )

    def fail(self, text: str) -> NoReturn:
        """End the run.

        :raises ParticipantError: always; it names the participant and the place
        """
        raise ParticipantError(f"participant '{self._name}', {self.place}: {text}")

    def close(self) -> None:
        """Give the signals back."""
        for number, handler in self._previous.items():
            if signal.getsignal(number) == self._on_signal:
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._interrupted = True
        previous = self._previous.get(signal.Signals(number))
        if callable(previous):
            previous(number, frame)


class _Output:
    """An output port: what the node has published on it, checked against what is declared.

    :param port: the port
    :param settings: what is expected on it
    :param received: the messages that have come since the last activation; filled elsewhere
    """

    def __init__(
        self,
        port: OutputPort,
        settings: ForeignOutput,
        received: list[Received],
        patience: _Patience,
    ) -> None:
        self.name = port.name
        self.settings = settings
        self._codec = wire_codec(port)
        self._once = port.schedule == "once"
        self._least_ns = port.latency.minimum_ns
        self._delay = port.latency.draw if isinstance(port.latency.draw, HeaderDelay) else None
        self._received = received
        self._patience = patience
        self._sent = False
        self._number = 0
        self._stamp = NEVER

    def begin(self) -> None:
        """Drop what the node published while it started: it belongs to no activation.

        A message of a port that sends once is kept.
        """
        if self._received:
            self._number = self._received[-1].number
        if not self._once:
            self._received.clear()

    def is_complete(self) -> bool:
        """Whether nothing has to be waited for in this activation."""
        expected = self.settings.expect
        return expected == "any" or self._is_spent or len(self._received) >= expected

    @property
    def _is_spent(self) -> bool:
        return self._once and self._sent

    def missing(self) -> str:
        """What is not there yet."""
        return (
            f"output '{self.name}': {len(self._received)} of {self.settings.expect} messages came "
            f"on {self.settings.topic}"
        )

    def take(self, time_ns: int, earliest: int | None) -> Any:
        """The value that an activation sends, None if it sends none.

        :param time_ns: of the activation
        :param earliest: messages published before this wall time [ns] belong to no activation;
            None: the wall clock of the node may be another one
        :raises ParticipantError: something else came than what is declared
        """
        taken = self._received[:]
        self._received.clear()
        for message in taken:
            self._check(message, earliest)
        found, allowed = len(taken), self.settings.expect
        wrong = found > 1 and self.settings.take == "only"
        if wrong or (allowed != "any" and found != allowed and not self._is_spent):
            self._patience.fail(
                f"{found} messages came on {self._place}; expected "
                f"{'is at most one' if allowed == 'any' else f'are {allowed}'}"
            )
        if not taken:
            return None
        if self._is_spent:
            self._patience.fail(
                f"a second message came on {self._place}, which is declared to be sent once"
            )
        self._sent = True
        try:
            value = self._codec.value(taken[-1].data)
        except ProtocolError as error:
            self._patience.fail(f"on {self._place} came: {error}")
        if self._delay is not None:
            self._delay.delay_ns = self._header_delay(taken[-1], time_ns)
        return value

    def _check(self, message: Received, earliest: int | None) -> None:
        if self._number and message.number > self._number + 1:
            self._patience.fail(
                f"on {self._place} came the node's message number {message.number} after number "
                f"{self._number}: messages are lost"
            )
        self._number = message.number
        if earliest is not None and message.published_ns < earliest and not self._once:
            self._patience.fail(
                f"a message on {self._place} was published before this activation began: the node "
                "publishes on its own account, or from several threads"
            )

    def _header_delay(self, message: Received, time_ns: int) -> int:
        stamp = self._codec.decode(message.data)[0]
        least = time_ns + self._least_ns
        most = least + self.settings.window
        if not least <= stamp <= most or stamp < self._stamp:
            allowed = format_ns(least)
            if most != least:
                allowed += f" to {format_ns(most)}"
            if stamp < self._stamp:
                allowed += f", and not before the last one ({format_ns(self._stamp)})"
            self._patience.fail(
                f"output '{self.name}': the node stamped its message {format_ns(stamp)}; allowed "
                f"is {allowed}"
            )
        self._stamp = stamp
        return stamp - time_ns

    @property
    def _place(self) -> str:
        return f"{self.settings.topic} (port '{self.name}')"


class _Handed(NamedTuple):
    """A sample to be handed over; ``place`` is that of its port among those of its kind."""

    stamp: int
    place: int
    port: str
    sample: Sample


def _order(entry: _Handed) -> tuple[int, int]:
    return entry.stamp, entry.place


def codec_type(codec: WireCodec) -> str:
    """The ROS type that a foreign node sees of a port."""
    return codec.inner.type_name if isinstance(codec, CarrierCodec) else codec.type_name


def _input_codec(graph: Graph, participant: str, port: str) -> WireCodec:
    """The codec of the writers of an input port, which must agree."""
    sources = [c for c in graph.incoming(participant) if c.target_port == port]
    codecs = [wire_codec(graph.output(c.source, c.source_port)) for c in sources]
    types = {codec_type(codec) for codec in codecs}
    if len(types) != 1:
        raise ConfigurationError(
            f"participants.{participant}.inputs.{port}: its writers send {', '.join(sorted(types))}"
            "; a topic of a foreign node has one type"
        )
    return codecs[0]
