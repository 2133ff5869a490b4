# SPDX-License-Identifier: Apache-2.0
"""Models that are no :class:`~ros2_cosim.core.kernel.model.Model`: any object with ``activate``.

The one place where members are looked up by name: what such an object offers is bound once,
when it is made, and everything else uses the interface.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.guesses import check_members
from ros2_cosim.core.kernel.model import DECLARED, BeginsAnew, Model, Report
from ros2_cosim.core.kernel.participant import Host, Step

#: What such an object may have beside the members of a model: the parts of its report.
_REPORT = ("figures", "verdicts", "realtime", "not_repeatable", "transport_ns")
#: The members that it may have; others are helpers of its own.
MEMBERS = DECLARED.union(_REPORT)
_READY, _READY_ASYNC = "on_communication_ready", "on_communication_ready_async"


def as_model(made: Any, where: str) -> Model:
    """What a factory has made, as a model.

    :param where: how messages call the place that names the factory
    :raises ConfigurationError: it cannot be activated, or a member looks like a misspelt one
    """
    if isinstance(made, Model):
        return made
    if not callable(getattr(made, "activate", None)):
        raise ConfigurationError(
            f"{where}: found a {type(made).__name__}, which has no method activate(step); allowed "
            "is a Model, or any object with that method"
        )
    check_members(type(made), where, MEMBERS)
    return DuckTyped(made)


class DuckTyped(Model):
    """The model that an object with ``activate`` is.

    It may define any other method of a model, the attributes ``stop_reason`` and ``next_time``,
    and, in place of ``report``, the methods ``figures``, ``verdicts``, ``realtime`` and
    ``not_repeatable`` and the attribute ``transport_ns``.

    :param made: the object
    """

    def __init__(self, made: Any) -> None:
        self._made = made
        bound: dict[str, Callable[..., Any]] = {}
        for name in (*DECLARED, *_REPORT):
            member = getattr(made, name, None)
            if callable(member):
                bound[name] = member
        self._bound = bound
        self.sets_stop_reason = hasattr(made, "stop_reason")
        self.sets_next_time = hasattr(made, "next_time")
        self._transports = hasattr(made, "transport_ns")
        if "save_state" in bound and "restore_state" in bound:
            self.traits = replace(self.traits, saves=True)  # type: ignore[misc]
        # No call in between where it is hot.
        self.activate = made.activate  # type: ignore[method-assign]

    @property
    def stop_reason(self) -> str | None:  # type: ignore[override]
        """The object's own, None without one."""
        reason: str | None = self._made.stop_reason if self.sets_stop_reason else None
        return reason

    @property
    def next_time(self) -> int | None:  # type: ignore[override]
        """The object's own, None without one."""
        time: int | None = self._made.next_time if self.sets_next_time else None
        return time

    @property
    def wrapped(self) -> Any:
        """The object."""
        return self._made

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Let the object compute."""
        found: Mapping[str, Any] = self._made.activate(step)
        return found

    def attach(self, host: Host) -> None:
        """Pass on."""
        self._call("attach", host)

    def on_communication_ready_async(self, complete: Callable[[], None]) -> None:
        """Call the one of the two handlers that the object has."""
        if _READY_ASYNC in self._bound:
            self._call(_READY_ASYNC, complete)
            return
        self._call(_READY)
        complete()

    def on_starting(self) -> None:
        """Pass on."""
        self._call("on_starting")

    def on_stop(self) -> None:
        """Pass on."""
        self._call("on_stop")

    def finish(self) -> None:
        """Pass on."""
        self._call("finish")

    def report(self) -> Report:
        """Put the report together from what the object offers."""
        if "report" in self._bound:
            found: Report = self._call("report")
            return found
        return Report(
            figures=self._call("figures"),
            verdicts=self._call("verdicts"),
            realtime=self._call("realtime"),
            not_repeatable=self._call("not_repeatable"),
            transport_ns=self._made.transport_ns if self._transports else 0,
        )

    def on_shutdown(self) -> None:
        """Pass on."""
        self._call("on_shutdown")

    def on_abort(self, before: Any) -> None:
        """Pass on."""
        self._call("on_abort", before)

    def close(self) -> None:
        """Pass on."""
        self._call("close")

    def reset(self) -> None:
        """Pass on, and forget why the object wanted the run to end."""
        self._call("reset")
        if self.sets_stop_reason:
            self._made.stop_reason = None

    def handle_message(self, port: str, step: Step) -> Mapping[str, Any]:
        """Pass on, to an object that handles messages."""
        if "handle_message" in self._bound:
            found: Mapping[str, Any] = self._call("handle_message", port, step)
            return found
        return super().handle_message(port, step)

    def answer_service(self, name: str, request: Any, step: Step) -> Any:
        """Pass on, to an object that answers services."""
        if "answer_service" in self._bound:
            return self._call("answer_service", name, request, step)
        return super().answer_service(name, request, step)

    def save_state(self) -> Any:
        """Pass on."""
        return self._call("save_state")

    def restore_state(self, state: Any) -> None:
        """Pass on."""
        self._call("restore_state", state)

    @property
    def begins_anew(self) -> BeginsAnew:
        """By the methods that the object has."""
        if "reset" in self._bound:
            return BeginsAnew.RESET
        return BeginsAnew.CANNOT if "close" in self._bound else BeginsAnew.MADE_AGAIN

    @property
    def ready_handlers(self) -> int:
        """How many of the two the object has."""
        return (_READY in self._bound) + (_READY_ASYNC in self._bound)

    def _call(self, name: str, *arguments: Any) -> Any:
        handler = self._bound.get(name)
        return None if handler is None else handler(*arguments)
