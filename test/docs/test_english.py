# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What people read is plain English: subject, verb, object, and the common word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]


class Mark(NamedTuple):
    """A mark of stiff English: what to write instead, two texts with it and two without."""

    pattern: str
    instead: str
    wrong: tuple[str, str]
    right: tuple[str, str]


_SENTENCE = r"(?:^|(?<=[.] ))"
_END = r"(?=[.,;:)]|$)"
_IS = r"(?:is|are|was|were|be|been)"

MARKS = {
    "person": Mark(
        r"\b(?:[Ww]h?o(?<=[Ww]ho)(?:m|ever)?|(?:[Ss]ome|[Nn]o|[Ee]very|[Aa]ny)(?:body|one)"
        r"|[Hh]e|[Hh]im|[Hh]is|[Ss]he|[Hh]er)\b(?!@)",
        "participants, processes and nodes are things: name the thing, or write 'it'",
        ("Whoever waits is woken.", "A node that nobody reads."),
        ("A node that waits is woken.", "Write to <nobody@example.invalid>."),
    ),
    "told": Mark(
        rf"\b{_IS} told\b(?! apart| from)",
        "'X reports', 'X receives', 'X prints'",
        ("The slave is told to stop.", "A gain is told where it is small."),
        ("The master stops the slave.", "Two curves can be told apart."),
    ),
    "tells of": Mark(
        r"\b[Tt]ells? (?:of|its|it(?! which| what| how| when| where| whether| to))\b",
        "'X reports', 'X publishes', 'X prints'",
        ("The bag tells of the driving.", "The slave tells its state."),
        ("The slave reports its state.", "It tells which topics it reads."),
    ),
    "said of": Mark(
        rf"\b{_IS} said (?:of|so|by)\b|\bsays? nothing (?:of|but|here)\b",
        "'the description of X', 'X does not report Y'",
        ("What is said of a parameter.", "A list that says nothing of the objects."),
        ("The description of a parameter.", "It says nothing about the objects."),
    ),
    "knows nothing of": Mark(
        r"\bknows? (?:nothing of|no)\b|\bdoes not know,? it refuses\b",
        "'X does not depend on Y', 'X has no Y'",
        ("A program that knows nothing of ROS.", "The parser knows no bounds."),
        ("A program that does not use ROS.", "The parser has no bounds."),
    ),
    "of its own": Mark(
        r"\b(?:an?|the|in|on|with|by|under|after|has|have|are|is|as|need) (?!no )(?:\w+ ){1,2}"
        r"of (?:its|their) own(?=[.,;:)]|$| (?:and|or|that|which|is|in|for|to)\b)",
        "'its own X', 'a separate X'",
        ("It runs in a thread of its own.", "They have handlers of their own."),
        ("It has no thread of its own.", "It connects to slaves of its own user."),
    ),
    "of yours": Mark(
        r"\bof (?:mine|yours|ours|hers|theirs)\b",
        "'your own X', 'X of this project'",
        ("Feed a node of yours.", "A lock of ours."),
        ("Feed your own node.", "A lock of this project."),
    ),
    "is no": Mark(
        r"\b(?<![Tt]here )(?<!\band )(?:is|are|was|were) no"
        r" (?!longer|more|other|higher|farther|blank)\w+",
        "'is not a X'",
        ("A file that is no archive.", "Bytes that are no PDU."),
        ("A file that is not an archive.", "There is no file."),
    ),
    "is none": Mark(
        r"\b(?:it|that|which|they|one|name|what|value|bytes) (?:is|are|was|were) none\b",
        "'is not a X', 'is not valid'",
        ("found x, which is none", "Bytes that are none are dropped."),
        ("found x, which is not a path", "None: there is none."),
    ),
    "allowed is that": Mark(
        r"\b[Aa]llowed (?:(?:without|for) it )?is (?:it|that) (?:only|on|with|once|before)\b"
        r"|\bnot allowed (?:is|are)\b|\bleaves? no use\b",
        "'this is allowed only with X', 'X is not allowed'",
        ("allowed is that on sparse ports", "not allowed are names of nodes"),
        ("this is allowed only on sparse ports", "allowed is a number above 0"),
    ),
    "see whether": Mark(
        _SENTENCE + r"See (?:whether|that|to it)\b",
        "'Check whether', 'Check that', 'Make sure that'",
        ("See whether it fits.", "See that it closes."),
        ("Check whether it fits.", "See the glossary."),
    ),
    "what is X is Y": Mark(
        r"What(?:(?<=^What)|(?<=[.;:] What)) (?:is|was|has been|came|comes|arrives|breaks|follows)"
        r" (?:(?!\b(?:before|that|which|where|when|if|as|until|while|after)\b)[^.?;:,\n]){2,50}?"
        r" (?:is|are|goes|stays|leaves|has|counts)\b",
        "the subject first: 'it estimates late data', 'late data are estimated'",
        ("What is late is estimated.", "It ends. What was sent leaves at once."),
        ("It estimates late data.", "What is in it."),
    ),
    "nothing is": Mark(
        r"[;:,] (?:and |but )?nothing (?:is|was) \w+",
        "what the subject does not do: 'without starting a slave', 'it sends no data'",
        ("Find a model; nothing is made.", "Any port will do: nothing is sent."),
        ("Find a model without making it.", "Any port will do: it carries no data."),
    ),
    "one that": Mark(
        r"(?:^|(?<=[.;] ))[Oo]ne that\b",
        "the thing: 'a reader that'",
        ("A node stops; one that leaves ends.", "One that is idle waits."),
        ("A node stops; a node that leaves ends.", "It is the one that is idle."),
    ),
    "nor is": Mark(
        r"\b[Nn]or (?:is|are|do|does|has|have|can|was|were)\b",
        "'and X is not Y either'",
        ("It is not read, nor is it kept.", "Nor does it wait."),
        ("It is neither read nor kept.", "It does not wait either."),
    ),
    "left out are": Mark(
        _SENTENCE + r"(?:Left out|Passed over|Needed|Allowed|Checked|Missing|Given|Meant|Kept"
        r"|Printed|Not \w+ed) (?:is|are)\b",
        "the subject first: 'X is left out', 'it leaves out X'",
        ("Left out are machines.", "It runs. Needed is a braking."),
        ("It leaves out machines.", "It runs. Needed files are there."),
    ),
    "should it": Mark(
        r"\b(?:(?:Should|(?<=[;,] )should) (?:the|it|a|they)|(?:[Ww]ere|[Hh]ad) it (?:been|not))\b",
        "'if'",
        ("Should a contact be late, it waits.", "As if closed, had it been full."),
        ("If a contact is late, it waits.", "Its name should be a word."),
    ),
    "thereby": Mark(
        r"\b(?:[Tt]here|[Hh]ere|[Ww]here)(?:in|of|upon|by|at|with)\b|\b(?:[Uu]pon|withal|lest"
        r"|albeit|whilst|[Tt]hus|[Hh]ence|shall)\b",
        "'in it', 'so', 'must', 'while'",
        ("The file and the names therein.", "The job shall end."),
        ("The file and its names.", "The job must end."),
    ),
    "but for": Mark(
        r"\bbut for\b|\bin the place of\b|\bsave that\b",
        "'except for', 'instead of'",
        ("Equal but for rounding.", "It runs in the place of the model."),
        ("Equal except for rounding.", "It runs instead of the model."),
    ),
    "by turns": Mark(
        r"\bto be had\b|\bby turns\b|\bin vain\b|\bso as to\b|\bin so many words\b",
        "'available', 'alternately', 'without an answer', 'to'",
        ("No port is to be had.", "Both run by turns."),
        ("No port is free.", "Both run alternately."),
    ),
    "stays as it is": Mark(
        r"\b(?:leave|leaves|left|stay|stays|keep|keeps|kept|take|takes|passed on|sent)"
        rf"(?: \w+){{0,2}} as (?:it|they) (?:is|are|was|were){_END}",
        "'unchanged', 'does not change X'",
        ("The model stays as it is.", "None leaves a thing as it is."),
        ("The model does not change.", "It is kept as long as it is needed."),
    ),
    "so often": Mark(
        r"\b[Ss]o (?:often|much (?:later|earlier|simulated|wall|of))(?= ?[.,;:\[]|$| time\b)",
        "the figure: 'the interval of X'",
        ("Its world is looked at so often [s].", "so much simulated time passes"),
        ("Interval of looks at its world [s].", "It waits so often that it is slow."),
    ),
    "without": Mark(
        r"\b(?:(?<=[;,] )without[,:;]|one without:|(?<=[;:,] )without it:)",
        "'otherwise', 'by default'",
        ("With a file; without, it is empty.", "an autonomous one without: at once"),
        ("With a file; otherwise it is empty.", "With V2V and without."),
    ),
    "no more": Mark(
        rf"\b(?:part|it|sensor|read|wait|waits|runs|sends|asks) (?:no|not any) more{_END}",
        "'no longer', 'stops'",
        ("Publish a sensor no more.", "It waits no more."),
        ("Stop publishing a sensor.", "It holds three and no more."),
    ),
    "what there is": Mark(
        r"\b[Ww]hat there is\b(?! to see| to measure)",
        "the thing: 'the waiting messages', 'remarks'",
        ("Readers get what there is.", "What there is to say about it."),
        ("Readers get the waiting messages.", "Remarks about it."),
    ),
    "asked for": Mark(
        rf"\b{_IS} asked (?:for|of)\b",
        "'requested', 'required of X'",
        ("Do what was asked for.", "The run that is asked for."),
        ("Do what was requested.", "The user is asked to confirm."),
    ),
}

