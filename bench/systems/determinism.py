# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The nodes of RSLCPP's ``determinism`` test: each callback hashes what it is given.

Ported from TUMFTM/rslcpp (Apache-2.0), commit eb4b70828e7efeb057793e5603c14f2dccbbd8d9,
``rslcpp_test/include/rslcpp_test/determinism/`` (nodes.hpp, callbacks.hpp, common.hpp): topics,
periods, numbers, and what callbacks do. A callback sleeps at random, up to 20 ms, so its duration
never is that of another run. The state of a node is a hash of all that its callbacks have got, in
their order; messages carry it. The hash is made of splitmix64 and of CityHash's combination of two.
"""

from __future__ import annotations

import math
import random
import time

from rclpy.node import Node
from rclpy.task import Future
from spinning import CallbackLog, spin
from std_msgs.msg import UInt64
from std_srvs.srv import Trigger

_BITS = (1 << 64) - 1
_LONGEST_S, _STEPS = 0.02, 20


def _spread(value: int) -> int:
    """The generator splitmix64, one step."""
    value = (value + 0x9E3779B97F4A7C15) & _BITS
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        value = ((value ^ value >> shift) * factor) & _BITS
    return value ^ value >> 31


def combined(one: int, other: int) -> int:
    """A hash of two hashes, 64 bits each."""
    factor = 0x9DDFEA08EB382D69
    first = ((one ^ other) * factor) & _BITS
    first ^= first >> 47
    second = ((other ^ first) * factor) & _BITS
    return _spread(((second ^ second >> 47) * factor) & _BITS)


def _dawdle() -> None:
    # By the clock: in a run, the generators of the program have a seed.
    steps = random.Random(time.monotonic_ns()).randint(1, _STEPS)
    time.sleep(_LONGEST_S * math.exp(steps - _STEPS))


class HashingNode(Node):
    """A node with a state.

    :param state: at the begin
    """

    def __init__(self, log: CallbackLog, name: str, state: int) -> None:
        super().__init__(name)
        self._log, self._name, self._state = log, name, state

    def called(self, seed: int, *given: int) -> None:
        """A callback begins: it takes its time, then the state changes."""
        self._log.note(self._name, str(seed))
        _dawdle()
        for value in (seed, self.get_clock().now().nanoseconds, *given):
            self._state = combined(self._state, value)

    def every(self, milliseconds: int, seed: int, topic: str) -> None:
        """Publish the state."""
        writer = self.create_publisher(UInt64, topic, 1)

        def due() -> None:
            self.called(seed)
            writer.publish(UInt64(data=self._state))

        self.create_timer(milliseconds / 1000, due)

    def reads(self, topic: str, seed: int, writes: str = "") -> None:
        """Take messages in, and publish the state after each."""
        writer = self.create_publisher(UInt64, writes, 1) if writes else None

        def came(message: UInt64) -> None:
            self.called(seed, message.data)
            if writer is not None:
                writer.publish(UInt64(data=self._state))

        self.create_subscription(UInt64, topic, came, 1)

    def asks(self, topic: str, seed: int, service: str, answer_seed: int) -> None:
        """Call a service at each message."""
        client = self.create_client(Trigger, service)

        def answered(future: Future) -> None:
            self.called(answer_seed, int(future.result().message))

        def came(message: UInt64) -> None:
            self.called(seed, message.data)
            client.call_async(Trigger.Request()).add_done_callback(answered)

        self.create_subscription(UInt64, topic, came, 1)

    def serves(self, service: str, seed: int) -> None:
        """Answer with the state."""

        def asked(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            self.called(seed)
            response.success, response.message = True, str(self._state)
            return response

        self.create_service(Trigger, service, asked)


def _a(log: CallbackLog) -> Node:
    node = HashingNode(log, "NodeA", 55272744)
    node.every(100, 11162456753, "/t1")
    node.every(50, 11151784617, "/t2")
    node.reads("/t5", 22255799981)
    return node


def _b(log: CallbackLog) -> Node:
    node = HashingNode(log, "NodeB", 34983402)
    node.reads("/t2", 22229447589, "/t3")
    node.every(40, 11111071799, "/t5")
    return node


def _c(log: CallbackLog) -> Node:
    node = HashingNode(log, "NodeC", 87997653)
    node.asks("/t1", 22295316797, "/s1", 44442759714)
    node.reads("/t3", 22227118361, "/t4")
    return node


def _d(log: CallbackLog) -> Node:
    node = HashingNode(log, "NodeD", 11380831)
    node.reads("/t4", 2227672095, "/t5")
    node.serves("/s1", 33396054244)
    return node


if __name__ == "__main__":
    spin({"NodeA": _a, "NodeB": _b, "NodeC": _c, "NodeD": _d})
