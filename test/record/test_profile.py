# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The account of a run: participants, hops, the critical path, from spans that are made up."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.record.profile import Profile, path_rows, read_profile, write_profile
from ros2_cosim.core.record.spans import MOST_ROWS, REPORT, SEND, Activations, Spans, read_spans

US = 1_000
SUMMARY: dict[str, Any] = {
    "scenario": "made",
    "shape": "ros",
    "seed": 1,
    "steps": 2,
    "sim_time_s": 0.02,
    "wall_time_s": 0.0002,
    "rtf": 100.0,
    "trace_sha256": "0" * 64,
    "repeatable": True,
    "causality": {"timing": 0, "order": 0, "loss": 0},
}


class Clock:
    """Is told the time [us]."""

    def __init__(self) -> None:
        self.us = 0

    def __call__(self) -> int:
        return self.us * US


def activation(clock: Clock, spans: Spans, name: str, *times: int) -> None:
    """Begin, compute from, compute to, encoded, sent, reported."""
    own = Activations(spans, name)
    begin, called, returned, encoded, sent, reported = times
    clock.us = called
    own.timer()
    clock.us = returned
    own.timer()
    clock.us = encoded
    mark = own.activated(begin * US, 10)
    clock.us = sent
    mark = own.did(SEND, mark, 10)
    clock.us = reported
    own.did(REPORT, mark)


def two_processes(run: Path) -> None:
    """``a`` computes for 20 us and wakes ``b``, which computes for 50 us; 5 us are not named."""
    directory = run / "profile"
    clock = Clock()
    first = Spans("first", ["a"], clock)
    activation(clock, first, "a", 0, 1, 21, 24, 28, 30)
    first.sent(32 * US, "/b")
    first.spun(30 * US, 34 * US, 100 * US, 101 * US)
    first.save(directory)
    second = Spans("second", ["b"], clock)
    second.spun(0, 1 * US, 40 * US, 42 * US)
    activation(clock, second, "b", 42, 43, 93, 95, 96, 97)
    # After a pause of 5 us that no span names.
    second.spun(102 * US, 103 * US, 200 * US, 201 * US)
    second.save(directory)
    (run / "summary.json").write_text(json.dumps(SUMMARY), encoding="utf-8")


def test_the_critical_path_goes_through_the_message_that_ended_a_wait(tmp_path: Path) -> None:
    two_processes(tmp_path)
    data = read_profile(tmp_path).as_data()
    path = {(p["process"], p["participant"], p["kind"]): p["us_per_step"] for p in
            data["critical_path"]}  # fmt: skip
    assert path == {
        ("second", "b", "report"): 0.5,
        ("second", "b", "send"): 0.5,
        ("second", "b", "serialise"): 1.0,
        ("second", "b", "compute"): 25.0,
        ("second", "b", "read"): 0.5,
        ("second", "", "receive"): 1.0,
        ("second", "first to second", "wake-up"): 4.0,
        ("first", "", "send"): 1.0,
        ("first", "a", "report"): 1.0,
        ("first", "a", "send"): 2.0,
        ("first", "a", "serialise"): 1.5,
        ("first", "a", "compute"): 10.0,
        ("first", "a", "read"): 0.5,
    }
    assert sum(p["share"] for p in data["critical_path"]) == pytest.approx(1.0, abs=0.001)
    assert data["hops"] == [
        {"from": "first", "to": "second", "count": 1, "wait_us": 31.0, "wake_up_us": 8.0}
    ]
    assert data["participants"]["b"] == {
        "read": 1.0,
        "compute": 50.0,
        "serialise": 2.0,
        "send": 1.0,
        "report": 1.0,
        "activations": 1,
    }


