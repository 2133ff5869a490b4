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

Messages of handled inputs, and requests to services, have handlers of their own.
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
    """The time of one participant, and the model that its step handler makes."""

    def __init__(self, context: ModelContext, parameters: Any = None) -> None:
        self._name = context.name
        self._period = context.period_ns
        self._handler: BlockingHandler | None = None
        self._async_handler: AsyncHandler | None = None
        self._host: Host | None = None
        self._lock = threading.Lock()
        self._completed = threading.Event()
        self._open = False
        self._now: int | None = None
        self._outputs: dict[str, Any] = {}
        #: What is to leave at once, in its order.
        self._urgent: deque[tuple[str, Any]] = deque()
        self._message_handlers: dict[str, MessageHandler] = {}
        self._service_handlers: dict[str, ServiceHandler] = {}
        self._fault: Exception | None = None
        self._handlers: dict[str, Callable[..., None]] = {}
        #: Set by :meth:`stop`; read by the kernel after each step.
        self.stop_reason: str | None = None
        #: Set by :meth:`set_next_step`; read by the kernel after each step.
        self.next_time: int | None = None

    # --- before the run ---------------------------------------------------------------------

    def set_step_handler(self, handler: BlockingHandler) -> None:
        """Set a handler that is the whole step; it may return output port -> record.

        :raises ConfigurationError: there is a handler already
        """
        self._refuse_second()
        self._handler = handler

    def set_step_handler_async(self, handler: AsyncHandler) -> None:
        """Set a handler that begins a step, which :meth:`complete_step` ends.

        :raises ConfigurationError: there is a handler already
        """
        self._refuse_second()
        self._async_handler = handler

    def set_message_handler(self, port: str, handler: MessageHandler) -> None:
        """Set what handles the messages of a handled input port, one by one, at their stamps.

        It may send on sparse ports, by its return value or :meth:`send`.

        :param port: name of the port, or of the call whose answers it handles
        """
        self._message_handlers[port] = handler

    def set_service_handler(self, name: str, handler: ServiceHandler) -> None:
        """Set what answers the requests to a service, one by one, at their stamps.

        :param handler: gets the request and the step, and returns the answer
        """
        self._service_handlers[name] = handler

    def set_handlers(self, **handlers: Callable[..., None]) -> None:
        """Set handlers of ``core/kernel/participant_lifecycle.py`` by name, such as ``on_stop``.

        :raises ConfigurationError: there is no handler of that name
        """
        for name, handler in handlers.items():
            if name not in HANDLERS:
                raise ConfigurationError(
                    f"participant '{self._name}': no handler '{name}'; allowed are "
                    f"{', '.join(HANDLERS)}"
                )
            self._handlers[name] = handler

    def _refuse_second(self) -> None:
        if self._handler or self._async_handler:
            raise ConfigurationError(
                f"participant '{self._name}' has a step handler already; allowed is one, "
                "blocking or asynchronous"
            )

    # --- during the run ---------------------------------------------------------------------

    def now(self) -> int:
        """The virtual time [ns]; updated just before each call of the handler.

        :raises LifecycleError: no step has begun yet
        """
        if self._now is None:
            raise LifecycleError(
                f"participant '{self._name}' has no time yet; it begins with the first step"
            )
        return self._now

    @property
    def step_size(self) -> int | None:
        """Time to the next step [ns], as far as it has been decided; None without a period."""
        if self.next_time is not None:
            return self.next_time - self.now()
        return self._period

    @property
    def node(self) -> Any:
        """The rclpy node of the participant; None in shape ``inproc``."""
        return self._host.node if self._host else None

    def send(self, port: str, record: Any) -> None:
        """Send a record with this step; its stamp is set by the kernel.

        :raises LifecycleError: no step is open
        """
        with self._lock:
            self._require_open("send")
            self._outputs[port] = record

    def send_now(self, port: str, record: Any) -> None:
        """Send a record within an asynchronous step, before it is complete; any thread may call.

        Its stamp is that of the step, as it is for what is sent at the end; readers have it
        earlier on the wall clock. A sparse port may send several.

        :raises LifecycleError: no asynchronous step is open, or its messages leave together
        """
        with self._lock:
            self._require_open("send_now")
            if self._async_handler is None:
                raise LifecycleError(
                    f"participant '{self._name}': send_now in a blocking step, whose messages "
                    "leave when it returns; allowed is an asynchronous step"
                )
            if self._host is None or self._host.send is None:
                raise LifecycleError(
                    f"participant '{self._name}': send_now where the messages of a step leave "
                    "together (it has a coupling); allowed is send"
                )
            self._urgent.append((port, record))
        self._wake()

    def set_next_step(self, time: int) -> None:
        """Decide when the next step takes place [ns]; counts for the one after this only.

        :raises LifecycleError: no step is open, or the time is not in the future
        """
        with self._lock:
            self._require_open("set_next_step")
            if time <= self.now():
                raise LifecycleError(
                    f"participant '{self._name}': next step at {format_ns(time)}; now is "
                    f"{format_ns(self.now())}, allowed is any later time"
                )
            self.next_time = time

    def complete_step(self) -> None:
        """End the step that an asynchronous handler has begun; any thread may call it.

        :raises LifecycleError: no step is open, or the handler is a blocking one
        """
        with self._lock:
            if self._async_handler is None:
                raise LifecycleError(
                    f"participant '{self._name}': complete_step without an asynchronous step "
                    "handler; a step of a blocking one is complete when it returns"
                )
            self._require_open("complete_step")
            self._end_step()

    def stop(self, reason: str) -> None:
        """End the run in order, a fixed latency after the present step; any thread may call."""
        with self._lock:
            self.stop_reason = self.stop_reason or reason

    def report_error(self, reason: str) -> None:
        """Enter the error state: this participant cannot go on; any thread may call it."""
        self._break(ParticipantError(f"participant '{self._name}' reports an error: {reason}"))

    def abort(self, reason: str) -> None:
        """End the run at once for all participants; any thread may call it."""
        self._break(Aborted(f"participant '{self._name}' aborts the run: {reason}"))

    # --- what the kernel calls --------------------------------------------------------------

    def attach(self, host: Host) -> None:
        """Take what the process offers that the participant runs in."""
        self._host = host

    @property
    def ready_handlers(self) -> int:
        """How many of the two communication-ready handlers are set."""
        return sum(name in self._handlers for name in HANDLERS[:2])

    def on_communication_ready_async(self, complete: Callable[[], None]) -> None:
        """Call the handler that is set for it."""
        if HANDLERS[1] in self._handlers:
            self._call(HANDLERS[1], complete)
            return
        self._call(HANDLERS[0])
        complete()

    def on_starting(self) -> None:
        """Call the handler that is set."""
        self._call("on_starting")

    def on_stop(self) -> None:
        """Call the handler that is set."""
        self._call("on_stop")

    def on_shutdown(self) -> None:
        """Call the handler that is set."""
        self._call("on_shutdown")

    def on_abort(self, before: Any) -> None:
        """Call the handler that is set."""
        self._call("on_abort", before)

    def _call(self, name: str, *arguments: Any) -> None:
        if name in self._handlers:
            self._handlers[name](*arguments)

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Run one step to its end.

        :raises ParticipantError: no handler is set, or the participant reported an error
        :raises Aborted: the participant aborts the run
        """
        self._begin(step.time)
        if self._handler is not None:
            returned = self._handler(step)
            with self._lock:
                self._outputs.update(returned or {})
                self._end_step()
        elif self._async_handler is not None:
            self._async_handler(step)
            while not self._completed.is_set() and self._fault is None:
                self._handle_events()
                self._send_urgent()
            self._send_urgent()
        else:
            raise ParticipantError(f"participant '{self._name}' has no step handler")
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault
        return self._outputs

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        """Call the handler that is set for a port."""
        handler = self._message_handlers.get(port)
        if handler is None:
            return super().handle_message(port, step)
        self._begin(step.time)
        returned = handler(step)
        return self._end_handling(returned or {})

    def answer_service(self, name: str, request: Any, step: Step) -> Any:
        """Call the handler that is set for a service."""
        handler = self._service_handlers.get(name)
        if handler is None:
            return super().answer_service(name, request, step)
        with self._lock:
            self._now = step.time
        return handler(request, step)

    def _end_handling(self, returned: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a message handler sends.

        :raises Exception: what it reported meanwhile
        """
        with self._lock:
            self._outputs.update(returned)
            self._open = False
            fault, self._fault = self._fault, None
        if fault is not None:
            raise fault
        return self._outputs

    def _send_urgent(self) -> None:
        """Send what was to leave at once; on the thread of the activation."""
        while self._urgent:
            assert self._host is not None and self._host.send is not None
            self._host.send(*self._urgent.popleft())

    def _begin(self, time: int) -> None:
        with self._lock:
            self._now = time
            self._outputs = {}
            self.next_time = None
            self._completed.clear()
            self._open = True

    def _end_step(self) -> None:
        self._open = False
        self._completed.set()
        self._wake()

    def _break(self, fault: Exception) -> None:
        with self._lock:
            self._fault = self._fault or fault
            self._open = False
            self._completed.set()
            self._wake()

    def _wake(self) -> None:
        if self._host is not None:
            self._host.wake()

    def _handle_events(self) -> None:
        if self._host is not None:
            self._host.wait(_POLL_S)
        else:
            self._completed.wait()

    def _require_open(self, what: str) -> None:
        if not self._open:
            raise LifecycleError(
                f"participant '{self._name}': {what} outside of a step; allowed is from the call "
                "of the step handler until the step is complete"
            )
