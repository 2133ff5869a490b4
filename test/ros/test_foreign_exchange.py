# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Services and actions of unmodified nodes in simulated time: one trace in every run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import gate_scenarios as scenarios
from support.busy_machine import busy_machine
from support.isolation import drop_dds_settings

from ros2_cosim.core.kernel.errors import ConfigurationError, RunError
from ros2_cosim.core.messages.bundles import Item, bundle, items_of
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.summary import Summary
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import make_scenario

pytest.importorskip("rclpy")
pytest.importorskip("ros2_cosim.msg", reason="generated messages are not built")
pytest.importorskip("tf2_msgs", reason="the definitions of tf2 are not built")


TEXT = "std_msgs/msg/String"
ACTION = {"action": "fibonacci", "type": "tf2_msgs/action/LookupTransform"}
SERVICE = {"service": "count", "type": "std_srvs/srv/SetBool"}


def exchanging(**client: Any) -> dict[str, Any]:
    """A server of an action and a service, and their client, in two processes."""

    def sent(name: str, latency: str) -> dict[str, Any]:
        kind = "std_msgs/msg/UInt8MultiArray"
        base = {"type": kind, "schedule": "sparse", "latency": latency}
        return {port: {**base, "topic": f"/{name}/{port}"} for port in ("action", "count")}

    timed = {"activation": {"any": ["action", "count"]}, "offset": "200ms"}
    server = scenarios.foreign(
        "fibonacci_server_node.py",
        node_name="fibonacci",
        use_sim_time=True,
        offers={"action": ACTION, "count": SERVICE},
    )
    caller = scenarios.foreign(
        "fibonacci_client_node.py",
        node_name="client",
        use_sim_time=True,
        calls={"action": ACTION, "count": SERVICE},
        outputs={"told": {"topic": "told", "expect": "any", "take": "last"}},
        **client,
    )
    return {
        "name": "exchanging",
        "duration": "1200ms",
        "participants": {
            "server": {
                **server,
                **timed,
                "period": "50ms",
                "inputs": {"action": "client.action", "count": "client.count"},
                "outputs": sent("server", "5ms"),
            },
            "client": {
                **caller,
                **timed,
                "period": "100ms",
                "inputs": {"action": "server.action", "count": "server.count"},
                "outputs": {
                    **sent("client", "3ms"),
                    "told": {"type": TEXT, "topic": "/told", "schedule": "sparse"},
                },
            },
        },
    }


@pytest.fixture
def run(
    ros_domain: int, nothing_left: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    drop_dds_settings(monkeypatch)
    paths = [str(scenarios.ROOT), str(scenarios.ROOT / "test"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))

    def execute(shape: str, data: Any = None, **client: Any) -> tuple[Summary, list[str]]:
        out = tmp_path / f"{shape}{len(list(tmp_path.iterdir()))}"
        scenario = make_scenario(data or exchanging(**client), "exchanging")
        summary = run_request(RunRequest(scenario, out=out, shape=shape))
        codec = CATALOGUE.codec(TEXT)
        told = [codec.decode(m.data)[2].data for m in read_bag(out / "bag") if m.topic == "/told"]
        return summary, told[-1].split("; ")

    return execute


def test_goals_feedback_cancel_and_service_are_the_same_in_every_run(run: Any) -> None:
    first, told = run("composed")
    with busy_machine():
        second, _ = run("ros")
        third, _ = run("composed")
    assert first.trace_sha256 == second.trace_sha256 == third.trace_sha256
    assert first.repeatable and second.repeatable and third.repeatable
    what = [line.partition(": ")[2] for line in told]
    assert what[:4] == ["accepted", *["feedback"] * 3]
    assert what[4] == "status 4, 3 " and {"asked 1 times", "refused"} == set(what[5:7])
    assert what[7] == "accepted" and "cancelling 1" in what
    assert "status 5, 0 cancelled at" in what[-2] and what[-1] == "asked 2 times"


def test_a_client_may_end_when_it_has_what_it_wants(run: Any) -> None:
    summary, told = run("composed", arguments=["quit"])
    # The last line is what it publishes in the activation in which it ends.
    assert len(told) > 8 and summary.repeatable


def test_a_client_that_never_comes_is_named_at_the_end(run: Any) -> None:
    data = exchanging() | {"duration": "400ms"}
    client = data["participants"]["client"]
    client["parameters"]["calls"]["other"] = {**SERVICE, "service": "other"}
    client["inputs"]["other"] = "server.count"
    client["outputs"]["other"] = client["outputs"]["count"] | {"topic": "/other"}
    with pytest.raises(RunError, match="the node never had a client of /gate/client/calls/other"):
        run("composed", data)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2**60), st.binary(max_size=40))))
def test_a_bundle_keeps_its_items_part_by_part(given_items: list[tuple[int, int, bytes]]) -> None:
    items = [Item(*each) for each in given_items]
    assert list(items_of(bundle(items))) == sorted(items, key=lambda item: item.part)


def test_other_bytes_are_no_bundle() -> None:
    with pytest.raises(ConfigurationError, match="found bytes that are not"):
        list(items_of(b"abc"))


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"type": "std_srvs/srv/SetBool"}, "allowed is either service or action"),
        ({"action": "a", "type": "std_srvs/srv/SetBool"}, "allowed is one of its kind"),
        ({"service": "a", "action": "b", "type": "std_srvs/srv/SetBool"}, "allowed is either"),
    ],
)
def test_what_is_no_service_is_refused(wrong: dict[str, str], text: str) -> None:
    data = exchanging()
    data["participants"]["client"]["parameters"]["calls"]["count"] = wrong
    with pytest.raises(ConfigurationError, match=text):
        check_scenario(make_scenario(data, "exchanging"), "ros")
