# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How a run has to end: with the trace of the reference, or stopped for a stated cause."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from simulation.disturbances import Disturbances
from simulation.simulated_run import Outcome, Repetition, SimulatedRun
from simulation.systems import Reference, System, system
from simulation.world import HangError

from ros2_cosim.ros.node.expected_readers import CLOCK

#: Systems that seeds choose from: few enough to keep what follows from them.
SYSTEMS = 150
#: After so many seeds what they leave has a size of some ten megabytes.
_UNCOLLECTED = 50


class Verdict(NamedTuple):
    """What became of one seed.

    :ivar seed: names the run; it repeats itself
    :ivar kind: of its disturbances
    :ivar stop: why it was stopped, None if it is complete
    :ivar wrong: what is against the rules; empty: nothing
    :ivar digest: of everything that happened
    """

    seed: int
    kind: str
    stop: str | None
    wrong: str
    digest: str
    events: int


def run_seeds(seeds: Iterable[int], kind: str | None = None) -> Iterator[Verdict]:
    """Run seeds one after the other.

    Each leaves some thousand objects in circles, which are few beside those that are always there:
    the collector looks at all of them more rarely than it would by itself.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        for number, seed in enumerate(seeds):
            yield run_seed(seed, kind)
            if number % _UNCOLLECTED == 0:
                gc.collect()
    finally:
        if was_enabled:
            gc.enable()


def run_seed(seed: int, kind: str | None = None, on_lane: bool | None = None) -> Verdict:
    """Run a seed and judge it.

    :param kind: of its disturbances; None: drawn
    :param on_lane: whether the run uses its lane; None: drawn
    """
    chosen = system(seed % SYSTEMS)
    disturbances = Disturbances(seed, chosen, kind, on_lane)
    run = SimulatedRun(chosen, disturbances)
    try:
        outcome = run.run()
    except HangError as error:
        wrong = f"hangs: {error}"
        return Verdict(seed, disturbances.kind, None, wrong, run.world.digest, run.world.events)
    wrong = "; ".join(outcome.violations[:3]) or judge(chosen, disturbances, outcome)
    return Verdict(seed, disturbances.kind, outcome.stop, wrong, outcome.digest, outcome.events)


def judge(chosen: System, disturbances: Disturbances, outcome: Outcome) -> str:
    """What is wrong with the end of a run; empty: nothing."""
    for number, left in enumerate(outcome.repetitions):
        if left.is_complete:
            fault = _compare(chosen, disturbances, left)
            if fault:
                return f"run {number}: {fault}"
    if outcome.stop is not None:
        return _judge_stop(chosen, disturbances, outcome.stop)
    if not outcome.repetitions or not outcome.repetitions[-1].is_complete:
        return "it is said to be complete, and there are no results"
    if len(outcome.repetitions) < disturbances.repeat:
        return f"{len(outcome.repetitions)} runs instead of {disturbances.repeat}"
    return ""


def _judge_stop(chosen: System, disturbances: Disturbances, stop: str) -> str:
    if disturbances.is_harmless:
        return f"nothing harmful happened, and it was stopped: {stop}"
    if not stop.strip():
        return "it was stopped without a reason"
    if "it printed nothing" in stop and "stopped by a signal" not in stop:
        return f"the reason does not name a cause: {stop}"
    if disturbances.kind == "frozen" and "still ran" in stop:
        return "" if disturbances.victims[0] in stop else f"it names the wrong process: {stop}"
    victim = disturbances.victims[0] if disturbances.kind == "kill" else ""
    lost = [chosen.scenario.participants[name] for name in chosen.inside(victim)]
    if lost and not any(participant.is_required for participant in lost):
        return f"the run can spare {victim}, and it was stopped: {stop}"
    if disturbances.kind == "kill" and disturbances.victims[0] not in stop:
        return f"{disturbances.victims[0]} was killed, and the reason is: {stop}"
    if disturbances.kind == "end" and not (disturbances.may_abort and "aborted" in stop):
        return f"a request ended it, and the reason is: {stop}"
    return ""


def _compare(chosen: System, disturbances: Disturbances, left: Repetition) -> str:
    clock = left.clock
    if disturbances.is_required and clock["required"] != sorted(disturbances.named):
        return f"{clock['required']} are required instead of {sorted(disturbances.named)}"
    presence: Mapping[str, Any] = clock["presence"]
    specs = chosen.graph().participants
    end = clock["end_ns"]
    entered = {}
    lost = []
    said = clock["not_repeatable"][1] if clock["not_repeatable"] else ""
    for name, spec in specs.items():
        came, went = presence[name]
        if spec.free_entry:
            # One that did not come in time is as one that would have come at the end.
            entered[name] = end if came is None else came
        declared = None if spec.leave_ns >= end else spec.leave_ns
        if (
            f"'{name}' was lost" in said
            or went != declared
            or (came is None and not spec.free_entry and spec.enter_ns < end)
        ):
            lost.append(name)
    if lost:
        if not clock["not_repeatable"]:
            return f"{lost} are lost, and the run is said to be repeatable"
        spared = specs.keys() - set(clock["required"] or specs)
        if (disturbances.is_harmless or disturbances.kind == "end") and any(
            name not in entered and name not in spared for name in lost
        ):
            return f"nothing harmful happened, and the run went on without {lost}"
        return _compare_until(chosen, left, clock["not_repeatable"][0], entered)
    reference = chosen.reference(None, entered)
    if disturbances.may_stop and end != reference.end:
        reference = chosen.reference(end, entered)
    if end != reference.end:
        return f"it ends at {end}, the reference at {reference.end}"
    asked = disturbances.may_stop and clock["end_reason"].startswith(("stop: ", "reset: "))
    if not asked and reference.reason is not None and clock["end_reason"] != reference.reason:
        return f"it ends for '{clock['end_reason']}', the reference for '{reference.reason}'"
    for name, digest in reference.digests.items():
        if name not in clock["absent"] and left.reports[name].trace_sha256 != digest:
            return f"wrong trace of {name}: {_first_difference(chosen, left, reference)}"
    return _compare_messages(chosen, left, reference)


def _compare_messages(chosen: System, left: Repetition, reference: Reference) -> str:
    for (name, port), expected in reference.messages.items():
        topic = chosen.scenario.outputs_of(name)[port].topic
        if left.messages.get(topic, []) != expected:
            found = left.messages.get(topic, [])
            return f"{topic}: {len(found)} messages are recorded, {len(expected)} were sent"
    return ""


def _first_difference(chosen: System, left: Repetition, reference: Reference) -> str:
    for (name, port), expected in reference.messages.items():
        found = left.messages.get(chosen.scenario.outputs_of(name)[port].topic, [])
        for place, (one, other) in enumerate(zip(found, expected)):  # noqa: B905
            if one != other:
                return f"message {place} of {name}.{port}: {one[:2]} instead of {other[:2]}"
        if len(found) != len(expected):
            return f"{len(found)} messages of {name}.{port} instead of {len(expected)}"
    return "inputs differ"


def _compare_until(chosen: System, left: Repetition, since: int, entered: Mapping[str, int]) -> str:
    """Before a participant was lost everything is as in the reference."""
    reference = chosen.reference(None, entered)
    for (name, port), expected in reference.messages.items():
        topic = chosen.scenario.outputs_of(name)[port].topic
        certain = [message for message in expected if message[0] < since]
        if left.messages.get(topic, [])[: len(certain)] != certain:
            return f"{topic}: before the loss at {since} it differs from the reference"
    return ""


__all__ = ["CLOCK", "SYSTEMS", "Verdict", "judge", "run_seed", "run_seeds"]
