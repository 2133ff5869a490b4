# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The example of figure 3 (JP 7130499 B2): five macro steps, the third one is late.

Times are in macro steps of 1 s. Sn is the slow part's data, Se the fast part's, Sg an estimate.
"""

from __future__ import annotations

from typing import Any

from support.coupling_signals import SECOND, ArrivesAt, Signal, coupled, step_at

from ros2_cosim.core.messages.records import Acceleration
from ros2_cosim.core.realtime.coupling import Data, MacroStepCoupling
from ros2_cosim.core.realtime.estimators_of_records import RecordEstimator, order_rule

#: The slow part's data by macro step: a curve on which a line is wrong.
SN = {0: 1.0, 1: 2.0, 2: 4.0, 3: 7.0, 4: 11.0, 5: 16.0}


def sn(number: int) -> Data:
    return {"x": Acceleration(SN[number], 0.0, 0.0)}


def value(data: Data) -> float:
    return float(data["x"].ax)


def figure_3(adjustment: int) -> tuple[list[tuple[Any, ...]], MacroStepCoupling]:
    """The sequence of the figure; returns what each step shows."""
    coupling = MacroStepCoupling(
        RecordEstimator([order_rule(1, adapt=0.5)], ["x"]), adjustment_ns=adjustment
    )
    seen: list[tuple[Any, ...]] = []

    def write(te: int) -> None:
        coupling.write(te * SECOND, (te + 1) * SECOND, f"Se{te}", {})
        seen.append(("write", f"Se{te}", buffer()))

    def complete(number: int, te: int) -> None:
        delivery = coupling.complete(te * SECOND, sn(number))
        kind = "late" if delivery.late else "in time"
        seen.append((f"Bn{number} {kind}", delivery.tv // SECOND, buffer()))

    def check(te: int) -> None:
        found = coupling.check(te * SECOND)
        kind = "Sg" if found.estimated else "Sn"
        seen.append((f"te={te}", f"{kind}{te}", found.tv // SECOND, value(found.data)))

    def buffer() -> list[Any]:
        return [sent.data for sent in coupling.pending]

    coupling.start(0, sn(0))
    write(0)
    complete(1, te=1)
    check(1)
    write(1)
    complete(2, te=2)
    check(2)
    write(2)
    check(3)  # Bn3 is not complete
    write(3)
    complete(3, te=4)  # during the fourth macro step ...
    complete(4, te=4)  # ... and Bn4 follows at once
    check(4)
    write(4)
    complete(5, te=5)
    check(5)
    write(5)
    return seen, coupling


def test_stamps_buffer_and_estimates_are_those_of_the_figure() -> None:
    seen, coupling = figure_3(adjustment=0)
    assert seen == [
        ("write", "Se0", ["Se0"]),
        ("Bn1 in time", 0, []),
        ("te=1", "Sn1", 0, 2.0),
        ("write", "Se1", ["Se1"]),
        ("Bn2 in time", 1, []),
        ("te=2", "Sn2", 1, 4.0),
        ("write", "Se2", ["Se2"]),
        # tv stays 1, the estimate is the line through Sn1 and Sn2, two sets wait.
        ("te=3", "Sg3", 1, 6.0),
        ("write", "Se3", ["Se2", "Se3"]),
        ("Bn3 late", 2, ["Se3"]),
        ("Bn4 in time", 3, []),
        ("te=4", "Sn4", 3, 11.0),
        ("write", "Se4", ["Se4"]),
        ("Bn5 in time", 4, []),
        ("te=5", "Sn5", 4, 16.0),
        ("write", "Se5", ["Se5"]),
    ]
    (case,) = coupling.cases
    assert (case.due, case.delivered) == (3 * SECOND, 4 * SECOND)
    assert case.errors["x", "ax"] == 7.0 - 6.0


def test_the_second_time_stamp_may_be_the_incremented_one() -> None:
    plain, _ = figure_3(adjustment=0)
    incremented, _ = figure_3(adjustment=SECOND)
    checks = [entry for entry in incremented if entry[0].startswith("te=")]
    # With the increment tv equals te whenever the slow part has caught up, and only then.
    assert [entry[2] for entry in checks] == [1, 2, 2, 4, 5]
    assert [entry[2] + 1 for entry in plain if entry[0].startswith("te=")] == [1, 2, 2, 4, 5]
    assert [entry[3] for entry in checks] == [2.0, 4.0, 6.0, 11.0, 16.0]


def test_the_estimator_learns_from_the_late_result() -> None:
    estimator = RecordEstimator([order_rule(1, adapt=0.5)], ["x"])
    coupling = MacroStepCoupling(estimator)
    coupling.start(0, sn(0))
    for number in (1, 2):
        coupling.write((number - 1) * SECOND, number * SECOND, None, {})
        coupling.complete(number * SECOND, sn(number))
    coupling.write(2 * SECOND, 3 * SECOND, None, {})
    assert value(coupling.check(3 * SECOND).data) == 6.0
    coupling.complete(4 * SECOND, sn(3))
    # Half of the error of 1 per second from now on: 7 + (7 - 4) + 0.5.
    assert estimator.corrections() == {("x", "ax"): (0.5, 0.5)}
    coupling.write(3 * SECOND, 4 * SECOND, None, {})
    assert value(coupling.check(4 * SECOND).data) == 10.5


def test_the_adapter_gives_the_sequence_of_the_figure() -> None:
    """The same through the ports of a participant whose slow part computes beside the others."""
    model = Signal(lambda t: SN[round(t)])
    # At te=3 nothing is complete; at te=4 two results are.
    participant, coupling = coupled(
        model, ArrivesAt({3 * SECOND: 0}), overlap=True, period_ns=SECOND
    )
    sent = []
    for te in range(5):
        outputs = participant.activate(step_at(te * SECOND, fast=100.0 + te))
        sent.append(outputs["out"].ax)
    assert sent == [1.0, 2.0, 4.0, 6.0, 11.0]
    assert coupling.buffered == (4 * SECOND,)
    # Bn(k+1) reaches time k+1 with the data Se(k).
    used = [(s.time // SECOND, s.latest["fast"].value.ax) for s in model.steps if s.latest["fast"]]
    assert used == [(0, 100.0), (1, 100.0), (2, 101.0), (3, 102.0), (4, 103.0)]
    assert participant.report().realtime["arrivals"] == [(3 * SECOND, 0)]
