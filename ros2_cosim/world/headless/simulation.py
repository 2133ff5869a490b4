# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the remote methods act on: a world with settings, maps and streams, without sockets."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from ros2_cosim.core.kernel.errors import CosimError
from ros2_cosim.world.headless.actors import Actor
from ros2_cosim.world.headless.after_life import AfterLife
from ros2_cosim.world.headless.limits import DEFAULT_RATE_HZ
from ros2_cosim.world.headless.maps import GENERATED_MAP, MapLibrary, full_name
from ros2_cosim.world.headless.onlooker import Glances
from ros2_cosim.world.headless.outsiders import Outsiders
from ros2_cosim.world.headless.recording import Recorder, Recording
from ros2_cosim.world.headless.replayer import Replayer
from ros2_cosim.world.headless.sensing.gbuffers import Buffer
from ros2_cosim.world.headless.sensing.hub import SensorHub
from ros2_cosim.world.headless.sensor_topics import RosSensors
from ros2_cosim.world.headless.signals import SignActor
from ros2_cosim.world.headless.snapshot import (
    STATE_LIGHTS_CHANGE,
    STATE_MAP_CHANGE,
    STATE_NONE,
    WORLD_STREAM,
    pack_world,
    stream_token,
)
from ros2_cosim.world.headless.things import ALL_LAYERS
from ros2_cosim.world.headless.walkable import navigation_file
from ros2_cosim.world.headless.wire_types import (
    ActorDescription,
    ActorRecord,
    EpisodeSettings,
    Transform,
    Weather,
)
from ros2_cosim.world.headless.world import CallError, World
from ros2_cosim.world.map import RoadNetwork

_STREAM_OFFSET = 16  # actor n streams as n + offset; lower ids are reserved for the world
# G-buffers stream as offset + 16 n + buffer: above all actors.
_GBUFFER_OFFSET, _GBUFFERS = 1 << 31, 16
_COLOUR_CAMERA = "sensor.camera.rgb"

# A client that names no seed for a sensor's noise sends the blueprint's value.
_SEED_ATTRIBUTE, _NO_SEED = "noise_seed", "0"

_logger = logging.getLogger(__name__)

Publish = Callable[[int, bytes], None]
Wanted = Callable[[int], bool]


def gbuffer_stream(actor_id: int, buffer: Buffer) -> int:
    """The stream of a G-buffer of a camera."""
    return _GBUFFER_OFFSET + _GBUFFERS * actor_id + buffer


@dataclass
class ReplayOptions:
    """What clients have set for replays."""

    time_factor: float = 1.0
    ignore_hero: bool = False
    ignore_spectator: bool = True


