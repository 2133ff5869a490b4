# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What ``cosim models`` prints for people."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ros2_cosim.core.scenario.reference import ModelPage


def print_list(pages: list[ModelPage]) -> None:
    """Print one line for each model."""
    table = Table("Model", "Repeatable", "What it computes")
    for page in pages:
        table.add_row(page.name, page.repeatable.replace("_", " "), escape(page.summary))
    Console().print(table)


def print_page(page: ModelPage) -> None:
    """Print what a model declares."""
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
        console.print("Further ports follow from its parameters, or may be any.")
    if page.parameters:
        table = Table("Parameter", "Type", "Default", "Limits", "Unit", "")
        for row in page.parameters:
            table.add_row(*map(escape, row))
        console.print(table)
