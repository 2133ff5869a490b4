# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Slave descriptions: writing, reading, schema, the rules behind the schema, packages."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.dcp_models import Offset, Sine, Types, sine_description

from ros2_cosim.dcp.slave.declare import SlaveAddress, describe
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.errors import DescriptionError
from ros2_cosim.dcp.standard.parse_description import parse_description
from ros2_cosim.dcp.standard.read_description import read_description
from ros2_cosim.dcp.standard.slave_description import (
    Bluetooth,
    Causality,
    DataPipe,
    Dependency,
    DisplayUnit,
    IPv4Transport,
    LogCategory,
    LogTemplate,
    NonRealTime,
    Resolution,
    ResolutionRange,
    SimpleType,
    SlaveDescription,
    TypeAttributes,
    Unit,
    Usb2,
    Variable,
)
from ros2_cosim.dcp.standard.slave_package import write_package
from ros2_cosim.dcp.standard.write_description import description_bytes, write_description


def full() -> Any:
    """A description that uses every element."""
    variables = (
        Variable(
            "speed",
            1,
            Causality.OUTPUT,
            DataType.float64,
            attributes=TypeAttributes(
                min=0.0, max=50.0, nominal=10.0, gradient=9.0, quantity="v", unit="m/s"
            ),
            fixed_steps=False,
            min_steps=1,
            max_steps=5,
            dependencies_init=(),
            dependencies_run=(Dependency(2), Dependency(3, linear=True)),
            annotations=(("tool", '<x a="1"/>'), ("other", None)),
        ),
        Variable(
            "force",
            2,
            Causality.INPUT,
            DataType.float32,
            1.5,
            pre_edge=0.1,
            post_edge=0.2,
            max_consec_missed_pdus=3,
            declared_type="Force",
        ),
        Variable("mass", 3, Causality.PARAMETER, DataType.int16, -4, "tunable"),
        Variable("blob", 4, Causality.INPUT, DataType.binary, b"\x01\xff", "discrete"),
    )
    return describe(
        variables,
        name="everything",
        resolutions=(
            Resolution(1, 100, False, True),
            Resolution(1, 10, False),
            ResolutionRange(1, 9, 1000),
        ),
        steps=NonRealTime(2, False, 1, 8),
        heartbeat=Fraction(3, 2),
        address=SlaveAddress("127.0.0.1", 8080, ((8080, 8080), (9000, 9010))),
        log_categories=(LogCategory(1, "general"),),
        log_templates=(LogTemplate(1, 1, 3, "speed is %float64, 100%% of %string"),),
        units=(
            Unit("m/s", {"m": 1, "s": -1}, display_units=(DisplayUnit("km/h", 3.6),)),
            Unit("N", {"kg": 1, "m": 1, "s": -2}),
        ),
        types=(SimpleType("Force", DataType.float32, TypeAttributes(unit="N"), "a force"),),
        vendor_annotations=(("maker", None),),
        usb2=Usb2((DataPipe(0x83, 1, "In"),), 50),
        bluetooth=Bluetooth("00:11:22:33:44:55", 3, "me"),
        can=True,
        description="all of it",
        author="a",
        version="1.0",
        copyright="c",
        license="l",
        generation_tool="t",
        generation_date_and_time="2020-01-01T00:00:00Z",
        variable_naming_convention="structured",
    )


@pytest.mark.parametrize("make", [full, sine_description, lambda: describe(Types)])
def test_written_and_read_again_it_is_the_same(make: Any, tmp_path: Path) -> None:
    description = make()
    write_description(description, tmp_path / "slave.dcpx")
    assert read_description(tmp_path / "slave.dcpx") == description
    assert description_bytes(description) == (tmp_path / "slave.dcpx").read_bytes()


def test_declared_type_completes_the_variable() -> None:
    description = full()
    assert description.attributes(description.variable("force")).unit == "N"