#: Where a kind of file has prose: in comments (lines that follow each other are one), and in
#: strings (adjacent ones are one).
_PYTHON = re.compile(
    r"(?:#:? .*(?:\n[ \t]*(?=#:? ))?)+"
    r'|"""(?:[^\\"]|\\[\s\S]|"(?!""))*"""'
    r'|(?:[frb]*"(?:[^"\\\n]|\\.)*"(?:\s+(?=[frb]*"(?!"")))?)+'
    r"|'(?:[^'\\\n]|\\.)*'"
)
_YAML = re.compile(r"(?:# .*(?:\n[ \t]*(?=# ))?)+")
_WEB = re.compile(
    r'(?:// .*\n?[ \t]*)+|/\*[\s\S]*?\*/|<!--[\s\S]*?-->|"(?:[^"\\\n]|\\.)*"|`[^`]*`'
    r"|(?<=>)[^<>{}]+(?=<)"
)
_PAGE = re.compile(r"[\s\S]+")
PLACES = {
    "*.py": (_PYTHON, ("ros2_cosim", "bench", "buildtools", "launch")),
    "*.js": (_WEB, ("ros2_cosim",)),
    "*.html": (_WEB, ("ros2_cosim",)),
    "*.yaml": (_YAML, ("config",)),
    "*.md": (_PAGE, ("docs", "bench")),
}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]

