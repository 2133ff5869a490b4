# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Fuzz targets of files: scenarios, roads, bags, and what runs leave behind."""

from __future__ import annotations

import io
import json
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from bench.fuzz.dcp_targets import CONFIG
from bench.fuzz.target import Target, as_file, expect, joined, pieces
from ros2_cosim.cli.diff_text import print_comparison
from ros2_cosim.core.kernel.errors import ConfigurationError, ProtocolError, RunError
from ros2_cosim.core.kernel.loading import data_only
from ros2_cosim.core.messages import catalogue
from ros2_cosim.core.messages.records import ControlCommand, Odometry
from ros2_cosim.core.realtime.arrivals import read_arrivals, write_arrivals
from ros2_cosim.core.realtime.rules import read_values, write_values
from ros2_cosim.core.record.bag import BagWriter
from ros2_cosim.core.record.bag_metadata import BagTopic
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.record.comparison import Rules
from ros2_cosim.core.record.recovery import recover
from ros2_cosim.core.record.results import load_activations
from ros2_cosim.core.record.run_comparison import compare_recordings
from ros2_cosim.core.record.summary import read_summary
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.lab.report.comparison_report import write_page
from ros2_cosim.lab.study.record import read_study
from ros2_cosim.vds.replay import replay
from ros2_cosim.world.map import RoadError, RoadNetwork

_SHAPES = ("inproc", "ros")


def _read_scenario(data: bytes) -> None:
    """A stranger's scenario: YAML, or JSON if it begins so; no model is made."""
    name = "scenario.json" if data[:1] == b"{" else "scenario.yaml"
    with as_file(data, name) as path, warnings.catch_warnings(), data_only():
        warnings.simplefilter("ignore")
        scenario = load_scenario(path)
        for shape in _SHAPES:
            check_scenario(scenario, shape)


def _scenario_seeds() -> Iterator[bytes]:
    yield (CONFIG / "car_following.yaml").read_bytes()
    yield b"""name: s
duration: 1s
seed: 3
watchdog_s: 5
participants:
  a:
    model: car_following_traffic
    period: 20ms
    offset: 1ms
    parameters: {lead_speed: 20.0}
    outputs:
      state: {topic: /a/state, type: nav_msgs/msg/Odometry, latency: {normal: [5ms, 1ms]}}
  b:
    model: foreign_node
    activation: all(x, y) or any(z)
    inputs: {x: a.state, y: {from: [a.state], delayed: true}}
    enter: 100ms
    leave: 500ms
    overrun: {policy: skip}

"""
    yield json.dumps(
        {
            "name": "s",
            "duration": "1s",
            "participants": {"m": {"model": "dcp_master", "period": "10ms", "parameters": {
                "slaves": {"a": {"description": "a.dcpx", "port": 8080}}, "outputs": {}}}},
        }
    ).encode()  # fmt: skip


def _read_xosc(data: bytes) -> None:
    """A stranger's OpenSCENARIO file, with the map that it names."""
    with as_file(data, "scenario.xosc") as path, warnings.catch_warnings(), data_only():
        warnings.simplefilter("ignore")
        check_scenario(load_scenario(path), "inproc")


def _xosc_seeds() -> Iterator[bytes]:
    """Without the example's catalogue, which lies beside it."""
    text = (CONFIG / "openscenario" / "overtaking.xosc").read_text(encoding="utf-8")
    text = text.replace("../highway.xodr", str(CONFIG / "circuit.xodr"))
    text = text.replace('path="catalogs"', f'path="{CONFIG / "openscenario" / "catalogs"}"')
    yield text.encode()
    yield f"""<OpenSCENARIO><FileHeader revMajor="1"/><ParameterDeclarations><ParameterDeclaration
 name="v" value="20"/></ParameterDeclarations><RoadNetwork><LogicFile filepath="{CONFIG}/\
circuit.xodr"/></RoadNetwork><Entities><ScenarioObject name="A"><Vehicle vehicleCategory="car">
<BoundingBox><Center x="1"/><Dimensions length="4" width="2"/></BoundingBox></Vehicle>
</ScenarioObject></Entities><Storyboard><Init><Actions><Private entityRef="A"><PrivateAction>
<TeleportAction><Position><LanePosition roadId="1" laneId="-1" s="${{$v * 2}}"/></Position>
</TeleportAction></PrivateAction><PrivateAction><LongitudinalAction><SpeedAction>
<SpeedActionDynamics dynamicsShape="step" value="0"/><SpeedActionTarget><AbsoluteTargetSpeed
 value="$v"/></SpeedActionTarget></SpeedAction></LongitudinalAction></PrivateAction></Private>
</Actions></Init><StopTrigger><ConditionGroup><Condition><ByValueCondition>
<SimulationTimeCondition rule="greaterThan" value="5"/></ByValueCondition></Condition>
</ConditionGroup></StopTrigger></Storyboard></OpenSCENARIO>""".encode()


