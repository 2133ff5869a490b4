# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The commands ``cosim dcp ...``, as a user calls them."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import IO

import pytest
from support import warm
from support.dcp_models import Offset, Sine, Types, running, sine_description
from support.fmu_builder import build_fmu
from support.patience import HANG_S
from typer.testing import CliRunner, Result

from ros2_cosim.cli.main import app
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.dcp.master.master import Master
from ros2_cosim.dcp.slave.declare import describe
from ros2_cosim.dcp.standard.enums import OpMode, TransportProtocol
from ros2_cosim.dcp.standard.errors import DcpError
from ros2_cosim.dcp.standard.read_description import read_description
from ros2_cosim.dcp.standard.write_description import write_description
from ros2_cosim.dcp.tools.tester import FAILED, PASSED, verify_slave

HERE = Path(__file__).parents[1] / "support"
ROOT = HERE.parent.parent
TCP, UDP = TransportProtocol.TCP_IPv4, TransportProtocol.UDP_IPv4
SUPPORT = HERE.parent / "support"
MODELS = str(SUPPORT / "dcp_models.py")


def cosim(*arguments: object, code: int = 0) -> str:
    """Output of a command; an error is one line that begins with ``cosim:``."""
    result = CliRunner().invoke(app, ["dcp", *map(str, arguments)])
    assert result.exit_code == code, result.output
    if code == 1:
        assert result.stderr.startswith("cosim: "), result.stderr
        assert result.stderr.count("\n") == 1, result.stderr
        return result.stderr
    return result.stdout


