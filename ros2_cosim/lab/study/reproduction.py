# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``cosim study reproduce``: what the publications state, beside what is found here.

Each row of :mod:`ros2_cosim.lab.study.published` names an experiment: a function, runs of the
car-following scenario with declared processor times, or a program of ``bench``, which a checkout
has. An experiment that is complete is kept when the study is resumed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import ros2_cosim
from ros2_cosim.core.documents.files import write_atomically
from ros2_cosim.core.documents.plain_data import read_record
from ros2_cosim.core.kernel.errors import Cancelled, ConfigurationError, CosimError
from ros2_cosim.core.record.results import REPORT_FILE
from ros2_cosim.core.run.output_directory import OutputDirectory
from ros2_cosim.lab.study import small_experiments as small
from ros2_cosim.lab.study.declared_load import Reached
from ros2_cosim.lab.study.load_experiments import FULL, QUICK, LoadExperiments, LoadRecord
from ros2_cosim.lab.study.published import ComparedRow, Figure, as_csv, compare, published
from ros2_cosim.lab.study.reproduction_report import render_reproduction

RECORD_FILE: Final = "reproduction.json"
TABLE_FILE: Final = "reproduction.csv"
#: The directory that holds the package: that of a checkout has ``bench`` beside it.
_ROOT = Path(ros2_cosim.__file__).resolve().parents[1]
#: A program of ``bench`` may take so long [s].
_PATIENCE_S = {"full": 2400.0, "quick": 60.0}

Experiment = Callable[[], Mapping[str, Figure]]

SMALL: Final[Mapping[str, Experiment]] = {
    "events": small.events,
    "queue": small.queue,
    "testing": small.testing,
    "steps": small.steps,
    "late_part": small.late_part,
    "vds": small.vds,
    "dcp": small.dcp,
    "waves": small.waves,
    "following": small.following,
    "platoon": small.platoon,
    "platoon_srt": small.platoon_srt,
}
LOAD: Final = ("calibration", "computed", "sweep", "idle")
#: Program of ``bench`` -> its arguments in the quick form.
BENCH: Final[Mapping[str, tuple[str, ...]]] = {
    "bench.carla_slave_step": ("--steps", "5", "--rounds", "2"),
    "bench.dcp_sockets": ("--pdus", "32", "--sockets", "1", "32", "--steps", "5", "--rounds", "2"),
    "bench.srt_late_steps": ("--steps", "20"),
    "bench.vds_rates": ("--binary", "100", "--text", "60", "--seconds", "2"),
}


