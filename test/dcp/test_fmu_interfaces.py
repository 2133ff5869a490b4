# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""FMUs of every interface type: model exchange, event mode, clocks, early return, arrays."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from fmpy import simulate_fmu
from fmpy.fmi1 import FMICallException
from support.dcp_models import running
from support.fmu_builder import build_fmu
from support.patience import HANG_S
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ModelError
from ros2_cosim.core.kernel.model import Repeatability
from ros2_cosim.dcp.fmi.interface_type import InterfaceType
from ros2_cosim.dcp.master.cosimulation import load_cosimulation, prepared, run_cosimulation
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.slave.fmu import FmuSlave, describe_fmu, load_fmu
from ros2_cosim.dcp.slave.loading import load_slave
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.errors import DcpError, DescriptionError
from ros2_cosim.dcp.standard.parse_description import parse_description
from ros2_cosim.dcp.standard.slave_description import Causality
from ros2_cosim.dcp.standard.values import Value
from ros2_cosim.dcp.standard.write_description import description_bytes
from ros2_cosim.driving.controllers import Measurement, make_law
from ros2_cosim.driving.controllers.registry import adapted, law_repeatability

STEP = 1 / 64


@pytest.fixture(scope="module")
def fmus(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    directory = tmp_path_factory.mktemp("fmus")
    return {name: build_fmu(name, directory) for name in ("ball2", "ball3", "events3")}


def opened(path: Path, **more: object) -> FmuSlave:
    """A slave that is configured; ``more`` goes to ``load_fmu``."""
    slave, description = load_fmu(path, **more)  # type: ignore[arg-type]
    slave.bind(description)
    slave.configure({})
    return slave


@pytest.mark.parametrize("name", ["ball2", "ball3"])
def test_equations_are_integrated_as_fmpy_does(name: str, fmus: Mapping[str, Path]) -> None:
    expected = simulate_fmu(
        str(fmus[name]), output_interval=STEP, record_events=False, stop_time=2.0
    )
    slave = opened(fmus[name])
    for attempt in range(2):
        slave.initialise()
        assert slave.outputs == [1.0, 0.0, 0]
        rows = []
        for step in range(128):
            slave.advance(step * STEP, STEP)
            rows.append(tuple(slave.outputs))
        assert rows == [tuple(row)[1:] for row in expected[1:]]  # to the bit
        assert abs(rows[31][0]) < 1e-4 and rows[127][2] == 3  # two bounces and a kick
        slave.stop()
        if attempt == 0:
            slave.configure({})
    slave.close()


@pytest.mark.parametrize("name", ["ball2", "ball3"])
def test_inputs_and_parameters_change_at_events(name: str, fmus: Mapping[str, Path]) -> None:
    slave = opened(fmus[name])
    slave.set("g", 2.0)
    slave.initialise()
    for step in range(16):
        slave.advance(step * STEP, STEP)
    assert slave.get("h") == pytest.approx(1.0 + 0.25**2, abs=1e-5)  # up, as g says
    slave.set("g", -2.0)
    slave.set("e", 0.25)
    slave.parameters_changed(["e"])
    for step in range(16, 32):
        slave.advance(step * STEP, STEP)
    assert slave.get("v") == pytest.approx(0.0, abs=1e-5)
    slave.set("g", 0.0)  # a ball without weight ends the simulation
    slave.advance(32 * STEP, STEP)
    assert slave.stop_requested
    slave.close()


def test_what_the_equations_refuse_is_an_error_of_the_step(fmus: Mapping[str, Path]) -> None:
    slave = opened(fmus["ball3"])
    slave.advance(0.0, STEP)
    slave.set("g", 2e3)
    with pytest.raises(FMICallException, match="Derivatives"):
        slave.advance(STEP, STEP)
    slave.close()


def test_a_ball_of_equations_is_stepped_over_dcp(fmus: Mapping[str, Path]) -> None:
    alone = opened(fmus["ball3"])
    slave, description = load_fmu(fmus["ball3"])
    with running(slave, description) as served, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=served.port)
        master.configure()
        master.initialise()
        master.run()
        for step in range(20):
            master.do_step()
            alone.advance(step / 100, 0.01)
            assert [remote.output(n) for n in ("h", "v", "events")] == alone.outputs
        master.stop()
    slave.close()
    alone.close()


