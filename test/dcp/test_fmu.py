# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""FMUs as slaves: mapping of their descriptions, and runs that equal the closed form."""

from __future__ import annotations

import math
import os
import re
import sys
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from fmpy.model_description import (
    BaseUnit,
    CoSimulation,
    DefaultExperiment,
    ModelDescription,
)
from fmpy.model_description import Unit as FmiUnit
from support.dcp_engine import Bench
from support.dcp_models import running
from support.fmu_builder import DESCRIPTIONS, TRIG2, build_fmu
from support.patience import HANG_S

from ros2_cosim.core.kernel.errors import ModelError
from ros2_cosim.dcp.fmi.interface_type import can_save_state
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.slave.fmu import describe_fmu, load_fmu
from ros2_cosim.dcp.slave.fmu_description import (
    _step_size,
    _units,
    fmu_variables,
    read_fmu,
)
from ros2_cosim.dcp.slave.slave_model import StepInfo
from ros2_cosim.dcp.standard.enums import DataType, OpMode, PduType, State, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpError, DescriptionError
from ros2_cosim.dcp.standard.parse_description import parse_description
from ros2_cosim.dcp.standard.pdu import make
from ros2_cosim.dcp.standard.slave_description import (
    Causality,
    Dimension,
    DisplayUnit,
    NonRealTime,
    Unit,
)
from ros2_cosim.dcp.standard.write_description import description_bytes


@pytest.fixture(scope="module")
def trig2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_fmu("trig2", tmp_path_factory.mktemp("fmu"))


@pytest.fixture(scope="module")
def trig3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_fmu("trig3", tmp_path_factory.mktemp("fmu"))


def test_description_of_an_fmi2_model(trig2: Path) -> None:
    description = describe_fmu(trig2)
    assert description.name == "trig2"
    assert description.fixed_resolution() == Fraction(1, 20)
    assert description.capabilities.can_handle_variable_steps
    u = description.variable("u")
    assert (u.causality, u.data_type, u.variability) == (
        Causality.INPUT,
        DataType.float64,
        "continuous",
    )
    assert (u.attributes.unit, u.attributes.min) == ("m", -1e9)
    assert description.units[0].exponents == {"m": 1}
    assert description.variable("amplitude").variability == "tunable"
    assert description.variable("count").data_type is DataType.int32
    assert description.variable("flag").data_type is DataType.uint8
    assert description.variable("text").start == "hello"
    with pytest.raises(DescriptionError, match="no variable 'inner'"):
        description.variable("inner")
    assert parse_description(description_bytes(description)) == description
    assert describe_fmu(trig2, step=Fraction(1, 8)).fixed_resolution() == Fraction(1, 8)


@pytest.mark.parametrize("transport", [TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4])
def test_an_fmi2_model_runs_resets_and_runs_again(
    trig2: Path, transport: TransportProtocol
) -> None:
    slave, description = load_fmu(trig2, step=Fraction(1, 8))
    with running(slave, description) as served, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=served.port, transport=transport)
        parameters = {"trig2": {"amplitude": 2.0, "phase": 0.5, "text": "grüß"}}
        master.configure(parameters)
        for attempt in range(2):
            remote.set_inputs({"u": 1.0})
            master.initialise(loops=2)
            assert remote.output("y") == 2.0 * math.sin(1.5)
            assert remote.output("doubled") == 4.0
            master.run()
            for step in range(1, 9):
                remote.set_inputs({"u": 0.25 * step, "count": step, "flag": step % 2})
                master.do_step()
                amplitude = 2.0 if step < 5 else 3.0
                assert remote.output("y") == amplitude * math.sin(0.25 * step + 0.5)
                assert remote.output("next") == step + 1
                assert remote.output("not_flag") == (step + 1) % 2
                assert remote.output("same_text") == "grüß"
                if step == 4:
                    master.tune({"trig2": {"amplitude": 3.0}})
            assert remote.output("x") == sum(0.25 * step / 8 for step in range(1, 9))
            master.stop()
            if attempt == 0:
                master.reset(parameters)
    slave.close()


