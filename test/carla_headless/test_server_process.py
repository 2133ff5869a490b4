# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The server as a process: start, signals, ports in use, its parent's end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import carla
import pytest
from support.headless_process import HIGHWAY, start_server
from support.ports import three_free_ports

_MODULE = [sys.executable, "-m", "ros2_cosim.world.headless"]


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*_MODULE, *arguments], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_the_server_cleanly(number: signal.Signals) -> None:
    process, port = start_server()
    with socket.create_connection(("127.0.0.1", port)):
        process.send_signal(number)
        _, messages = process.communicate(timeout=60)
    assert process.returncode == 0
    assert messages == ""
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1)


def test_port_in_use_is_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = _run("--port", str(port), "--map", str(HIGHWAY))
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert str(port) in result.stderr and "in use" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--port", "65534"), "--port: found '65534'; allowed is [HOST:]PORT"),
        (("--port", "0", "--map", "missing.xodr"), "map missing.xodr: No such file or directory"),
        (
            ("--port", "0", "--map", str(Path(__file__).parent)),
            "found a directory without .xodr files",
        ),
        (("--port", "203.0.113.1:0", "--map", str(HIGHWAY)), "cannot listen at"),
    ],
)
def test_wrong_arguments_are_one_clear_line(arguments: tuple[str, ...], expected: str) -> None:
    result = _run(*arguments)
    assert result.returncode == 1
    assert expected in result.stderr
    assert result.stderr.count("\n") == 1


# Each wrong word and each program occur: both programs read words by the same function.
@pytest.mark.parametrize(
    ("module", "words", "expected"),
    [
        ("ros2_cosim.world.headless", "--rate x", "Invalid value for '--rate'"),
        ("ros2_cosim.ros.programs.carla_headless", "--seed x", "Invalid value for '--seed'"),
        ("ros2_cosim.ros.programs.carla_headless", "--prot 0", "No such option: --prot"),
    ],
)
def test_wrong_use_ends_with_code_2(module: str, words: str, expected: str) -> None:
    result = subprocess.run(
        [sys.executable, "-m", module, *words.split(), "--map", str(HIGHWAY)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
    )
    assert result.returncode == 2
    assert expected in result.stderr
    assert "Traceback" not in result.stderr and result.stdout == ""


def test_help_shows_every_option() -> None:
    result = _run("--help")
    assert result.returncode == 0
    for option in ("--port", "--map", "--seed", "--view"):
        assert option in result.stdout


def test_wrong_map_file_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "town.xodr"
    path.write_text("<OpenDRIVE><road/></OpenDRIVE>")
    result = _run("--port", "0", "--map", str(path))
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1


def test_without_arguments_the_town_is_served() -> None:
    process = subprocess.Popen(
        [*_MODULE, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    port = int(process.stdout.readline().rsplit(":", 1)[1])
    try:
        client = carla.Client("127.0.0.1", port)
        client.set_timeout(60.0)
        assert client.get_world().get_map().name == "Carla/Maps/town"
        assert len(client.get_world().get_map().get_spawn_points()) >= 100
        names = [name.rsplit("/", 1)[1] for name in client.get_available_maps()]
        assert names == ["circuit", "highway", "town"]
    finally:
        process.terminate()
        _, messages = process.communicate(timeout=60)
    assert (process.returncode, messages) == (0, "")


def test_three_ports_and_the_rate_of_free_running() -> None:
    port = three_free_ports()
    arguments = ["--port", str(port), "--rate", "50", "--seed", "7", "--map", str(HIGHWAY)]
    process = subprocess.Popen(
        [*_MODULE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == f"listening on 127.0.0.1:{port}\n"
    # Nothing speaks on the third port, and what is sent there disturbs nothing.
    with socket.create_connection(("127.0.0.1", port + 2)) as secondary:
        secondary.sendall(b"\0" * 1000)
        client = carla.Client("127.0.0.1", port)
        client.set_timeout(60.0)
        assert client.get_world().wait_for_tick().delta_seconds == pytest.approx(0.02)
        model = client.get_world().get_blueprint_library().find("sensor.other.imu")
        for chosen, used in (("0", "7"), ("3", "3")):
            model.set_attribute("noise_seed", chosen)
            sensor = client.get_world().spawn_actor(model, carla.Transform())
            assert sensor.attributes["noise_seed"] == used
            sensor.destroy()
        settings = client.get_world().get_settings()
        settings.fixed_delta_seconds = 0.1
        client.get_world().apply_settings(settings)
        assert client.get_world().wait_for_tick().delta_seconds == pytest.approx(0.1)
    process.terminate()
    _, messages = process.communicate(timeout=60)
    assert (process.returncode, messages) == (0, "")


def test_the_third_port_in_use_is_one_clear_line() -> None:
    port = three_free_ports()
    with socket.create_server(("127.0.0.1", port + 2)):
        result = _run("--port", str(port), "--map", str(HIGHWAY))
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert f"ports {port} to {port + 2}" in result.stderr and "in use" in result.stderr


@pytest.mark.parametrize("option", [("--rate", "0"), ("--rate", "nan"), ("--seed", "-1")])
def test_rate_and_seed_have_limits(option: tuple[str, str]) -> None:
    result = _run("--port", "0", *option)
    assert result.returncode == 2
    assert f"Invalid value for '{option[0]}'" in result.stderr


def test_programs_that_load_one_of_carlas_towns_find_it(tmp_path: Path) -> None:
    (tmp_path / "Town07.xodr").write_text(
        HIGHWAY.with_name("circuit.xodr").read_text(encoding="utf-8"), encoding="utf-8"
    )
    process, port = start_server("--map", str(tmp_path), "--town-names")
    try:
        client = carla.Client("127.0.0.1", port)
        client.set_timeout(60.0)
        highway = client.get_world().get_map().to_opendrive()
        assert "/Game/Carla/Maps/Town03_Opt" in client.get_available_maps()
        stand_in = client.load_world("Town03").get_map()
        assert stand_in.name == "Carla/Maps/Town03" and stand_in.to_opendrive() == highway
        own = client.load_world("Town07_Opt").get_map()
        assert own.name == "Carla/Maps/Town07_Opt" and own.to_opendrive() != highway
    finally:
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=60)
    assert "highway is also offered as Town01, Town02" in messages and "Town07" not in messages
