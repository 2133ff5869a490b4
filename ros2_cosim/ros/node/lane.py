# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The lane of a run: topics between its processes on one host, over Unix sockets, without DDS.

Any two participants of a run that share a topic have their own connection
(:mod:`~ros2_cosim.core.sockets.switchboard`). Over it each tells the other what it writes and
reads, and the writer then sends each message straight to its readers. A connection keeps its order,
and loses nothing: where a reader does not keep up, its writer waits, and takes in meanwhile what it
is sent itself, so that no two wait for each other for ever. The end of a connection tells at once
that a process has ended, after everything that it had sent.

All messages between two waits leave together: a reader wakes up once for it. A reader that only
keeps messages is *lazy*: they come in portions, or when the writer has nothing to do. So is a
reader that rests, for messages after which it still rests.

Messages of two numbers, of which only the newest counts, are not sent but shown on the board of the
run (:mod:`~ros2_cosim.core.sockets.board`). What is shown to readers that are not lazy rings for
them when its writer aims. The clock aims, and is rung for when all have come as far as it wants.
"""

from __future__ import annotations

import json
import select
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic, perf_counter_ns
from typing import Any, NamedTuple

from ros2_cosim.core.kernel.time import FOREVER
from ros2_cosim.core.messages.protocol import HISTORY_DEPTH
from ros2_cosim.core.sockets.board import NOTHING, BoardCell, CellView
from ros2_cosim.core.sockets.brief_waits import BriefWaits
from ros2_cosim.core.sockets.framing import FrameLink, head_of
from ros2_cosim.core.sockets.reactor import Waker
from ros2_cosim.core.sockets.switchboard import CallerEnd
from ros2_cosim.ros.node.lane_interface import NodeServer, Receive, Take, Watch

#: Frames of this number, the largest there is, hold no message: what an end writes and reads.
_NEWS = 0xFFFF_FFFF
#: So many bytes for one reader are sent without waiting for more: what a socket takes at once.
SEND_AT = 65_536
#: A reader that lets so many bytes wait is waited for. Small messages never come near it, for the
#: run-ahead window bounds them; large ones must not pile up.
FULL = 4 << 20
#: Lazy readers get the waiting messages when their writer has been idle for so long [s], or busy.
LAZY_S = 0.002
#: So long messages of others may wait for the one that is needed [ms].
PREFER_MS = 2
#: What activations send within this time after the process woke up leaves together [ns]: longer,
#: and others would wait for what is there.
TOGETHER_NS = 200_000
#: A reader that has not taken what it was sent by then is gone [s].
FLUSH_S = 2.0
#: How often a writer that waits for a reader looks whether it has been asked to end [s].
_LOOK_S = 0.1
#: A process looks so long for messages before it sleeps [ns]: as long as a step of a small system.
_LOOK_NS = 200_000
#: Shorter waits are waited for exactly [s].
_FINE_S = 0.01
#: A wait gives so many events at most; the next one gives the others.
_EVENTS = 64
#: ``select`` holds no descriptors from here on.
_SELECTABLE = 1024
_READ = select.EPOLLIN
#: What rings is never read: the poll reports it once for each time.
_RINGS = select.EPOLLIN | select.EPOLLET
_BOTH = select.EPOLLIN | select.EPOLLOUT


class _Reads(NamedTuple):
    """How a topic is read by the sessions of one lane, whose nodes are the ``owners``."""

    latched: bool
    lazy: bool
    unused: bool
    owners: tuple[str, ...]


class _Own(NamedTuple):
    """A reader in the same process as the writer."""

    receive: Receive
    take: Take | None
    owner: str
    alone: bool


class _Shown(NamedTuple):
    """A topic that another process shows on the board."""

    view: CellView
    routes: tuple[Receive, ...]


class _Peer:
    """Other participants, or the clock, or the recorder, and what they have told."""

    def __init__(self, link: FrameLink) -> None:
        self.link = link
        #: What it writes: number -> topic, and the full name of the node; what is to be called.
        self.writes: dict[int, str] = {}
        self.owners: dict[int, str] = {}
        self.routes: dict[int, tuple[Receive, ...]] = {}
        #: Numbers of topics whose messages are handled alone.
        self.alone: set[int] = set()
        #: Its end of the board, and its cells there: number of a topic -> cell.
        self.board = -1
        self.cells: dict[int, int] = {}
        #: Where it shows until when it rests; None: it does not say so.
        self.rest: CellView | None = None
        #: Those that are read here, by number.
        self.shown: dict[int, _Shown] = {}
        #: What it reads, by topic.
        self.reads: dict[str, _Reads] = {}
        #: What the poll waits for.
        self.mask = _READ

    @property
    def name(self) -> str:
        """A node on the other side; empty: none is known yet."""
        named = (*self.owners.values(), *(o for reads in self.reads.values() for o in reads.owners))
        return next(iter(named), "")


class _Writer:
    def __init__(
        self,
        lane: SocketLane,
        topic: str,
        number: int,
        owner: str,
        cell: BoardCell | None,
        *,
        latched: bool,
        silence: int,
    ) -> None:
        self._lane = lane
        self.topic = topic
        #: See :class:`~.lane_interface.RunLane`.
        self._silence = silence
        self.number = number
        #: Where messages of two numbers are shown.
        self.cell = cell
        #: Full name of the node that writes.
        self.owner = owner
        #: (head, bytes, stamp, sequence number) for readers that come later.
        self.kept: deque[tuple[bytes, bytes, int, int]] | None = (
            deque(maxlen=HISTORY_DEPTH) if latched else None
        )
        #: (reader, whether it is lazy).
        self.peers: dict[_Peer, bool] = {}
        #: Those that want no message.
        self.idle: set[_Peer] = set()
        #: Readers on the same lane.
        self.own: tuple[_Own, ...] = ()

    @property
    def readers(self) -> int:
        """Readers that have been found."""
        return len(self.reader_nodes)

    @property
    def reader_nodes(self) -> list[str]:
        """The full name of the node of each of them."""
        peers = (*self.peers, *self.idle)
        found = [owner for peer in peers for owner in peer.reads[self.topic].owners]
        return [*found, *dict.fromkeys(reader.owner for reader in self.own)]

    def send(self, data: bytes, stamp: int = 0, seq: int = 0, value: Any = None) -> None:
        """Send a message to all of them."""
        lane = self._lane
        if self.cell is not None and not data:
            self.cell.write(stamp, seq)
        else:
            head = head_of(self.number, len(data), stamp, seq)
            if self.kept is not None:
                self.kept.append((head, data, stamp, seq))
            # What is waited for may go meanwhile.
            for peer, lazy in tuple(self.peers.items()):
                peer.link.put(head, data)
                (lane.lazy if lazy or self._can_wait(peer, stamp) else lane.urgent).add(peer)
                if peer.link.waiting >= SEND_AT:
                    lane.relieve(peer)
        for receive, take, owner, alone in self.own:
            if alone or owner == self.owner or lane.has_kept:
                # Not in the midst of what it does; and nothing overtakes what waits already.
                lane.keep(receive, data, stamp, seq)
            elif take is not None and value is not None:
                take(value, stamp, seq)
            else:
                receive(data, stamp, seq)

    def _can_wait(self, peer: _Peer, stamp: int) -> bool:
        """Whether a reader still rests when it has a message of this stamp."""
        silence, rest = self._silence, peer.rest
        return silence > 0 and rest is not None and stamp + silence <= rest.reached

    def reach(self, time: int) -> None:
        """See :class:`~.lane_interface.TopicWriter`."""
        if self.cell is not None:
            self.cell.reach(time)
            if time < FOREVER:
                self._lane.is_over = False

    def flush(self) -> bool:
        """Wait until all have been given what was sent; whether they have."""
        return self._lane.drain(self.peers)

    def add(self, peer: _Peer, reads: _Reads) -> None:
        """A reader is there; a reader that has come before requests again what was kept."""
        if reads.unused:
            self.idle.add(peer)
            return
        self.idle.discard(peer)
        self.peers[peer] = reads.lazy
        if reads.latched and self.kept is not None:
            for head, data, _, _ in self.kept:
                peer.link.put(head, data)
            self._lane.urgent.add(peer)


class SocketLane:
    """The lane of one session; see :class:`~.lane_interface.RunLane`.

    Use it in one thread, except for :meth:`wake` and :meth:`create_task`.

    :param line: to the switchboard of the run
    :param node: full name of the node that writes and reads where no other is given
    :param interrupted: called while a reader is waited for; what it raises ends that
    :param clock: monotonic [ns]
    """

    def __init__(
        self,
        line: CallerEnd,
        node: str = "",
        interrupted: Callable[[], None] = lambda: None,
        clock: Callable[[], int] = perf_counter_ns,
    ) -> None:
        self._line: CallerEnd | None = line
        self._board = line.board
        #: Where this end shows until when it rests.
        self._rest = self._board.cell()
        #: Cells of this end, and what it has answered.
        self._cells: list[BoardCell] = []
        self._answered = self._board.aim
        #: Cells that had nothing when it was answered: with the first message of one it is again.
        self._unwritten = 0
        #: Whether nothing else follows on all cells, and that has been answered.
        self.is_over = True
        #: What rings for it, and whether it has rung since this end has looked.
        self._bell = -1
        self._has_rung = False
        #: Topics that others show.
        self.on_board: set[str] = set()
        self._node = node
        self._interrupted = interrupted
        self._clock = clock
        self._poll = select.epoll()
        self._waits = BriefWaits(_LOOK_NS, clock)
        self._waker = Waker()
        self._waker_file: int = self._waker.fileno()
        self._poll.register(self._waker_file, _READ)
        self._poll.register(line.fileno(), _READ)
        self._peers: dict[int, _Peer] = {}
        #: Those with something to be sent.
        self.urgent: set[_Peer] = set()
        self.lazy: set[_Peer] = set()
        #: Those of which something is here that has not been handled.
        self._behind: set[_Peer] = set()
        self._writers: list[_Writer] = []
        self._readers: dict[str, list[_Own]] = {}
        self._reads: dict[str, _Reads] = {}
        self._alone: set[str] = set()
        #: What the switchboard, and the others, do not know yet: topics.
        self._untold: tuple[set[str], set[str]] = (set(), set())
        #: Messages of this lane to itself.
        self._own: deque[tuple[Receive, bytes, int, int]] = deque()
        self._tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._awake_since = clock()
        #: The first wait at which there was something for lazy readers.
        self._lazy_since: int | None = None
        #: Connections that have ended.
        self.departures = 0
        #: The topic that the next wait is for, and what waits for the writers of a topic.
        self.watch: Watch | None = None
        self._preferred = ""
        self._polls: dict[str, select.poll] = {}
        #: Serves nodes, which may wait for more than this lane; None: there are none.
        self.nodes: NodeServer | None = None

    # --- topics -----------------------------------------------------------------------------

    def writer(
        self,
        topic: str,
        *,
        latched: bool,
        owner: str = "",
        shown: bool = False,
        silence: int = 0,
    ) -> _Writer:
        """Write a topic; see :class:`~.lane_interface.RunLane`."""
        number = len(self._writers)
        cell = self._board.cell() if shown else None
        if cell is not None:
            self._cells.append(cell)
        writer = _Writer(
            self, topic, number, owner or self._node, cell, latched=latched, silence=silence
        )
        self._writers.append(writer)
        writer.own = tuple(self._readers.get(topic, ()))
        self._untold[0].add(topic)
        self._announce(writes=[_told(writer)])
        for peer in self._peers.values():
            if topic in peer.reads:
                writer.add(peer, peer.reads[topic])
        return writer

    def reader(
        self,
        topic: str,
        receive: Receive,
        *,
        latched: bool = False,
        lazy: bool = False,
        alone: bool = False,
        unused: bool = False,
        owner: str = "",
        take: Take | None = None,
    ) -> None:
        """Read a topic; see :class:`~.lane_interface.RunLane`.

        A latched reader that comes later makes those before it get again what was kept.
        """
        readers = self._readers.setdefault(topic, [])
        own = _Own(receive, take, owner or self._node, alone)
        readers.append(own)
        before = self._reads.get(topic, _Reads(False, True, True, ()))
        self._reads[topic] = _Reads(
            latched or before.latched,
            lazy and before.lazy,
            unused and before.unused,
            tuple(dict.fromkeys((*before.owners, own.owner))),
        )
        if alone:
            self._alone.add(topic)
        self._untold[1].add(topic)
        for writer in self._writers:
            if writer.topic == topic:
                writer.own = tuple(readers)
                for _, data, stamp, seq in (writer.kept or ()) if latched else ():
                    self._own.append((receive, data, stamp, seq))
        for peer in self._peers.values():
            for number, name in peer.writes.items():
                if name == topic:
                    self._route(peer, number, topic)

    def writers(self, topic: str) -> int:
        """Writers of a topic that are known to be there."""
        own = sum(writer.topic == topic for writer in self._writers)
        return own + sum(
            name == topic for peer in self._peers.values() for name in peer.writes.values()
        )

    def writer_nodes(self, topic: str) -> set[str]:
        """The full names of the nodes of these writers."""
        own = {writer.owner for writer in self._writers if writer.topic == topic}
        return own | {
            peer.owners[number]
            for peer in self._peers.values()
            for number, name in peer.writes.items()
            if name == topic
        }

    @property
    def has_kept(self) -> bool:
        """Whether messages of this lane wait for readers of its own."""
        return bool(self._own)

    def keep(self, receive: Receive, data: bytes, stamp: int, seq: int) -> None:
        """Hand a message of this lane to its own reader, at the next wait."""
        self._own.append((receive, data, stamp, seq))

    def prefer(self, topic: str) -> None:
        """See :class:`~.lane_interface.RunLane`."""
        self._preferred = "" if topic in self.on_board else topic

    def rest(self, until: int) -> None:
        """See :class:`~.lane_interface.RunLane`."""
        if self._rest is not None and until != self._rest.reached:
            self._rest.reach(until)

    # --- the board --------------------------------------------------------------------------

    def aim(self, target: int) -> None:
        """See :class:`~.lane_interface.RunLane`."""
        self._ring_by(self._board.done)
        others = 0
        for peer in self._peers.values():
            for shown in peer.shown.values():
                if NOTHING < shown.view.reached < FOREVER:
                    others += 1
                    break
        self._board.aim_at(target, others)
        self._note_ringing()

    def _ring_by(self, file: int) -> None:
        """What rings for this end; what the clock aims for does so alone."""
        if self._bell == file or self._bell == self._board.done:
            return
        if self._bell >= 0:
            self._poll.unregister(self._bell)
        self._bell = file
        self._poll.register(file, _RINGS)

    def _note_ringing(self) -> None:
        if self.watch is not None:
            now = self._clock()
            for peer in self._peers.values():
                if any(writer.cell and peer in writer.peers for writer in self._writers):
                    self.watch.sent(now, peer.name)

    def _has_come(self) -> bool:
        """Whether this end has come as far as the clock aims, and has not said so."""
        if not self._cells:
            return False
        board = self._board
        aim = board.aim
        if aim == self._answered and not self._unwritten:
            return False
        least, unwritten = FOREVER, 0
        for cell in self._cells:
            if cell.reached == NOTHING:
                unwritten += 1
            elif cell.reached < least:
                least = cell.reached
        # Before its first message an end has not come anywhere.
        if unwritten == len(self._cells) or least < board.target:
            return False
        if aim == self._answered and unwritten == self._unwritten:
            return False
        self._answered, self._unwritten = aim, unwritten
        was_over, self.is_over = self.is_over, least == FOREVER
        return not was_over

    def _look(self) -> None:
        """Handle what has been written on the board since the last look."""
        for peer in self._peers.values():
            for view, routes in peer.shown.values():
                if view.has_changed():
                    for receive in routes:
                        receive(b"", view.first, view.second)

    # --- sending ----------------------------------------------------------------------------

    def urge(self) -> None:
        """Lazy readers, too, get the waiting messages at the next wait."""
        self.urgent |= self.lazy
        self.lazy.clear()

    def sent(self, now_ns: int) -> None:
        """An activation has sent what it sends."""
        if now_ns - self._awake_since >= TOGETHER_NS:
            self.flush()

    def flush(self) -> None:
        """Send what is not for lazy readers, as far as the others take it."""
        if self.urgent:
            self._send_to(self.urgent)
        if self._has_come():
            # The record has to be complete up to here, too, before all may go on.
            if self.lazy:
                self._send_to(self.lazy)
            if self._board.answer():
                self._note_ringing()
        self._awake_since = self._clock()

    def _send_to(self, peers: set[_Peer]) -> None:
        """Send what waits for them, and forget that it waits."""
        for peer in peers:
            if self.watch is not None:
                self.watch.sent(self._clock(), peer.name)
            self._send(peer)
        if peers is self.urgent:
            self.lazy -= peers
        peers.clear()

    def relieve(self, peer: _Peer) -> None:
        """Send what waits for a reader; wait for it if that is too much."""
        self._send(peer)
        while peer.link.waiting >= FULL:
            self._interrupted()
            self._take_in(_LOOK_S)

    def drain(self, peers: Collection[_Peer]) -> bool:
        """Wait until all of them have been given what was sent; whether they have."""
        for peer in peers:
            self._send(peer)
        deadline = monotonic() + FLUSH_S
        while any(peer.link.waiting for peer in peers):
            left = deadline - monotonic()
            if left <= 0:
                return False
            self._take_in(left)
        return True

    def _send(self, peer: _Peer) -> None:
        peer.link.flush()
        mask = _BOTH if peer.link.is_stuck else _READ
        if mask != peer.mask:
            peer.mask = mask
            self._poll.modify(peer.link.fileno(), mask)

    def _take_in(self, seconds: float) -> None:
        """Wait at most so many seconds for readers; store what arrives without handling it."""
        for descriptor, _ in self._poll.poll(seconds):
            peer = self._peers.get(descriptor)
            if peer is not None:
                self._fetch(peer)
            elif descriptor == self._bell:
                self._has_rung = True
            # Else a wake, or a connection: the next wait sees to it.

    # --- waiting ----------------------------------------------------------------------------

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Send what waits; then handle all that is there, or arrives first within the time."""
        seconds = _LOOK_S if timeout_sec is None else timeout_sec
        began = 0 if self.watch is None else self._clock()
        self._tell()
        if not self.lazy:
            self._lazy_since = None
        elif self._lazy_since is None:
            self._lazy_since = self._clock()
        elif self._clock() - self._lazy_since >= LAZY_S * 1e9:
            self.urge()
        self.flush()
        slept = self._awake_since
        if self._own or self._behind or self._has_rung or not self._tasks.empty():
            events = self._poll.poll(0)
        elif self.lazy and seconds > LAZY_S:
            events = self._waits.wait(self._poll.poll, LAZY_S)
            if not events:
                self.urge()
                self.flush()
                events = self._events(seconds - LAZY_S)
        else:
            if self._preferred and seconds * 1e3 > PREFER_MS:
                self._waits.wait(self._preferred_events, PREFER_MS * 1e-3)
            events = self._waits.wait(self._events, seconds)
        self._preferred = ""
        woke = self._awake_since = self._clock()
        for descriptor, _ in events:
            if descriptor == self._bell:
                continue  # what has rung is looked at anyway
            peer = self._peers.get(descriptor)
            if peer is not None:
                self._fetch(peer)
            elif descriptor == self._waker_file:
                self._waker.drain()
            else:
                self._connect()
        self._has_rung = False
        # Before what has been sent: that may be newer.
        self._look()
        while self._own:
            receive, data, stamp, seq = self._own.popleft()
            receive(data, stamp, seq)
        while self._behind and self._handle(self._behind.pop()):
            pass
        self._work()
        if self.watch is not None:
            self.watch.spun(began, slept, woke, self._clock())

    def _poll_of(self, topic: str) -> select.poll:
        """Waits for the writers of a topic, and for a wake."""
        poll = self._polls.get(topic)
        if poll is None:
            poll = self._polls[topic] = select.poll()
            poll.register(self._waker_file, select.POLLIN)
            for peer in self._peers.values():
                if topic in peer.writes.values():
                    poll.register(peer.link.fileno(), select.POLLIN)
        return poll

    def _preferred_events(self, seconds: float) -> list[tuple[int, int]]:
        """The same, of the writers of the topic that the wait is for."""
        return self._poll_of(self._preferred).poll(seconds * 1e3)

    def _events(self, seconds: float) -> list[tuple[int, int]]:
        """What is there, or comes first within the time."""
        if 0 < seconds < _FINE_S and self._poll.fileno() < _SELECTABLE:
            # A poll waits for whole milliseconds; a paced run is more exact than that.
            select.select([self._poll], [], [], seconds)
            return self._poll.poll(0)
        return self._poll.poll(seconds, _EVENTS)

    def create_task(self, callback: Callable[[], None]) -> None:
        """Have something done by :meth:`spin_once`; any thread may call this."""
        self._tasks.put(callback)
        self._waker.wake()

    def wake(self) -> None:
        """End a wait that is going on; any thread and any signal handler may call this."""
        self._waker.wake()

    def add_node(self, node: Any) -> None:
        """Serve a further node, by :attr:`nodes`."""
        assert self.nodes is not None
        self.nodes.add_node(node)

    def shutdown(self, timeout_sec: float | None = None) -> None:
        """Serve no node any more, and close all connections."""
        if self.nodes is not None:
            self.nodes.close()
        self.close()

    def close(self) -> None:
        """Give all readers what was sent, and close all connections."""
        self.drain(list(self._peers.values()))
        for peer in list(self._peers.values()):
            self._lose(peer)
        if self._line is not None:
            self._line.close()
        self._poll.close()
        self._waker.close()
        for writer in self._writers:
            writer.cell = None
        self._rest = None
        self._cells.clear()
        self._board.close()

    def _work(self) -> None:
        if self._tasks.empty():
            return
        for _ in range(self._tasks.qsize()):
            try:
                task = self._tasks.get_nowait()
            except Empty:
                return
            task()

    def _fetch(self, peer: _Peer) -> None:
        if peer.link.is_stuck:
            self._send(peer)
        peer.link.fetch()
        self._behind.add(peer)
        if peer.link.has_ended:
            # Nothing more comes: a poll would tell so again and again.
            self._poll.unregister(peer.link.fileno())
            peer.mask = _READ

    def _handle(self, peer: _Peer) -> bool:
        """Handle what a peer has sent; whether more may be handled in the same wait."""
        goes_on = True
        link = peer.link
        while (frame := link.next()) is not None:
            number, stamp, seq, data = frame
            if number == _NEWS:
                self._learn(peer, json.loads(data))
                continue
            for receive in peer.routes.get(number, ()):
                receive(data, stamp, seq)
            if number in peer.alone:
                goes_on = False
                break
        if peer.link.is_ready:
            # It is left over, or was fetched while a message was handled.
            self._behind.add(peer)
        elif peer.link.has_ended:
            self._lose(peer)
        return goes_on

    def _learn(self, peer: _Peer, news: dict[str, Any]) -> None:
        self._polls.clear()
        peer.board = news["board"]
        if peer.rest is None and news["rest"] is not None:
            peer.rest = self._board.view(peer.board, news["rest"])
        for number, topic, owner, cell in news["writes"]:
            peer.writes[number] = topic
            peer.owners[number] = owner
            if cell is not None:
                peer.cells[number] = cell
            self._route(peer, number, topic)
        for topic, latched, lazy, unused, owners in news["reads"]:
            reads = peer.reads[topic] = _Reads(latched, lazy, unused, tuple(owners))
            for writer in self._writers:
                if writer.topic == topic:
                    writer.add(peer, reads)

    def _route(self, peer: _Peer, number: int, topic: str) -> None:
        peer.routes[number] = tuple(reader.receive for reader in self._readers.get(topic, ()))
        if topic in self._alone:
            peer.alone.add(number)
        if number in peer.cells and peer.routes[number]:
            former = peer.shown.get(number)
            view = former.view if former else self._board.view(peer.board, peer.cells[number])
            peer.shown[number] = _Shown(view, peer.routes[number])
            self.on_board.add(topic)
            if not self._reads[topic].lazy:
                self._ring_by(self._board.bell)
            # It may have rung before this end listened.
            self._has_rung = True

    def _announce(
        self,
        writes: Collection[tuple[int, str, str, int | None]] = (),
        reads: Collection[tuple[str, bool, bool, bool, tuple[str, ...]]] = (),
        to: _Peer | None = None,
    ) -> None:
        rest = None if self._rest is None else self._rest.number
        told = {"board": self._board.number, "rest": rest}
        news = {**told, "writes": list(writes), "reads": list(reads)}
        data = json.dumps(news).encode()
        for peer in self._peers.values() if to is None else (to,):
            peer.link.put(head_of(_NEWS, len(data)), data)
            self.urgent.add(peer)

    def _tell(self) -> None:
        """Tell the switchboard what is new, and the others what is read: many readers in one."""
        writes, reads = self._untold
        if not writes and not reads:
            return
        self._untold = (set(), set())
        if reads:
            self._announce(reads=[(topic, *self._reads[topic]) for topic in sorted(reads)])
        if self._line is not None:
            with suppress(OSError):  # the next wait sees that it has gone
                self._line.tell(writes, reads)

    def _connect(self) -> None:
        """Take the connections that have come."""
        assert self._line is not None
        try:
            for end in self._line.connections():
                peer = _Peer(FrameLink(end))
                self._peers[end.fileno()] = peer
                self._poll.register(end.fileno(), _READ)
                writes = [_told(writer) for writer in self._writers]
                reads = [(topic, *how) for topic, how in self._reads.items()]
                self._announce(writes, reads, to=peer)
        except OSError:
            # No further ones come: the starter has ended, which ends this process, too.
            self._poll.unregister(self._line.fileno())
            self._line.close()
            self._line = None

    def _lose(self, peer: _Peer) -> None:
        """The other side has gone: with it, all that it wrote and read."""
        self._polls.clear()
        self.departures += 1
        del self._peers[peer.link.fileno()]
        for writer in self._writers:
            writer.peers.pop(peer, None)
            writer.idle.discard(peer)
        for group in (self.urgent, self.lazy, self._behind):
            group.discard(peer)
        peer.link.close()


def _told(writer: _Writer) -> tuple[int, str, str, int | None]:
    """What others learn of a writer."""
    cell = writer.cell
    return writer.number, writer.topic, writer.owner, None if cell is None else cell.number
