# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""An unmodified ROS node as a participant: the adapter that stands for it.

The node's topics are remapped to private ones, so it gets exactly what an activation
delivers: its clock, the latched inputs that are new, then the triggering samples in
timestamp order, each after the callback of the one before has returned. What it publishes
meanwhile is what the activation sends.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.participant import ModelContext, Sample, Step
from ros2_cosim.core.kernel.random_streams import stream_key
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.messages.bundles import items_of
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.cdr import WireCodec
from ros2_cosim.core.messages.foreign import BUNDLE_TYPE, ForeignSettings, full_topic
from ros2_cosim.core.messages.namespaces import inside
from ros2_cosim.core.messages.raw import CarrierCodec
from ros2_cosim.core.messages.wiring import wire_codec
from ros2_cosim.ros.foreign.component import LoadedComponent
from ros2_cosim.ros.foreign.foreign_clock import CLOCK_THREAD_LIBRARY, ClockProbe
from ros2_cosim.ros.foreign.foreign_exchange import (
    Called,
    ForeignExchange,
    Offered,
    part_names,
)
from ros2_cosim.ros.foreign.foreign_lead import Lead
from ros2_cosim.ros.foreign.foreign_lifecycle import ForeignLifecycle
from ros2_cosim.ros.foreign.foreign_output import CheckedOutput
from ros2_cosim.ros.foreign.foreign_patience import NodeEndedError, Patience
from ros2_cosim.ros.foreign.foreign_process import (
    ForeignProcess,
    foreign_command,
    foreign_environment,
    ros_arguments,
)
from ros2_cosim.ros.foreign.foreign_threads import (
    LATER_LOOKS,
    ThreadWatch,
    has_loaded,
    own_clockwork,
    processes_of_session,
    sleeps,
    turn_at,
)
from ros2_cosim.ros.foreign.foreign_topics import ForeignTopics, ForeignWriting, gate_topic
from ros2_cosim.ros.node.topics import CLOCK_TYPE
from ros2_cosim.ros.node.writers import clock_message

