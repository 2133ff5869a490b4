# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bench of files that others have written: what it finds and how it calls what came of them."""

from pathlib import Path

from support.xosc_files import HIGHWAY, at, document, written

from bench.openscenario_files import files_of, outcome_of, table

CATALOGUES = Path(__file__).resolve().parents[2] / "config" / "openscenario" / "catalogs"


def test_each_file_has_its_outcome(tmp_path: Path) -> None:
    written(tmp_path, document(stop=at(0.1)), "ends.xosc")
    written(tmp_path, document(stop=at(9.0)), "goes_on.xosc")
    written(tmp_path, document(start_a='<LanePosition roadId="9" laneId="-1" s="1"/>'), "off.xosc")
    written(tmp_path, document().partition("<Entities>")[0], "broken.xosc")
    names = [file.name for file in files_of([tmp_path, CATALOGUES])]
    assert names == ["broken.xosc", "ends.xosc", "goes_on.xosc", "off.xosc"]
    rows = [outcome_of(tmp_path / name, ("duration=1s",)) for name in names]
    assert [row["outcome"] for row in rows] == ["refused", "ended", "time is up", "refused"]
    assert table(rows)[:3] == ["ended: 1", "time is up: 1", "refused: 2"]
    assert "off.xosc, line" in rows[-1]["reasons"][0]


def test_a_distribution_has_the_worse_outcome_of_its_ends(tmp_path: Path) -> None:
    header, _, _ = document().partition("<ParameterDeclarations>")
    parameter = '<ParameterDeclaration name="s" parameterType="double" value="100"/>'
    start = '<LanePosition roadId="1" laneId="-2" s="$s"/>'
    base = document(stop=at(0.1), parameters=parameter, start_a=start)
    written(tmp_path, base, "base.xosc")
    values = "".join(f'<Element value="{s}"/>' for s in (100, 110, 1e6))
    file = written(
        tmp_path,
        f'{header}<ParameterValueDistribution><ScenarioFile filepath="base.xosc"/><Deterministic>'
        '<DeterministicSingleParameterDistribution parameterName="s"><DistributionSet>'
        f"{values}</DistributionSet></DeterministicSingleParameterDistribution></Deterministic>"
        "</ParameterValueDistribution></OpenSCENARIO>",
        "varied.xosc",
    )
    row = outcome_of(file)
    assert (row["outcome"], row["rows"]) == ("refused", 3)
    assert [(one["row"], one["outcome"]) for one in row["tried"]] == [(0, "ended"), (2, "refused")]
    named = [line for line in table([row]) if "row 3 of 3, {'s': " in line]
    assert len(named) == 1 and "is not on road 1" in named[0]
    assert [one["row"] for one in outcome_of(file, rows=9)["tried"]] == [0, 1, 2]


def test_a_file_may_name_a_map_of_a_simulator(tmp_path: Path) -> None:
    file = written(tmp_path, document(stop=at(0.1), road="Town"))
    assert outcome_of(file)["outcome"] == "refused"
    (tmp_path / "Town.xodr").symlink_to(HIGHWAY)
    assert outcome_of(file, maps=tmp_path)["outcome"] == "ended"
