# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Which participants share a process in shape ``ros``, and which of these one thread.

Those with the same key ``process`` share one. :mod:`~ros2_cosim.core.scenario.grouping` fills that
key in where the scenario does not say it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.scenario.declaration import ParticipantDeclaration, declare
from ros2_cosim.core.scenario.executables import is_own
from ros2_cosim.core.scenario.schema import OWN_PROCESS, Scenario


def hosted(scenario: Scenario) -> dict[str, list[str]]:
    """Process -> its participants, of those processes that the scenario names."""
    found: dict[str, list[str]] = {}
    for name, settings in scenario.participants.items():
        if settings.process not in (None, OWN_PROCESS):
            found.setdefault(str(settings.process), []).append(name)
    return found


def processes_of(scenario: Scenario) -> dict[str, list[str]]:
    """Process -> its participants, of all processes of participants in shape ``ros``."""
    groups = hosted(scenario)
    found: dict[str, list[str]] = {}
    for name, settings in scenario.participants.items():
        found.setdefault(str(settings.process) if settings.process in groups else name, []).append(
            name
        )
    return found


def needs_process(declaration: ParticipantDeclaration) -> str:
    """Why a participant cannot share a process; empty if it can."""
    if is_own(declaration.settings.node):
        return f"node '{declaration.settings.node}'"
    return declaration.needs.alone


def needs_thread(declaration: ParticipantDeclaration) -> str:
    """Why a participant cannot share a thread, and shares no process unless the scenario says so.

    Those of one thread wait for each other's activations, and end together: so each computes and
    returns, as a model promises that declares what this costs, and the run needs each from its
    beginning to its end. Empty if it can.
    """
    settings = declaration.settings
    reasons = (
        ("required: false", not settings.is_required),
        ("an own 'enter'", settings.enter is not None),
        ("an own 'leave'", settings.leave is not None),
        ("mode: autonomous", settings.mode == "autonomous"),
        ("'coupling' or 'overrun'", settings.coupling is not None or settings.overrun is not None),
        ("services or calls", bool(settings.services or settings.calls)),
        ("an input with 'estimate'", any(p.estimate is not None for p in settings.inputs.values())),
        ("a service", any(port.service for port in settings.inputs.values())),
        ("a call", any(port.call for port in settings.outputs.values())),
        ("a foreign program", declaration.traits.foreign),
        ("a model without a declared cost", declaration.traits.cost_ns is None),
    )
    return next((reason for reason, holds in reasons if holds), "") or needs_process(declaration)


def sharing_thread(scenario: Scenario, names: Iterable[str]) -> frozenset[str]:
    """Those of the participants of a process that share one thread; none, or at least two."""
    able = [name for name in names if not needs_thread(declare(scenario, name))]
    return frozenset(able if len(able) > 1 else ())


def check_hosting(declaration: ParticipantDeclaration) -> None:
    """Check whether a participant can run in the process that is named for it.

    :raises ConfigurationError: it needs its own process
    """
    settings = declaration.settings
    if settings.process in (None, OWN_PROCESS):
        return
    reason = needs_process(declaration)
    if reason:
        raise ConfigurationError(
            f"participants.{declaration.name}.process: found '{settings.process}' together with "
            f"{reason}; such a participant needs its own process. It is allowed for participants "
            "without their own node and without processes beside them"
        )
