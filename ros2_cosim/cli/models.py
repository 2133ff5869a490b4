# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim models``: the models that scenarios can name, and what they declare."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from ros2_cosim.cli.completion import model_names
from ros2_cosim.cli.console import clear_errors, refuse_beside
from ros2_cosim.cli.parameters import AsJson

if TYPE_CHECKING:
    from ros2_cosim.core.scenario.reference import ModelPage


def models(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(help="Name of a model, or module:attribute.", autocompletion=model_names),
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of scenario files.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the models, or print parameters, units, limits and ports of one."""
    from ros2_cosim.cli.model_tables import print_list, print_page
    from ros2_cosim.core.scenario.reference import model_page, model_pages, scenario_schema

    with clear_errors():
        if schema:
            refuse_beside(context, "--schema", "name")
            print(json.dumps(scenario_schema(), indent=1))
            return
        pages = [model_page(name)] if name is not None else model_pages()
    if as_json:
        plain = [_plain(page) for page in pages]
        print(json.dumps(plain[0] if name is not None else plain, indent=1))
    elif name is not None:
        print_page(pages[0])
    else:
        print_list(pages)


def _plain(page: ModelPage) -> dict[str, object]:
    return {
        **page._asdict(),
        "parameters": [row._asdict() for row in page.parameters],
        "ports": [row._asdict() for row in page.ports],
    }