def test_an_fmi3_model_with_arrays_strings_and_binaries(trig3: Path) -> None:
    slave, description = load_fmu(trig3)
    assert not description.capabilities.can_handle_variable_steps
    with running(slave, description) as served, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=served.port)
        master.configure({"trig3": {"n": 3, "gain": 2.0}})
        master.initialise()
        assert remote.output("y") == (0.0, 0.0, 0.0)
        assert (remote.output("text_out"), remote.output("data_out")) == ("abc", b"\1\2")
        master.run()
        for step in range(1, 5):
            values = (1.0 * step, -2.5, 1e300)
            remote.set_inputs(
                {
                    "u": values,
                    "small_in": step,
                    "flag_in": step % 2,
                    "text_in": "x" * step,
                    "data_in": bytes(step - 1),
                }
            )
            master.do_step()
            assert remote.output("y") == tuple(2.0 * v for v in values)
            assert remote.output("small_out") == step + 1
            assert remote.output("flag_out") == (step + 1) % 2
            assert remote.output("text_out") == "x" * step
            assert remote.output("data_out") == bytes(step - 1)
            assert remote.output("now") == float((step - 1) * Fraction(1, 10)) + 0.1
        with pytest.raises(DcpError, match="left the run by itself"):
            master.do_step(20)
        master._requests.await_state([remote], State.STOPPED)


@pytest.mark.parametrize("negative", [0, 1])
def test_structural_parameters_that_are_no_sizes_are_parameters(trig3: Path, negative: int) -> None:
    """They have their own start values, and are set in configuration mode if they get others."""
    slave, description = load_fmu(trig3)
    found = {v.name: v for v in description.of(Causality.PARAMETER, Causality.STRUCTURAL)}
    assert found["n"].causality is Causality.STRUCTURAL
    assert found["negative"].causality is Causality.PARAMETER
    assert (found["negative"].start, found["negative"].variability) == (0, "fixed")
    with running(slave, description) as served, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=served.port)
        master.configure({"trig3": {"negative": negative}})
        remote.set_inputs({"u": (1.0, 2.0)})
        master.initialise(loops=2)
        assert remote.output("y") == ((-1.0, -2.0) if negative else (1.0, 2.0))
        master.run()
        master.stop()
    slave.close()


def test_an_array_as_large_as_what_is_no_structural_parameter_is_refused(tmp_path: Path) -> None:
    text = """<fmiModelDescription fmiVersion="3.0" modelName="m" instantiationToken="g">
        <CoSimulation modelIdentifier="m"/>
        <ModelVariables>
        <Float64 name="u" valueReference="3" causality="input" start="0">
        <Dimension valueReference="0"/></Float64>
        <UInt8 name="s" valueReference="0" causality="input" start="0"/>
        <Float64 name="y" valueReference="4" causality="output"/>
        <Float64 name="time" valueReference="5" causality="independent" variability="continuous"/>
        </ModelVariables>
        <ModelStructure><Output valueReference="4"/></ModelStructure>
        </fmiModelDescription>"""
    path = tmp_path / "m.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", text)
    with pytest.raises(DescriptionError) as caught:
        fmu_variables(read_fmu(path))
    assert str(caught.value) == (
        "variable 'u': found a dimension of the size of valueReference 0; allowed are structural "
        "parameters"
    )


def test_an_fmi2_model_in_soft_real_time(trig2: Path) -> None:
    slave, description = load_fmu(trig2, step=Fraction(1, 100))
    with (
        running(slave, description) as served,
        Master(op_mode=OpMode.SRT, timeout_s=HANG_S) as master,
    ):
        remote = master.add_slave(description, port=served.port)
        master.configure()
        master.initialise()
        master.run()
        remote.set_inputs({"u": 1.25})
        for _ in range(500):
            master.do_step()
            if remote.output("y") == math.sin(1.25):
                break
        assert remote.output("y") == math.sin(1.25)
        master.stop()


def test_an_fmi2_model_in_hard_real_time(trig2: Path) -> None:
    """Half a second per step: late only on a machine that stands still for so long."""
    slave, description = load_fmu(trig2, step=Fraction(1, 2), modes=(OpMode.HRT,))
    assert description.op_modes == {OpMode.HRT}
    assert description == describe_fmu(trig2, step=Fraction(1, 2), modes=(OpMode.HRT,))
    assert description.uuid != describe_fmu(trig2, step=Fraction(1, 2)).uuid
    with (
        running(slave, description) as served,
        Master(op_mode=OpMode.HRT, timeout_s=HANG_S) as master,
    ):
        remote = master.add_slave(description, port=served.port)
        master.configure()
        remote.set_inputs({"u": 1.25})
        master.initialise()
        assert remote.output("y") == math.sin(1.25)
        master.run()
        remote.set_inputs({"u": 0.75})
        master.do_step(3)
        assert remote.output("y") == math.sin(0.75)
        assert served.server.slave.plan.overruns == 0
        master.stop()
    slave.close()


