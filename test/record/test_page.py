# SPDX-License-Identifier: Apache-2.0
"""Templates of pages: nothing is left out silently, no text becomes markup."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jinja2 import UndefinedError

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
