# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The site of the documentation is built without a warning, and its search knows each page."""

from __future__ import annotations

import json
import os
import posixpath
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest
import yaml
from support.browser import Browser

from buildtools.build_site import (
    NOT_SEARCHED,
    OTHER_PAGES,
    api_pages,
    build,
    place_of,
    with_links_of_the_site,
    with_menu,
)

ROOT = Path(__file__).resolve().parents[2]


QUESTIONS = yaml.safe_load((Path(__file__).parent / "questions.yaml").read_text("utf-8"))
FRONT_PAGE_LINK = re.compile(r"^- \[(.+)\]\(((?:how-to|tutorials)/.+)\)$", re.MULTILINE)


#: Where the first hit of the page's search leads.
FIRST_HIT = """document.querySelector("ul.search a")?.getAttribute("href")"""
#: Search again as the page does when it is opened. The first hit is shown at once.
SEARCH = """
document.getElementById("search-results").replaceChildren();
Search.performSearch(QUERY);
"""


class Site(NamedTuple):
    """The built site: where it is, and what its making said."""

    place: Path
    status: int
    said: str

    def page(self, name: str) -> str:
        return (self.place / f"{name}.html").read_text(encoding="utf-8")

    def links(self, name: str) -> set[str]:
        """The pages that the text of a page leads to, without its menu."""
        (text,) = re.findall(r"<article\b.*?</article>", self.page(name), re.DOTALL)
        found = re.findall(r'<a class="reference internal" href="([^"#]+)\.html', text)
        return {posixpath.normpath(posixpath.join(posixpath.dirname(name), to)) for to in found}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The site is built once for all tests."""
    pytest.importorskip("sphinx", reason="needs the extra docs")
    place = tmp_path_factory.mktemp("docs")
    with (place / "said").open("w") as said:
        status = build(place / "source", place / "site", said)
    return Site(place / "site", status, (place / "said").read_text("utf-8"))


@pytest.mark.timeout(340)
def test_the_site_has_no_warning_and_its_search_finds_each_page(site: Site) -> None:
    assert (site.status, site.said) == (0, "")
    pages = [*sorted((ROOT / "docs").rglob("*.md")), *map(ROOT.joinpath, OTHER_PAGES)]
    titles = {
        place_of(page.relative_to(ROOT).as_posix()).removesuffix(".md"): title_of(page)
        for page in pages
    }
    titles |= {path.removesuffix(".md"): text.split("\n")[0][2:] for path, text in api_pages()}
    titles[place_of(NOT_SEARCHED).removesuffix(".md")] = ""
    index = (site.place / "searchindex.js").read_text(encoding="utf-8")
    found = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))
    assert dict(zip(found["docnames"], found["titles"], strict=True)) == titles
    for name in titles:
        loaded = re.findall(
            r'<(?:script|link|img)\b[^>]*(?:src|href)="(https?://[^"]+)', site.page(name)
        )
        assert loaded == [], f"{name} needs the network"


@pytest.mark.timeout(340)
def test_each_question_is_answered_two_clicks_from_the_front_page(site: Site) -> None:
    first = site.links("index")
    second = first.union(*map(site.links, first))
    for question in QUESTIONS:
        name, heading = page_of(question["answer"]), question["answer"].partition("#")[2]
        assert name in second, question
        assert f'id="{heading}"' in site.page(name) or not heading, question


@pytest.mark.timeout(340)
def test_the_first_hit_of_the_search_answers_each_question(site: Site, browser: Browser) -> None:
    asked = urlencode({"q": QUESTIONS[0]["asked"]})
    browser.open(f"{(site.place / 'search.html').as_uri()}?{asked}")
    hits = [browser.wait_for(FIRST_HIT)]
    for question in QUESTIONS[1:]:
        again = SEARCH.replace("QUERY", json.dumps(question["asked"]))
        hits.append(browser.evaluate(again + FIRST_HIT))
    missed = {
        question["asked"]: hit
        for question, hit in zip(QUESTIONS, hits, strict=True)
        if page_of(hit) != page_of(question["answer"])
    }
    assert missed == {}


#: Runs Sphinx in an environment without the theme of the site, as that of rosdoc2 is.
WITHOUT_THEME = """
import sys
sys.modules["furo"] = None
from sphinx.cmd.build import main
sys.exit(main(sys.argv[1:]))
"""


def test_the_settings_serve_rosdoc2_which_has_the_pages_alone(tmp_path: Path) -> None:
    pytest.importorskip("sphinx", reason="needs the extra docs")
    text = "# A page\n\n[code](../bench/README.md#headless-server), [it](index.md#a-page)\n"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(text)
    (tmp_path / "index.md").write_text(
        "# All\n\n[file](README.md)\n\n```{toctree}\ndocs/index\n```\n"
    )
    options = ["-c", str(ROOT / "docs"), "-q", "-W", "-b", "html", "-d", str(tmp_path / "trees")]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_THEME, *options, str(tmp_path), str(tmp_path / "made")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    address = ElementTree.parse(ROOT / "package.xml").findtext("url[@type='repository']")
    page = (tmp_path / "made" / "docs" / "index.html").read_text(encoding="utf-8")
    assert f'href="{address}/blob/main/bench/README.md#headless-server"' in page
    assert 'href="#a-page"' in page
    assert f'href="{address}/blob/main/README.md"' in (tmp_path / "made" / "index.html").read_text()


def test_the_front_page_lists_each_task_by_its_title() -> None:
    listed = FRONT_PAGE_LINK.findall((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    pages = [*(ROOT / "docs").glob("how-to/*.md"), *(ROOT / "docs").glob("tutorials/*.md")]
    titles = [(title_of(page), page.relative_to(ROOT / "docs").as_posix()) for page in pages]
    assert sorted(listed) == sorted(titles)


def test_the_menu_is_that_of_the_front_page() -> None:
    lists = "### C\n\n- [d](d.md)\n- [e](e.md#f), [d](d.md)\n\n## F\n\n[g](g.md)\n"
    front = f"# A\n\n[x](x.md)\n\n## B\n\n{lists}"
    menu = with_menu(front).removeprefix(front)
    assert [line for line in menu.split("\n") if line and not line.startswith("```")] == [
        *(":caption: C", ":hidden:", "d.md", "e.md"),
        *(":caption: F", ":hidden:", "g.md"),
    ]


def page_of(address: str) -> str:
    return address.partition("#")[0].removesuffix(".md").removesuffix(".html")


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
