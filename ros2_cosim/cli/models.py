# SPDX-License-Identifier: Apache-2.0
"""``cosim models``: the models that scenarios can name, and what they declare."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ros2_cosim.cli.console import clear_errors
from ros2_cosim.scenario.reference import ModelPage, model_page, model_pages, scenario_schema


def models(
    name: Annotated[
        str | None, typer.Argument(help="Name of a model, or module:attribute.")
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of scenario files.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the models, or print parameters, units, limits and ports of one."""
    with clear_errors():
        if schema:
            print(json.dumps(scenario_schema(), indent=1))
            return
        pages = [model_page(name)] if name is not None else model_pages()
    if as_json:
        plain = [_plain(page) for page in pages]
        print(json.dumps(plain[0] if name is not None else plain, indent=1))
    elif name is not None:
        _print_page(pages[0])
    else:
        _print_list(pages)


def _plain(page: ModelPage) -> dict[str, object]:
    return {
        **page._asdict(),
        "parameters": [row._asdict() for row in page.parameters],
        "ports": [row._asdict() for row in page.ports],
    }


def _print_list(pages: list[ModelPage]) -> None:
    table = Table("Model", "Repeatable", "What it computes")
    for page in pages:
        table.add_row(page.name, page.repeatable.replace("_", " "), escape(page.summary))
    Console().print(table)


def _print_page(page: ModelPage) -> None:
    console = Console()
    console.print(f"{page.name}: {page.summary}", highlight=False, markup=False)
    console.print(
        f"Repeatable: {page.repeatable.replace('_', ' ')}; shapes: {', '.join(page.shapes)}",
        highlight=False,
    )
    if page.ports:
        table = Table("Port", "Direction", "Message type", "Required", "")
        for port in page.ports:
            needed = "yes" if port.required else "no"
            cells = (port.name, port.direction, port.type, needed, port.description)
            table.add_row(*map(escape, cells))
        console.print(table)
    for name, service_type, text in page.services:
        console.print(f"Service {name} ({service_type}): {text}", markup=False)
    if page.other_ports:
        console.print("Further ports: as its parameters say, or any.")
    if page.parameters:
        table = Table("Parameter", "Type", "Default", "Limits", "Unit", "")
        for row in page.parameters:
            table.add_row(*map(escape, row))
        console.print(table)
