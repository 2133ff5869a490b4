# SPDX-License-Identifier: Apache-2.0
"""A CARLA server, real or headless, through the ``carla`` client package.

Contacts reach the client on a thread of its own, from one socket per sensor, while snapshots
come from another: nothing in the protocol says when the last contact of a tick has arrived.
They are therefore attributed to the tick whose frame number they carry, and handed out a fixed
number of ticks later. With the headless server that is always enough: its sensors send at most
one contact per frame, and a client with a single network thread takes turns between sockets
that have data, so the snapshots cannot run ahead by more than one. Should a contact be late
all the same (a real CARLA may send several per frame), the run ends with an error instead of
another result.

What is sent in a step is one call, the controls of all vehicles with the request for the tick, and
what is waited for is one message, the snapshot: the answer to the call, on another connection, says
nothing more.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from ros2_cosim.carla_bridge.weather import WEATHER
from ros2_cosim.interfaces.sensors import (
    Fix,
    Inertia,
    Measurement,
    Payload,
    SensorForm,
    form_of,
)
from ros2_cosim.interfaces.simulator import (
    CONTACT_DELAY_TICKS,
    Body,
    Contact,
    MapChoice,
    Motion,
    Pose,
    SensorMount,
    Stranger,
)
from ros2_cosim.kernel.errors import (
    CausalityError,
    ConfigurationError,
    ConnectionFailedError,
    RunError,
)

CONNECT_TIMEOUT_S = 5.0
CALL_TIMEOUT_S = 60.0
"""Longest wait for a server that is still there: loading a large map takes a CARLA this long."""

_CHECK_PERIOD_S = 2.0  # without an answer for this long, look whether the server is still there
_LOOK_PERIOD_S = 0.2  # the same, during a call that nothing interrupts
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
        self._snapshot: Any = None
        self._old_settings: Any = None
        self._witness: socket.socket | None = None  # idle: closed when the server ends
        self._snapshots: SimpleQueue[Any] = SimpleQueue()
        self._subscription: int | None = None  # to the snapshots
        self._commands: list[Any] = []  # leave with the next tick
        self._actors: dict[int, Any] = {}
        self._sensors: list[Any] = []
        #: Body of each actor that is not ours, None if it is no vehicle.
        self._strangers: dict[int, Body | None] = {}
        self._first_frame = 0
        self._ticks = 0
        self._reported = 0
        self._arrived: list[tuple[int, Contact]] = []  # (frame, contact without tick)
        self._measured: dict[int, SimpleQueue[tuple[int, Measurement]]] = {}
        self._lock = threading.Lock()

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
            self._old_settings = self._world.get_settings()
            settings = self._world.get_settings()
            settings.synchronous_mode = True
            settings.fixed_delta_seconds = step_s
            self._world.set_weather(carla.WeatherParameters(*WEATHER[weather]))
            self._world.apply_settings(settings)
            self._subscription = self._world.on_tick(self._snapshots.put)
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
        carla = self._carla
        try:
            library = self._world.get_blueprint_library()
            found = [entry for entry in library if entry.id == blueprint]
            if not found:
                raise ConfigurationError(
                    f"{role}: cannot spawn {blueprint}: the simulator has no such blueprint"
                )
            if found[0].has_attribute("role_name"):
                found[0].set_attribute("role_name", role)
            actor = self._world.spawn_actor(found[0], self._transform(pose))
            self._actors[actor.id] = actor
            if blueprint.startswith("vehicle."):
                sensor = self._world.spawn_actor(
                    library.find("sensor.other.collision"), carla.Transform(), attach_to=actor
                )
                self._sensors.append(sensor)
                sensor.listen(self._listener(actor.id))
            box = actor.bounding_box
        except RuntimeError as error:
            if "timeout" in str(error) or "time-out" in str(error):
                raise self._failure(f"cannot spawn {blueprint}", error) from None
            raise ConfigurationError(f"{role}: cannot spawn {blueprint}: {error}") from None
        return actor.id, Body(_triple(box.location), _triple(box.extent))

    def place(self, actor: int, pose: Pose, velocity: tuple[float, float, float]) -> None:
        """Teleport with a velocity."""
        try:
            self._actors[actor].set_transform(self._transform(pose))
            self._actors[actor].set_target_velocity(self._carla.Vector3D(*velocity))
        except RuntimeError as error:
            raise self._failure("cannot place a vehicle", error) from None

    def control(self, actor: int, throttle: float, steer: float, brake: float) -> None:
        """Set controls for the next tick, with which they are sent."""
        carla = self._carla
        self._commands.append(
            carla.command.ApplyVehicleControl(
                actor, carla.VehicleControl(throttle=throttle, steer=steer, brake=brake)
            )
        )

    def tick(self) -> None:
        """Advance by one step.

        :raises CausalityError: the world has also advanced otherwise, in this step or the last one
        """
        first = self._ticks == 0
        if not (first or self._snapshots.empty()):
            raise self._advanced_otherwise(self._snapshots.get())
        commands, self._commands = self._commands, []
        try:
            self._client.apply_batch(commands, not first)
            if first:
                self._first_frame = self._world.tick(_CHECK_PERIOD_S)
        except RuntimeError as error:
            raise self._failure("no answer to a tick", error) from None
        expected = self._first_frame + self._ticks
        self._snapshot = self._await_snapshot(expected)
        self._ticks += 1
        if self._snapshot.frame != expected:
            raise self._advanced_otherwise(self._snapshot)

    def motion(self, actor: int) -> Motion:
        """State of an actor in the snapshot of the last tick."""
        found = self._snapshot.find(actor)
        if found is None:
            raise RunError(f"{self._where}: actor {actor} has vanished")
        return _motion(found)

    def strangers(self) -> list[Stranger]:
        """Vehicles of other clients in the snapshot of the last tick."""
        found = {entry.id: entry for entry in self._snapshot if entry.id not in self._actors}
        unknown = [actor for actor in found if actor not in self._strangers]
        if unknown:
            try:
                there = {actor.id: actor for actor in self._world.get_actors(unknown)}
            except RuntimeError as error:
                raise self._failure("cannot read the actors", error) from None
            for number in unknown:
                self._strangers[number] = _vehicle_body(there.get(number))
        self._strangers = {number: self._strangers[number] for number in found}
        return [
            Stranger(number, body, _motion(found[number]))
            for number in sorted(found)
            if (body := self._strangers[number]) is not None
        ]

    def contacts(self) -> list[Contact]:
        """Contacts of ticks before the last one, each reported once."""
        due = self._ticks - CONTACT_DELAY_TICKS
        with self._lock:
            arrived, self._arrived = self._arrived, []
        ready = []
        for frame, contact in arrived:
            tick = frame - self._first_frame + 1
            if tick > due:
                with self._lock:
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
            found = self._world.get_blueprint_library().find(sensor.blueprint)
            for name, value in sensor.attributes.items():
                if found.has_attribute(name):
                    found.set_attribute(name, value)
            actor = self._world.spawn_actor(
                found, self._transform(sensor.pose), attach_to=self._actors[sensor.carrier]
            )
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
                frame, measured = self._measured[sensor].get(timeout=_LOOK_PERIOD_S)
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
        self._client.set_timeout(CALL_TIMEOUT_S)
        try:
            frame = self._long_call(lambda: self._world.tick(CALL_TIMEOUT_S), "cannot end the run")
        except RuntimeError as error:
            raise self._failure("no answer to the tick behind the last step", error) from None
        if frame != expected:
            raise CausalityError(
                f"{self._where}: frame {frame} follows the last step, which was frame "
                f"{expected - 1}: another client also advances this world"
            )

    def close(self) -> None:
        """Destroy the actors and restore the settings, as far as the server still answers."""
        if self._client is None:
            return
        try:
            if self._subscription is not None:
                self._world.remove_on_tick(self._subscription)
            for sensor in self._sensors:
                sensor.stop()
            for actor in (*self._sensors, *self._actors.values()):
                # Asked each time: it may end right now, and each call would wait for it in vain.
                if not self._server_gone():
                    actor.destroy()
            if self._old_settings is not None and not self._server_gone():
                self._world.apply_settings(self._old_settings)
        except RuntimeError as error:
            _logger.warning("%s: not tidied up: %s", self._where, error)
        if self._witness is not None:
            self._witness.close()
            self._witness = None
        self._sensors.clear()
        self._measured.clear()
        self._actors.clear()
        self._strangers.clear()
        self._commands.clear()
        self._snapshots = SimpleQueue()
        self._snapshot = self._world = self._client = self._old_settings = None
        self._subscription = None

    def _connect(self) -> None:
        self.close()
        self._ticks = self._reported = 0
        self._arrived.clear()
        try:
            self._witness = socket.create_connection((self._host, self._port), self._timeout_s)
            self._witness.setblocking(False)
        except OSError as error:
            raise ConnectionFailedError(f"no {self._where}: {error.strerror or error}") from None
        try:
            client = self._carla.Client(self._host, self._port, 1)  # one network thread
            client.set_timeout(self._timeout_s)
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
        client.set_timeout(CALL_TIMEOUT_S)
        self._client = client

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
            except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
                outcome.put((None, error))

        threading.Thread(target=make, name="carla-call", daemon=True).start()
        while True:
            try:
                result, error = outcome.get(timeout=_LOOK_PERIOD_S)
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

    def _listener(self, actor: int) -> Any:
        def heard(event: Any) -> None:
            try:
                contact = Contact(0, actor, event.other_actor.id, _triple(event.normal_impulse))
            except RuntimeError:  # the world of the event is gone, and with it its readers
                return
            with self._lock:
                self._arrived.append((event.frame, contact))

        return heard

    def _transform(self, pose: Pose) -> Any:
        carla = self._carla
        return carla.Transform(
            carla.Location(pose.x, pose.y, pose.z),
            carla.Rotation(pitch=pose.pitch, yaw=pose.yaw, roll=pose.roll),
        )

    @property
    def _where(self) -> str:
        return f"CARLA at {self._host}:{self._port}"

    def _await_snapshot(self, frame: int) -> Any:
        """The snapshot of a frame, or of a later one that came instead; earlier ones are old.

        The tick was sent once and will be carried out once, so a slow server changes nothing: it is
        waited for as long as it is there.
        """
        deadline = time.monotonic() + CALL_TIMEOUT_S
        while True:
            try:
                snapshot = self._snapshots.get(timeout=_LOOK_PERIOD_S)
            except Empty:
                if self._server_gone() or time.monotonic() > deadline:
                    raise self._failure("no answer to a tick", RuntimeError("time-out")) from None
                continue
            if snapshot.frame >= frame:
                return snapshot

    def _advanced_otherwise(self, snapshot: Any) -> CausalityError:
        return CausalityError(
            f"{self._where}: frame {snapshot.frame} was not asked for: another client also "
            "advances this world"
        )

    def _server_gone(self) -> bool:
        if self._witness is None:
            return True
        with contextlib.suppress(BlockingIOError):
            try:
                return not self._witness.recv(1, socket.MSG_PEEK)
            except ConnectionError:
                return True
        return False

    def _failure(self, what: str, error: RuntimeError) -> RunError:
        if self._server_gone():
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


def _motion(snapshot: Any) -> Motion:
    """State of an actor as a snapshot tells it."""
    pose = snapshot.get_transform()
    place, turn = pose.location, pose.rotation
    return Motion(
        Pose(place.x, place.y, place.z, turn.pitch, turn.yaw, turn.roll),
        _triple(snapshot.get_velocity()),
        _triple(snapshot.get_angular_velocity()),
        _triple(snapshot.get_acceleration()),
    )


def _vehicle_body(actor: Any) -> Body | None:
    """The box of a vehicle; None for anything else, and for what has gone."""
    if actor is None or not actor.type_id.startswith("vehicle."):
        return None
    box = actor.bounding_box
    return Body(_triple(box.location), _triple(box.extent))


def _triple(value: Any) -> tuple[float, float, float]:
    return value.x, value.y, value.z
