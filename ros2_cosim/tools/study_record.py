# SPDX-License-Identifier: Apache-2.0
"""What a study leaves behind: ``study.json`` with every run, ``tracks.json`` with the tracks."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import ros2_cosim
from ros2_cosim.kernel.errors import ConfigurationError

STUDY_FILE = "study.json"
TRACKS_FILE = "tracks.json"


@dataclass(frozen=True)
class StudyRun:
    """One run.

    ``mode`` is HDE (synchronised) or PRT (paced real time, not synchronised), ``purpose`` one
    of ``synchronised``, ``repetition``, ``sweep`` and ``beyond``. ``factor`` is the wanted
    real-time factor (None: as fast as possible), ``rtf`` the one reached. ``messages`` counts
    each message once per reader, as ``timing``, ``order`` and ``loss`` do. ``load`` is what the
    machine did when the run began (processes that want to run, mean of a minute). ``track``
    holds ``times`` [s] and ``way`` [m] of the ego vehicle.
    """

    mode: str
    purpose: str
    repetition: int
    factor: float | None
    timing: int
    order: int
    loss: int
    messages: int
    rtf: float
    wall_time_s: float
    trace_sha256: str
    late: int = 0
    early: int = 0
    max_lag_s: float | None = None
    kept_up: bool = True
    load: float | None = None
    readers: dict[str, dict[str, int]] = field(default_factory=dict)
    track: dict[str, list[float]] = field(default_factory=dict)

    def share(self, count: int) -> float:
        """A count as share of the messages."""
        return count / self.messages if self.messages else 0.0

    @property
    def violations(self) -> int:
        """All violations together."""
        return self.timing + self.order + self.loss


@dataclass
class Study:
    """All runs of a study.

    ``broke_at`` is the first factor that was not kept up with, ``reference_sha256`` the trace of
    the sequential reference of the kernel (shape ``inproc``).
    """

    scenario: str
    seed: int
    duration_s: float
    runs: list[StudyRun] = field(default_factory=list)
    broke_at: float | None = None
    complete: bool = False
    reference_sha256: str = ""

    @property
    def hde_is_clean(self) -> bool:
        """Whether the synchronised runs have no violation and the trace of the reference."""
        return all(
            run.violations == 0 and run.trace_sha256 == self.reference_sha256 for run in self.hde
        )

    @property
    def hde(self) -> list[StudyRun]:
        """The synchronised runs."""
        return [run for run in self.runs if run.mode == "HDE"]

    @property
    def repetitions(self) -> list[StudyRun]:
        """The runs without synchronisation at one factor."""
        return [run for run in self.runs if run.purpose == "repetition"]

    @property
    def sweep(self) -> list[StudyRun]:
        """The runs over the factor, those beyond the last one included."""
        return [run for run in self.runs if run.purpose in ("sweep", "beyond")]

    def save(self, output: Path) -> None:
        """Write both files; each is replaced in one go."""
        runs: list[dict[str, Any]] = []
        tracks = []
        for run in self.runs:
            entry = asdict(run)
            tracks.append(entry.pop("track"))
            entry["share"] = run.share(run.violations)
            runs.append(entry)
        content = {
            "study": "causality",
            "scenario": self.scenario,
            "seed": self.seed,
            "duration_s": self.duration_s,
            "complete": self.complete,
            "broke_at": self.broke_at,
            "reference_trace_sha256": self.reference_sha256,
            "versions": {"ros2_cosim": ros2_cosim.__version__, "python": platform.python_version()},
            "processors": os.cpu_count(),
            "runs": runs,
        }
        _replace(output / TRACKS_FILE, json.dumps(tracks, allow_nan=False))
        _replace(output / STUDY_FILE, json.dumps(content, allow_nan=False, indent=1))


def read_study(output: Path) -> Study:
    """Read a study again, for its report.

    :raises ConfigurationError: a file is missing, or not of a study
    """
    try:
        content = json.loads((output / STUDY_FILE).read_text(encoding="utf-8"))
        tracks = json.loads((output / TRACKS_FILE).read_text(encoding="utf-8"))
        runs = []
        for entry, track in zip(content["runs"], tracks, strict=True):
            entry.pop("share")
            runs.append(StudyRun(**entry, track=track))
        return Study(
            content["scenario"],
            content["seed"],
            content["duration_s"],
            runs,
            content["broke_at"],
            content["complete"],
            content["reference_trace_sha256"],
        )
    except OSError as error:
        raise ConfigurationError(f"{error.filename}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(f"{output}: not the output of a study ({error!r})") from None


def _replace(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)
