# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""When a foreign node's clock shows a time, if its own thread sets it.

rclcpp reads ``/clock`` in its own thread unless the node's options say otherwise: an answer of
the barrier, which another thread gives, does not show that the time is set. The event that a node
publishes when a parameter is set is stamped by its clock: ``use_sim_time`` is set to what it is.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from rcl_interfaces.msg import Parameter, ParameterEvent, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.qos import qos_profile_parameter_events

from ros2_cosim.core.kernel.time import NEVER, SECOND
from ros2_cosim.ros.foreign.foreign_topics import ForeignTopics
from ros2_cosim.ros.node.answers import REPEAT_S

#: A node whose process has loaded this library sets its clock in its own thread.
CLOCK_THREAD_LIBRARY = "librclcpp.so"

_EVENTS = "/parameter_events"
#: In the bytes of an event its stamp begins here, and behind it the name of the node; the second
#: byte says in which order the bytes of numbers are.
_HEAD, _NAME = 4, 16


class ClockProbe:
    """Asks a foreign node for the time of its clock.

    :param topics: the topics of the node, which answers the barrier
    """

    def __init__(self, topics: ForeignTopics) -> None:
        self._topics = topics
        value = ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=True)
        self._request = SetParameters.Request(
            parameters=[Parameter(name="use_sim_time", value=value)]
        )
        #: The time [ns] of the newest event since it was requested.
        self._shown = NEVER
        topics.listen(ParameterEvent, _EVENTS, self._on_event, qos_profile_parameter_events)
        self._client = topics.node.create_client(
            SetParameters, f"{topics.node_name}/set_parameters"
        )

    def wait_for(self, time_ns: int, barrier: Callable[[], None]) -> bool:
        """Return when the node's clock shows a time that has been published to it.

        :param time_ns: the time, as ROS counts it
        :param barrier: calls the node, too: these calls come right behind the question, whose
            answer comes first, and it returns when they are answered
        :return: whether it shows it; False: the node refuses to say so
        """
        while True:
            self._shown = NEVER
            answer = self._client.call_async(self._request)
            barrier()
            if not answer.done():  # overtaken, or lost, as the first ones may get
                self._client.remove_pending_request(answer)
                continue
            if not all(result.successful for result in answer.result().results):
                return False
            # The event was sent before the answer; only the first ones may get lost.
            self._topics.wait_until(lambda: self._shown > NEVER, REPEAT_S)
            if self._shown == time_ns:
                return True

    def _on_event(self, event: bytes) -> None:
        # To make an object of it takes longer than to ask for it.
        seconds, rest, length = struct.unpack_from("<iII" if event[1] else ">iII", event, _HEAD)
        name = event[_NAME : _NAME + length - 1]  # without the zero at its end
        if name == self._topics.node_name.encode():
            self._shown = seconds * SECOND + rest
