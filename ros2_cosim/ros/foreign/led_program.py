# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs the Python program of a foreign node, and leads its executor through the activations.

This program imports rclpy, what lies beside it and the standard library only, and runs the node's
program as Python does, with seeds (see :mod:`.program_seeds`), and tells the adapter what it asks
the machine for (see :mod:`.program_questions`). When that spins in a single-threaded
executor, a task of the executor tells the adapter what the node reads and writes. If only messages
of its inputs and timers of simulated time call back, the node can be *led*: the adapter hands over
in one request all that an activation delivers, the task calls the callbacks one after the other,
and the answer has what they published. What nodes of the executor send to each other is delivered
in the order of publishing, before the next message of the activation.

A single-threaded executor takes the place of a multi-threaded one, so its callbacks, too, run one
after the other.
"""

from __future__ import annotations

import atexit
import inspect
import json
import runpy
import select
import socket
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Lock, Semaphore, Thread, current_thread, get_native_id, main_thread
from typing import Any

#: Time that the executor waits for the next request [s]; after that a thread waits.
LINGER_S = 0.005
#: Longest time that the executor serves requests before it looks at its services [s].
TURN_S = 0.05
#: Timers that are due again and again are called so often at one time.
_ROUNDS = 100
#: Messages that are kept until the adapter decides; with more it cannot lead.
_KEPT = 64
#: Of a frame: the bytes of its document, how many blocks follow it, and their bytes.
_HEAD = struct.Struct("<IIQ")
#: Of a block: its bytes, which one it is, number and wall time [ns].
_BLOCK = struct.Struct("<IIQQ")
_UNNUMBERED = {"publication_sequence_number": None, "reception_sequence_number": None}
_CHUNK = 1 << 18

#: Which topic a message belongs to, its number, wall time [ns] of publication, and bytes.
Block = tuple[int, int, int, bytes]


class Frames:
    """A JSON document and blocks of bytes at a time, over a stream.

    :param seconds: how long a wait for them lasts at most
    """

    def __init__(self, stream: socket.socket, seconds: float) -> None:
        self.stream = stream
        # Not by a timeout of Python's socket: that polls before each call.
        limit = struct.pack("ll", int(seconds), round(seconds % 1 * 1e6))
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        self._came = bytearray()
        self._lock = Lock()
        #: Whether the other side has gone.
        self.is_over = False

    def send(self, document: Mapping[str, Any] | None, blocks: Sequence[Block] = ()) -> None:
        """Send one; any thread may call this."""
        text = json.dumps(document).encode() if document else b""
        parts: list[bytes] = []
        for place, number, time_ns, data in blocks:
            parts += (_BLOCK.pack(len(data), place, number, time_ns), data)
        head = _HEAD.pack(len(text), len(blocks), sum(map(len, parts)))
        with self._lock, suppress(ConnectionError):  # the next wait notices it
            self.stream.sendall(b"".join((head, text, *parts)))

    def receive(self) -> tuple[dict[str, Any], list[Block]] | None:
        """The next one; None: there is none within the time, or the other side has gone."""
        while (found := self._next()) is None:
            try:
                chunk = self.stream.recv(_CHUNK)
            except BlockingIOError:
                return None
            except ConnectionError:
                chunk = b""
            if not chunk:
                self.is_over = True
                return None
            self._came += chunk
        return found

    def _next(self) -> tuple[dict[str, Any], list[Block]] | None:
        """The next one, if all of it has come."""
        came = self._came
        if len(came) < _HEAD.size:
            return None
        text, count, rest = _HEAD.unpack_from(came)
        at = _HEAD.size + text
        if len(came) < at + rest:
            return None
        blocks = []
        for _ in range(count):
            size, place, number, time_ns = _BLOCK.unpack_from(came, at)
            at += _BLOCK.size
            blocks.append((place, number, time_ns, bytes(came[at : at + size])))
            at += size
        document = json.loads(came[_HEAD.size : _HEAD.size + text]) if text else {}
        del came[:at]
        return document, blocks


class Led:
    """The node's side of the adapter's lead.

    :param frames: to the adapter
    :param outputs: full names of the topics that stand for the node's outputs
    """

    def __init__(self, frames: Frames, outputs: Iterable[str]) -> None:
        self._frames = frames
        self._places = {topic: place for place, topic in enumerate(outputs)}
        #: How often each was written.
        self._numbers = [0] * len(self._places)
        #: What has been published since the last answer.
        self._messages: list[Block] = []
        #: Topic and bytes of what the executor's nodes have sent to each other, not yet delivered.
        self._inner: deque[tuple[str, bytes]] = deque()
        #: Whether the adapter leads; None: it has not decided yet.
        self._leads: bool | None = None
        self._executor: Any = None
        self._in_step = False
        self._blocks: deque[Block] = deque()
        self._lock = Lock()
        #: Publisher -> which output it writes; negative: none.
        self._writers: dict[int, tuple[Any, int]] = {}
        #: What the node consists of has changed.
        self._is_new = True
        self._hindrance = ""
        self._routes: dict[str, list[Callable[[bytes], None]]] = {}
        #: Subscriptions that have been seen, by what they are to Python.
        self._readers: dict[int, Any] = {}
        #: Topic -> its last messages, for subscriptions that come later and want them.
        self._kept: dict[str, deque[bytes]] = {}
        #: What such a subscription is still to get.
        self._late: deque[tuple[Callable[[bytes], None], bytes]] = deque()
        self._timers: list[Any] = []
        self._armed = Semaphore(0)
        self._patch()
        atexit.register(self._end)

    # --- what the program calls ---------------------------------------------------------------

    def _patch(self) -> None:
        """Have spinning and publishing noticed."""
        import rclpy
        from rclpy.executors import Executor
        from rclpy.publisher import Publisher
        from rclpy.serialization import serialize_message

        self._serialize = serialize_message
        spin, spin_of, publish = rclpy.spin, Executor.spin, Publisher.publish

        def spinning(node: Any, executor: Any = None) -> None:
            executor = rclpy.get_global_executor() if executor is None else executor
            executor = _one_at_a_time(executor)
            self._begin(executor)
            spin(node, executor)

        def spinning_of(executor: Any) -> None:
            executor = _one_at_a_time(executor)
            self._begin(executor)
            spin_of(executor)

        def publishing(publisher: Any, message: Any) -> None:
            if not self._publishes(publisher, message):
                publish(publisher, message)

        for owner, function in (rclpy, spinning), (Executor, spinning_of), (Publisher, publishing):
            setattr(owner, "publish" if owner is Publisher else "spin", function)

    def _begin(self, executor: Any) -> None:
        """The program spins: offer the adapter to lead it."""
        from rclpy.executors import SingleThreadedExecutor

        self._is_new = True
        if self._executor is executor and self._in_step:
            # A callback has raised an error, which the program has caught.
            executor.create_task(self._go_on)
            executor.create_task(self._armed.release)
        plain = type(executor) is SingleThreadedExecutor and "_tasks" in vars(executor)
        if self._executor is None and plain and current_thread() is main_thread():
            self._executor, self._wake = executor, executor.wake
            executor.wake = self._change  # nodes call it when they make or give up anything
            Thread(target=self._listen, daemon=True).start()
            executor.create_task(self._introduce)

    def _change(self) -> None:
        self._is_new = True
        self._wake()

    def _publishes(self, publisher: Any, message: Any) -> bool:
        """Take a message for the adapter, and for nodes that hear it; whether that is all."""
        known = self._writers.get(id(publisher))
        if known is None or known[0] is not publisher:
            place = self._places.get(publisher.topic_name, -1)
            known = self._writers[id(publisher)] = (publisher, place)
        place, leads = known[1], self._leads
        is_inner = bool(leads) and publisher.topic_name in self._routes
        if (place < 0 and not is_inner) or not isinstance(message, (bytes, publisher.msg_type)):
            return False  # rclpy refuses what is of another type
        if leads is False:
            with self._lock:
                self._numbers[place] += 1
            return False
        data = message if isinstance(message, bytes) else self._serialize(message)
        with self._lock:
            if is_inner:
                self._inner.append((publisher.topic_name, data))
            if place >= 0:
                self._numbers[place] += 1
                self._messages.append((place, self._numbers[place], time.time_ns(), data))
        if leads is None and len(self._messages) > _KEPT:
            self._leads = False
            self._messages.clear()
        if leads and not self._in_step:
            # It belongs to no activation; the adapter says so.
            self._answer({"free": True})
        return bool(leads)

    def _end(self) -> None:
        """Tell the adapter how much there was, for it may not have come yet."""
        self._frames.send({"ended": self._numbers})

    # --- what the adapter wants ---------------------------------------------------------------

    def _listen(self) -> None:
        """Have the executor serve what comes while it does something else; in its own thread."""
        Path(f"/proc/self/task/{get_native_id()}/comm").write_text("dds.lead", encoding="ascii")
        poll = select.poll()
        poll.register(self._frames.stream.fileno(), select.POLLIN)
        while True:
            self._armed.acquire()
            poll.poll()
            self._executor.create_task(self._serve)

    def _serve(self) -> None:
        """Do what the adapter wants; in the executor's thread."""
        until = time.monotonic() + TURN_S
        while True:
            document, blocks = self._frames.receive() or (None, ())
            if document is None:
                if not self._frames.is_over:
                    self._armed.release()
                return
            if "topics" in document:
                self._inputs = document["topics"]
                self._leads = document["leads"]
                if self._leads:
                    self._take_early()
                self._answer({"timers": self._told_timers()})
            else:
                self._step(blocks)
            if len(self._executor._tasks) > 1 or time.monotonic() > until:
                # At its next turn; before that comes what else is to be done.
                self._executor.create_task(self._serve)
                return

    def _take_early(self) -> None:
        """Deliver what nodes have sent to each other while they started."""
        self._in_step = True
        for reader in [reader for node in self._nodes for reader in node.subscriptions]:
            deliver = _way_to(reader)
            with (handle := reader.handle):
                while taken := handle.take_message(reader.msg_type, True):
                    deliver(taken[0])
        self._deliver()
        self._in_step = False

    def _answer(self, document: Mapping[str, Any] | None) -> None:
        with self._lock:
            messages, self._messages = self._messages, []
        done: Block = (len(self._places), 0, time.time_ns(), b"")
        self._frames.send(document, [*messages, done])

    def _step(self, blocks: Sequence[Block]) -> None:
        if self._is_new:
            self._look()
        if self._hindrance:
            self._leads = False
            self._answer({"hindrance": self._hindrance})
            return
        self._in_step = True
        self._blocks.extend(blocks)
        self._go_on()

    def _go_on(self, rounds: int = _ROUNDS) -> None:
        """Deliver, and answer when what callbacks have given the executor to do is done, too."""
        self._deliver()
        tasks = self._executor._tasks
        if len(tasks) > 1 and rounds and sum(not task.done() for task, _, _ in tasks) > 1:
            self._executor.create_task(self._go_on, rounds - 1)
            return
        self._in_step = False
        self._answer(None)

    def _deliver(self) -> None:
        """Call back for one message after the other, and for the timers that it makes due."""
        while self._late or self._inner or self._blocks:
            if self._late:
                deliver, data = self._late.popleft()
                deliver(data)
                self._call_timers()
                continue
            if self._inner:
                topic, data = self._inner.popleft()
            else:
                place, _, _, data = self._blocks.popleft()
                topic = self._inputs[place]
            if topic not in self._routes:
                self._kept.setdefault(topic, deque(maxlen=_KEPT))
            if topic in self._kept:
                self._kept[topic].append(data)
            for deliver in self._routes.get(topic, ()):
                deliver(data)
            self._call_timers()

    def _call_timers(self) -> None:
        for _ in range(_ROUNDS):
            if self._is_new:
                self._look()
            due = [timer for timer in self._timers if timer.is_ready()]
            if not due:
                return
            for timer in due:
                if not self._is_new and timer.is_ready():
                    timer.handle.call_timer()
                    timer.callback()

    # --- what the node is ---------------------------------------------------------------------

    def _look(self) -> None:
        """See what the node consists of, and whether it can be led."""
        self._is_new = False
        nodes = self._nodes = sorted(self._executor.get_nodes(), key=_full_name)
        self._hindrance = self._find_hindrance(nodes)
        self._timers = [timer for node in nodes for timer in node.timers]
        before, self._routes = self._routes.keys(), {}
        known, self._readers = self._readers, {}
        wanted: set[str] = set()
        for reader in [reader for node in nodes for reader in node.subscriptions]:
            topic, way = reader.topic_name, _way_to(reader)
            self._readers[id(reader)] = reader
            self._routes.setdefault(topic, []).append(way)
            if reader.qos_profile.durability.name == "TRANSIENT_LOCAL":
                wanted.add(topic)
                if id(reader) not in known:
                    last = list(self._kept.get(topic, ()))[-reader.qos_profile.depth :]
                    self._late.extend((way, data) for data in last)
        # The readers of these topics want new messages only, as later ones will.
        for topic in wanted - self._kept.keys():
            self._kept[topic] = deque(maxlen=_KEPT)
        for topic in (self._kept.keys() & self._routes.keys()) - wanted:
            del self._kept[topic]
        if self._leads and (come := self._routes.keys() - before):
            ends = [_end(each) for each in self._readers.values() if each.topic_name in come]
            self._frames.send({"free": True, "come": ends})

    def _find_hindrance(self, nodes: Sequence[Any]) -> str:
        """Why the node cannot be led; empty: it can."""
        from rclpy.clock import ROSClock
        from rclpy.event_handler import EventHandler

        if self._leads is False:
            return "it has published too much"
        for node in nodes:
            if any(True for _ in node.clients) or any(True for _ in node.guards):
                return "it has a client or a guard condition"
            if not all(isinstance(waitable, EventHandler) for waitable in node.waitables):
                return "it has an action"
            for timer in node.timers:
                clock = timer.clock
                if not (isinstance(clock, ROSClock) and clock.ros_time_is_active):
                    return "it has a timer of the wall clock"
            called = [*node.timers, *node.subscriptions]
            if any(inspect.iscoroutinefunction(end.callback) for end in called):
                return "a callback may wait"
        return ""

    def _told_timers(self) -> list[tuple[int, bool]]:
        """Period [ns] of each timer, and whether it follows simulated time when the node does."""
        from rclpy.clock import ROSClock

        timers = [timer for node in self._executor.get_nodes() for timer in node.timers]
        return [(timer.timer_period_ns, isinstance(timer.clock, ROSClock)) for timer in timers]

    def _introduce(self) -> None:
        self._look()
        nodes = self._nodes
        services = [service.srv_name for node in nodes for service in node.services]
        if any(name.endswith("/change_state") for name in services):
            self._hindrance = "it has a lifecycle"
        account = {
            "nodes": [*map(_full_name, nodes)],
            "hindrance": self._hindrance,
            "reads": [_end(end) for node in nodes for end in node.subscriptions],
            "writes": [_end(end) for node in nodes for end in node.publishers],
            "timers": self._told_timers(),
        }
        self._frames.send({"account": account})
        self._armed.release()


