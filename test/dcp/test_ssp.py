# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Systems of FMUs (SSP): as scenarios, written from scenarios, refused where they go too far."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from fmpy.ssp.simulation import simulate_ssp
from hypothesis import given
from hypothesis import strategies as st
from support.fmu_builder import build_fmu
from support.ssp_files import SPACES, SSD, SSM, SSV, build_fmus, packed, run
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.dcp.ssp.conversions import Conversion, between
from ros2_cosim.dcp.ssp.export import export_ssp
from ros2_cosim.dcp.standard.slave_description import Unit

STEP = 0.01
NUMBERS = st.integers(-1000, 1000).map(float)
TABLES = st.dictionaries(st.integers(-3, 3), st.integers(-3, 3), max_size=4)


@pytest.fixture(scope="module")
def fmus(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    return build_fmus(tmp_path_factory.mktemp("fmus"))


def test_a_system_runs_with_the_bits_of_its_equations(
    fmus: Mapping[str, bytes], tmp_path: Path
) -> None:
    _, found = run(packed(tmp_path / "demo.ssp", fmus), tmp_path / "out")
    v = s = sent = 0.0
    fast, speeds, forces, levels = 0, [0.0], [0.0], [0]
    for _ in range(50):
        # Each with what the others had before the step.
        force, lit, seen = 0.5 * sent + 0.25, not fast, v * 4.0
        v += force / 3.0 * STEP
        s += v * STEP
        sent, fast = 4.0 * (3.0 - seen / 4.0), int(seen > 2.0)
        speeds.append(v)
        forces.append(sent)
        levels.append(13 if lit else 3)
    assert found["/plant/speed"] == speeds
    assert found["/plant/position"][-1] == s
    assert found["/drive_control/force"] == forces
    assert found["/lamp/level"] == levels
    assert set(levels[1:]) == {3, 13}


def test_it_goes_out_and_comes_back_with_the_same_trace(
    fmus: Mapping[str, bytes], tmp_path: Path
) -> None:
    first = packed(tmp_path / "demo.ssp", fmus)
    again = tmp_path / "again.ssp"
    result = CliRunner().invoke(
        app, ["fmu", str(first), "--out", str(again), "--set", "ssp.period=20ms"]
    )
    assert (result.exit_code, result.stdout.strip()) == (0, str(again)), result.output
    changed = tmp_path / "changed.yaml"
    changed.write_text(
        yaml.safe_dump({"name": "demo", "ssp": {"file": "demo.ssp", "period": "20ms"}})
    )
    assert run(again, tmp_path / "b")[0] == run(changed, tmp_path / "a")[0]


def test_another_tool_gives_the_bits_of_a_scenario(
    fmus: Mapping[str, bytes], tmp_path: Path
) -> None:
    for name in ("plant", "control"):
        (tmp_path / f"{name}.fmu").write_bytes(fmus[f"resources/{name}.fmu"])
    scenario = tmp_path / "hand.yaml"
    scenario.write_text(HAND)
    trace, found = run(scenario, tmp_path / "here")
    written = export_ssp(scenario, tmp_path / "hand.ssp")
    rows = simulate_ssp(str(written), stop_time=0.495, step_size=STEP)
    for connector in ("plant.speed", "plant.position", "controller.force"):
        assert [float(x) for x in rows[connector]] == found["/" + connector.replace(".", "/")][1:]
    assert found["/plant/speed"][-1] > 0.3
    back = run(written, tmp_path / "back")[1]
    assert {topic: back[topic] for topic in found} == found
    # What comes from an SSP comes back whole.
    again = export_ssp(written, tmp_path / "again.ssp")
    assert run(again, tmp_path / "c")[0] == run(written, tmp_path / "d")[0] != trace


HAND = """
name: hand
duration: 510ms
participants:
  plant:
    model: dcp_master
    period: 10ms
    parameters:
      slaves: {car: {fmu: plant.fmu}}
      inputs: {force: {car.force: data}}
      outputs: {speed: {fields: {data: car.speed}}, place: {fields: {data: car.position}}}
    inputs: {force: {from: controller.force, delayed: true}}
    outputs:
      speed: {type: std_msgs/msg/Float64, topic: /plant/speed}
      place: {type: std_msgs/msg/Float64, topic: /plant/position}
  controller:
    model: dcp_master
    period: 10ms
    parameters:
      slaves: {law: {fmu: control.fmu}}
      inputs: {speed: {law.speed: data}}
      outputs: {force: {fields: {data: law.force}}}
    inputs: {speed: {from: plant.speed, delayed: true}}
    outputs: {force: {type: std_msgs/msg/Float64, topic: /controller/force}}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("delayed: true", "delayed: false", "allowed is delayed: true"),
        (
            "duration: 510ms",
            "duration: 510ms\nfaults: {f: {kind: drop, on: plant.speed}}",
            "faults",
        ),
        ("period: 10ms", "period: 20ms", "step: found 1/100 s; an SSP has one step size"),
        ("{fmu: plant.fmu}", "{fmu: plant.fmu, every: 2}", "car.every: an SSP cannot say this"),
        ("{data: car.speed}", "{data: 1.0}", "no variable is in this field"),
    ],
)
def test_what_an_ssp_cannot_say_is_refused(
    old: str, new: str, message: str, fmus: Mapping[str, bytes], tmp_path: Path
) -> None:
    for name in ("plant", "control"):
        (tmp_path / f"{name}.fmu").write_bytes(fmus[f"resources/{name}.fmu"])
    scenario = tmp_path / "hand.yaml"
    scenario.write_text(HAND.replace(old, new, 1))
    with pytest.raises(ConfigurationError) as caught:
        export_ssp(scenario, tmp_path / "hand.ssp")
    assert message in str(caught.value)
    assert not (tmp_path / "hand.ssp").exists()


BALL = f"""<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription {SPACES} name="ball" version="1.0">
<ssd:System name="Root"><ssd:Elements>
<ssd:Component name="Ball" source="resources/ball3.fmu" implementation="ModelExchange">
<ssd:Connectors><ssd:Connector name="h" kind="output"><ssc:Real/></ssd:Connector></ssd:Connectors>
</ssd:Component>
</ssd:Elements></ssd:System>
<ssd:DefaultExperiment startTime="0" stopTime="1"/>
</ssd:SystemStructureDescription>
"""


def test_model_exchange_comes_and_goes(tmp_path: Path) -> None:
    ball = build_fmu("ball3", tmp_path)
    source = tmp_path / "ball.ssp"
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("SystemStructure.ssd", BALL)
        archive.write(ball, "resources/ball3.fmu")
    _, found = run(source, tmp_path / "one")
    heights = found["/ball/h"]
    # A fall of 1 m with 8 m/s^2 takes half a second; half of the speed is left after the bounce.
    assert heights[0] == 1.0 and min(heights) > -1e-4
    assert heights[25] == pytest.approx(1.0 - 0.5 * 8.0 * 0.25**2, abs=1e-4)
    assert max(heights[50:]) == pytest.approx(0.25, abs=1e-3)
    export_ssp(source, tmp_path / "again.ssp")
    with zipfile.ZipFile(tmp_path / "again.ssp") as archive:
        assert b'implementation="ModelExchange"' in archive.read("SystemStructure.ssd")
    assert run(tmp_path / "again.ssp", tmp_path / "two")[1] == found


COMPONENT = '<ssd:Component name="Plant" source="resources/plant.fmu"'
TO_DRIVE = 'startConnector="speed" endElement="Drive"'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (COMPONENT, f'{COMPONENT} implementation="ModelExchange"',
         "line 14: Component: "),
        (COMPONENT, f'{COMPONENT} type="application/x-ssp-package"', "line 14: Component 'Plant'"),
        ("resources/plant.fmu", "../plant.fmu", "allowed is a path inside the archive"),
        ("resources/plant.fmu", "http://a.invalid/b.fmu", "allowed is a path inside the archive"),
        ("resources/plant.fmu", "resources/other.fmu", "no such file in the archive"),
        ("resources/plant.fmu", "resources/names.ssm", "line 14: Component: "),
        ('name="position" kind="output"', 'name="place" kind="output"',
         "line 18: Connector 'place': plant.fmu has no such variable"),
        ('name="position" kind="output"', 'name="position" kind="input"',
         "line 18: Connector 'position': kind: found input; in plant.fmu it is output"),
        (TO_DRIVE, TO_DRIVE.replace("Drive", "Driver"), "allowed are the elements of this system"),
        (TO_DRIVE, TO_DRIVE.replace("speed", "pace"), "allowed are the connectors of 'Plant'"),
        ('endConnector="v"', 'endConnector="v" startIndices="0"', "not SSP 1.0"),
        ('<ssc:BaseUnit m="1" s="-1" factor="0.25"/>', '<ssc:BaseUnit m="1"/>',
         "unit 'm/s' cannot be converted to 'km/h'"),
        ('startTime="0"', 'startTime="1"', "startTime: found 1; allowed is 0"),
        ('stopTime="0.5"', 'stopTime="-1"', "stopTime: found -1"),
        ('version="1.0">', 'version="3.0">', "version: found '3.0'; allowed is 1.0 or 2.0"),
        ('version="1.0">\n<ssd:System', 'version="2.0">\n<ssd:Nothing/><ssd:System',
         "SSP 2.0 has no such element"),
        ('startConnector="mode" endElement="Lamp" endConnector="mode"',
         'startElement="Plant" startConnector="position" endElement="Plant" endConnector="force"',
         "'force' has a connection already"),
        ('startElement="Drive" startConnector="fast" endElement="Lamp" endConnector="on"',
         'startElement="Plant" startConnector="position" endElement="Lamp" endConnector="on"',
         "'position' is float64, which does not fit 'on', uint8"),
        ('<ssc:MapEntry source="1" target="0"/>', '<ssc:MapEntry source="0" target="0"/>',
         "source: found '0' twice"),
        ('name="mass"><ssv:Real value="99"/>', 'name="speed"><ssv:Real value="1"/>',
         "'speed' of 'Plant' is an output"),
        ('ParameterBinding source="resources/values.ssv"',
         'ParameterBinding sourceBase="component" source="resources/values.ssv"',
         "sourceBase: found 'component'; allowed is SSD"),
    ],
)  # fmt: skip
def test_what_is_not_run_is_named_with_its_place(
    old: str, new: str, message: str, fmus: Mapping[str, bytes], tmp_path: Path
) -> None:
    path = packed(tmp_path / "demo.ssp", fmus, ssd=SSD.replace(old, new, 1))
    with pytest.raises(ConfigurationError) as caught:
        load_scenario(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).count("demo.ssp") <= 2


def test_wrong_parameter_sets_are_refused(fmus: Mapping[str, bytes], tmp_path: Path) -> None:
    for name, text, message in (
        ("ssv", SSV.replace('value="3"', 'value="3.5"'), "not SSP 1.0"),
        ("ssv", SSV.replace('Integer value="3"', 'Real value="3.5"'), "'mode' takes int32"),
        ("ssv", SSV.replace('Real value="1500" unit="g"', 'String value="a"'), "'mass' takes"),
        ("ssm", SSM.replace("Parameter", "Other"), "allowed is ParameterMapping of SSP"),
        ("ssm", "<a", "not well-formed XML"),
    ):
        path = packed(tmp_path / "demo.ssp", fmus, **{name: text})
        with pytest.raises(ConfigurationError, match=message):
            load_scenario(path)


def test_version_2_says_so_and_has_more_types(fmus: Mapping[str, bytes], tmp_path: Path) -> None:
    text = SSD.replace('version="1.0">\n<ssd:System', 'version="2.0">\n<ssd:System')
    text = text.replace('<ssc:Real unit="m"/>', '<ssc:Float64 unit="m"/>')
    scenario = load_scenario(packed(tmp_path / "demo.ssp", fmus, ssd=text))
    assert scenario.description == "SSP 2.0: demo"
    assert load_scenario(packed(tmp_path / "old.ssp", fmus)).description == "SSP 1.0: demo"


def test_an_unpacked_system_is_the_same(fmus: Mapping[str, bytes], tmp_path: Path) -> None:
    with zipfile.ZipFile(packed(tmp_path / "demo.ssp", fmus)) as archive:
        archive.extractall(tmp_path)
    both = [load_scenario(tmp_path / name) for name in ("demo.ssp", "SystemStructure.ssd")]
    first, second = (s.model_dump(mode="json")["participants"] for s in both)
    text = str(first).replace("demo.ssp/resources", "resources")
    assert text == str(second)


def test_an_fmu_of_strangers_is_not_loaded(fmus: Mapping[str, bytes], tmp_path: Path) -> None:
    path = packed(tmp_path / "demo.ssp", fmus)
    result = CliRunner().invoke(app, ["check", str(path), "--untrusted"])
    assert result.exit_code == 1
    assert "demo.ssp/resources/plant.fmu" in result.output


def test_signals_of_a_dictionary_lead_on(fmus: Mapping[str, bytes], tmp_path: Path) -> None:
    reference = (
        '<ssd:SignalDictionaryReference name="Bus" dictionary="bus"><ssd:Connectors>'
        '<ssd:Connector name="v" kind="inout"><ssc:Real unit="m/s"/></ssd:Connector>'
        "</ssd:Connectors></ssd:SignalDictionaryReference></ssd:Elements>\n<ssd:Connections>\n"
        '<ssd:Connection startElement="Plant" startConnector="speed" endElement="Bus" '
        'endConnector="v"/>'
    )
    dictionary = (
        '</ssd:Connections>\n<ssd:SignalDictionaries><ssd:SignalDictionary name="bus">'
        '<ssb:SignalDictionary version="1.0"><ssb:DictionaryEntry name="v"><ssc:Real/>'
        "</ssb:DictionaryEntry></ssb:SignalDictionary></ssd:SignalDictionary>"
        "</ssd:SignalDictionaries>\n</ssd:System>\n<ssd:Units>"
    )
    text = SSD.replace('startElement="Plant" startConnector="speed" endElement="Drive"',
                       'startElement="Bus" startConnector="v" endElement="Drive"')  # fmt: skip
    head, _, tail = text.rpartition("</ssd:Elements>\n<ssd:Connections>")
    text = head + reference + tail
    text = text.replace("</ssd:Connections>\n</ssd:System>\n<ssd:Units>", dictionary)
    straight = load_scenario(packed(tmp_path / "demo.ssp", fmus)).participants["drive_control"]
    over = load_scenario(packed(tmp_path / "demo.ssp", fmus, ssd=text)).participants[
        "drive_control"
    ]
    assert over == straight


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_linear_conversions_follow_each_other(
    a: float, b: float, c: float, d: float, x: float
) -> None:
    first, second = Conversion(a, b), Conversion(c, d)
    assert first.then(second).of(x) == second.of(first.of(x))


@given(TABLES, TABLES, st.integers(-4, 4))
def test_tables_follow_each_other(
    first: dict[int, int], second: dict[int, int], value: int
) -> None:
    one, other = Conversion(table=first), Conversion(table=second)
    assert one.then(other).of(value) == other.of(one.of(value))


@given(st.integers(-5, 5), st.integers(-100, 100), NUMBERS)
def test_units_there_and_back(power: int, offset: int, value: float) -> None:
    here = Unit("here", {"K": 1}, 2.0**power, float(offset))
    there = Unit("there", {"K": 1})
    assert between(there, here, "").of(between(here, there, "").of(value)) == value


def test_units_without_a_definition_are_known_by_name() -> None:
    assert between(Unit("km/h", has_base=False), Unit("m/s", has_base=False), "").factor == 1 / 3.6


PAIRS = (
    ("y", "u", '<ssc:Float64/><ssd:Dimension size="2"/>'),
    ("small_out", "small_in", "<ssc:UInt8/>"),
    ("flag_out", "flag_in", "<ssc:Boolean/>"),
    ("text_out", "text_in", "<ssc:String/>"),
    ("data_out", "data_in", "<ssc:Binary/>"),
)


def test_all_types_go_from_one_fmu_to_another(tmp_path: Path) -> None:
    build_fmu("trig3", tmp_path)

    def connectors(place: int) -> str:
        kind = ("output", "input")[place]
        return "".join(
            f'<ssd:Connector name="{pair[place]}" kind="{kind}">{pair[2]}</ssd:Connector>'
            for pair in PAIRS
        )

    components = "".join(
        f'<ssd:Component name="{name}" source="trig3.fmu"><ssd:Connectors>{connectors(0)}'
        f"{connectors(1)}</ssd:Connectors></ssd:Component>"
        for name in ("A.1", "a 1")
    )
    wires = "".join(
        f'<ssd:Connection startElement="A.1" startConnector="{pair[0]}" endElement="a 1" '
        f'endConnector="{pair[1]}"/>'
        for pair in PAIRS
    )
    values = "".join(
        f'<ssv:Parameter name="A.1.{name}">{value}</ssv:Parameter>'
        for name, value in (
            ("u", '<ssv:Float64 value="0.5 1.5"/><ssv:Dimension size="2"/>'),
            ("small_in", '<ssv:UInt8 value="9"/>'),
            ("flag_in", '<ssv:Boolean value="true"/>'),
            ("text_in", '<ssv:String value="hello"/>'),
        )
    )
    (tmp_path / "types.ssd").write_text(
        f'<ssd:SystemStructureDescription {SPACES} name="types" version="2.0">'
        '<ssd:System name="Root"><ssd:ParameterBindings><ssd:ParameterBinding>'
        f'<ssd:ParameterValues><ssv:ParameterSet version="2.0" name="v"><ssv:Parameters>{values}'
        "</ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues></ssd:ParameterBinding>"
        f"</ssd:ParameterBindings><ssd:Elements>{components}</ssd:Elements>"
        f"<ssd:Connections>{wires}</ssd:Connections></ssd:System>"
        '<ssd:DefaultExperiment stopTime="0.3"/></ssd:SystemStructureDescription>'
    )
    scenario = load_scenario(tmp_path / "types.ssd")
    assert list(scenario.participants) == ["a_1", "a_1_2"]
    run_inproc(scenario, tmp_path / "out")
    last = {m.topic: m.data for m in read_bag(tmp_path / "out" / "bag")}
    for output, *_ in PAIRS:
        first, second = (last[f"/{name}/{output}"] for name in ("a_1", "a_1_2"))
        # It repeats its inputs, turns the flag and counts on.
        assert (first == second) == (output not in ("flag_out", "small_out")), output
    assert b"hello" in last["/a_1_2/text_out"]
    assert last["/a_1_2/y"].endswith(struct.pack("<2d", 0.5, 1.5))
    assert (last["/a_1_2/small_out"][4], last["/a_1_2/data_out"][-2:]) == (11, b"\x01\x02")