def test_uuid_follows_the_content() -> None:
    assert describe(Sine).uuid == describe(Sine).uuid
    assert describe(Sine).uuid != describe(Sine, address=SlaveAddress(port=1)).uuid
    assert describe(Offset).uuid_bytes.hex() == describe(Offset).uuid.replace("-", "")


def test_resolutions_compare_as_fractions() -> None:
    description = full()
    assert description.allows_resolution(2, 200)
    assert description.allows_resolution(3, 1000)
    assert description.allows_resolution(1, 500)
    assert not description.allows_resolution(1, 3000)
    assert not any(description.allows_resolution(*pair) for pair in ((0, 1), (1, 0), (0, 0)))
    assert description.fixed_resolution() == Fraction(1, 100)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"non_real_time": None}, "at least one of three"),
        ({"non_real_time": NonRealTime(1, True, 1, 2)}, "fixedSteps is true"),
        ({"non_real_time": NonRealTime(1, False, 3, 2)}, "maxSteps below minSteps"),
        ({"resolutions": (Resolution(), Resolution(1, 5, False))}, "fixed Resolution beside"),
        ({"resolutions": (Resolution(1, 0),)}, "denominator of 0"),
        ({"resolutions": (Resolution(0, 100),)}, "numerator of 0"),
        ({"resolutions": (ResolutionRange(0, 0, 100),)}, "numerator of 0"),
        ({"heartbeat": None}, "Heartbeat must come together"),
        ({"log_categories": ()}, "element Log must come together"),
        ({"log_templates": (LogTemplate(1, 7, 1, "x"),)}, "category 7|LogCategoryKeyRef"),
        ({"log_templates": (LogTemplate(1, 1, 5, "x"),)}, "levels go from 0 to 4"),
        ({"uuid": "no"}, "uuid"),
        ({"types": ()}, "Force"),
        ({"units": ()}, None),
        ({"variables": ()}, "Variable"),
    ],
)
def test_broken_rules_are_named(change: dict[str, Any], text: str | None) -> None:
    broken = replace(full(), **change)
    if text is None:
        description_bytes(broken)
        return
    with pytest.raises(DescriptionError, match=text):
        description_bytes(broken)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"variability": "fixed"}, "cannot be fixed"),
        ({"variability": "often"}, "often"),
        ({"start": None}, "start"),
        ({"start": float("inf")}, "start"),
        ({"start": (1.0, 2.0)}, "no Dimensions"),
        ({"value_reference": 1}, "distinctVariableValueReference|twice"),
        ({"name": "speed"}, "distinctVariableName|twice"),
        ({"declared_type": "Mass"}, "Mass"),
        ({"attributes": TypeAttributes(unit="kg")}, "not among the UnitDefinitions"),
    ],
)
def test_broken_variables_are_named(change: dict[str, Any], text: str) -> None:
    good = full()
    variables = tuple(replace(v, **change) if v.name == "force" else v for v in good.variables)
    with pytest.raises(DescriptionError, match=text):
        description_bytes(replace(good, variables=variables))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "not well-formed XML"),
        (b"<a/>", "line 1"),
        (b"<dcpSlaveDescription/>", "dcpMajorVersion"),
        (b"\xff\xfe\x00", "not well-formed XML"),
        (b'<dcpSlaveDescription dcpMajorVersion="1\x7f"/>', r"'1\\x7f' is not a valid"),
        (
            b'<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/hostname">]><a>&e;</a>',
            "document type",
        ),
    ],
)
def test_wrong_files_are_refused(data: bytes, text: str) -> None:
    with pytest.raises(DescriptionError, match=text):
        parse_description(data, "x.dcpx")


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="gone.dcpx"):
        read_description(tmp_path / "gone.dcpx")


def test_trailing_blanks_and_empty_hosts_are_read() -> None:
    data = description_bytes(full()).replace(b'start="1.5"', b'start="1.5 "')
    data = data.replace(b'host="127.0.0.1"', b'host=""')
    description = parse_description(data)
    assert description.variable("force").start == 1.5
    assert description.tcp is not None and description.tcp.host is None


