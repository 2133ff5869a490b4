# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Distributions of OpenSCENARIO (ParameterValueDistribution) as rows of a sweep."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from math import prod
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.xosc_files import at, document, written
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.lab.sweep.design import points_of
from ros2_cosim.lab.sweep.distributions import with_distribution
from ros2_cosim.lab.sweep.settings import load_sweep

pq = pytest.importorskip("pyarrow.parquet", reason="the extra sweep is not installed")

pytestmark = pytest.mark.filterwarnings(
    "ignore::ros2_cosim.core.kernel.errors.WithoutEffectWarning"
)
PARAMETERS = "".join(
    f'<ParameterDeclaration name="{name}" parameterType="{kind}" value="{value}"/>'
    for name, kind, value in (
        ("end", "double", "0.1"), ("place", "double", "100"), ("name", "string", "x"),
        ("lanes", "int", "1"),
    )
)  # fmt: skip
BASE = document(stop=at(0.1).replace('value="0.1"', 'value="$end"'), parameters=PARAMETERS)


def distribution(directory: Path, content: str, file: str = "base.xosc") -> Path:
    """The file of a distribution, beside the one that it varies."""
    written(directory, BASE, "base.xosc")
    text = (
        '<OpenSCENARIO><FileHeader revMajor="1" revMinor="2" date="2026-01-01T00:00:00" '
        f'description="d" author="a"/><ParameterValueDistribution><ScenarioFile filepath="{file}"/>'
        f"{content}</ParameterValueDistribution></OpenSCENARIO>"
    )
    return written(directory, text, "varied.xosc")


def single(name: str, kind: str) -> str:
    return (
        f'<DeterministicSingleParameterDistribution parameterName="{name}">{kind}'
        "</DeterministicSingleParameterDistribution>"
    )


def of_set(name: str, *values: str) -> str:
    elements = "".join(f'<Element value="{value}"/>' for value in values)
    return single(name, f"<DistributionSet>{elements}</DistributionSet>")


def in_steps(name: str, low: object, high: object, step: object) -> str:
    limits = f'<Range lowerLimit="{low}" upperLimit="{high}"/>'
    return single(name, f'<DistributionRange stepWidth="{step}">{limits}</DistributionRange>')


def together(*sets: dict[str, str]) -> str:
    found = "".join(
        "<ParameterValueSet>"
        + "".join(f'<ParameterAssignment parameterRef="{n}" value="{v}"/>' for n, v in one.items())
        + "</ParameterValueSet>"
        for one in sets
    )
    return (
        "<DeterministicMultiParameterDistribution><ValueSetDistribution>"
        f"{found}</ValueSetDistribution></DeterministicMultiParameterDistribution>"
    )


def deterministic(*parts: str) -> str:
    return f"<Deterministic>{''.join(parts)}</Deterministic>"


def stochastic(kind: str, runs: int, seed: str = "7", name: str = "place") -> str:
    return (
        f'<Stochastic numberOfTestRuns="{runs}" randomSeed="{seed}"><StochasticDistribution '
        f'parameterName="{name}">{kind}</StochasticDistribution></Stochastic>'
    )


def rows(path: Path, seed: int = 1) -> list[Any]:
    data = with_distribution({"scenario": path.name, "design": {"seed": seed}}, path.parent)
    return data["design"]["rows"]


def drawn(directory: Path, kind: str, runs: int = 500, name: str = "place", seed: int = 1) -> Any:
    path = distribution(directory, stochastic(kind, runs, name=name))
    return [row[name] for row in rows(path, seed)]


