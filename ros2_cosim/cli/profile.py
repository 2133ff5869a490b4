# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim profile``: where the wall time of a run went."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ros2_cosim.cli.console import clear_errors
from ros2_cosim.cli.parameters import AsJson

#: So many parts of the critical path are printed.
_MOST_PARTS = 20


def profile(
    run_directory: Annotated[Path, typer.Argument(help="Output of a run with --profile.")],
    perfetto: Annotated[
        Path | None,
        typer.Option(help="Write all spans as a Chrome trace, for ui.perfetto.dev, to this file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print where the wall time of a run went: participants, hops, and the critical path of a step.

    Writes profile.json to the output directory.
    """
    from ros2_cosim.core.documents.files import write_atomically
    from ros2_cosim.core.record.profile import PROFILE_FILE, read_profile

    with clear_errors():
        found = read_profile(run_directory)
        data = found.as_data()
        text = json.dumps(data, indent=1)
        write_atomically(run_directory / PROFILE_FILE, text + "\n")
        if perfetto is not None:
            write_atomically(perfetto, json.dumps(found.perfetto()) + "\n")
    if as_json:
        print(text)
        return
    _print(data)


def _print(data: Mapping[str, Any]) -> None:
    steps = max(data["steps"], 1)
    print(
        f"{data['scenario']}: {data['wall_s']:.3f} s for {steps} steps, "
        f"{1e6 * data['wall_s'] / steps:.1f} us each; {100 * data['explained_share']:.1f} % named"
    )
    print("\ncritical path of a step [us]")
    for part in data["critical_path"][:_MOST_PARTS]:
        what = " ".join(filter(None, (part["participant"], part["kind"])))
        print(
            f"  {part['us_per_step']:9.2f} {100 * part['share']:5.1f} %  {part['process']}: {what}"
        )
    print("\nparticipants, per activation [us]")
    for name, parts in data["participants"].items():
        kinds = ", ".join(f"{kind} {us:.1f}" for kind, us in parts.items() if kind != "activations")
        print(f"  {name} ({parts['activations']}): {kinds}")
    print("\nshare of the wall time of each process [%]")
    for name, shares in data["processes"].items():
        kinds = ", ".join(f"{kind} {100 * share:.1f}" for kind, share in shares.items() if share)
        print(f"  {name}: {kinds}")
    print("\nhops between processes: times, wait and wake-up [us]")
    for hop in data["hops"]:
        print(
            f"  {hop['from']} to {hop['to']}: {hop['count']}, {hop['wait_us']:.1f}, "
            f"{hop['wake_up_us']:.1f}"
        )
