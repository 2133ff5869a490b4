# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim diff`` on runs: what sent the difference, what it had read, and the answers."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import Result
from lxml import html
from runs.cosim_process import PLATOON
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.layers import Layer
from ros2_cosim.core.kernel.participant import Sample, Step
from ros2_cosim.core.record.bag import BagWriter
from ros2_cosim.core.record.bag_metadata import BagTopic, mcap_path
from ros2_cosim.core.record.bag_reader import read_bag, topic_types
from ros2_cosim.core.record.causes import RunRecording, find_recording, trace_causes
from ros2_cosim.core.record.comparison import Comparison, Difference
from ros2_cosim.core.record.run_comparison import compare_recordings, show_value
from ros2_cosim.core.run import inproc
from ros2_cosim.core.run.bringup import bring_up
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.scenario.grouping import grouped
from ros2_cosim.core.scenario.held_ports import resolve_ports
from ros2_cosim.core.scenario.schema import load_scenario

MS = 1_000_000
CONTROL = "ros2_cosim/msg/ControlCommand"


class Sent(NamedTuple):
    """A message, and what the activation that sent it had read: input -> stamp."""

    stamp: int
    number: int
    participant: str
    port: str
    topic: str
    activation: int
    read: dict[str, int]


class DrivenRun(NamedTuple):
    directory: Path
    sent: list[Sent]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[DrivenRun]:
    """Two seconds of the platoon, with two seeds."""
    base = tmp_path_factory.mktemp("runs")
    return [driven(base / f"seed{seed}", seed) for seed in (1, 2)]


def driven(directory: Path, seed: int) -> DrivenRun:
    """Run the platoon, and look at what its models are given and what they send."""
    request = RunRequest(PLATOON, shape="inproc", out=directory, seed=seed, set=("duration=2s",))
    given: dict[str, tuple[int, dict[str, int]]] = {}
    sent: list[Sent] = []

    class Observed(Layer):
        def __init__(self, name: str) -> None:
            self.name = name

        def read(self, step: Step) -> Step:
            stamps = {port: s.stamp for port, s in step.latest.items() if s is not None}
            given[self.name] = (step.time, stamps)
            return step

    def watch(name: str, port: str, topic: str, sample: Sample) -> None:
        sent.append(Sent(sample.stamp, sample.seq, name, port, topic, *given[name]))

    with bring_up(request) as prepared:
        scenario = prepared.scenario
        watches = {
            (name, port): partial(watch, name, port, settings.topic)
            for name in scenario.participants
            for port, settings in scenario.outputs_of(name).items()
        }
        with inproc.InprocRun(prepared, watch=watches) as run:
            for name, model in run.models.items():
                model.insert(Observed(name))
            run.finish()
    return DrivenRun(directory, sent)


def changed_copy(
    run: Path, target: Path, change: Callable[[str, int, bytes], bytes | None]
) -> Path:
    """A copy of a run; ``change`` gives other bytes for a message of its bag, or drops it."""
    shutil.copytree(run, target)
    shutil.rmtree(target / "bag")
    types = topic_types(run / "bag")
    seq = dict.fromkeys(types, -1)
    with BagWriter(target / "bag", [BagTopic(t, k.type_name) for t, k in types.items()]) as writer:
        for message in read_bag(run / "bag"):
            seq[message.topic] += 1
            data = change(message.topic, seq[message.topic], message.data)
            if data is not None:
                writer.write(message.topic, message.stamp, seq[message.topic], data)
    return target


def one_bit(topic: str, number: int, from_end: int) -> Callable[[str, int, bytes], bytes]:
    """Change the lowest bit of one byte of one message."""

    def change(found: str, seq: int, data: bytes) -> bytes:
        if (found, seq) != (topic, number):
            return data
        return data[:-from_end] + bytes([data[-from_end] ^ 1]) + data[len(data) - from_end + 1 :]

    return change


def diff(*words: Any) -> Result:
    return CliRunner().invoke(app, ["diff", *map(str, words)])


