# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A law by its name, by module and class, or from the user's own file."""

from pathlib import Path

import pytest
from support.distribution import installed

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.driving.controllers import Measurement, available_laws, make_law
from ros2_cosim.driving.controllers.ploeg import PloegCacc
from ros2_cosim.driving.controllers.registry import adapted, check_law

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
        if name != "fmu":  # needs a file
            assert callable(make_law(name).acceleration)


def test_parameters_reach_the_law() -> None:
    assert make_law("ploeg_cacc", {"kp": 0.3}) == PloegCacc(kp=0.3)
    assert make_law("ros2_cosim.driving.controllers.ploeg:PloegCacc") == PloegCacc()


def test_a_users_own_file(tmp_path: Path) -> None:
    (tmp_path / "my law.py").write_text(OWN_LAW)
    law = make_law("my law.py:MyLaw", {"gain": 2.0}, base_directory=tmp_path)
    assert law.acceleration(STEADY) == 2.0
    assert make_law(f"{tmp_path}/my law.py:MyLaw").acceleration(STEADY) == 0.5


def test_entry_points_of_an_installed_package(
    tmp_path: Path,
) -> None:
    entries = "[ros2_cosim.controllers]\nmine = law_of_a_plugin:MyLaw\n"
    with installed(tmp_path, "law_of_a_plugin", entries, OWN_LAW):
        assert available_laws()["mine"] == "law_of_a_plugin:MyLaw"
        assert make_law("mine").acceleration(STEADY) == 0.5


@pytest.mark.parametrize(
    ("spec", "parameters", "message"),
    [
        ("plog_cacc", {}, r"found 'plog_cacc'; did you mean 'ploeg_cacc'\? allowed are "),
        ("", {}, "allowed are"),
        (None, {}, "allowed are"),
        (":MyLaw", {}, "allowed are"),
        ("no_such_module:MyLaw", {}, "loading no_such_module failed"),
        ("missing.py:MyLaw", {}, "there is no file"),
        ("law.py:YourLaw", {}, "has no class 'YourLaw'; it has MyLaw"),
        ("law.py:MyLaw", {"gian": 1}, "do not fit .*; it takes gain"),
        ("broken.py:MyLaw", {}, r"loading broken.py failed: SyntaxError: [^(]* \([^(]*\)$"),
        ("json:JSONDecoder", {}, "has no method"),
        ("ploeg_cacc", {"kp": -1}, "kp: found -1; allowed is a number above 0"),
        ("ploeg_cacc", {"kp": "much"}, "kp: found 'much'; allowed is a number"),
        ("law.py:MyLaw", {"gain": "much"}, "gain: found 'much'; allowed is a number"),
        ("loose.py:MyLaw", {"gain": "much"}, "gain: found 'much'; allowed is a number"),
        ("loose.py:MyLaw", {"gain": 3}, "made with 3"),
        ("loose.py:MyLaw", {"lag": "x"}, "lag: found 'x'; allowed is a number or null"),
        ("script.py", {"gain": 1}, "found {'gain': 1}; the script script.py makes its law itself"),
        ("failing.py:MyLaw", {}, r"failed: ValueError: no luck \(.*/failing.py, line 3\)$"),
    ],
)
def test_what_is_no_law_is_refused_by_name(
    tmp_path: Path, spec: str, parameters: dict[str, object], message: str
) -> None:
    (tmp_path / "law.py").write_text(OWN_LAW)
    (tmp_path / "loose.py").write_text(
        "class MyLaw:\n    def __init__(self, gain=1, lag: float | None = None):\n"
        "        raise ValueError(f'made with {gain}')\n"
    )
    (tmp_path / "script.py").write_text("raise SystemExit\n")
    (tmp_path / "broken.py").write_text("class MyLaw(:\n")
    (tmp_path / "failing.py").write_text(
        "class MyLaw:\n    def __init__(self):\n        raise ValueError('no luck')\n"
    )
    with pytest.raises(ConfigurationError, match=message):
        make_law(spec, parameters, base_directory=tmp_path)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("need_v2v", "needs_v2v"), ("needs_v2", "needs_v2v"), ("atach", "attach")],
)
def test_a_member_that_looks_misspelt_is_refused(wrong: str, right: str) -> None:
    law = type("MyLaw", (), {"acceleration": lambda self, m: 0.0, wrong: ("leader",)})()
    with pytest.raises(ConfigurationError, match=f"MyLaw: found '{wrong}'.*'{right}'"):
        adapted(law, "here")


def test_a_misspelt_method_is_refused_with_the_right_name() -> None:
    law = type("MyLaw", (), {"acceleratoin": lambda self, m: 0.0})()
    with pytest.raises(ConfigurationError, match="did you mean 'acceleration'"):
        adapted(law, "here")


def test_what_a_law_offers_is_bound_once() -> None:
    class MyLaw:
        needs_v2v = ("leader",)

        def acceleration(self, m: Measurement) -> float:
            return self.limit() * m.gap_error

        def limit(self) -> float:
            """A helper."""
            return 2.0

    found = adapted(MyLaw(), "here")
    assert (found.name, found.needs, found.attach) == ("MyLaw", {"leader"}, None)
    assert found.acceleration(STEADY) == 2.0 * STEADY.gap_error
    MyLaw.needs_v2v = ("driver",)  # type: ignore[assignment]
    with pytest.raises(ConfigurationError, match=r"needs_v2v: found \('driver',\); allowed is"):
        adapted(MyLaw(), "here")


@pytest.mark.parametrize("wrong", [-1.0, "5", float("nan")])
def test_a_gap_at_standstill_that_is_none_is_refused(wrong: object) -> None:
    law = type("MyLaw", (), {"acceleration": lambda self, m: 0.0, "standstill_gap": wrong})()
    with pytest.raises(ConfigurationError, match=r"MyLaw.standstill_gap: found .*; allowed is a"):
        adapted(law, "here")


def test_parameters_are_checked_without_making_a_law(tmp_path: Path) -> None:
    (tmp_path / "law.py").write_text(
        "class MyLaw:\n"
        "    def __init__(self, gain: float = 1.0, name: str = ''):\n"
        "        raise AssertionError('made')\n"
        "    def acceleration(self, m):\n        return 0.0\n"
    )
    assert check_law("law.py:MyLaw", {"gain": 2}, base_directory=tmp_path) is not None
    for wrong in ({"gain": "x"}, {"name": 3}, {"gian": 1}):
        with pytest.raises(ConfigurationError, match="gain|name|gian"):
            check_law("law.py:MyLaw", wrong, base_directory=tmp_path)
    with pytest.raises(ConfigurationError, match=r"failed: AssertionError: made"):
        make_law("law.py:MyLaw", base_directory=tmp_path)
