# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Binary variables of FMI 2.0 as OSMP packs them: bytes in, bytes out, through addresses."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from support.dcp_models import running
from support.fmu_builder import DESCRIPTIONS, build_fmu
from support.patience import HANG_S

from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.slave.fmu import describe_fmu, load_fmu
from ros2_cosim.dcp.standard.enums import DataType, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpError, DescriptionError
from ros2_cosim.dcp.standard.parse_description import parse_description
from ros2_cosim.dcp.standard.slave_description import Causality
from ros2_cosim.dcp.standard.write_description import description_bytes


@pytest.fixture(scope="module")
def osmp2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_fmu("osmp2", tmp_path_factory.mktemp("fmu"))


def raised(data: bytes, step: int) -> bytes:
    return bytes((byte + step) % 256 for byte in data)


def test_three_integers_are_one_binary_variable(osmp2: Path) -> None:
    description = describe_fmu(osmp2)
    assert [(v.name, v.causality, v.data_type) for v in description.variables] == [
        ("OSMPSensorViewIn", Causality.INPUT, DataType.binary),
        ("OSMPSensorDataOut", Causality.OUTPUT, DataType.binary),
        ("OSMPSensorViewInConfigRequest", Causality.OUTPUT, DataType.binary),
        ("OSMPSensorViewInConfig", Causality.PARAMETER, DataType.binary),
        ("count", Causality.OUTPUT, DataType.int32),
        ("lie", Causality.PARAMETER, DataType.int32),
    ]
    told = description.variable("OSMPSensorViewIn").description
    assert told == "application/x-open-simulation-interface; type=SensorView; version=3.8.0"
    assert parse_description(description_bytes(description)) == description


@pytest.mark.parametrize("size", [1, 3, 70_000, 2_000_000])
def test_bytes_go_in_and_come_out(osmp2: Path, size: int) -> None:
    slave, description = load_fmu(osmp2)
    with running(slave, description) as served, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(
            description, port=served.port, transport=TransportProtocol.TCP_IPv4
        )
        master.configure()
        for attempt in range(2):
            master.initialise()
            assert remote.output("OSMPSensorDataOut") == b""
            assert remote.output("OSMPSensorViewInConfigRequest") == b"R\xff"
            master.run()
            former = b""
            for step in range(1, 6):
                # Of another size each time: buffers of the allocator are used again.
                given = bytes(range(256)) * (size * step // 256) + b"\0" * (size % 256) + b"\1"
                given = b"" if step == 4 else given
                remote.set_inputs({"OSMPSensorViewIn": given})
                master.do_step()
                found = remote.output("OSMPSensorDataOut")
                assert found == raised(given, step)
                assert found != former
                former = found
            assert remote.output("OSMPSensorViewInConfigRequest") == b"R\xff"
            master.stop()
            if attempt == 0:
                master.reset()
    slave.close()


@pytest.mark.parametrize("size", [-1, 2**31 - 1])
def test_a_size_out_of_bounds_is_an_error_of_the_slave(osmp2: Path, size: int) -> None:
    slave, description = load_fmu(osmp2)
    with running(slave, description) as served, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=served.port)
        master.configure({"osmp2": {"lie": size}})
        master.run()
        remote.set_inputs({"OSMPSensorViewIn": b"abc"})
        with pytest.raises(DcpError, match=rf"found a binary variable of {size} bytes; allowed"):
            master.do_step()
    slave.close()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('role="base.hi"', 'role="size"', "found roles base.lo, size, size; allowed is each of"),
        ('"OSMPSensorViewIn" role="base.hi"', '"Other" role="base.hi"', "found roles base.lo, s"),
        ("type=SensorView;", "type=SensorData;", "differ in causality, variability or mime-type"),
        ('"parameter" variability="fixed"', '"parameter" variability="tunable"', "differ in caus"),
        ('name="count"', 'name="OSMPSensorViewIn"', "and no variable of that name"),
        ("<Integer start", "<Real start", "allowed are three Integers"),
    ],
)
def test_what_does_not_belong_together_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = DESCRIPTIONS["osmp2"]
    assert old in text
    path = tmp_path / "wrong.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", text.replace(old, new, 1))
    with pytest.raises(DescriptionError) as caught:
        describe_fmu(path)
    assert message in str(caught.value)
    assert "wrong.fmu: binary variable 'O" in str(caught.value)