class Simulation:
    """One simulated world as the clients share it."""

    def __init__(
        self,
        maps: MapLibrary,
        stream_port: int,
        publish: Publish,
        wanted: Wanted,
        *,
        seed: int = 0,
        step_s: float = 1.0 / DEFAULT_RATE_HZ,
        has_scenery: bool = False,
        is_plain: bool = False,
    ):
        """Load the first map.

        :param seed: of what is drawn where a client names no seed of its own
        :param step_s: step size in seconds while no client has set one
        :param has_scenery: whether sensors see scenery beside the roads
        :param is_plain: pictures have neither shadows nor grain of surfaces
        :param publish: called with (stream id, message) for everything that is streamed
        :param wanted: whether a stream has a listener
        """
        self.maps = maps
        self.recorder: Recorder | None = None
        self.replayer: Replayer | None = None
        self.replay_options = ReplayOptions()
        self.seed = seed
        self._usual_step_s = step_s
        self.settings = EpisodeSettings()
        self.weather = Weather()
        self.traffic_managers: dict[int, tuple[str, int]] = {}
        self._stream_port = stream_port
        self.on_token: Callable[[int], None] = lambda _stream_id: None
        self.on_settings: Callable[[], None] = lambda: None
        self._publish = publish
        self._wanted = wanted
        self.sensors = SensorHub()
        #: What pages of other processes show.
        self.glances = Glances(lambda: self.world, lambda: self.sensors, lambda: self.weather)
        #: What other programs than the client of a run change.
        self.outsiders = Outsiders()
        #: Dead walkers.
        self.after_life = AfterLife()
        #: Sensors that are published to ROS 2.
        self.ros = RosSensors()
        #: Cameras whose G-buffers a client has switched on.
        self.gbuffers: set[int] = set()
        self._staged_opendrive = ""
        #: The episode that a client has just ended; it has not asked for the new one yet.
        self._ended_episode: int | None = None
        self._map_changed = True
        self._navigation: tuple[RoadNetwork, tuple[str, bytes] | None] | None = None
        self._looks_ahead = False
        name, text = maps.find(maps.first())
        self.map_name = full_name(name)
        self.world = World(text, step_s, has_scenery=has_scenery, is_plain=is_plain)
        self.world.scenery_maker = self.sensors.name_parts
        self._tell_notes()

    def look_ahead(self) -> None:
        """Make now, and with each map, what cameras and rays see of it, and the walkers' mesh.

        It takes longest of all that a client may wait for: up to half a second, and a multiple of
        that on a busy machine, where many of CARLA's programs give up after two.
        """
        self._looks_ahead = True
        self.sensors.scene(self.world)
        self.navigation()

    def navigation(self) -> tuple[str, bytes] | None:
        """Name and content of the map's file for walkers; None where it has no sidewalk.

        Made when a client first asks, once for each map.
        """
        if self._navigation is None or self._navigation[0] is not self.world.network:
            name = self.map_name.rpartition("/")[2]
            network = self.world.network
            self._navigation = network, navigation_file(network, name)
        return self._navigation[1]

    def token(self, stream_id: int) -> bytes:
        """Token of a stream of this server."""
        return stream_token(stream_id, self._stream_port)

    def world_token(self) -> bytes:
        """Token of the snapshot stream."""
        return self.token(WORLD_STREAM)

    def record(self, actor: Actor) -> ActorRecord:
        """Actor of the protocol, with its stream if it is a streaming sensor."""
        streams = actor.blueprint.streams
        return ActorRecord(
            actor.id,
            actor.parent,
            actor.description,
            actor.trigger if isinstance(actor, SignActor) else actor.bounding_box,
            bytes((actor.blueprint.semantic_tag,)) if actor.blueprint.semantic_tag else b"",
            self.token(actor.id + _STREAM_OFFSET) if streams else b"",
        )

    def spawn(
        self, description: ActorDescription, pose: Transform, parent: int = 0, socket: str = ""
    ) -> Actor:
        """Spawn an actor as a client asked for it.

        :param socket: of the parent, on which the actor is mounted; none: on its root

        :raises CallError: with the text that the client shows
        """
        chosen = {attribute.id: attribute.value for attribute in description.attributes}
        if self.seed and chosen.get(_SEED_ATTRIBUTE) == _NO_SEED:
            chosen[_SEED_ATTRIBUTE] = str(self.seed)
        actor = self.world.spawn(description.id, pose, chosen, parent, socket)
        if actor.blueprint.kind == "sensor":
            try:
                self.sensors.prepare(self.world, actor)
            except CallError:
                self.world.destroy(actor.id)
                raise
        return actor

    def apply_settings(self, settings: EpisodeSettings) -> int:
        """Take over settings; returns a frame that clients have seen or will see."""
        self.settings = settings
        self.world.step_s = settings.fixed_delta_seconds or self._usual_step_s
        self.on_settings()
        return self.world.frame

    def tick_cue(self) -> int:
        """Advance one frame on behalf of a client; in asynchronous mode name the next one."""
        if self.settings.synchronous_mode:
            return self.tick()
        return self.world.frame + 1

    def tick(self) -> int:
        """Advance the world by one step and publish it: snapshot first, then sensors."""
        world = self.world
        frame = world.tick()
        self.after_life.step(world)
        if self.replayer is not None and not self.replayer.step(world.step_s):
            self.stop_replayer(keep=True)
        if self.recorder is not None:
            self.recorder.frame(world)
        if self._wanted(WORLD_STREAM):
            self._publish(WORLD_STREAM, self._snapshot())
            # Clients that listen have seen the flags: show them in one frame only.
            self._map_changed = False
            world.lamps.is_told = True
        self.ros.tell_time(world)
        self.sensors.transmit(world)
        due = []
        for sensor in world.sensors():
            to_client = self._wanted(sensor.id + _STREAM_OFFSET)
            to_ros = self.ros.is_enabled(sensor.id)
            if to_client or to_ros:
                began = self.sensors.begin(world, sensor, self.weather, self.record)
                due.append((sensor, to_client, to_ros, began))
        for sensor, to_client, to_ros, began in due:
            for message in began():
                if to_client:
                    self._publish(sensor.id + _STREAM_OFFSET, message)
                if to_ros:
                    self.ros.publish(world, sensor, message)
        for sensor in world.sensors():
            if sensor.id in self.gbuffers:
                self._publish_gbuffers(sensor)
        return frame

    def _publish_gbuffers(self, camera: Actor) -> None:
        for buffer in Buffer:
            stream = gbuffer_stream(camera.id, buffer)
            if self._wanted(stream):
                message = self.sensors.gbuffer(self.world, camera, self.weather, buffer)
                if message is not None:
                    self._publish(stream, message)

    def sensor_of_stream(self, stream_id: int) -> Actor:
        """The sensor that streams so.

        :raises CallError: if there is none
        """
        return self.world.require(stream_id - _STREAM_OFFSET)

    def require_colour_camera(self, actor_id: int) -> Actor:
        """The colour camera with this id, which has G-buffers.

        :raises CallError: if there is none
        """
        actor = self.world.require(actor_id)
        if actor.blueprint.id != _COLOUR_CAMERA:
            raise CallError(f"actor {actor_id} is no '{_COLOUR_CAMERA}': it has no G-buffers")
        return actor

    def start_recorder(self, name: str, additional: bool = False) -> str:
        """Record from now on; returns the file's path.

        :raises CallError: the file cannot be written
        """
        self.stop_recorder()
        self.recorder = Recorder(name, self.map_name, self.world, additional)
        return str(self.recorder.path)

    def stop_recorder(self) -> None:
        """Complete the recording, if there is one."""
        if self.recorder is not None:
            self.recorder.close()
            self.recorder = None

    def replay(
        self,
        name: str,
        start: float,
        duration: float,
        follow: int,
        sensors: bool,
        offset: Transform,
    ) -> str:
        """Replay a recording from now on.

        :param follow: recorded number of the actor that the spectator follows, 0 for none
        :param offset: place of the spectator on that actor
        :param sensors: let recorded sensors appear, too
        :raises CallError: no such file, or its map is not one of this server's
        """
        recording = Recording(name)
        self.stop_replayer(keep=False)
        if recording.map_name != self.map_name:
            self.load_map(recording.map_name, False)
        options = self.replay_options
        self.replayer = Replayer(
            recording, self.world, start, duration, ignore_hero=options.ignore_hero,
            ignore_spectator=options.ignore_spectator, sensors=sensors,
        )  # fmt: skip
        self.replayer.follow(follow, offset)
        self.replayer.time_factor = options.time_factor
        return f"Replaying File: {recording.path}\n"

    def stop_replayer(self, keep: bool) -> None:
        """End the replay, if there is one; its actors are removed unless they are kept."""
        if self.replayer is not None:
            self.replayer.stop(keep=keep)
            self.replayer = None

    def stage_opendrive(self, text: str) -> None:
        """Keep an OpenDRIVE text for the next load of the generated map."""
        self._staged_opendrive = text

    def set_weather(self, weather: Weather) -> None:
        """Take over the weather; street lights follow the sun."""
        self.weather = weather
        self.world.lamps.follow_sun(weather.sun_altitude_angle)

    def load_map(self, name: str, reset_settings: bool, layers: int = ALL_LAYERS) -> None:
        """Start a new episode on another map (empty name: the same map).

        The running episode goes on if the map is not usable.

        :param layers: bits of the map layers that are shown

        :raises CallError: if there is no such map or its road description is wrong
        """
        try:
            if not name:
                map_name, text = self.map_name, self.world.opendrive
            elif name == GENERATED_MAP:
                map_name, text = full_name(name), self._staged_opendrive
            else:
                short, text = self.maps.find(name)
                map_name = full_name(short)
            self.world.load(text)
            self.stop_recorder()
            self.replayer = None
            self.gbuffers.clear()
            self.ros.close()
        except CosimError as error:
            raise CallError(str(error)) from None
        self.map_name = map_name
        self._map_changed = True
        if layers != ALL_LAYERS:
            self.sensors.name_parts(self.world)
            self.world.things.show_layers(ALL_LAYERS & ~layers, shown=False)
        self.world.lamps.follow_sun(self.weather.sun_altitude_angle)
        self._tell_notes()
        if self._looks_ahead:
            self.look_ahead()
        if reset_settings:
            self.apply_settings(EpisodeSettings())

    def load_for_client(self, name: str, reset_settings: bool, layers: int) -> None:
        """``load_map`` for a client, which asks for the episode next.

        :raises CallError: if there is no such map or its road description is wrong
        """
        ended = self.world.episode
        self.load_map(name, reset_settings, layers)
        self._ended_episode = ended

    def told_episode(self) -> int:
        """The number of the episode for a client that asks.

        The client that has loaded a map gets the old number once, as CARLA sends it before the map
        has come. So it sees the new one in a snapshot, and only what is seen there starts its
        traffic manager again, with the roads of the new map.
        """
        ended, self._ended_episode = self._ended_episode, None
        return self.world.episode if ended is None else ended

    def _tell_notes(self) -> None:
        """Name what of the map was passed over, once for each load."""
        for note in self.world.network.notes:
            _logger.warning("%s: %s", self.map_name, note)

    def _snapshot(self) -> bytes:
        world = self.world
        changes = STATE_MAP_CHANGE if self._map_changed else STATE_NONE
        if not world.lamps.is_told:
            changes |= STATE_LIGHTS_CHANGE
        return pack_world(
            world.frame,
            world.elapsed_s,
            world.episode,
            time.time(),  # shown to users, never used by the simulation
            world.step_s,
            changes,
            world.records(),
        )
