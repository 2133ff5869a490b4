# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Make or repair the virtual environment ``.venv`` of this checkout (``make setup``).

The environment holds the locked distributions and this package: its messages compiled, its
Python modules, launch files and configuration used from the checkout. A stamp, written last,
records what the environment was made from and which files it consists of. While the stamp
holds, there is nothing to do. If only the package's build inputs changed, the package is
installed again. In every other case, damage included, the environment is made anew: nothing of
a state in doubt is kept.

``--extras NAMES`` (``make setup EXTRAS=...``) adds what is not needed for a run: an extra has its
own lock. An extra that is there stays there, in an environment made anew, too.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from manifest import find_damage, list_files
from system_check import missing_packages, missing_packages_message, unsuitable_platform

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "setup-stamp.json"
LOG = VENV / "setup.log"
BUILD_TREE = VENV / "build"
COMPILED = VENV / "lib" / "ros2_cosim_compiled"
SHARE = VENV / "share" / "ros2_cosim"
LOCK = ROOT / "requirements.lock"
EXTRA_LOCKS = {p.stem.split("-", 1)[1]: p for p in sorted(ROOT.glob("requirements-*.lock"))}

# Locked distributions that exist as source archives only. They are built with the locked
# setuptools, after everything else has been installed.
SOURCE_ONLY = ("empy",)

# Large distributions that the compilation of the hot modules does not look at: they are installed
# beside it. So are the packages of ROS.
NOT_FOR_COMPILATION = ("carla", "cmake", "fmpy", "py-spy", "ruff")

# Directories that an editable installation uses from the checkout, like the Python modules.
LINKED_DATA = ("config", "launch", "rviz")

# Variables of the caller that would lead pip or Python elsewhere. The choice of an index and
# of proxies stays with the user.
FOREIGN_VARIABLES = (
    "LD_LIBRARY_PATH",
    "PIP_PREFIX",
    "PIP_REQUIREMENT",
    "PIP_TARGET",
    "PIP_USER",
    # Else every process of a run would compile again what it imports.
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHOME",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "_ROS_WHEELS_BOOTSTRAP_COMPLETE",
)

# Run by the environment's own interpreter: the middleware and the compiled messages load.
IMPORT_CHECK = """
import pathlib, sys
import rclpy, ros2_cosim, ros2_cosim.msg, ros2_cosim.srv
import tf2_msgs.action, tf2_msgs.msg, tf2_msgs.srv
for module in (ros2_cosim.msg, ros2_cosim.srv, tf2_msgs.action, tf2_msgs.msg, tf2_msgs.srv):
    for name, kind in list(vars(module).items()):
        if isinstance(kind, type):
            kind.__class__.__import_type_support__()
            assert kind.__class__._TYPE_SUPPORT is not None, f"no type support for {name}"
assert pathlib.Path(ros2_cosim.__file__).parents[1] == pathlib.Path(sys.argv[1]), (
    f"ros2_cosim is taken from {ros2_cosim.__file__}")
"""

# Run by the environment's own interpreter once, with what extras bring as arguments: what nodes and
# the command line import.
WARM_UP = """
import compileall, contextlib, importlib, pkgutil, sys; from ros2_cosim.lab.report import page
import carla, fmpy, lxml.etree, ros2_cosim.cli.main, ros2_cosim.cli.run, ros2_cosim.ros.programs
import rosbags.rosbag2, rosbags.typesys.stores.ros2_jazzy, uvicorn.protocols.http.h11_impl
for module in pkgutil.iter_modules(ros2_cosim.ros.programs.__path__):
    importlib.import_module("ros2_cosim.ros.programs." + module.name)
compileall.compile_dir(ros2_cosim.__path__[0], quiet=1); page.page_template("report.html")
for name in sys.argv[1:]:
    # What a library of the system is missing for says so when it is used.
    with contextlib.suppress(ImportError, OSError):
        importlib.import_module(name)
"""

# What a run or a command imports of an extra.
EXTRA_MODULES = {
    "can": ("cantools",),
    "live": ("foxglove",),
    "sumo": ("libsumo",),
    "sweep": ("distributed", "optuna", "pyarrow.parquet", "scipy.special", "scipy.stats"),
    "v2x": ("asn1tools",),
}


class SetUpError(Exception):
    """The environment cannot be made; the text is for the user."""


