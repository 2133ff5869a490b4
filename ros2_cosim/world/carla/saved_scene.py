# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What the state of a scene in this process consists of, with the world model below it.

The roads, the blueprints, what the scenario says, and where signs and lights stand are the same in
every run of a scenario. A class that appears here for the first time is an error when a state is
saved: it belongs to one of the two lists.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from ros2_cosim.core.documents.settings import Section
from ros2_cosim.core.kernel.saved_state import SavedAttributes
from ros2_cosim.core.scene.entities import OrderQueue
from ros2_cosim.world.carla.crossings import Crossings, Reservations
from ros2_cosim.world.carla.entity_book import SceneEntities
from ros2_cosim.world.carla.inprocess_world import InProcessWorld
from ros2_cosim.world.carla.lights import LightsAhead
from ros2_cosim.world.carla.parameters import SceneParameters, VehicleSpec
from ros2_cosim.world.carla.plant import Known, ScenePlant, SceneRun
from ros2_cosim.world.carla.recorded_users import RecordedUsers
from ros2_cosim.world.carla.roster import Roster
from ros2_cosim.world.carla.scene import Scene
from ros2_cosim.world.carla.scene_vehicle import PlacedObject, SceneVehicle
from ros2_cosim.world.carla.sensor_messages import SensorMessages
from ros2_cosim.world.carla.sensor_rig import SensorRig
from ros2_cosim.world.carla.spawned_vehicles import SpawnedVehicle, SpawnedVehicles
from ros2_cosim.world.carla.traffic import BackgroundTraffic
from ros2_cosim.world.drivers.lane_keeping import LaneKeeper
from ros2_cosim.world.drivers.leader_driver import LeaderDriver
from ros2_cosim.world.drivers.light_stop import LightStop
from ros2_cosim.world.drivers.manoeuvres import ManoeuvreRun
from ros2_cosim.world.drivers.speed_profiles import Chain, Table
from ros2_cosim.world.headless.ackermann import AckermannController, Pid
from ros2_cosim.world.headless.actors import Actor, VehicleActor
from ros2_cosim.world.headless.blueprints import Blueprint
from ros2_cosim.world.headless.body import VehicleBody
from ros2_cosim.world.headless.contact import OrientedBox
from ros2_cosim.world.headless.debug_shapes import DebugShapes
from ros2_cosim.world.headless.flight import FreeBody
from ros2_cosim.world.headless.land_below import LandBelow
from ros2_cosim.world.headless.onlooker import WorldOnlooker
from ros2_cosim.world.headless.sensing.draws import Draws, Words
from ros2_cosim.world.headless.sensing.gbuffers import GBuffers
from ros2_cosim.world.headless.sensing.hub import DEVICES, SensorHub, Sight, device_of
from ros2_cosim.world.headless.sensing.motion import SensorNoise
from ros2_cosim.world.headless.signals import LightActor, SignActor, Signals
from ros2_cosim.world.headless.skeleton import Skeleton
from ros2_cosim.world.headless.standing_boxes import StandingBoxes
from ros2_cosim.world.headless.street_lights import StreetLights
from ros2_cosim.world.headless.things import Things
from ros2_cosim.world.headless.walkers import WalkerActor
from ros2_cosim.world.headless.world import World
from ros2_cosim.world.map import RoadNetwork
from ros2_cosim.world.map.traffic_lights import Light, LightController, LightGroup
from ros2_cosim.world.recorded.users import RecordedUser
from ros2_cosim.world.vehicle import RoadVehicle, Vehicle, VehicleParameters

SCENE_STATE = SavedAttributes(
    parts=(
        ScenePlant, SceneRun, Scene, SceneVehicle, PlacedObject, SpawnedVehicles,
        SpawnedVehicle, OrderQueue, RecordedUsers, BackgroundTraffic,
        Reservations,
        LightsAhead, LightStop, LaneKeeper, LeaderDriver, ManoeuvreRun, Table, Chain,
        InProcessWorld, World, Actor, VehicleActor, WalkerActor, Skeleton, SignActor, LightActor,
        Light, LightGroup,
        LightController, AckermannController, Pid, VehicleBody, FreeBody, SensorHub, Draws,
        SensorNoise, *map(device_of, DEVICES), GBuffers, RoadVehicle, Vehicle,
    ),
    values=(OrientedBox,),
    constants=(
        SceneParameters, SceneEntities, Known, RecordedUser, Roster, VehicleSpec, VehicleParameters,
        RoadNetwork, Crossings, Blueprint,
        Signals,
        # Only clients of a server change them; a page that looks changes nothing. What stands
        # beside the roads follows from the map.
        Things, StreetLights, StandingBoxes, LandBelow, DebugShapes, WorldOnlooker,
        # Mounted with the scene: its numbers of the sensors are those of any run.
        SensorRig, SensorMessages, Sight, Words, np.ndarray, Counter, Section,
    ),
)  # fmt: skip
