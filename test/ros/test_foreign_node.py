# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Unmodified ROS nodes as participants: the same results as a model in their place, always."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from support import gate_scenarios as scenarios
from support.busy_machine import busy_machine
from support.isolation import drop_dds_settings
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.documents.installed import find_executable
from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.summary import Summary, read_summary
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.schema import make_scenario

pytest.importorskip("rclpy")
messages = pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")

Run = Callable[..., Summary]
#: Runs are short: beside other work each takes many times as long as on a quiet machine.
SHORT = "300ms"
#: A model in the place of the relay.
RELAY = {"model": "support.gate_models:Relay"}


@pytest.fixture
def run(
    ros_domain: int,
    nothing_left: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Runs a scenario in a shape and gives its summary."""
    # The settings of a run, not those of a test, decide about transports.
    drop_dds_settings(monkeypatch)
    paths = [str(scenarios.ROOT), str(scenarios.ROOT / "test"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))

    def execute(data: dict[str, Any], shape: str = "ros", namespace: str = "/") -> Summary:
        output = tmp_path / f"run{len(list(tmp_path.glob('run*')))}"
        output.mkdir()
        scenario = make_scenario(data, data["name"])
        if shape == "inproc":
            return run_inproc(scenario, output)
        return run_request(RunRequest(scenario, out=output, shape=shape, namespace=namespace))

    return execute


@pytest.fixture
def busy() -> Iterator[Callable[[], None]]:
    """Called, it keeps the processors busy until the test ends."""
    with ExitStack() as burning:
        yield lambda: burning.enter_context(busy_machine())


# Each shape is there beside other work, and also without; it is compared with a model in the place
# of the node, or with the other shape.


def test_node_gives_what_a_model_gives_also_when_it_is_slow(run, busy):
    expected = run(scenarios.relay(RELAY, SHORT), "inproc").trace_sha256
    busy()
    slow = {"duration": SHORT, "ros_parameters": {"slowest": 0.01}}
    found = [run(scenarios.relay(**slow), "composed"), run(scenarios.relay(**slow))]
    assert [summary.trace_sha256 for summary in found] == [expected] * 2
    assert all(summary.repeatable for summary in found)


def test_nodes_of_one_process_hear_each_other(run, busy):
    model = {"model": "support.gate_models:Composed"}
    expected = run(scenarios.composed(model, SHORT), "inproc").trace_sha256
    busy()
    for settings in ({}, {"barrier": "parameters"}):
        found = run(scenarios.composed(duration=SHORT, **settings), "composed")
        assert (found.trace_sha256, found.repeatable) == (expected, True)


def test_what_nodes_of_one_process_say_to_each_other_needs_no_port(run, busy):
    expected = run(scenarios.relay(RELAY, SHORT), "inproc").trace_sha256
    busy()
    found = run(scenarios.relay(duration=SHORT, script="composed_node.py"))
    assert (found.trace_sha256, found.repeatable) == (expected, True)
    with pytest.raises(RunError, match="the node also reads /passed, which is not an input"):
        data = scenarios.relay(script="composed_node.py", barrier="parameters")
        run(data, "composed")


@pytest.mark.parametrize("executor", ["single", "events"])
def test_ordered_hand_over_keeps_the_order_of_stamps(run, busy, executor):
    model = {"model": "support.gate_models:Fold"}
    expected = run(scenarios.fold(model, SHORT), "inproc").trace_sha256
    busy()
    # The events executor polls: that this changes no result must be said.
    accepted = {"threads": "accept"} if executor == "events" else {}
    found = run(scenarios.fold(None, SHORT, arguments=[executor], **accepted), "composed")
    assert found.trace_sha256 == expected and found.repeatable


def test_timer_of_simulated_time_fires_at_each_activation(run, busy):
    # stamp: header also checks that the node's clock shows the activation's time.
    data = scenarios.timer(SHORT, stamp="header")
    first = run(data)
    busy()
    second = run(data, "composed")
    assert second.trace_sha256 == first.trace_sha256
    assert first.repeatable and second.repeatable


def test_node_drives_a_vehicle_of_the_platoon(run, busy):
    first = run(scenarios.platoon(SHORT), "composed")
    busy()
    second = run(scenarios.platoon(SHORT))
    assert second.trace_sha256 == first.trace_sha256
    acc = next(p for p in first.participants if p.name == "acc2")
    assert acc.activations == 30


def test_one_input_needs_no_barrier(run):
    expected = run(scenarios.relay(RELAY, SHORT), "inproc").trace_sha256
    found = run(scenarios.relay(duration=SHORT, barrier="none"), "composed")
    assert found.trace_sha256 == expected


def test_dead_node_is_named_with_its_last_words(run):
    with pytest.raises(RunError) as caught:
        run(scenarios.relay(ros_parameters={"dies_after": 20}))
    text = str(caught.value)
    assert "participant 'relay', activation at 190ms" in text
    assert "exit code 3; its last line: relay: out of fuel" in text


def test_silent_node_ends_the_run_and_the_missing_output_is_named(run):
    with pytest.raises(RunError) as caught:
        run(scenarios.relay(ros_parameters={"silent_after": 20}, patience_s=1), "composed")
    assert "participant 'relay', activation at 200ms" in str(caught.value)
    assert "Missing: output 'sum': 0 of 1 messages came on sum" in str(caught.value)


def test_node_that_never_publishes_what_is_declared_is_refused(run):
    data = scenarios.relay()
    data["watchdog_s"] = 4.5
    data["participants"]["relay"]["parameters"]["outputs"]["sum"] = "total"
    with pytest.raises(RunError, match="at the start.*a publisher of /gate/relay/out/sum"):
        run(data, "composed")


def test_node_that_reads_and_writes_one_topic_hears_itself_and_the_others(run, busy):
    model = {"model": "support.gate_models:Both"}
    expected = run(scenarios.relay(model, SHORT), "inproc").trace_sha256
    settings = {"duration": SHORT, "script": "both_node.py", "outputs": {"sum": "/number"}}
    busy()
    found = run(scenarios.relay(**settings), "composed")
    assert (found.trace_sha256, found.repeatable) == (expected, True)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("says", "output 'sum': the node publishes std_msgs/msg/String; allowed is std_msgs/msg/F"),
        ("reads", "input 'number': the node reads std_msgs/msg/String; allowed is std_msgs/msg/F"),
        ("best_effort", "output 'sum': the node publishes without reliable delivery; set best_eff"),
    ],
)
def test_node_with_another_type_or_quality_of_service_is_refused(run, kind, said):
    settings = {"script": "unfit_node.py", "ros_parameters": {"kind": kind}}
    data = scenarios.relay(**settings)
    data["watchdog_s"] = 15.0
    with pytest.raises(RunError) as caught:
        run(data, "composed")
    assert f"participant 'relay', at the start: {said}" in str(caught.value)


def test_node_that_publishes_without_reliable_delivery_may_be_accepted(run):
    expected = run(scenarios.relay(RELAY, SHORT), "inproc").trace_sha256
    settings = {"script": "unfit_node.py", "ros_parameters": {"kind": "best_effort"}}
    outputs = {"sum": {"topic": "sum", "best_effort": True}}
    found = run(scenarios.relay(duration=SHORT, outputs=outputs, **settings), "composed")
    assert (found.trace_sha256, found.repeatable) == (expected, True)


def test_undeclared_input_is_refused_unless_it_is_allowed(run):
    data = scenarios.fold(duration=SHORT)
    fold = data["participants"]["fold"]
    fold["activation"] = {"any": ["add"]}
    del fold["inputs"]["take"], fold["parameters"]["inputs"]["take"]
    with pytest.raises(RunError, match="the node also reads /take"):
        run(data, "composed")
    fold["parameters"]["allow_topics"] = ["/take"]
    assert run(data, "composed").repeatable


@pytest.mark.parametrize(("kind", "past"), [("latched", [9.0, 10.0]), ("volatile", [])])
def test_subscription_that_comes_late_gets_what_it_gets_in_ros(run, busy, tmp_path, kind, past):
    tied = {"inputs": {"number": "number"}, "outputs": {"told": {"topic": "told", "expect": "any"}}}
    late = scenarios.foreign(
        "late_node.py",
        node_name="late",
        use_sim_time=True,
        ros_parameters={"kind": kind},
        allow_topics=["/number"],
        **tied,
    )
    told = {"type": "std_msgs/msg/Float64MultiArray", "topic": "/told", "schedule": "sparse"}
    late |= {"period": "50ms", "offset": "100ms", "activation": {"any": ["number"]}}
    late |= {"inputs": {"number": "source.number"}, "outputs": {"told": told}}
    parts = {"source": scenarios.source("/number", "10ms"), "late": late}
    data = {"name": "late", "duration": SHORT, "participants": parts}
    found = run(data, "composed")
    codec = CATALOGUE.codec(told["type"])
    bag = read_bag(tmp_path / "run0" / "bag")
    lists = [list(codec.decode(m.data)[2].data) for m in bag if m.topic == "/told"]
    # The first turn is at the clock's first time, before the first activation.
    since = [[*map(float, range(n, n + 5))] for n in (11, 16, 21)]
    assert lists == [[], [], [*past, *since[0]], *since[1:]]
    busy()
    again = run(data, "ros")
    assert found.repeatable and (again.trace_sha256, again.repeatable) == (found.trace_sha256, True)


def test_shape_without_ros_is_refused(run):
    with pytest.raises(ConfigurationError, match=r"participants\.relay.*--shape ros or composed"):
        run(scenarios.relay(), "inproc")


def test_lifecycle_node_is_active_before_the_first_activation(run):
    expected = run(scenarios.relay(RELAY, SHORT), "inproc").trace_sha256
    found = run(scenarios.relay(duration=SHORT, script="lifecycle_node.py"), "composed")
    assert (found.trace_sha256, found.repeatable) == (expected, True)


@pytest.mark.parametrize(
    ("mode", "refuses", "said"),
    [
        (
            "manage",
            "configure",
            "the lifecycle node /relay_node, which was unconfigured, refused to configure; it is "
            "unconfigured now",
        ),
        (
            "manage",
            "activate",
            "Missing: the lifecycle node /relay_node is inactive; it has been asked to activate",
        ),
        (
            "own",
            "",
            "Missing: the lifecycle node /relay_node is unconfigured; another program has to "
            "activate it (lifecycle: own)",
        ),
    ],
)
def test_lifecycle_node_that_does_not_become_active_is_named(run, mode, refuses, said):
    data = scenarios.relay(
        script="lifecycle_node.py", lifecycle=mode, ros_parameters={"refuses": refuses}
    )
    # Long enough for the node to appear, on a busy machine, too.
    data["watchdog_s"] = 15.0
    with pytest.raises(RunError) as caught:
        run(data, "composed")
    assert "participant 'relay', at the start: " in str(caught.value)
    assert said in str(caught.value)


def test_node_with_several_threads_is_named_as_not_repeatable(run):
    # It cooperates in nothing: without parameter services it cannot even be asked.
    settings = {"arguments": ["silent"], "barrier": "none", "ros_parameters": {"slowest": 0.004}}
    summary = run(
        scenarios.relay(script="threads_node.py", duration="300ms", **settings), "composed"
    )
    assert not summary.repeatable
    assert summary.not_repeatable_reason == (
        "'relay': the node /relay_node runs callbacks in several threads"
    )


def test_node_whose_callback_waits_is_named_as_not_repeatable(run):
    summary = run(scenarios.relay(script="waiting_node.py", duration="200ms"), "composed")
    assert not summary.repeatable
    assert "published 'sum' after it had answered" in summary.not_repeatable_reason


@pytest.mark.parametrize(("grows", "shape"), [(False, "ros"), (True, "composed")])
def test_repetitions_start_the_node_anew_and_are_compared(
    ros_domain, nothing_left, tmp_path, monkeypatch, capfd, grows, shape
):
    """A node that counts its starts in a file has another trace each time."""
    drop_dds_settings(monkeypatch)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(scenarios.ROOT / "test")]))
    given = {"starts": str(tmp_path / "starts.txt")} if grows else {}
    data = scenarios.relay(script="starts_node.py", duration="50ms", ros_parameters=given)
    file = tmp_path / "relay.json"
    file.write_text(json.dumps(data))
    arguments = ["run", str(file), "--shape", shape, "--repeat", "2", "--out", str(tmp_path / "o")]
    done = CliRunner().invoke(app, [*arguments, "--no-bag"])
    traces = [read_summary(tmp_path / "o" / name).trace_sha256 for name in (".", "again-1")]
    assert (done.exit_code, traces[0] != traces[1]) == (3 if grows else 0, grows), done.output
    if grows:
        said = f"traces differ: run 1 has {traces[0]}, run 2 (again-1) has {traces[1]}"
        assert done.stderr.splitlines()[-1] == f"cosim: {said}"
    else:
        assert f"2 repetitions, one trace {traces[0]}" in done.stdout.splitlines()


@pytest.mark.parametrize("kind", ["loop", "timer"])
def test_node_that_may_publish_by_itself_ends_or_marks_the_run(run, kind):
    """The timer fires at no time of the run: that it is there makes the window no proof."""
    data = scenarios.polling(kind)
    data["participants"]["relay"]["parameters"]["ros_parameters"]["period"] = 3600.0
    try:
        summary = run(data, "composed")
    except RunError as error:
        assert kind == "loop" and "the node publishes on its own account" in str(error)
        return
    assert not summary.repeatable
    assert "has a timer of the wall clock, or looks for messages" in summary.not_repeatable_reason


def test_message_after_the_last_activation_ends_the_run(run):
    """One activation, and nothing that is taken later: only the end can see it."""
    data = scenarios.polling("loop", duration="5ms", threads="accept")
    for _ in range(2):
        try:
            summary = run(data, "composed")
        except RunError as error:
            assert "the node publishes on its own account" in str(error)
        else:
            assert "after it had answered" in summary.not_repeatable_reason


def test_several_publishers_on_a_private_topic_make_the_run_not_repeatable(run):
    found = run(scenarios.relay(script="twice_node.py", duration="100ms"), "composed")
    assert not found.repeatable
    assert found.not_repeatable_reason == (
        "'relay': more than one program publishes on sum, in whatever order"
    )


def test_client_of_another_node_is_named_as_not_repeatable(run):
    def called(space: str, **settings: Any) -> scenarios.Data:
        names = [f"{space}/plan", f"{space}/find"]
        return scenarios.relay(
            script="client_node.py", arguments=names, duration="200ms", **settings
        )

    found = run(called(""), "composed")
    assert found.not_repeatable_reason == (
        "'relay': the node /relay_node is a client of /find, /plan, whose answers come at any wall "
        "time; name them in allow_services if they never change a result"
    )
    # In a namespace, names of the scenario are those of a run without one.
    settings = {"allow_services": ["/plan", "/find"]}
    accepted = run(called("/a", **settings), "composed", namespace="/a")
    assert (accepted.trace_sha256, accepted.repeatable) == (found.trace_sha256, True)


def test_nodes_in_a_namespace_give_the_same_trace(run, tmp_path, monkeypatch):
    """Also one that a package has, and one that reads ``/tf`` by its full name, as tf2 does."""
    executable = tmp_path / "lib" / "my_nodes" / "relay"
    executable.parent.mkdir(parents=True)
    script = scenarios.NODES / "relay_node.py"
    executable.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    executable.chmod(0o755)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    data = scenarios.timer(SHORT, stamp="header")
    relay = scenarios.relay(script="lifecycle_node.py", node_name="/cars/relay")["participants"]
    data["participants"] |= {"relay": relay["relay"], "sink": relay["sink"]}
    packaged = scenarios.relay(package="my_nodes", executable="relay")["participants"]["relay"]
    del packaged["parameters"]["script"]
    packaged["outputs"]["sum"]["topic"] = "/packaged/sum"
    data["participants"] |= {"packaged": packaged, **scenarios.transforms()}
    expected = run(data, "composed").trace_sha256
    found = run(data, "composed", namespace="/a/b")
    assert (found.trace_sha256, found.repeatable) == (expected, True)


needs_rclcpp = pytest.mark.skipif(
    find_executable("ros2_cosim_relay_cpp", "relay") is None,
    reason="needs test/support/ros_nodes/relay_cpp, which colcon builds in a ROS 2 workspace",
)


@needs_rclcpp
def test_a_node_of_rclcpp_gives_what_a_model_gives(run, busy):
    expected = run(scenarios.relay(RELAY), "inproc").trace_sha256
    data = scenarios.relay(package="ros2_cosim_relay_cpp", executable="relay")
    del data["participants"]["relay"]["parameters"]["script"]
    first = run(data)
    busy()
    data["participants"]["relay"]["parameters"]["ros_parameters"] = {"delay_ms": 2}
    second = run(data, "composed")
    assert [first.trace_sha256, second.trace_sha256] == [expected] * 2
    assert first.repeatable and second.repeatable


@needs_rclcpp
def test_a_timer_of_rclcpp_gives_what_one_of_rclpy_gives(run, busy):
    """Its clock is set by another thread than the one that runs the timer."""
    expected = run(scenarios.timer(stamp="header"), "composed").trace_sha256
    data = scenarios.timer(stamp="header")
    parameters = data["participants"]["timer"]["parameters"]
    del parameters["script"]
    parameters |= {"package": "ros2_cosim_relay_cpp", "executable": "timer"}
    first = run(data)
    busy()
    second = run(data, "composed")
    assert [first.trace_sha256, second.trace_sha256] == [expected] * 2
    assert first.repeatable and second.repeatable


def test_a_node_that_is_asked_for_its_time_gives_the_same(run, tmp_path):
    """As a node of rclcpp is, which is known by the library that it has loaded."""
    expected = run(scenarios.timer(SHORT, stamp="header"), "composed").trace_sha256
    library, asked = tmp_path / "librclcpp.so", tmp_path / "asked.txt"
    library.write_bytes(b"rclcpp")
    data = scenarios.timer(SHORT, stamp="header")
    data["participants"]["timer"]["parameters"] |= {
        "script": str(scenarios.NODES / "asked_node.py"),
        "ros_parameters": {"library": str(library), "asked": str(asked)},
    }
    found = run(data, "composed")
    assert (found.trace_sha256, found.repeatable) == (expected, True)
    lines = asked.read_text().splitlines()
    assert set(lines) == {"use_sim_time True"}
    # At each activation, and 20 ms before the first one.
    assert len(lines) >= 1 + next(p.activations for p in found.participants if p.name == "timer")


def test_callbacks_of_several_threads_run_one_at_a_time(run, busy):
    expected = run(scenarios.relay(RELAY, SHORT), "inproc").trace_sha256
    busy()
    slow = {"duration": SHORT, "ros_parameters": {"slowest": 0.01}}
    found = run(scenarios.relay(script="threads_node.py", **slow), "composed")
    assert (found.trace_sha256, found.repeatable) == (expected, True)


def test_threads_that_change_nothing_can_be_accepted(run):
    data = scenarios.relay(duration=SHORT, script="threads_node.py", threads="accept")
    data["participants"]["relay"]["parameters"]["barrier"] = "parameters"
    assert run(data, "composed").repeatable


def test_attached_lifecycle_node_is_left_as_it_was_found(run):
    node = [sys.executable, str(scenarios.NODES / "lifecycle_node.py"), "--ros-args"]
    for name, other in (("number", "in/number"), ("sum", "out/sum")):
        node += ["-r", f"{name}:=/gate/relay/{other}"]
    data = scenarios.relay(
        duration=SHORT, script="lifecycle_node.py", attach=True, node_name="/mine"
    )
    del data["participants"]["relay"]["parameters"]["script"]
    expected = run(scenarios.relay(RELAY, SHORT), "inproc").trace_sha256
    # Fast DDS can hang when a node ends, with its default transports more often.
    environment = {**os.environ, "FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}
    with subprocess.Popen([*node, "-r", "__node:=mine"], env=environment) as process:
        try:
            found = [run(data, "composed"), run(data, "composed")]
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
    # The second run finds it unconfigured; its threads are watched in both.
    assert [(summary.trace_sha256, summary.repeatable) for summary in found] == [
        (expected, True)
    ] * 2