def _read_ssd(data: bytes) -> None:
    """A foreign system of FMUs; one FMU is a file beside it."""
    with as_file(data, "system.ssd") as path, warnings.catch_warnings(), data_only():
        warnings.simplefilter("ignore")
        (path.parent / "a.c").write_text(
            "int k = 1;\ndouble y(double u /* [m] */) { return k * u; }"
        )
        load_scenario(path)


def _ssd_seeds() -> Iterator[bytes]:
    """A nested system and its values; of version 2.0, for which there is no schema here."""
    space = "http://ssp-standard.org/SSP1/SystemStructure"
    yield f"""<d:SystemStructureDescription xmlns:c="{space}Common" xmlns:d="{space}Description"
 xmlns:m="{space}ParameterMapping" xmlns:v="{space}ParameterValues" name="s" version="2.0">
<d:System name="s"><d:Connectors><d:Connector name="k" kind="parameter"/></d:Connectors>
<d:ParameterBindings><d:ParameterBinding prefix="p"><d:ParameterValues><v:ParameterSet name="v"
 version="2.0"><v:Parameters><v:Parameter name="k"><v:Float64 value="2" unit="cm"/></v:Parameter>
</v:Parameters></v:ParameterSet></d:ParameterValues><d:ParameterMapping><m:ParameterMapping
 version="2.0"><m:MappingEntry source="pk" target="k"><c:LinearTransformation factor="2"/>
</m:MappingEntry></m:ParameterMapping></d:ParameterMapping></d:ParameterBinding>
</d:ParameterBindings><d:Elements><d:Component name="a" source="a.c"><d:Connectors><d:Connector
 name="u" kind="input"><c:Real unit="cm"/></d:Connector><d:Connector name="y" kind="output"/>
<d:Connector name="k" kind="parameter"/></d:Connectors></d:Component></d:Elements><d:Connections>
<d:Connection startElement="a" startConnector="y" endElement="a" endConnector="u">
<c:IntegerMappingTransformation><c:MapEntry source="1" target="2"/></c:IntegerMappingTransformation>
</d:Connection><d:Connection startConnector="k" endElement="a" endConnector="k"/></d:Connections>
</d:System><d:Units><c:Unit name="cm"><c:BaseUnit m="1" factor="0.01"/></c:Unit></d:Units>
<d:DefaultExperiment stopTime="1"/></d:SystemStructureDescription>""".encode()


def _read_road(data: bytes) -> None:
    """Whatever is read can be driven on."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    network = RoadNetwork.from_xodr(text)
    for road in list(network.roads)[:8]:
        length = network.length(road)
        for s in (0.0, length / 3.0, length):
            x, y, _, _ = network.pose(road, s, 1.0)
            network.project(x, y)
            for lane in network.lane_ids(road, s)[:4]:
                network.lane_borders(road, lane, s)
        for lane in network.lane_ids(road, 0.0)[:2]:
            network.centre_line(road, lane, 50.0)


def _road_seeds() -> Iterator[bytes]:
    yield (CONFIG / "circuit.xodr").read_bytes()
    yield b"""<OpenDRIVE><header revMajor="1" revMinor="6"><geoReference>+proj=tmerc +lat_0=49 \
+lon_0=8</geoReference></header><road id="1" length="30" junction="-1"><link/>
<type s="0" type="motorway"><speed max="100" unit="km/h"/></type>
<planView><geometry s="0" x="0" y="0" hdg="0" length="10"><line/></geometry>
<geometry s="10" x="10" y="0" hdg="0" length="10">
<spiral curvStart="0" curvEnd="0.01"/></geometry>
<geometry s="20" x="19.9975" y="0.1666" hdg="0.05" length="10">
<paramPoly3 aU="0" bU="1" cU="0" dU="0"
 aV="0" bV="0" cV="0" dV="0" pRange="arcLength"/></geometry></planView>
