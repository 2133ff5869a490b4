# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Count the net lines of the package: no blank ones, no comments, no docstrings; in any language.

``python buildtools/net_lines.py`` prints them for each wing and room, with what ``config``,
``buildtools`` and ``bench`` have: what moves there is not gone. Tables of data (JSON, YAML, schemas
of standards) are not counted. A test holds each wing to its budget.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pygments.lexers import get_lexer_for_filename
from pygments.token import Comment

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "ros2_cosim"
#: What has code as well.
BESIDE = ("config", "buildtools", "bench", "launch")
#: Languages by the suffixes of their files.
CODE = {
    ".py": "Python",
    ".js": "JavaScript",
    ".html": "HTML",
    ".css": "CSS",
    **dict.fromkeys((".c", ".h"), "C"),
    ".lua": "Lua",
    ".cpp": "C++",
    ".cmake": "CMake",
}
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def of_text(name: str, text: str) -> int:
    """The net lines of a file of this name with this content."""
    return _of_python(text) if name.endswith(".py") else _of_other(name, text)


def counted(root: Path = ROOT) -> dict[tuple[str, str], Counter[str]]:
    """(wing or folder, room) -> language -> net lines; the room is "" for files outside one."""
    lines: dict[tuple[str, str], Counter[str]] = {}
    for folder in (PACKAGE, *BESIDE):
        for path in _files(root / folder):
            place = path.relative_to(root / folder).parent.parts if folder == PACKAGE else ()
            wing, room = (*place[:2], "", "")[:2]
            key = (wing or folder, room)
            count = of_text(path.name, path.read_text(encoding="utf-8"))
            lines.setdefault(key, Counter())[CODE[path.suffix]] += count
    return lines


def of_wings(root: Path = ROOT) -> dict[str, int]:
    """Wing or folder -> its net lines in all languages."""
    totals: Counter[str] = Counter()
    for (wing, _), lines in counted(root).items():
        totals[wing] += lines.total()
    return dict(totals)


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in CODE and "__pycache__" not in path.parts:
            yield path


def _of_python(text: str) -> int:
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str())) as docstring, *_]:
                    lines -= set(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(lines)


def _of_other(name: str, text: str) -> int:
    lines: set[int] = set()
    number = 0
    for kind, value in get_lexer_for_filename(name, stripnl=False).get_tokens(text):
        for piece in value.split("\n"):
            if piece.strip() and (kind not in Comment or kind in Comment.Preproc):
                lines.add(number)
            number += 1
        number -= 1
    return len(lines)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="a checkout")
    lines = counted(parser.parse_args().root)
    totals: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    for (wing, _), counts in lines.items():
        totals[wing] += counts.total()
        if wing not in BESIDE:
            languages += counts
    for wing, total in totals.most_common():
        print(f"{total:7} {wing}")
        rooms = [(counts.total(), room) for (at, room), counts in lines.items() if at == wing]
        for count, room in sorted(rooms, reverse=True):
            if room:
                print(f"{count:15} {room}")
    print(f"{languages.total():7} in the package:", end=" ")
    print(", ".join(f"{language} {count}" for language, count in languages.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
