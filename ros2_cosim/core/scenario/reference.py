# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What models declare, for readers: tables, and a JSON Schema of scenario files for editors.

Both are made from the same classes that check a scenario, so they cannot say anything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import compress
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import WithDefaultSchema

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.faults.kinds import fault_kinds
from ros2_cosim.core.kernel.errors import ConfigurationError, MissingWingError
from ros2_cosim.core.kernel.model import Model, Port
from ros2_cosim.core.kernel.time import format_ns
from ros2_cosim.core.scenario.registry import available_models, find_model
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scenario.templates import templates
from ros2_cosim.core.scene.scene import SceneSettings

_UNIT = re.compile(r"\s*\[([A-Za-z0-9/^ ]+)\],?")
_LIMITS = {
    "exclusiveMinimum": "> {}",
    "minimum": ">= {}",
    "exclusiveMaximum": "< {}",
    "maximum": "<= {}",
    "minLength": "at least {} characters",
    "minItems": "at least {}",
    "maxItems": "at most {}",
}


#: What people call some types of JSON. Null is left out: a missing value has no type.
_NAMES = {"null": "", "object": "mapping"}


class _Schema(GenerateJsonSchema):
    """Default times are written as a file writes them."""

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        found = super().default_schema(schema)
        if _is_time(found) and found["default"]:
            found["default"] = format_ns(found["default"])
        return found


def _is_time(entry: Mapping[str, Any]) -> bool:
    return "anyOf" in entry and str({"const": 0}) in str(entry)  # only times have it


class ParameterRow(NamedTuple):
    """One parameter of a model, or of a section of it (dotted name)."""

    name: str
    type: str
    default: str
    limits: str
    unit: str
    description: str


class PortRow(NamedTuple):
    """One port of a model; ``name`` may have placeholders, as ``odometry/{vehicle}``."""

    direction: str
    name: str
    type: str
    required: bool
    description: str


class ModelPage(NamedTuple):
    """What is known about a model before one is made."""

    name: str
    summary: str
    repeatable: str
    shapes: tuple[str, ...]
    parameters: tuple[ParameterRow, ...]
    ports: tuple[PortRow, ...]
    other_ports: bool
    services: tuple[tuple[str, str, str], ...] = ()


def model_page(name: str) -> ModelPage:
    """Look a model up.

    :raises ConfigurationError: there is none of that name
    """
    kind = find_model(name, "models").kind
    traits = kind.traits
    ports = [_port_row("input", port) for port in kind.input_ports]
    ports += [_port_row("output", port) for port in kind.output_ports]
    return ModelPage(
        name,
        _summary(kind),
        traits.repeatable.value,
        traits.shapes,
        tuple(parameter_rows(kind.Parameters)) if kind.Parameters is not None else (),
        tuple(ports),
        # A model with its own method for its ports takes them from its parameters.
        kind.other_ports or "declared_ports" in vars(kind),
        tuple((s.name, f"{s.request} -> {s.answer}", s.description) for s in kind.offered_services),
    )


def model_pages() -> list[ModelPage]:
    """All installed models, by name; of one that cannot be loaded, why."""
    return [_page_or_reason(name) for name in available_models()]


def _page_or_reason(name: str) -> ModelPage:
    try:
        return model_page(name)
    except ConfigurationError as error:
        return ModelPage(name, str(error), "no", (), (), (), False)


def parameter_rows(kind: Any, apart: Collection[str] = ()) -> Iterator[ParameterRow]:
    """The fields of a class of parameters, sections flattened to dotted names.

    :param apart: names of those whose sections are left out
    """
    schema = kind.model_json_schema(schema_generator=_Schema)
    yield from _rows(schema, schema.get("$defs", {}), "", apart)


def _rows(
    schema: Mapping[str, Any], defs: Mapping[str, Any], prefix: str, apart: Collection[str]
) -> Iterator[ParameterRow]:
    needed = schema.get("required", ())
    for name, entry in schema.get("properties", {}).items():
        text = str(entry.get("description", ""))
        unit = _UNIT.search(text)
        default = "required" if name in needed else _value(entry.get("default"))
        yield ParameterRow(
            prefix + name,
            _type(entry, defs),
            default,
            _limits(entry, defs),
            unit[1] if unit else "",
            _UNIT.sub("", text, count=1).strip(" ,"),
        )
        if prefix + name not in apart:
            for within, section in _sections(entry, defs):
                yield from _rows(section, defs, f"{prefix}{name}.{within}", apart)


