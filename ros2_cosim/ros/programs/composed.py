# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""All participants of a scenario in one process (shape ``composed``)."""

import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ros2_cosim.core.kernel.errors import RunError
from ros2_cosim.core.kernel.graph import Graph
from ros2_cosim.core.kernel.lifecycle import Operation
from ros2_cosim.core.kernel.lifecycle_group import LifecycleGroup
from ros2_cosim.core.kernel.membership import check_required
from ros2_cosim.core.kernel.model import FullModel, Repeatability
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.messages.protocol import ParticipantReport
from ros2_cosim.core.messages.reporting import report_of
from ros2_cosim.core.process.processes import run_main
from ros2_cosim.core.realtime.pacing import Pacer
from ros2_cosim.core.realtime.renewal import cannot_begin_anew
from ros2_cosim.core.realtime.run_control import RunControl
from ros2_cosim.core.realtime.run_settings import RealtimeRun
from ros2_cosim.core.realtime.sequential_run import SequentialRun
from ros2_cosim.core.realtime.wall_clock import MonotonicClock
from ros2_cosim.core.record.foxglove_view import with_viewers
from ros2_cosim.core.record.results import RunFacts, open_sink, trace_of, write_results
from ros2_cosim.core.record.spans import SequenceChronicle, noted_scheduler
from ros2_cosim.core.scenario.changes_by_hand import ChangesByHand, write_changes
from ros2_cosim.core.scenario.changing import ChangesTaken
from ros2_cosim.core.scenario.schema import ChangeSettings, Scenario
from ros2_cosim.core.scenario.system import bare_model, layered_model
from ros2_cosim.ros.node.bridge_services import BridgeServices
from ros2_cosim.ros.node.composed_lifecycle import RosLifecycle
from ros2_cosim.ros.node.composed_node import CLOCK_STEP_NS, ComposedNode
from ros2_cosim.ros.node.entity_services import EntityServices, offered_world, place_of
from ros2_cosim.ros.node.inputs import read_unsynchronised
from ros2_cosim.ros.node.lifecycle_services import Resetting
from ros2_cosim.ros.programs._start import (
    Started,
    bridge_objects,
    profiled,
    realtime_of,
    run_node,
)

#: So long [s of wall time] it waits at a time while a handler completes asynchronously.
_IDLE_S = 0.02


class Kept(NamedTuple):
    """What is left of a run for the next one in this process."""

    control: RunControl
    models: dict[str, FullModel]


def main() -> int:
    """Run the node."""
    return run_node("composed", partial(_compose, []), awaits_clock=False)


def _compose(kept: list[Kept], started: Started) -> bool:
    """Run all participants; whether the run begins anew.

    :param kept: what is left of the run before, if there was one; then of this one
    """
    with profiled(started, list(started.graph.order), waits_in_session=False) as spans:
        return _run(kept, started, None if spans is None else SequenceChronicle(spans))


