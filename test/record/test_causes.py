# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What sent a message and what it had read, in bags of three participants that are made up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages import catalogue
from ros2_cosim.core.messages.records import ControlCommand
from ros2_cosim.core.record.bag import BagWriter
from ros2_cosim.core.record.bag_metadata import BagTopic
from ros2_cosim.core.record.causes import (
    InputRead,
    RunRecording,
    find_recording,
    settings_that_differ,
    trace_causes,
)
from ros2_cosim.core.record.comparison import Comparison, Difference
from ros2_cosim.core.record.run_comparison import compare_recordings
from ros2_cosim.core.scenario.schema import Scenario, make_scenario
from ros2_cosim.lab.report.comparison_report import write_page

MS = 1_000_000
TYPE = "ros2_cosim/msg/ControlCommand"
CODEC = catalogue.codec(TYPE, frame_id="map")
DRAWN = {"uniform": ["2ms", "6ms"]}
#: Topic -> (stamp [ms], value) of its messages.
Content = Mapping[str, Sequence[tuple[int, float]]]


def scenario_of(latency: Any = "3ms", **output: Any) -> Scenario:
    """``source`` feeds ``reader`` at once and, one step later, once more."""
    inputs = {"now": {"from": "source.out"}, "before": {"from": "source.out", "delayed": True}}
    sent = {"type": TYPE, "topic": "/reader", "latency": latency, **output}
    return make_scenario(
        {
            "name": "toy",
            "duration": "1s",
            "participants": {
                "source": {
                    "model": "nowhere:Source",
                    "period": "10ms",
                    "outputs": {"out": {"type": TYPE, "topic": "/source"}},
                },
                "reader": {
                    "model": "nowhere:Reader",
                    "period": "10ms",
                    "inputs": inputs,
                    "outputs": {"out": sent},
                },
            },
        },
        "test",
    )


def recording(
    directory: Path,
    content: Content,
    scenario: Scenario | None = None,
    activations: Mapping[str, Sequence[int]] | None = None,
) -> RunRecording:
    messages = sorted(
        (stamp * MS, topic, seq, value)
        for topic, found in content.items()
        for seq, (stamp, value) in enumerate(found)
    )
    with BagWriter(directory, [BagTopic(topic, TYPE) for topic in content]) as writer:
        for stamp, topic, seq, value in messages:
            data = CODEC.encode(stamp, seq, ControlCommand(value, 0.0, 0.0, 0.0))
            writer.write(topic, stamp, seq, data)
    return RunRecording(directory, directory, scenario, activations or {})


def causes_of(
    tmp_path: Path,
    contents: tuple[Content, Content],
    scenario: Scenario | None,
    activations: Mapping[str, Sequence[int]] | None = None,
) -> Any:
    a, b = (
        recording(tmp_path / name, content, scenario, activations)
        for name, content in zip("ab", contents, strict=True)
    )
    return trace_causes(comparison_of(*contents), a, b)


def comparison_of(a: Content, b: Content) -> Comparison:
    """The messages at the first time at which two contents differ."""
    found = [
        Difference(min(stamps) * MS, topic, number, None, None, None)
        for topic in a
        for number, (one, other) in enumerate(zip_longest(a[topic], b[topic]))
        if one != other and (stamps := [given[0] for given in (one, other) if given])
    ]
    first = min((each.time_ns for each in found), default=None)
    at_first = sorted(each for each in found if each.time_ns == first)
    return Comparison(at_first[0] if at_first else None, at_first)


def test_a_message_names_its_activation_and_what_that_had_read(tmp_path: Path) -> None:
    """What leaves at 20 ms bears 23 ms: input ``now`` holds the message of 20 ms."""
    source = [(0, 1.0), (10, 1.0), (20, 1.0), (30, 1.0)]
    contents = tuple({"/source": source, "/reader": [(3, 0.0), (13, 0.0), (23, v)]} for v in (0, 9))
    first, origin = causes_of(tmp_path, contents, scenario_of())
    assert first == origin
    assert (first.participant, first.port, first.activation_ns) == ("reader", "out", 20 * MS)
    assert first.difference[:3] == (23 * MS, "/reader", 2)
    assert first.inputs == (
        InputRead("now", "/source", "source", 20 * MS, 20 * MS, True),
        InputRead("before", "/source", "source", 10 * MS, 10 * MS, True),
    )


def test_it_began_with_the_message_whose_inputs_were_equal(tmp_path: Path) -> None:
    """Both differ at 20 ms: ``source``, which reads nothing, and ``reader``, which read it then."""
    contents = tuple(
        {"/reader": [(10, 0.0), (20, v)], "/source": [(10, 0.0), (20, v)]} for v in (0.0, 9.0)
    )
    first, origin = causes_of(tmp_path, contents, scenario_of(latency="0ms"))
    assert (first.participant, origin.participant) == ("reader", "source")
    assert [found.equal for found in first.inputs] == [False, True]
    assert origin.inputs == ()
    # The same with an input that was equal: it began with the reader.
    contents = tuple({"/reader": [(20, v)], "/source": [(10, 0.0), (20, 0.0)]} for v in (0.0, 9.0))
    first, origin = causes_of(tmp_path / "equal", contents, scenario_of(latency="0ms"))
    assert first == origin and [found.equal for found in first.inputs] == [True, True]


