# SPDX-License-Identifier: Apache-2.0
"""The data port described by itself: an OpenAPI 3.1 document made from the checked models."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from ros2_cosim import __version__
from ros2_cosim.vds.data_port.messages import (
    ChangeRunRequest,
    ChangeValueRequest,
    IoRequest,
    TargetsRequest,
)
from ros2_cosim.vds.vehicle_plant import PlantState

_NUMBER = {"type": "number"}
_FOUR = {"type": "array", "items": _NUMBER, "minItems": 4, "maxItems": 4}
_ERROR = {"$ref": "#/components/schemas/Error"}


@lru_cache(maxsize=1)
def openapi() -> dict[str, Any]:
    """The document."""
    schemas: dict[str, Any] = {
        "Error": _object({"error": {"type": "string"}, "status": {"type": "integer"}}),
        "State": _object(
            {
                name: _FOUR if name.startswith("wheel_") and name != "wheel_radius" else _NUMBER
                for name in PlantState._fields
            }
        ),
        "Vehicle": _object(
            {
                "vehicle": {"type": "string"},
                "time_s": _NUMBER,
                "step": {"type": "integer"},
                "measured_s": _NUMBER,
                "state": {"$ref": "#/components/schemas/State"},
                "command": {"type": "object"},
            },
            optional=("command",),
        ),
        "Run": _object(
            {
                "name": {"type": "string"},
                "number": {"type": "integer"},
                "state": {"enum": ["running", "paused", "ended"]},
                "time_s": _NUMBER,
                "steps": {"type": "integer"},
                "rate": {"type": ["number", "null"]},
                "may_change_rate": {"type": "boolean"},
                "may_pause": {"type": "boolean"},
            },
            optional=("number",),
        ),
    }
    for model in (IoRequest, ChangeRunRequest, ChangeValueRequest, TargetsRequest):
        schemas |= schemas_of(model)
    query = {"name": "vehicle", "in": "query", "schema": {"type": "string"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "ros2_cosim data port", "version": __version__},
        "security": [{}, {"token": []}],
        "paths": {
            "/api/health": {"get": operation("Whether the run is alive, and where it is", "Run")},
            "/api/schema": {"get": operation("This document")},
            "/api/run": {
                "get": operation("Picture of the run for a dashboard"),
                "post": operation(
                    "Pause, resume, step, change the rate", "Run", "ChangeRunRequest"
                ),
            },
            "/api/scene": {"get": operation("Lines of the road, fields of view of sensors")},
            "/api/camera": {
                "get": operation("Picture (PNG) of a camera of the world")
                | {"parameters": [{"name": "id", "in": "query", "schema": {"type": "integer"}}]}
            },
            "/api/history": {"get": operation("Speeds, gaps and accelerations of the last time")},
            "/api/changes": {
                "get": operation("Parameters and faults that may be changed, with their values"),
                "post": operation("Change one of them from now on", None, "ChangeValueRequest"),
            },
            "/api/faultable": {"get": operation("Ports that a fault can be added to, and kinds")},
            "/api/state": {
                "get": operation("Measured states and commands") | {"parameters": [query]}
            },
            "/api/io": {"post": operation("Command in, state out", "Vehicle", "IoRequest")},
            "/api/io/targets": {
                "get": operation("Receivers of telemetry"),
                "post": operation("Set the receivers of a vehicle", None, "TargetsRequest"),
            },
        },
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _object(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def schemas_of(model: type[BaseModel]) -> dict[str, Any]:
    """A model and those it is built of, by name."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs", {}), model.__name__: schema}


def operation(
    summary: str, answer: str | None = None, request: str | None = None
) -> dict[str, Any]:
    """An operation of a path; ``answer`` and ``request`` are names of schemas."""
    found = {"$ref": f"#/components/schemas/{answer}"} if answer else {"type": "object"}
    told: dict[str, Any] = {
        "summary": summary,
        "responses": {
            "200": {"description": "Done", "content": {"application/json": {"schema": found}}},
            "default": {
                "description": "What is wrong",
                "content": {"application/json": {"schema": _ERROR}},
            },
        },
    }
    if request:
        schema = {"$ref": f"#/components/schemas/{request}"}
        told["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    return told
