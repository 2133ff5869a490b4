# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""A CARLA server, real or headless, through the ``carla`` client package.

Contacts come from one socket per sensor, snapshots from another: nothing in the protocol says when
the last contact of a tick has arrived. They are therefore attributed to the tick whose frame number
they carry, and handed out a fixed number of ticks later. With the headless server that is always
enough: it sends the contacts of a tick before the snapshot of the next one. If a contact is late
all the same (a real CARLA sends with several threads), the run ends with an error instead of
another result.

In a step the client sends one call, the controls of all vehicles with the request for the tick, and
waits for one message, the snapshot: the answer to the call, on another connection, says nothing
more. These, and contacts, are written and read without the client (``server_wire``), which would
pass each of them through its own threads. The client loads the map, spawns actors and listens to
sensors. Once nothing has needed it for a while it is let go: as long as it is there the server
sends it every snapshot, too.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from queue import Empty, SimpleQueue
from typing import Any

from ros2_cosim.core.documents.files import cause_of
from ros2_cosim.core.kernel.errors import (
    CausalityError,
    ConfigurationError,
    ConnectionFailedError,
    RunError,
)
from ros2_cosim.core.scene.sensors import Fix, Inertia, Measurement, Payload, SensorForm, form_of
from ros2_cosim.core.scene.simulator import (
    CLASS_STEERING,
    CONTACT_DELAY_TICKS,
    SIZE,
    STEERING,
    Body,
    Contact,
    MapChoice,
    Motion,
    Pose,
    SensorMount,
    Size,
    Stranger,
)
from ros2_cosim.world.carla.weather import WEATHER
from ros2_cosim.world.headless.outsiders import RUN_CLIENT
from ros2_cosim.world.headless.server_wire import (
    LOOK_PERIOD_S,
    CallRefused,
    Command,
    ServerWire,
    Snapshot,
    Stream,
    Streams,
    WireError,
    contact_of,
    control_command,
    hold_command,
    pose_command,
    velocity_command,
)

CONNECT_TIMEOUT_S = 5.0
CALL_TIMEOUT_S = 60.0
"""Longest wait for a server that is still there: loading a large map takes a CARLA this long."""

_CHECK_PERIOD_S = 2.0  # without an answer for this long, look whether the server is still there
_END_S = 2.0  # a server that ends closes its connections one after the other, but within this time
_IDLE_TICKS = 200
"""After so many ticks without need of the client it is let go: a scene needs fewer to settle."""
_logger = logging.getLogger(__name__)


