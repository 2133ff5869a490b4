# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The files of a system: an archive (``.ssp``), or what lies beside an unpacked ``.ssd``.

Documents of version 1.0 are checked against the schema of the standard, which FMPy brings. There
is none of version 2.0 here: its documents are checked for elements that the standard does not
have.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from lxml import etree

from ros2_cosim.core.documents.archives import inner_content
from ros2_cosim.core.documents.files import cause_of, read_bounded
from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.documents.xml_reader import read_xml
from ros2_cosim.core.kernel.errors import ConfigurationError

STRUCTURE: Final = "SystemStructure.ssd"
VERSIONS: Final = ("1.0", "2.0")
#: Largest document [bytes]: a system of a thousand components.
MAX_BYTES: Final = 32_000_000
_SPACE: Final = "http://ssp-standard.org/SSP1/SystemStructure"
#: Of the three kinds of documents: their root element, and their schema.
SSD: Final = "SystemStructureDescription"
SSV: Final = "ParameterSet"
SSM: Final = "ParameterMapping"
_SCHEMAS: Final = {
    SSD: "SystemStructureDescription",
    SSV: "SystemStructureParameterValues",
    SSM: "SystemStructureParameterMapping",
}
#: What documents are made of, beside types, transformations and what is only drawn.
_KNOWN: Final = frozenset(
    """SystemStructureDescription System Elements Component SignalDictionaryReference Connectors
    Connector Connections Connection ParameterBindings ParameterBinding ParameterValues
    ParameterMapping ParameterSet Parameters Parameter MappingEntry MapEntry SignalDictionaries
    SignalDictionary DictionaryEntry DefaultExperiment Enumerations Enumeration Item Units Unit
    BaseUnit DisplayUnit Dimension Value Clock Real Float64 Float32 Integer Int8 UInt8 Int16 UInt16
    Int32 UInt32 Int64 UInt64 Boolean String Binary LinearTransformation
    BooleanMappingTransformation IntegerMappingTransformation EnumerationMappingTransformation
    SystemGeometry ElementGeometry ConnectorGeometry ConnectionGeometry GraphicalElements Note
    Annotations Annotation MetaData Signature""".split()
)
_OPAQUE: Final = frozenset(("Annotations", "MetaData", "Signature"))


def name_of(node: Any) -> str:
    """The name of an element, without its namespace."""
    return str(etree.QName(node).localname)


def is_ssp(node: Any) -> bool:
    """Whether an element is one of the standard."""
    return str(etree.QName(node).namespace).startswith(_SPACE)


def children(node: Any, *names: str) -> list[Any]:
    """The elements of the standard below one, those of some names or all."""
    return [n for n in node if is_ssp(n) and (not names or name_of(n) in names)]


def child(node: Any, *names: str) -> Any:
    """The first of them, or None."""
    return next(iter(children(node, *names)), None)


def below(node: Any, group: str, *names: str) -> list[Any]:
    """The elements in the group of an element: ``Elements`` of a system; none without the group."""
    found = child(node, group)
    return [] if found is None else children(found, *names)


def place_of(node: Any) -> str:
    """Where an element is, for messages."""
    return f"{node.base}, line {node.sourceline}: {name_of(node)}"


class Package:
    """What a system is made of.

    :param path: an ``.ssp``, or an ``.ssd`` that lies among its files
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._packed = path.suffix != ".ssd"
        self._base = path if self._packed else path.parent

    def structure(self) -> Any:
        """The root element of the description.

        :raises ConfigurationError: there is none, or it is wrong
        """
        return self._document(self._base / STRUCTURE if self._packed else self.path, SSD)

    def document(self, node: Any, kind: str) -> Any:
        """The root element of the document that the attribute ``source`` of an element names.

        :param kind: name of the root element
        :raises ConfigurationError: it is not there, or wrong
        """
        return self._document(self.file(node), kind)

    def file(self, node: Any) -> Path:
        """The file that the attribute ``source`` of an element names; it may be in the archive.

        :raises ConfigurationError: it is elsewhere
        """
        source = node.get("source")
        try:
            parts = urlsplit(source)
        except ValueError:
            parts = urlsplit("//")
        path = unquote(parts.path)
        beyond = "\0" in path or (self._packed and ".." in Path(path).parts)
        if parts.scheme or parts.netloc or not path or path.startswith("/") or beyond:
            raise ConfigurationError(
                f"{place_of(node)}: source: found '{one_line(source, 80)}'; allowed is a path "
                f"{'inside the archive' if self._packed else 'relative to this file'}"
            )
        return self._base / path

    def _document(self, path: Path, kind: str) -> Any:
        try:
            data = inner_content(path, ConfigurationError)
            if data is None:
                data = read_bounded(path, MAX_BYTES)
        except OSError as error:
            raise ConfigurationError(f"{path}: {cause_of(error)}") from None
        if len(data) > MAX_BYTES:
            raise ConfigurationError(f"{path}: found {len(data)} bytes; allowed are {MAX_BYTES}")
        root = read_xml(data, str(path))
        if not is_ssp(root) or name_of(root) != kind:
            raise ConfigurationError(f"{place_of(root)}: allowed is {kind} of SSP")
        version = root.get("version")
        if version not in VERSIONS:
            raise ConfigurationError(
                f"{place_of(root)}: version: found {version!r}; allowed is {' or '.join(VERSIONS)}"
            )
        if version == VERSIONS[0]:
            _check_schema(root, kind)
        else:
            _check_known(root)
        return root


def _check_schema(root: Any, kind: str) -> None:
    schema = _schema(_SCHEMAS[kind])
    if not schema.validate(root):
        first = schema.error_log[0]
        more = len(schema.error_log) - 1
        tail = f" (and {more} more)" if more else ""
        raise ConfigurationError(
            f"{root.base}, line {first.line}: not SSP 1.0: {one_line(first.message)}{tail}"
        )


@cache
def _schema(name: str) -> Any:
    found = find_spec("fmpy")
    if found is None or not found.submodule_search_locations:
        raise ConfigurationError("SSP: its schemas come with FMPy; pip install fmpy==0.3.32")
    folder = Path(found.submodule_search_locations[0]) / "ssp" / "schema"
    return etree.XMLSchema(file=str(folder / f"{name}.xsd"))


def _check_known(node: Any) -> None:
    for inner in children(node):
        if name_of(inner) not in _KNOWN:
            raise ConfigurationError(f"{place_of(inner)}: SSP 2.0 has no such element")
        if name_of(inner) not in _OPAQUE:
            _check_known(inner)