def test_a_late_fmu_in_hard_real_time_is_an_error(trig2: Path) -> None:
    """On a clock set by hand: the second step takes longer than a resolution."""
    slave, description = load_fmu(trig2, step=Fraction(1, 100), modes=(OpMode.HRT,))
    bench = Bench(slave, description)
    requests: list[tuple[PduType, dict[str, Any]]] = [
        (
            PduType.STC_register,
            {"slave_uuid": description.uuid_bytes, "op_mode": OpMode.HRT}
            | {"major_version": 1, "minor_version": 0},
        ),
        *((kind, {}) for kind in (PduType.STC_prepare, PduType.STC_configure)),
        *((PduType.STC_run, {"time": 0}) for _ in range(2)),
    ]
    for seq, (kind, fields) in enumerate(requests):
        state = bench.slave.state
        (answer, *_) = bench.ask(make(kind, pdu_seq_id=seq, receiver=1, state_id=state, **fields))
        assert answer.kind is PduType.RSP_ack
    assert bench.slave.state is State.RUNNING
    bench.slave.on_time()
    assert (bench.slave.state, slave.get("x")) == (State.RUNNING, 0.0)
    bench.time += 0.01
    do_step = slave.do_step

    def slow(step: StepInfo) -> None:
        do_step(step)
        bench.time += 0.02

    slave.do_step = slow  # type: ignore[method-assign]
    bench.slave.on_time()
    assert bench.slave.state is State.ERRORRESOLVED
    assert "missed its deadline" in bench.slave.error_text
    slave.close()


def test_an_error_of_the_model_is_reported_and_can_be_reset(trig2: Path) -> None:
    slave, description = load_fmu(trig2)
    with running(slave, description) as served, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=served.port)
        master.configure()
        master.run()
        remote.set_inputs({"u": 2e6})
        with pytest.raises(DcpError, match="'trig2' went to its error state.*fmi2DoStep"):
            master.do_step()
        master.reset()
        master.run()
        remote.set_inputs({"u": 1.0})
        master.do_step()
        assert remote.output("y") == math.sin(1.0)
        master.stop()


def test_without_fmpy_one_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fmpy", None)
    with pytest.raises(DescriptionError, match=r"a\.fmu: FMUs are run by FMPy.* pip install fmpy"):
        load_fmu(tmp_path / "a.fmu")


def test_wrong_files_are_refused_in_one_line(tmp_path: Path, trig2: Path) -> None:
    text = tmp_path / "text.fmu"
    text.write_text("no zip")
    foreign = tmp_path / "foreign.fmu"
    with zipfile.ZipFile(foreign, "w") as archive:
        archive.writestr("modelDescription.xml", TRIG2)
        archive.writestr("binaries/win64/trig2.dll", b"")
    exchange = tmp_path / "exchange.fmu"
    with zipfile.ZipFile(exchange, "w") as archive:
        words = "<CoSimulation", "<ModelExchange"
        text2 = TRIG2.replace(*words).replace(' canHandleVariableCommunicationStepSize="true"', "")
        archive.writestr("modelDescription.xml", text2)
    before = os.getcwd()
    for path, message in (
        (tmp_path / "missing.fmu", "no such file"),
        (text, "no readable zip archive"),
        (foreign, "trig2.so"),
        (exchange, "trig2.so"),
    ):
        with pytest.raises(DescriptionError, match=message) as caught:
            load_fmu(path)
        assert "\n" not in str(caught.value)
    assert os.getcwd() == before


def test_an_fmi2_model_may_end_the_simulation(trig2: Path) -> None:
    slave, description = load_fmu(trig2)
    slave.bind(description, {}, {})
    slave.configure({})
    slave.advance(0.0, 0.01)
    assert not slave.stop_requested
    slave.inputs[slave.index[description.of(Causality.INPUT)[0].name]] = -2e6
    slave.advance(0.01, 0.01)
    assert slave.stop_requested
    slave.close()


