# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Object lists into the inputs of slaves: elements, what is nearest, flags, arrays, units."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from ros2_cosim.core.documents.installed import share_file
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.messages.records import DetectedObject, ObjectList
from ros2_cosim.core.run.inproc import run_inproc
from ros2_cosim.core.run.request import RunRequest, adjusted_scenario
from ros2_cosim.core.scenario.check import check_scenario
from ros2_cosim.core.scenario.schema import load_scenario
from ros2_cosim.dcp.bridge.mapping import FieldWriter
from ros2_cosim.dcp.slave.fmu import describe_fmu

FOLLOW = """\
#include <stdbool.h>
#include <math.h>
double kp = 0.3;
static double held;
void reset(void) { held = 0.0; }
/* Follows what the object sensor sees; brakes gently while it sees nothing. */
void follow(bool seen, double gap /* [m] */, double rate /* [m/s] */, double speed /* [m/s] */,
            double *demand /* [m/s^2] */, double *throttle, double *brake) {
  double error = gap - 2.0 - 1.2 * speed;
  held = seen ? fmin(1.5, fmax(-6.0, kp * error + 1.2 * rate)) : -1.0;
  *demand = held;
  *throttle = fmax(0.0, held) / 4.0;
  *brake = speed < 0.3 && gap < 4.0 ? 0.5 : fmax(0.0, -held) / 9.0;
}
"""


def writer(path: Path, fields: Any, record: type | None = ObjectList) -> FieldWriter:
    return FieldWriter(record, fields, {"c": describe_fmu(path)}, "here")


@pytest.fixture
def follow(tmp_path: Path) -> Path:
    path = tmp_path / "follow.c"
    path.write_text(FOLLOW)
    return path


def detected(distance: float, lateral: float) -> DetectedObject:
    return DetectedObject(3, 1, distance, -2.0, lateral, 4.5, 1.8, 1.0)


def test_the_nearest_object_and_whether_there_is_one(follow: Path) -> None:
    fields = {
        "c.seen": "objects[nearest].valid",
        "c.gap": "objects[nearest].distance",
        "c.rate": "objects[0].relative_speed",
    }
    for record in (ObjectList, None):  # also where the type of the messages is not known before
        found: dict[str, dict[str, Any]] = {}
        writer(follow, fields, record).write(
            ObjectList((detected(9.0, 3.0), detected(20.0, 0.2))), found
        )
        assert found == {"c": {"seen": 1, "gap": 20.0, "rate": -2.0}}
    found = {}
    writer(follow, fields).write(ObjectList(()), found)
    assert found == {"c": {"seen": 0, "gap": 0.0, "rate": 0.0}}


def test_a_flag_says_whether_a_message_has_come(follow: Path) -> None:
    found: dict[str, dict[str, Any]] = {}
    both = writer(follow, {"c.seen": "valid", "c.gap": "objects[0].distance"})
    both.write(None, found)
    assert found == {"c": {"seen": 0}}
    both.write(ObjectList(()), found)
    assert found == {"c": {"seen": 1, "gap": 0.0}}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"c.gap": "objects[0].distnce"}, r"here\.c\.gap: .* has no field 'distnce'; there are id"),
        ({"c.gap": "objects[].distance"}, "does not fit gap, which is float64"),
        ({"c.gap": "objects"}, "objects is a list; allowed is"),
        ({"c.speed": "objects[0].distance"}, r"found unit 'm/s'; allowed is m"),
    ],
)
def test_what_does_not_fit_is_told_before_the_run(fields: Any, message: str, follow: Path) -> None:
    with pytest.raises(ConfigurationError, match=message):
        writer(follow, fields)


def test_the_factor_between_two_units_is_told(tmp_path: Path) -> None:
    path = tmp_path / "far.c"
    path.write_text("double far(double gap /* [km] */) { return gap; }\n")
    with pytest.raises(ConfigurationError, match=r"is in m, gap in km; give factor: 0\.001"):
        writer(path, {"c.gap": "objects[0].distance"})
    found: dict[str, dict[str, Any]] = {}
    scaled = {"field": "objects[0].distance", "factor": 0.001}
    writer(path, {"c.gap": scaled}).write(ObjectList((detected(500.0, 0.0),)), found)
    assert found == {"c": {"gap": 0.5}}


def platoon(follow: Path, **changed: Any) -> Path:
    """The platoon, its first follower driven by a participant that is a C file."""
    data = yaml.safe_load(share_file("config/platoon.yaml").read_text())
    data["scene"]["map"] = str(share_file("config/highway.xodr"))
    inputs = data["participants"]["cacc1"]["inputs"]
    data["participants"]["cacc1"] = {
        "model": "dcp_master",
        "period": "40ms",
        "parameters": {
            "slaves": {"c": {"fmu": follow.name}},
            "inputs": {
                "objects": {
                    "c.seen": "objects[nearest].valid",
                    "c.gap": "objects[nearest].distance",
                    "c.rate": "objects[nearest].relative_speed",
                    **changed,
                },
                "odometry": {"c.speed": "vx"},
            },
            "outputs": {
                "control": {
                    "fields": {
                        "acceleration": "c.demand", "throttle": "c.throttle", "brake": "c.brake",
                    }
                }
            },
        },
        "inputs": {"objects": inputs["objects"], "odometry": inputs["odometry"]},
        "outputs": data["participants"]["cacc1"]["outputs"],
    }  # fmt: skip
    path = follow.with_name("platoon.yaml")
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path


def test_a_c_file_drives_on_the_object_list(follow: Path) -> None:
    request = RunRequest(platoon(follow), set=("duration=12s",))
    summary = run_inproc(adjusted_scenario(request), follow.parent / "out")
    assert summary.repeatable_scope == "same_machine"
    assert summary.collisions == 0


def test_a_misnamed_field_is_told_by_the_check(follow: Path) -> None:
    path = platoon(follow, **{"c.rate": "objects[nearest].relativ_speed"})
    with pytest.raises(ConfigurationError, match=r"objects\.c\.rate: .* no field 'relativ_speed'"):
        check_scenario(load_scenario(path), "inproc")


SWITCH = """
#include <stdbool.h>
double level(bool on, int mode) { return on ? 10.0 + mode : mode; }
"""


class Command(NamedTuple):
    on: bool
    mode: int


def test_a_table_replaces_values_and_leaves_others(tmp_path: Path) -> None:
    path = tmp_path / "level.c"
    path.write_text(SWITCH)
    fields = {
        "c.on": {"field": "on", "values": {"1": 0, "0": 1}},
        "c.mode": {"field": "mode", "values": {"3": -3}},
    }
    made = writer(path, fields, Command)
    for on, mode, expected in ((True, 3, -3), (False, 4, 4)):
        inputs: dict[str, dict[str, Any]] = {}
        made.write(Command(on, mode), inputs)
        assert inputs == {"c": {"on": int(not on), "mode": expected}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"field": "mode", "values": {"a": 1}},
        {"field": "mode", "values": {"1": 0.5}},
        {"field": "mode", "values": [1]},
        {"field": "mode", "values": {"1": 2}, "factor": 2.0},
    ],
)
def test_other_tables_are_refused(wrong: Any, tmp_path: Path) -> None:
    path = tmp_path / "level.c"
    path.write_text(SWITCH)
    with pytest.raises(ConfigurationError, match="values"):
        writer(path, {"c.mode": wrong}, Command)
