# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""An FMU or a C function as control law: its mapping, units, parameters and platform."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.fmu_builder import build_fmu

from ros2_cosim.core.kernel.errors import ConfigurationError, ModelError
from ros2_cosim.core.kernel.loading import data_only
from ros2_cosim.core.kernel.model import Repeatability
from ros2_cosim.core.messages.records import DetectedObject
from ros2_cosim.dcp.slave.c_source import c_fmu
from ros2_cosim.driving.controllers import Measurement, Peer, make_law
from ros2_cosim.driving.controllers.registry import adapted, check_law, law_repeatability

SEEN = tuple(
    DetectedObject(i, 1, 10.0 * i, -1.0, 0.0 if i > 1 else 3.0, 4.5, 1.8, 1.0) for i in (1, 2, 3)
)
MEASURED = Measurement(
    0.04, 20.0, -1.0, 15.0, -0.5, 2.0, 0.6, 30.0, 0.25, Peer(19.0, 0.5, 0.75, 0.1), None, SEEN
)
#: Signature, body, what comes of MEASURED.
FUNCTIONS: dict[str, tuple[str, str, float]] = {
    "own names": ("double speed, double gap_rate", "speed + gap_rate", 19.5),
    "step": ("double dt, double gap", "gap / dt", 15.0 / 0.04),
    "peers": ("double predecessor_age, double leader_speed, bool leader_valid",
              "predecessor_age + leader_speed + leader_valid", 0.1),
    "elements": ("double objects_1_distance, bool objects_7_valid, double objects_7_distance",
                 "objects_1_distance + objects_7_distance + objects_7_valid", 20.0),
    "nearest": ("double objects_nearest_distance, int objects_count",
                "objects_nearest_distance + objects_count", 23.0),
    "arrays": ("const double objects_distance[4], const int objects_valid[4]",
               "objects_distance[2] + objects_distance[3] + objects_valid[2]"
               " + 10 * objects_valid[3]", 31.0),
    "units": ("double speed /* [km/h] */, double gap /* [km] */", "speed + gap", 72.015),
}  # fmt: skip


@pytest.fixture
def c_file(tmp_path: Path) -> Callable[..., Path]:
    def write(parameters: str, result: str = "0.0", before: str = "") -> Path:
        path = tmp_path / "law.c"
        path.write_text(
            f"#include <stdbool.h>\n{before}\ndouble law({parameters}) {{ return {result}; }}\n"
        )
        return path

    return write


@pytest.mark.parametrize("name", FUNCTIONS)
def test_inputs_find_their_values_by_name(name: str, c_file: Callable[..., Path]) -> None:
    parameters, result, expected = FUNCTIONS[name]
    law = make_law(str(c_file(parameters, result)))
    assert law.acceleration(MEASURED) == pytest.approx(expected, rel=1e-15)
    adapted(law, "law").close()


def test_inputs_are_mapped_and_parameters_set(c_file: Callable[..., Path]) -> None:
    before = "double kp = 0.5; /* [1/s^2] */\nint bias = 1;"
    path = c_file("double a, double b, double c, double d", "kp * (a + b) + c + d + bias", before)
    given = {
        "file": path.name,
        "inputs": {
            "a": "objects[nearest].relative_speed",
            "b": {"field": "speed", "factor": 2.0, "offset": 1.0},
            "c": 7,
            "d": "leader.age",
        },
        "parameters": {"kp": 0.25, "bias": 3},
    }
    law = make_law("fmu", given, base_directory=path.parent)
    assert law.acceleration(MEASURED) == 0.25 * (-1.0 + 41.0) + 7.0 + 0.0 + 3.0
    assert adapted(law, "law").needs == {"leader"}
    adapted(law, "law").close()


def test_a_law_that_looks_whether_a_peer_is_there_does_without(
    c_file: Callable[..., Path],
) -> None:
    careless = make_law(str(c_file("double predecessor_speed", "predecessor_speed")))
    assert adapted(careless, "law").needs == {"predecessor"}
    careful = make_law(str(c_file("double predecessor_speed, bool predecessor_valid")))
    assert adapted(careful, "law").needs == frozenset()


def test_fmus_of_others_drive(tmp_path: Path) -> None:
    fmu = build_fmu("trig2", tmp_path)
    mapped = {"u": "gap", "count": 3, "flag": "leader.valid"}
    law = make_law("fmu", {"file": str(fmu), "inputs": mapped, "output": "next"})
    assert law.acceleration(MEASURED) == 4.0
    adapted(law, "law").close()


def test_arrays_of_fmi_3_take_lists(tmp_path: Path) -> None:
    """Its inputs of text and bytes stay as it starts with them."""
    fmu = build_fmu("trig3", tmp_path)
    mapped = {"u": "objects[].distance", "small_in": "objects.count", "flag_in": "leader.valid"}
    parameters = {"file": str(fmu), "inputs": mapped, "output": "small_out"}
    law = make_law("fmu", parameters)
    for step in (0.1, 0.1):
        assert law.acceleration(MEASURED._replace(dt=step)) >= 0.0
    slave = law._slave  # type: ignore[attr-defined]
    assert slave.inputs[slave.index["u"]] == (10.0, 20.0)
    assert slave.outputs[slave.index["text_out"]] == "abc"
    adapted(law, "law").close()