def test_what_a_model_waited_for_another_process_is_told_apart(tmp_path: Path) -> None:
    """All of it: the exchange with a DCP slave, and what the slave and its simulator take."""
    two_processes(tmp_path)
    entry = {"activations": 1, "wait_s": 0.0}
    participants = [
        {"name": "a", "compute_s": 20e-6, "transport_s": 0.0, **entry},
        {"name": "b", "compute_s": 8e-6, "transport_s": 12e-6, **entry},
        {"name": "b_slave", "compute_s": 10e-6, "transport_s": 20e-6, **entry},
    ]
    summary = json.dumps({**SUMMARY, "participants": participants})
    (tmp_path / "summary.json").write_text(summary, encoding="utf-8")
    found = read_profile(tmp_path).as_data()["participants"]
    assert found["b"]["compute"] == 8.0 and found["b"]["other process"] == 42.0
    assert found["a"]["compute"] == 20.0 and "other process" not in found["a"]


def test_the_critical_path_goes_through_the_clock(tmp_path: Path) -> None:
    """``a`` waits for a horizon, which the clock sends when ``b`` has told it how far it is."""
    directory = tmp_path / "profile"
    us = Clock()
    own = Spans("second", ["b"], us)
    activation(us, own, "b", 0, 1, 51, 53, 54, 55)
    own.sent(56 * US, "/cosim_clock")
    own.spun(55 * US, 57 * US, 200 * US, 201 * US)
    own.save(directory)
    clock = Spans("clock", [], us, works=True)
    clock.spun(0, 1 * US, 60 * US, 62 * US)
    clock.sent(65 * US, "/a")
    clock.spun(64 * US, 66 * US, 200 * US, 201 * US)
    clock.save(directory)
    waiting = Spans("first", ["a"], us)
    waiting.spun(0, 1 * US, 70 * US, 71 * US)
    activation(us, waiting, "a", 71, 72, 92, 93, 94, 95)
    waiting.save(directory)
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY), encoding="utf-8")
    data = read_profile(tmp_path).as_data()
    path = {(p["process"], p["participant"], p["kind"]): p["us_per_step"] for p in
            data["critical_path"]}  # fmt: skip
    assert path["clock", "second to clock", "wake-up"] == 2.0
    assert path["clock", "", "work"] == 1.0
    assert path["second", "b", "compute"] == 25.0
    assert ("clock", "", "wait") not in path
    assert {(hop["from"], hop["to"]) for hop in data["hops"]} == {
        ("second", "clock"),
        ("clock", "first"),
    }


def test_what_no_span_names_is_told(tmp_path: Path) -> None:
    two_processes(tmp_path)
    clock = Clock()
    late = Spans("third", ["c"], clock)
    activation(clock, late, "c", 97, 98, 99, 100, 101, 197)
    late.save(tmp_path / "profile")
    data = read_profile(tmp_path).as_data()
    # Of 197 us ``third`` names the last 100.
    assert data["explained_share"] == pytest.approx(100 / 197, abs=1e-4)
    assert data["processes"]["third"]["loop"] == pytest.approx(97 / 197, abs=1e-4)


def test_to_find_out_whose_turn_it_is_is_named(tmp_path: Path) -> None:
    two_processes(tmp_path)
    us = Clock()
    shared = Spans("third", ["c", "d"], us)
    us.us = 50
    shared.turn("c")  # nothing has been noted before: no gap is known
    activation(us, shared, "c", 0, 1, 2, 3, 4, 90)
    us.us = 96
    shared.turn("d")
    activation(us, shared, "d", 96, 97, 98, 99, 100, 190)
    us.us = 197
    shared.turn("")
    shared.save(tmp_path / "profile")
    data = read_profile(tmp_path).as_data()
    assert data["processes"]["third"]["turn"] == pytest.approx(6 / 190, abs=1e-4)
    assert data["processes"]["third"]["loop"] == 0.0
    assert data["participants"]["d"]["turn"] == 6.0