def _one_at_a_time(executor: Any) -> Any:
    """What runs the callbacks of a multi-threaded executor one after the other, in its place."""
    from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor

    if type(executor) is not MultiThreadedExecutor or "_tasks" not in vars(executor):
        return executor
    one = SingleThreadedExecutor(context=executor.context)
    for node in executor.get_nodes():
        executor.remove_node(node)
        one.add_node(node)
    one._tasks += executor._tasks
    # What the program still does with its own one is done with this one.
    vars(executor).update(
        add_node=one.add_node, remove_node=one.remove_node, create_task=one.create_task
    )
    return one


def shutting_down_once(try_shutdown: Callable[[Any], None]) -> Callable[[Any], None]:
    """``Context.try_shutdown`` of rclpy for where a signal shuts the context down meanwhile.

    It looks whether that has been done, and does it: with a middleware that takes its time for
    it, both do it, and the second one fails.
    """

    def shut_down(context: Any) -> None:
        try:
            try_shutdown(context)
        except Exception:  # a class of the middleware's binding
            if context.ok():
                raise

    return shut_down


def parted(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The plain arguments of a program, and those of ROS."""
    plain: list[str] = []
    ros: list[str] = []
    into = plain
    for word in arguments:
        if word == "--ros-args":
            into = ros
        elif word == "--" and into is ros:
            into = plain
        else:
            into.append(word)
    return plain, ros


def initialising_with(arguments: Sequence[str], init: Callable[..., None]) -> Callable[..., None]:
    """``Context.init`` of rclpy, which gets these ROS arguments whatever the program hands over.

    The program does not see them: many read their command line strictly, or hand over nothing.
    """

    def initialise(context: Any, args: Any = None, **named: Any) -> None:
        plain = sys.argv if args is None else args
        init(context, [*plain, "--ros-args", *arguments, "--"], **named)

    return initialise


def _end(end: Any) -> tuple[str, str, bool, bool]:
    """Topic and type of a subscription or a publisher, whether it is reliable, and latched."""
    kind, qos = end.msg_type, end.qos_profile
    type_name = f"{kind.__module__.partition('.')[0]}/msg/{kind.__name__}"
    if qos.deadline.nanoseconds or qos.liveliness_lease_duration.nanoseconds:
        type_name = ""  # it fits to nothing
    latched = qos.durability.name == "TRANSIENT_LOCAL"
    return end.topic_name, type_name, qos.reliability.name == "RELIABLE", latched


def _way_to(reader: Any) -> Callable[[bytes], None]:
    """What calls the callback of a subscription with a message."""
    from rclpy.serialization import deserialize_message
    from rclpy.subscription import Subscription

    plain = reader._callback_type is Subscription.CallbackType.MessageOnly

    def deliver(data: bytes) -> None:
        message = data if reader.raw else deserialize_message(data, reader.msg_type)
        if plain:
            reader.callback(message)
            return
        stamps = dict.fromkeys(("source_timestamp", "received_timestamp"), time.time_ns())
        reader.callback(message, stamps | _UNNUMBERED)

    return deliver


def _full_name(node: Any) -> str:
    return str(node.get_fully_qualified_name())


def main(arguments: list[str]) -> None:
    """Run a program.

    :param arguments: JSON with the number of the open stream, the seed and the outputs' topics
        (without these it is not led); ``-m`` and a module, or a file; the program's arguments
    """
    given = json.loads(arguments.pop(0))
    stream = socket.socket(fileno=given["stream"])
    stream.set_inheritable(False)
    frames = Frames(stream, LINGER_S)
    # From beside this file, which is not in a package here.
    import_module("program_seeds").ProgramSeeds(given["seed"]).plant()
    import_module("program_questions").ProgramQuestions(
        lambda kind, place: frames.send({"free": True, "asked": {kind: place}})
    ).hear()
    with suppress(ImportError):  # it does without rclpy
        context = import_module("rclpy.context").Context
        context.try_shutdown = shutting_down_once(context.try_shutdown)
        arguments, of_ros = parted(arguments)
        context.init = initialising_with(of_ros, context.init)
        if given["outputs"] is not None:
            Led(frames, given["outputs"])
    if arguments[0] == "-m":
        sys.path[0] = ""
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(arguments[0]).resolve().parent)
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
