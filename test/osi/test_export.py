# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs written as OSI traces: files of runs, read back with the standard's own package."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.kernel.errors import ConfigurationError, CosimError
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.results import export_again
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.scenario_error import ScenarioError
from ros2_cosim.core.scenario.schema import Scenario, load_scenario
from ros2_cosim.lab.study.record import STUDY_FILE
from ros2_cosim.world.map.network import RoadNetwork

pytest.importorskip("osi3", reason="the extra 'osi' is not installed")

from mcap.reader import make_reader
from osi3.osi_groundtruth_pb2 import GroundTruth
from osi3.osi_sensordata_pb2 import SensorData
from osi3.osi_sensorview_pb2 import SensorView
from osi3trace.osi_trace import OSITrace

from ros2_cosim.driving.osi import messages
from ros2_cosim.driving.osi.export import OsiExport
from ros2_cosim.driving.osi.recorded import CATALOGUE, cast_of
from ros2_cosim.driving.osi.road import OsiRoad
from ros2_cosim.driving.osi.sources import OsiParameters
from ros2_cosim.driving.osi.trace_files import PROTOBUF

OSI = "bag.exports.osi={period: 100ms}"


def short(*changes: str, scenario: str = "config/platoon.yaml") -> Scenario:
    return load_scenario(share_file(scenario), ["duration=1s", *changes])