def test_a_bit_of_one_message_is_found_and_named(runs: list[DrivenRun], tmp_path: Path) -> None:
    run = runs[0].directory
    other = changed_copy(run, tmp_path / "other", one_bit("/follower2/control", 30, 32))
    answer = diff(run, other, "--json")
    assert (answer.exit_code, answer.stderr) == (3, "")
    found = json.loads(answer.stdout)
    first = found["first"]
    assert {key: first[key] for key in ("time_ns", "participant", "port", "topic", "field")} == {
        "time_ns": 1200 * MS,
        "participant": "cacc2",
        "port": "control",
        "topic": "/follower2/control",
        "field": "acceleration",
    }
    assert first["a"] != first["b"]
    assert abs(first["a"] - first["b"]) < 1e-15
    read = {entry["port"]: (entry["a_ns"], entry["equal"]) for entry in first["inputs"]}
    assert read["objects"] == (1200 * MS, True)
    assert all(equal for _, equal in read.values())
    assert found["origin"] == first
    assert not found["equal"]
    assert found["counts"]["different"] == 1
    assert found["counts"]["topics"]["/follower2/control"]["different"] == 1
    (field,) = found["counts"]["fields"]
    assert (field["field"], field["messages"], field["first_ns"]) == ("acceleration", 1, 1200 * MS)


def test_another_seed_differs_first_where_random_numbers_are_drawn(runs: list[DrivenRun]) -> None:
    found = compare_recordings(runs[0].directory, runs[1].directory)
    assert found.first is not None and found.origin is not None
    assert found.first.difference.topic == "/follower1/control"
    # The controller reads what the sensor has measured at the same time.
    assert [read.port for read in found.first.inputs if not read.equal] == ["objects"]
    assert (found.origin.participant, found.origin.port) == ("sensor1", "objects")
    assert found.origin.difference.time_ns == found.first.difference.time_ns == 0
    assert all(read.equal for read in found.origin.inputs)
    assert dict(found.settings) == {"seed": (1, 2)}
    shown = diff(runs[0].directory, runs[1].directory).stdout
    for text in ("Sent by: cacc1.control", "Sent by: sensor1.objects", "seed: A 1, B 2",
                 "Input objects: /follower1/objects, 0s, different"):  # fmt: skip
        assert text in shown