def _sections(
    entry: Mapping[str, Any], defs: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The sections that a field holds, one or by names or in a list, and how they are called."""
    for part in _parts(entry, defs):
        if "properties" in part:
            yield "", part
        held = [("NAME.", part.get("additionalProperties")), ("N.", part.get("items"))]
        held += [("NAME.", each) for each in part.get("patternProperties", {}).values()]
        for within, each in held:
            if isinstance(each, Mapping):
                yield from ((within + more, section) for more, section in _sections(each, defs))


def _parts(entry: Mapping[str, Any], defs: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "$ref" in entry:
        entry = defs[entry["$ref"].rpartition("/")[2]]
    if "allOf" in entry:
        for part in entry["allOf"]:
            yield from _parts(part, defs)
    elif either := entry.get("anyOf") or entry.get("oneOf"):
        for part in either:
            yield from _parts(part, defs)
    else:
        yield entry


def _type(entry: Mapping[str, Any], defs: Mapping[str, Any]) -> str:
    names = []
    for part in _parts(entry, defs):
        if "enum" in part:
            names += [str(value) for value in part["enum"]]
        elif "const" in part:
            names.append(str(part["const"]))
        elif "properties" in part:
            names.append("section")
        elif part.get("type") == "array":
            items = part.get("items") or {}
            names.append(f"list of {_type(items, defs)}" if items else "list")
        else:
            names.append(_NAMES.get(kind := str(part.get("type", "any")), kind))
    unique = list(dict.fromkeys(names))
    if _is_time(entry):
        unique = ["duration" if n == "string" else n for n in unique if n != "0"]
    return " or ".join(filter(None, unique)) or "any"


def _limits(entry: Mapping[str, Any], defs: Mapping[str, Any]) -> str:
    found = []
    for part in _parts(entry, defs):
        found += [text.format(_plain(part[key])) for key, text in _LIMITS.items() if key in part]
    if _is_time(entry):
        return ""
    return ", ".join(dict.fromkeys(found))


def _value(value: Any) -> str:
    if value is None or value == []:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{}" if not value else "as below"
    if isinstance(value, list) and isinstance(value[0], Mapping):
        return "as below"
    return str(_plain(value))


def _plain(number: Any) -> Any:
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _summary(kind: type[Model]) -> str:
    lines = (kind.__doc__ or "").strip().splitlines()
    return lines[0].strip().replace("``", "") if lines else ""


def _port_row(direction: str, port: Port) -> PortRow:
    return PortRow(direction, port.name, port.type or "any", port.required, port.description)


#: Section -> its keys that no file has: a run makes them of others.
_MADE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "OutputSettings": ("whole", "header_stamped", "record", "service", "call"),
        "InputSettings": ("service", "call"),
    }
)


def scenario_schema() -> dict[str, Any]:
    """JSON Schema of scenario files, for completion and checks in an editor.

    The parameters of each installed model are tied to its name. A key that a file may leave to
    others (``include``) or to a template is not required here, and any value may be a parameter,
    ``${name}``.
    """
    schema = Scenario.model_json_schema(ref_template="#/$defs/{model}", schema_generator=_Schema)
    defs = schema["$defs"]
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Scenario of ros2_cosim"
    participant = defs["ParticipantSettings"]
    for partial in (schema, participant, defs["OutputSettings"]):
        del partial["required"]
    schema["properties"] |= _FILE_KEYS
    schema["properties"]["scene"] = _defined(defs, "scene", SceneSettings)
    for key, template in templates().items():
        whole = _defined(defs, key, template)
        short = template.short_forms
        schema["properties"][key] = {"anyOf": [*short, whole]} if short else whole
    for owner, hidden in _MADE.items():
        for each in hidden:
            defs[owner]["properties"].pop(each)
    # Short forms, and keys that YAML anchors need.
    participant["properties"]["inputs"]["additionalProperties"] = {
        "anyOf": [
            {"type": "string", "description": "participant.port"},
            {"type": "array", "items": {"type": "string"}},
            {"$ref": "#/$defs/InputSettings"},
        ]
    }
    source = defs["InputSettings"]["properties"]["from"]
    defs["InputSettings"]["properties"]["from"] = {"anyOf": [{"type": "string"}, source]}
    _choose(defs, "FaultSettings", "kind", "faults", fault_kinds())
    rules = []
    models = []
    for name in available_models():
        try:
            kind = find_model(name, "models").kind
        except MissingWingError:
            continue
        models.append(name)
        if kind.Parameters is None:
            continue
        parameters = _defined(defs, f"parameters.{name}", kind.Parameters)
        rules.append(
            {
                "if": {"properties": {"model": {"const": name}}, "required": ["model"]},
                "then": {"properties": {"parameters": parameters}},
            }
        )
    participant["properties"]["model"] = {
        "anyOf": [
            {"enum": models},
            {"type": "string", "pattern": "^[A-Za-z_][\\w.]*:[A-Za-z_][\\w.]*$"},
        ],
        "description": "Name of an installed model, or module:Class",
    }
    if rules:
        participant["allOf"] = rules
    for definition in (schema, *defs.values()):
        _allow_parameters(definition.get("properties", {}))
    defs["Parameter"] = {
        "type": "string",
        "pattern": "\\$\\{",
        "description": "${name} of a parameter of the scenario",
    }
    schema = _once(schema)
    _inherited(schema["$defs"])
    return schema


def _choose(
    defs: dict[str, Any], section: str, key: str, name: str, kinds: Mapping[str, type[BaseModel]]
) -> None:
    """Let a key of a section name a class, which has further keys."""
    shared = defs[section]
    del shared["additionalProperties"]
    shared["unevaluatedProperties"] = False
    shared["properties"][key]["enum"] = list(kinds)
    shared["allOf"] = []
    for chosen, kind in kinds.items():
        condition = {"properties": {key: {"const": chosen}}, "required": [key]}
        use = _defined(defs, f"{name}.{chosen}", kind)
        own = defs[f"{name}.{chosen}"]
        del own["additionalProperties"]
        own["properties"] = _without(own["properties"], shared["properties"])
        own["required"] = [each for each in own["required"] if each in own["properties"]]
        for inner in [each for each in defs if each.startswith(f"{name}.{chosen}.")]:
            if inner not in str(own["properties"]):
                del defs[inner]
        shared["allOf"].append({"if": condition, "then": use})


def _sections_by_name(kind: type[BaseModel] = Section) -> Iterator[tuple[str, type[BaseModel]]]:
    """All classes of sections, by their names."""
    for each in kind.__subclasses__():
        yield each.__name__, each
        yield from _sections_by_name(each)


def _inherited(defs: dict[str, Any]) -> None:
    """Let keys that several classes have of a common one stand there alone."""
    classes = dict(_sections_by_name())
    heirs: dict[type[BaseModel], list[str]] = {}
    for name, kind in defs.items():
        for base in classes.get(kind.get("title"), object).__mro__[1:]:
            if base in classes.values():
                heirs.setdefault(base, []).append(name)
    for base, names in heirs.items():
        own = [base.model_fields[field].alias or field for field in _declared(base)]
        kinds = [defs[name] for name in names]
        common: dict[str, Any] = {}
        for key in own:  # an heir may have one in a narrower form
            entries = [kind["properties"][key] for kind in kinds if key in kind["properties"]]
            most = max(entries, key=entries.count, default=None)
            if entries.count(most) > 1:
                common[key] = most
        if not common:
            continue
        needed = [key for key in kinds[0].get("required", ()) if key in common]
        defs[base.__name__] = {
            "properties": common, "required": needed, "type": "object", "title": base.__name__
        }  # fmt: skip
        for kind in kinds:
            given = kind["properties"]
            kind["properties"] = {k: e for k, e in given.items() if common.get(k) != e}
            kind["required"] = [key for key in kind.get("required", ()) if key not in common]
            kind.setdefault("allOf", []).append({"$ref": f"#/$defs/{base.__name__}"})
            if not kind.pop("additionalProperties", True):
                kind["unevaluatedProperties"] = False


def _declared(base: type[BaseModel]) -> list[str]:
    """The fields that a class declares itself."""
    return [field for field in base.model_fields if field in vars(base).get("__annotations__", {})]


def _once(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with each class that several sections hold defined once, by its own name."""
    places: dict[str, list[str]] = {}
    for name, kind in schema["$defs"].items():
        own = name.rpartition(".")[2]
        places.setdefault(f"{own} {json.dumps(kind, sort_keys=True)}", []).append(name)
    text = json.dumps(schema)
    several = [names for names in places.values() if names[1:]]
    for names in several:
        for name in names:
            text = text.replace(f'"#/$defs/{name}"', f'"#/$defs/{name.rpartition(".")[2]}"')
    made: dict[str, Any] = json.loads(text)
    for names in several:
        for name in names:
            made["$defs"][name.rpartition(".")[2]] = made["$defs"].pop(name)
    return made


def _without(properties: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry for key, entry in properties.items() if key not in others}


def _defined(defs: dict[str, Any], name: str, section: type[BaseModel]) -> dict[str, Any]:
    """The use of a section that is defined, with those within it, by its own name."""
    own = section.model_json_schema(
        ref_template=f"#/$defs/{name}.{{model}}", schema_generator=_Schema
    )
    defs |= {f"{name}.{inner}": kind for inner, kind in own.pop("$defs", {}).items()}
    defs[name] = own
    return {"$ref": f"#/$defs/{name}"}


_FILE_KEYS: dict[str, Any] = {
    "include": {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        "description": "Files that this one completes and changes, relative to it",
    },
    "parameters": {
        "type": "object",
        "additionalProperties": {"type": ["number", "boolean", "string", "null"]},
        "description": "name: default; used as ${name}, changed by --set parameters.name=value",
    },
}


def _allow_parameters(properties: dict[str, Any]) -> None:
    """Let each property that is not a free text, list or mapping be the use of a parameter, too."""
    for name, entry in properties.items():
        if not _is_free(entry):
            note = {key: text for key, text in entry.items() if key == "description"}
            rest = {key: value for key, value in entry.items() if key != "description"}
            properties[name] = {"anyOf": [rest, {"$ref": "#/$defs/Parameter"}], **note}


def _is_free(entry: Mapping[str, Any]) -> bool:
    if entry.get("type") in ("object", "array"):
        return True
    return entry.get("type") == "string" and not entry.keys() & {"pattern", "enum", "const"}


_NO_LINKS: Mapping[str, str] = MappingProxyType({})


def section_table(
    kind: type[BaseModel], links: Mapping[str, str] = _NO_LINKS, apart: Collection[str] = ()
) -> str:
    """Make a Markdown table of the keys of a section of scenario files.

    :param links: key -> where more of it stands
    :param apart: keys whose sections stand in another table
    """
    rows = [(_linked(name, links), *cells) for name, *cells in parameter_rows(kind, apart)]
    return table(("Key", *_PARAMETER), rows)


#: The head of what a row says of a parameter, behind its name.
_PARAMETER = ("Type", "Default", "Limits", "Unit", "Meaning")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as Markdown, without the columns in which nothing stands."""
    used = [any(row[number] for row in rows) for number in range(len(head))]
    lines = [f"| {' | '.join(compress(cells, used))} |" for cells in (head, *rows)]
    lines.insert(1, "|" + sum(used) * "---|")
    return "\n".join(lines) + "\n"


def _linked(name: str, links: Mapping[str, str]) -> str:
    return f"[`{name}`]({links[name]})" if name in links else f"`{name}`"


def record_table(
    kind: type[BaseModel], links: Mapping[str, str] = _NO_LINKS, apart: Collection[str] = ()
) -> str:
    """Make a Markdown table of the fields of a file that a run writes; parameters as above."""
    rows = []
    for row in parameter_rows(kind, apart):
        unit = f" [{row.unit}]" if row.unit else ""
        rows.append((_linked(row.name, links), row.type, row.description + unit))
    return table(("Field", "Type", "Meaning"), rows)


def models_table() -> str:
    """The models and their parameters as Markdown, for the reference."""
    lines: list[str] = []
    for page in model_pages():
        lines += [f"### `{page.name}`", "", page.summary, ""]
        facts = [f"Repeatable: {page.repeatable.replace('_', ' ')}."]
        if set(page.shapes) != {"ros", "composed", "inproc"}:
            facts.append(f"Shapes: {', '.join(page.shapes)}.")
        lines += [" ".join(facts), ""]
        if page.ports:
            lines += ["| Port | Direction | Message type | |", "|---|---|---|---|"]
            for port in page.ports:
                note = "" if port.required else "optional"
                text = "; ".join(filter(None, (note, port.description)))
                lines.append(f"| `{port.name}` | {port.direction} | `{port.type}` | {text} |")
            lines.append("")
        for name, service_type, text in page.services:
            lines += [f"Service `{name}` (`{service_type}`): {text}", ""]
        if page.other_ports:
            lines += ["Further ports: as its parameters say, or any.", ""]
        if page.parameters:
            rows = [(f"`{name}`", *cells) for name, *cells in page.parameters]
            lines += [table(("Parameter", *_PARAMETER), rows)]
    return "\n".join(lines).rstrip() + "\n"