def check(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


@contextmanager
def command(*arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command in a process of its own, and the first line it prints."""
    path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(
        [sys.executable, "-m", "ros2_cosim.cli.main", "dcp", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        stream: IO[str] | None = process.stdout
        assert stream is not None
        yield process, stream.readline()
    finally:
        process.terminate()
        process.communicate(timeout=60)


def port_of(line: str) -> int:
    found = re.search(r":(\d+)", line)
    assert found, line
    return int(found.group(1))


def test_serve_takes_over_what_is_to_be_watched_and_done_about_losses(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(
        "from ros2_cosim.dcp.slave.slave_model import Input, Output, SlaveModel\n\n\n"
        "class Small(SlaveModel):\n"
        '    u = Input("float64", max=1.0)\n'
        '    y = Output("float64", start=0.0)\n'
    )
    cosim("serve", f"{tmp_path}/small.py:Small", "--describe", tmp_path / "small.dcpx")
    losses = ("--missing", "stop", "--acceptable-loss", "0.5", "--input-wait", "50ms")
    options = ("--check", "limits", "--newest-only", "--keep", *losses)
    with command("serve", f"{tmp_path}/small.py:Small", *options) as (_, line):
        for value, transport, fault in (
            (2.0, TCP, r"PROPERTY_VIOLATED.*u: found 2\.0; allowed is -inf to 1"),
            (None, UDP, r"PROPERTY_VIOLATED.*brought no new data for the step"),
        ):
            with Master(timeout_s=HANG_S) as master:
                remote = master.add_slave(
                    tmp_path / "small.dcpx", port=port_of(line), transport=transport
                )
                master.configure()
                master.run()
                remote.set_inputs({"u": 0.5})
                master.do_step()
                if value is None:
                    remote.sent_pdus.clear()  # nothing reaches the slave any more
                else:
                    remote.set_inputs({"u": value})
                with pytest.raises(DcpError, match=fault):
                    master.do_step()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--check", "colour"),
        ("--missing", "guess"),
        ("--acceptable-loss", "2"),
    ],
)
def test_serve_refuses_wrong_choices(option: str, value: str) -> None:
    result = CliRunner().invoke(app, ["dcp", "serve", f"{MODELS}:Sine", option, value])
    assert result.exit_code == 2


def test_serve_refuses_a_wait_without_a_unit() -> None:
    result = CliRunner().invoke(app, ["dcp", "serve", f"{MODELS}:Sine", "--input-wait", "20"])
    assert result.exit_code == 1
    assert "--input-wait: found 20; a time needs a unit: write 20s" in result.stderr


# -- descriptions ---------------------------------------------------------------------------------


def test_describe_a_model_and_validate_what_was_written(tmp_path: Path) -> None:
    model = (f"{MODELS}:Sine", "--step", "1/50", "--mode", "hrt")
    text = cosim("serve", *model, "--describe", "-")
    assert text.startswith("<?xml")
    for name in ("sine.dcpx", "sine.dcp"):
        file = tmp_path / name
        cosim("serve", *model, "--describe", file)
        found = read_description(file)
        assert found.fixed_resolution() == Fraction(1, 50)
        assert found.op_modes == {OpMode.HRT}
        assert f"{file}: valid: Sine {found.uuid}, 5 variables" in check(file).stdout
    assert (tmp_path / "sine.dcpx").read_text() == text


def test_describe_puts_addresses_in(tmp_path: Path) -> None:
    plain = cosim("serve", f"{MODELS}:Sine", "--describe", "-")
    file = tmp_path / "sine.dcpx"
    address = ("--port", "127.0.0.1:8080")
    ports = ("--data-ports", "9000-9009", "--data-ports", "9100")
    cosim("serve", f"{MODELS}:Sine", *address, *ports, "--describe", file)
    found = read_description(file)
    assert found.uuid in plain
    for transport in (found.udp, found.tcp):
        assert transport is not None
        assert (transport.host, transport.port) == ("127.0.0.1", 8080)
        for offered in (transport.data, transport.parameter):
            assert offered is not None
            assert (offered.host, offered.ranges) == ("127.0.0.1", ((9000, 9009), (9100, 9100)))
    for wrong in ("9009-9000", "0-5", "a", "9000-", "1-70000"):
        words = ("--describe", "-", "--data-ports", wrong)
        told = cosim("serve", f"{MODELS}:Sine", *words, code=1)
        assert "allowed is a range such as 9000-9009" in told


def test_describe_an_fmu(tmp_path: Path) -> None:
    fmu = build_fmu("trig2", tmp_path)
    cosim("serve", fmu, "--describe", tmp_path / "trig.dcpx")
    assert read_description(tmp_path / "trig.dcpx").variable("u").attributes.unit == "m"


def test_the_description_of_the_platoon_is_up_to_date() -> None:
    text = cosim("serve", "--world", ROOT / "config" / "platoon.yaml", "--describe", "-")
    assert text == (ROOT / "config" / "carla_platoon.dcpx").read_text(encoding="utf-8")
    assert check(ROOT / "config" / "carla_platoon.dcpx").exit_code == 0


def test_validate_names_file_line_and_fault(tmp_path: Path) -> None:
    good, bad, worse = (tmp_path / f"{n}.dcpx" for n in ("good", "bad", "worse"))
    write_description(sine_description(), good)
    bad.write_text(good.read_text().replace("<Float64 start", "<Float46 start", 1))
    worse.write_text(good.read_text().replace('valueReference="2"', 'valueReference="1"'))
    result = check(good, bad, worse)
    assert result.exit_code == 1
    assert "good.dcpx: valid" in result.stdout
    lines = result.stderr.splitlines()
    assert len(lines) == 2
    assert re.match(r"cosim: .*bad\.dcpx, line \d+: .*Float46", lines[0])
    assert "worse.dcpx" in lines[1]
    result = check(good, bad, "--json")
    assert (result.exit_code, result.stderr) == (1, "")
    answers = json.loads(result.stdout)
    assert [answer["valid"] for answer in answers] == [True, False]
    assert answers[0]["name"] == "Sine" and "Float46" in answers[1]["fault"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serve"], "either a Python model or an FMU"),
        (["serve", "nothing"], "allowed is module:Class"),
        (["serve", "no.such:Model"], "loading no.such failed: ModuleNotFoundError"),
        (["serve", f"{MODELS}:Nothing"], "has no 'Nothing'"),
        (["serve", f"{MODELS}:Running"], "cannot be made"),
        (["serve", f"{MODELS}:SINE_UUID"], "found str"),
        (["serve", f"{MODELS}:Sine", "--step", "0"], "--step: found '0'"),
        (["serve", f"{MODELS}:Sine", "--describe", "x.txt"], "allowed are the endings"),
        (["serve", "missing.fmu"], "no such file"),
        (["serve", "--world", "missing.yaml", "--describe", "-"], "missing.yaml"),
        (["serve", f"{MODELS}:Sine", "--port", "192.0.2.1:0"], "192.0.2.1"),
        (["run", "missing.yaml"], "missing.yaml"),
        (["test", "missing.dcpx"], "missing.dcpx"),
        (["sniff", "missing.pcap"], "missing.pcap"),
        (["sniff", MODELS], "unknown file format"),
        (["sniff", "x=localhost:1"], "LISTEN_PORT=HOST:PORT"),
        (["sniff", "9000=localhost:x"], "LISTEN_PORT=HOST:PORT"),
        (["sniff", "9000=:1"], "LISTEN_PORT=HOST:PORT"),
    ],
)
def test_wrong_input_gives_one_clear_line(arguments: list[str], message: str) -> None:
    assert message in cosim(*arguments, code=1)


# -- serve ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("nothing_left")
def test_serve_a_model_until_it_is_deregistered() -> None:
    with command("serve", f"{MODELS}:Sine") as (process, line):
        assert line.startswith("Sine listens on 127.0.0.1:")
        with Master(timeout_s=HANG_S) as master:
            description = describe(Sine, op_modes=(OpMode.NRT, OpMode.SRT))
            slave = master.add_slave(description, port=port_of(line))
            master.configure({"Sine": {"amplitude": 3.0}})
            master.run()
            slave.set_inputs({"a": 0.5})
            master.do_step()
            assert slave.output("y") == 3.0 * math.sin(0.5)
            master.stop()
        assert process.wait(20) == 0


@pytest.mark.usefixtures("nothing_left")
def test_serve_an_fmu_for_one_master_after_the_other(tmp_path: Path) -> None:
    fmu = build_fmu("trig2", tmp_path)
    description = tmp_path / "trig.dcpx"
    cosim("serve", fmu, "--describe", description)
    with command("serve", fmu, "--keep") as (process, line):
        for transport in (TCP, UDP):
            with Master(timeout_s=HANG_S) as master:
                slave = master.add_slave(description, port=port_of(line), transport=transport)
                master.configure()
                master.run()
                slave.set_inputs({"u": 1.5})
                master.do_step()
                assert slave.output("y") == math.sin(1.5)
                master.stop()
        assert process.poll() is None


# -- run -----------------------------------------------------------------------------------------

CLOSED_LOOP = """
step: 1/100
steps: 20
stepping: sequential
slaves:
  sine: {model: "dcp_models.py:Sine", parameters: {amplitude: 2.0}}
  offset: {model: "dcp_models.py:Offset", parameters: {offset: 0.25}}
connections: [sine.y -> offset.u, offset.y -> sine.a]
tune: {11: {sine.offset: 0.5}}
outputs: [sine.y, offset.y]
base_directory: %s
"""


def rows_of(text: str) -> list[list[float]]:
    rows = list(csv.reader(text.splitlines()))
    assert rows[0] == ["step", "time", "sine.y", "offset.y"]
    return [[float(cell) for cell in row] for row in rows[1:]]


def test_run_two_slaves_in_closed_loop(tmp_path: Path) -> None:
    file = tmp_path / "loop.yaml"
    file.write_text(CLOSED_LOOP % SUPPORT)
    rows = rows_of(cosim("run", file))
    assert len(rows) == 21
    z = rows[0][3]
    for step, time, y, offset in rows[1:]:
        expected = 2.0 * math.sin(z) + (0.5 if step >= 11 else 0.0)
        z = expected + 0.25
        assert (time, y, offset) == (float(Fraction(int(step), 100)), expected, z)
    out = tmp_path / "out.csv"
    assert "20 steps of 2 slaves" in cosim("run", file, "--out", out)
    assert rows_of(out.read_text()) == rows


def test_run_an_fmu_together_with_a_slave_elsewhere(tmp_path: Path) -> None:
    build_fmu("trig2", tmp_path)
    write_description(describe(Offset), tmp_path / "offset.dcpx")
    with running(Offset(), describe(Offset)) as slave:
        file = tmp_path / "mixed.yaml"
        file.write_text(
            "step: 1/1000\nsteps: 5\n"
            "slaves:\n"
            f"  offset: {{description: offset.dcpx, port: {slave.port}, transport: udp}}\n"
            "  trig: {fmu: trig2.fmu}\n"
            "connections: [offset.y -> trig.u]\n"
            "inputs: {offset.u: 0.5}\n"
            "outputs: [trig.y]\n"
        )
        rows = list(csv.reader(cosim("run", file).splitlines()))
    assert float(rows[-1][2]) == math.sin(1.5)


FMUS = """
step: {step}
steps: 5
timeout_s: 3
slaves: {{first: {{fmu: trig2.fmu}}, second: {{fmu: trig2.fmu}}}}
connections: [first.x -> second.u]
inputs: {{first.u: {u}}}
outputs: [first.x, second.x]
"""


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(
    ("step", "u", "code", "message", "last_step"),
    [
        (1000, 1e6, 1, "slave 'second' (trig2.fmu) crashed by SIGSEGV at 1000 s", 1),
        (
            2000,
            1e6,
            1,
            "slave 'second' is in COMPUTING; COMPUTED did not come within 3 s, at 2000 s",
            1,
        ),
        (1, -4e5, 0, "slave 'second' ended the simulation at 4 s, in step 4 of 5", 4),
    ],
)
def test_an_fmu_that_crashes_or_hangs_or_ends_the_simulation_leaves_the_rows_before(
    tmp_path: Path, step: int, u: float, code: int, message: str, last_step: int
) -> None:
    build_fmu("trig2", tmp_path)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    (tmp_path / "fmus.yaml").write_text(FMUS.format(step=step, u=u))
    path = [str(ROOT), str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(path)}
    words = ("dcp", "run", "fmus.yaml", "--out", "a.csv")
    ended = warm.cosim(environment, *words, directory=tmp_path)
    assert (ended.returncode, ended.stderr) == (code, f"cosim: {message}\n")
    rows = list(csv.reader((tmp_path / "a.csv").read_text().splitlines()))
    assert rows[0] == ["step", "time", "first.x", "second.x"]
    assert [int(row[0]) for row in rows[1:]] == list(range(last_step + 1))
    assert float(rows[-1][2]) == last_step * step * u
    assert not list(temporary.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("steps: 20", "steps: -1"), "steps: found -1"),
        (("steps: 20", "stops: 20"), "stops: unknown key"),
        (("step: 1/100", "step: soon"), "step: found 'soon'"),
        (("sine.y -> offset.u", "sine.y offset.u"), "allowed is slave.output -> slave.input"),
        (("sine.y -> offset.u", "sine.y -> offset.w"), "no variable 'w'"),
        (("amplitude: 2.0", "loudness: 2.0"), "no variable 'loudness'"),
        (("sine.offset: 0.5", "sine.phase: 0.5"), "'phase' is not tunable"),
        (("[sine.y, offset.y]", "[sine.z]"), "no output 'z'"),
        (("[sine.y, offset.y]", "[siney]"), "outputs: found 'siney'; allowed is slave.variable"),
        (
            ("sine.offset: 0.5", "cosine.offset: 0.5"),
            "tune.11: found 'cosine.offset'; allowed is sl",
        ),
        (("tune:", "inputs: {sine.b: 1.0}\ntune:"), "no variable 'b'"),
        (("tune:", "inputs: {sine.offset: 1.0}\ntune:"), "does not feed an input 'offset'"),
        (("sine.y -> offset.u", "{from: sine.y, to: offset.u, delayed: 1}"), "delayed: found 1"),
        (("{amplitude: 2.0}", "{amplitude: 2.0}, fmu: a.fmu"), "allowed is either model or fmu"),
        (("dcp_models.py:Sine", "dcp_models.py:Cosine"), "has no 'Cosine'"),
        (
            ('{model: "dcp_models.py:Sine"', '{port: 0, model: "dcp_models.py:Sine"'),
            "port: found 0",
        ),
        (
            ('{model: "dcp_models.py:Sine"', '{port: 65536, model: "dcp_models.py:Sine"'),
            "found 65536",
        ),
        (
            ('{model: "dcp_models.py:Sine"', '{every: 0, model: "dcp_models.py:Sine"'),
            "every: found 0",
        ),
        (('{model: "dcp_models.py:Offset"', "{host: localhost"), "model or fmu is missing"),
    ],
)
@pytest.mark.usefixtures("nothing_left")
def test_wrong_co_simulations_are_refused(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    file = tmp_path / "wrong.yaml"
    text = CLOSED_LOOP % SUPPORT
    assert change[0] in text
    file.write_text(text.replace(*change))
    assert message in cosim("run", file, code=1)
    names = {thread.name for thread in threading.enumerate()}
    assert not any(name.startswith("slave-") for name in names)


# -- test ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", [TCP, UDP])
@pytest.mark.parametrize("model", [Sine, Types])
def test_our_own_slaves_pass_every_procedure(
    transport: TransportProtocol, model: type[Sine] | type[Types]
) -> None:
    # Only one of them keeps to the interval of a heartbeat, however slow the machine is.
    for heartbeat, only in ((None, ()), (Fraction(1), ["heartbeat"])):
        modes = (OpMode.NRT, OpMode.SRT)
        description = describe(model, op_modes=modes, heartbeat=heartbeat)
        with running(model(), description, once=False) as slave:
            report = verify_slave(
                description, port=slave.port, transport=transport, hostile=True, only=only
            )
        assert report.passed, report.text()
        assert {o.result for o in report.outcomes} <= {PASSED, "skipped"}


def test_a_deviating_slave_fails_with_the_transcript(tmp_path: Path) -> None:
    description = sine_description()
    file = tmp_path / "sine.dcpx"
    write_description(description, file)
    with running(Sine(), description, once=False) as slave:
        slave.server.slave.description = describe(Sine, uuid=description.uuid)  # NRT alone
        arguments = (file, "--address", slave.port, "--only", "nrt", "--only", "srt")
        text = cosim("test", *arguments, code=3)
        assert "failed  srt" in text and "passed  nrt" in text
        assert "-> STC_register" in text
        report = json.loads(cosim("test", *arguments, "--json", code=3))
        again = json.loads(cosim("test", *arguments[:5], "--json"))
        assert again["passed"]
        assert not report["passed"]
        failed = [o for o in report["outcomes"] if o["result"] == FAILED]
        assert "INVALID_OP_MODE" in failed[0]["message"]
        nonsense = (*arguments[:3], "--only", "nonsense")
        assert "no procedure nonsense" in cosim("test", *nonsense, code=1)
    assert "no connection to" in cosim("test", file, "--address", slave.port, code=1)


def test_a_scenario_is_served_and_stepped_to_the_trace_of_a_run(tmp_path: Path) -> None:
    scenario = tmp_path / "platoon.yaml"
    text = (ROOT / "config" / "platoon.yaml").read_text(encoding="utf-8")
    (tmp_path / "highway.xodr").write_bytes((ROOT / "config" / "highway.xodr").read_bytes())
    seam = "external: {step: 10ms, outputs: {leader: {from: world.odometry/leader}}}"
    scenario.write_text(f"{text}\n{seam}\n", encoding="utf-8")
    cosim("serve", "--scenario", scenario, "--describe", tmp_path / "run.dcpx")
    short = "duration=500ms"
    expected = run_inproc(load_scenario(scenario, [short]), tmp_path / "expected", record=False)
    where = ("--set", short, "--out", tmp_path / "out")
    with command("serve", "--scenario", scenario, *where) as (process, line):
        assert line.startswith("platoon listens on 127.0.0.1:")
        with Master(timeout_s=60) as master:
            master.add_slave(tmp_path / "run.dcpx", port=port_of(line))
            master.configure()
            master.initialise()
            master.run()
            master.do_step(50)
            master.stop()
        output, _ = process.communicate(timeout=60)
    assert output == f"trace {expected.trace_sha256}: end of the run at 500ms\n"
    assert process.returncode == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["trace_sha256"] == expected.trace_sha256


def test_the_world_of_a_scenario_is_served_alone(tmp_path: Path) -> None:
    scenario = ROOT / "config" / "platoon.yaml"
    cosim("serve", "--world", scenario, "--describe", tmp_path / "world.dcpx")
    with command("serve", "--world", scenario, "--port", "127.0.0.2:0") as (process, line):
        assert line.startswith("carla listens on 127.0.0.2:")
        with Master(timeout_s=60) as master:
            master.add_slave(tmp_path / "world.dcpx", "127.0.0.2", port_of(line), name="world")
            master.configure()
            master.initialise()
            assert master.slaves["world"].output("odometry/leader.x") == 700.0
            master.run()
            master.do_step(2)
            master.stop()
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_wrong_choices_of_what_is_served() -> None:
    platoon = ROOT / "config" / "platoon.yaml"
    for arguments in (
        ("serve", "--scenario", platoon, "--world", platoon),
        ("serve", MODELS + ":Sine", "--world", platoon),
    ):
        assert "give one of a model" in cosim(*arguments, code=1)
    assert "--set: found with a model" in cosim("serve", MODELS + ":Sine", "--set", "a=1", code=1)
    assert "external: missing" in cosim("serve", "--scenario", platoon, code=1)
    assert "no participant has a DCP slave" in cosim(
        "serve", "--world", ROOT / "config" / "car_following.yaml", code=1
    )
