# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A run in Foxglove: all its topics, ``/clock``, markers and transforms, over a WebSocket.

The run hands its messages over and continues: the server has its own threads, and a bounded queue
for each viewer, from which the oldest messages are dropped. Viewers may come and go; they cannot
send anything to the run.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from ros2_cosim.core.documents.extras import need_extra
from ros2_cosim.core.kernel.address import Address
from ros2_cosim.core.kernel.errors import ConnectionFailedError
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.sink import Sink
from ros2_cosim.core.record.bag import describe_types
from ros2_cosim.core.record.history import TopicHistory
from ros2_cosim.core.scenario.pictures import picture_of
from ros2_cosim.core.scenario.schema import Scenario

#: The option that asks for it, in messages.
OPTION = "--foxglove"
CLOCK = "/clock"
_CLOCK_TYPE = "rosgraph_msgs/msg/Clock"
#: Shortest interval between two pictures [ns of wall time]: 25 pictures a second.
PICTURE_NS = 40_000_000
#: So many messages may wait for one viewer; the history of all topics of a scenario fits in.
BACKLOG = 8_192
#: At the end of a run viewers get so long to take what still waits for them [s]; the server does
#: not tell how much that is, and drops it when it stops.
DRAIN_S = 1.0


def check_address(text: str) -> None:
    """Check whether a run can be shown there, as far as that is known before it starts.

    :raises ConfigurationError: the address is none, or Foxglove's package is not installed
    """
    Address.of(text, OPTION)
    need_extra("live", ("foxglove",), OPTION)


