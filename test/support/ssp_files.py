# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A system of three small FMUs: a plant, a controller in a system of its own, and a lamp."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

from ros2_cosim.core.record.bag_reader import read_bag
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.dcp.slave.c_source import c_fmu

SOURCES = {
    "plant": """
double mass = 2.0; /* [kg] */
static double v = 0.0, s = 0.0;
void reset(void) { v = s = 0.0; }
/* Returns the speed [m/s]. */
double speed(double dt, double force /* [N] */, double *position /* [m] */) {
  v += force / mass * dt;
  s += v * dt;
  *position = s;
  return v;
}
""",
    "control": """
double wanted = 3.0; /* [m/s] */
/* Returns the force [N]. */
double force(double speed /* [km/h] */, int *fast) {
  *fast = speed > 2.0;
  return 4.0 * (wanted - speed / 4.0);
}
""",
    "lamp": """
#include <stdbool.h>
int level(bool on, int mode) { return on ? 10 + mode : mode; }
""",
}
_SPACE = "http://ssp-standard.org/SSP1/SystemStructure"
SPACES = " ".join(
    f'xmlns:{prefix}="{_SPACE}{name}"'
    for prefix, name in (
        ("ssc", "Common"),
        ("ssd", "Description"),
        ("ssv", "ParameterValues"),
        ("ssm", "ParameterMapping"),
        ("ssb", "SignalDictionary"),
    )
)
SSD = f"""<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription {SPACES} name="demo" version="1.0">
<ssd:System name="Root">
<ssd:Connectors>
<ssd:Connector name="v" kind="output"><ssc:Real unit="m/s"/></ssd:Connector>
<ssd:Connector name="mode" kind="input"><ssc:Integer/></ssd:Connector>
</ssd:Connectors>
<ssd:ParameterBindings>
<ssd:ParameterBinding source="resources/values.ssv">
<ssd:ParameterMapping source="resources/names.ssm"/>
</ssd:ParameterBinding>
</ssd:ParameterBindings>
<ssd:Elements>
<ssd:Component name="Plant" source="resources/plant.fmu">
<ssd:Connectors>
<ssd:Connector name="force" kind="input"><ssc:Real unit="N"/></ssd:Connector>
<ssd:Connector name="speed" kind="output"><ssc:Real unit="m/s"/></ssd:Connector>
<ssd:Connector name="position" kind="output"><ssc:Real unit="m"/></ssd:Connector>
</ssd:Connectors>
<ssd:ParameterBindings><ssd:ParameterBinding><ssd:ParameterValues>
<ssv:ParameterSet version="1.0" name="inner"><ssv:Parameters>
<ssv:Parameter name="mass"><ssv:Real value="99"/></ssv:Parameter>
</ssv:Parameters></ssv:ParameterSet>
</ssd:ParameterValues></ssd:ParameterBinding></ssd:ParameterBindings>
</ssd:Component>
<ssd:Component name="Lamp" source="resources/lamp.fmu">
<ssd:Connectors>
<ssd:Connector name="on" kind="input"><ssc:Boolean/></ssd:Connector>
<ssd:Connector name="mode" kind="input"><ssc:Integer/></ssd:Connector>
<ssd:Connector name="level" kind="output"><ssc:Integer/></ssd:Connector>
</ssd:Connectors>
</ssd:Component>
<ssd:System name="Drive">
<ssd:Connectors>
<ssd:Connector name="speed" kind="input"><ssc:Real unit="km/h"/></ssd:Connector>
<ssd:Connector name="force" kind="output"><ssc:Real/></ssd:Connector>
<ssd:Connector name="fast" kind="output"><ssc:Integer/></ssd:Connector>
</ssd:Connectors>
<ssd:Elements>
<ssd:Component name="Control" source="resources/control.fmu">
<ssd:Connectors>
<ssd:Connector name="speed" kind="input"><ssc:Real unit="km/h"/></ssd:Connector>
<ssd:Connector name="force" kind="output"><ssc:Real unit="N"/></ssd:Connector>
<ssd:Connector name="fast" kind="output"><ssc:Integer/></ssd:Connector>
</ssd:Connectors>
</ssd:Component>
</ssd:Elements>
<ssd:Connections>
<ssd:Connection startConnector="speed" endElement="Control" endConnector="speed"/>
<ssd:Connection startElement="Control" startConnector="force" endConnector="force"/>
<ssd:Connection startConnector="fast" endElement="Control" endConnector="fast"/>
</ssd:Connections>
</ssd:System>
</ssd:Elements>
<ssd:Connections>
<ssd:Connection startElement="Plant" startConnector="speed" endElement="Drive"
 endConnector="speed"/>
<ssd:Connection startElement="Drive" startConnector="force" endElement="Plant"
 endConnector="force"><ssc:LinearTransformation factor="0.5" offset="0.25"/></ssd:Connection>
<ssd:Connection startElement="Drive" startConnector="fast" endElement="Lamp" endConnector="on">
<ssc:IntegerMappingTransformation><ssc:MapEntry source="1" target="0"/>
<ssc:MapEntry source="0" target="1"/></ssc:IntegerMappingTransformation></ssd:Connection>
<ssd:Connection startConnector="mode" endElement="Lamp" endConnector="mode"/>
<ssd:Connection startElement="Plant" startConnector="speed" endConnector="v"/>
</ssd:Connections>
</ssd:System>
<ssd:Units>
<ssc:Unit name="km/h"><ssc:BaseUnit m="1" s="-1" factor="0.25"/></ssc:Unit>
<ssc:Unit name="m/s"><ssc:BaseUnit m="1" s="-1"/></ssc:Unit>
<ssc:Unit name="N"><ssc:BaseUnit kg="1" m="1" s="-2"/></ssc:Unit>
<ssc:Unit name="m"><ssc:BaseUnit m="1"/></ssc:Unit>
</ssd:Units>
<ssd:DefaultExperiment startTime="0" stopTime="0.5"/>
</ssd:SystemStructureDescription>
"""
SSV = f"""<?xml version="1.0" encoding="UTF-8"?>
<ssv:ParameterSet {SPACES} version="1.0" name="values">
<ssv:Parameters>
<ssv:Parameter name="m"><ssv:Real value="1500" unit="g"/></ssv:Parameter>
<ssv:Parameter name="start"><ssv:Integer value="3"/></ssv:Parameter>
<ssv:Parameter name="unused"><ssv:String value="nothing"/></ssv:Parameter>
</ssv:Parameters>
<ssv:Units><ssc:Unit name="g"><ssc:BaseUnit kg="1" factor="0.001"/></ssc:Unit></ssv:Units>
</ssv:ParameterSet>
"""
SSM = f"""<?xml version="1.0" encoding="UTF-8"?>
<ssm:ParameterMapping {SPACES} version="1.0">
<ssm:MappingEntry source="m" target="Plant.mass"><ssc:LinearTransformation factor="2"/>
</ssm:MappingEntry>
<ssm:MappingEntry source="start" target="mode"/>
</ssm:ParameterMapping>
"""


