# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""What programs change by ``simulation_interfaces``: entities come, go and are set; worlds; resets.

Each is a change of the run: it is made at a simulated time that no participant has passed, and is
recorded. The answer comes when that is so. The next step of the world carries it out; readers show
it at once. If by then another vehicle stands where one is to be spawned, it does not come.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from math import isfinite, sqrt
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from ros2_cosim.core.realtime.run_control import Answer, Command, Request
from ros2_cosim.core.scene.entities import (
    MAX_COMMANDS,
    NAME_PATTERN,
    ORDERS,
    Entity,
    EntityCommand,
    EntityKind,
    EntityOrders,
    EntityPlace,
    Pose,
    Vector,
)
from ros2_cosim.world.map import frames

Ask = Callable[[Request, Callable[[Answer], None]], None]
Send = Callable[[], None]
#: Names of the frame of the world.
_WORLD_FRAMES: Final = ("", "world", "map")
#: Farther from the map's origin [m], or faster [m/s], is a mistake.
_FARTHEST: Final = 100_000.0
_FASTEST: Final = 150.0
#: So far from one may the length of a quaternion be.
_ROUNDED: Final = 1e-3
_LONGEST_NAME: Final = 64


class _Refusal(Exception):
    """A request is not carried out: its code and why."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


class _Wanted(NamedTuple):
    """A request to spawn: the command and the name that it will have; or why not."""

    command: EntityCommand | None
    code: int
    why: str


class EntityChanges:
    """Takes the requests that change something.

    :param place: the world; None: there is none
    :param ask: hands a request on to the run
    :param participants: whose names no entity may have
    """

    WORLD_TAGS: Final = ("opendrive",)

    def __init__(self, place: EntityPlace | None, ask: Ask, participants: Sequence[str]) -> None:
        from simulation_interfaces import msg, srv

        self._where = place
        self._ask = ask
        self._participants = participants
        self._codes = msg.Result
        self._spawn_codes = msg.SpawnResult
        self._spawn_result = msg.SpawnResult
        self._load_codes = srv.LoadWorld.Response
        self._all_failed = srv.SpawnEntities.Response.ENTITIES_SPAWN_FAILED
        self._scopes = srv.ResetSimulation.Request
        self._invalid_pose = srv.SetEntityState.Response.INVALID_POSE
        #: Kind, description and tags that programs have set.
        self._told: dict[str, tuple[int, str, tuple[str, ...]]] = {}
        #: Names of vehicles whose request is on its way.
        self._reserved: set[str] = set()

    @property
    def _place(self) -> EntityPlace:
        assert self._where is not None
        return self._where

    def described(self, entity: Entity) -> Entity:
        """An entity as programs have described it."""
        told = self._told.get(entity.name)
        if told is None:
            return entity
        kind, description, tags = told
        return entity._replace(kind=EntityKind(kind), description=description, tags=tags)

    def fill_world(self, world: Any) -> None:
        """Describe the world of the run."""
        name = self._place.offer.map
        world.name, world.world_resource.uri = PurePath(name).stem, name
        world.description, world.tags = "the map of the scenario", list(self.WORLD_TAGS)

    # Spawning ----------------------------------------------------------------------------

    def spawn(self, asked: Any, response: Any, send: Send) -> None:
        """Spawn one vehicle."""

        def done(results: list[_Wanted]) -> None:
            self._fill(response, results[0])
            send()

        self._spawn([asked], done)

    def spawn_all(self, asked: Any, response: Any, send: Send) -> None:
        """Spawn vehicles, each for itself: those that can come do."""

        def done(results: list[_Wanted]) -> None:
            ok = self._codes.RESULT_OK
            for found in results:
                each = self._spawn_result()
                self._fill(each, found)
                response.results.append(each)
            failed = [found for found in results if found.code != ok]
            response.result.result = self._all_failed if failed else ok
            if failed:
                response.result.error_message = f"{len(failed)} of {len(results)} are not spawned"
            send()

        self._spawn(asked.spawn_requests, done)

    def _fill(self, response: Any, found: _Wanted) -> None:
        response.result.result, response.result.error_message = found.code, found.why
        response.entity_name = found.command.name if found.command is not None else ""

    def _spawn(self, requests: Sequence[Any], done: Callable[[list[_Wanted]], None]) -> None:
        planned: list[EntityCommand] = []
        results: list[_Wanted] = []
        for each in requests:
            try:
                command = self._planned(each, planned)
            except _Refusal as refusal:
                results.append(_Wanted(None, refusal.code, str(refusal)))
            else:
                planned.append(command)
                results.append(_Wanted(command, self._codes.RESULT_OK, ""))

        def told(failure: str) -> None:
            self._reserved.difference_update(command.name for command in planned)
            failed = self._codes.RESULT_OPERATION_FAILED
            done([_Wanted(None, failed, failure) if failure and r.command else r for r in results])

        for command in planned:
            self._reserved.add(command.name)
            # The description of a former entity of that name does not hold.
            self._told.pop(command.name, None)
        self._order(planned, "spawn_entity", told)

    def _planned(self, asked: Any, planned: Sequence[EntityCommand]) -> EntityCommand:
        """What a request to spawn comes to.

        :param planned: of the same request
        :raises _Refusal: it cannot be done
        """
        codes = self._spawn_codes
        self._need_spawning()
        resource = asked.entity_resource
        if not resource.uri:
            if resource.resource_string:
                raise _Refusal(
                    self._codes.RESULT_FEATURE_UNSUPPORTED,
                    "entity_resource.resource_string: found a text; allowed is a uri of "
                    "get_spawnables",
                )
            raise _Refusal(codes.NO_RESOURCE, "entity_resource: found neither uri nor text")
        kinds = {each.uri for each in self._place.book.spawnables()}
        if resource.uri not in kinds:
            uri = resource.uri[:80]
            if "/" in uri or PurePath(uri).suffix.lower() in _FORMATS:
                raise _Refusal(
                    codes.UNSUPPORTED_FORMAT,
                    f"entity_resource.uri: found '{uri}'; allowed is one of get_spawnables, such "
                    "as vehicle.tesla.model3",
                )
            raise _Refusal(
                self._codes.RESULT_NOT_FOUND,
                f"entity_resource.uri: found '{uri}'; allowed is one of get_spawnables",
            )
        name = self._name_of(asked, planned)
        pose = self._posed(asked.initial_pose, codes.INVALID_POSE)
        other = self._place.book.in_the_way(resource.uri, pose, planned)
        if other:
            raise _Refusal(
                self._codes.RESULT_OPERATION_FAILED, f"initial_pose: '{other}' is in the way"
            )
        return EntityCommand(
            do="spawn", name=name, blueprint=resource.uri, pose=pose, velocity=(0.0, 0.0, 0.0)
        )

    def _name_of(self, asked: Any, planned: Sequence[EntityCommand]) -> str:
        """The full name of a new entity.

        :raises _Refusal: it may not have that name
        """
        codes = self._spawn_codes
        space = asked.entity_namespace.strip("/")
        if space and not re.fullmatch(NAME_PATTERN, space, re.ASCII):
            raise _Refusal(
                codes.NAMESPACE_INVALID, f"entity_namespace: found '{asked.entity_namespace[:80]}'"
            )
        wanted = asked.name
        if not wanted and asked.allow_renaming:
            wanted = re.sub(r"\W", "_", asked.entity_resource.uri.rpartition(".")[2])
            wanted = wanted if wanted[0].isalpha() else f"vehicle_{wanted}"
        if not re.fullmatch(r"[A-Za-z_]\w*", wanted, re.ASCII):
            raise _Refusal(
                codes.NAME_INVALID,
                f"name: found '{wanted[:80]}'; allowed are letters, digits and _, a letter first",
            )
        full = f"{space}/{wanted}" if space else wanted
        if len(full) > _LONGEST_NAME - 8:
            raise _Refusal(
                codes.NAME_INVALID,
                f"name: found {len(full)} characters; allowed are {_LONGEST_NAME - 8}",
            )
        taken = {each.name for each in self._place.book.entities()} | self._reserved
        taken |= {each.name for each in planned} | set(self._participants)
        if full not in taken:
            return full
        if not asked.allow_renaming:
            who = "a participant" if full in self._participants else "an entity"
            raise _Refusal(codes.NAME_NOT_UNIQUE, f"name: '{full}' is that of {who}")
        return next(n for i in range(1, 10**6) if (n := f"{full}_{i}") not in taken)

    # Deleting and setting ----------------------------------------------------------------

    def delete(self, asked: Any, response: Any, send: Send) -> None:
        """Take a vehicle away that was spawned."""

        def commands() -> list[EntityCommand]:
            self._need_spawning()
            found = self._named(asked.entity)
            if found.stays:
                raise _Refusal(
                    self._codes.RESULT_OPERATION_FAILED,
                    f"'{found.name}' cannot be deleted: {found.stays}",
                )
            return [EntityCommand(do="delete", name=found.name)]

        self._carry_out(commands, "delete_entity", response, send)

    def set_state(self, asked: Any, response: Any, send: Send) -> None:
        """Put a vehicle somewhere, or give it a velocity; how it turns and accelerates follows from
        physics, which the answer says.
        """
        turn = asked.state.twist.angular
        left = ["twist.angular"] if asked.set_twist and any((turn.x, turn.y, turn.z)) else []
        left += ["acceleration"] if asked.set_acceleration else []
        note = f"not set: state.{' and state.'.join(left)}; they follow from physics"

        def commands() -> list[EntityCommand]:
            found = self._named(asked.entity)
            failed = self._codes.RESULT_OPERATION_FAILED
            if found.keeps:
                raise _Refusal(failed, f"'{found.name}' cannot be set: {found.keeps}")
            self._need_spawning()
            pose = velocity = None
            if asked.set_pose:
                stamped = _Stamped(asked.state.header, asked.state.pose)
                pose = self._posed(stamped, self._invalid_pose)
            if asked.set_twist:
                linear = asked.state.twist.linear
                velocity = self._turned(asked.state.header, (linear.x, linear.y, linear.z))
                if not sqrt(sum(part * part for part in velocity)) <= _FASTEST:
                    raise _Refusal(
                        failed,
                        f"state.twist.linear: found {velocity}; allowed are {_FASTEST:g} m/s",
                    )
            if pose is None and velocity is None:
                return []
            return [EntityCommand(do="set", name=found.name, pose=pose, velocity=velocity)]

        self._carry_out(commands, "set_entity_state", response, send, note if left else "")

    def set_info(self, asked: Any, response: Any, send: Send) -> None:
        """Say what an entity is: programs read it, the run does not."""
        result = response.result
        try:
            found = self._named(asked.entity)
            kind = asked.info.category.category
            if kind not in list(EntityKind):
                raise _Refusal(
                    self._codes.RESULT_OPERATION_FAILED,
                    f"info.category: found {kind}; allowed are "
                    f"{', '.join(str(int(each)) for each in EntityKind)}",
                )
        except _Refusal as refusal:
            result.result, result.error_message = refusal.code, str(refusal)
        else:
            self._told[found.name] = kind, asked.info.description, tuple(asked.info.tags)
            result.result = self._codes.RESULT_OK
        send()

    # Worlds and resets -------------------------------------------------------------------

    def load_world(self, asked: Any, response: Any, send: Send) -> None:
        """Load the map of the scenario: the run begins anew, and stands at its start."""
        resource, codes = asked.world_resource, self._load_codes
        known = self._place.offer.map
        code = why = None
        if not resource.uri and resource.resource_string:
            code, why = self._codes.RESULT_FEATURE_UNSUPPORTED, "allowed is the uri of the world"
        elif not resource.uri:
            code, why = codes.NO_RESOURCE, "found neither uri nor text"
        elif resource.uri != known and not resource.uri.endswith(".xodr"):
            code, why = codes.UNSUPPORTED_FORMAT, f"found '{resource.uri[:80]}'; allowed is {known}"
        elif resource.uri != known:
            code = self._codes.RESULT_OPERATION_FAILED
            why = f"found '{resource.uri[:80]}'; a run keeps the map of its scenario, {known}"
        if code is not None:
            response.result.result, response.result.error_message = code, f"world_resource: {why}"
            send()
            return

        def reply(answer: Answer) -> None:
            self._finish(response, answer)
            self.fill_world(response.world)
            send()

        self._ask(Request(Command.RESET, 1, reason="load_world"), reply)

    def unload_world(self, asked: Any, response: Any, send: Send) -> None:
        """Refuse: a run is nothing without its world."""
        response.result.result = self._codes.RESULT_FEATURE_UNSUPPORTED
        response.result.error_message = "a run keeps the world of its scenario"
        send()

    def reset(self, asked: Any, response: Any, send: Send) -> None:
        """Begin anew, or take away all that was spawned."""
        scopes = self._scopes
        whole = scopes.SCOPE_TIME | scopes.SCOPE_STATE | scopes.SCOPE_SPAWNED
        if asked.scope in (scopes.SCOPE_DEFAULT, scopes.SCOPE_ALL, whole):

            def reply(answer: Answer) -> None:
                self._finish(response, answer)
                send()

            self._ask(Request(Command.RESET, reason="reset_simulation"), reply)
            return

        def commands() -> list[EntityCommand]:
            if asked.scope != scopes.SCOPE_SPAWNED:
                raise _Refusal(
                    self._codes.RESULT_FEATURE_UNSUPPORTED,
                    f"scope: found {asked.scope}; allowed are all (0, 7 and 255) and spawned (4): "
                    "time and state of a run belong together",
                )
            self._need_spawning()
            found = [each for each in self._place.book.entities() if not each.stays]
            return [EntityCommand(do="delete", name=each.name) for each in found]

        self._carry_out(commands, "reset_simulation", response, send)

    # Internals ---------------------------------------------------------------------------

    def _carry_out(
        self,
        commands: Callable[[], list[EntityCommand]],
        why: str,
        response: Any,
        send: Send,
        note: str = "",
    ) -> None:
        def told(failure: str) -> None:
            self._finish(response, Answer(not failure, failure), note)
            send()

        try:
            found = commands()
        except _Refusal as refusal:
            response.result.result, response.result.error_message = refusal.code, str(refusal)
            send()
        else:
            self._order(found, why, told)

    def _order(
        self, commands: Sequence[EntityCommand], why: str, told: Callable[[str], None]
    ) -> None:
        """Make changes of the run of commands, one after the other.

        :param told: takes why it cannot be; empty: it is done
        """
        if not commands:
            told("")
            return
        book = self._place.book
        first, rest = tuple(commands[:MAX_COMMANDS]), commands[MAX_COMMANDS:]
        orders = EntityOrders(number=book.next_number(), commands=first)

        def reply(answer: Answer) -> None:
            if not answer.success:
                told(answer.message)
                return
            book.expect(orders)
            self._order(rest, why, told)

        path = f"participants.{self._place.offer.participant}.parameters.{ORDERS}"
        value = orders.model_dump_json(exclude_defaults=True)
        request = Request(Command.CHANGE, reason=f"{_BY}/{why}", path=path, value=value)
        self._ask(request, reply)

    def _finish(self, response: Any, answer: Answer, note: str = "") -> None:
        codes = self._codes
        ok, failed = codes.RESULT_OK, codes.RESULT_OPERATION_FAILED
        response.result.result = ok if answer.success else failed
        response.result.error_message = note if answer.success else answer.message

    def _need_spawning(self) -> None:
        why = "the scenario has no world with entities"
        if self._where is not None:
            why = self._where.offer.no_spawning
        if why:
            raise _Refusal(self._codes.RESULT_FEATURE_UNSUPPORTED, why)

    def _named(self, name: str) -> Entity:
        for each in self._place.book.entities():
            if each.name == name:
                return each
        raise _Refusal(
            self._codes.RESULT_NOT_FOUND, f"found '{name[:80]}'; there is no such entity"
        )

    def _posed(self, stamped: Any, code: int) -> Pose:
        """A pose in the map.

        :raises _Refusal: it is not a valid pose, with ``code``
        """
        place, turned = stamped.pose.position, stamped.pose.orientation
        point = place.x, place.y, place.z
        q = turned.x, turned.y, turned.z, turned.w
        length = sqrt(sum(part * part for part in q)) if all(map(isfinite, q)) else 0.0
        if abs(length - 1.0) > _ROUNDED:
            raise _Refusal(code, f"orientation: found {q}; allowed is a quaternion of length 1")
        unit = q[0] / length, q[1] / length, q[2] / length, q[3] / length
        frame = self._frame(stamped.header, code)
        if frame is not None:
            origin, turn = frame[0:3], frame[3:7]
            dx, dy, dz = frames.body_to_world(turn, point)
            point = origin[0] + dx, origin[1] + dy, origin[2] + dz
            unit = frames.multiply(turn, unit)
        if not all(abs(part) <= _FARTHEST for part in point):
            raise _Refusal(code, f"position: found {point}; allowed are {_FARTHEST:g} m")
        return (*point, *unit)

    def _turned(self, header: Any, velocity: Vector) -> Vector:
        frame = self._frame(header, self._codes.RESULT_NOT_FOUND)
        return velocity if frame is None else frames.body_to_world(frame[3:7], velocity)

    def _frame(self, header: Any, code: int) -> Pose | None:
        """Where a frame is in the map: that of an entity; None: it is the map."""
        if header.frame_id in _WORLD_FRAMES:
            return None
        for each in self._place.book.entities():
            if each.name == header.frame_id:
                return each.motion.pose
        raise _Refusal(
            code,
            f"header.frame_id: found '{header.frame_id[:80]}'; allowed are map and names of "
            "entities",
        )


class _Stamped(NamedTuple):
    header: Any
    pose: Any


_BY: Final = "simulation_interfaces"
#: What other simulators spawn.
_FORMATS: Final[Collection[str]] = (
    *(".sdf", ".urdf", ".xacro", ".usd", ".usda", ".usdc", ".mjcf", ".xml", ".world"),
    *(".dae", ".obj", ".stl", ".gltf", ".glb", ".spawnable", ".prefab", ".wbt", ".proto"),
)
