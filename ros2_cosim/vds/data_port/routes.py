# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The routes of a port: which method of which path is answered how, and their description."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import SplitResult, parse_qs, urlsplit

from pydantic import BaseModel

from ros2_cosim import __version__
from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.vds.data_port.messages import PortDocument, read_document
from ros2_cosim.vds.vehicle_plant import PlantState

JSON_TYPE = "application/json"
_NUMBER = {"type": "number"}
_FOUR = {"type": "array", "items": _NUMBER, "minItems": 4, "maxItems": 4}
Schema = dict[str, Any]


class HttpAnswer(NamedTuple):
    """Status, content type and body of an answer; ``allow``: methods, where one was wrong."""

    status: int
    content_type: str
    body: bytes
    allow: str | None = None


NO_CONTENT: Final = HttpAnswer(204, "", b"")
"""There is nothing yet; it may come."""


def json_answer(status: int, data: Mapping[str, Any]) -> HttpAnswer:
    """An answer in JSON."""
    return HttpAnswer(status, JSON_TYPE, json.dumps(data, allow_nan=False).encode() + b"\n")


def error_answer(status: int, text: str, allow: str | None = None) -> HttpAnswer:
    """An error: its text names the place, what was found and what is allowed."""
    return json_answer(status, {"error": text, "status": status})._replace(allow=allow)


def method_refused(method: str, allow: str) -> HttpAnswer:
    """The answer to a method that a path does not have."""
    return error_answer(405, f"method: found {method}; allowed is {allow}", allow)


class PortRoute(NamedTuple):
    """A method of a path.

    :ivar answer: called with what has the route, and with the checked ``request``, or the values of
        the query by name where there is none
    :ivar tells: schema of the answer, by name
    :ivar query: the name that the query may have, and its type
    """

    method: str
    path: str
    answer: Callable[[Any, Any], HttpAnswer]
    summary: str
    tells: str | None = None
    request: type[PortDocument] | None = None
    query: tuple[str, str] | None = None

    def described(self) -> Schema:
        """As OpenAPI has it."""
        told: Schema = {
            "summary": self.summary,
            "responses": {
                "200": _content("Done", _reference(self.tells) if self.tells else _OBJECT),
                "default": _content("What is wrong", _reference("Error")),
            },
        }
        if self.request is not None:
            schema = {"schema": _reference(self.request.__name__)}
            told["requestBody"] = {"required": True, "content": {JSON_TYPE: schema}}
        if self.query is not None:
            name, kind = self.query
            told["parameters"] = [{"name": name, "in": "query", "schema": {"type": kind}}]
        return told


def parts_of(target: str) -> SplitResult | None:
    """The parts of the target of a request; None: it has none."""
    try:
        return urlsplit(target)
    except ValueError:
        return None


def answered(
    routes: Sequence[PortRoute], api: object, method: str, parts: SplitResult, body: bytes
) -> HttpAnswer | None:
    """Answer by the routes of an API; None: none has the path.

    :raises OSError: of what answers
    """
    there = {route.method: route for route in routes if route.path == parts.path}
    if not there:
        return None
    if method not in there:
        return method_refused(method, ", ".join(there))
    route = there[method]
    try:
        if route.request is not None:
            return route.answer(api, read_document(route.request, body))
        return route.answer(api, parse_qs(parts.query))
    except ConfigurationError as error:
        return error_answer(400, str(error))


def described(routes: Sequence[PortRoute]) -> Schema:
    """An OpenAPI 3.1 document, made from the routes and the models that check their requests."""
    paths: dict[str, Schema] = {}
    schemas = dict(_SCHEMAS)
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = route.described()
        if route.request is not None:
            schemas |= _schemas_of(route.request)
    security = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "ros2_cosim data port", "version": __version__},
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": security},
    }


def _reference(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _content(description: str, schema: Schema) -> Schema:
    return {"description": description, "content": {JSON_TYPE: {"schema": schema}}}


def _schemas_of(model: type[BaseModel]) -> dict[str, Schema]:
    """A model and those it is built of, by name."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs", {}), model.__name__: schema}


def _object(optional: Sequence[str] = (), /, **properties: Schema) -> Schema:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


_TEXT, _WHOLE, _TRUTH, _OBJECT = (
    {"type": name} for name in ("string", "integer", "boolean", "object")
)
_WHEELS = dict.fromkeys(("wheel_spin", "wheel_load"), _FOUR)
_SCHEMAS: dict[str, Schema] = {
    "Error": _object(error=_TEXT, status=_WHOLE),
    "State": _object(**{name: _NUMBER for name in PlantState._fields} | _WHEELS),
    "Vehicle": _object(
        ("command",),
        vehicle=_TEXT,
        time_s=_NUMBER,
        step=_WHOLE,
        measured_s=_NUMBER,
        state=_reference("State"),
        command=_OBJECT,
    ),
    "Run": _object(
        ("number",),
        name=_TEXT,
        number=_WHOLE,
        state={"enum": ["running", "paused", "ended"]},
        time_s=_NUMBER,
        steps=_WHOLE,
        rate={"type": ["number", "null"]},
        may_change_rate=_TRUTH,
        may_pause=_TRUTH,
    ),
}
