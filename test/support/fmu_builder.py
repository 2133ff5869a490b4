# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Builds the FMUs that the tests use from the C files in ``fmus`` with the C compiler."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent / "fmus"

TRIG2 = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="trig2" guid="{trig2}" description="trigonometry">
<CoSimulation modelIdentifier="trig2" canHandleVariableCommunicationStepSize="true"/>
<UnitDefinitions><Unit name="m"><BaseUnit m="1"/></Unit></UnitDefinitions>
<TypeDefinitions><SimpleType name="Len"><Real unit="m" min="-1e9"/></SimpleType></TypeDefinitions>
<DefaultExperiment stepSize="0.05"/>
<ModelVariables>
<ScalarVariable name="u" valueReference="0" causality="input" variability="continuous">
<Real declaredType="Len" start="0"/></ScalarVariable>
<ScalarVariable name="y" valueReference="1" causality="output"><Real unit="m"/></ScalarVariable>
<ScalarVariable name="amplitude" valueReference="2" causality="parameter" variability="tunable">
<Real start="1"/></ScalarVariable>
<ScalarVariable name="phase" valueReference="3" causality="parameter" variability="fixed">
<Real start="0"/></ScalarVariable>
<ScalarVariable name="x" valueReference="4" causality="output"><Real/></ScalarVariable>
<ScalarVariable name="doubled" valueReference="5" causality="calculatedParameter"
 variability="tunable"><Real/></ScalarVariable>
<ScalarVariable name="inner" valueReference="4" causality="local"><Real/></ScalarVariable>
<ScalarVariable name="count" valueReference="0" causality="input" variability="discrete">
<Integer start="7"/></ScalarVariable>
<ScalarVariable name="next" valueReference="1" causality="output" variability="discrete">
<Integer/></ScalarVariable>
<ScalarVariable name="flag" valueReference="0" causality="input" variability="discrete">
<Boolean start="false"/></ScalarVariable>
<ScalarVariable name="not_flag" valueReference="1" causality="output" variability="discrete">
<Boolean/></ScalarVariable>
<ScalarVariable name="text" valueReference="0" causality="parameter" variability="fixed">
<String start="hello"/></ScalarVariable>
<ScalarVariable name="same_text" valueReference="1" causality="output" variability="discrete">
<String/></ScalarVariable>
</ModelVariables>
<ModelStructure><Outputs><Unknown index="2"/><Unknown index="5"/><Unknown index="9"/>
<Unknown index="11"/><Unknown index="13"/></Outputs></ModelStructure>
</fmiModelDescription>
"""

TRIG3 = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="trig3" instantiationToken="{trig3}">
<CoSimulation modelIdentifier="trig3" fixedInternalStepSize="0.1"/>
<ModelVariables>
<UInt64 name="n" valueReference="1" causality="structuralParameter" variability="fixed" start="2"/>
<Float64 name="gain" valueReference="2" causality="parameter" variability="tunable" start="1"/>
<Float64 name="u" valueReference="3" causality="input" start="0 0">
<Dimension valueReference="1"/></Float64>
<Float64 name="y" valueReference="4" causality="output"><Dimension valueReference="1"/></Float64>
<UInt8 name="small_in" valueReference="5" causality="input" start="0"/>
<UInt8 name="small_out" valueReference="6" causality="output"/>
<Boolean name="flag_in" valueReference="7" causality="input" start="false"/>
<Boolean name="flag_out" valueReference="8" causality="output"/>
<String name="text_in" valueReference="9" causality="input"><Start value="abc"/></String>
<String name="text_out" valueReference="10" causality="output"/>
<Binary name="data_in" valueReference="11" causality="input"><Start value="0102"/></Binary>
<Binary name="data_out" valueReference="12" causality="output"/>
<Float64 name="now" valueReference="13" causality="output"/>
<Float64 name="time" valueReference="14" causality="independent" variability="continuous"/>
<Boolean name="negative" valueReference="15" causality="structuralParameter" variability="tunable"
 start="false"/>
</ModelVariables>
<ModelStructure><Output valueReference="4"/><Output valueReference="6"/>
<Output valueReference="8"/><Output valueReference="10"/><Output valueReference="12"/>
<Output valueReference="13"/></ModelStructure>
</fmiModelDescription>
"""


