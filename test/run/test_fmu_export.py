# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A scenario as an FMU, driven by FMPy: the trace of a run, clear errors, and nothing left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import fmpy
import pytest
from fmpy import extract, read_model_description, simulate_fmu
from fmpy.fmi1 import FMICallException
from fmpy.fmi2 import FMU2Slave
from fmpy.validation import validate_fmu
from lxml import etree
from run.test_external import ECHO_SCENARIO, PLATOON, SEAM, SHORT
from support.patience import until
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.documents.fmi3 import TERMINALS_FILE, TIME_REFERENCE
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.dcp.export.fmu_export import export_fmu
from ros2_cosim.dcp.fmi.terminals import read_terminals
from ros2_cosim.dcp.slave.fmu import load_fmu
from ros2_cosim.dcp.slave.slave_model import StepInfo

TEST = str(Path(__file__).parents[1])


@pytest.fixture(scope="module")
def platoon(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_fmu(PLATOON, tmp_path_factory.mktemp("fmu") / "platoon.fmu", [*SHORT, SEAM])


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(ECHO_SCENARIO, tmp_path_factory.mktemp("echo"))


def exported(text: str, directory: Path) -> Path:
    """The FMU of a scenario whose models are in the directory of the tests."""
    (directory / "echo.yaml").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", TEST)
        return export_fmu(directory / "echo.yaml", directory / "echo.fmu")


class Instance:
    """One instance of an FMU; ``said`` has what it logs."""

    def __init__(self, fmu: Path, directory: Path, *, guid: str | None = None) -> None:
        self.said: list[str] = []
        self.before = children()
        description = read_model_description(str(fmu))
        self.references = {v.name: v.valueReference for v in description.modelVariables}
        self.fmu = FMU2Slave(
            guid=guid or description.guid,
            unzipDirectory=extract(str(fmu), str(directory)),
            modelIdentifier=description.coSimulation.modelIdentifier,
            instanceName="one",
        )
        from fmpy.fmi2 import fmi2CallbackFunctions, fmi2CallbackLoggerTYPE

        def log(environment: Any, name: bytes, status: int, category: bytes, text: bytes) -> None:
            self.said.append(text.decode())

        self._callbacks = fmi2CallbackFunctions()
        self._callbacks.logger = fmi2CallbackLoggerTYPE(log)
        self.fmu.instantiate(callbacks=self._callbacks)

    def begin(self) -> None:
        self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()

    def real(self, name: str) -> float:
        return float(self.fmu.getReal([self.references[name]])[0])

    def text(self, name: str) -> str:
        return bytes(self.fmu.getString([self.references[name]])[0]).decode()

    def free(self) -> None:
        """Release it; again does no harm."""
        component, self.fmu.component = self.fmu.component, None
        if component is not None:
            self.fmu.fmi2FreeInstance(component)

    @property
    def process(self) -> int:
        (process,) = children() - self.before
        return process


def children() -> set[int]:
    """The processes that this one has started."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(pid) for task in tasks for pid in task.read_text().split()}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    """Makes instances, and frees them at the end; then their processes have gone."""
    made: list[Instance] = []
    before = children()

    def make(fmu: Path) -> Instance:
        made.append(Instance(fmu, tmp_path / f"fmu{len(made)}"))
        return made[-1]

    yield make
    for instance in made:
        instance.free()
    assert children() == before


@pytest.fixture(scope="module")
def expected_trace() -> str:
    with tempfile.TemporaryDirectory() as out:
        return run_inproc(load_scenario(PLATOON, SHORT), Path(out), record=False).trace_sha256


@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
def test_fmpy_steps_the_platoon_to_the_trace_of_a_run(
    fmi: str, platoon: Path, expected_trace: str, tmp_path: Path
) -> None:
    if fmi == "3.0":
        platoon = export_fmu(PLATOON, tmp_path / "platoon.fmu", [*SHORT, SEAM], fmi=fmi)
    assert read_model_description(str(platoon)).fmiVersion == fmi
    assert validate_fmu(str(platoon)) == []
    before = children()
    result = simulate_fmu(
        str(platoon),
        start_values={"run.output_directory": str(tmp_path / "out")},
        output=["leader.x", "run.finished"],
    )
    assert children() == before
    assert list(result["run.finished"]) == [False] * 100 + [True]
    assert result["leader.x"][0] == 700.0 and 720.0 < result["leader.x"][-1] < 730.0
    summary = (tmp_path / "out" / "summary.json").read_text(encoding="utf-8")
    assert expected_trace in summary
    assert (tmp_path / "out" / "bag" / "metadata.yaml").is_file()


def test_an_fmu_of_fmi_3_takes_inputs_and_says_what_is_wrong(
    echo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fmu = tmp_path / "echo3.fmu"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", TEST)
        export_fmu(echo.with_suffix(".yaml"), fmu, fmi="3.0")
    assert {t.name: list(t.members) for t in read_terminals(fmu).values()} == {
        "wish": ["throttle", "brake"],
        "seen": ["throttle", "brake", "steer"],
        "run": ["finished", "trace_sha256", "output_directory"],
    }
    with zipfile.ZipFile(fmu) as archive:
        terminals = etree.fromstring(archive.read(TERMINALS_FILE))
    schema = Path(fmpy.__file__).parent / "schema" / "fmi3" / "fmi3TerminalsAndIcons.xsd"
    etree.XMLSchema(file=str(schema)).assertValid(terminals)
    slave, description = load_fmu(fmu, step=Fraction(1, 100))
    slave.bind(description)
    slave.configure({})
    for step in range(3):
        slave.set("wish.throttle", step / 4)
        slave.do_step(StepInfo(step, 1, Fraction(1, 100)))
        assert slave.get("seen.throttle") == step / 4
    with pytest.raises(FMICallException):
        slave.advance(0.5, 0.01)
    said = capsys.readouterr()
    assert "currentCommunicationPoint: found 0.5 s; allowed is 0.03 s, where" in said.err
    assert said.out == ""
    access = slave._live._access  # type: ignore[attr-defined]
    assert access.getFloat64([TIME_REFERENCE, 0, TIME_REFERENCE]) == [0.03, 0.5, 0.03]
    with pytest.raises(FMICallException):
        access.getFMUState()
    slave.stop()
    slave.close()


def test_equal_scenarios_are_equal_fmus(platoon: Path, tmp_path: Path) -> None:
    again = export_fmu(PLATOON, tmp_path / "again.fmu", [*SHORT, SEAM])
    assert again.read_bytes() == platoon.read_bytes()
    with zipfile.ZipFile(platoon) as archive:
        assert "modelDescription.xml" in archive.namelist()


def test_two_instances_side_by_side_long_steps_and_a_reset_have_one_trace(
    platoon: Path, opened: Any
) -> None:
    one, other = opened(platoon), opened(platoon)
    one.begin()
    other.begin()
    for step in range(100):
        one.fmu.doStep(step / 100, 0.01)
    for step in range(4):
        other.fmu.doStep(step / 4, 0.25)
    one.fmu.terminate()
    trace = one.text("run.trace_sha256")
    other.fmu.reset()
    assert other.text("run.trace_sha256") == ""
    other.begin()
    other.fmu.doStep(0.0, 1.0)
    other.fmu.terminate()
    assert other.text("run.trace_sha256") == trace
    assert len(trace) == 64


def test_inputs_become_messages(echo: Path, opened: Any) -> None:
    instance = opened(echo)
    throttle = instance.references["wish.throttle"]
    instance.begin()
    for number in range(1, 20):
        instance.fmu.setReal([throttle], [number / 32])
        instance.fmu.doStep((number - 1) * 0.01, 0.01)
        assert instance.real("seen.throttle") == number / 32
    instance.fmu.terminate()


#: (what an importer does, the line that it gets)
WRONG: list[tuple[Any, str]] = [
    (lambda i: i.fmu.doStep(0.0, 0.015), "Size: found 0.015 s; allowed are multiples of 0.01"),
    (lambda i: i.fmu.doStep(0.0, 0.0), "communicationStepSize: found 0 s; allowed are multip"),
    (lambda i: i.fmu.doStep(0.0, float("nan")), "communicationStepSize: found nan s"),
    (lambda i: i.fmu.doStep(0.5, 0.01), "found 0.5 s; allowed is 0 s, where the step before"),
    (
        lambda i: i.fmu.setReal([i.references["seen.brake"]], [1.0]),
        "'seen.brake': it is an out",
    ),
    (lambda i: i.fmu.getReal([99]), "value reference 99: there is no such variable of type fl"),
    (lambda i: i.fmu.getInteger([0]), "value reference 0: there is no such variable of type i"),
    (lambda i: i.fmu.setupExperiment(startTime=1.0), "startTime: found 1; allowed is 0"),
    (lambda i: i.fmu.getFMUState(), "fmi2GetFMUstate: not offered"),
]


def test_what_cannot_be_is_one_line_and_changes_nothing(echo: Path, opened: Any) -> None:
    instance = opened(echo)
    instance.begin()
    for call, message in WRONG:
        with pytest.raises(FMICallException):
            call(instance)
        (line,) = instance.said
        assert message in line
        instance.said.clear()
    instance.fmu.doStep(0.0, 0.01)


def test_a_participant_that_fails_is_an_error_of_the_step(tmp_path: Path, opened: Any) -> None:
    instance = opened(exported(ECHO_SCENARIO.replace(":Echo", ":Failing"), tmp_path))
    with pytest.raises(FMICallException):
        instance.begin()
    assert "participant 'echo' failed in its activation 1 at 0s" in instance.said[0]


def test_a_process_that_dies_is_said_and_leaves_nothing(
    echo: Path, opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    instance = opened(echo)
    instance.begin()
    assert len(list((tmp_path / "temporary").iterdir())) == 1
    os.kill(instance.process, signal.SIGKILL)
    with pytest.raises(FMICallException):
        instance.fmu.doStep(0.0, 0.01)
    assert instance.said == ["the process of the scenario has ended"]
    instance.free()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_another_guid_and_another_python_are_refused(
    echo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = children()
    with pytest.raises(Exception, match="instantiate"):
        Instance(echo, tmp_path / "a", guid="another")
    monkeypatch.setenv("COSIM_PYTHON", "/no/python")
    with pytest.raises(Exception, match="instantiate"):
        Instance(echo, tmp_path / "b")
    assert children() == before


IMPORTER = """
import os, sys
from run.test_fmu_export import Instance
from pathlib import Path
instance = Instance(Path(sys.argv[1]), Path(sys.argv[2]))
instance.begin()
print(instance.process, flush=True)
os.kill(os.getpid(), 9)
"""


def test_an_importer_that_is_killed_leaves_no_process(echo: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTER, str(echo), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": TEST},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    process = int(done.stdout)
    until(lambda: not Path(f"/proc/{process}").exists())


def test_the_command_writes_the_fmu_or_says_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = CliRunner()
    target = tmp_path / "of_command.fmu"
    arguments = ["fmu", str(PLATOON), "--out", str(target)]
    done = runner.invoke(app, arguments)
    assert done.exit_code == 1
    assert "external: missing; it names the step" in done.stderr
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(ConfigurationError, match=r"compiler: found none; .* needs g\+\+"):
        export_fmu(PLATOON, target, [SEAM])
    monkeypatch.delenv("CXX")
    with pytest.raises(ConfigurationError, match="No such file or directory"):
        export_fmu(PLATOON, tmp_path / "nowhere" / "x.fmu", [SEAM])
    assert not list(tmp_path.iterdir())
    done = runner.invoke(app, [*arguments, "--set", SEAM])
    assert (done.exit_code, done.stdout.strip()) == (0, str(target)), done.output
    assert target.is_file()
