# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The set-up notices damage, speaks clearly and keeps to the lock."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import a module of ``buildtools``, which is not a package."""
    monkeypatch.syspath_prepend(str(ROOT / "buildtools"))
    spec = importlib.util.spec_from_file_location(name, ROOT / "buildtools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree such as an environment is."""
    tree = tmp_path / "tree"
    (tree / "lib" / "__pycache__").mkdir(parents=True)
    (tree / "lib" / "module.py").write_text("x = 1\n")
    (tree / "lib" / "library.so").write_bytes(bytes(1000))
    (tree / "lib" / "__pycache__" / "module.pyc").write_bytes(b"code")
    (tree / "data").mkdir()
    (tree / "link").symlink_to("data", target_is_directory=True)
    return tree


def test_damage_is_found(tree, monkeypatch):
    manifest = load("manifest", monkeypatch)
    listed = manifest.list_files(tree)
    assert listed == {"lib/module.py": 6, "lib/library.so": 1000, "link": -1}
    assert manifest.find_damage(tree, listed) is None

    (tree / "lib" / "__pycache__" / "module.pyc").unlink()
    (tree / "more.txt").write_text("a user's own")
    assert manifest.find_damage(tree, listed) is None

    with (tree / "lib" / "library.so").open("r+b") as stream:
        stream.truncate(999)
    assert manifest.find_damage(tree, listed) == "lib/library.so has 999 bytes instead of 1000"
    (tree / "lib" / "library.so").write_bytes(bytes(1000))

    (tree / "lib" / "module.py").unlink()
    assert manifest.find_damage(tree, listed) == "lib/module.py is missing"
    (tree / "lib" / "module.py").write_text("x = 1\n")

    (tree / "data").rmdir()
    assert manifest.find_damage(tree, listed) == "link is missing"


def test_stamp_that_is_cut_short_counts_as_none(tmp_path, monkeypatch):
    set_up = load("set_up", monkeypatch)
    stamp = tmp_path / "stamp.json"
    monkeypatch.setattr(set_up, "STAMP", stamp)
    assert set_up.read_stamp() is None
    for text in ("", '{"environment": "a", "fi', "[]", '{"files": []}'):
        stamp.write_text(text)
        assert set_up.read_stamp() is None


def test_all_of_the_lock_is_installed_in_three_parts(monkeypatch):
    set_up = load("set_up", monkeypatch)
    first, second, sources = set_up.parts_of_lock()
    whole = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for sign in ("==", "--hash"):
        assert whole.count(sign) == sum(text.count(sign) for text in (first, second, sources))
    assert sources.startswith("empy==") and sources.count("==") == len(set_up.SOURCE_ONLY)
    # What the compilation of the hot modules needs is there before it starts.
    for name in ("mypy", "ninja", "setuptools", "numpy", "pydantic"):
        assert f"\n{name}==" in first
    for name in ("ros-rclpy", *set_up.NOT_FOR_COMPILATION):
        assert f"\n{name}==" in "\n" + second


def test_fingerprint_depends_on_the_messages(monkeypatch, tmp_path):
    set_up = load("set_up", monkeypatch)
    before = set_up.package_fingerprint()
    assert before == set_up.package_fingerprint()
    assert before != set_up.environment_fingerprint()
    monkeypatch.setattr(set_up, "ROOT", tmp_path)
    (tmp_path / "a.msg").write_text("int64 a\n")
    one = set_up.fingerprint_of([tmp_path / "a.msg"])
    (tmp_path / "a.msg").write_text("int64 b\n")
    assert set_up.fingerprint_of([tmp_path / "a.msg"]) != one


def test_data_links_follow_the_checkout(monkeypatch, tmp_path):
    set_up = load("set_up", monkeypatch)
    root, share = tmp_path / "root", tmp_path / "share"
    monkeypatch.setattr(set_up, "ROOT", root)
    monkeypatch.setattr(set_up, "SHARE", share)
    (root / "config" / "more").mkdir(parents=True)
    (root / "config" / "a.yaml").write_text("a: 1\n")
    (root / "config" / "more" / "b.yaml").write_text("b: 1\n")
    set_up.link_data()
    assert (share / "config" / "a.yaml").read_text() == "a: 1\n"
    assert (share / "config" / "more" / "b.yaml").read_text() == "b: 1\n"

    kept = (share / "config" / "more" / "b.yaml").lstat().st_mtime_ns
    (root / "config" / "a.yaml").rename(root / "config" / "c.yaml")
    set_up.link_data()
    assert sorted(path.name for path in (share / "config").iterdir()) == ["c.yaml", "more"]
    assert (share / "config" / "c.yaml").read_text() == "a: 1\n"
    assert (share / "config" / "more" / "b.yaml").lstat().st_mtime_ns == kept


def test_missing_system_packages_are_named_in_one_message(monkeypatch, tmp_path):
    check = load("system_check", monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(check.sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setattr(check.importlib.util, "find_spec", lambda name: None)
    message = check.missing_packages_message(check.missing_packages())
    assert message.endswith("sudo apt-get install g++ python3-dev python3-venv")
    assert "\n" not in message


def test_unsuitable_python_is_refused_by_name(monkeypatch):
    check = load("system_check", monkeypatch)
    monkeypatch.setattr(check, "NEWEST_PYTHON", (3, 9))
    problem = check.unsuitable_platform(ROOT)
    assert problem is not None and sys.executable in problem and "make setup PYTHON=" in problem


def test_path_that_cannot_be_searched_is_refused(monkeypatch):
    check = load("system_check", monkeypatch)
    assert check.unsuitable_platform(Path("/home/a user/ros2 cosim")) is None
    problem = check.unsuitable_platform(Path("/home/a:b"))
    assert problem is not None and "/home/a:b" in problem


def test_unknown_option_ends_with_the_usage():
    done = subprocess.run(
        [sys.executable, str(ROOT / "buildtools" / "set_up.py"), "--what"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("usage:")


def test_extras_are_named_one_by_one_or_all(monkeypatch, tmp_path):
    set_up = load("set_up", monkeypatch)
    assert "fuzz" in set_up.EXTRA_LOCKS
    monkeypatch.setattr(set_up, "EXTRA_LOCKS", {"a": tmp_path, "b": tmp_path})
    assert set_up.chosen_extras("") == set()
    assert set_up.chosen_extras("b") == {"b"}
    assert set_up.chosen_extras("a, b") == set_up.chosen_extras("all") == {"a", "b"}
    with pytest.raises(set_up.SetUpError, match="EXTRAS: found c; allowed are all, a, b"):
        set_up.chosen_extras("a c")


def test_extras_are_added_once_and_stay(monkeypatch, tmp_path):
    """What the set-up does about extras, in an environment that is otherwise as it should be."""
    set_up = load("set_up", monkeypatch)
    lock = tmp_path / "requirements-a.lock"
    lock.write_text("a==1\n")
    done: list[str] = []
    monkeypatch.setattr(set_up, "STAMP", tmp_path / "stamp.json")
    places = {
        name: tmp_path / place.relative_to(ROOT)
        for name, place in vars(set_up).items()
        if isinstance(place, Path) and place.is_relative_to(set_up.VENV)
    }
    for name, place in {**places, "ROOT": tmp_path}.items():
        monkeypatch.setattr(set_up, name, place)
    monkeypatch.setattr(set_up, "EXTRA_LOCKS", {"a": lock})
    monkeypatch.setattr(set_up, "unsuitable_platform", lambda root: None)
    monkeypatch.setattr(set_up, "environment_fingerprint", lambda: "environment")
    monkeypatch.setattr(set_up, "package_fingerprint", lambda: "package")
    monkeypatch.setattr(set_up, "find_damage", lambda root, files: None)
    monkeypatch.setattr(set_up, "list_files", lambda root: {})
    monkeypatch.setattr(set_up, "find_fault", lambda: None)
    monkeypatch.setattr(set_up, "link_data", lambda: None)
    monkeypatch.setattr(
        set_up, "make_byte_code", lambda extras: done.append(" ".join(["byte code", *extras]))
    )
    monkeypatch.setattr(set_up, "compiling_modules", lambda keep: nullcontext())
    monkeypatch.setattr(set_up, "make_environment", lambda: done.append("environment"))
    monkeypatch.setattr(set_up, "complete_environment", lambda: None)
    monkeypatch.setattr(set_up, "install_package", lambda: done.append("package"))
    monkeypatch.setattr(set_up, "install_extra", lambda name: done.append(name))

    def what_is_done(extras: str) -> list[str]:
        done.clear()
        set_up.set_up(extras)
        return list(done)

    assert what_is_done("") == ["environment", "package", "byte code"]
    assert what_is_done("") == []
    assert what_is_done("all") == ["a", "byte code a"]
    assert what_is_done("all") == what_is_done("") == []
    lock.write_text("a==2\n")
    assert what_is_done("") == ["environment", "a", "package", "byte code a"]
    assert what_is_done("") == []


def test_byte_code_is_made_of_what_an_extra_brings(monkeypatch):
    set_up = load("set_up", monkeypatch)
    asked: list[list[str]] = []
    monkeypatch.setattr(set_up, "run_logged", lambda description, command: asked.append(command))
    set_up.make_byte_code(["v2x", "live", "fuzz"])
    assert asked[0][-3:] == [set_up.WARM_UP, "foxglove", "asn1tools"]
    assert set_up.EXTRA_MODULES.keys() <= set_up.EXTRA_LOCKS.keys()
    for name, modules in set_up.EXTRA_MODULES.items():
        lock = set_up.EXTRA_LOCKS[name].read_text(encoding="utf-8")
        # A distribution of the extra has the name of the module, or begins with it.
        for module in modules:
            assert f"\n{module.split('.')[0]}" in lock, f"{name} has no {module}"


def test_the_lock_of_an_extra_has_what_the_other_lacks(monkeypatch):
    lock = load("lock", monkeypatch)
    text = "# made by\na==1 \\\n    --hash=sha256:1\nb==2 ; x \\\n    --hash=sha256:2\n"
    assert lock.without(text, "# other\na==1 \\\n    --hash=sha256:1\n") == (
        "# made by\nb==2 ; x \\\n    --hash=sha256:2\n"
    )
    assert lock.without(text, "c==1\n") == text


def test_entry_points_text(monkeypatch):
    entry_points = load("entry_points", monkeypatch)
    project = {
        "scripts": {"cosim": "a.b:main"},
        "entry-points": {"g.two": {"y": "m:Y", "x": "m:X"}, "g.one": {}},
    }
    assert entry_points.entry_points_text(project) == (
        "[console_scripts]\ncosim = a.b:main\n\n[g.one]\n\n[g.two]\nx = m:X\ny = m:Y\n"
    )


@pytest.fixture
def compiling(monkeypatch, tmp_path):
    """The set-up with a program of the test's own in place of the compiler's."""
    set_up = load("set_up", monkeypatch)
    tools = tmp_path / "buildtools"
    tools.mkdir()
    program = tools / "compile_modules.py"
    for name, place in (("ROOT", tmp_path), ("LOG", tmp_path / "setup.log")):
        monkeypatch.setattr(set_up, name, place)
    monkeypatch.setattr(set_up, "venv_python", lambda: sys.executable)

    def prepare(text: str):
        program.write_text("import sys\nif '--check' in sys.argv: sys.exit(1)\n" + text)
        return set_up.compiling_modules(keep=False)

    return prepare


def test_what_cannot_be_compiled_is_said_and_the_rest_goes_on(compiling, capfd, tmp_path):
    with compiling("sys.exit('mypyc refused the modules')"):
        pass
    said = capfd.readouterr().out
    assert "pure Python will run: mypyc refused the modules (see setup.log)" in said
    assert "mypyc refused" in (tmp_path / "setup.log").read_text()


def test_a_set_up_that_fails_leaves_no_compiler_behind(compiling, tmp_path):
    # The compiler proper is a child of the program that is started.
    pid = tmp_path / "pid"
    text = (
        "import pathlib, subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(pid)!r} + '.new').write_text(str(child.pid))\n"
        f"pathlib.Path({str(pid)!r} + '.new').rename({str(pid)!r})\n"
        "child.wait()\n"
    )
    with pytest.raises(KeyError), compiling(text):
        while not pid.exists():
            time.sleep(0.01)
        raise KeyError
    while is_alive(int(pid.read_text())):
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_an_interpreter_starts_anew_with_the_libraries_of_ros_wheels(tmp_path: Path) -> None:
    """Those of other wheels find their own; what the caller has comes last."""
    for name in ("ros_b.libs", "ros_a.libs", "numpy.libs", "ros_c"):
        (tmp_path / name).mkdir()
    shutil.copy(ROOT / "buildtools" / "ros_libraries.py", tmp_path)
    code = (
        "import os, sys; sys.path.insert(0, sys.argv[1]); import ros_libraries; "
        "print(os.environ['LD_LIBRARY_PATH'], sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, str(tmp_path), "a word"],
        env={"LD_LIBRARY_PATH": "/of/the/caller"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = [f"{tmp_path}/ros_a.libs", f"{tmp_path}/ros_b.libs", "/of/the/caller"]
    paths, _, words = done.stdout.strip().partition(" ")
    assert paths.split(":")[1:] == found
    assert words == str([str(tmp_path), "a word"])
