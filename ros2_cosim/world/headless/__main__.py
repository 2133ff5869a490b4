# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Command line of the headless server: ``python -m ros2_cosim.world.headless``."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.core.process.memory import collect_less_often
from ros2_cosim.world.headless.limits import DEFAULT_RATE_HZ, MAX_RATE_HZ, MAX_SEED, MIN_RATE_HZ

if TYPE_CHECKING:
    from ros2_cosim.world.headless.sensing.path_loss import RadioFactory
    from ros2_cosim.world.headless.sensor_topics import Open
    from ros2_cosim.world.headless.server import Server

    WorldPage = Callable[[Server, int], AbstractContextManager[str]]


class SceneryChoice(StrEnum):
    """Whether a map has scenery that it does not name, and how finely pictures show it."""

    FULL = "full"
    PLAIN = "plain"
    NONE = "none"


_logger = logging.getLogger(__name__)


def _print_ready(text: str) -> None:
    print(text, flush=True)


def _print_error(text: str) -> None:
    print(f"carla-headless: {text}", file=sys.stderr)


def _in_order(number: int) -> int:
    return 0


def make_command(
    on_ready: Callable[[str], None] = _print_ready,
    on_error: Callable[[str], None] = _print_error,
    on_signal: Callable[[int], int] = _in_order,
    page: WorldPage | None = None,
    topics: Open | None = None,
    radio: RadioFactory | None = None,
    look_ahead: bool = False,
) -> Callable[..., None]:
    """The command as a function for typer.

    :param look_ahead: what cameras and rays see of a map is made before the server is ready, not
        when the first client looks
    :param page: shows the world of the server at a port of the loopback address while its block
        runs, and gives its address; None: there is no page
    :param topics: makes what publishes sensors that clients enable for ROS 2; None: nothing does
    :param radio: makes the channels of V2X sensors that want the project's own; None: nothing does
    :param on_ready: called with one line when clients can connect, and one for the page
    :param on_error: called with one line when the server cannot start
    :param on_signal: called with the number of the signal that has ended the server; gives the exit
        code
    """

    def carla_headless(
        maps: Annotated[
            list[Path] | None,
            typer.Option(
                "--map",
                metavar="FILE.xodr",
                help="OpenDRIVE map, loaded at the start (may be repeated to offer more maps), "
                "or a directory of maps. Without it: the maps of this package, the town first.",
            ),
        ] = None,
        town_names: Annotated[
            bool,
            typer.Option(
                "--town-names",
                help="Offer the first map also under the names of those towns of CARLA that have "
                "no file here, for programs that load such a town.",
            ),
        ] = False,
        scenery: Annotated[
            SceneryChoice,
            typer.Option(
                help="full: sensors see houses, plants, kerbs and rails that are made from the "
                "map; plain: pictures lack shadows and grain, and take half the time; none: "
                "sensors see only what the map itself has."
            ),
        ] = SceneryChoice.FULL,
        port: Annotated[
            str,
            typer.Option(
                metavar="[HOST:]PORT",
                help="Port to listen at for RPC, of 127.0.0.1 unless a host is given. Streaming "
                "takes the next port, and the one after it is held, as CARLA does. 0: any free.",
            ),
        ] = "2000",
        seed: Annotated[
            int,
            typer.Option(
                min=0,
                max=MAX_SEED,
                help="Seed of the noise of sensors whose noise_seed a client leaves at 0.",
            ),
        ] = 0,
        rate: Annotated[
            float,
            typer.Option(
                min=MIN_RATE_HZ,
                max=MAX_RATE_HZ,
                metavar="HZ",
                help="Steps per second while no client has set fixed_delta_seconds.",
            ),
        ] = DEFAULT_RATE_HZ,
        view: Annotated[
            int | None,
            typer.Option(
                min=0,
                max=65535,
                metavar="PORT",
                help="Show the world in a browser at this port of the loopback address: roads, "
                "lights, actors, fields of view, debug shapes, cameras (0: any free one).",
            ),
        ] = None,
    ) -> None:
        """Start a server that speaks the CARLA 0.9.16 client protocol, without graphics."""
        # Imported late: the command line `cosim` shows this command without loading a simulator.
        from ros2_cosim.core.kernel.address import Address
        from ros2_cosim.world.headless.maps import MapLibrary, own_maps
        from ros2_cosim.world.headless.server import Server

        logging.basicConfig(level=logging.WARNING, format="carla-headless: %(message)s")
        if view is not None and page is None:
            on_error("--view: found without a page to show; allowed is only cosim carla-headless")
            raise typer.Exit(1)
        try:
            place = Address.of(port, "--port", highest=65533)
            library = MapLibrary(maps or own_maps(), town_names=town_names)
            server = Server(
                library,
                *place,
                seed=seed,
                rate_hz=rate,
                has_scenery=scenery is not SceneryChoice.NONE,
                is_plain=scenery is not SceneryChoice.FULL,
            )
        except CosimError as error:
            on_error(str(error))
            raise typer.Exit(1) from None
        if library.stood_in_for:
            others = ", ".join(library.stood_in_for)
            _logger.warning("%s is also offered as %s", library.first(), others)
        server.simulation.ros.open = topics
        server.simulation.sensors.radio = radio
        signals: list[int] = []
        try:
            with ExitStack() as stack:
                stack.callback(server.simulation.ros.close)
                stack.enter_context(server.stopping_on_signals(signals.append))
                if look_ahead:
                    server.simulation.look_ahead()
                shown = None
                if view is not None and page is not None:
                    shown = stack.enter_context(page(server, view))
                on_ready(f"listening on {place.host}:{server.port}")
                if shown is not None:
                    on_ready(f"world at {shown}")
                server.run()
        except CosimError as error:
            on_error(str(error))
            raise typer.Exit(1) from None
        finally:
            server.close()
        if signals and (code := on_signal(signals[0])):
            raise typer.Exit(code)

    return carla_headless


carla_headless = make_command()


def run(
    on_ready: Callable[[str], None] = _print_ready,
    on_error: Callable[[str], None] = _print_error,
    on_signal: Callable[[int], int] = _in_order,
) -> None:
    """Run the command; ends the process with its exit code. For the parameters see above."""
    app = typer.Typer(name="carla-headless", add_completion=False, pretty_exceptions_enable=False)
    app.command()(make_command(on_ready, on_error, on_signal))
    app()


def main() -> None:
    """Run the command from the command line."""
    collect_less_often()
    run()


if __name__ == "__main__":
    main()
