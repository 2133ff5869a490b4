# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Replay of recordings into participants: the same outputs, or where they first differ."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from rosbags.rosbag2 import StoragePlugin, Writer
from support import gate_scenarios
from support.isolation import drop_dds_settings
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.catalogue import DEFAULT as CATALOGUE
from ros2_cosim.core.record.bag_reader import read_bag, topic_types
from ros2_cosim.core.record.causes import find_recording
from ros2_cosim.core.run.replay_into import replay_into
from ros2_cosim.core.run.request import RunRequest
from ros2_cosim.core.run.start import run_request
from ros2_cosim.core.scenario.schema import make_scenario

CONFIG = Path(__file__).resolve().parents[2] / "config"
CONTROL = "/follower1/control"


@pytest.fixture(scope="module")
def platoon(tmp_path_factory) -> Path:
    """Two seconds of the platoon, with its latencies and losses at random."""
    out = tmp_path_factory.mktemp("runs") / "platoon"
    run_request(RunRequest(CONFIG / "platoon.yaml", set=("duration=2s",), shape="inproc", out=out))
    return out


def cosim(*arguments: object):
    return CliRunner().invoke(app, ["replay", *map(str, arguments)])


def test_every_participant_does_again_what_is_recorded(platoon):
    names = ["world", "sensor1", "sensor2", "v2v", "cacc1", "cacc2", "referee"]
    found = replay_into(platoon, names)
    assert found.equal
    counts = found.messages.topics
    assert counts[CONTROL].a == counts[CONTROL].b == 50
    assert sum(each.a for each in counts.values()) > 1000