@pytest.fixture(scope="module")
def platoon(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A second of the platoon."""
    out = tmp_path_factory.mktemp("platoon")
    run_inproc(short(OSI), out)
    return out


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A second in the town, with traffic and lights."""
    out = tmp_path_factory.mktemp("town")
    run_inproc(short(OSI, "parameters.traffic=6", scenario="config/library/town.yaml"), out)
    return out


def trace(run: Path, kind: str, name: str = "") -> list[Any]:
    """All messages of a trace, by the package of the standard."""
    short_name = {"GroundTruth": "gt", "SensorView": "sv", "SensorData": "sd"}[kind]
    (path,) = (run / "osi").glob(f"*_{short_name}_*{name}.osi")
    found = list(OSITrace(str(path), kind))
    assert path.name.split("_")[4] == str(len(found))
    return found


def digests(run: Path) -> dict[str, str]:
    files = sorted((run / "osi").iterdir())
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_files_have_the_names_of_the_standard(platoon: Path) -> None:
    lead, versions = "19700101T000000Z", f"380_{PROTOBUF.replace('.', '')}"
    assert set(digests(platoon)) == {
        f"{lead}_gt_{versions}_10_platoon.osi",
        f"{lead}_sv_{versions}_25_platoon_sensor1.osi",
        f"{lead}_sv_{versions}_25_platoon_sensor2.osi",
        f"{lead}_sd_{versions}_25_platoon_sensor1.osi",
        f"{lead}_sd_{versions}_25_platoon_sensor2.osi",
        f"{lead}_multi_{versions}_25_platoon.mcap",
    }
    summary = json.loads((platoon / "summary.json").read_text())
    assert summary["versions"]["osi"] == "3.8.0"
    assert summary["versions"]["protobuf"] == PROTOBUF


def test_ground_truth_is_what_the_bag_has(platoon: Path) -> None:
    truths = trace(platoon, "GroundTruth")
    assert [messages.time_of(t.timestamp) for t in truths] == [n * 100_000_000 for n in range(10)]
    codec = CATALOGUE.codec("nav_msgs/msg/Odometry")
    seen = {
        (m.topic.split("/")[1], m.stamp): codec.decode(m.data)[2]
        for m in read_bag(platoon / "bag")
        if m.topic.endswith("/odometry")
    }
    names = {1: "leader", 2: "follower1", 3: "follower2"}
    for truth in truths:
        assert truth.version == messages.VERSION
        assert truth.host_vehicle_id.value == 2  # the first with a sensor
        assert {m.id.value for m in truth.moving_object} == set(names)
        for message in truth.moving_object:
            odometry = seen[names[message.id.value], messages.time_of(truth.timestamp)]
            back = messages.odometry_of(message)
            assert back[:3] == pytest.approx(odometry[:3], abs=1e-9)
            assert back[7:] == pytest.approx(odometry[7:], abs=1e-9)
            assert messages.form_of(message)[2:5] == pytest.approx((4.792, 2.163, 1.488), abs=2e-3)
        assert [item.id.value for item in truth.stationary_object] == [101, 102, 103]
        assert truth.map_reference == "highway.xodr"
        assert truth.proj_string.startswith("+proj=tmerc")
    assert [bool(truth.lane) for truth in truths] == [True] + [False] * 9


def test_each_sensor_tells_its_view_and_its_data(platoon: Path) -> None:
    for number, ego in ((1, 2), (2, 3)):
        views = trace(platoon, "SensorView", f"sensor{number}")
        data = trace(platoon, "SensorData", f"sensor{number}")
        assert len(views) == len(data) == 25
        for view, found in zip(views, data, strict=True):
            assert view.sensor_id.value == found.sensor_id.value == number
            assert view.timestamp == found.timestamp == found.last_measurement_time
            assert view.global_ground_truth.timestamp == view.timestamp
            assert view.host_vehicle_id.value == ego
            assert view.global_ground_truth.host_vehicle_id.value == ego
            assert view.mounting_position == found.mounting_position
            # The vehicle ahead, 21.8 m less a length ahead of the sensor's frame at the bumper.
            (item,) = [m for m in found.moving_object if m.header.tracking_id.value == ego - 1]
            truth = {m.id.value: m for m in view.global_ground_truth.moving_object}
            centre = truth[ego - 1].base.position.x - truth[ego].base.position.x
            assert item.base.position.x == pytest.approx(centre - 0.5 * 4.792, abs=0.3)


def test_the_file_of_all_channels_says_what_the_standard_demands(platoon: Path) -> None:
    (path,) = (platoon / "osi").glob("*.mcap")
    kinds = {"GroundTruth": GroundTruth, "SensorView": SensorView, "SensorData": SensorData}
    with path.open("rb") as file:
        reader = make_reader(file)
        summary = reader.get_summary()
        (record,) = [m for m in reader.iter_metadata() if m.name == "net.asam.osi.trace"]
        assert record.metadata["version"] == record.metadata["min_osi_version"] == "3.8.0"
        assert record.metadata["max_osi_version"] == "3.8.0"
        assert record.metadata["min_protobuf_version"] == PROTOBUF
        assert record.metadata["max_protobuf_version"] == PROTOBUF
        assert summary is not None and summary.chunk_indexes
        schemas = {s.name for s in summary.schemas.values()}
        assert schemas == {f"osi3.{kind}" for kind in kinds}
        found: dict[str, list[bytes]] = {}
        for schema, channel, message in reader.iter_messages(log_time_order=False):
            assert schema is not None and schema.encoding == channel.message_encoding == "protobuf"
            mark = "net.asam.osi.trace.channel."
            assert channel.metadata[f"{mark}osi_version"] == "3.8.0"
            assert channel.metadata[f"{mark}protobuf_version"] == PROTOBUF
            parsed = kinds[schema.name.removeprefix("osi3.")].FromString(message.data)
            assert messages.time_of(parsed.timestamp) == message.log_time == message.publish_time
            found.setdefault(channel.topic, []).append(message.data)
    single = [m.SerializeToString(deterministic=True) for m in trace(platoon, "GroundTruth")]
    assert found["GroundTruth"] == single
    assert set(found) == {
        "GroundTruth",
        *(f"sensor{n}/{kind}" for n in (1, 2) for kind in ("SensorView", "SensorData")),
    }


def test_an_old_run_is_exported_to_the_same_bytes(platoon: Path, tmp_path: Path) -> None:
    run_inproc(short(), tmp_path)
    assert not (tmp_path / "osi").exists()
    assert "osi" not in json.loads((tmp_path / "summary.json").read_text())["versions"]
    trace_of = "trace_sha256"
    plain = json.loads((tmp_path / "summary.json").read_text())[trace_of]
    assert plain == json.loads((platoon / "summary.json").read_text())[trace_of]
    export_again(tmp_path, ["osi"])
    times = [messages.time_of(t.timestamp) for t in trace(tmp_path, "GroundTruth")]
    assert times == [n * 50_000_000 for n in range(20)]
    (tmp_path / "scenario.json").write_bytes((platoon / "scenario.json").read_bytes())
    export_again(tmp_path, [])
    assert digests(tmp_path) == digests(platoon)


def test_a_run_that_fails_leaves_what_was_recorded(tmp_path: Path) -> None:
    law = tmp_path / "law.py"
    law.write_text(
        "class Fails:\n"
        "    def __init__(self):\n        self.looks = 0\n"
        "    def acceleration(self, m):\n"
        "        self.looks += 1\n"
        "        if self.looks > 12:\n            raise RuntimeError('no more')\n"
        "        return 0.0\n"
    )
    fails = f"participants.cacc1.parameters.law={law}:Fails"
    scenario = short(OSI, fails, "participants.cacc1.parameters.law_parameters={}")
    with pytest.raises(CosimError, match="no more"):
        run_inproc(scenario, tmp_path / "out")
    truths = trace(tmp_path / "out", "GroundTruth")
    assert len(truths) >= 4 and len(truths[-1].moving_object) == 3
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["complete"] is False and summary["versions"]["osi"] == "3.8.0"


def test_traffic_and_lights_of_the_town(town: Path) -> None:
    truths = trace(town, "GroundTruth")
    first, last = truths[0], truths[-1]
    numbers = {m.id.value for m in last.moving_object}
    assert {1, 2, 3} < numbers and len(numbers) == 9 and max(numbers) > 1000
    lanes = {lane.id.value for lane in first.lane}
    for message in last.moving_object:
        assigned = {i.value for i in message.moving_object_classification.assigned_lane_id}
        assert assigned and assigned <= lanes
    ids = [
        m.id.value
        for group in (
            first.lane, first.lane_boundary, first.traffic_light, first.traffic_sign,
            first.moving_object, first.stationary_object,
        )
        for m in group
    ]  # fmt: skip
    assert len(ids) == len(set(ids))
    # Of three bulbs one is lit; and lights that vehicles see show the same.
    shown = [m.classification.mode == m.classification.MODE_CONSTANT for m in last.traffic_light]
    assert [sum(shown[i : i + 3]) for i in range(0, len(shown), 3)] == [1] * (len(shown) // 3)
    assert {
        lane.value for m in first.traffic_light for lane in m.classification.assigned_lane_id
    } <= lanes
    speed = [m.main_sign.classification for m in first.traffic_sign]
    assert any(
        kind.value.value == 50.0 for kind in speed if kind.type == kind.TYPE_SPEED_LIMIT_BEGIN
    )


def test_phases_of_lights_are_those_that_vehicles_saw(town: Path) -> None:
    from ros2_cosim.core.scene.simulator import SETTLE_TICKS
    from ros2_cosim.world.map.traffic_lights import LightPhases

    export = OsiExport(load_scenario(town / "scenario.json"), OsiParameters(), "osi")
    cast = cast_of(export.subject)
    assert cast.network is not None and cast.step_ns is not None
    phases = LightPhases(cast.network, cast.step_ns)
    codec = CATALOGUE.codec("ros2_cosim/msg/TrafficLightAhead")
    seen = 0
    for message in read_bag(town / "bag"):
        if message.type_name == codec.type_name:
            ahead = codec.decode(message.data)[2]
            if ahead.light:
                states = phases.states(SETTLE_TICKS + message.stamp // cast.step_ns)
                assert states[ahead.light - 1] == ahead.state
                seen += 1
    assert seen > 100


@pytest.mark.parametrize("name", ["town", "highway", "circuit"])
def test_lines_of_a_map_are_on_its_road(name: str) -> None:
    """Every point, and the middle between two, is within OSI's 5 cm of the lane's centre line."""
    network = RoadNetwork.from_file(share_file(f"config/{name}.xodr"))
    truth = GroundTruth()
    OsiRoad(network, name, lit=True).describe(truth)
    boundaries = {b.id.value: b for b in truth.lane_boundary}
    checked = 0
    for lane in truth.lane:
        kind = lane.classification
        if kind.type != kind.TYPE_DRIVING:
            assert not kind.centerline
            continue
        road, _, lane_id = lane.source_reference[0].identifier
        assert kind.centerline_is_driving_direction == (int(lane_id) < 0)
        line = kind.centerline
        for a, b in list(zip(line, line[1:], strict=False))[:: 7 if name == "town" else 1]:
            x, y = 0.5 * (a.x + b.x), 0.5 * (a.y + b.y)
            place = network.project(x, y, z=0.5 * (a.z + b.z))
            if place.road_id != int(road):
                continue
            off = place.t - network.lane_centre(int(road), int(lane_id), place.s)
            assert abs(off) < 0.05
            checked += 1
        for side in (kind.left_lane_boundary_id, kind.right_lane_boundary_id):
            assert side and all(number.value in boundaries for number in side)
            first = boundaries[side[0].value].boundary_line[0].position
            half = math.hypot(first.x - line[0].x, first.y - line[0].y)
            assert 1.0 < half < 3.0
    assert checked > 30


def test_lanes_name_their_neighbours_and_what_follows() -> None:
    network = RoadNetwork.from_file(share_file("config/town.xodr"))
    truth = GroundTruth()
    OsiRoad(network, "town", lit=True).describe(truth)
    lanes = {lane.id.value: lane.classification for lane in truth.lane}
    paired = 0
    for number, lane in lanes.items():
        for other in lane.right_adjacent_lane_id:
            assert number in {n.value for n in lanes[other.value].left_adjacent_lane_id}
        for pair in lane.lane_pairing:
            paired += 1
            for each in (pair.antecessor_lane_id, pair.successor_lane_id):
                assert not each.HasField("value") or each.value in lanes
        if lane.type == lane.TYPE_INTERSECTION:
            assert lane.lane_pairing and lane.free_lane_boundary_id
    assert paired > 200


def test_only_outermost_lanes_have_no_neighbour_and_only_junctions_free_boundaries() -> None:
    """What ASAM's osi-validation finds more, it wants of what a road does not have.

    Any lane beyond the outermost one would be the outermost one: of the lanes beside each other one
    has nothing to its left, and one nothing to its right. Free boundaries are those without a side,
    and "Lane with type TYPE_INTERSECTION use only free lane boundaries" (osi_lane.proto, 3.8.0).
    """
    truth = GroundTruth()
    OsiRoad(RoadNetwork.from_file(share_file("config/town.xodr")), "town", lit=True).describe(truth)
    sections: dict[tuple[str, ...], list[Any]] = {}
    for lane in truth.lane:
        kind = lane.classification
        sides = kind.left_lane_boundary_id, kind.right_lane_boundary_id
        if kind.type == kind.TYPE_INTERSECTION:
            assert kind.free_lane_boundary_id and not any(sides)
        else:
            assert all(sides) and not kind.free_lane_boundary_id
            sections.setdefault(tuple(lane.source_reference[0].identifier[:2]), []).append(kind)
    assert len(sections) > 30
    for kinds in sections.values():
        assert sum(not kind.left_adjacent_lane_id for kind in kinds) == 1
        assert sum(not kind.right_adjacent_lane_id for kind in kinds) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("bag.exports.osi={periodic: 1s}", "bag.exports.osi.periodic"),
        (
            "bag.exports.osi={host: nobody}",
            "bag.exports.osi.host: found 'nobody'; allowed are leader",
        ),
        ("bag.exports.osi={period: 5}", "bag.exports.osi.period"),
        ("bag.exports={osy: {}}", "bag.exports.osy: found 'osy'; did you mean 'osi'"),
        ("bag={exports: {osi: {}}, exclude: [/leader/*]}", "found a bag without /leader/odometry"),
    ],
)
def test_what_is_wrong_is_said_before_the_run(change: str, said: str) -> None:
    with pytest.raises((ScenarioError, ConfigurationError)) as found:
        check_scenario(short(change))
    assert said in str(found.value)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "ros2_cosim.core.documents.extras.find_spec", lambda name: None if name == "osi3" else 1
    )
    with pytest.raises((ScenarioError, ConfigurationError), match="osi3.*EXTRAS=osi"):
        check_scenario(short("bag.exports.osi={}"))


def test_the_command_exports_a_run_and_refuses_a_study(platoon: Path, tmp_path: Path) -> None:
    run_inproc(short(), tmp_path / "run")
    done = CliRunner().invoke(app, ["report", str(tmp_path / "run"), "--export", "osi"])
    assert done.exit_code == 0, done.output
    assert len(digests(tmp_path / "run")) == 6
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / STUDY_FILE).write_text("{}")
    done = CliRunner().invoke(app, ["report", str(tmp_path / "study"), "--export", "osi"])
    assert done.exit_code == 1 and "found with a study; allowed is a run" in done.stderr
