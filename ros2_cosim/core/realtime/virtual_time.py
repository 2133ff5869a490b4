# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The virtual time service: write a participant as a step handler.

A model derived from :class:`VirtualTime` sets one handler when it is made::

    class Motor(VirtualTime):
        def __init__(self, context, parameters):
            super().__init__(context, parameters)
            self.set_step_handler(self.turn)

        def turn(self, step):
            self.send("speed", Speed(...))

A *blocking* handler is the whole step: when it returns, the step is complete. An *asynchronous*
one only begins the step and returns; the step goes on, while the host keeps handling events,
until :meth:`VirtualTime.complete_step` is called, by any thread. Within it
:meth:`VirtualTime.send_now` sends at once.

Messages of handled inputs, and requests to services, have their own handlers.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from ros2_cosim.core.kernel.errors import (
    Aborted,
    ConfigurationError,
    LifecycleError,
    ParticipantError,
)
from ros2_cosim.core.kernel.model import HANDLERS, FullModel
from ros2_cosim.core.kernel.participant import Host, ModelContext, Step
from ros2_cosim.core.kernel.time import format_ns

#: How long [s of wall time] to handle events at a time while a step is open.
_POLL_S = 0.05

BlockingHandler = Callable[[Step], Mapping[str, Any] | None]
AsyncHandler = Callable[[Step], None]
MessageHandler = Callable[[Step], Mapping[str, Any] | None]
ServiceHandler = Callable[[Any, Step], Any]