<elevationProfile><elevation s="0" a="1" b="0.1" c="0" d="0"/></elevationProfile>
<lanes><laneOffset s="0" a="0.5" b="0" c="0" d="0"/><laneSection s="0"><left><lane id="1"
 type="driving"><width sOffset="0" a="3" b="0" c="0" d="0"/></lane></left><center><lane id="0"
 type="none"/></center><right><lane id="-1" type="driving"><link/><width sOffset="0" a="3" b="0.1"
 c="0" d="0"/></lane></right></laneSection></lanes></road></OpenDRIVE>"""


def _write_bag(bag: Path) -> None:
    types = {"/odometry": Odometry(*[0.5] * 13), "/control": ControlCommand(1.0, 0.5, 0.0, 0.1)}
    topics = [BagTopic(topic, catalogue.type_name(type(r))) for topic, r in types.items()]
    with BagWriter(bag, topics, custom_data={"seed": "1"}) as writer:
        for seq in range(4):
            for topic, record in types.items():
                codec = catalogue.codec(catalogue.type_name(type(record)), frame_id="map")
                stamp = 700_000_000 * seq
                writer.write(topic, stamp, seq, codec.encode(stamp, seq, record))


def _bag_bytes(make: Callable[[Path], None]) -> tuple[bytes, bytes]:
    """Storage and metadata of a bag."""
    with tempfile.TemporaryDirectory() as directory:
        bag = Path(directory) / "bag"
        make(bag)
        (storage,) = bag.glob("*.mcap")
        return storage.read_bytes(), (bag / "metadata.yaml").read_bytes()


_METADATA = _bag_bytes(_write_bag)[1]


def _read_bag(data: bytes) -> None:
    """A storage file as the bag of a run that was killed, then as a complete one."""
    with as_file(data, "bag_0.mcap") as path:
        bag = path.parent / "bag"
        bag.mkdir()
        storage = path.rename(bag / "bag_0.mcap")
        refusal: ConfigurationError | ProtocolError | None = None
        try:
            count = recover(bag)
        except (ConfigurationError, ProtocolError) as error:
            refusal = error
        else:
            expect(sum(1 for _ in read_bag(bag)) == count, "recovered, a bag has other messages")
        storage.write_bytes(data)
        (bag / "metadata.yaml").write_bytes(_METADATA)
        for _ in read_bag(bag):
            pass
        if refusal is not None:
            raise refusal


def _bag_seeds() -> Iterator[bytes]:
    own = _bag_bytes(_write_bag)[0]
    yield own
    yield own[: len(own) // 2]


def foreign_bag(compression: str) -> Callable[[Path], None]:
    """Writes a bag with the library that reads those of others, of four messages."""

    def make(bag: Path) -> None:
        from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
        from rosbags.typesys import Stores, get_typestore

        store = get_typestore(Stores.ROS2_JAZZY)
        writer = Writer(bag, version=9, storage_plugin=StoragePlugin.MCAP)
        if compression:
            writer.set_compression(CompressionMode.STORAGE, CompressionFormat[compression])
        text = store.types["std_msgs/msg/String"]
        with writer:
            connection = writer.add_connection("/text", "std_msgs/msg/String", typestore=store)
            for stamp in range(4):
                writer.write(
                    connection, stamp, store.serialize_cdr(text("x" * 40), "std_msgs/msg/String")
                )

    return make


def _read_foreign_bag(data: bytes) -> None:
    """A storage file of another library."""
    with as_file(data, "bag_0.mcap") as path:
        bag = path.parent / "bag"
        bag.mkdir()
        path.rename(bag / "bag_0.mcap")
        (bag / "metadata.yaml").write_bytes(_METADATA)
        for _ in read_bag(bag):
            pass


def _foreign_bag_seeds() -> Iterator[bytes]:
    for compression in ("", "ZSTD"):
        yield _bag_bytes(foreign_bag(compression))[0]


_MIX = b"""builtin_interfaces/Time stamp
x_msgs/Part[<=3] parts
float32[2] w
string name
================================================================================
MSG: x_msgs/Part
bool on
uint8[] raw
string wide
================================================================================
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""
_MIXED = bytes.fromhex(
    "00010000 01000000 02000000 01000000 01000000 03000000 01020300 03000000 61620000"
    "0000803f 0000c0ff 03000000 616200"
)


