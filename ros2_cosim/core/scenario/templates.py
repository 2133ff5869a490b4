# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Sections of a scenario file that expand to more of it, and files that expand to all of it.

Such a section is a template: an entry point of the group ``ros2_cosim.templates``, whose name is
the key of the section, names a class derived from :class:`Template`. It expands to plain data of a
scenario; the rest of the file has precedence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Final

from typing_extensions import Self

from ros2_cosim.core.documents.offered import find_kind, offered
from ros2_cosim.core.documents.plain_data import merged
from ros2_cosim.core.documents.settings import Section, read_section
from ros2_cosim.core.kernel.errors import ConfigurationError, MissingWingError
from ros2_cosim.core.kernel.loading import may_load

TEMPLATE_GROUP: Final = "ros2_cosim.templates"

#: The sections of the format that are templates, in the order in which they are resolved, and why.
#: Those of other distributions come before, by name: they may stand for one of these.
ORDER: Final = {
    "platoon": "Its vehicles hold before those that a file of another format describes.",
    "openscenario": "A file of another format has all that the rest of the scenario leaves open.",
    "ros_bridge": "It reads which vehicles and participants there are.",
    "autoware": "So does this; what it publishes it leaves to the ones before.",
}
#: Files with these suffixes are scenarios themselves.
_SCENARIOS: Final = ("", ".yaml", ".yml", ".json")


class Template(Section):
    """A section of a scenario file that stands for more of it; its fields are the settings."""

    #: JSON Schema of what a file may have instead of a mapping.
    short_forms: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    #: Places of the file whose keys are parameters of the participants that have a control law.
    law_places: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def read_given(cls, given: Any, origin: str, place: str) -> Self | None:
        """The section as a file has it; None: it stands for nothing.

        :param origin: how messages call the scenario
        :param place: the key of the section
        :raises ConfigurationError: the section is wrong
        """
        return read_section(cls, given, origin=origin, place=place)

    def stands_for(self, rest: dict[str, Any], origin: str) -> dict[str, Any]:
        """The plain data that the section stands for.

        :param rest: the scenario without the section
        :param origin: how messages call the scenario
        :raises ConfigurationError: the section does not fit the rest
        """
        raise NotImplementedError

    @classmethod
    def suffixes(cls) -> Collection[str]:
        """Of the files that are scenarios by themselves: ``file`` of the section names them."""
        return ()


def find_template(key: str, origin: str) -> type[Template]:
    """The template with a key that an installed distribution offers.

    :raises ConfigurationError: it cannot be imported
    """
    found: type[Template] = find_kind(
        TEMPLATE_GROUP, key, f"{origin}: {key}" if origin else key, "template", Template
    )
    return found


def templates() -> dict[str, type[Template]]:
    """Key -> template of all that are installed.

    :raises ConfigurationError: one cannot be imported
    """
    found = {}
    for key in offered(TEMPLATE_GROUP):
        with suppress(MissingWingError):
            found[key] = find_template(key, "")
    return found


def is_template(key: str) -> bool:
    """Whether a section of a scenario file stands for more of it."""
    return key in ORDER or key in offered(TEMPLATE_GROUP)


def without_templates(data: dict[str, Any], origin: str) -> dict[str, Any]:
    """The data of a scenario with what its templates stand for in their place.

    :raises ConfigurationError: a section is wrong, does not fit the rest, or is of a template
        that no installed distribution offers
    """
    known = offered(TEMPLATE_GROUP)
    for key in (*(key for key in known if key not in ORDER), *ORDER):
        if key not in data:
            continue
        if key not in known:
            raise ConfigurationError(
                f"{origin}: {key}: no installed distribution offers this section (entry points of "
                f"{TEMPLATE_GROUP}: {', '.join(known) or 'none'})"
            )
        rest = {name: value for name, value in data.items() if name != key}
        template = find_template(key, origin).read_given(data[key], origin, key)
        data = rest if template is None else merged(template.stands_for(rest, origin), rest)
    return data


def scenario_of_file(path: Path, directory: Path) -> dict[str, Any] | None:
    """The scenario that stands for a file of another format; None: the file is one itself.

    :raises ConfigurationError: a template cannot be imported
    """
    if path.suffix in _SCENARIOS:
        return None
    key = imported_suffixes(f"scenario {path}").get(path.suffix)
    if key is None:
        return None
    name = re.sub(r"[^a-z0-9_]+", "_", path.stem.lower()).strip("_")
    if not re.match(r"[a-z]", name):
        name = f"scenario_{name}"
    return {"name": name, key: {"file": os.path.relpath(path, directory)}}


def imported_suffixes(origin: str = "") -> dict[str, str]:
    """Suffix of files in formats of others that are scenarios -> the template that reads them.

    :raises ConfigurationError: a template cannot be imported
    """
    return {
        suffix: key
        for key, entry in offered(TEMPLATE_GROUP).items()
        if may_load(entry.module)
        for suffix in find_template(key, origin).suffixes()
    }
