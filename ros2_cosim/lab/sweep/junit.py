# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The results of sweeps as JUnit XML, which systems of continuous integration read.

Each scenario is a test suite, and each verdict of a run a test case of it. A run without verdicts
is one test case, and a failed run is one with an error. A figure that is worse than in the baseline
is a failure: of the verdict with its name, else of a separate test case. There are no times: the
same sweep gives the same file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.record.summary import Verdict, figure_text
from ros2_cosim.lab.sweep.baseline import Worse
from ros2_cosim.lab.sweep.store import SweepRun

#: Characters that XML 1.0 cannot hold.
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(path: Path, runs: Sequence[SweepRun], worse: Sequence[Worse]) -> None:
    """Write the file.

    :raises OSError: it cannot be written
    """
    root = ElementTree.Element("testsuites", name="cosim sweep")
    for scenario in dict.fromkeys(run.scenario for run in runs):
        suite = ElementTree.SubElement(root, "testsuite", name=_xml(scenario))
        for run in runs:
            if run.scenario == scenario:
                _add_run(suite, run, [each for each in worse if each.run_id == run.run_id])
        _count(suite)
    _count(root)
    ElementTree.indent(root)
    text: str = ElementTree.tostring(root, encoding="unicode")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')


def _add_run(suite: ElementTree.Element, run: SweepRun, worse: Sequence[Worse]) -> None:
    parameters = [f"{name}={value}" for name, value in run.parameters.items()]
    place = ", ".join([*parameters, f"seed={run.seed}"])

    def case(name: str) -> ElementTree.Element:
        return ElementTree.SubElement(
            suite, "testcase", classname=_xml(run.scenario), name=_xml(f"{name} [{place}]")
        )

    if not run.done:
        error = ElementTree.SubElement(case("run"), "error", type="error")
        error.set("message", _xml(f"run {run.run_id}: {run.error}"))
        return
    if not run.judged:
        case("run")
    changes = {each.name: each.change for each in worse}
    for verdict in run.judged:
        element, change = case(verdict.name), changes.pop(verdict.name, "")
        if not verdict.passed or change:
            said = "not met" if not verdict.passed else "worse"
            text = f"run {run.run_id}: {_found(verdict)}{f'; {change}' if change else ''}"
            ElementTree.SubElement(element, "failure", type=said, message=_xml(text))
    for name, change in changes.items():
        text = f"run {run.run_id}: {name}: {change}"
        ElementTree.SubElement(case(name), "failure", type="worse", message=_xml(text))


def _found(verdict: Verdict) -> str:
    of = f", {verdict.of}" if verdict.of else ""
    return f"{verdict.name}: {figure_text(verdict.value)}{of} (limit {verdict.limit})"


def _count(suite: ElementTree.Element) -> None:
    """Set the numbers that readers show."""
    for attribute, path in (
        ("tests", ".//testcase"),
        ("failures", ".//failure"),
        ("errors", ".//error"),
    ):
        suite.set(attribute, str(len(suite.findall(path))))


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