def test_the_command_prints_and_writes_it(tmp_path: Path) -> None:
    two_processes(tmp_path)
    trace = tmp_path / "trace.json"
    run: Callable[..., Any] = CliRunner().invoke
    result = run(app, ["profile", str(tmp_path), "--json", "--perfetto", str(trace)])
    assert (result.exit_code, result.stderr) == (0, "")
    data = json.loads(result.stdout)
    assert data == json.loads((tmp_path / "profile.json").read_text())
    assert data == write_profile(tmp_path)
    events = json.loads(trace.read_text())["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    assert {e["args"]["name"] for e in events if e["ph"] == "M"} == {
        "first",
        "second",
        "critical path",
    }
    (compute,) = [e for e in spans if e["name"] == "b: compute" and e["pid"] == 2]
    assert (compute["ts"], compute["dur"]) == (43.0, 50.0)
    text = run(app, ["profile", str(tmp_path)]).stdout
    assert text.startswith("made: 0.000 s for 2 steps, 48.5 us each; 100.0 % named")
    assert "25.00  51.5 %  second: b compute" in text
    rows = path_rows(tmp_path)
    assert (rows[0].participant, rows[0].kind, rows[0].us_per_step) == ("b", "compute", 25.0)


def test_a_run_without_a_profile_is_told_how_to_get_one(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="was not profiled; run it with --profile"):
        read_profile(tmp_path)
    assert path_rows(tmp_path) == []


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    two_processes(tmp_path)
    path = tmp_path / "profile" / "first.spans"
    good = path.read_bytes()
    cut = good[:-3], good[:-40], good[: len(good) // 2]
    for bad in (
        b"",
        b"{}",
        b'{"names": []}\n',
        good.replace(b'"a"', b"{{{"),
        good[:80] + good,
        *cut,
    ):
        path.write_bytes(bad)
        with pytest.raises(ConfigurationError, match="first.spans: no spans of a process"):
            read_profile(tmp_path)
    for at in range(good.index(b"\n") + 1, len(good)):
        # No checksum guards the numbers: what is told may be wrong, but nothing else is raised.
        path.write_bytes(good[:at] + bytes([good[at] ^ 0x41]) + good[at + 1 :])
        with suppress(ConfigurationError):
            read_profile(tmp_path).as_data()


def test_a_file_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_ROWS * 40 <= 40_000_000
    monkeypatch.setattr("ros2_cosim.core.record.spans.MOST_ROWS", 3)
    spans = Spans("p", ["a"], Clock())
    for number in range(5):
        spans.add(REPORT, "a", number, number + 1)
    spans.save(tmp_path)
    assert len(read_spans(tmp_path / "p.spans").spans) == 3
    with pytest.raises(ConfigurationError, match="no activation"):
        Profile(None, [read_spans(tmp_path / "p.spans")])  # type: ignore[arg-type]


def test_of_a_run_too_long_for_its_spans_the_beginning_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "summary.json").write_text(json.dumps({**SUMMARY, "steps": 9}), encoding="utf-8")
    clock = Clock()
    spans = Spans("first", ["a"], clock)
    for begin in range(0, 90, 10):
        activation(clock, spans, "a", *(begin + us for us in (0, 1, 7, 8, 9, 10)))
    spans.save(tmp_path / "profile")
    data = read_profile(tmp_path).as_data()
    assert (data["steps"], data["wall_s"]) == (9, pytest.approx(90e-6))
    per_step = {part["kind"]: part["us_per_step"] for part in data["critical_path"]}
    assert per_step["compute"] == 6.0
    monkeypatch.setattr("ros2_cosim.core.record.spans.MOST_ROWS", 20)
    short = Spans("first", ["a"], clock)
    for begin in range(0, 90, 10):
        activation(clock, short, "a", *(begin + us for us in (0, 1, 7, 8, 9, 10)))
    short.save(tmp_path / "profile")
    data = read_profile(tmp_path).as_data()
    assert (data["steps"], data["wall_s"]) == (4, pytest.approx(40e-6))
    assert {p["kind"]: p["us_per_step"] for p in data["critical_path"]} == per_step


