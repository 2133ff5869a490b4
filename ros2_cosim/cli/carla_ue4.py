# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""``CarlaUE4.sh``: ``cosim carla-headless`` with the command line of CARLA's own server.

Programs that start the server themselves find it by this name. CARLA's options are those that its
``CarlaSettings.cpp`` reads; as the engine does, this ignores the other words that it does not know.
From the first word on that begins with two dashes and is none of CARLA's, all are those of ``cosim
carla-headless``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ros2_cosim.core.kernel.errors import ConfigurationError

#: Where CARLA keeps the roads of its towns, below its directory.
ROADS: Final = Path("CarlaUE4", "Content", "Carla", "Maps", "OpenDrive")
#: The directory of CARLA that programs know.
ROOT_VARIABLE: Final = "CARLA_ROOT"
#: CARLA starts with this town.
_FIRST: Final = "Town10HD"
_PROCESS: Final = ("CarlaUE4-Linux-Shipping", "CarlaUE4")

_PORT: Final = ("-carla-rpc-port", "-carla-port", "-world-port", "-carla-world-port")
_STREAMS: Final = "-carla-streaming-port"
_FPS: Final = "-fps"
_BENCHMARK: Final = "-benchmark"
_SECONDARY: Final = "-carla-primary-host"
_QUALITY: Final = "-quality-level"
#: Words about graphics and sound, and what is always so here.
_KNOWN: Final = frozenset(
    (
        "-carla-no-hud", "-carla-primary-port", "-carla-secondary-port", "-carla-server",
        "-dx11", "-dx12", "-fullscreen", "-graphicsadapter", "-no-rendering", "-nosound",
        "-nullrhi", "-opengl", "-opengl3", "-opengl4", "-prefernvidia",
        "-renderoffscreen", "-resx", "-resy", "-ros2", "-vulkan", "-windowed",
    )
)  # fmt: skip


class Translation(NamedTuple):
    """The words of ``cosim carla-headless``, and what is ignored."""

    words: list[str]
    ignored: list[str]


def translate(given: Sequence[str], places: Sequence[Path]) -> Translation:
    """What CARLA's words mean here.

    :param places: directories that may be those of CARLA
    :raises ConfigurationError: a value is wrong, there is no such map, or a secondary server is
        wanted
    """
    own = next((n for n, w in enumerate(given) if _is_own(w)), len(given))
    passed = list(given[own:])
    words: list[str] = []
    ignored: list[str] = []
    port = rate = None
    is_benchmark = False
    town = ""
    for word in given[:own]:
        name, value = _name_of(word), word.partition("=")[2]
        if name in _PORT:
            port = _whole(word, value)
        elif name == _FPS:
            rate = _whole(word, value)
        elif name == _BENCHMARK:
            is_benchmark = True
        elif name == _SECONDARY:
            raise ConfigurationError(
                f"found {word}; this server renders by itself: it has no secondary servers"
            )
        elif name == _QUALITY:
            words += ["--scenery", "plain"] if value.lower() == "low" else []
        elif name == _STREAMS:
            if _whole(word, value) not in (0, (port or 2000) + 1):
                ignored.append(word)  # the server tells clients where streams are
        elif not word.startswith("-"):
            town = word.rpartition("/")[2] if word != _PROCESS[1] else town
        elif name not in _KNOWN:
            ignored.append(word)
    if port is not None:
        words += ["--port", str(port)]
    if rate is not None and is_benchmark:
        words += ["--rate", str(rate)]
    if "--map" not in passed:
        words += _maps(town, places, "--town-names" in passed)
    return Translation([*words, *passed], ignored)


def _name_of(word: str) -> str:
    """The name of an option as CARLA finds it: small letters, and more dashes are one."""
    name = word.partition("=")[0].lower()
    return f"-{name.lstrip('-')}" if name.startswith("-") else name


def _is_own(word: str) -> bool:
    """Whether a word is one of ``cosim carla-headless``."""
    known = {*_PORT, _STREAMS, _FPS, _BENCHMARK, _SECONDARY, _QUALITY, *_KNOWN}
    return word.startswith("--") and _name_of(word) not in known


def _whole(word: str, value: str) -> int:
    if not value.isdecimal():
        raise ConfigurationError(f"found {word}; allowed is a whole number behind '='")
    return int(value)


def _maps(town: str, places: Sequence[Path], has_aliases: bool) -> list[str]:
    """The options for the roads of CARLA's towns, or for a map of this package."""
    from ros2_cosim.world.headless.maps import own_maps

    directory = next((p / ROADS for p in places if any((p / ROADS).glob("*.xodr"))), None)
    files = own_maps() if directory is None else sorted(directory.glob("*.xodr"))
    by_name = {path.stem: path for path in files}
    wanted = town.removesuffix("_Opt") or _FIRST
    if wanted in by_name:
        first = [by_name[wanted]]
    elif town and not has_aliases:
        raise ConfigurationError(f"map not found: '{town}'; there are {', '.join(by_name)}")
    else:
        first = []
    if directory is None and not first:
        return []
    return [word for path in (*first, directory or files[0]) for word in ("--map", str(path))]


def main() -> None:
    """Run the server; ends the process with its exit code."""
    from setproctitle import setproctitle

    from ros2_cosim.cli.console import EXIT_ERROR
    from ros2_cosim.cli.main import main as cosim

    here = Path(sys.argv[0]).absolute().parent
    # The directory of CARLA, or the one of its programs below that.
    places = [here, *here.parents[:3], *map(Path, filter(None, [os.environ.get(ROOT_VARIABLE)]))]
    try:
        words, ignored = translate(sys.argv[1:], places)
    except ConfigurationError as error:
        print(f"CarlaUE4.sh: {error}", file=sys.stderr)
        sys.exit(EXIT_ERROR)
    if ignored:
        print(f"CarlaUE4.sh: ignored: {' '.join(ignored)}", file=sys.stderr)
    # Programs look for it, or end it, by this name.
    setproctitle(" ".join((*_PROCESS, *sys.argv[1:])))
    cosim(["carla-headless", *words], "CarlaUE4.sh")


if __name__ == "__main__":
    main()
