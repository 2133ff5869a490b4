# SPDX-License-Identifier: Apache-2.0
"""What a scenario may say and hardly means is told in a line, and nothing is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.control_scenarios import chain
from typer.testing import CliRunner

from ros2_cosim.cli.main import app
from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.scenario.check import MANY_PERIODS, SHORT_PERIOD_NS, check_scenario, doubts
from ros2_cosim.scenario.schema import make_scenario

NOTE = "participants.plant.period: found 5ns, which is 200,000,000 activations in 1s"


def doubted(period: object, duration: Any) -> list[str]:
    data = chain(duration=duration)
    data["participants"]["plant"]["period"] = period
    return doubts(make_scenario(data, "here"))


def test_a_period_in_nanoseconds_by_mistake_is_told() -> None:
    assert doubted(5, "1s") == [NOTE]


@pytest.mark.parametrize(
    ("period", "duration"),
    [("10ms", "1h"), (1, MANY_PERIODS), (SHORT_PERIOD_NS, "1h")],
)
def test_periods_that_are_meant_are_not(period: object, duration: object) -> None:
    assert doubted(period, duration) == []


def test_where_it_is_refused_the_unit_is_named_too() -> None:
    data = chain()
    data["participants"]["plant"]["period"] = "5ns"
    with pytest.raises(ConfigurationError, match="lower run_ahead$"):
        check_scenario(make_scenario(data, "here"), "ros")


def test_check_and_run_tell_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "short.json"
    data = chain(duration="1s")
    data["participants"]["plant"]["period"] = "5ns"
    file.write_text(json.dumps(data))
    words = [str(file), "--shape", "inproc"]
    checked = CliRunner().invoke(app, ["check", *words])
    assert (checked.exit_code, checked.stderr) == (0, f"cosim: note: {NOTE}\n")
    answer = json.loads(CliRunner().invoke(app, ["check", *words, "--json"]).stdout)
    assert (answer["good"], answer["notes"]) == (True, [NOTE])

    def ended(prepared: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr("ros2_cosim.cli.main._start", ended)  # it would compute for a day
    run = CliRunner().invoke(app, ["run", *words, "--out", str(tmp_path / "out")])
    assert f"cosim: note: {NOTE}\n" in run.stderr
