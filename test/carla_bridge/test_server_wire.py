# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the bridge says to a server and hears of it without the client, and no process beside it."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing

import msgpack
import pytest
from support.bridge_scenes import HIGHWAY
from support.patience import HANG_S

from ros2_cosim.core.kernel.exactmath import float32
from ros2_cosim.core.scene.simulator import Pose
from ros2_cosim.world.headless.maps import MapLibrary
from ros2_cosim.world.headless.outsiders import RUN_CLIENT
from ros2_cosim.world.headless.server import Server
from ros2_cosim.world.headless.server_wire import (
    ServerWire,
    Snapshot,
    Stream,
    Streams,
    WireError,
    contact_of,
    control_command,
    pose_command,
    velocity_command,
)
from ros2_cosim.world.headless.snapshot import pack_sensor_header

#: What the client 0.9.16 sends for these commands, taken from its connection.
BATCH_OF_THE_CLIENT = bytes.fromhex(
    "940001ab6170706c795f626174636893 91c3 93"
    "91920292029 7ca3e99999aca3dcccccdca00000000c2c2c200"
    "91920692029293ca3f800000ca40000000ca4040000093ca40800000ca40a00000ca40c00000"
    "91920892029 3ca3f800000ca40000000ca40400000"
    "c3".replace(" ", "")
)


@pytest.fixture
def server() -> Iterator[Server]:
    """A headless server in a thread of this process."""
    found = Server(MapLibrary([HIGHWAY]), "127.0.0.1", 0)
    thread = threading.Thread(target=found.run)
    thread.start()
    yield found
    found.stop()
    thread.join()
    found.close()


@pytest.fixture
def wire(server: Server) -> Iterator[ServerWire]:
    with closing(ServerWire("127.0.0.1", server.port, 30.0)) as found:
        yield found


def synchronous(wire: ServerWire) -> None:
    settings = wire.call("get_episode_settings")
    settings[0], settings[2] = True, [True, 0.01]
    wire.call("set_episode_settings", settings)


def spawned(wire: ServerWire, blueprint: str, *place: float) -> int:
    transform = [[*place], [0.0, 0.0, 0.0]]
    number: int = wire.call("spawn_actor", [1, blueprint, []], transform)[0]
    return number


def stream_pair() -> tuple[Stream, socket.socket]:
    ours, theirs = socket.socketpair()
    return Stream(ours), theirs


def framed(payload: bytes, frame: int = 1) -> bytes:
    message = pack_sensor_header(0, frame, 0.0) + payload
    return struct.pack("<I", len(message)) + message


