# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The bench of the reference drivers, without the code of others beside it."""

import pytest

from bench.reference_drivers import main, ranges


def test_the_drivers_of_this_project_are_in_the_table(capsys) -> None:
    assert main(["--farthest", "6", "--across", "1.0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "| 20, 10 | 1.0 | careful | 1-5 |  |" in lines
    assert "| 20, 10 | 1.0 | Reg157 | 1-4 |  |" in lines
    assert "| 20, 10 | 1.0 | RSS | 1-3 |  |" in lines
    assert "| 20, 10 | 1.0 | FSM | 1-3 |  |" in lines


def test_a_directory_without_that_code_is_refused(tmp_path) -> None:
    with pytest.raises(SystemExit, match="found no utility/models.py; allowed is a checkout"):
        main(["--jrc", str(tmp_path)])


def test_numbers_are_told_as_ranges() -> None:
    assert ranges([1, 2, 3, 5, 8, 9]) == "1-3, 5, 8-9"
    assert ranges([]) == "none"
