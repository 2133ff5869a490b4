# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Services and actions of foreign nodes as messages of the run.

The node calls the adapter's server instead of the real one, or is called by the adapter's client.
What one side sent in an activation travels as one message, a *bundle*. So the other side gets all
of it at a simulated time. A node draws the ids of its goals at random: in bundles they are counted.
"""

from __future__ import annotations

import importlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import msgpack
from rclpy.node import Node
from rclpy.qos import QoSPresetProfiles

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.bundles import Item, bundle
from ros2_cosim.core.messages.foreign import ForeignService
from ros2_cosim.core.messages.packages import how_to_install

_UUID_BYTES = 16
#: Package and name of the messages in an array.
_ELEMENT = re.compile(r"(\w+)/(\w+)")
_NO_GOAL = bytes(_UUID_BYTES)


class _Part(NamedTuple):
    """A service, or a topic of an action, behind the name of the whole."""

    name: str
    kind: Any
    is_service: bool = True
    latched: bool = False


def packed(message: Any) -> bytes:
    """The fields of a ROS message, in their order.

    The middleware's own form has gaps, in which there may be anything.
    """
    return bytes(msgpack.packb(_plain(message)))


def unpacked(data: bytes, kind: Any) -> Any:
    """The message of a class whose fields were packed."""
    return _filled(kind(), msgpack.unpackb(data))


def _plain(value: Any) -> Any:
    if isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, Sequence) or not hasattr(value, "get_fields_and_field_types"):
        return [_plain(each) for each in (value.tolist() if hasattr(value, "tolist") else value)]
    return [_plain(getattr(value, name)) for name in value.get_fields_and_field_types()]


def _filled(message: Any, values: Sequence[Any]) -> Any:
    fields = message.get_fields_and_field_types().items()
    for (name, type_name), value in zip(fields, values, strict=True):
        there = getattr(message, name)
        element = _ELEMENT.search(type_name)
        if hasattr(there, "get_fields_and_field_types"):
            _filled(there, value)
        elif element is not None:
            kind = vars(importlib.import_module(f"{element[1]}.msg"))[element[2]]
            setattr(message, name, [_filled(kind(), each) for each in value])
        else:
            setattr(message, name, value)
    return message


def _parts(settings: ForeignService, where: str) -> list[_Part]:
    package, _, name = settings.type.partition("/")
    kind, _, name = name.partition("/")
    try:
        found = vars(importlib.import_module(f"{package}.{kind}"))[name]
    except (ImportError, KeyError):
        raise ConfigurationError(
            f"{where}.type: found {settings.type}, which is not installed; "
            f"{how_to_install(settings.type)}"
        ) from None
    if settings.action is None:
        return [_Part("", found)]
    made = found.Impl
    # In the order in which a client expects them.
    return [
        _Part("/_action/send_goal", made.SendGoalService),
        _Part("/_action/feedback", made.FeedbackMessage, is_service=False),
        _Part("/_action/status", made.GoalStatusMessage, is_service=False, latched=True),
        _Part("/_action/cancel_goal", made.CancelGoalService),
        _Part("/_action/get_result", made.GetResultService),
    ]


def part_names(settings: ForeignService) -> list[str]:
    """What stands behind the name of a service or an action in the names of its parts."""
    if settings.action is None:
        return [""]
    services = ("send_goal", "cancel_goal", "get_result")
    return [f"/_action/{name}" for name in (*services, "feedback", "status")]


def _qos(part: _Part) -> Any:
    profile = QoSPresetProfiles.ACTION_STATUS_DEFAULT if part.latched else None
    return 1000 if profile is None else profile.value


class ForeignExchange(ABC):
    """One service or action of a foreign node, behind a port.

    :param node: the adapter's
    :param name: private name that stands for that of the service or action
    """

    #: Whether the node answers, instead of calling.
    is_offered: ClassVar[bool]

    def __init__(self, node: Node, name: str, settings: ForeignService, where: str) -> None:
        self.name = name
        self._node = node
        self._parts = _parts(settings, where)
        #: What the foreign node has sent since the last activation, and whether it ever has.
        self._sent: list[Item] = []
        self.has_sent = False

    @abstractmethod
    def missing(self) -> list[str]:
        """What of the foreign node has not been found yet."""

    @abstractmethod
    def collect(self) -> int:
        """Take what the node has sent; how much was new."""

    @abstractmethod
    def deliver(self, item: Item) -> None:
        """Hand one item over to the node."""

    def take(self) -> bytes | None:
        """The bundle of what the node has sent since the last call; None: nothing."""
        if not self._sent:
            return None
        data = bundle(self._sent)
        self._sent.clear()
        self.has_sent = True
        return data


class Called(ForeignExchange):
    """What the node calls: the adapter has the server in its place."""

    is_offered = False

    def __init__(self, node: Node, name: str, settings: ForeignService, where: str) -> None:
        super().__init__(node, name, settings, where)
        self._servers: dict[int, Any] = {}
        self._writers: dict[int, Any] = {}
        for place, part in enumerate(self._parts):
            full = name + part.name
            if part.is_service:
                self._servers[place] = node.create_service(part.kind, full, _never_called)
            else:
                self._writers[place] = node.create_publisher(part.kind, full, _qos(part))
        self._waiting: dict[tuple[int, int], Any] = {}
        self._count = 0
        #: Random id of a goal -> the one in bundles, and back.
        self._counted: dict[bytes, bytes] = {_NO_GOAL: _NO_GOAL}
        self._drawn: dict[bytes, bytes] = {_NO_GOAL: _NO_GOAL}

    def missing(self) -> list[str]:
        """A client of each service."""
        return [
            f"a client of {self.name}{part.name}"
            for part in self._parts
            if part.is_service and not self._node.count_clients(self.name + part.name)
        ]

    def collect(self) -> int:
        """Take the requests of the node."""
        before = len(self._sent)
        for place, server in self._servers.items():
            with (handle := server.handle):
                while (found := handle.service_take_request(server.srv_type.Request))[0]:
                    request, header = found
                    self._count += 1
                    self._waiting[place, self._count] = server, header
                    data = packed(self._with_ids(request, self._number_of))
                    self._sent.append(Item(place, self._count, data))
        return len(self._sent) - before

    def deliver(self, item: Item) -> None:
        """Send an answer, feedback or the status of goals."""
        part = self._parts[item.part]
        kind = part.kind.Response if part.is_service else part.kind
        message = self._with_ids(unpacked(item.data, kind), self._id_of)
        if not part.is_service:
            self._writers[item.part].publish(message)
        elif (waits := self._waiting.pop((item.part, item.number), None)) is not None:
            server, header = waits
            server.send_response(message, header)

    def _number_of(self, drawn: bytes) -> bytes:
        if drawn not in self._counted:
            number = len(self._counted).to_bytes(_UUID_BYTES, "little")
            self._counted[drawn], self._drawn[number] = number, drawn
        return self._counted[drawn]

    def _id_of(self, number: bytes) -> bytes:
        return self._drawn.get(number, number)

    def _with_ids(self, message: Any, translate: Callable[[bytes], bytes]) -> Any:
        """A message with other ids of goals, wherever an action has them."""
        fields = message.get_fields_and_field_types()
        infos = [message.goal_info] if "goal_info" in fields else []
        infos += message.goals_canceling if "goals_canceling" in fields else []
        infos += [each.goal_info for each in message.status_list] if "status_list" in fields else []
        holders = [info.goal_id for info in infos]
        if len(self._parts) > 1 and "goal_id" in fields:
            holders.append(message.goal_id)
        for holder in holders if len(self._parts) > 1 else ():
            holder.uuid = list(translate(bytes(holder.uuid)))
        return message


class Offered(ForeignExchange):
    """What the node answers: the adapter has the client instead of the real one."""

    is_offered = True

    def __init__(self, node: Node, name: str, settings: ForeignService, where: str) -> None:
        super().__init__(node, name, settings, where)
        self._clients: dict[int, Any] = {}
        self._readers: list[tuple[int, Any]] = []
        for place, part in enumerate(self._parts):
            full = name + part.name
            if part.is_service:
                self._clients[place] = node.create_client(part.kind, full)
            else:
                reader = node.create_subscription(part.kind, full, _ignored, _qos(part))
                self._readers.append((place, reader))
        self._asked: dict[tuple[int, int], Any] = {}

    def missing(self) -> list[str]:
        """A server of each service, a writer of each topic."""
        missing = [
            f"the service {self.name}{self._parts[place].name}"
            for place, client in self._clients.items()
            if not client.service_is_ready()
        ]
        return missing + [
            f"a publisher of {reader.topic_name}"
            for _, reader in self._readers
            if not self._node.count_publishers(reader.topic_name)
        ]

    def collect(self) -> int:
        """Take the answers of the node, and what it has published of its goals."""
        before = len(self._sent)
        for place, reader in self._readers:
            with (handle := reader.handle):
                while taken := handle.take_message(reader.msg_type, False):
                    self._sent.append(Item(place, 0, packed(taken[0])))
        for key in [key for key, future in self._asked.items() if future.done()]:
            answer = self._asked.pop(key).result()
            self._sent.append(Item(*key, packed(answer)))
        return len(self._sent) - before

    def deliver(self, item: Item) -> None:
        """Send a request."""
        client = self._clients[item.part]
        request = unpacked(item.data, client.srv_type.Request)
        self._asked[item.part, item.number] = client.call_async(request)


def _never_called(request: Any, response: Any) -> Any:
    return response


def _ignored(message: Any) -> None:
    pass
