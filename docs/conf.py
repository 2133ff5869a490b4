# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Settings of Sphinx for the pages: of ``make docs`` (``buildtools/build_site.py``) and rosdoc2."""

from __future__ import annotations

import gc
import os
import posixpath
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx import addnodes

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

html_title = f"ros2_cosim {version}"
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None


def without_what_python_writes(app: Any, *about: Any) -> None:
    """Remove the docstring that Python gives to each field of a named tuple."""
    lines: list[str] = about[-1]
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()


def with_links_to_the_repository(app: Any, page: Any) -> None:
    """Lead from a page to files that are none: rosdoc2 has the pages alone."""
    root = Path(ros2_cosim.__file__).parent.parent
    place = posixpath.dirname(app.env.docname)
    for node in list(page.findall(addnodes.pending_xref)):
        target, mark, heading = node["reftarget"].partition("#")
        path = posixpath.normpath(posixpath.join(place, target))
        if node["reftype"] == "myst" and node["refdomain"] != "doc" and (root / path).exists():
            package = ElementTree.parse(root / "package.xml")
            address = package.findtext("url[@type='repository']")
            address = f"{address}/blob/main/{path}{mark}{heading}"
            link = nodes.reference(refuri=address, internal=False)
            node.replace_self(link)
            link += node.children


def setup(app: Any) -> None:
    """Clean up docstrings; show diagrams that only a forge draws as their text."""
    app.connect("autodoc-process-docstring", without_what_python_writes)
    app.connect("doctree-read", with_links_to_the_repository)
    app.add_lexer("mermaid", TextLexer)
