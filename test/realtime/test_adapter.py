# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The adapter between a slow model and its ports: late results, corrections, events, records."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.behaviours import Plain
from support.coupling_signals import MS, Signal, adapted, loop_scenario, step_at
from support.virtual_clock import VirtualClock

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.layers import bare
from ros2_cosim.core.kernel.model import Report
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.kernel.sequential import SequentialScheduler
from ros2_cosim.core.kernel.trace import run_digest
from ros2_cosim.core.messages.records import Acceleration
from ros2_cosim.core.realtime.arrivals import read_arrivals, write_arrivals
from ros2_cosim.core.realtime.coupling import Delivery
from ros2_cosim.core.realtime.coupling_record import CouplingRecord
from ros2_cosim.core.realtime.estimated_input import EstimatedInput
from ros2_cosim.core.realtime.estimators_of_records import RecordEstimator, order_rule
from ros2_cosim.core.realtime.pacing import Pacer
from ros2_cosim.core.realtime.run_settings import AS_FAST_AS_POSSIBLE, RealtimeRun
from ros2_cosim.core.scenario.schema import make_scenario
from ros2_cosim.core.scenario.system import build_graph, build_model

ACCEL = "geometry_msgs/msg/AccelStamped"


def run(
    data: Mapping[str, Any], realtime: RealtimeRun = AS_FAST_AS_POSSIBLE
) -> tuple[dict[str, Any], str]:
    """Run a scenario in process; returns the behaviours and the trace."""
    scenario = make_scenario(data, "test")
    graph = build_graph(scenario)
    models = {name: build_model(scenario, name, "inproc", realtime) for name in graph.order}
    scheduler = SequentialScheduler(graph, models)
    scheduler.run(scenario.duration)
    digests = {name: runtime.trace.hexdigest() for name, runtime in scheduler.runtimes.items()}
    return models, run_digest(digests)


def late_at(*steps: int) -> RealtimeRun:
    """Results due at these steps come one step later."""
    return RealtimeRun(arrivals={"slow": {n * 10 * MS: 0 for n in steps}})


def test_without_lateness_the_trace_is_that_without_a_coupling() -> None:
    _, plain = run(loop_scenario())
    _, coupled = run(loop_scenario(estimate=[{"order": 2}]))
    assert coupled == plain


def test_the_loop_of_two_plants() -> None:
    """Two plants that act on each other, the second one late: it runs on, close to the truth."""
    truth, _ = run(loop_scenario())
    for order, allowed in ((0, 0.05), (1, 0.01)):
        found, _ = run(loop_scenario(estimate=[{"order": order}]), late_at(*range(20, 80, 7)))
        assert len(found["fast"].used) == len(truth["fast"].used) == 100
        assert abs(found["fast"].state - truth["fast"].state) < allowed
        assert found["slow"].report().realtime["coupling"]["late"] == 9


def test_the_same_arrivals_give_the_same_trace() -> None:
    data = loop_scenario(lateness={"probability": 0.3, "delay": {"uniform": ["5ms", "40ms"]}})
    models, trace = run(data)
    found = models["slow"].report().realtime
    assert found["coupling"]["late"] > 20 and not found["depends_on_wall_clock"]
    repeated = RealtimeRun(arrivals={"slow": dict(found["arrivals"])})
    models, again = run(data, repeated)
    assert again == trace
    assert models["slow"].report().realtime["arrivals"] == found["arrivals"]
    assert models["slow"].report().realtime["coupling"]["cases"] == found["coupling"]["cases"]


@pytest.mark.parametrize("overlap", [False, True])
def test_every_case_is_recorded(overlap: bool) -> None:
    data = loop_scenario(overlap=overlap, estimate=[{"order": 0}])
    # Due at 300 ms and 310 ms, there at 320 ms; due at 500 ms, there at 510 ms.
    counts = {"slow": {300 * MS: 0, 310 * MS: 0, 500 * MS: 0}}
    models, _ = run(data, RealtimeRun(arrivals=counts))
    found = models["slow"].report().realtime["coupling"]
    assert found["late"] == found["estimates"] == 3 and found["never_delivered"] == 0
    assert found["since_s"] == 0.3
    assert [case[:2] for case in found["cases"]] == [[0.3, 0.02], [0.31, 0.01], [0.5, 0.01]]
    assert all(case[2] > 0.0 and case[3] == "out.ax" for case in found["cases"])
    assert found["longest_lateness_s"] == 0.02
    assert found["mean_lateness_s"] == pytest.approx(0.04 / 3)
    ((port, field, mean, largest), *_) = found["errors"]
    assert (port, field) == ("out", "ax") and 0.0 < mean <= largest


