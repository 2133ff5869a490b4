# SPDX-License-Identifier: Apache-2.0
"""What a participant's behaviour sees of the kernel: samples, one activation, outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ros2_cosim.kernel.graph import Graph
from ros2_cosim.kernel.sample import Sample as Sample


class Step(NamedTuple):
    """One activation of a participant.

    ``time`` is the activation time in integer nanoseconds. ``samples`` holds, for each
    data-triggering input port, the samples delivered by this activation (oldest first,
    possibly none). ``latest`` holds, for every input port, the newest sample visible at
    ``time``, or None if there has been none yet.
    """

    time: int
    samples: Mapping[str, tuple[Sample, ...]]
    latest: Mapping[str, Sample | None]


class Host(NamedTuple):
    """What the process that a participant runs in offers to its behaviour.

    ``wait(seconds)`` handles what arrives, for at most so long; ``wake()`` ends such a wait and
    may be called by any thread; ``node`` is the participant's rclpy node, None without ROS.
    """

    wait: Callable[[float], None]
    wake: Callable[[], None]
    node: Any = None


class Behaviour(Protocol):
    """The model inside a participant: knows neither clock nor transport.

    A behaviour ends the run by setting its attribute ``stop_reason`` (None at first) to a
    text during an activation: the run then ends a fixed, declared latency later. One that is
    declared to have a ``dynamic_step`` sets its attribute ``next_time`` (None: a period later)
    to the time [ns] of its next periodic activation. Optional methods: ``attach(host)`` is
    called once before everything else, the handlers of ``kernel/participant_lifecycle.py`` on
    the way from start to end, ``finish()`` after the last activation, ``figures()`` and
    ``verdicts()`` give what the summary says about the run, ``not_repeatable()`` since when [ns]
    and why another run may differ (or None), ``close()`` releases what the
    behaviour holds, whatever happened; ``reset()`` makes it forget all, for a run that begins anew
    in the same process. ``transport_ns`` may count the wall time of activations
    that was spent on another process.
    """

    def activate(self, step: Step) -> Mapping[str, Any]:
        """Compute one activation.

        :param step: activation time and inputs
        :returns: output port name -> record; a port left out (or None) stays silent
        """


@dataclass(frozen=True)
class ModelContext:
    """What a model factory gets to build the behaviour of one participant.

    ``parameters`` belong to the participant, ``scene`` is the part of the scenario that all
    models share (road, vehicles, fixed objects). ``shape`` is the run shape; relative files
    are found below ``base_directory``; ``period_ns`` is the participant's period, if it has one,
    ``output_types`` the message type of each of its output ports.
    """

    name: str
    parameters: Mapping[str, Any]
    scene: Mapping[str, Any]
    run_seed: int
    base_directory: Path
    shape: str = "inproc"
    simulator: Mapping[str, Any] = field(default_factory=dict)
    #: The whole system, for models that stand between its ports and something else.
    graph: Graph | None = None
    watchdog_s: float = 30.0
    period_ns: int | None = None
    output_types: Mapping[str, str] = field(default_factory=dict)