def _mixed_bag(bag: Path, definition: str, messages: Iterable[bytes]) -> None:
    """A bag of another library with a type of others."""
    from rosbags.rosbag2 import StoragePlugin, Writer

    writer = Writer(bag, version=9, storage_plugin=StoragePlugin.MCAP)
    with writer:
        connection = writer.add_connection(
            "/mix", "x_msgs/msg/Mix", msgdef=definition, rihs01="RIHS01_0"
        )
        for stamp, message in enumerate(messages):
            writer.write(connection, 1_000_000 * (stamp // 2), message)


def _read_diff(data: bytes) -> None:
    """Two bags for ``cosim diff``: a type, a field that is ignored, and messages in pieces."""
    head, rule, *messages = [*pieces(data), b"", b""]
    definition = (_MIX if head == b"=" else head).decode(errors="replace")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as directory:
        a, b, page = (Path(directory) / name for name in ("a", "b", "page.html"))
        _mixed_bag(a, _MIX.decode(), [_MIXED] * 3)
        _mixed_bag(b, definition, messages)
        # The user's own words, not those of a stranger.
        words = "".join(filter(str.isprintable, rule.decode(errors="replace")))
        rules = Rules([f"/mix.{words}"] if words else [])
        found = compare_recordings(a, b, rules)
        json.dumps(found.data(), allow_nan=False)
        with redirect_stdout(io.StringIO()):
            print_comparison(found)
        write_page(found, page)
        same = compare_recordings(b, b)
        expect(same.equal, "a bag differs from itself", same.data())


def _diff_seeds() -> Iterator[bytes]:
    other = _MIXED[:-8] + _MIXED[-4:]
    yield joined([b"=", b"", _MIXED, _MIXED[:12] + b"\x01" + _MIXED[13:], _MIXED])
    yield joined([b"=", b"parts[0].raw", _MIXED, other, _MIXED + b"\0"])
    yield joined([b"float64 x\nint8 K=3\nchar[<=4] c", b"w[1]", _MIXED])


def _read_results(data: bytes) -> None:
    """A JSON file of a run or a study, whichever it is taken for."""
    refusals: list[ConfigurationError] = []
    with as_file(data, "file.json") as path:
        for name in ("summary.json", "study.json", "tracks.json"):
            (path.parent / name).write_bytes(data)
        readers: tuple[Callable[[], Any], ...] = (
            lambda: read_arrivals(path),
            lambda: read_values(path, "a"),
            lambda: load_activations(path),
            lambda: read_summary(path.parent),
            lambda: read_study(path.parent),
        )
        for reader in readers:
            try:
                reader()
            except ConfigurationError as error:
                refusals.append(error)
    for refusal in refusals:
        expect(str(refusal).isprintable(), "no line", str(refusal))
    if len(refusals) == len(readers):
        raise refusals[0]


def _result_seeds() -> Iterator[bytes]:
    with tempfile.TemporaryDirectory() as directory:
        yield write_arrivals(Path(directory), {"a": [(5, 0), (10, 2)]}).read_bytes()
        values = {"a": {"state.x": ([0, 10, 20], [1.0, 2.0, 2.5])}}
        yield write_values(Path(directory), values).read_bytes()
    yield b'{"a": [0, 10, 20], "b": [5]}'
    yield json.dumps(
        {
            "scenario": "s", "shape": "inproc", "simulator": "headless", "seed": 1, "steps": 2,
            "sim_time_s": 1.0, "wall_time_s": 1.0, "startup_time_s": 0.1, "rtf": 1.0,
            "end_reason": "duration", "trace_sha256": "0" * 64, "repeatable": True,
            "causality": {"timing": 0, "order": 0, "loss": 0},
            "participants": [{"name": "a", "activations": 2, "compute_s": 0.1, "wait_s": 0.0,
                              "transport_s": 0.0}],
            "breakdown": {"compute_s": 0.1, "wait_s": 0.0, "transport_s": 0.0},
            "verdicts": [{"name": "v", "value": 1.0, "limit": 2.0, "passed": True}],
            "versions": {"ros2_cosim": "0"}, "min_gap_m": 2.0,
        }
    ).encode()  # fmt: skip
    yield json.dumps(
        {"scenario": "s", "seed": 1, "duration_s": 1.0, "complete": True,
         "reference_trace_sha256": "0" * 64, "together": 0.0, "runs": []}
    ).encode()  # fmt: skip


def _read_vds_record(data: bytes) -> None:
    """A recorded session of the vehicle simulator; long ones are cut, they only take longer."""
    ticks = 0

    def count(outputs: Any) -> None:
        nonlocal ticks
        ticks += 1
        if ticks > 200:
            raise ConfigurationError("long enough")

    with as_file(data, "record.jsonl") as path:
        replay(path, count)


def _vds_record_seeds() -> Iterator[bytes]:
    yield b"""{"vds_scenario": 1, "vehicles": {"a": {"speed": 5.0}}}
{"at": "10ms", "vehicle": "a", "steer": 0.1, "throttle": 0.5, "brake": 0.0, "gear": 1}
{"end": "30ms"}
"""


TARGETS = (
    Target(
        "scenario",
        _read_scenario,
        _scenario_seeds,
        (ConfigurationError,),
        words=(b"<<: *a", b"&a ", b"*a", b"!!float ", b"!!python/name:os.system", b"null", b".inf",
               b"activation: ", b"latency: ", b"inputs: ", b"outputs: ", b"delayed: true", b"0x",
               b"hosting: ", b"coupling: ", b"estimate: ", b"external: ", b"simulator: ", b"1e3"),
    ),
    Target(
        "opendrive",
        _read_road,
        _road_seeds,
        (RoadError,),
        words=(b"NaN", b"1e999", b"<arc curvature=", b"normalized", b"predecessor", b"successor",
               b"elementType=", b"contactPoint=", b"<laneSection s=", b"<elevation s="),
    ),
    Target(
        "xosc",
        _read_xosc,
        _xosc_seeds,
        (ConfigurationError,),
        words=(b"${", b"pow(9,9)", b"$v", b"1e999", b"entityRef=", b"<Story>", b"<Act>", b"<Event>",
               b"<CatalogReference/>", b"<!DOCTYPE a>", b"maximumExecutionCount=",
               b"<LaneChangeAction/>", b"<ByEntityCondition/>", b"<RelativeLanePosition/>"),
        longest=16384,
    ),
    Target(
        "ssd",
        _read_ssd,
        _ssd_seeds,
        (ConfigurationError,),
        words=(b"1e999", b"NaN", b'="1.0"', b"source=", b'kind="inout"', b"<d:System ", b"inf",
               b"<d:SignalDictionaryReference ", b"<c:Enumeration ", b"stopTime=", b"suppress",
               b"<d:Dimension/>"),
        longest=16384,
    ),
    Target("bag", _read_bag, _bag_seeds, (ConfigurationError, ProtocolError), longest=16384),
    Target(
        "foreign_bag",
        _read_foreign_bag,
        _foreign_bag_seeds,
        (ConfigurationError, ProtocolError),
        words=(b"zstd", b"lz4", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18"),
        longest=16384,
    ),
    Target(
        "diff",
        _read_diff,
        _diff_seeds,
        (ConfigurationError, ProtocolError),
        words=(b"\x01=", b"x_msgs/Part[] ", b"string<=5 ", b"float64[3] ", b"wstring ",
               b"int64 K=1", b"parts[*].on", b"\xff\xff\xff\x7f", b"\0\0\xc0\x7f", b"MSG: "),
        longest=1024,
    ),
    Target(
        "results",
        _read_results,
        _result_seeds,
        (ConfigurationError,),
        words=(b'"format": ', b"NaN", b"1e999", b"-0", b"null", b"[[", b'"realtime": {}'),
    ),
    Target(
        "vds_record",
        _read_vds_record,
        _vds_record_seeds,
        (ConfigurationError, RunError),
        longest=1024,
    ),
)  # fmt: skip