def test_one_participant_alone_is_compared_alone(platoon, tmp_path):
    done = cosim(platoon / "bag", "--into", "cacc1", "--out", tmp_path / "out", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["equal"] and list(found["counts"]["topics"]) == [CONTROL]
    # What is left is a whole recording, which cosim diff takes.
    assert topic_types(tmp_path / "out" / "bag") == topic_types(platoon / "bag")


def test_a_changed_controller_is_found_at_its_first_difference(platoon, tmp_path):
    law = tmp_path / "late.py"
    law.write_text(
        "class Late:\n"
        "    needs_v2v = ()\n"
        "    def __init__(self): self.calls = 0\n"
        "    def acceleration(self, m):\n"
        "        self.calls += 1\n"
        "        return 0.5 if self.calls > 20 else 0.25\n"
    )
    base = tmp_path / "base"
    run_request(
        RunRequest(
            CONFIG / "platoon.yaml", set=("duration=2s",), shape="inproc", out=base,
            controllers=f"{law}:Late",
        )
    )  # fmt: skip
    same = cosim(base, "--into", "cacc1", "--into", "cacc2")
    assert same.exit_code == 0, same.stdout
    law_2 = tmp_path / "later.py"
    law_2.write_text(law.read_text().replace("> 20", "> 30").replace("Late", "Later"))
    done = cosim(base, "--into", "cacc1", "--controllers", f"{law_2}:Later", "--json")
    assert done.exit_code == 3
    found = json.loads(done.stdout)
    first = found["first"]
    # Activated every 40 ms from 0 on: the 21st time at 800 ms.
    assert (first["topic"], first["time_ns"], first["number"]) == (CONTROL, 800_000_000, 20)
    assert (first["participant"], first["field"], first["activation_ns"]) == (
        "cacc1", "acceleration", 800_000_000,
    )  # fmt: skip
    assert all(each["equal"] for each in first["inputs"])
    # Ten commands of the law, and those that follow from them.
    assert 10 <= found["counts"]["different"] <= 30


def copied(bag: Path, target: Path, storage: StoragePlugin) -> None:
    """The bag as ``ros2 bag record`` would leave it: by reception, in another order."""
    delays = random.Random(1)
    messages = [
        (1_700_000_000_000_000_000 + m.stamp + delays.randrange(30_000_000), n, m)
        for n, m in enumerate(read_bag(bag))
    ]
    types = topic_types(bag)
    with Writer(target, version=9, storage_plugin=storage) as writer:
        connections = {
            topic: writer.add_connection(
                topic, kind.type_name, msgdef=kind.definition, rihs01="RIHS01_" + "0" * 64
            )
            for topic, kind in types.items()
        }
        for received, _, message in sorted(messages, key=lambda each: each[0]):
            writer.write(connections[message.topic], received, message.data)


@pytest.mark.parametrize("storage", [StoragePlugin.SQLITE3, StoragePlugin.MCAP])
def test_a_bag_that_was_recorded_elsewhere(platoon, tmp_path, storage):
    copied(platoon / "bag", tmp_path / "field", storage)
    scenario = platoon / "scenario.json"
    done = cosim(tmp_path / "field", "--into", "cacc1", "--scenario", scenario, "--json")
    assert done.exit_code == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["counts"]["topics"][CONTROL]["b"] == 50
    other = cosim(
        tmp_path / "field", "--into", "cacc1", "--scenario", scenario,
        "--controllers", "rajamani_acc",
    )  # fmt: skip
    assert other.exit_code == 3


def test_messages_without_a_stamp_count_by_their_reception(tmp_path):
    scenario = tmp_path / "texts.yaml"
    scenario.write_text(
        yaml.safe_dump(
            {
                "name": "texts",
                "duration": "1s",
                "participants": {
                    "source": {
                        "model": "support.replay_models:Silent",
                        "period": "100ms",
                        "outputs": {
                            "text": {"type": "std_msgs/msg/String", "topic": "/text",
                                     "schedule": "sparse", "whole": True}
                        },
                    },
                    "echo": {
                        "model": "support.replay_models:Echo",
                        "activation": {"any": ["text"]},
                        "inputs": {"text": "source.text"},
                        "outputs": {
                            "text": {"type": "std_msgs/msg/String", "topic": "/echo",
                                     "schedule": "sparse", "whole": True}
                        },
                    },
                },
            }
        )
    )  # fmt: skip
    definition = CATALOGUE.definitions("std_msgs/msg/String")["std_msgs/msg/String"]
    texts = [bytes.fromhex("00010000") + b"\x02\0\0\0" + bytes([65 + n]) + b"\0" for n in range(3)]
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
        both = [
            writer.add_connection(
                topic, "std_msgs/msg/String", msgdef=definition, rihs01="RIHS01_" + "0" * 64
            )
            for topic in ("/text", "/echo")
        ]
        for number, text in enumerate(texts):
            for connection in both:
                writer.write(connection, 5_000_000_000 + number * 7_000_000, text)
    found = replay_into(tmp_path / "bag", ["echo"], scenario=scenario)
    assert found.equal and found.messages.topics["/echo"].b == 3
    assert found.notes[0].startswith("/echo, /text: messages without a stamp; they count by")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--into", "cacc9"], "--into cacc9: no such participant; there are world, sensor1"),
        (
            ["--controllers", "rajamani_acc"],
            "--controllers, --scenario and --to-topics need --into",
        ),
        (["--into", "cacc1", "--shape", "ros"], "--shape belongs to the repetition"),
    ],
)
def test_what_does_not_fit_is_one_error(platoon, arguments, said):
    done = cosim(platoon, *arguments)
    assert done.exit_code in (1, 2)
    assert said in " ".join(done.stderr.replace("│", " ").split())


def test_a_bag_alone_needs_its_scenario(platoon, tmp_path):
    copied(platoon / "bag", tmp_path / "field", StoragePlugin.SQLITE3)
    with pytest.raises(ConfigurationError, match="name its scenario with --scenario"):
        replay_into(tmp_path / "field", ["cacc1"])