def test_each_is_combined_with_each_the_last_one_fastest(tmp_path: Path) -> None:
    path = distribution(
        tmp_path,
        deterministic(
            in_steps("end", "0.1", "0.3", "0.1"),
            together({"place": "100", "name": "a"}, {"place": "120.5", "name": "b"}),
        ),
    )
    found = [(row["end"], row["place"], row["name"]) for row in rows(path)]
    # Steps are exact as they are written: three times a tenth is 0.3.
    places = [(100, "a"), (120.5, "b")]
    assert found == [(end, *rest) for end in (0.1, 0.2, 0.3) for rest in places]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    low=st.decimals(-50, 50, places=2),
    step=st.decimals(Decimal("0.01"), 20, places=2),
    steps=st.integers(0, 8),
    more=st.integers(0, 99),
    names=st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=4, unique=True),
    sets=st.integers(1, 3),
)
def test_there_are_as_many_rows_as_an_own_count_gives(
    low: Decimal, step: Decimal, steps: int, more: int, names: list[str], sets: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    # Up to a part of one more step further than the last value.
    high = low + step * steps + step * more / 100
    path = distribution(
        tmp_path_factory.mktemp("counted"),
        deterministic(
            in_steps("place", low, high, step),
            of_set("name", *names),
            together(*({"lanes": str(number)} for number in range(sets))),
        ),
    )
    found = rows(path)
    assert len(found) == prod((steps + 1, len(names), sets))
    assert len({tuple(row.values()) for row in found}) == len(found)
    assert max(row["place"] for row in found) == pytest.approx(float(low + step * steps))


def test_a_file_of_a_distribution_is_a_sweep(tmp_path: Path) -> None:
    path = distribution(
        tmp_path, deterministic(of_set("end", "0.1", "0.2"), of_set("name", "007", "true"))
    )
    out = tmp_path / "out"
    found = CliRunner().invoke(app, ["sweep", str(path), "--workers", "0", "--out", str(out)])
    assert found.exit_code == 0, found.output
    table = pq.read_table(out / "runs.parquet").to_pylist()
    assert [row["param.end"] for row in table] == [0.1, 0.1, 0.2, 0.2]
    assert [row["param.name"] for row in table] == ["007", "true"] * 2
    assert all(row["verdict.stop_trigger"] for row in table)
    ends = [row["figure.sim_time_s"] for row in table]
    assert ends[2] - ends[0] == pytest.approx(0.1, abs=0.021)


def test_a_sweep_file_varies_more_than_the_distribution(tmp_path: Path) -> None:
    """A search has one parameter for itself; the rows without it are its points."""
    path = distribution(tmp_path, deterministic(of_set("end", "1", "2"), of_set("lanes", "1", "2")))
    content = {
        "scenario": path.name,
        "parameters": {"seen": {"places": ["openscenario.parameters.name"], "values": ["a", "b"]}},
    }
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text(yaml.safe_dump(content))
    loaded = load_sweep(sweep).settings
    points = points_of(loaded.design, loaded.parameters)
    assert [(p["end"], p["lanes"], p["seen"]) for p in points] == [
        (end, lanes, seen) for end in (1, 2) for lanes in (1, 2) for seen in ("a", "b")
    ]
    content["parameters"] = {
        "end": {"places": ["openscenario.parameters.end"], "low": 0.1, "high": 5.0}
    }
    content["search"] = {"kind": "boundary", "along": "end", "tolerance": 1.0}
    sweep.write_text(yaml.safe_dump(content))
    loaded = load_sweep(sweep).settings
    assert loaded.search is not None
    first = next(loaded.search.plan(loaded))
    assert first == [{"lanes": n, "end": end} for n in (1, 2) for end in (0.1, 5.0)]


def test_rows_of_a_sweep_file_need_their_parameters(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    rows_only = {"scenario": "platoon", "design": {"kind": "rows", "rows": [{"seen": 1}]}}
    path.write_text(yaml.safe_dump(rows_only))
    with pytest.raises(ConfigurationError, match="design.rows: found 'seen'; the parameters are"):
        load_sweep(path)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def spread(values: list[float]) -> float:
    middle = mean(values)
    return mean([(value - middle) ** 2 for value in values])


RANGE = '<Range lowerLimit="{}" upperLimit="{}"/>'


@pytest.mark.parametrize(
    ("kind", "wanted", "variance"),
    [
        ('<NormalDistribution expectedValue="20" variance="4"/>', 20.0, 4.0),
        ('<LogNormalDistribution expectedValue="20" variance="4"/>', 20.0, 4.0),
        (f"<UniformDistribution>{RANGE.format(10, 22)}</UniformDistribution>", 16.0, 12.0),
        ('<PoissonDistribution expectedValue="9"/>', 9.0, 9.0),
    ],
)
def test_draws_have_mean_and_variance_of_their_distribution(
    kind: str, wanted: float, variance: float, tmp_path: Path
) -> None:
    values = drawn(tmp_path, kind, runs=4000)
    assert len(values) == 4000
    assert mean(values) == pytest.approx(wanted, abs=4.0 * (variance / 4000) ** 0.5)
    assert spread(values) == pytest.approx(variance, rel=0.15)


@pytest.mark.parametrize(
    ("kind", "share", "of"),
    [
        (
            '<ProbabilityDistributionSet><Element value="a" weight="1"/><Element value="b" '
            'weight="3"/></ProbabilityDistributionSet>',
            0.75,
            lambda value: value == "b",
        ),
        (
            f'<Histogram><Bin weight="1">{RANGE.format(0, 1)}</Bin><Bin weight="3">'
            f"{RANGE.format(5, 6)}</Bin></Histogram>",
            0.75,
            lambda value: 5.0 <= value <= 6.0,
        ),
        (
            f'<NormalDistribution expectedValue="0" variance="1">{RANGE.format(0, 3)}'
            "</NormalDistribution>",
            1.0,
            lambda value: 0.0 <= value <= 3.0,
        ),
    ],
)
def test_draws_have_the_shares_of_their_distribution(
    kind: str, share: float, of: Callable[[Any], bool], tmp_path: Path
) -> None:
    values = drawn(tmp_path, kind, runs=2000, name="name")
    assert mean([of(value) for value in values]) == pytest.approx(share, abs=0.04)


def test_draws_depend_on_both_seeds_alone(tmp_path: Path) -> None:
    kind = '<NormalDistribution expectedValue="20" variance="4"/>'
    assert drawn(tmp_path, kind) == drawn(tmp_path, kind)
    assert drawn(tmp_path, kind) != drawn(tmp_path, kind, seed=2)
    other = [row["place"] for row in rows(distribution(tmp_path, stochastic(kind, 500, "8")))]
    assert other != drawn(tmp_path, kind)
    # Each parameter has its own draws: one more changes none of the others.
    two = stochastic(kind, 500).replace(
        "</Stochastic>",
        f'<StochasticDistribution parameterName="end">{kind}</StochasticDistribution></Stochastic>',
    )
    assert [row["place"] for row in rows(distribution(tmp_path, two))] == drawn(tmp_path, kind)


def test_a_whole_number_is_drawn_for_a_parameter_that_is_one(tmp_path: Path) -> None:
    kind = f"<UniformDistribution>{RANGE.format(-1.4, 2.4)}</UniformDistribution>"
    assert set(drawn(tmp_path, kind, name="lanes")) == {-1, 0, 1, 2}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (deterministic(of_set("speed", "1")),
         "line 1: DeterministicSingleParameterDistribution: parameterName: found 'speed'; "
         "base.xosc declares end, place, name, lanes"),
        (deterministic(single("end", '<UserDefinedDistribution type="t"/>')),
         "UserDefinedDistribution: not supported; supported are DistributionSet"),
        (deterministic(in_steps("end", 1, 2, 0)), "stepWidth: found 0; allowed is a number above"),
        (deterministic(in_steps("end", 2, 1, 1)), "found 0 sets of values; allowed are 1 to"),
        (deterministic(in_steps("end", 0, 1, "0.000001")), "found 1000001 sets of values"),
        (deterministic(of_set("end", "1")).replace("</Deterministic>", "<Note/></Deterministic>"),
         "Note: not supported; supported are DeterministicSingleParameterDistribution"),
        (stochastic('<NormalDistribution expectedValue="0" variance="-1"/>', 3),
         "variance: found -1; allowed is a number of at least 0"),
        (stochastic('<NormalDistribution expectedValue="0" variance="1">'
                    f"{RANGE.format(90, 91)}</NormalDistribution>", 3),
         "NormalDistribution: found no value of 90 to 91 in 10000 draws"),
        (stochastic(f"<UniformDistribution>{RANGE.format(2, 1)}</UniformDistribution>", 3),
         "lowerLimit: found 2; allowed is at most upperLimit, 1"),
        (stochastic('<PoissonDistribution expectedValue="1000"/>', 3), "allowed is at most 500"),
        (stochastic("<ProbabilityDistributionSet/>", 3), "weight: found none above 0"),
        ("", "allowed is one of Deterministic and Stochastic"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_error_with_its_place(content: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as found:
        rows(distribution(tmp_path, content))
    assert said in str(found.value) and "varied.xosc, line 1: " in str(found.value)


def test_the_file_that_is_varied_must_be_there(tmp_path: Path) -> None:
    path = distribution(tmp_path, deterministic(of_set("end", "1")), "other.xosc")
    with pytest.raises(ConfigurationError, match=r"ScenarioFile: filepath: found 'other\.xosc'"):
        load_sweep(path)
