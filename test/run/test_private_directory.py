# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What other users of the machine put in the way of a run, or in place of its files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.ros.bringup.control import Visit, find_run
from ros2_cosim.ros.bringup.domain_lock import ActiveRun, active_runs, claim, domain_lock

_PROFILE = "FASTRTPS_DEFAULT_PROFILES_FILE"


@pytest.fixture
def domain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[int]:
    """A free ROS domain of a user without files of runs; XDG_RUNTIME_DIR is the test's own."""
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with claim() as number:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(number))
        yield number


def refusal() -> str:
    """Why no run can begin now, in one line."""
    with pytest.raises(ConfigurationError) as caught:
        domain_lock().__enter__()
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_files_of_a_run_can_be_made_and_read_by_its_user_only(domain: int, tmp_path: Path) -> None:
    with domain_lock() as place:
        place.announce("wave", secret="hidden")
        (file,) = (tmp_path / "runtime").rglob("*.lock")
        assert file.parent.stat().st_mode & 0o777 == 0o700
        assert file.stat().st_mode & 0o777 == 0o600
        (run,) = active_runs()
        assert (run.scenario, run.secret) == ("wave", "hidden")
    assert file.read_bytes() == b""


def test_a_run_is_found_from_a_process_with_another_runtime_directory(
    domain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = os.environ["XDG_RUNTIME_DIR"]
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    with domain_lock() as place:
        place.announce("service")
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        assert [run.scenario for run in active_runs()] == ["service"]
        assert find_run(None).scenario == "service"


def test_a_runtime_directory_that_others_can_write_to_is_not_used(
    domain: int, tmp_path: Path
) -> None:
    (tmp_path / "runtime").chmod(0o777)
    with domain_lock():
        assert not list((tmp_path / "runtime").iterdir())
        assert (tmp_path / "temporary" / f"ros2_cosim-{os.getuid()}").is_dir()


def test_a_link_in_place_of_the_lock_file_is_not_followed(domain: int, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    directory = tmp_path / "runtime" / "ros2_cosim"
    directory.mkdir(mode=0o700)
    (directory / f"domain_{domain}.lock").symlink_to(victim)
    assert f"domain_{domain}.lock: " in refusal()
    (directory / f"domain_{domain}.lock").unlink()
    os.link(victim, directory / f"domain_{domain}.lock")
    assert "no ordinary file" in refusal()
    assert victim.read_text() == "precious"


def test_a_link_or_a_file_in_place_of_the_directory_is_refused(domain: int, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    place = tmp_path / "runtime" / "ros2_cosim"
    place.symlink_to(elsewhere)
    assert "allowed is a directory of user" in refusal()
    place.unlink()
    place.write_text("")
    assert "allowed is a directory of user" in refusal()
    assert not list(elsewhere.iterdir())


def test_a_directory_that_others_can_enter_is_refused(domain: int, tmp_path: Path) -> None:
    place = tmp_path / "runtime" / "ros2_cosim"
    place.mkdir(mode=0o700)
    place.chmod(0o750)
    assert "found mode 750" in refusal()


def test_what_another_user_has_put_there_is_refused_and_not_read(
    domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with domain_lock() as place:
        place.announce("of the other user")
        own = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: own + 1)
        assert active_runs() == []
        monkeypatch.delenv("XDG_RUNTIME_DIR")
        taken = tmp_path / "temporary" / f"ros2_cosim-{own + 1}"
        taken.mkdir(mode=0o700)
        assert f"{taken}: found owner {own};" in refusal()


def test_a_broken_lock_file_is_named_in_one_line(domain: int, tmp_path: Path) -> None:
    with domain_lock():
        (file,) = (tmp_path / "runtime").rglob("*.lock")
        for text in ("[", '{"domain": 1}', "[" * 100_000, json.dumps({"domain": [domain]})):
            file.write_text(text)
            with pytest.raises(ConfigurationError) as caught:
                active_runs()
            assert str(caught.value).startswith(f"lock file {file}: ")
            assert "\n" not in str(caught.value)


def test_of_the_environment_of_a_run_only_dds_settings_are_taken(
    domain: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given = {_PROFILE: str(tmp_path / "none.xml"), "LD_AUDIT": "evil.so", "ROS_LOG_DIR": "/evil"}
    monkeypatch.setenv("COSIM_RUN_SECRET", "")  # restored afterwards
    monkeypatch.setenv(_PROFILE, "")
    monkeypatch.delenv("ROS_LOG_DIR", raising=False)
    run = ActiveRun(domain, "wave", tmp_path, given, "hidden")
    visit = Visit()
    visit.join(run, "control")
    visit.leave(None)
    assert os.environ[_PROFILE] == given[_PROFILE]
    assert "LD_AUDIT" not in os.environ
    assert "ROS_LOG_DIR" not in os.environ


def test_modules_in_the_working_directory_are_not_imported(tmp_path: Path) -> None:
    from ros2_cosim.core.documents.installed import module_command

    for name in ("random.py", "runpy.py", "asked.py"):
        (tmp_path / name).write_text(f"raise SystemExit('took {name}')\n")
    library = tmp_path / "library"
    library.mkdir()
    (library / "asked.py").write_text(
        "import random, sys\nprint(__name__, sys.argv[1:], __file__ == sys.argv[0])\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(library)}
    for more in ({}, {"PYTHONSAFEPATH": "1"}):
        found = subprocess.run(
            [*module_command("asked"), "--word", "x"],
            cwd=tmp_path,
            env={**environment, **more},
            capture_output=True,
            text=True,
        )
        assert (found.stdout, found.stderr) == ("__main__ ['--word', 'x'] True\n", "")
    assert module_command("asked")[0] == sys.executable


def test_an_interrupt_while_a_module_is_imported_ends_it_in_silence(tmp_path: Path) -> None:
    from ros2_cosim.core.documents.installed import module_command

    (tmp_path / "asked.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nprint('went on')\n"
    )
    found = subprocess.run(
        module_command("asked"),
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
