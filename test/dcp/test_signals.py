# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Inputs over time from a table: interpolated or held, by their variability."""

from __future__ import annotations

import csv
import io
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.dcp_models import Types

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.dcp.master.cosimulation import load_cosimulation, run_cosimulation
from ros2_cosim.dcp.master.signals import InputSignals
from ros2_cosim.dcp.slave.declare import describe

SUPPORT = Path(__file__).parents[1] / "support"
SLAVES = {"all": describe(Types)}
TABLE = """\
step;time;all.in_float32;all.in_int16;all.in_string;all.in_array
0;0;1.0;5;first;0 0 0
1;0.02;2.0;;second;
2;0.04;0.0;-7;;2 4 -8
"""
RUN = f"""
step: 1/100
steps: 6
slaves: {{all: {{model: "{SUPPORT}/dcp_models.py:Types"}}}}
signals: table.csv
outputs: [all.out_float32, all.out_int16, all.out_string, all.out_array]
"""


def table(directory: Path, text: str = TABLE) -> Path:
    path = directory / "table.csv"
    path.write_text(text)
    return path


def test_a_run_takes_its_inputs_from_a_table(tmp_path: Path) -> None:
    table(tmp_path)
    (tmp_path / "run.yaml").write_text(RUN)
    out = io.StringIO()
    assert run_cosimulation(load_cosimulation(tmp_path / "run.yaml"), out) == 6
    rows = list(csv.reader(out.getvalue().splitlines()))[1:]
    # A step has the values at its begin.
    assert [row[2] for row in rows[1:]] == ["1.0", "1.5", "2.0", "1.0", "0.0", "0.0"]
    assert [row[3] for row in rows[1:]] == ["5", "5", "5", "5", "-7", "-7"]
    assert [row[4] for row in rows[1:]] == ["first", "first", *["second"] * 4]
    assert rows[2][5] == "0.5 1.0 -2.0"
    assert rows[6][5] == "2.0 4.0 -8.0"


def test_the_table_of_a_run_can_be_the_input_of_another(tmp_path: Path) -> None:
    text = "step,time,all.in_int16\n0,0.0,3\n1,0.01,4\n"
    found = InputSignals(table(tmp_path, text), SLAVES)
    assert [found.at(Fraction(n, 200))["all"]["in_int16"] for n in range(4)] == [3, 3, 4, 4]


@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=5),
    st.fractions(0, 5),
)
def test_what_is_between_is_between(values: list[float], time: Fraction) -> None:
    lines = [f"{n},{value!r}" for n, value in enumerate(values)]
    with tempfile.TemporaryDirectory() as directory:
        path = table(Path(directory), "\n".join(["time,all.in_float32", *lines]))
        found = InputSignals(path, SLAVES).at(time)["all"]["in_float32"]
    near = values[min(int(time), len(values) - 1) :][:2]
    slack = 1e-9 * max(map(abs, near))
    assert min(near) - slack <= found <= max(near) + slack
    if time.denominator == 1 and time < len(values):
        assert found == values[int(time)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "all.in_int16",
            "all.out_int16",
            "found the column 'all.out_int16'; allowed are time, step",
        ),
        ("all.in_int16", "other.x", "found the column 'other.x'"),
        ("0.04", "0.02", "line 4, column 'time': found '0.02'; allowed is a time above"),
        (";-7", ";-7.5", "line 4, column 'all.in_int16': found '-7.5'; allowed is int16"),
        (";-7", ";40000", "line 4, column 'all.in_int16': found '40000'; allowed is int16"),
        ("0;0;1.0", "0;0;", "column 'all.in_float32': found no value at 0 or before"),
        ("0;0;1.0", "0;0.01;1.0", "found no value at 0 or before"),
        ("2 4 -8", "2 4", "allowed is 3 values, as in the line of the first"),
        ("step;time", "step;t", "found no head line with the columns time"),
        (TABLE[TABLE.index("\n") :], "", "found no line below the names of the columns"),
        (TABLE, "time\n1\n", "found no column of an input"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        InputSignals(table(tmp_path, TABLE.replace(old, new, 1)), SLAVES)
    assert message in str(caught.value)
    assert "table.csv" in str(caught.value)
