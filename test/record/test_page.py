# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Templates of pages: nothing is left out silently, no text becomes markup."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import Environment, UndefinedError

from ros2_cosim.lab.report.page import page_template

TEMPLATE = """\
{% if shown %}
  {% if shown %}
<b>{{ name }}</b> {{ name | breakable }} {{ 1234.5678 | figure }}
  {% endif %}
{% endif %}
end
"""


def test_a_template_escapes_texts_and_needs_all_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toy_pages" / "templates").mkdir(parents=True)
    (tmp_path / "toy_pages" / "__init__.py").write_text("")
    (tmp_path / "toy_pages" / "templates" / "toy.html").write_text(TEMPLATE)
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        page = page_template("toy.html", "toy_pages")
        # Lines of statements leave nothing behind, not even their indentation.
        assert page.render(shown=True, name="a/<b>_c").splitlines() == [
            "<b>a/&lt;b&gt;_c</b> a/<wbr>&lt;b&gt;_<wbr>c 1235",
            "end",
        ]
        assert page.render(shown=False) == "end"
        with pytest.raises(UndefinedError, match="'name' is undefined"):
            page.render(shown=True)
        # Style and charts are there for every room.
        assert page_template("charts.html", "toy_pages").name == "charts.html"
    finally:
        sys.modules.pop("toy_pages", None)


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the templates that were compiled; what is kept is in ``tmp_path / "kept"``."""
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    names: list[str] = []
    usual = Environment._compile

    def noted(self: Environment, source: str, filename: str) -> object:
        names.append(Path(filename).name)
        return usual(self, source, filename)

    monkeypatch.setattr(Environment, "_compile", noted)
    yield names


def test_a_template_is_compiled_once(compiled: list[str], tmp_path: Path) -> None:
    page_template("report.html")
    assert "report.html" in compiled
    compiled.clear()
    page_template("report.html")
    assert compiled == []
    (kept,) = (tmp_path / "kept").rglob("report.*.pyc")
    whole = kept.read_bytes()
    head, _, code = whole.partition(b"\n\n")
    for other in (b"", head, whole[:-100], b"3.9 " + head + b"\n\n" + code, head + b"\n\n\xff"):
        kept.write_bytes(other)
        page_template("report.html")
        assert compiled == ["report.html"], other[:80]
        assert kept.read_bytes() == whole
        compiled.clear()


def test_a_template_is_compiled_where_nothing_can_be_kept(
    compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept").write_text("a file")
    page_template("report.html")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "kept").unlink()
    page_template("report.html")
    assert compiled.count("report.html") == 2
    assert not (tmp_path / "kept").exists()