def test_a_step_of_another_size_is_refused_where_the_fmu_wants_one(
    c_file: Callable[..., Path], tmp_path: Path
) -> None:
    fmu = tmp_path / "law.fmu"
    fmu.write_bytes(c_fmu(c_file("double dt", "dt")))
    edited = _edited(fmu, b'canHandleVariableCommunicationStepSize="true" ', b"")
    law = make_law(str(edited))
    law.acceleration(MEASURED)
    law.acceleration(MEASURED._replace(dt=0.04 + 1e-12))
    with pytest.raises(ModelError, match=r"found a step of 0\.05 s after one of 0\.04 s"):
        law.acceleration(MEASURED._replace(dt=0.05))
    adapted(law, "law").close()


def _edited(
    fmu: Path, old: bytes, new: bytes, rename: tuple[str, str] = ("", ""), to: str = "edited.fmu"
) -> Path:
    edited = fmu.with_name(to)
    with zipfile.ZipFile(fmu) as source, zipfile.ZipFile(edited, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "modelDescription.xml":
                assert old in content
                content = content.replace(old, new)
            target.writestr(name.replace(*rename), content)
    return edited


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"inputs": {"v": "speed"}}, r"law_parameters\.inputs: found 'v'; the inputs of .* are u"),
        ({"inputs": {"u": "sped"}}, r"law_parameters\.inputs\.u: .* has no field 'sped'; there"),
        ({"inputs": {"u": "objects[0].id"}}, None),
        ({"inputs": {"u": "objects[].id"}}, "which is a list; the input is not"),
        ({"inputs": {"u": "gap", "n": "gap"}}, "a number with fractions; the input is int32"),
        (
            {"inputs": {"u": "gap", "w": "speed"}},
            r"inputs\.w: 'speed': found unit 'kg'; allowed is",
        ),
        ({"inputs": {}}, r"inputs\.u: a measurement has no value of that name; give it one, of dt"),
        ({"output": "y"}, r"law_parameters\.output: found y; allowed are law"),
        ({"parameters": {"k": 1}}, r"parameters\.k: there is no such parameter; there are kp"),
        ({"parameters": {"kp": "x"}}, r"parameters\.kp: found 'x'; it is float64"),
    ],
)
def test_what_does_not_fit_is_told_when_the_scenario_is_loaded(
    given: dict[str, Any], message: str | None, c_file: Callable[..., Path]
) -> None:
    path = c_file("double u, int n, double w /* [kg] */", "u", "double kp = 1.0;")
    usual = {"u": "gap", "n": 1, "w": 1.0}
    parameters: dict[str, Any] = {"file": str(path), **given}
    if "inputs" not in given or (given["inputs"] and "v" not in given["inputs"]):
        parameters["inputs"] = usual | given.get("inputs", {})
    if message is None:
        check_law("fmu", parameters, "participants.a.parameters.law")
        return
    with pytest.raises(ConfigurationError, match=message):
        check_law("fmu", parameters, "participants.a.parameters.law")


def test_units_of_the_demand_are_checked(c_file: Callable[..., Path]) -> None:
    wrong = c_file("double gap", "gap", "/* Returns [m/s]. */")
    with pytest.raises(
        ConfigurationError, match=r"output: 'law': found unit 'm/s'; allowed is m/s"
    ):
        check_law(str(wrong), {})
    other = c_file("double gap", "gap", "/* Returns [km/s^2]. */")
    law = make_law(str(other))
    assert law.acceleration(MEASURED) == 15_000.0
    adapted(law, "law").close()


def test_files_that_are_none_are_told(c_file: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"law_parameters\.file: .*no\.fmu: no such file"):
        check_law("no.fmu", {}, "participants.a.parameters.law", base_directory=tmp_path)
    with pytest.raises(ConfigurationError, match=r"law_parameters\.file: missing"):
        check_law("fmu", {}, "participants.a.parameters.law")
    fmu = tmp_path / "law.fmu"
    fmu.write_bytes(c_fmu(c_file("double gap", "gap")))
    foreign = _edited(fmu, b"2.0", b"2.0", ("binaries/linux64/law.so", "binaries/win64/law.dll"))
    with pytest.raises(ConfigurationError, match="found libraries for win64; this one is linux64"):
        check_law(str(foreign), {})
    astray = _edited(fmu, b"2.0", b"2.0", ("sources/law.c", "../law.c"))
    with pytest.raises(ConfigurationError, match="allowed are paths inside it"):
        check_law(str(astray), {})


def test_a_file_of_strangers_is_refused(c_file: Callable[..., Path]) -> None:
    path = c_file("double gap", "gap")
    with data_only(), pytest.raises(ConfigurationError, match=r"law\.c', which is code"):
        check_law(str(path), {}, "participants.a.parameters.law")


def test_foreign_numerics_are_those_of_one_machine(c_file: Callable[..., Path]) -> None:
    assert law_repeatability("ploeg_cacc") is Repeatability.EVERYWHERE
    assert law_repeatability(str(c_file("double gap"))) is Repeatability.SAME_MACHINE
