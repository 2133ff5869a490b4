# SPDX-License-Identifier: Apache-2.0
"""A law by its name, by module and class, or from the user's own file."""

from pathlib import Path

import pytest

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.models.controllers import Measurement, available_laws, make_law
from ros2_cosim.models.controllers.ploeg import PloegCacc

OWN_LAW = """\
class MyLaw:
    def __init__(self, gain=0.5):
        self.gain = gain

    def acceleration(self, m):
        return self.gain * m.gap_error
"""
STEADY = Measurement(0.04, 20.0, 0.0, 15.0, 0.0, 2.0, 0.6, 30.0)


def test_every_built_in_name_gives_a_law() -> None:
    names = list(available_laws())
    assert names == sorted(names)
    assert {"path_cacc", "ploeg_cacc", "path_acc", "cruise_control"} <= set(names)
    for name in names:
        assert callable(make_law(name).acceleration)


def test_parameters_reach_the_law() -> None:
    assert make_law("ploeg_cacc", {"kp": 0.3}) == PloegCacc(kp=0.3)
    assert make_law("ros2_cosim.models.controllers.ploeg:PloegCacc") == PloegCacc()


def test_a_users_own_file(tmp_path: Path) -> None:
    (tmp_path / "my law.py").write_text(OWN_LAW)
    law = make_law("my law.py:MyLaw", {"gain": 2.0}, base_directory=tmp_path)
    assert law.acceleration(STEADY) == 2.0
    assert make_law(f"{tmp_path}/my law.py:MyLaw").acceleration(STEADY) == 0.5


def test_entry_points_of_an_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "my_laws-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my_laws\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[ros2_cosim.controllers]\nmine = law_of_a_plugin:MyLaw\n"
    )
    (tmp_path / "law_of_a_plugin.py").write_text(OWN_LAW)
    monkeypatch.syspath_prepend(tmp_path)
    assert available_laws()["mine"] == "law_of_a_plugin:MyLaw"
    assert make_law("mine").acceleration(STEADY) == 0.5


@pytest.mark.parametrize(
    ("spec", "parameters", "message"),
    [
        ("plog_cacc", {}, "found 'plog_cacc'; allowed are .*ploeg_cacc"),
        ("", {}, "allowed are"),
        (None, {}, "allowed are"),
        (":MyLaw", {}, "allowed are"),
        ("no_such_module:MyLaw", {}, "loading no_such_module failed"),
        ("missing.py:MyLaw", {}, "there is no file"),
        ("law.py:YourLaw", {}, "has no class 'YourLaw'; it has MyLaw"),
        ("law.py:MyLaw", {"gian": 1}, "do not fit .*; it takes gain"),
        ("broken.py:MyLaw", {}, "loading broken.py failed: SyntaxError"),
        ("json:JSONDecoder", {}, "has no method"),
        ("ploeg_cacc", {"kp": -1}, "kp: found -1; allowed is a number above 0"),
        ("ploeg_cacc", {"kp": "much"}, "kp: found 'much'; allowed is a number"),
        ("failing.py:MyLaw", {}, "failed: ValueError: no luck"),
    ],
)
def test_what_is_no_law_is_refused_by_name(
    tmp_path: Path, spec: str, parameters: dict[str, object], message: str
) -> None:
    (tmp_path / "law.py").write_text(OWN_LAW)
    (tmp_path / "broken.py").write_text("class MyLaw(:\n")
    (tmp_path / "failing.py").write_text(
        "class MyLaw:\n    def __init__(self):\n        raise ValueError('no luck')\n"
    )
    with pytest.raises(ConfigurationError, match=message):
        make_law(spec, parameters, base_directory=tmp_path)