def test_two_fmus_with_one_token_are_two_slaves(trig2: Path, tmp_path: Path) -> None:
    """Copies of one project often share it."""
    other = tmp_path / "other.fmu"
    with zipfile.ZipFile(trig2) as source, zipfile.ZipFile(other, "w") as copy:
        for name in source.namelist():
            data = source.read(name)
            if name == "modelDescription.xml":
                assert b'name="y"' in data
                data = data.replace(b'name="y"', b'name="z"')
            copy.writestr(name, data)
    first, second = describe_fmu(trig2), describe_fmu(other)
    assert {v.name for v in first.variables} != {v.name for v in second.variables}
    assert first.uuid != second.uuid
    assert first.uuid == describe_fmu(trig2).uuid


@pytest.mark.parametrize(
    ("step", "fits"),
    [
        (Fraction(2**32 - 1), True),
        (Fraction(2**32), False),
        (Fraction(1, 2**32 - 1), True),
        (Fraction(1, 2**32), False),
        (Fraction(-1, 100), False),
    ],
)
def test_a_step_size_has_to_be_a_fraction_of_32_bits(
    trig2: Path, step: Fraction, fits: bool
) -> None:
    if fits:
        (resolution,) = describe_fmu(trig2, step=step).resolutions
        assert Fraction(resolution.numerator, resolution.denominator) == step  # type: ignore[union-attr]
    else:
        with pytest.raises(DescriptionError, match=f"step size {step} s cannot be a DCP"):
            describe_fmu(trig2, step=step)


def test_units_without_a_base_are_names_alone() -> None:
    model = ModelDescription()
    model.unitDefinitions = [
        FmiUnit(name="points"),
        FmiUnit(name="km", baseUnit=BaseUnit(m=1, factor=1000.0)),
        FmiUnit(name="degC", baseUnit=BaseUnit(K=1, offset=273.15)),
    ]
    assert _units(model) == (
        Unit("points", has_base=False),
        Unit("km", {"m": 1}, factor=1000.0),
        Unit("degC", {"K": 1}, offset=273.15),
    )


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("serialised", [True, False])
def test_a_state_is_saved_if_it_can_be_taken_as_bytes(taken: bool, serialised: bool) -> None:
    model = ModelDescription()
    model.coSimulation = CoSimulation(canGetAndSetFMUstate=taken, canSerializeFMUstate=serialised)
    assert can_save_state(model) is (taken and serialised)


@pytest.mark.parametrize(
    ("internal", "suggested", "step"),
    [
        ("0.02", "0.5", Fraction(1, 50)),
        (None, "0.5", Fraction(1, 2)),
        ("0.02", None, Fraction(1, 50)),
        (None, None, Fraction(1, 100)),
    ],
)
def test_the_step_is_that_of_the_solver_or_of_the_experiment(
    internal: Any, suggested: Any, step: Fraction
) -> None:
    model = ModelDescription()
    model.coSimulation = CoSimulation(fixedInternalStepSize=internal)
    model.defaultExperiment = DefaultExperiment(stepSize=suggested) if suggested else None
    assert _step_size(model) == step


def test_what_is_calculated_once_is_constant_after_the_initialization(tmp_path: Path) -> None:
    text = """<fmiModelDescription fmiVersion="3.0" modelName="m" instantiationToken="g">
        <CoSimulation modelIdentifier="m"/>
        <ModelVariables>
        <Float64 name="once" valueReference="1" causality="calculatedParameter"
          variability="fixed"/>
        <Float64 name="more" valueReference="2" causality="calculatedParameter"
          variability="tunable"/>
        <Float64 name="y" valueReference="4" causality="output"/>
        <Float64 name="time" valueReference="5" causality="independent" variability="continuous"/>
        </ModelVariables>
        <ModelStructure><Output valueReference="4"/><InitialUnknown valueReference="1"/>
        <InitialUnknown valueReference="2"/></ModelStructure>
        </fmiModelDescription>"""
    path = tmp_path / "m.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", text)
    found = {v.variable.name: v.variable.initialization for v in fmu_variables(read_fmu(path))}
    assert found == {"once": True, "more": False, "y": False}


