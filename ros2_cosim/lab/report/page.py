# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What all pages have in common: templates, and the numbers at the top."""

from __future__ import annotations

import marshal
import re
import sys
from contextlib import suppress
from importlib.resources import files
from importlib.util import cache_from_source
from pathlib import Path
from typing import Final, NamedTuple

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from jinja2.bccache import Bucket, BytecodeCache
from markupsafe import Markup, escape

from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.record.page_files import SCRIPTS, STYLE, as_one_script, page_file
from ros2_cosim.core.record.summary import figure_text
from ros2_cosim.requirements import version_of
from ros2_cosim.world.pictures.road_shapes import PICTURES, SCENE_SCRIPTS

#: The one script of pages that stand alone.
SCRIPT: Final = "page.js"


class Tile(NamedTuple):
    """One number at the top of the page; ``good`` is None where it is neither good nor bad."""

    label: str
    value: str
    good: bool | None = None


def _style() -> str:
    return page_file(STYLE).decode()


def _script() -> str:
    """The modules of all pages, and those of pages that stand alone, as one."""
    modules = [page_file(name) for name in SCRIPTS]
    modules += [page_file(name, PICTURES) for name in SCENE_SCRIPTS]
    own = files(__package__).joinpath("templates")
    modules += [own.joinpath(name).read_bytes() for name in ("tables.js", "still.js")]
    return as_one_script(modules)


def shared_files() -> dict[str, bytes]:
    """Name -> content of what pages beside each other share instead of having it inside."""
    return {STYLE: _style().encode(), SCRIPT: _script().encode()}


def with_shared_files(page: bytes, place: str) -> bytes:
    """A page that loads :func:`shared_files` instead of having them inside.

    :param place: of the files as seen from the page, with a slash at its end
    """
    style = f'<link rel="stylesheet" href="{place}{STYLE}">'
    script = f'<script src="{place}{SCRIPT}"></script>'
    page = page.replace(f"<style>\n{_style()}</style>".encode(), style.encode())
    return page.replace(f"<script>\n{_script()}</script>".encode(), script.encode())


class _Compiled(BytecodeCache):
    """Compiled templates, where Python keeps its compiled modules.

    To compile them takes longer than to make a page.
    """

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """The file of a template."""
        return filename or name

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take what is there, if it is of the same text, Python and jinja2."""
        with suppress(OSError, NotImplementedError, EOFError, ValueError, TypeError):
            head, _, code = Path(cache_from_source(bucket.key)).read_bytes().partition(b"\n\n")
            if head == _head(bucket):
                bucket.code = marshal.loads(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep it, where modules are kept."""
        if not sys.dont_write_bytecode:
            with suppress(OSError, NotImplementedError):
                place = Path(cache_from_source(bucket.key))
                place.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(place, _head(bucket) + b"\n\n" + marshal.dumps(bucket.code))


def _head(bucket: Bucket) -> bytes:
    return f"{sys.version} {version_of('jinja2')} {bucket.checksum}".replace("\n", " ").encode()


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
        bytecode_cache=_Compiled(),
    )
    environment.globals.update(shared_style=Markup(_style()), shared_script=Markup(_script()))
    environment.filters["figure"] = figure_text
    environment.filters["breakable"] = _breakable
    return environment.get_template(name)


def _breakable(name: object) -> Markup:
    """A topic, field or path that a narrow page may break behind its parts."""
    return Markup(re.sub(r"([/._])", r"\1<wbr>", str(escape(name))))
