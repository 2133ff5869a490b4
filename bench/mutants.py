# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Mutants: whether the tests of a room notice a changed line of its code.

Each mutant is one small change of one expression or statement. A sample of them, drawn by a seed,
is put one at a time into a copy of the checkout, where those tests of the mutant's own room run
that run the changed line (:mod:`bench.mutant_runs`): first those that are quick, then the others. A
mutant is killed if a test fails or does not return, and alive if all pass. Mutants that change
nothing that can be observed count as alive, too.

    make mutants MUTANTS=500 SEED=20260901
    python -m bench.mutants --rooms kernel vds --mutants 40 --out out/mutants

Results are added to ``results.jsonl`` in the output directory; a call with the same sample goes on
where the last one stopped. The sample holds at least ``--least`` mutants of each room; the others
come from all rooms alike.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from bench.mutant_runs import MODULE_VARIABLE, NOT_TRIED, Server, Survey

ROOT = Path(__file__).resolve().parent.parent
#: A test that hangs, or fails and takes longer, is run once more without the change, and has to
#: pass [s].
_CERTAIN_S: Final = 0.3


@dataclass(frozen=True)
class Room:
    """Code, and the tests that have to notice its changes; paths and patterns from the root."""

    code: tuple[str, ...]
    tests: tuple[str, ...]


