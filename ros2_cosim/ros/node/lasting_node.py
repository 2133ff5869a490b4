# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A node that stays when a run begins anew in its process.

The middleware may hang for ever while it gives up a node, a publisher or a subscription (see
:mod:`~ros2_cosim.ros.node.middleware`). So a process that goes on gives up none: what asks for a
publisher, subscription, service, client or action server gets the one of that name, type and
quality of service that the run before has left.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from rcl_interfaces.msg import ParameterEvent
from rclpy.action import ActionServer
from rclpy.callback_groups import CallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.event_handler import PublisherEventCallbacks, QoSPublisherEventType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_parameter_events
from rclpy.timer import Timer

from ros2_cosim.ros.node.answers import answer_until_heard
from ros2_cosim.ros.node.simulated_log import SimulatedLogger

_EVENTS = QoSPublisherEventType
_PARAMETER_EVENTS = "/parameter_events"


class _Untold:
    """What publishes nothing."""

    def publish(self, message: Any) -> None:
        """Leave it."""


class LastingNode(Node):
    """A node whose endpoints can be left and taken over; else as rclpy's.

    Publishers, subscriptions, services, clients and action servers are kept. Timers and other
    things that can be waited for are given up: an executor may not call what is left behind.

    :param simulated_time: its clock and its log show simulated time, which its owner tells; it
        reads no ``/clock``, which is behind its activations
    """

    def __init__(self, name: str, *, simulated_time: bool = False, **options: Any) -> None:
        #: The parameters of the request for it.
        self.asked = asked_for(name, {"simulated_time": simulated_time, **options})
        self._is_simulated = simulated_time
        #: Whether its first parameters have a publisher, which sends nothing.
        self._is_told = False
        self._own_logger: SimulatedLogger | None = None
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        has_rosout = bool(options.get("enable_rosout", True))
        if simulated_time:
            options["parameter_overrides"] = [Parameter("use_sim_time", value=True)]
            options["enable_rosout"] = False
        #: The parameters of the request for an endpoint, for those that this class did not make.
        self._asked: dict[Any, Hashable] = {}
        #: Answers of which the requests are done when the next run of this process is there.
        self.owed: list[Callable[[], None]] = []
        #: What has been left, and not been taken over so far.
        self._left: defaultdict[Hashable, list[Any]] = defaultdict(list)
        #: Those made from now on are left; what belongs to the node itself serves all the time.
        self._is_made = False
        super().__init__(name, **options)
        if simulated_time:
            self._parameter_event_publisher = self.create_publisher(
                ParameterEvent, _PARAMETER_EVENTS, qos_profile_parameter_events
            )
        if simulated_time and has_rosout:
            self._own_logger = SimulatedLogger(self, self.get_logger().name)
        self._is_made = True
        self._own_waitables = frozenset(self.waitables)

    def create_timer(
        self,
        timer_period_sec: float,
        callback: Callable[..., Any],
        callback_group: CallbackGroup | None = None,
        clock: Clock | None = None,
        autostart: bool = True,
    ) -> Timer:
        """Make a timer, by the wall clock unless another clock is given.

        Simulated time does not call back: what has to happen at a simulated time is an activation.
        """
        if self._is_simulated and clock is None:
            clock = self._wall
        return super().create_timer(timer_period_sec, callback, callback_group, clock, autostart)

    def get_logger(self) -> Any:
        """Its logger."""
        return self._own_logger or super().get_logger()  # type: ignore[no-untyped-call]

    def create_publisher(self, msg_type: Any, topic: str, qos_profile: Any, **options: Any) -> Any:
        """Make a publisher, or take one over; its event callbacks are the new ones."""
        if self._is_simulated and topic == _PARAMETER_EVENTS and not self._is_told:
            # A node of C++ with the same name would take the first event, that it has simulated
            # time, for one of its own, and would follow the public clock.
            self._is_told = True
            return _Untold()
        events = options.get("event_callbacks") or PublisherEventCallbacks()
        called = {
            _EVENTS.RCL_PUBLISHER_OFFERED_DEADLINE_MISSED: events.deadline,
            _EVENTS.RCL_PUBLISHER_LIVELINESS_LOST: events.liveliness,
            _EVENTS.RCL_PUBLISHER_OFFERED_INCOMPATIBLE_QOS: events.incompatible_qos,
            _EVENTS.RCL_PUBLISHER_INCOMPATIBLE_TYPE: events.incompatible_type,
            _EVENTS.RCL_PUBLISHER_MATCHED: events.matched,
        }
        noted = tuple(kind for kind, callback in called.items() if callback is not None)
        asked = ("publisher", msg_type, topic, str(qos_profile), noted)
        publisher = self._taken_over(asked)
        if publisher is None:
            publisher = super().create_publisher(msg_type, topic, qos_profile, **options)
            return self._noted(asked, publisher)
        for handler in publisher.event_handlers:
            if handler.event_type in noted:
                handler.callback = called[handler.event_type]
        return publisher

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Any, qos_profile: Any, **options: Any
    ) -> Any:
        """Make a subscription, or take one over, with what has come to it meanwhile."""
        if self._is_simulated and not self._is_made:
            return None  # that of rclpy to /clock, the only one that a node makes for itself
        raw = bool(options.get("raw"))
        events = options.get("event_callbacks") is not None
        asked = ("subscription", msg_type, topic, str(qos_profile), raw, events)
        # Events that a former owner subscribed to cannot be reported to it.
        subscription = None if events else self._taken_over(asked)
        if subscription is None:
            subscription = super().create_subscription(
                msg_type, topic, callback, qos_profile, **options
            )
            return self._noted(asked, subscription)
        subscription.callback = callback
        return subscription

    def create_service(self, srv_type: Any, srv_name: str, callback: Any, **options: Any) -> Any:
        """Make a service, or take one over, with the requests that wait for an answer."""
        asked = ("service", srv_type, srv_name, repr(options))
        service = self._taken_over(asked)
        if service is None:
            service = super().create_service(srv_type, srv_name, callback, **options)
            self._noted(asked, service)
        service.callback = callback
        # A service that sends its answers later has put its own function here (deferred_service).
        vars(service).pop("send_response", None)
        answer_until_heard(service)
        return service

    def create_client(self, srv_type: Any, srv_name: str, **options: Any) -> Any:
        """Make a client of a service, or take one over."""
        asked = ("client", srv_type, srv_name, repr(options))
        client = self._taken_over(asked)
        if client is None:
            client = self._noted(asked, super().create_client(srv_type, srv_name, **options))
        return client

    def create_action_server(
        self,
        kind: Any,
        name: str,
        *,
        execute: Callable[[Any], Any],
        accept: Callable[[Any], Any],
        cancel: Callable[[Any], Any],
    ) -> ActionServer:
        """Make a server of an action, or take one over, with the goals that have come meanwhile.

        :param execute: see :class:`rclpy.action.ActionServer`, as for the other two
        """
        asked = ("action", kind, name)
        server = self._taken_over(asked)
        if server is None:
            server = self._noted(asked, ActionServer(self, kind, name, execute))
        server.register_execute_callback(execute)
        server.register_goal_callback(accept)
        server.register_cancel_callback(cancel)
        return server

    def leave(self) -> None:
        """Leave everything for the next run; nothing may serve the node meanwhile."""
        for timer in tuple(self.timers):
            self.destroy_timer(timer)
        told: list[Any] = [*self.publishers, *self.subscriptions]
        kept = self._own_waitables.union(*(endpoint.event_handlers for endpoint in told))
        waitables: list[Any] = [each for each in self.waitables if each not in kept]
        for other in waitables:
            if other not in self._asked:
                other.destroy()
        self._left.clear()
        for endpoint in (*told, *self.services, *self.clients, *waitables):
            if endpoint in self._asked:
                self._left[self._asked[endpoint]].append(endpoint)
        self._asked = {e: asked for asked, group in self._left.items() for e in group}
        for subscription in self.subscriptions:
            if subscription in self._asked:
                subscription.callback = _drop

    def pay(self) -> None:
        """Send the answers that are owed."""
        owed, self.owed = self.owed, []
        for send in owed:
            send()

    def destroy_node(self) -> None:
        """Give everything up.

        rclpy leaves action servers, and a node stays in the middleware as long as it has one.
        """
        self.pay()
        made: list[Any] = [each for each in self.waitables if each in self._asked]
        for waitable in made:
            waitable.destroy()
        super().destroy_node()  # type: ignore[no-untyped-call]

    def _taken_over(self, asked: Hashable) -> Any:
        """The oldest endpoint of this kind that is left; None: there is none."""
        left = self._left.get(asked)
        return left.pop(0) if left else None

    def _noted(self, asked: Hashable, endpoint: Any) -> Any:
        if self._is_made:
            self._asked[endpoint] = asked
        return endpoint


def asked_for(name: str, options: Mapping[str, Any]) -> str:
    """The parameters of a request for a node, in a word."""
    return repr((name, sorted(options.items())))


def _drop(message: Any) -> None:
    """Nothing of the run that goes on reads it."""
