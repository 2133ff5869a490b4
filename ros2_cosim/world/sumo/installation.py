# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""SUMO as installed: its library in this process, and its converter of road networks."""

from __future__ import annotations

import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

from ros2_cosim.core.documents.extras import need_extra
from ros2_cosim.core.kernel.errors import ConfigurationError

#: A road network of a whole town takes some seconds.
_CONVERTER_S = 300.0
#: Of what the converter says, this much is shown [characters].
_SHOWN = 400


def check_installation() -> None:
    """Check whether SUMO is installed, without loading it.

    :raises ConfigurationError: it is not
    """
    need_extra("sumo", ("sumo", "libsumo"), "simulator.kind: sumo")


def load_library() -> Any:
    """The module ``libsumo``.

    :raises ConfigurationError: it is not there
    """
    check_installation()
    return import_module("libsumo")


def convert_network(opendrive: str, directory: Path) -> Path:
    """Convert a road network to SUMO's format; coordinates do not change.

    :param opendrive: text of the map
    :param directory: for the files
    :returns: the ``.net.xml`` file
    :raises ConfigurationError: the converter refuses the map
    """
    check_installation()
    source, network = directory / "map.xodr", directory / "map.net.xml"
    source.write_text(opendrive, encoding="utf-8")
    program = Path(import_module("sumo").SUMO_HOME) / "bin" / "netconvert"
    command = [
        str(program),
        "--opendrive-files", str(source),
        "--output-file", str(network),
        # The origin of the map is that of the simulation.
        "--offset.disable-normalization", "true",
        "--opendrive.curve-resolution", "0.5",
        "--no-turnarounds", "true",
        "--xml-validation", "never",
        "--no-warnings", "true",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_CONVERTER_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ConfigurationError(
            f"scene.map: netconvert has not converted it within {_CONVERTER_S:g} s"
        ) from None
    if done.returncode or not network.is_file():
        said = " ".join((done.stderr or done.stdout).split())[-_SHOWN:]
        raise ConfigurationError(f"scene.map: netconvert cannot convert it for SUMO: {said}")
    return network