def test_errors_are_listed_with_the_largest_first_then_by_name() -> None:
    record = CouplingRecord(RecordEstimator([], ["out"]))
    for te, errors in ((10, {"b": 2.0, "a": 1.0, "c": 3.0}), (20, {"b": 0.0, "a": -2.0})):
        found = {("out", field): error for field, error in errors.items()}
        record.delivered(te, Delivery(0, 0, {}, late=True, errors=found, buffered=()))
    assert record._worst() == [
        ["out", "c", 3.0, 3.0],
        ["out", "a", 1.5, 2.0],
        ["out", "b", 1.0, 2.0],
    ]


def test_late_results_are_sent_on_a_port_of_their_own() -> None:
    ports = {"out": "every", "late": "sparse", "wrong": "sparse"}
    settings = {
        "late": {"out": "late"},
        "correction": {"out": "wrong"},
        "estimate": [{"order": 0}],
    }
    run_again = RealtimeRun(arrivals={"slow": {20 * MS: 0, 30 * MS: 0}})
    participant = adapted(Signal(lambda t: 100 * t), settings, outputs=ports, run=run_again)
    sent = [dict(participant.activate(step_at(n * 10 * MS))) for n in range(7)]
    # One message at a time, oldest first: those due at 20 and 30 ms arrive at 40 ms.
    assert [s["out"].ax for s in sent] == pytest.approx([0, 1, 1, 1, 4, 5, 6])
    late = {n: s["late"].ax for n, s in enumerate(sent) if "late" in s}
    wrong = {n: s["wrong"].ax for n, s in enumerate(sent) if "wrong" in s}
    assert late == pytest.approx({4: 2.0, 5: 3.0})
    assert wrong == pytest.approx({4: 1.0, 5: 2.0})


def test_silent_ports_carry_nothing_where_the_data_are_late() -> None:
    run_again = RealtimeRun(arrivals={"slow": {20 * MS: 0}})
    participant = adapted(
        Signal(lambda t: t), {"silent": ["out"]}, outputs={"out": "sparse"}, run=run_again
    )
    sent = [dict(participant.activate(step_at(n * 10 * MS))) for n in range(4)]
    assert [sorted(s) for s in sent] == [["out"], ["out"], [], ["out"]]


class WithEvents(Plain):
    """Sends an event at 20 and 30 ms, and asks for the end at 30 ms."""

    stop_reason: str | None = None

    def activate(self, step: Step) -> Mapping[str, Any]:
        outputs = {"out": Acceleration(step.time / 1e9, 0.0, 0.0)}
        if step.time in (20 * MS, 30 * MS):
            outputs["event"] = Acceleration(float(step.time), 0.0, 0.0)
        if step.time == 30 * MS:
            self.stop_reason = "enough"
        return outputs

    def report(self) -> Report:
        return Report(figures={"answer": 42})


def test_events_are_neither_lost_nor_estimated() -> None:
    run_again = RealtimeRun(arrivals={"slow": {20 * MS: 0, 30 * MS: 0}})
    participant = adapted(
        WithEvents(), {}, outputs={"out": "every", "event": "sparse"}, run=run_again
    )
    assert participant.stop_reason is None
    events, stops = {}, []
    for n in range(7):
        sent = participant.activate(step_at(n * 10 * MS))
        if "event" in sent:
            events[n] = sent["event"].ax
        stops.append(participant.stop_reason)
    assert events == {4: 20.0 * MS, 5: 30.0 * MS}
    assert stops == [None] * 4 + ["enough"] * 3
    report = participant.report()
    assert report.figures == {"answer": 42} and report.verdicts is None


