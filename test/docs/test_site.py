# SPDX-License-Identifier: Apache-2.0
"""The site of the documentation is built without a warning, and its search knows each page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from buildtools.build_site import (
    NOT_SEARCHED,
    OTHER_PAGES,
    api_pages,
    build,
    place_of,
    with_links_of_the_site,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(340)
def test_the_site_has_no_warning_and_its_search_finds_each_page(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sphinx", reason="needs the extra docs")
    site = tmp_path / "site"
    status = build(tmp_path / "source", site)
    said = capfd.readouterr()
    assert (status, said.out + said.err) == (0, "")
    pages = [*sorted((ROOT / "docs").rglob("*.md")), *map(ROOT.joinpath, OTHER_PAGES)]
    titles = {
        place_of(page.relative_to(ROOT).as_posix()).removesuffix(".md"): title_of(page)
        for page in pages
    }
    titles |= {path.removesuffix(".md"): text.split("\n")[0][2:] for path, text in api_pages()}
    titles[place_of(NOT_SEARCHED).removesuffix(".md")] = ""
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    found = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))
    assert dict(zip(found["docnames"], found["titles"], strict=True)) == titles
    for name in titles:
        text = (site / f"{name}.html").read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|link|img)\b[^>]*(?:src|href)="(https?://[^"]+)', text)
        assert loaded == [], f"{name} needs the network"


def title_of(page: Path) -> str:
    """The heading of a page, as plain text."""
    found = re.search(r"^# (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert found, page
    return found[1].replace("`", "")


def test_links_lead_to_the_places_of_the_site() -> None:
    used: set[str] = set()
    text = (
        "[a](../CONTRIBUTING.md#tests) [b](clock.md) [c](#here) [d](https://a.invalid/b.md)\n"
        "[e](../test/x.py) `[f](../README.md)`\n```text\n[g](../README.md)\n```\n"
    )
    assert with_links_of_the_site(text, "docs/a.md", used) == (
        text.replace("../CONTRIBUTING", "contributing").replace("../test", "repository/test")
    )
    assert used == {"CONTRIBUTING.md", "docs/clock.md", "test/x.py"}
    text = "[a](docs/how-to/b.md) [c](docs/images/d.png) [e](CHANGELOG.md)"
    assert with_links_of_the_site(text, "CONTRIBUTING.md", used) == (
        "[a](how-to/b.md) [c](images/d.png) [e](changelog.md)"
    )
    text = "[a](../clock.md#x) [b](../../CONTRIBUTING.md)"
    assert with_links_of_the_site(text, "docs/how-to/b.md", used) == (
        "[a](../clock.md#x) [b](../contributing.md)"
    )


def test_the_reference_of_python_has_what_is_public() -> None:
    pages = dict(api_pages())
    assert ":members: ModelContext, Step\n" in pages["api/ros2_cosim.core.kernel.participant.md"]
    assert "\nros2_cosim.world.vehicle\n" in pages["api/index.md"]