def _run(kept: list[Kept], started: Started, chronicle: SequenceChronicle | None) -> bool:
    """See :func:`_compose`; the chronicle takes what the time is spent on."""
    session, scenario, graph, starter, *_ = started
    output = started.output()
    realtime = realtime_of(session)
    pacer = realtime.pacer or Pacer(None, MonotonicClock())
    former = kept.pop() if kept else None
    control = _control(started, pacer, former)
    created = time.perf_counter_ns()
    sink = with_viewers(
        open_sink(output, scenario, graph, session.parameter("bag", True)),
        *(session.parameter("foxglove", ""), scenario, graph, partial(print, flush=True)),
    )
    models: dict[str, FullModel] = {}
    again = False
    repeats = session.repetition + 1 < session.parameter("repeat", 1)
    lifecycles: RosLifecycle | None = None
    try:
        world = offered_world(scenario, "composed")
        node = ComposedNode(
            session,
            started.wiring(),
            sink=sink,
            control=control,
            run_id=started.run_id(),
            timer=pacer.clock.now,
            chronicle=chronicle,
            world=world,
        )
        BridgeServices.offer(session.node, bridge_objects(scenario))
        _make_models(started, realtime, former, models, control)
        places = [place_of(world, name, model) for name, model in models.items()]
        place = next((found for found in places if found is not None), None)
        EntityServices.offer(session.node, place, node.ask, list(models))
        if repeats and control.no_reset:
            raise RunError(f"--repeat: this run cannot begin anew: {control.no_reset}")
        scheduler = noted_scheduler(
            chronicle,
            graph,
            models,
            stop_latency_ns=scenario.stop_latency,
            observer=node.observe,
        )
        started.watch(*scheduler.runtimes.values())
        for name, runtime in scheduler.runtimes.items():
            read_unsynchronised(session, graph, runtime, scenario.participants[name].unsynchronised)
        lifecycles = RosLifecycle(
            session,
            models,
            scheduler,
            partial(node.wait, scheduler),
            started.run_id(),
            {name: Operation(p.mode) for name, p in scenario.participants.items()},
            chronicle,
        )
        if control.required:
            lifecycles.require(control.required)
        control.on_require = partial(_require, graph, lifecycles)
        with lifecycles.during(partial(node.wait, scheduler, _IDLE_S), lambda: scheduler.active):
            began = time.perf_counter_ns()

            def progress(time_ns: int) -> None:
                starter.progress(time_ns, control.resting)

            run = SequentialRun(
                scheduler,
                control,
                pacer,
                duration_ns=scenario.duration,
                slice_ns=CLOCK_STEP_NS,
                serve=session.wait,
                on_waiting=progress,
                on_pacing=None if chronicle is None else chronicle.paces,
            )
            taken = {name: ChangesTaken(scenario, name) for name in models}
            changes = _by_hand(scenario, taken, control, run, scheduler, output)
            control.on_change, control.changes_made = changes.take, changes.told
            lifecycles.resetting = partial(_resetting, taken, changes)
            node.run(run, pacer, progress)
            wall_ns = time.perf_counter_ns() - began
            lifecycles.stop(run.end_reason)
            reports = {name: report_of(runtime) for name, runtime in scheduler.runtimes.items()}
            again = lifecycles.kept = control.reset or repeats
            if not again:
                lifecycles.shut_down("the run is complete")
        facts = RunFacts(
            "composed",
            run.end,
            run.end_reason,
            wall_ns,
            began - created,
            Repeatability(session.parameter("repeatable_scope", "no")),
            realtime=realtime.facts(),
            required=control.required or None,
            changes=control.changes_made(),
            processes={"composed": list(scenario.participants)},
        )
        sink.conclude(trace_of(scenario, reports, facts))
    finally:
        sink.close()
        if lifecycles is not None:
            lifecycles.leave()
        else:
            LifecycleGroup({**(former.models if former else {}), **models}).close()
    # What publishing and recording took belongs to no participant.
    reports["composed"] = ParticipantReport(
        "composed", 0, "", 0, 0, node.transport_ns, 0, 0, 0, "{}"
    )
    write_results(output, scenario, reports, facts)
    if again:
        kept.append(Kept(control, models))
    return again


def _control(started: Started, pacer: Pacer, former: Kept | None) -> RunControl:
    """Run control, as the run before has left it."""
    session = started.session
    paused = session.parameter("paused", False)
    control = RunControl(
        step_ns=started.scenario.clock_step,
        scale=pacer,
        paused=former.control.reset_paused if former else paused,
        can_reset=True,
    )
    if former:
        control.required = former.control.required
    return control


def _make_models(
    started: Started,
    realtime: RealtimeRun,
    former: Kept | None,
    models: dict[str, FullModel],
    control: RunControl,
) -> None:
    """Make the models of all participants, or take those of the run before.

    :param models: gets them, one after the other: they are closed if one fails
    :param control: learns of a participant that cannot begin anew
    """
    scenario = started.scenario
    for name in started.graph.order:
        make = partial(bare_model, scenario, name, "composed")
        before = former.models[name] if former else None
        models[name] = model = layered_model(scenario, name, make, realtime, before)
        obstacle = cannot_begin_anew(model)
        if obstacle and not control.no_reset:
            control.no_reset = f"participant '{name}': {obstacle}"


def _by_hand(
    scenario: Scenario,
    taken: Mapping[str, ChangesTaken],
    control: RunControl,
    run: SequentialRun,
    scheduler: SequentialScheduler,
    output: Path,
) -> ChangesByHand:
    """What takes changes by hand: they are handed to the models, and recorded."""

    def make(changes: Sequence[ChangeSettings]) -> None:
        for name, runtime in scheduler.runtimes.items():
            taken[name].take(runtime, changes[-1:])
        write_changes(output, changes)

    return ChangesByHand(scenario, lambda: max(control.granted, run.begun), make)


def _resetting(taken: Mapping[str, ChangesTaken], changes: ChangesByHand, name: str) -> Resetting:
    """What resets a participant by hand: it is recorded as a change."""

    def reset(runtime: ParticipantRuntime) -> int:
        at = taken[name].reset(runtime)
        changes.note_resets(name, [at])
        return at

    return Resetting(taken[name].check_reset, reset)


def _require(graph: Graph, lifecycles: LifecycleGroup, names: tuple[str, ...]) -> None:
    """Take from the system controller what is required: all participants are there, and stay."""
    check_required(graph, names)
    lifecycles.require(names)


if __name__ == "__main__":
    run_main(main)