def build_fmus(directory: Path) -> dict[str, bytes]:
    """The FMUs by their places in the archive, made with the C compiler."""
    found = {}
    for name, text in SOURCES.items():
        path = directory / f"{name}.c"
        path.write_text(text)
        found[f"resources/{name}.fmu"] = c_fmu(path, compiled=True)
    return found


def packed(path: Path, fmus: Mapping[str, bytes], **texts: str) -> Path:
    """The archive, with other texts of its documents ``ssd``, ``ssv`` and ``ssm``."""
    documents = {
        "SystemStructure.ssd": texts.get("ssd", SSD),
        "resources/values.ssv": texts.get("ssv", SSV),
        "resources/names.ssm": texts.get("ssm", SSM),
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**documents, **fmus}.items():
            archive.writestr(name, content)
    return path


def run(path: Path, out: Path) -> tuple[str, dict[str, list[float]]]:
    """The trace of a scenario, and the numbers on each of its topics."""
    summary = run_inproc(load_scenario(path), out)
    found: dict[str, list[float]] = {}
    for message in read_bag(out / "bag"):
        code = "d" if message.type_name.endswith("Float64") else "i"
        (value,) = struct.unpack_from(f"<{code}", message.data, 4)
        found.setdefault(message.topic, []).append(value)
    return summary.trace_sha256, found
