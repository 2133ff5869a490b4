# SPDX-License-Identifier: Apache-2.0
"""Maps are found by all names that clients have for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ros2_cosim.carla_headless.maps import MapLibrary
from ros2_cosim.kernel.errors import ConfigurationError


def test_a_town_with_layers_is_the_town(tmp_path: Path) -> None:
    for name in ("Town01", "Town02", "Town02_Opt"):
        (tmp_path / f"{name}.xodr").write_text(name, encoding="utf-8")
    maps = MapLibrary(sorted(tmp_path.glob("*.xodr")))
    assert maps.find("/Game/Carla/Maps/Town01_Opt") == ("Town01_Opt", "Town01")
    assert maps.find("Town02_Opt") == ("Town02_Opt", "Town02_Opt")
    with pytest.raises(ConfigurationError, match="map 'Town03_Opt' not found; available maps: "):
        maps.find("Town03_Opt")