@dataclass
class Reproduction:
    """What has been found so far; ``reproduction.json`` has it."""

    form: str
    load: LoadRecord = field(default_factory=LoadRecord)
    found: dict[str, Mapping[str, Figure]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def rows(self) -> dict[str, list[ComparedRow]]:
        """Every row of the table beside what was found."""
        how = {name: configuration(name, self) for name in (*SMALL, *LOAD, *BENCH)}
        return {
            name: [compare(row, self.found, how, self.reasons) for row in publication.rows]
            for name, publication in published().items()
        }

    def save(self, output: Path) -> None:
        """Write the record and the table."""
        content = {"study": "reproduction", **asdict(self)}
        write_atomically(output / RECORD_FILE, json.dumps(content, indent=1) + "\n")
        write_atomically(output / TABLE_FILE, as_csv(self.rows()))


def configuration(name: str, study: Reproduction) -> str:
    """How an experiment is repeated."""
    if name in SMALL:
        return f"{SMALL[name].__module__}.{SMALL[name].__name__}"
    if name in LOAD:
        quick = " --quick" if study.form == "quick" else ""
        return f"cosim study reproduce{quick}; car_following with {study.load.configuration}"
    return " ".join(("python -m", name, *_arguments(name, study.form)))


def _arguments(name: str, form: str) -> tuple[str, ...]:
    return BENCH[name] if form == "quick" else ()


def read_reproduction(output: Path) -> Reproduction:
    """The study in a directory.

    :raises ConfigurationError: there is none
    """
    try:
        content = read_record(output / RECORD_FILE)
        load = content["load"]
        return Reproduction(
            content["form"],
            LoadRecord([Reached(*known) for known in load["known"]], load["busy"], load["idle"]),
            {
                name: {key: Figure(*values) for key, values in figures.items()}
                for name, figures in content["found"].items()
            },
            {},
            content["seconds"],
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            f"--resume: {output} has no study of reproduction ({error!r}): begin it without"
        ) from None


def run_reproduction(
    output: Path,
    *,
    quick: bool = False,
    resume: bool = False,
    tell: Callable[[str], None] = print,
    on_line: Callable[[str, str], None] = lambda name, line: None,
) -> Reproduction:
    """Run all experiments; after each of them record, table and page are up to date.

    An experiment that cannot be run here gives the reason, which stands in its rows.

    :param tell: takes the lines about what is under way
    :param on_line: called with (run and process, line) of what processes print
    :raises ConfigurationError: the output directory is not ours, or has another form to resume
    """
    form = "quick" if quick else "full"
    directory = OutputDirectory(
        output,
        "study 'reproduce'",
        kind="study",
        marker=RECORD_FILE,
        results=("sweep", "one", "bench-*.json", TABLE_FILE, REPORT_FILE),
    )
    with directory:
        if resume:
            study = read_reproduction(output)
            if study.form != form:
                raise ConfigurationError(
                    f"--resume: {output} has the {study.form} form of the study; asked for is the "
                    f"{form} form"
                )
        else:
            directory.clear()
            study = Reproduction(form)
        study.save(output)
        experiments = LoadExperiments(
            QUICK if quick else FULL, study.load, output, lambda: study.save(output), tell, on_line
        )
        loads: dict[str, Experiment] = {
            "calibration": experiments.calibration,
            "computed": experiments.computed,
            "sweep": experiments.sweep,
            "idle": experiments.idle,
        }
        benches = {name: _bench(name, form, output) for name in BENCH}
        try:
            for name, experiment in {**SMALL, **loads, **benches}.items():
                _perform(study, name, experiment, tell)
                study.save(output)
        finally:
            render_reproduction(output, form, study.rows(), experiments)
    return study


def _perform(
    study: Reproduction, name: str, experiment: Experiment, tell: Callable[[str], None]
) -> None:
    if name in study.found:
        return
    if name in LOAD[1:] and study.load.busy is None:
        study.reasons[name] = "needs the declared times, which were not found"
        return
    tell(f"{name} begins")
    begun = time.monotonic()
    try:
        study.found[name] = experiment()
    except Cancelled:
        raise
    except CosimError as error:
        study.reasons[name] = str(error).partition("\n")[0]
        tell(f"{name}: {study.reasons[name]}")
    study.seconds[name] = round(time.monotonic() - begun, 1)


def _bench(name: str, form: str, output: Path) -> Experiment:
    """A program of ``bench`` as an experiment; it writes its figures into a file."""
    program = _ROOT / f"{name.replace('.', '/')}.py"
    file = (output / f"{name.replace('.', '-')}.json").absolute()

    def run() -> Mapping[str, Figure]:
        if not program.is_file():
            raise ConfigurationError(f"needs {name.replace('.', '/')}.py of a checkout")
        command = [sys.executable, "-m", name, *_arguments(name, form), "--json", str(file)]
        _run_program(command, _PATIENCE_S[form])
        return figures_of_bench(read_record(file))

    return run


def _run_program(command: list[str], patience_s: float) -> None:
    """Run a program of ``bench`` to its end; none of its processes stays.

    :raises ConfigurationError: it takes too long, or fails
    """
    with tempfile.TemporaryFile("w+") as errors:
        # Its own processes hold this file, too: a pipe would be waited for until all have ended.
        program = subprocess.Popen(
            command, cwd=_ROOT, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
        )
        try:
            code = program.wait(patience_s)
        except subprocess.TimeoutExpired:
            raise ConfigurationError(f"took longer than {patience_s:g} s") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
        errors.seek(0)
        if code:
            last = errors.read().strip().rpartition("\n")[2]
            raise ConfigurationError(f"ended with code {code}: {last}")


def figures_of_bench(content: Any) -> dict[str, Figure]:
    """The figures of a program of ``bench``, by their names.

    :raises ConfigurationError: it has another form
    """
    try:
        return {
            row["quantity"]: Figure(row["value"], *(row["interval"] or (None, None)))
            for row in content["rows"]
        }
    except (KeyError, TypeError) as error:
        raise ConfigurationError(f"the file of figures lacks something ({error!r})") from None
