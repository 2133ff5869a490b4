# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""FMUs of a directory in each interface type, here and in FMPy's own simulation: equal bits?

    python -m bench.reference_fmus DIR

Each FMU is loaded as a slave and stepped to the end of its experiment; FMPy simulates it with the
same steps, and CVODE with the same tolerance. A row says how many values were compared and how many
differ. FMPy does not simulate scheduled execution: a loop here calls its class, each part at each
whole step. It records no strings and binaries, so these are not compared.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import fmpy
from fmpy import fmi3, read_model_description, simulate_fmu

from ros2_cosim.dcp.fmi.interface_type import InterfaceType
from ros2_cosim.dcp.fmi.runtime import CLOCK
from ros2_cosim.dcp.slave.fmu import FmuSlave
from ros2_cosim.dcp.slave.fmu_description import fmu_slave_description, fmu_variables, read_fmu
from ros2_cosim.dcp.standard.enums import DataType
from ros2_cosim.dcp.standard.errors import DescriptionError
from ros2_cosim.dcp.standard.slave_description import Causality

#: An experiment has about this many steps. Their size is a power of two, so that sums are exact.
STEPS = 500
#: Longest experiment [s]: that of Roberts is 1e8 s, of internal steps of 1e-6 s.
LONGEST = 10.0
#: Steps in which clocks that an importer triggers tick, as in the example of the Reference FMUs.
TRIGGERED = (0, 1, 8, 9)
#: What each input that is a number has all the time.
INPUT = 1
_FMPY_TYPES = {
    InterfaceType.CO_SIMULATION: "CoSimulation",
    InterfaceType.MODEL_EXCHANGE: "ModelExchange",
}
Rows = dict[float, dict[str, Any]]
"""Time [s] -> output -> value."""


class Found(NamedTuple):
    """How one FMU compared."""

    fmu: str
    fmi: str
    interface: str
    step: float
    rows: int
    values: int
    different: int
    note: str = ""


def compared(path: Path) -> Iterator[Found]:
    """One row for each interface type of an FMU."""
    model = read_model_description(str(path))
    for kind in InterfaceType:
        if kind.of(model) is None:
            continue
        size = _step(model, kind)
        here = _here(path, kind, size, _stop(model))
        scheduled = kind is InterfaceType.SCHEDULED_EXECUTION
        there = _scheduled(path, model, size) if scheduled else _there(path, model, kind, size)
        common = [time for time in there if time in here]
        pairs = [
            (here[time][name], value)
            for time in common
            for name, value in there[time].items()
            if name in here[time]
        ]
        different = sum(not _equal(*pair) for pair in pairs)
        missing = len(there) - len(common)
        note = f"{missing} rows of FMPy between communication points" if missing else ""
        if not pairs:
            note = "no outputs that FMPy records"
        yield Found(
            path.stem, model.fmiVersion, kind.value, size, len(common), len(pairs), different, note
        )


def _stop(model: Any) -> float:
    experiment = model.defaultExperiment
    found = float(experiment.stopTime) if experiment and experiment.stopTime else 1.0
    return min(found, LONGEST)


def _step(model: Any, kind: InterfaceType) -> float:
    if kind is InterfaceType.SCHEDULED_EXECUTION:
        return float(model.defaultExperiment.stepSize)
    fixed = kind is InterfaceType.CO_SIMULATION and model.coSimulation.fixedInternalStepSize
    if fixed:
        return float(fixed)
    return float(2.0 ** math.ceil(math.log2(_stop(model) / STEPS)))


def _inputs(slave: FmuSlave, names: list[tuple[str, DataType]]) -> None:
    for name, kind in names:
        if kind not in (DataType.string, DataType.binary):
            former = slave.get(name)
            value = kind in (DataType.float32, DataType.float64) and float(INPUT) or INPUT
            slave.set(name, (value,) * len(former) if isinstance(former, tuple) else value)


