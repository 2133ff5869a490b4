# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs of tests on mutants that cost little: those tests alone that run the changed line.

:class:`Survey` runs the tests of a room once without any change, and notes which lines each of them
runs, in child processes too, and how long it takes. A test that does not run the changed line
cannot notice it; so a mutant needs the others only: those of one file first, then all quick ones,
then the slow ones. What runs while modules are imported, in fixtures that tests may share, and in
functions that keep their results, counts for all tests that it may reach.

:class:`Server` is a process that has imported the libraries already, and forks for each run.

As a plug-in of pytest this module takes the notes, and checks that the changed module runs as
Python.
"""

from __future__ import annotations

import ast
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType
from typing import IO, Any, Final, NoReturn

import pytest

from ros2_cosim.core.process.processes import end_with_parent

ROOT = Path(__file__).resolve().parent.parent
#: Which module has to run as Python: its name, and its file.
MODULE_VARIABLE: Final = "COSIM_MUTANT_MODULE"
#: A file with how long each test may take [s]; the first that fails is written beside it.
LIMITS_VARIABLE: Final = "COSIM_MUTANT_LIMITS"
#: A directory for notes on an unchanged run; it has ``files.json``, those whose lines count.
SURVEY_VARIABLE: Final = "COSIM_MUTANT_SURVEY"
#: Exit code of a run of tests that did not have the changed module.
NOT_TRIED: Final = 99
#: After so many calls in a row without another line, those of a function are no longer noted.
_ENOUGH_CALLS: Final = 200
#: Exit code of a run that took longer than all its tests may.
HANGS: Final = -1


class _Lines:
    """Notes each line of some files once for each context: a test, a file of tests, or nothing."""

    def __init__(self, directory: Path, context: str) -> None:
        self.context = context
        self._files = frozenset(json.loads((directory / "files.json").read_text()))
        self._counts: dict[CodeType, bool] = {}
        self._seen: set[tuple[str, CodeType, int]] = set()
        #: For each context and function, how many calls since the last that ran another line.
        self._calls: dict[tuple[str, CodeType], int] = {}
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._out = os.open(directory / "lines.txt", flags)
        #: What is not in the file yet: a test may limit the size of files for a while.
        self._rest = b""

    def start(self) -> None:
        threading.settrace(self._called)
        sys.settrace(self._called)

    def _called(self, frame: FrameType, event: str, _value: object) -> Any:
        code = frame.f_code
        counts = self._counts.get(code)
        if counts is None:
            counts = self._counts[code] = code.co_filename in self._files
        if not counts:
            return None
        key = (self.context, code)
        calls = self._calls[key] = self._calls.get(key, 0) + 1
        return self._line if calls <= _ENOUGH_CALLS else None

    def _line(self, frame: FrameType, event: str, _value: object) -> Any:
        if event == "line":
            key = (self.context, frame.f_code, frame.f_lineno)
            if key not in self._seen:
                self._seen.add(key)
                self._calls[key[:2]] = 0
                text = f"{self.context}\t{frame.f_code.co_filename}\t{frame.f_lineno}\n"
                self._rest += text.encode("utf-8", "replace")
                with suppress(OSError):
                    self._rest = self._rest[os.write(self._out, self._rest) :]
        return self._line


def trace_child() -> None:
    """In a child process of a test: note its lines for the test that started it."""
    test, _, phase = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")
    context = test if phase == "(call)" else test.partition("::")[0]
    _Lines(Path(os.environ[SURVEY_VARIABLE]), context).start()


class _Notes:
    """Plug-in of a survey: the lines that each test runs, how long it takes, whether it passes."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lines = _Lines(directory, "")
        self._lines.start()
        self._seconds: dict[str, float] = {}
        self._bad: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterable[None]:
        self._lines.context = item.nodeid.partition("::")[0]
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterable[None]:
        self._lines.context = item.nodeid
        sys.settrace(self._lines._called)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterable[None]:
        self._lines.context = item.nodeid.partition("::")[0]
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        if not report.passed:
            self._bad.add(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        sys.settrace(None)
        seconds = {test: round(s, 3) for test, s in self._seconds.items() if test not in self._bad}
        slow = [i.nodeid for i in session.items if i.get_closest_marker("slow") is not None]
        libraries = [
            name
            for name, module in list(sys.modules.items())
            if "site-packages" in (getattr(module, "__file__", None) or "")
        ]
        notes = {
            "seconds": seconds,
            "slow": [test for test in slow if test in seconds],
            "bad": sorted(self._bad),
            "libraries": libraries,
        }
        (self._directory / "run.json").write_text(json.dumps(notes))


class _Judge:
    """Plug-in of a mutant's run: limits for each test, and which one fails."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._limits: dict[str, float] = json.loads(path.read_text())

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        turns = {test: turn for turn, test in enumerate(self._limits)}
        items.sort(key=lambda item: turns.get(item.nodeid, 0))
        for item in items:
            item.add_marker(pytest.mark.timeout(self._limits.get(item.nodeid, 60.0)))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            hangs = "Timeout (>" in report.longreprtext
            self._path.with_suffix(".failed").write_text(json.dumps([report.nodeid, hangs]))


def pytest_configure(config: pytest.Config) -> None:
    """Take the part that the environment says."""
    if SURVEY_VARIABLE in os.environ:
        config.pluginmanager.register(_Notes(Path(os.environ[SURVEY_VARIABLE])))
    if LIMITS_VARIABLE in os.environ:
        config.pluginmanager.register(_Judge(Path(os.environ[LIMITS_VARIABLE])))


def pytest_collection_finish() -> None:
    """In the copy: the changed module runs, and runs as Python."""
    named = os.environ.get(MODULE_VARIABLE)
    if named is not None:
        name, _, file = named.partition("=")
        module = import_module(name)
        assert module.__spec__ is not None
        if not isinstance(module.__spec__.loader, SourceFileLoader) or module.__file__ != file:
            text = f"{name} is not that of {file}, run as Python: {module.__spec__}"
            pytest.exit(text, returncode=NOT_TRIED)


class Survey:
    """Which tests of a room run which lines, how long they take, and which are slow.

    Tests that fail in the unchanged copy cannot kill a mutant; they are in :attr:`bad`.

    :param copy: an unchanged copy of the checkout
    :param directory: where the notes are; they are taken again where tests or code have changed
    :param code: files of the room's code, from the copy's root
    :param tests: files of its tests, from the copy's root
    """

    def __init__(
        self, copy: Path, directory: Path, code: Sequence[str], tests: Sequence[str]
    ) -> None:
        of_code = sha256(b"".join((copy / file).read_bytes() for file in code)).hexdigest()
        keys = {
            file: sha256(of_code.encode() + (copy / file).read_bytes()).hexdigest()[:16]
            for file in tests
        }
        stale = [file for file in tests if not (directory / f"{keys[file]}.json").exists()]
        if stale:
            for file, notes in _take_notes(copy, directory / "notes", code, stale).items():
                (directory / f"{keys[file]}.json").write_text(json.dumps(notes))
        self.seconds: dict[str, float] = {}
        self.slow: set[str] = set()
        self.bad: list[str] = []
        self.libraries: set[str] = set()
        self._by_line: dict[tuple[str, int], set[str]] = {}
        self._by_file: dict[str, set[str]] = {}
        self._texts = {file: (copy / file).read_text(encoding="utf-8") for file in tests}
        for file in tests:
            self._read(file, json.loads((directory / f"{keys[file]}.json").read_text()))

    def _read(self, test_file: str, notes: dict[str, Any]) -> None:
        self.seconds.update(notes["seconds"])
        self.slow.update(notes["slow"])
        self.bad += notes["bad"]
        self.libraries.update(notes["libraries"])
        for context, file, line in notes["lines"]:
            if context in notes["seconds"]:
                reached = {context}
            elif context == test_file:
                # A fixture that other tests of the file may share.
                reached = set(notes["seconds"])
            else:
                continue
            self._by_line.setdefault((file, line), set()).update(reached)
            self._by_file.setdefault(file, set()).update(reached)

    def batches(self, file: str, source: bytes, line: int) -> list[list[str]]:
        """Tests that may notice a change in a line: those to run first, then others."""
        first, last, everywhere = _reach_of(source, line)
        found: set[str] = set()
        for number in range(first, last + 1):
            found |= self._by_line.get((file, number), set())
        if everywhere:
            # The files of tests that run the file or name its module; without any, all tests.
            module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            files = {test.partition("::")[0] for test in self._by_file.get(file, ())}
            files |= {name for name, text in self._texts.items() if module in text}
            found |= {
                test for test in self.seconds if not files or test.partition("::")[0] in files
            }
        return self._in_batches(file, found)

    def _in_batches(self, file: str, tests: set[str]) -> list[list[str]]:
        stem = Path(file).stem
        by_file: dict[str, list[str]] = {}
        for test in sorted(tests - self.slow, key=lambda test: (self.seconds[test], test)):
            by_file.setdefault(test.partition("::")[0], []).append(test)

        def turn(item: tuple[str, list[str]]) -> tuple[bool, float]:
            name, those = item
            return stem not in name, sum(self.seconds[test] for test in those) / len(those)

        ordered = [those for _, those in sorted(by_file.items(), key=turn)]
        quick = [test for those in ordered[1:] for test in those]
        slow = sorted(tests & self.slow, key=lambda test: (self.seconds[test], test))
        return [batch for batch in (*ordered[:1], quick, slow) if batch]


def _take_notes(
    copy: Path, directory: Path, code: Sequence[str], tests: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Run tests unchanged; the notes of each file of tests."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    (directory / "files.json").write_text(json.dumps([str(copy / file) for file in code]))
    child = "import bench.mutant_runs as m\nm.trace_child()\n"
    (directory / "sitecustomize.py").write_text(child)
    environment = os.environ | {
        "PYTHONPATH": f"{directory}:{copy}",
        "COSIM_PURE": "1",
        SURVEY_VARIABLE: str(directory),
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, *tests],
        cwd=copy, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        preexec_fn=end_with_parent,
    )  # fmt: skip
    output = done.stdout + done.stderr
    (directory / "output.txt").write_text(output, encoding="utf-8")
    if not (directory / "run.json").exists():
        raise RuntimeError(f"without any change:\n{output}")
    run = json.loads((directory / "run.json").read_text())
    lines: dict[str, list[tuple[str, str, int]]] = {file: [] for file in tests}
    for text in (directory / "lines.txt").read_text(encoding="utf-8").splitlines():
        context, file, line = text.rsplit("\t", 2)
        if context:
            place = (context, file.removeprefix(f"{copy}/"), int(line))
            lines[context.partition("::")[0]].append(place)

    def of(file: str, names: Iterable[str]) -> list[str]:
        return [name for name in names if name.partition("::")[0] == file]

    return {
        file: {
            "seconds": {test: run["seconds"][test] for test in of(file, run["seconds"])},
            "slow": of(file, run["slow"]),
            "bad": of(file, run["bad"]),
            "libraries": run["libraries"],
            "lines": sorted(set(lines[file])),
        }
        for file in tests
    }


def _reach_of(source: bytes, line: int) -> tuple[int, int, bool]:
    """First and last line of the statement of a line, and whether more tests may depend on it."""
    first, last, inside, keeps = line, line, False, False
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inside = inside or node.body[0].lineno <= line
                keeps = keeps or any("cache" in ast.unparse(d) for d in node.decorator_list)
            below = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
            end = below[0].lineno - 1 if below else node.end_lineno or line
            if node.lineno <= line <= end:
                first, last = node.lineno, end
    return first, last, keeps or not inside


#: Of each run of pytest.
OPTIONS: Final = (
    "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider", "-p", "bench.mutant_runs",
)  # fmt: skip


class Server:
    """A process in a copy of the checkout that has imported libraries, and forks for each run.

    :param copy: the copy; a mutant is put into it for a run
    :param libraries: names of modules; those that cannot be imported alone are left out
    """

    def __init__(self, copy: Path, libraries: Iterable[str]) -> None:
        self._copy = copy
        self._output = copy.with_name(f"{copy.name}.out")
        self._limits = copy.with_name(f"{copy.name}.json")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.mutant_runs", json.dumps(sorted(set(libraries)))],
            cwd=copy,
            env=os.environ
            | {"PYTHONPATH": str(copy), "COSIM_PURE": "1", "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=end_with_parent,
        )

    def run(self, limits: dict[str, float], variables: dict[str, str]) -> tuple[int, str, str]:
        """Run tests until the first that fails: exit code, which failed or hangs, and output.

        :param limits: for each test, how long it may take [s]
        """
        failed = self._limits.with_suffix(".failed")
        failed.unlink(missing_ok=True)
        self._limits.write_text(json.dumps(limits))
        arguments = self._limits.with_suffix(".txt")
        arguments.write_text("\n".join(limits), encoding="utf-8")
        request = {
            "arguments": [*OPTIONS, "-x", f"@{arguments}"],
            "variables": {LIMITS_VARIABLE: str(self._limits), **variables},
            "output": str(self._output),
            "limit": 120.0 + sum(limits.values()),
        }
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        output = self._output.read_text(encoding="utf-8", errors="replace")
        test, hangs = json.loads(failed.read_text()) if failed.exists() else ("", code == HANGS)
        return code, f"{test} hangs" if hangs else test, output

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def _serve(requests: IO[str], answers: IO[str], libraries: Iterable[str]) -> None:
    _adopt_orphans()
    signal.signal(signal.SIGTERM, _leave)
    for name in libraries:
        try:
            import_module(name)
        except Exception:
            continue
    for line in requests:
        request = json.loads(line)
        try:
            child = os.fork()
            if child == 0:
                _run_forked(request)
            code = _end_of(child, request["limit"])
        finally:
            _end_children()
        answers.write(f"{code}\n")
        answers.flush()


def _run_forked(request: dict[str, Any]) -> None:
    code = 3
    try:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        out = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for target, source in ((0, nothing), (1, out), (2, out)):
            os.dup2(source, target)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")
        os.environ.update(request["variables"])
        code = int(pytest.main(request["arguments"]))
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _end_of(child: int, limit: float) -> int:
    """Exit code of a forked run."""
    end = time.monotonic() + limit
    code = HANGS
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            # A signal that ended the run is not a hang.
            code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 3
            break
        time.sleep(0.01)
    return code


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    """SIGTERM ends this process, and on the way the run that it waits for."""
    raise SystemExit(128 + number)


def _end_children() -> None:
    """End whatever a run has left."""
    while left := _children():
        for process in left:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def _children() -> list[int]:
    text = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
    return [int(process) for process in text.split()]


def _adopt_orphans() -> None:
    """Make what a run leaves a child of this process (prctl, PR_SET_CHILD_SUBREAPER)."""
    if ctypes.CDLL(None, use_errno=True).prctl(36, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    _serve(sys.stdin, sys.stdout, json.loads(sys.argv[1]))