LAG2 = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="lag2" guid="lag2">
<CoSimulation modelIdentifier="lag2" canHandleVariableCommunicationStepSize="true"
 canGetAndSetFMUstate="true" canSerializeFMUstate="true"/>
<ModelVariables>
<ScalarVariable name="gap" valueReference="0" causality="input"><Real start="0"/>
</ScalarVariable>
<ScalarVariable name="gap_rate" valueReference="1" causality="input"><Real start="0"/>
</ScalarVariable>
<ScalarVariable name="demand" valueReference="2" causality="output"><Real/></ScalarVariable>
</ModelVariables>
<ModelStructure><Outputs><Unknown index="3"/></Outputs></ModelStructure>
</fmiModelDescription>
"""

LAG3 = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="lag3" instantiationToken="lag3">
<CoSimulation modelIdentifier="lag3" canHandleVariableCommunicationStepSize="true"
 canGetAndSetFMUState="true" canSerializeFMUState="true"/>
<ModelVariables>
<Float64 name="gap" valueReference="0" causality="input" start="0"/>
<Float64 name="gap_rate" valueReference="1" causality="input" start="0"/>
<Float64 name="demand" valueReference="2" causality="output"/>
<Float64 name="time" valueReference="3" causality="independent" variability="continuous"/>
</ModelVariables>
<ModelStructure><Output valueReference="2"/></ModelStructure>
</fmiModelDescription>
"""

OSMP_PART = """<ScalarVariable name="{name}.{role}" valueReference="{reference}" {kind}>
<Integer{start}/><Annotations>
<Tool name="net.pmsf.osmp" xmlns:osmp="http://xsd.pmsf.net/OSISensorModelPackaging">
<osmp:osmp-binary-variable name="{name}" role="{role}"
 mime-type="application/x-open-simulation-interface; type={content}; version=3.8.0"/></Tool>
</Annotations></ScalarVariable>
"""

OSMP2 = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="osmp2" guid="osmp2"
 variableNamingConvention="structured">
<CoSimulation modelIdentifier="osmp2" canHandleVariableCommunicationStepSize="true"/>
<DefaultExperiment stepSize="0.01"/>
<VendorAnnotations>
<Tool name="net.pmsf.osmp" xmlns:osmp="http://xsd.pmsf.net/OSISensorModelPackaging">
<osmp:osmp version="1.6.0" osi-version="3.8.0"/></Tool></VendorAnnotations>
<ModelVariables>
{parts}<ScalarVariable name="count" valueReference="12" causality="output" variability="discrete">
<Integer/></ScalarVariable>
<ScalarVariable name="lie" valueReference="13" causality="parameter" variability="fixed">
<Integer start="0"/></ScalarVariable>
</ModelVariables>
<ModelStructure><Outputs><Unknown index="4"/><Unknown index="5"/><Unknown index="6"/>
<Unknown index="13"/></Outputs></ModelStructure>
</fmiModelDescription>
"""


LS_NODE3 = """<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="3.0" modelName="lsnode3" instantiationToken="lsnode3">
<CoSimulation modelIdentifier="lsnode3" canHandleVariableCommunicationStepSize="true"
 hasEventMode="true"/>
<ModelVariables>
<Binary name="Can.Rx_Data" valueReference="0" causality="input" variability="discrete" clocks="2"
 mimeType="application/org.fmi-standard.fmi-ls-bus.can; version=&quot;1.0.0&quot;">
<Start value=""/></Binary>
<Binary name="Can.Tx_Data" valueReference="1" causality="output" variability="discrete" clocks="3"
 mimeType="application/org.fmi-standard.fmi-ls-bus.can; version=&quot;1.0.0&quot;"/>
