# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""Entities, named poses and worlds as services of ``simulation_interfaces``: those that only read.

They are offered beside the world, where its state is: they change nothing of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, Final

from rclpy.node import Node

from ros2_cosim.core.kernel.errors import ConfigurationError
from ros2_cosim.core.kernel.layers import bare
from ros2_cosim.core.kernel.model import Model
from ros2_cosim.core.kernel.time import SECOND
from ros2_cosim.core.scenario.declaration import declare
from ros2_cosim.core.scenario.schema import Scenario
from ros2_cosim.core.scene.entities import Entity, EntityPlace, EntityWorld, Offer
from ros2_cosim.ros.node.deferred_service import answered_when_done, deferred_service
from ros2_cosim.ros.node.entity_changes import Ask, EntityChanges
from ros2_cosim.ros.node.entity_filters import UnsupportedShape, as_bounds, matching, tags_test
from ros2_cosim.ros.node.lasting_node import LastingNode
from ros2_cosim.ros.node.simulation_services import PACKAGE, PREFIX

#: The frame of poses and velocities.
FRAME: Final = "map"
NO_WORLD: Final = "the scenario has no world with entities"

Send = Callable[[], None]


def offered_world(scenario: Scenario, shape: str) -> Offer | None:
    """What the world of a scenario has; None: it has none, or one without entities."""
    for name in scenario.participants:
        declared = declare(scenario, name, shape)
        kind = declared.model.kind
        if issubclass(kind, EntityWorld):
            return kind.offer(declared.context, declared.parameters)
    return None


def place_of(offer: Offer | None, name: str, model: Model) -> EntityPlace | None:
    """The entities of a participant, if it is the world."""
    world = bare(model)
    if offer is None or offer.participant != name or not isinstance(world, EntityWorld):
        return None
    return EntityPlace(offer, world.entity_book())