ROOMS: Final = {
    "kernel": Room(("ros2_cosim/core/kernel/*.py",), ("test/kernel",)),
    "dcp": Room(("ros2_cosim/dcp/**/*.py",), ("test/dcp",)),
    "realtime": Room(("ros2_cosim/core/realtime/*.py",), ("test/realtime",)),
    "record": Room(
        ("ros2_cosim/core/record/*.py", "ros2_cosim/lab/report/*.py"), ("test/record",)
    ),
    "faults": Room(("ros2_cosim/core/faults/*.py",), ("test/faults",)),
    "measure": Room(
        ("ros2_cosim/driving/referee.py", "ros2_cosim/world/map/encounter*.py"),
        ("test/models/test_referee.py", "test/models/test_encounter*.py"),
    ),
    "ros": Room(
        tuple(
            f"ros2_cosim/ros/node/{name}.py"
            for name in ("blocking", "courses", "expected_readers", "inputs", "lane",
                         "lane_interface", "progress", "receipts", "short_forms", "writers")
        ) + ("ros2_cosim/ros/foreign/*.py",),
        ("test/ros",),
    ),
    "vds": Room(("ros2_cosim/vds/**/*.py",), ("test/vds",)),
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of one place; line and column as an editor counts them."""

    room: str
    file: str
    line: int
    column: int
    operator: str
    before: str
    after: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """What it is called in results and lists."""
        return (
            f"{self.file}:{self.line}:{self.column} {self.operator}: {self.before} -> {self.after}"
        )

    def applied(self, source: bytes) -> bytes:
        """The file's bytes with the change."""
        return source[: self.start] + self.after.encode() + source[self.end :]


_COMPARISONS: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_EXTREMES: Final = {"min": "max", "max": "min"}


def changes_of(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The changes of one expression or statement: operator, and the text in its place."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            for other in _COMPARISONS[type(op)]:
                yield "comparison", _text(ast.Compare(left, [other()], [right]))
        case ast.Compare(left=left, ops=[first, *rest], comparators=operands):
            for other in _COMPARISONS[type(first)]:
                yield "comparison", _text(ast.Compare(left, [other(), *rest], operands))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            if not (_is_text(left) or _is_text(right)):
                yield "arithmetic", _text(ast.BinOp(left, _ARITHMETIC[type(op)](), right))
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in _ARITHMETIC:
            if not _is_text(value):
                other_assignment = ast.AugAssign(target, _ARITHMETIC[type(op)](), value)
                yield "arithmetic", ast.unparse(other_assignment)
        case ast.BoolOp(op=op, values=values):
            other_op: ast.boolop = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "and-or", _text(ast.BoolOp(other_op, values))
            for index in range(len(values)):
                kept = values[:index] + values[index + 1 :]
                left_over = kept[0] if len(kept) == 1 else ast.BoolOp(op, kept)
                yield "condition dropped", _text(left_over)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield "sign dropped", _text(operand)
        case ast.Constant(value=bool(value)):
            yield "constant", str(not value)
        case ast.Constant(value=int(value)):
            yield "constant", str(value + 1)
        case ast.Constant(value=float(value)):
            yield "constant", repr(value / 1.5 if value else 1.0)
        case ast.If(test=test, orelse=[]):
            del test
            yield "branch dropped", "False"
        case ast.Call(func=ast.Name(id=name) as func) if name in _EXTREMES:
            other_call = ast.Call(ast.Name(_EXTREMES[name]), node.args, node.keywords)
            del func
            yield "extreme", _text(other_call)
        case ast.Return(value=ast.expr() as value):
            if not isinstance(value, ast.Constant):
                yield "result dropped", "return None"
        case ast.Expr(value=ast.Call() | ast.Await()):
            yield "call dropped", "pass"
        case ast.Raise():
            yield "error dropped", "pass"
        case ast.Continue():
            yield "loop", "break"
        case ast.Break():
            yield "loop", "continue"


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    )


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """A node and those below it whose change a test could see: no annotations, texts, asserts."""
    match node:
        case ast.JoinedStr() | ast.Assert() | ast.Import() | ast.ImportFrom():
            return
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            below: list[ast.AST] = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            below += node.body
        case ast.AnnAssign():
            below = [node.value] if node.value is not None else []
        case ast.ClassDef():
            below = list(node.body)
        case ast.Subscript(value=ast.Name(id="Annotated" | "Literal" | "Callable" | "Final")):
            return
        case _:
            below = list(ast.iter_child_nodes(node))
    yield node
    for child in below:
        yield from _parts(child)


def mutants_of(room: str, file: str, source: bytes) -> Iterator[Mutant]:
    """All changes of a file, in the order of the places."""
    lengths = [0]
    for line in source.splitlines(keepends=True):
        lengths.append(lengths[-1] + len(line))
    found = []
    for node in _parts(ast.parse(source)):
        for operator, after in changes_of(node):
            place = node.test if isinstance(node, ast.If) else node
            assert isinstance(place, (ast.expr, ast.stmt))
            assert place.end_lineno is not None and place.end_col_offset is not None
            start = lengths[place.lineno - 1] + place.col_offset
            end = lengths[place.end_lineno - 1] + place.end_col_offset
            before = " ".join(source[start:end].decode().split())
            column = place.col_offset + 1
            found.append(
                Mutant(room, file, place.lineno, column, operator, before, after, start, end)
            )
    yield from sorted(found, key=lambda m: (m.start, m.end, m.operator, m.after))


def all_mutants(room: str, root: Path = ROOT) -> list[Mutant]:
    """All changes of the code of a room, in the order of files and places."""
    files = sorted({path for pattern in ROOMS[room].code for path in root.glob(pattern)})
    return [
        mutant
        for path in files
        for mutant in mutants_of(room, path.relative_to(root).as_posix(), path.read_bytes())
    ]


def sample(by_room: dict[str, list[Mutant]], count: int, least: int, seed: str) -> list[Mutant]:
    """Draw mutants: at least so many of each room as asked for, the others from all that are left.

    :raises ValueError: the rooms together ask for more than ``count``
    """
    if least * len(by_room) > count:
        raise ValueError(f"--mutants: found {count}; allowed: at least {least * len(by_room)}")
    draw = random.Random(seed)
    chosen: list[Mutant] = []
    rest: list[Mutant] = []
    for _, mutants in sorted(by_room.items()):
        shuffled = draw.sample(mutants, len(mutants))
        chosen += shuffled[:least]
        rest += shuffled[least:]
    return chosen + draw.sample(rest, min(count - len(chosen), len(rest)))


def make_copy(place: Path) -> None:
    """Copy the checkout's files, as they are in the working tree; share its environment."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    (place / ".venv").symlink_to(ROOT / ".venv")


@dataclass(frozen=True)
class Outcome:
    """What the tests said of one mutant."""

    name: str
    room: str
    killed: bool
    how: str
    seconds: float


class Workplace:
    """One copy of the checkout, with one mutant at a time in it."""

    def __init__(self, place: Path, surveys: dict[str, Survey]) -> None:
        self._place = place
        self._surveys = surveys
        make_copy(place)
        libraries = {name for survey in surveys.values() for name in survey.libraries}
        self._server = Server(place, libraries)

    def try_out(self, mutant: Mutant) -> Outcome:
        """Run the tests of its room that run its line, with a mutant in place."""
        path = self._place / mutant.file
        source = path.read_bytes()
        times = path.stat()
        survey = self._surveys[mutant.room]
        module = mutant.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        begun = time.monotonic()
        how = ""
        for batch in survey.batches(mutant.file, source, mutant.line):
            left = batch
            while left and not how:
                path.write_bytes(mutant.applied(source))
                try:
                    how = self._run(survey, left, {MODULE_VARIABLE: f"{module}={path}"})
                finally:
                    path.write_bytes(source)
                    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
                test = how.removesuffix(" hangs")
                seconds = survey.seconds.get(test, 0.0)
                doubtful = seconds > _CERTAIN_S or (test in left and test != how)
                if doubtful and self._run(survey, [test], {}):
                    # It fails without the change, too, so it says nothing.
                    left = left[left.index(test) + 1 :]
                    how = ""
                else:
                    break
            if how:
                break
        took = round(time.monotonic() - begun, 1)
        return Outcome(mutant.name, mutant.room, how != "", how, took)

    def _run(self, survey: Survey, tests: Sequence[str], variables: dict[str, str]) -> str:
        """Run tests: which failed, or nothing."""
        limits = {test: 10.0 + 10.0 * survey.seconds[test] for test in tests}
        code, failed, output = self._server.run(limits, variables)
        if code == NOT_TRIED:
            raise RuntimeError(output)
        if code == 0:
            return ""
        last = output.strip().rpartition("\n")[2]
        return failed or f"exit code {code}: {last[:200]}"

    def close(self) -> None:
        """End its process."""
        self._server.close()


def survey_of(place: Path, notes: Path, room: str) -> Survey:
    """Run a room's tests unchanged, or read the notes on an earlier run."""
    if not place.exists():
        make_copy(place)
    tests = {
        test
        for pattern in ROOMS[room].tests
        for found in place.glob(pattern)
        for test in (found.rglob("test_*.py") if found.is_dir() else (found,))
    }
    code = {path for pattern in ROOMS[room].code for path in place.glob(pattern)}
    return Survey(
        place,
        notes / room,
        [path.relative_to(place).as_posix() for path in sorted(code)],
        [path.relative_to(place).as_posix() for path in sorted(tests)],
    )


def table_of(outcomes: Sequence[Outcome]) -> str:
    """Killed of all, for each room, and how many of these by a time-out, as Markdown."""
    rows = ["| room | mutants | killed | time-outs | share |", "|---|---|---|---|---|"]
    for room in [*sorted({o.room for o in outcomes}), "all"]:
        those = [o for o in outcomes if room in (o.room, "all")]
        killed = sum(o.killed for o in those)
        late = sum(o.how.endswith("hangs") for o in those)
        rows.append(f"| {room} | {len(those)} | {killed} | {late} | {killed / len(those):.1%} |")
    return "\n".join(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 if at least ``--share`` of the mutants are killed, else 1."""
    parser = argparse.ArgumentParser(prog="bench.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=500, help="number of mutants (default: 500)")
    parser.add_argument("--least", type=int, default=20, help="of each package (default: 20)")
    seed_help = "of the sample, any text; HEAD: the hash of the last commit (default: 20260901)"
    parser.add_argument("--seed", default="20260901", help=seed_help)
    parser.add_argument("--rooms", nargs="+", choices=sorted(ROOMS), default=sorted(ROOMS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--share", type=float, default=0.95, help="(default: 0.95)")
    parser.add_argument("--list", action="store_true", help="print the sample, run nothing")
    parser.add_argument("--only", default="", help="those whose name has this text")
    parser.add_argument("--again", action="store_true", help="try the surviving mutants again")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "mutants")
    options = parser.parse_args(arguments)
    seed = options.seed
    if seed == "HEAD":
        seed = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.strip()
    by_room = {room: all_mutants(room) for room in options.rooms}
    try:
        chosen = sample(by_room, options.mutants, options.least, seed)
    except ValueError as error:
        parser.error(str(error))
    chosen = [mutant for mutant in chosen if options.only in mutant.name]
    if options.list:
        print(*(mutant.name for mutant in chosen), sep="\n")
        return 0
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    known = _known(out / "results.jsonl", chosen, again=options.again)
    waiting = [mutant for mutant in chosen if mutant.name not in known]
    place = out / "copies"
    shutil.rmtree(place, ignore_errors=True)
    surveys = {}
    for room in sorted({mutant.room for mutant in waiting}):
        surveys[room] = survey_of(place / "unchanged", out / "notes", room)
        for test in surveys[room].bad:
            print(f"{room}: fails without any change, so it is left out: {test}")
    _run_all(waiting, place, surveys, options.jobs, out / "results.jsonl", known)
    shutil.rmtree(place, ignore_errors=True)
    outcomes = [known[mutant.name] for mutant in chosen]
    for outcome in outcomes:
        if not outcome.killed:
            print(f"alive: {outcome.name}")
    text = table_of(outcomes)
    (out / "table.md").write_text(text + "\n", encoding="utf-8")
    print(f"seed {seed}, sample {digest_of(chosen)}\n{text}")
    return 0 if sum(o.killed for o in outcomes) >= options.share * len(outcomes) else 1


def digest_of(chosen: Sequence[Mutant]) -> str:
    """Names a sample: the first digits of the hash of its mutants' names."""
    return sha256("\n".join(mutant.name for mutant in chosen).encode()).hexdigest()[:12]


def _known(path: Path, chosen: Sequence[Mutant], *, again: bool) -> dict[str, Outcome]:
    """Outcomes of an earlier call, the newest of each mutant."""
    names = {mutant.name for mutant in chosen}
    known = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            outcome = Outcome(**json.loads(line))
            known[outcome.name] = outcome
    return {n: o for n, o in known.items() if n in names and (o.killed or not again)}


def _run_all(
    waiting: Sequence[Mutant],
    place: Path,
    surveys: dict[str, Survey],
    jobs: int,
    results: Path,
    known: dict[str, Outcome],
) -> None:
    """Try mutants out, several at a time; each outcome is written at once."""
    free: SimpleQueue[Workplace] = SimpleQueue()
    for number in range(min(jobs, len(waiting))):
        free.put(Workplace(place / str(number), surveys))
    lock = threading.Lock()

    def try_out(mutant: Mutant) -> None:
        workplace = free.get()
        try:
            outcome = workplace.try_out(mutant)
        finally:
            free.put(workplace)
        with lock, results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")
            known[outcome.name] = outcome
            word = "killed" if outcome.killed else "ALIVE"
            print(f"{len(known)}: {word} ({outcome.seconds} s) {outcome.name}", flush=True)

    with ThreadPoolExecutor(max(1, jobs)) as pool:
        for _ in pool.map(try_out, waiting):
            pass
    while not free.empty():
        free.get().close()


if __name__ == "__main__":
    sys.exit(main())