def test_an_input_that_was_not_recorded_is_named(platoon, tmp_path):
    bag = tmp_path / "field"
    types = topic_types(platoon / "bag")
    with Writer(bag, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        writer.add_connection(
            CONTROL, types[CONTROL].type_name, msgdef=types[CONTROL].definition,
            rihs01="RIHS01_" + "0" * 64,
        )  # fmt: skip
    with pytest.raises(ConfigurationError, match="its input 'objects' reads /follower1/objects, "):
        replay_into(bag, ["cacc1"], scenario=platoon / "scenario.json")


NODE = """
import sys
import rclpy
from geometry_msgs.msg import AccelStamped

rclpy.init()
node = rclpy.create_node("answerer")
publisher = node.create_publisher(AccelStamped, "/answer", 100)


def answer(message):
    message.accel.linear.x *= float(sys.argv[1])
    publisher.publish(message)


node.create_subscription(AccelStamped, "/question", answer, 100)
rclpy.spin(node)
"""


def test_a_node_that_runs_gets_its_inputs_as_topics(tmp_path, ros_domain, nothing_left):
    """It answers as recorded, or otherwise."""
    accelerations = {"type": "geometry_msgs/msg/AccelStamped", "topic": "/question"}
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        yaml.safe_dump(
            {
                "name": "questions",
                "duration": "500ms",
                "participants": {
                    "asker": {
                        "model": "support.replay_models:Counter",
                        "period": "50ms",
                        "outputs": {"out": accelerations},
                    },
                    "answerer": {
                        "model": "support.replay_models:Echo",
                        "activation": {"any": ["text"]},
                        "inputs": {"text": "asker.out"},
                        "outputs": {"text": {**accelerations, "topic": "/answer"}},
                    },
                },
            }
        )
    )
    run_request(RunRequest(scenario, shape="inproc", out=tmp_path / "run"))
    (tmp_path / "node.py").write_text(NODE)
    for factor, code in (("1.0", 0), ("2.0", 3)):
        node = subprocess.Popen([sys.executable, str(tmp_path / "node.py"), factor])
        try:
            done = cosim(tmp_path / "run", "--into", "answerer", "--to-topics", "--json")
        finally:
            node.kill()
            node.wait()
        assert done.exit_code == code, done.stdout + done.stderr
        counts = json.loads(done.stdout)["counts"]["topics"]["/answer"]
        assert (counts["a"], counts["b"]) == (10, 10)
        # Nothing is nothing, also twice.
        assert counts["different"] == (9 if code else 0)


@pytest.mark.parametrize("make", [gate_scenarios.relay, gate_scenarios.fold])
def test_a_foreign_node_gets_what_was_recorded_in_exact_order(
    make, tmp_path, ros_domain, nothing_left, monkeypatch
):
    """It answers as the model in its place, at its own pace; a changed one differs first where
    it computes something else.
    """
    drop_dds_settings(monkeypatch)
    places = [gate_scenarios.ROOT, gate_scenarios.ROOT / "test", os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(str(place) for place in places if place))
    name = make.__name__
    model = {"model": f"support.gate_models:{name.capitalize()}"}
    recorded = make_scenario(make(model), name)
    run_request(RunRequest(recorded, shape="inproc", out=tmp_path / "run"))
    slow = {"slowest": 0.002} if name == "relay" else {}
    file = tmp_path / "node.yaml"
    file.write_text(yaml.safe_dump(make(ros_parameters=slow)))
    assert replay_into(tmp_path / "run", [name], tmp_path / "again", scenario=file).equal
    # What it leaves is a recording as others.
    assert find_recording(tmp_path / "again").scenario is not None
    assert read_all(tmp_path / "again") == read_all(tmp_path / "run")
    changed = tmp_path / f"{name}_node.py"
    source = (gate_scenarios.NODES / changed.name).read_text()
    assert source.count("* 0.75") == 1
    changed.write_text(source.replace("* 0.75", "* 0.5"))
    data = make()
    data["participants"][name]["parameters"]["script"] = str(changed)
    monkeypatch.setenv("PYTHONPATH", f"{gate_scenarios.NODES}:{os.environ['PYTHONPATH']}")
    file.write_text(yaml.safe_dump(data))
    found = replay_into(tmp_path / "run", [name], scenario=file)
    topic = "/sum" if name == "relay" else "/state"
    assert {each: count.different > 0 for each, count in found.messages.topics.items()} == {
        topic: True
    }
    # The first message adds to nothing.
    assert found.messages.first.number == (1 if name == "relay" else 0)


def read_all(run):
    return [(m.topic, m.stamp, m.data) for m in read_bag(run / "bag")]