class Correcting(Plain):
    """A fast part that integrates what it is told, and corrects itself afterwards."""

    def __init__(self, context: Any, parameters: Any) -> None:
        self.state = 0.0
        self._correcting = parameters["correcting"]
        self._seen = -1

    def activate(self, step: Step) -> Mapping[str, Any]:
        sample, wrong = step.latest["slow"], step.latest["wrong"]
        assert sample is not None
        self.state += sample.value.ax
        if self._correcting and wrong is not None and wrong.seq > self._seen:
            self._seen = wrong.seq
            self.state += wrong.value.ax
        return {}


class Square(Signal):
    def __init__(self, context: Any, parameters: Any) -> None:
        super().__init__(lambda t: 8.0 * t * t)


def test_a_fast_part_that_takes_corrections_ends_in_the_true_state() -> None:
    def scenario(correcting: bool) -> dict[str, Any]:
        here = "realtime.test_adapter"
        return {
            "name": "corrected",
            "duration": "1s",
            "participants": {
                "slow": {
                    "model": f"{here}:Square",
                    "period": "10ms",
                    "outputs": {
                        "out": {"type": ACCEL, "topic": "/out"},
                        "wrong": {"type": ACCEL, "topic": "/wrong", "schedule": "sparse"},
                    },
                    "coupling": {"correction": {"out": "wrong"}, "estimate": [{"order": 0}]},
                },
                "fast": {
                    "model": f"{here}:Correcting",
                    "period": "10ms",
                    "parameters": {"correcting": correcting},
                    "inputs": {"slow": "slow.out", "wrong": "slow.wrong"},
                },
            },
        }

    truth = run(scenario(True))[0]["fast"].state
    late = late_at(*range(5, 90, 4))
    left, corrected = (run(scenario(c), late)[0]["fast"].state for c in (False, True))
    assert abs(left - truth) > 0.5
    assert corrected == pytest.approx(truth, abs=1e-9)


def with_estimator(place: str) -> dict[str, Any]:
    """The loop with the estimator with the slow part, the fast part, or between them."""
    rule = {"order": 1, "adapt": 0.3}
    if place == "slow":
        return loop_scenario(estimate=[rule])
    data = copy.deepcopy(loop_scenario(silent=["out"], late={"out": "late"}))
    participants = data["participants"]
    outputs = participants["slow"]["outputs"]
    outputs["out"]["schedule"] = "sparse"
    outputs["late"] = {"type": ACCEL, "topic": "/late", "schedule": "sparse"}
    estimate = {"rules": [rule], "late": "late"}
    if place == "fast":
        participants["fast"]["inputs"] = {
            "slow": {"from": "slow.out", "estimate": estimate},
            "late": "slow.late",
        }
    else:
        participants["fast"]["inputs"] = {"slow": "handler.out"}
        participants["handler"] = {
            "model": "error_handler",
            "period": "10ms",
            "inputs": {"out": {"from": "slow.out", "estimate": estimate}, "late": "slow.late"},
            "outputs": {"out": {"type": ACCEL, "topic": "/handled"}},
        }
    return data


def test_the_estimator_gives_the_same_wherever_it_stands() -> None:
    late = late_at(*range(10, 95, 3))
    used = {}
    for place in ("slow", "fast", "handler"):
        models, _ = run(with_estimator(place), late)
        fast = models["fast"]
        part = bare(fast)
        used[place] = part.used
        if place != "slow":
            owner = models["fast" if place == "fast" else "handler"]
            (found,) = owner.report().realtime["inputs"].values()
            assert found["estimates"] == 29 and found["largest_error"] > 0.0
    assert used["slow"] == used["fast"] == used["handler"]
    assert len(used["slow"]) == 100