<Clock name="Can.Rx_Clock" valueReference="2" causality="input" intervalVariability="triggered"/>
<Clock name="Can.Tx_Clock" valueReference="3" {clock}/>
<UInt32 name="id" valueReference="4" causality="parameter" variability="fixed" start="1"/>
<Float64 name="period" valueReference="5" causality="parameter" variability="fixed" start="0.01"/>
<UInt32 name="rate" valueReference="6" causality="parameter" variability="fixed" start="0"/>
<Float64 name="time" valueReference="7" causality="independent" variability="continuous"/>
</ModelVariables>
<ModelStructure><Output valueReference="1"/></ModelStructure>
</fmiModelDescription>
"""
#: Kinds of the Tx clock of ``lsnode3``.
TRIGGERED = 'causality="output" intervalVariability="triggered"'
COUNTDOWN = 'causality="input" intervalVariability="countdown"'

LS_TERMINALS = """<?xml version="1.0" encoding="UTF-8"?>
<fmiTerminalsAndIcons fmiVersion="3.0"><Terminals>
<Terminal terminalKind="org.fmi-ls-bus.network-terminal" matchingRule="org.fmi-ls-bus.transceiver"
 name="Can">
<TerminalMemberVariable variableKind="signal" variableName="Can.Rx_Clock" memberName="Rx_Clock"/>
<TerminalMemberVariable variableKind="signal" variableName="Can.Rx_Data" memberName="Rx_Data"/>
<TerminalMemberVariable variableKind="signal" variableName="Can.Tx_Clock" memberName="Tx_Clock"/>
<TerminalMemberVariable variableKind="signal" variableName="Can.Tx_Data" memberName="Tx_Data"/>
</Terminal></Terminals></fmiTerminalsAndIcons>
"""


def _osmp_parts() -> str:
    parts = []
    for name, content, causality in (
        ("OSMPSensorViewIn", "SensorView", "input"),
        ("OSMPSensorDataOut", "SensorData", "output"),
        ("OSMPSensorViewInConfigRequest", "SensorViewConfiguration", "calculatedParameter"),
        ("OSMPSensorViewInConfig", "SensorViewConfiguration", "parameter"),
    ):
        variability = "fixed" if "arameter" in causality else "discrete"
        for role in ("base.lo", "base.hi", "size"):
            parts.append(
                OSMP_PART.format(
                    name=name,
                    role=role,
                    reference=len(parts),
                    kind=f'causality="{causality}" variability="{variability}"',
                    start=' start="0"' if causality in ("input", "parameter") else "",
                    content=content,
                )
            )
    return "".join(parts)


DESCRIPTIONS = {
    **{path.stem: path.read_text() for path in SOURCES.glob("*.xml")},
    "trig2": TRIG2,
    "trig3": TRIG3,
    "lag2": LAG2,
    "lag3": LAG3,
    "osmp2": OSMP2.format(parts=_osmp_parts()),
    "lsnode3": LS_NODE3.format(clock=TRIGGERED),
}
TERMINALS = {"lsnode3": LS_TERMINALS}


def build_fmu(name: str, directory: Path, description: str = "") -> Path:
    """Compile ``fmus/NAME.c`` and pack it with its description, or with another one.

    FMPy wants every function of the standard: those that the model does not need say Error.
    """
    from fmpy import platform, platform_tuple
    from fmpy.fmi2 import FMU2Model, FMU2Slave
    from fmpy.fmi3 import FMU3Model, FMU3ScheduledExecution, FMU3Slave

    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    is_fmi3 = name.endswith("3")
    source = (SOURCES / f"{name}.c").read_text()
    prefix = "fmi3" if is_fmi3 else "fmi2"
    kinds = (FMU3Slave, FMU3Model, FMU3ScheduledExecution) if is_fmi3 else (FMU2Slave, FMU2Model)
    names = sorted({n for kind in kinds for n in dir(kind) if n.startswith(prefix)})
    there = set(re.findall(rf"\b({prefix}\w+)\(", source))
    stubs = directory / f"{name}_stubs.c"
    stubs.write_text("".join(f"int {n}(void) {{ return 3; }}\n" for n in names if n not in there))
    library = directory / f"{name}.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-ffp-contract=off", "-w", "-o", str(library)]
    subprocess.run([*command, str(SOURCES / f"{name}.c"), str(stubs), "-lm"], check=True)
    fmu = directory / f"{name}.fmu"
    with zipfile.ZipFile(fmu, "w") as archive:
        archive.writestr("modelDescription.xml", description or DESCRIPTIONS[name])
        if name in TERMINALS:
            archive.writestr("terminalsAndIcons/terminalsAndIcons.xml", TERMINALS[name])
        place = platform_tuple if is_fmi3 else platform
        archive.write(library, f"binaries/{place}/{name}.so")
    return fmu