def test_an_input_of_another_stamp_is_another_message(tmp_path: Path) -> None:
    one = {"/source": [(10, 0.0), (20, 0.0)], "/reader": [(23, 0.0)]}
    contents = (one, one | {"/source": [(10, 0.0)], "/reader": [(23, 0.0)]})
    first, _ = causes_of(tmp_path, contents, scenario_of())
    assert (first.participant, first.difference.time_ns) == ("source", 20 * MS)
    later = (one | {"/reader": [(18, 0.0)]}, one | {"/reader": [(18, 1.0)]})
    first, _ = causes_of(tmp_path / "later", later, scenario_of())
    # It left at 15 ms: what differs at the same time on another topic is not an input of it.
    assert first.activation_ns == 15 * MS
    assert [(i.a_ns, i.equal) for i in first.inputs] == [(10 * MS, True), (10 * MS, True)]
    nothing = ({"/source": [], "/reader": [(3, 0.0)]}, {"/source": [], "/reader": [(3, 1.0)]})
    first, _ = causes_of(tmp_path / "nothing", nothing, scenario_of())
    assert [(i.a_ns, i.b_ns, i.equal) for i in first.inputs] == [(None, None, True)] * 2


@pytest.mark.parametrize(
    ("output", "times", "found", "read"),
    [
        # The third message left at the third time, whatever its latency.
        ({}, [0, 10, 20, 30], 20, 20),
        # Its number has no time: it left 2 to 6 ms before 25 ms, after what is recorded.
        ({}, [0, 10], None, 20),
        ({"schedule": "sparse"}, [0, 10, 20, 30], 20, 20),
        # Two activations were possible, or none, or one that may not be the last.
        ({"schedule": "sparse"}, [0, 10, 20, 22, 30], None, 20),
        ({"schedule": "sparse"}, [0, 10, 18, 24, 30], None, 20),
        ({"schedule": "sparse"}, [0, 10, 20], None, 20),
        # Both ends of the stretch are possible.
        ({"schedule": "sparse"}, [0, 10, 19, 30], 19, 10),
        ({"schedule": "sparse"}, [0, 10, 23, 30], 23, 20),
        ({"header_stamped": True}, [0, 10, 20, 30], None, 20),
    ],
)
def test_behind_a_drawn_latency_an_activation_is_known_if_it_is_the_only_one(
    tmp_path: Path, output: dict[str, Any], times: list[int], found: int | None, read: int
) -> None:
    source = [(0, 0.0), (10, 0.0), (20, 0.0), (30, 0.0)]
    contents = tuple({"/source": source, "/reader": [(3, 0.0), (13, 0.0), (25, v)]} for v in (0, 9))
    scenario = scenario_of(latency=DRAWN, **output)
    activations = {"reader": [time * MS for time in times]}
    first, _ = causes_of(tmp_path, contents, scenario, activations)
    assert first.activation_ns == (None if found is None else found * MS)
    assert first.inputs[0].a_ns == read * MS


def test_without_a_run_nothing_is_known_of_the_sender(tmp_path: Path) -> None:
    contents = tuple({"/source": [(0, v)], "/unknown": [(0, v)]} for v in (0.0, 9.0))
    first, origin = causes_of(tmp_path, contents, None)
    assert first[1:] == (None, None, None, ())
    assert first == origin
    # One of the two knows its run; a topic that no participant writes has no sender either.
    a = recording(tmp_path / "c", contents[0])
    b = recording(tmp_path / "d", contents[1], scenario_of())
    found = trace_causes(comparison_of(*contents), a, b)
    assert found is not None and found[0].participant == "source"
    contents = tuple({"/unknown": [(0, v)]} for v in (0.0, 9.0))
    assert causes_of(tmp_path / "e", contents, scenario_of())[0][1:] == (None, None, None, ())


def test_equal_bags_have_no_cause(tmp_path: Path) -> None:
    content = {"/source": [(0, 1.0)]}
    assert causes_of(tmp_path, (content, content), scenario_of()) is None


def test_the_directory_of_a_bag_is_a_recording_without_a_run(tmp_path: Path) -> None:
    written = recording(tmp_path / "bag", {"/source": [(0, 1.0)]})
    assert find_recording(written.bag) == written
    (written.bag / "metadata.yaml").unlink()
    assert find_recording(written.bag) == RunRecording(written.bag, written.bag, None, {})
    assert find_recording(tmp_path) == RunRecording(tmp_path, written.bag, None, {})


def test_a_place_without_a_bag_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"x: there is no such directory$"):
        find_recording(tmp_path / "x")
    (tmp_path / "x").write_text("")
    with pytest.raises(ConfigurationError, match=r"x: found a file; allowed is the directory"):
        find_recording(tmp_path / "x")
    with pytest.raises(ConfigurationError, match=r": neither bag/ nor metadata.yaml is there$"):
        find_recording(tmp_path)
    (tmp_path / "scenario.json").write_text("{}")
    with pytest.raises(ConfigurationError, match=r"has no bag/; was it made with --no-bag\?$"):
        find_recording(tmp_path)


def test_settings_are_compared_by_their_paths() -> None:
    one, other = scenario_of(), scenario_of(latency="4ms")
    path = "participants.reader.outputs.out.latency"
    assert settings_that_differ(one, one, one) == {}
    assert settings_that_differ(one, other, one) == {path: ("3ms", "4ms", "3ms")}
    assert settings_that_differ(one, scenario_of(schedule="sparse")) == {
        "participants.reader.outputs.out.schedule": ("every", "sparse")
    }


def test_the_page_has_the_time_of_the_first_difference(tmp_path: Path) -> None:
    for name, value in (("a", 0.0), ("b", 9.0)):
        recording(tmp_path / name, {"/source": [(0, 1.0), (20, value)]})
    write_page(compare_recordings(tmp_path / "a", tmp_path / "b"), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "<b>20ms</b><span>first difference</span>" in text
    assert "<b>2</b><span>messages in A</span>" in text
    assert "<b>1</b><span>messages that differ</span>" in text