class VirtualTime(FullModel):
    """The time of one participant, and the model that its step handler makes.

    Its own names are those of this class alone: a model that is derived from it may have any.
    """

    def __init__(self, context: ModelContext, parameters: Any = None) -> None:
        self.__name = context.name
        self.__period = context.period_ns
        self.__handler: BlockingHandler | None = None
        self.__async_handler: AsyncHandler | None = None
        self.__host: Host | None = None
        self.__lock = threading.Lock()
        self.__completed = threading.Event()
        self.__open = False
        self.__now: int | None = None
        self.__outputs: dict[str, Any] = {}
        #: What is to leave at once, in its order.
        self.__urgent: deque[tuple[str, Any]] = deque()
        self.__message_handlers: dict[str, MessageHandler] = {}
        self.__service_handlers: dict[str, ServiceHandler] = {}
        self.__fault: Exception | None = None
        self.__handlers: dict[str, Callable[..., None]] = {}
        #: Set by :meth:`stop`; read by the kernel after each step.
        self.stop_reason: str | None = None
        #: Set by :meth:`set_next_step`; read by the kernel after each step.
        self.next_time: int | None = None

    # --- before the run ---------------------------------------------------------------------

    def set_step_handler(self, handler: BlockingHandler) -> None:
        """Set a handler that is the whole step; it may return output port -> record.

        :raises ConfigurationError: there is a handler already
        """
        self.__refuse_second()
        self.__handler = handler

    def set_step_handler_async(self, handler: AsyncHandler) -> None:
        """Set a handler that begins a step, which :meth:`complete_step` ends.

        :raises ConfigurationError: there is a handler already
        """
        self.__refuse_second()
        self.__async_handler = handler

    def set_message_handler(self, port: str, handler: MessageHandler) -> None:
        """Set what handles the messages of a handled input port, one by one, at their stamps.

        It may send on sparse ports, by its return value or :meth:`send`.

        :param port: name of the port, or of the call whose answers it handles
        """
        self.__message_handlers[port] = handler

    def set_service_handler(self, name: str, handler: ServiceHandler) -> None:
        """Set what answers the requests to a service, one by one, at their stamps.

        :param handler: gets the request and the step, and returns the answer
        """
        self.__service_handlers[name] = handler

    def set_handlers(self, **handlers: Callable[..., None]) -> None:
        """Set handlers of ``core/kernel/participant_lifecycle.py`` by name, such as ``on_stop``.

        :raises ConfigurationError: there is no handler of that name
        """
        for name, handler in handlers.items():
            if name not in HANDLERS:
                raise ConfigurationError(
                    f"participant '{self.__name}': no handler '{name}'; allowed are "
                    f"{', '.join(HANDLERS)}"
                )
            self.__handlers[name] = handler

    def __refuse_second(self) -> None:
        if self.__handler or self.__async_handler:
            raise ConfigurationError(
                f"participant '{self.__name}' has a step handler already; allowed is one, "
                "blocking or asynchronous"
            )

    # --- during the run ---------------------------------------------------------------------

    def now(self) -> int:
        """The virtual time [ns]; updated just before each call of the handler.

        :raises LifecycleError: no step has begun yet
        """
        if self.__now is None:
            raise LifecycleError(
                f"participant '{self.__name}' has no time yet; it begins with the first step"
            )
        return self.__now

    @property
    def step_size(self) -> int | None:
        """Time to the next step [ns], as far as it has been decided; None without a period."""
        if self.next_time is not None:
            return self.next_time - self.now()
        return self.__period

    @property
    def node(self) -> Any:
        """The rclpy node of the participant; None in shape ``inproc``."""
        return self.__host.node if self.__host else None

    def send(self, port: str, record: Any) -> None:
        """Send a record with this step; its stamp is set by the kernel.

        :raises LifecycleError: no step is open
        """
        with self.__lock:
            self.__require_open("send")
            self.__outputs[port] = record

    def send_now(self, port: str, record: Any) -> None:
        """Send a record within an asynchronous step, before it is complete; any thread may call.

        Its stamp is that of the step, as it is for what is sent at the end; readers have it
        earlier on the wall clock. A sparse port may send several.

        :raises LifecycleError: no asynchronous step is open, or its messages leave together
        """
        with self.__lock:
            self.__require_open("send_now")
            if self.__async_handler is None:
                raise LifecycleError(
                    f"participant '{self.__name}': send_now in a blocking step, whose messages "
                    "leave when it returns; allowed is an asynchronous step"
                )
            if self.__host is None or self.__host.send is None:
                raise LifecycleError(
                    f"participant '{self.__name}': send_now where the messages of a step leave "
                    "together (it has a coupling); allowed is send"
                )
            self.__urgent.append((port, record))
        self.__wake()

    def set_next_step(self, time: int) -> None:
        """Decide when the next step takes place [ns]; counts for the one after this only.

        :raises LifecycleError: no step is open, or the time is not in the future
        """
        with self.__lock:
            self.__require_open("set_next_step")
            if time <= self.now():
                raise LifecycleError(
                    f"participant '{self.__name}': next step at {format_ns(time)}; now is "
                    f"{format_ns(self.now())}, allowed is any later time"
                )
            self.next_time = time

    def complete_step(self) -> None:
        """End the step that an asynchronous handler has begun; any thread may call it.

        :raises LifecycleError: no step is open, or the handler is a blocking one
        """
        with self.__lock:
            if self.__async_handler is None:
                raise LifecycleError(
                    f"participant '{self.__name}': complete_step without an asynchronous step "
                    "handler; a step of a blocking one is complete when it returns"
                )
            self.__require_open("complete_step")
            self.__end_step()

    def stop(self, reason: str) -> None:
        """End the run in order, a fixed latency after the present step; any thread may call."""
        with self.__lock:
            self.stop_reason = self.stop_reason or reason

    def report_error(self, reason: str) -> None:
        """Enter the error state: this participant cannot go on; any thread may call it."""
        self.__break(ParticipantError(f"participant '{self.__name}' reports an error: {reason}"))

    def abort(self, reason: str) -> None:
        """End the run at once for all participants; any thread may call it."""
        self.__break(Aborted(f"participant '{self.__name}' aborts the run: {reason}"))

    # --- what the kernel calls --------------------------------------------------------------

    def attach(self, host: Host) -> None:
        """Take what the process offers that the participant runs in."""
        self.__host = host

    @property
    def ready_handlers(self) -> int:
        """How many of the two communication-ready handlers are set."""
        return sum(name in self.__handlers for name in HANDLERS[:2])

    def on_communication_ready_async(self, complete: Callable[[], None]) -> None:
        """Call the handler that is set for it."""
        if HANDLERS[1] in self.__handlers:
            self.__call(HANDLERS[1], complete)
            return
        self.__call(HANDLERS[0])
        complete()

    def on_starting(self) -> None:
        """Call the handler that is set."""
        self.__call("on_starting")

    def on_stop(self) -> None:
        """Call the handler that is set."""
        self.__call("on_stop")

    def on_shutdown(self) -> None:
        """Call the handler that is set."""
        self.__call("on_shutdown")

    def on_abort(self, before: Any) -> None:
        """Call the handler that is set."""
        self.__call("on_abort", before)

    def __call(self, name: str, *arguments: Any) -> None:
        if name in self.__handlers:
            self.__handlers[name](*arguments)

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Run one step to its end.

        :raises ParticipantError: no handler is set, or the participant reported an error
        :raises Aborted: the participant aborts the run
        """
        self.__begin(step.time)
        if self.__handler is not None:
            returned = self.__handler(step)
            with self.__lock:
                self.__outputs.update(returned or {})
                self.__end_step()
        elif self.__async_handler is not None:
            self.__async_handler(step)
            while not self.__completed.is_set() and self.__fault is None:
                self.__handle_events()
                self.__send_urgent()
            self.__send_urgent()
        else:
            raise ParticipantError(f"participant '{self.__name}' has no step handler")
        if self.__fault is not None:
            fault, self.__fault = self.__fault, None
            raise fault
        return self.__outputs

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        """Call the handler that is set for a port."""
        handler = self.__message_handlers.get(port)
        if handler is None:
            return super().handle_message(port, step)
        self.__begin(step.time)
        returned = handler(step)
        return self.__end_handling(returned or {})

    def answer_service(self, name: str, request: Any, step: Step) -> Any:
        """Call the handler that is set for a service."""
        handler = self.__service_handlers.get(name)
        if handler is None:
            return super().answer_service(name, request, step)
        with self.__lock:
            self.__now = step.time
        return handler(request, step)

    def __end_handling(self, returned: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a message handler sends.

        :raises Exception: what it reported meanwhile
        """
        with self.__lock:
            self.__outputs.update(returned)
            self.__open = False
            fault, self.__fault = self.__fault, None
        if fault is not None:
            raise fault
        return self.__outputs

    def __send_urgent(self) -> None:
        """Send what was to leave at once; on the thread of the activation."""
        while self.__urgent:
            assert self.__host is not None and self.__host.send is not None
            self.__host.send(*self.__urgent.popleft())

    def __begin(self, time: int) -> None:
        with self.__lock:
            self.__now = time
            self.__outputs = {}
            self.next_time = None
            self.__completed.clear()
            self.__open = True

    def __end_step(self) -> None:
        self.__open = False
        self.__completed.set()
        self.__wake()

    def __break(self, fault: Exception) -> None:
        with self.__lock:
            self.__fault = self.__fault or fault
            self.__open = False
            self.__completed.set()
            self.__wake()

    def __wake(self) -> None:
        if self.__host is not None:
            self.__host.wake()

    def __handle_events(self) -> None:
        if self.__host is not None:
            self.__host.wait(_POLL_S)
        else:
            self.__completed.wait()

    def __require_open(self, what: str) -> None:
        if not self.__open:
            raise LifecycleError(
                f"participant '{self.__name}': {what} outside of a step; allowed is from the call "
                "of the step handler until the step is complete"
            )