class ClientWorld:
    """``Simulator`` on a CARLA server at ``host``:``port``."""

    def __init__(
        self, host: str = "127.0.0.1", port: int = 2000, timeout_s: float = CONNECT_TIMEOUT_S
    ) -> None:
        """Nothing is connected before ``prepare``.

        :param timeout_s: how long to wait for the server to answer at all
        :raises ConfigurationError: the ``carla`` package is not installed
        """
        try:
            import carla
        except ImportError as error:
            raise ConfigurationError(
                f"the 'carla' package 0.9.16 is needed to talk to CARLA ({error})"
            ) from None
        self._carla: Any = carla
        self._host = host
        self._port = port
        self._timeout_s = timeout_s
        self._client: Any = None
        self._world: Any = None
        self._wire: ServerWire | None = None
        self._snapshots: Stream | None = None
        self._snapshot: Snapshot | None = None
        self._places: dict[int, int] = {}  # of the actors in a snapshot
        self._old_settings: Any = None
        self._witness: socket.socket | None = None  # idle: closed when the server ends
        self._commands: list[Command] = []  # leave with the next tick
        self._actors: list[int] = []
        self._sensors: list[Any] = []  # that the client listens to
        #: Actor -> its sensor of contacts, which the client does not hear.
        self._feelers: dict[int, int] = {}
        #: Actor that has gone -> tick after which its sensor goes, too.
        self._ending: dict[int, int] = {}
        self._idle_ticks = 0
        self._felt = Streams()
        self._feels: dict[Stream, int] = {}  # which vehicle's contacts a stream has
        #: Body of each actor that is not ours, None if it is not a vehicle.
        self._strangers: dict[int, Body | None] = {}
        #: Actors of traffic lights; None: not asked for yet.
        self._lights: list[int] | None = None
        self._first_frame = 0
        #: Whether the server knows which process this is.
        self._is_known = False
        self._ticks = 0
        self._reported = 0
        self._arrived: list[tuple[int, Contact]] = []  # (frame, contact without tick)
        self._measured: dict[int, SimpleQueue[tuple[int, Measurement]]] = {}

    def prepare(self, chosen: MapChoice, weather: str, step_s: float) -> None:
        """Connect, load the map, set weather and synchronous mode."""
        carla = self._carla
        self._connect()
        client = self._client
        try:
            if chosen.opendrive:
                parameters = carla.OpendriveGenerationParameters()
                self._world = self._long_call(
                    lambda: client.generate_opendrive_world(chosen.opendrive, parameters, True)
                )
            else:
                self._require_map(chosen.name)
                self._world = self._long_call(lambda: client.load_world(chosen.name))
            self._wire = ServerWire(self._host, self._port, CALL_TIMEOUT_S)
            self._old_settings = self._wire.call("get_episode_settings")
            settings = self._world.get_settings()
            settings.synchronous_mode = True
            settings.fixed_delta_seconds = step_s
            self._world.set_weather(carla.WeatherParameters(*WEATHER[weather]))
            self._snapshots = self._wire.world_stream()
            self._world.apply_settings(settings)
            self._await_first()
            client.set_timeout(_CHECK_PERIOD_S)
        except RuntimeError as error:
            raise self._failure("cannot set up the world", error) from None

    def opendrive(self) -> str:
        """OpenDRIVE text of the running map."""
        try:
            text: str = self._world.get_map().to_opendrive()
        except RuntimeError as error:
            raise self._failure("cannot read the map", error) from None
        return text

    def spawn(self, blueprint: str, role: str, pose: Pose) -> tuple[int, Body]:
        """Spawn an actor; a vehicle gets a collision sensor."""
        return self.spawn_sized(blueprint, role, pose, Size())

    def spawn_sized(self, blueprint: str, role: str, pose: Pose, size: Size) -> tuple[int, Body]:
        """Spawn an actor, of a size if the server can: CARLA itself cannot."""
        carla = self._carla
        try:
            world = self._world_of_client()
            library = world.get_blueprint_library()
            found = [entry for entry in library if entry.id == blueprint]
            if not found:
                raise ConfigurationError(
                    f"{role}: cannot spawn {blueprint}: the simulator has no such blueprint"
                )
            if found[0].has_attribute("role_name"):
                found[0].set_attribute("role_name", role)
            if found[0].has_attribute(STEERING):
                found[0].set_attribute(STEERING, CLASS_STEERING)
            if size != Size() and found[0].has_attribute(SIZE):
                found[0].set_attribute(SIZE, size.text())
            actor = world.spawn_actor(found[0], self._transform(pose))
            self._actors.append(actor.id)
            if blueprint.startswith("vehicle."):
                sensor = world.spawn_actor(
                    library.find("sensor.other.collision"), carla.Transform(), attach_to=actor
                )
                self._feelers[actor.id] = sensor.id
                self._listen(actor.id, sensor.id)
            box = actor.bounding_box
        except RuntimeError as error:
            if "timeout" in str(error) or "time-out" in str(error):
                raise self._failure(f"cannot spawn {blueprint}", error) from None
            raise ConfigurationError(f"{role}: cannot spawn {blueprint}: {error}") from None
        return actor.id, Body(_triple(box.location), _triple(box.extent))

    def destroy(self, actor: int) -> None:
        """Remove an actor now; its sensor of contacts once all that it felt has been reported."""
        self._remove(actor)
        self._actors.remove(actor)
        if actor in self._feelers:
            self._ending[actor] = self._ticks + CONTACT_DELAY_TICKS

    def place(self, actor: int, pose: Pose, velocity: tuple[float, float, float]) -> None:
        """Teleport with a velocity, with the next tick."""
        self._commands.append(pose_command(actor, pose))
        self._commands.append(velocity_command(actor, velocity))

    def hold(self, actor: int) -> None:
        """Switch the physics of an actor off, with the next tick."""
        self._commands.append(hold_command(actor))

    def control(self, actor: int, throttle: float, steer: float, brake: float) -> None:
        """Set controls for the next tick, with which they are sent."""
        self._commands.append(control_command(actor, throttle, steer, brake))

    def tick(self) -> None:
        """Advance by one step.

        :raises CausalityError: the world has also advanced otherwise, in this step or the last one
        """
        first = self._ticks == 0
        wire, snapshots = self._prepared()
        commands, self._commands = self._commands, []
        try:
            if not first and (early := snapshots.arrived()) is not None:
                raise self._advanced_otherwise(early.frame)
            wire.post("apply_batch", commands, not first)
            if first:
                self._first_frame = wire.call("tick_cue")
                if self._is_known:
                    wire.call(RUN_CLIENT, os.getpid())
            expected = self._first_frame + self._ticks
            self._snapshot = snapshot = self._await_snapshot(snapshots, expected)
            self._feel()
            if self._ending:
                self._end_feelers()
        except WireError as error:
            raise self._failure("no answer to a tick", error) from None
        self._ticks += 1
        self._idle_ticks += 1
        if self._idle_ticks == _IDLE_TICKS and not self._sensors:
            self._world = self._client = None
        if snapshot.frame != expected:
            raise self._advanced_otherwise(snapshot.frame)

    def motion(self, actor: int) -> Motion:
        """State of an actor in the snapshot of the last tick."""
        assert self._snapshot is not None
        found = self._snapshot.motion(actor)
        if found is None:
            raise RunError(f"{self._where}: actor {actor} has vanished")
        return found

    def strangers(self) -> list[Stranger]:
        """Vehicles of other clients in the snapshot of the last tick."""
        snapshot = self._snapshot
        assert snapshot is not None
        own = {*self._actors, *self._feelers.values()}
        found = [actor for actor in snapshot.actors() if actor not in own]
        unknown = [actor for actor in found if actor not in self._strangers]
        if unknown:
            try:
                there = self._prepared()[0].actors(unknown)
            except WireError as error:
                raise self._failure("cannot read the actors", error) from None
            self._strangers.update(dict.fromkeys(unknown))
            for actor in there:
                if actor.blueprint.startswith("vehicle."):
                    self._strangers[actor.id] = actor.body
        self._strangers = {number: self._strangers[number] for number in found}
        return [
            Stranger(number, body, motion)
            for number in sorted(found)
            if (body := self._strangers[number]) is not None
            and (motion := snapshot.motion(number)) is not None
        ]

    def begin_lights(self) -> None:
        """Reset them: the world has run freely until now."""
        try:
            self._world_of_client().reset_all_traffic_lights()
        except RuntimeError as error:
            raise self._failure("cannot reset the traffic lights", error) from None

    def lights(self) -> dict[str, int]:
        """What the lights show in the snapshot of the last tick."""
        snapshot = self._snapshot
        assert snapshot is not None
        if self._lights is None:
            try:
                there = self._prepared()[0].actors(snapshot.actors())
            except WireError as error:
                raise self._failure("cannot read the actors", error) from None
            self._lights = [a.id for a in there if a.blueprint == "traffic.traffic_light"]
        return dict(found for a in self._lights if (found := snapshot.light(a)) is not None)

    def contacts(self) -> list[Contact]:
        """Contacts of ticks before the last one, each reported once."""
        due = self._ticks - CONTACT_DELAY_TICKS
        arrived, self._arrived = self._arrived, []
        ready = []
        for frame, contact in arrived:
            tick = frame - self._first_frame + 1
            if tick > due:
                self._arrived.append((frame, contact))
            elif tick > self._reported:
                ready.append(contact._replace(tick=tick))
            elif tick > 0:
                raise CausalityError(
                    f"{self._where}: a collision of tick {tick} arrived "
                    f"after tick {self._reported} had been reported"
                )
        self._reported = max(self._reported, due)
        return sorted(ready)

    def attach(self, sensor: SensorMount) -> int:
        """Mount a sensor on an actor and listen to it."""
        try:
            world = self._world_of_client()
            found = world.get_blueprint_library().find(sensor.blueprint)
            for name, value in sensor.attributes.items():
                if found.has_attribute(name):
                    found.set_attribute(name, value)
            carrier = world.get_actor(sensor.carrier)
            actor = world.spawn_actor(found, self._transform(sensor.pose), attach_to=carrier)
            self._sensors.append(actor)
            self._measured[actor.id] = SimpleQueue()
            actor.listen(_measuring(form_of(sensor.blueprint), self._measured[actor.id]))
        except IndexError:
            raise ConfigurationError(
                f"scene.sensors.{sensor.name}.blueprint: found {sensor.blueprint}; "
                f"{self._where} does not have it"
            ) from None
        except RuntimeError as error:
            raise self._failure(f"cannot mount sensor '{sensor.name}'", error) from None
        sensor_id: int = actor.id
        return sensor_id

    def measurements(self, sensors: Sequence[int]) -> list[Measurement]:
        """What sensors have measured in the last tick: waits for what is on its way."""
        return [self._measurement(sensor) for sensor in sensors]

    def _measurement(self, sensor: int) -> Measurement:
        expected = self._first_frame + self._ticks - 1
        deadline = time.monotonic() + CALL_TIMEOUT_S
        while True:
            try:
                frame, measured = self._measured[sensor].get(timeout=LOOK_PERIOD_S)
            except Empty:
                if self._server_gone():
                    raise ConnectionFailedError(
                        f"{self._where}: no measurement of sensor {sensor}: the server has gone"
                    ) from None
                if time.monotonic() > deadline:
                    raise self._unmeasured(sensor, expected, "nothing") from None
                continue
            if frame == expected:
                return measured
            if frame > expected:
                raise self._unmeasured(sensor, expected, f"one of frame {frame}")

    def _unmeasured(self, sensor: int, expected: int, found: str) -> RunError:
        return RunError(
            f"{self._where}: sensor {sensor} has no measurement of frame {expected} (found "
            f"{found}): it does not keep its period; allowed is the step of the world"
        )

    def finish(self) -> None:
        """Tick once more, which tells how often the world has advanced in all.

        A tick of another client in the last step would be seen by nothing else: the snapshot that
        it makes comes instead of that of the last step, which comes after the run.

        :raises CausalityError: the world has also advanced otherwise
        """
        if self._ticks == 0 or self._server_gone():
            return
        expected = self._first_frame + self._ticks
        try:
            frame = self._prepared()[0].call("tick_cue")
        except WireError as error:
            raise self._failure("no answer to the tick behind the last step", error) from None
        if frame != expected:
            raise CausalityError(
                f"{self._where}: frame {frame} follows the last step, which was frame "
                f"{expected - 1}: another client also advances this world"
            )

    def close(self) -> None:
        """Destroy the actors and restore the settings, as far as the server still answers."""
        if self._witness is None:
            return
        try:
            for sensor in self._sensors:
                sensor.stop()
            mounted = [sensor.id for sensor in self._sensors]
            for actor in (*mounted, *self._feelers.values(), *self._actors):
                self._remove(actor)
            if self._wire is not None and self._old_settings is not None:
                if not self._server_gone():
                    self._wire.call("set_episode_settings", self._old_settings)
        except RuntimeError as error:
            # It may have ended just now, and everything with it.
            if not self._server_gone(_END_S if isinstance(error, WireError) else 0.0):
                _logger.warning("%s: not tidied up: %s", self._where, error)
        self._witness.close()
        self._witness = None
        self._felt.close()
        if self._snapshots is not None:
            self._snapshots.close()
        if self._wire is not None:
            self._wire.close()
        self._sensors.clear()
        self._feelers.clear()
        self._ending.clear()
        self._feels.clear()
        self._measured.clear()
        self._actors.clear()
        self._strangers.clear()
        self._commands.clear()
        self._places.clear()
        self._snapshot = self._world = self._client = self._old_settings = None
        self._snapshots = self._wire = None

    def _remove(self, actor: int) -> None:
        # Asked each time: it may end right now, and each call would wait for it without an answer.
        if self._wire is not None and not self._server_gone():
            with suppress(CallRefused):  # another client has removed it
                self._wire.call("destroy_actor", actor)

    def _connect(self) -> None:
        self.close()
        self._ticks = self._reported = 0
        self._lights = None
        self._arrived.clear()
        try:
            self._witness = socket.create_connection((self._host, self._port), self._timeout_s)
            self._witness.setblocking(False)
        except OSError as error:
            raise ConnectionFailedError(f"no {self._where}: {cause_of(error)}") from None
        client = self._new_client()
        try:
            version = client.get_server_version()
        except RuntimeError:
            raise ConnectionFailedError(
                f"no {self._where}: the port is open, but nothing answered as a CARLA server "
                f"within {self._timeout_s:g} s"
            ) from None
        if version != client.get_client_version():
            raise ConnectionFailedError(
                f"{self._where} has version {version}, the client package "
                f"{client.get_client_version()}: they must be the same"
            )
        self._say_run()
        client.set_timeout(CALL_TIMEOUT_S)
        self._client = client

    def _say_run(self) -> None:
        """Let a headless server know which process drives the run; CARLA itself has no use for it.

        Changes by other programs are kept there from then on.
        """
        try:
            with closing(ServerWire(self._host, self._port, self._timeout_s)) as wire:
                wire.call(RUN_CLIENT, os.getpid())
        except (CallRefused, WireError):
            return
        self._is_known = True

    def _new_client(self) -> Any:
        client = self._carla.Client(self._host, self._port, 1)  # one network thread
        client.set_timeout(self._timeout_s)
        return client

    def _world_of_client(self) -> Any:
        """The world as the client has it; the client is made again if it was let go."""
        self._idle_ticks = 0
        if self._world is None:
            self._client = self._new_client()
            self._client.set_timeout(_CHECK_PERIOD_S)
            self._world = self._client.get_world()
        return self._world

    def _long_call(self, call: Callable[[], Any], what: str = "cannot set up the world") -> Any:
        """Make a call that may take the server minutes; end with the server.

        The client itself notices the end of the server only when the time of the call is over,
        and nothing can interrupt it: the call is left to a thread, which ends with the process.

        :raises ConnectionFailedError: the server has gone meanwhile
        """
        outcome: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

        def make() -> None:
            try:
                outcome.put((call(), None))
            except BaseException as error:  # raised in the thread that waits
                outcome.put((None, error))

        threading.Thread(target=make, name="carla-call", daemon=True).start()
        while True:
            try:
                result, error = outcome.get(timeout=LOOK_PERIOD_S)
            except Empty:
                if self._server_gone():
                    raise ConnectionFailedError(
                        f"{self._where}: {what}: the server has gone"
                    ) from None
                continue
            if error is not None:
                raise error
            return result

    def _require_map(self, name: str) -> None:
        known = sorted(self._client.get_available_maps())
        if name.rsplit("/", 1)[-1] not in {entry.rsplit("/", 1)[-1] for entry in known}:
            raise ConfigurationError(f"map '{name}' not found; available maps: " + ", ".join(known))

    def _listen(self, actor: int, sensor: int) -> None:
        """Hear of the contacts of an actor."""
        wire, _ = self._prepared()
        stream = wire.sensor_stream(sensor)
        self._felt.add(stream)
        self._feels[stream] = actor

    def _feel(self) -> None:
        """Take over the contacts that have arrived."""
        for stream, message in self._felt.arrived():
            other, impulse = contact_of(message)
            self._arrived.append((message.frame, Contact(0, self._feels[stream], other, impulse)))

    def _end_feelers(self) -> None:
        """Give up the sensors whose vehicles have gone, after their last contact has arrived."""
        for actor in [a for a, last in self._ending.items() if last <= self._ticks]:
            del self._ending[actor]
            self._remove(self._feelers.pop(actor))
            for stream in [s for s, owner in self._feels.items() if owner == actor]:
                del self._feels[stream]
                self._felt.remove(stream)

    def _prepared(self) -> tuple[ServerWire, Stream]:
        assert self._wire is not None and self._snapshots is not None, "prepare comes first"
        return self._wire, self._snapshots

    def _transform(self, pose: Pose) -> Any:
        carla = self._carla
        return carla.Transform(
            carla.Location(pose.x, pose.y, pose.z),
            carla.Rotation(pitch=pose.pitch, yaw=pose.yaw, roll=pose.roll),
        )

    @property
    def _where(self) -> str:
        return f"CARLA at {self._host}:{self._port}"

    def _await_first(self) -> None:
        """Wait until the server sends snapshots here; none of a later tick is missed then.

        :raises WireError: it sends none
        """
        wire, snapshots = self._prepared()
        deadline = time.monotonic() + CALL_TIMEOUT_S
        while snapshots.wait() is None:
            if self._server_gone() or time.monotonic() > deadline:
                raise WireError("time-out: no snapshot comes")
            wire.call("tick_cue")  # the ticks so far came before it knew of the reader

    def _await_snapshot(self, snapshots: Stream, frame: int) -> Snapshot:
        """The snapshot of a frame, or of a later one that came instead; earlier ones are old.

        The tick was sent once and will be carried out once, so a slow server changes nothing: it is
        waited for as long as it is there.

        :raises WireError: none comes
        """
        deadline = time.monotonic() + CALL_TIMEOUT_S
        while True:
            message = snapshots.wait()
            if message is None:
                if self._server_gone() or time.monotonic() > deadline:
                    raise WireError("time-out")
            elif message.frame >= frame:
                return Snapshot(message, self._places)

    def _advanced_otherwise(self, frame: int) -> CausalityError:
        return CausalityError(
            f"{self._where}: frame {frame} was not asked for: another client also "
            "advances this world"
        )

    def _server_gone(self, within_s: float = 0.0) -> bool:
        """Whether the server has closed its connections, now or in the next moments."""
        witness = self._witness
        if witness is None:
            return True
        poll = select.poll()
        poll.register(witness, select.POLLIN)
        try:
            return bool(poll.poll(within_s * 1e3)) and not witness.recv(1, socket.MSG_PEEK)
        except ConnectionError:
            return True

    def _failure(self, what: str, error: RuntimeError) -> RunError:
        if self._server_gone(_END_S if isinstance(error, WireError) else 0.0):
            return ConnectionFailedError(f"{self._where}: {what}: the server has gone")
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        kind = ConnectionFailedError if "time-out" in text or "timeout" in text else RunError
        return kind(f"{self._where}: {what}: {text}")


def _measuring(form: SensorForm, into: SimpleQueue[tuple[int, Measurement]]) -> Any:
    """What takes the data of a sensor, on a thread of the client."""

    def heard(data: Any) -> None:
        into.put((data.frame, _measurement_of(form, data)))

    return heard


def _measurement_of(form: SensorForm, data: Any) -> Measurement:
    if form is SensorForm.FIX:
        return Fix(data.latitude, data.longitude, data.altitude)
    if form is SensorForm.INERTIA:
        felt, rates = _triple(data.accelerometer), _triple(data.gyroscope)
        return Inertia(*felt, *rates, data.compass)
    return Payload(bytes(data.raw_data))  # the client's buffer ends with this call


def _triple(value: Any) -> tuple[float, float, float]:
    return value.x, value.y, value.z