#: The adapter gives up before the clock's watchdog does, for it knows more of the cause.
_SHARE_OF_WATCHDOG = 2 / 3
#: The stream that seeds the random numbers of a node's own program.
_SEEDS = "program"
#: What a program may read that differs from run to run.
_READS = {
    "machine": "the state of the machine",
    "random_numbers": "random numbers of the operating system",
    "wall_clock": "the wall clock",
}
#: As :data:`LATER_LOOKS`, of a node that is led: it is known to be in one executor.
_LATER_LOOKS_LED = 100
#: How long the discovery of a node's readers may take [s]; it decides about an error message only.
_DISCOVERY_S = 0.2
#: An answer makes a task of the executor, which may call again: each is done at another look.
_LOOKS_OF_ANSWERS = 3
#: Without a barrier, what came after the last activation is waited for so long [s].
_REST_S = 0.1
#: For so long [s] the process of a node that was started elsewhere is looked for.
_PROCESS_S = 1.0


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
        exchanged = settings.exchanged
        fed = [p.name for p in spec.inputs if not p.unfed and p.name not in exchanged]
        self._codecs = {port: input_codec(graph, name, port) for port in fed}
        self._start_ns = context.start_ns
        self._triggers = tuple(p.name for p in spec.inputs if p.name in spec.trigger_ports)
        self._latched = tuple(p.name for p in spec.inputs if p.name not in spec.trigger_ports)
        self._newest: dict[str, tuple[int, int]] = {}
        self._first_clock = settings.clock_start
        if settings.use_sim_time and self._first_clock is None and spec.period_ns is not None:
            self._first_clock = max(0, (spec.first_time or 0) - spec.period_ns)
        self._barrier = settings.barrier != "none"
        self._may_lead = settings.barrier == "lead" and not settings.is_component
        self._patience = Patience(name, patience_s)
        #: The way to a Python program, whether or not it is led.
        self._lead: Lead | None = None
        self._topics = topics = ForeignTopics(
            name,
            settings.full_name(name),
            {port: codec_type(codec) for port, codec in self._codecs.items()},
            {
                port.name: ForeignWriting(
                    codec_type(wire_codec(port)),
                    latched=port.schedule == "once",
                    best_effort=settings.outputs[port.name].best_effort,
                )
                for port in spec.outputs
                if port.name not in exchanged
            },
            settings.read_and_written,
            barrier=self._barrier,
            clock=settings.use_sim_time,
            check=self._patience.check,
            start_ns=context.start_ns,
        )
        self._patience.causes = self._topics.misfits
        self._node_name = self._topics.node_name
        self._outputs = [
            CheckedOutput(port, settings.outputs[port.name], self._topics.received[port.name],
                    self._patience)
            for port in spec.outputs if port.name not in exchanged
        ]  # fmt: skip
        place = f"participants.{name}.parameters"
        #: Port -> service or action behind it.
        self._exchanges: dict[str, ForeignExchange] = {}
        for kind, key, those in (
            (Called, "calls", settings.calls),
            (Offered, "offers", settings.offers),
        ):
            for port, each in those.items():
                gate = inside(topics.node, gate_topic(name, key, port))
                self._exchanges[port] = kind(topics.node, gate, each, f"{place}.{key}.{port}")
        # To read its definition takes longer than all else that is done before the node starts.
        self._bundle: Any = CATALOGUE.record(BUNDLE_TYPE) if self._exchanges else None
        self._patience.may_end = bool(settings.calls) and not settings.offers
        #: Whether it has been activated: before that it asks what it likes.
        self._has_begun = False
        #: Whether the node has done what it was for, and has ended.
        self._is_over = False
        self._lifecycle = ForeignLifecycle(
            self._topics.node,
            self._node_name,
            settings.lifecycle,
            self._patience,
            self._topics.wait_until,
        )
        self._watch = ThreadWatch([])
        #: The processes of the node; empty: they cannot be seen.
        self._seen: list[int] = []
        #: An output whose messages are not counted shows nothing of one that came by itself.
        self._uncounted = settings.threads == "watch" and any(
            output.expect == "any" for output in settings.outputs.values()
        )
        #: When it was seen, and how, that the node may act without being given something.
        self._acts: tuple[int, str] | None = None
        #: Of a node that sets its clock in its own thread.
        self._probe: ClockProbe | None = None
        #: Whether the node reads what it publishes.
        self._hears_itself = False
        #: Services and actions of other nodes that the node calls.
        self._called: list[str] = []
        #: When it was seen, and at which port, that the barrier does not hold.
        self._late: tuple[int, str] | None = None
        #: The subscriptions of a node that is not led, and since when they are others.
        self._readers: frozenset[bytes] = frozenset()
        self._reads_anew: int | None = None
        #: Since when [ns], and where, another program publishes on a private topic.
        self._others: tuple[int, str] | None = None
        self._process: ForeignProcess | None = None
        self._component: LoadedComponent | None = None
        where = f"participants.{name}.parameters"
        if settings.is_component:
            self._component = LoadedComponent(
                topics.node, settings, self._remappings(), self._patience, topics.wait_until
            )
        if isinstance(settings.attach, str):
            self._patience.hint = f"; start the container {settings.attach}"
            return
        if settings.attach:
            arguments = " ".join(ros_arguments(settings, self._remappings()))
            self._patience.hint = f"; start the node with --ros-args {arguments}"
            return
        inputs = [*map(topics.input_topic, self._codecs), topics.clock_topic]
        outputs = dict(zip(topics.writes, topics.received.values(), strict=True))
        lead = Lead(inputs, outputs, self._patience.check)
        try:
            command = foreign_command(settings, context.base_directory, self._remappings(), where)
            seed = stream_key(context.run_seed, name, _SEEDS)
            if led := lead.command(command, seed, leads=self._may_lead):
                command, self._lead = led, lead
            environment, there = foreign_environment(settings, seed), lead.there.fileno()
            self._process = ForeignProcess(command, environment, where, [there])
        except ConfigurationError:
            self.close()
            raise
        finally:
            lead.there.close()
            if self._lead is None:
                lead.close()
        self._patience.process = self._process

    @property
    def patience_s(self) -> float:
        """Wall seconds after which a silent node ends the run."""
        return self._patience.seconds

    @patience_s.setter
    def patience_s(self, seconds: float) -> None:
        self._patience.seconds = seconds

    def connect(self) -> None:
        """Wait until the node is there, is active, and reads and writes what is declared.

        :raises ParticipantError: it does not appear, or it reads what it is not given
        """
        topics, settings = self._topics, self._settings
        if self._component is not None:
            self._component.load()
        if not self._is_led():
            self._meet()
        pids = self._pids()
        if self._led is None and settings.use_sim_time and has_loaded(pids, CLOCK_THREAD_LIBRARY):
            self._probe = ClockProbe(topics)
        if self._first_clock is not None:
            self._show_time(self._first_clock)
        for port in self._outputs:
            port.begin(latched=self._is_latched(port))
        later = LATER_LOOKS if self._led is None else _LATER_LOOKS_LED
        # A goal takes few activations, each of which counts.
        watch = ThreadWatch(pids, 1, few=True) if self._exchanges else ThreadWatch(pids, later)
        self._watch, self._seen = watch, pids
        self._readers = topics.readers()

    def _is_latched(self, port: CheckedOutput) -> bool:
        """Whether a node that is led latches a topic; of another one, say that it does."""
        topic = self._topics.output_topic(port.name)
        if self._led is not None:
            return topic in self._led.latched
        if port.settings.expect == "any" and self._topics.latches(topic) and not port.sends_once:
            print(
                f"participant '{self._name}': output '{port.name}' is latched: what the node has "
                "published before its first activation is not sent (schedule: once sends it)",
                flush=True,
            )
        return False

    @property
    def _led(self) -> Lead | None:
        """The lead of the node; None: it is not led."""
        return self._lead if self._lead is not None and self._lead.leads else None

    def _is_led(self) -> bool:
        """Wait until the node appears, and lead it if it can be led."""
        lead, topics, settings = self._lead, self._topics, self._settings
        if lead is None or not self._may_lead:
            return False
        self._patience.begin(self._missing)
        while not lead.introduced():
            self._patience.check()
            if not self._not_found():
                # It may not spin yet; when it answers, it does, and has introduced itself before.
                self._greet()
                if not lead.introduced():
                    return False
        reads = {
            topics.input_topic(port): (codec_type(codec), settings.inputs[port].best_effort)
            for port, codec in self._codecs.items()
        }
        if settings.use_sim_time:
            reads[topics.clock_topic] = CLOCK_TYPE, True
        later = [*map(topics.input_topic, self._read_later)]
        fits = not self._exchanges and lead.fits(self._node_name, reads, topics.writes, later)
        leads = fits and not has_loaded(self._pids(), CLOCK_THREAD_LIBRARY)
        if leads:
            topics.forget()  # what has come in DDS so far the program tells now
        lead.begin(leads=leads)
        return lead.leads

    @property
    def _read_later(self) -> list[str]:
        """Inputs that the node may read later: their topics are those that it may read anyway."""
        settings = self._settings
        name = settings.full_name(self._name)
        return [
            port
            for port, tied in settings.inputs.items()
            if port in self._codecs and full_topic(tied.topic, name) in settings.allow_topics
        ]

    def _greet(self) -> None:
        self._patience.begin(lambda: f"an answer of {self._node_name}/get_parameters")
        self._topics.greet()

    def _missing(self) -> str:
        missing = self._not_found()
        hint = ""
        if (
            self._may_lead
            and missing
            and all(each.startswith("a subscription") for each in missing)
        ):
            hint = " (allow_topics names the topic of one that is made later)"
        return (", ".join(missing) or self._node_name) + hint

    def _not_found(self) -> list[str]:
        offered = [each.missing() for each in self._exchanges.values() if each.is_offered]
        # A client may be made later: when it has an answer of another service, for instance.
        called = [each.missing() for each in self._exchanges.values() if not each.is_offered]
        missing = [*offered, *called] if all(called) else offered
        return [*self._topics.missing(), *(text for each in missing for text in each)]

    def _meet(self) -> None:
        """Wait until the node and this side have found each other in DDS, and see what it is."""
        topics, patience = self._topics, self._patience
        self._appear()
        self._greet()
        for port in self._outputs:
            if topics.publishers(port.name) != 1:
                patience.fail(
                    f"{topics.publishers(port.name)} publishers write to {port.settings.topic}; "
                    "allowed is one"
                )
        # Discovery of the node's readers may be late: give it a while here, and look once more
        # when the run is over.
        time.sleep(_DISCOVERY_S)
        self._appear()
        self._look_around()
        for name, tied in self._settings.inputs.items():
            if topics.best_effort(name) and not tied.best_effort:
                patience.fail(
                    f"the node reads {tied.topic} without reliable delivery: a lost message would "
                    "go unnoticed; set best_effort: true on the input to accept that"
                )

    def _appear(self) -> None:
        """Wait for the node's topics and services; a lifecycle node has all when it is active."""
        topics, life = self._topics, self._lifecycle

        def missing() -> str:
            state = [f"the lifecycle node is {life.state}"] if life.state else []
            return "; ".join([self._missing(), *state])

        def is_there() -> bool:
            for misfit in topics.misfits():
                self._patience.fail(misfit)
            return not self._not_found()

        self._patience.begin(missing)
        topics.wait_until(lambda: is_there() or life.found)
        if life.found:
            life.bring_up()
            self._patience.begin(missing)
            topics.wait_until(is_there)

    def _pids(self) -> list[int]:
        """The processes whose threads are watched; empty: they cannot be seen."""
        if self._process is not None:
            return processes_of_session(self._process.pid)
        topics = self._topics
        # Its topics may be found earlier than the ends that show its process.
        self._patience.begin(lambda: f"the process of {self._node_name}")
        topics.wait_until(lambda: topics.process() is not None, _PROCESS_S)
        found = topics.process()
        return [] if found is None else [found]

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Hand the samples over and collect what the node publishes.

        :raises ParticipantError: the node died, is silent, or publishes what is not expected
        """
        try:
            if self._is_over:
                return {}
            with self._turn():
                return self._activate(step)
        except NodeEndedError:
            self._is_over = True
            return self._last_sent(step.time)

    def _turn(self) -> AbstractContextManager[None]:
        """The only one to have the node's process do something, if it may have other nodes, too."""
        if self._process is not None:
            return nullcontext()
        self._patience.begin(lambda: f"the other nodes in the process of {self._node_name}")
        return turn_at(self._seen, self._patience.check)

    def _activate(self, step: Step) -> Mapping[str, Any]:
        started = time.perf_counter_ns()
        self._patience.hint = ""
        self._patience.place = f"activation at {format_ns(step.time)}"
        self._watch.begin()
        if self._watch.looks:
            self._look_at_rest(step.time)
        if self._has_begun:
            self._note_sent_between(step.time)
        self._has_begun = True
        window = time.time_ns()
        fresh, delivered = self._fresh(step), self._delivered(step)
        if self._led is None or not self._led_through(fresh, step.time, delivered):
            self._pass_through(fresh, step.time, delivered)
        led = self._led
        for port in self._outputs:
            if not port.is_complete():
                self._patience.begin(port.missing)
                (led or self._topics).wait_until(port.is_complete)
        if self._barrier and self._hears_itself:
            # In reply to its own messages the node may have published again.
            self._pass_barrier(looks=0)
        self._settle()
        # A node of its own clockwork may have published before this process asked it to.
        earliest = window if self._seen else None
        # The last answer showed that what was published had come, the one before that it was all.
        done = self._topics.asked_ns if led is None else led.done_ns
        values = {port.name: port.take(step.time, earliest, done) for port in self._outputs}
        sent = self._exchanged()
        values |= sent
        self._note_others(step.time)
        given = any(entry.port in self._exchanges for entry in (*fresh, *delivered))
        self._watch.end(step.time, counts=not self._exchanges or given or bool(sent))
        self.transport_ns += time.perf_counter_ns() - started
        return values

    def _last_sent(self, now: int) -> dict[str, Any]:
        """What the node has sent in the activation in which it ended."""
        patience, lead, topics = self._patience, self._lead, self._topics
        patience.process = None
        patience.begin(lambda: "the last messages of the node, which has ended")
        if lead is not None:
            lead.hear_out()
        if lead is not None and lead.written is not None:
            last = {p: lead.written[topics.output_topic(p.name)] for p in self._outputs}
            topics.wait_until(lambda: all(p.has_come(number) for p, number in last.items()))
        else:
            topics.wait_until(lambda: False, _REST_S)
        came = [port for port in self._outputs if topics.received[port.name]]
        values = {port.name: port.take(now, None, 0) for port in came}
        return values | self._exchanged()

    def _note_sent_between(self, now: int) -> None:
        """Note what the node has asked or answered after it had answered that it was done."""
        for port, each in self._exchanges.items():
            if each.collect() and self._late is None:
                self._late = now, port

    def _exchanged(self) -> dict[str, Any]:
        """What the node has asked and answered in this activation, by port."""
        for each in self._exchanges.values():
            each.collect()
        taken = {port: each.take() for port, each in self._exchanges.items()}
        return {port: self._bundle(data=data) for port, data in taken.items() if data}

    def _settle(self) -> None:
        """Return when the node asks and answers no more: what it does may make it do more."""
        while self._exchanges:
            self._pass_barrier(looks=_LOOKS_OF_ANSWERS)
            if not sum(each.collect() for each in self._exchanges.values()):
                return

    def _led_through(self, fresh: list[_Handed], now: int, delivered: list[_Handed]) -> bool:
        """Hand over in one request all that an activation delivers; False: it cannot be led."""
        assert self._lead is not None
        self._patience.begin(lambda: f"the callbacks of {self._node_name} (are they busy?)")
        messages = [*map(self._message, fresh)]
        if self._settings.use_sim_time:
            clock = clock_message(now + self._start_ns)
            messages.append((self._topics.clock_topic, clock))
        if self._lead.step([*messages, *map(self._message, delivered)]):
            return True
        self._meet()
        self._topics.forget()
        for port in self._outputs:
            port.number = 0
        return False

    def _message(self, entry: _Handed) -> tuple[str, bytes]:
        return self._topics.input_topic(entry.port), self._bytes(entry)

    def _bytes(self, entry: _Handed) -> bytes:
        codec = self._codecs[entry.port]
        return codec.plain(codec.encode(entry.stamp, entry.sample.seq, entry.sample.value))

    def _pass_through(self, fresh: list[_Handed], now: int, delivered: list[_Handed]) -> None:
        """Hand over in DDS, one after the other, all that an activation delivers."""
        # Latched inputs first: timers that the new time makes due already see them. What callbacks
        # published came the same way as the answers, and earlier: one call more shows it, right
        # behind those of the last delivery. What the node hears of it has callbacks, too.
        clock = self._settings.use_sim_time
        joined = not (self._hears_itself or self._exchanges)
        self._hand_over(fresh, last=joined and not (clock or delivered))
        if clock:
            self._set_clock(now, last=joined and not delivered)
        self._hand_over(delivered, last=joined)
        if self._barrier and not (joined and (fresh or clock or delivered)):
            self._pass_barrier(looks=int(self._hears_itself))

    def _set_clock(self, now: int, *, last: bool) -> None:
        # A thread that sets the clock runs no callbacks.
        apart = self._probe is not None
        if apart:
            self._watch.pause()
        self._show_time(now, last=last)
        if apart:
            self._watch.resume()

    def _note_others(self, now: int) -> None:
        """Note since when others published on its topics, and since when a message came late."""
        others = [port.settings.topic for port in self._outputs if port.has_others]
        if self._watch.looks:
            others.append(self._topics.strangers())
            if self._led is None and self._reads_anew is None:
                self._reads_anew = now if self._topics.readers() != self._readers else None
        other = next(filter(None, others), "")
        if other and self._others is None:
            self._others = now, other
        late = next((port.name for port in self._outputs if port.came_late), "")
        if late and self._late is None:
            self._late = now, late

    def finish(self) -> None:
        """Refuse a run in which the node read what it was not given, or published by itself.

        :raises ParticipantError: it did
        """
        self._patience.place = "after its last activation"
        if self._is_over:
            return
        if self._led is not None:
            if self._process is not None and self._process.ended() is None:
                self._led.step([])
            self._check_read_later(self._led)
        elif self._barrier and (self._process is None or self._process.ended() is None):
            # What the node publishes when it has answered is here with the answer to the next one.
            self._pass_barrier()
            self._pass_barrier(looks=0)
            self._note_sent_between(0)
        else:
            self._topics.wait_until(lambda: False, _REST_S)
        for port in self._outputs:
            port.refuse_more()
            if port.left_out:
                place = f"participant '{self._name}': output '{port.name}'"
                told = f"{port.left_out} messages were followed by others in their activations"
                print(f"{place}: {told}, and were not sent on", flush=True)
        for each in self._exchanges.values():
            if not each.has_sent and (missing := each.missing()):
                self._patience.fail(f"the node never had {', '.join(missing)}")
        if self._others is None and (topic := self._topics.strangers()):
            self._others = 0, topic
        self._look_around()
        if self._settings.attach:
            self._lifecycle.bring_down()

    def _check_read_later(self, led: Lead) -> None:
        """Say which inputs were never read.

        :raises ParticipantError: one was read as another type
        """
        types = led.read_types
        for port in self._read_later:
            found, wanted = (
                types.get(self._topics.input_topic(port)),
                codec_type(self._codecs[port]),
            )
            if found is None:
                print(f"participant '{self._name}': the node never read input '{port}'", flush=True)
            elif found != wanted:
                self._patience.fail(f"input '{port}': the node reads {found}; allowed is {wanted}")

    def not_repeatable(self) -> tuple[int, str] | None:
        """Since when [ns of simulated time] and why another run may differ; None: it does not."""
        node = f"the node {self._node_name}"
        if self._called:
            return 0, (
                f"{node} is a client of {', '.join(self._called)}, whose answers come at any wall "
                "time; name them in allow_services if they never change a result"
            )
        if self._others is not None:
            time_ns, topic = self._others
            return time_ns, f"more than one program publishes on {topic}, in whatever order"
        if self._reads_anew is not None:
            return self._reads_anew, (
                f"{node} has made or given up subscriptions of its inputs: which messages they get "
                "depends on how soon they are found"
            )
        for kind, place in (self._lead.asked if self._lead else {}).items():
            if kind not in self._settings.allow_reads:
                return 0, (
                    f"{node} reads {_READS[kind]} ({place}); name {kind} in allow_reads if that "
                    "never changes a result"
                )
        if self._settings.threads == "accept":
            return None
        since = self._watch.several_since()
        if since is not None:
            return since, f"{node} runs callbacks in several threads"
        if self._acts is not None:
            time_ns, how = self._acts
            return time_ns, (
                f"{node} {how}: it may publish on its own account, and what expects any number of "
                "messages cannot tell; threads: accept says that this changes no result"
            )
        if self._late is not None:
            time_ns, port = self._late
            return time_ns, (
                f"{node} published '{port}' after it had answered that its callbacks were done, "
                "or was still at it: it runs them in several threads, or they wait for something"
            )
        if not self._watch.sees:
            return 0, f"the threads of {node} cannot be watched from this machine"
        return None

    def _look_at_rest(self, time_ns: int) -> None:
        """Check whether the node, with nothing to do, waits for messages and for nothing else."""
        if self._exchanges and self._late is None and sleeps(self._seen):
            self._late = time_ns, next(iter(self._exchanges))
        if self._uncounted and self._led is None and self._acts is None and self._seen:
            how = own_clockwork(self._seen, self._patience.check)
            self._acts = (time_ns, how) if how else None

    def _look_around(self) -> None:
        """See with what else than its adapter the node exchanges messages."""
        if self._barrier and self._led is None and self._topics.has_twin():
            self._patience.fail(
                f"another program has a node {self._node_name}, too, and its answers would count: "
                "end it, or give one of them another node_name"
            )
        self._hears_itself = self._topics.hears_itself()
        own = [each.name for each in self._exchanges.values()]
        self._called = self._topics.called([*self._settings.allow_services, *own])
        inner = self._led.inner if self._led is not None else {}
        undeclared = self._topics.undeclared([*self._settings.allow_topics, *inner])
        given = map(self._topics.input_topic, self._codecs)
        for topic in sorted(inner.keys() - set(given)):
            writers = self._topics.node.count_publishers(topic)
            if self._others is None and writers > inner[topic]:
                self._others = 0, topic
        if undeclared:
            self._patience.fail(
                f"the node also reads {', '.join(undeclared)}, which is not an input of the "
                "participant; declare it, or name it in allow_topics if what comes there never "
                "changes a result"
            )

    def close(self) -> None:
        """End the foreign process and leave the ROS graph."""
        if self._process is not None:
            self._process.close()
        if self._component is not None:
            self._component.unload()
        if self._lead is not None:
            self._lead.close()
        self._topics.close()
        self._patience.close()

    def _remappings(self) -> dict[str, str]:
        names = self._settings.remappings(self._topics.input_topic, self._topics.output_topic)
        for port, tied in self._settings.exchanged.items():
            for part in part_names(tied):
                names[tied.called + part] = self._exchanges[port].name + part
        names["/clock"] = self._topics.clock_topic
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

    def _hand_over(self, queue: list[_Handed], *, last: bool) -> None:
        for entry in queue:
            if entry.port in self._exchanges:
                for item in items_of(bytes(entry.sample.value.data)):
                    self._exchanges[entry.port].deliver(item)
                    self._settle()
                continue
            data = self._bytes(entry)
            self._topics.publish(entry.port, data, acknowledge=self._settings.acknowledge)
            if self._settings.ordered and self._barrier:
                self._pass_barrier(last=last and entry is queue[-1])
                if self._hears_itself:
                    # What the node reads of its own messages came after this answer.
                    self._pass_barrier()
        if queue and self._barrier and not self._settings.ordered:
            # An executor takes one message of each topic between two looks at its services.
            looks = max(Counter(entry.port for entry in queue).values())
            self._pass_barrier(looks, last=last)

    def _show_time(self, time_ns: int, *, last: bool = False) -> None:
        if self._led is not None:
            clock = clock_message(time_ns + self._start_ns)
            self._led.step([(self._topics.clock_topic, clock)])
            return
        self._topics.show_time(time_ns)
        if not self._barrier:
            return
        self._patience.begin(lambda: f"the clock of {self._node_name} at {format_ns(time_ns)}")
        if self._probe is not None:
            # When the node has said that the clock is set, timers that it made due run at the next
            # look, and the second of these calls is answered after it.
            barrier = partial(self._topics.barrier, 1, last=last)
            if self._probe.wait_for(time_ns + self._start_ns, barrier):
                return
            self._probe = None  # it refuses: that it has several threads stands in the summary
        # Now, or at the next look, the clock is set; timers that it made due run at the one after.
        self._pass_barrier(looks=2, last=last)

    def _pass_barrier(self, looks: int = 1, *, last: bool = False) -> None:
        self._patience.begin(
            lambda: (
                f"an answer of {self._node_name}/get_parameters (is it busy, or does a callback "
                "wait for another one? Then it needs barrier: parameters, and its parameter "
                "services another callback group than that one)"
            )
        )
        self._topics.barrier(looks, last=last)


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


def input_codec(graph: Graph, participant: str, port: str) -> WireCodec:
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
