# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""One participant at run time: its input buffers, its activations, its outputs.

Shared by every scheduler: what an activation reads and what it sends is decided here once,
*when* it happens is the scheduler's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from ros2_cosim.core.kernel.activation import any_of
from ros2_cosim.core.kernel.errors import Aborted, Cancelled, ModelError, ParticipantError
from ros2_cosim.core.kernel.graph import Connection, Graph, OutputPort, ParticipantSpec
from ros2_cosim.core.kernel.latched import (
    REFERENCE,
    LatchedChannel,
    LatchedInputs,
    LatchedPort,
    SharedInputs,
)
from ros2_cosim.core.kernel.layers import Activation, LayeredModel, gives_exact_records
from ros2_cosim.core.kernel.loading import line_of
from ros2_cosim.core.kernel.model import FullModel, Model
from ros2_cosim.core.kernel.named_tuples import NEW
from ros2_cosim.core.kernel.participant import Past, Sample, Step
from ros2_cosim.core.kernel.time import NEVER, format_ns
from ros2_cosim.core.kernel.time_advance import QueuedSample, TimeAdvance
from ros2_cosim.core.kernel.trace import ParticipantTrace
from ros2_cosim.core.kernel.unsynchronised import Inbox

#: One message sent: index of the output port, sample, encoded form.
Output = tuple[int, Sample, bytes]
#: Compiled, constants of a module need not be looked for.
_SAMPLE: Final = Sample
_STEP: Final = Step


class _Sender:
    """Sequence numbers and stamps of one output port, which is the ``index``-th."""

    __slots__ = (
        "delivered",
        "encode",
        "index",
        "is_sparse",
        "latency_draw",
        "latency_ns",
        "name",
        "plain",
        "record",
        "schedule",
        "sends_once",
        "seq",
        "stamp",
    )

    def __init__(self, index: int, port: OutputPort) -> None:
        self.index = index
        self.name = port.name
        self.schedule = port.schedule
        self.is_sparse = port.schedule == "sparse"
        self.sends_once = port.schedule == "once"
        self.latency_ns = port.latency.minimum_ns
        self.latency_draw = port.latency.draw
        self.encode = port.codec.encode
        self.delivered = port.codec.delivered
        #: The class of records that readers see as they are, as far as known.
        self.plain: type | None = None
        self.seq = 0
        self.stamp = NEVER
        #: What it has sent last.
        self.record: Any = None


def _queues(graph: Graph, spec: ParticipantSpec) -> tuple[TimeAdvance | None, TimeAdvance | None]:
    """The queues of the messages that can activate a participant."""
    together = alone = None
    if spec.activation:
        # Where the function can never hold, samples need not be kept.
        end = spec.leave_ns if graph.can_trigger(spec.name) else NEVER
        together = TimeAdvance(spec.activation, spec.enter_ns, end)
    handled = tuple(p.name for p in spec.inputs if p.handled)
    if handled:
        # Each message activates alone: an activation function that one message satisfies.
        alone = TimeAdvance(any_of(handled), spec.enter_ns, spec.leave_ns)
    return together, alone