class EntityServices:
    """The services of a world.

    :param node: the ROS node that they belong to
    :param place: the world; None: there is none, which all of them say
    :param ask: hands a request on to the run
    :param participants: whose names no entity may have
    """

    @staticmethod
    def offer(
        node: Node, place: EntityPlace | None, ask: Ask, participants: Sequence[str]
    ) -> EntityServices | None:
        """Offer the services if the package is installed."""
        if find_spec(PACKAGE) is None:
            return None
        try:
            return EntityServices(node, place, ask, participants)
        except (ImportError, AttributeError) as error:
            print(f"{PACKAGE}: its entities are not offered ({error})", flush=True)
            return None

    def __init__(
        self, node: Node, place: EntityPlace | None, ask: Ask, participants: Sequence[str]
    ) -> None:
        from geometry_msgs.msg import Vector3
        from simulation_interfaces import msg, srv

        assert isinstance(node, LastingNode)
        self._place = place
        self._msg = msg
        self._vector = Vector3
        codes = msg.Result
        self._no_world = {
            srv.GetCurrentWorld: srv.GetCurrentWorld.Response.NO_WORLD_LOADED,
            srv.UnloadWorld: srv.UnloadWorld.Response.NO_WORLD_LOADED,
        }
        ask = answered_when_done(node, ask)
        self._changes = changes = EntityChanges(place, ask, participants)
        for kind, name, handle in (
            (srv.GetEntities, "get_entities", self._entities),
            (srv.GetEntitiesStates, "get_entities_states", self._states),
            (srv.GetEntityState, "get_entity_state", self._state),
            (srv.GetEntityInfo, "get_entity_info", self._info),
            (srv.GetEntityBounds, "get_entity_bounds", self._bounds),
            (srv.GetSpawnables, "get_spawnables", self._spawnables),
            (srv.GetNamedPoses, "get_named_poses", self._poses),
            (srv.GetNamedPoseBounds, "get_named_pose_bounds", self._pose_bounds),
            (srv.GetAvailableWorlds, "get_available_worlds", self._worlds),
            (srv.GetCurrentWorld, "get_current_world", self._world),
        ):
            deferred_service(node, kind, f"{PREFIX}/{name}", self._read(kind, handle))
        for kind, name, answer in (
            (srv.SpawnEntity, "spawn_entity", changes.spawn),
            (srv.SpawnEntities, "spawn_entities", changes.spawn_all),
            (srv.DeleteEntity, "delete_entity", changes.delete),
            (srv.SetEntityState, "set_entity_state", changes.set_state),
            (srv.SetEntityInfo, "set_entity_info", changes.set_info),
            (srv.LoadWorld, "load_world", changes.load_world),
            (srv.UnloadWorld, "unload_world", changes.unload_world),
        ):
            found = answer if place else self._refusing(self._no_world.get(kind, 0))
            deferred_service(node, kind, f"{PREFIX}/{name}", found)
        deferred_service(node, srv.ResetSimulation, f"{PREFIX}/reset_simulation", changes.reset)
        self._ok, self._not_found = codes.RESULT_OK, codes.RESULT_NOT_FOUND
        self._failed, self._unsupported = (
            codes.RESULT_OPERATION_FAILED,
            codes.RESULT_FEATURE_UNSUPPORTED,
        )
        node.pay()

    def _read(
        self, kind: Any, handle: Callable[[EntityPlace, Any, Any], None]
    ) -> Callable[[Any, Any, Send], None]:
        """Answer at once; a :class:`_NotThere` of what is read becomes its code."""

        def answer(asked: Any, response: Any, send: Send) -> None:
            if self._place is None:
                self._refusing(self._no_world.get(kind, 0))(asked, response, send)
                return
            response.result.result = self._ok
            try:
                handle(self._place, asked, response)
            except _NotThere as error:
                response.result.result, text = self._not_found, str(error)
                response.result.error_message = text
            except UnsupportedShape as error:
                response.result.result, text = self._unsupported, str(error)
                response.result.error_message = text
            except ConfigurationError as error:
                response.result.result, text = self._failed, str(error)
                response.result.error_message = text
            send()

        return answer

    def _refusing(self, code: int) -> Callable[[Any, Any, Send], None]:
        def answer(asked: Any, response: Any, send: Send) -> None:
            response.result.result = code
            response.result.error_message = NO_WORLD
            send()

        return answer

    def _known(self, place: EntityPlace) -> list[Entity]:
        """All entities, as programs have described them."""
        return [self._changes.described(each) for each in place.book.entities()]

    def _named(self, place: EntityPlace, name: str) -> Entity:
        """The entity of a name.

        :raises _NotThere: there is none
        """
        return _one(self._known(place), name, "entity")

    def _entities(self, place: EntityPlace, asked: Any, response: Any) -> None:
        found = matching(self._known(place), asked.filters)
        response.entities = [each.name for each in found]

    def _states(self, place: EntityPlace, asked: Any, response: Any) -> None:
        found = matching(self._known(place), asked.filters)
        response.entities = [each.name for each in found]
        for each in found:
            state = self._msg.EntityState()
            _fill_state(state, each, place.offer)
            response.states.append(state)

    def _state(self, place: EntityPlace, asked: Any, response: Any) -> None:
        _fill_state(response.state, self._named(place, asked.entity), place.offer)

    def _info(self, place: EntityPlace, asked: Any, response: Any) -> None:
        found = self._named(place, asked.entity)
        response.info.category.category = int(found.kind)
        response.info.description = found.description
        response.info.tags = list(found.tags)

    def _bounds(self, place: EntityPlace, asked: Any, response: Any) -> None:
        found = self._named(place, asked.entity)
        response.bounds = as_bounds(self._msg.Bounds, self._vector, found.volume)

    def _spawnables(self, place: EntityPlace, asked: Any, response: Any) -> None:
        if place.offer.no_spawning:
            raise UnsupportedShape(place.offer.no_spawning)
        for each in place.book.spawnables():
            found = self._msg.Spawnable(description=each.description)
            found.entity_resource.uri = each.uri
            found.spawn_bounds = as_bounds(self._msg.Bounds, self._vector, each.volume)
            response.spawnables.append(found)
        if asked.sources:
            response.result.error_message = f"not recognised: {', '.join(asked.sources)}"

    def _poses(self, place: EntityPlace, asked: Any, response: Any) -> None:
        has_tags = tags_test(asked.tags)
        for each in place.book.places():
            if has_tags(each.tags):
                found = self._msg.NamedPose(
                    name=each.name, description=each.description, tags=list(each.tags)
                )
                fill_pose(found.pose, each.pose)
                response.poses.append(found)

    def _pose_bounds(self, place: EntityPlace, asked: Any, response: Any) -> None:
        found = _one(place.book.places(), asked.name, "named pose")
        response.bounds = as_bounds(self._msg.Bounds, self._vector, found.volume)

    def _worlds(self, place: EntityPlace, asked: Any, response: Any) -> None:
        if asked.additional_sources and not asked.continue_on_error:
            raise ConfigurationError(
                f"additional_sources: found {', '.join(asked.additional_sources)}; a run has the "
                "map of its scenario alone"
            )
        if tags_test(asked.filter)(self._changes.WORLD_TAGS):
            found = self._msg.WorldResource()
            self._changes.fill_world(found)
            response.worlds.append(found)

    def _world(self, place: EntityPlace, asked: Any, response: Any) -> None:
        self._changes.fill_world(response.world)


class _NotThere(ConfigurationError):
    """There is nothing of that name."""


def _one(entries: Sequence[Any], name: str, noun: str) -> Any:
    for each in entries:
        if each.name == name:
            return each
    raise _NotThere(f"found '{name[:80]}'; there is no such {noun}")


def fill_pose(pose: Any, values: Sequence[float]) -> None:
    """Put numbers into a ``Pose`` message."""
    x, y, z, qx, qy, qz, qw = values
    pose.position.x, pose.position.y, pose.position.z = x, y, z
    pose.orientation.x, pose.orientation.y = qx, qy
    pose.orientation.z, pose.orientation.w = qz, qw


def _fill_state(state: Any, entity: Entity, offer: Offer) -> None:
    motion = entity.motion
    state.header.frame_id = FRAME
    stamp = state.header.stamp
    stamp.sec, stamp.nanosec = divmod(offer.start_ns + motion.time_ns, SECOND)
    fill_pose(state.pose, motion.pose)
    for vector, values in (
        (state.twist.linear, motion.velocity),
        (state.twist.angular, motion.turn),
        (state.acceleration.linear, motion.acceleration),
    ):
        vector.x, vector.y, vector.z = values
