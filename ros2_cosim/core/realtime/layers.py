# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The layers of a participant whose data may be late, as a scenario asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.random_streams import LatencyDistribution, RandomStream
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.realtime.arrivals import Arrivals, DrawnLateness, InTime, RecordedArrivals
from ros2_cosim.core.realtime.check_pattern import CheckPattern
from ros2_cosim.core.realtime.computation import Computation, InCaller, InThread, MacroStep
from ros2_cosim.core.realtime.coupled_participant import Below, Coupling, LatePorts
from ros2_cosim.core.realtime.coupling import MacroStepCoupling
from ros2_cosim.core.realtime.coupling_record import CouplingRecord
from ros2_cosim.core.realtime.deadline import Deadline
from ros2_cosim.core.realtime.estimated_input import EstimatedInput, EstimatedInputs
from ros2_cosim.core.realtime.estimators_of_records import RecordEstimator
from ros2_cosim.core.realtime.pacing import Pacer
from ros2_cosim.core.realtime.rules import make_rules
from ros2_cosim.core.realtime.run_settings import RealtimeRun
from ros2_cosim.core.realtime.settings import (
    CouplingSettings,
    InputEstimateSettings,
    OverrunSettings,
    RuleSettings,
)

#: Share of the period that a result may take where the scenario does not say.
_BUDGET = (4, 5)


class LateParticipant(NamedTuple):
    """What these layers need to know about a participant.

    ``outputs`` maps a port to its schedule and message type; ``period_ns`` is None where it has
    none, ``is_triggered`` tells whether messages activate it, ``dynamic_step`` whether its model
    chooses its steps.
    """

    name: str
    period_ns: int | None
    is_triggered: bool
    dynamic_step: bool
    outputs: Mapping[str, tuple[str, str]]
    inputs: Mapping[str, InputEstimateSettings | None]
    overrun: OverrunSettings | None
    coupling: CouplingSettings | None
    seed: int
    base_directory: Path
    watchdog_s: float


def effective_coupling(participant: LateParticipant) -> CouplingSettings | None:
    """The coupling of a participant; the policies ``skip`` and ``estimate`` imply one.

    :raises ConfigurationError: settings that do not fit the participant
    """
    where = f"participants.{participant.name}"
    overrun, coupling = participant.overrun, participant.coupling
    policy = overrun.policy if overrun else "record"
    if coupling is None:
        if overrun is None or policy not in ("skip", "estimate"):
            return None
        # Skip: the last output holds, and the late one is not looked at.
        rule = RuleSettings(order=0 if policy == "skip" else 1)
        coupling = CouplingSettings(budget=overrun.deadline, estimate=(rule,))
        where += ".overrun.policy"
    elif policy not in ("record", "estimate"):
        raise ConfigurationError(
            f"{where}.overrun.policy: found {policy}; a participant with a coupling is never "
            "waited for: allowed are record and estimate"
        )
    else:
        where += ".coupling"
    if participant.period_ns is None or participant.is_triggered or participant.dynamic_step:
        raise ConfigurationError(
            f"{where}: estimates take the place of periodic results; '{participant.name}' needs "
            "a period, and neither an activation function nor a dynamic step nor handled inputs"
        )
    _check_ports(participant, coupling, where)
    CheckPattern(_distances(coupling), f"{where}.check")
    budget = coupling.budget or 0
    if budget > participant.period_ns:
        raise ConfigurationError(
            f"{where}.budget: found {format_ns(budget)}; allowed is at most the period, "
            f"{format_ns(participant.period_ns)}"
        )
    return coupling


def deadline_layer(participant: LateParticipant, run: RealtimeRun) -> Deadline | None:
    """The deadline of a participant in a paced run; None: it has none.

    :raises ConfigurationError: settings that do not fit the participant
    """
    if participant.overrun is None and effective_coupling(participant) is None:
        return None
    overrun = participant.overrun or OverrunSettings()
    deadline = _deadline(participant, overrun)
    if run.pacer is None:
        return None
    return Deadline(participant.name, policy=overrun.policy, deadline_ns=deadline, pacer=run.pacer)


def _deadline(participant: LateParticipant, overrun: OverrunSettings) -> int:
    deadline = overrun.deadline or participant.period_ns
    if deadline is None:
        raise ConfigurationError(
            f"participants.{participant.name}.overrun.deadline: missing; '{participant.name}' has "
            "no period that could be its deadline"
        )
    return deadline


