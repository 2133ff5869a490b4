# SPDX-License-Identifier: Apache-2.0
"""An unmodified ROS node as a participant: the gate that stands for it.

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
from typing import Any, NamedTuple

from ros2_cosim.interfaces.cdr import WireCodec
from ros2_cosim.interfaces.foreign import (
    ForeignOutput,
    ForeignSettings,
    HeaderDelay,
    foreign_settings,
)
from ros2_cosim.interfaces.raw import CarrierCodec
from ros2_cosim.kernel.errors import ConfigurationError, ParticipantError, ProtocolError
from ros2_cosim.kernel.graph import Graph
from ros2_cosim.kernel.participant import ModelContext, Sample, Step
from ros2_cosim.kernel.time import NEVER, format_ns
from ros2_cosim.ros.gate_link import Link, Received, clock_topic, input_topic, output_topic
from ros2_cosim.ros.gate_process import (
    ForeignProcess,
    foreign_command,
    foreign_environment,
    ros_arguments,
)

#: The gate gives up before the clock's watchdog does, for it knows more of the cause.
_SHARE_OF_WATCHDOG = 2 / 3


def make_gate(context: ModelContext) -> Gate:
    """Start a foreign node and connect to it; the factory of model ``foreign_node``.

    :raises ConfigurationError: the settings are wrong, or the node cannot be started
    :raises ParticipantError: the node does not appear
    """
    settings = foreign_settings(context.parameters, context.name)
    assert context.graph is not None
    usual_s = context.watchdog_s * _SHARE_OF_WATCHDOG
    gate = Gate(context, context.graph, settings, usual_s)
    try:
        gate.connect()
        gate.patience_s = settings.patience_s or usual_s
    except BaseException:
        gate.close()
        raise
    return gate


#: How long the news of a node's readers may take [s]; it decides about an error message only.
_NEWS_S = 0.5


class Gate:
    """The behaviour of a participant whose model is a foreign node.

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
        self.patience_s = patience_s
        self._place = "at the start"
        self._deadline = NEVER
        self._waits_for: Callable[[], str] = lambda: "nothing"
        self._interrupted = False
        #: Wall time [ns] spent on the foreign node and on the way to it.
        self.transport_ns = 0
        # What nobody feeds has no type; the node's reader stays alone.
        fed = [port.name for port in spec.inputs if not port.unfed]
        self._codecs = {port: _input_codec(graph, name, port) for port in fed}
        self._outputs = [
            _OutputPort(name, port.name, port.codec, port.latency, settings.outputs[port.name],
                        port.schedule == "once")
            for port in spec.outputs
        ]  # fmt: skip
        self._triggers = tuple(p.name for p in spec.inputs if p.name in spec.trigger_ports)
        self._latched = tuple(p.name for p in spec.inputs if p.name not in spec.trigger_ports)
        self._newest: dict[str, tuple[int, int]] = {}
        self._first_clock = settings.clock_start
        if settings.use_sim_time and self._first_clock is None and spec.period_ns is not None:
            if spec.free_entry:
                raise ConfigurationError(
                    f"participants.{name}.enter: missing; a foreign node whose timers follow the "
                    "simulated clock must know when it enters"
                )
            self._first_clock = max(0, (spec.first_time or 0) - spec.period_ns)
        self._barrier = settings.barrier == "parameters"
        base = settings.node_name or f"{name}_node"
        self._node_name = base if base.startswith("/") else f"/{base}"
        self._previous = {
            number: signal.signal(number, self._on_signal)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        self._link = Link(
            name,
            self._node_name,
            {port: codec_type(codec) for port, codec in self._codecs.items()},
            {port.name: (codec_type(port.codec), port.once) for port in self._outputs},
            barrier=self._barrier,
            clock=settings.use_sim_time,
            check=self._check,
        )
        self._process: ForeignProcess | None = None
        where = f"participants.{name}.parameters"
        if not settings.attach:
            try:
                self._process = ForeignProcess(
                    foreign_command(settings, context.base_directory, self._remappings(), where),
                    foreign_environment(settings),
                    where,
                )
            except ConfigurationError:
                self.close()
                raise

    def connect(self) -> None:
        """Wait until the node is there and reads and writes what is declared.

        :raises ParticipantError: it does not appear, or it reads what it is not given
        """
        link, settings = self._link, self._settings
        self._begin(lambda: ", ".join(link.connected()) or self._node_name)
        link.wait_until(lambda: not link.connected())
        self._begin(lambda: f"an answer of {self._node_name}/get_parameters")
        link.greet()
        for port in self._outputs:
            if link.publishers(port.name) != 1:
                self._fail(
                    f"{link.publishers(port.name)} publishers write to {port.settings.topic}; "
                    "allowed is one"
                )
        # News of the node's readers travels on its own and may be late: give it a while here,
        # and look once more when the run is over.
        time.sleep(_NEWS_S)
        self._refuse_undeclared()
        for name, tied in settings.inputs.items():
            if link.best_effort(name) and not tied.best_effort:
                self._fail(
                    f"the node reads {tied.topic} without reliable delivery: a lost message would "
                    "go unnoticed; set best_effort: true on the input to accept that"
                )
        if self._first_clock is not None:
            self._show_time(self._first_clock)
        for port in self._outputs:
            # What a node says while it starts belongs to no activation, unless it says it once.
            messages = link.received[port.name]
            if messages:
                port.number = messages[-1].number
            if not port.once:
                messages.clear()

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Hand the samples over and collect what the node publishes.

        :raises ParticipantError: the node died, is silent, or publishes what is not expected
        """
        started = time.perf_counter_ns()
        self._place = f"activation at {format_ns(step.time)}"
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
            self._await(port)
        values = {port.name: self._take(port, step.time, window) for port in self._outputs}
        self.transport_ns += time.perf_counter_ns() - started
        return values

    def finish(self) -> None:
        """Refuse a run in which the node read what it was not given.

        :raises ParticipantError: it did
        """
        self._refuse_undeclared()

    def _refuse_undeclared(self) -> None:
        undeclared = self._link.undeclared(self._settings.allow_topics)
        if undeclared:
            self._fail(
                f"the node also reads {', '.join(undeclared)}, which is no input of the "
                "participant; declare it, or name it in allow_topics if what comes there never "
                "changes a result"
            )

    def close(self) -> None:
        """End the foreign process and leave the ROS graph."""
        process = getattr(self, "_process", None)
        if process is not None:
            process.close()
        self._link.close()
        for number, handler in self._previous.items():
            if signal.getsignal(number) == self._on_signal:
                signal.signal(number, handler)

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
            self._link.publish(port, data, acknowledge=self._settings.acknowledge)
            if self._settings.ordered and self._barrier:
                self._pass_barrier()
        if queue and self._barrier and not self._settings.ordered:
            # An executor takes one message of each topic between two looks at its services.
            for _ in range(max(Counter(entry.port for entry in queue).values())):
                self._pass_barrier()

    def _show_time(self, time_ns: int) -> None:
        self._link.show_time(time_ns)
        if self._barrier:
            # After the first answer the clock is set; timers that it made due have run when
            # the second one comes.
            self._pass_barrier()
            self._pass_barrier()

    def _pass_barrier(self) -> None:
        self._begin(lambda: f"an answer of {self._node_name}/get_parameters (is it busy?)")
        self._link.barrier()

    def _await(self, port: _OutputPort) -> None:
        if port.settings.expect == "any" or (port.once and port.sent):
            return
        messages = self._link.received[port.name]
        needed = port.settings.expect
        self._begin(
            lambda: (
                f"output '{port.name}': {len(messages)} of {needed} messages came on "
                f"{port.settings.topic}"
            )
        )
        self._link.wait_until(lambda: len(messages) >= needed)

    def _take(self, port: _OutputPort, time_ns: int, window: int) -> Any:
        messages = self._link.received[port.name]
        taken = messages[:]
        messages.clear()
        for message in taken:
            self._check_message(port, message, window)
        allowed = port.settings.expect
        found = len(taken)
        wrong = found > 1 and port.settings.take == "only"
        if wrong or (allowed != "any" and found != allowed and not (port.once and port.sent)):
            self._fail(
                f"{found} messages came on {port.settings.topic} (port '{port.name}'); expected "
                f"{'is at most one' if allowed == 'any' else f'are {allowed}'}"
            )
        if not taken:
            return None
        if port.once and port.sent:
            self._fail(
                f"a second message came on {port.settings.topic} (port '{port.name}'), which is "
                "declared to be sent once"
            )
        port.sent = True
        try:
            value = port.codec.value(taken[-1].data)
        except ProtocolError as error:
            self._fail(f"on {port.settings.topic} (port '{port.name}') came: {error}")
        if port.delay is not None:
            port.delay.delay_ns = self._header_delay(port, taken[-1], time_ns)
        return value

    def _check_message(self, port: _OutputPort, message: Received, window: int) -> None:
        if port.number and message.number > port.number + 1:
            self._fail(
                f"on {port.settings.topic} (port '{port.name}') came the node's message number "
                f"{message.number} after number {port.number}: messages are lost"
            )
        port.number = message.number
        if self._process is not None and message.published_ns < window and not port.once:
            self._fail(
                f"a message on {port.settings.topic} (port '{port.name}') was published before "
                "this activation began: the node publishes on its own account, or from several "
                "threads"
            )

    def _header_delay(self, port: _OutputPort, message: Received, time_ns: int) -> int:
        stamp = port.codec.decode(message.data)[0]
        least, most = time_ns + port.least_ns, time_ns + port.least_ns + port.settings.window
        if not least <= stamp <= most or stamp < port.stamp:
            allowed = format_ns(least)
            if most != least:
                allowed += f" to {format_ns(most)}"
            if stamp < port.stamp:
                allowed += f", and not before the last one ({format_ns(port.stamp)})"
            self._fail(
                f"output '{port.name}': the node stamped its message {format_ns(stamp)}; allowed "
                f"is {allowed}"
            )
        port.stamp = stamp
        return stamp - time_ns

    def _begin(self, waits_for: Callable[[], str]) -> None:
        self._waits_for = waits_for
        self._deadline = time.monotonic_ns() + int(self.patience_s * 1e9)

    def _check(self) -> None:
        """Called while waiting: is there still somebody to wait for?"""
        if self._interrupted:
            raise KeyboardInterrupt
        if self._process is not None:
            ended = self._process.ended()
            if ended is not None:
                self._fail(f"the foreign process {ended}. Missing: {self._waits_for()}")
        if time.monotonic_ns() > self._deadline:
            hint = ""
            if self._settings.attach and self._place == "at the start":
                arguments = " ".join(ros_arguments(self._settings, self._remappings()))
                hint = f"; start the node with --ros-args {arguments}"
            self._fail(
                f"the foreign node keeps the run waiting for {self.patience_s:g} s. Missing: "
                f"{self._waits_for()}{hint}"
            )

    def _fail(self, text: str) -> None:
        raise ParticipantError(f"participant '{self._name}', {self._place}: {text}")

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._interrupted = True
        previous = self._previous.get(signal.Signals(number))
        if callable(previous):
            previous(number, frame)


class _Handed(NamedTuple):
    """A sample to be handed over; ``place`` is that of its port among those of its kind."""

    stamp: int
    place: int
    port: str
    sample: Sample


def _order(entry: _Handed) -> tuple[int, int]:
    return entry.stamp, entry.place


class _OutputPort:
    """An output port and what has come on it so far."""

    def __init__(
        self,
        participant: str,
        name: str,
        codec: Any,
        latency: Any,
        settings: ForeignOutput,
        once: bool,
    ) -> None:
        assert isinstance(codec, WireCodec)
        self.participant = participant
        self.name = name
        self.codec: WireCodec = codec
        self.settings = settings
        self.once = once
        self.sent = False
        self.number = 0
        self.stamp = NEVER
        self.least_ns: int = latency.minimum_ns
        self.delay = latency.draw if isinstance(latency.draw, HeaderDelay) else None


def codec_type(codec: WireCodec) -> str:
    """The ROS type that a foreign node sees of a port."""
    return codec.inner.type_name if isinstance(codec, CarrierCodec) else codec.type_name


def _input_codec(graph: Graph, participant: str, port: str) -> WireCodec:
    """The codec of the writers of an input port, which must agree."""
    sources = [c for c in graph.incoming(participant) if c.target_port == port]
    codecs = [graph.output(c.source, c.source_port).codec for c in sources]
    types = {codec_type(codec) for codec in codecs if isinstance(codec, WireCodec)}
    if len(types) != 1:
        raise ConfigurationError(
            f"participants.{participant}.inputs.{port}: its writers send {', '.join(sorted(types))}"
            "; a topic of a foreign node has one type"
        )
    codec = codecs[0]
    assert isinstance(codec, WireCodec)
    return codec
