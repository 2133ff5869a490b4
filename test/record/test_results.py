# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What models tell of themselves reaches the summary."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ros2_cosim.core.kernel.model import Repeatability
from ros2_cosim.core.kernel.trace import ParticipantTrace, run_digest
from ros2_cosim.core.messages.protocol import ParticipantReport
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.realtime_summary import (
    CouplingSummary,
    HistogramSummary,
    InputSummary,
    RealtimeSummary,
)
from ros2_cosim.core.record.results import (
    NoBag,
    RunFacts,
    open_sink,
    write_incomplete,
    write_results,
)
from ros2_cosim.core.record.summary import (
    MadeChange,
    ParticipantSummary,
    RepeatabilityCause,
    Summary,
    Verdict,
    read_summary,
    repeatability,
)
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import Scenario, make_scenario
from ros2_cosim.core.scenario.system import build_graph

MODEL = """
from ros2_cosim.core.kernel.model import FullModel, Report


class Told(FullModel):
    def __init__(self, context, parameters):
        self.name = context.name

    def activate(self, step):
        return {}

    def report(self):
        outside = self.name == "outside"
        return Report(
            {"packets": 3, "collisions": 0, "dcp_data": {self.name: {"missing": "hold"}}},
            not_repeatable=(20_000_000, "it asks the weather") if outside else None,
        )
"""


def test_figures_and_causes_of_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "told_model.py").write_text(MODEL)
    monkeypatch.syspath_prepend(str(tmp_path))
    participant = {"model": "told_model:Told", "period": "10ms"}
    scenario = make_scenario(
        {
            "name": "told",
            "duration": "50ms",
            "participants": {"inside": participant, "outside": participant},
        },
        "test",
    )
    try:
        run_inproc(scenario, tmp_path, record=False)
    finally:
        sys.modules.pop("told_model", None)
    summary = read_summary(tmp_path)
    assert summary.figures == {"inside": {"packets": 3}, "outside": {"packets": 3}}
    assert summary.collisions == 0
    assert summary.dcp_data is not None
    assert {slave: found.missing for slave, found in summary.dcp_data.items()} == {
        "inside": "hold",
        "outside": "hold",
    }
    assert not summary.repeatable
    assert summary.not_repeatable_since_s == 0.02
    assert summary.not_repeatable_reason == "'outside': it asks the weather"


def test_counts_may_be_nought_and_are_never_below() -> None:
    found = RealtimeSummary(ticks=0, late_ticks=0, slipped_s=0.0)
    assert found == RealtimeSummary() and found.overruns == 0 and found.lines() == []
    assert HistogramSummary(number=0, mean_s=0.0, largest_s=0.0) == HistogramSummary()
    assert InputSummary(estimates=0, largest_error=0.0).estimates == 0
    nothing = {key: 0 for key in COUPLING}
    assert CouplingSummary(**nothing, load=0.0).load == 0.0
    for kind, key in (
        *((RealtimeSummary, key) for key in ("ticks", "late_ticks", "slipped_s", "rate")),
        *((HistogramSummary, key) for key in ("number", "mean_s", "largest_s")),
    ):
        with pytest.raises(ValueError, match=key):
            kind(**{key: -1})
    for key in (*COUPLING, "load"):
        with pytest.raises(ValueError, match=key):
            CouplingSummary(**{**nothing, key: -1})
    with pytest.raises(ValueError, match="rate"):
        RealtimeSummary(rate=0.0)


COUPLING = (
    "exchanges", "estimates", "late", "never_delivered", "mean_lateness_s", "longest_lateness_s"
)  # fmt: skip


def test_without_a_bag_messages_are_dropped(tmp_path: Path) -> None:
    sink = open_sink(tmp_path, None, None, False)  # type: ignore[arg-type]
    sink.write("/x", 0, 0, b"")
    sink.advance(1)
    sink.close()
    assert isinstance(sink, NoBag) and list(tmp_path.iterdir()) == []


#: Bits of what three participants and a helper process of the first report [ns].
REPORTS = {
    "a": ParticipantReport("a", 90, "1" * 64, 2 * 10**9, 10**9, 900_000_000, 1, 2, 3, ""),
    "b": ParticipantReport("b", 30, "2" * 64, 5 * 10**8, 0, 10**8, 10, 20, 30, ""),
    "a_slave": ParticipantReport("a_slave", 95, "", 2 * 10**8, 10**8, 3 * 10**8, 0, 0, 0, ""),
}
#: What they tell beside that.
TOLD: dict[str, dict[str, Any]] = {
    "a": {
        "figures": {
            "min_gap_m": 2.5,
            "packets": 3,
            "dcp_data": {
                name: {"missing": "hold", "since_s": since, "outputs": counts}
                for name, since, counts in (
                    ("y", 0.75, {"lost": 4}), ("x", 0.5, {"lost": 2}), ("z", 0.1, {}),
                )
            },
        },
        "verdicts": [{"name": "gap", "value": 2.5, "limit": 2.0, "passed": True}],
        "unsynchronised": {"sky": 250_000_000},
        "not_repeatable": [125_000_000, "it asks the weather"],
        "times": [0, 10_000_000],
    },
    "b": {
        "changes": [{"time_s": 0.2, "set": "b.gain", "to": 2, "by": "page"}],
        "not_repeatable": None,
    },
    "a_slave": {"beside": "a"},
}  # fmt: skip
COUNTED = ("received", "lost", "duplicated", "reordered", "refused", "held", "extrapolated")


