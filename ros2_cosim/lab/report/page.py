# SPDX-License-Identifier: Apache-2.0
"""What all pages have in common: templates, and the numbers at the top."""

from __future__ import annotations

import re
from typing import NamedTuple

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from ros2_cosim.core.record.summary import figure_text


class Tile(NamedTuple):
    """One number at the top of the page; ``good`` is None where it is neither good nor bad."""

    label: str
    value: str
    good: bool | None = None


def page_template(name: str, room: str = "ros2_cosim.lab.report") -> Template:
    """A template; a missing value in it is an error, and texts are escaped.

    :param room: package that has it; style and charts are those of this room
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(room), PackageLoader("ros2_cosim.lab.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["figure"] = figure_text
    environment.filters["breakable"] = _breakable
    return environment.get_template(name)


def _breakable(name: object) -> Markup:
    """A topic, field or path that a narrow page may break behind its parts."""
    return Markup(re.sub(r"([/._])", r"\1<wbr>", str(escape(name))))
