# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Catalogues of OpenSCENARIO: entries that files refer to by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.driving.openscenario.document import Element, declared, read_document

#: Files of all directories of catalogues together.
MAX_FILES: Final = 100


class Catalogues:
    """Catalogues, by name; they are read when one is first asked for.

    :param documents: reads them: root elements
    :param unread: why others cannot be read; added to by ``documents``
    """

    def __init__(
        self, documents: Callable[[], Iterable[Element]], unread: Sequence[str] = ()
    ) -> None:
        self._documents = documents
        self._unread = unread
        self._catalogues: dict[str, Element] | None = None
        self._by_file: dict[str, Element] = {}
        #: Entries that references have asked for.
        self.used: list[Element] = []

    def entry(self, reference: Element) -> Element:
        """The entry that a CatalogReference names, with its parameters.

        :raises ConfigurationError: there is none, or a catalogue cannot be read
        """
        name, entry = reference.text("catalogName"), reference.text("entryName")
        catalogues = self._all()
        if name not in catalogues and name in self._by_file:
            # Files call some by the name of their file: they have that name from here on.
            catalogues[name] = self._by_file[name].renamed(name)
        if name not in catalogues:
            known = ", ".join(catalogues) or "none"
            unread = f" (not readable: {self._unread[0]})" if self._unread else ""
            raise reference.error(f"catalogName: found '{name}'; allowed are {known}{unread}")
        catalogue = catalogues[name]
        given = {}
        assignments = reference.find("ParameterAssignments")
        for assignment in assignments.each("ParameterAssignment") if assignments else ():
            given[assignment.raw("parameterRef").removeprefix("$")] = assignment.text("value")
        for found in catalogue.children():
            if found.text("name", "") == entry:
                self.used.append(found)
                return found.within(declared(_takes(found, given, reference), given))
        names = [found.text("name", "") for found in catalogue.children()]
        raise reference.error(
            f"entryName: found '{entry}'; catalogue '{name}' has {', '.join(names[:20]) or 'none'}"
        )

    def _all(self) -> dict[str, Element]:
        if self._catalogues is None:
            found: dict[str, Element] = {}
            others: list[Element] = []
            for document in self._documents():
                catalogue = document.find("Catalog")
                if catalogue is not None:
                    found.setdefault(catalogue.text("name"), catalogue)
                    others.append(catalogue)
            self._by_file = {Path(each.source).stem: each for each in reversed(others)}
            self._catalogues = found
        return self._catalogues


def find_catalogues(root: Element, directory: Path) -> Catalogues:
    """The catalogues below the directories that a scenario names, relative to its own one."""
    directories: dict[Path, None] = {}
    locations = root.find("CatalogLocations")
    for location in locations.children() if locations is not None else ():
        directories[directory / location.one("Directory").text("path")] = None
    unread: list[str] = []

    def documents() -> Iterator[Element]:
        files: list[Path] = []
        for place in directories:
            files += [place] if place.is_file() else sorted(place.glob("*.xosc"))
            if len(files) > MAX_FILES:
                raise ConfigurationError(
                    f"{place}: found more than {MAX_FILES} catalogues; allowed are {MAX_FILES}"
                )
        for file in files:
            try:
                yield read_document(file)
            except ConfigurationError as error:
                # Of many files in a directory one is requested.
                unread.append(str(error))

    return Catalogues(documents, unread)


def _takes(entry: Element, given: Mapping[str, str], reference: Element) -> Element:
    """An entry among the parameters of a reference to it.

    :raises ConfigurationError: it declares no parameter of a name that is given
    """
    declarations = entry.find("ParameterDeclarations")
    found = declarations.each("ParameterDeclaration") if declarations is not None else []
    known = [declaration.raw("name").removeprefix("$") for declaration in found]
    for name in given:
        if name not in known:
            raise reference.error(
                f"parameterRef: found '{name}'; '{entry.label()}' has {', '.join(known) or 'none'}"
            )
    return entry.within(reference.parameters)
