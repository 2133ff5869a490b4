# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The modules of pages as one script."""

from __future__ import annotations

import re

from ros2_cosim.core.record.page_files import PAGE, SCRIPTS, as_one_script, page_file
from ros2_cosim.lab.report.page import page_template, shared_files, with_shared_files
from ros2_cosim.world.pictures.road_shapes import PICTURES, SCENE_SCRIPTS

_NAMED = re.compile(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", re.MULTILINE)
_TAKEN = re.compile(r'^import \{(.+?)\} from "\./(.+?)";', re.MULTILINE | re.DOTALL)


def test_imports_and_exports_are_gone_and_nothing_else() -> None:
    modules = [b"export const a = 1;\n", b'import {\n  a,\n} from "./a.js";\nexport class B {}\n']
    assert as_one_script(modules) == ('(() => {\n"use strict";\nconst a = 1;\nclass B {}\n})();\n')


def test_each_module_comes_after_those_that_it_imports_and_no_name_is_there_twice() -> None:
    names: list[str] = []
    before: dict[str, set[str]] = {}
    for room, scripts in ((PAGE, SCRIPTS), (PICTURES, SCENE_SCRIPTS)):
        for script in scripts:
            text = page_file(script, room).decode()
            for taken, module in _TAKEN.findall(text):
                wanted = {name.strip() for name in taken.split(",") if name.strip()}
                assert wanted <= before[module], (script, module)
            before[script] = set(_NAMED.findall(text))
            names += before[script]
    assert sorted(names) == sorted(set(names))


def test_pages_beside_each_other_share_style_and_script() -> None:
    page = page_template("side_by_side.html").render(
        labels=["a", "b"], scenarios=[], verdicts=[], figures=[], settings=[], overlaid=[],
        rows=[], played="",
    ).encode()  # fmt: skip
    lean = with_shared_files(page, "../")
    assert b'href="../page.css"' in lean and b'src="../page.js"' in lean
    shared = shared_files()
    assert len(lean) < len(page) - sum(map(len, shared.values())) + 200
    assert b":root" not in lean and len(shared["page.js"]) < 200_000
