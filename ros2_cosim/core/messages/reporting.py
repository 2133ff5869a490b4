# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What a participant says of itself at the end of a run."""

from __future__ import annotations

import json
from typing import Any

from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.documents.plain_data import json_value
from ros2_cosim.core.kernel.errors import CosimError, ParticipantError
from ros2_cosim.core.kernel.loading import line_of
from ros2_cosim.core.kernel.model import Report
from ros2_cosim.core.kernel.runtime import ParticipantRuntime
from ros2_cosim.core.messages.protocol import ForeignMessageError, ParticipantReport

#: The parts of a model's report that go to the recorder as they are.
_SAID = ("figures", "verdicts", "realtime", "not_repeatable", "changes")

#: How the clock begins to say that it has waited for too long.
NO_PROGRESS = "no progress"


def report_of(runtime: ParticipantRuntime) -> ParticipantReport:
    """Activations, trace hash, compute time, messages sent by each port; what the model says.

    :raises ParticipantError: the model's report failed, or is none
    """
    try:
        return _report_of(runtime, runtime.model.report())
    except CosimError:
        raise
    except Exception as error:
        raise ParticipantError(
            f"participant '{runtime.name}' failed in its report: {type(error).__name__}: "
            f"{one_line(error)}{line_of(error)}"
        ) from error


def _report_of(runtime: ParticipantRuntime, report: Report) -> ParticipantReport:
    details: dict[str, Any] = {
        "times": runtime.trace.times,
        "sent": {port.name: runtime.sent(port.name)[0] for port in runtime.spec.outputs},
    }
    said = report._asdict()
    details |= {k: said[k] for k in _SAID if said[k] is not None}
    read = {i.port: i.first_read for i in runtime.inboxes if i.first_read is not None}
    if read:
        details["unsynchronised"] = read
    # Part of an activation may be spent on another process, not on computing.
    transport_ns = report.transport_ns
    return ParticipantReport(
        participant=runtime.name,
        activations=runtime.trace.activations,
        trace_sha256=runtime.trace.hexdigest(),
        compute_ns=runtime.compute_ns - transport_ns,
        wait_ns=0,
        transport_ns=transport_ns,
        timing=0,
        order=0,
        loss=0,
        details_json=json.dumps(details, allow_nan=False, sort_keys=True),
    )


def details_of(report: ParticipantReport) -> dict[str, Any]:
    """What else a participant reports.

    :raises ForeignMessageError: that is not a JSON object
    """
    try:
        details = json_value(report.details_json)
    except ValueError as error:
        raise ForeignMessageError(f"report of '{report.participant}': not JSON: {error}") from None
    if not isinstance(details, dict):
        found = type(details).__name__
        raise ForeignMessageError(
            f"report of '{report.participant}': found {found}, not a JSON object"
        )
    return details
