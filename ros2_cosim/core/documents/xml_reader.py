# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The one way in which XML from outside is read: ``lxml``, closed against hostile documents.

Entities can only be declared in a document type; refusing it closes entity expansion and external
references. The bounds of libxml2 on depth (256 elements) and on texts (10 MB) stay on.
"""

from __future__ import annotations

from typing import Any

from lxml import etree

from ros2_cosim.core.documents.one_line import one_line
from ros2_cosim.core.kernel.errors import ConfigurationError

MAX_BYTES = 128 * 1024 * 1024


def read_xml(
    data: bytes,
    source: str,
    *,
    error: type[ConfigurationError] = ConfigurationError,
    element: type[etree.ElementBase] | None = None,
    encoding: str | None = None,
) -> Any:
    """The root element of an XML document; comments and processing instructions are left out.

    :param source: name of the file, for messages; elements have it as ``base``
    :param error: class of the error to raise
    :param element: class of the elements
    :param encoding: that of the data; the one that the document declares is ignored
    :raises ConfigurationError: (or ``error``) it is too large, not well-formed, or has a document
        type; the message names file and line
    """
    if len(data) > MAX_BYTES:
        raise error(f"{source}: found {len(data)} bytes; allowed are {MAX_BYTES}")
    parser = etree.XMLParser(
        encoding=encoding,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    if element is not None:
        parser.set_element_class_lookup(etree.ElementDefaultClassLookup(element=element))
    try:
        root = etree.fromstring(data, parser, base_url=source)
    except (etree.XMLSyntaxError, ValueError) as fault:
        reason = one_line(getattr(fault, "msg", None) or fault) or "it is empty"
        raise error(f"{source}: not well-formed XML: {reason}") from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise error(f"{source}: a document type (<!DOCTYPE ...>) is not allowed")
    return root
