# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The program that makes pictures of towns: one row of a sheet, the same bytes each time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from support.headless_process import HIGHWAY

from bench import town_pictures


def test_a_sheet_has_a_row_for_each_place(tmp_path: Path) -> None:
    sheet = town_pictures.sheet_of(HIGHWAY, 1, 5)
    width, height = town_pictures.TILE
    assert sheet.shape == (height, 6 * width, 3)
    tiles = [sheet[:, n * width : (n + 1) * width].astype(float) for n in range(6)]
    day, night, rain, depth, labels, points = tiles
    assert day.mean() > 1.5 * night.mean() and np.abs(day - rain).mean() > 5.0
    assert depth.std() > 20.0 and len(np.unique(labels.reshape(-1, 3), axis=0)) >= 4
    assert 500 < (points.max(axis=2) > 0.0).sum() < 20_000
    arguments = [str(HIGHWAY), "--out", str(tmp_path), "--count", "1", "--seed", "5"]
    assert town_pictures.main(arguments) == 0
    found = (tmp_path / "highway.png").read_bytes()
    assert found == town_pictures.png(sheet)
