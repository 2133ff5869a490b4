# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a model sees of the kernel: samples, one activation, its process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.hop_watch import HopWatch
from ros2_cosim.core.kernel.sample import Sample as Sample


class Step(NamedTuple):
    """One activation of a participant.

    ``time`` is the activation time in integer nanoseconds. ``samples`` holds, for each
    data-triggering or handled input port, the samples delivered by this activation (oldest
    first, possibly none). ``latest`` holds, for every input port, the newest sample visible at
    ``time``, or None if there has been none yet.
    """

    time: int
    samples: Mapping[str, tuple[Sample, ...]]
    latest: Mapping[str, Sample | None]


class Past(NamedTuple):
    """What a participant has exchanged so far.

    ``latest`` holds, for every input port, what it held at the last activation; ``sent`` the
    newest record of each output port that has sent.
    """

    latest: Mapping[str, Sample | None]
    sent: Mapping[str, Any]


class Host(NamedTuple):
    """What the process that a participant runs in offers to its model.

    ``wait(seconds)`` handles what arrives, for at most that time; ``wake()`` ends such a wait and
    may be called by any thread; ``node`` is the participant's rclpy node, None without ROS.
    ``send(port, record)`` sends at once, within an activation and on its thread, as
    :meth:`~.runtime.ParticipantRuntime.send_now` says; None where messages of an activation can
    only leave together. ``watch`` records exchanges with other processes, in a run that is
    profiled. ``ahead()``, within an activation, gives the next one if nothing can change any more
    what that will read: a model for which another process works may have it begun already.
    """

    wait: Callable[[float], None]
    wake: Callable[[], None]
    node: Any = None
    send: Callable[[str, Any], None] | None = None
    watch: HopWatch | None = None
    ahead: Callable[[], Step | None] | None = None


@dataclass(frozen=True)
class ModelContext:
    """What is known about a participant before its model is made.

    ``parameters`` belong to the participant, ``scene`` is the part of the scenario that all
    models share (road, vehicles, fixed objects). ``shape`` is the run shape; relative files
    are found below ``base_directory``; ``period_ns`` is the participant's period, if it has one;
    ``output_types`` and ``input_types`` the message types of its ports, as far as they are known.
    ``start_ns`` is what ROS's clock shows when simulated time is 0 [ns].
    """

    name: str
    parameters: Mapping[str, Any]
    scene: Mapping[str, Any]
    run_seed: int
    base_directory: Path
    shape: str = "inproc"
    simulator: Mapping[str, Any] = field(default_factory=dict)
    #: The whole system, for models whose traits ask for it.
    graph: Graph | None = None
    watchdog_s: float = 30.0
    period_ns: int | None = None
    #: Whether it may choose the time of its next periodic activation.
    dynamic_step: bool = False
    #: Whether the clock decides when it enters.
    enters_freely: bool = False
    output_types: Mapping[str, str] = field(default_factory=dict)
    input_types: Mapping[str, str] = field(default_factory=dict)
    start_ns: int = 0

    @property
    def where(self) -> str:
        """The place of its parameters in the scenario, for messages."""
        return f"participants.{self.name}.parameters"