def test_clocks_and_arrays_are_described(fmus: Mapping[str, Path]) -> None:
    description = describe_fmu(fmus["events3"])
    assert parse_description(description_bytes(description)) == description
    assert [v.name for v in description.of(Causality.INPUT)] == [
        "asked", "add", "mode", "names[1]", "names[2]", "blobs[1,1]", "blobs[2,1]", "flags",
    ]  # fmt: skip
    assert description.variable("asked").data_type is DataType.uint8
    assert description.variable("out").causality is Causality.OUTPUT
    starts = [description.variable(n).start for n in ("names[2]", "blobs[1,1]", "blobs[2,1]")]
    assert starts == ["b", b"\1", b"\2\3"]
    names = {v.name for v in description.variables}
    assert not names & {"every", "later", "n"}  # they tick by themselves; a size that is kept
    scheduled = describe_fmu(fmus["events3"], interface=InterfaceType.SCHEDULED_EXECUTION)
    assert scheduled.uuid != description.uuid
    with pytest.raises(DescriptionError, match="found model_exchange; wanted is co_simulation"):
        describe_fmu(fmus["ball2"], interface=InterfaceType.CO_SIMULATION)


@pytest.mark.parametrize("interface", InterfaceType)
def test_clocks_tick_on_time(interface: InterfaceType, fmus: Mapping[str, Path]) -> None:
    """At 0.125 s and each 0.25 s; when asked; and one 0.0625 s after the second tick."""
    slave = opened(fmus["events3"], interface=interface)
    slave.initialise()
    rows = []
    for step in range(8):
        slave.set("asked", int(step in (0, 3)))
        slave.set("add", 10 + step)
        slave.advance(step / 8, 0.125)
        names = ("every_count", "asked_sum", "later_count", "out")
        rows.append(tuple(slave.get(name) for name in names))
    # Step 3 has three ticks: asked, the second of every, and later, the fifth of all.
    assert rows == [
        (0, 10, 0, 0), (1, 10, 0, 0), (1, 10, 0, 0), (2, 23, 1, 1),
        (2, 23, 1, 0), (3, 23, 1, 1), (3, 23, 1, 0), (4, 23, 1, 0),
    ]  # fmt: skip
    slave.close()


def test_an_event_mode_gets_discrete_inputs_when_they_change(fmus: Mapping[str, Path]) -> None:
    slave = opened(fmus["events3"])
    slave.initialise()
    for step, mode in enumerate((0, 1, 1, 2)):
        slave.set("mode", mode)
        slave.advance(step / 8, 0.125)
    assert slave.get("modes") == 2
    # At 0.375 s it has an event of its own, within no step: those end there.
    assert slave.get("returns") == 0
    slave.advance(0.5, 0.5)
    assert (slave.get("returns"), slave.get("x")) == (1, 1.0)
    slave.advance(1.0, 4.0)
    assert slave.stop_requested
    slave.close()


def test_outputs_inside_a_step_are_seen_and_may_end_it(fmus: Mapping[str, Path]) -> None:
    seen: list[tuple[float, Value]] = []

    def observe(time: float, values: Mapping[str, Value]) -> bool:
        seen.append((time, values["x"]))
        return len(seen) == 1

    slave = opened(fmus["events3"], on_intermediate=observe)
    slave.advance(0.0, 0.125)
    assert seen == [(0.0625, 0.0625), (0.09375, 0.09375)]  # it returns early from the first
    assert (slave.get("returns"), slave.get("x")) == (1, 0.125)
    slave.close()

    def fails(time: float, values: Mapping[str, Value]) -> bool:
        raise ValueError("no")

    slave = opened(fmus["events3"], on_intermediate=fails)
    with pytest.raises(ValueError, match="no"):
        slave.advance(0.0, 0.125)
    slave.close()


def test_arrays_of_every_type_go_in_and_out(fmus: Mapping[str, Path]) -> None:
    slave, description = load_fmu(fmus["events3"])
    with running(slave, description) as served, Master(timeout_s=HANG_S) as master:
        remote = master.add_slave(description, port=served.port)
        master.configure({"events3": {"small": (-1, 5)}})
        master.initialise()
        joined = ("joined[1]", "joined[2]", "turned[1]", "turned[2]")
        assert [remote.output(name) for name in joined] == ["aa", "ab", b"\1", b"\3\2"]
        assert remote.output("not_flags") == (0, 1, 0)
        assert remote.output("same_small") == (-1, 5)
        master.run()
        remote.set_inputs({"names[2]": "grüß", "blobs[1,1]": b"", "flags": (0, 0, 1)})
        master.do_step()
        assert [remote.output(name) for name in joined] == ["aa", "agrüß", b"", b"\3\2"]
        assert remote.output("not_flags") == (1, 1, 0)
        master.stop()
    slave.close()