TYPED = """<fmiModelDescription fmiVersion="3.0" modelName="m" instantiationToken="g"
 description="d" author="a" version="v" copyright="c" license="l">
<CoSimulation modelIdentifier="m" fixedInternalStepSize="{step}"
 canHandleVariableCommunicationStepSize="true"/>
<UnitDefinitions><Unit name="m"><BaseUnit m="1"/>
<DisplayUnit name="km" factor="0.001" offset="2"/></Unit></UnitDefinitions>
<TypeDefinitions>
<Float64Type name="Length" quantity="length" unit="m" displayUnit="km" min="-2" max="9"
 nominal="3"/>
<Int32Type name="Gear" quantity="gear" min="1" max="6"/>
<EnumerationType name="Mode"><Item name="on" value="1"/></EnumerationType>
</TypeDefinitions>
<ModelVariables>
<UInt8 name="n" valueReference="0" causality="structuralParameter" variability="tunable"
 start="0"/>
<UInt8 name="k" valueReference="1" causality="structuralParameter" variability="fixed" start="4"/>
<UInt8 name="lone" valueReference="2" causality="structuralParameter" variability="tunable"
 start="5"/>
<Float64 name="p" valueReference="3" causality="parameter" variability="tunable" start="1.5"/>
<Float64 name="q" valueReference="4" causality="parameter" variability="fixed" start="2"/>
<Float64 name="length" valueReference="5" causality="input" declaredType="Length" start="1"/>
<Float64 name="own" valueReference="6" causality="input" declaredType="Length" min="-1" max="8"
 start="1" variability="discrete"/>
<Int32 name="gear" valueReference="7" causality="input" declaredType="Gear" start="2"/>
<Enumeration name="mode" valueReference="8" causality="input" declaredType="Mode" start="1"/>
<Boolean name="yes" valueReference="9" causality="input" start="true"/>
<Boolean name="no" valueReference="10" causality="input" start="false"/>
<Float32 name="row" valueReference="11" causality="input" start="1 2 3 4 5 6 7 8">
<Dimension valueReference="1"/><Dimension start="2"/></Float32>
<Int16 name="column" valueReference="12" causality="output"><Dimension valueReference="0"/></Int16>
<String name="text" valueReference="13" causality="output"/>
<Clock name="tick" valueReference="14" causality="input" intervalVariability="triggered"/>
<Float64 name="hidden" valueReference="15" causality="local"/>
<Float64 name="time" valueReference="16" causality="independent" variability="continuous"/>
</ModelVariables>
<ModelStructure><Output valueReference="12"/><Output valueReference="13"/></ModelStructure>
</fmiModelDescription>"""
LENGTH = {"quantity": "length", "unit": "m", "display_unit": "km", "nominal": 3.0}
#: Causality, type, variability, start value, dimensions and attributes of each variable.
MAPPED: dict[str, tuple[Any, ...]] = {
    "n": (Causality.STRUCTURAL, DataType.uint8, "tunable", 1, (), {}),
    "k": (Causality.STRUCTURAL, DataType.uint8, "fixed", 4, (), {}),
    "lone": (Causality.PARAMETER, DataType.uint8, "fixed", 5, (), {}),
    "p": (Causality.PARAMETER, DataType.float64, "tunable", 1.5, (), {}),
    "q": (Causality.PARAMETER, DataType.float64, "fixed", 2.0, (), {}),
    "length": (
        Causality.INPUT, DataType.float64, "continuous", 1.0, (), LENGTH | {"min": -2, "max": 9},
    ),
    "own": (
        Causality.INPUT, DataType.float64, "discrete", 1.0, (), LENGTH | {"min": -1, "max": 8},
    ),
    "gear": (Causality.INPUT, DataType.int32, "discrete", 2, (), {"min": 1, "max": 6}),
    "mode": (Causality.INPUT, DataType.int64, "discrete", 1, (), {}),
    "yes": (Causality.INPUT, DataType.uint8, "discrete", 1, (), {}),
    "no": (Causality.INPUT, DataType.uint8, "discrete", 0, (), {}),
    "row": (
        Causality.INPUT, DataType.float32, "continuous", tuple(map(float, range(1, 9))),
        (Dimension(linked_vr=2), Dimension(constant=2)), {},
    ),
    "column": (
        Causality.OUTPUT, DataType.int16, "discrete", None, (Dimension(linked_vr=1),), {},
    ),
    "text": (Causality.OUTPUT, DataType.string, "discrete", None, (), {}),
}  # fmt: skip


def described(directory: Path, text: str) -> Path:
    """An FMU that is a description alone."""
    path = directory / "m.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", text)
    return path


