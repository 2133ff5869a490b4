# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Looks at a foreign node that is alone in a ROS domain: what it consists of, and what it does.

It runs in wall time and gets no message. A Python node that spins in a single-threaded executor
reports timers, as it does when a run leads it; of any other node the graph is known alone.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import rclpy
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import ReliabilityPolicy

from ros2_cosim.core.kernel.errors import ConfigurationError, ParticipantError
from ros2_cosim.core.messages.foreign import ForeignSettings
from ros2_cosim.ros.bringup.dds import loopback_environment
from ros2_cosim.ros.bringup.domain_lock import claim
from ros2_cosim.ros.foreign.component import LoadedComponent
from ros2_cosim.ros.foreign.foreign_lead import Lead
from ros2_cosim.ros.foreign.foreign_lifecycle import ForeignLifecycle
from ros2_cosim.ros.foreign.foreign_patience import Patience
from ros2_cosim.ros.foreign.foreign_process import (
    ForeignProcess,
    foreign_command,
    foreign_environment,
)
from ros2_cosim.ros.foreign.graph_view import SeenNode, seen_nodes
from ros2_cosim.ros.foreign.proposal import LookedAt
from ros2_cosim.ros.node.writers import data_qos, message_class

#: A node appears within this wall time [s], or is refused.
_PATIENCE_S = 30.0
#: When the graph has not changed for so long [s], messages are counted for a while: it is whole if
#: it does not change meanwhile. A node reports timers when it spins, which a node that loads
#: something for long does later.
_SETTLED_S = 1.5
_WATCHED_S = 2.5
_SPINS_S = 5.0
#: After so long [s] from the first node on, it is taken as it is then.
_LONGEST_S = 30.0
_POLL_S = 0.05


def look_at(settings: ForeignSettings, base_directory: Path, where: str) -> LookedAt:
    """Start a node, look at it, and end it.

    A node that ends is looked at again with its clock at rest: a timer may need a message.

    :param settings: how it is started
    :param base_directory: a script is relative to it
    :param where: how messages call the node
    :raises ConfigurationError: it cannot be started, ends, or does not appear
    """
    try:
        return _looked(settings, base_directory, where)
    except _EndedError as error:
        rests = settings.model_copy(update={"use_sim_time": True})
        try:
            seen = _looked(rests, base_directory, where)
        except ConfigurationError:
            raise error from None
        return seen._replace(at_rest=True)


class _EndedError(ConfigurationError):
    """A node was there, and its process has ended."""


def _looked(settings: ForeignSettings, base_directory: Path, where: str) -> LookedAt:
    with ExitStack() as stack:
        domain = stack.enter_context(claim())
        directory = Path(stack.enter_context(TemporaryDirectory()))
        alone = {**os.environ, "ROS_DOMAIN_ID": str(domain)}
        stack.enter_context(_environment(loopback_environment(alone, directory)))
        patience = Patience(where, _PATIENCE_S)
        stack.callback(patience.close)
        context = rclpy.Context()
        context.init(domain_id=domain)
        stack.callback(context.try_shutdown)
        node = Node(
            "cosim_look", context=context, enable_rosout=False, start_parameter_services=False
        )
        stack.callback(node.destroy_node)
        executor = SingleThreadedExecutor(context=context)
        # Else the collector of garbage ends it after its context, which is an error.
        stack.callback(executor.shutdown)
        executor.add_node(node)
        lead = Lead([], {}, patience.check)
        stack.callback(lead.close)
        command = foreign_command(settings, base_directory, {}, where)
        led = [] if settings.is_component else lead.command(command, seed=0)
        environment = foreign_environment(settings)
        inherited = [lead.there.fileno()]
        process = ForeignProcess(led or command, environment, where, inherited, quiet=True)
        stack.callback(process.close)
        lead.there.close()
        patience.process = process
        look = _Look(node, executor, lead if led else None, patience)
        try:
            if settings.is_component:
                LoadedComponent(node, settings, {}, patience, look.wait).load()
            return look.take()
        except ParticipantError as error:
            said = str(error).removeprefix(f"participant '{where}', {patience.place}: ")
            ended = look.has_nodes and process.ended()
            raise (_EndedError if ended else ConfigurationError)(f"{where}: {said}") from None


@contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """Have another environment for a while: the middleware reads that of the process."""
    before = dict(os.environ)
    os.environ.update(wanted)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class _Look:
    """One look at the nodes of a process.

    :param node: this side's, in ``executor``
    :param lead: of a Python program
    """

    def __init__(
        self, node: Node, executor: Executor, lead: Lead | None, patience: Patience
    ) -> None:
        self._node, self._executor = node, executor
        self._lead, self._patience = lead, patience
        #: Whether a node has appeared.
        self.has_nodes = False

    def take(self) -> LookedAt:
        """Wait until the nodes are there and whole, and count what they publish."""
        self._patience.begin(lambda: "a node of it")
        self.wait(lambda: bool(seen_nodes(self._node)))
        self.has_nodes = True
        ends = monotonic() + _LONGEST_S
        active: set[str] = set()
        while True:
            self._patience.begin(lambda: "its nodes, which come and go")
            nodes = self._settled(ends)
            managed = {each.name for each in nodes if f"{each.name}/change_state" in each.offers}
            for name in sorted(managed - active):
                life = ForeignLifecycle(self._node, name, "manage", self._patience, self.wait)
                life.bring_up()
            if managed - active:
                active |= managed
                continue
            timers = self._timers()
            counts = self._counted(nodes)
            unseen = "" if counts is not None else f"it still changes after {_LONGEST_S:g} s"
            if not unseen or monotonic() > ends:
                return LookedAt(tuple(nodes), timers, counts or {}, _WATCHED_S, unseen)

    def _timers(self) -> tuple[tuple[int, bool], ...] | None:
        """Those of a program that can be led; None: they are not known."""
        if self._lead is None or not self._lead.introduced():
            return None
        self._patience.begin(
            lambda: (
                "an answer of its executor: a callback waits for another one, perhaps; such a "
                "node needs barrier: parameters, and a scenario that is written by hand"
            )
        )
        self._lead.begin(leads=False)
        return tuple(self._lead.timers)

    def _settled(self, ends: float) -> list[SeenNode]:
        """The nodes, when they have not changed for a while, or at the end of the look."""
        found: list[SeenNode] = []
        since = began = monotonic()
        while True:
            now = monotonic()
            rest = now - since if found else 0.0
            told = self._lead is None or self._lead.introduced()
            if (rest > _SETTLED_S and (told or now - began > _SPINS_S)) or (found and now > ends):
                return found
            self.wait(lambda: False, _POLL_S)
            if (seen := seen_nodes(self._node)) != found:
                found, since = seen, monotonic()

    def _counted(self, nodes: list[SeenNode]) -> Mapping[str, int] | None:
        """Topic -> how many messages came on it; those of types that are not installed: none.

        None: the nodes have changed meanwhile.
        """
        counts: Counter[str] = Counter()
        readers = []
        for end in {end for each in nodes for end in each.writes}:
            qos = data_qos(latched=end.latched)
            if not end.reliable:
                qos.reliability = ReliabilityPolicy.BEST_EFFORT
            try:
                kind = message_class(end.type_name)
            except ConfigurationError:
                continue
            count = _counter(counts, end.topic)
            readers.append(self._node.create_subscription(kind, end.topic, count, qos))
        until = monotonic() + _WATCHED_S
        while (is_same := seen_nodes(self._node) == nodes) and monotonic() < until:
            self.wait(lambda: False, _POLL_S)
        for reader in readers:
            self._node.destroy_subscription(reader)
        return counts if is_same else None

    def wait(self, condition: Callable[[], bool], seconds: float = inf) -> None:
        """Handle what arrives until a condition holds, or for so many seconds."""
        deadline = monotonic() + seconds
        while not condition() and monotonic() < deadline:
            self._patience.check()
            self._executor.spin_once(timeout_sec=_POLL_S)


def _counter(counts: Counter[str], topic: str) -> Callable[[Any], None]:
    def count(_: Any) -> None:
        counts[topic] += 1

    return count
