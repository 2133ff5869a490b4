# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The state of a run as standard diagnostics: how far each participant is, and what blocks it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from ros2_cosim.core.kernel.lifecycle import State
from ros2_cosim.core.kernel.time import NEVER, format_ns, split_stamp
from ros2_cosim.ros.node import topics
from ros2_cosim.ros.node.qos_overrides import make_publisher

_FAULTS = (State.ERROR, State.ABORTING)


class ParticipantStanding(NamedTuple):
    """How far one participant is: nothing of it comes before ``bound`` [ns]."""

    name: str
    state: State | None
    reason: str
    bound: int
    #: Promises that it waits for, in one text; for how long [s of wall time].
    waits_for: str = ""
    since_s: float = 0.0
    #: Whether it has given no sign of life for longer than the soft limit.
    silent: bool = False


class DiagnosticsPublisher:
    """Publishes ``diagnostic_msgs/DiagnosticArray``, one status per participant and the clock.

    :param start_ns: what ROS's clock shows when simulated time is 0 [ns]
    """

    def __init__(self, node: Node, run_id: str, start_ns: int) -> None:
        self._publisher = make_publisher(node, DiagnosticArray, topics.DIAGNOSTICS, 10)
        self._run_id = run_id
        self._start_ns = start_ns

    def publish(
        self,
        time: int,
        horizon: int,
        rate: float,
        participants: Iterable[ParticipantStanding],
        blocking: str = "",
    ) -> None:
        """Publish the present state.

        :param time: every activation before it is complete [ns]
        :param horizon: activations before it may run [ns]
        :param rate: measured real-time factor
        :param blocking: the participant that holds back the run, and why
        """
        values = {"horizon": _text(horizon), "real_time_factor": f"{rate:.3f}"}
        if blocking:
            values["blocking"] = blocking
        message = DiagnosticArray()
        shown = split_stamp(max(time, 0) + self._start_ns)
        message.header.stamp.sec, message.header.stamp.nanosec = shown
        message.status.append(
            self._status(
                "clock",
                DiagnosticStatus.OK,
                f"at {format_ns(max(time, 0))}",
                values,
            )
        )
        for entry in participants:
            message.status.append(self._describe(entry, time))
        self._publisher.publish(message)

    def _describe(self, entry: ParticipantStanding, time: int) -> DiagnosticStatus:
        if entry.state is None:
            return self._status(entry.name, DiagnosticStatus.STALE, "not seen yet", {})
        level = DiagnosticStatus.OK
        if entry.state in _FAULTS:
            level = DiagnosticStatus.ERROR
        elif entry.silent or entry.reason.startswith("waits "):
            level = DiagnosticStatus.WARN
        values = {"complete_before": _text(entry.bound), "holds_back": str(entry.bound <= time)}
        if entry.waits_for:
            values["waits_for"] = entry.waits_for
            values["for_s"] = f"{entry.since_s:.1f}"
        text = f"{entry.state.name}: {entry.reason}"
        if entry.silent:
            text += " (no sign of life)"
        return self._status(entry.name, level, text, values)

    def _status(
        self, name: str, level: bytes, text: str, values: Mapping[str, str]
    ) -> DiagnosticStatus:
        status = DiagnosticStatus()
        status.name = f"cosim: {name}"
        status.hardware_id = self._run_id
        status.level = level
        status.message = text
        for key, value in values.items():
            status.values.append(KeyValue(key=key, value=value))
        return status


def _text(time: int) -> str:
    return "nothing yet" if time == NEVER else format_ns(time)
