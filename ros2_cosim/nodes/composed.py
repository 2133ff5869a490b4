# SPDX-License-Identifier: Apache-2.0
"""All participants of a scenario in one process (shape ``composed``)."""

import sys
import time
from functools import partial
from typing import NamedTuple

from ros2_cosim.interfaces.protocol import ParticipantReport
from ros2_cosim.interfaces.reporting import report_of
from ros2_cosim.kernel.errors import RunError
from ros2_cosim.kernel.graph import Graph
from ros2_cosim.kernel.lifecycle import Operation
from ros2_cosim.kernel.lifecycle_group import LifecycleGroup
from ros2_cosim.kernel.membership import check_required
from ros2_cosim.kernel.model import Model
from ros2_cosim.kernel.sequential import SequentialScheduler
from ros2_cosim.kernel.time import format_ns
from ros2_cosim.nodes._start import Started, realtime_of, run_node
from ros2_cosim.realtime.pacing import Pacer
from ros2_cosim.realtime.renewal import cannot_begin_anew, renewed
from ros2_cosim.realtime.run_control import RunControl
from ros2_cosim.realtime.wall_clock import MonotonicClock
from ros2_cosim.record.results import RunFacts, open_sink, write_results
from ros2_cosim.ros.composed_lifecycle import RosLifecycle
from ros2_cosim.ros.composed_node import ComposedNode
from ros2_cosim.ros.inputs import read_unsynchronised
from ros2_cosim.scenario.system import bare_model, with_adapters

_SECOND = 1_000_000_000
#: So long [s of wall time] it waits at a time while a handler completes asynchronously.
_IDLE_S = 0.02


class Kept(NamedTuple):
    """What is left of a run for the next one in this process."""

    control: RunControl
    behaviours: dict[str, Model]


def main() -> int:
    """Run the node."""
    return run_node("composed", partial(_compose, []), awaits_clock=False)


def _compose(kept: list[Kept], started: Started) -> bool:
    session, scenario, graph = started
    output = started.output()
    realtime = realtime_of(session)
    pacer = realtime.pacer or Pacer(None, MonotonicClock())
    control = RunControl(
        step_ns=scenario.clock_step,
        scale=pacer,
        paused=kept[-1].control.reset_paused
        if kept
        else session.parameter("paused", "false") == "true",
        can_reset=True,
    )
    created = time.perf_counter_ns()
    sink = open_sink(output, scenario, graph, session.parameter("bag", "true") == "true")
    if kept:
        control.required = kept[-1].control.required
    former = kept.pop().behaviours if kept else {}
    behaviours: dict[str, Model] = {}
    again = False
    repeat = int(session.parameter("repeat", "1"))
    lifecycles: RosLifecycle | None = None
    try:
        node = ComposedNode(
            session,
            started.wiring(),
            sink=sink,
            control=control,
            run_id=started.run_id(),
            timer=pacer.clock.now,
        )
        for name in graph.order:
            make = partial(bare_model, scenario, name, "composed")
            model = renewed(former[name], name, make) if former else make()
            behaviours[name] = with_adapters(scenario, name, model, realtime)
            obstacle = cannot_begin_anew(model)
            if obstacle and not control.no_reset:
                control.no_reset = f"participant '{name}': {obstacle}"
        if session.repetition + 1 < repeat and control.no_reset:
            raise RunError(f"--repeat: this run cannot begin anew: {control.no_reset}")
        scheduler = SequentialScheduler(
            graph,
            behaviours,
            stop_latency_ns=scenario.stop_latency,
            timer=time.perf_counter_ns,
            observer=node.observe,
        )
        for name, runtime in scheduler.runtimes.items():
            read_unsynchronised(session, graph, runtime, scenario.participants[name].unsynchronised)
        lifecycles = RosLifecycle(
            session,
            behaviours,
            scheduler,
            partial(node.wait, scheduler),
            started.run_id(),
            {name: Operation(p.mode) for name, p in scenario.participants.items()},
        )
        if control.required:
            lifecycles.require(control.required)
        control.on_require = partial(_require, graph, lifecycles)
        with lifecycles.during(partial(node.wait, scheduler, _IDLE_S), lambda: scheduler.active):
            began = time.perf_counter_ns()
            end = node.run(
                scheduler,
                scenario.duration,
                pacer,
                lambda at: _tell(at, control.resting),
                lambda: scheduler.suspended,
            )
            wall_ns = time.perf_counter_ns() - began
            reason = f"end of the run at {format_ns(end)}"
            if scheduler.stop_reason is not None and end < scenario.duration:
                reason = scheduler.stop_reason
            lifecycles.stop(reason)
            reports = {name: report_of(runtime) for name, runtime in scheduler.runtimes.items()}
            again = lifecycles.kept = control.reset or session.repetition + 1 < repeat
            if not again:
                lifecycles.shut_down("the run is complete")
    finally:
        sink.close()
        if lifecycles is not None:
            lifecycles.leave()
        else:
            LifecycleGroup({**former, **behaviours}).close()
    # What publishing and recording took is nobody's in particular.
    reports["composed"] = ParticipantReport(
        "composed", 0, "", 0, 0, node.transport_ns, 0, 0, 0, "{}"
    )
    facts = RunFacts(
        "composed",
        end,
        reason,
        wall_ns,
        began - created,
        realtime=realtime.facts(),
        required=control.required or None,
    )
    write_results(output, scenario, reports, facts)
    if again:
        kept.append(Kept(control, behaviours))
    return again


def _require(graph: Graph, lifecycles: LifecycleGroup, names: tuple[str, ...]) -> None:
    """Take from the system controller who is required: all are there, and stay."""
    check_required(graph, names)
    lifecycles.require(names)


_told = 0
_told_at = 0


def _tell(time_ns: int, paused: bool) -> None:
    """Read by whoever started the run: its progress bar, and a sign of life every second."""
    global _told, _told_at
    now = time.perf_counter_ns()
    if time_ns // _SECOND > _told or now - _told_at > _SECOND:
        _told, _told_at = time_ns // _SECOND, now
        print(f"time {time_ns / 1e9:.3f} s{' paused' * paused}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