def test_a_file_and_a_command_choose_the_interface_type(
    fmus: Mapping[str, Path], tmp_path: Path
) -> None:
    """One FMU twice: parts that are scheduled, and steps of which clocks are part."""
    path = tmp_path / "both.yaml"
    path.write_text(
        f"step: 1/8\nsteps: 4\nslaves:\n  a: {{fmu: {fmus['events3']}}}\n"
        f"  b: {{fmu: {fmus['events3']}, interface: scheduled_execution}}\n"
        "outputs: [a.x, b.x, a.every_count, b.every_count]\n"
    )
    written = io.StringIO()
    assert run_cosimulation(load_cosimulation(path), written) == 4
    # Scheduled parts know the time of the last tick alone.
    assert written.getvalue().splitlines()[-1] == "4,0.5,0.5,0.4375,2,2"
    with pytest.raises(DescriptionError, match="b: interface: allowed with fmu"):
        path.write_text("steps: 1\nslaves: {b: {model: 'm:M', interface: model_exchange}}\n")
        load_cosimulation(path)
    with pytest.raises(DescriptionError, match="interface: allowed for an FMU"):
        load_slave("m:M", None, interface=InterfaceType.MODEL_EXCHANGE)
    chosen = ["--interface", "scheduled_execution"]
    done = CliRunner().invoke(
        app, ["dcp", "serve", str(fmus["events3"]), "--describe", "-", *chosen]
    )
    described = describe_fmu(fmus["events3"], interface=InterfaceType.SCHEDULED_EXECUTION)
    assert described.uuid in done.stdout


def test_equations_are_a_law(fmus: Mapping[str, Path]) -> None:
    settings = {"interface": "model_exchange", "inputs": {"g": "gap"}, "output": "v"}
    law = make_law(str(fmus["ball3"]), settings)
    adapted_law = adapted(law, "ball3")
    demand = adapted_law.acceleration(Measurement(0.25, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    assert demand == pytest.approx(0.5, abs=1e-6)  # v = g * t
    assert law_repeatability(str(fmus["ball3"]), None) is Repeatability.SAME_MACHINE


@pytest.mark.parametrize(("name", "output"), [("ball2", "h"), ("ball3", "h"), ("events3", "x")])
def test_an_fmu_in_its_own_process_does_the_same(
    name: str, output: str, fmus: Mapping[str, Path]
) -> None:
    pair = [opened(fmus[name], apart=apart) for apart in (False, True)]
    for attempt in range(2):
        for slave in pair:
            slave.initialise()
            for step in range(40):
                slave.advance(step * STEP, STEP)
        assert pair[0].outputs == pair[1].outputs
        assert pair[0].get(output) not in (0.0, 1.0)
        for slave in pair:
            slave.stop()
            if attempt == 0:
                slave.configure({})
    for slave in pair:
        slave.close()


def test_an_fmu_that_crashes_in_its_own_process_is_named(fmus: Mapping[str, Path]) -> None:
    settings = {"process": True, "inputs": {"g": "gap"}, "output": "v"}
    law = adapted(make_law(str(fmus["ball3"]), settings), "ball3")
    seen = Measurement(0.25, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert law.acceleration(seen) == pytest.approx(0.5, abs=1e-6)
    with pytest.raises(ModelError, match=r"ball3\.fmu: its process crashed by SIGSEGV"):
        law.acceleration(seen._replace(gap=666.0))
    assert law.close is not None
    law.close()
    with pytest.raises(DescriptionError, match=r"other\.fmu: .*no\.so"):
        path = fmus["ball3"].with_name("other.fmu")
        with zipfile.ZipFile(fmus["ball3"]) as source, zipfile.ZipFile(path, "w") as copy:
            text = source.read("modelDescription.xml")
            copy.writestr("modelDescription.xml", text.replace(b'="ball3"/>', b'="no"/>'))
        load_fmu(path, apart=True)


def test_a_slave_of_this_process_may_have_its_fmu_apart(
    fmus: Mapping[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "apart.yaml"
    path.write_text(f"steps: 1\nslaves: {{ball: {{fmu: {fmus['ball3']}, process: true}}}}\n")
    with prepared(load_cosimulation(path)) as master:
        master.configure()
        master.slaves["ball"].set_inputs({"g": 666.0})
        master.initialise()
        master.run()
        with pytest.raises(DcpError, match=r"'ball'.*ball3\.fmu: its process crashed by SIGSEGV"):
            master.do_step()