def environment() -> dict[str, str]:
    """Return the process environment for all that runs inside ``.venv``."""
    variables = {name: value for name, value in os.environ.items() if name not in FOREIGN_VARIABLES}
    variables["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    variables["PIP_NO_INPUT"] = "1"
    variables["ROS2_COSIM_BUILD_TREE"] = str(BUILD_TREE)
    return variables


def base_interpreter() -> str:
    """Return the running interpreter itself, even if called by a name inside ``.venv``."""
    return os.path.realpath(sys.executable)


def fingerprint_of(paths: Iterator[Path] | list[Path], *further: str) -> str:
    """Return a digest over the names and contents of files and over further strings."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        for part in (os.fsencode(path.relative_to(ROOT)), path.read_bytes()):
            digest.update(len(part).to_bytes(8, "big") + part)
    for text in further:
        part = os.fsencode(text)
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def environment_fingerprint() -> str:
    """Return the digest of what the environment as a whole depends on."""
    return fingerprint_of([LOCK], platform.python_version(), base_interpreter(), str(ROOT))


def package_fingerprint() -> str:
    """Return the digest of what the installed package depends on besides."""
    paths = [
        ROOT / name for name in ("CMakeLists.txt", "package.xml", "pyproject.toml", "setup.py")
    ]
    paths += [ROOT / "ros2_cosim" / "__init__.py"]
    paths += (ROOT / "ros2_cosim" / "core" / "messages").glob("compilation.py")
    paths += (ROOT / "ros2_cosim" / "core" / "messages").glob("*.cmake")
    paths += (ROOT / "ros2_cosim" / "core" / "messages" / "message_generators").glob("*.py")
    paths += [*(ROOT / "msg").glob("*.msg"), *(ROOT / "srv").glob("*.srv")]
    paths += [
        path
        for path in (ROOT / "buildtools").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    nodes = sorted(path.name for path in (ROOT / "ros2_cosim").glob("*/programs/*.py"))
    return fingerprint_of(paths, *nodes)


def read_stamp() -> dict[str, Any] | None:
    """Return the stamp of a finished set-up, or None."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return stamp if isinstance(stamp, dict) and isinstance(stamp.get("files"), dict) else None


def run_logged(description: str, command: list[str]) -> None:
    """Run a command with its output in the log.

    :raises SetUpError: with the end of the output, if the command fails.
    """
    print(f"{description} ...", flush=True)
    with LOG.open("ab") as log:
        log.write(f"\n== {description}\n".encode())
        log.flush()
        start = log.tell()
        status = subprocess.run(
            command, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log
        ).returncode
    if status != 0:
        with LOG.open("rb") as log:
            log.seek(start)
            lines = log.read().decode(errors="replace").splitlines()
        raise SetUpError(
            "\n".join([*lines[-40:], f"{description}: failed with exit status {status}"])
        )


def succeeds(command: list[str]) -> bool:
    """Run a command of the environment that answers by its exit status."""
    return subprocess.run(command, cwd=ROOT, env=environment()).returncode == 0


def venv_python() -> str:
    """Return the interpreter of the environment."""
    return str(VENV / "bin" / "python3")


def pip(*arguments: str) -> list[str]:
    """Return a pip command of the environment."""
    return [venv_python(), "-m", "pip", *arguments]


def parts_of_lock() -> tuple[str, str, str]:
    """The lock's text in parts, as they are installed.

    :returns: what is there before the hot modules are compiled, what is installed beside that, and
        what is built from source
    """
    parts: tuple[list[str], list[str], list[str]] = [], [], []
    for entry in re.split(r"\n(?=\S)", LOCK.read_text(encoding="utf-8")):
        name = re.split(r"[=\s]", entry)[0]
        beside = name.startswith("ros-") or name in NOT_FOR_COMPILATION
        parts[2 if name in SOURCE_ONLY else 1 if beside else 0].append(entry)
    first, second, third = ("\n".join(part) + "\n" for part in parts)
    return first, second, third


def remove_environment() -> None:
    """Delete ``.venv``, whatever it is."""
    if VENV.is_symlink() or VENV.is_file():
        VENV.unlink()
    elif VENV.is_dir():
        shutil.rmtree(VENV)


def chosen_extras(text: str) -> set[str]:
    """Return the extras that a list of names, or ``all``, stands for.

    :raises SetUpError: if there is no extra of a name.
    """
    names = set(text.replace(",", " ").split())
    unknown = names - EXTRA_LOCKS.keys() - {"all"}
    if unknown:
        raise SetUpError(
            f"EXTRAS: found {', '.join(sorted(unknown))}; allowed are all, {', '.join(EXTRA_LOCKS)}"
        )
    return set(EXTRA_LOCKS) if "all" in names else names


def install_extra(name: str) -> None:
    """Install the locked distributions of an extra into the environment."""
    options = ("--no-compile", "--require-hashes", "--no-deps", "--only-binary", ":all:")
    run_logged(
        f"installing the extra {name}", pip("install", *options, "-r", str(EXTRA_LOCKS[name]))
    )


def make_environment() -> None:
    """Make ``.venv`` anew and install the distributions that the compilation needs."""
    missing = missing_packages()
    if missing:
        raise SetUpError(missing_packages_message(missing))
    remove_environment()
    VENV.mkdir()
    run_logged(
        "making the virtual environment .venv", [base_interpreter(), "-m", "venv", str(VENV)]
    )
    install_locked("installing the locked distributions", parts_of_lock()[0])


def complete_environment() -> None:
    """Install the other locked distributions."""
    _, others, sources = parts_of_lock()
    install_locked("installing the distributions of ROS and other large ones", others)
    install_locked(f"installing {', '.join(SOURCE_ONLY)} from source", sources, built=True)


def install_locked(description: str, text: str, *, built: bool = False) -> None:
    """Install distributions with the versions and digests of a part of the lock.

    :param built: they are built from source
    """
    # Most modules are never imported: byte code is made for those that are, see make_byte_code.
    options = ("--no-compile", "--require-hashes", "--no-deps", "--no-build-isolation")
    form = ("--use-pep517",) if built else ("--only-binary", ":all:")
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "requirements.txt"
        file.write_text(text, encoding="utf-8")
        run_logged(description, pip("install", *options, *form, "-r", str(file)))


def install_package() -> None:
    """Build the messages and install this package; its modules stay in the checkout."""
    run_logged(
        "building and installing ros2_cosim",
        pip("install", "--no-index", "--no-deps", "--no-build-isolation", "--editable", str(ROOT)),
    )
    (place,) = VENV.glob("lib/python3.*/site-packages")
    shutil.copy(ROOT / "buildtools" / "ros_libraries.py", place)
    # By its name it is read before that of the wheels.
    (place / "ros_libraries.pth").write_text("import ros_libraries\n", encoding="utf-8")


def make_byte_code(extras: Iterable[str]) -> None:
    """Make the byte code of what a run imports.

    Otherwise the processes of the first run would all make it at once, and those of each run if
    Python keeps none.
    """
    modules = [module for name in sorted(extras) for module in EXTRA_MODULES.get(name, ())]
    run_logged("preparing the first run", [venv_python(), "-c", WARM_UP, *modules])


@contextmanager
def compiling_modules(*, keep: bool) -> Iterator[None]:
    """Compile the hot modules beside what is done in the block, if that is due.

    mypyc analyses in one thread, and so does much of the build of the messages: side by side they
    use two cores. Without the compiled form everything runs as Python with the same results, so
    that a failure is only said.

    :param keep: leave compiled modules that are there as they are
    """
    command = [venv_python(), str(ROOT / "buildtools" / "compile_modules.py")]
    if (keep and COMPILED.exists()) or succeeds([*command, "--check"]):
        yield
        return
    print("compiling the hot modules in the background ...", flush=True)
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [*command, str(BUILD_TREE / "compiled")],
            cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
        try:
            yield
            status = process.wait()
        finally:
            if process.poll() is None:
                # The compilers that it has started, too.
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()
        output.seek(0)
        text = output.read()
    with LOG.open("ab") as log:
        log.write(b"\n== compiling the hot modules\n" + text)
    if status != 0:
        reason = (text.decode(errors="replace").strip().splitlines() or [f"status {status}"])[-1]
        print(f"Not compiled, pure Python will run: {reason} (see {LOG.relative_to(ROOT)})")


def link_data() -> None:
    """Let the ROS prefix show the launch files and configuration of the checkout.

    Links lead to single files, because ``ros2 launch`` does not look behind linked directories.
    They are cheap, so each call looks after them; what is right is not touched, since a run may
    be reading it.
    """
    wanted = {
        SHARE / source.relative_to(ROOT): source
        for name in LINKED_DATA
        for source in (ROOT / name).rglob("*")
        if source.is_file() and "__pycache__" not in source.parts
    }
    for name in LINKED_DATA:
        for path in (SHARE / name).rglob("*"):
            if not path.is_dir() and path not in wanted:
                path.unlink()
    for link, source in wanted.items():
        if link.is_symlink() and os.readlink(link) == str(source):
            continue
        link.unlink(missing_ok=True)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(source)


def find_fault() -> str | None:
    """Try whether the environment works; return what is wrong, or None."""
    try:
        done = subprocess.run(
            [venv_python(), "-c", IMPORT_CHECK, str(ROOT)],
            cwd=VENV,
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
        )
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return None
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"import check ended with status {done.returncode}"


def write_stamp(environment_digest: str, package_digest: str, extras: dict[str, str]) -> None:
    """Declare the set-up finished; must come last."""
    passing = [BUILD_TREE, COMPILED, LOG, *(SHARE / name for name in LINKED_DATA)]
    prefixes = tuple(str(path.relative_to(VENV)) for path in passing)
    stamp = {
        "environment": environment_digest,
        "package": package_digest,
        "extras": extras,
        "files": {
            path: size for path, size in list_files(VENV).items() if not path.startswith(prefixes)
        },
    }
    partial = STAMP.with_suffix(".partial")
    partial.write_text(json.dumps(stamp), encoding="utf-8")
    partial.replace(STAMP)


@contextmanager
def exclusive() -> Iterator[None]:
    """Let one set-up of this checkout work at a time; others wait for it and then look again."""
    descriptor = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def set_up(extras: str, *, keep_compiled: bool = False) -> None:
    """Bring ``.venv`` into the state that the checkout asks for.

    :param extras: names of extras that are to be there, besides those that are, or ``all``
    :param keep_compiled: compile the hot modules only if there are no compiled ones
    :raises SetUpError: if that is impossible; the environment then has no stamp.
    """
    problem = unsuitable_platform(ROOT)
    if problem:
        raise SetUpError(problem)
    stamp = read_stamp()
    digests = environment_fingerprint(), package_fingerprint()
    compilation = compiling_modules(keep=keep_compiled)
    there: dict[str, str] = stamp.get("extras", {}) if stamp else {}
    locks = {name: fingerprint_of([path]) for name, path in EXTRA_LOCKS.items()}
    wanted = {name: locks[name] for name in chosen_extras(extras) | there.keys() & locks.keys()}
    reason: str | None = None
    if stamp is None:
        reason = "a set-up was not finished" if VENV.exists() else "there is no .venv yet"
    elif stamp.get("environment") != digests[0]:
        reason = "the lock, the Python interpreter or the place of the checkout changed"
    elif not there.items() <= wanted.items():
        reason = "the lock of an extra changed"
    else:
        reason = find_damage(VENV, stamp["files"])
        if reason is None and stamp.get("package") == digests[1] and there == wanted:
            reason = find_fault()
            if reason is None:
                link_data()
                with compilation:
                    pass
                print("The set-up in .venv is up to date.")
                return
    STAMP.unlink(missing_ok=True)
    if reason is not None:
        print(f"Setting up .venv: {reason}.", flush=True)
        make_environment()
        there = {}
    with compilation:
        if reason is not None:
            complete_environment()
        new = sorted(wanted.keys() - there.keys())
        for name in new:
            install_extra(name)
        if reason is not None or stamp is None or stamp.get("package") != digests[1]:
            if reason is None:
                print("Updating .venv: the sources of the package changed.", flush=True)
            install_package()
        link_data()
    if reason is not None or new:
        make_byte_code(new)
    fault = find_fault()
    if fault is not None:
        raise SetUpError(f"the finished environment does not work: {fault}")
    write_stamp(*digests, wanted)
    print("The set-up in .venv is complete.")


def main(arguments: list[str]) -> int:
    """Run the command line and return the status."""
    parser = argparse.ArgumentParser(prog="set_up.py", description="Make or repair .venv.")
    parser.add_argument("--extras", default="", help="names of extras to add, or all")
    parser.add_argument(
        "--keep-compiled",
        action="store_true",
        help="keep the compiled modules, as after an edit",
    )
    parser.add_argument(
        "--missing-packages", action="store_true", help="list them, and do nothing else"
    )
    options = parser.parse_args(arguments)
    if options.missing_packages:
        print(" ".join(sorted(missing_packages())))
        return 0
    try:
        with exclusive():
            set_up(options.extras, keep_compiled=options.keep_compiled)
    except SetUpError as error:
        print(f"set-up failed: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"set-up failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("set-up interrupted; the next call starts it again", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