class ParticipantRuntime:
    """A model together with its ports.

    :param graph: the checked system
    :param name: the participant
    :param model: what it computes
    :param timer: optional monotonic time source [ns] for compute times (never used for
        results)
    :param shared: what participants have in common, for a scheduler under which time never
        decreases
    """

    def __init__(
        self,
        graph: Graph,
        name: str,
        model: FullModel,
        timer: Callable[[], int] | None = None,
        shared: SharedInputs | None = None,
    ) -> None:
        spec = graph.participants[name]
        self.name = name
        self.spec = spec
        self.model = model
        self.trace = ParticipantTrace()
        self.compute_ns = 0
        self.stop_reason: str | None = None
        self.stop_time = NEVER
        self.channels: tuple[Connection, ...] = graph.incoming(name)
        #: Messages that may activate it together, and those of which each does alone.
        self.tso, self.handled = _queues(graph, spec)
        #: Whether messages can activate it at all.
        self.has_events = self.tso is not None or self.handled is not None
        #: Takes what is sent within an activation at once; None: it leaves with the rest.
        self.leave: Callable[[list[Output]], None] | None = None
        #: Whether nothing can change any more what it reads at a time [ns], that of its next
        #: activation; its scheduler says so.
        self.is_settled: Callable[[int], bool] | None = None
        self.next_time: int | None = spec.first_time
        self._timer = timer
        self._period_ns = spec.period_ns
        self._decider: Model = model
        self._activate: Activation = model.activate
        #: Whether readers in this process may have the model's own records.
        self._exact = gives_exact_records(model)
        self._senders: dict[str, _Sender] = {}
        if isinstance(model, LayeredModel):
            model.on_change = self._follow_layers
            self._follow_layers()
        #: Time of the last activation [ns], or of the one that is going on.
        self.last_time = NEVER
        #: What its inputs held at the last activation.
        self._latest: Mapping[str, Sample | None] = {}
        self._senders |= {port.name: _Sender(i, port) for i, port in enumerate(spec.outputs)}
        self._every = tuple(p.name for p in spec.outputs if p.schedule == "every")
        self._once = tuple(p.name for p in spec.outputs if p.schedule == "once")
        self._services = {p.name: p.service for p in spec.inputs if p.service}
        #: Activations by period or activation function, which send on every port.
        self._regular = 0
        #: Time of the activation that is going on, what it has sent so far, and where.
        self._now: int | None = None
        #: The same in memory that outlives the process; below zero: none is going on.
        self.moment: Any = [-1]
        self._sent_now: list[Output] = []
        #: The thread that runs it, as its host says, and how often it waited within an activation.
        self.thread = 0
        self.waits = 0
        self._ports_now: set[str] = set()
        #: What waits until it is over.
        self._afterwards: list[Callable[[], None]] = []
        triggers = spec.event_ports
        self._trigger_ports = tuple(p.name for p in spec.inputs if p.name in triggers)
        self._last_trigger: dict[str, Sample | None] = dict.fromkeys(self._trigger_ports)
        self._receivers: list[Callable[[Sample], None]] = []
        self._held: dict[int, LatchedChannel] = {}
        self.latched_ports: list[LatchedPort] = []
        self._inputs = self._wired(graph, shared)
        #: What has arrived from outside of the simulated time, by port.
        self.inboxes = tuple(Inbox(p.name) for p in spec.inputs if p.unsynchronised)

    def _follow_layers(self) -> None:
        """Call no more of the layers than there is something to do: this is asked each time."""
        assert isinstance(self.model, LayeredModel)
        self._activate = self.model.activation
        self._decider = self.model.decider
        self._exact = gives_exact_records(self.model)
        for sender in self._senders.values():
            sender.plain = None

    def _wired(self, graph: Graph, shared: SharedInputs | None) -> LatchedInputs:
        """What holds the values of its inputs; each connection gets its receiver."""
        spec = self.spec
        triggers = spec.event_ports
        # An input without a writer (it has been left out) holds no value.
        by_port = {
            p.name: LatchedPort(p.name)
            for p in spec.inputs
            if p.name not in triggers and not p.unsynchronised
        }
        for index, channel in enumerate(self.channels):
            port = channel.target_port
            if port in triggers:
                queue = self.tso if port in spec.trigger_ports else self.handled
                assert queue is not None
                self._receivers.append(self._trigger_receiver(queue, index, port))
            else:
                delayed = graph.input(self.name, port).delayed
                if shared is None:
                    latched = LatchedChannel(delayed)
                else:
                    latency = graph.output(channel.source, channel.source_port).latency
                    at_once = latency.minimum_ns == 0 and latency.draw is None
                    latched = shared.channel(channel.source, channel.source_port, delayed, at_once)
                by_port[port].add(index, latched)
                self._receivers.append(latched.push)
                self._held[index] = latched
        self.latched_ports = list(by_port.values())
        if shared is None:
            return LatchedInputs(self.latched_ports)
        return shared.inputs(self.latched_ports)

    @property
    def open_activation(self) -> tuple[int, int, int] | None:
        """(number, time [ns], waits so far) of the activation that is going on; any thread asks."""
        time = self._now
        return None if time is None else (self.trace.activations, time, self.waits)

    def receiver(self, channel: int) -> Callable[[Sample], None]:
        """The function that takes the samples of one incoming connection."""
        return self._receivers[channel]

    def held(self, channel: int) -> LatchedChannel | None:
        """What takes the samples of one incoming connection, where the newest one counts."""
        return self._held.get(channel)

    def determine(self, lbts: int) -> int | None:
        """The next activation by messages; of equal times that by one to be handled is first.

        :param lbts: nothing stamped before this can still arrive on any port with events
        :returns: its time [ns], or None if none is known
        """
        if self.handled is None:
            return None if self.tso is None else self.tso.determine(lbts)
        return self._next_by_messages(lbts)[0]

    def next_stamp(self) -> int | None:
        """Stamp of the oldest message that may still activate it."""
        if self.handled is None:
            return None if self.tso is None else self.tso.next_stamp()
        queues = (self.handled, self.tso)
        stamps = [s for q in queues if q is not None and (s := q.next_stamp()) is not None]
        return min(stamps, default=None)

    def activate_data(self) -> list[Output]:
        """Run the activation that :meth:`determine` has found."""
        queue = self.tso
        if self.handled is not None:
            _, queue = self._next_by_messages(NEVER)  # no further message is looked at
        assert queue is not None
        prefix = queue.take()
        return self._run(prefix[-1].stamp, prefix, queue is self.handled)

    def _next_by_messages(self, lbts: int) -> tuple[int | None, TimeAdvance | None]:
        """Time of the next activation by messages, and the queue that it takes them from."""
        ready = None if self.tso is None else self.tso.determine(lbts)
        if self.handled is not None:
            single = self.handled.determine(lbts)
            if single is not None and (ready is None or single <= ready):
                return single, self.handled
        return ready, self.tso

    def activate_time(self) -> list[Output]:
        """Run the next time-triggered activation."""
        time = self.next_time
        assert time is not None and self._period_ns is not None
        later = time + self._period_ns
        self.next_time = later if later < self.spec.leave_ns else None
        return self._run(time, ())

    def enter(self, time: int) -> None:
        """Take part from this time on; for a participant with free entry, once."""
        self.spec = replace(self.spec, enter_ns=time, free_entry=False)
        self.next_time = self.spec.first_time
        for queue in (self.tso, self.handled):
            if queue is not None:
                queue.first = time

    def send_now(self, port: str, value: Any) -> None:
        """Send a message of the activation that is going on, before it is complete.

        It has the stamp that it would have at the end. A port that sends once in each activation
        has then sent; on a sparse one any number of messages may follow each other.

        :raises ParticipantError: no activation is going on, or the port may not send now
        """
        if self._now is None:
            raise ParticipantError(
                f"participant '{self.name}' sent on port '{port}' outside of an activation"
            )
        outputs = self._emit(self._now, {port: value})
        self._ports_now.add(port)
        if self.leave is None:
            self._sent_now += outputs
        else:
            self.leave(outputs)

    def ahead(self) -> Step | None:
        """The next activation, if it and all that it reads are settled; within an activation."""
        time, is_settled = self.next_time, self.is_settled
        if time is None or is_settled is None or self._now is None:
            return None
        if self.has_events or self.inboxes or self.spec.dynamic_step or not is_settled(time):
            return None
        return Step(time, {}, self._inputs.foreseen(time))

    def past(self) -> Past:
        """What it has exchanged so far."""
        senders = self._senders.items()
        sent = {port: sender.record for port, sender in senders if sender.record is not None}
        return Past(self._latest, sent)

    def between(self, call: Callable[[], None]) -> None:
        """Call something between two activations: now, or when the one that is going on is over."""
        if self._now is None:
            call()
        else:
            self._afterwards.append(call)

    @staticmethod
    def _trigger_receiver(queue: TimeAdvance, index: int, port: str) -> Callable[[Sample], None]:
        push = queue.push

        def receive(sample: Sample) -> None:
            stamp, seq, _ = sample
            push(NEW(QueuedSample, (stamp, index, seq, port, sample)))

        return receive

    def _run(self, time: int, prefix: Any, handled: bool = False) -> list[Output]:
        inputs = self._inputs
        inputs.advance(time)
        samples: dict[str, tuple[Sample, ...]] = {}
        if self._trigger_ports:
            latest = self._read_delivered(time, prefix, samples)
        else:
            latest = inputs.latest
            self.trace.activation(time, inputs.count, inputs.references)
        recorded: list[Output] = []
        if self.inboxes:
            own = dict(latest)
            for inbox in self.inboxes:
                inbox.read(time, samples, own, partial(self._record, recorded, time))
            latest = own
        self._latest = latest
        self._regular += not handled
        chosen_before = self._decider.next_time if handled else None
        self.last_time = time
        self._now, self._sent_now = time, recorded
        self.moment[0] = time
        timer = self._timer
        started = timer() if timer else 0
        try:
            step = NEW(_STEP, (time, samples, latest))
            values = self._handle(prefix[0], step) if handled else self._activate(step)
        except (ParticipantError, Aborted, Cancelled):
            raise
        except Exception as error:
            self._now = None
            self.moment[0] = -1
            failure = self._failure(time, error)
            failure.__cause__ = error  # mypyc leaves out the ``from`` of a ``raise``
            raise failure from error
        if timer:
            self.compute_ns += timer() - started
        decider = self._decider
        following = decider.next_time
        # While it handles a message it may leave the choice of its last step alone.
        if following is not None and not (handled and following == chosen_before):
            self._choose_next(time, following)
        if self.stop_reason is None and (reason := decider.stop_reason) is not None:
            self.stop_reason, self.stop_time = reason, time
        outputs = self._send(time, values, handled)
        self._now = None
        self.moment[0] = -1
        if self._ports_now:
            self._ports_now.clear()
        if self._afterwards:
            for call in self._afterwards:
                call()
            self._afterwards.clear()
        return recorded + outputs if recorded else outputs

    def _read_delivered(
        self, time: int, prefix: Sequence[QueuedSample], samples: dict[str, tuple[Sample, ...]]
    ) -> Mapping[str, Sample | None]:
        """Read what is delivered to an activation, besides what its inputs hold."""
        inputs = self._inputs
        if len(prefix) == 1:  # as a rule
            for port in self._trigger_ports:
                samples[port] = ()
            stamp, channel, seq, port, sample = prefix[0]
            samples[port] = (sample,)
            self._last_trigger[port] = sample
            references: bytes = REFERENCE(channel, stamp, seq)
        else:
            for port in self._trigger_ports:
                delivered = tuple([entry.sample for entry in prefix if entry.port == port])
                samples[port] = delivered
                if delivered:
                    self._last_trigger[port] = delivered[-1]
            references = b"".join(
                [REFERENCE(channel, at, seq) for at, channel, seq, _, _ in prefix]
            )
        latest = self._last_trigger.copy()
        latest.update(inputs.held)
        self.trace.activation(time, len(prefix) + inputs.count, references + inputs.references)
        return latest

    def _failure(self, time: int, error: Exception) -> ParticipantError:
        what = f"{error}"
        if not isinstance(error, ModelError):
            what = f"{type(error).__name__}: {error}{line_of(error)}"
        return ParticipantError(
            f"participant '{self.name}' failed in its activation {self.trace.activations} at "
            f"{format_ns(time)}: {what}"
        )

    def _handle(self, entry: QueuedSample, step: Step) -> Any:
        """Let the model handle one message: as a request to a service, or as it is."""
        service = self._services.get(entry.port)
        if service is None:
            return self.model.handle_message(entry.port, step)
        answer = self.model.answer_service(service, entry.sample.value, step)
        if answer is None:
            raise ParticipantError(
                f"participant '{self.name}' gave no answer to a request to service '{service}' at "
                f"{format_ns(step.time)}; each request is answered once"
            )
        return {entry.port: answer}

    def _record(self, recorded: list[Output], time: int, port: str, value: Any) -> Sample:
        """Send on what an activation has read from outside of the simulated time."""
        sender = self._senders[port]
        sample = Sample(time, sender.seq, value)
        data = sender.encode(time, sender.seq, value)
        sender.seq += 1
        sender.stamp = time
        self.trace.output(sender.index, time, sample.seq, data)
        recorded.append((sender.index, sample, data))
        return sample

    def _choose_next(self, time: int, chosen: int) -> None:
        """Take over when the model wants its next periodic activation."""
        if not self.spec.dynamic_step:
            raise ParticipantError(
                f"participant '{self.name}' chose {format_ns(chosen)} for its next "
                f"activation at {format_ns(time)}; this is allowed only with "
                "'dynamic_step: true' in the scenario"
            )
        if chosen <= time:
            raise ParticipantError(
                f"participant '{self.name}' chose {format_ns(chosen)} for its next "
                f"activation at {format_ns(time)}; allowed is any later time"
            )
        self.next_time = chosen if chosen < self.spec.leave_ns else None

    def _send(self, time: int, values: Any, handled: bool) -> list[Output]:
        if type(values) is dict:
            records: dict[str, Any] = values
        elif isinstance(values, Mapping):
            records = dict(values)
        else:
            raise ParticipantError(
                f"participant '{self.name}' returned {type(values).__name__} from its activation "
                f"at {format_ns(time)}; allowed is a mapping of output port to record (empty: "
                "silent)"
            )
        if handled:
            return self._emit(time, records, True)
        for port in self._every:
            if records.get(port) is None and port not in self._ports_now:
                raise ParticipantError(
                    f"participant '{self.name}' sent nothing on port '{port}' at "
                    f"{format_ns(time)}; the "
                    "port is declared to send at every activation (declare it 'sparse' if it "
                    "may stay silent)"
                )
        if self._once and self._regular == 1:
            for port in self._once:
                if records.get(port) is None and port not in self._ports_now:
                    raise ParticipantError(
                        f"participant '{self.name}' sent nothing on port '{port}' at its first "
                        f"activation ({format_ns(time)}), where a port declared 'once' sends"
                    )
        return self._emit(time, records)

    def _emit(self, time: int, values: dict[str, Any], sparse_only: bool = False) -> list[Output]:
        """Stamp, number and encode messages of an activation.

        :param sparse_only: the activation handles a message: ports with a schedule stay silent
        """
        outputs: list[Output] = []
        sent_now = self._ports_now
        for port, value in values.items():
            if value is None:
                continue
            sender = self._senders.get(port)
            if sender is None:
                raise ParticipantError(
                    f"participant '{self.name}' sent on port '{port}' at "
                    f"{format_ns(time)}; its output "
                    f"ports are {', '.join(self._senders) or 'none'}"
                )
            if not sender.is_sparse and (sparse_only or (sent_now and port in sent_now)):
                when = "while it handled a message" if sparse_only else "a second time"
                raise ParticipantError(
                    f"participant '{self.name}' sent on port '{port}' at "
                    f"{format_ns(time)} {when}; the "
                    f"port is declared '{sender.schedule}', this is allowed only on 'sparse' ports"
                )
            if sender.sends_once and self._regular > 1:
                raise ParticipantError(
                    f"participant '{self.name}' sent on port '{port}' at "
                    f"{format_ns(time)}; the port is "
                    "declared to send once, at the first activation"
                )
            delay = sender.latency_ns
            if sender.latency_draw:
                delay = sender.latency_draw()
                if delay < sender.latency_ns:
                    # Readers build on the minimum: a shorter delay would break promises made.
                    raise ParticipantError(
                        f"participant '{self.name}', port '{port}': latency drawn at "
                        f"{format_ns(time)} is {format_ns(delay)}; the declared minimum is "
                        f"{format_ns(sender.latency_ns)}"
                    )
            # A later message never overtakes an earlier one of the same port.
            stamp = time + delay
            if stamp < sender.stamp:
                stamp = sender.stamp
            sender.stamp = stamp
            seq = sender.seq
            # Compiled, each call and each tuple would make objects of the two numbers.
            as_object: Any = stamp
            number: Any = seq
            try:
                data = sender.encode(as_object, number, value)
            except Exception as error:
                failure = ParticipantError(
                    f"participant '{self.name}' sent on port '{port}' at "
                    f"{format_ns(time)} what the "
                    f"message type cannot hold: {type(error).__name__}: {error}"
                )
                failure.__cause__ = error
                raise failure from error
            self.trace.output(sender.index, stamp, seq, data)
            shown = value
            if type(value) is not sender.plain:
                shown = sender.delivered(value, data, self._exact)
                if shown is value:
                    sender.plain = type(value)
            sender.record = shown
            outputs.append((sender.index, NEW(_SAMPLE, (as_object, number, shown)), data))
            sender.seq = seq + 1
        return outputs

    def sent(self, port: str) -> tuple[int, int]:
        """(number of messages sent, stamp of the newest) of an output port."""
        sender = self._senders[port]
        return sender.seq, sender.stamp
