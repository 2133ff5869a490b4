# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""How the site of ``make docs`` looks, and what its search finds: an extension of Sphinx."""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any

from furo.navigation import get_navigation_tree
from sphinx.environment.adapters.toctree import global_toctree_for_doc
from sphinx.search.en import SearchEnglish

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
    """Take Furo for the theme, with a menu that is made once for each folder."""
    app.config.html_theme = "furo"
    # Sphinx would look for it in the working directory.
    app.config.html_search_scorer = str(Path(app.confdir) / "search.js")
    app.add_search_language(English)
    # Furo makes its menu between the two.
    app.connect("html-page-context", without_menu, priority=400)
    app.connect("html-page-context", with_menu_of_the_folder, priority=600)