def test_times_are_means_over_activations_and_hops(tmp_path: Path) -> None:
    """``b`` waits for ``a`` 31 and 43 us, and awakes 8 and 5 us after what was sent."""
    clock = Clock()
    first = Spans("first", ["a"], clock)
    for begin, computed in ((0, 7), (61, 7), (101, 6)):
        activation(
            clock, first, "a", begin, *(begin + 1 + after for after in (0, computed, 8, 9, 10))
        )
    first.sent(32 * US, "/b")
    first.sent(92 * US, "/b")
    first.save(tmp_path / "profile")
    second = Spans("second", ["b"], clock)
    second.spun(0, 1 * US, 40 * US, 42 * US)
    activation(clock, second, "b", 42, 43, 45, 46, 47, 48)
    second.spun(48 * US, 49 * US, 97 * US, 98 * US)
    activation(clock, second, "b", 98, 99, 101, 102, 103, 104)
    second.save(tmp_path / "profile")
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY), encoding="utf-8")
    data = read_profile(tmp_path).as_data()
    assert data["hops"] == [
        {"from": "first", "to": "second", "count": 2, "wait_us": 37.0, "wake_up_us": 6.5}
    ]
    own = data["participants"]["a"]
    # 20 us in three activations, and 1, 1 and 2 us until the message was encoded.
    assert (own["compute"], own["serialise"], own["activations"]) == (6.667, 1.333, 3)


def test_a_critical_path_has_a_largest_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_processes(tmp_path)
    whole = read_profile(tmp_path).path
    assert len(whole) == 13
    for most, pieces in ((3, 3), (13, 13), (14, 13)):
        monkeypatch.setattr("ros2_cosim.core.record.profile._MOST_PIECES", most)
        assert read_profile(tmp_path).path == whole[:pieces]


def test_pictures_count_from_the_first_activation(tmp_path: Path) -> None:
    """What was before it is not shown; the critical path is a row behind those of processes."""
    clock = Clock()
    spans = Spans("first", ["a"], clock)
    spans.spun(5 * US, 8 * US, 20 * US, 25 * US)
    activation(clock, spans, "a", 100, 101, 121, 124, 128, 130)
    spans.save(tmp_path / "profile")
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY), encoding="utf-8")
    found = read_profile(tmp_path).perfetto()
    assert found["displayTimeUnit"] == "ns"
    events = found["traceEvents"]
    names = [(e["pid"], e["tid"], e["name"], e["args"]["name"]) for e in events if e["ph"] == "M"]
    assert names == [
        (1, 1, "process_name", "first"),
        (1, 1, "thread_name", "first"),
        (2, 1, "process_name", "critical path"),
        (2, 1, "thread_name", "critical path"),
    ]
    rows = {
        pid: [(e["name"], e["cat"], e["ts"], e["dur"], e["tid"]) for e in events
              if e["ph"] == "X" and e["pid"] == pid]
        for pid in (1, 2)
    }  # fmt: skip
    assert (
        rows[1]
        == rows[2]
        == [
            ("a: read", "read", 0.0, 1.0, 1),
            ("a: compute", "compute", 1.0, 20.0, 1),
            ("a: serialise", "serialise", 21.0, 3.0, 1),
            ("a: send", "send", 24.0, 4.0, 1),
            ("a: report", "report", 28.0, 2.0, 1),
        ]
    )
    (compute,) = [e for e in events if e["name"] == "a: compute" and e["pid"] == 1]
    assert compute["args"] == {"simulated_s": 1e-8}


def test_a_written_profile_has_a_largest_size(tmp_path: Path) -> None:
    """16 MiB; and one with a part that is none has no rows."""
    part = {"process": "p", "participant": "a", "kind": "compute", "us_per_step": 2, "share": 0.25}
    text = json.dumps({"critical_path": [part]})
    path = tmp_path / "profile.json"
    path.write_text(text.ljust(16 << 20))
    assert path_rows(tmp_path) == [("p", "a", "compute", 2.0, 25.0)]
    path.write_text(text.ljust((16 << 20) + 1))
    assert path_rows(tmp_path) == []
    for bad in ("", "[]", '{"critical_path": [{}]}', text.replace("2", '"x"')):
        path.write_text(bad)
        assert path_rows(tmp_path) == []