@pytest.mark.parametrize(
    ("in_time", "found"),
    [
        ({0: 1.0}, [1.0, 1.0, 5.0]),
        # What was late is older than what came in time meanwhile.
        ({0: 1.0, 20: 7.0}, [1.0, 1.0, 7.0, 7.0]),
    ],
)
def test_a_late_sample_at_an_input_is_known_from_then_on(
    in_time: dict[int, float], found: list[float]
) -> None:
    """That of 10 ms comes at the last activation."""
    port = EstimatedInput("slow", [order_rule(0)], max_age_ns=10 * MS, late_port="late")
    last = 10 * (len(found) - 1)
    taken = []
    for ms in range(0, last + 10, 10):
        number = sum(came <= ms for came in in_time) - 1
        came = sorted(in_time)[number]
        latest = {"slow": Sample(came * MS, number, Acceleration(in_time[came], 0.0, 0.0))}
        if ms == last:
            latest["late"] = Sample(ms * MS, 0, Acceleration(5.0, 0.0, 0.0))
        sample = port.read(Step(ms * MS, {}, latest))
        assert sample is not None and sample[:2] == (ms * MS, number)
        taken.append(sample.value.ax)
    assert taken == found
    assert (port.estimates, port.largest_error) == (2, 4.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"period": None, "activation": "fast", "coupling": {}},
            "needs a period, and neither an activation",
        ),
        ({"dynamic_step": True, "coupling": {}}, "nor a dynamic step"),
        ({"period": None, "activation": "fast", "overrun": {}}, "overrun.deadline: missing"),
        ({"coupling": {"check": 0}}, "check: found 0"),
        ({"coupling": {"budget": "11ms"}}, "budget: found 11ms; allowed is at most the period"),
        ({"coupling": {"silent": ["out"]}}, "silent: found out; allowed are sparse"),
        ({"coupling": {"late": {"out": "out"}}}, "late: found out: out; allowed"),
        ({"coupling": {"wait": 1}}, "coupling.wait: unknown key"),
        ({"coupling": {"lateness": {"probability": 2, "delay": 1}}}, "probability"),
        ({"coupling": {"lateness": {"probability": 1, "delay": "x"}}}, "lateness.delay"),
        ({"coupling": {"stamp": "next", "overlap": True, "check": [2, 1]}}, "allowed is used"),
    ],
)
def test_wrong_settings_are_refused(change: dict[str, Any], message: str) -> None:
    data = loop_scenario()
    data["participants"]["slow"].update(change)
    if change.get("activation"):
        data["participants"]["slow"]["inputs"] = {"fast": "fast.state"}
    with pytest.raises(ConfigurationError, match=message):
        build_model(make_scenario(data, "test"), "slow", "inproc")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"format": "ros2_cosim arrivals 2", "participants": {}}',
        '{"format": "ros2_cosim arrivals 1", "participants": {"slow": [[1]]}}',
        '{"format": "ros2_cosim arrivals 1", "participants": {"slow": [[1, -1]]}}',
        '{"format": "ros2_cosim arrivals 1", "participants": {"slow": [[1.5, 1]]}}',
        '{"format": "ros2_cosim arrivals 1", "participants": 3}',
    ],
)
def test_what_is_no_arrival_record_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "arrivals.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="is not an arrival record"):
        read_arrivals(path)


def test_an_arrival_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = write_arrivals(tmp_path, {"slow": [(10, 0), (30, 2)], "other": []})
    assert read_arrivals(path) == {"slow": {10: 0, 30: 2}, "other": {}}
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_arrivals(tmp_path / "none.json")


class WithHandlers(Signal):
    """Has handlers, and notes how much it had computed when they were called."""

    def __init__(self) -> None:
        super().__init__(lambda t: t)
        self.computed_at_stop = -1
        self.computed_at_finish = -1

    def on_stop(self) -> None:
        self.computed_at_stop = len(self.steps)

    def finish(self) -> None:
        self.computed_at_finish = len(self.steps)


@pytest.mark.parametrize("paced", [False, True])
def test_handlers_are_called_when_everything_is_computed(paced: bool) -> None:
    model = WithHandlers()
    run_again = RealtimeRun(arrivals={"slow": {n * 10 * MS: 0 for n in range(2, 9)}})
    if paced:
        run_again = run_again._replace(pacer=Pacer(1.0, VirtualClock()))
    participant = adapted(model, {}, run=run_again)
    for n in range(9):
        participant.activate(step_at(n * 10 * MS))
    assert len(model.steps) == 2  # the others have not been asked for
    participant.on_stop()
    assert model.computed_at_stop == 9
    participant.finish()
    assert model.computed_at_finish == 9