def coupling_layer(participant: LateParticipant, run: RealtimeRun) -> Coupling | None:
    """The coupling of a participant whose results may be late; None: it is waited for.

    :raises ConfigurationError: settings that do not fit the participant
    """
    settings = effective_coupling(participant)
    if settings is None:
        return None
    period = participant.period_ns
    assert period is not None
    where = f"participants.{participant.name}.coupling"
    pattern = CheckPattern(_distances(settings), f"{where}.check")
    continuous = [n for n, (schedule, _) in participant.outputs.items() if schedule == "every"]
    continuous += settings.silent
    rules = make_rules(
        settings.estimate, f"{where}.estimate", participant.name, participant.base_directory
    )
    estimator = RecordEstimator(rules, continuous)
    adjustment = 0
    if settings.stamp == "next" and settings.overlap:
        if len(set(pattern.cycle)) > 1:
            raise ConfigurationError(
                f"{where}.stamp: found next; the distance of the exchanges changes "
                f"({settings.check}), so that no fixed time can be added: allowed is used"
            )
        adjustment = pattern.cycle[0] * period
    part = Below()
    macro_step = MacroStep(part, continuous)
    computation, arrivals, computing = _timing(macro_step, participant, settings, run)
    return Coupling(
        part,
        computation,
        arrivals,
        MacroStepCoupling(
            estimator,
            adjustment_ns=adjustment,
            buffer_limit=settings.buffer,
            owner=participant.name,
        ),
        pattern=pattern,
        period_ns=period,
        overlap=settings.overlap,
        hold=settings.between == "hold",
        silent=settings.silent,
        ports=LatePorts(settings.late, settings.correction),
        record=CouplingRecord(estimator, computing=computing, keep_values=settings.keep_values),
        began=_start_of_real_time(run.pacer),
    )


def _start_of_real_time(pacer: Pacer | None) -> Callable[[int], None]:
    """Real time begins when the first data are there, which are waited for."""

    def began(te: int) -> None:
        if te == 0 and pacer is not None and not pacer.floating:
            pacer.start()

    return began


def _timing(
    macro_step: MacroStep,
    participant: LateParticipant,
    settings: CouplingSettings,
    run: RealtimeRun,
) -> tuple[Computation, Arrivals, Callable[[], int] | None]:
    """Where it is computed, the source of arrivals, and what measures the computing time.

    A record of arrivals comes before drawn lateness, and that before the wall clock.
    """
    period = participant.period_ns
    assert period is not None
    budget = settings.budget or period * _BUDGET[0] // _BUDGET[1]
    if settings.overlap:
        budget = 0  # the results have had the whole macro step: the exchange waits for nothing
    if run.arrivals is not None:
        recorded = RecordedArrivals(run.arrivals.get(participant.name, {}))
        return InCaller(macro_step), recorded, None
    if settings.lateness is not None:
        lateness = settings.lateness
        where = f"participants.{participant.name}.coupling.lateness.delay"
        drawn = DrawnLateness(
            RandomStream(participant.seed, participant.name, "lateness"),
            lateness.probability,
            LatencyDistribution.from_spec(lateness.delay, where),
            budget_ns=budget,
        )
        return InCaller(macro_step), drawn, lambda: drawn.computing_ns
    if run.pacer is None:
        return InCaller(macro_step), InTime(), None
    pacer = run.pacer
    thread = InThread(
        macro_step,
        deadline=lambda te: pacer.due(te) + pacer.wall(budget),
        timer=pacer.clock.now,
        name=participant.name,
        patience_s=participant.watchdog_s,
    )
    return thread, thread, lambda: pacer.simulated(thread.computing_ns)


def estimates_layer(participant: LateParticipant) -> EstimatedInputs | None:
    """The estimated inputs of a participant; None: it has none.

    :raises ConfigurationError: settings that do not fit the participant
    """
    made = []
    for port, settings in participant.inputs.items():
        if settings is None:
            continue
        where = f"participants.{participant.name}.inputs.{port}.estimate"
        age = settings.max_age or participant.period_ns
        if age is None:
            raise ConfigurationError(
                f"{where}.max_age: missing; '{participant.name}' has no period that could be it"
            )
        if settings.late is not None and settings.late not in participant.inputs:
            raise ConfigurationError(
                f"{where}.late: found {settings.late}; allowed is an input port of "
                f"'{participant.name}': {', '.join(participant.inputs)}"
            )
        rules = make_rules(
            settings.rules, f"{where}.rules", participant.name, participant.base_directory
        )
        made.append(EstimatedInput(port, rules, max_age_ns=age, late_port=settings.late))
    return EstimatedInputs(made) if made else None


def _check_ports(participant: LateParticipant, settings: CouplingSettings, where: str) -> None:
    sparse = {
        n: kind for n, (schedule, kind) in participant.outputs.items() if schedule == "sparse"
    }
    for port in settings.silent:
        if port not in sparse:
            raise ConfigurationError(
                f"{where}.silent: found {port}; allowed are sparse output ports: "
                f"{', '.join(sparse) or 'none'}"
            )
    for key, table in (("late", settings.late), ("correction", settings.correction)):
        for port, target in table.items():
            source = participant.outputs.get(port)
            if source is None or sparse.get(target) != source[1]:
                raise ConfigurationError(
                    f"{where}.{key}: found {port}: {target}; allowed is an output port and a "
                    "sparse output port of the same type"
                )


def _distances(settings: CouplingSettings) -> int | list[int]:
    return settings.check if isinstance(settings.check, int) else list(settings.check)