def test_inputs_are_those_that_the_activation_read(runs: list[DrivenRun]) -> None:
    """Against what the runtime has handed to the models."""
    run = runs[0]
    recording = find_recording(run.directory)
    known = 0
    by_participant: dict[str, list[Sent]] = {}
    for sent in run.sent:
        by_participant.setdefault(sent.participant, []).append(sent)
    some = [sent for sents in by_participant.values() for sent in sents[:: len(sents) // 8]]
    for sent in some:
        cause = cause_of(sent, recording)
        assert (cause.participant, cause.port) == (sent.participant, sent.port)
        if cause.activation_ns is None:
            assert sent.participant == "v2v", "its latencies are drawn"
            continue
        known += 1
        assert cause.activation_ns == sent.activation
        found = {read.port: read.a_ns for read in cause.inputs}
        assert {key: stamp for key, stamp in found.items() if stamp is not None} == sent.read
    assert known > len(some) // 2


def cause_of(sent: Sent, recording: RunRecording) -> Any:
    difference = Difference(sent.stamp, sent.topic, sent.number, "x", 1.0, 2.0)
    found = trace_causes(Comparison(first=difference, at_first=[difference]), recording, recording)
    assert found is not None
    return found[0]


def test_the_activation_behind_a_drawn_latency_is_the_only_one_possible(
    runs: list[DrivenRun],
) -> None:
    recording = find_recording(runs[0].directory)
    sent = [each for each in runs[0].sent if each.participant == "v2v"][:20]
    causes = [cause_of(each, recording) for each in sent]
    told = [cause.activation_ns for cause in causes]
    assert [t for t in told if t is not None] == [
        each.activation for each, t in zip(sent, told, strict=True) if t is not None
    ]
    assert sum(t is not None for t in told) >= len(told) // 2
    dense = replace(recording, activations={"v2v": range(0, 2000 * MS, 10 * MS)})
    assert all(cause_of(each, dense).activation_ns is None for each in sent)
    # With latencies, a message is sent before its stamp, and reads what is older.
    assert all(read.a_ns <= cause.difference.time_ns - 5 * MS
               for cause in causes for read in cause.inputs if read.a_ns is not None)  # fmt: skip


def test_a_missing_message_names_its_sender(runs: list[DrivenRun], tmp_path: Path) -> None:
    run = runs[0].directory
    other = changed_copy(
        run,
        tmp_path / "other",
        lambda topic, seq, data: None if (topic, seq) == ("/follower1/odometry", 50) else data,
    )
    first = json.loads(diff(other, run, "--json").stdout)["first"]
    assert (first["time_ns"], first["participant"], first["topic"], first["field"]) == (
        500 * MS, "world", "/follower1/odometry", None)  # fmt: skip
    assert (first["a"], first["b"]) == (None, "present")
    # Its control inputs are delayed: it read the last ones before.
    controls = [read["a_ns"] for read in first["inputs"] if read["port"].startswith("control")]
    assert controls == [480 * MS, 480 * MS]


def test_what_reads_a_missing_message_is_told(runs: list[DrivenRun], tmp_path: Path) -> None:
    def change(topic: str, seq: int, data: bytes) -> bytes | None:
        if (topic, seq) == ("/follower1/objects", 20):
            return None
        return one_bit("/follower1/control", 20, 32)(topic, seq, data)

    run = runs[0].directory
    found = compare_recordings(run, changed_copy(run, tmp_path / "other", change))
    assert found.first is not None and found.origin is not None
    assert found.first.difference.topic == "/follower1/control"
    objects = {read.port: read for read in found.first.inputs}["objects"]
    assert (objects.a_ns, objects.b_ns, objects.equal) == (800 * MS, 760 * MS, False)
    assert found.origin.difference.topic == "/follower1/objects"
    turned = compare_recordings(tmp_path / "other", run).first
    assert turned is not None
    objects = {read.port: read for read in turned.inputs}["objects"]
    assert (objects.a_ns, objects.b_ns, objects.equal) == (760 * MS, 800 * MS, False)
    shown = diff(run, tmp_path / "other").stdout
    assert "Input objects: /follower1/objects, A 800ms, B 760ms, different" in shown


def test_a_run_equals_itself(runs: list[DrivenRun], tmp_path: Path) -> None:
    run = runs[0].directory
    answer = diff(run, changed_copy(run, tmp_path / "other", lambda topic, seq, data: data))
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert answer.stdout == f"equal: {len(list(read_bag(run / 'bag')))} messages on 16 topics\n"
    found = json.loads(diff(run, tmp_path / "other", "--json").stdout)
    assert found["equal"] and found["first"] is None and found["counts"]["fields"] == []


def test_equal_messages_of_different_traces_are_noted(
    runs: list[DrivenRun], tmp_path: Path
) -> None:
    run, other = runs[0].directory, tmp_path / "other"
    shutil.copytree(run, other)
    for file in (other / "summary.json", other / "bag" / "metadata.yaml"):
        text, count = re.subn(r"(trace_sha256\W+)\w{4}", r"\g<1>beef", file.read_text())
        assert count == 1
        file.write_text(text)
    answer = diff(run, other)
    assert answer.exit_code == 0
    assert "The traces of the runs differ" in answer.stdout


def test_bags_without_a_run_have_no_participants(runs: list[DrivenRun], tmp_path: Path) -> None:
    run = runs[0].directory
    other = changed_copy(run, tmp_path / "other", one_bit("/follower2/control", 30, 32))
    first = json.loads(diff(run / "bag", other / "bag", "--json").stdout)["first"]
    assert (first["participant"], first["port"], first["inputs"]) == (None, None, [])
    assert (first["topic"], first["field"]) == ("/follower2/control", "acceleration")
    # One run is enough to know the senders.
    assert json.loads(diff(run / "bag", other, "--json").stdout)["first"]["participant"] == "cacc2"


def test_recordings_by_other_clocks_are_noted(runs: list[DrivenRun], tmp_path: Path) -> None:
    """As ``ros2 bag record`` makes them: each message at the time at which it was received."""
    bag = runs[0].directory / "bag"
    for name, begin in (("one", 10**18), ("two", 2 * 10**18)):
        with BagWriter(tmp_path / name, [BagTopic("/follower1/control", CONTROL)]) as writer:
            sent = [m for m in read_bag(bag) if m.topic == "/follower1/control"]
            for seq, message in enumerate(sent):
                writer.write(message.topic, begin + message.stamp, seq, message.data)
    found = compare_recordings(tmp_path / "one", tmp_path / "two")
    (note,) = found.notes
    assert note.startswith("No message of A has stamp and topic of one of B: were they recorded")
    assert compare_recordings(tmp_path / "one", tmp_path / "one").notes == ()


def test_options_decide_what_counts(runs: list[DrivenRun], tmp_path: Path) -> None:
    run = runs[0].directory
    other = changed_copy(run, tmp_path / "other", one_bit("/follower2/control", 30, 32))
    for words, code in (
        (["--ignore", "/follower2/control"], 0),
        (["--ignore", "/follower2/control.acceleration"], 0),
        (["--ignore", "/follower2/control.brake"], 3),
        (["--tolerance", "/follower2/control.acceleration=1e-12"], 0),
        (["--tolerance", "/follower2/control.acceleration=1e-25"], 3),
        (["--tolerance", "/follower2/control.brake=1", "--ignore", "/follower1/control"], 3),
    ):
        assert diff(run, other, *words).exit_code == code, words
    assert "1 messages have other bytes, but no difference that counts." in diff(
        run, other, "--ignore", "/follower2/control.acceleration"
    ).stdout.replace("\n", " ")


@pytest.mark.parametrize(
    "text", ["/t.x", "/t.x=", "=1", "/t.x=-1", "/t.x=nan", "/t.x=inf", "/t.x=1m"]
)
def test_a_malformed_tolerance_is_a_wrong_usage(text: str, tmp_path: Path) -> None:
    answer = diff(tmp_path, tmp_path, "--tolerance", text)
    assert answer.exit_code == 2
    assert "TOPIC.FIELD=ABS" in answer.stderr


def test_wrong_input_gets_one_line(runs: list[DrivenRun], tmp_path: Path) -> None:
    run = runs[0].directory
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "no_bag").mkdir()
    shutil.copy(run / "scenario.json", tmp_path / "no_bag")
    killed = tmp_path / "killed"
    shutil.copytree(run, killed)
    (killed / "bag" / "metadata.yaml").unlink()
    damaged = tmp_path / "damaged"
    shutil.copytree(run, damaged)
    data = mcap_path(damaged / "bag").read_bytes()
    mcap_path(damaged / "bag").write_bytes(data[: len(data) // 2])
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "metadata.yaml").write_text("rosbag2_bagfile_information: {version: 9}\n")
    for words, message in (
        ([tmp_path / "gone"], "no run and no bag at .*gone: there is no such directory"),
        ([tmp_path / "file"], "no run and no bag at .*file: found a file; allowed is the directo"),
        ([tmp_path / "empty"], "no bag at .*empty: neither bag/ nor metadata.yaml is there"),
        ([tmp_path / "no_bag"], "no bag at .*no_bag: the run has no bag/; was it made with --no"),
        ([killed], "the bag at .* is not complete: metadata.yaml is missing; .*cosim report"),
        ([damaged], "bag_0.mcap is damaged: cut off after its run had closed it"),
        ([foreign], "foreign: A metadata key is missing"),
        ([run, "--ignore", "/follower3"], "ignored topic /follower3: no such topic in the bags; "),
        ([run, "--tolerance", "/follower1/control.aceleration=1"], "did you mean 'acceleration'"),
        ([run, "--html", tmp_path], "page .*: found a directory; allowed is a file to write"),
        ([run, "--html", tmp_path / "x" / "y.html"], "found no directory for it; allowed is a f"),
    ):
        answer = diff(run, *words)
        assert answer.exit_code == 1, message
        assert re.match(f"cosim: .*{message}", answer.stderr), answer.stderr
        assert answer.stderr.count("\n") == 1
        assert answer.stdout == ""


def test_the_page_shows_both_values(runs: list[DrivenRun], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    answer = diff(runs[0].directory, runs[1].directory, "--html", page)
    assert answer.exit_code == 3
    document = html.fromstring(page.read_bytes())
    apart, *charts = document.xpath(".//figure[not(@class)]")
    assert apart.find("figcaption/strong").text == "Distance between the runs"
    assert len(charts) == 16
    titles = [chart.find("figcaption/strong").text for chart in charts]
    assert titles[1::2] == [f"{title}: difference" for title in titles[0::2]]
    for chart in charts[0::2]:
        assert [p.get("class") for p in chart.iterfind(".//path") if p.get("stroke")] == [
            "line", "line", "key", "key"]  # fmt: skip
        one, other = (p.get("d") for p in chart.iterfind(".//path") if p.get("class") == "line")
        assert one != other
        assert {text.text for text in chart.iterfind(".//text")} >= {"A", "B"}
    headings = [node.text for node in document.iterfind(".//h2")]
    assert headings[:5] == [
        "Player", "First difference", "Where it began, at the same time", "Settings that differ",
        "Fields that differ most"]  # fmt: skip
    (played,) = document.xpath(".//script[@type='application/json']")
    moved = json.loads(played.text)
    assert [run["label"] for run in moved["runs"]] == ["A", "B"]
    names = ["leader", "follower1", "follower2"]
    assert all(list(run["vehicles"]) == names for run in moved["runs"])
    assert moved["road"]["surfaces"] and len(moved["road"]["sectors"]) == 2
    text = page.read_text()
    assert not re.search(r"<(link|img)|(src|href)=", text), "it stands alone"
    assert len(text) < 300_000


def test_the_page_of_equal_runs_says_so(runs: list[DrivenRun], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert diff(runs[0].directory, runs[0].directory, "--html", page).exit_code == 0
    text = page.read_text()
    assert '<span class="badge good">equal</span>' in text
    assert "<figure>" not in text


def test_settings_are_compared_by_their_paths(runs: list[DrivenRun]) -> None:
    from ros2_cosim.core.record.causes import settings_that_differ

    one = load_scenario(runs[0].directory / "scenario.json")
    overrides = ["participants.cacc1.period=null", "seed=5", "participants.sensor1.period=50ms"]
    other = load_scenario(runs[0].directory / "scenario.json", overrides)
    assert settings_that_differ(one, other) == {
        "seed": (1, 5),
        "participants.cacc1.period": ("100ms", None),
        "participants.sensor1.period": ("40ms", "50ms"),
    }


def test_what_a_run_fills_in_is_no_setting_that_differs() -> None:
    """Ports of servers, processes, and what models declare: the shape of the run decides."""
    from ros2_cosim.core.record.causes import settings_that_differ

    given = load_scenario(PLATOON)
    filled = resolve_ports(grouped(given, 2))
    assert filled.simulator.port and filled.participants["cacc1"].process
    assert settings_that_differ(given, filled) == {}
    other = load_scenario(PLATOON, ["simulator.host=localhost"])
    frame = "participants.sensor1.outputs.objects.frame_id"
    assert settings_that_differ(given, load_scenario(PLATOON, [f"{frame}=x"])) == {
        frame: ("follower1/base_link", "x")
    }
    assert settings_that_differ(filled, other) == {"simulator.host": ("127.0.0.1", "localhost")}


def test_a_place_without_recording_is_no_run(runs: list[DrivenRun]) -> None:
    with pytest.raises(ConfigurationError):
        find_recording(runs[0].directory / "nothing")


@pytest.mark.parametrize(
    ("value", "text"), [(None, "missing"), ("left", "left"), (0.1, "0.1"), (True, "True"), (3, "3")]
)
def test_a_value_is_shown_by_the_shortest_text_that_gives_it_back(value: Any, text: str) -> None:
    assert show_value(value) == text
