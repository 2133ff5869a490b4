# SPDX-License-Identifier: Apache-2.0
"""The output directory of a run."""

from __future__ import annotations

import shutil
from pathlib import Path

from ros2_cosim.kernel.errors import ConfigurationError
from ros2_cosim.scenario.plan import RESOLVED_SCENARIO

#: What runs write there.
_RESULTS = (
    "bag",
    "summary.json",
    "report.html",
    "activations.json",
    "arrivals.json",
    "values.json",
    "fastdds.xml",
    "parameters.yaml",
    "lost",
    RESOLVED_SCENARIO,
)


def repetition_directory(repetition: int) -> str:
    """Name of the directory, below the output, of the n-th time that a run began anew."""
    return f"again-{repetition}"


def repetitions(output: Path) -> list[Path]:
    """The directories of those times, in their order."""
    found: list[Path] = []
    while (path := output / repetition_directory(len(found) + 1)).is_dir():
        found.append(path)
    return found


def prepare_output(output: Path) -> Path:
    """Make the output directory; results of an earlier run in it are replaced.

    :raises ConfigurationError: it holds something else, or cannot be written
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
        if any(output.iterdir()) and not (output / RESOLVED_SCENARIO).exists():
            raise ConfigurationError(
                f"output directory {output}: not empty, and not the output of an earlier run; "
                "name another directory"
            )
        for path in [*(output / name for name in _RESULTS), *repetitions(output)]:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigurationError(f"output directory {output}: {error.strerror or error}") from None
    return output
