# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Models around a foreign node under test: sources, sinks, and what the node does, in process."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.participant import ModelContext, Step
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.messages.raw import RawMessage
from ros2_cosim.core.messages.records import ControlCommand
from ros2_cosim.world.vehicle import VEHICLES, pedals_for

FLOAT = "std_msgs/msg/Float64"
_FLOAT = struct.Struct("<4sd")


def number(value: float) -> RawMessage:
    """A std_msgs/Float64."""
    return RawMessage(FLOAT, _FLOAT.pack(b"\0\1\0\0", value))


def value_of(message: RawMessage) -> float:
    """The number in a std_msgs/Float64."""
    return float(_FLOAT.unpack(message.wire)[1])


class Source(Model):
    """Sends 1, 2, 3, ... times a factor."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._factor = float(context.parameters.get("factor", 1.0))
        self._count = 0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Send the next number."""
        self._count += 1
        return {"number": number(self._count * self._factor)}


class Sink(Model):
    """Ends a chain: sends back what it reads, halved."""

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Send half of the newest number."""
        (newest,) = (step.latest[port] for port in step.latest)
        return {} if newest is None else {"half": number(value_of(newest.value) * 0.5)}


class Relay(Model):
    """What ros_nodes/relay_node.py does."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._sum = 0.0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Take the samples one after the other."""
        for sample in step.samples["number"]:
            self._sum = self._sum * 0.75 + value_of(sample.value)
        return {"sum": number(self._sum)}


class Composed(Relay):
    """What ros_nodes/composed_node.py does."""

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Send the newest sample, too."""
        found = super().activate(step)
        return {**found, "passed": step.samples["number"][-1].value}


class Both(Model):
    """What ros_nodes/both_node.py does: it hears what it sends."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._sum = 0.0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Take the samples one after the other."""
        sent = 0.0
        for sample in step.samples["number"]:
            self._sum = self._sum * 0.75 + value_of(sample.value)
            sent = -self._sum
            self._sum += sent * 0.125
        return {"sum": number(sent)}


class Fold(Model):
    """What ros_nodes/fold_node.py does, in the order of stamp, port, number."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._state = 1.0

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Take the samples of both ports one after the other."""
        samples = [(s.stamp, 0, s.seq, s) for s in step.samples["add"]]
        samples += [(s.stamp, 1, s.seq, s) for s in step.samples["take"]]
        for _, port, _, sample in sorted(samples, key=lambda entry: entry[:3]):
            value = value_of(sample.value)
            self._state = self._state * 0.5 - value if port else self._state * 0.75 + value
        return {"state": number(self._state)}


class Pedals(Model):
    """Turns a demanded acceleration into pedal positions."""

    def __init__(self, context: ModelContext, parameters: Any) -> None:
        self._vehicle = VEHICLES["sedan"]

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Command what the newest demand asks for."""
        demand, odometry = step.latest["demand"], step.latest["odometry"]
        assert demand is not None and odometry is not None
        wanted = demand.value.ax
        throttle, brake = pedals_for(self._vehicle, wanted, odometry.value.vx)
        return {"control": ControlCommand(wanted, throttle, brake, 0.0)}


class Stamps(Model):
    """Sends a path of two poses: one with a stamp that it does not set, and one of now."""

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Send it."""
        part = CATALOGUE.part
        header: Any = part("std_msgs/msg/Header")
        time: Any = part("builtin_interfaces/msg/Time")
        pose: Any = part("geometry_msgs/msg/PoseStamped")
        path: Any = CATALOGUE.record("nav_msgs/msg/Path")
        now = header(time(*divmod(step.time, SECOND)), "map")
        return {"path": path((pose(), pose(header=now)))}


class StampReader(Model):
    """Sends what it reads in the first stamp of the newest path [s]."""

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Send the time that counts from the start."""
        newest = step.latest["path"]
        assert newest is not None
        stamp = newest.value.poses[0].header.stamp
        return {"number": number(stamp.sec + stamp.nanosec / SECOND)}
