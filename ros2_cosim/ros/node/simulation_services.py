# Copyright 2026 ros2_cosim contributors
# SPDX-License-Identifier: Apache-2.0
"""The services of ``simulation_interfaces``, the common way to control simulators in ROS 2.

They are offered where that package is installed (version 2 of its definitions), below
``/cosim/``, and do what the run's own services do:

======================  ==================================================================
GetSimulatorFeatures    what of the following there is
GetSimulationState      playing, paused, stopped or quitting; stopped: it stands at its start, or is
                        over; what takes steps plays until it returns to its pause
SetSimulationState      playing: resume; paused: pause, which ends steps; stopped: begin anew,
                        paused, where the run can, answered when it has; quitting: end the run in
                        order
StepSimulation          so many steps of the clock; the run has to be paused
SimulateSteps           the same as an action, with feedback, where the package has it
======================  ==================================================================

Resets, entities and worlds are those of :mod:`~ros2_cosim.ros.node.entity_services`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from rclpy.node import Node

from ros2_cosim.core.realtime.run_control import Answer, Command, Request, RunControl
from ros2_cosim.core.scene.entities import Offer
from ros2_cosim.ros.node.deferred_service import Ask, answered_when_done, deferred_service
from ros2_cosim.ros.node.lasting_node import LastingNode
from ros2_cosim.ros.node.simulate_steps import SimulateSteps

#: The package, and where its services are offered.
PACKAGE = "simulation_interfaces"
PREFIX = "/cosim"

#: Features of a world, and those of one whose vehicles come and go.
_OF_A_WORLD = (
    *("NAMED_POSES", "POSE_BOUNDS", "ENTITY_TAGS", "ENTITY_CATEGORIES"),
    *("ENTITY_BOUNDS", "ENTITY_BOUNDS_BOX", "ENTITY_STATE_GETTING"),
    *("ENTITY_INFO_GETTING", "ENTITY_INFO_SETTING"),
    *("WORLD_TAGS", "WORLD_INFO_GETTING", "AVAILABLE_WORLDS"),
)
_OF_SPAWNING = (
    *("SPAWNING", "SPAWNING_ENTITIES", "SPAWNABLES", "DELETING"),
    *("ENTITY_STATE_SETTING", "SIMULATION_RESET_SPAWNED"),
)

Send = Callable[[], None]


class SimulationServices:
    """The standard services on top of the run's own.

    :param node: the ROS node that owns the clock
    :param ask: hands a request on to the run
    :param control: the run's control, for its state
    :param world: what the world of the scenario has; None: there is none with entities
    """

    @staticmethod
    def offer(
        node: Node, ask: Ask, control: RunControl, world: Offer | None = None
    ) -> SimulationServices | None:
        """Offer the services if the package is installed."""
        if find_spec(PACKAGE) is None:
            return None
        try:
            return SimulationServices(node, ask, control, world)
        except (ImportError, AttributeError) as error:
            print(f"{PACKAGE}: its services are not offered ({error})", flush=True)
            return None

    def __init__(
        self, node: Node, ask: Ask, control: RunControl, world: Offer | None = None
    ) -> None:
        from simulation_interfaces import msg, srv

        assert isinstance(node, LastingNode)
        self._ask = answered_when_done(node, ask)
        self._control = control
        self._result = msg.Result
        self._state = msg.SimulationState
        self._features = msg.SimulatorFeatures
        self._world = world
        self._already = srv.SetSimulationState.Response.ALREADY_IN_TARGET_STATE
        self._in_vain = srv.SetSimulationState.Response.STATE_TRANSITION_ERROR
        for kind, name, handle in (
            (srv.GetSimulatorFeatures, "get_simulator_features", self._get_features),
            (srv.GetSimulationState, "get_simulation_state", self._get_state),
            (srv.SetSimulationState, "set_simulation_state", self._set_state),
            (srv.StepSimulation, "step_simulation", self._step),
        ):
            deferred_service(node, kind, f"{PREFIX}/{name}", handle)
        #: Whether a run that stands at its start was asked to pause there.
        self._paused = False
        self._action = self._offer_action(node)
        node.pay()

    @property
    def busy(self) -> bool:
        """Whether a goal of an action goes on."""
        return self._action is not None and self._action.busy

    @property
    def _steps(self) -> bool:
        """Whether a goal of the action takes steps."""
        return self._action is not None and self._action.steps

    def _offer_action(self, node: Node) -> SimulateSteps | None:
        try:
            from simulation_interfaces.action import SimulateSteps as Kind
        except ImportError:
            return None  # the package is older than the action
        return SimulateSteps(
            node, f"{PREFIX}/simulate_steps", Kind, self._ask, self._control, self._result
        )

    def _get_features(self, asked: Any, response: Any, send: Send) -> None:
        kinds = self._features
        found = [
            kinds.SIMULATION_STATE_GETTING,
            kinds.SIMULATION_STATE_SETTING,
            kinds.SIMULATION_STATE_PAUSE,
            kinds.STEP_SIMULATION_SINGLE,
            kinds.STEP_SIMULATION_MULTIPLE,
        ]
        if self._action is not None:
            found.append(kinds.STEP_SIMULATION_ACTION)
        custom = "a step is one clock_step of the scenario"
        world = self._world
        spawns = world is not None and not world.no_spawning
        if self._control.can_reset or spawns:
            found.append(kinds.SIMULATION_RESET)
        if world is not None:
            found += [getattr(kinds, name) for name in _OF_A_WORLD]
            if self._control.can_reset:
                found.append(kinds.WORLD_LOADING)
            custom += f"; entities: {world.no_spawning or 'vehicles can be spawned'}"
        if spawns:
            found += [getattr(kinds, name) for name in _OF_SPAWNING]
            response.features.spawn_formats = ["CARLA blueprint"]
        response.features.features = [int(feature) for feature in found]
        response.features.custom_info = custom
        send()

    def _get_state(self, asked: Any, response: Any, send: Send) -> None:
        response.state.state = self._present()
        response.result.result = self._result.RESULT_OK
        send()

    def _set_state(self, asked: Any, response: Any, send: Send) -> None:
        wanted = asked.state.state
        kinds = self._state
        # What takes steps plays already, but does not go on by itself.
        goes_on = wanted == kinds.STATE_PLAYING and self._control.paused
        if wanted == self._present() and not goes_on:
            self._finish(response, send, self._already)(Answer(True, "already in this state"))
            return
        commands = {
            kinds.STATE_PLAYING: Command.RESUME,
            kinds.STATE_PAUSED: Command.PAUSE,
            kinds.STATE_STOPPED: Command.RESET,
            kinds.STATE_QUITTING: Command.STOP,
        }
        command = commands.get(wanted)
        if command is None:
            code = self._result.RESULT_FEATURE_UNSUPPORTED
            self._finish(response, send, code)(Answer(True, f"state {wanted} is not known"))
        else:
            # Stopped means at the start, and paused.
            steps = int(command is Command.RESET)
            self._paused = command is Command.PAUSE
            finish = self._finish(response, send, failed=self._in_vain)
            self._ask(Request(command, steps), finish)

    def _step(self, asked: Any, response: Any, send: Send) -> None:
        steps = min(asked.steps, 2**32 - 1)
        if not steps and self._control.paused:
            self._finish(response, send)(Answer(True, ""))
            return
        self._ask(Request(Command.STEP, steps), self._finish(response, send))

    def _present(self) -> int:
        control, kinds = self._control, self._state
        if control.reset:
            found = kinds.STATE_STOPPED if control.reset_paused else kinds.STATE_PLAYING
        elif control.is_over:
            found = kinds.STATE_STOPPED
        elif control.stop_reason is not None:
            found = kinds.STATE_QUITTING
        elif not control.paused or control.stepping or self._steps:
            found = kinds.STATE_PLAYING
        else:
            stopped = control.limit == 0 and not self._paused
            found = kinds.STATE_STOPPED if stopped else kinds.STATE_PAUSED
        return int(found)

    def _finish(
        self, response: Any, send: Send, code: int | None = None, failed: int | None = None
    ) -> Callable[[Answer], None]:
        """A reply that fills in the result; ``code`` replaces that of success, ``failed`` that of
        failure.
        """

        def reply(answer: Answer) -> None:
            done = self._result.RESULT_OK if code is None else code
            wrong = self._result.RESULT_OPERATION_FAILED if failed is None else failed
            response.result.result = done if answer.success else wrong
            plain = answer.success and code is None
            response.result.error_message = "" if plain else answer.message
            send()

        return reply