def reports() -> dict[str, ParticipantReport]:
    told = json.loads(json.dumps(TOLD))
    for found in told["a"]["figures"]["dcp_data"].values():
        found["outputs"] = dict.fromkeys(COUNTED, 0) | found["outputs"]
    return {
        name: report._replace(details_json=json.dumps(told[name]))
        for name, report in REPORTS.items()
    }


def toy() -> Scenario:
    """Six participants, of which some enter late, at the end, or leave."""
    presence: dict[str, dict[str, str]] = {
        "a": {},
        "b": {"enter": "200ms", "leave": "500ms"},
        "at_the_end": {"enter": "1s"},
        "before": {"enter": "999ms"},
        "leaves": {"leave": "999ms"},
        "stays": {"leave": "1s"},
    }
    return make_scenario(
        {
            "name": "toy",
            "seed": 5,
            "duration": "1s",
            "participants": {
                name: {"model": "nowhere:Model", "period": "10ms", **more}
                for name, more in presence.items()
            },
        },
        "test",
    )


FACTS = RunFacts(
    shape="ros",
    end_ns=10**9,
    end_reason="the duration",
    wall_ns=4 * 10**9,
    startup_ns=5 * 10**8,
    scope=Repeatability.EVERYWHERE,
    not_repeatable=(None, "someone entered"),
    changes=({"time_s": 0.1, "set": "rate", "to": None, "by": "hand"},),
    processes={"one": ["a", "b"]},
    transport="lane",
    checkpoints=["checkpoint-1s.ckpt"],
    required=["a"],
    unheard=["b.in"],
)


def test_a_summary_is_what_reports_and_clock_tell(tmp_path: Path) -> None:
    summary = write_results(tmp_path, toy(), reports(), FACTS)
    assert read_summary(tmp_path) == summary
    assert (summary.steps, summary.sim_time_s, summary.wall_time_s) == (95, 1.0, 4.0)
    assert (summary.startup_time_s, summary.rtf, summary.seed) == (0.5, 0.25, 5)
    assert (summary.shape, summary.end_reason) == ("ros", "the duration")
    assert summary.causality.model_dump() == {"timing": 11, "order": 22, "loss": 33}
    assert (summary.min_gap_m, summary.figures) == (2.5, {"a": {"packets": 3}})
    assert summary.verdicts == (Verdict(name="gap", value=2.5, limit=2.0, passed=True),)
    # By hand first, then what models know of.
    assert summary.changes == (
        MadeChange(time_s=0.1, set="rate", to=None, by="hand"),
        MadeChange(time_s=0.2, set="b.gain", to=2, by="page"),
    )
    assert (summary.processes, summary.transport) == ({"one": ("a", "b")}, "lane")
    assert (summary.checkpoints, summary.required) == (("checkpoint-1s.ckpt",), ("a",))
    assert summary.unheard_inputs == ("b.in",)
    # The earliest cause first; one without a time last. What lost nothing is none.
    assert summary.not_repeatable_since_s == 0.125
    assert summary.not_repeatable_reason == (
        "'a': it asks the weather; 'a' read the unsynchronised input 'sky'; "
        "DCP data lost over UDP: 2 of x, 4 of y; someone entered"
    )
    assert summary.dcp_data is not None and set(summary.dcp_data) == {"x", "y", "z"}
    assert json.loads((tmp_path / "activations.json").read_text()) == {
        "a": [0, 10_000_000],
        "a_slave": [],
        "b": [],
    }


