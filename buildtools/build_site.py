# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Build the site of the documentation (``make docs``): static, searchable, without network.

The pages of ``docs/``, some from elsewhere, and an API reference of what ``docs/public.md`` lists
are gathered in ``build/docs``. Sphinx makes ``out/site`` of them; each warning is an error.
"""

from __future__ import annotations

import importlib.util
import os
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs"
#: Pages outside of ``docs/``: where they are in the site.
OTHER_PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "bench/README.md": "bench.md",
    "bench/equivalent_mutants.md": "equivalent_mutants.md",
}
#: The front page of the site says what the README says.
PLACES = {**OTHER_PAGES, "README.md": "index.md"}
FRONT_PAGE = "docs/index.md"
#: The ones of ``docs/conf.py``, and the look of the site, which rosdoc2 brings itself.
EXTENSIONS = "myst_parser,sphinx.ext.autodoc,docs.site_look"
#: The search would find old things first.
NOT_SEARCHED = "CHANGELOG.md"
_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)\s#]+)")
#: The front page links to the API reference, which the repository does not have.
_API_LINK = (
    "[What is public](public.md)",
    "[What is public](public.md), [Python API](api/index.md)",
)
_SECTION = re.compile(r"^##+ (.+)\n((?:(?!##).*\n)*)", re.MULTILINE)
_ROW = re.compile(r"^\| `(ros2_cosim\.[\w.]+)` \| (.+?) \|", re.MULTILINE)


def place_of(path: str) -> str:
    """Where a file of the repository is in the site."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return PLACES.get(path) or f"repository/{path}"


def with_links_of_the_site(text: str, path: str, used: set[str]) -> str:
    """The text of a page with its links as they are in the site.

    :param path: the page in the repository
    :param used: gets the files of the repository that links lead to
    """

    def linked(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[1]))
        used.add(target)
        return posixpath.relpath(place_of(target), posixpath.dirname(place_of(path)) or ".")

    parts, end = [], 0
    for code in _CODE.finditer(text):
        parts += [_LINK.sub(linked, text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, _LINK.sub(linked, text[end:])])


def api_pages() -> Iterator[tuple[str, str]]:
    """Path and text of the pages of the API reference: one for each public module, and a list."""
    public = (PAGES / "public.md").read_text(encoding="utf-8")
    modules = dict(_ROW.findall(public))
    for module, cell in modules.items():
        names = ", ".join(re.findall(r"`([^`]+)`", cell)).replace("*", "")
        lines = [f"# {module}", "", "```{eval-rst}", f".. automodule:: {module}"]
        yield f"api/{module}.md", "\n".join([*lines, f"   :members: {names}", "```", ""])
    listed = "\n".join(modules)
    yield (
        "api/index.md",
        "# Python API\n\nThe modules and names that [are public](../public.md#python).\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n",
    )


def with_menu(front: str) -> str:
    """The front page as Sphinx reads it: with the API reference, and its lists as the menu.

    :param front: the page, with its links as they are in the site
    """
    front = front.replace(*_API_LINK)
    menu = []
    for heading, text in _SECTION.findall(front):
        if pages := [path for path in _LINK.findall(text) if path.endswith(".md")]:
            listed = "\n".join(dict.fromkeys(pages))
            menu.append(f"```{{toctree}}\n:caption: {heading}\n:hidden:\n\n{listed}\n```\n")
    return "\n".join([front, *menu])


def gather(place: Path) -> None:
    """Write all that Sphinx reads into an empty directory."""
    shutil.copytree(PAGES, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    used: set[str] = set()
    for page in [*PAGES.rglob("*.md"), *map(ROOT.joinpath, OTHER_PAGES)]:
        path = page.relative_to(ROOT).as_posix()
        text = with_links_of_the_site(page.read_text(encoding="utf-8"), path, used)
        if path == FRONT_PAGE:
            text = with_menu(text)
        head = "---\nnosearch: true\n---\n" if path == NOT_SEARCHED else ""
        (place / place_of(path)).write_text(head + text, encoding="utf-8")
    for path in used:
        if place_of(path).startswith("repository/") and (ROOT / path).is_file():
            (place / place_of(path)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, place / place_of(path))
    for name, text in api_pages():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")


def build(source: Path, site: Path, log: TextIO | None = None) -> int:
    """Gather the pages in a directory and build the site into another one, both made anew.

    :param log: gets what Sphinx prints
    :returns: the exit status of Sphinx: 0 if there was no warning
    """
    doctrees = Path(f"{source}.doctrees")
    for place in (source, doctrees, site):
        shutil.rmtree(place, ignore_errors=True)
    gather(source)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going"]
    command += ["-D", f"extensions={EXTENSIONS}"]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [*command, "-d", str(doctrees), str(source), str(site)],
        env={**os.environ, "PYTHONPATH": path},
        check=False,
        stdout=log,
        stderr=log,
    )
    shutil.rmtree(doctrees, ignore_errors=True)
    return done.returncode


def main() -> int:
    """Run the command line."""
    if importlib.util.find_spec("sphinx") is None:
        sys.exit("make docs: there is no Sphinx; the extra docs needs Python 3.11 or later")
    site = ROOT / "out" / "site"
    status = build(ROOT / "build" / "docs", site)
    print(f"the site is in {site.relative_to(ROOT)}: open index.html" if not status else "failed")
    return status


if __name__ == "__main__":
    sys.exit(main())