def test_a_batch_has_the_bytes_of_the_client() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        wire = ServerWire(*listener.getsockname(), 5.0)
        there, _ = listener.accept()
        pose = Pose(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
        commands = [
            control_command(2, 0.3, 0.1, 0.0),
            pose_command(2, pose),
            velocity_command(2, (1.0, 2.0, 3.0)),
        ]
        wire.post("apply_batch", commands, True)
        with there:
            assert there.recv(4096) == BATCH_OF_THE_CLIENT
        wire.close()


def test_only_the_client_of_a_run_gets_no_answers_that_nothing_waits_for(server: Server) -> None:
    for begins, answered in (([], [2, 3]), ([RUN_CLIENT, [False], 1], [1, 3])):
        calls = [[2, "apply_batch", [True], [], False], [3, "version", [False]]]
        with socket.create_connection(("127.0.0.1", server.port), HANG_S) as link:
            for number, method, flag, *rest in ([1, *begins], *calls) if begins else calls:
                link.sendall(msgpack.packb([0, number, method, [flag, *rest]]))
            answers = msgpack.Unpacker()
            found: list[int] = []
            while not found or found[-1] != 3:
                answers.feed(link.recv(4096))
                found += [answer[1] for answer in answers]
        assert found == answered


def test_snapshots_bring_the_numbers_of_the_world(server: Server, wire: ServerWire) -> None:
    with closing(wire.world_stream()) as snapshots:
        synchronous(wire)
        car = spawned(wire, "vehicle.lincoln.mkz_2020", 700.0, 5.25, 1.0)
        box = spawned(wire, "static.prop.box01", 720.0, 5.25, 1.0)
        frame = wire.call("tick_cue")
        while (message := snapshots.wait()) is None or message.frame < frame:
            pass  # those of the free run
        places: dict[int, int] = {}
        assert Snapshot(message, places).frame == frame
        for number in range(100):
            commands = [control_command(car, 0.1 * (number % 7), 0.01, 0.0)]
            if number == 50:
                commands.append(pose_command(car, Pose(710.0, 5.25, 0.1, 0.0, 1.0, 0.0)))
                commands.append(velocity_command(car, (20.0, 0.5, 0.0)))
            wire.post("apply_batch", commands, True)
            message = snapshots.wait()
            assert message is not None and message.frame == frame + number + 1
            snapshot = Snapshot(message, places)
            assert {car, box} <= set(snapshot.actors())
            for actor in (car, box):
                motion = snapshot.motion(actor)
                # The world rests until the next call, so that it may be read from here.
                pose, *rest = server.simulation.world.state(actor)
                assert motion is not None
                assert motion.pose == (*pose.location, *pose.rotation)
                assert [*motion[1:]] == rest
            assert snapshot.motion(99) is None
        # What nothing waited for has not piled up before the answer that something waits for.
        assert wire.call("get_episode_info")[0] == server.simulation.world.episode
        wire.call("destroy_actor", car)
        wire.call("tick_cue")
        message = snapshots.wait()
        assert message is not None
        later = Snapshot(message, places)
        assert later.motion(car) is None and later.motion(box) is not None


def test_contacts_come_before_the_snapshot_of_the_next_tick(wire: ServerWire) -> None:
    with closing(wire.world_stream()) as snapshots, closing(Streams()) as felt:
        synchronous(wire)
        car = spawned(wire, "vehicle.lincoln.mkz_2020", 700.0, 5.25, 0.5)
        wall = spawned(wire, "static.prop.streetbarrier", 706.0, 5.25, 0.5)
        origin = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        sensor = wire.call(
            "spawn_actor_with_parent", [2, "sensor.other.collision", []], origin, car, 0, ""
        )[0]
        stream = wire.sensor_stream(sensor)
        felt.add(stream)
        frame = wire.call("tick_cue")
        while (message := snapshots.wait()) is None or message.frame < frame:
            pass
        wire.post("apply_batch", [velocity_command(car, (20.0, 0.0, 0.0))], False)
        contacts = []
        for number in range(1, 60):
            wire.post("apply_batch", [], True)
            assert snapshots.wait() is not None
            for source, found in felt.arrived():
                assert source is stream
                contacts.append(found)
                # At the latest when the next snapshot is there.
                assert number - 1 <= found.frame - frame <= number
        assert contacts
        other, impulse = contact_of(contacts[0])
        assert other == wall and max(map(abs, impulse)) > 1.0
        assert impulse == tuple(map(float32, impulse))


def test_a_call_that_is_refused(wire: ServerWire) -> None:
    with pytest.raises(WireError, match="^spawn_actor: .*vehicle.horse.cart"):
        spawned(wire, "vehicle.horse.cart", 700.0, 5.25, 1.0)
    with pytest.raises(WireError, match="unknown method 'make_coffee'"):
        wire.call("make_coffee")
    with pytest.raises(WireError, match="actor 99 has no stream"):
        wire.sensor_stream(99)


def test_messages_in_pieces_and_several_at_once() -> None:
    stream, there = stream_pair()
    with closing(stream), there:
        assert stream.arrived() is None
        assert stream.wait() is None  # nothing within the time after which a reader looks around
        first, second, third = framed(b"abc", 5), framed(b"", 6), framed(b"d" * 1000, 7)
        there.sendall(first[:2])
        assert stream.arrived() is None
        there.sendall(first[2:40])
        assert stream.arrived() is None
        there.sendall(first[40:] + second + third[:-1])
        found = stream.wait()
        assert found is not None and (found.frame, found.data[48:]) == (5, b"abc")
        found = stream.arrived()
        assert found is not None and (found.frame, found.data[48:]) == (6, b"")
        assert stream.arrived() is None
        there.sendall(third[-1:])
        found = stream.wait()
        assert found is not None and found.data[48:] == b"d" * 1000


def test_a_stream_that_ends_or_is_none() -> None:
    stream, there = stream_pair()
    there.sendall(framed(b"last"))
    there.close()
    with closing(stream):
        assert stream.wait() is not None
        with pytest.raises(WireError, match="a stream has ended"):
            stream.wait()
    stream, there = stream_pair()
    with closing(stream), there:
        there.sendall(struct.pack("<I", 3) + b"abc")
        with pytest.raises(WireError, match="3 bytes without a head"):
            stream.wait()


def test_no_server_and_no_answer() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        place = listener.getsockname()
        with closing(ServerWire(*place, 0.05)) as wire:
            with pytest.raises(WireError, match="time-out: no answer to version"):
                wire.call("version")
            there, _ = listener.accept()
            there.close()
            with pytest.raises(WireError):
                wire.call("version")
    with pytest.raises(WireError, match=f"no connection to 127.0.0.1:{place[1]}"):
        ServerWire(*place, 0.05)


def test_a_contact_with_scenery() -> None:
    """Its numbers are those of a client, whatever a server writes."""
    stream, there = stream_pair()
    with closing(stream), there:
        actor = [7, 0, [1, b"\xff", []]]
        there.sendall(framed(msgpack.packb([actor, [0, 0], [0.1, 0.2, -0.3]])))
        found = stream.wait()
        assert found is not None
        assert contact_of(found) == (0, (float32(0.1), float32(0.2), float32(-0.3)))


@pytest.mark.parametrize(
    "answer",
    [
        b"\xff" * 10,
        msgpack.packb(7),
        msgpack.packb([1, 1]),
        msgpack.packb([1, 1, None, [[True, [[24, 0, "vehicle"]]]]]),
        msgpack.packb([1, 1, None, [[True, 5]]]),
    ],
)
def test_answers_that_are_none_of_carla_are_one_line(answer: bytes) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        wire = ServerWire(*listener.getsockname(), 5.0)
        there, _ = listener.accept()
        with there, closing(wire), pytest.raises(WireError) as refused:
            there.sendall(answer)
            there.shutdown(socket.SHUT_WR)
            wire.actors([24])
    assert "not of CARLA's protocol" in str(refused.value)


def test_what_a_server_says_of_a_refusal_stays_one_line() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        wire = ServerWire(*listener.getsockname(), 5.0)
        there, _ = listener.accept()
        with there, closing(wire), pytest.raises(WireError) as refused:
            there.sendall(msgpack.packb([1, 1, None, [[False, ["no\n\x1b[2J"]]]]))
            wire.call("get_episode_info")
    assert str(refused.value) == "get_episode_info: no \\x1b[2J"


def test_messages_of_a_stream_that_are_none_are_refused() -> None:
    stream, there = stream_pair()
    with closing(stream), there:
        there.sendall(struct.pack("<I", 0xFFFF_FFFF))
        with pytest.raises(WireError, match="announced a message of 4294967299 bytes"):
            stream.wait()
    stream, there = stream_pair()
    with closing(stream), there:
        there.sendall(framed(bytes(36 + 119)) + framed(bytes(36 + 118)))
        first, second = stream.wait(), stream.wait()
    assert first is not None and second is not None
    assert Snapshot(first, {}).actors() == [0]
    with pytest.raises(WireError, match="allowed are 84 and 119 for each actor"):
        Snapshot(second, {})
    with pytest.raises(WireError, match="a contact: found bytes"):
        contact_of(first)


def test_a_throttle_below_zero_is_the_reverse_gear() -> None:
    pressed = control_command(7, -0.5, 0.25, 0.0)
    ((_, (actor, control)),) = pressed
    assert (actor, control) == (7, [0.5, 0.25, 0.0, False, True, False, 0])
    ((_, (_, forward)),) = control_command(7, 0.5, 0.25, 0.0)
    assert forward == [0.5, 0.25, 0.0, False, False, False, 0]