def test_variables_become_those_of_the_slave(tmp_path: Path) -> None:
    path = described(tmp_path, TYPED.format(step="0.25"))
    found = fmu_variables(read_fmu(path))
    assert [v.variable.value_reference for v in found] == list(range(1, len(MAPPED) + 1))
    assert {
        v.variable.name: (
            v.variable.causality,
            v.variable.data_type,
            v.variable.variability,
            v.variable.start,
            v.variable.dimensions,
            {key: value for key, value in vars(v.variable.attributes).items() if value is not None},
        )
        for v in found
    } == MAPPED
    assert [v.variable.name for v in found if v.structural] == ["n", "k", "lone"]
    description = describe_fmu(path)
    told = (description.description, description.author, description.version)
    assert (*told, description.copyright, description.license) == ("d", "a", "v", "c", "l")
    assert description.fixed_resolution() == Fraction(1, 4)
    assert description.non_real_time == NonRealTime(1, False, 1, 1_000_000)
    assert description.units == (
        Unit("m", {"m": 1}, display_units=(DisplayUnit("km", 0.001, 2.0),)),
    )


FMI_1 = '<fmiModelDescription fmiVersion="1.0" modelName="m" modelIdentifier="m" guid="g" '
FMI_1 += 'numberOfContinuousStates="0" numberOfEventIndicators="0"><ModelVariables/>'
FMI_1 += "</fmiModelDescription>"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((TYPED, FMI_1), "found FMI 1.0; FMI 2.0 and 3.0 are supported"),
        (("{step}", "0"), "step size 0 s cannot be a DCP resolution"),
        (
            ('causality="output"/>', 'causality="output"><Dimension start="1001"/></String>'),
            "variable 'text': found an array of 1001; each element is a variable, and allowed are",
        ),
    ],
)
def test_descriptions_that_make_no_slave_are_refused(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    assert change[0] in TYPED
    path = described(tmp_path, TYPED.replace(*change).replace("{step}", "0.25"))
    with pytest.raises(DescriptionError, match=re.escape(said)):
        describe_fmu(path)


@pytest.mark.parametrize("name", ["lag2", "lag3"])
def test_an_fmu_goes_on_from_a_state_that_was_saved(name: str, tmp_path: Path) -> None:
    """In the initialization, and in the run."""
    slave, description = load_fmu(build_fmu(name, tmp_path))
    slave.bind(description)
    slave.configure({})
    slave.inputs[:] = [3.0, 0.5]
    slave.initialise()
    states, outputs = [], []
    for step in range(4):
        states.append(slave.save_state())
        slave.advance(0.1 * step, 0.1)
        outputs.append(list(slave.outputs))
    assert len({tuple(values) for values in outputs}) == 4
    for first in (0, 2, 3, 1):
        slave.error(1, "these FMUs cannot be reset")
        slave.configure({})
        slave.restore_state(states[first])
        for step in range(first, 4):
            slave.advance(0.1 * step, 0.1)
            assert list(slave.outputs) == outputs[step]
        slave.stop()
    slave.close()


def test_an_fmu_that_refuses_says_why(tmp_path: Path) -> None:
    refusing = DESCRIPTIONS["lag2"].replace('guid="lag2"', 'guid="refused"')
    slave, description = load_fmu(build_fmu("lag2", tmp_path, refusing))
    slave.bind(description)
    with pytest.raises(
        ModelError, match="refuses to be inst.*its log says: .*no licence on port 7"
    ):
        slave.configure({})


def test_an_instance_is_terminated_once_and_freed(trig2: Path) -> None:
    slave, description = load_fmu(trig2)
    slave.bind(description)
    called: list[str] = []

    def noted(name: str) -> None:
        access = slave._live._access  # type: ignore[attr-defined]
        method = getattr(access, name)
        setattr(access, name, lambda *given: (called.append(name), method(*given)))

    for name in ("terminate", "freeInstance", "reset", "instantiate", "exitInitializationMode"):
        noted(name)
    slave.stop()  # there is nothing yet
    slave.configure({})
    slave.stop()
    assert called == ["instantiate"]
    slave.initialise()
    slave.initialise()
    slave.stop()
    slave.stop()
    assert called[1:] == ["exitInitializationMode", "terminate"]
    slave.configure({})
    slave.advance(0.0, 0.1)
    slave.advance(0.1, 0.1)
    slave.stop()
    assert called[3:] == ["reset", "exitInitializationMode", "terminate"]
    slave.error(1, "broken")
    assert called[6:] == ["freeInstance"]
    slave.configure({})  # the library is loaded again
    slave.advance(0.0, 0.1)
    directory = Path(slave._directory)
    assert directory.is_dir()
    slave.close()
    assert not directory.exists()
