# SPDX-License-Identifier: Apache-2.0
"""Settings of Sphinx for the site; ``buildtools/build_site.py`` gathers the pages and runs it."""

from __future__ import annotations

import gc
import os
import posixpath
from pathlib import Path
from typing import Any

from furo.navigation import get_navigation_tree
from pygments.lexers.special import TextLexer
from sphinx.environment.adapters.toctree import global_toctree_for_doc
from sphinx.search.en import SearchEnglish

# The docstrings of compiled modules are not all there.
os.environ["COSIM_PURE"] = "1"

import ros2_cosim

# The build is short: looking for garbage in its trees would take a sixth of the time.
gc.disable()

project = "ros2_cosim"
author = "ros2_cosim maintainers"
copyright = author
version = release = ros2_cosim.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["repository"]
# GitHub makes anchors of headings in the same way.
myst_heading_anchors = 4

# It would read the source of each function.
autodoc_use_type_comments = False
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_class_signature = "mixed"
# Names, not values: some defaults are tables or objects with an address.
autodoc_preserve_defaults = True

# Quotes stay as they are written: the search looks for them so.
smartquotes = False

# Sphinx would look for it in the working directory.
html_search_scorer = str(Path(__file__).with_name("search.js"))

html_theme = "furo"
html_title = f"ros2_cosim {version}"
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None


def without_what_python_writes(app: Any, *about: Any) -> None:
    """Remove the docstring that Python gives to each field of a named tuple."""
    lines: list[str] = about[-1]
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()


#: The menu of the pages of each folder, without a current page.
menus: dict[str, str] = {}


def without_menu(app: Any, page: str, template: str, context: dict[str, Any], _: Any) -> None:
    """Keep Sphinx and Furo from making the menu of each page anew: a tenth of a second for each."""
    context.pop("toctree", None)


def with_menu_of_the_folder(
    app: Any, page: str, template: str, context: dict[str, Any], _: Any
) -> None:
    """Take the menu that the pages of a folder share."""
    folder = posixpath.dirname(page)
    beside = posixpath.join(folder, "-")
    if folder not in menus:
        tree = global_toctree_for_doc(
            app.env, beside, app.builder, tags=app.tags, maxdepth=-1, titles_only=True
        )
        menus[folder] = get_navigation_tree(app.builder.render_partial(tree)["fragment"])
    link = app.builder.get_relative_uri(beside, page)
    context["furo_navigation_tree"] = with_current_page(menus[folder], link)


def with_current_page(menu: str, link: str) -> str:
    """Mark a page in the menu as Furo does, and open the branch that it is in."""
    above, own, below = menu.partition(f'"><a class="reference internal" href="{link}"')
    if not own:
        return menu
    box = 'class="toctree-checkbox"'
    checked = f'checked="" {box}'
    if above.endswith("toctree-l2"):
        head, item, branch = above.rpartition('<li class="toctree-l1')
        above = f"{head}{item} current{branch.replace(box, checked, 1)}"
    elif above.endswith("has-children"):
        below = below.replace(box, checked, 1)
    return f'{above} current current-page"><a class="current reference internal" href="#"{below}'


class English(SearchEnglish):
    """The language of the search. It remembers the stems of words, most of which pages share."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._stems: dict[str, str] = {}

    def stem(self, word: str) -> str:
        """The stem of a word."""
        if word not in self._stems:
            self._stems[word] = super().stem(word)
        return self._stems[word]


def setup(app: Any) -> None:
    """Clean up docstrings; show diagrams that only a forge draws as their text."""
    app.connect("autodoc-process-docstring", without_what_python_writes)
    app.add_lexer("mermaid", TextLexer)
    app.add_search_language(English)
    # Furo makes its menu between the two.
    app.connect("html-page-context", without_menu, priority=400)
    app.connect("html-page-context", with_menu_of_the_folder, priority=600)