#: Code in prose: blocks, spans, targets of links, fields of docstrings, placeholders of strings.
_CODE = re.compile(
    r"^( *)```[\s\S]*?^\1``` *$|``[\s\S]+?``|`[^`]+`|\]\([^)\s]*\)|https?://\S+"
    r"|^ *:\w+(?: [\w, .\[\]|]+)?:|\{[^{}]*\}",
    re.MULTILINE,
)
_SIGNS = re.compile(r'^[ \t]*(?:#:?|//)|"\s*[frb]*"(?!")', re.MULTILINE)
_PARAGRAPH = re.compile(r"\S(?:.|\n(?!\s*\n|\s*:\w|\s*[-*#|>]\s|\s*\d+\. |\s*`\n))*")
_COMPILED = {name: re.compile(mark.pattern, re.MULTILINE) for name, mark in MARKS.items()}


def marks_in(prose: str) -> Iterator[tuple[str, re.Match[str]]]:
    for name, pattern in _COMPILED.items():
        for match in pattern.finditer(prose):
            yield name, match


def prose_of(text: str, kind: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """The paragraphs of a file, each in one line without its code, and where they begin."""
    done, line = 0, 1
    for part in kind.finditer(text):
        line += text.count("\n", done, part.start())
        done = part.start()
        if " " not in part[0]:
            continue
        prose = _CODE.sub(lambda code: "`" + "\n" * code[0].count("\n"), part[0].strip('"'))
        prose = prose if kind is _PAGE else _SIGNS.sub("", prose)
        for each in _PARAGRAPH.finditer(prose):
            yield line + prose.count("\n", 0, each.start()), " ".join(each[0].split())


def stiff_in(text: str, kind: re.Pattern[str]) -> list[tuple[int, str]]:
    """Lines of a file with what is stiff in their paragraph, and what to write instead."""
    paragraphs = list(prose_of(text, kind))
    prose = "\n".join(paragraph for _, paragraph in paragraphs)
    return sorted(
        (
            paragraphs[prose.count("\n", 0, match.start())][0],
            f"...{prose[max(0, match.start() - 30) : match.end() + 30]}...".replace("\n", " ")
            + f" has '{match[0]}'; write {MARKS[name].instead}",
        )
        for name, match in marks_in(prose)
    )


@pytest.mark.parametrize("names", PLACES)
def test_prose_is_plain(names: str) -> None:
    kind, places = PLACES[names]
    files = [path for place in places for path in sorted((ROOT / place).rglob(names))]
    stiff = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path in files + (PAGES if kind is _PAGE else [])
        for line, what in stiff_in(path.read_text(encoding="utf-8"), kind)
    ]
    assert not stiff, f"{len(stiff)} stiff passages:\n" + "\n".join(stiff)


@pytest.mark.parametrize("name", MARKS)
def test_each_mark_is_found_and_nothing_else(name: str) -> None:
    mark = MARKS[name]
    assert [name in dict(marks_in(text)) for text in mark.wrong] == [True, True]
    assert [dict(marks_in(text)) for text in mark.right] == [{}, {}]


@pytest.mark.parametrize(
    ("kind", "text", "lines"),
    [
        (_PAGE, "`is told` so.\n\n```sh\nis told\n```\n\nOr [so](is_told.md) it\nis told.\n", [7]),
        (_PAGE, "| `is told` | it | is told |\n|---|---|---|\n| is told | `x` | y |\n", [1, 3]),
        (_PYTHON, 'def is_told():\n    """It is\n    told, ``is told`` so.\n    """\n', [2]),
        (
            _PYTHON,
            "x = 1  # so it is\n# told\n\n#: It is told\nis_told = f(' is told')\n",
            [1, 4, 5],
        ),
        (_PYTHON, 'f(\n    f"{is_told()} is "\n    "told",\n    "it is", "told",\n)\n', [2]),
        (_YAML, "# It is\n# told.\nis: told  # is told\n", [1, 3]),
        (_WEB, "<p>It is told</p>\n<script>\n// is told\nf(is, told)</script>", [1, 3]),
    ],
)
def test_prose_is_told_from_code(kind: re.Pattern[str], text: str, lines: list[int]) -> None:
    assert [line for line, _ in stiff_in(text, kind)] == lines