def _here(path: Path, kind: InterfaceType, size: float, stop: float) -> Rows:
    model = read_fmu(path, kind)
    if model.defaultExperiment:  # of which the longest step of CVODE is a part, in FMPy too
        model.defaultExperiment.startTime, model.defaultExperiment.stopTime = "0", str(stop)
    variables = fmu_variables(model)
    clocks = {v.variable.name for v in variables if v.place.kind == CLOCK}
    description = fmu_slave_description(path, model, variables, step=Fraction(str(size)))
    slave = FmuSlave(path, model, variables)
    structure = {v.value_reference: int(v.start) for v in description.of(Causality.STRUCTURAL)}
    slave.bind(description, structure)
    slave.configure({})
    _inputs(slave, [(v.name, v.data_type) for v in description.of(Causality.INPUT)])
    triggered = [v.name for v in description.of(Causality.INPUT) if v.name in clocks]
    names = [v.name for v in description.of(Causality.OUTPUT)]
    slave.initialise()
    rows = {}
    time = 0.0
    for number in range(round(stop / size)):
        after = (number + 1) * size
        for name in triggered:
            slave.set(name, int(number in TRIGGERED))
        slave.advance(time, after - time)
        time = after
        rows[time] = {name: slave.get(name) for name in names}
        if slave.stop_requested:
            break
    slave.stop()
    slave.close()
    return rows


def _there(path: Path, model: Any, kind: InterfaceType, size: float) -> Rows:
    starts = {
        v.name: [INPUT] * math.prod(v.shape) if v.shape else INPUT
        for v in model.modelVariables
        if v.causality == "input" and v.type not in ("String", "Binary", "Clock")
    }
    events = bool(model.coSimulation and model.coSimulation.hasEventMode)
    try:
        return _simulated(path, model, kind, size, starts, events=events)
    except Exception:
        if not events:
            raise
        return _simulated(path, model, kind, size, starts, events=False)


def _simulated(
    path: Path,
    model: Any,
    kind: InterfaceType,
    size: float,
    starts: dict[str, Any],
    *,
    events: bool,
) -> Rows:
    result = simulate_fmu(
        str(path),
        fmi_type=_FMPY_TYPES[kind],
        output_interval=size,
        start_values=starts,
        record_events=False,
        use_event_mode=events,
        early_return_allowed=events,
        start_time=0.0,
        stop_time=_stop(model),
        output=[v.name for v in model.modelVariables if v.causality == "output"],
    )
    return {
        float(row["time"]): {name: row[name] for name in result.dtype.names if name != "time"}
        for row in result
        if row["time"] > 0.0
    }


def _scheduled(path: Path, model: Any, size: float) -> Rows:
    """The loop of an importer: periodic clocks at each step, then countdowns that were set."""
    fmu = fmi3.FMU3ScheduledExecution(
        guid=model.guid,
        unzipDirectory=fmpy.extract(str(path)),
        modelIdentifier=model.scheduledExecution.modelIdentifier,
        instanceName="loop",
    )
    fmu.instantiate()
    fmu.enterInitializationMode()
    fmu.exitInitializationMode()
    clocks = [v for v in model.modelVariables if v.type == "Clock" and v.causality == "input"]
    inputs = [v for v in model.modelVariables if v.type == "Int32" and v.causality == "input"]
    outputs = [v for v in model.modelVariables if v.causality == "output" and v.type == "Int32"]
    rows = {}
    for number in range(round(_stop(model) / size)):
        time = number * size
        for variable in inputs:
            fmu.setInt32([variable.valueReference], [INPUT])
        for clock in clocks:
            if clock.intervalVariability == "countdown":
                which = (fmi3.fmi3ValueReference * 1)(clock.valueReference)
                interval, qualifier = (fmi3.fmi3Float64 * 1)(), (fmi3.fmi3IntervalQualifier * 1)()
                fmu.getIntervalDecimal(which, interval, qualifier)
                if qualifier[0] != fmi3.fmi3IntervalChanged:
                    continue
            elif clock.intervalVariability == "triggered" and number not in TRIGGERED:
                continue
            fmu.activateModelPartition(clock.valueReference, time)
        rows[time + size] = {v.name: fmu.getInt32([v.valueReference])[0] for v in outputs}
    fmu.terminate()
    fmu.freeInstance()
    return rows


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        return list(one) == list(other.flatten())
    return bool(one == other)


def main() -> int:
    """Print the table; 1 if a value differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path, help="with the FMUs; folders in it are looked into")
    given = parser.parse_args()
    print(f"FMPy {version('FMPy')}")
    head = Found._fields
    print(f"{head[0]:14} {head[1]:4} {head[2]:19} {head[3]:>9} {head[4]:>5} {head[5]:>6} different")
    failed = 0
    for path in sorted(given.directory.rglob("*.fmu")):
        try:
            for found in compared(path):
                failed += found.different
                print(
                    f"{found.fmu:14} {found.fmi:4} {found.interface:19} {found.step:9g} "
                    f"{found.rows:5} {found.values:6} {found.different:9}  {found.note}".rstrip()
                )
        except DescriptionError as error:
            failed += 1
            print(f"{path.stem:14} {error}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