def test_participants_have_their_own_times_and_presence(tmp_path: Path) -> None:
    """What the helper process of ``a`` does itself is not a transport of ``a``."""
    summary = write_results(tmp_path, toy(), reports(), FACTS)
    found = {one.name: one for one in summary.participants}
    assert list(found) == sorted(found) and len(found) == 7
    assert found["a"] == ParticipantSummary(
        name="a", activations=90, compute_s=2.0, wait_s=1.0, transport_s=0.4, entered_s=0.0
    )
    assert found["a_slave"].entered_s is None and found["a_slave"].transport_s == 0.3
    times = {name: (one.entered_s, one.left_s) for name, one in found.items()}
    assert times["b"] == (0.2, 0.5)
    assert times["at_the_end"] == (None, None)
    assert times["before"] == (0.999, None)
    assert times["leaves"] == (0.0, 0.999)
    assert times["stays"] == (0.0, None)
    assert found["before"].activations == found["before"].compute_s == 0
    breakdown = summary.breakdown
    assert breakdown.compute_s == pytest.approx(2.7)
    assert breakdown.wait_s == pytest.approx(1.1)
    assert breakdown.transport_s == pytest.approx(0.8)
    # One that never took part has an empty trace, and a helper process none.
    nothing = ParticipantTrace().hexdigest()
    traces = {name: nothing for name in found} | {"a": "1" * 64, "b": "2" * 64}
    del traces["a_slave"]
    assert summary.trace_sha256 == run_digest(traces)


def test_a_helper_that_takes_longer_leaves_no_transport(tmp_path: Path) -> None:
    given = reports()
    given["a_slave"] = given["a_slave"]._replace(compute_ns=10**9)
    facts = RunFacts(**{**vars(FACTS), "presence": {"a": (0, 10**8), "a_slave": (None, None)}})
    summary = write_results(tmp_path, toy(), given, facts)
    found = {one.name: one for one in summary.participants}
    assert found["a"].transport_s == 0.0
    assert (found["a"].entered_s, found["a"].left_s) == (0.0, 0.1)
    # What the clock says of presence counts, and not what is declared.
    assert found.keys() == {"a", "a_slave", "b"} and found["b"].entered_s is None


def test_without_more_to_tell_a_summary_leaves_it_out(tmp_path: Path) -> None:
    given = {"a": REPORTS["a"]._replace(details_json="{}")}
    facts = RunFacts("inproc", 10**9, "done", 0, 0, Repeatability.SAME_MACHINE)
    summary = write_results(tmp_path, toy(), given, facts)
    assert summary.rtf == 0.0 and summary.repeatable
    assert summary.repeatable_scope == "same_machine"
    for key in ("processes", "transport", "checkpoints", "branch", "required", "changes",
                "dcp_data", "unheard_inputs", "realtime", "figures", "min_pet_s"):  # fmt: skip
        assert getattr(summary, key) is None, key
    late = RunFacts(**{**vars(facts), "not_repeatable": (5 * 10**8, "late")})
    cause = repeatability([RepeatabilityCause(0.5, "late")], Repeatability.EVERYWHERE)
    found = write_results(tmp_path, toy(), given, late)
    assert {key: getattr(found, key) for key in cause} == cause


def test_a_run_that_ends_early_says_why(tmp_path: Path) -> None:
    write_incomplete(tmp_path, toy(), "composed", "killed", 1_500_000_000)
    found = read_summary(tmp_path, complete=False)
    assert isinstance(found, Summary)
    assert (found.complete, found.repeatable, found.trace_sha256) == (False, False, "")
    assert (found.sim_time_s, found.wall_time_s, found.rtf, found.steps) == (1.5, 0.0, 0.0, 0)
    assert (found.end_reason, found.shape, found.seed) == ("killed", "composed", 5)
    assert found.not_repeatable_reason == "the run is not complete"


def test_topics_that_are_not_wanted_are_left_out_of_the_bag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those behind them stay, and messages of both are taken; what is sent once is latched."""
    (tmp_path / "sender_model.py").write_text(MODEL)
    monkeypatch.syspath_prepend(str(tmp_path))
    kind = "ros2_cosim/msg/ControlCommand"
    sent: dict[str, dict[str, Any]] = {
        name: {"type": kind, "topic": f"/{name}"} for name in ("one", "two", "three")
    }
    sent["three"]["schedule"] = "once"
    scenario = make_scenario(
        {
            "name": "toy",
            "seed": 5,
            "duration": "1s",
            "bag": {"exclude": ["/one"]},
            "participants": {
                "a": {"model": "sender_model:Told", "period": "10ms", "outputs": sent}
            },
        },
        "test",
    )
    sink = open_sink(tmp_path, scenario, build_graph(scenario), True)
    for number, topic in enumerate(("/one", "/two", "/three")):
        sink.write(topic, number, 0, b"")
    sink.close()
    assert [(m.topic, m.stamp) for m in read_bag(tmp_path / "bag")] == [("/two", 1), ("/three", 2)]
    about = yaml.safe_load((tmp_path / "bag" / "metadata.yaml").read_text())
    found = about["rosbag2_bagfile_information"]
    assert (found["custom_data"]["scenario"], found["custom_data"]["seed"]) == ("toy", "5")
    assert {
        topic["topic_metadata"]["name"]: topic["topic_metadata"]["offered_qos_profiles"][0][
            "durability"
        ]
        for topic in found["topics_with_message_count"]
    } == {"/two": "volatile", "/three": "transient_local"}
    sys.modules.pop("sender_model")