def test_package_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "slave.dcp"
    write_package(full(), path, {"documentation/index.html": b"hello"})
    assert read_description(path) == full()
    first = path.read_bytes()
    write_package(full(), path, {"documentation/index.html": b"hello"})
    assert path.read_bytes() == first
    with zipfile.ZipFile(path) as archive:
        assert {i.compress_type for i in archive.infolist()} == {zipfile.ZIP_DEFLATED}
        assert all(name.startswith("v1.0/") for name in archive.namelist())


def test_wrong_packages_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "slave.dcp"
    for escape in ("../x", "/x", "", "dcpSlaveDescription.dcpx"):
        with pytest.raises(DescriptionError):
            write_package(full(), path, {escape: b""})
    path.write_bytes(b"no zip")
    with pytest.raises(DescriptionError, match="zip"):
        read_description(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other", b"")
    with pytest.raises(DescriptionError, match="lacks"):
        read_description(path)


def test_log_template_text() -> None:
    template = LogTemplate(1, 1, 3, "%uint8 of %string: 100%%")
    assert template.arguments == (DataType.uint8, DataType.string)
    assert template.text([3, "x"]) == "3 of x: 100%"


def test_the_interval_of_a_heartbeat_is_a_fraction() -> None:
    """A missing numerator or denominator is 1."""
    data = description_bytes(replace(full(), heartbeat=Fraction(3, 7)))
    pair = b'numerator="3" denominator="7"'
    assert data.count(pair) == 1
    for attributes, interval in (
        (pair, Fraction(3, 7)),
        (b'denominator="4"', Fraction(1, 4)),
        (b'numerator="5"', Fraction(5)),
    ):
        found = parse_description(data.replace(pair, attributes))
        assert found.heartbeat == interval
    with pytest.raises(DescriptionError, match="the denominator of the interval is 0"):
        parse_description(data.replace(pair, b'numerator="3" denominator="0"'))


MINIMAL = b"""<dcpSlaveDescription dcpMajorVersion="1" dcpMinorVersion="0" dcpSlaveName="s"
 uuid="b5279485-720d-4542-9f29-bee4d9a75ef9">
<OpMode><NonRealTime/></OpMode>
<UnitDefinitions>
<Unit name="a"><BaseUnit/><DisplayUnit name="b"/></Unit><Unit name="c"/>
</UnitDefinitions>
<TimeRes><Resolution/></TimeRes>
<TransportProtocols><UDP_IPv4/><USB2/>
<Bluetooth><Address bd_addr="00:11:22:33:44:55" port="3"/></Bluetooth><TCP_IPv4/>
</TransportProtocols>
<CapabilityFlags/>
<Variables>
<Variable name="y" valueReference="1"><Output><Float64/></Output></Variable>
<Variable name="u" valueReference="2"><Input><Int8 start="1"/></Input></Variable>
</Variables>
</dcpSlaveDescription>"""


def test_what_a_file_does_not_say_has_the_values_of_the_standard() -> None:
    assert parse_description(MINIMAL) == SlaveDescription(
        "s",
        "b5279485-720d-4542-9f29-bee4d9a75ef9",
        (
            Variable("y", 1, Causality.OUTPUT, DataType.float64),
            Variable("u", 2, Causality.INPUT, DataType.int8, 1),
        ),
        (Resolution(1, 1000, True),),
        NonRealTime(1, True),
        udp=IPv4Transport(65507, has_control=False),
        tcp=IPv4Transport(4294967267, has_control=False),
        usb2=Usb2((), None, 1024),
        bluetooth=Bluetooth("00:11:22:33:44:55", 3, None, 1011),
        units=(
            Unit("a", {}, 1.0, 0.0, True, (DisplayUnit("b", 1.0, 0.0),)),
            Unit("c", has_base=False),
        ),
    )
