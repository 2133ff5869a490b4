# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Maps are found by all names that clients have for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.world.headless.maps import MapLibrary


def test_a_town_with_layers_is_the_town(tmp_path: Path) -> None:
    for name in ("Town01", "Town02", "Town02_Opt"):
        (tmp_path / f"{name}.xodr").write_text(name, encoding="utf-8")
    maps = MapLibrary(sorted(tmp_path.glob("*.xodr")))
    assert maps.find("/Game/Carla/Maps/Town01_Opt") == ("Town01_Opt", "Town01")
    assert maps.find("Town02_Opt") == ("Town02_Opt", "Town02_Opt")
    with pytest.raises(ConfigurationError, match="map not found: 'Town03_Opt'; available maps: "):
        maps.find("Town03_Opt")


def test_a_directory_offers_its_maps(tmp_path: Path) -> None:
    for name in ("Town02", "Town01", "own"):
        (tmp_path / f"{name}.xodr").write_text(name, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no map", encoding="utf-8")
    maps = MapLibrary([tmp_path / "own.xodr", tmp_path])
    assert maps.first() == "own"
    assert maps.listed() == [f"/Game/Carla/Maps/{name}" for name in ("Town01", "Town02", "own")]
    assert maps.find("Town02") == ("Town02", "Town02")


def test_two_maps_of_one_name_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for folder in (tmp_path, other):
        (folder / "Town01.xodr").write_text("", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="two maps are called 'Town01'"):
        MapLibrary([tmp_path, other])


def test_a_directory_without_maps_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"found a directory without \.xodr files"):
        MapLibrary([tmp_path])


def test_the_first_map_stands_in_for_towns_that_nobody_has(tmp_path: Path) -> None:
    for name in ("own", "Town04"):
        (tmp_path / f"{name}.xodr").write_text(name, encoding="utf-8")
    maps = MapLibrary([tmp_path / "own.xodr", tmp_path], town_names=True)
    assert maps.find("Town10HD_Opt") == ("Town10HD_Opt", "own")
    assert maps.find("/Game/Carla/Maps/Town03") == ("Town03", "own")
    assert maps.find("Town04_Opt") == ("Town04_Opt", "Town04")
    assert {"Town03", "Town03_Opt", "Town04", "own"} <= {
        name.removeprefix("/Game/Carla/Maps/") for name in maps.listed()
    }
    with pytest.raises(ConfigurationError, match="map not found: 'Town99'"):
        maps.find("Town99")


def test_who_asks_for_a_town_that_is_not_there_hears_what_would_help(tmp_path: Path) -> None:
    (tmp_path / "own.xodr").write_text("", encoding="utf-8")
    maps = MapLibrary([tmp_path])
    with pytest.raises(ConfigurationError, match="--map with their files, or --town-names"):
        maps.find("Town10HD_Opt")
    with pytest.raises(ConfigurationError, match="own$"):
        maps.find("elsewhere")