class FoxgloveView:
    """Shows the messages of a run; a sink of its recorder.

    :param address: where it listens
    :param scenario: the run's
    :param graph: its system
    :param timer: monotonic wall clock [ns]
    :raises ConfigurationError: the extra is not installed
    :raises ConnectionFailedError: nothing can listen there
    """

    def __init__(
        self,
        address: Address,
        scenario: Scenario,
        graph: Graph,
        *,
        timer: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        need_extra("live", ("foxglove",), OPTION)
        import foxglove

        # It complains of viewers that vanish; to the run that is nothing.
        logging.getLogger("foxglove").setLevel(logging.CRITICAL)
        from foxglove.websocket import Capability

        self._timer = timer
        self._start_ns = scenario.start_time
        self._time = -1
        self._shown_at: int | None = None
        self._lock = threading.Lock()
        self._picture = picture_of(scenario)
        topics: dict[str, str] = {}
        latched: set[str] = set(self._picture.latched)
        for name in scenario.participants:
            for port, settings in scenario.outputs_of(name).items():
                topics[settings.topic] = settings.type
                if graph.output(name, port).schedule == "once":
                    latched.add(settings.topic)
        topics = {CLOCK: _CLOCK_TYPE, **self._picture.topics, **topics}
        self._histories = {topic: TopicHistory(topic in latched) for topic in topics}
        types = describe_types(topics.values())
        self._context = context = foxglove.Context()  # when it goes, its channels close
        self._channels = {
            topic: foxglove.Channel(
                topic,
                schema=foxglove.Schema(
                    name=kind, encoding="ros2msg", data=types[kind].text.encode()
                ),
                message_encoding="cdr",
                context=context,
            )
            for topic, kind in topics.items()
        }
        # It declares only the messages that matter here.
        self._viewers = _Listener(self._show_past)
        listener: Any = self._viewers
        try:
            self._server = foxglove.start_server(
                name=f"ros2_cosim: {scenario.name}",
                host=address.host,
                port=address.port,
                capabilities=[Capability.Time],
                supported_encodings=["cdr"],
                server_listener=listener,
                context=context,
                message_backlog_size=BACKLOG,
            )
        except RuntimeError as error:
            raise ConnectionFailedError(
                f"{OPTION}: cannot listen at {address.host}:{address.port}: {error}"
            ) from None
        host = f"[{address.host}]" if ":" in address.host else address.host
        #: What viewers connect to.
        self.url = f"ws://{host}:{self._server.port}"
        self._closed = False
        for topic, data in self._picture.begin():
            self._show(topic, 0, data)

    def write(self, topic: str, stamp_ns: int, seq: int, data: bytes) -> None:
        """Show a message, in CDR."""
        self._show(topic, stamp_ns, data)
        self._picture.take(topic, data)

    def advance(self, time_ns: int) -> None:
        """Show the time that the run has reached, and a picture of it if one is due."""
        if time_ns <= self._time:
            return
        self._time = time_ns
        now = self._timer()
        if self._shown_at is None or now - self._shown_at >= PICTURE_NS:
            self._shown_at = now
            self._show_now()

    def close(self) -> None:
        """Show the end, and let the viewers go: after ``DRAIN_S`` if any is still there."""
        if self._closed:
            return
        self._closed = True
        if self._time >= 0:
            self._show_now()
        self._viewers.wait_until_gone(DRAIN_S)
        self._server.stop()

    def _show_now(self) -> None:
        time_ns = self._time
        self._server.broadcast_time(time_ns + self._start_ns)
        clock = CATALOGUE.record(_CLOCK_TYPE)()  # the time is its stamp
        codec = CATALOGUE.codec(_CLOCK_TYPE, start_ns=self._start_ns)
        self._show(CLOCK, time_ns, codec.encode(time_ns, 0, clock))
        for topic, data in self._picture.draw(time_ns):
            self._show(topic, time_ns, data)

    def _show(self, topic: str, stamp_ns: int, data: bytes) -> None:
        with self._lock:
            self._histories[topic].add(stamp_ns, data)
            self._channels[topic].log(data, log_time=stamp_ns + self._start_ns)

    def _show_past(self, topic: str, viewer: int) -> None:
        """Show a viewer that comes late what was there before it; called by the server's thread."""
        with self._lock:
            for stamp_ns, data in self._histories[topic].messages():
                time_ns = stamp_ns + self._start_ns
                self._channels[topic].log(data, log_time=time_ns, sink_id=viewer)


class _Listener:
    """Hears from the server; of all that it may tell, subscriptions matter."""

    def __init__(self, show_past: Callable[[str, int], None]) -> None:
        self._show_past = show_past
        self._changed = threading.Condition()
        #: Viewer and topic of each subscription.
        self._seen: set[tuple[int, str]] = set()

    def on_subscribe(self, client: Any, channel: Any) -> None:
        """A viewer has subscribed to a topic."""
        with self._changed:
            self._seen.add((client.id, channel.topic))
        self._show_past(channel.topic, client.id)

    def on_unsubscribe(self, client: Any, channel: Any) -> None:
        """A viewer has had enough of a topic, or has gone."""
        with self._changed:
            self._seen.discard((client.id, channel.topic))
            self._changed.notify_all()

    def wait_until_gone(self, seconds: float) -> None:
        """Wait until no viewer looks at anything, or that time is over."""
        with self._changed:
            self._changed.wait_for(lambda: not self._seen, seconds)


class WatchedSink:
    """A sink beside which viewers are shown the same.

    :param sink: where the messages go
    :param view: shows them; it never fails
    """

    def __init__(self, sink: Sink, view: FoxgloveView) -> None:
        self._sink = sink
        self._view = view

    def write(self, topic: str, stamp_ns: int, seq: int, data: bytes) -> None:
        """Take one message in CDR."""
        self._sink.write(topic, stamp_ns, seq, data)
        self._view.write(topic, stamp_ns, seq, data)

    def advance(self, time_ns: int) -> None:
        """Every message stamped before ``time_ns`` has been given."""
        self._sink.advance(time_ns)
        self._view.advance(time_ns)

    def conclude(self, trace_sha256: str) -> None:
        """The run is complete with this trace."""
        self._sink.conclude(trace_sha256)

    def close(self) -> None:
        """It gives out no more messages."""
        self._view.close()
        self._sink.close()


def with_viewers(
    sink: Sink,
    address: str,
    scenario: Scenario,
    graph: Graph,
    tell: Callable[[str], None],
) -> Sink:
    """The sink of a run, with viewers where some are wanted.

    :param address: ``[HOST:]PORT``; empty: no viewers
    :param tell: takes a line that says where the view is
    :raises ConfigurationError: the address is none, or the extra is not installed
    :raises ConnectionFailedError: nothing can listen there; the sink is closed
    """
    if not address:
        return sink
    try:
        view = FoxgloveView(Address.of(address, OPTION), scenario, graph)
    except BaseException:
        sink.close()
        raise
    tell(f"live view for Foxglove: {view.url}")
    return WatchedSink(sink, view)
